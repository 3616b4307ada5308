/* SPDX-License-Identifier: Apache-2.0
 * compare: a contest, its statistics, and its report in three forms. */
#include "api/api.h"
#include "report/report.h"

static enum oa_error write_file(oa_context *c, const char *folder, const char *name, struct oa_text *text)
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

static enum oa_error write_reports(oa_context *c, const char *folder, const struct oa_contest *k,
                                   const struct oa_summary *s)
{
    struct oa_text text;
    oa_text_init(&text, c);
    oa_report_json(k, s, &text);
    OA_TRY(write_file(c, folder, "results.json", &text));
    oa_report_html(k, s, &text);
    OA_TRY(write_file(c, folder, "report.html", &text));
    oa_report_markdown(k, s, &text);
    return write_file(c, folder, "report.md", &text);
}

static enum oa_error print(oa_context *c, const char *folder, const struct oa_contest *k, const struct oa_summary *s,
                           const struct oa_output *out)
{
    struct oa_text text;
    oa_text_init(&text, c);
    if (oa_wants_json(out)) {
        oa_report_json(k, s, &text);
    } else if (oa_wants_text(out)) {
        oa_report_table(k, s, out->width, &text);
        oa_text_printf(&text, "\nreport   %s/report.html\nresults  %s/results.json\n", folder, folder);
    }
    return oa_emit(out, &text);
}

static enum oa_error report(oa_context *c, const char *folder, const struct oa_contest *k, const struct oa_output *out)
{
    struct oa_summary s;
    OA_TRY(oa_summary_make(c, k, &s));
    enum oa_error e = write_reports(c, folder, k, &s);
    if (e == OA_OK)
        e = print(c, folder, k, &s, out);
    oa_summary_free(&s);
    return e;
}

enum oa_error oa_compare(const oa_config *config, const char *const *attentions, int count, const char *folder,
                         const struct oa_output *out)
{
    oa_context *c = config->context;
    struct oa_contest_request request = {
        .options = &config->options, .attentions = attentions, .count = count, .folder = folder
    };
    struct oa_contest contest;
    OA_TRY(oa_status(c));
    enum oa_error e = oa_contest_run(c, &request, &contest);
    if (e == OA_OK)
        e = report(c, folder, &contest, out);
    oa_contest_free(&contest);
    return e;
}
