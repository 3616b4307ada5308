/* SPDX-License-Identifier: Apache-2.0
 *
 * docs/attention.md: the attention language and every mechanism, from the tables that the program
 * itself works with. What a mode or a word of an option is refused for is found by trying it.
 */
#include "attention/language/language.h"
#include "explain/explain.h"

#include <string.h>

/* ---- pieces
 * ----------------------------------------------------------------------------------------------------
 */

/* Text for a paragraph or a cell: what Markdown would take for its own gets a backslash. Code in
 * `…` stays. */
static void add_text(struct oa_text *out, const char *text)
{
    bool code = false;
    for (; *text; text++) {
        code ^= *text == '`';
        if (!code && strchr("*_|<", *text))
            oa_text_printf(out, "\\");
        oa_text_add(out, text, 1);
    }
}

/* Formulas and grammars: as they are, "; " between two formulas begins a line. */
static void add_code(struct oa_text *out, const char *text)
{
    oa_text_printf(out, "```\n");
    while (*text) {
        const char *end = strstr(text, ";  ");
        size_t n = end ? (size_t)(end - text) : strlen(text);
        oa_text_add(out, text, n);
        oa_text_printf(out, "\n");
        text += n + (end ? 3 : 0);
        text += strspn(text, " ");
    }
    oa_text_printf(out, "```\n\n");
}

static void add_choices(struct oa_text *out, const char *choices)
{
    char word[64];
    for (int i = 0; oa_choice_word(choices, i, word, sizeof word); i++)
        oa_text_printf(out, "%s`%s`", i ? ", " : "", word);
}

/* ---- options
 * ---------------------------------------------------------------------------------------------------
 */

static const struct oa_argument *find_row(const struct oa_argument *rows, const char *key)
{
    while (rows->key && strcmp(rows->key, key) != 0)
        rows++;
    return rows->key ? rows : NULL;
}

/* One of the options for what distances add? */
static bool is_relative(const struct oa_argument *a)
{
    static const struct oa_argument rows[] = { OA_RELATIVE_ARGUMENTS, { .key = NULL } };
    return find_row(rows, a->key);
}

/* One of the options that all mechanisms with queries and keys share? Softmax has no others but
 * those for distances. */
static bool is_projection(const struct oa_mechanism *m, const struct oa_argument *a)
{
    if (is_relative(a))
        return false;
    const struct oa_argument *shared = find_row(oa_mechanism_find("softmax")->arguments, a->key);
    return m->can & OA_HAS_QUERIES && shared && strcmp(shared->help, a->help) == 0;
}

static void add_values(struct oa_text *out, const struct oa_argument *a)
{
    switch (a->kind) {
    case OA_VALUE_CHOICE:
        add_choices(out, a->choices);
        break;
    case OA_VALUE_INT:
    case OA_VALUE_REAL:
        oa_text_printf(out, "%s ", a->kind == OA_VALUE_INT ? "integer," : "number,");
        oa_text_real(out, a->low);
        oa_text_printf(out, " to ");
        oa_text_real(out, a->high);
        break;
    case OA_VALUE_FLAG:
        oa_text_printf(out, "flag");
        break;
    case OA_VALUE_REALS:
        oa_text_printf(out, "numbers with / between");
        break;
    default:
        oa_text_printf(out, "text");
    }
}

static void add_default(struct oa_text *out, const struct oa_argument *a)
{
    char word[64];
    if (a->kind == OA_VALUE_CHOICE && oa_choice_word(a->choices, 0, word, sizeof word))
        oa_text_printf(out, "`%s`", word);
    else if (a->kind == OA_VALUE_FLAG)
        oa_text_printf(out, "no");
    else
        oa_text_printf(out, "%s", a->fallback ? a->fallback : "auto");
}

static void add_option(struct oa_text *out, const struct oa_argument *a)
{
    oa_text_printf(out, "| %s%s%s | ", a->key[0] ? "`" : "", a->key[0] ? a->key : "a bare word",
                   a->key[0] ? "`" : "");
    add_values(out, a);
    oa_text_printf(out, " | ");
    add_default(out, a);
    oa_text_printf(out, " | ");
    add_text(out, a->help);
    oa_text_printf(out, " |\n");
}

static const char option_head[] = "| option | values | default | is |\n|---|---|---|---|\n";

/* The projection options, and in what this mechanism differs from the others. */
static void add_projection_line(struct oa_text *out, const struct oa_mechanism *m)
{
    const struct oa_argument *shared = oa_mechanism_find("softmax")->arguments;
    oa_text_printf(out, "Takes the [projection options](#projections)");
    for (const struct oa_argument *a = shared; a->key; a++) {
        const struct oa_argument *own = find_row(m->arguments, a->key);
        char word[64];
        if (is_relative(a))
            continue;
        if (!own || !is_projection(m, own))
            oa_text_printf(out, ", but not `%s`", a->key);
        else if (own->choices && strcmp(own->choices, a->choices) != 0 &&
                 oa_choice_word(own->choices, 0, word, sizeof word))
            oa_text_printf(out, ", with `%s=%s` as the default", a->key, word);
    }
    oa_text_printf(out, ".\n\n");
}

static void add_options(struct oa_text *out, const struct oa_mechanism *m)
{
    int own = 0;
    for (const struct oa_argument *a = m->arguments; a->key; a++) {
        if (is_projection(m, a) || is_relative(a))
            continue;
        oa_text_printf(out, "%s", own++ ? "" : option_head);
        add_option(out, a);
    }
    oa_text_printf(out, "%s", own ? "\n" : "");
    if (m->can & OA_HAS_QUERIES)
        add_projection_line(out, m);
    if (find_row(m->arguments, "relative"))
        oa_text_printf(out, "Takes [relative positions](#relative-positions).\n\n");
}

/* ---- modes
 * -----------------------------------------------------------------------------------------------------
 */

/* Tries an attention in every mode at the usual shape; false when it does not exist at all (options
 * that clash). */
static bool try_modes(oa_context *c, const char *spec, struct oa_shown *s)
{
    struct oa_options o;
    oa_options_default(&o);
    bool good = oa_show_open(c, spec, &o, s) == OA_OK && oa_show_layer(s, 0) == OA_OK;
    if (!good && oa_status(c) != OA_NO_MEMORY)
        oa_clear_error(c);
    oa_show_close(s);
    return good;
}

/* The words of its options with which a mechanism does not have a mode that it has without them. */
static void add_exceptions(struct oa_text *out, oa_context *c, const struct oa_mechanism *m,
                           enum oa_mode mode)
{
    int found = 0;
    for (const struct oa_argument *a = m->arguments; a->key; a++) {
        char word[64], option[128], spec[200];
        if (is_projection(m, a) || is_relative(a) || a->kind != OA_VALUE_CHOICE)
            continue;
        for (int i = 1; oa_choice_word(a->choices, i, word, sizeof word); i++) {
            struct oa_shown s;
            snprintf(option, sizeof option, "%s%s%s", a->key, a->key[0] ? "=" : "", word);
            snprintf(spec, sizeof spec, "%s(%s)", m->name, option);
            if (try_modes(c, spec, &s) && !s.can[mode])
                oa_text_printf(out, "%s`%s`", found++ ? ", " : ", but not with ", option);
        }
    }
}

static void add_mode(struct oa_text *out, oa_context *c, const struct oa_mechanism *m,
                     const struct oa_shown *s, enum oa_mode mode)
{
    static const char *const names[OA_MODES] = { "bidirectional", "causal", "cross-attention" };
    oa_text_printf(out, "- **%s:** ", names[mode]);
    if (s->can[mode]) {
        oa_text_printf(out, "yes");
        add_exceptions(out, c, m, mode);
    } else {
        oa_text_printf(out, "no; ");
        add_text(out, s->why_not[mode]);
    }
    oa_text_printf(out, "\n");
}

static void add_modes(struct oa_text *out, oa_context *c, const struct oa_mechanism *m)
{
    struct oa_shown s;
    if (!try_modes(c, strcmp(m->name, MIXTURE) == 0 ? "random + softmax" : m->name, &s))
        return;
    for (int mode = OA_MODE_CAUSAL; mode < OA_MODES; mode++)
        add_mode(out, c, m, &s, (enum oa_mode)mode);
    oa_text_printf(out, "- **in a mixture:** %s\n", m->can & OA_CAN_MIX ? "yes" : "no");
    oa_text_printf(out, "- **longer sequences than trained for:** %s\n",
                   m->can & OA_BOUND_LENGTH        ? "no, it has tables of the longest length N"
                   : strcmp(m->name, MIXTURE) == 0 ? "where all components can"
                                                   : "yes");
    oa_text_printf(out, "- **attention dropout:** %s\n",
                   m->can & OA_DROPS ? "yes"
                                     : "no, only weights of a softmax over keys are dropped");
}

/* ---- mechanisms
 * ------------------------------------------------------------------------------------------------
 */

static void add_mistakes(struct oa_text *out, const char *text)
{
    if (!text) {
        oa_text_printf(out, "Mistakes known of other implementations: none.\n\n");
        return;
    }
    oa_text_printf(out, "Mistakes known of other implementations, and not made here:\n\n- ");
    for (const char *s = text; *s; s++) {
        char one[2] = { *s, 0 };
        if (*s == '\n')
            oa_text_printf(out, "\n- ");
        else
            add_text(out, one);
    }
    oa_text_printf(out, "\n\n");
}

static void add_mechanism(struct oa_text *out, oa_context *c, const struct oa_mechanism *m)
{
    oa_text_printf(out, "### %s\n\n**%s.** ", m->name, m->title);
    add_text(out, m->citation);
    oa_text_printf(out, "\n\n");
    add_code(out, m->formula);
    add_options(out, m);
    add_modes(out, c, m);
    oa_text_printf(out, "- **cost:** ");
    add_text(out, m->cost);
    oa_text_printf(out, "\n- **decoding keeps:** ");
    add_text(out, m->state);
    oa_text_printf(out, "\n\n");
    if (m->caveats) {
        add_text(out, m->caveats);
        oa_text_printf(out, "\n\n");
    }
    add_mistakes(out, m->mistakes);
}

static void add_overview(struct oa_text *out)
{
    const struct oa_mechanism *m;
    oa_text_printf(out, "| name | is | causal | cross | mixes | bound to N | cost "
                        "|\n|---|---|---|---|---|---|---|\n");
    for (int i = 0; (m = oa_mechanism_at(i)); i++) {
        static const unsigned flags[] = { OA_CAN_CAUSAL, OA_CAN_CROSS, OA_CAN_MIX,
                                          OA_BOUND_LENGTH };
        oa_text_printf(out, "| [`%s`](#%s) | %s ", m->name, m->name, m->title);
        for (int f = 0; f < 4; f++)
            oa_text_printf(out, "| %s ", m->can & flags[f] ? "yes" : "–");
        oa_text_printf(out, "| ");
        add_text(out, m->cost);
        oa_text_printf(out, " |\n");
    }
    oa_text_printf(out, "\nA mixture is bound to N where a component is.\n\n");
}

/* ---- the language
 * ---------------------------------------------------------------------------------------------- */

static void add_language(struct oa_text *out)
{
    const char *name;
    char meaning[256];
    oa_text_printf(out, "## The language\n\n```\n%s```\n\n", oa_grammar);
    oa_text_printf(out, "- `;` between layers: the layers of a model take the entries in turn. "
                        "`local(window=64) ; softmax`\n"
                        "- `|` between groups of heads of one layer; `:3` gives a group 3 heads, "
                        "groups without a count share what is "
                        "left\n  equally, and it must divide. `pattern(previous):1 | softmax:7`\n"
                        "- `+` mixes logits before one softmax. `random + softmax`; `mix(A, B, "
                        "alpha=…)` is the long form.\n"
                        "- `&` between the stacks of a model, each with its label: `encoder: "
                        "raganato & decoder: random + softmax & "
                        "cross: linear`.\n  `encoder` and `decoder` are self-attention, "
                        "bidirectional and causal, `cross` is what the "
                        "decoder reads the encoder by. Their order\n  is free; a stack without a "
                        "label is `softmax`. A text without "
                        "labels is the self-attention of every stack. A label of a stack\n  that "
                        "the model does not have is refused: a "
                        "language model has a decoder.\n"
                        "- An option is `key=value`; a bare word sets the flag of that name, or "
                        "the option that has the word among its "
                        "values.\n- White space is free. What does not exist is refused with its "
                        "place, the nearest valid spelling and "
                        "all that would be valid.\n- What cannot be right is refused with a "
                        "sentence, never silently changed.\n\n"
                        "`favor#` among the values of `kernel` is `sderf`. Also spelt:\n\n");
    for (int i = 0; oa_alias_at(i, &name, meaning, sizeof meaning); i++)
        oa_text_printf(out, "- `%s` is `%s`\n", name, meaning);
    oa_text_printf(out, "\n");
}

static void add_projections(struct oa_text *out)
{
    oa_text_printf(out,
                   "## Projections\n\nEvery mechanism with queries and keys takes these. They act "
                   "on the projected rows, "
                   "before any feature map:\nq = s·t·Λ (x W\\_Q), k = s (x W\\_K), with s = √(D/K) "
                   "for `scale=jl` and "
                   "else 1; the scalar t and the diagonal Λ of a\nhead belong to the queries and "
                   "start at 1.\n\n%s",
                   option_head);
    for (const struct oa_argument *a = oa_mechanism_find("softmax")->arguments; a->key; a++) {
        if (!is_relative(a))
            add_option(out, a);
    }
    oa_text_printf(out, "\nAll values of `qk` but `learned` are frozen random matrices, made again "
                        "from the seed; what "
                        "is true of them\nis measured by `orthant theory`:\n\n");
    for (int i = OA_PROJECTION_DRAWN; i < OA_PROJECTIONS; i++) {
        oa_text_printf(out, "- `%s`: ", oa_projection_name((enum oa_projection)i));
        add_text(out, oa_projection_description((enum oa_projection)i));
        oa_text_printf(out, "\n");
    }
    oa_text_printf(out, "\nWith D = 2^a·b, b odd and above 1, the Hadamard matrices of `srht` and "
                        "`hd3` are those of 2^a times "
                        "(Kronecker) one uniform b×b\nmatrix. Frozen projections have no bias. "
                        "Rotary positions come "
                        "last, behind s, t and Λ.\n\n");
}

static void add_relative(struct oa_text *out)
{
    static const struct oa_argument rows[] = { OA_RELATIVE_ARGUMENTS, { .key = NULL } };
    oa_text_printf(out,
                   "## Relative positions\n\nEvery mechanism whose map is a softmax of logits over "
                   "tokens takes these, and a "
                   "mixture "
                   "as a whole: `mix(random, softmax, relative=t5)`.\nThey add to the logit of "
                   "query i and key j what their "
                   "distance "
                   "j − i says, whichever keys the support leaves.\nSynthesizers by themselves do "
                   "not take them, as their tables "
                   "already have a number for each place, nor does `linformer`,\nwhose keys are no "
                   "tokens. Not in "
                   "cross-attention.\n\n%s",
                   option_head);
    for (const struct oa_argument *a = rows; a->key; a++)
        add_option(out, a);
    for (int kind = OA_RELATIVE_ALIBI; kind <= OA_RELATIVE_T5; kind++) {
        struct oa_atom atom = { .mechanism = oa_mechanism_find("softmax") };
        const struct oa_argument *first = atom.mechanism->arguments;
        atom.value[find_row(first, "relative") - first].number = kind;
        const struct oa_relative_description *r = oa_relative_text(&atom);
        oa_text_printf(out, "\n**%s.** ", r->name);
        add_text(out, r->citation);
        oa_text_printf(out, "\n\n");
        add_code(out, r->formula);
        oa_text_printf(out, "Costs ");
        add_text(out, r->cost);
        oa_text_printf(out, ".\n");
    }
    oa_text_printf(out, "\nWith `share=layers` all layers have the `relative.bias` of layer 0, as "
                        "in T5; otherwise each "
                        "layer has its own. It begins\nas a normal draw of deviation 1/√D.\n\n");
}

enum oa_error oa_attention_list_markdown(oa_context *c, struct oa_text *out)
{
    const struct oa_mechanism *m;
    oa_text_printf(
        out,
        "# Attention: the language and the mechanisms\n\n"
        "This page is what `orthant list --markdown` prints; a test compares the two. One "
        "attention at the "
        "shape of a model,\nwith its numbers: `orthant explain \"local(window=64) | softmax\"`.\n\n"
        "Letters: n tokens, t tokens so far, D width of the model, H heads, K width of a head's "
        "queries and "
        "keys,\nV width of its values, N the longest length of the model, r features, τ = 1/√K. "
        "Indices count "
        "from 0; rows are tokens.\n\n");
    add_language(out);
    add_projections(out);
    add_relative(out);
    oa_text_printf(out, "## Mechanisms\n\n");
    add_overview(out);
    for (int i = 0; (m = oa_mechanism_at(i)) && oa_status(c) == OA_OK; i++)
        add_mechanism(out, c, m);
    oa_text_cut(out, out->length ? out->length - 1 : 0); /* one line end at the end of a file */
    return oa_status(c);
}
