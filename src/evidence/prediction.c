/* SPDX-License-Identifier: Apache-2.0
 * A prediction as it is written: "random + softmax better than softmax", "softmax @ one-head worse
 * than softmax @ eight", "linear faster than softmax", "ranking @ small same as ranking @ large",
 * "orthogonal keeps at least 0.8".
 */
#include "evidence/reading.h"

#include "tasks/tasks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The longer words first: "at least as good as" has "as good as" in it. */
static const enum oa_relation by_length[] = { OA_AT_LEAST_AS_GOOD_AS, OA_BETTER_THAN, OA_WORSE_THAN,
                                              OA_AS_GOOD_AS,          OA_FASTER_THAN, OA_SAME_AS,
                                              OA_KEEPS_AT_LEAST,      OA_AS_STABLE_AS };

const char *oa_relation_words(enum oa_relation r)
{
    static const char *const words[] = {
        [OA_BETTER_THAN] = "better than",       [OA_WORSE_THAN] = "worse than",
        [OA_AS_GOOD_AS] = "as good as",         [OA_AT_LEAST_AS_GOOD_AS] = "at least as good as",
        [OA_FASTER_THAN] = "faster than",       [OA_SAME_AS] = "same as",
        [OA_KEEPS_AT_LEAST] = "keeps at least", [OA_AS_STABLE_AS] = "as stable as"
    };
    return words[r];
}

/* The relation in the text, with blanks around it; NULL: none. */
static const char *find_relation(const char *text, enum oa_relation *out, size_t *length)
{
    for (int i = 0; i < OA_RELATIONS; i++) {
        char words[40];
        snprintf(words, sizeof words, " %s ", oa_relation_words(by_length[i]));
        const char *at = strstr(text, words);
        *out = by_length[i];
        *length = strlen(words);
        if (at)
            return at;
    }
    return NULL;
}

/* With one blank wherever there are several. */
static char *single_blanks(oa_context *c, const char *text)
{
    char *out = oa_copy_text(c, text), *to = out;
    for (const char *from = text; out && *from; from++)
        if (*from != ' ' || from[1] != ' ')
            *to++ = *from;
    if (out)
        *to = 0;
    return out;
}

static char *cut(oa_context *c, const char *from, size_t length)
{
    for (; length > 0 && *from == ' '; length--)
        from++;
    while (length > 0 && from[length - 1] == ' ')
        length--;
    char *text = oa_alloc(c, length + 1);
    if (text)
        memcpy(text, from, length);
    return text;
}

/* "SPEC @ VARIANT" into the two. */
static enum oa_error take_variant(oa_context *c, const struct oa_experiment *e, const json_t *node,
                                  struct oa_claimed *out)
{
    char *mark = strrchr(out->attention, '@');
    out->variant = -1;
    if (!mark)
        return OA_OK;
    char *name = cut(c, mark + 1, strlen(mark + 1));
    if (!name)
        return OA_NO_MEMORY;
    for (int i = 0; i < e->variant_count; i++)
        if (!oa_experiment_plain(e) && strcmp(e->variants[i].name, name) == 0)
            out->variant = i;
    enum oa_error code =
        out->variant >= 0 ? OA_OK
                          : oa_claim_refuse(c, e, node, "there is no variant named \"%s\"", name);
    oa_free(name);
    *mark = 0;
    return code;
}

static bool is_ranking(const char *attention)
{
    return strcmp(attention, OA_CLAIMED_RANKING) == 0;
}

bool oa_variant_has(const struct oa_variant *v, const char *attention)
{
    if (strcmp(attention, OA_CLAIMED_UNIFORM) == 0)
        return v->options.compare_uniform_baseline;
    for (int i = 0; i < v->attentions; i++)
        if (strcmp(v->attention[i], attention) == 0)
            return true;
    return false;
}

static enum oa_error make_canonical(oa_context *c, const struct oa_variant *v,
                                    struct oa_claimed *out)
{
    char *text = cut(c, out->attention, strlen(out->attention));
    oa_free(out->attention);
    out->attention = text;
    if (!text || strcmp(text, OA_CLAIMED_UNIFORM) == 0 || is_ranking(text))
        return oa_status(c);
    enum oa_error e = oa_stacks_canonical(c, text, oa_options_stacks(&v->options), &out->attention);
    oa_free(text);
    return e;
}

static enum oa_error refuse_absent(oa_context *c, const struct oa_experiment *e, const json_t *node,
                                   const struct oa_variant *v, const char *attention)
{
    bool plain = oa_experiment_plain(e), uniform = strcmp(attention, OA_CLAIMED_UNIFORM) == 0;
    return oa_claim_refuse(c, e, node, "\"%s\" is not in the comparison%s%s: %s", attention,
                           plain ? "" : " of the variant ", plain ? "" : v->name,
                           uniform ? "compare.uniform_baseline is off"
                                   : "compare.attentions does not contain it");
}

static enum oa_error read_side(oa_context *c, const struct oa_experiment *e, const json_t *node,
                               char *text, struct oa_claimed *out)
{
    out->attention = text;
    if (!text)
        return OA_NO_MEMORY;
    OA_TRY(take_variant(c, e, node, out));
    if (make_canonical(c, &e->variants[out->variant < 0 ? 0 : out->variant], out) != OA_OK)
        return oa_claim_pass_on(c, e, node);
    for (int i = 0; i < e->variant_count; i++)
        if ((out->variant < 0 || out->variant == i) && !is_ranking(out->attention) &&
            !oa_variant_has(&e->variants[i], out->attention))
            return refuse_absent(c, e, node, &e->variants[i], out->attention);
    return OA_OK;
}

static double side_margin(const struct oa_experiment *e, const struct oa_claimed *side)
{
    return e->variants[side->variant < 0 ? 0 : side->variant].options.compare_margin;
}

/* Limits are values on the axis, by which the variants are ordered. */
static enum oa_error check_stability(oa_context *c, const struct oa_experiment *e,
                                     const json_t *node, const struct oa_prediction *p)
{
    bool rising = *oa_claim_text(e, "axis") && e->variant_count > 1;
    for (int i = 1; i < e->variant_count; i++)
        rising = rising && e->variants[i].at > e->variants[i - 1].at;
    if (p->relation != OA_AS_STABLE_AS)
        return OA_OK;
    if (!rising || p->left.variant >= 0)
        return oa_claim_refuse(c, e, node,
                               "\"%s\" is about all variants, whose `at` on the axis must rise; "
                               "name none of them",
                               oa_relation_words(OA_AS_STABLE_AS));
    return OA_OK;
}

/* The share is of the baseline's gain over the uniform baseline, or of that of softmax. */
static enum oa_error check_whole(oa_context *c, const struct oa_experiment *e, const json_t *node,
                                 const struct oa_variant *v, const char *attention)
{
    const char *baseline = v->options.compare_baseline;
    char *whole = NULL;
    if (!v->options.compare_uniform_baseline)
        return oa_claim_refuse(c, e, node,
                               "\"%s\" needs the uniform baseline; compare.uniform_baseline is off",
                               oa_relation_words(OA_KEEPS_AT_LEAST));
    if (!*baseline && !oa_variant_has(v, "softmax"))
        return oa_claim_refuse(c, e, node,
                               "\"%s\" is about what compare.baseline or softmax gains; name a "
                               "baseline or add softmax to compare.attentions",
                               oa_relation_words(OA_KEEPS_AT_LEAST));
    OA_TRY(oa_stacks_canonical(c, *baseline ? baseline : "softmax", oa_options_stacks(&v->options),
                               &whole));
    bool itself = strcmp(whole, attention) == 0 || strcmp(attention, OA_CLAIMED_UNIFORM) == 0;
    enum oa_error code =
        itself
            ? oa_claim_refuse(c, e, node, "the share of \"%s\" is 1 or 0 by definition", attention)
            : OA_OK;
    oa_free(whole);
    return code;
}

/* ---- contradictions between predictions ---- */

/* Outcomes that make a prediction true: the left one is better (of speeds: faster), equivalent,
 * worse. */
enum { BETTER = 1, AS_GOOD = 2, WORSE = 4 };

static int outcomes(enum oa_relation r)
{
    static const int of[] = {
        [OA_BETTER_THAN] = BETTER,    [OA_WORSE_THAN] = WORSE,
        [OA_AS_GOOD_AS] = AS_GOOD,    [OA_AT_LEAST_AS_GOOD_AS] = BETTER | AS_GOOD,
        [OA_FASTER_THAN] = BETTER,    [OA_SAME_AS] = AS_GOOD,
        [OA_KEEPS_AT_LEAST] = BETTER, [OA_AS_STABLE_AS] = AS_GOOD
    };
    return of[r];
}

/* Are both pairs about the same two runs of some variant? A side that names none is about each. */
static bool meet(const struct oa_claimed *a, const struct oa_claimed *b, const struct oa_claimed *c,
                 const struct oa_claimed *d)
{
    bool each = (a->variant < 0 && c->variant == d->variant) ||
                (c->variant < 0 && a->variant == b->variant);
    bool same = a->variant == c->variant && b->variant == d->variant;
    return (each || same) && strcmp(a->attention, c->attention) == 0 &&
           strcmp(b->attention, d->attention) == 0;
}

/* The outcomes of `before` in the direction of p; 0: it is about something else. */
static int outcomes_expected_by(const struct oa_prediction *before, const struct oa_prediction *p)
{
    bool scores = before->relation < OA_FASTER_THAN && p->relation < OA_FASTER_THAN;
    if (!scores && before->relation != p->relation)
        return 0;
    int there = outcomes(before->relation);
    if (meet(&before->left, &before->right, &p->left, &p->right))
        return there;
    if (!meet(&before->left, &before->right, &p->right, &p->left))
        return 0;
    return (there & AS_GOOD) | (there & BETTER ? WORSE : 0) | (there & WORSE ? BETTER : 0);
}

/* Predictions are counted on the page: a repeated one would count twice, and of two that exclude
 * each other one always fails. */
static enum oa_error check_others(oa_context *c, const struct oa_experiment *e, const json_t *node,
                                  const struct oa_prediction *p)
{
    for (const struct oa_prediction *before = e->predictions; before < p; before++) {
        int there = outcomes_expected_by(before, p), here = outcomes(p->relation);
        if (there == here)
            return oa_claim_refuse(c, e, node, "\"%s\" repeats \"%s\"; remove one of them", p->text,
                                   before->text);
        if (there && !(there & here))
            return oa_claim_refuse(c, e, node,
                                   "\"%s\" and \"%s\" cannot both hold; remove one of them",
                                   p->text, before->text);
    }
    return OA_OK;
}

static enum oa_error prediction_check(oa_context *c, const struct oa_experiment *e,
                                      const json_t *node, const struct oa_prediction *p)
{
    bool equal = p->relation == OA_AS_GOOD_AS || p->relation == OA_AT_LEAST_AS_GOOD_AS;
    bool ranked = p->relation == OA_SAME_AS;
    if (is_ranking(p->left.attention) != ranked || is_ranking(p->right.attention) != ranked ||
        (ranked && p->left.variant < 0))
        return oa_claim_refuse(c, e, node,
                               "\"same as\" compares the order of the attentions in two variants; "
                               "write ranking @ ONE same as ranking @ ANOTHER");
    if ((p->left.variant < 0) != (p->right.variant < 0))
        return oa_claim_refuse(
            c, e, node, "only one side names a variant; name one on both sides or on neither");
    if (p->left.variant == p->right.variant && strcmp(p->left.attention, p->right.attention) == 0)
        return oa_claim_refuse(c, e, node, "\"%s\" is on both sides", p->left.attention);
    if (p->relation == OA_FASTER_THAN && p->left.variant != p->right.variant)
        return oa_claim_refuse(
            c, e, node,
            "steps are timed within one comparison; name the same variant on both sides");
    OA_TRY(check_stability(c, e, node, p));
    double margin = side_margin(e, &p->left), right_margin = side_margin(e, &p->right);
    if (p->left.variant != p->right.variant && !ranked && margin != right_margin)
        return oa_claim_refuse(c, e, node,
                               "two variants that are compared need the same compare.margin");
    if (equal && (strcmp(p->left.attention, OA_CLAIMED_UNIFORM) == 0 ||
                  strcmp(p->right.attention, OA_CLAIMED_UNIFORM) == 0))
        return oa_claim_refuse(
            c, e, node,
            "floor has no margin: only \"better than\" and \"worse than\" are possible");
    if (equal && !(margin > 0))
        return oa_claim_refuse(
            c, e, node, "\"%s\" needs compare.margin, the largest difference that does not matter",
            oa_relation_words(p->relation));
    return check_others(c, e, node, p);
}

/* The right side is the number as text, by which repeated predictions are found. */
static enum oa_error read_share(oa_context *c, const struct oa_experiment *e, const json_t *node,
                                const char *text, struct oa_prediction *out)
{
    char *end, number[OA_NUMBER];
    out->share = strtod(text, &end);
    if (end == text || *end || !isfinite(out->share))
        return oa_claim_refuse(c, e, node, "\"%.80s\" is not a share; write a number, such as 0.8",
                               text);
    if (is_ranking(out->left.attention))
        return oa_claim_refuse(c, e, node, "a ranking keeps no share; name an attention");
    oa_number(number, out->share, 15);
    out->right = (struct oa_claimed){ oa_copy_text(c, number), out->left.variant };
    OA_TRY(oa_status(c));
    for (int i = 0; i < e->variant_count; i++)
        if (out->left.variant < 0 || out->left.variant == i)
            OA_TRY(check_whole(c, e, node, &e->variants[i], out->left.attention));
    return OA_OK;
}

/* text: with single blanks. */
static enum oa_error read_sides(oa_context *c, const struct oa_experiment *e, const json_t *node,
                                const char *text, struct oa_prediction *out)
{
    size_t length;
    const char *at = find_relation(text, &out->relation, &length);
    if (!at)
        return oa_claim_refuse(c, e, node,
                               "\"%.200s\" is not a prediction; write ATTENTION better than, worse "
                               "than, as good as, at least as good as, faster than or as stable as "
                               "ATTENTION, "
                               "ATTENTION keeps at least NUMBER, or ranking @ ONE same as ranking "
                               "@ ANOTHER",
                               text);
    OA_TRY(read_side(c, e, node, cut(c, text, (size_t)(at - text)), &out->left));
    if (out->relation == OA_KEEPS_AT_LEAST) {
        OA_TRY(read_share(c, e, node, at + length, out));
        return check_others(c, e, node, out);
    }
    OA_TRY(read_side(c, e, node, cut(c, at + length, strlen(at + length)), &out->right));
    return prediction_check(c, e, node, out);
}

enum oa_error oa_prediction_read(oa_context *c, const struct oa_experiment *e, const json_t *node,
                                 struct oa_prediction *out)
{
    char *text = single_blanks(c, oa_claim_scalar(node));
    out->text = oa_copy_text(c, oa_claim_scalar(node));
    enum oa_error code = oa_status(c) == OA_OK ? read_sides(c, e, node, text, out) : OA_NO_MEMORY;
    oa_free(text);
    return code;
}
