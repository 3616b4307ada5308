/* SPDX-License-Identifier: Apache-2.0
 * Rejection sampling of distinct examples. A block is drawn in parallel, each example until the
 * rule accepts it; then, sequentially, repeated inputs are redrawn. Attempt a of example i uses the
 * stream (seed, "data/TASK/PART") → i → a, so results do not depend on threads and blocks. */
#include "synthetic/synthetic.h"

#include <string.h>

enum { BLOCK = 256, MOST_ATTEMPTS = 1 << 27 };

/* ---- seen inputs ---- */

/* A set of 64-bit hashes of the inputs drawn so far. Repetitions are always detected; a hash
 * collision, once in 10^19 pairs, costs one more draw. */
struct seen_inputs {
    uint64_t *mark; /* 0: free */
    uint64_t mask;  /* places - 1 */
};

static bool seen_add(struct seen_inputs *s, const char *input)
{
    uint64_t hash = oa_stream_named(0, input).id, mark = hash ? hash : 1, at = mark & s->mask;
    while (s->mark[at] && s->mark[at] != mark)
        at = (at + 1) & s->mask;
    bool fresh = !s->mark[at];
    s->mark[at] = mark;
    return fresh;
}

/* ---- drawing ---- */

struct slot {
    struct oa_example example;
    uint64_t number;  /* of the example in its part */
    uint64_t attempt; /* the next one */
    bool found;
};

struct oa_drawing {
    oa_context *context;
    const struct oa_synthetic_plan *plan;
    struct seen_inputs seen;
    struct oa_stream stream; /* of the part */
    struct slot slot[BLOCK];
    int32_t *room; /* of all slots */
    long not_taken, repeated;
};

enum oa_error oa_drawing_open(oa_context *c, const struct oa_synthetic_plan *plan,
                              struct oa_drawing **out)
{
    size_t room = 4 * (size_t)(plan->size[OA_MOST] + plan->size[OA_ALPHABET]);
    struct oa_drawing *d = *out = oa_alloc(c, sizeof *d);
    if (!d)
        return OA_NO_MEMORY;
    d->context = c;
    d->plan = plan;
    for (int i = 0; i < BLOCK; i++) {
        oa_text_init(&d->slot[i].example.input, c);
        oa_text_init(&d->slot[i].example.output, c);
    }
    d->room = oa_alloc(c, BLOCK * room * sizeof *d->room);
    if (!d->room)
        return OA_NO_MEMORY;
    for (int i = 0; i < BLOCK; i++)
        d->slot[i].example.room = d->room + (size_t)i * room;
    long most = plan->examples[0] + plan->examples[1] + plan->examples[2];
    uint64_t places = 16;
    while (places < 2 * (uint64_t)most)
        places *= 2;
    d->seen.mark = oa_alloc(c, places * sizeof *d->seen.mark);
    d->seen.mask = places - 1;
    return d->seen.mark ? OA_OK : OA_NO_MEMORY;
}

void oa_drawing_close(struct oa_drawing *d)
{
    if (!d)
        return;
    for (int i = 0; i < BLOCK; i++) {
        oa_text_free(&d->slot[i].example.input);
        oa_text_free(&d->slot[i].example.output);
    }
    oa_free(d->seen.mark);
    oa_free(d->room);
    oa_free(d);
}

/* ---- one example ---- */

/* Draws until the rule accepts, or a stop request, an error or MOST_ATTEMPTS. */
static void search_examples(void *argument, long item, const struct oa_worker *worker)
{
    struct oa_drawing *d = argument;
    struct slot *s = &d->slot[item];
    (void)worker;
    s->found = false;
    while (!s->found && s->attempt < MOST_ATTEMPTS && oa_status(d->context) == OA_OK &&
           !oa_stop_requested(d->context)) {
        struct oa_stream stream =
            oa_stream_child(oa_stream_child(d->stream, s->number), s->attempt++);
        struct oa_dice dice = oa_dice_of(stream);
        oa_text_cut(&s->example.input, 0);
        oa_text_cut(&s->example.output, 0);
        s->found = d->plan->task->draw(d->plan->size, &dice, &s->example);
    }
}

static enum oa_error explain_why_not(const struct oa_drawing *d, enum oa_synthetic_part part,
                                     const struct slot *s)
{
    int signal = oa_stop_requested(d->context);
    OA_TRY(oa_status(d->context));
    if (signal)
        return oa_fail(d->context, OA_INTERRUPTED, "stopped by signal %d", signal);
    return oa_fail(d->context, OA_ARGUMENT,
                   "%s: no new example found in %ld draws for example %ld of \"%s\"; ask for fewer "
                   "examples or other lengths",
                   d->plan->task->name, (long)MOST_ATTEMPTS, (long)s->number + 1,
                   oa_set_names[part]);
}

/* Redraws while the input is a repetition. */
static enum oa_error settle_drawing(struct oa_drawing *d, enum oa_synthetic_part part, long item)
{
    struct slot *s = &d->slot[item];
    long repeated = 0;
    while (s->found && !seen_add(&d->seen, s->example.input.s)) {
        repeated++;
        search_examples(d, item, NULL);
    }
    if (!s->found || oa_status(d->context) != OA_OK)
        return explain_why_not(d, part, s);
    d->repeated += repeated;
    d->not_taken += (long)s->attempt - 1 - repeated;
    return OA_OK;
}

/* ---- a part ---- */

static enum oa_error draw_block(struct oa_drawing *d, enum oa_synthetic_part part, long first,
                                long count, oa_synthetic_take *take, void *argument)
{
    for (long i = 0; i < count; i++) {
        d->slot[i].number = (uint64_t)(first + i);
        d->slot[i].attempt = 0;
    }
    oa_parallel(d->context, count, search_examples, d);
    for (long i = 0; i < count; i++) {
        OA_TRY(settle_drawing(d, part, i));
        OA_TRY(take(argument, &d->slot[i].example));
    }
    return OA_OK;
}

enum oa_error oa_drawing_part(struct oa_drawing *d, enum oa_synthetic_part part,
                              oa_synthetic_take *take, void *argument)
{
    char name[64];
    snprintf(name, sizeof name, "data/%s/%s", d->plan->task->name, oa_set_names[part]);
    d->stream = oa_stream_named(d->plan->seed, name);
    for (long first = 0, all = d->plan->examples[part]; first < all; first += BLOCK)
        OA_TRY(
            draw_block(d, part, first, all - first < BLOCK ? all - first : BLOCK, take, argument));
    return OA_OK;
}

void oa_drawing_thrown(const struct oa_drawing *d, long *not_taken, long *repeated)
{
    *not_taken = d->not_taken;
    *repeated = d->repeated;
}
