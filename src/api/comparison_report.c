/* SPDX-License-Identifier: Apache-2.0
 * The statistics of a comparison, and its report in its forms. */
#include "api/comparison_report.h"

#include "api/api.h"
#include "report/report.h"

/* Frees the text. */
static enum oa_error write_report_file(oa_context *c, const char *folder, const char *name,
                                       struct oa_text *text)
{
    char path[OA_PATH];
    enum oa_error e = oa_status(c);
    if (e == OA_OK)
        e = oa_path(c, path, folder, name);
    if (e == OA_OK)
        e = oa_file_write(c, path, text->s, text->length);
    oa_text_free(text);
    return e;
}

static enum oa_error write_reports(oa_context *c, const char *folder, const struct oa_comparison *k,
                                   const struct oa_summary *s)
{
    struct oa_text text;
    oa_text_init(&text, c);
    oa_report_json(k, s, &text);
    OA_TRY(write_report_file(c, folder, "results.json", &text));
    oa_report_html(k, s, &text);
    OA_TRY(write_report_file(c, folder, "report.html", &text));
    oa_report_svg(k, s, &text);
    OA_TRY(write_report_file(c, folder, "report.svg", &text));
    oa_report_markdown(k, s, &text);
    return write_report_file(c, folder, "report.md", &text);
}

static enum oa_error print_report(oa_context *c, const char *folder, const struct oa_comparison *k,
                                  const struct oa_summary *s, const struct oa_output *out)
{
    struct oa_text text;
    oa_text_init(&text, c);
    if (oa_wants_json(out)) {
        oa_report_json(k, s, &text);
    } else if (oa_wants_text(out)) {
        oa_report_table(k, s, out->width, &text);
        if (folder) {
            oa_text_printf(&text, "\nreport   ");
            oa_name_add(&text, folder);
            oa_text_printf(&text, "/report.html\nresults  ");
            oa_name_add(&text, folder);
            oa_text_printf(&text, "/results.json\n");
        }
    }
    return oa_emit(out, &text);
}

/* A comparison in which every attention had failures has failed, whatever its report looks like. */
static enum oa_error check_judged(oa_context *c, const struct oa_comparison *k,
                                  const struct oa_summary *s)
{
    const struct oa_entry *first = &k->entries[0];
    const struct oa_run *example = first->runs;
    int failed = 0, made = 0;
    if (s->reference >= 0)
        return OA_OK;
    for (int i = 0; i < k->count; i++)
        for (int seed = 0; seed < k->seeds; seed++) {
            failed += k->entries[i].runs[seed].failed;
            made += !k->entries[i].runs[seed].absent;
        }
    while (!example->failed)
        example++;
    return oa_fail(c, OA_DIVERGED, "no %s can be judged: %d of %d runs %s; %s, seed %llu: %s",
                   oa_entry_kind(k), failed, made, k->imported ? "failed" : "diverged",
                   first->attention, (unsigned long long)example->seed, example->failure);
}

enum oa_error oa_report_comparison(oa_context *c, const char *folder, const struct oa_comparison *k,
                                   const struct oa_output *out)
{
    struct oa_summary s;
    OA_TRY(oa_summary_make(c, k, &s));
    enum oa_error e = folder ? write_reports(c, folder, k, &s) : OA_OK;
    if (e == OA_OK)
        e = print_report(c, folder, k, &s, out);
    if (e == OA_OK)
        e = check_judged(c, k, &s);
    oa_summary_free(&s);
    return e;
}
