/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts of a claim other than its predictions: what was published, what is asked, where it
 * comes from. It decides no number, so that a slip of the pen may be mended; but a published number
 * that is rewritten when the runs are known is another claim. So the texts are declared with the
 * rest, and it is said which of them are not as they were.
 */
#include "base/yaml_section.h"
#include "evidence/reading.h"

#include <string.h>

/* Without the lines that the texts stood in. */
static json_t *plain(const json_t *node)
{
    if (oa_claim_scalar(node))
        return json_string(oa_claim_scalar(node));
    json_t *out = json_is_array(node) ? json_array() : json_object(), *value;
    const char *key;
    for (size_t i = 0; i < json_array_size(node); i++)
        json_array_append_new(out, plain(json_array_get(node, i)));
    json_object_foreach((json_t *)(uintptr_t)node, key, value)
    {
        json_object_set_new(out, key, plain(value));
    }
    return out;
}

/* Places on the axis of the chart; the options of the variants are declared as such. */
static json_t *places(const json_t *variants)
{
    json_t *out = json_object();
    for (size_t i = 0; i < json_array_size(variants); i++) {
        const json_t *v = json_array_get(variants, i);
        const char *at = oa_claim_scalar(json_object_get(v, "at"));
        if (at)
            json_object_set_new(out, oa_claim_scalar(json_object_get(v, "name")), json_string(at));
    }
    return out;
}

json_t *oa_claim_texts(const struct oa_experiment *e)
{
    json_t *out = plain(e->claim);
    json_object_del(out, "predicts");
    json_object_del(out, "variants");
    json_object_set_new(out, "at", places(json_object_get(e->claim, "variants")));
    return out;
}

static void add_differences(json_t *keys, const json_t *before, const json_t *now, bool absent,
                            json_t *out)
{
    const char *key;
    json_t *value;
    json_object_foreach(keys, key, value)
    {
        const json_t *was = json_object_get(before, key), *is = json_object_get(now, key);
        if (absent ? was && !is : !json_equal(was, is))
            json_array_append_new(out, json_string(key));
    }
}

json_t *oa_claim_changed(json_t *before, json_t *now)
{
    json_t *out = json_array();
    if (!before) /* older versions did not declare them */
        return out;
    add_differences(now, before, now, false, out);
    add_differences(before, before, now, true, out);
    return out;
}
