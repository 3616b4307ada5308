/* SPDX-License-Identifier: Apache-2.0
 * Update rules against their papers' formulas, written out here for one weight after the other, and
 * learning rates against their closed forms, at every step of a run. The store has what decays (a
 * matrix, and a tensor of three dimensions) and what does not (a vector). */
#include "setups.h"

#include "train/train.h"

#include <math.h>
#include <string.h>

enum { STEPS = 5, MOST = 64 };

/* "cube" is a matrix of 4 rows for Adafactor: the last dimension are its columns. */
static const struct {
    const char *name;
    int dims;
    long dim[3], rows, cols;
    bool decay;
} shapes[] = { { "matrix", 2, { 3, 5 }, 3, 5, true },
               { "cube", 3, { 2, 2, 3 }, 4, 3, true },
               { "vector", 1, { 7 }, 1, 7, false } };
enum { SHAPES = sizeof shapes / sizeof *shapes };

struct fixture {
    oa_context *c;
    struct oa_device *d;
    struct oa_store store;
    struct oa_parameter *p[SHAPES];
    struct oa_options o;
    double w[SHAPES][MOST], m[SHAPES][MOST], v[SHAPES][MOST]; /* the formulas' own */
};

static double start_of(int shape, long i)
{
    return 0.3 * sin(1 + 3 * shape + (double)i);
}

/* Gradients of both signs and of sizes from 1e-3 to 10. */
static double gradient_of(int shape, long i, long step)
{
    return pow(10, (double)((i + step) % 5) - 3) * cos(2 * shape + (double)i + 0.7 * (double)step);
}

static void open_fixture(struct fixture *f, const char *optimizer)
{
    memset(f, 0, sizeof *f);
    f->c = oa_open(&(struct oa_settings){ .threads = 2 });
    oa_options_default(&f->o);
    set_option(&f->o, "train.optimizer", optimizer);
    f->o.train_schedule = OA_SCHEDULE_LINEAR;
    f->o.train_steps = 2 * STEPS;
    f->o.train_warmup = 2;
    f->o.train_lr = 0.02;
    f->o.train_weight_decay = 0.3;
    f->o.train_epsilon = 1e-3;
    assert_int_equal(oa_device_open(f->c, OA_PRECISION_F64, false, &f->d), OA_OK);
    oa_store_init(&f->store, f->d);
    for (int s = 0; s < SHAPES; s++) {
        struct oa_parameter p = { .dims = shapes[s].dims,
                                  .trainable = true,
                                  .decay = shapes[s].decay };
        memcpy(p.dim, shapes[s].dim, sizeof shapes[s].dim);
        snprintf(p.name, sizeof p.name, "%s", shapes[s].name);
        f->p[s] = oa_store_add(&f->store, &p);
    }
    assert_int_equal(oa_store_allocate(&f->store, 1, true), OA_OK);
    for (int s = 0; s < SHAPES; s++)
        for (long i = 0; i < f->p[s]->count; i++)
            ((double *)f->p[s]->value)[i] = f->w[s][i] = start_of(s, i);
}

static void close_fixture(struct fixture *f)
{
    oa_store_free(&f->store);
    oa_device_close(f->d);
    oa_close(f->c);
}

static void open_copied(struct fixture *f, const char *optimizer);

/* ---- the formulas; g is clipped already ---- */

typedef void rule(struct fixture *f, int shape, long step, double lr, double weight_decay,
                  const double *g);

/* Kingma & Ba 2015, algorithm 1, with the decoupled decay of Loshchilov & Hutter 2019, algorithm 2.
 */
static void adamw(struct fixture *f, int s, long step, double lr, double weight_decay,
                  const double *g)
{
    for (long i = 0; i < f->p[s]->count; i++) {
        double *w = &f->w[s][i], *m = &f->m[s][i], *v = &f->v[s][i];
        *m = f->o.train_beta1 * *m + (1 - f->o.train_beta1) * g[i];
        *v = f->o.train_beta2 * *v + (1 - f->o.train_beta2) * g[i] * g[i];
        double corrected = *m / (1 - pow(f->o.train_beta1, (double)step));
        double square = *v / (1 - pow(f->o.train_beta2, (double)step));
        *w -= lr * (corrected / (sqrt(square) + f->o.train_epsilon) + weight_decay * *w);
    }
}

/* Polyak's heavy ball. */
static void sgd(struct fixture *f, int s, long step, double lr, double weight_decay,
                const double *g)
{
    (void)step;
    for (long i = 0; i < f->p[s]->count; i++) {
        f->m[s][i] = f->o.train_beta1 * f->m[s][i] + g[i];
        f->w[s][i] -= lr * (f->m[s][i] + weight_decay * f->w[s][i]);
    }
}

/* Shazeer & Stern 2018, algorithms 4 and 5, with a given rate and decoupled decay: R of rows in m,
 * C of columns in v.
 */
static void adafactor(struct fixture *f, int s, long step, double lr, double weight_decay,
                      const double *g)
{
    long rows = shapes[s].rows, cols = shapes[s].cols;
    double beta = 1 - pow((double)step, -0.8), row[MOST] = { 0 }, col[MOST] = { 0 }, u[MOST],
           all = 0, squares = 0;
    for (long i = 0; i < rows * cols; i++) {
        row[i / cols] += (g[i] * g[i] + 1e-30) / (double)cols;
        col[i % cols] += (g[i] * g[i] + 1e-30) / (double)rows;
    }
    for (long i = 0; i < rows; i++) {
        f->m[s][i] = beta * f->m[s][i] + (1 - beta) * row[i];
        all += f->m[s][i] / (double)rows;
    }
    for (long j = 0; j < cols; j++)
        f->v[s][j] = beta * f->v[s][j] + (1 - beta) * col[j];
    for (long i = 0; i < rows * cols; i++) {
        double square = rows > 1 ? f->m[s][i / cols] * f->v[s][i % cols] / all : f->v[s][i];
        u[i] = g[i] / sqrt(square);
        squares += u[i] * u[i] / (double)(rows * cols);
    }
    for (long i = 0; i < rows * cols; i++)
        f->w[s][i] -= lr * (u[i] / fmax(1, sqrt(squares)) + weight_decay * f->w[s][i]);
}

/* The rate of these runs: two steps of warm-up, then a straight line from lr to a tenth of it. */
static double rate(const struct fixture *f, long step)
{
    double x = (double)(step - 2) / (2 * STEPS - 2);
    return f->o.train_lr * (step <= 2 ? (double)step / 2 : 0.1 + 0.9 * (1 - x));
}

static void assert_follows(const char *optimizer, rule *formula, double scale)
{
    struct fixture f;
    open_fixture(&f, optimizer);
    for (long step = 1; step <= STEPS; step++) {
        for (int s = 0; s < SHAPES; s++) {
            double clipped[MOST];
            for (long i = 0; i < f.p[s]->count; i++) {
                ((double *)f.p[s]->gradient)[i] = gradient_of(s, i, step);
                clipped[i] = scale * gradient_of(s, i, step);
            }
            formula(&f, s, step, rate(&f, step), shapes[s].decay ? f.o.train_weight_decay : 0,
                    clipped);
        }
        oa_optimizer_step(&f.store, &f.o, step, scale);
        for (int s = 0; s < SHAPES; s++)
            for (long i = 0; i < f.p[s]->count; i++) {
                double got = ((double *)f.p[s]->value)[i];
                if (!(fabs(got - f.w[s][i]) < 1e-12))
                    fail_msg("%s, step %ld: %s[%ld] is %.15g, expected %.15g", optimizer, step,
                             shapes[s].name, i, got, f.w[s][i]);
            }
    }
    close_fixture(&f);
}

static void test_adamw(void **state)
{
    (void)state;
    assert_follows("adamw", adamw, 1);
    assert_follows("adamw", adamw, 0.25);
}

static void test_sgd(void **state)
{
    (void)state;
    assert_follows("sgd", sgd, 1);
    assert_follows("sgd", sgd, 0.25);
}

static void test_adafactor(void **state)
{
    (void)state;
    assert_follows("adafactor", adafactor, 1);
    assert_follows("adafactor", adafactor, 0.25);
}

/* ---- laws that need no second computation ---- */

/* One step from the start with the gradients `g·size`; how far each weight of the vector went, in
 * units of lr. */
static void first_step(const char *optimizer, double size, double way[7])
{
    struct fixture f;
    open_fixture(&f, optimizer);
    f.o.train_warmup = 0;
    f.o.train_epsilon = 0;
    for (long i = 0; i < 7; i++)
        ((double *)f.p[2]->gradient)[i] = size * gradient_of(2, i, 1);
    oa_optimizer_step(&f.store, &f.o, 1, 1);
    for (long i = 0; i < 7; i++)
        way[i] = (start_of(2, i) - ((double *)f.p[2]->value)[i]) / oa_learning_rate(&f.o, 1);
    close_fixture(&f);
}

/* The first step of AdamW and Adafactor goes lr against the sign of the gradient, whatever its
 * size; that of SGD lr times the gradient. */
static void test_first_steps(void **state)
{
    (void)state;
    for (double size = 1e-4; size < 1e5; size *= 1e4) {
        double a[7], b[7], c[7];
        first_step("adamw", size, a);
        first_step("adafactor", size, b);
        first_step("sgd", size, c);
        for (long i = 0; i < 7; i++) {
            double g = gradient_of(2, i, 1), sign = g > 0 ? 1 : -1;
            assert_true(fabs(a[i] - sign) < 1e-9 && fabs(b[i] - sign) < 1e-9);
            assert_true(fabs(c[i] - size * g) < 1e-9 * (1 + size));
        }
    }
}

/* A steady gradient: with momentum β the n-th step is lr·g·(1 − βⁿ)/(1 − β). */
static void test_momentum_gathers_speed(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, "sgd");
    f.o.train_schedule = OA_SCHEDULE_CONSTANT;
    f.o.train_warmup = 0;
    double *w = f.p[2]->value, before = w[0], beta = f.o.train_beta1;
    for (long step = 1; step <= 20; step++) {
        ((double *)f.p[2]->gradient)[0] = 0.5;
        oa_optimizer_step(&f.store, &f.o, step, 1);
        double way = f.o.train_lr * 0.5 * (1 - pow(beta, (double)step)) / (1 - beta);
        assert_true(fabs(before - w[0] - way) < 1e-12);
        before = w[0];
    }
    close_fixture(&f);
}

/* ---- Muon: laws of single matrices ---- */

enum { ROWS = 5, COLS = 3 };

/* The matrix of a block after a step from 0 with lr 1 and no decay: −X times the factor of its
 * shape. */
static void muon_step_from_zero(const double *gradient, const char *scale, double *x)
{
    oa_context *c = oa_open(NULL);
    struct oa_device *d;
    struct oa_options o;
    struct oa_store store;
    struct oa_parameter p = { .name = "decoder.layers.0.m",
                              .dims = 2,
                              .dim = { ROWS, COLS },
                              .trainable = true,
                              .matrix = true };
    oa_options_default(&o);
    set_option(&o, "train.optimizer", "muon");
    set_option(&o, "train.muon_scale", scale);
    o.train_muon_rounding = OA_MUON_ROUNDING_NONE;
    o.train_muon_lr = 1;
    assert_int_equal(oa_device_open(c, OA_PRECISION_F64, false, &d), OA_OK);
    oa_store_init(&store, d);
    struct oa_parameter *w = oa_store_add(&store, &p);
    assert_int_equal(oa_store_allocate(&store, 1, true), OA_OK);
    memcpy(w->gradient, gradient, ROWS * COLS * sizeof *gradient);
    oa_optimizer_step_at(&store, &o, 1, o.train_lr, 1);
    memcpy(x, w->value, ROWS * COLS * sizeof *x);
    oa_store_free(&store);
    oa_device_close(d);
    oa_close(c);
}

static double iterated_quintic(double s)
{
    for (int i = 0; i < 5; i++)
        s = 3.4445 * s - 4.7750 * pow(s, 3) + 2.0315 * pow(s, 5);
    return s;
}

/* The iteration acts on singular values alone: of a diagonal matrix on each number by itself. */
static void muon_maps_singular_values_by_the_quintic(void **state)
{
    const double diagonal[COLS] = { 3, -0.5, 0.02 }, norm = sqrt(9 + 0.25 + 0.0004);
    const char *const scale[] = { "original", "match-rms" };
    const double factor[] = { sqrt(5.0 / 3), 0.2 * sqrt(5) };
    (void)state;
    for (int k = 0; k < 2; k++) {
        double g[ROWS * COLS] = { 0 }, x[ROWS * COLS];
        for (int i = 0; i < COLS; i++)
            g[i * COLS + i] = diagonal[i];
        muon_step_from_zero(g, scale[k], x);
        for (int i = 0; i < ROWS * COLS; i++) {
            double s = i % (COLS + 1) == 0 && i < COLS * COLS ? diagonal[i / COLS] / norm : 0;
            assert_true(fabs(x[i] + factor[k] * iterated_quintic(s)) < 1e-12);
        }
    }
}

/* A matrix that no loss depends on stays where it is. */
static void muon_leaves_a_matrix_without_gradient(void **state)
{
    double g[ROWS * COLS] = { 0 }, x[ROWS * COLS];
    (void)state;
    muon_step_from_zero(g, "original", x);
    for (int i = 0; i < ROWS * COLS; i++)
        assert_true(x[i] == 0);
}

/* A plan counts five iterations of three products, 2 s²l + 2 s³ + 2 s²l FLOPs with the sides s ≤ l,
 * and the elements of what is between: 12 passes of 1 to 3 FLOPs before and after, two in each
 * iteration. Its memory is X, two squares, and two matrices of reals. */
static void a_plan_counts_muon(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_device *d;
    struct oa_options o;
    struct oa_store store;
    struct oa_parameter p = { .name = "decoder.layers.0.m",
                              .dims = 2,
                              .dim = { 96, 32 },
                              .trainable = true,
                              .matrix = true };
    const double l = 96, s = 32, n = l * s;
    oa_options_default(&o);
    set_option(&o, "train.optimizer", "muon");
    assert_int_equal(oa_device_open(c, OA_PRECISION_F32, true, &d), OA_OK);
    oa_store_init(&store, d);
    oa_store_add(&store, &p);
    assert_int_equal(oa_store_allocate(&store, 1, true), OA_OK);
    d->flops = 0;
    oa_optimizer_step_at(&store, &o, 1, o.train_lr, 1);
    double products = 5 * (4 * s * s * l + 2 * s * s * s);
    double elements = 9 * n + 2 * n + 3 * n + 5 * (3 * s * s + 3 * n) + 3 * n;
    assert_true(fabs(d->flops - products - elements) < 0.5);
#ifndef __SANITIZE_ADDRESS__ /* which has gaps between what is taken from an arena */
    assert_true(fabs((double)store.work.peak - 4 * (3 * n + 2 * s * s)) < 0.5);
#endif
    oa_store_free(&store);
    oa_device_close(d);
    oa_close(c);
}

/* With a warm-up of the momentum, step t mixes with 0.85 + (0.95 − 0.85)·(t − 1)/N: of a steady
 * gradient the buffer has the share 1 − ∏ μ. */
static void muon_momentum_rises(void **state)
{
    struct fixture f;
    (void)state;
    open_copied(&f, "muon");
    f.o.train_muon_warmup = 4;
    for (long step = 1; step <= 8; step++) {
        oa_optimizer_step_at(&f.store, &f.o, step, 0, 1);
        double left = 1;
        for (long t = 1; t <= step; t++)
            left *= 0.85 + 0.1 * fmin(1, (double)(t - 1) / 4);
        double g = gradient_of(0, 0, 1), got = (double)((float *)f.store.moment1)[0];
        assert_true(fabs(got / g - (1 - left)) < 1e-5);
    }
    close_fixture(&f);
}

/* ---- what decays, over the registry ---- */

/* Tensors of factors, biases and of the mixture keep their size; all others shrink. */
static bool keeps_its_size(const char *name)
{
    static const char *const kept[] = { "bias", "norm.weight", "temperature", "diagonal", "theta" };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strstr(name, kept[i]))
            return true;
    return false;
}

static const char *attention_of(int i)
{
    static const char *const more[] = { "softmax(temperature, diagonal)", "dense(bias)",
                                        "mix(softmax, random, dense)", NULL };
    int mechanisms = 0;
    while (oa_mechanism_at(mechanisms))
        mechanisms++;
    if (i >= mechanisms)
        return more[i - mechanisms];
    const struct oa_mechanism *m = oa_mechanism_at(i);
    return (m->can & OA_CAN_CAUSAL) && strcmp(m->name, "mix") != 0 ? m->name : "softmax";
}

/* Without gradients a step of decay d at rate r multiplies by 1 − r·d what decays, and leaves the
 * rest. */
static void assert_decays(const struct oa_parameter *p, double before)
{
    double factor = keeps_its_size(p->name) ? 1 : 1 - 0.1 * 0.5, after = *(double *)p->value;
    if (!(fabs(after - factor * before) < 1e-12))
        fail_msg("%s: %.12g became %.12g, expected %.12g", p->name, before, after, factor * before);
}

static void test_matrices_decay(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_device *d;
    assert_int_equal(oa_device_open(c, OA_PRECISION_F64, false, &d), OA_OK);
    for (int i = 0; attention_of(i); i++) {
        struct oa_options o;
        struct oa_model *m;
        oa_options_default(&o);
        snprintf(o.model_attention, sizeof o.model_attention, "%s", attention_of(i));
        o.train_optimizer = (enum oa_optimizer)(i % 5);
        o.train_schedule = OA_SCHEDULE_CONSTANT;
        o.model_layers = 1;
        o.model_width = 16;
        o.model_context = 8;
        o.model_bias = true;
        o.train_warmup = 0;
        o.train_lr = o.train_muon_lr = 0.1;
        o.train_weight_decay = 0.5;
        assert_int_equal(
            oa_model_open(d, &o, (struct oa_model_form[]){ oa_language_model_form(7) }, true, &m),
            OA_OK);
        double before[MOST];
        assert_in_range(m->store.count, 10, MOST);
        for (int k = 0; k < m->store.count; k++) {
            double *w = m->store.parameter[k]->value;
            *w += m->store.parameter[k]->trainable ? 0.25 : 0;
            before[k] = *w;
        }
        oa_optimizer_step(&m->store, &o, 1, 1);
        for (int k = 0; k < m->store.count; k++)
            if (m->store.parameter[k]->trainable)
                assert_decays(m->store.parameter[k], before[k]);
            else
                assert_true(*(double *)m->store.parameter[k]->value == before[k]);
        oa_model_close(m);
    }
    oa_device_close(d);
    oa_close(c);
}

/* What there is no rule for is refused where it is read, and the choice that was there stays. */
static void unknown_choices_are_no_others(void **state)
{
    (void)state;
    struct oa_options o;
    const char *sentence;
    oa_context *c = oa_open(NULL);
    oa_options_default(&o);
    set_option(&o, "train.optimizer", "sgd");
    assert_int_equal(oa_options_set(c, &o, "train.optimizer", "shampoo"), OA_ARGUMENT);
    oa_last_error(c, &sentence);
    assert_non_null(strstr(sentence, "shampoo"));
    assert_int_equal(o.train_optimizer, OA_OPTIMIZER_SGD);
    assert_int_equal(oa_options_set(c, &o, "train.schedule", "zigzag"), OA_ARGUMENT);
    oa_close(c);
}

/* ---- learning rates ---- */

static double cosine(double x)
{
    return 0.2 + 0.8 * (1 + cos(3.14159265358979323846 * x)) / 2;
}

static double linear(double x)
{
    return 1 - 0.8 * x;
}

/* Steps 11 … 110 of a run of 110 with a warm-up of 10, lr 3 and min_lr 0.2. */
static double after_warmup(const char *schedule, long step)
{
    double x = (double)(step - 10) / 100;
    if (strcmp(schedule, "cosine") == 0)
        return 3 * cosine(x);
    if (strcmp(schedule, "linear") == 0)
        return 3 * linear(x);
    if (strcmp(schedule, "trapezoid") == 0) /* the last quarter of what follows the warm-up */
        return x <= 0.75 ? 3 : 3 * linear(4 * x - 3);
    return strcmp(schedule, "constant") == 0 ? 3 : 3 * sqrt(10) / sqrt((double)step);
}

static void test_learning_rates(void **state)
{
    (void)state;
    static const char *const schedules[] = { "cosine", "linear", "inverse-sqrt", "constant",
                                             "trapezoid" };
    struct oa_options o;
    oa_options_default(&o);
    o.train_lr = 3;
    o.train_min_lr = 0.2;
    o.train_cooldown = 0.25;
    for (int i = 0; i < 5; i++) {
        set_option(&o, "train.schedule", schedules[i]);
        o.train_steps = 110;
        o.train_warmup = 10;
        for (long step = 1; step <= 110; step++) {
            double want = step <= 10 ? 0.3 * (double)step : after_warmup(schedules[i], step);
            assert_true(fabs(oa_learning_rate(&o, step) - want) < 1e-12);
        }
        o.train_steps = 5; /* over before the warm-up is */
        assert_true(fabs(oa_learning_rate(&o, 5) - 1.5) < 1e-12);
        o.train_warmup = 0;
        double first = i == 0 ? cosine(0.2) : i == 1 ? linear(0.2) : 1;
        assert_true(fabs(oa_learning_rate(&o, 1) - 3 * first) < 1e-12);
    }
}

/* ---- copies in bf16, which products read ---- */

enum { SIDE = 300 }; /* of a matrix of more numbers than are updated at a time */

static void open_copied(struct fixture *f, const char *optimizer)
{
    memset(f, 0, sizeof *f);
    f->c = oa_open(&(struct oa_settings){ .threads = 2 });
    oa_options_default(&f->o);
    set_option(&f->o, "train.optimizer", optimizer);
    assert_int_equal(oa_device_open(f->c, OA_PRECISION_BF16, false, &f->d), OA_OK);
    oa_store_init(&f->store, f->d);
    struct oa_parameter matrix = { .name = "decoder.layers.0.matrix",
                                   .dims = 2,
                                   .dim = { SIDE, SIDE },
                                   .trainable = true,
                                   .decay = true,
                                   .matrix = true };
    struct oa_parameter vector = { .name = "vector", .dims = 1, .dim = { 7 }, .trainable = true };
    f->p[0] = oa_store_add(&f->store, &matrix);
    f->p[1] = oa_store_add(&f->store, &vector);
    assert_int_equal(oa_store_allocate(&f->store, 1, true), OA_OK);
    for (int p = 0; p < 2; p++)
        for (long i = 0; i < f->p[p]->count; i++)
            ((float *)f->p[p]->gradient)[i] = (float)gradient_of(p, i, 1);
}

static long copies_that_differ(const struct fixture *f)
{
    long count = 0;
    for (int p = 0; p < 2; p++)
        for (long i = 0; i < f->p[p]->count; i++)
            count += ((const uint16_t *)f->p[p]->act)[i] !=
                     oa_float_to_bf16(((const float *)f->p[p]->value)[i]);
    return count;
}

static void test_copies(void **state)
{
    static const char *const optimizers[] = { "adamw", "sgd", "adafactor", "muon", "lion" };
    (void)state;
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        struct fixture f;
        open_copied(&f, optimizers[i]);
        oa_optimizer_step_at(&f.store, &f.o, 1, 0.1, 1);
        assert_int_equal(copies_that_differ(&f), 0);
        close_fixture(&f);
    }
}

/* Of shards the copies wait until all ranks have the values. */
static void test_copies_of_shards(void **state)
{
    struct fixture f;
    struct oa_tree_shard all = { .first = 0, .at = 0 };
    struct oa_tree_sum sum = { .scattered = true, .shards = 1, .shard = &all };
    (void)state;
    open_copied(&f, "adamw");
    all.end = f.store.updated;
    assert_int_equal(oa_optimizer_update(&f.store, &sum, &f.o, 1, 0.1, 1), 0);
    assert_true(copies_that_differ(&f) > SIDE);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adamw),
        cmocka_unit_test(test_sgd),
        cmocka_unit_test(test_adafactor),
        cmocka_unit_test(test_first_steps),
        cmocka_unit_test(test_momentum_gathers_speed),
        cmocka_unit_test(muon_maps_singular_values_by_the_quintic),
        cmocka_unit_test(muon_leaves_a_matrix_without_gradient),
        cmocka_unit_test(muon_momentum_rises),
        cmocka_unit_test(a_plan_counts_muon),
        cmocka_unit_test(test_matrices_decay),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_copies_of_shards),
        cmocka_unit_test(unknown_choices_are_no_others),
        cmocka_unit_test(test_learning_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
