/* SPDX-License-Identifier: Apache-2.0
 * The options conv, decay and update of `linear` (state_update.c has the formulas). */
#ifndef ORTHANT_ATTENTION_COMMON_STATE_UPDATE_H
#define ORTHANT_ATTENTION_COMMON_STATE_UPDATE_H

#include "attention/mechanism.h"

#define OA_STATE_UPDATE_ARGUMENTS                                                                  \
    { "conv",                                                                                      \
      OA_VALUE_INT,                                                                                \
      "0",                                                                                         \
      NULL,                                                                                        \
      0,                                                                                           \
      64,                                                                                          \
      "taps of a causal convolution of queries, keys and values; 0: none" },                       \
        { "decay",                                                                                 \
          OA_VALUE_CHOICE,                                                                         \
          "none",                                                                                  \
          "none|fixed|head|channel",                                                               \
          0,                                                                                       \
          0,                                                                                       \
          "what the state is multiplied by before each token" },                                   \
    {                                                                                              \
        "update", OA_VALUE_CHOICE, "sum", "sum|delta", 0, 0,                                       \
            "delta: a token replaces what its key has in the state"                                \
    }
#define OA_OUTPUT_NORM_EPSILON 1e-5

enum { OA_STATE_PARAMETERS = 6 }; /* of oa_group.parameter, the first */

bool oa_state_decays(const struct oa_atom *a);     /* decay or update=delta */
bool oa_state_normalises(const struct oa_atom *a); /* no denominator, but a norm of the output */
enum oa_error oa_state_parameters(struct oa_group *g);
/* The logits of decays and of β for the tokens x. */
struct oa_state_update oa_state_logits(oa_tape *t, const struct oa_group *g, oa_tensor *x);
/* FLOPs beyond plain sums; numbers that convolutions cache. */
double oa_state_flops(const struct oa_group *g, double features, long queries, long keys);
double oa_state_conv_numbers(const struct oa_group *g);
/* Oracle: the map [T, T] of a head with decay or delta, by the recurrence itself; room [T, r]. */
void oa_state_oracle(const struct oa_group *g, const struct oa_oracle *in, long head, long r,
                     const double *q, const double *k, double *w, double *room);
/* Oracle: rows [n, columns], heads of `width` columns, become their convolution with w [·, W],
 * whose heads may be fewer and are then repeated; then z·σ(z). */
void oa_oracle_conv(const struct oa_group *g, const struct oa_parameter *w, long n, long columns,
                    long width, double *rows);

#endif
