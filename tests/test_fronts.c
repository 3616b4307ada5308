/* SPDX-License-Identifier: Apache-2.0
 * Pareto fronts: by hand, and how many true members a simulated comparison keeps. */
#include "testing.h"

#include "report/summary.h"

#include <math.h>

enum { MOST = 8, SEEDS = 20, ROUNDS = 12 };

struct made {
    struct oa_comparison k;
    struct oa_entry entries[MOST];
    struct oa_run runs[MOST][SEEDS];
    double times[MOST][ROUNDS];
    struct oa_standing standings[MOST];
    struct oa_summary s;
    double cost[MOST], time[MOST]; /* the truth */
};

static void make(struct made *m, int count, int seeds, int rounds, double margin)
{
    *m = (struct made){ 0 };
    m->k = (struct oa_comparison){
        .count = count, .seeds = seeds, .entries = m->entries, .rounds = rounds, .margin = margin
    };
    m->s = (struct oa_summary){
        .entries = m->standings, .count = count, .seeds = seeds, .uniform = -1
    };
    for (int i = 0; i < count; i++)
        m->entries[i] = (struct oa_entry){ .attention = (char *)(uintptr_t) "x",
                                           .runs = m->runs[i],
                                           .trainable = 100,
                                           .step_seconds = m->times[i] };
}

static void set_times(struct made *m, int i, double time)
{
    static const double wobble[ROUNDS] = { 0.010,  -0.011, 0.020, -0.022, 0.031,  -0.033,
                                           -0.012, 0.013,  0.004, -0.005, -0.021, 0.017 };
    m->time[i] = time;
    m->standings[i].tokens_per_second = 1 / time;
    for (int r = 0; r < m->k.rounds; r++)
        m->times[i][r] = time * (1 + wobble[(r + 5 * i) % ROUNDS]);
}

static void find_fronts(struct made *m)
{
    double scratch[SEEDS];
    oa_pareto_fronts(&m->k, &m->s, scratch);
}

static void expect_front(struct made *m, bool speed, const char *members)
{
    find_fronts(m);
    for (int i = 0; i < m->k.count; i++) {
        bool on = speed ? m->standings[i].front_speed : m->standings[i].front_parameters;
        if (on != (members[i] == 'x'))
            fail_msg("%s: entry %d is %s the front", members, i, on ? "on" : "off");
    }
}

/* ---- by hand ---- */

/* Differences of a and b, and of c and each, have a deviation near 0.02: at 10 seeds and three
 * pairs the intervals are ± 2.93 · 0.02/√10 = ± 0.0185. */
static void make_three(struct made *m, const double cost[3], double margin)
{
    static const double wobble[] = { 1, -1, 1.2, -1.2, 0.8, -0.8, 1, -1, 0.9, -0.9 };
    make(m, 3, 10, 8, margin);
    for (int r = 0; r < 10; r++) {
        m->runs[0][r].valid_loss = cost[0] + 0.02 * wobble[r];
        m->runs[1][r].valid_loss = cost[1];
        m->runs[2][r].valid_loss = cost[2] + 0.02 * wobble[(r + 3) % 10];
    }
}

static void only_who_is_shown_to_be_dominated_leaves(void **state)
{
    (void)state;
    static struct made m;
    make_three(&m, (const double[]){ 1.00, 1.01, 1.10 }, 0);
    set_times(&m, 0, 1.0);
    set_times(&m, 1, 1.2); /* slower, its cost open: stays */
    set_times(&m, 2, 0.9); /* worse, faster: stays */
    expect_front(&m, true, "xxx");
    set_times(&m, 2, 1.0); /* worse, and not faster than the second: leaves */
    expect_front(&m, true, "xx ");
    m.entries[0].trainable = 101; /* larger than the second, its cost open: stays */
    m.entries[2].trainable = 99;  /* worse, smaller: stays */
    expect_front(&m, false, "xxx");
    m.entries[2].trainable = 100; /* worse, as large as the second: leaves */
    expect_front(&m, false, "xx ");
}

static void a_margin_lets_slower_equivalents_go(void **state)
{
    (void)state;
    static struct made m;
    make_three(&m, (const double[]){ 1.00, 1.01, 1.10 }, 0.05);
    set_times(&m, 0, 1.0);
    set_times(&m, 1, 1.2); /* the first costs less by 0.01 ± 0.02: within the margin, and faster */
    set_times(&m, 2, 1.0); /* more than the margin above both */
    expect_front(&m, true, "x  ");
    set_times(&m, 0, 1.3); /* the second costs more by less than the margin, and is faster */
    expect_front(&m, true, " xx");
    make_three(&m, (const double[]){ 1.00, 1.04, 1.06 }, 0.05);
    set_times(&m, 0, 1.0);
    set_times(&m, 1, 0.9);
    set_times(&m, 2, 1.0); /* not shown to be beyond the margin of the first; the second is as good
                              within it, and faster */
    expect_front(&m, true, "xx ");
}

/* Two attentions are one pair: ± 2.26 · 0.0208/√10 = ± 0.0149; three pairs would have ± 0.0193. */
static void the_uniform_baseline_is_in_no_pair(void **state)
{
    (void)state;
    static struct made m;
    make_three(&m, (const double[]){ 1.017, 1.00, 1.5 }, 0);
    m.entries[2].uniform = true;
    m.s.uniform = 2;
    for (int i = 0; i < 3; i++)
        set_times(&m, i, 1);
    expect_front(&m, true, " x ");
    expect_front(&m, false, " x ");
}

static void one_seed_shows_nothing(void **state)
{
    (void)state;
    static struct made m;
    make_three(&m, (const double[]){ 1.00, 1.5, 2 }, 0);
    m.k.seeds = m.s.seeds = 1;
    for (int i = 0; i < 3; i++)
        set_times(&m, i, 1 + i);
    expect_front(&m, true, "xxx");
    expect_front(&m, false, "xxx");
}

static void who_computes_the_same_slower_leaves(void **state)
{
    (void)state;
    static struct made m;
    make_three(&m, (const double[]){ 1.00, 1.01, 1.01 }, 0);
    memcpy(m.runs[2], m.runs[1], sizeof m.runs[1]);
    set_times(&m, 0, 1.0);
    set_times(&m, 1, 1.0);
    set_times(&m, 2, 1.3);
    expect_front(&m, true, "xx ");
    m.k.seeds = m.s.seeds = 1;
    expect_front(&m, true, "xx ");
}

static void speeds_of_runs_show_nothing(void **state)
{
    (void)state;
    static struct made m;
    make_three(&m, (const double[]){ 1.00, 1.00, 1.10 }, 0.05);
    m.k.rounds = 0;
    for (int i = 0; i < 3; i++) {
        set_times(&m, i, 1 + i);
        m.entries[i].step_seconds = NULL;
    }
    expect_front(&m, true, "xx "); /* the third is worse, and not faster by the estimate */
}

/* ---- simulated ---- */

/* Worse by more than the margin and not faster, or slower and no cheaper by more than it. */
static bool truly_dominated(const struct made *m, int i)
{
    for (int j = 0; j < m->k.count; j++) {
        double gap = m->cost[i] - m->cost[j];
        if ((gap > m->k.margin && m->time[i] >= m->time[j]) ||
            (m->time[i] > m->time[j] && gap >= -m->k.margin))
            return true;
    }
    return false;
}

/* Six attentions with costs within `range` deviations of a run, and times within a factor of two,
 * of which with `classes` there are only three. */
static void draw_truth(struct made *m, struct oa_stream s, uint64_t *at, double range, bool classes)
{
    for (int i = 0; i < m->k.count; i++) {
        double u = oa_random_uniform(s, (*at)++);
        m->cost[i] = range * oa_random_uniform(s, (*at)++);
        m->time[i] = classes ? 1 + 0.3 * floor(3 * u) : exp2(u);
    }
}

static void draw_runs(struct made *m, struct oa_stream s, uint64_t *at)
{
    for (int r = 0; r < m->k.seeds; r++) {
        double common = sqrt(1 / 3.0) * oa_random_normal(s, (*at)++);
        for (int i = 0; i < m->k.count; i++)
            m->runs[i][r].valid_loss =
                m->cost[i] + common + sqrt(2 / 3.0) * oa_random_normal(s, (*at)++);
    }
    for (int i = 0; i < m->k.count; i++)
        for (int r = 0; r < m->k.rounds; r++)
            m->times[i][r] = m->time[i] * (1 + 0.03 * oa_random_normal(s, (*at)++));
}

struct rates {
    double kept, stayed; /* true members on the front; others on it */
};

static struct rates simulate(int seeds, double range, double margin, bool classes, int samples)
{
    static struct made m;
    struct oa_stream s = oa_stream_named((uint64_t)seeds, classes ? "classes" : "fronts");
    uint64_t at = (uint64_t)(range * 8 + margin) << 40;
    int members = 0, kept = 0, others = 0, stayed = 0;
    make(&m, 6, seeds, 7, margin);
    for (int n = 0; n < samples; n++) {
        draw_truth(&m, s, &at, range, classes);
        draw_runs(&m, s, &at);
        find_fronts(&m);
        for (int i = 0; i < 6; i++) {
            bool off = truly_dominated(&m, i), on = m.standings[i].front_speed;
            *(off ? &others : &members) += 1;
            *(off ? &stayed : &kept) += on;
        }
    }
    return (struct rates){ (double)kept / members, (double)stayed / others };
}

static int samples_of_each = 100; /* test_fronts 2000: the figures of docs/statistics.md */

static void true_members_are_kept(void **state)
{
    (void)state;
    static const int seeds[] = { 3, 5, 10, 20 };
    for (int classes = 0; classes <= 1; classes++)
        for (int g = 0; g < 2; g++)
            for (int e = 0; e < 2; e++)
                for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
                    double range = g ? 12 : 4, margin = e ? 1 : 0;
                    struct rates r = simulate(seeds[i], range, margin, classes, samples_of_each);
                    print_message("%s, costs within %g, margin %g, %d seeds: %.1f %% of the "
                                  "members kept, %.0f %% of the others stay\n",
                                  classes ? "three speeds" : "all speeds", range, margin, seeds[i],
                                  100 * r.kept, 100 * r.stayed);
                    assert_true(r.kept > 0.96);
                }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        samples_of_each = atoi(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_who_is_shown_to_be_dominated_leaves),
        cmocka_unit_test(a_margin_lets_slower_equivalents_go),
        cmocka_unit_test(the_uniform_baseline_is_in_no_pair),
        cmocka_unit_test(one_seed_shows_nothing),
        cmocka_unit_test(who_computes_the_same_slower_leaves),
        cmocka_unit_test(speeds_of_runs_show_nothing),
        cmocka_unit_test(true_members_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
