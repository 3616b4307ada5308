/* SPDX-License-Identifier: Apache-2.0
 * Without MPI: a single rank. */
#include "cluster/cluster.h"

void oa_cluster_engine(char out[OA_ENGINE])
{
    out[0] = 0;
}

enum oa_error oa_cluster_open(oa_context *c, double timeout, struct oa_cluster **out)
{
    (void)timeout;
    long ranks = oa_launched_ranks();
    *out = NULL;
    if (ranks == 1)
        return OA_OK;
    return oa_fail(c, OA_UNSUPPORTED,
                   "%ld ranks were started, but this program was built without MPI, so each would "
                   "do all the work: build it with cmake -DORTHANT_MPI=ON, or start one",
                   ranks);
}
