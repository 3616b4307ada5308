/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/farm.h"

#include "base/concurrent.h"

#include <string.h>

enum { ORDERS = 1, NEWS = 2 }; /* tags */

static enum oa_error send(struct oa_cluster *cl, int to, int tag, const void *data, size_t bytes,
                          const char *what)
{
    struct oa_messages *m = cl->ops->open(cl);
    if (!m)
        return OA_NO_MEMORY;
    cl->ops->send(m, to, tag, data, bytes);
    enum oa_error e = oa_messages_wait(cl, m, what);
    cl->ops->close(m);
    return e;
}

enum oa_error oa_farm_send(struct oa_cluster *cl, int to, const struct oa_farm_order *order)
{
    return send(cl, to, ORDERS, order, sizeof *order, "a receipt for an order");
}

bool oa_farm_hear_order(struct oa_cluster *cl, struct oa_farm_order *out)
{
    int from;
    size_t bytes;
    return cl->ops->hear(cl, ORDERS, &from, out, sizeof *out, &bytes);
}

enum oa_error oa_farm_tell(struct oa_cluster *cl, const struct oa_farm_news *news)
{
    return send(cl, 0, NEWS, news, sizeof *news, "a receipt for its news");
}

bool oa_farm_hear_news(struct oa_cluster *cl, struct oa_farm_news *out)
{
    size_t bytes;
    int from;
    if (!cl->ops->hear(cl, NEWS, &from, out, sizeof *out, &bytes))
        return false;
    out->from = from;
    return true;
}

void oa_farm_hear_stops(struct oa_cluster *cl)
{
    struct oa_farm_news n;
    while (cl && oa_farm_hear_news(cl, &n))
        if (n.what == OA_FARM_STOPPED)
            oa_stop(cl->context, n.signal);
}

void oa_farm_dismiss(struct oa_cluster *cl)
{
    for (int r = 1; r < oa_rank_count(cl) && !cl->lost; r++) {
        struct oa_farm_order *leave = oa_alloc(cl->context, sizeof *leave);
        if (!leave)
            return;
        leave->what = OA_FARM_LEAVE;
        leave->signal =
            oa_status(cl->context) == OA_INTERRUPTED ? oa_stop_requested(cl->context) : 0;
        enum oa_error e = oa_farm_send(cl, r, leave);
        oa_free(leave);
        if (e != OA_OK && e != oa_status(cl->context))
            return;
    }
}
