/* SPDX-License-Identifier: Apache-2.0
 * Scores as text and JSON, in sacreBLEU's forms: "NAME|signature = score details". */
#include "api/score.h"

#include <math.h>
#include <string.h>

void score_row_begin(struct score_row *row, oa_context *c)
{
    *row = (struct score_row){ .score = NAN, .mean = NAN, .half = NAN, .p = NAN, .strict_p = NAN };
    oa_text_init(&row->title, c);
    oa_text_init(&row->signature, c);
    oa_text_init(&row->verbose, c);
}

void score_row_free(struct score_row *row)
{
    oa_text_free(&row->title);
    oa_text_free(&row->signature);
    oa_text_free(&row->verbose);
    oa_confusion_free(&row->confusion);
}

static const char *words(const struct oa_text *t)
{
    return t->s ? t->s : "";
}

/* ---- text ---- */

/* Aligned at the equals signs. */
static void add_score_lines(const struct score_row *row, int rows, struct oa_text *out)
{
    size_t widest = 0;
    for (int i = 0; i < rows; i++) {
        size_t width = row[i].title.length + 1 + row[i].signature.length;
        widest = width > widest ? width : widest;
    }
    for (int i = 0; i < rows; i++) {
        int blanks = (int)(widest - (row[i].title.length + 1 + row[i].signature.length));
        oa_text_printf(out, "%*s%s|%s", blanks, "", words(&row[i].title), words(&row[i].signature));
        if (row[i].confusion.classes) {
            oa_text_printf(out, "\n");
            oa_confusion_text(out->context, &row[i].confusion, 1, row[i].decimals, out);
            continue;
        }
        oa_text_printf(out, " = %.*f", row[i].decimals, row[i].score);
        if (!isnan(row[i].mean))
            oa_text_printf(out, " (μ = %.*f ± %.*f)", row[i].decimals, row[i].mean, row[i].decimals,
                           row[i].half);
        oa_text_printf(out, "%s%s\n", row[i].verbose.length ? " " : "", words(&row[i].verbose));
    }
}

/* ---- JSON ---- */

/* Rounded as it is printed, so that text and JSON agree; null when it is not finite. */
static json_t *printed_number(double x, int decimals)
{
    char digits[400];
    double value;
    snprintf(digits, sizeof digits, "%.*f", decimals, x);
    return isfinite(x) && oa_parse_real(digits, &value) ? json_real(value) : json_null();
}

static void add_confidence(const struct score_row *row, json_t *object)
{
    char text[96];
    snprintf(text, sizeof text, "μ = %.*f ± %.*f", row->decimals, row->mean, row->decimals,
             row->half);
    oa_json_set(row->title.context, object, "confidence_mean",
                printed_number(row->mean, row->decimals));
    oa_json_set(row->title.context, object, "confidence_var",
                printed_number(row->half, row->decimals));
    oa_json_set(row->title.context, object, "confidence", json_string(text));
}

/* "key:value|key:value" as members. */
static void add_fields(oa_context *c, const char *signature, json_t *object)
{
    for (const char *s = signature, *end; *s; s = end + (*end != 0)) {
        end = s + strcspn(s, "|");
        const char *colon = memchr(s, ':', (size_t)(end - s));
        char key[64];
        if (!colon || (size_t)(colon - s) >= sizeof key)
            continue;
        memcpy(key, s, (size_t)(colon - s));
        key[colon - s] = 0;
        oa_json_set(c, object, key, json_stringn(colon + 1, (size_t)(end - colon - 1)));
    }
}

static json_t *object_of(const struct score_row *row)
{
    json_t *object = json_object();
    oa_json_set(row->title.context, object, "name", json_string(words(&row->title)));
    if (row->confusion.classes)
        oa_confusion_json(row->title.context, &row->confusion, 1, object);
    else
        oa_json_set(row->title.context, object, "score", printed_number(row->score, row->decimals));
    oa_json_set(row->title.context, object, "signature", json_string(words(&row->signature)));
    if (!isnan(row->mean))
        add_confidence(row, object);
    if (row->verbose.length)
        oa_json_set(row->title.context, object, "verbose_score", json_string(row->verbose.s));
    for (int i = 0; i < row->parts; i++)
        oa_json_set(row->title.context, object, row->part[i].name,
                    printed_number(row->part[i].value, row->decimals));
    add_fields(row->title.context, words(&row->signature), object);
    return object;
}

/* As json.dumps(indent=1) writes it. */
static void add_score_json(json_t *object, struct oa_text *out)
{
    char *s = oa_json_dump(out->context, object, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    json_decref(object);
    if (s)
        oa_text_add(out, s, strlen(s));
    oa_free(s);
}

void score_report(const struct score_row *row, int rows, bool json, struct oa_text *out)
{
    if (json) {
        oa_text_printf(out, rows > 1 ? "[\n" : "");
        for (int i = 0; i < rows; i++) {
            oa_text_printf(out, i ? ",\n" : "");
            add_score_json(object_of(&row[i]), out);
        }
        oa_text_printf(out, rows > 1 ? "\n]\n" : "\n");
    } else
        add_score_lines(row, rows, out);
}

/* ---- several systems ---- */

static bool is_significant(const struct score_row *row)
{
    return row->p < 0.05;
}

/* p_value is what sacreBLEU calls so. */
static json_t *system_json(const struct score_row *row)
{
    json_t *object = json_pack("{s:o}", "score", oa_json_number(row->score));
    oa_json_set(row->title.context, object, "p_value",
                oa_json_number(isnan(row->strict_p) ? row->p : row->strict_p));
    oa_json_set(row->title.context, object, "p_with_ties", oa_json_number(row->p));
    oa_json_set(row->title.context, object, "significant",
                isnan(row->p) ? json_null() : json_boolean(is_significant(row)));
    oa_json_set(row->title.context, object, "mean", oa_json_number(row->mean));
    oa_json_set(row->title.context, object, "ci", oa_json_number(row->half));
    oa_json_set(row->title.context, object, "signature", json_string(words(&row->signature)));
    return object;
}

static void systems_json(const struct score_plan *p, const struct score_row *row, int systems,
                         struct oa_text *out)
{
    json_t *root = json_array();
    for (int k = 0; k < systems; k++) {
        json_t *object = json_object();
        oa_json_set(out->context, object, "system",
                    oa_json_bytes(out->context, row[k].system, strlen(row[k].system)));
        for (int i = 0; i < p->items; i++)
            oa_json_set(out->context, object, words(&row[i * systems].title),
                        system_json(&row[i * systems + k]));
        oa_json_append(out->context, root, object);
    }
    oa_json_add(out, root);
}

static void system_line(const struct score_plan *p, const struct score_row *row, bool baseline,
                        int width, struct oa_text *out)
{
    int n = row->decimals;
    oa_text_printf(out, "  ");
    oa_name_add(out, row->system);
    oa_text_printf(out, "%*s  %.*f", width - (int)strlen(row->system), "", n, row->score);
    if (isnan(row->score))
        oa_text_printf(out, " (not defined: one side is constant)");
    else if (!isnan(row->mean))
        oa_text_printf(out, " (%.*f ± %.*f)", n, row->mean, n, row->half);
    else if (p->resample == SCORE_PAIRED_BS)
        oa_text_printf(out, " (no interval: the score of some resamples is not defined)");
    if (!isnan(row->p))
        oa_text_printf(out, " (p = %.4f)%s", row->p, is_significant(row) ? "*" : "");
    if (!isnan(row->strict_p))
        oa_text_printf(out, " (sacreBLEU: %.4f)", row->strict_p);
    oa_text_printf(out, "%s\n", baseline ? " baseline" : "");
}

static void test_words(const struct score_plan *p, bool sacrebleu, struct oa_text *out)
{
    if (p->resample == SCORE_PLAIN) {
        oa_text_printf(out, "Scores only; --paired-bs or --paired-ar test which differences are "
                            "significant.\n");
        return;
    }
    if (p->resample == SCORE_PAIRED_BS)
        oa_text_printf(out, "Score (mean of the resamples ± 95 %% interval). p: probability "
                            "that resampling alone changes the difference to the baseline by at "
                            "least its size;");
    else
        oa_text_printf(out, "p: probability that exchanging lines at random makes the "
                            "difference to the baseline at least as large;");
    oa_text_printf(out, " * below 0.05.\n");
    if (sacrebleu)
        oa_text_printf(out,
                       "sacreBLEU: the p-value that it prints, which omits equal differences%s; "
                       "* does not depend on it.\n",
                       p->resample == SCORE_PAIRED_BS ? " and is one-sided" : "");
}

void score_report_systems(const struct score_plan *p, const struct score_row *row, int systems,
                          bool json, struct oa_text *out)
{
    if (json) {
        systems_json(p, row, systems, out);
        return;
    }
    int width = 0;
    bool sacrebleu = false;
    for (int k = 0; k < systems; k++)
        width = (int)strlen(row[k].system) > width ? (int)strlen(row[k].system) : width;
    for (int i = 0; i < p->items; i++) {
        const struct score_row *of = row + i * systems;
        oa_text_printf(out, "%s|%s\n", words(&of->title), words(&of->signature));
        for (int k = 0; k < systems; k++)
            system_line(p, &of[k], k == 0 && p->resample != SCORE_PLAIN, width, out);
        sacrebleu |= !isnan(of[1].strict_p);
        oa_text_printf(out, "\n");
    }
    test_words(p, sacrebleu, out);
}

/* ---- line by line ---- */

static void each_text(const struct oa_statistics *s, struct score_row *row, struct oa_text *out)
{
    for (long i = 0; i < s->count; i++) {
        const double *numbers = s->row + i * s->numbers;
        row->score = s->metric->score(s->options, numbers, false);
        oa_text_cut(&row->verbose, 0);
        if (s->metric->verbose)
            s->metric->verbose(s->options, numbers, &row->verbose);
        add_score_lines(row, 1, out);
    }
}

void score_report_lines(const struct oa_statistics *s, struct score_row *row, bool json,
                        struct oa_text *out)
{
    if (!json) {
        each_text(s, row, out);
        return;
    }
    json_t *scores = json_array();
    for (long i = 0; i < s->count; i++)
        oa_json_append(out->context, scores,
                       printed_number(s->metric->score(s->options, s->row + i * s->numbers, false),
                                      row->decimals));
    json_t *object = json_pack("{s:s, s:s, s:o}", "name", words(&row->title), "signature",
                               words(&row->signature), "scores", scores);
    add_score_json(object, out);
    oa_text_printf(out, "\n");
}
