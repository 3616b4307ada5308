/* SPDX-License-Identifier: Apache-2.0
 *
 * The report of made-up comparisons: tables, results.json and back, the page. `test_report --write
 * FOLDER` writes the reports instead of testing them: for eyes, and for tests/report_dom.sh.
 */
#include "results_reader.h"
#include "testing.h"

#include "report/columns.h"
#include "report/report.h"
#include "synthetic_comparison.h"

#include <jansson.h>
#include <stdlib.h>

enum { SIX = sizeof six_attentions / sizeof *six_attentions };

/* ---- comparisons ---- */

struct made {
    oa_context *c;
    struct oa_comparison comparison;
    struct oa_summary summary;
};

/* Without a summary. */
static struct made made_up(int count, int seeds)
{
    struct made m = { .c = oa_open(NULL) };
    make_comparison(m.c, six_attentions, count, seeds, &m.comparison);
    return m;
}

static struct made make(int count, int seeds)
{
    struct made m = made_up(count, seeds);
    assert_int_equal(oa_summary_make(m.c, &m.comparison, &m.summary), OA_OK);
    return m;
}

static void unmake(struct made *m)
{
    assert_int_equal(oa_last_error(m->c, NULL), OA_OK);
    oa_summary_free(&m->summary);
    oa_comparison_free(&m->comparison);
    oa_close(m->c);
}

static struct oa_text text_of(struct made *m,
                              void (*report)(const struct oa_comparison *,
                                             const struct oa_summary *, struct oa_text *))
{
    struct oa_text t;
    oa_text_init(&t, m->c);
    report(&m->comparison, &m->summary, &t);
    assert_int_equal(oa_last_error(m->c, NULL), OA_OK);
    return t;
}

static int occurrences(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

/* ---- numbers and cells ---- */

static void numbers(void **state)
{
    static const struct {
        char *(*write)(char *, double);
        double x;
        const char *text;
    } cases[] = {
        { oa_number_si, 0, "0" },
        { oa_number_si, 950, "950" },
        { oa_number_si, 2048, "2048" },
        { oa_number_si, 12345, "12.3k" },
        { oa_number_si, 999999, "1.00M" },
        { oa_number_si, 7.8912e9, "7.89G" },
        { oa_number_si, 12.5, "12.5" },
        { oa_number_si, NAN, "–" },
        { oa_number_bytes, 950, "950 B" },
        { oa_number_bytes, 1024, "1.00 KiB" },
        { oa_number_bytes, 5e9, "4.66 GiB" },
        { oa_number_seconds, 12e-6, "12.0 µs" },
        { oa_number_seconds, 0.0034, "3.40 ms" },
        { oa_number_seconds, 5.6, "5.60 s" },
        { oa_number_seconds, 125, "2 min 5 s" },
        { oa_number_seconds, 11040, "3 h 4 min" },
        { oa_number_seconds, 400000, "4 d 15 h" },
        { oa_number_seconds, INFINITY, "–" },
        /* the ends of units, after rounding */
        { oa_number_si, 9999, "9999" },
        { oa_number_si, 10000, "10.0k" },
        { oa_number_si, 999.4, "999" },
        { oa_number_si, 999.6, "1.00k" },
        { oa_number_si, 1e18, "1.00E" },
        { oa_number_bytes, 999, "999 B" },
        { oa_number_bytes, 1000, "0.977 KiB" },
        { oa_number_bytes, 0x1p40, "1.00 TiB" },
        { oa_number_seconds, 0, "0 s" },
        { oa_number_seconds, 0.9994e-3, "999 µs" },
        { oa_number_seconds, 0.9996e-3, "1.00 ms" },
        { oa_number_seconds, 0.9994, "999 ms" },
        { oa_number_seconds, 0.9996, "1.00 s" },
        { oa_number_seconds, 99.4, "99.4 s" },
        { oa_number_seconds, 99.6, "1 min 40 s" },
        { oa_number_seconds, 3599.4, "59 min 59 s" },
        { oa_number_seconds, 3599.6, "1 h 0 min" },
        { oa_number_seconds, 172799, "47 h 59 min" },
        { oa_number_seconds, 172800, "2 d 0 h" },
    };
    char out[OA_NUMBER];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(cases[i].write(out, cases[i].x), cases[i].text);
    assert_string_equal(oa_number(out, 9.996, 3), "10.0");
    assert_string_equal(oa_number(out, 0.00123456, 3), "0.00123");
    assert_string_equal(oa_number(out, 123456, 3), "123456");
    assert_string_equal(oa_number(out, 1e-9, 3), "1e-09");
    assert_string_equal(oa_number_signed(out, -0.01234, 4), "−0.0123");
    assert_string_equal(oa_number_signed(out, 0.5, 2), "+0.50");
    assert_string_equal(oa_number_signed(out, -0.00001, 4), "0.0000");
}

static void cells(void **state)
{
    static const struct oa_column columns[] = { { "name", false, true },
                                                { "two\nlines", true, false } };
    struct oa_table t;
    struct oa_text text;
    oa_context *c = oa_open(NULL);
    (void)state;
    oa_table_init(&t, c, columns, 2);
    oa_text_init(&text, c);
    for (int i = 0; i < 2; i++) {
        oa_table_cell(&t, "%s", i ? "a|b<*>" : "Orthänt 日本語");
        oa_table_cell(&t, "%d", i ? 12345 : 1);
    }
    oa_table_text(&t, 0, &text);
    assert_string_equal(text.s, "                  two\n"
                                "name            lines\n"
                                "─────────────────────\n"
                                "Orthänt 日本語      1\n"
                                "a|b<*>          12345\n");
    oa_text_free(&text);
    oa_table_markdown(&t, &text);
    assert_string_equal(text.s, "| name | two lines |\n| :-- | --: |\n| Orthänt 日本語 | 1 |\n"
                                "| a\\|b\\<\\*\\> | 12345 |\n");
    oa_text_free(&text);
    oa_table_html(&t, "a < b", &text);
    assert_non_null(strstr(text.s, "<caption>a &lt; b</caption>"));
    assert_non_null(strstr(text.s, "<td>a|b&lt;*&gt;</td>"));
    oa_text_free(&text);
    oa_table_free(&t);
    oa_close(c);
}

/* Cells narrower than their titles, of one line or two: no title is cut. */
static void titles_are_whole(void **state)
{
    static const struct oa_column columns[] = { { "attention", false, true },
                                                { "a\nlower line", true, false },
                                                { "an upper line\nb", true, false },
                                                { "one line", true, false } };
    struct oa_table t;
    struct oa_text text;
    oa_context *c = oa_open(NULL);
    (void)state;
    oa_table_init(&t, c, columns, 4);
    oa_text_init(&text, c);
    for (int i = 0; i < 4; i++)
        oa_table_cell(&t, "%d", i);
    oa_table_text(&t, 0, &text);
    assert_string_equal(text.s, "                    a  an upper line\n"
                                "attention  lower line              b  one line\n"
                                "──────────────────────────────────────────────\n"
                                "0                   1              2         3\n");
    oa_text_free(&text);
    oa_table_free(&t);
    oa_close(c);
}

static void shortening(void **state)
{
    oa_context *c = oa_open(NULL);
    struct oa_text text;
    (void)state;
    oa_text_init(&text, c);
    oa_text_add_short(&text, "local(window=64) ; softmax", 16);
    assert_string_equal(text.s, "local(wind…ftmax");
    assert_int_equal(oa_text_width(text.s), 16);
    oa_text_free(&text);
    oa_text_add_short(&text, "日本語日本語日本語",
                      9); /* letters of two columns: one fewer may fit */
    assert_true(oa_text_width(text.s) <= 9);
    oa_text_free(&text);
    oa_text_add_short(&text, "whole", 5);
    assert_string_equal(text.s, "whole");
    oa_text_free(&text);
    oa_close(c);
}

/* ---- the table of a comparison ---- */

static void table_fits(void **state)
{
    struct made m = make(SIX, 5);
    struct oa_text t;
    (void)state;
    oa_text_init(&t, m.c);
    oa_report_table(&m.comparison, &m.summary, 140, &t);
    int line = 0;
    for (char *at = strtok(t.s, "\n"); line < 3 + SIX; at = strtok(NULL, "\n"), line++)
        assert_in_range(oa_text_width(at), 60, 140);
    oa_text_free(&t);
    oa_report_table(&m.comparison, &m.summary, 0, &t);
    for (int i = 0; i < SIX; i++)
        assert_non_null(strstr(t.s, six_attentions[i].attention));
    join_lines(t.s);
    assert_non_null(strstr(t.s, "failed 1 of 5"));
    assert_non_null(strstr(t.s, "to be significant (80 % range): local(window=64) "));
    assert_non_null(strstr(t.s, "seed 5: step 700: the loss is not finite"));
    assert_non_null(strstr(t.s, m.summary.conclusion));
    oa_text_free(&t);
    unmake(&m);
}

/* With names of up to 32 characters: table, costs, notes and conclusion. */
static void terminal_has_100_columns(void **state)
{
    static const int limits[] = { 0, 100, 132 };
    struct made m = { .c = oa_open(NULL) };
    struct synthetic three[] = { six_attentions[0], six_attentions[2], six_attentions[3] };
    (void)state;
    three[1].attention = "pattern(previous):1 | softmax:31";
    three[2].loss = three[0].loss + 0.001;
    make_comparison(m.c, three, 3, 5, &m.comparison);
    for (int baseline = 0; baseline < 2; baseline++) {
        m.comparison.baseline = baseline;
        assert_int_equal(oa_summary_make(m.c, &m.comparison, &m.summary), OA_OK);
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
            struct oa_text t;
            oa_text_init(&t, m.c);
            oa_report_table(&m.comparison, &m.summary, limits[i], &t);
            assert_non_null(strstr(t.s, three[1].attention));
            assert_non_null(strstr(t.s, "\nn.s.: no significant difference at the level of 5 %\n"));
            for (char *at = strtok(t.s, "\n"); at; at = strtok(NULL, "\n"))
                assert_in_range(oa_text_width(at), 0, 100);
            oa_text_free(&t);
        }
        if (!baseline)
            oa_summary_free(&m.summary);
    }
    unmake(&m);
}

static void markdown(void **state)
{
    struct made m = make(SIX, 3);
    struct oa_text t = text_of(&m, oa_report_markdown);
    (void)state;
    assert_int_equal(occurrences(t.s, "\n| "), 2 * (SIX + 2));
    assert_non_null(strstr(t.s, "pattern(previous):1 \\| random"));
    assert_null(strstr(t.s, "<script>"));
    assert_non_null(strstr(t.s, "| ppl | bits/char | difference to the lowest |"));
    oa_text_free(&t);
    unmake(&m);
}

/* ---- columns ---- */

/* Five attentions, of which the third is the baseline (where there is one), the fourth the uniform
 * average. */
struct reported {
    int seeds;
    enum oa_family_kind family;
    bool baseline, uniform, sequential, imported, timed, tuned;
};

/* The chosen ones of the columns that depend on what a comparison has: a letter each. */
static void shown_columns(const struct reported *t, char out[16])
{
    static const struct {
        char letter;
        unsigned char name;
    } columns[] = { { 'p', OA_COLUMN_ASKED_P },     { 'b', OA_COLUMN_TO_BEST },
                    { 'B', OA_COLUMN_BASELINE },    { 'U', OA_COLUMN_UNIFORM },
                    { 'R', OA_COLUMN_RETAINED },    { 'T', OA_COLUMN_TUNED },
                    { 'S', OA_COLUMN_SPEEDUP },     { 't', OA_COLUMN_TRAINABLE },
                    { 'm', OA_COLUMN_PEAK_MEMORY }, { 's', OA_COLUMN_TOKENS_PER_SECOND } };
    struct oa_shown_column shown[OA_MOST_COLUMNS];
    struct made m = made_up(5, t->seeds);
    struct oa_comparison *k = &m.comparison;
    int n = 0;
    k->family = t->family;
    k->baseline = t->baseline ? 3 : 0;
    k->entries[3].uniform = t->uniform;
    k->sequential = t->sequential;
    k->imported = t->imported;
    k->rounds = t->timed;
    assert_int_equal(oa_summary_make(m.c, k, &m.summary), OA_OK);
    k->tuning.grid.options = t->tuned;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (oa_columns_choose(k, &m.summary, &columns[i].name, 1, shown) == 1)
            out[n++] = columns[i].letter;
    out[n] = 0;
    k->tuning.grid.options = 0;
    unmake(&m);
}

/* What is judged has its own column; what is described has one where it is something else. */
static void columns_are_those_that_apply(void **state)
{
    static const struct {
        struct reported comparison;
        const char *columns;
    } cases[] = { { { .seeds = 5 }, "ptms" },
                  { { .seeds = 4 }, "tms" }, /* too few seeds for a test */
                  { { 5, OA_FAMILY_AUTO, .sequential = true }, "tms" },
                  { { 5, OA_FAMILY_AUTO, .uniform = true }, "pURtms" },
                  { { 5, OA_FAMILY_AUTO, .baseline = true, .uniform = true }, "pbURtms" },
                  { { 5, OA_FAMILY_BASELINE, .baseline = true, .uniform = true }, "pbURtms" },
                  { { 5, OA_FAMILY_UNIFORM, .baseline = true, .uniform = true }, "pbBRtms" },
                  { { 5, OA_FAMILY_UNIFORM, .uniform = true }, "pbRtms" },
                  { { 5, OA_FAMILY_PAIRS, .baseline = true, .uniform = true }, "pBURtms" },
                  { { 5, OA_FAMILY_AUTO, .baseline = true }, "pbtms" },
                  { { 5, OA_FAMILY_AUTO, .timed = true, .tuned = true }, "pTStms" },
                  { { 5, OA_FAMILY_AUTO, .imported = true }, "p" } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char shown[16];
        shown_columns(&cases[i].comparison, shown);
        if (strcmp(shown, cases[i].columns) != 0)
            fail_msg("case %zu shows %s, not %s", i, shown, cases[i].columns);
    }
}

/* Differences of 1 + {-2 … 2} x have the t of √2/x; its p at 4 degrees of freedom, by the closed
 * form: 1 - t/√(4 + t²) (1 + 2/(4 + t²)). */
static void small_probabilities_have_four_digits(void **state)
{
    static const struct {
        double x;
        const char *p;
    } cases[] = { { 0.3, "0.0092" }, { 0.16, "0.0009" }, { 0.1, "0.0001" }, { 0.08, "<1e-4" } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made m = made_up(2, 5);
        struct oa_shown_column shown[OA_MOST_COLUMNS];
        struct oa_column titles[2];
        struct oa_table table;
        struct oa_text t;
        double v = 4 + 2 / cases[i].x / cases[i].x, p = 1 - sqrt((v - 4) / v) * (1 + 2 / v);
        char closed[16];
        snprintf(closed, sizeof closed, p < 1e-4 ? "<1e-4" : "%.4f", p);
        assert_string_equal(closed, cases[i].p);
        for (int r = 0; r < 5; r++)
            m.comparison.entries[1].runs[r].valid_loss =
                m.comparison.entries[0].runs[r].valid_loss + 1 + (r - 2) * cases[i].x;
        assert_int_equal(oa_summary_make(m.c, &m.comparison, &m.summary), OA_OK);
        assert_int_equal(oa_columns_choose(&m.comparison, &m.summary,
                                           &(unsigned char){ OA_COLUMN_ASKED_P }, 1, shown),
                         1);
        oa_columns_table(&m.comparison, &m.summary, shown, 1, titles, m.c, &table);
        oa_text_init(&t, m.c);
        oa_table_markdown(&table, &t);
        char row[64];
        snprintf(row, sizeof row, "| local(window=64) | %s |\n",
                 *cases[i].p == '<' ? "\\<1e-4" : closed);
        if (!strstr(t.s, row))
            fail_msg("no \"%s\" in %s", row, t.s);
        oa_table_free(&table);
        oa_text_free(&t);
        unmake(&m);
    }
}

/* ---- results.json ---- */

static void same_number(double a, double b)
{
    assert_true(a == b || (isnan(a) && isnan(b)));
}

static void same_run(const struct oa_run *a, const struct oa_run *b)
{
    assert_true(a->seed == b->seed && a->steps == b->steps && a->failed == b->failed &&
                a->points == b->points);
    assert_string_equal(a->failure, b->failure);
    assert_string_equal(a->machine, b->machine);
    assert_string_equal(a->weights, b->weights);
    same_number(a->tokens, b->tokens);
    same_number(a->valid_loss, b->valid_loss);
    same_number(a->perplexity, b->perplexity);
    same_number(a->bits_per_character, b->bits_per_character);
    same_number(a->bits_per_byte, b->bits_per_byte);
    same_number(a->seconds, b->seconds);
    same_number(a->seconds_per_step, b->seconds_per_step);
    same_number(a->tokens_per_second, b->tokens_per_second);
    same_number(a->flops, b->flops);
    same_number(a->flops_per_step, b->flops_per_step);
    same_number(a->peak_memory, b->peak_memory);
    for (int i = 0; i < a->points; i++) {
        assert_true(a->curve[i].step == b->curve[i].step);
        same_number(a->curve[i].seconds, b->curve[i].seconds);
        same_number(a->curve[i].tokens, b->curve[i].tokens);
        same_number(a->curve[i].train_loss, b->curve[i].train_loss);
        same_number(a->curve[i].valid_loss, b->curve[i].valid_loss);
    }
}

static void same_comparison(const struct oa_comparison *a, const struct oa_comparison *b)
{
    assert_true(a->count == b->count && a->seeds == b->seeds);
    assert_int_equal(a->equal, b->equal);
    same_number(a->characters, b->characters);
    same_number(a->bytes, b->bytes);
    same_number(a->valid_tokens, b->valid_tokens);
    assert_true(strstr(b->options_json, "\"layers\"") &&
                strstr(b->machine_json, "\"A Processor <2> & Co\""));
    for (int i = 0; i < a->count; i++) {
        assert_string_equal(a->entries[i].attention, b->entries[i].attention);
        same_number(a->entries[i].trainable, b->entries[i].trainable);
        same_number(a->entries[i].frozen, b->entries[i].frozen);
        for (int r = 0; r < a->seeds; r++)
            same_run(&a->entries[i].runs[r], &b->entries[i].runs[r]);
    }
}

static void json_round_trip(void **state)
{
    struct made m = make(SIX, 3), again = { .c = m.c };
    struct oa_text first = text_of(&m, oa_report_json);
    (void)state;
    assert_int_equal(oa_comparison_from_json(m.c, first.s, &again.comparison), OA_OK);
    same_comparison(&m.comparison, &again.comparison);
    assert_int_equal(oa_summary_make(m.c, &again.comparison, &again.summary), OA_OK);
    struct oa_text second = text_of(&again, oa_report_json);
    assert_string_equal(first.s, second.s);
    struct oa_text page = text_of(&m, oa_report_html), other = text_of(&again, oa_report_html);
    assert_string_equal(page.s, other.s);
    oa_text_free(&page);
    oa_text_free(&other);
    oa_text_free(&first);
    oa_text_free(&second);
    oa_summary_free(&again.summary);
    oa_comparison_free(&again.comparison);
    unmake(&m);
}

static void json_says(void **state)
{
    struct made m = make(SIX, 5);
    struct oa_text t = text_of(&m, oa_report_json);
    json_t *root = json_loads(t.s, 0, NULL);
    (void)state;
    assert_string_equal(json_string_value(json_object_get(root, "schema")), "orthant.results/2");
    assert_int_equal(json_integer_value(json_object_get(root, "reference")), 0);
    json_t *entry = json_array_get(json_object_get(root, "entries"), 1);
    json_t *statistics = json_object_get(entry, "statistics");
    assert_string_equal(json_string_value(json_object_get(statistics, "verdict")), "not resolved");
    json_t *difference = json_object_get(statistics, "difference");
    double low = json_number_value(json_object_get(difference, "low"));
    const struct oa_estimate *d = &oa_compared_pair(&m.summary, 1, m.summary.reference)->difference;
    assert_true(low == d->mean - d->half);
    json_t *failed = json_array_get(
        json_object_get(json_array_get(json_object_get(root, "entries"), 5), "runs"), 4);
    assert_true(json_is_null(json_object_get(failed, "valid_loss")));
    assert_null(strstr(t.s, ": nan"));
    assert_null(strstr(t.s, ", nan"));
    assert_null(strstr(t.s, "e+0"));
    assert_non_null(strstr(t.s, "\"bits_per_byte\""));
    json_decref(root);
    oa_text_free(&t);
    unmake(&m);
}

/* A sentence that was cut in the middle of a letter must not spoil the file. */
static void broken_utf8(void **state)
{
    struct made m = make(SIX, 3);
    (void)state;
    strcpy(m.comparison.entries[5].runs[2].failure, "cut in \xc3");
    struct oa_text t = text_of(&m, oa_report_json);
    assert_non_null(strstr(t.s, "\"cut in ?\""));
    oa_text_free(&t);
    t = text_of(&m, oa_report_html);
    assert_non_null(strstr(t.s, "cut in ?"));
    oa_text_free(&t);
    unmake(&m);
}

static void refuse(const char *json, const char *sentence)
{
    oa_context *c = oa_open(NULL);
    struct oa_comparison k;
    const char *found;
    assert_int_equal(oa_comparison_from_json(c, json, &k), OA_FORMAT);
    oa_last_error(c, &found);
    assert_string_equal(found, sentence);
    oa_close(c);
}

static void bad_results(void **state)
{
    (void)state;
    refuse("{", "results: line 1, column 1: string or '}' expected near end of file");
    refuse("[]", "results: schema: expected text, found nothing");
    refuse("{\"schema\": \"x\"}",
           "results: schema \"x\" is not known; this version reads \"orthant.results/2\"");
#define HEAD                                                                                       \
    "{\"schema\": \"orthant.results/1\", \"equal\": \"tokens\", \"seeds\": 1, \"validation\": "    \
    "{\"characters\": 1, "
#define ENTRY                                                                                      \
    HEAD "\"bytes\": null, \"tokens\": 1, \"used_during_training\": 1}, \"entries\": "             \
         "[{\"attention\": \"a\", "                                                                \
         "\"trainable\": 1, \"frozen\": 0, "
    refuse(HEAD "\"bytes\": \"9\"}}",
           "results: validation.bytes: expected a number or null, found text");
    refuse(HEAD "\"bytes\": 1, \"tokens\": 1, \"used_during_training\": 1}}",
           "results: entries: expected an array, found nothing");
    refuse(ENTRY "\"runs\": []}]}", "results: entries[0] has 0 runs where \"seeds\" says 1");
    refuse(ENTRY "\"runs\": [3]}]}",
           "results: entries[0].runs[0]: expected an object, found a whole number");
    refuse(
        ENTRY "\"runs\": [{\"seed\": -1}]}]}",
        "results: entries[0].runs[0].seed: expected a whole number from 0, found a whole number");
#undef HEAD
#undef ENTRY
}

/* Every prefix of a file, and files with single bytes changed, are read or refused, but do no harm.
 */
static void damaged_results(void **state)
{
    struct made m = make(2, 1);
    (void)state;
    for (int i = 0; i < 2; i++)
        m.comparison.entries[i].runs[0].points = 2;
    struct oa_text t = text_of(&m, oa_report_json);
    struct oa_stream stream = oa_stream_named(1, "damage");
    for (uint64_t i = 0; i < 3000; i++) {
        struct oa_comparison k;
        oa_context *c = oa_open(NULL);
        size_t at = oa_random_below(stream, 2 * i, t.length);
        char kept = t.s[at];
        t.s[at] = i % 3 ? "0\"{}[],:x\x80"[oa_random_below(stream, 2 * i + 1, 10)] : 0;
        if (oa_comparison_from_json(c, t.s, &k) == OA_OK) {
            struct oa_summary s;
            assert_int_equal(oa_summary_make(c, &k, &s), OA_OK);
            oa_summary_free(&s);
            oa_comparison_free(&k);
        }
        t.s[at] = kept;
        oa_close(c);
    }
    oa_text_free(&t);
    unmake(&m);
}

/* ---- the page ---- */

/* Reads one tag; returns what follows it. Elements on the stack must be closed in order. */
struct stack {
    char names[64][16];
    int depth;
};

static const char *read_tag(const char *at, struct stack *s)
{
    bool closing = at[1] == '/', quoted = false;
    char name[16] = "";
    sscanf(at + 1 + closing, "%15[a-zA-Z0-9!]", name);
    const char *end = at;
    for (; *end && (quoted || *end != '>'); end++)
        quoted ^= *end == '"';
    assert_true(*end == '>');
    if (closing) {
        assert_true(s->depth > 0);
        assert_string_equal(name, s->names[--s->depth]);
    } else if (end[-1] != '/' && name[0] != '!') {
        assert_true(s->depth < 64);
        strcpy(s->names[s->depth++], name);
    }
    return end + 1;
}

static void well_formed(const char *html)
{
    struct stack s = { .depth = 0 };
    for (const char *at = strchr(html, '<'); at; at = strchr(at, '<')) {
        at = read_tag(at, &s);
        const char *inside = s.depth ? s.names[s.depth - 1] : "";
        if (strcmp(inside, "script") == 0 || strcmp(inside, "style") == 0)
            at = strstr(at, strcmp(inside, "script") == 0 ? "</script>" : "</style>");
    }
    assert_int_equal(s.depth, 0);
}

static void unique_ids(const char *html)
{
    for (const char *at = strstr(html, " id=\""); at; at = strstr(at + 1, " id=\"")) {
        char id[40] = "";
        sscanf(at, "%39[^>]", id);
        *strchr(strchr(id, '"') + 1, '"') = 0;
        strcat(id, "\"");
        assert_int_equal(occurrences(html, id), 1);
    }
}

static void check_page(const struct oa_text *t)
{
    well_formed(t->s);
    unique_ids(t->s);
    assert_int_equal(occurrences(t->s, "<script"),
                     1); /* ours: the attention of that name is escaped */
    assert_null(strstr(t->s, "b's\""));
    static const char *const never[] = { "http:", "https:", "src=",  "@import", "url(", "\"nan",
                                         "\"inf", "-nan",   ">nan<", ">inf<",   "Mnan", "Vnan" };
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strstr(t->s, never[i]))
            fail_msg("the page holds %.60s", strstr(t->s, never[i]));
}

static void page(void **state)
{
    struct made m = make(SIX, 3);
    struct oa_text t = text_of(&m, oa_report_html);
    (void)state;
    check_page(&t);
    assert_int_equal(occurrences(t.s, "<svg class=\"oa\""),
                     2 + 2 * 4 + 2 * 2); /* a wide and a narrow one of each */
    assert_int_equal(occurrences(t.s, "role=\"img\""), occurrences(t.s, "aria-label=\"") - 3);
    assert_int_equal(occurrences(t.s, "<tr data-series="),
                     2 * SIX); /* what is asked, and more of each */
    static const char *const ids[] = { "recommendation", "conclusion", "results",    "differences",
                                       "pairs",          "curves",     "trade-offs", "runs",
                                       "method",         "settings" };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char id[40];
        snprintf(id, sizeof id, " id=\"%s\"", ids[i]);
        assert_int_equal(occurrences(t.s, id), 1);
    }
    assert_non_null(strstr(t.s, "A Processor &lt;2&gt; &amp; Co"));
    assert_non_null(strstr(t.s, "&lt;script&gt;alert(&quot;a &amp; b&#39;s&quot;)&lt;/script&gt;"));
    oa_text_free(&t);
    unmake(&m);
}

static void other_pages(void **state)
{
    (void)state;
    for (int count = 0; count <= 5; count++)
        for (int seeds = 1; seeds <= 2; seeds++) {
            struct made m = make(count, seeds);
            struct oa_text t = text_of(&m, oa_report_html);
            check_page(&t);
            oa_text_free(&t);
            unmake(&m);
        }
}

/* Nothing was measured, nothing is known of the machine. */
static void empty_runs(void **state)
{
    struct oa_run runs[2][2];
    struct oa_entry entries[] = { { .attention = "a", .runs = runs[0] },
                                  { .attention = "b", .runs = runs[1] } };
    struct made m = { .c = oa_open(NULL) };
    (void)state;
    memset(runs, 0, sizeof runs);
    m.comparison =
        (struct oa_comparison){ .entries = entries, .count = 2, .seeds = 2, .valid_tokens = NAN };
    for (int broken = 0; broken < 2; broken++) {
        for (int i = 0; i < 4; i++)
            runs[i / 2][i % 2].valid_loss = broken ? NAN : 0;
        assert_int_equal(oa_summary_make(m.c, &m.comparison, &m.summary), OA_OK);
        struct oa_text t = text_of(&m, oa_report_html);
        check_page(&t);
        oa_text_free(&t);
        t = text_of(&m, oa_report_json);
        assert_non_null(strstr(t.s, "\"options\": null"));
        oa_text_free(&t);
        t = text_of(&m, oa_report_markdown);
        oa_text_free(&t);
        oa_summary_free(&m.summary);
    }
    oa_close(m.c);
}

/* ---- charts on their own ---- */

static void fill_bench_chart(struct oa_series series[2], double x[8], double y[2][8])
{
    for (int i = 0; i < 8; i++) {
        x[i] = 128 << i;
        y[0][i] = 1e-9 * x[i] * x[i];
        y[1][i] = i == 3 ? NAN : 4e-7 * x[i];
    }
    series[0] =
        (struct oa_series){ .name = "softmax", .x = x, .y = y[0], .count = 8, .dots = true };
    series[1] = (struct oa_series){
        .name = "a < b & c", .x = x, .y = y[1], .count = 8, .color = 1, .dots = true
    };
}

static void bench_chart(oa_context *c, struct oa_text *out)
{
    struct oa_series series[2];
    double x[8], y[2][8];
    fill_bench_chart(series, x, y);
    struct oa_line_chart chart = { .title = "Time against length",
                                   .x_label = "length, tokens",
                                   .y_label = "time, s",
                                   .x_log = true,
                                   .y_log = true,
                                   .series = series,
                                   .count = 2,
                                   .standalone = true };
    oa_text_init(out, c);
    oa_svg_lines(&chart, out);
}

static void standalone_chart(void **state)
{
    oa_context *c = oa_open(NULL);
    struct oa_text t;
    (void)state;
    bench_chart(c, &t);
    well_formed(t.s);
    assert_non_null(strstr(t.s, "xmlns=\"http://www.w3.org/2000/svg\""));
    assert_int_equal(occurrences(t.s, "class=\"dot"), 15);
    assert_non_null(
        strstr(t.s, "data-tip=\"softmax\nlength, tokens: 256.0\ntime, s: 0.000065536\""));
    assert_non_null(strstr(t.s, ">10k</text>"));
    assert_null(strstr(t.s, "nan"));
    oa_text_free(&t);
    oa_close(c);
}

/* The place in a chart of what stands after `mark` and a name's point. */
static void read_places(const char *svg, const char *mark, int color, const char *format, double *a,
                        double *b, double *c)
{
    char start[80];
    snprintf(start, sizeof start, "class=\"%s c%d\"", mark, color);
    const char *at = strstr(svg, start), *end;
    assert_non_null(at);
    for (end = strstr(at, "/>"); at < end && sscanf(at, format, a, b, c) < 2; at++)
        ;
    assert_true(at < end);
}

/* Of a point whose intervals reach as far as its neighbours, both ways, the bars end where these
 * have theirs. */
static void bars_end_at_the_ends_of_intervals(void **state)
{
    const double none = (double)NAN;
    const struct oa_point points[] = { { "left", 1, none, none, 30, none, 0, false },
                                       { "right", 8, none, none, 10, none, 1, false },
                                       { "wide", 2, 1, 8, 20, none, 2, false },
                                       { "tall", 4, none, none, 20, 10, 3, false } };
    oa_context *c = oa_open(NULL);
    (void)state;
    for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
        struct oa_text t;
        double x[2], y[2], from, at, to;
        oa_text_init(&t, c);
        oa_svg_points(&(struct oa_point_chart){ .title = "",
                                                .x_label = "x",
                                                .y_label = "y",
                                                .points = points,
                                                .count = 4,
                                                .x_log = logarithmic },
                      &t);
        for (int i = 0; i < 2; i++)
            read_places(t.s, "point", i, "cx=\"%lf\" cy=\"%lf\"", &x[i], &y[i], &to);
        read_places(t.s, "bar", 2, "d=\"M%lf %lfH%lf", &from, &at, &to);
        assert_true(from == x[0] && to == x[1] && fabs(at - (y[0] + y[1]) / 2) < 0.11);
        read_places(t.s, "bar", 3, "d=\"M%lf %lfV%lf", &at, &from, &to);
        assert_true(fmin(from, to) == y[0] && fmax(from, to) == y[1] && at > x[0] && at < x[1]);
        oa_text_free(&t);
    }
    oa_close(c);
}

/* A band of the margin, a line at another place and a short interval: whichever is farthest from 0,
 * the chart shows all of it, and 0 in the middle of the band. */
static void forest_plots_show_all_of_the_margin(void **state)
{
    static const struct {
        double margin, also;
    } cases[] = { { 3, 0 }, { 3, 5 }, { 3, -5 }, { 0.1, 0 } };
    static const struct oa_span span = { .name = "a", .mean = 1, .low = 0.5, .high = 1.5 };
    oa_context *c = oa_open(NULL);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oa_text t;
        double left, top, width, height, zero, also = 500, from, y, to;
        oa_text_init(&t, c);
        oa_svg_intervals(&(struct oa_interval_chart){ .title = "",
                                                      .x_label = "x",
                                                      .margin = cases[i].margin,
                                                      .also = cases[i].also,
                                                      .spans = &span,
                                                      .count = 1 },
                         &t);
        const char *band = strstr(t.s, "class=\"margin\""), *line = strstr(t.s, "class=\"zero\""),
                   *bar = strstr(t.s, "class=\"span c0\"");
        assert_true(band && line && bar);
        assert_int_equal(sscanf(band,
                                "class=\"margin\" x=\"%lf\" y=\"%lf\" width=\"%lf\" "
                                "height=\"%lf\"",
                                &left, &top, &width, &height),
                         4);
        int read = sscanf(line, "class=\"zero\" d=\"M%lf %*fV%*fM%lf", &zero, &also);
        assert_int_equal(read, cases[i].also == 0 ? 1 : 2);
        bar = strstr(bar, "d=\"M");
        assert_int_equal(sscanf(bar, "d=\"M%lf %lfH%lf", &from, &y, &to), 3);
        double scale = width / 2 / cases[i].margin;
        assert_true(left > 80 && left + width < 960 && also > 80 && also < 960);
        assert_true(fabs(zero - (left + width / 2)) < 0.2);
        if (cases[i].margin > 1) /* else tenths of a pixel are a large part of the scale */
            assert_true(fabs(from - zero - 0.5 * scale) < 0.3 &&
                        fabs(to - zero - 1.5 * scale) < 0.3);
        oa_text_free(&t);
    }
    oa_close(c);
}

static void empty_charts(void **state)
{
    oa_context *c = oa_open(NULL);
    struct oa_text t;
    (void)state;
    oa_text_init(&t, c);
    oa_svg_lines(
        &(struct oa_line_chart){ .title = "", .x_label = "x", .y_label = "y", .x_log = true }, &t);
    oa_svg_points(&(struct oa_point_chart){ .title = "", .x_label = "x", .y_label = "y" }, &t);
    oa_svg_intervals(&(struct oa_interval_chart){ .title = "", .x_label = "x" }, &t);
    well_formed(t.s);
    assert_null(strstr(t.s, "nan"));
    assert_null(strstr(t.s, "inf"));
    oa_text_free(&t);
    oa_close(c);
}

/* ---- */

static int write_file(oa_context *c, const char *folder, const char *name, struct oa_text *t)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int code = oa_file_write(c, path, t->s, t->length);
    oa_text_free(t);
    return code;
}

static int write_reports(const char *folder)
{
    struct made six = make(SIX, 3), one = make(5, 1), clear = make(1, 3);
    struct oa_text t = text_of(&six, oa_report_html);
    int code = write_file(six.c, folder, "six.html", &t);
    t = text_of(&six, oa_report_json);
    code |= write_file(six.c, folder, "six.json", &t);
    t = text_of(&one, oa_report_html);
    code |= write_file(six.c, folder, "one_seed.html", &t);
    t = text_of(&clear, oa_report_html);
    code |= write_file(six.c, folder, "alone.html", &t);
    bench_chart(six.c, &t);
    code |= write_file(six.c, folder, "chart.svg", &t);
    unmake(&one);
    unmake(&clear);
    unmake(&six);
    return code;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(cells),
        cmocka_unit_test(titles_are_whole),
        cmocka_unit_test(shortening),
        cmocka_unit_test(table_fits),
        cmocka_unit_test(terminal_has_100_columns),
        cmocka_unit_test(markdown),
        cmocka_unit_test(columns_are_those_that_apply),
        cmocka_unit_test(small_probabilities_have_four_digits),
        cmocka_unit_test(json_round_trip),
        cmocka_unit_test(json_says),
        cmocka_unit_test(broken_utf8),
        cmocka_unit_test(bad_results),
        cmocka_unit_test(damaged_results),
        cmocka_unit_test(page),
        cmocka_unit_test(other_pages),
        cmocka_unit_test(empty_runs),
        cmocka_unit_test(standalone_chart),
        cmocka_unit_test(bars_end_at_the_ends_of_intervals),
        cmocka_unit_test(forest_plots_show_all_of_the_margin),
        cmocka_unit_test(empty_charts),
    };
    if (argc == 3 && strcmp(argv[1], "--write") == 0)
        return write_reports(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
