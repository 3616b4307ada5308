/* SPDX-License-Identifier: Apache-2.0
 * Capabilities of an attention with its options, modes, and notes on options without effect. */
#include "attention/mechanism.h"

#include <string.h>

unsigned oa_atom_capabilities(const struct oa_atom *a)
{
    unsigned can = a->mechanism->can_with ? a->mechanism->can_with(a) : a->mechanism->can;
    for (int c = 0; c < a->children; c++)
        can |= oa_atom_capabilities(&a->child[c]) & (OA_BOUND_LENGTH | OA_ORDER);
    if (oa_atom_value(a, "relative")->number > 0 || oa_atom_flag(a, "forget"))
        can = (can | OA_ORDER) & ~(unsigned)OA_CAN_CROSS;
    if (oa_atom_is(a, "normalise", "sink") || oa_atom_is(a, "normalise", "sigmoid"))
        can &= ~(unsigned)OA_AVERAGES;
    return can;
}

bool oa_atom_mode_clash(const struct oa_atom *a, bool causal, bool cross, char *sentence,
                        size_t size)
{
    const struct oa_mechanism *m = a->mechanism;
    if (causal && !(m->can & OA_CAN_CAUSAL))
        snprintf(sentence, size,
                 "%s has no causal form, because a token would see later ones; it cannot be used "
                 "in a causal stack (language model, decoder)",
                 m->name);
    else if (cross && !(m->can & OA_CAN_CROSS))
        snprintf(sentence, size,
                 "%s is for self-attention only: queries and keys must be %s; use softmax, linear "
                 "or another mechanism for cross-attention",
                 m->name, m->self_only ? m->self_only : "positions of one sequence");
    else
        return oa_relative_mode_clash(a, causal, cross, sentence, size) ||
               oa_head_mode_clash(a, causal, cross, sentence, size) ||
               (m->mode_clash && m->mode_clash(a, causal, cross, sentence, size));
    return true;
}

bool oa_atom_divides_signed(const struct oa_atom *a)
{
    return (oa_atom_capabilities(a) & (OA_AVERAGES | OA_POSITIVE)) == OA_AVERAGES;
}

bool oa_atom_raises_rounding(const struct oa_atom *a)
{
    return a->mechanism->rounding > 1;
}

/* ---- notes ---- */

static bool atom_lacks_dropout(const struct oa_atom *a)
{
    return !(oa_atom_capabilities(a) & OA_DROPS);
}

/* One line for each distinct atom for which `applies` is true. */
static void spec_add_notes(const struct oa_spec *s, bool (*applies)(const struct oa_atom *a),
                           const char *sentence, struct oa_text *out)
{
    for (int l = 0; l < s->layers; l++) {
        for (int g = 0; g < s->layer[l].groups; g++) {
            const struct oa_atom *a = &s->layer[l].group[g].atom;
            struct oa_text line;
            oa_text_init(&line, out->context);
            oa_atom_print(a, &line);
            oa_text_printf(&line, "%s\n", sentence);
            if (applies(a) && line.s && (!out->s || !strstr(out->s, line.s)))
                oa_text_add(out, line.s, line.length);
            oa_text_free(&line);
        }
    }
}

void oa_spec_dropout_notes(const struct oa_spec *s, double dropout, struct oa_text *out)
{
    char sentence[160];
    snprintf(sentence, sizeof sentence,
             " has no attention weights to drop: model.attention_dropout = %s has no effect on it.",
             oa_real_text(dropout).s);
    if (dropout > 0)
        spec_add_notes(s, atom_lacks_dropout, sentence, out);
}

static void spec_bf16_notes(const struct oa_spec *s, struct oa_text *out)
{
    spec_add_notes(s, oa_atom_divides_signed,
                   " divides weights of both signs by their sum, which can be close to 0: in bf16, "
                   "rounding errors can then be as large as the result; use f32.",
                   out);
    spec_add_notes(s, oa_atom_raises_rounding,
                   " raises rounded sums to a power: in bf16, rounding errors can then be as "
                   "large as the result; use f32.",
                   out);
}

/* |β φ(k) φ(k)ᵀ| may exceed 2, and the state then grows with every token. */
static bool atom_may_grow(const struct oa_atom *a)
{
    bool unit = oa_atom_is(a, "map", "unit") || oa_atom_is(a, "map", "hedgehog") ||
                (oa_atom_is(a, "map", "identity") && oa_atom_is(a, "qknorm", "unit"));
    return oa_atom_is(a, "update", "delta") && !unit;
}

enum oa_error oa_attention_notes(oa_context *c, const char *text, unsigned has,
                                 const struct oa_options *o, struct oa_text *out)
{
    struct oa_stack_specs parsed;
    enum oa_error e = oa_stacks_parse(c, text, has, &parsed);
    for (int role = 0; e == OA_OK && role < OA_STACK_ROLES; role++) {
        oa_spec_dropout_notes(&parsed.spec[role], o->model_attention_dropout, out);
        if (o->train_precision == OA_PRECISION_BF16)
            spec_bf16_notes(&parsed.spec[role], out);
        spec_add_notes(&parsed.spec[role], atom_may_grow,
                       " can grow without bound: with update=delta the rows φ(k) should be about "
                       "unit length; use map=unit.",
                       out);
    }
    oa_stacks_free(&parsed);
    return e;
}

enum oa_error oa_attention_warn(oa_context *c, const char *text, unsigned has,
                                const struct oa_options *o)
{
    struct oa_text notes;
    oa_text_init(&notes, c);
    enum oa_error e = oa_attention_notes(c, text, has, o, &notes);
    if (e != OA_OK)
        e = oa_fail_as_argument(c);
    for (const char *s = notes.s; s && *s; s += strcspn(s, "\n") + 1)
        oa_log(c, 0, "%.*s", (int)strcspn(s, "\n"), s);
    oa_text_free(&notes);
    return e;
}
