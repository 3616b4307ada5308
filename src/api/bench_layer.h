/* SPDX-License-Identifier: Apache-2.0
 * The measurement behind `orthant bench`: one attention layer at one length. */
#ifndef ORTHANT_BENCH_LAYER_H
#define ORTHANT_BENCH_LAYER_H

#include "attention/attention.h"

struct oa_layer_case {
    const struct oa_spec *spec;
    enum oa_precision precision;
    long width, heads, length, batch;
    bool causal;
};
struct oa_layer_cost {
    double forward, both; /* seconds of a forward pass, and of forward + backward: the least of several */
    double flops;         /* of forward + backward */
    double memory;        /* bytes: activations, gradients of activations, scratch */
};
enum oa_error oa_layer_measure(oa_context *c, const struct oa_layer_case *what, struct oa_layer_cost *out);

#endif
