/* SPDX-License-Identifier: Apache-2.0 */
#include "train/handout.h"

#include <stdlib.h>
#include <string.h>

/* The elements of a parameter in the flat array, and the buckets that they are in. */
struct oa_stretch {
    long first, end;
    int bucket, buckets;
};

/* ---- accesses of a pass ---- */

static int compare_end(const void *key, const void *stretch)
{
    long element = *(const long *)key;
    const struct oa_stretch *s = stretch;
    return element < s->first ? -1 : element >= s->end;
}

static void note_access(void *argument, size_t offset)
{
    struct oa_handout *o = argument;
    long element = (long)(offset / o->store->device->numbers.real_size);
    const struct oa_stretch *s =
        bsearch(&element, o->parameter, (size_t)o->count, sizeof *s, compare_end);
    for (int i = 0; s && i < s->buckets; i++) {
        int bucket = s->bucket + i;
        o->seen[bucket] = o->node;
        if (o->handing && o->last[bucket] < o->node)
            oa_fail(o->store->context, OA_INTERNAL,
                    "gradient bucket %d changed after it was sent to other ranks: this is a fault "
                    "of the program, please report it",
                    bucket);
    }
}

/* ---- a pass ---- */

static void hand_out(struct oa_handout *o, int node)
{
    for (int i = 0; o->handing && i < oa_tree_buckets(o->sum); i++)
        if (o->last[i] == node)
            oa_tree_bucket_ready(o->sum, i);
    oa_tree_poll(o->sum);
}

static void around_node(void *argument, bool begins)
{
    struct oa_handout *o = argument;
    if (begins) {
        oa_access_tracker_start(&o->tracker);
        return;
    }
    oa_access_tracker_stop(&o->tracker);
    hand_out(o, o->node++);
}

void oa_handout_backward(struct oa_handout *o, oa_tape *tape)
{
    int buckets = oa_tree_buckets(o->sum);
    uint64_t signature = buckets ? oa_tape_signature(tape) : 0;
    if (!buckets) {
        oa_tape_backward(tape);
        return;
    }
    o->handing = signature == o->signature;
    o->node = 0;
    for (int i = 0; i < buckets; i++)
        o->seen[i] = -1;
    hand_out(o, -1);
    oa_tape_backward_with(tape, around_node, o);
    memcpy(o->last, o->seen, (size_t)buckets * sizeof *o->last);
    o->signature = signature;
}

/* ---- opening ---- */

static int compare_stretch(const void *a, const void *b)
{
    long x = ((const struct oa_stretch *)a)->first, y = ((const struct oa_stretch *)b)->first;
    return (x > y) - (x < y);
}

static struct oa_stretch stretch_of(const struct oa_handout *o, const void *gradient, long count)
{
    const struct oa_store *s = o->store;
    long first =
        ((const char *)gradient - (const char *)s->gradients) / (long)s->device->numbers.real_size;
    struct oa_stretch out = { .first = first, .end = first + count };
    for (int i = 0; i < oa_tree_bucket_count(o->sum); i++) {
        long begin, end;
        oa_tree_bucket(o->sum, i, &begin, &end);
        bool inside = begin < out.end && end > first;
        out.bucket = inside && !out.buckets ? i : out.bucket;
        out.buckets += inside;
    }
    return out;
}

static void find_parameters(struct oa_handout *o)
{
    const struct oa_store *s = o->store;
    for (int i = 0; i < s->count; i++) {
        const struct oa_parameter *p = s->parameter[i];
        if (p->trainable || p->change)
            o->parameter[o->count++] =
                stretch_of(o, p->trainable ? p->gradient : p->change, p->count);
    }
    qsort(o->parameter, (size_t)o->count, sizeof *o->parameter, compare_stretch);
}

enum oa_error oa_handout_open(struct oa_store *s, struct oa_tree_sum *t, struct oa_handout *out)
{
    size_t buckets = (size_t)oa_tree_bucket_count(t);
    *out = (struct oa_handout){ .sum = t, .store = s };
    if (!buckets)
        return OA_OK;
    oa_access_tracker_init(&out->tracker, s->device, s->gradients,
                           (size_t)s->live * s->device->numbers.real_size, note_access, out);
    out->parameter = oa_alloc(s->context, (size_t)s->count * sizeof *out->parameter);
    out->last = oa_alloc(s->context, buckets * sizeof *out->last);
    out->seen = oa_alloc(s->context, buckets * sizeof *out->seen);
    OA_TRY(oa_status(s->context));
    find_parameters(out);
    return OA_OK;
}

void oa_handout_close(struct oa_handout *o)
{
    oa_free(o->parameter);
    oa_free(o->last);
    oa_free(o->seen);
}
