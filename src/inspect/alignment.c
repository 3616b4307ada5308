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

static void average_heads(const double *map, long heads, struct oa_alignment *out)
{
    long count = out->targets * out->sources;
    for (long i = 0; i < count; i++) {
        out->weight[i] = 0;
        for (long h = 0; h < heads; h++)
            out->weight[i] += map[h * count + i] / (double)heads;
    }
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
    if (e == OA_OK)
        average_heads(map, heads, out);
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

/* Adds up the weights of a target word with each word of the source. */
static void sum_word_weights(const struct oa_alignment *a, const int32_t *target_word,
                             const int32_t *source_word, int32_t word, double *sum)
{
    for (long t = 0; t < a->targets; t++)
        for (long s = 0; target_word[t] == word && s < a->sources; s++)
            if (source_word[s] >= 0)
                sum[source_word[s]] += a->weight[t * a->sources + s];
}

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
    for (long w = 0; w < words; w++) {
        sum_word_weights(a, target_word, source_word, (int32_t)w, sum);
        link[w] = heaviest(sum, a->sources);
    }
    oa_free(sum);
    return OA_OK;
}
