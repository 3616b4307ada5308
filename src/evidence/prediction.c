/* SPDX-License-Identifier: Apache-2.0
 * A prediction as it is written: "random + softmax better than softmax", "softmax @ one-head worse than softmax @
 * eight". */
#include "evidence/reading.h"

#include "tasks/tasks.h"

#include <string.h>

/* The longer words first: "at least as good as" has "as good as" in it. */
static const enum oa_relation by_length[] = { OA_AT_LEAST_AS_GOOD_AS, OA_BETTER_THAN, OA_WORSE_THAN, OA_AS_GOOD_AS };

const char *oa_relation_words(enum oa_relation r)
{
    static const char *const words[] = { [OA_BETTER_THAN] = "better than",
                                         [OA_WORSE_THAN] = "worse than",
                                         [OA_AS_GOOD_AS] = "as good as",
                                         [OA_AT_LEAST_AS_GOOD_AS] = "at least as good as" };
    return words[r];
}

/* Where the relation stands in the text, with blanks around it; NULL: nowhere. */
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

static int find_variant(const struct oa_experiment *e, const char *name)
{
    for (int i = 0; i < e->variant_count; i++)
        if (!oa_experiment_plain(e) && strcmp(e->variants[i].name, name) == 0)
            return i;
    return -1;
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
    out->variant = find_variant(e, name);
    enum oa_error code =
        out->variant >= 0 ? OA_OK : oa_claim_refuse(c, e, node, "there is no variant named \"%s\"", name);
    oa_free(name);
    *mark = 0;
    return code;
}

static bool takes_part(const struct oa_variant *v, const char *attention)
{
    if (strcmp(attention, OA_CLAIMED_FLOOR) == 0)
        return v->options.compare_floor;
    for (int i = 0; i < v->attentions; i++)
        if (strcmp(v->attention[i], attention) == 0)
            return true;
    return false;
}

static enum oa_error make_canonical(oa_context *c, const struct oa_variant *v, struct oa_claimed *out)
{
    char *text = cut(c, out->attention, strlen(out->attention));
    oa_free(out->attention);
    out->attention = text;
    if (!text || strcmp(text, OA_CLAIMED_FLOOR) == 0)
        return oa_status(c);
    enum oa_error e = oa_stacks_canonical(c, text, oa_options_stacks(&v->options), &out->attention);
    oa_free(text);
    return e;
}

static enum oa_error refuse_absent(oa_context *c, const struct oa_experiment *e, const json_t *node,
                                   const struct oa_variant *v, const char *attention)
{
    bool plain = oa_experiment_plain(e), floor = strcmp(attention, OA_CLAIMED_FLOOR) == 0;
    return oa_claim_refuse(c, e, node, "\"%s\" takes no part in the contest%s%s: %s", attention,
                           plain ? "" : " of the variant ", plain ? "" : v->name,
                           floor ? "compare.floor is off" : "compare.attentions does not have it");
}

static enum oa_error read_side(oa_context *c, const struct oa_experiment *e, const json_t *node, char *text,
                               struct oa_claimed *out)
{
    out->attention = text;
    if (!text)
        return OA_NO_MEMORY;
    OA_TRY(take_variant(c, e, node, out));
    if (make_canonical(c, &e->variants[out->variant < 0 ? 0 : out->variant], out) != OA_OK)
        return oa_claim_pass_on(c, e, node);
    for (int i = 0; i < e->variant_count; i++)
        if ((out->variant < 0 || out->variant == i) && !takes_part(&e->variants[i], out->attention))
            return refuse_absent(c, e, node, &e->variants[i], out->attention);
    return OA_OK;
}

static double margin_of(const struct oa_experiment *e, const struct oa_claimed *side)
{
    return e->variants[side->variant < 0 ? 0 : side->variant].options.compare_margin;
}

static bool against_floor(const struct oa_prediction *p)
{
    return strcmp(p->left.attention, OA_CLAIMED_FLOOR) == 0 || strcmp(p->right.attention, OA_CLAIMED_FLOOR) == 0;
}

static enum oa_error check(oa_context *c, const struct oa_experiment *e, const json_t *node,
                           const struct oa_prediction *p)
{
    bool equal = p->relation == OA_AS_GOOD_AS || p->relation == OA_AT_LEAST_AS_GOOD_AS;
    if ((p->left.variant < 0) != (p->right.variant < 0))
        return oa_claim_refuse(c, e, node, "one side names a variant: name one on both sides, or on none");
    if (p->left.variant == p->right.variant && strcmp(p->left.attention, p->right.attention) == 0)
        return oa_claim_refuse(c, e, node, "\"%s\" is on both sides", p->left.attention);
    for (int i = 0; p->left.variant != p->right.variant && i < e->variant_count; i++)
        if (e->variants[i].options.compare_margin != margin_of(e, &p->left))
            return oa_claim_refuse(c, e, node,
                                   "what is compared between variants is judged together: give all of them "
                                   "one compare.margin");
    if (equal && against_floor(p))
        return oa_claim_refuse(c, e, node, "against the floor there are better than and worse than: it has no margin");
    if (equal && !(margin_of(e, &p->left) > 0))
        return oa_claim_refuse(c, e, node, "\"%s\" needs compare.margin: within what is a difference none?",
                               oa_relation_words(p->relation));
    return OA_OK;
}

enum oa_error oa_prediction_read(oa_context *c, const struct oa_experiment *e, const json_t *node,
                                 struct oa_prediction *out)
{
    const char *text = oa_claim_scalar(node);
    size_t length;
    const char *at = find_relation(text, &out->relation, &length);
    if (!at)
        return oa_claim_refuse(c, e, node,
                               "\"%.200s\" is no prediction: write ATTENTION better than, worse than, as good as or at "
                               "least as good as ATTENTION",
                               text);
    out->text = oa_copy_text(c, text);
    OA_TRY(read_side(c, e, node, cut(c, text, (size_t)(at - text)), &out->left));
    OA_TRY(read_side(c, e, node, cut(c, at + length, strlen(at + length)), &out->right));
    return check(c, e, node, out);
}
