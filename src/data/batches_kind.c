/* SPDX-License-Identifier: Apache-2.0
 * Batches of any kind, through its table. */
#include "data/data.h"

enum oa_error oa_batches_wrap(oa_context *c, const struct oa_batches_kind *kind, void *self,
                              struct oa_batches **out)
{
    *out = oa_alloc(c, sizeof **out);
    if (*out)
        **out = (struct oa_batches){ kind, self };
    else
        kind->close(self);
    return *out ? OA_OK : OA_NO_MEMORY;
}

void oa_batches_close(struct oa_batches *b)
{
    if (!b)
        return;
    b->kind->close(b->self);
    oa_free(b);
}

void oa_batches_amount(struct oa_batches *b, uint64_t step, long accumulate, struct oa_amount *out)
{
    b->kind->amount(b->self, step, accumulate, out);
}

enum oa_error oa_batches_random(struct oa_batches *b, uint64_t step, long accumulate, long micro,
                                struct oa_batch *out)
{
    return b->kind->random(b->self, step, accumulate, micro, out);
}

enum oa_error oa_batches_cover(struct oa_batches *b, const struct oa_tokenizer *tok, uint64_t limit,
                               struct oa_cover *out)
{
    return b->kind->cover(b->self, tok, limit, out);
}

enum oa_error oa_batches_window(struct oa_batches *b, long i, struct oa_batch *out)
{
    return b->kind->window(b->self, i, out);
}

const uint32_t *oa_batches_examples(const struct oa_batches *b, long i)
{
    return b->kind->examples ? b->kind->examples(b->self, i) : NULL;
}
