/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts of a claim other than its predictions: what was published, the question, the source.
 * They decide no number, so a typing error may be corrected; but a published number that is
 * rewritten after the runs makes another claim. So the texts are declared with the rest, and the
 * page names those that have changed. An answer is written after the runs, and the order on the
 * page is no claim: both are left out.
 */
#include "base/yaml_section.h"
#include "evidence/reading.h"

#include <string.h>

/* Without line numbers. */
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

json_t *oa_claim_texts(const struct oa_experiment *e)
{
    json_t *out = plain(e->claim), *at = json_object(), *variant;
    size_t i;
    /* values on the axis; the options of the variants are declared as such */
    json_array_foreach(json_object_get(e->claim, "variants"), i, variant)
    {
        const char *value = oa_claim_scalar(json_object_get(variant, "at"));
        if (value)
            json_object_set_new(at, oa_claim_scalar(json_object_get(variant, "name")),
                                json_string(value));
    }
    json_object_del(out, "predicts");
    json_object_del(out, "variants");
    json_object_del(out, "answer");
    json_object_del(out, "order");
    json_object_set_new(out, "at", at);
    return out;
}

json_t *oa_claim_changed(json_t *before, json_t *now)
{
    json_t *out = json_array(), *value;
    const char *key;
    if (!before) /* older versions did not declare them */
        return out;
    json_object_foreach(now, key, value)
    {
        if (!json_equal(json_object_get(before, key), value))
            json_array_append_new(out, json_string(key));
    }
    json_object_foreach(before, key, value)
    {
        if (!json_object_get(now, key))
            json_array_append_new(out, json_string(key));
    }
    return out;
}
