/* SPDX-License-Identifier: Apache-2.0
 * Several corpora in one training, one after another or mixed by weights. */
#include "data/corpus_mix.h"
#include "data/packed_corpus.h"

struct corpus_list {
    char *copy;
    const char *file[OA_CORPORA]; /* within the copy */
    int count;
    bool packed; /* one of them is */
};

static enum oa_error list_corpora(oa_context *c, const char *files, struct corpus_list *out)
{
    char *rest, *name;
    *out = (struct corpus_list){ .copy = oa_copy_text(c, files) };
    if (!out->copy)
        return OA_NO_MEMORY;
    for (rest = out->copy; rest; out->count++) {
        rest = oa_cut_name(rest, &name);
        out->packed = out->packed || oa_is_packed_corpus(name);
        if (out->count < OA_CORPORA)
            out->file[out->count] = name;
    }
    return OA_OK;
}

/* Reads each corpus into each[i]. The caller closes *count of them, also after an error. */
static enum oa_error read_corpora(oa_context *c, struct oa_tokenizer *tok,
                                  const struct corpus_list *list, double fraction, uint64_t seed,
                                  struct oa_corpus *each, int *count)
{
    if (list->count > OA_CORPORA)
        return oa_fail(c, OA_ARGUMENT,
                       "%d corpora are given, more than %d: pack some of them into one",
                       list->count, OA_CORPORA);
    for (*count = 0; *count < list->count; ++*count)
        OA_TRY(
            oa_corpus_open_split(c, tok, list->file[*count], NULL, fraction, seed, &each[*count]));
    return OA_OK;
}

/* valid NULL: nothing is held out. */
static enum oa_error join_corpora(oa_context *c, struct oa_tokenizer *tok,
                                  const struct corpus_list *list, const char *mix, double fraction,
                                  uint64_t seed, struct oa_tokens *train, struct oa_tokens *valid)
{
    struct oa_corpus_part part[OA_CORPORA] = { 0 };
    int count = 0;
    struct oa_corpus *each = oa_alloc(c, OA_CORPORA * sizeof *each);
    struct oa_tokens *side = oa_alloc(c, OA_CORPORA * sizeof *side);
    enum oa_error e = each && side ? OA_OK : OA_NO_MEMORY;
    if (e == OA_OK)
        e = read_corpora(c, tok, list, fraction, seed, each, &count);
    if (e == OA_OK && oa_is_given(mix))
        e = oa_corpus_mix_parse(c, mix, list->file, count, part);
    for (int held = 0; held < (valid ? 2 : 1) && e == OA_OK; held++) {
        for (int i = 0; i < count; i++) {
            struct oa_tokens *of = held ? &each[i].valid : &each[i].train;
            side[i] = *of;
            *of = (struct oa_tokens){ 0 };
        }
        e = oa_tokens_join(c, side, count, !held && oa_is_given(mix) ? part : NULL,
                           held ? valid : train);
    }
    for (int i = 0; i < count; i++)
        oa_corpus_close(&each[i]);
    oa_free(each);
    oa_free(side);
    return e;
}

static enum oa_error open_corpora(oa_context *c, struct oa_tokenizer *tok, const char *files,
                                  const char *mix, double fraction, uint64_t seed,
                                  struct oa_tokens *train, struct oa_tokens *valid)
{
    struct corpus_list list;
    struct oa_corpus one = { 0 };
    enum oa_error e = list_corpora(c, files, &list);
    if (e == OA_OK && (oa_is_given(mix) || (list.packed && list.count > 1))) {
        e = join_corpora(c, tok, &list, mix, fraction, seed, train, valid);
    } else if (e == OA_OK) {
        e = oa_corpus_open_split(c, tok, files, NULL, fraction, seed, &one);
        *train = one.train;
        if (valid)
            *valid = one.valid;
    }
    oa_free(list.copy);
    return e;
}

enum oa_error oa_corpora_open(oa_context *c, struct oa_tokenizer *tok, const char *train_files,
                              const char *mix, const char *valid_files, double valid_fraction,
                              uint64_t split_seed, struct oa_corpus *out)
{
    bool apart = oa_is_given(valid_files);
    *out = (struct oa_corpus){ 0 };
    OA_TRY(oa_corpus_check_holdout(c, train_files, valid_files, valid_fraction, split_seed));
    enum oa_error e = open_corpora(c, tok, train_files, mix, apart ? 0 : valid_fraction, split_seed,
                                   &out->train, apart ? NULL : &out->valid);
    if (e == OA_OK && apart) {
        e = open_corpora(c, tok, valid_files, "", 0, 0, &out->valid, NULL);
        out->valid.name = "validation text";
    }
    if (e != OA_OK)
        oa_corpus_close(out);
    return e;
}
