/* SPDX-License-Identifier: Apache-2.0
 * The same bits in every output and gradient for other numbers of threads than the run has. */
#include "base/concurrent.h"
#include "verify/verify.h"

#include <math.h>
#include <string.h>

static void threads_change_nothing(struct oa_proof *p, struct oa_case *a)
{
    long count;
    if (!oa_proof_run(p, a))
        return;
    const double *here = oa_case_results(a, &count);
    for (int i = 0; here && i < 2; i++) {
        struct oa_case there;
        double different = 0;
        enum oa_error e = oa_case_open(p->other[i], &a->setup, &there);
        e = e == OA_OK ? oa_case_run(&there) : e;
        const double *results = e == OA_OK ? oa_case_results(&there, &count) : NULL;
        for (long j = 0; results && j < count; j++)
            different += memcmp(&here[j], &results[j], sizeof *here) != 0;
        if (oa_status(p->other[i]) == OA_NO_MEMORY)
            oa_fail_as(p->context, p->other[i]); /* not run, and so not disproved */
        else
            oa_proof_measure(p, a, results ? different : INFINITY, 0,
                             "numbers that differ with %d threads", oa_thread_count(p->other[i]));
        oa_case_close(&there);
        oa_clear_error(p->other[i]);
    }
}

/* Long enough for several items of work in every engine. */
static void each(struct oa_proof *p, const char *spec)
{
    struct oa_setup single = { .precision = OA_PRECISION_F32,
                               .padding = true,
                               .batch = 3,
                               .queries = 70,
                               .keys = 66,
                               .length = 70 },
                    half = single;
    half.precision = OA_PRECISION_BF16;
    oa_proof_modes(p, spec, &single, OA_MODE_BOTH, OA_MODE_CROSS, threads_change_nothing);
    if (!p->quick)
        oa_proof_modes(p, spec, &half, OA_MODE_CAUSAL, OA_MODE_CAUSAL, threads_change_nothing);
}

const struct oa_subject oa_subject_threads = {
    .name = "threads",
    .claim = "any number of threads gives the same bits",
    .work = 8,
    .each = each,
};
