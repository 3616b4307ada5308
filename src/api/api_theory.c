/* SPDX-License-Identifier: Apache-2.0
 * theory: the propositions on frozen orthogonal projections, one by one. */
#include "api/api.h"
#include "theory/theory.h"

static enum oa_error write_theory_page(oa_context *c, const struct oa_theory_results *t,
                                       const char *path)
{
    struct oa_text page;
    oa_text_init(&page, c);
    oa_theory_html(t, &page);
    enum oa_error e = oa_status(c);
    if (e == OA_OK)
        e = oa_file_write(c, path, page.s, page.length);
    oa_text_free(&page);
    return e;
}

enum oa_error oa_theory(const oa_config *config, const char *page, const struct oa_output *out)
{
    oa_context *c = config->context;
    struct oa_theory_results t;
    struct oa_text text;
    OA_TRY(oa_status(c));
    if (page)
        OA_TRY(oa_file_check(c, page));
    enum oa_error e =
        oa_theory_measure(c, config->options.model_width, config->options.model_heads, &t);
    if (e == OA_OK && page)
        e = write_theory_page(c, &t, page);
    oa_text_init(&text, c);
    if (e == OA_OK && oa_wants_json(out))
        oa_theory_json(&t, &text);
    else if (e == OA_OK)
        oa_theory_table(&t, out ? out->width : 0, &text);
    if (e == OA_OK && page && !oa_wants_json(out))
        oa_text_printf(&text, "\npage     %s\n", page);
    oa_theory_free(&t);
    return oa_emit(out, &text);
}
