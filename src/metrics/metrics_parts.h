/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of this folder share. Memory of a segment comes from an arena; NULL and false mean
 * that there was none, which the arena's context knows.
 */
#ifndef ORTHANT_METRICS_PARTS_H
#define ORTHANT_METRICS_PARTS_H

#include "metrics/metrics.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- python_text.c: text as Python's str sees it ---- */

bool oa_python_space(uint32_t code);                  /* str.isspace */
struct oa_line oa_python_rstrip(struct oa_line text); /* str.rstrip() */
struct oa_line oa_next_point(struct oa_line *rest,
                             uint32_t *code); /* one code point; length 0 at the end */
/* str.lower(), final sigma included; s is NULL without memory. */
struct oa_line oa_python_lower(struct oa_arena *a, struct oa_line text);

/* str.split() */
struct oa_words {
    struct oa_line *word;
    long count;
};
bool oa_python_split(struct oa_arena *a, struct oa_line text, struct oa_words *out);

/* ---- rewriting: passes of substitutions over a text in an arena ---- */

/* A pass reads `text` and writes at most `growth` times as much; text becomes what it wrote. */
typedef char *oa_pass(char *out, const char *s, const char *end);
bool oa_rewrite(struct oa_arena *a, struct oa_line *text, int growth, oa_pass *pass);
/* mteval-v13a's way with Western punctuation, which TER's normalisation shares (rewriting.c). */
bool oa_split_punctuation(struct oa_arena *a, struct oa_line *text, bool possessives);
/* &quot; &amp; &lt; &gt;, one after another */
bool oa_unescape(struct oa_arena *a, struct oa_line *text);
/* Every `from` replaced; `to` is not longer. */
bool oa_replace(struct oa_arena *a, struct oa_line *text, const char *from, const char *to);

bool oa_bleu_words(const struct oa_metric_options *o, struct oa_arena *a, struct oa_line text,
                   struct oa_words *out);
bool oa_ter_words(const struct oa_metric_options *o, struct oa_arena *a, struct oa_line text,
                  struct oa_words *out);
/* Porter's stem of a word of lower-case letters and digits, in place; the new length (porter.c). */
size_t oa_porter_stem(char *word, size_t length);

/* ---- word_ids.c: equal words, equal numbers ---- */

/* Ids of the units of several texts; text 0 is the hypothesis. */
struct oa_ids_of {
    int texts;
    int32_t **id;
    long *length;
    int32_t distinct;
};
bool oa_number_words(struct oa_arena *a, const struct oa_words *text, int texts,
                     struct oa_ids_of *out);
/* Pairs of numbers to numbers from 0 on, in a table with room for `most`. */
struct oa_pairs {
    uint64_t *key;
    int32_t *id;
    size_t mask;
    int32_t count;
};
bool oa_pairs_begin(struct oa_arena *a, long most, struct oa_pairs *out);
int32_t oa_pairs_id(struct oa_pairs *p, uint32_t x, uint32_t y);

/* ---- grams.c: n-grams and how many two texts share ---- */

struct oa_grams {
    struct oa_arena *arena;
    const struct oa_ids_of *text;
    int order;
    long *count;    /* [texts]: n-grams of each text */
    int32_t **gram; /* [texts][count] */
    int32_t *times; /* [texts, distinct] */
    int32_t distinct;
    size_t mark;
};
bool oa_grams_begin(struct oa_arena *a, const struct oa_ids_of *text,
                    struct oa_grams *out); /* order 0 */
bool oa_grams_longer(struct oa_grams *g);  /* the next order */
/* n-grams of text 0 that are also in texts first … last-1, each as often as in the one of these
 * that has most of it. */
long oa_grams_shared(const struct oa_grams *g, int first, int last);

/* ---- edits.c, subsequence.c ---- */

/* Edits of TER, shifts included: of text 0 into text r. */
bool oa_ter_edits(struct oa_arena *a, const struct oa_ids_of *ids, int r, long *edits);
/* Length of the longest common subsequence of the texts 0 and 1. */
bool oa_longest_shared(struct oa_arena *a, const struct oa_ids_of *ids, long *length);
/* Marks [length of the reference] the places of one with another text. */
bool oa_mark_shared(struct oa_arena *a, const struct oa_ids_of *ids, int reference, int hypothesis,
                    bool *marked);

/* segments.c: what statistics of a metric that is of rows still lack, `whole`. */
enum oa_error oa_statistics_of_rows(oa_context *c, struct oa_statistics *s);

/* ---- NumPy's ways ---- */

/* numpy_random.c: default_rng(seed): PCG64 (O'Neill, 2014), seeded by SeedSequence. */
struct oa_numpy_random {
    uint64_t state[2], increment[2]; /* high, low */
    uint32_t held;                   /* the half of the last 64 bits that was not used yet */
    bool holds;
    uint32_t bits; /* of oa_numpy_bit */
    int bits_left;
};
void oa_numpy_seed(struct oa_numpy_random *r, uint64_t seed);
uint32_t oa_numpy_below(struct oa_numpy_random *r,
                        uint32_t n);          /* as choice(n) does; n at least 1 */
bool oa_numpy_bit(struct oa_numpy_random *r); /* as integers(2, dtype=bool) does */
/* numpy_sums.c: sum of a contiguous array; single: of floats in float. */
double oa_numpy_mean(const double *x, long n, bool single);

static inline double oa_rounded(double x, bool single)
{
    return single ? (double)(float)x : x;
}

#endif
