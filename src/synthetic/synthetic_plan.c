/* SPDX-License-Identifier: Apache-2.0
 * The list of tasks, and checks of the sizes and numbers of examples. */
#include "synthetic/synthetic.h"

#include <math.h>
#include <string.h>

#define OA_SYNTHETIC_TASK(name) extern const struct oa_synthetic_task oa_task_##name;
#include "synthetic/synthetic_tasks.def"
#undef OA_SYNTHETIC_TASK

static const struct oa_synthetic_task *const tasks[] = {
#define OA_SYNTHETIC_TASK(name) &oa_task_##name,
#include "synthetic/synthetic_tasks.def"
#undef OA_SYNTHETIC_TASK
};
enum { TASKS = sizeof tasks / sizeof *tasks };

const char *const oa_set_names[OA_DATA_SETS] = { "train", "valid", "test" };
const char *const oa_size_names[OA_SIZES] = {
    [OA_LEAST] = "min-length",
    [OA_MOST] = "max-length",
    [OA_ALPHABET] = "alphabet",
    [OA_VALUES] = "values",
    [OA_DEPTH] = "depth",
    [OA_ARGUMENTS] = "arguments",
    [OA_PAIRS] = "pairs",
    [OA_COPIES] = "copies",
    [OA_MOTIF] = "motif",
    [OA_NOISE] = "noise",
    [OA_NOISE_WORDS] = "noise-words",
};

static const double rarest = 1e-6; /* least acceptance rate: about a second per example */

const struct oa_synthetic_task *oa_synthetic_task_at(int i)
{
    return i >= 0 && i < TASKS ? tasks[i] : NULL;
}

static enum oa_error find_synthetic(oa_context *c, const char *name,
                                    const struct oa_synthetic_task **out)
{
    const char *names[TASKS];
    for (int i = 0; i < TASKS; i++) {
        names[i] = tasks[i]->name;
        *out = tasks[i];
        if (strcmp(names[i], name) == 0)
            return OA_OK;
    }
    if (strcmp(name, "compression") == 0)
        return oa_fail(
            c, OA_ARGUMENT,
            "MAD's compression is not generated: it rebuilds a sequence from the output "
            "at one token by a network of its own, and the targets of a decoder can look "
            "at the sequence itself; see 'orthant data list' for the other five tasks");
    const char *near = oa_nearest(name, names, TASKS);
    return oa_fail(c, OA_ARGUMENT, "unknown task \"%.60s\"%s%s%s; see 'orthant data list'", name,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static enum oa_error set_size(oa_context *c, struct oa_synthetic_plan *p, enum oa_synthetic_size i,
                              long given)
{
    const struct oa_size_range *range = &p->task->size[i];
    if (given && !range->fallback)
        return oa_fail(c, OA_ARGUMENT, "--%s has no effect on task %s", oa_size_names[i],
                       p->task->name);
    p->size[i] = given ? given : range->fallback;
    if (range->fallback && (p->size[i] < range->low || p->size[i] > range->high))
        return oa_fail(c, OA_ARGUMENT, "--%s is %ld; for %s it must be from %ld to %ld",
                       oa_size_names[i], given, p->task->name, range->low, range->high);
    return OA_OK;
}

/* If only one bound is given, the default of the other one is adjusted. */
static enum oa_error set_part_sizes(oa_context *c, struct oa_synthetic_plan *p, const long *given)
{
    for (int i = 0; i < OA_SIZES; i++)
        OA_TRY(set_size(c, p, (enum oa_synthetic_size)i, given[i]));
    if (!given[OA_LEAST] && p->size[OA_LEAST] > p->size[OA_MOST])
        p->size[OA_LEAST] = p->size[OA_MOST];
    if (!given[OA_MOST] && p->size[OA_MOST] < p->size[OA_LEAST])
        p->size[OA_MOST] = p->size[OA_LEAST];
    if (p->size[OA_LEAST] > p->size[OA_MOST])
        return oa_fail(c, OA_ARGUMENT, "--min-length = %ld exceeds --max-length = %ld",
                       p->size[OA_LEAST], p->size[OA_MOST]);
    const char *why = p->task->refuse ? p->task->refuse(p->size) : NULL;
    return why ? oa_fail(c, OA_ARGUMENT, "%s: %s", p->task->name, why) : OA_OK;
}

static enum oa_error set_examples(oa_context *c, struct oa_synthetic_plan *p, const long *given)
{
    for (int i = 0; i < OA_DATA_SETS; i++) {
        p->examples[i] = given[i];
        if (given[i] < 0 || given[i] > OA_MOST_EXAMPLES)
            return oa_fail(c, OA_ARGUMENT, "--%s is %ld; it must be from 0 to %d", oa_set_names[i],
                           given[i], OA_MOST_EXAMPLES);
    }
    if (p->examples[0] + p->examples[1] + p->examples[2] == 0)
        return oa_fail(c, OA_ARGUMENT,
                       "--train, --valid and --test are all 0: nothing to generate");
    return OA_OK;
}

/* Examples are distinct, so there must be enough inputs; and draws must be accepted often enough.
 */
static enum oa_error check_possible(oa_context *c, const struct oa_synthetic_plan *p)
{
    const struct oa_synthetic_task *t = p->task;
    long all = p->examples[0] + p->examples[1] + p->examples[2];
    double inputs = t->inputs(p->size), share = t->share ? t->share(p->size) : 1;
    if (isnan(inputs) || isnan(share))
        return oa_fail(c, OA_NO_MEMORY, "%s: out of memory", t->name);
    if (inputs < (double)all)
        return oa_fail(c, OA_ARGUMENT,
                       "%s: cannot generate %ld distinct examples: there are only %.0f inputs of "
                       "%ld to %ld %s; ask for fewer or longer ones%s",
                       t->name, all, inputs, p->size[OA_LEAST], p->size[OA_MOST], t->length,
                       t->size[OA_ALPHABET].fallback ? ", or a larger alphabet" : "");
    if (share < rarest)
        return oa_fail(c, OA_ARGUMENT,
                       "%s: only one in %.0e draws has %ld to %ld %s; choose other lengths",
                       t->name, 1 / share, p->size[OA_LEAST], p->size[OA_MOST], t->length);
    return OA_OK;
}

enum oa_error oa_synthetic_make_plan(oa_context *c, const char *task, const long size[OA_SIZES],
                                     const long examples[OA_DATA_SETS], uint64_t seed,
                                     struct oa_synthetic_plan *out)
{
    *out = (struct oa_synthetic_plan){ .seed = seed };
    OA_TRY(find_synthetic(c, task, &out->task));
    OA_TRY(set_part_sizes(c, out, size));
    OA_TRY(set_examples(c, out, examples));
    return check_possible(c, out);
}
