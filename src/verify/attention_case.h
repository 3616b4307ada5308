/* SPDX-License-Identifier: Apache-2.0
 *
 * One attention layer with random numbers in it: opened from a text, run forward and backward,
 * changed between runs. Everything is double outside; the layer runs in the precision of the case,
 * and what it is given is rounded to that precision first, so that an oracle in double sees the
 * very numbers that the layer sees.
 */
#ifndef ORTHANT_VERIFY_ATTENTION_CASE_H
#define ORTHANT_VERIFY_ATTENTION_CASE_H

#include "attention/layer/single_layer.h"
#include "explain/explain.h"

/* What is asked for. */
struct oa_setup {
    const char *spec;
    enum oa_mode mode;
    enum oa_precision precision;
    bool bias, padding, rotary;
    bool query_padding; /* cross-attention: queries end early as well, in the second item by two */
    double dropout;     /* of attention weights, as in training; 0 = none */
    const struct oa_mechanism
        *stand_in; /* takes the place of the mechanism of the first group; NULL = none */
    long width, heads, batch, queries, keys, length; /* 0 = 8, 2, 2, 6, 5 (6 without memory), 7 */
};

struct oa_case {
    struct oa_setup setup;
    oa_context *context;
    struct oa_single_layer rig;
    struct oa_arena arena; /* of the arrays below, and of whoever looks at the case */
    long B, T, S, D, N;
    double *x, *memory, *dy, *y, *dx, *dmemory; /* memory and dmemory NULL without */
    int32_t *query_lengths;                     /* NULL without query_padding */
    int32_t *lengths, *words; /* lengths NULL without padding: whole, two short, empty, … */
    double *cosine, *sine;
    bool no_gradients; /* forward only */
};

long oa_case_heads(const struct oa_layer_spec *l); /* two, unless the text asks for more */
/* The error says why a combination was refused; close in any case. */
enum oa_error oa_case_open(oa_context *c, const struct oa_setup *setup, struct oa_case *a);
void oa_case_close(struct oa_case *a);
/* Forward, and backward from dy: fills y, dx, dmemory and the gradients in the store. */
enum oa_error oa_case_run(struct oa_case *a);
/* Decoding: tokens first … first+count−1 of item b through a state of the layer, their rows of y
 * into `y`. */
enum oa_error oa_case_step(struct oa_case *a, struct oa_state *s, long b, long first, long count,
                           double *y);
/* All parameters of another case with the same ones; the acts stay as they are. */
void oa_case_copy_values(const struct oa_case *from, struct oa_case *to);
/* What oracles get of item b. */
struct oa_oracle oa_case_oracle(const struct oa_case *a, long b);
/* Room for numbers that lives as long as the case, not zeroed; NULL after a recorded failure. */
double *oa_case_room(struct oa_case *a, long count);
/* Such room with N(0, 1) from a stream of that name. */
double *oa_case_numbers(struct oa_case *a, const char *name, long count);
/* y, dx, dmemory and the gradients of the store, one after the other, and how many they are. */
double *oa_case_results(struct oa_case *a, long *count);

#endif
