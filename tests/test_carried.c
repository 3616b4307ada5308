/* SPDX-License-Identifier: Apache-2.0
 *
 * From results to readers: one comparison in which no two fields are equal, with seeds that are
 * missing and a run that diverged, through the terminal, Markdown, results.json, the page and its
 * charts. What must be there is in verdicts/carried.h, made by numpy and scipy
 * (verdicts/carried.py).
 */
#include "testing.h"

#include "report/report.h"
#include "verdicts/carried.h"

#include <jansson.h>

/* ---- the comparison ---- */

struct carried {
    oa_context *c;
    struct oa_comparison comparison;
    struct oa_entry entries[CARRIED];
    struct oa_run runs[CARRIED][CARRIED_SEEDS];
    struct oa_curve_point points[CARRIED][CARRIED_SEEDS][CARRIED_POINTS];
    struct oa_summary s;
};

static void fill_carried(struct carried *m, int i, int r)
{
    bool failed = isnan(carried_losses[i][r]) && r < carried_made[i];
    double loss = carried_losses[i][r];
    m->runs[i][r] = (struct oa_run){ .seed = 11 + (uint64_t)r,
                                     .absent = r >= carried_made[i],
                                     .failed = failed,
                                     .valid_loss = loss,
                                     .perplexity = exp(loss),
                                     .valid_tokens = 4096,
                                     .steps = (long)carried_steps[i][r],
                                     .points = r < carried_made[i] ? CARRIED_POINTS : 0,
                                     .curve = m->points[i][r] };
#define CARRY(field) m->runs[i][r].field = carried_##field[i][r];
    CARRY(tokens)
    CARRY(seconds)
    CARRY(processor_seconds)
    CARRY(seconds_per_step)
    CARRY(tokens_per_second)
    CARRY(flops)
    CARRY(flops_per_step)
    CARRY(peak_memory)
    CARRY(bits_per_character)
    CARRY(bits_per_byte)
#undef CARRY
    snprintf(m->runs[i][r].failure, sizeof m->runs[i][r].failure,
             failed ? "step 7: the loss is not finite" : "");
    for (int p = 0; p < CARRIED_POINTS; p++)
        m->points[i][r][p] = (struct oa_curve_point){ .step = 100L * p,
                                                      .tokens = 1000.0 * p,
                                                      .seconds = carried_elapsed[i][r][p],
                                                      .train_loss = carried_train[i][r][p],
                                                      .valid_loss = carried_valid[i][r][p] };
}

/* The context and the runs; the caller may change them before it is judged. */
static void open_carried(struct carried *m)
{
    memset(m, 0, sizeof *m);
    m->c = oa_open(NULL);
    m->comparison = (struct oa_comparison){ .entries = m->entries,
                                            .count = CARRIED,
                                            .seeds = CARRIED_SEEDS,
                                            .baseline = 1,
                                            .margin = carried_margin,
                                            .valid_tokens = 4097,
                                            .eval_tokens = 4096 };
    for (int i = 0; i < CARRIED; i++) {
        m->entries[i] = (struct oa_entry){ .attention = (char *)(uintptr_t)carried_names[i],
                                           .trainable = carried_parameters[i][0],
                                           .frozen = carried_parameters[i][1],
                                           .uniform = i == CARRIED - 1,
                                           .runs = m->runs[i] };
        for (int r = 0; r < CARRIED_SEEDS; r++)
            fill_carried(m, i, r);
    }
}

static void judge_carried(struct carried *m)
{
    assert_int_equal(oa_summary_make(m->c, &m->comparison, &m->s), OA_OK);
}

static void close_carried(struct carried *m)
{
    assert_int_equal(oa_last_error(m->c, NULL), OA_OK);
    oa_summary_free(&m->s);
    oa_close(m->c);
}

static struct oa_text form_of(struct carried *m,
                              void (*form)(const struct oa_comparison *, const struct oa_summary *,
                                           struct oa_text *))
{
    struct oa_text t;
    oa_text_init(&t, m->c);
    form(&m->comparison, &m->s, &t);
    return t;
}

/* ---- reading ---- */

/* "−0.0361", "244k", "1.31 %", "12.5 s", "2 min 5 s": does it say x, to the digits that are shown?
 * Returns what is behind it. */
static const char *says(const char *text, double x, const char *what)
{
    static const struct {
        const char *unit;
        double scale;
    } units[] = { { "KiB", 1024 }, { "MiB", 1048576 }, { "ms", 1e-3 }, { "µs", 1e-6 },
                  { "min", 60 },   { "k", 1e3 },       { "M", 1e6 },   { "G", 1e9 },
                  { "T", 1e12 },   { "s", 1 } };
    const char *at = text + strspn(text, " ");
    bool minus = strncmp(at, "−", 3) == 0;
    at += minus ? 3 : *at == '+';
    char *end;
    double shown = strtod(at, &end), scale = 1;
    if (end == at)
        fail_msg("%s: \"%.40s\" is no number, expected %g", what, text, x);
    const char *point = memchr(at, '.', (size_t)(end - at));
    int decimals = point ? (int)(end - point - 1) : 0;
    const char *unit = end + (*end == ' ');
    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        if (strncmp(unit, units[u].unit, strlen(units[u].unit)) == 0) {
            scale = units[u].scale;
            end = (char *)(uintptr_t)(unit + strlen(units[u].unit));
            break;
        }
    double step = scale * pow(10, -decimals);
    shown *= minus ? -scale : scale;
    if (scale == 60) { /* and seconds */
        shown += strtod(end, &end);
        step = 1;
        end += strlen(" s");
    }
    if (!(fabs(shown - x) <=
          0.5000001 * step + (fabs(x) >= 1000 && scale == 1 ? 0.005 * fabs(x) : 0)))
        fail_msg("%s: \"%.40s\" instead of %.9g", what, text, x);
    return end;
}

/* "a ±b" */
static const char *says_both(const char *text, double mean, double half, const char *what)
{
    const char *at = says(text, mean, what);
    if (strncmp(at, " ±", strlen(" ±")) != 0)
        fail_msg("%s: no interval in \"%.40s\"", what, text);
    return says(at + strlen(" ±"), half, what);
}

static const char *says_ends(const char *text, double mean, double half, const char *what)
{
    const char *at = says(text, mean - half, what);
    if (strncmp(at, " … ", strlen(" … ")) != 0)
        fail_msg("%s: no range in \"%.60s\"", what, text);
    return says(at + strlen(" … "), mean + half, what);
}

static const char *find(const char *text, const char *what)
{
    const char *at = text ? strstr(text, what) : NULL;
    if (!at)
        fail_msg("\"%s\" is not there", what);
    return at;
}

static void begins(const char *text, const char *with, const char *what)
{
    while (*text == ' ')
        text++;
    if (strncmp(text, with, strlen(with)) != 0)
        fail_msg("%s: \"%.40s\" instead of \"%s\"", what, text, with);
}

enum { MOST_CELLS = 16 };

/* The cells of a row: of Markdown between bars, of the terminal between two blanks. */
static int split(const char *line, const char *between, char cells[MOST_CELLS][96])
{
    int n = 0;
    const char *end = strchr(line, '\n'), *at = line;
    while (at < end && n < MOST_CELLS) {
        const char *next = strstr(at, between);
        next = !next || next > end ? end : next;
        const char *from = at + strspn(at, " ");
        snprintf(cells[n], 96, "%.*s", next > from ? (int)(next - from) : 0, from);
        for (size_t k = strlen(cells[n]); k && cells[n][k - 1] == ' '; k--)
            cells[n][k - 1] = 0;
        n++;
        at = next + strlen(between);
        if (between[0] == ' ')
            at += strspn(at, " ");
    }
    return n;
}

/* ---- the terminal and Markdown ---- */

static double adjusted_of(int i)
{
    return i == CARRIED - 1 ? carried_adjusted_uniform : carried_loss[i][0];
}

/* A verdict in the terminal's short words. */
static const char *words_of(const char *verdict, bool terminal)
{
    return terminal && strcmp(verdict, "no significant difference") == 0 ? "n.s." : verdict;
}

/* attention, loss, ppl, bits, difference to the baseline, p, verdict, seeds, and described the
 * differences to the lowest and to the uniform baseline, and the retained share; on the terminal
 * no ppl and bits, and nothing described but the share */
static void check_results_row(char cells[MOST_CELLS][96], int i, bool terminal)
{
    const struct carried_judged *j = &carried_to_baseline[i];
    const char *name = carried_names[i];
    bool uniform = i == CARRIED - 1;
    int at = 1;
    assert_string_equal(cells[0], name);
    if (uniform)
        says(cells[at++], carried_adjusted_uniform, name);
    else
        says_both(cells[at++], carried_loss[i][0], carried_loss[i][1], name);
    if (!terminal)
        says(cells[at++], exp(adjusted_of(i)), "perplexity");
    if (!terminal)
        says(cells[at++], carried_means[i][9] * adjusted_of(i) / carried_loss[i][0], "bits");
    if (i == 0)
        assert_string_equal(cells[at], "–");
    else if (j->verdict)
        says_both(cells[at], j->mean, j->half, "difference");
    else /* failed */
        assert_string_equal(cells[at], "–");
    if (j->verdict && isfinite(j->p))
        says(cells[at + 1], j->p, "p");
    else
        assert_string_equal(cells[at + 1], "–");
    at += 2;
    assert_string_equal(cells[at++], i == 3   ? "failed 1 of 5"
                                     : i == 0 ? "baseline"
                                              : words_of(j->verdict, terminal));
    assert_int_equal(atoi(cells[at++]), carried_made[i]);
    if (i < 3)
        says(cells[terminal ? at : at + 2], carried_to_uniform[i] / carried_to_uniform[0],
             "retained");
    if (terminal)
        return;
    if (i == carried_reference)
        assert_string_equal(cells[at], "–");
    else
        says(cells[at],
             uniform ? carried_adjusted_uniform - carried_loss[carried_reference][0]
                     : carried_difference[i],
             "to the lowest");
    if (uniform)
        begins(cells[at + 1], "–", "to uniform");
    else
        says(cells[at + 1], carried_to_uniform[i], "to uniform");
}

/* attention, trained, frozen, steps, tokens, FLOPs, processor, wall, tokens/s, ms/step (not on the
 * terminal), MiB */
static void check_cost_row(char cells[MOST_CELLS][96], int i, bool terminal)
{
    const double *mean = carried_means[i];
    assert_string_equal(cells[0], carried_names[i]);
    says(cells[1], carried_parameters[i][0], "trained");
    says(cells[2], carried_parameters[i][1], "frozen");
    says(cells[3], mean[0], "steps");
    says(cells[4], mean[1], "tokens");
    says(cells[5], mean[6], "FLOPs");
    says(cells[6], mean[3], "processor time");
    says(cells[7], mean[2], "wall time");
    says(cells[8], mean[5], "tokens/s");
    if (!terminal)
        says(cells[9], 1e3 * mean[4], "ms/step");
    says(cells[terminal ? 9 : 10], mean[8], "memory");
}

static void check_tables(const char *text, const char *row, const char *between, bool terminal)
{
    char cells[MOST_CELLS][96], begin[64];
    for (int i = 0; i < CARRIED; i++) {
        snprintf(begin, sizeof begin, "\n%s%s ", row, carried_names[i]);
        const char *first = find(text, begin) + 1 + strlen(row),
                   *second = find(first, begin) + 1 + strlen(row);
        assert_int_equal(split(first, between, cells), terminal ? 7 : 11);
        check_results_row(cells, i, terminal);
        assert_int_equal(split(second, between, cells), terminal ? 10 : 11);
        check_cost_row(cells, i, terminal);
    }
}

/* Names in the order of the table, by rising loss, what failed last. */
static void terminal_and_markdown(void **state)
{
    static struct carried m;
    char seeds[128];
    (void)state;
    open_carried(&m);
    judge_carried(&m);
    struct oa_text t;
    oa_text_init(&t, m.c);
    oa_report_table(&m.comparison, &m.s, 0, &t);
    check_tables(t.s, "", "  ", true);
    join_lines(t.s);
    for (int i = 0; i < CARRIED; i++)
        if (carried_seeds_needed[i]) {
            assert_int_equal(m.s.entries[i].seeds_needed, carried_seeds_needed[i]);
            snprintf(seeds, sizeof seeds, "%s ", carried_names[i]);
            find(find(t.s, "to be significant (80 % range):"), seeds);
        }
    find(t.s, "random, seed 13: step 7: the loss is not finite");
    oa_text_free(&t);
    t = form_of(&m, oa_report_markdown);
    check_tables(t.s, "| ", " | ", false);
    oa_text_free(&t);
    close_carried(&m);
}

/* ---- results.json ---- */

static void equals(const json_t *o, const char *key, double x)
{
    const json_t *value = json_object_get(o, key);
    if (isnan(x) ? !json_is_null(value) : !(fabs(json_number_value(value) - x) <= 1e-9 * fabs(x)))
        fail_msg("%s is %.12g instead of %.12g", key, json_number_value(value), x);
}

static void equals_judged(const json_t *o, const struct carried_judged *j)
{
    if (!j->verdict) {
        assert_true(json_is_null(o));
        return;
    }
    const json_t *d = json_object_get(o, "difference"), *interval = json_object_get(o, "interval");
    assert_string_equal(json_string_value(json_object_get(o, "verdict_text")), j->verdict);
    equals(d, "mean", j->mean);
    equals(interval, "low", j->mean - j->half);
    equals(interval, "high", j->mean + j->half);
    equals(interval, "confidence", 1 - j->level);
    equals(o, strcmp(j->verdict, "equivalent") == 0 ? "p_equivalence" : "p_adjusted", j->p);
}

static void results_json(void **state)
{
    static const char *const keys[] = { "steps",
                                        "tokens",
                                        "seconds",
                                        "processor_seconds",
                                        "seconds_per_step",
                                        "tokens_per_second",
                                        "flops",
                                        "flops_per_step",
                                        "peak_memory",
                                        "bits_per_character" };
    static struct carried m;
    (void)state;
    open_carried(&m);
    judge_carried(&m);
    struct oa_text t = form_of(&m, oa_report_json);
    json_t *root = json_loads(t.s, 0, NULL), *entries = json_object_get(root, "entries");
    assert_int_equal(json_integer_value(json_object_get(root, "reference")), carried_reference);
    for (int i = 0; i < CARRIED; i++) {
        const json_t *s = json_object_get(json_array_get(entries, (size_t)i), "statistics");
        for (size_t f = 0; f < sizeof keys / sizeof *keys; f++)
            equals(s, keys[f], carried_means[i][f]);
        equals(json_object_get(s, "loss"), "mean", carried_loss[i][0]);
        equals(json_object_get(s, "loss"), "high", carried_loss[i][0] + carried_loss[i][1]);
        equals(s, "adjusted", adjusted_of(i));
        equals(s, "difference_percent", carried_percent[i]);
        if (carried_to_baseline[i].verdict) /* of the entry and of its comparison */
            assert_string_equal(json_string_value(json_object_get(s, "verdict_text")),
                                carried_to_baseline[i].verdict);
        equals(s, "seeds_needed", carried_seeds_needed[i] ? carried_seeds_needed[i] : (double)NAN);
        equals_judged(json_object_get(s, "baseline"), &carried_to_baseline[i]);
        const json_t *u = json_object_get(s, "floor");
        if (i < 3) /* described, but for the baseline itself */
            equals(json_object_get(u, "difference"), "mean", carried_to_uniform[i]);
        if (i == 1 || i == 2)
            assert_true(json_is_null(json_object_get(u, "verdict")) &&
                        json_is_null(json_object_get(u, "interval")) &&
                        json_is_null(json_object_get(u, "p_adjusted")));
    }
    const json_t *declared = json_object_get(root, "family");
    assert_string_equal(json_string_value(json_object_get(declared, "kind")), "baseline");
    equals(declared, "comparisons", 4);
    equals(declared, "judged", 3);
    equals(declared, "level", 0.05);
    json_t *pairs = json_object_get(root, "pairs");
    assert_int_equal(json_array_size(pairs), CARRIED_PAIRS);
    json_decref(root);
    oa_text_free(&t);
    close_carried(&m);
}

static void all_pairs(void **state)
{
    static struct carried m;
    (void)state;
    open_carried(&m);
    m.comparison.family = OA_FAMILY_PAIRS;
    judge_carried(&m);
    struct oa_text t = form_of(&m, oa_report_json);
    json_t *root = json_loads(t.s, 0, NULL), *pairs = json_object_get(root, "pairs");
    for (size_t p = 0; p < CARRIED_PAIRS; p++) {
        const json_t *one = json_array_get(pairs, p);
        equals(one, "a", carried_pair[p][0]);
        equals(one, "b", carried_pair[p][1]);
        equals_judged(one, &carried_pairs[p]);
    }
    equals(json_object_get(root, "family"), "comparisons", 10);
    json_decref(root);
    oa_text_free(&t);
    close_carried(&m);
}

/* ---- the page ---- */

/* The text of the next cell of a row, without its tags: "1.6379 ± 0.0149". */
static const char *next_cell(const char *at, char cell[160])
{
    size_t n = 0;
    at = find(at, "<td");
    for (bool tag = false; strncmp(at, "</td>", 5) != 0; at++) {
        tag = tag || *at == '<';
        if (!tag && n + 1 < 160)
            cell[n++] = *at;
        else if (tag && *at == '>' && n && cell[n - 1] != ' ')
            cell[n++] = ' ';
        tag = tag && *at != '>';
    }
    cell[n] = 0;
    return at;
}

static const char *page_row(const char *table, int i)
{
    char begin[64];
    snprintf(begin, sizeof begin, "<tr data-series=\"%d\"", i);
    return find(table, begin);
}

/* loss, difference to the baseline, verdict, speed, parameters, memory: seven columns with the name
 */
static void check_answers(const char *page, int i)
{
    const struct carried_judged *j = &carried_to_baseline[i];
    char cell[160];
    const char *at = next_cell(page_row(page, i), cell);
    const char *rest = says(cell, adjusted_of(i), "page, loss");
    if (i != CARRIED - 1)
        says(rest + strlen(" ± "), carried_loss[i][1], "page, half");
    at = next_cell(at, cell);
    if (j->verdict)
        says_ends(says(cell, j->mean, "page, difference"), j->mean, j->half, "page, difference");
    else if (i == 0)
        begins(cell, "–", "page, difference");
    at = next_cell(at, cell);
    begins(cell, i == 0 ? "baseline" : i == 3 ? "failed 1 of 5" : j->verdict, "page, verdict");
    if (j->verdict && isfinite(j->p))
        says(find(cell, "p = ") + 4, j->p, "page, p");
    at = next_cell(at, cell);
    if (i < 3) /* of what the baseline gains over the uniform baseline, on the same seeds */
        says(cell, carried_to_uniform[i] / carried_to_uniform[0], "page, retained");
    at = next_cell(at, cell);
    says(says(cell, carried_means[i][5], "page, speed"), carried_means[i][4], "page, ms/step");
    at = next_cell(at, cell);
    says(says(cell, carried_parameters[i][0], "page, trained"), carried_parameters[i][1],
         "page, frozen");
    next_cell(at, cell);
    says(says(cell, carried_means[i][8], "page, memory"), carried_means[i][7], "page, FLOPs/step");
}

/* difference to the lowest (percent), to the uniform baseline, perplexity, seeds */
static void check_more(const char *table, int i)
{
    char cell[160];
    const char *at = next_cell(page_row(table, i), cell);
    if (i != carried_reference && i < 3) {
        const char *rest = says(cell, carried_difference[i], "page, to the lowest");
        rest = says(find(rest, "(") + 1, carried_percent[i], "page, percent");
        assert_null(strstr(rest, "…")); /* no interval of what is described */
    }
    at = next_cell(at, cell);
    if (i < CARRIED - 1)
        says(cell, carried_to_uniform[i], "page, to uniform");
    assert_null(strstr(cell, "…"));
    at = next_cell(at, cell);
    says(cell, exp(adjusted_of(i)), "page, perplexity");
    next_cell(at, cell);
    assert_int_equal(atoi(cell), carried_made[i]);
}

/* seed, loss, perplexity, bits, bits, steps, tokens, processor, wall, ms/step, tokens/s, memory,
 * FLOPs */
static void check_run_row(const char *row, int i, int r)
{
    char cell[160];
    bool failed = isnan(carried_losses[i][r]);
    const double expected[] = { exp(carried_losses[i][r]),
                                carried_bits_per_character[i][r],
                                carried_bits_per_byte[i][r],
                                carried_steps[i][r],
                                carried_tokens[i][r],
                                carried_processor_seconds[i][r],
                                carried_seconds[i][r],
                                1e3 * carried_seconds_per_step[i][r],
                                carried_tokens_per_second[i][r],
                                carried_peak_memory[i][r],
                                carried_flops[i][r] };
    const char *at = next_cell(row, cell);
    assert_int_equal(atoi(cell), 11 + r);
    at = next_cell(at, cell);
    if (failed)
        begins(cell, "failed", "page, run");
    else
        says(cell, carried_losses[i][r], "page, run");
    for (size_t f = 0; f < sizeof expected / sizeof *expected; f++) {
        at = next_cell(at, cell);
        if (isfinite(expected[f]))
            says(cell, expected[f], "page, run");
    }
}

static void page_tables(void **state)
{
    static struct carried m;
    (void)state;
    open_carried(&m);
    judge_carried(&m);
    struct oa_text t = form_of(&m, oa_report_html);
    const char *more = find(t.s, "<details id=\"more\">"),
               *runs = find(t.s, "<section id=\"runs\">");
    for (int i = 0; i < CARRIED; i++) {
        check_answers(t.s, i);
        check_more(more, i);
        char begin[64];
        snprintf(begin, sizeof begin, "<span class=\"swatch c%d\">", i);
        const char *row = find(find(runs, begin), "<tbody>");
        for (int r = 0; r < carried_made[i]; r++, row = find(row + 1, "</tr>"))
            check_run_row(row, i, r);
    }
    find(find(runs, "Seed 13 failed: "), "step 7: the loss is not finite");
    oa_text_free(&t);
    close_carried(&m);
}

/* ---- charts ---- */

/* Pixels of values, by the first and the last tick of an axis: those of x are anchored in the
 * middle. */
struct scale {
    double value[2], at[2];
};

static struct scale scale_of(const char *svg, bool x)
{
    struct scale s = { { 0, 0 }, { 0, 0 } };
    const char *end = find(svg, "</svg>"), *at = svg;
    int n = 0;
    while ((at = strstr(at, "<text class=\"tick\"")) && at < end) {
        double px = 0, py = 0;
        char anchor[16];
        assert_int_equal(sscanf(at,
                                "<text class=\"tick\" x=\"%lf\" y=\"%lf\" text-anchor=\"%15[a-z]",
                                &px, &py, anchor),
                         3);
        at = strchr(at, '>') + 1;
        if ((strcmp(anchor, "middle") == 0) != x)
            continue;
        bool minus = strncmp(at, "−", 3) == 0;
        char *after;
        double value =
            strtod(at + (minus ? 3 : 0), &after) * (minus ? -1 : 1) * (*after == 'k' ? 1e3 : 1);
        int k = n++ ? 1 : 0;
        s.value[k] = value;
        s.at[k] = x ? px : py - 4;
    }
    assert_true(n > 1);
    return s;
}

static double pixel(const struct scale *s, double value)
{
    return s->at[0] + (value - s->value[0]) * (s->at[1] - s->at[0]) / (s->value[1] - s->value[0]);
}

static void near(double found, double value, const struct scale *s, const char *what)
{
    if (!(fabs(found - pixel(s, value)) <= 0.4))
        fail_msg("%s: drawn at %.2f instead of %.2f", what, found, pixel(s, value));
}

/* Both ends of a bar, and the place of its dot. */
static void check_bar(const char *svg, int i, double mean, double half)
{
    char begin[64];
    double from, y, to, cx;
    struct scale x = scale_of(svg, true);
    snprintf(begin, sizeof begin, "<path class=\"span c%d\"", i);
    const char *bar = find(svg, begin);
    assert_int_equal(sscanf(find(bar, " d=\"M"), " d=\"M%lf %lfH%lf", &from, &y, &to), 3);
    near(from, mean - half, &x, "left end");
    char arrow[64];
    snprintf(arrow, sizeof arrow, "<path class=\"arrow c%d\"", i);
    if (strstr(svg, arrow) &&
        strstr(svg, arrow) < strstr(svg, "</svg>")) { /* it leaves the picture */
        assert_true(pixel(&x, mean + half) > to);
        return;
    }
    near(to, mean + half, &x, "right end");
    assert_int_equal(sscanf(find(bar, " cx=\""), " cx=\"%lf", &cx), 1);
    near(cx, mean, &x, "dot");
}

static void differences(void **state)
{
    static struct carried m;
    double left, width;
    (void)state;
    open_carried(&m);
    judge_carried(&m);
    struct oa_text t = form_of(&m, oa_report_html), file = form_of(&m, oa_report_svg);
    const char *figure = find(t.s, "<figure id=\"differences\">");
    const char *const svgs[] = { find(figure, "<div class=\"wide\"><svg"),
                                 find(figure, "<div class=\"narrow\"><svg"), file.s };
    for (int v = 0; v < 3; v++) {
        for (int i = 1; i < CARRIED; i++)
            if (carried_to_baseline[i].verdict)
                check_bar(svgs[v], i, carried_to_baseline[i].mean, carried_to_baseline[i].half);
        struct scale x = scale_of(svgs[v], true);
        const char *band = find(svgs[v], "<rect class=\"margin\"");
        assert_int_equal(sscanf(band, "<rect class=\"margin\" x=\"%lf\"", &left), 1);
        assert_int_equal(sscanf(find(band, " width=\""), " width=\"%lf", &width), 1);
        near(left, -carried_margin, &x, "margin");
        near(left + width, carried_margin, &x, "margin");
    }
    oa_text_free(&t);
    oa_text_free(&file);
    close_carried(&m);
}

/* The bold line of the means over the seeds that did not fail; the last point is the one that
 * counts. */
static void check_line(const char *svg, int i)
{
    char begin[64];
    struct scale x = scale_of(svg, true), y = scale_of(svg, false);
    snprintf(begin, sizeof begin, "<path class=\"line c%d\"", i);
    const char *at = find(find(svg, begin), " d=\"M") + strlen(" d=\"M");
    for (int p = 0; p < CARRIED_POINTS; p++) {
        char *end;
        double px = strtod(at, &end), py = strtod(end, &end);
        near(px, 100.0 * p, &x, "step of a curve");
        near(py, carried_curve[i][p], &y, "mean of a curve");
        at = end;
    }
}

static void curves(void **state)
{
    static struct carried m;
    char cell[160];
    (void)state;
    open_carried(&m);
    judge_carried(&m);
    struct oa_text t = form_of(&m, oa_report_html);
    const char *svg = find(find(t.s, "<div class=\"plot p0\">"), "<svg");
    const char *row = find(find(t.s, "The validation losses as a table"), "<tbody>");
    for (int i = 0; i < CARRIED; i++)
        check_line(svg, i);
    for (int p = 0; p < CARRIED_POINTS; p++, row = find(row + 1, "</tr>")) {
        const char *at = next_cell(row, cell);
        assert_int_equal(atoi(cell), 100 * p);
        for (int o = 0; o < CARRIED; o++) {
            at = next_cell(at, cell);
            says(cell, carried_curve[m.s.order[o]][p], "table of curves");
        }
    }
    oa_text_free(&t);
    close_carried(&m);
}

/* Speed against loss: both coordinates, and both ends of the bar of the loss. */
static void trade_offs(void **state)
{
    static struct carried m;
    (void)state;
    open_carried(&m);
    judge_carried(&m);
    struct oa_text t = form_of(&m, oa_report_html);
    const char *svg = find(find(t.s, "<figure id=\"speed\">"), "<svg");
    struct scale x = scale_of(svg, true), y = scale_of(svg, false);
    for (int i = 0; i < 3; i++) {
        char begin[64];
        double px, py, top, bottom;
        snprintf(begin, sizeof begin, "<circle class=\"point c%d\"", i);
        const char *point = find(svg, begin);
        assert_int_equal(sscanf(find(point, " cx=\""), " cx=\"%lf\" cy=\"%lf\"", &px, &py), 2);
        near(px, carried_means[i][5], &x, "speed");
        near(py, carried_loss[i][0], &y, "loss");
        snprintf(begin, sizeof begin, "<path class=\"bar c%d\"", i);
        assert_int_equal(
            sscanf(find(find(svg, begin), " d=\"M"), " d=\"M%lf %lfV%lf", &px, &bottom, &top), 3);
        near(fmax(bottom, top), carried_loss[i][0] - carried_loss[i][1], &y, "low end of a loss");
        near(fmin(bottom, top), carried_loss[i][0] + carried_loss[i][1], &y, "high end of a loss");
    }
    assert_null(strstr(svg, "<circle class=\"point c3\"")); /* what failed is in no trade-off */
    oa_text_free(&t);
    close_carried(&m);
}

/* ---- the baseline fails too ---- */

static void without_its_baseline(void **state)
{
    static struct carried m;
    char cells[MOST_CELLS][96], cell[160];
    (void)state;
    open_carried(&m);
    m.runs[0][4].failed = true;
    m.runs[0][4].valid_loss = (double)NAN;
    judge_carried(&m);
    struct oa_text t = form_of(&m, oa_report_json);
    json_t *root = json_loads(t.s, 0, NULL), *entries = json_object_get(root, "entries");
    for (size_t i = 0; i < CARRIED; i++)
        assert_true(json_is_null(json_object_get(
            json_object_get(json_array_get(entries, i), "statistics"), "baseline")));
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(root, "recommendation"), "action")),
        "repair");
    json_decref(root);
    oa_text_free(&t);
    t = form_of(&m, oa_report_markdown);
    for (int i = 0; i < CARRIED; i++) {
        char begin[64];
        snprintf(begin, sizeof begin, "\n| %s ", carried_names[i]);
        split(find(t.s, begin) + 3, " | ", cells);
        assert_string_equal(cells[4], "–");
    }
    find(t.s, "the baseline, softmax, did not finish all its runs");
    oa_text_free(&t);
    t = form_of(&m, oa_report_html);
    assert_null(strstr(t.s, "<figure id=\"differences\">"));
    next_cell(next_cell(next_cell(page_row(t.s, 1), cell), cell), cell);
    begins(cell, "not compared", "page, verdict");
    oa_text_free(&t);
    close_carried(&m);
}

/* ---- names from other people's folders ---- */

static void nothing_is_raw(void **state)
{
    static struct carried m;
    static char name[] = "soft\x1b[31mmax\x07\x7f\xc2\x9b\xe2\x80\xae\xff";
    void (*const forms[])(const struct oa_comparison *, const struct oa_summary *,
                          struct oa_text *) = { oa_report_markdown, oa_report_html, oa_report_svg,
                                                oa_report_json };
    (void)state;
    open_carried(&m);
    m.entries[1].attention = name;
    snprintf(m.runs[3][2].failure, sizeof m.runs[3][2].failure, "in %s", name);
    m.comparison.machine_json = (char *)(uintptr_t) "{\"processor\": \"a\\u001bb\"}";
    judge_carried(&m);
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        struct oa_text t = form_of(&m, forms[f]);
        for (const char *at = t.s; *at; at++) {
            bool control = (unsigned char)*at < 0x20 && *at != '\n' && *at != '\t';
            bool other = *at == 0x7f || strncmp(at, "\xc2\x9b", 2) == 0 ||
                         strncmp(at, "\xe2\x80\xae", 3) == 0;
            if (control || *at == '\xff' || (other && f < 3)) /* JSON has these as they are */
                fail_msg("form %zu has a raw character 0x%02x", f, (unsigned char)*at);
        }
        if (f == 0)
            find(t.s, "soft\\\\x1b\\[31mmax\\\\x07\\\\x7f\\\\x9b\\\\u202e?");
        if (f == 1)
            find(t.s, "soft\\x1b[31mmax\\x07\\x7f\\x9b\\u202e?");
        oa_text_free(&t);
    }
    close_carried(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terminal_and_markdown),
        cmocka_unit_test(results_json),
        cmocka_unit_test(all_pairs),
        cmocka_unit_test(page_tables),
        cmocka_unit_test(differences),
        cmocka_unit_test(curves),
        cmocka_unit_test(trade_offs),
        cmocka_unit_test(without_its_baseline),
        cmocka_unit_test(nothing_is_raw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
