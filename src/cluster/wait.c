/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cluster.h"

#include <math.h>

static const double most_seconds = 1; /* that count between two polls */

void oa_wait_begin(struct oa_wait *w)
{
    *w = (struct oa_wait){ .polled = oa_clock() };
}

double oa_wait_poll(struct oa_wait *w)
{
    double now = oa_clock();
    w->seconds += fmin(now - w->polled, most_seconds);
    w->polled = now;
    return w->seconds;
}
