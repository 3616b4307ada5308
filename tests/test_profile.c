/* SPDX-License-Identifier: Apache-2.0
 * Profiles of steps: with a clock that ticks once a look, every time is known; what is counted is
 * what plans count. */
#include "testing.h"

#include "device/wrappers/meter.h"
#include "train/train.h"

#include <math.h>
#include <string.h>

static double ticks;

static double ticking(void)
{
    return ticks++;
}

struct setup {
    oa_context *c;
    struct oa_options o;
    struct oa_workload w;
    struct oa_profile p;
};

static void open_setup(struct setup *s, long accumulate)
{
    s->c = oa_open(&(struct oa_settings){ .threads = 1 });
    oa_options_default(&s->o);
    s->o.model_layers = 3;
    s->o.model_width = 16;
    s->o.model_heads = 2;
    s->o.model_context = 8;
    s->o.train_batch = 4;
    s->o.train_accumulate = accumulate;
    snprintf(s->o.data_train, sizeof s->o.data_train, SOURCE_DIR "/data/tinyshakespeare.txt");
    assert_int_equal(oa_workload_open(s->c, &s->o, &s->w), OA_OK);
    assert_int_equal(oa_profile_make(s->c, &s->o, &s->w, ticking, &s->p), OA_OK);
}

static void close_setup(struct setup *s)
{
    oa_profile_close(&s->p);
    oa_workload_close(&s->w);
    oa_close(s->c);
}

/* Of all rows that have these; NULL: any. */
static struct oa_metered sum(const struct oa_profile *p, const char *op, const char *place,
                             int backward)
{
    struct oa_metered all = { .calls = 0 };
    for (int i = 0; i < p->rows; i++) {
        const struct oa_metered *r = &p->row[i];
        if ((op && strcmp(r->op, op) != 0) ||
            (place && (!r->place || strcmp(r->place, place) != 0)) ||
            (backward >= 0 && r->backward != (backward > 0)))
            continue;
        all.calls += r->calls;
        all.seconds += r->seconds;
        all.flops += r->flops;
        all.computed += r->computed;
        all.bytes += r->bytes;
    }
    return all;
}

/* An operation lies between two looks; a step begins and ends with one more. */
static void seconds_are_those_of_the_clock(void **state)
{
    struct setup s;
    (void)state;
    open_setup(&s, 2);
    long calls = sum(&s.p, NULL, NULL, -1).calls;
    for (int i = 0; i < s.p.rows; i++)
        assert_true(s.p.row[i].seconds == (double)s.p.row[i].calls);
    assert_true(calls > 100);
    assert_true(s.p.seconds == (double)(2 * calls + 1));
    assert_int_equal(s.p.steps, 5); /* a tick is a second, and two are enough */
    assert_true(s.p.tokens == 2 * 4 * 8);
    close_setup(&s);
}

static void operations_are_counted_where_they_ran(void **state)
{
    struct setup s;
    (void)state;
    open_setup(&s, 1);
    assert_int_equal(sum(&s.p, "logits", "attention", 0).calls, 3);
    assert_int_equal(sum(&s.p, "logits_gradient", "attention", 1).calls, 3);
    assert_int_equal(sum(&s.p, "logits", NULL, -1).calls, 3);
    assert_int_equal(sum(&s.p, "gelu", "ffn", 0).calls, 3);
    assert_int_equal(sum(&s.p, "gelu_gradient", "ffn", 1).calls, 3);
    assert_int_equal(sum(&s.p, "embed", "embedding", 0).calls, 1);
    assert_int_equal(sum(&s.p, "linear_loss", "the output layer", 0).calls, 1);
    assert_int_equal(sum(&s.p, "adamw", OA_OPTIMISER, 0).calls,
                     2); /* with weight decay, and without */
    assert_int_equal(sum(&s.p, "zero", OA_OPTIMISER, 0).calls, 1);
    assert_int_equal(sum(&s.p, NULL, OA_OPTIMISER, 1).calls, 0);
    /* forward 2·rows·D·4·D a layer into the hidden units, and as much out of them; backward twice
     * as much */
    assert_true(sum(&s.p, "gemm", "ffn", 0).flops == 3 * 2 * (2.0 * 32 * 16 * 64));
    assert_true(sum(&s.p, "gemm", "ffn", 1).flops == 2 * 3 * 2 * (2.0 * 32 * 16 * 64));
    close_setup(&s);
}

static void counts_are_those_of_plans(void **state)
{
    struct setup s;
    struct oa_plan plan;
    (void)state;
    open_setup(&s, 2);
    assert_int_equal(oa_plan_workload(s.c, &s.o, &s.w, &plan), OA_OK);
    struct oa_metered all = sum(&s.p, NULL, NULL, -1);
    assert_true(all.flops == plan.flops);
    assert_true(all.computed == plan.computed);
    assert_true(all.bytes == plan.bytes);
    assert_true(s.p.tokens == plan.tokens);
    close_setup(&s);
}

/* What a metered device makes is what it makes without a meter, and afterwards it has none. */
static void meters_change_nothing(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    struct oa_device *d;
    static struct oa_meter m;
    const double in[4] = { 1, -2, 3, 0.5 };
    double out[4];
    assert_int_equal(oa_device_open(c, OA_PRECISION_F64, false, &d), OA_OK);
    const struct oa_device_ops *ops = d->ops;
    double *x = d->ops->allocate(d, sizeof in);
    oa_meter_open(&m, d, ticking);
    oa_meter_at(d, "decoder", "here", true);
    d->ops->upload(d, sizeof in, in, x);
    d->ops->binary(d, OA_BINARY_ADD, 4, 1, x, x, x);
    assert_true(d->ops->sum_squares(d, 4, x) == 4 * 14.25);
    d->ops->download(d, sizeof in, x, out);
    oa_meter_close(&m);
    for (int i = 0; i < 4; i++)
        assert_true(out[i] == 2 * in[i]);
    assert_ptr_equal(d->ops, ops);
    assert_null(d->meter);
    assert_int_equal(m.rows, 4);
    assert_string_equal(m.row[1].op, "add");
    assert_string_equal(m.row[1].stack, "decoder");
    assert_true(m.row[1].backward && m.row[1].calls == 1);
    oa_meter_clear(&m);
    assert_int_equal(m.rows, 4);
    assert_true(m.row[1].calls == 0 && m.row[1].seconds == 0);
    d->ops->release(d, x);
    oa_device_close(d);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds_are_those_of_the_clock),
        cmocka_unit_test(operations_are_counted_where_they_ran),
        cmocka_unit_test(counts_are_those_of_plans),
        cmocka_unit_test(meters_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
