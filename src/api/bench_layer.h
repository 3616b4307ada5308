/* SPDX-License-Identifier: Apache-2.0
 * The measurement of `orthant bench`: one attention layer at one length. */
#ifndef ORTHANT_BENCH_LAYER_H
#define ORTHANT_BENCH_LAYER_H

#include "attention/attention.h"

struct oa_layer_case {
    const char *attention;
    enum oa_precision precision;
    long width, heads, length, batch;
    bool causal;
    double (*clock)(void); /* oa_clock, or oa_processor_clock on a machine that does other work */
};
struct oa_layer_cost {
    double forward,
        both;      /* seconds of a forward pass, and of forward + backward: the least of several */
    double spread; /* of the latter: the longest run over the least, minus 1; 0 when there was one
                      run only */
    double flops;  /* of forward + backward */
    double parameters; /* bytes: values, gradients, moments */
    double pass; /* bytes: activations, their gradients, scratch of the device and of one worker */
    char why_not[600]; /* a sentence: this attention has no such layer, or too large a one. Empty:
                          measured */
};
/* A layer that is refused is no failure: the reason is in why_not. A pass that takes long is not
 * repeated. OA_INTERRUPTED when a stop was requested: *out is then incomplete. */
enum oa_error oa_layer_measure(oa_context *c, const struct oa_layer_case *what,
                               struct oa_layer_cost *out);

#endif
