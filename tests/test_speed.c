/* SPDX-License-Identifier: Apache-2.0
 * Speeds: intervals of rounds against published tables, against all sign patterns and against
 * simulated machines; the fronts that rest on them against a reference made of tests instead of
 * intervals; what is measured, and kept. */
#include "setups.h"

#include "base/checksum.h"
#include "compare/speed.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranks ---- */

/* Largest values of the smaller rank sum, and of the rarer sign, that are significant at 5 %,
 * two-sided, for n = 6 … 20 (Wilcoxon, Katti and Wilcox 1963, table II; Dixon and Mood 1946, table
 * 1). Intervals leave out as many averages or times on either side. */
static const int rank_sums[] = { 0, 2, 3, 5, 8, 10, 13, 17, 21, 25, 29, 34, 40, 46, 52 };
static const int signs[] = { 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 5 };

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void close_to(double a, double b)
{
    if (!(fabs(a - b) <= 1e-12 * fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static void intervals_leave_out_what_tables_say(void **state)
{
    (void)state;
    double x[20], ones[20], averages[210];
    struct oa_stream stream = oa_stream_named(1, "rounds");
    for (int n = 6; n <= 20; n++) {
        int count = 0;
        for (int i = 0; i < n; i++) {
            x[i] = exp(oa_random_normal(stream, (uint64_t)(100 * n + i)));
            ones[i] = 1;
        }
        struct oa_range median = oa_median_of(x, n), ratio = oa_ratio_of(x, ones, n);
        qsort(x, (size_t)n, sizeof *x, ascending);
        for (int i = 0; i < n; i++)
            for (int j = i; j < n; j++)
                averages[count++] = sqrt(x[i] * x[j]);
        qsort(averages, (size_t)count, sizeof *averages, ascending);
        assert_int_equal(median.n, n);
        close_to(median.value, n % 2 ? x[n / 2] : (x[n / 2] + x[n / 2 - 1]) / 2);
        close_to(median.low, x[signs[n - 6]]);
        close_to(median.high, x[n - 1 - signs[n - 6]]);
        close_to(ratio.value, count % 2 ? averages[count / 2]
                                        : sqrt(averages[count / 2] * averages[count / 2 - 1]));
        close_to(ratio.low, averages[rank_sums[n - 6]]);
        close_to(ratio.high, averages[count - 1 - rank_sums[n - 6]]);
    }
}

static void few_rounds_have_no_interval(void **state)
{
    (void)state;
    static const double x[] = { 2, 1, 4, 3, 5, 6 }, y[] = { 1, 1, 1, 1, 1, 1 };
    for (int n = 1; n < 6; n++)
        assert_true(isnan(oa_median_of(x, n).low) && isnan(oa_ratio_of(x, y, n).high));
    close_to(oa_median_of(x, 6).low, 1);
    close_to(oa_ratio_of(x, y, 6).high, 6);
    assert_true(isnan(oa_median_of(NULL, 6).value) && oa_median_of(NULL, 6).n == 0);
    assert_true(isnan(oa_ratio_of(x, NULL, 6).value) && oa_ratio_of(NULL, x, 6).n == 0);
    assert_true(isnan(oa_median_of(x, 0).value));
}

/* All 2^n signs of n differences around 0 are equally likely: so many of the intervals must hold
 * it. */
static void intervals_of_all_signs(void **state)
{
    (void)state;
    for (int n = 6; n <= (short_form() ? 9 : 12); n++) {
        int holds = 0, all = 1 << n;
        double crit = 0; /* subsets of the ranks with a sum up to the table's value */
        for (int signs_of = 0; signs_of < all; signs_of++) {
            double a[12], b[12];
            int sum = 0;
            for (int i = 0; i < n; i++) {
                bool up = signs_of >> i & 1;
                sum += up ? i + 1 : 0;
                a[i] = exp((up ? 1 : -1) * pow(1.7, i) * 0.01);
                b[i] = 1;
            }
            struct oa_range r = oa_ratio_of(a, b, n);
            holds += r.low <= 1 && r.high >= 1;
            crit += sum <= rank_sums[n - 6];
        }
        assert_int_equal(all - holds, (int)(2 * crit));
        assert_true(holds >= 0.95 * all);
    }
}

/* ---- machines ---- */

/* Time lost: nothing mostly, and now and then as much as the work itself. */
static double disturbance(struct oa_stream s, uint64_t i)
{
    double u = oa_random_uniform(s, 2 * i);
    return 1 + 0.01 * fabs(oa_random_normal(s, 2 * i + 1)) + (u < 0.15 ? 5 * (0.15 - u) : 0);
}

/* Rounds that are slower and slower, or now and then half as fast, are so for both; each slot has
 * its own luck, too. */
static double coverage(int n, double ratio, bool paired, int times)
{
    int holds = 0;
    for (int k = 0; k < times; k++) {
        struct oa_stream s =
            oa_stream_child(oa_stream_named(3, "machine"), (uint64_t)(k + 100000 * n));
        double a[OA_MOST_ROUNDS], b[OA_MOST_ROUNDS];
        for (int r = 0; r < n; r++) {
            double round =
                (1 + 0.05 * r) * (oa_random_uniform(s, (uint64_t)(1000 + r)) < 0.3 ? 2 : 1);
            a[r] = ratio * round * disturbance(s, (uint64_t)(2 * r));
            b[r] = round * disturbance(s, (uint64_t)(2 * r + 1));
        }
        struct oa_range x = paired ? oa_ratio_of(a, b, n) : oa_median_of(a, n);
        holds += x.low <= ratio && ratio <= x.high;
    }
    return (double)holds / times;
}

static void ratios_are_covered_on_a_busy_machine(void **state)
{
    (void)state;
    static const struct {
        int n;
        double exact; /* by subsets of the ranks with a sum up to the table's value: partitions into
                         distinct parts (A000009) */
    } cases[] = { { 7, 1 - 2 * 3 / 128. }, { 9, 1 - 2 * 10 / 512. }, { 12, 1 - 2 * 87 / 4096. } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int times = tries(6000);
        double found = coverage(cases[i].n, 1.03, true, times), error = sqrt(0.95 * 0.05 / times);
        printf("%d rounds: %.2f %% of the intervals hold the ratio, by the signs %.2f %%\n",
               cases[i].n, 100 * found, 100 * cases[i].exact);
        if (fabs(found - cases[i].exact) > 4 * error)
            fail_msg("%d rounds: %g of the intervals hold the ratio, not %g", cases[i].n, found,
                     cases[i].exact);
    }
    assert_true(coverage(12, 1.03, false, tries(500)) <
                0.5); /* what a slow machine does to times that are not paired */
}

/* ---- fronts ---- */

enum { MOST = 6, SEEDS = 3, ROUNDS = 8 };

struct small {
    struct oa_comparison k;
    struct oa_entry entries[MOST];
    struct oa_run runs[MOST][SEEDS];
    double times[MOST][ROUNDS];
};

/* Losses and speeds lie close enough that about half of the comparisons are resolved. */
static void make_small(struct small *m, uint64_t number, int seeds, int rounds)
{
    struct oa_stream s = oa_stream_child(oa_stream_named(5, "fronts"), number);
    uint64_t i = 0;
    *m = (struct small){
        .k = { .entries = m->entries, .count = MOST, .seeds = seeds, .rounds = rounds }
    };
    m->k.equal = OA_EQUAL_TOKENS;
    for (int e = 0; e < MOST; e++) {
        double loss = 2 + 0.02 * oa_random_normal(s, i++),
               time = 1 + 0.02 * oa_random_normal(s, i++);
        m->entries[e] = (struct oa_entry){ .attention = "x", .runs = m->runs[e] };
        m->entries[e].trainable = 100 + (double)oa_random_below(s, i++, 4);
        for (int r = 0; r < seeds; r++)
            m->runs[e][r] =
                (struct oa_run){ .seed = (uint64_t)r,
                                 .steps = 1,
                                 .tokens = 100,
                                 .tokens_per_second = 100 / time,
                                 .valid_loss = loss + 0.001 * oa_random_normal(s, i++) };
        for (int r = 0; r < rounds; r++)
            m->times[e][r] = time * (1 + 0.02 * oa_random_normal(s, i++));
        m->entries[e].step_seconds = rounds ? m->times[e] : NULL;
    }
}

/* Is a shown to cost more than b, by the t test over three seeds at 0.05 divided by the 15 pairs?
 * SciPy 1.17.1: stats.t.isf(0.025 / 15, 2). */
static bool costs_more(const struct small *m, int a, int b)
{
    double d[SEEDS], mean = 0, square = 0;
    for (int r = 0; r < m->k.seeds; r++)
        mean += (d[r] = m->runs[a][r].valid_loss - m->runs[b][r].valid_loss) / m->k.seeds;
    for (int r = 0; r < m->k.seeds; r++)
        square += (d[r] - mean) * (d[r] - mean);
    return m->k.seeds > 1 && mean / sqrt(square / (SEEDS - 1) / SEEDS) > 17.27717670004393;
}

/* By the median of the means of all pairs of rounds, of the logarithms of the ratio. */
static bool is_faster(const struct small *m, int a, int b)
{
    double means[ROUNDS * (ROUNDS + 1) / 2];
    int n = 0;
    if (!m->k.rounds)
        return m->runs[a][0].tokens_per_second > m->runs[b][0].tokens_per_second;
    for (int i = 0; i < ROUNDS; i++)
        for (int j = i; j < ROUNDS; j++)
            means[n++] = log(m->times[a][i] / m->times[b][i] * (m->times[a][j] / m->times[b][j]));
    qsort(means, (size_t)n, sizeof *means, ascending);
    return means[n / 2] + means[n / 2 - 1] < 0; /* n is 36 */
}

static bool is_smaller(const struct small *m, int a, int b)
{
    return m->entries[a].trainable < m->entries[b].trainable;
}

static bool reference_front(const struct small *m, int i,
                            bool (*is_cheaper)(const struct small *, int, int))
{
    for (int j = 0; j < MOST; j++)
        if (j != i && costs_more(m, i, j) && !is_cheaper(m, i, j))
            return false;
    return true;
}

static void fronts_are_those_of_tests(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    int on = 0, off = 0;
    for (int way = 0; way < 4; way++)
        for (uint64_t number = 0; number < 200; number++) {
            struct small m;
            struct oa_summary s;
            make_small(&m, number, way & 1 ? 1 : SEEDS, way & 2 ? 0 : ROUNDS);
            assert_int_equal(oa_summary_make(c, &m.k, &s), OA_OK);
            for (int i = 0; i < MOST; i++) {
                assert_int_equal(s.entries[i].front_speed, reference_front(&m, i, is_faster));
                assert_int_equal(s.entries[i].front_parameters, reference_front(&m, i, is_smaller));
                on += s.entries[i].front_speed;
                off += !s.entries[i].front_speed;
            }
            oa_summary_free(&s);
        }
    assert_true(on > 500 && off > 500);
    oa_close(c);
}

/* By hand: A and B have the same loss as far as three seeds tell, C a higher one; C is about as
 * fast as A, B is slower. A and C have as many parameters, B has more. */
static void front_by_hand(void **state)
{
    (void)state;
    static const double losses[3][SEEDS] = { { 1.50, 1.52, 1.54 },
                                             { 1.51, 1.51, 1.55 },
                                             { 1.61, 1.63, 1.65 } };
    static const double wobble[ROUNDS] = { 0.01, -0.01, 0.02, -0.02, 0.03, -0.03, 0.04, -0.04 };
    struct small m;
    struct oa_summary s;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    make_small(&m, 0, SEEDS, ROUNDS);
    m.k.count = 3;
    for (int e = 0; e < 3; e++)
        for (int r = 0; r < SEEDS; r++)
            m.runs[e][r].valid_loss = losses[e][r] + (e == 2 ? 1e-4 * r * r : 0);
    for (int r = 0; r < ROUNDS; r++) {
        m.times[0][r] = 2 + 0.1 * r;
        m.times[1][r] = 1.1 * m.times[0][r] * (1 + 0.1 * wobble[r]);
        m.times[2][r] = 1.01 * m.times[0][r] * (1 + wobble[r]);
        m.entries[0].trainable = m.entries[2].trainable = 100;
        m.entries[1].trainable = 101;
    }
    assert_int_equal(oa_summary_make(c, &m.k, &s), OA_OK);
    assert_true(s.entries[0].front_speed && s.entries[1].front_speed && !s.entries[2].front_speed);
    assert_true(s.entries[0].front_parameters && s.entries[1].front_parameters &&
                !s.entries[2].front_parameters);
    close_to(s.entries[0].step.value, 2.35);
    close_to(s.entries[0].seconds_per_step, 2.35);
    close_to(s.entries[0].tokens_per_second, 100 / 2.35);
    close_to(s.entries[0].speed.value, 1);
    assert_true(fabs(s.entries[1].speed.value - 1 / 1.1) < 1e-3);
    assert_true(s.entries[1].speed.high < 0.92 && s.entries[1].speed.low > 0.90);
    assert_true(s.entries[2].speed.low < 1 && s.entries[2].speed.high > 1);
    oa_summary_free(&s);
    oa_close(c);
}

/* ---- measuring ---- */

static const char text_file[] = "test_speed_text.txt", folder[] = "test_speed_folder",
                  other[] = "test_speed_other";

static int make_text(void **state)
{
    (void)state;
    return write_foxes(text_file, 200);
}

static struct oa_options options(void)
{
    struct oa_options o = small_model(text_file, 4);
    o.train_batch = 4;
    o.compare_seeds = 2;
    o.compare_uniform_baseline = false;
    return o;
}

struct held {
    oa_context *c;
    struct oa_comparison k;
    enum oa_error error;
    const char *sentence;
    int said; /* lines of progress while speeds were measured */
    int stop_at;
    volatile int stop;
};

static void listen(void *argument, int level, const char *line)
{
    struct held *h = argument;
    if (level == 1 && strncmp(line, "measuring speeds [", 18) == 0 && ++h->said == h->stop_at)
        h->stop = 2;
}

static void hold(struct held *h, const struct oa_options *o, const char *where, int count,
                 int threads)
{
    static const char *const attentions[] = { "softmax", "random", "local(window=4)" };
    struct oa_comparison_request r = {
        .options = o, .attentions = attentions, .count = count, .folder = where
    };
    h->c = oa_open(&(struct oa_settings){
        .threads = threads, .log = listen, .log_argument = h, .stop = &h->stop });
    h->error = oa_comparison_run(h->c, &r, &h->k);
    oa_last_error(h->c, &h->sentence);
}

static void let_go(struct held *h)
{
    oa_comparison_free(&h->k);
    oa_close(h->c);
    *h = (struct held){ 0 };
}

static void expect_sentence(struct held *h, enum oa_error error, const char *part)
{
    assert_int_equal(h->error, error);
    if (!strstr(h->sentence, part))
        fail_msg("\"%s\" does not say \"%s\"", h->sentence, part);
    let_go(h);
}

static void speeds_are_measured_once(void **state)
{
    (void)state;
    struct held first = { 0 }, h = { 0 };
    struct oa_options o = options();
    shell("rm -rf %s %s", folder, other);
    hold(&first, &o, folder, 2, 1);
    assert_int_equal(first.error, OA_OK);
    assert_true(first.k.rounds >= 7 && first.k.rounds <= 24);
    assert_non_null(strstr(first.k.speed_machine, ", 1 threads"));
    for (int i = 0; i < 2; i++)
        for (int r = 0; r < first.k.rounds; r++)
            assert_true(first.k.entries[i].step_seconds[r] > 0 &&
                        first.k.entries[i].step_seconds[r] < 10);
    hold(&h, &o, folder, 2, 1); /* read again */
    assert_int_equal(h.error, OA_OK);
    assert_int_equal(h.said, 0);
    assert_int_equal(h.k.rounds, first.k.rounds);
    for (int i = 0; i < 2; i++)
        assert_memory_equal(h.k.entries[i].step_seconds, first.k.entries[i].step_seconds,
                            (size_t)h.k.rounds * sizeof(double));
    let_go(&h);
    hold(&h, &o, folder, 1, 1); /* all that take part are there */
    assert_int_equal(h.said, 0);
    let_go(&h);
    hold(&h, &o, folder, 3, 1); /* one is not: all are measured again, in rounds with it */
    assert_int_equal(h.error, OA_OK);
    assert_true(h.said > 0);
    assert_memory_not_equal(h.k.entries[0].step_seconds, first.k.entries[0].step_seconds,
                            7 * sizeof(double));
    let_go(&h);
    hold(&h, &o, folder, 3, 2); /* another machine */
    assert_true(h.said > 0);
    assert_non_null(strstr(h.k.speed_machine, ", 2 threads"));
    let_go(&h);
    let_go(&first);
}

static void a_stop_while_speeds_are_measured(void **state)
{
    (void)state;
    struct held h = { .stop_at = 1 };
    struct oa_options o = options();
    shell("rm -rf %s %s", folder, other);
    hold(&h, &o, folder, 2, 1);
    expect_sentence(&h, OA_INTERRUPTED, "stopped by signal 2 while speeds were measured");
    shell("[ ! -e %s/speed.json ] && [ -e %s/runs/attention-02/seed-2/result.json ]", folder,
          folder);
    hold(&h, &o, folder, 2, 1);
    assert_int_equal(h.error, OA_OK);
    let_go(&h);
}

/* speed.json with a value changed and the checksum made anew. */
static void change(const char *key, json_t *value)
{
    char path[64];
    json_t *root;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    snprintf(path, sizeof path, "%s/%s", folder, "speed.json");
    assert_int_equal(oa_checksummed_read(c, path, "", &root), OA_OK);
    json_object_set_new(root, key, value);
    assert_int_equal(oa_checksummed_write(c, path, root), OA_OK);
    json_decref(root);
    oa_close(c);
}

static void damaged_speeds_are_refused(void **state)
{
    (void)state;
    struct held h = { 0 };
    struct oa_options o = options();
    shell("rm -rf %s %s", folder, other);
    hold(&h, &o, folder, 2, 1);
    let_go(&h);
    shell("cp %s/speed.json test_speed_good", folder);
    change("rounds", json_integer(65));
    hold(&h, &o, folder, 2, 1);
    expect_sentence(&h, OA_FORMAT, "number of rounds");
    change("rounds", json_integer(6));
    hold(&h, &o, folder, 2, 1);
    expect_sentence(&h, OA_FORMAT, "not that of the rounds");
    change("rounds", json_integer(1));
    change("step_seconds", json_pack("{s:[f], s:[f]}", "softmax", 0.0, "random", 1.0));
    hold(&h, &o, folder, 2, 1);
    expect_sentence(&h, OA_FORMAT,
                    "must be numbers above 0; remove the file to measure speeds again");
    shell("sed 's/softmax/Softmax/' test_speed_good >%s/speed.json", folder);
    hold(&h, &o, folder, 2, 1);
    expect_sentence(&h, OA_FORMAT, "speed.json");
    o.train_lr = 0.01;
    hold(&h, &o, other, 2, 1);
    let_go(&h);
    shell("cp test_speed_good %s/speed.json; rm test_speed_good", other);
    hold(&h, &o, other, 2, 1);
    expect_sentence(&h, OA_ARGUMENT, "train.lr was 0.001, but it is 0.01 now; remove the file");
    shell("rm -rf %s %s", folder, other);
}

/* One of which no run was finished has no speed, and the others have theirs. */
static void who_never_finished_has_no_speed(void **state)
{
    (void)state;
    struct held h = { 0 };
    struct oa_options o = options();
    shell("rm -rf %s %s", folder, other);
    hold(&h, &o, folder, 2, 1);
    let_go(&h);
    shell("rm -r %s/speed.json; for s in 1 2; do rm %s/runs/attention-02/seed-$s/[!r]*; done",
          folder, folder);
    for (int seed = 1; seed <= 2; seed++) {
        char path[128];
        json_t *root;
        oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
        snprintf(path, sizeof path, "%s/runs/attention-02/seed-%d/result.json", folder, seed);
        assert_int_equal(oa_checksummed_read(c, path, "", &root), OA_OK);
        json_object_set_new(root, "failed", json_true());
        json_object_set_new(root, "weights", json_string(""));
        assert_int_equal(oa_checksummed_write(c, path, root), OA_OK);
        json_decref(root);
        oa_close(c);
    }
    for (int again = 0; again < 2; again++) {
        hold(&h, &o, folder, 2, 1);
        assert_int_equal(h.error, OA_OK);
        assert_non_null(h.k.entries[0].step_seconds);
        assert_null(h.k.entries[1].step_seconds);
        let_go(&h);
    }
    shell("rm -rf %s %s", folder, other);
}

/* In twice as many rounds as there are attentions each is at every place twice. */
static void all_take_turns(void **state)
{
    (void)state;
    for (int count = 1; count <= 7; count++) {
        int been[7][7] = { 0 };
        for (int round = 0; round < 2 * count; round++)
            for (int place = 0; place < count; place++)
                been[oa_speed_turn(place, round, count)][place]++;
        for (int i = 0; i < count; i++)
            for (int place = 0; place < count; place++)
                assert_int_equal(been[i][place], 2);
    }
}

/* By hand: 7 slots of 2 attentions in 0.14 s of training are 10 ms each. */
static void slots_are_no_longer_than_the_training(void **state)
{
    (void)state;
    assert_int_equal(oa_speed_steps(1000, 2, 0.01), 5);
    assert_int_equal(oa_speed_steps(1000, 2, 0.0009), 56);
    assert_int_equal(oa_speed_steps(1000, 2, 1e-6), 64);
    assert_int_equal(oa_speed_steps(1000, 2, 1), 3);
    assert_int_equal(oa_speed_steps(0.14, 2, 0.0011), 10);
    assert_int_equal(oa_speed_steps(0.14, 4, 0.0011), 5);
    assert_int_equal(oa_speed_steps(0.14, 2, 0.02), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_leave_out_what_tables_say),
        cmocka_unit_test(few_rounds_have_no_interval),
        cmocka_unit_test(intervals_of_all_signs),
        cmocka_unit_test(ratios_are_covered_on_a_busy_machine),
        cmocka_unit_test(fronts_are_those_of_tests),
        cmocka_unit_test(front_by_hand),
        cmocka_unit_test(speeds_are_measured_once),
        cmocka_unit_test(a_stop_while_speeds_are_measured),
        cmocka_unit_test(damaged_speeds_are_refused),
        cmocka_unit_test(who_never_finished_has_no_speed),
        cmocka_unit_test(all_take_turns),
        cmocka_unit_test(slots_are_no_longer_than_the_training),
    };
    return cmocka_run_group_tests(tests, make_text, NULL);
}
