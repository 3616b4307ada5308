/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cluster.h"

#include <math.h>

static const double most = 1; /* seconds that count between two looks */

void oa_wait_begin(struct oa_wait *w)
{
    *w = (struct oa_wait){ .looked = oa_clock() };
}

double oa_wait_look(struct oa_wait *w)
{
    double now = oa_clock();
    w->seconds += fmin(now - w->looked, most);
    w->looked = now;
    return w->seconds;
}
