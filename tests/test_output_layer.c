/* SPDX-License-Identifier: Apache-2.0
 * The output layer and its loss where rows go in blocks and products read packed weights, against
 * sums in double; only some rows have targets, so that these sums take little time. */
#include "device/device.h"
#include "testing.h"

#include <math.h>
#include <string.h>

enum {
    V = 250017, /* no whole panels; 268 rows of it are a block */
    D = 32,
    ROWS = 536,
    SEEN = 6,     /* rows that have a target */
    CHECKED = 997 /* one of so many rows of dW is checked */
};
static const int seen[SEEN] = { 0, 31, 267, 268, 300, 535 };

struct layer {
    oa_context *c;
    struct oa_device *d;
    void *x, *w, *soft_x, *soft_w, *bias, *dx, *dw, *dbias;
    double *bias64, *x64, *w64, *soft_x64, *soft_w64;
    double loss, losses[ROWS];
    int32_t target[ROWS];
};

/* n numbers as acts or reals, and in double what they are then. */
static void *numbers(struct layer *l, long n, double size, bool act, double **as_double)
{
    const struct oa_numbers *k = &l->d->numbers;
    float *real = oa_alloc(l->c, (size_t)n * sizeof *real);
    void *to = oa_alloc(l->c, (size_t)n * (act ? k->act_size : k->real_size));
    *as_double = oa_alloc(l->c, (size_t)n * sizeof **as_double);
    static uint32_t state = 1;
    for (long i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        real[i] = (float)(size * (state / 4294967296. - 0.5));
        if (act && k->act == OA_BF16)
            real[i] = oa_bf16_to_float(oa_float_to_bf16(real[i]));
        (*as_double)[i] = (double)real[i];
    }
    if (act)
        l->d->ops->act_from_real(l->d, n, real, to);
    else
        memcpy(to, real, (size_t)n * sizeof *real);
    oa_free(real);
    return to;
}

static void open_layer(struct layer *l, enum oa_precision p, int threads)
{
    memset(l, 0, sizeof *l);
    l->c = oa_open(&(struct oa_settings){ .threads = threads });
    assert_int_equal(oa_device_open(l->c, p, false, &l->d), OA_OK);
    l->x = numbers(l, ROWS * D, 4, true, &l->x64);
    l->w = numbers(l, (long)V * D, 1, true, &l->w64);
    l->soft_x = numbers(l, ROWS * D, 4, true, &l->soft_x64);
    l->soft_w = numbers(l, (long)V * D, 1, true, &l->soft_w64);
    l->bias = numbers(l, V, 1, false, &l->bias64);
    l->dx = oa_alloc(l->c, ROWS * D * l->d->numbers.act_size);
    l->dw = oa_alloc(l->c, (size_t)V * D * l->d->numbers.real_size);
    l->dbias = oa_alloc(l->c, V * l->d->numbers.real_size);
    memset(l->target, -1, sizeof l->target);
    for (int i = 0; i < SEEN; i++)
        l->target[seen[i]] = i % 2 ? V - 1 - i : 100 * i;
}

/* Logits of −∞ in the memory of the gradient's last panel. */
static void hide_words(struct layer *l)
{
    for (long v = V / 2 + 1; v < V / 2 + 12; v++) {
        oa_real_set(l->d, l->bias, v, -INFINITY);
        l->bias64[v] = -INFINITY;
    }
}

static void close_layer(struct layer *l)
{
    void *all[] = { l->x,     l->w,   l->soft_x, l->soft_w,   l->bias,     l->dx,    l->dw,
                    l->dbias, l->x64, l->w64,    l->soft_x64, l->soft_w64, l->bias64 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        oa_free(all[i]);
    oa_device_close(l->d);
    oa_close(l->c);
}

static struct oa_linear_loss loss_of(struct layer *l, bool taught)
{
    struct oa_linear_loss a = { .rows = ROWS,
                                .width = D,
                                .vocabulary = V,
                                .x = l->x,
                                .w = l->w,
                                .bias = l->bias,
                                .target = l->target,
                                .scale = 1,
                                .dx = l->dx,
                                .dw = l->dw,
                                .dbias = l->dbias,
                                .losses = l->losses };
    if (taught) {
        a.soft_x = l->soft_x;
        a.soft_w = l->soft_w;
        a.soft_bias = l->bias;
        a.soft_width = D;
        a.hard = 0.25;
        a.soft = 0.5;
    }
    return a;
}

/* Whose values are checked: all cases, or, where only threads are looked at, a teacher in bf16 and
 * f32 without one. bf16 without one is the next test's. */
static bool is_run(int i)
{
    return !only_threads() || i == 1 || i == 2;
}

/* Memory of earlier operations: what is read of it and was not written is not a number. */
static void spoil_scratch(struct oa_device *d)
{
    size_t mark = oa_arena_mark(&d->scratch), bytes = (size_t)400 << 20;
    memset(oa_arena_take(&d->scratch, bytes), 0xff, bytes);
    oa_arena_release(&d->scratch, mark);
}

static void run_layer(struct layer *l, bool taught)
{
    struct oa_linear_loss a = loss_of(l, taught);
    memset(l->dw, 0, (size_t)V * D * l->d->numbers.real_size);
    memset(l->dbias, 0, V * l->d->numbers.real_size);
    l->loss = l->d->ops->linear_loss(l->d, &a);
    assert_int_equal(oa_status(l->c), OA_OK);
}

/* p becomes the softmax of x wᵀ + bias; the logarithm of the sum. */
static double softmax_of(const double *x, const double *w, const double *bias, double *p)
{
    double sum = 0;
    for (long v = 0; v < V; v++) {
        p[v] = bias ? bias[v] : 0;
        for (long j = 0; j < D; j++)
            p[v] += x[j] * w[v * D + j];
        sum += exp(p[v]);
    }
    for (long v = 0; v < V; v++)
        p[v] = exp(p[v]) / sum;
    return log(sum);
}

/* Row r: its loss; p becomes its gradient of the logits, q the sizes of its parts. */
static double row_of_sums(const struct layer *l, bool taught, int r, double *p, double *q)
{
    softmax_of(l->x64 + r * D, l->w64, l->bias64, p);
    double hard = taught ? 0.25 : 1, soft = taught ? 0.5 : 0, loss = -hard * log(p[l->target[r]]);
    if (taught)
        softmax_of(l->soft_x64 + r * D, l->soft_w64, l->bias64, q);
    for (long v = 0; v < V; v++) {
        double student = (hard + soft) * p[v], teacher = taught ? soft * q[v] : 0,
               target = v == l->target[r] ? hard : 0;
        loss += teacher > 0 ? teacher * log(q[v] / p[v]) : 0;
        p[v] = student - teacher - target;
        q[v] = student + teacher + target;
    }
    return loss;
}

/* Gradients of logits and dx are rounded to acts; a sum of them is wrong by a part of its parts. */
static void assert_about(double got, double want, double parts, double part)
{
    if (!(fabs(got - want) <= part * parts + 1e-9))
        fail_msg("%.9g, not %.9g (sum of parts %.9g)", got, want, parts);
}

static void check_layer(struct layer *l, bool taught)
{
    double *p = oa_alloc(l->c, V * sizeof *p), *q = oa_alloc(l->c, V * sizeof *q), loss = 0;
    double(*dw)[D] = oa_alloc(l->c, (V / CHECKED + 1) * sizeof *dw),
    (*parts)[D] = oa_alloc(l->c, (V / CHECKED + 1) * sizeof *parts), db[V / CHECKED + 1],
    part = l->d->numbers.act == OA_BF16 ? 0x1p-7 : 1e-4;
    memset(db, 0, sizeof db);
    for (int i = 0; i < SEEN; i++) {
        int r = seen[i];
        double dx[D] = { 0 }, sum[D] = { 0 }, row = row_of_sums(l, taught, r, p, q);
        loss += row;
        assert_about(l->losses[r], row, row, 1e-4);
        for (long v = 0; v < V; v++)
            for (long j = 0; j < D; j++) {
                dx[j] += p[v] * l->w64[v * D + j];
                sum[j] += q[v] * fabs(l->w64[v * D + j]);
            }
        for (long j = 0; j < D; j++) {
            double got = 0;
            l->d->ops->real_from_act(l->d, 1, oa_act_at(l->d, l->dx, r * D + j), &got);
            assert_about(oa_real_get(l->d, &got, 0), dx[j], sum[j], part);
        }
        for (long v = V - 1, k = 0; v >= 0; v -= CHECKED, k++) {
            db[k] += p[v];
            for (long j = 0; j < D; j++) {
                dw[k][j] += p[v] * l->x64[r * D + j];
                parts[k][j] += q[v] * fabs(l->x64[r * D + j]);
            }
        }
    }
    for (long v = V - 1, k = 0; v >= 0; v -= CHECKED, k++) {
        assert_about(oa_real_get(l->d, l->dbias, v), db[k], 2, part);
        for (long j = 0; j < D; j++)
            assert_about(oa_real_get(l->d, l->dw, v * D + j), dw[k][j], parts[k][j], part);
    }
    assert_about(l->loss, loss, loss, 1e-4);
    oa_free(p), oa_free(q), oa_free(dw), oa_free(parts);
}

static void blocks_have_the_loss_and_gradients(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct layer l;
        if (!is_run(i))
            continue;
        open_layer(&l, i / 2 ? OA_PRECISION_F32 : OA_PRECISION_BF16, 2);
        if (!only_threads())
            spoil_scratch(l.d);
        if (i % 2 == 0)
            hide_words(&l);
        run_layer(&l, i % 2);
        if (!only_threads())
            check_layer(&l, i % 2);
        for (size_t j = D; j < 2 * D; j++) /* an ignored row */
            assert_int_equal(((char *)l.dx)[j * l.d->numbers.act_size], 0);
        close_layer(&l);
    }
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    struct layer one, three;
    open_layer(&one, OA_PRECISION_BF16, 1);
    run_layer(&one, false);
    open_layer(&three, OA_PRECISION_BF16, 3);
    memcpy(three.x, one.x, ROWS * D * one.d->numbers.act_size);
    memcpy(three.w, one.w, (size_t)V * D * one.d->numbers.act_size);
    memcpy(three.bias, one.bias, V * one.d->numbers.real_size);
    run_layer(&three, false);
    assert_memory_equal(one.losses, three.losses, sizeof one.losses);
    assert_memory_equal(one.dx, three.dx, ROWS * D * one.d->numbers.act_size);
    assert_memory_equal(one.dw, three.dw, (size_t)V * D * one.d->numbers.real_size);
    close_layer(&one);
    close_layer(&three);
}

static void the_plan_takes_its_memory(void **state)
{
    (void)state;
    for (int i = 0; i < 4 && !only_threads(); i++) { /* there is one */
        struct layer l;
        struct oa_device *plan;
        open_layer(&l, i / 2 ? OA_PRECISION_F32 : OA_PRECISION_BF16, 1);
        assert_int_equal(oa_device_open(l.c, l.d->numbers.precision, true, &plan), OA_OK);
        struct oa_linear_loss a = loss_of(&l, i % 2);
        plan->ops->linear_loss(plan, &a);
        run_layer(&l, i % 2);
        assert_int_equal(plan->scratch.peak, l.d->scratch.peak);
        oa_device_close(plan);
        close_layer(&l);
    }
}

/* The product for dW packs both operands where many rows are a block, x is wide and words few. */
static void the_plan_takes_the_memory_of_few_words(void **state)
{
    enum { FEW = 288, WIDE = 1056, MANY = 4096 };
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 2 });
    struct oa_device *device[2];
    int32_t *target = oa_alloc(c, MANY * sizeof *target);
    void *x = oa_alloc(c, MANY * WIDE * 2), *w = oa_alloc(c, FEW * WIDE * 2),
         *dx = oa_alloc(c, MANY * WIDE * 2), *dw = oa_alloc(c, FEW * WIDE * sizeof(float));
    struct oa_linear_loss a = { .rows = MANY,
                                .width = WIDE,
                                .vocabulary = FEW,
                                .x = x,
                                .w = w,
                                .target = target,
                                .scale = 1,
                                .dx = dx,
                                .dw = dw };
    for (int dry = 0; dry < 2; dry++) {
        assert_int_equal(oa_device_open(c, OA_PRECISION_BF16, dry, &device[dry]), OA_OK);
        device[dry]->ops->linear_loss(device[dry], &a);
    }
    assert_int_equal(device[1]->scratch.peak, device[0]->scratch.peak);
    for (int dry = 0; dry < 2; dry++)
        oa_device_close(device[dry]);
    oa_free(target), oa_free(x), oa_free(w), oa_free(dx), oa_free(dw);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_have_the_loss_and_gradients),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(the_plan_takes_its_memory),
        cmocka_unit_test(the_plan_takes_the_memory_of_few_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
