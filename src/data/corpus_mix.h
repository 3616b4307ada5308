/* SPDX-License-Identifier: Apache-2.0
 * Mixtures: which corpus each row of training is taken from. */
#ifndef ORTHANT_DATA_CORPUS_MIX_H
#define ORTHANT_DATA_CORPUS_MIX_H

#include "data/data.h"

/* Weights are whole numbers without a common factor. Their sum is the period of the sequence; a
 * larger one is refused. */
enum { OA_MIX_PERIOD = 100000 };

/* Reads "wiki:0.7,books:0.3" for the corpora files[0 … count-1]: part[i].name and part[i].weight.
 * A name is a file or folder as data.train has it, or its last component, also without what follows
 * its first dot. Every corpus occurs once. OA_ARGUMENT: otherwise, or a weight that is not a
 * positive decimal number. */
enum oa_error oa_corpus_mix_parse(oa_context *c, const char *mix, const char *const *files,
                                  int count, struct oa_corpus_part part[OA_CORPORA]);

/* The order of corpora. After any number of rows n, the rows of corpus k differ by less than 1 from
 * n·weight[k]/period (Tijdeman: The chairman assignment problem; Discrete Mathematics 1980). */
struct oa_corpus_mix {
    int count;
    long period;
    long weight[OA_CORPORA];
    uint8_t *corpus;  /* [period] */
    uint32_t *before; /* [period] rows of that corpus before it in the period */
};
enum oa_error oa_corpus_mix_open(oa_context *c, const struct oa_corpus_part *part, int count,
                                 struct oa_corpus_mix *out);
void oa_corpus_mix_close(struct oa_corpus_mix *m);
/* The corpus of row n, from 0, of the training, and the number of its rows before. */
int oa_corpus_mix_turn(const struct oa_corpus_mix *m, uint64_t n, uint64_t *before);
/* How many of the first n rows are of corpus k. */
uint64_t oa_corpus_mix_rows(const struct oa_corpus_mix *m, int k, uint64_t n);

#endif
