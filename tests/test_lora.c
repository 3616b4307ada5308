/* SPDX-License-Identifier: Apache-2.0
 * train.lora: the map and its gradients against loops in double; what a run changes is a matrix of
 * the rank, and nothing else; files and checkpoints of it. */
#include "api/api.h"
#include "base/safetensors.h"
#include "setups.h"
#include "train/train.h"

#include <math.h>
#include <string.h>

static char *own;
static char error[1024];

static int make_files(void **state)
{
    (void)state;
    own = enter_own_folder();
    return own && write_foxes_and_cats("text.txt", 100) == 0 ? 0 : -1;
}

static int remove_files(void **state)
{
    (void)state;
    return leave_own_folder(own);
}

static void is_near(double x, double wanted, double tolerance)
{
    if (!(fabs(x - wanted) <= tolerance))
        fail_msg("%.17g instead of %.17g", x, wanted);
}

/* ---- the map ---- */

enum { ROWS = 4, K = 5, M = 3, R = 2 };

static struct oa_parameter *add_normal(struct oa_store *s, const char *name, long rows, long cols)
{
    struct oa_parameter p = { .dims = 2,
                              .dim = { rows, cols },
                              .trainable = true,
                              .matrix = true,
                              .init = OA_INIT_NORMAL,
                              .scale = 1 };
    snprintf(p.name, sizeof p.name, "%s", name);
    return oa_store_add(s, &p);
}

/* Σ_ij c_ij y_ij of y = x Wᵀ + s (x Aᵀ) Bᵀ has the gradients s Bᵀ(cᵀx) of A, s (cᵀx) Aᵀ of B and
 * c (W + s B A) of x. */
static void map_and_gradients(void **state)
{
    (void)state;
    const double scale = 1.7;
    oa_context *c = oa_open(NULL);
    struct oa_device *d;
    struct oa_store store;
    oa_tape tape;
    double x[ROWS * K], up[ROWS * M];
    assert_int_equal(oa_device_open(c, OA_PRECISION_F64, false, &d), OA_OK);
    oa_store_init(&store, d);
    struct oa_parameter *w = add_normal(&store, "w", M, K), *a = add_normal(&store, "a", R, K),
                        *b = add_normal(&store, "b", M, R);
    assert_int_equal(oa_store_allocate(&store, 1, true), OA_OK);
    w->adapter.in = a;
    w->adapter.out = b;
    w->adapter.scale = scale;
    struct oa_stream s = oa_stream_named(2, "x");
    for (int i = 0; i < ROWS * K; i++)
        x[i] = oa_random_normal(s, (uint64_t)i);
    for (int i = 0; i < ROWS * M; i++)
        up[i] = oa_random_normal(s, (uint64_t)(100 + i));
    oa_tape_init(&tape, d);
    oa_tape_reset(&tape, true, true, s);
    oa_store_zero_gradients(&store);
    oa_tensor *in = oa_tensor_from(&tape, x, ROWS, K, K, true), *y = oa_linear(&tape, in, w, NULL);
    const double *W = w->value, *A = a->value, *B = b->value;
    double sum[M * K], outer[M * K] = { 0 };
    for (int m = 0; m < M; m++)
        for (int k = 0; k < K; k++) {
            sum[m * K + k] = W[m * K + k];
            for (int r = 0; r < R; r++)
                sum[m * K + k] += scale * B[m * R + r] * A[r * K + k];
            for (int i = 0; i < ROWS; i++)
                outer[m * K + k] += up[i * M + m] * x[i * K + k];
        }
    for (int i = 0; i < ROWS * M; i++) {
        double want = 0;
        for (int k = 0; k < K; k++)
            want += x[i / M * K + k] * sum[i % M * K + k];
        is_near(((double *)y->data)[i], want, 1e-13);
    }
    y->gradient = up;
    oa_tape_backward(&tape);
    for (int i = 0; i < ROWS * K; i++) {
        double want = 0;
        for (int m = 0; m < M; m++)
            want += up[i / K * M + m] * sum[m * K + i % K];
        is_near(((double *)in->gradient)[i], want, 1e-13);
    }
    for (int r = 0; r < R; r++) {
        for (int k = 0; k < K; k++) {
            double want = 0;
            for (int m = 0; m < M; m++)
                want += scale * B[m * R + r] * outer[m * K + k];
            is_near(((double *)a->gradient)[r * K + k], want, 1e-12);
        }
        for (int m = 0; m < M; m++) {
            double want = 0;
            for (int k = 0; k < K; k++)
                want += scale * outer[m * K + k] * A[r * K + k];
            is_near(((double *)b->gradient)[m * R + r], want, 1e-12);
        }
    }
    oa_tape_free(&tape);
    oa_store_free(&store);
    oa_device_close(d);
    oa_close(c);
}

/* ---- runs ---- */

static struct oa_options lora_options(long rank, long steps)
{
    struct oa_options o = small_model("text.txt", steps);
    set_option(&o, "train.precision", "f64");
    set_option(&o, "train.schedule", "constant");
    o.model_layers = 2;
    o.train_lora = rank;
    o.train_warmup = 0;
    o.train_lr = 1e-2;
    o.train_eval_every = 0;
    o.train_final_tokens = 0;
    return o;
}

static double last_loss;

static enum oa_error try_train(const struct oa_options *o, const char *folder, bool resume)
{
    struct oa_workload w = { 0 };
    struct oa_run run = { 0 };
    oa_context *c = oa_open(NULL);
    struct oa_train_request r = {
        .options = o, .workload = &w, .folder = folder, .resume = resume, .keep = true
    };
    enum oa_error e = oa_workload_open(c, o, &w);
    if (e == OA_OK)
        e = oa_train_run(c, &r, &run);
    const char *why;
    oa_last_error(c, &why);
    snprintf(error, sizeof error, "%s", e == OA_OK ? "" : why);
    last_loss = run.valid_loss;
    oa_run_free(&run);
    oa_workload_close(&w);
    oa_close(c);
    return e;
}

static void train(const struct oa_options *o, const char *folder, bool resume)
{
    if (try_train(o, folder, resume) != OA_OK)
        fail_msg("%s", error);
}

static struct oa_tensors *open_model(oa_context *c, const char *folder)
{
    char path[300];
    struct oa_tensors *f;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    assert_int_equal(oa_tensors_open(c, path, &f), OA_OK);
    return f;
}

/* By elimination with full pivots. */
static int rank_of(double *a, long rows, long cols)
{
    double first = 0;
    for (int rank = 0;; rank++) {
        long p = 0, q = 0;
        double most = 0;
        for (long i = 0; i < rows; i++)
            for (long j = 0; j < cols; j++)
                if (fabs(a[i * cols + j]) > most) {
                    most = fabs(a[i * cols + j]);
                    p = i;
                    q = j;
                }
        first = rank ? first : most;
        if (most <= 1e-9 * first || most == 0)
            return rank;
        for (long i = 0; i < rows; i++) {
            double factor = a[i * cols + q] / a[p * cols + q];
            for (long j = 0; j < cols && i != p; j++)
                a[i * cols + j] -= factor * a[p * cols + j];
        }
        for (long j = 0; j < cols; j++)
            a[p * cols + j] = 0;
    }
}

static bool is_projection(const char *name)
{
    static const char *const ends[] = { ".query.weight", ".key.weight", ".value.weight",
                                        "attention.output.weight" };
    for (int i = 0; i < 4; i++)
        if (strstr(name, ends[i]))
            return true;
    return false;
}

static void changes_have_the_rank(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_options o = lora_options(2, 0);
    train(&o, "before", false);
    o.train_steps = 12;
    train(&o, "after", false);
    struct oa_tensors *was = open_model(c, "before"), *is = open_model(c, "after");
    assert_int_equal(oa_tensors_count(was), oa_tensors_count(is));
    for (int i = 0; i < oa_tensors_count(was); i++) {
        const struct oa_array *a = oa_tensors_at(was, i), *b = oa_tensors_find(is, a->name);
        double difference[4096];
        assert_non_null(b);
        assert_null(strstr(a->name, "lora"));
        if (!is_projection(a->name)) {
            assert_memory_equal(a->data, b->data, a->bytes);
            continue;
        }
        for (size_t k = 0; k < a->bytes / 8; k++)
            difference[k] = oa_array_value(b, k) - oa_array_value(a, k);
        assert_int_equal(rank_of(difference, a->dim[0], a->dim[1]), 2);
    }
    oa_tensors_close(was);
    oa_tensors_close(is);
    oa_close(c);
    remove_folder("before");
}

/* The queries and keys of orthogonal are drawn and stay: adapters do not change them either. */
static void drawn_projections_stay(void **state)
{
    (void)state;
    int changed = 0, drawn = 0;
    oa_context *c = oa_open(NULL);
    struct oa_options o = lora_options(2, 0);
    set_option(&o, "model.attention", "orthogonal");
    train(&o, "before", false);
    o.train_steps = 3;
    train(&o, "later", false);
    struct oa_tensors *was = open_model(c, "before"), *is = open_model(c, "later");
    for (int i = 0; i < oa_tensors_count(was); i++) {
        const struct oa_array *a = oa_tensors_at(was, i), *b = oa_tensors_find(is, a->name);
        bool learned =
            strstr(a->name, ".value.weight") || strstr(a->name, "attention.output.weight");
        bool same = memcmp(a->data, b->data, a->bytes) == 0;
        if (same == learned)
            fail_msg("%s %s", a->name, same ? "is not trained" : "was changed");
        changed += learned;
        drawn += strstr(a->name, ".query.weight") || strstr(a->name, ".key.weight");
    }
    assert_int_equal(changed, 4); /* of two layers */
    assert_int_equal(drawn, 4);
    oa_tensors_close(was);
    oa_tensors_close(is);
    oa_close(c);
    remove_folder("before");
    remove_folder("later");
}

static double evaluated_loss(const char *folder)
{
    struct oa_scores scores = { 0 };
    oa_context *c = oa_open(NULL);
    assert_int_equal(oa_eval(c, folder, &(struct oa_eval_request){ 0 }, &scores, NULL), OA_OK);
    oa_close(c);
    return scores.loss;
}

/* The model of the file, and that of the last checkpoint where there is none. */
static void files_have_the_sum(void **state)
{
    (void)state;
    struct oa_options o = lora_options(2, 12);
    train(&o, "again", false);
    double loss = last_loss;
    shell("cmp again/model.safetensors after/model.safetensors");
    is_near(evaluated_loss("again"), loss, 1e-12);
    shell("rm again/model.safetensors");
    is_near(evaluated_loss("again"), loss, 1e-12);
    remove_folder("again");
}

static void lora_resumes_with_the_same_bits(void **state)
{
    (void)state;
    struct oa_options o = lora_options(3, 8);
    set_option(&o, "train.init", "after");
    set_option(&o, "train.only", "*norm*");
    o.train_lora_alpha = 3;
    train(&o, "whole", false);
    o.train_steps = 3;
    train(&o, "part", false);
    o.train_steps = 8;
    train(&o, "part", true);
    shell("cmp whole/model.safetensors part/model.safetensors");
    shell("! grep -q lora whole/init.json");
    remove_folder("whole");
    remove_folder("part");
}

static void lora_refusals(void **state)
{
    (void)state;
    struct oa_options o = lora_options(17, 1);
    assert_int_not_equal(try_train(&o, "x", false), OA_OK);
    assert_non_null(strstr(error, "train.lora = 17 exceeds the rank of"));
    o = lora_options(2, 1);
    o.train_average = 2;
    o.train_eval_every = 1;
    assert_int_not_equal(try_train(&o, "x", false), OA_OK);
    assert_non_null(strstr(error, "cannot be combined with train.lora"));
    assert_int_not_equal(access("x", F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_and_gradients),
        cmocka_unit_test(changes_have_the_rank),
        cmocka_unit_test(drawn_projections_stay),
        cmocka_unit_test(files_have_the_sum),
        cmocka_unit_test(lora_resumes_with_the_same_bits),
        cmocka_unit_test(lora_refusals),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
