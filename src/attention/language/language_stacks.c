/* SPDX-License-Identifier: Apache-2.0
 * The stacks of a model in the attention language: labels, defaults, canonical form. */
#include "attention/language/language.h"

#include <string.h>

static const char *const stack_names[OA_STACK_ROLES] = { "encoder", "decoder", "cross" };

const char *oa_stack_name(enum oa_stack_role role)
{
    return stack_names[role];
}

static int stack_role_of(const char *word)
{
    for (int role = 0; role < OA_STACK_ROLES; role++) {
        if (strcmp(stack_names[role], word) == 0)
            return role;
    }
    return -1;
}

/* Stacks of the model, as "encoder, decoder". */
static void stacks_join_names(unsigned stacks, char *out, size_t size)
{
    out[0] = 0;
    for (int role = 0; role < OA_STACK_ROLES; role++) {
        if (stacks & OA_STACK(role))
            snprintf(out + strlen(out), size - strlen(out), "%s%s", out[0] ? ", " : "",
                     stack_names[role]);
    }
}

/* ---- labels ---- */

/* Distinguishes a label from a count of heads (softmax:7). */
bool oa_begins_with_label(const struct oa_language_reader *r)
{
    struct oa_language_reader ahead = *r;
    const char *preset;
    struct oa_word w = oa_read_word(&ahead);
    if (!w.text[0] || !oa_accept(&ahead, ':'))
        return false;
    char next = oa_peek(&ahead);
    bool count = (next >= '0' && next <= '9') || next == '-' || next == 0;
    bool mechanism = oa_name_mechanism(w.text, &preset) || strcmp(w.text, RAGANATO) == 0;
    return stack_role_of(w.text) >= 0 || (!mechanism && !count);
}

static enum oa_error stacks_label_error(struct oa_language_reader *r, const struct oa_word *w)
{
    char here[96], hint[96] = ".", valid[64];
    const char *known[OA_STACK_ROLES];
    int count = 0;
    struct oa_language_reader at_word = *r;
    at_word.at = w->at;
    oa_describe_next(&at_word, here, sizeof here);
    stacks_join_names(r->stacks, valid, sizeof valid);
    for (int role = 0; role < OA_STACK_ROLES; role++) {
        if (r->stacks & OA_STACK(role))
            known[count++] = stack_names[role];
    }
    if (w->text[0] && stack_role_of(w->text) < 0)
        oa_suggest(w->text, known, count, hint, sizeof hint);
    return oa_syntax_error(r, w->at, "%s; expected the label of a stack and \":\"%s Valid: %s",
                           here, hint, valid);
}

static enum oa_error stacks_read_label(struct oa_language_reader *r, unsigned named)
{
    struct oa_word w = oa_read_word(r);
    char valid[64];
    int role = stack_role_of(w.text);
    if (role < 0 || !oa_accept(r, ':'))
        return stacks_label_error(r, &w);
    stacks_join_names(r->stacks, valid, sizeof valid);
    if (!(r->stacks & OA_STACK(role)))
        return oa_syntax_error(r, w.at, "the model has no %s%s; its stacks are: %s", w.text,
                               role == OA_STACK_CROSS ? "-attention" : "", valid);
    if (named & OA_STACK(role))
        return oa_syntax_error(r, w.at, "%s is given twice.", w.text);
    r->role = (enum oa_stack_role)role;
    return OA_OK;
}

/* ---- stacks ---- */

/* Parses the text as the layers of one stack. */
static enum oa_error stacks_parse_unlabelled(oa_context *c, const char *text,
                                             enum oa_stack_role role, struct oa_stack_specs *out)
{
    struct oa_language_reader r = { .context = c, .text = text, .stacks = out->has, .role = role };
    OA_TRY(oa_parse_layers(&r, &out->spec[role]));
    if (oa_peek(&r) == '&')
        return oa_syntax_error(&r, r.at,
                               "\"&\" separates labelled stacks, but the first has no label: add "
                               "encoder:, decoder: or cross:");
    return oa_expect_end(&r, "( : + | or ;");
}

static enum oa_error stacks_parse_labelled(struct oa_language_reader *r, struct oa_stack_specs *out)
{
    do {
        OA_TRY(stacks_read_label(r, out->named));
        out->named |= OA_STACK(r->role);
        OA_TRY(oa_parse_layers(r, &out->spec[r->role]));
    } while (oa_accept(r, '&'));
    return oa_expect_end(r, "( : + | ; or &");
}

/* Stacks without a label: the text if it has no labels (except for cross-attention), else softmax.
 */
static enum oa_error stacks_parse_rest(oa_context *c, const char *text, struct oa_stack_specs *out)
{
    for (int role = 0; role < OA_STACK_ROLES; role++) {
        bool given =
            !out->named && (role != OA_STACK_CROSS || out->has == OA_STACK(OA_STACK_CROSS));
        if (out->has & ~out->named & OA_STACK(role))
            OA_TRY(stacks_parse_unlabelled(c, given ? text : "softmax", (enum oa_stack_role)role,
                                           out));
    }
    return OA_OK;
}

enum oa_error oa_stacks_parse(oa_context *c, const char *text, unsigned has,
                              struct oa_stack_specs *out)
{
    *out = (struct oa_stack_specs){ .has = has };
    OA_TRY(oa_check_length(c, text));
    struct oa_language_reader r = { .context = c, .text = text, .stacks = has };
    if (oa_begins_with_label(&r))
        OA_TRY(stacks_parse_labelled(&r, out));
    return stacks_parse_rest(c, text, out);
}

void oa_stacks_free(struct oa_stack_specs *s)
{
    for (int role = 0; role < OA_STACK_ROLES; role++)
        oa_spec_free(&s->spec[role]);
    *s = (struct oa_stack_specs){ 0 };
}

enum oa_error oa_stack_parse(oa_context *c, const char *text, enum oa_stack_role only,
                             struct oa_spec *out)
{
    struct oa_stack_specs all;
    enum oa_error e = oa_stacks_parse(c, text, OA_STACK(only), &all);
    *out = all.spec[only];
    return e;
}

/* ---- canonical form ---- */

/* Plain softmax is omitted. */
static void stacks_print_one(const struct oa_spec *spec, const char *label, struct oa_text *out)
{
    struct oa_text layers;
    oa_text_init(&layers, out->context);
    oa_spec_print(spec, &layers);
    if (layers.s && strcmp(layers.s, "softmax") != 0)
        oa_text_printf(out, "%s%s: %s", out->length ? " & " : "", label, layers.s);
    oa_text_free(&layers);
}

void oa_stacks_print(const struct oa_stack_specs *s, struct oa_text *out)
{
    int first = 0;
    while (first + 1 < OA_STACK_ROLES && !(s->has & OA_STACK(first)))
        first++;
    if (!s->named || s->has == OA_STACK(first)) {
        oa_spec_print(&s->spec[first], out);
        return;
    }
    struct oa_text all;
    oa_text_init(&all, out->context);
    for (int role = 0; role < OA_STACK_ROLES; role++) {
        if (s->has & OA_STACK(role))
            stacks_print_one(&s->spec[role], stack_names[role], &all);
    }
    oa_text_printf(out, "%s", all.length ? all.s : "softmax");
    oa_text_free(&all);
}

enum oa_error oa_stacks_canonical(oa_context *c, const char *text, unsigned has, char **out)
{
    struct oa_stack_specs stacks;
    struct oa_text printed;
    *out = NULL;
    oa_text_init(&printed, c);
    enum oa_error e = oa_stacks_parse(c, text, has, &stacks);
    if (e == OA_OK) {
        oa_stacks_print(&stacks, &printed);
        *out = oa_copy_text(c, printed.s ? printed.s : "");
        e = oa_status(c);
    }
    oa_text_free(&printed);
    oa_stacks_free(&stacks);
    return e;
}
