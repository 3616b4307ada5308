/* SPDX-License-Identifier: Apache-2.0
 * Propositions on frozen orthogonal projections: closed forms against reference values, every
 * measured value within five standard errors of its closed form, verdicts, and the three outputs.
 * --write FOLDER writes the page for tests/theory_dom.sh. */
#include "testing.h"

#include "report/report.h"
#include "theory/closed_forms.h"
#include "theory/draws.h"
#include "theory/spectrum.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static oa_context *context;

static int open_context(void **state)
{
    (void)state;
    context = oa_open(NULL);
    return context ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(context);
    return 0;
}

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.10g instead of %.10g", a, b);
}

/* ---- closed forms ---- */

static void closed_forms_match_reference_values(void **state)
{
    (void)state;
    assert_near(oa_law_first_entry(4), 0.42441318, 5e-9);
    assert_near(oa_law_first_entry(8), 0.29102618, 5e-9);
    assert_near(oa_law_first_entry(16), 0.20261030, 5e-9);
    assert_near(oa_law_first_entry(64), 0.10012591, 5e-9);
    static const double spreads[][2] = { { 512, 0.16504 }, { 768, 0.16903 }, { 1024, 0.17100 } };
    for (int i = 0; i < 3; i++)
        assert_near(spreads[i][0] / 64 * sqrt(oa_law_norm_variance(spreads[i][0], 64)),
                    spreads[i][1], 5e-6);
    assert_near(512.0 / 64 * sqrt(oa_law_gaussian_norm_variance(512, 64)), 0.17678, 5e-6);
    assert_near(oa_law_gaussian_condition(512, 64), 2.09, 5e-3);
    assert_near(oa_law_jl_bound(64, 0.5), 0.139, 5e-4);
    assert_int_equal(ceil(oa_law_jl_width(100, 0.5)), 222);
    assert_int_equal(ceil(oa_law_jl_width(100, 0.1)), 3948);
    assert_int_equal(floor(oa_law_jl_points(64, 0.5)), 3);
}

static void closed_forms_agree_with_each_other(void **state)
{
    (void)state;
    static const double shapes[][2] = { { 512, 64 }, { 64, 16 }, { 48, 16 }, { 10, 5 } };
    for (int i = 0; i < 4; i++) {
        double d = shapes[i][0], k = shapes[i][1], norm = oa_law_norm_variance(d, k);
        assert_near(oa_law_product_variance(d, k, 1), norm, 1e-12); /* x with itself */
        for (double p = 0.05; p < 1; p += 0.15)
            assert_near(oa_law_norm_cdf(d, k, oa_law_norm_quantile(d, k, p)), p, 1e-10);
        assert_near(oa_law_distortion(d, k, 0.5),
                    oa_law_norm_cdf(d, k, 0.5) + 1 - oa_law_norm_cdf(d, k, fmin(1.5, d / k)),
                    1e-12);
        assert_true(oa_law_distortion(d, k, 0.5) < oa_law_jl_bound(k, 0.5));
    }
    assert_near(oa_beta_cdf(0.3, 1, 1), 0.3, 1e-14);         /* uniform */
    assert_near(oa_beta_cdf(0.25, 2, 3), 0.26171875, 1e-14); /* a polynomial: 6x² − 8x³ + 3x⁴ */
}

/* U diag(s) Vᵀ has the singular values s: the columns of a generated U, scaled and mixed by a
 * rotation. */
static void singular_extremes_match_a_known_spectrum(void **state)
{
    (void)state;
    enum { D = 40, K = 12 };
    double s[K], a[K * D], room[K * K + 3 * K], c = 0.6, n = 0.8;
    for (int l = 0; l < K; l++) {
        s[l] = 0.01 * pow(3, l % 7) + l;
        for (int i = 0; i < D; i++) /* disjoint unit columns, spread over D */
            a[l * D + i] = i % K == l && i / K < 3 ? s[l] / sqrt(3) : 0;
    }
    for (int l = 0; l + 1 < K;
         l++) /* plane rotations of neighbouring columns leave singular values */
        for (int i = 0; i < D; i++) {
            double x = a[l * D + i], y = a[(l + 1) * D + i];
            a[l * D + i] = c * x - n * y;
            a[(l + 1) * D + i] = n * x + c * y;
        }
    struct oa_extremes e = oa_singular_extremes(D, K, a, room);
    double largest = 0, smallest = INFINITY;
    for (int l = 0; l < K; l++) {
        largest = fmax(largest, s[l]);
        smallest = fmin(smallest, s[l]);
    }
    assert_near(e.largest, largest, 1e-9);
    assert_near(e.smallest, smallest, 1e-7);
    double one[2] = { 3, 4 };
    e = oa_singular_extremes(2, 1, one, room);
    assert_near(e.largest, 5, 1e-9);
    assert_near(e.smallest, 5, 1e-9);
}

/* ---- measurements ---- */

static void measure(oa_context *c, long width, long heads, struct oa_theory_results *t)
{
    const char *sentence;
    if (oa_theory_measure(c, width, heads, t) == OA_OK)
        return;
    oa_last_error(c, &sentence);
    fail_msg("%ld, %ld heads: %s", width, heads, sentence);
}

/* The edges of a spectrum of width d converge to their limits as d^(−2/3). */
static void assert_matches_closed_form(const struct oa_theory_finding *f, long d)
{
    if (!isfinite(f->law) || !isfinite(f->measured))
        return;
    double off = fabs(f->measured - f->law);
    double allowed = f->asymptotic ? fmax(3 * f->law * pow((double)d, -2.0 / 3), 5 * f->error)
                                   : fmax(5 * f->error, 1e-9);
    if (!(off <= allowed))
        fail_msg("%s: %g ± %g, closed form %g", f->name, f->measured, f->error, f->law);
}

static const char *const holding[] = {
    "orthonormal",         "kept-in-span",  "product-mean",
    "product-kept-square", "beta-law",      "first-entry",
    "gaussian-spread",     "condition",     "square-gaussian-condition",
    "gradient-kept",       "slices-apart",  "slices-together",
    "head-logits",         "untied-spread", "distortion"
};
enum { HOLDING = sizeof holding / sizeof *holding };

static bool is_holding(const char *name)
{
    for (int i = 0; i < HOLDING; i++)
        if (strcmp(holding[i], name) == 0)
            return true;
    return false;
}

static void measurements_match_closed_forms(void **state)
{
    (void)state;
    static const long shapes[][2] = { { 8, 2 }, { 48, 3 }, { 64, 4 }, { 96, 2 }, { 60, 12 } };
    for (int s = 0; s < (short_form() ? 2 : 5); s++) {
        struct oa_theory_results t;
        int held = 0;
        measure(context, shapes[s][0], shapes[s][1], &t);
        for (int i = 0; i < t.findings; i++) {
            assert_matches_closed_form(&t.finding[i], t.d);
            if (t.finding[i].holds != is_holding(t.finding[i].name))
                fail_msg("%ld: %s %s", shapes[s][0], t.finding[i].name, t.finding[i].verdict);
            held += t.finding[i].holds;
        }
        assert_int_equal(held, HOLDING);
        assert_int_equal(oa_theory_failing(&t), t.findings - HOLDING);
        oa_theory_free(&t);
    }
}

static void verdicts_depend_on_standard_error(void **state)
{
    (void)state;
    struct oa_theory_results t = { .context = context };
    oa_theory_add(&t, &(struct oa_theory_finding){
                          .claim = 1, .law = NAN, .measured = 1.049, .error = 0.01 });
    oa_theory_add(
        &t, &(struct oa_theory_finding){ .claim = 1, .law = 1, .measured = 0.949, .error = 0.01 });
    oa_theory_add(&t, &(struct oa_theory_finding){ .claim = 0, .law = 0, .measured = 1e-6 });
    oa_theory_add(
        &t, &(struct oa_theory_finding){ .claim = 1, .law = 1.1, .measured = 1.08, .error = 0.05 });
    assert_string_equal(t.finding[0].verdict, "holds");
    assert_string_equal(t.finding[1].verdict, "fails by −0.0510");
    assert_false(t.finding[2].holds);
    assert_string_equal(t.finding[3].verdict, "fails by +0.0800"); /* by the closed form */
    assert_int_equal(oa_theory_failing(&t), 3);
    oa_theory_free(&t);
}

/* For dense vectors the curve of every generator is near that of uniform columns at every width. */
static void generators_match_the_closed_form(void **state)
{
    (void)state;
    struct oa_theory_results t;
    int curves = 0;
    measure(context, short_form() ? 64 : 128, 4, &t);
    for (int p = 0; p < t.plots; p++)
        for (int i = 0; strcmp(t.plot[p].name, "product-error") == 0 && i < t.plot[p].curves; i++) {
            const struct oa_curve *c = &t.plot[p].curve[i];
            if (!c->dots || strcmp(c->name, "gaussian") == 0)
                continue;
            curves++;
            for (int j = 0; j < c->count; j++) {
                double law = (double)t.d / c->x[j] *
                             sqrt(oa_law_product_variance((double)t.d, c->x[j], 0.5));
                if (fabs(c->y[j] / law - 1) > 0.2)
                    fail_msg("%s at %g: %g instead of %g", c->name, c->x[j], c->y[j], law);
            }
        }
    assert_int_equal(curves, 6);
    oa_theory_free(&t);
}

/* ---- output ---- */

static struct oa_text json_of(int threads)
{
    oa_context *c = oa_open(&(struct oa_settings){ .threads = threads });
    struct oa_theory_results t;
    struct oa_text text;
    assert_non_null(c);
    measure(c, 32, 2, &t);
    oa_text_init(&text, context);
    oa_theory_json(&t, &text);
    oa_theory_free(&t);
    oa_close(c);
    return text;
}

static void threads_do_not_change_json(void **state)
{
    (void)state;
    struct oa_text one = json_of(1), three = json_of(3);
    assert_string_equal(one.s, three.s);
    oa_text_free(&one);
    oa_text_free(&three);
}

static void assert_numbers(const json_t *array, const double *x, int n)
{
    assert_int_equal(json_array_size(array), n);
    for (int i = 0; i < n; i++)
        assert_true(json_number_value(json_array_get(array, (size_t)i)) == x[i]);
}

static void assert_text(const json_t *object, const char *key, const char *text)
{
    const char *found = json_string_value(json_object_get(object, key));
    if (!found || strcmp(found, text) != 0)
        fail_msg("%s is %s, not %s", key, found ? found : "none", text);
}

static void assert_number(const json_t *object, const char *key, double x)
{
    assert_true(json_number_value(json_object_get(object, key)) == x);
}

/* Results of which every field has another value. */
static void json_has_each_number_under_its_name(void **state)
{
    double x[] = { 1, 2, 3 }, y[] = { 4, 5, 6 }, u[] = { 7, 8 }, v[] = { 9, 10 };
    struct oa_theory_finding findings[] = {
        { OA_PART_GRADIENTS, "name", "proposition", "meaning", "claimed", "formula", 11, 12, true,
          13, 14, true, "verdict" },
        { .part = OA_PART_HEADS, .claim = NAN, .law = NAN, .measured = NAN, .name = "other" },
        { .part = OA_PART_HEADS, .claim = 0.5, .law = NAN, .measured = 1, .name = "third" },
    };
    struct oa_theory_results t = { .context = context,
                                   .d = 15,
                                   .heads = 16,
                                   .k = 17,
                                   .finding = findings,
                                   .findings = 3,
                                   .plots = 1 };
    struct oa_text text;
    (void)state;
    t.plot[0] = (struct oa_plot){ .part = OA_PART_LOGITS,
                                  .name = "plot",
                                  .title = "title",
                                  .caption = "caption",
                                  .x_label = "across",
                                  .y_label = "up",
                                  .curves = 2 };
    t.plot[0].curve[0] = (struct oa_curve){ "law", 3, 1, x, y, false, false, false };
    t.plot[0].curve[1] = (struct oa_curve){ "dots", 2, 2, u, v, true, false, false };
    oa_text_init(&text, context);
    oa_theory_json(&t, &text);
    json_t *root = json_loads(text.s, 0, NULL);
    assert_number(root, "width", 15);
    assert_number(root, "heads", 16);
    assert_number(root, "head_width", 17);
    assert_number(root, "holding", 1);
    assert_number(root, "failing", 2);
    const json_t *all = json_object_get(root, "propositions"), *f = json_array_get(all, 0),
                 *other = json_array_get(all, 1);
    static const char *const texts[] = { "name",    "proposition", "meaning",
                                         "claimed", "formula",     "verdict" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_text(f, texts[i], texts[i]);
    assert_text(f, "part", oa_part_title(OA_PART_GRADIENTS));
    assert_number(f, "claim", 11);
    assert_number(f, "law", 12);
    assert_number(f, "measured", 13);
    assert_number(f, "standard_error", 14);
    assert_true(json_is_true(json_object_get(f, "asymptotic")));
    assert_true(json_is_true(json_object_get(f, "holds")));
    assert_true(json_is_null(json_object_get(other, "claim")));
    assert_true(json_is_null(json_object_get(other, "law")));
    assert_true(json_is_null(json_object_get(other, "measured")));
    assert_true(json_is_false(json_object_get(other, "asymptotic")));
    assert_true(json_is_false(json_object_get(other, "holds")));
    assert_number(json_array_get(all, 2), "claim", 0.5);
    const json_t *plot = json_array_get(json_object_get(root, "plots"), 0),
                 *curves = json_object_get(plot, "curves");
    assert_text(plot, "part", oa_part_title(OA_PART_LOGITS));
    assert_text(plot, "name", "plot");
    assert_text(plot, "title", "title");
    assert_text(plot, "x", "across");
    assert_text(plot, "y", "up");
    assert_int_equal(json_array_size(curves), 2);
    for (int i = 0; i < 2; i++) {
        const json_t *curve = json_array_get(curves, (size_t)i);
        assert_text(curve, "name", i ? "dots" : "law");
        assert_true(json_is_true(json_object_get(curve, "measured")) == (i == 1));
        assert_numbers(json_object_get(curve, "x"), i ? u : x, i ? 2 : 3);
        assert_numbers(json_object_get(curve, "y"), i ? v : y, i ? 2 : 3);
    }
    json_decref(root);
    oa_text_free(&text);
}

static const struct oa_theory_finding *finding_of(const struct oa_theory_results *t,
                                                  const char *name)
{
    for (int i = 0; i < t->findings; i++)
        if (strcmp(t->finding[i].name, name) == 0)
            return &t->finding[i];
    fail_msg("there is no %s", name);
    return NULL;
}

/* The width for n points is 4 ln n / (ε²/2 - ε³/3). log κ of square Gaussian matrices deviates by
 * 1.1235 (the integral of Edelman 1988, whose mean is 1.537), so that the error of the geometric
 * mean of 32 draws is about 0.2 of it. */
static void numbers_in_words_and_errors(void **state)
{
    struct oa_theory_results t;
    char widths[80];
    (void)state;
    measure(context, 64, 4, &t);
    snprintf(widths, sizeof widths, "100 points need a head of width %.0f, or %.0f for 10 %%",
             ceil(4 * log(100) / (0.25 / 2 - 0.125 / 3)),
             ceil(4 * log(100) / (0.01 / 2 - 0.001 / 3)));
    assert_non_null(strstr(finding_of(&t, "promised")->meaning, widths));
    const struct oa_theory_finding *square = finding_of(&t, "square-gaussian-condition");
    double relative = square->error / square->measured, expected = 1.1235 / sqrt(32);
    if (!(relative > expected / 2 && relative < expected * 2))
        fail_msg("the standard error is %g of the mean, not about %g", relative, expected);
    oa_theory_free(&t);
}

static void json_table_and_page_have_all_propositions(void **state)
{
    (void)state;
    struct oa_text text = json_of(1), table, page;
    json_t *root = json_loads(text.s, 0, NULL), *first;
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "schema")), "orthant.theory/1");
    first = json_array_get(json_object_get(root, "propositions"), 0);
    assert_true(json_is_true(json_object_get(first, "holds")));
    json_int_t holding_now = json_integer_value(json_object_get(root, "holding")),
               failing = json_integer_value(json_object_get(root, "failing"));
    assert_int_equal(holding_now + failing, json_array_size(json_object_get(root, "propositions")));
    assert_int_equal(json_array_size(json_object_get(root, "plots")), 8);
    json_decref(root);
    oa_text_free(&text);

    struct oa_theory_results t;
    measure(context, 32, 2, &t);
    oa_text_init(&table, context);
    oa_text_init(&page, context);
    oa_theory_table(&t, 0, &table);
    oa_theory_html(&t, &page);
    for (int i = 0; i < t.findings; i++) {
        assert_non_null(strstr(table.s, t.finding[i].proposition));
        assert_non_null(strstr(page.s, t.finding[i].verdict));
    }
    oa_theory_free(&t);
    oa_text_free(&table);
    oa_text_free(&page);
}

static void numbers_are_readable(void **state)
{
    (void)state;
    char out[OA_THEORY_FINDING_TEXT];
    struct oa_theory_finding f = { .law = 3.8147e-6, .measured = 3.53e-6, .error = 5.7e-7 };
    assert_string_equal(oa_theory_finding_law(&f, out), "3.815·10⁻⁶");
    assert_string_equal(oa_theory_finding_measured(&f, out), "(3.53 ± 0.57)·10⁻⁶");
    f = (struct oa_theory_finding){ .law = -0.0352812, .measured = -0.0338, .error = 0.00187 };
    assert_string_equal(oa_theory_finding_law(&f, out), "−0.03528");
    assert_string_equal(oa_theory_finding_measured(&f, out), "−0.0338 ± 0.0019");
    f = (struct oa_theory_finding){ .law = 8, .measured = 4.4e-15 };
    assert_string_equal(oa_theory_finding_law(&f, out), "8");
    assert_string_equal(oa_theory_finding_measured(&f, out), "4·10⁻¹⁵");
    f = (struct oa_theory_finding){ .law = NAN, .measured = NAN };
    assert_string_equal(oa_theory_finding_law(&f, out), "–");
    assert_string_equal(oa_theory_finding_measured(&f, out), "–");
}

static void invalid_shapes_are_rejected(void **state)
{
    (void)state;
    static const long shapes[][2] = { { 65, 4 }, { 64, 1 }, { 8, 4 }, { 4096, 8 }, { 64, 0 } };
    for (int i = 0; i < 5; i++) {
        struct oa_theory_results t;
        assert_int_not_equal(oa_theory_measure(context, shapes[i][0], shapes[i][1], &t), OA_OK);
        oa_clear_error(context);
        oa_theory_free(&t);
    }
}

static int write_page(const char *folder)
{
    struct oa_theory_results t;
    struct oa_text page;
    char path[4096];
    oa_context *c = oa_open(NULL);
    snprintf(path, sizeof path, "%s/theory.html", folder);
    oa_theory_measure(c, 32, 2, &t);
    oa_text_init(&page, c);
    oa_theory_html(&t, &page);
    enum oa_error e =
        oa_status(c) == OA_OK ? oa_file_write(c, path, page.s, page.length) : oa_status(c);
    oa_text_free(&page);
    oa_theory_free(&t);
    oa_close(c);
    return e == OA_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--write") == 0)
        return write_page(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms_match_reference_values),
        cmocka_unit_test(closed_forms_agree_with_each_other),
        cmocka_unit_test(singular_extremes_match_a_known_spectrum),
        cmocka_unit_test(measurements_match_closed_forms),
        cmocka_unit_test(verdicts_depend_on_standard_error),
        cmocka_unit_test(generators_match_the_closed_form),
        cmocka_unit_test(threads_do_not_change_json),
        cmocka_unit_test(json_has_each_number_under_its_name),
        cmocka_unit_test(numbers_in_words_and_errors),
        cmocka_unit_test(json_table_and_page_have_all_propositions),
        cmocka_unit_test(numbers_are_readable),
        cmocka_unit_test(invalid_shapes_are_rejected),
    };
    threads_only("threads_do_not_change_json");
    memory_without("generators_match_the_closed_form"); /* the same measurements at another width */
    return cmocka_run_group_tests(tests, open_context, close_context);
}
