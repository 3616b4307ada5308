/* SPDX-License-Identifier: Apache-2.0
 * What the ranks of a cluster exchange besides gradients. All have the same values, take the same
 * steps and make the same validations; only the first reads and writes the run's folder. */
#include "train/trainer.h"

#include "base/concurrent.h"

#include <string.h>

/* Of a rank, in each step. */
struct rank_report {
    int signal;      /* that asked it to stop; 0: none */
    bool save;       /* its clock asks for a checkpoint */
    double losses[]; /* of its micro-batches */
};

/* ---- beginning ---- */

/* The part of a checkpoint that all ranks need. */
struct run_state {
    bool resumed;
    double age;
    struct oa_progress progress;
    struct oa_pace pace;
};

static enum oa_error broadcast_array(struct trainer *t, void *memory, long count)
{
    struct oa_view v;
    oa_view_open(&v, t->d, memory, (size_t)count * t->d->numbers.real_size,
                 OA_VIEW_READ | OA_VIEW_WRITE);
    enum oa_error e =
        oa_cluster_broadcast(t->r->cluster, "the values of the model", v.host, v.bytes);
    oa_view_close(&v);
    return e;
}

enum oa_error oa_ranks_send_model(struct trainer *t, struct oa_model *m)
{
    if (!t->r->cluster)
        return OA_OK;
    OA_TRY(broadcast_array(t, m->store.values, m->store.total));
    oa_store_refresh_all(&m->store);
    return OA_OK;
}

/* The gradients' memory has room for a whole one. */
static enum oa_error send_sharded_moment(struct trainer *t, int moment)
{
    struct oa_store *s = &t->m->store;
    if (t->folder) {
        struct oa_view v;
        oa_view_open(&v, t->d, s->gradients, (size_t)s->updated * t->d->numbers.real_size,
                     OA_VIEW_WRITE);
        enum oa_error e = oa_folder_moment(t->m, &t->p, t->folder, moment, v.host);
        oa_view_close(&v);
        OA_TRY(e);
    }
    OA_TRY(broadcast_array(t, s->gradients, s->updated));
    oa_shards_keep(&t->shards, moment);
    return OA_OK;
}

static enum oa_error send_run_state(struct trainer *t)
{
    struct oa_store *s = &t->m->store;
    struct run_state state = { .age = t->age, .progress = t->p, .pace = t->pace };
    OA_TRY(oa_cluster_broadcast(t->r->cluster, "the state of the run", &state, sizeof state));
    t->age = state.age;
    t->p = state.progress;
    t->pace = state.pace;
    OA_TRY(broadcast_array(t, s->values, s->total));
    for (int i = 0; i < 2 && state.age >= 0; i++)
        OA_TRY(s->sharded ? send_sharded_moment(t, i)
                          : broadcast_array(t, i ? s->moment2 : s->moment1, s->updated));
    oa_store_refresh_all(s);
    return OA_OK;
}

enum oa_error oa_ranks_open(struct trainer *t)
{
    struct oa_ranks *k = &t->ranks;
    if (!t->r->cluster)
        return OA_OK;
    long size = oa_rank_count(t->r->cluster), micros = t->o->train_accumulate / size;
    k->bytes = sizeof *k->mine + (size_t)micros * sizeof *k->mine->losses;
    k->mine = oa_alloc(t->c, k->bytes);
    k->all = oa_alloc(t->c, k->bytes * (size_t)size);
    OA_TRY(oa_status(t->c));
    if (t->o->train_seconds <= 0 || t->o->train_clock == OA_CLOCK_WALL)
        return OA_OK;
    /* The processor time of all threads of all ranks is not known at the end of a step. */
    return oa_fail(t->c, OA_ARGUMENT,
                   "train.seconds of processor time needs a single rank: give train.clock wall, or "
                   "train.steps");
}

static void note_log_time(struct trainer *t)
{
    t->ranks.waited = t->ranks.in_steps;
    t->ranks.hidden = t->sum.hidden;
    t->ranks.seconds = t->p.seconds;
    t->ranks.tokens = t->p.tokens;
}

enum oa_error oa_ranks_begin(struct trainer *t)
{
    if (!t->r->cluster)
        return OA_OK;
    OA_TRY(send_run_state(t));
    oa_context_defer_stop(t->c, true);
    note_log_time(t);
    return OA_OK;
}

void oa_ranks_close(struct trainer *t)
{
    oa_free(t->ranks.mine);
    oa_free(t->ranks.all);
    if (t->r->cluster)
        oa_context_defer_stop(t->c, false);
}

/* ---- a step ---- */

static const struct rank_report *report_of(const struct trainer *t, int rank)
{
    return oa_at(t->ranks.all, t->ranks.bytes, rank);
}

/* A stop of any rank stops all after this step. */
enum oa_error oa_ranks_after_gradients(struct trainer *t)
{
    struct oa_ranks *k = &t->ranks;
    long micros = t->sum.end - t->sum.first;
    size_t bytes = (size_t)micros * sizeof *t->losses;
    if (!t->r->cluster)
        return OA_OK;
    k->mine->signal = oa_stop_pending(t->c);
    k->mine->save = oa_trainer_time_to_save(t);
    memcpy(k->mine->losses, t->losses + t->sum.first, bytes);
    OA_TRY(
        oa_cluster_gather(t->r->cluster, "the losses of micro-batches", k->mine, k->bytes, k->all));
    for (int r = 0; r < oa_rank_count(t->r->cluster); r++) {
        const struct rank_report *report = report_of(t, r);
        memcpy(t->losses + r * micros, report->losses, bytes);
        if (report->signal)
            oa_stop(t->c, report->signal);
    }
    k->save = report_of(t, 0)->save;
    return OA_OK;
}

/* Where the clock decides when a run ends, it is that of the first rank. Waits in validations and
 * for checkpoints are no time of steps. */
enum oa_error oa_ranks_after_step(struct trainer *t, double waited)
{
    t->ranks.in_steps += oa_cluster_waited(t->r->cluster) - waited;
    if (t->o->train_seconds <= 0)
        return OA_OK;
    return oa_cluster_broadcast(t->r->cluster, "the time", &t->p.seconds, sizeof t->p.seconds);
}

void oa_ranks_log(struct trainer *t, struct oa_log_line *line)
{
    const struct oa_ranks *k = &t->ranks;
    double seconds = t->p.seconds - k->seconds;
    if (!t->r->cluster || seconds <= 0)
        return;
    line->rate = (t->p.tokens - k->tokens) / seconds;
    line->waiting = (k->in_steps - k->waited) / seconds;
    line->hidden = (t->sum.hidden - k->hidden) / seconds;
    note_log_time(t);
}
