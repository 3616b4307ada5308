/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers at the ends of what a double holds, through everything that the report writes numbers
 * with: no buffer runs over, no label misstates its number, and no chart holds what a browser
 * cannot read. */
#include "testing.h"

#include "print/svg.h"
#include "report/report.h"
#include "synthetic_comparison.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double values[] = { 0,
                                 -0.0,
                                 1,
                                 -1,
                                 1e-300,
                                 -1e-300,
                                 DBL_TRUE_MIN,
                                 DBL_MIN,
                                 1e-12,
                                 1e-7,
                                 0.1,
                                 12345.67,
                                 999999.5,
                                 1e9,
                                 -1e12,
                                 1e15,
                                 1e16,
                                 1e21,
                                 1e24,
                                 -1e24,
                                 1e100,
                                 1e300,
                                 -1e300,
                                 DBL_MAX,
                                 -DBL_MAX,
                                 (double)INFINITY,
                                 -(double)INFINITY,
                                 (double)NAN };
enum { VALUES = sizeof values / sizeof *values };

/* ---- buffers that know when they were overrun ---- */

enum { GUARD = 64 };
struct guarded {
    char text[OA_NUMBER], guard[GUARD];
};

static void prepare(struct guarded *g)
{
    memset(g, '#', sizeof *g);
}

static void check(const struct guarded *g, const char *what, double x)
{
    for (int i = 0; i < GUARD; i++)
        if (g->guard[i] != '#')
            fail_msg("%s of %g wrote behind its buffer", what, x);
    if (!memchr(g->text, 0, OA_NUMBER))
        fail_msg("%s of %g has no end", what, x);
    if (strstr(g->text, "nan") || strstr(g->text, "inf") || strstr(g->text, "-0.0") ||
        strcmp(g->text, "-0") == 0)
        fail_msg("%s of %g is \"%s\"", what, x, g->text);
}

static char *three_digits(char *out, double x)
{
    return oa_number(out, x, 3);
}

static char *signed_four(char *out, double x)
{
    return oa_number_signed(out, x, 4);
}

static char *fixed_four(char *out, double x)
{
    return oa_number_fixed(out, x, 4);
}

static const struct {
    const char *name;
    char *(*write)(char *, double);
    bool reads_back; /* plain decimals, perhaps with a sign: what is written is the number to 3
                        digits */
    double decimals; /* what is smaller may be written as 0 */
} writers[] = {
    { "oa_number", three_digits, true, 0 },
    { "oa_number_signed", signed_four, true, 1e-4 },
    { "oa_number_fixed", fixed_four, true, 1e-4 },
    { "oa_number_si", oa_number_si, false, 0 },
    { "oa_number_bytes", oa_number_bytes, false, 0 },
    { "oa_number_seconds", oa_number_seconds, false, 0 },
};

static double read_back(const char *text)
{
    const char *minus = "−";
    bool negative = strncmp(text, minus, strlen(minus)) == 0;
    double x = fmin(fmax(strtod(negative ? text + strlen(minus) : text, NULL), -DBL_MAX), DBL_MAX);
    return negative ? -x : x;
}

static void numbers_at_the_ends(void **state)
{
    (void)state;
    for (size_t w = 0; w < sizeof writers / sizeof *writers; w++)
        for (int i = 0; i < VALUES; i++) {
            struct guarded g;
            prepare(&g);
            writers[w].write(g.text, values[i]);
            check(&g, writers[w].name, values[i]);
            double x = values[i];
            if (!isfinite(x))
                assert_string_equal(g.text, "–");
            else if (writers[w].reads_back &&
                     !(fabs(read_back(g.text) - x) <= 0.006 * fabs(x) + writers[w].decimals))
                fail_msg("%s of %g is \"%s\"", writers[w].name, x, g.text);
        }
}

/* ---- axes ---- */

static double label_value(const char *label)
{
    static const char units[] = "kMGTPE";
    char *end;
    double x = strtod(label, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    return unit ? x * pow(1000, (double)(unit - units + 1)) : x;
}

/* Every tick of the axis is inside it, has a label of its own, and the label says where the tick
 * is. */
static void check_axis(const struct oa_axis *a, int about)
{
    double ticks[OA_TICKS];
    char before[OA_NUMBER] = "";
    int n = oa_axis_ticks(a, about, ticks);
    if (n < 2 || n > OA_TICKS) /* one tick is no scale */
        fail_msg("[%g, %g] has %d ticks", a->low, a->high, n);
    for (int i = 0; i < n; i++) {
        struct guarded g;
        prepare(&g);
        oa_axis_label(a, ticks, n, i, g.text);
        check(&g, "oa_axis_label", ticks[i]);
        double at = oa_axis_at(a, ticks[i]),
               step = n > 1 && !a->log ? fabs(ticks[1] - ticks[0]) : 0;
        if (!(at >= a->from - 1 && at <= a->to + 1))
            fail_msg("the tick %g of [%g, %g] stands at %g", ticks[i], a->low, a->high, at);
        if (!(fabs(label_value(g.text) - ticks[i]) <= 0.05 * step + 1e-9 * fabs(ticks[i]) + 1e-290))
            fail_msg("the tick %g of [%g, %g] is called \"%s\"", ticks[i], a->low, a->high, g.text);
        if (strcmp(g.text, before) == 0)
            fail_msg("two ticks of [%g, %g] are called \"%s\"", a->low, a->high, g.text);
        strcpy(before, g.text);
    }
    assert_true(isfinite(oa_axis_label_width(a, about)));
}

static void axes_at_the_ends(void **state)
{
    (void)state;
    static const int abouts[] = { 3, 4, 5, 9 };
    for (int log = 0; log < 2; log++)
        for (int i = 0; i < VALUES; i++)
            for (int j = 0; j < VALUES; j++)
                for (int b = 0; b < 4; b++) {
                    struct oa_axis a = { .log = log, .low = 1, .high = 0, .from = 0, .to = 500 };
                    oa_axis_include(&a, values[i]);
                    oa_axis_include(&a, values[j]);
                    oa_axis_pad(&a, b % 2 ? 0.1 : 0);
                    check_axis(&a, abouts[b]);
                    for (int k = 0; k < VALUES; k++)
                        if (isfinite(values[k]) && (!log || values[k] > 0))
                            assert_true(fabs(oa_axis_at(&a, values[k])) < 1e6);
                }
}

static void labels_by_hand(void **state)
{
    (void)state;
    static const struct {
        double low, high;
        const char *first, *last;
    } cases[] = {
        { 0, 1, "0.0", "1.0" },
        { 0, 50000, "0", "50k" },
        { 0, 1e6, "0.0", "1.0M" },
        { 0, 5e21, "0", "5000E" },
        { 0, 5e300, "0", "5e+300" },
        { -4e200, 4e200, "-4e+200", "4e+200" },
        { 1e-300, 5e-300, "1e-300", "5e-300" },
        { -0.0, 1, "0.0", "1.0" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oa_axis a = { .low = cases[i].low, .high = cases[i].high, .from = 0, .to = 500 };
        double ticks[OA_TICKS];
        char label[OA_NUMBER];
        int n = oa_axis_ticks(&a, 5, ticks);
        oa_axis_label(&a, ticks, n, 0, label);
        assert_string_equal(label, cases[i].first);
        oa_axis_label(&a, ticks, n, n - 1, label);
        assert_string_equal(label, cases[i].last);
    }
    /* between a fine step and the next round one, which 2 alone would be a multiple of */
    check_axis(&(struct oa_axis){ .low = 1.955, .high = 2.045, .from = 0, .to = 500 }, 4);
}

/* ---- charts and whole reports ---- */

static void check_drawing(const char *svg, double x, double y)
{
    static const char *const never[] = { "nan", "inf", ">-0.0<", ": -0.0", "\"-0\"" };
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strstr(svg, never[i]))
            fail_msg("the chart of %g and %g holds %.40s", x, y, strstr(svg, never[i]));
    for (const char *at = svg; *at;
         at += strcspn(at, "0123456789") ? strcspn(at, "0123456789") : 1) {
        size_t digits = strspn(at, "0123456789");
        if (digits > 16)
            fail_msg("the chart of %g and %g holds a number of %zu digits", x, y, digits);
        at += digits;
        if (!*at)
            break;
    }
}

/* By the tables of DejaVu Sans: of 2048 units an em of 12 px digits have 1303, M 1767 and the other
 * units less. */
static double label_width(const char *label, size_t letters)
{
    double units = 0;
    for (size_t i = 0; i < letters; i++)
        units += label[i] >= '0' && label[i] <= '9' ? 1303
                 : label[i] == 'e'                  ? 1260
                 : strchr(".-", label[i])           ? 739
                                                    : 1767;
    return 12 * units / 2048;
}

/* The labels below an axis, which stand around their ticks, end within the picture. Returns how
 * many there are. */
static int check_edges(const char *svg)
{
    static const char start[] = "<text class=\"tick\" x=\"", middle[] = "text-anchor=\"middle\">";
    double width = 0;
    int count = 0;
    for (const char *at = svg; (at = strchr(at, '<')); at++) {
        if (strncmp(at, "<svg class=\"oa\"", 15) == 0)
            width = strtod(strstr(at, "viewBox=\"0 0 ") + 13, NULL);
        const char *text = strncmp(at, start, sizeof start - 1) == 0 ? strchr(at, '>') + 1 : NULL;
        if (!text || strncmp(text - (sizeof middle - 1), middle, sizeof middle - 1) != 0)
            continue;
        double x = strtod(at + sizeof start - 1, NULL),
               half = label_width(text, strcspn(text, "<")) / 2;
        if (x - half < 0 || x + half > width)
            fail_msg("%.*s at %g leaves a picture of %g", (int)strcspn(text, "<"), text, x, width);
        count++;
    }
    return count;
}

/* A tick may stand right at the end of its axis, as 1000000 does where that is the largest value.
 */
static void labels_at_the_edge(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    for (double end = 1; end < 1e9; end *= 10) {
        double x[2] = { -end, end }, y[2] = { 1, 2 };
        struct oa_series series = { .name = "a", .x = x, .y = y, .count = 2 };
        struct oa_text t;
        oa_text_init(&t, c);
        oa_svg_lines(&(struct oa_line_chart){ .title = "",
                                              .x_label = "x",
                                              .y_label = "y",
                                              .series = &series,
                                              .count = 1,
                                              .width = 360 },
                     &t);
        assert_true(check_edges(t.s) >= 2);
        oa_text_free(&t);
    }
    oa_close(c);
}

static void charts_at_the_ends(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    for (int i = 0; i < VALUES; i++)
        for (int j = 0; j < VALUES; j++)
            for (int log = 0; log < 2; log++) {
                double x[3] = { 1, 2, values[i] }, y[3] = { 1, values[i], values[j] };
                struct oa_series series = { .name = "a", .x = x, .y = y, .count = 3, .dots = true };
                struct oa_point points[2] = { { "a", 1, values[j], values[i], values[i], values[j],
                                                0, true },
                                              { "b", values[j], NAN, NAN, 2, NAN, 1, true } };
                struct oa_span spans[2] = { { "a", NULL, "worse", values[i], values[i] - values[j],
                                              values[i] + values[j], 0 },
                                            { "b", NULL, NULL, 1, NAN, NAN, 1 } };
                struct oa_text t;
                oa_text_init(&t, c);
                oa_svg_lines(&(struct oa_line_chart){ .title = "",
                                                      .x_label = "x",
                                                      .y_label = "y",
                                                      .x_log = log,
                                                      .y_log = log,
                                                      .series = &series,
                                                      .count = 1 },
                             &t);
                oa_svg_points(&(struct oa_point_chart){ .title = "",
                                                        .x_label = "x",
                                                        .y_label = "y",
                                                        .x_log = log,
                                                        .points = points,
                                                        .count = 2 },
                              &t);
                oa_svg_intervals(
                    &(struct oa_interval_chart){
                        .title = "", .x_label = "x", .spans = spans, .count = 2 },
                    &t);
                check_drawing(t.s, values[i], values[j]);
                check_edges(t.s);
                oa_text_free(&t);
            }
    oa_close(c);
}

/* A comparison in which one attention's losses are `x`: every form of the report is written. */
static void reports_at_the_ends(void **state)
{
    (void)state;
    for (int i = 0; i < VALUES; i++) {
        oa_context *c = oa_open(NULL);
        struct oa_comparison k;
        struct oa_summary s;
        struct oa_text t;
        make_comparison(c, six_attentions, 3, 3, &k);
        for (int r = 0; r < 3; r++) {
            struct oa_run *run = &k.entries[1].runs[r];
            run->valid_loss = run->seconds = run->seconds_per_step = run->peak_memory = run->flops =
                values[i];
            run->curve[run->points - 1].valid_loss = run->curve[5].train_loss = values[i];
        }
        assert_int_equal(oa_summary_make(c, &k, &s), OA_OK);
        oa_text_init(&t, c);
        oa_report_table(&k, &s, 132, &t);
        oa_report_markdown(&k, &s, &t);
        oa_report_json(&k, &s, &t);
        for (const char *line = t.s; *line; line += strcspn(line, "\n") + 1)
            if (strspn(line, " ") < 2 && strcspn(line, "\n") > 4000)
                fail_msg("losses of %g make a line of %zu characters", values[i],
                         strcspn(line, "\n"));
        assert_null(strstr(t.s, "nan"));
        assert_null(strstr(t.s, " inf"));
        oa_text_cut(&t, 0);
        oa_report_html(&k, &s, &t);
        assert_null(strstr(t.s, ">nan"));
        assert_null(strstr(t.s, ">inf"));
        assert_null(strstr(t.s, "± inf"));
        assert_int_equal(oa_status(c), OA_OK);
        oa_text_free(&t);
        oa_summary_free(&s);
        oa_comparison_free(&k);
        oa_close(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_at_the_ends), cmocka_unit_test(axes_at_the_ends),
        cmocka_unit_test(labels_by_hand),      cmocka_unit_test(labels_at_the_edge),
        cmocka_unit_test(charts_at_the_ends),  cmocka_unit_test(reports_at_the_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
