/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/run_order.h"
#include "base/folder_lock.h"

#include "compare/run_result.h"
#include "kernels/kernels.h"

#include <string.h>

/* What rounds: "processor, instruction set, onednn 2.6.3 avx512_core", the last where matrix
 * products are not made by the kernels of that set alone; older programs did not say it, which is
 * *before: so many of the characters. */
static int name_machine(oa_context *c, enum oa_precision precision, char out[OA_MACHINE],
                        int *before)
{
    const char *isa = oa_isa_name(oa_context_isa(c));
    struct oa_kernels k;
    oa_kernels_init(&k, precision, oa_context_isa(c), oa_context_cpu(c));
    int n = *before = snprintf(out, OA_MACHINE, "%.100s, %s", oa_context_cpu(c)->name, isa);
    if (k.gemm_name && strcmp(k.gemm_name, isa) != 0)
        n += snprintf(out + n, OA_MACHINE - (size_t)n, ", %.40s", k.gemm_name);
    return n;
}

void oa_machine_name(oa_context *c, const struct oa_workplace *place, enum oa_precision precision,
                     char out[OA_MACHINE])
{
    int before, n = name_machine(c, precision, out, &before), threads = oa_thread_count(c);
    if (threads == place->threads)
        snprintf(out + n, OA_MACHINE - (size_t)n, ", %d threads", threads);
    else
        snprintf(out + n, OA_MACHINE - (size_t)n, ", %d of %d threads", threads, place->threads);
}

struct oa_workload oa_run_order_workload(const struct oa_run_order *order)
{
    struct oa_workload w = *order->workload;
    if (order->parent)
        w.start = order->parent->model;
    return w;
}

static enum oa_error fingerprint_of(oa_context *c, const struct oa_run_order *order, json_t **out)
{
    struct oa_workload w = oa_run_order_workload(order);
    OA_TRY(oa_fingerprint_make(c, &order->options, &w, out));
    json_object_set_new(*out, "trainable parameters", json_sprintf("%.0f", order->trainable));
    json_object_set_new(*out, "frozen parameters", json_sprintf("%.0f", order->frozen));
    return oa_status(c);
}

enum oa_error oa_run_order_look(oa_context *c, const struct oa_run_order *order, struct oa_run *run,
                                bool *found)
{
    json_t *fingerprint = NULL;
    *found = false;
    enum oa_error e = fingerprint_of(c, order, &fingerprint);
    if (e == OA_OK)
        e = oa_run_load(c, order->folder, fingerprint, &order->options, order->workload->task, run,
                        found);
    if (e == OA_OK && !*found && oa_run_trained(c, order->folder, 0))
        e = oa_run_check_begun(c, order->folder, fingerprint);
    json_decref(fingerprint);
    return e;
}

/* Has a run of `machine` been rounded as here? Where its threads begin in the text; NULL: no. */
static const char *rounds_alike(oa_context *c, enum oa_precision precision, const char *machine)
{
    char name[OA_MACHINE];
    int before;
    size_t n = (size_t)name_machine(c, precision, name, &before), old = (size_t)before;
    if (strstr(machine, "begun on"))
        return NULL;
    if (strncmp(machine, name, n) == 0 && (machine[n] == 0 || machine[n] == ','))
        return machine[n] ? machine + n + 2 : machine + n;
    bool older = strncmp(machine, name, old) == 0 && machine[old] == ',' &&
                 strspn(machine + old + 2, "0123456789") > 0;
    return older ? machine + old + 2 : NULL;
}

/* Another processor rounds in another way and has other speeds; of these only the first is as good.
 * Another number of threads has other speeds alone. */
static enum oa_error check_machine(oa_context *c, struct oa_workplace *place,
                                   const struct oa_run_order *order, const char *machine)
{
    char here[OA_MACHINE];
    const char *folder = order->folder;
    enum oa_precision precision = order->options.train_precision;
    oa_machine_name(c, place, precision, here);
    if (strcmp(machine, here) == 0 || (!place->clocked && rounds_alike(c, precision, machine)))
        return OA_OK;
    if (place->clocked)
        return oa_fail(c, OA_ARGUMENT,
                       "%s comes from another machine (%s; this one: %s), where equal time is "
                       "another budget; go on "
                       "there, or give another --out",
                       folder, machine, here);
    if (!atomic_exchange(&place->elsewhere, true))
        oa_log(c, 0,
               "%s comes from another machine (%s; this one: %s): losses compare, speeds and times "
               "do not",
               folder, machine, here);
    return OA_OK;
}

static enum oa_error train(oa_context *c, const struct oa_run_order *order, struct oa_run *run)
{
    struct oa_workload w = oa_run_order_workload(order);
    struct oa_train_request r = { .options = &order->options,
                                  .workload = &w,
                                  .cluster = order->group,
                                  .folder = order->folder,
                                  .resume = true,
                                  .exact = true,
                                  .title = order->title,
                                  .run = order->number,
                                  .runs = order->count,
                                  .share = order->share,
                                  .share_argument = order->share_argument,
                                  .whole = order->whole };
    enum oa_error e = oa_train_run(c, &r, run);
    if (e != OA_DIVERGED)
        return e;
    const char *why;
    oa_last_error(c, &why);
    run->failed = true;
    run->seed = (uint64_t)order->options.train_seed;
    snprintf(run->failure, sizeof run->failure, "%s", why);
    oa_clear_error(c);
    oa_log(c, 0, "%s, seed %ld: %s", order->title, order->options.train_seed, run->failure);
    return OA_OK;
}

/* The machine of a run that was begun on `begun` and ended on `here`. */
static void name_machines(oa_context *c, enum oa_precision precision, const char *begun,
                          const char *here, struct oa_run *run)
{
    const char *threads = rounds_alike(c, precision, begun);
    if (strcmp(begun, here) == 0)
        snprintf(run->machine, sizeof run->machine, "%s", here);
    else if (threads)
        snprintf(run->machine, sizeof run->machine, "%.190s, begun with %.50s", here, threads);
    else
        snprintf(run->machine, sizeof run->machine, "%.120s, begun on %.120s", here, begun);
}

/* `train` takes the same lock. */
static enum oa_error begin_locked(oa_context *c, const struct oa_run_order *order,
                                  struct oa_workplace *place, json_t *fingerprint, const char *here,
                                  char *begun, struct oa_lock **lock)
{
    OA_TRY(oa_folder_lock(c, order->folder, lock));
    OA_TRY(oa_run_begin(c, order->folder, fingerprint, here, begun));
    return check_machine(c, place, order, begun);
}

static enum oa_error train_and_save(oa_context *c, const struct oa_run_order *order,
                                    struct oa_workplace *place, json_t *fingerprint,
                                    struct oa_lock **lock, struct oa_run *run)
{
    char here[OA_MACHINE], begun[OA_MACHINE];
    oa_machine_name(c, place, order->options.train_precision, here);
    enum oa_error e = begin_locked(c, order, place, fingerprint, here, begun, lock);
    OA_TRY(oa_cluster_agree(order->group, e));
    OA_TRY(train(c, order, run));
    name_machines(c, order->options.train_precision, begun, here, run);
    if (!run->failed)
        OA_TRY(oa_run_weights(c, order->folder, run));
    return oa_run_save(c, order->folder, fingerprint, order->workload->task->measures, run);
}

enum oa_error oa_run_order_read(oa_context *c, const struct oa_run_order *order,
                                struct oa_workplace *place, struct oa_run *run, bool *found)
{
    OA_TRY(oa_run_order_look(c, order, run, found));
    return *found ? check_machine(c, place, order, run->machine) : OA_OK;
}

enum oa_error oa_run_order_train(oa_context *c, const struct oa_run_order *order,
                                 struct oa_workplace *place, struct oa_run *run)
{
    json_t *fingerprint = NULL;
    struct oa_lock *lock = NULL;
    enum oa_error e = oa_cluster_agree(order->group, fingerprint_of(c, order, &fingerprint));
    if (e == OA_OK)
        e = train_and_save(c, order, place, fingerprint, &lock, run);
    oa_folder_unlock(lock);
    json_decref(fingerprint);
    return e;
}

enum oa_error oa_run_order_help(oa_context *c, const struct oa_run_order *order, struct oa_run *run)
{
    OA_TRY(oa_cluster_agree(order->group, OA_OK)); /* it has a fingerprint, and */
    OA_TRY(oa_cluster_agree(order->group, OA_OK)); /* its folder is begun */
    return train(c, order, run);
}
