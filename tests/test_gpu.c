/* SPDX-License-Identifier: Apache-2.0
 * The GPU device as a whole, on OpenCL: the same bits again, after a kill as without one, with more
 * threads, and next to other runs; training that is the CPU's within the tolerances below; a run
 * that goes on on another device; no byte written outside what an operation is given; rows too wide
 * for shared memory. What single operations compute is compared in compared.c.
 *
 * An OpenCL driver does not survive fork(), so this process never opens the device: runs are in
 * processes of their own, those of a test in one, which compiles each program once. */
#include "testing.h"

#include "base/base.h"
#include "compared.h"
#include "device/device.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a process reports. */
enum { MOST_JOBS = 8 };
static struct {
    double loss[MOST_JOBS];
    char sentence[400];
    bool other_rounding; /* it was reported that a run goes on with other bits */
} * told;

enum where { ON_CPU, ON_OPENCL, GUARDED_OPENCL };

static void hear(void *argument, int level, const char *line)
{
    (void)argument;
    if (level == 0 && strstr(line, "they round differently"))
        told->other_rounding = true;
}

static oa_context *open_on(enum where where, int threads)
{
    const struct oa_settings settings = { .threads = threads,
                                          .log = hear,
                                          .device = where == ON_CPU ? "cpu" : "opencl" };
    oa_compared_guards = true;
    return where == GUARDED_OPENCL ? oa_compared_open(&settings) : oa_open(&settings);
}

/* The status of a process that does this; its sentence, where it fails, is in *told. */
static pid_t start(int (*what)(const void *), const void *argument)
{
    fflush(NULL);
    memset(told, 0, sizeof *told);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        signal(SIGSEGV, SIG_DFL);
        _exit(what(argument));
    }
    return child;
}

static int end_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void in_process(int (*what)(const void *), const void *argument)
{
    int status = end_of(start(what, argument));
    if (status)
        fail_msg("status %d: %s", status, told->sentence);
}

/* Copies the sentence of the context if it failed, and closes it. */
static int close_and_tell(oa_context *c)
{
    const char *sentence = "";
    enum oa_error e = c ? oa_last_error(c, &sentence) : OA_NO_MEMORY;
    if (e)
        snprintf(told->sentence, sizeof told->sentence, "%s", sentence);
    oa_close(c);
    return e != OA_OK;
}

/* ---- is there a driver? ---- */

static int open_device(const void *argument)
{
    (void)argument;
    struct oa_device *d = NULL;
    oa_context *c = open_on(ON_OPENCL, 1);
    if (c && oa_device_open(c, OA_PRECISION_F32, false, &d) == OA_OK)
        oa_device_close(d);
    return close_and_tell(c);
}

static void need_driver(void)
{
    static bool asked, there;
    static char why[400];
#ifdef ORTHANT_POISON
    print_message("drivers do not run under sanitizers\n");
    skip();
#endif
    if (!asked) {
        there = end_of(start(open_device, NULL)) == 0;
        snprintf(why, sizeof why, "%s", told->sentence);
        asked = true;
    }
    if (there)
        return;
    if (!strstr(why, "no driver is installed") && !strstr(why, "cannot be loaded"))
        fail_msg("the device does not open: %s", why);
    print_message("%s\n", why);
    skip();
}

/* ---- training ---- */

struct job {
    const char *folder, *attention, *precision, *steps;
    enum where where;
    int resume, threads;
    double loss; /* at its end */
};

static void make_text(void)
{
    FILE *f = fopen("test_gpu.txt", "w");
    assert_non_null(f);
    for (int i = 0; i < 400; i++)
        fprintf(f, "%d times %d is %d.\n", i, i % 7, i * (i % 7));
    fclose(f);
}

static int run_job(struct job *job)
{
    const char *const set[][2] = { { "data.train", "test_gpu.txt" },
                                   { "model.layers", "2" },
                                   { "model.width", "32" },
                                   { "model.heads", "4" },
                                   { "model.context", "20" },
                                   { "model.dropout", "0.1" },
                                   { "model.position", "rotary" },
                                   { "model.attention", job->attention },
                                   { "train.precision", job->precision },
                                   { "train.steps", job->steps },
                                   { "train.batch", "3" },
                                   { "train.warmup", "1" },
                                   { "train.eval_every", "50" },
                                   { "train.eval_tokens", "100" },
                                   { "train.final_tokens", "100" },
                                   { "train.checkpoint_every", "4" } };
    oa_context *c = open_on(job->where, job->threads ? job->threads : 2);
    oa_config *config = c ? oa_config_new(c) : NULL;
    struct oa_scores scores = { 0 };
    for (size_t i = 0; config && i < sizeof set / sizeof *set; i++)
        oa_config_set(config, set[i][0], set[i][1]);
    if (config && oa_status(c) == OA_OK)
        oa_train(config, job->folder, job->resume, &scores, NULL);
    job->loss = scores.loss;
    oa_config_free(config);
    return close_and_tell(c);
}

struct job_list {
    struct job *job;
    int count;
    bool at_once;
};

static void *run_in_thread(void *job)
{
    return run_job(job) ? NULL : job;
}

static int run_jobs(const void *argument)
{
    const struct job_list *list = argument;
    pthread_t thread[MOST_JOBS];
    int failed = 0;
    for (int i = 0; i < list->count; i++) {
        void *done = NULL;
        if (list->at_once)
            pthread_create(thread + i, NULL, run_in_thread, list->job + i);
        else
            failed |= !(done = run_in_thread(list->job + i));
    }
    for (int i = 0; i < list->count; i++) {
        void *done = list->job;
        if (list->at_once)
            pthread_join(thread[i], &done);
        failed |= !done;
        told->loss[i] = list->job[i].loss;
    }
    return failed;
}

static void train_all(struct job_list list)
{
    char command[100];
    for (int i = 0; i < list.count; i++) {
        snprintf(command, sizeof command, "rm -rf %s", list.job[i].folder);
        if (!list.job[i].resume)
            assert_int_equal(system(command), 0);
    }
    in_process(run_jobs, &list);
    for (int i = 0; i < list.count; i++)
        list.job[i].loss = told->loss[i];
}

/* The loss at its end. */
static double train(struct job job)
{
    train_all((struct job_list){ .job = &job, .count = 1 });
    return job.loss;
}

/* The numbers of a trained model, all float: *count of them. */
static float *read_weights(const char *folder, size_t *count)
{
    char path[200];
    uint64_t header = 0;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(&header, sizeof header, 1, f), 1);
    fseek(f, 0, SEEK_END);
    size_t bytes = (size_t)ftell(f) - sizeof header - header;
    float *weight = malloc(bytes);
    assert_non_null(weight);
    fseek(f, (long)(sizeof header + header), SEEK_SET);
    assert_int_equal(fread(weight, 1, bytes, f), bytes);
    fclose(f);
    *count = bytes / sizeof *weight;
    return weight;
}

/* ‖x − y‖/‖x‖ of the weights of two models. */
static double distance(const char *x, const char *y)
{
    size_t n, m;
    float *from = read_weights(x, &n), *to = read_weights(y, &m);
    double apart = 0, size = 0;
    assert_int_equal(n, m);
    assert_true(n > 1000);
    for (size_t i = 0; i < n; i++) {
        apart += pow((double)from[i] - (double)to[i], 2);
        size += pow((double)from[i], 2);
    }
    free(from);
    free(to);
    return sqrt(apart / size);
}

/* Attentions that between them reach most operations of a language model. */
static const char *const attentions[] = {
    "pattern(start):1 | pattern(left):1 | gaussian:1 | softmax:1 ; lightconv",
    "linear(map=identity, decay=channel, gate=swish) ; softmax(qk=hd3)",
    "mixer ; performer:2 | dynamicconv:2",
};
enum { ATTENTIONS = sizeof attentions / sizeof *attentions };

/* On a busy machine each step of PoCL waits for its threads. */
static const char *few_or(const char *steps)
{
    return short_form() ? "4" : steps;
}

/* Rounding differs, and grows through the steps: what was measured on PoCL is below a tenth of the
 * tolerance. */
static void check_training(const char *attention, const char *precision, const char *steps)
{
    bool bf16 = strcmp(precision, "bf16") == 0;
    struct job job[4];
    const char *const folder[4] = { "test_gpu_cpu", "test_gpu_long", "test_gpu_a", "test_gpu_b" };
    for (int i = 0; i < 4; i++)
        job[i] = (struct job){ .folder = folder[i],
                               .attention = attention,
                               .precision = precision,
                               .steps = i < 2 ? few_or(steps) : "3",
                               .where = i == 0 ? ON_CPU : ON_OPENCL,
                               .threads = i == 3 ? 1 : 2 };
    train_all((struct job_list){ .job = job, .count = 4 });
    double cpu = job[0].loss, apart = distance("test_gpu_cpu", "test_gpu_long");
    print_message("%s, %s: loss %.9g on the CPU, %.9g on the device, weights %.2g apart\n",
                  attention, precision, cpu, job[1].loss, apart);
    assert_true(fabs(cpu - job[1].loss) <= (bf16 ? 5e-3 : 1e-5) * cpu);
    assert_true(apart <= (bf16 ? 5e-2 : 1e-4));
    assert_true(job[2].loss == job[3].loss);
    assert_true(distance("test_gpu_a", "test_gpu_b") == 0);
}

static void a_hundred_steps_are_those_of_the_cpu(void **state)
{
    (void)state;
    need_driver();
    check_training(attentions[0], "f32", "100");
}

static void training_is_that_of_the_cpu_with_the_same_bits_again(void **state)
{
    (void)state;
    need_driver();
    check_training(attentions[0], "bf16", "20"); /* PoCL computes for half a second a step */
    check_training(attentions[1], "f32", "10");
    check_training(attentions[2], "f32", "20");
}

/* As `compare` trains them: threads of a process, each with a queue, on one context of the card. */
static void runs_at_once_have_the_bits_of_runs_alone(void **state)
{
    (void)state;
    need_driver();
    struct job job[4];
    const char *const folder[4] = { "test_gpu_a", "test_gpu_b", "test_gpu_c", "test_gpu_d" };
    for (int i = 0; i < 4; i++)
        job[i] = (struct job){ .folder = folder[i],
                               .attention = i % 2 ? "mixer" : attentions[0],
                               .precision = "f32",
                               .steps = "4",
                               .where = ON_OPENCL,
                               .threads = 1 };
    train_all((struct job_list){ .job = job, .count = 2, .at_once = true });
    train_all((struct job_list){ .job = job + 2, .count = 2 });
    assert_true(job[0].loss == job[2].loss && job[1].loss == job[3].loss);
    assert_true(distance("test_gpu_a", "test_gpu_c") == 0);
    assert_true(distance("test_gpu_b", "test_gpu_d") == 0);
}

/* Killed when the checkpoint of step 8 is there, it goes on to the same weights. */
static void a_kill_changes_no_bit(void **state)
{
    (void)state;
    need_driver();
    struct job job = { .folder = "test_gpu_a",
                       .attention = attentions[0],
                       .precision = "f32",
                       .steps = "20",
                       .where = ON_OPENCL };
    double whole = train(job);
    job.folder = "test_gpu_b";
    assert_int_equal(system("rm -rf test_gpu_b"), 0);
    pid_t child = start(run_jobs, &(struct job_list){ .job = &job, .count = 1 });
    while (access("test_gpu_b/checkpoint-000000008.safetensors", F_OK)) {
        assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
        usleep(1000);
    }
    kill(child, SIGKILL);
    assert_true(WIFSIGNALED(end_of(child)));
    assert_int_not_equal(access("test_gpu_b/model.safetensors", F_OK), 0);
    job.resume = 1;
    assert_true(train(job) == whole);
    assert_true(distance("test_gpu_a", "test_gpu_b") == 0);
}

static void a_run_goes_on_on_another_device(void **state)
{
    (void)state;
    need_driver();
    struct job job = { .folder = "test_gpu_a",
                       .attention = attentions[0],
                       .precision = "f32",
                       .steps = few_or("10"),
                       .where = ON_CPU };
    double halfway = train(job);
    job.steps = short_form() ? "8" : "20";
    assert_int_equal(system("rm -rf test_gpu_b; cp -r test_gpu_a test_gpu_b"), 0);
    job.resume = 1;
    double cpu = train(job);
    assert_false(told->other_rounding);
    job.folder = "test_gpu_b";
    job.where = ON_OPENCL;
    double moved = train(job);
    assert_true(told->other_rounding);
    assert_true(cpu < halfway);
    assert_true(fabs(cpu - moved) <= 1e-5 * cpu);
    assert_true(distance("test_gpu_a", "test_gpu_b") <= 1e-4);
}

static void no_byte_is_written_beside_a_tensor(void **state)
{
    (void)state;
    need_driver();
    struct job job[2 * ATTENTIONS];
    const char *const folder[] = { "test_gpu_a", "test_gpu_b", "test_gpu_c",
                                   "test_gpu_d", "test_gpu_e", "test_gpu_f" };
    for (int i = 0; i < 2 * ATTENTIONS; i++)
        job[i] = (struct job){ .folder = folder[i],
                               .attention = attentions[i / 2],
                               .precision = i % 2 ? "bf16" : "f32",
                               .steps = "2",
                               .where = GUARDED_OPENCL };
    train_all((struct job_list){ .job = job, .count = 2 * ATTENTIONS });
}

/* ---- wide rows ---- */

/* n doubles of the device, N(0, 1). */
static void *upload_draws(struct oa_device *d, long n, const char *name)
{
    size_t bytes = (size_t)n * sizeof(double);
    double *draws = malloc(bytes);
    void *x = d->ops->allocate(d, bytes);
    oa_random_normals(oa_stream_named(3, name), 0, n, draws);
    d->ops->upload(d, bytes, draws, x);
    free(draws);
    return x;
}

/* Chains of 6144 columns, 2¹¹·3: more than a group has room for. The compared device ends the
 * process where a number differs from the CPU's. */
static int transform_wide_rows(const void *argument)
{
    (void)argument;
    struct oa_device *d;
    oa_context *c = open_on(GUARDED_OPENCL, 2);
    struct oa_transform a = { .chain = { .width = 6144, .out = 96, .factors = 2 },
                              .rows = 3,
                              .heads = 2,
                              .ldx = 6144,
                              .ldy = 192 };
    if (oa_device_open(c, OA_PRECISION_F64, false, &d) != OA_OK)
        return close_and_tell(c);
    long each = oa_chain_numbers(&a.chain), columns = oa_chain_columns_at(&a.chain);
    double *numbers = malloc((size_t)(2 * each) * sizeof *numbers);
    oa_random_normals(oa_stream_named(3, "numbers"), 0, 2 * each, numbers);
    for (long h = 0; h < 2; h++)
        for (long l = 0; l < a.chain.out; l++)
            numbers[h * each + columns + l] = (double)((l * 61 + h) % a.chain.width);
    void *device_numbers = d->ops->allocate(d, (size_t)(2 * each) * sizeof *numbers);
    d->ops->upload(d, (size_t)(2 * each) * sizeof *numbers, numbers, device_numbers);
    a.numbers = device_numbers;
    void *x = upload_draws(d, a.rows * a.ldx, "x"), *dy = upload_draws(d, a.rows * a.ldy, "dy");
    void *dx = d->ops->allocate(d, (size_t)(a.rows * a.ldx) * sizeof(double)),
         *y = d->ops->allocate(d, (size_t)(a.rows * a.ldy) * sizeof(double));
    a.x = x;
    a.dx = dx;
    a.y = y;
    a.dy = dy;
    d->ops->transform(d, &a);
    d->ops->transform_gradient(d, &a);
    void *const all[] = { device_numbers, x, dy, dx, y };
    for (int i = 0; i < 5; i++)
        d->ops->release(d, all[i]);
    free(numbers);
    oa_device_close(d);
    return close_and_tell(c);
}

static void wide_rows_are_transformed_in_scratch(void **state)
{
    (void)state;
    need_driver();
    in_process(transform_wide_rows, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_steps_are_those_of_the_cpu),
        cmocka_unit_test(training_is_that_of_the_cpu_with_the_same_bits_again),
        cmocka_unit_test(runs_at_once_have_the_bits_of_runs_alone),
        cmocka_unit_test(a_kill_changes_no_bit),
        cmocka_unit_test(a_run_goes_on_on_another_device),
        cmocka_unit_test(no_byte_is_written_beside_a_tensor),
        cmocka_unit_test(wide_rows_are_transformed_in_scratch),
    };
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    make_text();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
