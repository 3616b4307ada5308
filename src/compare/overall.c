/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/overall.h"

#include <math.h>

double oa_overall_weight(const struct oa_overall *o, const struct oa_options *options)
{
    return o->by_time ? 1 : fmax(1, (double)options->train_steps);
}

void oa_overall_expect(struct oa_overall *o, long runs, double weight)
{
    o->runs += runs;
    o->work += (double)runs * weight;
}

void oa_overall_ended(struct oa_overall *o, double weight, bool was_there)
{
    o->ended++;
    *(was_there ? &o->had : &o->made) += weight;
}

void oa_overall_text(const struct oa_overall *o, double under_way, double now, char out[OA_OVERALL])
{
    static const double first = 1; /* seconds, before which nothing is known */
    double made = o->made + under_way, passed = now - o->began;
    int n = snprintf(out, OA_OVERALL, "%ld of %ld runs", o->ended, o->runs);
    if (made <= 0 || o->began <= 0 || passed < first)
        return;
    long left = (long)ceil(passed * fmax(0, o->work - o->had - made) / made);
    if (left >= 3600)
        n += snprintf(out + n, OA_OVERALL - (size_t)n, ", %ld:%02ld", left / 3600, left / 60 % 60);
    else
        n += snprintf(out + n, OA_OVERALL - (size_t)n, ", %ld", left / 60);
    snprintf(out + n, OA_OVERALL - (size_t)n, ":%02ld left", left % 60);
}
