/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect/alignment.h"

/* ---- weights of tokens ---- */

/* Views come in the order in which layers ran. */
static const struct oa_layer_view *last_but_one(const struct oa_inspection *what)
{
    const struct oa_layer_view *last = NULL, *before = NULL;
    for (int i = 0; i < what->layers; i++) {
        if (!what->layer[i].layer->shape.cross)
            continue;
        before = last;
        last = &what->layer[i];
    }
    return before ? before : last;
}

static enum oa_error check_alignment_layer(oa_context *c, const struct oa_layer_view *v)
{
    const struct oa_group *g = v ? oa_layer_without_map(v->layer) : NULL;
    if (!v)
        return oa_fail(c, OA_ARGUMENT, "an alignment needs cross-attention, which the model lacks");
    if (!g)
        return OA_OK;
    return oa_fail(c, OA_UNSUPPORTED,
                   "an alignment needs the map of cross-attention, and %s has none",
                   g->mechanism->name);
}

static enum oa_error weigh_alignment(oa_context *c, const struct oa_layer_view *v,
                                     struct oa_alignment *out)
{
    OA_TRY(check_alignment_layer(c, v));
    long heads = v->layer->shape.heads;
    *out = (struct oa_alignment){ .context = c, .targets = v->in.queries, .sources = v->in.keys };
    size_t count = (size_t)(out->targets * out->sources);
    double *map = oa_alloc(c, (size_t)heads * count * sizeof *map);
    out->weight = oa_alloc(c, count * sizeof *out->weight);
    enum oa_error e = map && out->weight ? oa_layer_weights(v->layer, &v->in, map) : OA_NO_MEMORY;
    for (long i = 0, n = out->targets * out->sources; e == OA_OK && i < n; i++) {
        out->weight[i] = 0;
        for (long h = 0; h < heads; h++)
            out->weight[i] += map[h * n + i] / (double)heads;
    }
    oa_free(map);
    return e;
}

enum oa_error oa_alignment_open(oa_tape *t, struct oa_model *m, const struct oa_sequences *target,
                                const struct oa_sequences *source, struct oa_alignment *out)
{
    struct oa_inspection what;
    *out = (struct oa_alignment){ .context = m->context };
    enum oa_error e = oa_watch_model(t, m, target, source, &what);
    if (e == OA_OK)
        e = weigh_alignment(m->context, last_but_one(&what), out);
    oa_inspection_close(&what);
    return e;
}

void oa_alignment_close(struct oa_alignment *a)
{
    oa_free(a->weight);
    *a = (struct oa_alignment){ 0 };
}

/* ---- links of words ---- */

static int32_t heaviest(double *sum, long count)
{
    int32_t best = -1;
    double most = 0;
    for (long i = 0; i < count; i++) {
        if (sum[i] > most) {
            most = sum[i];
            best = (int32_t)i;
        }
        sum[i] = 0;
    }
    return best;
}

enum oa_error oa_alignment_link(const struct oa_alignment *a, const int32_t *target_word,
                                const int32_t *source_word, long words, int32_t *link)
{
    double *sum = oa_alloc(a->context, ((size_t)a->sources + 1) * sizeof *sum);
    if (!sum)
        return OA_NO_MEMORY;
    for (long w = 0; w < words; w++) { /* the weights of word w with each word of the source */
        for (long t = 0; t < a->targets; t++)
            for (long s = 0; target_word[t] == (int32_t)w && s < a->sources; s++)
                if (source_word[s] >= 0)
                    sum[source_word[s]] += a->weight[t * a->sources + s];
        link[w] = heaviest(sum, a->sources);
    }
    oa_free(sum);
    return OA_OK;
}
