/* SPDX-License-Identifier: Apache-2.0
 * "vary" of results.json, back into a comparison. */
#include "compare/comparison.h"
#include "results_reader.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static enum oa_error refuse(oa_context *c, const char *what)
{
    return oa_fail(c, OA_FORMAT, "results: vary.%s is not what a comparison writes there", what);
}

static enum oa_error read_names(oa_context *c, const json_t *vary, const char *key,
                                bool which[OA_CHANCES])
{
    const json_t *names = json_object_get(vary, key);
    if (!json_is_array(names))
        return refuse(c, key);
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        int s = 0;
        while (s < OA_CHANCES && (!name || strcmp(name, oa_chance_name(s)) != 0))
            s++;
        if (s == OA_CHANCES)
            return refuse(c, key);
        which[s] = true;
    }
    return OA_OK;
}

static enum oa_error read_runs(oa_context *c, const json_t *seeds, const json_t *scores, int entry,
                               enum oa_chance s, struct oa_vary *v)
{
    const json_t *seed = json_object_get(seeds, oa_chance_name(s)),
                 *score = json_object_get(scores, oa_chance_name(s));
    if (json_array_size(seed) != (size_t)v->values || json_array_size(score) != (size_t)v->values)
        return refuse(c, oa_chance_name(s));
    for (int i = 0; i < v->values; i++) {
        const json_t *x = json_array_get(score, (size_t)i), *n = json_array_get(seed, (size_t)i);
        if (!json_is_integer(n) || (!json_is_number(x) && !json_is_null(x)))
            return refuse(c, oa_chance_name(s));
        oa_varied_of(v, entry, s)[i] =
            (struct oa_varied){ (uint64_t)json_integer_value(n),
                                json_is_null(x) ? (double)NAN : json_number_value(x) };
    }
    return OA_OK;
}

static enum oa_error read_entry(oa_context *c, const json_t *vary, int entry,
                                struct oa_comparison *k)
{
    const json_t *scores =
        json_object_get(json_array_get(json_object_get(vary, "entries"), (size_t)entry),
                        k->metric ? "scores" : "losses");
    if (k->entries[entry].uniform)
        return OA_OK;
    for (int s = 0; s < OA_CHANCES; s++)
        if (k->vary.varied[s])
            OA_TRY(read_runs(c, json_object_get(vary, "seeds"), scores, entry, s, &k->vary));
    return OA_OK;
}

/* Files from before sources were varied have none. */
enum oa_error oa_variances_read(oa_context *c, const json_t *root, struct oa_comparison *k)
{
    const json_t *vary = json_object_get(root, "vary");
    struct oa_vary *v = &k->vary;
    if (!vary || json_is_null(vary))
        return OA_OK;
    json_int_t values = json_integer_value(json_object_get(vary, "values"));
    if (values < 2 || values > 1000)
        return refuse(c, "values");
    v->values = (int)values;
    OA_TRY(read_names(c, vary, "sources", v->varied));
    OA_TRY(read_names(c, vary, "idle", v->idle));
    v->runs = oa_alloc(c, ((size_t)k->count * OA_CHANCES * (size_t)values + 1) * sizeof *v->runs);
    for (int i = 0; v->runs && i < k->count; i++)
        OA_TRY(read_entry(c, vary, i, k));
    return oa_status(c);
}
