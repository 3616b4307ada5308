/* SPDX-License-Identifier: Apache-2.0
 * Sums over micro-batches do not depend on how many ranks made them; what they cost. */
#include "base/asan_poison.h"
#include "cluster/tree_parts.h"
#include "thread_ranks.h"

#include <math.h>

/* ---- the tree ---- */

static void test_a_node_is_cut_at_a_power_of_two(void **state)
{
    (void)state;
    static const long firsts[] = { 2, 1, 3, 2, 4, 2,  5, 4,  6,  4,     7,
                                   4, 8, 4, 9, 8, 16, 8, 17, 16, 65536, 32768 };
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i += 2)
        assert_int_equal(oa_tree_cut(40, 40 + firsts[i]), 40 + firsts[i + 1]);
}

/* Stretches of ranks are made of nodes, one after another; and of one alone where both numbers are
 * powers of two. */
static void test_nodes_of_a_stretch(void **state)
{
    (void)state;
    for (long leaves = 1; leaves <= 64; leaves++)
        for (long size = 1; size <= leaves; size++)
            for (long r = 0; leaves % size == 0 && r < size; r++) {
                long each = leaves / size, at = r * each;
                struct oa_tree_nodes n;
                oa_tree_nodes_in(leaves, at, at + each, &n);
                for (int i = 0; i < n.count; i++) {
                    assert_int_equal(n.first[i], at);
                    at = n.end[i];
                }
                assert_int_equal(at, (r + 1) * each);
                if ((leaves & (leaves - 1)) == 0)
                    assert_int_equal(n.count, 1);
            }
    struct oa_tree_nodes n; /* ((0 1) (2 3)) (4 5): the second half is 3 and (4 5) */
    oa_tree_nodes_in(6, 3, 6, &n);
    assert_int_equal(n.count, 2);
    assert_int_equal(n.end[0], 4);
}

/* ---- sums ---- */

struct sum_task {
    long leaves, count, scattered;
    const float *expected;
    bool mute;
};

static float value_of(long leaf, long i)
{
    uint32_t x = (uint32_t)(leaf * 2654435761L + i * 40503L + 17);
    x ^= x >> 15;
    x *= 2246822519U;
    x ^= x >> 13;
    return ((float)(x & 0xffffff) - 8388608.0f) / (float)(1 + (x >> 24));
}

/* Pairwise summation as it is done when leaves come one after another: equal sizes are joined at
 * once, what is left at the end from the right. */
static float pairwise(long leaves, long i)
{
    float sum[32];
    long size[32];
    int n = 0;
    for (long leaf = 0; leaf < leaves; leaf++) {
        sum[n] = value_of(leaf, i);
        size[n++] = 1;
        for (; n > 1 && size[n - 1] == size[n - 2]; n--) {
            sum[n - 2] += sum[n - 1];
            size[n - 2] *= 2;
        }
    }
    for (; n > 1; n--)
        sum[n - 2] += sum[n - 1];
    return sum[0];
}

struct leaf {
    float *values;
    long count, made;
    struct oa_tree_sum *sum;
    int handed_out;
};

/* Every second bucket, from the last on, while the values that come before it do not exist yet. */
static void hand_out(struct leaf *l, long leaf)
{
    for (int b = oa_tree_buckets(l->sum) - 1; b >= 0; b--) {
        long first, end;
        oa_tree_bucket(l->sum, b, &first, &end);
        for (long i = first; i < end; i++)
            l->values[i] = value_of(leaf, i);
        if (b % 2 == leaf % 2)
            continue;
        oa_tree_bucket_ready(l->sum, b);
        oa_tree_poll(l->sum);
        l->handed_out++;
    }
}

static enum oa_error make_leaf(void *argument, long leaf)
{
    struct leaf *l = argument;
    bool last = oa_tree_buckets(l->sum) > 0;
    for (long i = 0; i < l->count; i++)
        l->values[i] = last ? (float)NAN : value_of(leaf, i);
    if (last)
        hand_out(l, leaf);
    l->made++;
    return OA_OK;
}

/* Sums of squares by runs, and then all values, from what each rank has in its shards; elsewhere
 * there is nonsense. */
static enum oa_error gather_scattered(struct oa_tree_sum *t, float *values)
{
    struct oa_device *d = t->device;
    double *runs = oa_alloc(d->context,
                            (size_t)(oa_blocks(t->scattered, OA_SQUARES_RUN) + 1) * sizeof *runs),
           sum = 0;
    long at = 0;
    for (int i = 0; i < t->shards; i++) {
        const struct oa_tree_shard *s = &t->shard[i];
        if (s->at != at || (s->first < s->end && s->first % OA_SQUARES_RUN))
            return oa_fail(d->context, OA_INTERNAL, "shard %d has no whole runs, or another place",
                           i);
        at += s->end - s->first;
        for (long e = s->first; e < s->end; e += OA_SQUARES_RUN)
            runs[e / OA_SQUARES_RUN] =
                d->ops->sum_squares(d, oa_min(OA_SQUARES_RUN, s->end - e), values + e);
    }
    for (long e = 0, i = 0; e < t->scattered; e++) {
        while (i < t->shards && e >= t->shard[i].end)
            i++;
        if (i == t->shards || e < t->shard[i].first)
            values[e] = (float)NAN;
    }
    OA_TRY(oa_tree_gather_runs(t, runs));
    for (long i = 0; i < oa_blocks(t->scattered, OA_SQUARES_RUN); i++)
        sum += runs[i];
    oa_free(runs);
    OA_TRY(oa_tree_spread(t, values, "values"));
    bool same = at == t->held && sum == d->ops->sum_squares(d, t->scattered, values);
    return same ? OA_OK : oa_fail(d->context, OA_INTERNAL, "the sum of squares is another one");
}

static void *sum_body(void *argument)
{
    struct rank *r = argument;
    const struct sum_task *task = r->task;
    oa_context *c = r->cluster.context;
    struct oa_device *d;
    struct oa_tree_sum t = { 0 };
    struct leaf leaf = { .values = oa_alloc(c, (size_t)task->count * sizeof(float)),
                         .count = task->count,
                         .sum = &t };
    r->e = oa_device_open(c, OA_PRECISION_F32, false, &d);
    if (r->e == OA_OK)
        r->e = oa_tree_sum_open(d, &r->cluster, task->leaves, leaf.values, task->count,
                                task->scattered, &t);
    for (int step = 0; step < 2 && r->e == OA_OK; step++)
        r->e = oa_tree_sum_make(&t, make_leaf, &leaf);
    if (r->e == OA_OK && t.scattered)
        r->e = gather_scattered(&t, leaf.values);
    oa_tree_sum_close(&t);
    r->result = (double)leaf.made;
    if (r->e == OA_OK &&
        memcmp(leaf.values, task->expected, (size_t)task->count * sizeof(float)) != 0)
        r->e = OA_INTERNAL;
    oa_free(leaf.values);
    oa_device_close(d);
    return NULL;
}

static void check_scattered(long leaves, int size, long count, long scattered)
{
    struct rank ranks[MOST];
    float *expected = malloc((size_t)count * sizeof *expected);
    for (long i = 0; i < count; i++)
        expected[i] = pairwise(leaves, i);
    struct sum_task task = { leaves, count, scattered, expected, false };
    on_ranks(size, 60, sum_body, &task, ranks);
    for (int r = 0; r < size; r++) {
        if (ranks[r].e != OA_OK)
            fail_msg("%ld leaves, rank %d of %d: %d %s", leaves, r, size, ranks[r].e,
                     ranks[r].sentence);
        assert_true(ranks[r].result == 2 * (double)leaves / size);
    }
    free(expected);
}

static void check_sum(long leaves, int size, long count)
{
    check_scattered(leaves, size, count, 0);
}

static void test_sums_do_not_depend_on_ranks(void **state)
{
    (void)state;
    static const int cases[][2] = { { 1, 1 }, { 2, 1 },  { 7, 1 },  { 12, 1 }, { 2, 2 },
                                    { 4, 2 }, { 6, 2 },  { 10, 2 }, { 14, 2 }, { 6, 3 },
                                    { 9, 3 }, { 12, 3 }, { 4, 4 },  { 8, 4 },  { 12, 4 },
                                    { 5, 5 }, { 12, 6 }, { 7, 7 },  { 8, 8 },  { 12, 12 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_sum(cases[i][0], cases[i][1], 1000);
        check_sum(cases[i][0], cases[i][1], 5); /* shards without elements */
    }
    check_sum(6, 2, (1 << 20) + 1000); /* five buckets */
    check_sum(4, 4, (1 << 20) + 17);
    check_sum(12, 4, (1 << 19) + 17);  /* stretches that are no nodes */
    check_scattered(2, 2, 1000, 1000); /* one shard */
    check_scattered(4, 4, (1 << 20) + 17, (1 << 20) + 17);
    check_scattered(6, 3, 900000, 700000); /* and a part of which all have all */
    check_scattered(5, 5, (1 << 19) + 5, 1 << 19);
}

/* The third rank has sent the first bucket to the first rank, and then nothing. The second lacks
 * it, and so does not send what the first then waits for, too. */
static void *stuck_body(void *argument)
{
    struct rank *r = argument;
    const struct sum_task *task = r->task;
    oa_context *c = r->cluster.context;
    struct oa_device *d;
    struct oa_tree_sum t;
    struct leaf leaf = { .values = oa_alloc(c, (size_t)task->count * sizeof(float)),
                         .count = task->count,
                         .sum = &t };
    r->cluster.mute = task->mute;
    assert_int_equal(oa_device_open(c, OA_PRECISION_F32, false, &d), OA_OK);
    assert_int_equal(
        oa_tree_sum_open(d, &r->cluster, task->leaves, leaf.values, task->count, 0, &t), OA_OK);
    if (r->cluster.rank < 2) {
        r->e = oa_tree_sum_make(&t, make_leaf, &leaf);
    } else {
        struct oa_messages *m = thread_ranks.open(&r->cluster);
        thread_ranks.send(m, 0, 0, leaf.values, oa_shard_bytes(&t, &t.exchange->bucket[0], 0));
        thread_ranks.close(m);
    }
    oa_tree_sum_close(&t);
    oa_free(leaf.values);
    oa_device_close(d);
    return NULL;
}

/* How many of the two that wait name the third alone. */
static int name_the_third(double patience, bool mute, struct rank ranks[MOST])
{
    int named = 0;
    struct sum_task task = { .leaves = 3, .count = 2 * oa_bucket_size(3), .mute = mute };
    on_ranks(3, patience, stuck_body, &task, ranks);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(ranks[r].e, OA_IO);
        named += strstr(ranks[r].sentence, "for gradients from rank 2:") != NULL;
    }
    return named;
}

/* Who waits says so after half of its patience: on a busy machine that may come too late for
 * another's. Of those who say nothing the one is named whose sums are missing, not those whose
 * totals are. */
static void test_who_keeps_others_waiting_is_named(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    for (int mute = 0; mute < 2; mute++) {
        double patience = 0.5;
        while (patience < 10 && name_the_third(patience, mute, ranks) < 2)
            patience *= 2;
        if (patience > 10)
            fail_msg("%s; %s", ranks[0].sentence, ranks[1].sentence);
    }
}

static void test_ranks_must_divide_the_leaves(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    float expected[4] = { 0 };
    on_ranks(2, 60, sum_body, &(struct sum_task){ 3, 4, 0, expected, false }, ranks);
    assert_int_equal(ranks[0].e, OA_ARGUMENT);
    assert_non_null(
        strstr(ranks[0].sentence, "train.accumulate = 3 is not a multiple of the 2 ranks"));
}

/* 2 (R−1)/R of the array where each rank has one sum to give, as in Rabenseifner's algorithm
 * (2004); on the plan device, with memory that is counted. */
static void test_what_is_exchanged(void **state)
{
    (void)state;
    const long count = 3 << 20;
    oa_context *c = oa_open(NULL);
    struct oa_device *d;
    assert_int_equal(oa_device_open(c, OA_PRECISION_F32, true, &d), OA_OK);
    for (int size = 2; size <= 8; size *= 2) {
        struct oa_cluster talk = { .context = c, .size = size };
        struct oa_tree_sum t;
        struct oa_traffic traffic;
        struct leaf leaf = { .sum = &t };
        assert_int_equal(oa_tree_sum_open(d, &talk, 8, (void *)(uintptr_t)4096, count, 0, &t),
                         OA_OK);
        oa_tree_traffic(&t, &traffic);
        double expected = 2.0 * (size - 1) / size * (double)count * 4;
        assert_true(traffic.sent == expected && traffic.received == expected);
        assert_int_equal(traffic.messages,
                         2 * (3 << 20) / oa_max(1 << 18, size << 16) * (size - 1));
        assert_int_equal(oa_tree_sum_make(&t, make_leaf, &leaf), OA_OK);
        assert_int_equal(leaf.made, 8 / size);
        /* what waits at each level below the rank's node, and the shards that come in */
        double levels = size == 2 ? 2 : size == 4 ? 1 : 0;
        double waits = 4.0 * (double)count * (levels + (double)(size - 1) / size),
               gaps = OA_ASAN ? 4096 : 0; /* (base/arena.c) */
        assert_true((double)t.arena.peak >= waits && (double)t.arena.peak <= waits + gaps);
        oa_tree_sum_close(&t);
    }
    oa_device_close(d);
    oa_close(c);
}

/* Ranks opened one after the other, on the plan device: their micro-batches end to end are all of
 * them, and their shards, of which the last may be short or empty, are every element once. */
static void check_ends(struct oa_device *d, int size, long count, long scattered)
{
    uint8_t *owners = calloc((size_t)scattered + 1, 1);
    long next = 0, held = 0;
    for (int rank = 0; rank < size; rank++) {
        struct oa_cluster talk = { .context = d->context, .size = size, .rank = rank };
        struct oa_tree_sum t;
        assert_int_equal(
            oa_tree_sum_open(d, &talk, 3L * size, (void *)(uintptr_t)4096, count, scattered, &t),
            OA_OK);
        assert_int_equal(t.first, next);
        assert_int_equal(t.end, next + 3);
        next = t.end;
        for (int i = 0; i < t.shards; i++)
            for (long e = t.shard[i].first; e < t.shard[i].end; e++)
                owners[e]++;
        held += t.held;
        oa_tree_sum_close(&t);
    }
    assert_int_equal(next, 3L * size);
    assert_int_equal(held, scattered);
    for (long e = 0; e < scattered; e++)
        if (owners[e] != 1)
            fail_msg("element %ld of %ld has %d owners of %d ranks", e, scattered, owners[e], size);
    free(owners);
}

static void every_element_is_in_one_shard(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_device *d;
    assert_int_equal(oa_device_open(c, OA_PRECISION_F32, true, &d), OA_OK);
    for (int size = 2; size <= 9; size++) {
        const long bucket = oa_bucket_size(size);
        const long counts[] = { 1,      size - 1,   size,          1000,          bucket - 1,
                                bucket, bucket + 1, bucket + size, 2 * bucket - 1 };
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            check_ends(d, size, counts[i], counts[i]);
            check_ends(d, size, counts[i] + 777, counts[i]);
        }
    }
    oa_device_close(d);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_node_is_cut_at_a_power_of_two),
        cmocka_unit_test(test_nodes_of_a_stretch),
        cmocka_unit_test(test_sums_do_not_depend_on_ranks),
        cmocka_unit_test(test_who_keeps_others_waiting_is_named),
        cmocka_unit_test(test_ranks_must_divide_the_leaves),
        cmocka_unit_test(test_what_is_exchanged),
        cmocka_unit_test(every_element_is_in_one_shard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
