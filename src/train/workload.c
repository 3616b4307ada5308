/* SPDX-License-Identifier: Apache-2.0
 * Tokenizer and corpus of a run. */
#include "train/train.h"

enum oa_error oa_workload_open(oa_context *c, const struct oa_options *o, struct oa_workload *out)
{
    *out = (struct oa_workload){ 0 };
    enum oa_error e = oa_tokenizer_open(c, o->data_tokenizer, o->data_train, o->data_valid, &out->tokenizer);
    if (e == OA_OK)
        e = oa_corpus_open_split(c, out->tokenizer, o->data_train, o->data_valid, o->data_valid_fraction,
                                 oa_chance_seed(o, OA_CHANCE_SPLIT), &out->corpus);
    if (e != OA_OK)
        oa_workload_close(out);
    return e;
}

void oa_workload_close(struct oa_workload *w)
{
    oa_corpus_close(&w->corpus);
    oa_tokenizer_close(w->tokenizer);
    w->tokenizer = NULL;
}
