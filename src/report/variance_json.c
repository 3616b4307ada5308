/* SPDX-License-Identifier: Apache-2.0
 * "vary" of results.json: the scores of the runs in which one source varied alone, and the
 * variances estimated from them. */
#include "base/json_read.h"
#include "base/json_write.h"
#include "report/results.h"
#include "report/variance.h"

static json_t *spread_json(const struct oa_spread *s)
{
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "n", s->n, "variance",
                     oa_json_number(s->variance), "sd", oa_json_number(s->sd), "low",
                     oa_json_number(s->low), "high", oa_json_number(s->high), "share",
                     oa_json_number(s->share));
}

static json_t *variances_json(const struct oa_vary *v, const struct oa_variances *x)
{
    json_t *object = json_object();
    for (int s = 0; s < OA_CHANCES; s++)
        if (v->varied[s] || v->idle[s])
            json_object_set_new(object, oa_chance_name(s), spread_json(&x->source[s]));
    json_object_set_new(object, "together", spread_json(&x->together));
    json_object_set_new(object, "sum", oa_json_number(x->sum));
    json_object_set_new(object, "ratio", oa_json_number(x->ratio));
    return object;
}

static json_t *varied_scores_json(const struct oa_vary *v, int entry)
{
    json_t *object = json_object();
    for (int s = 0; s < OA_CHANCES; s++) {
        json_t *scores = json_array();
        for (int i = 0; v->varied[s] && i < v->values; i++)
            json_array_append_new(scores, oa_json_number(oa_varied_of(v, entry, s)[i].score));
        if (v->varied[s])
            json_object_set_new(object, oa_chance_name(s), scores);
        else
            json_decref(scores);
    }
    return object;
}

static json_t *names_json(const bool which[OA_CHANCES])
{
    json_t *names = json_array();
    for (int s = 0; s < OA_CHANCES; s++)
        if (which[s])
            json_array_append_new(names, json_string(oa_chance_name(s)));
    return names;
}

static json_t *seeds_json(const struct oa_vary *v)
{
    json_t *object = json_object();
    for (int s = 0; s < OA_CHANCES; s++) {
        if (!v->varied[s])
            continue;
        json_t *seeds = json_array();
        for (int i = 0; i < v->values; i++)
            json_array_append_new(seeds, json_integer((json_int_t)oa_varied_of(v, 0, s)[i].seed));
        json_object_set_new(object, oa_chance_name(s), seeds);
    }
    return object;
}

json_t *oa_variances_json(const struct oa_comparison *k)
{
    const struct oa_vary *v = &k->vary;
    struct oa_variances x;
    if (!v->values)
        return json_null();
    json_t *entries = json_array();
    for (int i = 0; i < k->count; i++)
        json_array_append_new(
            entries, oa_variances_of(k, i, &x)
                         ? json_pack("{s:o, s:o}", k->metric ? "scores" : "losses",
                                     varied_scores_json(v, i), "statistics", variances_json(v, &x))
                         : json_null());
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "values", v->values, "sources",
                     names_json(v->varied), "idle", names_json(v->idle), "seeds", seeds_json(v),
                     "entries", entries, "pooled",
                     oa_variances_pooled(k, &x) ? variances_json(v, &x) : json_null());
}
