/* SPDX-License-Identifier: Apache-2.0
 * import and export: a model of another program as a run, a run as one of another program. */
#include "api/api.h"
#include "families/families.h"

#include <string.h>

/* The options of a section ("model.") that differ from their defaults, "layers=2, width=40". */
static void add_changed_options(const struct oa_options *o, const char *section,
                                struct oa_text *out)
{
    size_t n = strlen(section);
    struct oa_options defaults;
    const struct oa_option_row *option;
    int named = 0;
    oa_options_default(&defaults);
    for (int i = 0; (option = oa_option_at(i)); i++) {
        struct oa_option_pair value;
        oa_option_pair_open(out->context, o, &defaults, option->key, &value);
        if (strncmp(option->key, section, n) == 0 && value.differ)
            oa_text_printf(out, "%s%s=%s", named++ ? ", " : "", option->key + n, value.a);
        oa_option_pair_close(&value);
    }
}

static enum oa_error report_import(oa_context *c, const char *folder, const char *out,
                                   const struct oa_imported *i, const struct oa_output *output)
{
    struct oa_text text, decoding;
    oa_text_init(&text, c);
    if (oa_wants_json(output)) {
        json_t *root = json_pack("{s:o, s:o, s:s, s:s, s:b}", "model", oa_json_name(c, folder),
                                 "run", oa_json_name(c, out), "type", i->family->type, "attention",
                                 i->options.model_attention, "tokenizer", i->tokenizer);
        oa_json_set(c, root, "parameters", json_integer((json_int_t)i->parameters));
        oa_json_add(&text, root);
        return oa_emit(output, &text);
    }
    oa_text_printf(&text, "run         ");
    oa_name_add(&text, out);
    oa_text_printf(&text, "\nfamily      %s, %.0f parameters\nmodel       ", i->family->type,
                   i->parameters);
    add_changed_options(&i->options, "model.", &text);
    oa_text_init(&decoding, c);
    add_changed_options(&i->options, "decode.", &decoding);
    if (decoding.length)
        oa_text_printf(&text, "\ndecoding    %s", decoding.s);
    oa_text_free(&decoding);
    oa_text_printf(&text, "\n%s",
                   i->tokenizer ? ""
                                : "tokenizer   none: there is no tokenizer.json; the model "
                                  "reads and writes token ids\n");
    return oa_emit(output, &text);
}

enum oa_error oa_import(oa_context *c, const char *folder, const char *out, const char *precision,
                        const struct oa_output *output)
{
    struct oa_imported imported;
    OA_TRY(oa_status(c));
    OA_TRY(oa_import_model(c, folder, out, precision, &imported));
    return report_import(c, folder, out, &imported, output);
}

enum oa_error oa_export(oa_context *c, const char *run, const char *out,
                        const struct oa_output *output)
{
    struct oa_trained t;
    struct oa_exported exported;
    struct oa_text text;
    OA_TRY(oa_status(c));
    oa_text_init(&text, c);
    /* In f64, as some tensors are calculated: what was imported is then exported bit for bit. */
    enum oa_error e = oa_trained_open_in(c, run, OA_PRECISION_F64, &t);
    if (e == OA_OK)
        e = oa_export_model(t.model, t.tokenizer, run, out, &exported);
    if (e == OA_OK && oa_wants_json(output)) {
        oa_json_add(&text, json_pack("{s:o, s:o, s:s}", "run", oa_json_name(c, run), "model",
                                     oa_json_name(c, out), "type", exported.family->type));
    } else if (e == OA_OK) {
        oa_text_printf(&text, "model       ");
        oa_name_add(&text, out);
        oa_text_printf(&text, "\nfamily      %s (%s)\n", exported.family->type, exported.class);
        if (exported.why[0])
            oa_text_printf(&text, "its own     modeling_orthant.py: %s\n", exported.why);
    }
    oa_trained_close(&t);
    if (e == OA_OK)
        return oa_emit(output, &text);
    oa_text_free(&text);
    return e;
}
