/* SPDX-License-Identifier: Apache-2.0
 * Gradients that go out during the backward pass, and the access tracker that tells when they may.
 */
#include "thread_ranks.h"
#include "train/handout.h"

#include <math.h>

/* ---- gradients that go out next to the backward pass ---- */

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
    assert_int_equal(
        oa_tree_sum_open(m->d, cluster, 4, m->store.gradients, m->store.live, 0, &m->sum), OA_OK);
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
        m->x[i] = sinf((float)(leaf * ROWS * WIDE + i));
    for (int i = 0; i < ROWS; i++)
        m->target[i] = (int32_t)((leaf * 31 + i * 7) % WIDE);
    oa_tensor *y = oa_tensor_from(&m->tape, m->x, ROWS, WIDE, WIDE, false);
    for (int i = 0; i < LAYERS; i++)
        y = oa_linear(&m->tape, y, m->w[i], NULL);
    if (m->twice)
        y = oa_linear(&m->tape, y, m->w[0], NULL);
    oa_linear_loss_op(&m->tape, y, m->w[1], NULL,
                      &(struct oa_targets){ .id = m->target, .scale = 1 });
    oa_handout_backward(&m->handout, &m->tape);
    return oa_status(m->d->context);
}

/* Three sums, the tape of the last another one: what was learned of the others must not be used. */
static void little_sums(struct little_model *m, float *out)
{
    for (int pass = 0; pass < BACKWARDS; pass++) {
        m->twice = pass == BACKWARDS - 1;
        assert_int_equal(oa_tree_sum_make(&m->sum, little_leaf, m), OA_OK);
        memcpy(out + pass * m->store.live, m->store.gradients,
               (size_t)m->store.live * sizeof(float));
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
    r->e = memcmp(mine, expected, (size_t)(BACKWARDS * m.store.live) * sizeof *mine) ? OA_INTERNAL
                                                                                     : OA_OK;
    free(mine);
    close_little(&m);
    return NULL;
}

static void gradients_sent_during_the_backward_pass_are_the_same(void **state)
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

/* One rank whose other half nobody is: what it hands out when. A bucket may go after the last node
 * that uses a matrix in it, and not before. */
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

static void a_bucket_is_sent_after_its_last_node(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    on_ranks(2, 60, order_body, NULL, ranks);
    assert_int_equal(ranks[0].e, OA_OK);
    assert_int_equal(ranks[1].e, OA_OK);
}

/* ---- the access tracker ---- */

struct sightings {
    size_t offset[8];
    int count;
};

static void saw(void *argument, size_t offset)
{
    struct sightings *s = argument;
    s->offset[s->count++ % 8] = offset;
}

static void the_access_tracker_reports_every_address(void **state)
{
    (void)state;
    float before[16] = { 0 }, watched[32] = { 0 }, after[16] = { 0 };
    struct sightings s = { .count = 0 };
    struct oa_device *d;
    struct oa_access_tracker t;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    assert_int_equal(oa_device_open(c, OA_PRECISION_F32, false, &d), OA_OK);
    oa_access_tracker_init(&t, d, watched, sizeof watched, saw, &s);
    oa_access_tracker_start(&t);
    d->ops->constant(d, 16, 3, before);
    d->ops->constant(d, 16, 2, after);
    assert_int_equal(s.count, 0);
    d->ops->copy(d, sizeof after, after, watched + 16);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.offset[0], 64);
    assert_true(d->ops->sum_squares(d, 16, watched + 16) == 64);
    assert_int_equal(s.count, 2);
    struct oa_adafactor a = { .rows = 1,
                              .cols = 16,
                              .lr = 1e-3,
                              .decay = 0.5,
                              .w = before,
                              .g = watched,
                              .v = after,
                              .update = watched + 8 };
    d->ops->adafactor(d, &a);
    assert_int_equal(s.count, 4);
    assert_int_equal(s.offset[2] + s.offset[3], 32);
    oa_access_tracker_stop(&t);
    d->ops->constant(d, 16, 1, watched);
    assert_int_equal(s.count, 4);
    oa_device_close(d);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_sent_during_the_backward_pass_are_the_same),
        cmocka_unit_test(a_bucket_is_sent_after_its_last_node),
        cmocka_unit_test(the_access_tracker_reports_every_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
