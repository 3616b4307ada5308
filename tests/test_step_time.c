/* SPDX-License-Identifier: Apache-2.0
 * Which step is made to time one that is too slow, and how its time is scaled. The rates of the
 * machine are given, so that it is not the machine that chooses. */
#include "testing.h"

#include "train/step_time.h"

#include <math.h>

enum { LAYERS = 8, PERIOD = 2 };

struct timed {
    oa_context *context;
    struct oa_options o;
    struct oa_model_form form;
    struct oa_step_shape shape;
    struct oa_plan plan;
};

static void plan_step(struct timed *x, long layers, long rows)
{
    *x = (struct timed){ .context = oa_open(&(struct oa_settings){ .threads = 1 }),
                         .form = oa_language_model_form(20) };
    oa_options_default(&x->o);
    snprintf(x->o.model_attention, sizeof x->o.model_attention, "local(window=8) ; softmax");
    x->o.model_layers = layers;
    x->o.model_width = 64;
    x->o.model_context = 64;
    x->o.train_batch = rows;
    x->shape = oa_language_model_step_shape(&x->o);
    assert_int_equal(oa_plan_make(x->context, &x->o, &x->form, &x->shape, &x->plan), OA_OK);
}

/* At these rates the step takes at least `seconds`. */
static struct oa_step_time find_time(struct timed *x, double seconds)
{
    struct oa_machine_rates rates = { x->plan.computed / seconds * 2, x->plan.bytes / seconds * 2 };
    struct oa_step_time out;
    assert_true(fabs(oa_plan_lower_bound(&x->plan, &rates) / seconds - 1) < 1e-12);
    assert_int_equal(
        oa_step_time_find(x->context, &x->o, &x->form, &x->shape, &x->plan, &rates, &out), OA_OK);
    assert_true(out.least <= out.seconds && out.seconds <= out.most);
    return out;
}

/* A step may take 0.5 s by its lower bound at 0.3 of the rates. */
static void a_fast_step_is_made_itself(void **state)
{
    struct timed x;
    (void)state;
    plan_step(&x, LAYERS, 4);
    struct oa_step_time t = find_time(&x, 0.14);
    assert_int_equal(t.source, OA_TIME_MEASURED);
    assert_int_equal(t.layers, LAYERS);
    assert_int_equal(t.rows, 4);
    oa_close(x.context);
}

static void a_slow_step_has_fewer_rows(void **state)
{
    struct timed x;
    (void)state;
    plan_step(&x, LAYERS, 4);
    struct oa_step_time t = find_time(&x, 0.18);
    assert_int_equal(t.source, OA_TIME_SCALED);
    assert_int_equal(t.rows, 2);
    assert_int_equal(t.layers, LAYERS);
    oa_close(x.context);
}

/* One row cannot be less: one layer of each attention is made, here two, and counted as four times
 * as many. */
static void a_step_of_one_row_has_fewer_layers(void **state)
{
    struct timed x, small;
    (void)state;
    plan_step(&x, LAYERS, 1);
    struct oa_step_time t = find_time(&x, 0.4);
    assert_int_equal(t.source, OA_TIME_SCALED);
    assert_int_equal(t.rows, 1);
    assert_int_equal(t.layers, PERIOD);
    plan_step(&small, PERIOD, 1);
    struct oa_step_time own = find_time(&small, 0.1);
    assert_int_equal(own.source, OA_TIME_MEASURED);
    double times = t.processor / own.processor; /* the output layer is not repeated */
    if (times < 1.5 || times > 8)
        fail_msg("%d layers take %g times as long as %d", LAYERS, times, PERIOD);
    oa_close(x.context);
    oa_close(small.context);
}

static void a_step_that_no_small_one_stands_for_is_predicted(void **state)
{
    struct timed x;
    (void)state;
    plan_step(&x, PERIOD, 1);
    struct oa_step_time t = find_time(&x, 2);
    assert_int_equal(t.source, OA_TIME_PREDICTED);
    assert_true(fabs(t.seconds - 4) < 1e-9); /* half of the rates */
    assert_true(fabs(t.least - 2) < 1e-9 && fabs(t.most - 8) < 1e-9);
    oa_close(x.context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fast_step_is_made_itself),
        cmocka_unit_test(a_slow_step_has_fewer_rows),
        cmocka_unit_test(a_step_of_one_row_has_fewer_layers),
        cmocka_unit_test(a_step_that_no_small_one_stands_for_is_predicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
