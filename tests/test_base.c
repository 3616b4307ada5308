/* SPDX-License-Identifier: Apache-2.0
 * Context and errors, memory and arenas, threads, random streams, text, the processor. */
#include "testing.h"

#include "base/base.h"
#include "base/cgroup.h"
#include "base/processor.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static oa_context *open_threads(int threads)
{
    oa_context *c = oa_open(&(struct oa_settings){ .threads = threads });
    assert_non_null(c);
    assert_int_equal(oa_status(c), OA_OK);
    return c;
}

static void expect_error(oa_context *c, enum oa_error code, const char *part)
{
    const char *sentence;
    assert_int_equal(oa_last_error(c, &sentence), code);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" does not contain \"%s\"", sentence, part);
    oa_clear_error(c);
}

/* ---- context
 * -------------------------------------------------------------------------------------------------
 */

static void first_error_stays(void **state)
{
    (void)state;
    oa_context *c = open_threads(1);
    assert_int_equal(oa_fail(c, OA_SHAPE, "width is %d", 7), OA_SHAPE);
    assert_int_equal(oa_fail(c, OA_IO, "second"), OA_IO);
    expect_error(c, OA_SHAPE, "width is 7");
    const char *sentence;
    assert_int_equal(oa_last_error(c, &sentence), OA_OK);
    assert_string_equal(sentence, "");
    oa_close(c);
    oa_close(NULL);
}

static void settings_are_checked(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .isa = "mmx" });
    expect_error(c, OA_ARGUMENT, "isa is \"mmx\"");
    assert_int_equal(oa_context_isa(c), oa_cpu_isa(oa_context_cpu(c)));
    oa_close(c);
    c = oa_open(&(struct oa_settings){ .threads = -3 });
    expect_error(c, OA_ARGUMENT, "threads is -3");
    assert_true(oa_thread_count(c) >= 1);
    oa_close(c);
    c = oa_open(&(struct oa_settings){ .isa = "ref", .threads = 3 });
    assert_int_equal(oa_status(c), OA_OK);
    assert_int_equal(oa_context_isa(c), OA_ISA_REF);
    assert_int_equal(oa_thread_count(c), 3);
    oa_close(c);
}

static void isa_beyond_the_processor_is_refused(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .isa = "amx" });
    if (oa_cpu_isa(oa_context_cpu(c)) == OA_ISA_AMX)
        assert_int_equal(oa_status(c), OA_OK);
    else
        expect_error(c, OA_ARGUMENT, "isa is amx, but this processor");
    oa_close(c);
}

static void keep_line(void *argument, int level, const char *line)
{
    snprintf(argument, 100, "%d %s", level, line);
}

static void log_and_stop_reach_the_caller(void **state)
{
    (void)state;
    char line[100] = "";
    volatile int stop = 0;
    oa_context *c =
        oa_open(&(struct oa_settings){ .log = keep_line, .log_argument = line, .stop = &stop });
    oa_log(c, 1, "step %d", 12);
    assert_string_equal(line, "1 step 12");
    assert_int_equal(oa_stop_requested(c), 0);
    stop = 15;
    assert_int_equal(oa_stop_requested(c), 15);
    oa_close(c);
}

static void processor_is_described(void **state)
{
    (void)state;
    struct oa_cpu cpu;
    oa_cpu_detect(&cpu);
    assert_true(cpu.name[0]);
    assert_true(cpu.cores >= 1 && cpu.memory > 0);
    assert_true(!cpu.avx512_bf16 || cpu.avx512);
    assert_string_equal(oa_isa_name(OA_ISA_AVX512), "avx512");
}

/* ---- limits of control groups, from folders that are made up ---- */

static void put_file(const char *root, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *s = path + strlen(root) + 1; (s = strchr(s, '/')); *s++ = '/') {
        *s = 0;
        mkdir(path, 0700);
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char first_version[] =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
static const char second_version[] =
    "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";

struct made_up_file {
    const char *name, *text;
};

static const struct made_up_group {
    const char *mounts, *group;
    struct made_up_file file[5];
    double cores;
    size_t memory;
    const char *says;
} made_up_groups[] = {
    { second_version,
      "0::/\n",
      { { "/sys/fs/cgroup/cpu.max", "150000 100000\n" } },
      1.5,
      0,
      "/sys/fs/cgroup/cpu.max" },
    { second_version, "0::/\n", { { "/sys/fs/cgroup/cpu.max", "max 100000\n" } }, 0, 0, "" },
    /* the group itself, and one above it whose limit is less */
    { second_version,
      "0::/user/job\n",
      { { "/sys/fs/cgroup/user/job/cpu.max", "400000 100000\n" },
        { "/sys/fs/cgroup/user/cpu.max", "10000 20000\n" },
        { "/sys/fs/cgroup/user/job/memory.max", "3000\n" },
        { "/sys/fs/cgroup/user/memory.max", "max\n" } },
      0.5,
      3000,
      "/sys/fs/cgroup/user/cpu.max" },
    /* a group of the host that is not mounted here */
    { second_version,
      "0::/../other\n",
      { { "/sys/fs/cgroup/cpu.max", "200000 100000\n" } },
      2,
      0,
      "/sys/fs/cgroup/cpu.max" },
    { first_version,
      "9:memory:/m\n4:cpu,cpuacct:/a\n2:cpuset:/c\n",
      { { "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n" },
        { "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n" },
        { "/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "4096\n" },
        { "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n" } },
      0.5,
      4096,
      "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us" },
    { first_version,
      "4:cpu,cpuacct:/a\n",
      { { "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n" },
        { "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n" } },
      0,
      0,
      "" },
    /* a container that sees its own group alone, mounted by its path on the host */
    { "9 8 0:29 /docker/x /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
      "4:cpu:/docker/x\n",
      { { "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n" },
        { "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n" } },
      3,
      0,
      "/sys/fs/cgroup/cpu/cpu.cfs_quota_us" },
    { "", "", { { NULL, NULL } }, 0, 0, "" },
};

static void limits_of_control_groups_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof made_up_groups / sizeof *made_up_groups; i++) {
        const struct made_up_group *g = &made_up_groups[i];
        struct oa_cgroup_limits seen;
        char root[64];
        snprintf(root, sizeof root, "made-up-groups-%zu", i);
        mkdir(root, 0700);
        put_file(root, "/proc/self/mountinfo", g->mounts);
        put_file(root, "/proc/self/cgroup", g->group);
        for (const struct made_up_file *f = g->file; f->name; f++)
            put_file(root, f->name, f->text);
        oa_cgroup_limits_read(root, &seen);
        assert_true(seen.cores == g->cores);
        assert_int_equal(seen.memory, g->memory);
        assert_string_equal(seen.cores_file, g->says);
    }
}

static void cores_that_can_run_at_once(void **state)
{
    struct oa_cpu cpu = { .affinity = 4, .quota = 1.5 };
    (void)state;
    assert_true(oa_cpu_concurrency(&cpu, 1) == 1);
    assert_true(oa_cpu_concurrency(&cpu, 2) == 1.5);
    cpu.quota = 0;
    assert_true(oa_cpu_concurrency(&cpu, 2) == 2 && oa_cpu_concurrency(&cpu, 9) == 4);
}

/* Against what the kernel read from the same processor. */
static void prefetching_processors_are_recognised(void **state)
{
    (void)state;
    struct oa_cpu cpu;
    char line[4096];
    bool amd = false;
    FILE *f = fopen("/proc/cpuinfo", "r");
    if (!f)
        skip();
    while (fgets(line, sizeof line, f))
        amd |= strncmp(line, "vendor_id", 9) == 0 && strstr(line, ": AuthenticAMD");
    fclose(f);
    oa_cpu_detect(&cpu);
    assert_int_equal(cpu.prefetches_early, amd);
}

/* ---- memory
 * --------------------------------------------------------------------------------------------------
 */

static void memory_is_aligned_and_zeroed(void **state)
{
    (void)state;
    oa_context *c = open_threads(1);
    long before = oa_allocations(c);
    char *m = oa_alloc(c, 100);
    assert_int_equal((uintptr_t)m % OA_ALIGN, 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(m[i], 0);
    memset(m, 7, 100);
    m = oa_grow(c, m, 100, 5000000);
    assert_int_equal((uintptr_t)m % OA_ALIGN, 0);
    for (int i = 0; i < 5000000; i++)
        assert_int_equal(m[i], i < 100 ? 7 : 0);
    assert_int_equal(oa_allocations(c) - before, 2);
    oa_free(m);
    char *copy = oa_copy_text(c, "text");
    assert_string_equal(copy, "text");
    oa_free(copy);
    assert_null(oa_alloc(c, SIZE_MAX - 10));
    expect_error(c, OA_NO_MEMORY, "out of memory");
    oa_close(c);
}

static const size_t sizes[] = { 1, 64, 65, 0, 100000, 3, 700000, 128, 5 };
#define SIZES ((int)(sizeof sizes / sizeof sizes[0]))

static void take_all(struct oa_arena *a, char *places[SIZES])
{
    for (int i = 0; i < SIZES; i++) {
        places[i] = oa_arena_take(a, sizes[i]);
        assert_non_null(places[i]);
        assert_int_equal((uintptr_t)places[i] % OA_ALIGN, 0);
    }
}

static void arena_reuses_its_memory(void **state)
{
    (void)state;
    oa_context *c = open_threads(1);
    struct oa_arena a;
    char *p[SIZES];
    oa_arena_init(&a, c, false);
    take_all(&a, p);
    for (int i = 0; i < SIZES; i++)
        memset(p[i], i, sizes[i]);
    for (int i = 0; i < SIZES; i++)
        for (size_t j = 0; j < sizes[i]; j++)
            assert_int_equal(p[i][j], i);
    oa_arena_reset(&a);
    long before = oa_allocations(c);
    take_all(&a, p);
    oa_arena_reset(&a);
    take_all(&a, p);
    assert_int_equal(oa_allocations(c), before);
    oa_arena_free(&a);
    oa_close(c);
}

static void dry_arena_counts_like_a_real_one(void **state)
{
    (void)state;
    oa_context *c = open_threads(1);
    struct oa_arena dry, real;
    oa_arena_init(&dry, c, true);
    oa_arena_init(&real, c, false);
    char *p[SIZES];
    long before = oa_allocations(c);
    take_all(&dry, p);
    assert_int_equal(oa_allocations(c), before);
    take_all(&real, p);
    assert_int_equal(dry.used, real.used);
    oa_arena_release(&dry, 128);
    oa_arena_release(&real, 128);
    take_all(&dry, p);
    take_all(&real, p);
    assert_int_equal(dry.used, real.used);
    assert_int_equal(dry.peak, real.peak);
    oa_arena_free(&dry);
    oa_arena_free(&real);
    oa_close(c);
}

/* Random takes and releases against a plain list of what is held: nothing held is ever overwritten.
 */
static void arena_releases_over_chunks(void **state)
{
    (void)state;
    oa_context *c = open_threads(1);
    struct oa_stream s = oa_stream_named(5, "arena");
    struct oa_arena a;
    oa_arena_init(&a, c, false);
    char *held[300];
    size_t bytes[300], marks[300];
    int n = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        if (n == 300 || oa_random_below(s, 3 * i, 100) < 3) {
            n = (int)oa_random_below(s, 3 * i + 1, (uint64_t)n + 1);
            oa_arena_release(&a, n ? marks[n - 1] : 0);
            for (int j = 0; j < n; j++)
                assert_true(held[j][0] == (char)j && held[j][bytes[j] - 1] == (char)j);
            continue;
        }
        bytes[n] = 1 + (size_t)oa_random_below(s, 3 * i + 2, 20000);
        held[n] = oa_arena_take(&a, bytes[n]);
        memset(held[n], n, bytes[n]);
        marks[n++] = oa_arena_mark(&a);
    }
    assert_int_equal(oa_status(c), OA_OK);
    oa_arena_free(&a);
    oa_close(c);
}

static void poison_is_not_a_number(void **state)
{
    (void)state;
    oa_context *c = open_threads(1);
    struct oa_arena a;
    oa_arena_init(&a, c, false);
    a.poison = true;
    float *x = oa_arena_take(&a, 4 * sizeof *x);
    assert_true(isnan(x[0]) && isnan(x[3]));
    assert_null(oa_arena_take(&a, SIZE_MAX));
    expect_error(c, OA_NO_MEMORY, "more requested");
    oa_arena_free(&a);
    oa_close(c);
}

/* ---- threads
 * -------------------------------------------------------------------------------------------------
 */

struct sums {
    long *slots;
    int threads;
};

static void add_item(void *argument, long item, const struct oa_worker *worker)
{
    struct sums *s = argument;
    assert_in_range(worker->index, 0, s->threads - 1);
    long *x = oa_arena_take(worker->scratch, (size_t)(item + 1) * sizeof *x);
    x[item] = item;
    s->slots[item] += x[item] + 1;
}

static void parallel_runs_every_item_once(void **state)
{
    (void)state;
    static const int counts[] = { 1, 2, 3, 7 };
    for (int k = 0; k < 4; k++) {
        oa_context *c = open_threads(counts[k]);
        long slots[64] = { 0 }, expected[64] = { 0 };
        struct sums s = { slots, counts[k] };
        for (int call = 0; call < 5000; call++) {
            long items = call * 7 % 65;
            oa_parallel(c, items, add_item, &s);
            for (long i = 0; i < items; i++)
                expected[i] += i + 1;
        }
        assert_memory_equal(slots, expected, sizeof slots);
        oa_close(c);
    }
}

static void long_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    double end = oa_clock() + (item == 0 ? 0.01 : 0.001);
    while (oa_clock() < end)
        continue;
    ((int *)argument)[item]++;
}

/* Longer than threads watch the gate, so that both sides fall asleep. */
static void sleeping_threads_wake(void **state)
{
    (void)state;
    oa_context *c = open_threads(3);
    int done[4] = { 0 };
    for (int call = 0; call < 10; call++) {
        oa_parallel(c, 4, long_item, done);
        double end = oa_clock() + 0.002;
        while (oa_clock() < end)
            continue;
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(done[i], 10);
    oa_close(c);
}

static void failing_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    if (item % 3 == 0)
        oa_fail(argument, OA_DIVERGED, "item %ld is not finite", item);
}

static void nesting_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker, (void)item;
    oa_parallel(argument, 5, failing_item, argument);
}

static void tasks_may_fail(void **state)
{
    (void)state;
    oa_context *c = open_threads(4);
    oa_parallel(c, 100, failing_item, c);
    expect_error(c, OA_DIVERGED, "is not finite");
    oa_parallel(c, 4, nesting_item, c);
    expect_error(c, OA_INTERNAL, "inside a parallel call");
    oa_close(c);
}

/* ---- randomness
 * ---------------------------------------------------------------------------------------------- */

/* Known answers of Random123, the authors' own library (tests/kat_vectors, philox4x32 10). */
static void philox_gives_the_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint64_t index, id, key;
        uint32_t answer[4];
    } known[] = {
        { 0, 0, 0, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { UINT64_MAX, UINT64_MAX, UINT64_MAX, { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { 0x85a308d3243f6a88,
          0x0370734413198a2e,
          0x299f31d0a4093822,
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        oa_random_block((struct oa_stream){ known[i].key, known[i].id }, known[i].index, out);
        assert_memory_equal(out, known[i].answer, sizeof out);
    }
}

/* The bounds are 5 standard errors of a sample of this size. */
static void moments_are_right(void **state)
{
    (void)state;
    enum { N = 400000 };
    struct oa_stream s = oa_stream_named(1, "moments");
    double u1 = 0, u2 = 0, n1 = 0, n2 = 0, n4 = 0, pairs = 0;
    for (uint64_t i = 0; i < N; i++) {
        double u = oa_random_uniform(s, i), n = oa_random_normal(s, i);
        assert_true(u > 0 && u < 1);
        u1 += u;
        u2 += u * u;
        n1 += n;
        n2 += n * n;
        n4 += n * n * n * n;
        if (i % 2)
            pairs += n * oa_random_normal(s, i - 1);
    }
    double e = 5 / sqrt(N);
    assert_true(fabs(u1 / N - 0.5) < 0.289 * e);
    assert_true(fabs(u2 / N - 1.0 / 3) < 0.298 * e);
    assert_true(fabs(n1 / N) < e);
    assert_true(fabs(n2 / N - 1) < 1.42 * e);
    assert_true(fabs(n4 / N - 3) < 9.8 * e);
    assert_true(fabs(2 * pairs / N) < 1.42 * e);
}

/* What the head of random.c says of the words of a block, written again. */
static void distributions_follow_the_words(void **state)
{
    struct oa_stream s = oa_stream_named(3, "words");
    (void)state;
    for (uint64_t i = 0; i < 64; i++) {
        uint32_t w[4];
        oa_random_block(s, i, w);
        for (uint64_t k = 0; k < 4; k++)
            assert_true(oa_random_uniform(s, 4 * i + k) == ldexp(2 * (double)w[k] + 1, -33));
        uint64_t first = (uint64_t)w[1] << 32 | w[0], second = (uint64_t)w[3] << 32 | w[2];
        double u = ldexp((double)(first >> 12) + 0.5, -52),
               v = ldexp((double)(second >> 12) + 0.5, -52);
        double radius = sqrt(-2 * log(u)), angle = 2 * acos(-1) * v;
        assert_true(fabs(oa_random_normal(s, 2 * i) - radius * cos(angle)) < 1e-12);
        assert_true(fabs(oa_random_normal(s, 2 * i + 1) - radius * sin(angle)) < 1e-12);
        assert_int_equal(oa_random_below(s, 2 * i, 1u << 20), first >> 44);
        assert_int_equal(oa_random_below(s, 2 * i + 1, 1u << 20), second >> 44);
    }
}

static void below_is_uniform(void **state)
{
    (void)state;
    struct oa_stream s = oa_stream_child(oa_stream_named(1, "below"), 3);
    int counts[7] = { 0 };
    for (uint64_t i = 0; i < 70000; i++)
        counts[oa_random_below(s, i, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(counts[i], 9500, 10500);
    assert_int_equal(oa_random_below(s, 0, 1), 0);
    uint32_t b[4];
    oa_random_block(s, 9, b);
    uint64_t wide = (uint64_t)b[3] << 32 | b[2];
    assert_true(oa_random_below(s, 19, UINT64_MAX) == (wide ? wide - 1 : 0));
}

static void streams_differ(void **state)
{
    (void)state;
    struct oa_stream a = oa_stream_named(1, "init/a"), b = oa_stream_named(1, "init/b"),
                     c = oa_stream_named(2, "init/a");
    assert_true(a.id != b.id && a.id == c.id && a.key != c.key);
    struct oa_stream x = oa_stream_child(oa_stream_child(a, 1), 2),
                     y = oa_stream_child(oa_stream_child(a, 2), 1);
    assert_true(x.id != y.id);
    assert_true(oa_stream_child(a, 0).id != a.id &&
                oa_stream_child(a, 0).id != oa_stream_child(a, 1).id);
    assert_true(oa_stream_named(1, "").id != 0);
}

/* ---- text
 * ----------------------------------------------------------------------------------------------------
 */

static void text_grows(void **state)
{
    (void)state;
    oa_context *c = open_threads(1);
    struct oa_text t;
    oa_text_init(&t, c);
    for (int i = 0; i < 1000; i++)
        oa_text_printf(&t, "%d,", i);
    oa_text_add(&t, "end", 3);
    assert_int_equal(t.length, strlen(t.s));
    assert_int_equal(t.length, 10 * 2 + 90 * 3 + 900 * 4 + 3);
    assert_string_equal(t.s + t.length - 7, "999,end");
    oa_text_free(&t);
    assert_null(t.s);
    oa_close(c);
}

static void reals_read_back_identical(void **state)
{
    (void)state;
    oa_context *c = open_threads(1);
    static const double values[] = { 0,         1,       0.1,      1e-3,   1e-8,
                                     0.9999999, 1.0 / 3, -2.5e300, 5e-324, 9007199254740991.0 };
    (void)setlocale(LC_ALL, "de_DE.UTF-8"); /* where it exists, its decimal comma must not matter */
    for (int i = 0; i < 10; i++) {
        struct oa_text t;
        double back;
        oa_text_init(&t, c);
        oa_text_real(&t, values[i]);
        assert_true(oa_parse_real(t.s, &back));
        assert_true(back == values[i]);
        if (i < 4)
            assert_string_equal(t.s, ((const char *[]){ "0", "1", "0.1", "0.001" })[i]);
        oa_text_free(&t);
    }
    (void)setlocale(LC_ALL, "C");
    static const char *const wrong[] = { "",      " 1", "1 ",  "nan", "inf",
                                         "0x1p3", "1e", "1,5", "--1", "1.2.3" };
    for (int i = 0; i < 10; i++) {
        double x;
        assert_false(oa_parse_real(wrong[i], &x));
    }
    oa_close(c);
}

static void nearest_word_is_found(void **state)
{
    (void)state;
    static const char *const words[] = { "softmax", "local", "performer", "linformer" };
    assert_string_equal(oa_nearest("sofmtax", words, 4), "softmax");
    assert_string_equal(oa_nearest("preformer", words, 4), "performer");
    assert_string_equal(oa_nearest("linfrmer", words, 4), "linformer");
    assert_string_equal(oa_nearest("loca", words, 4), "local");
    assert_null(oa_nearest("attention", words, 4));
    assert_null(oa_nearest("", words, 4));
    assert_null(oa_nearest("x", words, 0));
}

static void bf16_rounds_to_even(void **state)
{
    (void)state;
    assert_int_equal(oa_float_to_bf16(1.0f), 0x3f80);
    assert_int_equal(oa_float_to_bf16(1.00390625f), 0x3f80); /* half way, down to even */
    assert_int_equal(oa_float_to_bf16(1.01171875f), 0x3f82); /* half way, up to even */
    assert_true(isnan(oa_bf16_to_float(oa_float_to_bf16(NAN))));
    assert_true(isinf(oa_bf16_to_float(oa_float_to_bf16(3.4e38f))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_error_stays),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(isa_beyond_the_processor_is_refused),
        cmocka_unit_test(log_and_stop_reach_the_caller),
        cmocka_unit_test(processor_is_described),
        cmocka_unit_test(limits_of_control_groups_are_read),
        cmocka_unit_test(cores_that_can_run_at_once),
        cmocka_unit_test(prefetching_processors_are_recognised),
        cmocka_unit_test(memory_is_aligned_and_zeroed),
        cmocka_unit_test(arena_reuses_its_memory),
        cmocka_unit_test(dry_arena_counts_like_a_real_one),
        cmocka_unit_test(arena_releases_over_chunks),
        cmocka_unit_test(poison_is_not_a_number),
        cmocka_unit_test(parallel_runs_every_item_once),
        cmocka_unit_test(sleeping_threads_wake),
        cmocka_unit_test(tasks_may_fail),
        cmocka_unit_test(philox_gives_the_known_answers),
        cmocka_unit_test(moments_are_right),
        cmocka_unit_test(distributions_follow_the_words),
        cmocka_unit_test(below_is_uniform),
        cmocka_unit_test(streams_differ),
        cmocka_unit_test(text_grows),
        cmocka_unit_test(reals_read_back_identical),
        cmocka_unit_test(nearest_word_is_found),
        cmocka_unit_test(bf16_rounds_to_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
