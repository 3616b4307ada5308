/* SPDX-License-Identifier: Apache-2.0
 * Relative position biases: added to the logits by distance.
 *
 *     alibi   S_ij − m_h |i − j|                   Press, Smith, Lewis, ICLR 2022, arXiv 2108.12409
 *     t5      S_ij + b_h[bucket(j − i)], trained   Raffel et al., JMLR 2020, arXiv 1910.10683
 *
 * The device makes a table by distance of slopes and buckets (device/cpu/cpu_relative.c). H is the
 * number of heads of the group, not of the layer: slopes spread over the heads that have them.
 *
 * Shapes: relative.bias [H, buckets] per layer and group; with share=layers, as in T5, that of
 * layer 0 for all. */
#include "attention/mechanism.h"

#include <math.h>
#include <string.h>

static bool relative_is_t5(const struct oa_atom *a)
{
    return oa_atom_is(a, "relative", "t5");
}

static bool relative_is_on(const struct oa_atom *a)
{
    return relative_is_t5(a) || oa_atom_is(a, "relative", "alibi");
}

bool oa_relative_clash(const struct oa_atom *a, char *sentence, size_t size)
{
    bool numbers = oa_atom_value(a, "buckets")->given || oa_atom_value(a, "distance")->given;
    if (relative_is_t5(a) || !numbers)
        return false;
    snprintf(sentence, size, "buckets and distance belong to relative=t5.");
    return true;
}

bool oa_relative_mode_clash(const struct oa_atom *a, bool causal, bool cross, char *sentence,
                            size_t size)
{
    long buckets = oa_atom_int(a, "buckets", 0), distance = oa_atom_int(a, "distance", 0);
    long exact = (causal ? buckets : buckets / 2) / 2;
    if (cross && relative_is_on(a))
        snprintf(sentence, size,
                 "%s: relative positions are for self-attention only: positions in two sequences "
                 "have no distance; remove relative",
                 a->mechanism->name);
    else if (relative_is_t5(a) && !causal && buckets % 2)
        snprintf(sentence, size,
                 "%s: buckets=%ld must be even: half of the buckets are for keys after a token; "
                 "use %ld or %ld",
                 a->mechanism->name, buckets, buckets - 1, buckets + 1);
    else if (relative_is_t5(a) && distance <= exact)
        snprintf(sentence, size,
                 "%s: distance=%ld: the first %ld of %ld buckets have one distance each, 0 to %ld, "
                 "the others those beyond; use a distance of at least %ld, or fewer buckets",
                 a->mechanism->name, distance, exact, buckets, exact - 1, exact + 1);
    else
        return false;
    return true;
}

/* ---- description ---- */

static const struct oa_option_description relative_texts[] = {
    [OA_RELATIVE_ALIBI] = { "alibi",
                            "− m_h |i − j| is added to the logits;  m_h = 2^(−8h/H) for h = 1 … H "
                            "where H, the heads of the group, is a power of two; else those of the "
                            "power of two below, P, then every second one of 2P",
                            "one addition a pair, no parameters",
                            "Press, Smith, Lewis 2022 (ICLR), arXiv 2108.12409" },
    [OA_RELATIVE_T5] = { "t5",
                         "b_h[bucket(j − i)] is added to the logits, relative.bias [H, buckets] "
                         "trained;  half of the buckets are for j > i, but in a causal stack all "
                         "for j ≤ i;  of the B on a side the first B/2 hold one distance each, the "
                         "others ever more, in equal steps of its logarithm up to `distance`",
                         "one addition a pair, H·buckets parameters",
                         "Raffel et al. 2020 (JMLR), arXiv 1910.10683" },
};

const struct oa_option_description *oa_relative_text(const struct oa_atom *a)
{
    int kind = (int)oa_atom_value(a, "relative")->number;
    return kind > OA_RELATIVE_NONE ? &relative_texts[kind] : NULL;
}

/* ---- the bias ---- */

/* The prefix with layer number 0: the name of shared biases. */
static void name_first_layer(const char *prefix, char *out, size_t size)
{
    const char *word = "layers.", *at = strstr(prefix, word);
    if (!at) {
        snprintf(out, size, "%s", prefix);
        return;
    }
    size_t before = (size_t)(at - prefix) + strlen(word);
    snprintf(out, size, "%.*s0%s", (int)before, prefix,
             prefix + before + strspn(prefix + before, "0123456789"));
}

static enum oa_error check_shared(const struct oa_group *g, const char *prefix,
                                  const struct oa_parameter *p)
{
    char name[sizeof p->name];
    snprintf(name, sizeof name, "%srelative.bias", prefix);
    const struct oa_parameter *first = oa_store_find(g->store, name);
    if (!first || (first->dim[0] == p->dim[0] && first->dim[1] == p->dim[1]))
        return OA_OK;
    return oa_fail(
        g->context, OA_SHAPE,
        "share=layers: relative.bias of layer %d would be [%ld, %ld], but the shared one is [%ld, "
        "%ld]; use the same heads and buckets in all layers, or remove share",
        g->layer, p->dim[0], p->dim[1], first->dim[0], first->dim[1]);
}

/* Initial standard deviation 1/√D, as in T5's code. */
enum oa_error oa_relative_parameters(struct oa_group *g)
{
    struct oa_parameter p = { .dims = 2,
                              .dim = { g->shape.heads, oa_atom_int(g->atom, "buckets", 0) },
                              .trainable = true,
                              .init = OA_INIT_NORMAL,
                              .scale = 1 / sqrt((double)g->shape.width) };
    struct oa_group named = *g;
    if (!relative_is_t5(g->atom))
        return OA_OK;
    if (oa_atom_is(g->atom, "share", "layers"))
        name_first_layer(g->prefix, named.prefix, sizeof named.prefix);
    OA_TRY(check_shared(g, named.prefix, &p));
    g->relative = oa_group_parameter(&named, "relative.bias", &p);
    return oa_status(g->context);
}

struct oa_relative_bias oa_group_relative(const struct oa_group *g)
{
    struct oa_relative_bias r = { .bias = g->relative };
    if (relative_is_on(g->atom))
        r.kind = relative_is_t5(g->atom) ? OA_RELATIVE_T5 : OA_RELATIVE_ALIBI;
    r.buckets = oa_atom_int(g->atom, "buckets", 0);
    r.distance = oa_atom_int(g->atom, "distance", 0);
    return r;
}

/* ---- oracle, by the definitions and without code of the device ---- */

/* The slopes of a power of two are a geometric sequence that starts at its own ratio. */
static double power_slope(long head, long power)
{
    double ratio = pow(2, -8.0 / (double)power), m = ratio;
    for (; head > 0; head--)
        m *= ratio;
    return m;
}

/* Bucket `exact` + k starts at exact·(far/exact)^(k/(count − exact)). */
static long relative_bucket(long t, long count, long far)
{
    long exact = count / 2, b = exact;
    if (t < exact)
        return t;
    while (b + 1 < count &&
           (double)t >= (double)exact *
                            pow((double)far / (double)exact,
                                (double)(b + 1 - exact) / (double)(count - exact)) *
                            (1 - 1e-12))
        b++;
    return b;
}

double oa_relative_score(const struct oa_group *g, long head, long i, long j)
{
    if (!relative_is_on(g->atom))
        return 0;
    long distance = i > j ? i - j : j - i;
    if (!relative_is_t5(g->atom)) {
        long power = (long)pow(2, floor(log2((double)g->shape.heads)));
        return -(double)distance * (head < power ? power_slope(head, power)
                                                 : power_slope(2 * (head - power), 2 * power));
    }
    long all = oa_atom_int(g->atom, "buckets", 0), far = oa_atom_int(g->atom, "distance", 0);
    long count = g->shape.causal ? all : all / 2, b = relative_bucket(distance, count, far);
    if (j > i)
        b = g->shape.causal ? 0 : count + b;
    return oa_parameter_at(g, g->relative, head * all + b);
}
