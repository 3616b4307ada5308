/* SPDX-License-Identifier: Apache-2.0
 *
 * What an attention claims with its options, and what follows for a training that asks for more.
 */
#include "attention/attention.h"

#include <string.h>

unsigned oa_atom_claims(const struct oa_atom *a)
{
    unsigned claims = a->mechanism->can_with ? a->mechanism->can_with(a) : a->mechanism->can;
    for (int c = 0; c < a->children; c++)
        claims |= oa_atom_claims(&a->child[c]) & (OA_BOUND_LENGTH | OA_ORDER);
    return claims;
}

bool oa_atom_divides_signed(const struct oa_atom *a)
{
    return (oa_atom_claims(a) & (OA_AVERAGES | OA_POSITIVE)) == OA_AVERAGES;
}

/* ---- sentences ----------------------------------------------------------------------------------------------------
 */

typedef bool has_note(const struct oa_atom *a);

static bool without_weights(const struct oa_atom *a)
{
    return !(oa_atom_claims(a) & OA_DROPS);
}

/* One sentence for each part of the attention that has the note, however often the part occurs. */
static void add_notes(const struct oa_spec *s, has_note *has, const char *sentence, struct oa_text *out)
{
    size_t start = out->length;
    for (int l = 0; l < s->layers; l++) {
        for (int g = 0; g < s->layer[l].groups; g++) {
            const struct oa_atom *a = &s->layer[l].group[g].atom;
            struct oa_text line;
            oa_text_init(&line, out->context);
            oa_atom_print(a, &line);
            oa_text_printf(&line, "%s\n", sentence);
            if (has(a) && line.s && (out->length == start || !strstr(out->s + start, line.s)))
                oa_text_add(out, line.s, line.length);
            oa_text_free(&line);
        }
    }
}

void oa_spec_dropout_notes(const struct oa_spec *s, double dropout, struct oa_text *out)
{
    char sentence[160];
    snprintf(sentence, sizeof sentence,
             " has no attention weights to drop: model.attention_dropout = %g does nothing there.", dropout);
    if (dropout > 0)
        add_notes(s, without_weights, sentence, out);
}

static void spec_precision_notes(const struct oa_spec *s, enum oa_precision precision, struct oa_text *out)
{
    if (precision == OA_PRECISION_BF16)
        add_notes(s, oa_atom_divides_signed,
                  " divides weights of both signs by their sum, which can come near 0: in bf16 rounding alone can then "
                  "give an error as large as the result; train.precision = f32 is 65,536 times as fine.",
                  out);
}

enum oa_error oa_attention_notes(oa_context *c, const char *spec, const struct oa_options *o, struct oa_text *out)
{
    struct oa_spec parsed;
    enum oa_error e = oa_spec_parse(c, spec, &parsed);
    if (e == OA_OK) {
        oa_spec_dropout_notes(&parsed, o->model_attention_dropout, out);
        spec_precision_notes(&parsed, o->train_precision, out);
    }
    oa_spec_free(&parsed);
    return e;
}

enum oa_error oa_attention_warn(oa_context *c, const char *spec, const struct oa_options *o)
{
    struct oa_text notes;
    oa_text_init(&notes, c);
    enum oa_error e = oa_attention_notes(c, spec, o, &notes);
    for (const char *s = notes.s; s && *s; s += strcspn(s, "\n") + 1)
        oa_log(c, 0, "%.*s", (int)strcspn(s, "\n"), s);
    oa_text_free(&notes);
    return e;
}
