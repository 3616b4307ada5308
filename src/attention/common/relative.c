/* SPDX-License-Identifier: Apache-2.0
 *
 * Relative positions: what the distance of a key adds to its logit, whatever the mechanism and its
 * support.
 *
 *     alibi   S_ij − m_h |i − j|                   Press, Smith, Lewis, ICLR 2022, arXiv 2108.12409
 *     t5      S_ij + b_h[bucket(j − i)], trained   Raffel et al., JMLR 2020, arXiv 1910.10683
 *
 * Slopes and buckets: device/cpu/cpu_relative.c, which makes a table by distance of them. H is the
 * number of heads of the group: the slopes are made to spread over the heads that have them, from a
 * reach of a few tokens to one of hundreds, and other heads of the layer, which look elsewhere,
 * take no part in that.
 *
 * Shapes: relative.bias [H, buckets], one a layer (and group); with share=layers, as in T5, layer 0
 * has it for all.
 */
#include "attention/attention.h"

#include <math.h>
#include <string.h>

static bool is_t5(const struct oa_atom *a)
{
    return oa_atom_is(a, "relative", "t5");
}

static bool is_relative(const struct oa_atom *a)
{
    return is_t5(a) || oa_atom_is(a, "relative", "alibi");
}

bool oa_relative_clash(const struct oa_atom *a, char *sentence, size_t size)
{
    bool numbers = oa_atom_value(a, "buckets")->given || oa_atom_value(a, "distance")->given;
    if (is_t5(a) || !numbers)
        return false;
    snprintf(sentence, size, "buckets and distance belong to relative=t5.");
    return true;
}

bool oa_relative_mode_clash(const struct oa_atom *a, bool causal, bool cross, char *sentence,
                            size_t size)
{
    long buckets = oa_atom_int(a, "buckets", 0), distance = oa_atom_int(a, "distance", 0);
    long exact = (causal ? buckets : buckets / 2) / 2;
    if (cross && is_relative(a))
        snprintf(sentence, size,
                 "%s: relative positions are for self-attention only: in cross-attention queries "
                 "and keys are places in "
                 "two sequences, which have no distance; leave relative out",
                 a->mechanism->name);
    else if (is_t5(a) && !causal && buckets % 2)
        snprintf(sentence, size,
                 "%s: buckets=%ld: half of the buckets are for the keys behind a token where it "
                 "sees both sides, so their "
                 "number must be even; take %ld or %ld",
                 a->mechanism->name, buckets, buckets - 1, buckets + 1);
    else if (is_t5(a) && distance <= exact)
        snprintf(sentence, size,
                 "%s: distance=%ld: the first %ld of %ld buckets hold one distance each, 0 to %ld, "
                 "and the others what is "
                 "beyond; take a distance of at least %ld, or fewer buckets",
                 a->mechanism->name, distance, exact, buckets, exact - 1, exact + 1);
    else
        return false;
    return true;
}

/* ---- in words ---- */

static const struct oa_relative_text words[] = {
    [OA_RELATIVE_ALIBI] = { "alibi",
                            "− m_h |i − j| is added to the logits;  m_h = 2^(−8h/H) for h = 1 … H "
                            "where H, the heads "
                            "of "
                            "the group, is a power of two; else those of the power of two below, "
                            "P, then every second "
                            "one of 2P",
                            "one addition a pair, no parameters",
                            "Press, Smith, Lewis 2022 (ICLR), arXiv 2108.12409" },
    [OA_RELATIVE_T5] = { "t5",
                         "b_h[bucket(j − i)] is added to the logits, relative.bias [H, buckets] "
                         "trained;  half of the "
                         "buckets are for j > i, but in a causal stack all for j ≤ i;  of the B on "
                         "a side the first "
                         "B/2 "
                         "hold one distance each, the others ever more, in equal steps of its "
                         "logarithm up to "
                         "`distance`",
                         "one addition a pair, H·buckets parameters",
                         "Raffel et al. 2020 (JMLR), arXiv 1910.10683" },
};

const struct oa_relative_text *oa_relative_text(const struct oa_atom *a)
{
    int kind = (int)oa_atom_value(a, "relative")->number;
    return kind > OA_RELATIVE_NONE ? &words[kind] : NULL;
}

/* ---- the bias ---- */

/* "decoder.layers.3.attention.", as layer 0 has it: where layers share. */
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
    return oa_fail(g->context, OA_SHAPE,
                   "share=layers: relative.bias of layer %d would be [%ld, %ld], and the layers "
                   "share one of [%ld, %ld]; "
                   "give all of them the same heads and buckets, or leave share out",
                   g->layer, p->dim[0], p->dim[1], first->dim[0], first->dim[1]);
}

/* Begins as in T5's code, with the deviation of an embedding of the width: 1/√D. */
enum oa_error oa_relative_parameters(struct oa_group *g)
{
    struct oa_parameter p = { .dims = 2,
                              .dim = { g->shape.heads, oa_atom_int(g->atom, "buckets", 0) },
                              .trainable = true,
                              .init = OA_INIT_NORMAL,
                              .scale = 1 / sqrt((double)g->shape.width) };
    struct oa_group named = *g;
    if (!is_t5(g->atom))
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
    if (is_relative(g->atom))
        r.kind = is_t5(g->atom) ? OA_RELATIVE_T5 : OA_RELATIVE_ALIBI;
    r.buckets = oa_atom_int(g->atom, "buckets", 0);
    r.distance = oa_atom_int(g->atom, "distance", 0);
    return r;
}

/* ---- oracle
 * ---------------------------------------------------------------------------------------------------------
 * By the definitions and none of the device's code: slopes from a list, buckets by counting where
 * they begin.
 */

/* The slopes of a power of two are a geometric sequence that starts at its own ratio. */
static double power_slope(long head, long power)
{
    double ratio = pow(2, -8.0 / (double)power), m = ratio;
    for (; head > 0; head--)
        m *= ratio;
    return m;
}

static double slope(long head, long heads)
{
    long power = (long)pow(2, floor(log2((double)heads)));
    return head < power ? power_slope(head, power) : power_slope(2 * (head - power), 2 * power);
}

/* Bucket `exact` + k begins at exact·(far/exact)^(k/(count − exact)). */
static long bucket(long t, long count, long far)
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

static double t5_score(const struct oa_group *g, long head, long i, long j)
{
    long all = oa_atom_int(g->atom, "buckets", 0), far = oa_atom_int(g->atom, "distance", 0);
    long count = g->shape.causal ? all : all / 2, b = bucket(i > j ? i - j : j - i, count, far);
    if (j > i)
        b = g->shape.causal ? 0 : count + b;
    return oa_parameter_at(g, g->relative, head * all + b);
}

double oa_relative_score(const struct oa_group *g, long head, long i, long j)
{
    if (!is_relative(g->atom))
        return 0;
    return is_t5(g->atom) ? t5_score(g, head, i, j)
                          : -slope(head, g->shape.heads) * (double)(i > j ? i - j : j - i);
}
