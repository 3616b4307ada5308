/* SPDX-License-Identifier: Apache-2.0
 * Structured projections: the fast transforms against the matrix of the same draw, forward and
 * backward, in every precision, for awkward numbers of rows, and with the same bits on any number
 * of threads. */
#include "testing.h"

#include "attention/attention.h"
#include "device/cpu/cpu.h"

#include <math.h>
#include <string.h>

enum { MOST_ROWS = 37, MOST_WIDTH = 96, MOST_OUT = 96, PADDING = 3 };

struct problem {
    const char *kind;
    long d, heads, k;
};
static const struct problem problems[] = {
    { "srht", 32, 2, 16 },       { "srht", 96, 2, 48 }, { "srht", 8, 2, 4 },
    { "hd3", 32, 3, 8 },         { "hd3", 96, 2, 48 },  { "permutation", 20, 3, 20 },
    { "permutation", 64, 1, 5 }, { "hd3", 64, 2, 32 },
};
static const long row_counts[] = { 1, 15, 16, 17, MOST_ROWS };

struct fixture {
    oa_context *c;
    struct oa_device *d;
    struct oa_projection_shape shape;
    struct oa_chain chain;
    double *matrix, *numbers; /* in double */
    void *reals;
};

static void open(struct fixture *f, const struct problem *p, enum oa_precision precision,
                 int threads)
{
    *f = (struct fixture){ .c = oa_open(&(struct oa_settings){ .threads = threads }) };
    f->shape = (struct oa_projection_shape){ .kind = oa_projection_of(p->kind),
                                             .d = p->d,
                                             .heads = p->heads,
                                             .width = p->k,
                                             .layer_heads = p->heads };
    assert_int_equal(oa_device_open(f->c, precision, false, &f->d), OA_OK);
    assert_true(oa_projection_chain(&f->shape, &f->chain));
    long n = p->heads * oa_chain_numbers(&f->chain);
    struct oa_stream s = oa_stream_named(5, p->kind);
    f->matrix = oa_alloc(f->c, (size_t)(p->heads * p->k * p->d) * sizeof *f->matrix);
    f->numbers = oa_alloc(f->c, (size_t)n * sizeof *f->numbers);
    f->reals = oa_alloc(f->c, (size_t)n * f->d->numbers.real_size);
    assert_true(f->matrix && f->numbers && f->reals);
    assert_int_equal(oa_generate_projection(f->c, &f->shape, s, f->matrix), OA_OK);
    assert_int_equal(oa_generate_chains(f->c, &f->shape, s, f->numbers), OA_OK);
    for (long i = 0; i < n; i++)
        oa_real_set(f->d, f->reals, i, f->numbers[i]);
}

static void close(struct fixture *f)
{
    assert_int_equal(oa_status(f->c), OA_OK);
    oa_free(f->matrix);
    oa_free(f->numbers);
    oa_free(f->reals);
    oa_device_close(f->d);
    oa_close(f->c);
}

struct values {
    double x[MOST_ROWS * (MOST_WIDTH + PADDING)], y[MOST_ROWS * (MOST_OUT + PADDING)];
    char act_x[sizeof(double) * MOST_ROWS * (MOST_WIDTH + PADDING)];
    char act_y[sizeof(double) * MOST_ROWS * (MOST_OUT + PADDING)];
};

/* n numbers N(0, 1), as acts and as what the acts are. */
static void draw(const struct fixture *f, const char *name, long n, double *x, void *act)
{
    double real[MOST_ROWS * (MOST_WIDTH + PADDING)] = { 0 };
    for (long i = 0; i < n; i++)
        oa_real_set(f->d, real, i, oa_random_normal(oa_stream_named(9, name), (uint64_t)i));
    f->d->cpu->kernels.act_from_real(n, real, act);
    f->d->cpu->kernels.real_from_act(n, act, real);
    for (long i = 0; i < n; i++)
        x[i] = oa_real_get(f->d, real, i);
}

static double act_at(const struct fixture *f, const void *act, long i)
{
    double real;
    f->d->cpu->kernels.real_from_act(1, oa_act_at(f->d, act, i), &real);
    return oa_real_get(f->d, &real, 0);
}

static void run(const struct fixture *f, long rows, bool backward, struct values *v)
{
    long out = f->shape.heads * f->shape.width, ldx = f->shape.d + PADDING, ldy = out + PADDING;
    struct oa_transform a = {
        .chain = f->chain, .rows = rows, .heads = f->shape.heads, .numbers = f->reals
    };
    a.ldx = ldx;
    a.ldy = ldy;
    a.x = a.dx = v->act_x;
    a.y = v->act_y;
    a.dy = v->act_y;
    draw(f, "x", rows * ldx, v->x, v->act_x);
    draw(f, "y", rows * ldy, v->y, v->act_y);
    if (backward)
        f->d->ops->transform_gradient(f->d, &a);
    else
        f->d->ops->transform(f->d, &a);
}

/* The largest error of y = x U or dx = dy Uᵀ. */
static double error_of(const struct fixture *f, long rows, bool backward, const struct values *v)
{
    long D = f->shape.d, out = f->shape.heads * f->shape.width, ldx = D + PADDING,
         ldy = out + PADDING;
    double worst = 0;
    for (long i = 0; i < rows; i++) {
        for (long c = 0; c < (backward ? D : out); c++) {
            double right = 0;
            for (long j = 0; j < (backward ? out : D); j++)
                right += backward ? v->y[i * ldy + j] * f->matrix[j * D + c]
                                  : v->x[i * ldx + j] * f->matrix[c * D + j];
            double got =
                backward ? act_at(f, v->act_x, i * ldx + c) : act_at(f, v->act_y, i * ldy + c);
            worst = fmax(worst, fabs(got - right) / (1 + fabs(right)));
        }
        /* what lies between the rows stays */
        for (long c = 0; c < PADDING; c++)
            assert_true(backward
                            ? act_at(f, v->act_x, i * ldx + D + c) == v->x[i * ldx + D + c]
                            : act_at(f, v->act_y, i * ldy + out + c) == v->y[i * ldy + out + c]);
    }
    return worst;
}

static void equals_the_matrix(void **state)
{
    static const double bound[] = {
        [OA_PRECISION_F32] = 3e-6, [OA_PRECISION_BF16] = 5e-3, [OA_PRECISION_F64] = 1e-14
    };
    static const enum oa_precision precisions[] = { OA_PRECISION_F32, OA_PRECISION_BF16,
                                                    OA_PRECISION_F64 };
    (void)state;
    for (size_t p = 0; p < sizeof problems / sizeof problems[0]; p++) {
        for (int i = 0; i < 3; i++) {
            struct fixture f;
            open(&f, &problems[p], precisions[i], 2);
            for (size_t r = 0; r < 2 * sizeof row_counts / sizeof row_counts[0]; r++) {
                static struct values v;
                run(&f, row_counts[r / 2], r % 2, &v);
                double error = error_of(&f, row_counts[r / 2], r % 2, &v);
                if (!(error <= bound[precisions[i]]))
                    fail_msg("%s %ld, precision %d, %ld rows, %s: off by %g", problems[p].kind,
                             problems[p].d, i, row_counts[r / 2], r % 2 ? "backward" : "forward",
                             error);
            }
            close(&f);
        }
    }
}

static void threads_do_not_matter(void **state)
{
    static struct values one, many;
    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        for (int threads = 1; threads <= 7; threads += 2) {
            struct fixture f;
            open(&f, &problems[1], OA_PRECISION_F32, threads);
            run(&f, MOST_ROWS, backward, threads == 1 ? &one : &many);
            close(&f);
            if (threads > 1)
                assert_memory_equal(&one, &many, sizeof one);
        }
    }
}

/* A large odd factor of D makes the transform dearer than the product: the matrix is kept. */
static void odd_widths_stay_matrices(void **state)
{
    struct oa_projection_shape shape = {
        .kind = OA_PROJECTION_SRHT, .d = 99, .heads = 3, .width = 33, .layer_heads = 3
    };
    struct oa_chain chain;
    (void)state;
    assert_false(oa_projection_chain(&shape, &chain));
    shape.d = 96;
    assert_true(oa_projection_chain(&shape, &chain));
    shape.kind = OA_PROJECTION_HAAR;
    assert_false(oa_projection_chain(&shape, &chain));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(equals_the_matrix),
                                        cmocka_unit_test(threads_do_not_matter),
                                        cmocka_unit_test(odd_widths_stay_matrices) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
