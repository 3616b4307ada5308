/* SPDX-License-Identifier: Apache-2.0 */
#include "train/shards.h"

#include "train/train.h"

/* ---- opening ---- */

enum oa_error oa_shards_model(struct oa_device *d, const struct oa_options *o,
                              const struct oa_model_form *form, long ranks, struct oa_model **out)
{
    OA_TRY(oa_optimizer_check(d->context, o));
    if (ranks == 1 || !o->cluster_shard)
        return oa_model_open(d, o, form, true, out);
    if (o->train_optimizer == OA_OPTIMIZER_ADAFACTOR || o->train_optimizer == OA_OPTIMIZER_MUON)
        return oa_fail(
            d->context, OA_ARGUMENT,
            "cluster.shard cannot be combined with train.optimizer %s, which needs whole tensors: "
            "give train.optimizer adamw, sgd or lion, or cluster.shard off",
            o->train_optimizer == OA_OPTIMIZER_MUON ? "muon" : "adafactor");
    return oa_model_open_sharded(d, o, form, out);
}

static const void *gather_moment(void *argument, int moment);

enum oa_error oa_shards_open(struct oa_model *m, struct oa_cluster *cluster,
                             struct oa_tree_sum *sum, struct oa_shards *out)
{
    struct oa_store *s = &m->store;
    *out = (struct oa_shards){ .store = s, .sum = sum };
    OA_TRY(oa_tree_sum_open(s->device, cluster, m->options.train_accumulate, s->gradients, s->live,
                            s->sharded ? s->updated : 0, sum));
    if (!s->sharded)
        return OA_OK;
    s->gather_moment = gather_moment;
    s->gather_argument = out;
    OA_TRY(oa_store_allocate_moments(s, sum->held));
    out->run = oa_alloc(s->context,
                        ((size_t)oa_blocks(s->updated, OA_SQUARES_RUN) + 1) * sizeof *out->run);
    oa_view_open(&out->view, s->device, s->gradients,
                 (size_t)s->updated * s->device->numbers.real_size, 0);
    return oa_status(s->context);
}

void oa_shards_close(struct oa_shards *k)
{
    if (k->run)
        oa_view_close(&k->view);
    oa_free(k->run);
}

/* ---- a step ---- */

enum oa_error oa_shards_squares(struct oa_shards *k, double *out)
{
    const struct oa_store *s = k->store;
    *out = k->run ? 0 : s->device->ops->sum_squares(s->device, s->updated, s->gradients);
    for (int i = 0; i < k->sum->shards; i++) {
        const struct oa_tree_shard *shard = &k->sum->shard[i];
        for (long e = shard->first; e < shard->end; e += OA_SQUARES_RUN)
            k->run[e / OA_SQUARES_RUN] =
                s->device->ops->sum_squares(s->device, oa_min(OA_SQUARES_RUN, shard->end - e),
                                            oa_real_at(s->device, s->gradients, e));
    }
    if (!k->run || s->device->dry)
        return OA_OK;
    OA_TRY(oa_tree_gather_runs(k->sum, k->run));
    for (long i = 0; i < oa_blocks(s->updated, OA_SQUARES_RUN); i++)
        *out += k->run[i];
    return OA_OK;
}

enum oa_error oa_shards_step(struct oa_shards *k, const struct oa_options *o, long step, double lr,
                             double scale)
{
    long old = oa_optimizer_update(k->store, k->sum, o, step, lr, scale);
    enum oa_error e = oa_tree_spread(k->sum, k->store->values, "the values of parameters");
    oa_store_refresh_from(k->store, old);
    return e;
}

/* ---- whole moments ---- */

static void copy_shards(const struct oa_shards *k, int moment, bool keep)
{
    struct oa_device *d = k->store->device;
    for (int i = 0; i < k->sum->shards; i++) {
        const struct oa_tree_shard *shard = &k->sum->shard[i];
        size_t bytes = (size_t)(shard->end - shard->first) * d->numbers.real_size;
        void *mine = oa_real_at(d, moment ? k->store->moment2 : k->store->moment1, shard->at),
             *all = oa_real_at(d, k->store->gradients, shard->first);
        d->ops->copy(d, bytes, keep ? all : mine, keep ? mine : all);
    }
}

void oa_shards_keep(struct oa_shards *k, int moment)
{
    copy_shards(k, moment, true);
}

static const void *gather_moment(void *argument, int moment)
{
    struct oa_shards *k = argument;
    copy_shards(k, moment, false);
    if (oa_tree_spread(k->sum, k->store->gradients, "the optimiser's state") != OA_OK)
        return NULL;
    oa_view_fetch(&k->view);
    return k->view.host;
}

/* As often as the first rank asks, and in the same order: once for the checksum, once for the file.
 */
enum oa_error oa_shards_help_saving(struct oa_shards *k)
{
    for (int i = 0; k->run && i < 4; i++)
        if (!gather_moment(k, i % 2))
            return oa_status(k->store->context);
    return OA_OK;
}
