/* SPDX-License-Identifier: Apache-2.0
 * Several processes ("ranks") of one command. */
#include "api/api.h"
#include "cluster/cluster.h"

enum oa_error oa_join(oa_context *c, double timeout_seconds)
{
    struct oa_cluster *cluster;
    OA_TRY(oa_status(c));
    enum oa_error e = oa_cluster_open(c, timeout_seconds, &cluster);
    if (cluster)
        oa_context_set_cluster(c, cluster, cluster->rank > 0);
    if (e == OA_OK && cluster && cluster->size > 1 && oa_context_device_kind(c) != OA_DEVICE_CPU)
        return oa_fail(
            c, OA_UNSUPPORTED,
            "several ranks compute on processors: leave --device out, or start one rank");
    return e;
}

int oa_rank(const oa_context *c)
{
    return oa_rank_of(oa_context_cluster(c));
}

int oa_speaks(oa_context *c)
{
    return oa_cluster_end(oa_context_cluster(c));
}

int oa_stopped_by(const oa_context *c)
{
    return oa_stop_requested(c);
}

void oa_part(oa_context *c, int code)
{
    oa_cluster_close(oa_context_cluster(c), code);
    oa_context_set_cluster(c, NULL, false);
}
