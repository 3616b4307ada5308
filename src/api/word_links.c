/* SPDX-License-Identifier: Apache-2.0 */
#include "api/word_links.h"
#include "inspect/alignment.h"

#include <string.h>

/* ---- words ---- */

struct counting {
    long words;
    bool inside; /* the last byte was of a word */
};

/* The word of the first byte that is no blank; -1: there is none. */
static int32_t read_bytes(struct counting *n, const char *bytes, size_t length)
{
    int32_t first = -1;
    for (size_t i = 0; i < length; i++) {
        bool blank = memchr(" \t\n\v\f\r", bytes[i], 7) != NULL; /* and 0, printed as a blank */
        n->words += !blank && !n->inside;
        n->inside = !blank;
        first = first < 0 && !blank ? (int32_t)n->words - 1 : first;
    }
    return first;
}

long oa_count_words(const struct oa_tokenizer *tok, const int32_t *ids, size_t count,
                    int32_t unknown, int32_t *word)
{
    struct counting n = { 0 };
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *bytes = oa_tokenizer_bytes(tok, ids[i], &length);
        if (ids[i] == unknown)
            word[i] = read_bytes(&n, " ?", 2);
        else
            word[i] = oa_tokenizer_is_special(tok, ids[i]) ? -1 : read_bytes(&n, bytes, length);
    }
    return n.words;
}

/* ---- links ---- */

struct linking {
    struct oa_trained *t;
    const struct oa_sequences *source;
    const int32_t *written;
    long count;
    int32_t *read; /* by the decoder before each id that it wrote */
    int32_t *target_word, *source_word, *link;
};

static enum oa_error link_words(struct linking *l, struct oa_links *out)
{
    const struct oa_tokenizer *tok = l->t->tokenizer;
    struct oa_sequences target = { .rows = 1, .length = l->count, .ids = l->read };
    struct oa_alignment a;
    int32_t unknown = oa_tokenizer_find(tok, "<unk>");
    long words = oa_count_words(tok, l->written, (size_t)l->count, unknown, l->target_word);
    oa_count_words(tok, l->source->ids, (size_t)l->source->length, unknown, l->source_word);
    l->read[0] = oa_tokenizer_find(tok, l->t->model->options.model_begin_token);
    memcpy(l->read + 1, l->written, (size_t)(l->count - 1) * sizeof *l->read);
    enum oa_error e = oa_alignment_open(&l->t->tape, l->t->model, &target, l->source, &a);
    if (e == OA_OK)
        e = oa_alignment_link(&a, l->target_word, l->source_word, words, l->link);
    oa_alignment_close(&a);
    OA_TRY(e);
    out->link = oa_alloc(l->t->context, ((size_t)words + 1) * sizeof *out->link);
    for (int32_t w = 0; out->link && w < words; w++)
        if (l->link[w] >= 0)
            out->link[out->count++] = (struct oa_link){ l->link[w], w };
    return out->link ? OA_OK : OA_NO_MEMORY;
}

enum oa_error oa_links_find(struct oa_trained *t, const struct oa_sequences *source,
                            const int32_t *written, long count, struct oa_links *out)
{
    size_t room = (size_t)count;
    *out = (struct oa_links){ 0 };
    if (count == 0)
        return OA_OK;
    int32_t *places = oa_alloc(t->context, (3 * room + (size_t)source->length) * sizeof *places);
    if (!places)
        return OA_NO_MEMORY;
    struct linking l = { .t = t,
                         .source = source,
                         .written = written,
                         .count = count,
                         .read = places,
                         .target_word = places + room,
                         .link = places + 2 * room,
                         .source_word = places + 3 * room };
    enum oa_error e = link_words(&l, out);
    oa_free(places);
    return e;
}
