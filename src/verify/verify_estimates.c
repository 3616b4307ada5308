/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole layers against what they estimate, or start near: the error of performer's output against
 * softmax attention with the same weights falls with the number of features; a random synthesizer
 * as Mesh TensorFlow initialises it is within 1 % of the plain average (max |P_ij·n − 1| ≤
 * e^{2·limit} − 1, the limit being √(6/(H·N + N²))).
 */
#include "verify/verify.h"

#include <math.h>
#include <string.h>

/* ---- performer and softmax
 * -----------------------------------------------------------------------------------------
 */

enum { TOKENS = 128, HEAD = 32, SAMPLES = 4 };

/* Inputs a fifth as large: |x + y|² of a few, where an estimate makes sense. */
static double *output(struct oa_proof *p, const char *spec, struct oa_case *a)
{
    struct oa_setup setup = { .precision = OA_PRECISION_F32,
                              .width = HEAD,
                              .heads = 1,
                              .batch = SAMPLES,
                              .queries = TOKENS,
                              .length = TOKENS };
    if (!oa_proof_open(p, spec, OA_MODE_BOTH, &setup, a))
        return NULL;
    for (long i = 0; i < a->B * a->T * a->D; i++)
        a->x[i] *= 0.2;
    a->no_gradients = true;
    return oa_proof_run(p, a) ? a->y : NULL;
}

static double relative_error(const double *got, const double *want, long count)
{
    double off = 0, all = 0;
    for (long i = 0; i < count; i++) {
        off += (got[i] - want[i]) * (got[i] - want[i]);
        all += want[i] * want[i];
    }
    return sqrt(off / all);
}

static void check_performer(struct oa_proof *p, const char *kernel)
{
    static const int features[] = { 32, 128, 512, 2048 };
    struct oa_case exact, a;
    double before = 0.99 /* of no output at all: 1 */, *want = output(p, "softmax", &exact);
    for (int i = 0; want && i < 4; i++) {
        char spec[96];
        snprintf(spec, sizeof spec, "performer(kernel=%s, features=%d)", kernel, features[i]);
        const double *got = output(p, spec, &a);
        if (!got)
            continue;
        double error = relative_error(got, want, a.B * a.T * a.D);
        oa_proof_measure(p, &a, error, before,
                         "distance to softmax attention, less than with fewer features%s",
                         i ? "" : ", or with none");
        before = error;
        oa_case_close(&a);
    }
    oa_proof_measure(p, &exact, before, 0.35, "distance of performer(kernel=%s) with 2048 features",
                     kernel);
    oa_case_close(&exact);
}

/* ---- random synthesizer
 * --------------------------------------------------------------------------------------------
 */

/* Its parameters as they are first made: the case's are random ones. */
static void check_start(struct oa_proof *p)
{
    enum { N = 512 };
    struct oa_case a;
    struct oa_setup setup = {
        .precision = OA_PRECISION_F32, .width = 8, .heads = 8, .batch = 1, .queries = N, .length = N
    };
    double worst = 0, limit = sqrt(6 / (8.0 * N + (double)N * N));
    if (!oa_proof_open(p, "random(frozen)", OA_MODE_BOTH, &setup, &a))
        return;
    double *map = oa_case_room(&a, 8L * N * N);
    struct oa_oracle in = { .x = a.x, .queries = N, .keys = N, .length = N };
    const struct oa_group *g = &a.rig.layer.group[0];
    if (map && g->mechanism->weights(g, &in, map) == OA_OK) {
        for (long i = 0; i < 8L * N * N; i++)
            worst = fmax(worst, fabs(map[i] * N - 1));
        oa_proof_measure(p, &a, worst, exp(2 * limit) - 1,
                         "first map, from the plain average, limit %.7f", limit);
    }
    oa_case_close(&a);
}

static void once(struct oa_proof *p)
{
    if (oa_proof_wants(p, "performer")) {
        check_performer(p, "favor+");
        check_performer(p, "hyperbolic");
        check_performer(p, "favor++");
    }
    if (oa_proof_wants(p, "random"))
        check_start(p);
}

const struct oa_subject oa_subject_estimates = {
    .name = "estimates",
    .claim = "more features come nearer to softmax attention; a random synthesizer starts as the "
             "average",
    .work = 1,
    .once = once,
};
