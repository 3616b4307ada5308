/* SPDX-License-Identifier: Apache-2.0
 *
 * The attention language, the stacks of a model: labels, which stacks there are, and the canonical
 * form of them all.
 */
#include "attention/language/language.h"

#include <string.h>

static const char *const names[OA_STACK_ROLES] = { "encoder", "decoder", "cross" };

const char *oa_stack_name(enum oa_stack_role role)
{
    return names[role];
}

static int role_named(const char *word)
{
    for (int role = 0; role < OA_STACK_ROLES; role++) {
        if (strcmp(names[role], word) == 0)
            return role;
    }
    return -1;
}

/* Stacks of the model, as "encoder, decoder". */
static void join_names(unsigned stacks, char *out, size_t size)
{
    out[0] = 0;
    for (int role = 0; role < OA_STACK_ROLES; role++) {
        if (stacks & OA_STACK(role))
            snprintf(out + strlen(out), size - strlen(out), "%s%s", out[0] ? ", " : "",
                     names[role]);
    }
}

/* ---- labels ---- */

/* softmax:7 is a count of heads: behind a label stands no number, and it is no mechanism. */
bool oa_begins_with_label(const struct oa_reader *r)
{
    struct oa_reader ahead = *r;
    const char *preset;
    struct oa_word w = oa_read_word(&ahead);
    if (!w.text[0] || !oa_accept(&ahead, ':'))
        return false;
    char next = oa_peek(&ahead);
    bool count = (next >= '0' && next <= '9') || next == '-' || next == 0;
    bool mechanism = oa_name_mechanism(w.text, &preset) || strcmp(w.text, RAGANATO) == 0;
    return role_named(w.text) >= 0 || (!mechanism && !count);
}

static enum oa_error refuse_label(struct oa_reader *r, const struct oa_word *w)
{
    char here[96], hint[96] = ".", valid[64];
    const char *known[OA_STACK_ROLES];
    int count = 0;
    struct oa_reader at_word = *r;
    at_word.at = w->at;
    oa_found_here(&at_word, here, sizeof here);
    join_names(r->stacks, valid, sizeof valid);
    for (int role = 0; role < OA_STACK_ROLES; role++) {
        if (r->stacks & OA_STACK(role))
            known[count++] = names[role];
    }
    if (w->text[0] && role_named(w->text) < 0)
        oa_suggest(w->text, known, count, hint, sizeof hint);
    return oa_refuse(r, w->at,
                     "%s where the label of a stack and \":\" are expected%s Valid here: %s", here,
                     hint, valid);
}

static enum oa_error read_label(struct oa_reader *r, unsigned named)
{
    struct oa_word w = oa_read_word(r);
    char valid[64];
    int role = role_named(w.text);
    if (role < 0 || !oa_accept(r, ':'))
        return refuse_label(r, &w);
    join_names(r->stacks, valid, sizeof valid);
    if (!(r->stacks & OA_STACK(role)))
        return oa_refuse(r, w.at, "this model has no %s%s; its stacks are: %s", w.text,
                         role == OA_STACK_CROSS ? "-attention" : "", valid);
    if (named & OA_STACK(role))
        return oa_refuse(r, w.at, "%s is given twice.", w.text);
    r->role = (enum oa_stack_role)role;
    return OA_OK;
}

/* ---- stacks ---- */

/* A text, or what is left of it, as the layers of one stack. */
static enum oa_error parse_as(oa_context *c, const char *text, enum oa_stack_role role,
                              struct oa_stack_specs *out)
{
    struct oa_reader r = { .context = c, .text = text, .stacks = out->has, .role = role };
    OA_TRY(oa_parse_layers(&r, &out->spec[role]));
    if (oa_peek(&r) == '&')
        return oa_refuse(
            &r, r.at,
            "\"&\" stands between stacks, and the first has no label: write encoder:, decoder: or "
            "cross: before it.");
    return oa_expect_end(&r, "( : + | or ;");
}

static enum oa_error parse_labelled(struct oa_reader *r, struct oa_stack_specs *out)
{
    do {
        OA_TRY(read_label(r, out->named));
        out->named |= OA_STACK(r->role);
        OA_TRY(oa_parse_layers(r, &out->spec[r->role]));
    } while (oa_accept(r, '&'));
    return oa_expect_end(r, "( : + | ; or &");
}

/* What the text leaves out: cross-attention without labels, and with labels whatever has none. */
static enum oa_error parse_rest(oa_context *c, const char *text, struct oa_stack_specs *out)
{
    for (int role = 0; role < OA_STACK_ROLES; role++) {
        bool given =
            !out->named && (role != OA_STACK_CROSS || out->has == OA_STACK(OA_STACK_CROSS));
        if (out->has & ~out->named & OA_STACK(role))
            OA_TRY(parse_as(c, given ? text : "softmax", (enum oa_stack_role)role, out));
    }
    return OA_OK;
}

enum oa_error oa_stacks_parse(oa_context *c, const char *text, unsigned has,
                              struct oa_stack_specs *out)
{
    *out = (struct oa_stack_specs){ .has = has };
    OA_TRY(oa_check_length(c, text));
    struct oa_reader r = { .context = c, .text = text, .stacks = has };
    if (oa_begins_with_label(&r))
        OA_TRY(parse_labelled(&r, out));
    return parse_rest(c, text, out);
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

/* Adds the stack, and its label if it gets one; plain softmax goes without saying. */
static void print_stack(const struct oa_spec *spec, const char *label, struct oa_text *out)
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
            print_stack(&s->spec[role], names[role], &all);
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
