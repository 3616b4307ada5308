/* SPDX-License-Identifier: Apache-2.0
 * docs/attention.md: the attention language and every mechanism, from the tables of the mechanisms.
 * Unsupported modes and option values are found by opening a layer with them. */
#include "attention/language/language.h"
#include "explain/explain.h"

#include <string.h>

/* ---- text ---- */

/* Text of a paragraph or a cell: escapes the special characters of Markdown outside of `code`. */
static void add_escaped_markdown(struct oa_text *out, const char *text)
{
    bool code = false;
    for (; *text; text++) {
        code ^= *text == '`';
        if (!code && strchr("*_|<", *text))
            oa_text_printf(out, "\\");
        oa_text_add(out, text, 1);
    }
}

/* Formulas as a code block, one line for each of those that ";  " separates. */
static void add_formula(struct oa_text *out, const char *text)
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

/* ---- options ---- */

static const struct oa_argument relative_arguments[] = { OA_RELATIVE_ARGUMENTS, { .key = NULL } };

static const struct oa_argument *find_argument(const struct oa_argument *rows, const char *key)
{
    while (rows->key && strcmp(rows->key, key) != 0)
        rows++;
    return rows->key ? rows : NULL;
}

static const struct oa_argument head_arguments[] = { OA_KV_ARGUMENT,        OA_QKNORM_ARGUMENT,
                                                     OA_NORMALISE_ARGUMENT, OA_FORGET_ARGUMENT,
                                                     OA_GATE_ARGUMENT,      { .key = NULL } };

static bool is_head_option(const struct oa_argument *a)
{
    return find_argument(head_arguments, a->key);
}

static bool is_relative_option(const struct oa_argument *a)
{
    return find_argument(relative_arguments, a->key);
}

/* The options of softmax, without head options and those for relative positions, are the projection
 * options, which all mechanisms with queries and keys share. */
static bool is_projection_option(const struct oa_mechanism *m, const struct oa_argument *a)
{
    if (is_relative_option(a) || is_head_option(a))
        return false;
    const struct oa_argument *shared =
        find_argument(oa_mechanism_find("softmax")->arguments, a->key);
    return m->can & OA_HAS_QUERIES && shared && strcmp(shared->help, a->help) == 0;
}

static void add_option_values(struct oa_text *out, const struct oa_argument *a)
{
    char word[64];
    switch (a->kind) {
    case OA_VALUE_CHOICE:
        for (int i = 0; oa_choice_at(a->choices, i, word, sizeof word); i++)
            oa_text_printf(out, "%s`%s`", i ? ", " : "", word);
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
        oa_text_printf(out, "numbers separated by /");
        break;
    default:
        oa_text_printf(out, "text");
    }
}

static void add_option_row(struct oa_text *out, const struct oa_argument *a)
{
    char word[64];
    if (a->key[0])
        oa_text_printf(out, "| `%s` | ", a->key);
    else
        oa_text_printf(out, "| a bare word | ");
    add_option_values(out, a);
    if (a->kind == OA_VALUE_CHOICE && oa_choice_at(a->choices, 0, word, sizeof word))
        oa_text_printf(out, " | `%s` | ", word);
    else
        oa_text_printf(out, " | %s | ",
                       a->kind == OA_VALUE_FLAG ? "no"
                       : a->fallback            ? a->fallback
                                                : "auto");
    add_escaped_markdown(out, a->help);
    oa_text_printf(out, " |\n");
}

static const char option_head[] =
    "| option | values | default | description |\n|---|---|---|---|\n";

/* Which projection options the mechanism lacks, and which of its defaults differ. */
static void add_projection_line(struct oa_text *out, const struct oa_mechanism *m)
{
    const struct oa_argument *shared = oa_mechanism_find("softmax")->arguments;
    oa_text_printf(out, "Takes the [projection options](#projections)");
    for (const struct oa_argument *a = shared; a->key; a++) {
        const struct oa_argument *own = find_argument(m->arguments, a->key);
        char word[64];
        if (is_relative_option(a) || is_head_option(a))
            continue;
        if (!own || !is_projection_option(m, own))
            oa_text_printf(out, ", but not `%s`", a->key);
        else if (own->choices && strcmp(own->choices, a->choices) != 0 &&
                 oa_choice_at(own->choices, 0, word, sizeof word))
            oa_text_printf(out, ", with `%s=%s` as the default", a->key, word);
    }
    oa_text_printf(out, ".\n\n");
}

static void add_head_line(struct oa_text *out, const struct oa_mechanism *m)
{
    const char *before = "Takes the [head options](#head-options)";
    for (const struct oa_argument *a = m->arguments; a->key; a++) {
        if (!is_head_option(a))
            continue;
        oa_text_printf(out, "%s `%s`", before, a->key);
        before = ",";
    }
    oa_text_printf(out, ".\n\n");
}

static void add_mechanism_options(struct oa_text *out, const struct oa_mechanism *m)
{
    int own = 0;
    for (const struct oa_argument *a = m->arguments; a->key; a++) {
        if (is_projection_option(m, a) || is_relative_option(a) || is_head_option(a))
            continue;
        oa_text_printf(out, "%s", own++ ? "" : option_head);
        add_option_row(out, a);
    }
    oa_text_printf(out, "%s", own ? "\n" : "");
    if (m->can & OA_HAS_QUERIES)
        add_projection_line(out, m);
    add_head_line(out, m);
    if (find_argument(m->arguments, "relative"))
        oa_text_printf(out, "Takes [relative positions](#relative-positions).\n\n");
}

/* ---- modes ---- */

/* Finds the modes of an attention at the default shape. False: its options exclude each other. */
static bool find_modes(oa_context *c, const char *spec, struct oa_explanation *s)
{
    struct oa_options o;
    oa_options_default(&o);
    bool good =
        oa_explanation_open(c, spec, &o, s) == OA_OK && oa_explanation_open_layer(s, 0) == OA_OK;
    if (!good && oa_status(c) != OA_NO_MEMORY)
        oa_clear_error(c);
    oa_explanation_close(s);
    return good;
}

/* The option values with which a mechanism lacks a mode that it has by default. */
static void add_mode_exceptions(struct oa_text *out, oa_context *c, const struct oa_mechanism *m,
                                enum oa_mode mode)
{
    int found = 0;
    for (const struct oa_argument *a = m->arguments; a->key; a++) {
        char word[64], option[128], spec[200];
        if (is_projection_option(m, a) || is_relative_option(a) || is_head_option(a) ||
            a->kind != OA_VALUE_CHOICE)
            continue;
        for (int i = 1; oa_choice_at(a->choices, i, word, sizeof word); i++) {
            struct oa_explanation s;
            snprintf(option, sizeof option, "%s%s%s", a->key, a->key[0] ? "=" : "", word);
            snprintf(spec, sizeof spec, "%s(%s)", m->name, option);
            if (find_modes(c, spec, &s) && !s.can[mode])
                oa_text_printf(out, "%s`%s`", found++ ? ", " : ", but not with ", option);
        }
    }
}

static void add_modes(struct oa_text *out, oa_context *c, const struct oa_mechanism *m)
{
    static const char *const names[OA_MODES] = { "bidirectional", "causal", "cross-attention" };
    struct oa_explanation s;
    if (!find_modes(c, strcmp(m->name, MIXTURE) == 0 ? "random + softmax" : m->name, &s))
        return;
    for (int mode = OA_MODE_CAUSAL; mode < OA_MODES; mode++) {
        oa_text_printf(out, "- **%s:** ", names[mode]);
        if (s.can[mode]) {
            oa_text_printf(out, "yes");
            add_mode_exceptions(out, c, m, (enum oa_mode)mode);
        } else {
            oa_text_printf(out, "no; ");
            add_escaped_markdown(out, s.why_not[mode]);
        }
        oa_text_printf(out, "\n");
    }
    oa_text_printf(out, "- **in a mixture:** %s\n", m->can & OA_CAN_MIX ? "yes" : "no");
    oa_text_printf(out, "- **longer sequences than trained for:** %s\n",
                   m->can & OA_BOUND_LENGTH        ? "no, it has parameters for at most N tokens"
                   : strcmp(m->name, MIXTURE) == 0 ? "if all components can"
                                                   : "yes");
    oa_text_printf(out, "- **attention dropout:** %s\n",
                   m->can & OA_DROPS ? "yes"
                                     : "no effect: only softmax weights over keys are dropped");
}

/* ---- mechanisms ---- */

static void add_mistakes(struct oa_text *out, const char *text)
{
    if (!text) {
        oa_text_printf(out, "Known mistakes in other implementations: none.\n\n");
        return;
    }
    oa_text_printf(out, "Known mistakes in other implementations, avoided here:\n\n- ");
    for (const char *s = text; *s; s++) {
        char one[2] = { *s, 0 };
        if (*s == '\n')
            oa_text_printf(out, "\n- ");
        else
            add_escaped_markdown(out, one);
    }
    oa_text_printf(out, "\n\n");
}

static void add_mechanism_section(struct oa_text *out, oa_context *c, const struct oa_mechanism *m)
{
    oa_text_printf(out, "### %s\n\n**%s.** ", m->name, m->title);
    add_escaped_markdown(out, m->citation);
    oa_text_printf(out, "\n\n");
    add_formula(out, m->formula);
    add_mechanism_options(out, m);
    add_modes(out, c, m);
    oa_text_printf(out, "- **cost:** ");
    add_escaped_markdown(out, m->cost);
    oa_text_printf(out, "\n- **decoding state:** ");
    add_escaped_markdown(out, m->state);
    oa_text_printf(out, "\n\n");
    if (m->caveats) {
        add_escaped_markdown(out, m->caveats);
        oa_text_printf(out, "\n\n");
    }
    add_mistakes(out, m->mistakes);
}

static void add_mechanisms(struct oa_text *out)
{
    const struct oa_mechanism *m;
    for (int i = 0; (m = oa_mechanism_at(i)) && oa_status(out->context) == OA_OK; i++)
        add_mechanism_section(out, out->context, m);
    oa_text_cut(out, out->length ? out->length - 2 : 0); /* the file has the end of the line */
}

static void add_mechanism_table(struct oa_text *out)
{
    const struct oa_mechanism *m;
    oa_text_printf(out, "| name | title | causal | cross | mixes | bound to N | cost |\n"
                        "|---|---|---|---|---|---|---|");
    for (int i = 0; (m = oa_mechanism_at(i)); i++) {
        static const unsigned flags[] = { OA_CAN_CAUSAL, OA_CAN_CROSS, OA_CAN_MIX,
                                          OA_BOUND_LENGTH };
        oa_text_printf(out, "\n| [`%s`](#%s) | %s ", m->name, m->name, m->title);
        for (int f = 0; f < 4; f++)
            oa_text_printf(out, "| %s ", m->can & flags[f] ? "yes" : "–");
        oa_text_printf(out, "| ");
        add_escaped_markdown(out, m->cost);
        oa_text_printf(out, " |");
    }
}

/* ---- the page ---- */

static void add_grammar(struct oa_text *out)
{
    oa_text_printf(out, "%s", oa_grammar);
    oa_text_cut(out, out->length ? out->length - 1 : 0);
}

static void add_aliases(struct oa_text *out)
{
    const char *name;
    char meaning[256];
    for (int i = 0; oa_alias_at(i, &name, meaning, sizeof meaning); i++)
        oa_text_printf(out, "%s- `%s` is `%s`", i ? "\n" : "", name, meaning);
}

static void add_projection_options(struct oa_text *out)
{
    oa_text_printf(out, "%s", option_head);
    for (const struct oa_argument *a = oa_mechanism_find("softmax")->arguments; a->key; a++) {
        if (!is_relative_option(a) && !is_head_option(a))
            add_option_row(out, a);
    }
    oa_text_cut(out, out->length ? out->length - 1 : 0);
}

static void add_projections(struct oa_text *out)
{
    for (int i = OA_PROJECTION_DRAWN; i < OA_PROJECTIONS; i++) {
        oa_text_printf(out, "%s- `%s`: ", i == OA_PROJECTION_DRAWN ? "" : "\n",
                       oa_projection_name((enum oa_projection)i));
        add_escaped_markdown(out, oa_projection_description((enum oa_projection)i));
    }
}

static void add_head_options(struct oa_text *out)
{
    oa_text_printf(out, "%s", option_head);
    for (const struct oa_argument *a = head_arguments; a->key; a++)
        add_option_row(out, a);
    oa_text_cut(out, out->length ? out->length - 1 : 0);
}

static void add_option_description(struct oa_text *out, const char *name,
                                   const struct oa_option_description *r)
{
    oa_text_printf(out, "\n**%s.** ", name);
    add_escaped_markdown(out, r->citation);
    oa_text_printf(out, "\n\n");
    add_formula(out, r->formula);
    oa_text_printf(out, "Cost: ");
    add_escaped_markdown(out, r->cost);
    oa_text_printf(out, ".");
}

/* Of head options, or of those that only `linear` has: state updates. */
static void add_option_descriptions(struct oa_text *out, bool of_heads)
{
    const char *between = "";
    for (int i = 0; oa_head_text_at(i); i++) {
        char key[16];
        const char *option = oa_head_text_option(i);
        snprintf(key, sizeof key, "%.*s", (int)strcspn(option, "="), option);
        if (of_heads != (find_argument(head_arguments, key) != NULL))
            continue;
        oa_text_printf(out, "%s", between);
        add_option_description(out, option, oa_head_text_at(i));
        between = "\n";
    }
}

static void add_head_descriptions(struct oa_text *out)
{
    add_option_descriptions(out, true);
}

static void add_state_descriptions(struct oa_text *out)
{
    add_option_descriptions(out, false);
}

static void add_relative_options(struct oa_text *out)
{
    oa_text_printf(out, "%s", option_head);
    for (const struct oa_argument *a = relative_arguments; a->key; a++)
        add_option_row(out, a);
    oa_text_cut(out, out->length ? out->length - 1 : 0);
}

static void add_relative_positions(struct oa_text *out)
{
    const struct oa_argument *first = oa_mechanism_find("softmax")->arguments;
    for (int kind = OA_RELATIVE_ALIBI; kind <= OA_RELATIVE_T5; kind++) {
        struct oa_atom atom = { .mechanism = oa_mechanism_find("softmax") };
        atom.value[find_argument(first, "relative") - first].number = kind;
        const struct oa_option_description *r = oa_relative_text(&atom);
        add_option_description(out, r->name, r);
        oa_text_printf(out, "%s", kind < OA_RELATIVE_T5 ? "\n" : "");
    }
}

extern const char oa_attention_page_md[]; /* attention_page.md */

/* The page with every {{name}} replaced by what its function writes. */
enum oa_error oa_attention_list_markdown(oa_context *c, struct oa_text *out)
{
    static const struct {
        const char *name;
        void (*add)(struct oa_text *out);
    } parts[] = { { "{{grammar}}", add_grammar },
                  { "{{aliases}}", add_aliases },
                  { "{{projection options}}", add_projection_options },
                  { "{{projections}}", add_projections },
                  { "{{head options}}", add_head_options },
                  { "{{head descriptions}}", add_head_descriptions },
                  { "{{state descriptions}}", add_state_descriptions },
                  { "{{relative options}}", add_relative_options },
                  { "{{relative positions}}", add_relative_positions },
                  { "{{mechanism table}}", add_mechanism_table },
                  { "{{mechanisms}}", add_mechanisms } };
    const char *text = oa_attention_page_md;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *place = strstr(text, parts[i].name);
        if (!place)
            return oa_fail(c, OA_INTERNAL, "attention_page.md lacks %s", parts[i].name);
        oa_text_add(out, text, (size_t)(place - text));
        parts[i].add(out);
        text = place + strlen(parts[i].name);
    }
    oa_text_printf(out, "%s", text);
    return oa_status(c);
}
