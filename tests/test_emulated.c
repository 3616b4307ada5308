/* SPDX-License-Identifier: Apache-2.0
 * What emulated.c finds in kernels with planted mistakes (planted.cl), and that it runs the same
 * kernels without; each launch is in a process of its own. Plans against the memory that is taken.
 */
#include "testing.h"

#include "emulated.h"
#include "train/train.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 2 * OA_GPU_GROUP };

/* Ends this process: with 0 where y is as `right`, where that is not NULL. */
static _Noreturn void launch_planted(const char *name, const double *right)
{
    const struct oa_gpu_driver *driver = &emulated_driver;
    struct oa_gpu_facts facts;
    oa_context *c = oa_open(NULL);
    void *state = driver->open(c, 0, &facts);
    const char *const text[] = { "#define REAL_F64\n" };
    void *program = driver->compile(state, c, "planted", 1, text),
         *kernel = driver->kernel(program, c, name), *x = driver->allocate(state, c, N * 8),
         *y = driver->allocate(state, c, N * 8);
    double host[N];
    for (int i = 0; i < N; i++)
        host[i] = i;
    driver->upload(state, c, sizeof host, host, x);
    driver->fill(state, c, sizeof host, 0, y);
    driver->launch(
        state, c, kernel,
        &(struct oa_gpu_grid){ .groups = { N / OA_GPU_GROUP, 1, 1 },
                               .threads = OA_GPU_GROUP,
                               OA_GPU_ARGUMENTS(OA_GPU_LONG(N), OA_GPU_AT(x), OA_GPU_AT(y)) });
    driver->download(state, c, sizeof host, y, host);
    bool same = !right || memcmp(host, right, sizeof host) == 0;
    driver->release(state, x);
    driver->release(state, y);
    driver->forget(program);
    driver->close(state);
    oa_close(c);
    _exit(!same);
}

/* What the process of a launch writes to standard error; its status. */
static int outcome(const char *name, const double *right, char said[2000])
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        launch_planted(name, right);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; (got = read(ends[0], said + n, 1999 - n)) > 0;)
        n += (size_t)got;
    said[n] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void kernels_without_a_mistake_run(void **state)
{
    (void)state;
    char said[2000];
    double right[N];
    for (int i = 0; i < N; i++) /* sums of 0…127 and of 128…255 */
        right[i] = i < OA_GPU_GROUP ? 8128 : 24512;
    assert_int_equal(outcome("planted_nothing", right, said), 0);
}

static void check_found(const char *name, const char *sentence)
{
    char said[2000];
    int status = outcome(name, NULL, said);
    if (status == 0 || !strstr(said, sentence))
        fail_msg("%s: status %d, '%s', expected '%s'", name, status, said, sentence);
}

static void races_are_found(void **state)
{
    (void)state;
    check_found("planted_race", "of the group wrote, and no barrier is between");
    check_found("planted_group_race", "of another group wrote, and no barrier is between");
    check_found("planted_shared_race", "of shared memory, which thread");
    check_found("planted_unwritten", "of shared memory, which its group has not written");
}

static void accesses_outside_are_found(void **state)
{
    (void)state;
    check_found("planted_write_after", "writes 8 bytes at");
    check_found("planted_read_before", "reads 8 bytes at");
}

static void a_barrier_on_one_side_is_found(void **state)
{
    (void)state;
    check_found("planted_divergence", "has ended");
}

static double ticking(void)
{
    static double ticks;
    return ticks++;
}

/* What the card must have beyond the plan: scratch of operations, which comes in blocks of 1 MB or
 * more, of which a step of this size takes one; and arenas are at least 64 KB. */
static void a_plan_is_the_memory_of_a_step(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    struct oa_options o;
    struct oa_workload w;
    struct oa_plan plan;
    struct oa_profile profile;
    oa_options_default(&o);
    o.model_layers = 2;
    o.model_width = 32;
    o.model_heads = 2;
    o.model_context = 16;
    o.train_batch = 4;
    snprintf(o.data_train, sizeof o.data_train, SOURCE_DIR "/data/tinyshakespeare.txt");
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    assert_int_equal(oa_plan_workload(c, &o, &w, &plan), OA_OK);
    oa_context_set_device(c, oa_emulated_device());
    emulated_bounds_only = true;
    emulated_most_bytes = 0;
    assert_int_equal(oa_profile_make(c, &o, &w, ticking, &profile), OA_OK);
    double arenas = plan.memory_parameters + plan.memory_activations;
    print_message("planned %.0f bytes, of which %.0f host scratch; took %zu\n",
                  arenas + plan.memory_scratch, plan.memory_scratch, emulated_most_bytes);
    assert_true((double)emulated_most_bytes >= arenas);
    assert_true((double)emulated_most_bytes <= arenas + (1 << 20) + 4 * (64 << 10));
    oa_profile_close(&profile);
    oa_workload_close(&w);
    oa_close(c);
}

static struct oa_device *open_device(oa_context **c)
{
    struct oa_device *d;
    *c = oa_open(&(struct oa_settings){ .threads = 1 });
    oa_context_set_device(*c, oa_emulated_device());
    emulated_bounds_only = true;
    assert_int_equal(oa_device_open(*c, OA_PRECISION_F64, false, &d), OA_OK);
    return d;
}

/* Also beyond 65536, which the host draws at a time. */
static void normals_are_those_of_the_stream(void **state)
{
    enum { MANY = 2 * 65536 + 100 };
    struct oa_stream stream = oa_stream_named(7, "normals");
    double *right = malloc(MANY * sizeof *right), *drawn = malloc(MANY * sizeof *drawn);
    oa_context *c;
    struct oa_device *d = open_device(&c);
    void *x = d->ops->allocate(d, MANY * sizeof *drawn);
    (void)state;
    oa_random_normals(stream, 0, MANY, right);
    d->ops->normals(d, MANY, 0.5, stream, x);
    d->ops->download(d, MANY * sizeof *drawn, x, drawn);
    for (int i = 0; i < MANY; i++)
        if (drawn[i] != 0.5 * right[i])
            fail_msg("number %d is %g, not %g", i, drawn[i], 0.5 * right[i]);
    d->ops->release(d, x);
    oa_device_close(d);
    oa_close(c);
    free(right);
    free(drawn);
}

/* Rows 3 and 1 of four were chosen: the others have the gradient 0, whatever was there. */
static void rows_that_were_not_chosen_have_no_gradient(void **state)
{
    static const double dy[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
    static const double right[4][3] = { { 0 }, { 4, 5, 6 }, { 0 }, { 1, 2, 3 } };
    static const int32_t index[] = { 3, 1 };
    double dx[4][3];
    oa_context *c;
    struct oa_device *d = open_device(&c);
    (void)state;
    for (int i = 0; i < 12; i++)
        dx[i / 3][i % 3] = 99;
    void *gradient = d->ops->allocate(d, sizeof dx), *from = d->ops->allocate(d, sizeof dy),
         *rows = d->ops->allocate(d, sizeof index);
    d->ops->upload(d, sizeof dx, dx, gradient);
    d->ops->upload(d, sizeof dy, dy, from);
    d->ops->upload(d, sizeof index, index, rows);
    d->ops->choose_rows_gradient(
        d, &(struct oa_row_choice){
               .rows = 4, .count = 2, .cols = 3, .index = rows, .dy = from, .dx = gradient });
    d->ops->download(d, sizeof dx, gradient, dx);
    assert_memory_equal(dx, right, sizeof dx);
    d->ops->release(d, gradient);
    d->ops->release(d, from);
    d->ops->release(d, rows);
    oa_device_close(d);
    oa_close(c);
}

enum { LOGIT_ROWS = 5, WIDTH = 3, WORDS = 7 };

struct made_loss {
    double sum, losses[LOGIT_ROWS], dx[LOGIT_ROWS][WIDTH], dw[WORDS][WIDTH];
};

/* By the definition: -log softmax(x wᵀ)[target]; a target below 0 is ignored. */
static void loss_by_hand(double x[LOGIT_ROWS][WIDTH], double w[WORDS][WIDTH], const int32_t *target,
                         double scale, struct made_loss *out)
{
    *out = (struct made_loss){ 0 };
    for (int r = 0; r < LOGIT_ROWS; r++) {
        double z[WORDS] = { 0 }, all = 0;
        for (int v = 0; v < WORDS; v++) {
            for (int k = 0; k < WIDTH; k++)
                z[v] += x[r][k] * w[v][k];
            all += exp(z[v]);
        }
        if (target[r] < 0)
            continue;
        out->losses[r] = log(all) - z[target[r]];
        out->sum += out->losses[r];
        for (int v = 0; v < WORDS; v++)
            for (int k = 0; k < WIDTH; k++) {
                double dz = scale * (exp(z[v]) / all - (v == target[r]));
                out->dx[r][k] += dz * w[v][k];
                out->dw[v][k] += dz * x[r][k];
            }
    }
}

static void assert_close(const double *found, const double *right, int n)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(found[i] - right[i]) < 1e-12))
            fail_msg("number %d is %.17g, not %.17g", i, found[i], right[i]);
}

/* Cards on which the logits of all rows, of two, and of none but the least, one, have room. */
static void losses_are_the_same_in_blocks_of_rows(void **state)
{
    static const size_t memory[] = { 0, 2 * 64 * WORDS, 1 };
    static const int32_t target[LOGIT_ROWS] = { 3, -1, 0, 6, 2 };
    double x[LOGIT_ROWS][WIDTH], w[WORDS][WIDTH], scale = 0.25;
    struct made_loss right, found;
    oa_context *c;
    struct oa_device *d = open_device(&c);
    (void)state;
    oa_random_normals(oa_stream_named(7, "x"), 0, LOGIT_ROWS * WIDTH, &x[0][0]);
    oa_random_normals(oa_stream_named(7, "w"), 0, WORDS * WIDTH, &w[0][0]);
    loss_by_hand(x, w, target, scale, &right);
    for (int i = 0; i < 3; i++) {
        void *at[] = { d->ops->allocate(d, sizeof x), d->ops->allocate(d, sizeof w),
                       d->ops->allocate(d, sizeof target), d->ops->allocate(d, sizeof x),
                       d->ops->allocate(d, sizeof w) };
        struct oa_linear_loss a = { .rows = LOGIT_ROWS,
                                    .width = WIDTH,
                                    .vocabulary = WORDS,
                                    .x = at[0],
                                    .w = at[1],
                                    .target = at[2],
                                    .scale = scale,
                                    .dx = at[3],
                                    .dw = at[4],
                                    .losses = found.losses };
        oa_gpu_of(d)->facts.memory = memory[i];
        d->ops->upload(d, sizeof x, x, at[0]);
        d->ops->upload(d, sizeof w, w, at[1]);
        d->ops->upload(d, sizeof target, target, at[2]);
        d->ops->constant(d, WORDS * WIDTH, 0, at[4]);
        found.sum = d->ops->linear_loss(d, &a);
        d->ops->download(d, sizeof found.dx, at[3], found.dx);
        d->ops->download(d, sizeof found.dw, at[4], found.dw);
        assert_close(&found.sum, &right.sum, 1);
        assert_close(found.losses, right.losses, LOGIT_ROWS);
        assert_close(&found.dx[0][0], &right.dx[0][0], LOGIT_ROWS * WIDTH);
        assert_close(&found.dw[0][0], &right.dw[0][0], WORDS * WIDTH);
        for (int k = 0; k < 5; k++)
            d->ops->release(d, at[k]);
    }
    oa_device_close(d);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_without_a_mistake_run),
        cmocka_unit_test(races_are_found),
        cmocka_unit_test(accesses_outside_are_found),
        cmocka_unit_test(a_barrier_on_one_side_is_found),
        cmocka_unit_test(a_plan_is_the_memory_of_a_step),
        cmocka_unit_test(normals_are_those_of_the_stream),
        cmocka_unit_test(rows_that_were_not_chosen_have_no_gradient),
        cmocka_unit_test(losses_are_the_same_in_blocks_of_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
