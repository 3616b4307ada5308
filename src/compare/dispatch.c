/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/dispatch.h"

#include "base/concurrent.h"

#include <string.h>

enum { TAG_COMMAND = 1, TAG_STATUS = 2 };

static enum oa_error dispatch_send(struct oa_cluster *cl, int to, int tag, const void *data,
                                   size_t bytes, const char *what)
{
    struct oa_messages *m = cl->ops->open(cl);
    if (!m)
        return OA_NO_MEMORY;
    cl->ops->send(m, to, tag, data, bytes);
    enum oa_error e = oa_messages_wait(cl, m, what);
    cl->ops->close(m);
    return e;
}

enum oa_error oa_dispatch_send_command(struct oa_cluster *cl, int to,
                                       const struct oa_rank_command *command)
{
    return dispatch_send(cl, to, TAG_COMMAND, command, sizeof *command, "a receipt for a command");
}

bool oa_dispatch_receive_command(struct oa_cluster *cl, struct oa_rank_command *out)
{
    int from;
    size_t bytes;
    return cl->ops->hear(cl, TAG_COMMAND, &from, out, sizeof *out, &bytes);
}

enum oa_error oa_dispatch_send_status(struct oa_cluster *cl, const struct oa_rank_status *status)
{
    return dispatch_send(cl, 0, TAG_STATUS, status, sizeof *status, "a receipt for its status");
}

bool oa_dispatch_receive_status(struct oa_cluster *cl, struct oa_rank_status *out)
{
    size_t bytes;
    int from;
    if (!cl->ops->hear(cl, TAG_STATUS, &from, out, sizeof *out, &bytes))
        return false;
    out->from = from;
    return true;
}

void oa_dispatch_receive_stops(struct oa_cluster *cl)
{
    struct oa_rank_status s;
    while (cl && oa_dispatch_receive_status(cl, &s))
        if (s.kind == OA_STATUS_STOPPED)
            oa_stop(cl->context, s.signal);
}

void oa_dispatch_dismiss(struct oa_cluster *cl)
{
    struct oa_rank_command *leave = oa_alloc(cl->context, sizeof *leave);
    if (!leave)
        return;
    leave->kind = OA_COMMAND_LEAVE;
    if (oa_status(cl->context) == OA_INTERRUPTED)
        leave->signal = oa_stop_requested(cl->context);
    for (int r = 1; r < oa_rank_count(cl) && !cl->lost; r++) {
        enum oa_error e = oa_dispatch_send_command(cl, r, leave);
        if (e != OA_OK && e != oa_status(cl->context))
            break;
    }
    oa_free(leave);
}
