/* SPDX-License-Identifier: Apache-2.0
 * What a comparison says below its table about attention dropout, an option that not every
 * attention has a use for. */
#include "attention/attention.h"
#include "report/report.h"

#include <jansson.h>

static double attention_dropout(const struct oa_comparison *k)
{
    json_t *options = k->options_json ? json_loads(k->options_json, 0, NULL) : NULL;
    double dropout =
        json_number_value(json_object_get(json_object_get(options, "model"), "attention_dropout"));
    json_decref(options);
    return dropout;
}

void oa_report_dropout(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out)
{
    double dropout = attention_dropout(k);
    for (int i = 0; i < s->count && dropout > 0; i++) {
        struct oa_spec spec;
        enum oa_error e = oa_spec_parse(out->context, k->entries[s->order[i]].attention, &spec);
        if (e == OA_OK)
            oa_spec_dropout_notes(&spec, dropout, out);
        else if (e != OA_NO_MEMORY)
            oa_clear_error(
                out->context); /* results of another version may have what this one cannot read */
        oa_spec_free(&spec);
    }
}
