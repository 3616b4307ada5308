/* SPDX-License-Identifier: Apache-2.0
 * Private to src/metrics. Memory comes from arenas; NULL and false mean no memory, noted in the
 * arena's context. */
#ifndef ORTHANT_METRICS_PARTS_H
#define ORTHANT_METRICS_PARTS_H

#include "metrics/metrics.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- python_text.c: methods of Python's str ---- */

bool oa_python_space(uint32_t code);                  /* str.isspace */
struct oa_line oa_python_rstrip(struct oa_line text); /* str.rstrip() */
struct oa_line oa_next_point(struct oa_line *rest,
                             uint32_t *code); /* a code point; length 0 at the end */
/* str.lower() with final sigma; s is NULL without memory. */
struct oa_line oa_python_lower(struct oa_arena *a, struct oa_line text);

/* str.split() */
struct oa_word_list {
    struct oa_line *word;
    long count;
};
bool oa_python_split(struct oa_arena *a, struct oa_line text, struct oa_word_list *out);

/* ---- rewriting: passes of substitutions over a text in an arena ---- */

/* A pass writes at most `growth` times the length of `text`, which becomes its output. */
typedef char *oa_pass(char *out, const char *s, const char *end);
bool oa_rewrite(struct oa_arena *a, struct oa_line *text, int growth, oa_pass *pass);
/* Western punctuation as in mteval-v13a and TER's normalisation. */
bool oa_split_punctuation(struct oa_arena *a, struct oa_line *text, bool possessives);
/* &quot; &amp; &lt; &gt;, one after another */
bool oa_unescape(struct oa_arena *a, struct oa_line *text);
/* Every `from` replaced; `to` is not longer. */
bool oa_replace(struct oa_arena *a, struct oa_line *text, const char *from, const char *to);

bool oa_bleu_words(const struct oa_metric_options *o, struct oa_arena *a, struct oa_line text,
                   struct oa_word_list *out);
bool oa_ter_words(const struct oa_metric_options *o, struct oa_arena *a, struct oa_line text,
                  struct oa_word_list *out);
/* Porter's stem of a word of lower-case letters and digits, in place; the new length (porter.c). */
size_t oa_porter_stem(char *word, size_t length);

/* ---- word_ids.c: ids of words ---- */

/* Ids of the units of several texts; text 0 is the hypothesis. */
struct oa_text_ids {
    int texts;
    int32_t **id;
    long *length;
    int32_t distinct;
};
bool oa_number_words(struct oa_arena *a, const struct oa_word_list *text, int texts,
                     struct oa_text_ids *out);
/* Hash table from pairs to ids, from 0, for at most `most` pairs. */
struct oa_pair_ids {
    uint64_t *key;
    int32_t *id;
    size_t mask;
    int32_t count;
};
bool oa_pair_ids_begin(struct oa_arena *a, long most, struct oa_pair_ids *out);
int32_t oa_pair_id(struct oa_pair_ids *p, uint32_t x, uint32_t y);

/* ---- grams.c: n-grams and their matches ---- */

struct oa_grams {
    struct oa_arena *arena;
    const struct oa_text_ids *text;
    int order;
    long *count;    /* [texts]: n-grams of each text */
    int32_t **gram; /* [texts][count] */
    int32_t *times; /* [texts, distinct] */
    int32_t distinct;
    size_t mark;
};
bool oa_grams_begin(struct oa_arena *a, const struct oa_text_ids *text,
                    struct oa_grams *out); /* order 0 */
bool oa_grams_longer(struct oa_grams *g);  /* the next order */
/* Matching n-grams of text 0 with texts first … last-1, each clipped to its largest count in these.
 */
long oa_grams_shared(const struct oa_grams *g, int first, int last);

/* ---- edits.c, subsequence.c ---- */

/* TER edits, with shifts, from text 0 to text r. */
bool oa_ter_edits(struct oa_arena *a, const struct oa_text_ids *ids, int r, long *edits);
/* Length of the longest common subsequence (LCS) of texts 0 and 1. */
bool oa_longest_shared(struct oa_arena *a, const struct oa_text_ids *ids, long *length);
/* Marks the positions of `reference` that are in its LCS with `hypothesis`. */
bool oa_mark_shared(struct oa_arena *a, const struct oa_text_ids *ids, int reference,
                    int hypothesis, bool *marked);

/* segments.c: computes s->whole of a metric of rows. */
enum oa_error oa_statistics_of_rows(oa_context *c, struct oa_statistics *s);

/* ---- NumPy ---- */

/* numpy.c: default_rng(seed): PCG64 (O'Neill, 2014), seeded by SeedSequence. */
struct oa_numpy_random {
    uint64_t state[2], increment[2]; /* high, low */
    uint32_t held;                   /* unused half of the last 64 bits, if `holds` */
    bool holds;
    uint32_t bits; /* of oa_numpy_bit */
    int bits_left;
};
void oa_numpy_seed(struct oa_numpy_random *r, uint64_t seed);
uint32_t oa_numpy_below(struct oa_numpy_random *r, uint32_t n); /* as choice(n); n at least 1 */
bool oa_numpy_bit(struct oa_numpy_random *r);                   /* as integers(2, dtype=bool) */
/* The mean of a contiguous array; single: in float. */
double oa_numpy_mean(const double *x, long n, bool single);

static inline double oa_rounded(double x, bool single)
{
    return single ? (double)(float)x : x;
}

#endif
