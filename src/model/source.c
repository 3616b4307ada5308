/* SPDX-License-Identifier: Apache-2.0 */
#include "model/source.h"

void oa_source_init(struct oa_source *s, oa_context *c)
{
    oa_ids_init(&s->ids, c);
    oa_ids_init(&s->words, c);
}

void oa_source_free(struct oa_source *s)
{
    oa_ids_free(&s->ids);
    oa_ids_free(&s->words);
}

void oa_source_clear(struct oa_source *s)
{
    s->ids.count = s->words.count = 0;
}

enum oa_error oa_source_copy(const struct oa_source *from, struct oa_source *to)
{
    oa_source_clear(to);
    OA_TRY(oa_ids_append(&to->ids, from->ids.id, from->ids.count));
    return oa_ids_append(&to->words, from->words.id, from->words.count);
}

enum oa_error oa_source_add(const struct oa_model *m, struct oa_source *s, const int32_t *ids,
                            const int32_t *words, long n)
{
    long most = oa_model_source_context(&m->options);
    if (!m->form.encoder)
        return oa_fail(m->context, OA_UNSUPPORTED,
                       "the model is a decoder without an encoder: it reads no source");
    if (n < 1 || n > most)
        return oa_fail(m->context, OA_SHAPE, "a source of %ld tokens: the model reads 1 to %ld", n,
                       most);
    OA_TRY(oa_ids_append(&s->ids, ids, (size_t)n));
    return words ? oa_ids_append(&s->words, words, (size_t)n) : OA_OK;
}

enum oa_error oa_source_read(oa_tape *t, struct oa_model *m, const struct oa_source *s, long first,
                             long n, struct oa_memory *out)
{
    struct oa_sequences in = { .rows = 1, .length = n };
    *out = (struct oa_memory){ .length = n };
    if (n == 0)
        return oa_fail(m->context, OA_INTERNAL,
                       "an encoder-decoder needs a source before the first token");
    in.ids = s->ids.id + first;
    in.words = s->words.count ? s->words.id + first : NULL;
    out->x = oa_model_encode(t, m, &in);
    return oa_status(m->context);
}
