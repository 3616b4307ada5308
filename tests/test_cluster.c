/* SPDX-License-Identifier: Apache-2.0
 * Ranks are threads here, and their messages copies in a list: the same sums, agreements and waits as over MPI, which
 * tests/mpi.sh looks at. */
#include "cluster/tree_sum.h"
#include "testing.h"
#include "train/handout.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* ---- ranks that are threads ---- */

enum { MOST = 12, GATHER = -1, BROADCAST = -2 };

struct mail {
    struct mail *next;
    int from, to, tag;
    size_t bytes;
    char data[];
};

struct hub {
    pthread_mutex_t lock;
    struct mail *first;
};

struct oa_messages {
    struct oa_cluster *cluster;
    struct wanted {
        int from, tag;
        void *data;
        size_t bytes;
    } wanted[1024];
    int count;
    bool looked; /* before: by the first look nothing has come, however ranks are scheduled */
};

static struct oa_messages *open(struct oa_cluster *cl)
{
    struct oa_messages *m = oa_alloc(cl->context, sizeof *m);
    m->cluster = cl;
    return m;
}

static void close(struct oa_messages *m)
{
    oa_free(m);
}

static void send(struct oa_messages *m, int to, int tag, const void *data, size_t bytes)
{
    struct hub *h = m->cluster->own;
    struct mail *mail = malloc(sizeof *mail + bytes), **last = &h->first;
    *mail = (struct mail){ NULL, m->cluster->rank, to, tag, bytes };
    memcpy(mail->data, data, bytes);
    pthread_mutex_lock(&h->lock);
    while (*last)
        last = &(*last)->next;
    *last = mail;
    pthread_mutex_unlock(&h->lock);
}

static void receive(struct oa_messages *m, int from, int tag, void *data, size_t bytes)
{
    assert_true(m->count < 1024);
    m->wanted[m->count++] = (struct wanted){ from, tag, data, bytes };
}

static void gather(struct oa_messages *m, const void *mine, size_t bytes, void *all)
{
    for (int r = 0; r < m->cluster->size; r++) {
        send(m, r, GATHER, mine, bytes);
        receive(m, r, GATHER, (char *)all + (size_t)r * bytes, bytes);
    }
}

static void broadcast(struct oa_messages *m, void *data, size_t bytes)
{
    for (int r = 0; m->cluster->rank == 0 && r < m->cluster->size; r++)
        send(m, r, BROADCAST, data, bytes);
    receive(m, 0, BROADCAST, data, bytes);
}

static struct mail *take(struct hub *h, int to, const struct wanted *w)
{
    pthread_mutex_lock(&h->lock);
    struct mail **at = &h->first, *found;
    while (*at && !((*at)->to == to && (*at)->from == w->from && (*at)->tag == w->tag))
        at = &(*at)->next;
    found = *at;
    if (found)
        *at = found->next;
    pthread_mutex_unlock(&h->lock);
    return found;
}

static bool arrived(struct oa_messages *m)
{
    struct mail *mail;
    int taken = 0;
    if (!m->looked) {
        m->looked = true;
        return m->count == 0;
    }
    while (taken < m->count && (mail = take(m->cluster->own, m->cluster->rank, &m->wanted[taken]))) {
        assert_int_equal(mail->bytes, m->wanted[taken].bytes);
        memcpy(m->wanted[taken].data, mail->data, mail->bytes);
        free(mail);
        taken++;
    }
    m->count -= taken;
    memmove(m->wanted, m->wanted + taken, (size_t)m->count * sizeof *m->wanted);
    m->looked = m->count > 0;
    return m->count == 0;
}

static void missing(const struct oa_messages *m, char *out, size_t size)
{
    snprintf(out, size, "rank %d", m->wanted[0].from);
}

/* As if the first rank had said nothing for five seconds. */
static double silence(struct oa_cluster *cl, bool begins)
{
    (void)cl;
    return begins ? 0 : 5;
}

static const struct oa_cluster_ops ops = { .open = open,
                                           .close = close,
                                           .send = send,
                                           .receive = receive,
                                           .gather = gather,
                                           .broadcast = broadcast,
                                           .arrived = arrived,
                                           .missing = missing,
                                           .silence = silence };

struct rank {
    struct oa_cluster cluster;
    pthread_t thread;
    const void *task;
    double result;
    enum oa_error e;
    char sentence[512];
};

/* Runs `body` on each of `size` ranks, with a context of its own. */
static void on_ranks(int size, double patience, void *(*body)(void *rank), const void *task, struct rank ranks[MOST])
{
    struct hub hub = { .first = NULL };
    pthread_mutex_init(&hub.lock, NULL);
    for (int r = 0; r < size; r++) {
        struct oa_settings settings = { .threads = 1 };
        ranks[r] = (struct rank){ .task = task };
        ranks[r].cluster = (struct oa_cluster){
            .context = oa_open(&settings), .rank = r, .size = size, .patience = patience, .ops = &ops, .own = &hub
        };
        snprintf(ranks[r].cluster.host, OA_HOST, "host%d", r);
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, body, &ranks[r]), 0);
    }
    for (int r = 0; r < size; r++) {
        const char *sentence;
        pthread_join(ranks[r].thread, NULL);
        oa_last_error(ranks[r].cluster.context, &sentence);
        snprintf(ranks[r].sentence, sizeof ranks[r].sentence, "%s", sentence);
        oa_cluster_free_late(&ranks[r].cluster);
        oa_close(ranks[r].cluster.context);
    }
    for (struct mail *next, *m = hub.first; m; m = next) {
        next = m->next;
        free(m);
    }
    pthread_mutex_destroy(&hub.lock);
}

/* ---- the tree ---- */

static void test_a_node_is_cut_at_a_power_of_two(void **state)
{
    (void)state;
    static const long firsts[] = { 2, 1, 3, 2, 4, 2, 5, 4, 6, 4, 7, 4, 8, 4, 9, 8, 16, 8, 17, 16, 65536, 32768 };
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i += 2)
        assert_int_equal(oa_tree_cut(40, 40 + firsts[i]), 40 + firsts[i + 1]);
}

/* Stretches of ranks are made of nodes, one after another; and of one alone where both numbers are powers of two. */
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
};

static float value_of(long leaf, long i)
{
    uint32_t x = (uint32_t)(leaf * 2654435761L + i * 40503L + 17);
    x ^= x >> 15;
    x *= 2246822519U;
    x ^= x >> 13;
    return ((float)(x & 0xffffff) - 8388608.0f) / (float)(1 + (x >> 24));
}

/* Pairwise summation as it is done when leaves come one after another: equal sizes are joined at once, what is left at
 * the end from the right. */
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
        oa_tree_look(l->sum);
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

/* Sums of squares by runs, and then all values, from what each rank has in its shards; elsewhere there is nonsense. */
static enum oa_error gather_scattered(struct oa_tree_sum *t, float *values)
{
    struct oa_device *d = t->device;
    double *runs = oa_alloc(d->context, (size_t)(oa_blocks(t->scattered, OA_SQUARES_RUN) + 1) * sizeof *runs), sum = 0;
    long at = 0;
    for (int i = 0; i < t->shards; i++) {
        const struct oa_tree_shard *s = &t->shard[i];
        if (s->at != at || (s->first < s->end && s->first % OA_SQUARES_RUN))
            return oa_fail(d->context, OA_INTERNAL, "shard %d has no whole runs, or another place", i);
        at += s->end - s->first;
        for (long e = s->first; e < s->end; e += OA_SQUARES_RUN)
            runs[e / OA_SQUARES_RUN] = d->ops->sum_squares(d, oa_min(OA_SQUARES_RUN, s->end - e), values + e);
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
    struct leaf leaf = { .values = oa_alloc(c, (size_t)task->count * sizeof(float)), .count = task->count, .sum = &t };
    r->e = oa_device_open(c, OA_PRECISION_F32, false, &d);
    if (r->e == OA_OK)
        r->e = oa_tree_sum_open(d, &r->cluster, task->leaves, leaf.values, task->count, task->scattered, &t);
    for (int step = 0; step < 2 && r->e == OA_OK; step++)
        r->e = oa_tree_sum_make(&t, make_leaf, &leaf);
    if (r->e == OA_OK && t.scattered)
        r->e = gather_scattered(&t, leaf.values);
    oa_tree_sum_close(&t);
    r->result = (double)leaf.made;
    if (r->e == OA_OK && memcmp(leaf.values, task->expected, (size_t)task->count * sizeof(float)) != 0)
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
    struct sum_task task = { leaves, count, scattered, expected };
    on_ranks(size, 60, sum_body, &task, ranks);
    for (int r = 0; r < size; r++) {
        if (ranks[r].e != OA_OK)
            fail_msg("%ld leaves, rank %d of %d: %d %s", leaves, r, size, ranks[r].e, ranks[r].sentence);
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
    static const int cases[][2] = { { 1, 1 },  { 2, 1 },  { 7, 1 },  { 12, 1 }, { 2, 2 },  { 4, 2 },  { 6, 2 },
                                    { 10, 2 }, { 14, 2 }, { 6, 3 },  { 9, 3 },  { 12, 3 }, { 4, 4 },  { 8, 4 },
                                    { 12, 4 }, { 5, 5 },  { 12, 6 }, { 7, 7 },  { 8, 8 },  { 12, 12 } };
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

static void test_ranks_must_divide_the_leaves(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    float expected[4] = { 0 };
    on_ranks(2, 60, sum_body, &(struct sum_task){ 3, 4, 0, expected }, ranks);
    assert_int_equal(ranks[0].e, OA_ARGUMENT);
    assert_non_null(
        strstr(ranks[0].sentence, "2 ranks do not divide the micro-batches of a step, train.accumulate = 3"));
}

/* 2 (R−1)/R of the array where each rank has one sum to give, as in Rabenseifner's algorithm (2004); on the plan
 * device, with memory that is counted. */
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
        assert_int_equal(oa_tree_sum_open(d, &talk, 8, (void *)(uintptr_t)4096, count, 0, &t), OA_OK);
        oa_tree_traffic(&t, &traffic);
        double expected = 2.0 * (size - 1) / size * (double)count * 4;
        assert_true(traffic.sent == expected && traffic.received == expected);
        assert_int_equal(traffic.messages, 2 * (3 << 20) / oa_max(1 << 18, size << 16) * (size - 1));
        assert_int_equal(oa_tree_sum_make(&t, make_leaf, &leaf), OA_OK);
        assert_int_equal(leaf.made, 8 / size);
        /* what waits at each level below the rank's node, and the shards that come in */
        double levels = size == 2 ? 2 : size == 4 ? 1 : 0;
        assert_true((double)t.arena.peak == 4.0 * (double)count * (levels + (double)(size - 1) / size));
        oa_tree_sum_close(&t);
    }
    oa_device_close(d);
    oa_close(c);
}

/* ---- gradients that go out beside the backward pass ---- */

enum { ROWS = 4, WIDE = 768, LAYERS = 3, BACKWARDS = 3 };

struct little_model {
    struct oa_device *d;
    struct oa_store store;
    struct oa_parameter *w[LAYERS], *unused;
    oa_tape tape;
    struct oa_tree_sum sum;
    struct oa_handout handout;
    float *x;
    int32_t target[ROWS];
    bool twice; /* the first matrix is used at the end, too */
};

static void open_little(struct little_model *m, oa_context *c, struct oa_cluster *cluster)
{
    assert_int_equal(oa_device_open(c, OA_PRECISION_F32, false, &m->d), OA_OK);
    oa_store_init(&m->store, m->d);
    for (int i = 0; i <= LAYERS; i++) {
        struct oa_parameter p = { .dims = 2,
                                  .dim = { WIDE, WIDE },
                                  .trainable = true,
                                  .matrix = true,
                                  .decay = true,
                                  .init = OA_INIT_NORMAL,
                                  .scale = 0.03 };
        snprintf(p.name, sizeof p.name, "w%d", i);
        *(i < LAYERS ? &m->w[i] : &m->unused) = oa_store_add(&m->store, &p);
    }
    assert_int_equal(oa_store_allocate(&m->store, 1, true), OA_OK);
    oa_tape_init(&m->tape, m->d);
    m->x = oa_alloc(c, (size_t)(ROWS * WIDE) * sizeof *m->x);
    assert_int_equal(oa_tree_sum_open(m->d, cluster, 4, m->store.gradients, m->store.live, 0, &m->sum), OA_OK);
    assert_int_equal(oa_handout_open(&m->store, &m->sum, &m->handout), OA_OK);
}

static void close_little(struct little_model *m)
{
    oa_handout_close(&m->handout);
    oa_tree_sum_close(&m->sum);
    oa_free(m->x);
    oa_tape_free(&m->tape);
    oa_store_free(&m->store);
    oa_device_close(m->d);
}

static enum oa_error little_leaf(void *argument, long leaf)
{
    struct little_model *m = argument;
    oa_store_zero_gradients(&m->store);
    oa_tape_reset(&m->tape, true, true, (struct oa_stream){ 0 });
    for (long i = 0; i < ROWS * WIDE; i++)
        m->x[i] = value_of(leaf, i) * 1e-7F;
    for (int i = 0; i < ROWS; i++)
        m->target[i] = (int32_t)((leaf * 31 + i * 7) % WIDE);
    oa_tensor *y = oa_tensor_from(&m->tape, m->x, ROWS, WIDE, WIDE, false);
    for (int i = 0; i < LAYERS; i++)
        y = oa_linear(&m->tape, y, m->w[i], NULL);
    if (m->twice)
        y = oa_linear(&m->tape, y, m->w[0], NULL);
    oa_linear_loss_op(&m->tape, y, m->w[1], NULL, &(struct oa_targets){ .id = m->target, .scale = 1 });
    oa_handout_backward(&m->handout, &m->tape);
    return oa_status(m->d->context);
}

/* Three sums, the tape of the last another one: what was learned of the others must not be used. */
static void little_sums(struct little_model *m, float *out)
{
    for (int pass = 0; pass < BACKWARDS; pass++) {
        m->twice = pass == BACKWARDS - 1;
        assert_int_equal(oa_tree_sum_make(&m->sum, little_leaf, m), OA_OK);
        memcpy(out + pass * m->store.live, m->store.gradients, (size_t)m->store.live * sizeof(float));
    }
}

static void *handout_body(void *argument)
{
    struct rank *r = argument;
    const float *expected = r->task;
    oa_context *c = r->cluster.context;
    struct little_model m = { 0 };
    open_little(&m, c, &r->cluster);
    float *mine = malloc((size_t)(BACKWARDS * m.store.live) * sizeof *mine);
    double began = oa_clock();
    little_sums(&m, mine);
    r->result = m.sum.hidden > 0 && m.sum.hidden < oa_clock() - began;
    r->e = memcmp(mine, expected, (size_t)(BACKWARDS * m.store.live) * sizeof *mine) ? OA_INTERNAL : OA_OK;
    free(mine);
    close_little(&m);
    return NULL;
}

static void test_gradients_beside_the_backward_pass(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    struct little_model alone = { 0 };
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    open_little(&alone, c, NULL);
    float *expected = malloc((size_t)(BACKWARDS * alone.store.live) * sizeof *expected);
    little_sums(&alone, expected);
    for (int size = 2; size <= 4; size *= 2) {
        on_ranks(size, 60, handout_body, expected, ranks);
        for (int r = 0; r < size; r++) {
            assert_int_equal(ranks[r].e, OA_OK);
            assert_true(ranks[r].result > 0);
        }
    }
    free(expected);
    close_little(&alone);
    oa_close(c);
}

/* One rank whose other half nobody is: what it hands out when. A bucket may go after the last node that uses a matrix
 * in it, and not before. */
static void *order_body(void *argument)
{
    struct rank *r = argument;
    struct little_model m = { .twice = true };
    open_little(&m, r->cluster.context, &r->cluster);
    struct oa_handout *o = &m.handout;
    assert_int_equal(oa_tree_sum_make(&m.sum, little_leaf, &m), OA_OK);
    /* nodes, newest first: w0, w2, w1, w0; the loss has made its gradient on the way forward */
    static const int last_use[LAYERS + 1] = { 3, 2, 1, -1 };
    for (int b = 0; b < oa_tree_bucket_count(&m.sum); b++) {
        long first, end;
        int latest = -1;
        oa_tree_bucket(&m.sum, b, &first, &end);
        for (int i = 0; i <= LAYERS; i++)
            if (first < (long)(i + 1) * WIDE * WIDE && end > (long)i * WIDE * WIDE)
                latest = last_use[i] > latest ? last_use[i] : latest;
        r->e = o->last[b] != latest ? OA_INTERNAL : r->e;
    }
    close_little(&m);
    return NULL;
}

static void test_a_bucket_goes_after_its_last_node(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    on_ranks(2, 60, order_body, NULL, ranks);
    assert_int_equal(ranks[0].e, OA_OK);
    assert_int_equal(ranks[1].e, OA_OK);
}

/* ---- the witness ---- */

struct sightings {
    size_t offset[8];
    int count;
};

static void saw(void *argument, size_t offset)
{
    struct sightings *s = argument;
    s->offset[s->count++ % 8] = offset;
}

static void test_a_witness_sees_every_address(void **state)
{
    (void)state;
    float before[16] = { 0 }, watched[32] = { 0 }, after[16] = { 0 };
    struct sightings s = { .count = 0 };
    struct oa_device *d;
    struct oa_witness w;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    assert_int_equal(oa_device_open(c, OA_PRECISION_F32, false, &d), OA_OK);
    oa_witness_init(&w, d, watched, sizeof watched, saw, &s);
    oa_witness_begin(&w);
    d->ops->constant(d, 16, 3, before);
    d->ops->constant(d, 16, 2, after);
    assert_int_equal(s.count, 0);
    d->ops->copy(d, sizeof after, after, watched + 16);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.offset[0], 64);
    assert_true(d->ops->sum_squares(d, 16, watched + 16) == 64);
    assert_int_equal(s.count, 2);
    struct oa_adafactor a = {
        .rows = 1, .cols = 16, .lr = 1e-3, .decay = 0.5, .w = before, .g = watched, .v = after, .update = watched + 8
    };
    d->ops->adafactor(d, &a);
    assert_int_equal(s.count, 4);
    assert_int_equal(s.offset[2] + s.offset[3], 32);
    oa_witness_end(&w);
    d->ops->constant(d, 16, 1, watched);
    assert_int_equal(s.count, 4);
    oa_device_close(d);
    oa_close(c);
}

/* ---- agreements and waits ---- */

static void *silent_body(void *argument)
{
    struct rank *r = argument;
    int all[MOST];
    r->e =
        r->cluster.rank == 1 ? OA_OK : oa_cluster_gather(&r->cluster, "an answer", &r->cluster.rank, sizeof(int), all);
    return NULL;
}

static void test_a_wait_has_an_end(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    double began = oa_clock();
    on_ranks(3, 0.2, silent_body, NULL, ranks);
    assert_true(oa_clock() - began < 5);
    assert_int_equal(ranks[1].e, OA_OK);
    assert_int_equal(ranks[2].e, OA_IO);
    assert_non_null(strstr(ranks[2].sentence, "rank 2 on host2 waited 0 s for an answer from rank 1"));
    assert_true(ranks[0].cluster.waited >= 0.2);
}

/* task: for each rank what it says; NULL: nothing failed. */
static void *agree_body(void *argument)
{
    struct rank *r = argument;
    const char *const *says = r->task, *mine = says[r->cluster.rank];
    r->e = oa_cluster_agree(&r->cluster, mine ? oa_fail(r->cluster.context, OA_FORMAT, "%s", mine) : OA_OK);
    return NULL;
}

static void check_agreement(const char *const says[3], enum oa_error e, const char *sentence)
{
    struct rank ranks[MOST];
    on_ranks(3, 60, agree_body, says, ranks);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(ranks[r].e, e);
        assert_string_equal(ranks[r].sentence, sentence);
    }
}

static void test_all_know_of_a_failure(void **state)
{
    (void)state;
    check_agreement((const char *const[]){ NULL, NULL, NULL }, OA_OK, "");
    check_agreement((const char *const[]){ NULL, "no", "never" }, OA_FORMAT, "rank 1 on host1: no");
    check_agreement((const char *const[]){ "no", "no", "no" }, OA_FORMAT, "no");
    check_agreement((const char *const[]){ "no", NULL, "no" }, OA_FORMAT, "rank 0 on host0: no");
}

static void *first_body(void *argument)
{
    struct rank *r = argument;
    r->e = oa_cluster_check_first(&r->cluster, true);
    if (r->e == OA_OK)
        r->e = oa_cluster_check_first(&r->cluster, false);
    return NULL;
}

static void test_the_first_rank_may_be_gone(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    on_ranks(2, 6, first_body, NULL, ranks);
    assert_int_equal(ranks[1].e, OA_OK);
    on_ranks(2, 4, first_body, NULL, ranks);
    assert_int_equal(ranks[1].e, OA_IO);
    assert_non_null(strstr(ranks[1].sentence, "rank 0 has given no sign of life for 5 s"));
}

/* task: for each rank what it failed with; NULL: it works on. */
static void *failed_body(void *argument)
{
    struct rank *r = argument;
    const char *const *says = r->task, *mine = says[r->cluster.rank];
    if (!mine)
        return NULL;
    r->e = oa_fail(r->cluster.context, OA_FORMAT, "%s", mine);
    r->result = oa_cluster_all_failed(&r->cluster);
    return NULL;
}

static void test_who_fails_alone_knows_it(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    for (int all = 0; all < 2; all++) {
        on_ranks(3, 0.3, failed_body, (const char *const[]){ "a", all ? "b" : NULL, "c" }, ranks);
        assert_true(ranks[0].result == all && ranks[2].result == all);
        assert_string_equal(ranks[0].sentence, "a");
        assert_string_equal(ranks[2].sentence, "c");
    }
}

static void test_alone_there_is_nothing_to_do(void **state)
{
    (void)state;
    int mine = 5, all = 0;
    assert_int_equal(oa_rank_of(NULL), 0);
    assert_int_equal(oa_rank_count(NULL), 1);
    assert_int_equal(oa_cluster_gather(NULL, "", &mine, sizeof mine, &all), OA_OK);
    assert_int_equal(all, 5);
    assert_int_equal(oa_cluster_broadcast(NULL, "", &mine, sizeof mine), OA_OK);
    assert_int_equal(oa_cluster_agree(NULL, OA_FORMAT), OA_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_node_is_cut_at_a_power_of_two),
        cmocka_unit_test(test_nodes_of_a_stretch),
        cmocka_unit_test(test_sums_do_not_depend_on_ranks),
        cmocka_unit_test(test_ranks_must_divide_the_leaves),
        cmocka_unit_test(test_what_is_exchanged),
        cmocka_unit_test(test_gradients_beside_the_backward_pass),
        cmocka_unit_test(test_a_bucket_goes_after_its_last_node),
        cmocka_unit_test(test_a_witness_sees_every_address),
        cmocka_unit_test(test_a_wait_has_an_end),
        cmocka_unit_test(test_all_know_of_a_failure),
        cmocka_unit_test(test_the_first_rank_may_be_gone),
        cmocka_unit_test(test_who_fails_alone_knows_it),
        cmocka_unit_test(test_alone_there_is_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
