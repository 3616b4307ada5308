/* SPDX-License-Identifier: Apache-2.0
 * One attention layer with random parameters and inputs, opened from a text and run forward and
 * backward. Its arrays are double; inputs are rounded to the precision of the layer first, so that
 * an oracle in double has the same inputs as the layer. */
#ifndef ORTHANT_VERIFY_ATTENTION_CASE_H
#define ORTHANT_VERIFY_ATTENTION_CASE_H

#include "attention/layer/single_layer.h"
#include "explain/explain.h"

struct oa_setup {
    const char *spec;
    enum oa_mode mode;
    enum oa_precision precision;
    bool bias, padding, rotary;
    bool query_padding; /* cross-attention: the second item has two queries less */
    double dropout;     /* of attention weights, as in training; 0 = none */
    const struct oa_mechanism
        *substitute; /* replaces the mechanism of the first group; NULL = none */
    long width, heads, batch, queries, keys, length; /* 0 = 8, 2, 2, 6, 5 (6 without memory), 7 */
};

struct oa_attention_case {
    struct oa_setup setup;
    oa_context *context;
    struct oa_single_layer single;
    struct oa_arena arena; /* of the arrays below, and of the checks */
    long B, T, S, D, N;
    double *x, *memory, *dy, *y, *dx, *dmemory; /* memory and dmemory NULL without */
    int32_t *query_lengths;                     /* NULL without query_padding */
    int32_t *lengths, *words; /* lengths NULL without padding: full, two less, empty, … */
    double *cosine, *sine;
    bool no_gradients; /* forward only */
};

/* Does a group need all tokens at once, so that it cannot decode? */
bool oa_layer_needs_all_tokens(const struct oa_layer *l);
long oa_case_heads(const struct oa_layer_spec *l); /* two, or the fewest that the text allows */
/* Close in any case. */
enum oa_error oa_case_open(oa_context *c, const struct oa_setup *setup,
                           struct oa_attention_case *a);
void oa_case_close(struct oa_attention_case *a);
/* Forward, and backward from dy: fills y, dx, dmemory and the gradients in the store. */
enum oa_error oa_case_run(struct oa_attention_case *a);
/* Decoding: tokens first … first+count−1 of item b through a state of the layer, their rows of y
 * into `y`. */
enum oa_error oa_case_step(struct oa_attention_case *a, struct oa_state *s, long b, long first,
                           long count, double *y);
/* Copies the values of all parameters; both cases have the same ones. */
void oa_case_copy_values(const struct oa_attention_case *from, struct oa_attention_case *to);
/* The input of an oracle for item b. */
struct oa_oracle oa_case_oracle(const struct oa_attention_case *a, long b);
/* An array that lives as long as the case, not zeroed; NULL after a recorded failure. */
double *oa_case_array(struct oa_attention_case *a, long count);
/* Such an array of N(0, 1) from a stream of that name. */
double *oa_case_normals(struct oa_attention_case *a, const char *name, long count);
/* y, dx, dmemory and the gradients of the store, concatenated; their number into *count. */
double *oa_case_results(struct oa_attention_case *a, long *count);

#endif
