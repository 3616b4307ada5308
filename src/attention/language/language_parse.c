/* SPDX-License-Identifier: Apache-2.0
 * Recursive-descent parser of the attention language (grammar below). Recursion: components of
 * mix(…) and the alias for groups, each one level deep. */
#include "attention/language/language.h"

#include <stdlib.h>
#include <string.h>

const char oa_grammar[] = "model  := stack (\"&\" stack)* | layers\n"
                          "stack  := (\"encoder\" | \"decoder\" | \"cross\") \":\" layers\n"
                          "layers := heads (\";\" heads)*\n"
                          "heads  := group (\"|\" group)*\n"
                          "group  := term [\":\" count]\n"
                          "term   := atom (\"+\" atom)*\n"
                          "atom   := name [\"(\" arg (\",\" arg)* \")\"]\n"
                          "arg    := key \"=\" value | word | atom\n";

static enum oa_error parse_mixture_component(struct oa_language_reader *r, struct oa_atom *out,
                                             const struct oa_word *name);

/* ---- atoms ---- */

/* Appends a zeroed element to the list at *list; NULL after a failure. */
static void *list_grow(oa_context *c, void *list, int *count, size_t size)
{
    char **elements = list;
    if ((*count & (*count - 1)) == 0) { /* full at 0, 1, 2, 4, 8 … */
        size_t old = (size_t)*count * size;
        char *grown = oa_grow(c, *elements, old, old ? 2 * old : size);
        if (!grown)
            return NULL;
        *elements = grown;
    }
    char *element = *elements + (size_t)*count * size;
    memset(element, 0, size);
    ++*count;
    return element;
}

static enum oa_error mixture_add_component(struct oa_language_reader *r, struct oa_atom *mixture,
                                           const struct oa_word *name)
{
    if (mixture->children == OA_MAX_PARTS)
        return oa_syntax_error(r, name->at, "a mixture has at most %d components.", OA_MAX_PARTS);
    struct oa_atom *child =
        list_grow(r->context, &mixture->child, &mixture->children, sizeof *child);
    return child ? parse_mixture_component(r, child, name) : OA_NO_MEMORY;
}

static enum oa_error parse_atom_argument(struct oa_language_reader *r, struct oa_atom *a)
{
    struct oa_word w = oa_read_word(r);
    char here[96];
    oa_describe_next(r, here, sizeof here);
    if (!w.text[0])
        return oa_syntax_error(r, w.at, "%s; expected an option of %s.", here, a->mechanism->name);
    if (oa_accept(r, '='))
        return oa_set_option(r, a, &w);
    const char *preset;
    bool mixture = strcmp(a->mechanism->name, MIXTURE) == 0;
    if (mixture && (oa_peek(r) == '(' || oa_name_mechanism(w.text, &preset)))
        return mixture_add_component(r, a, &w);
    return oa_set_word(r, a, &w);
}

static enum oa_error parse_atom_arguments(struct oa_language_reader *r, struct oa_atom *a)
{
    r->inside++;
    do
        OA_TRY(parse_atom_argument(r, a));
    while (oa_accept(r, ','));
    char here[96];
    oa_describe_next(r, here, sizeof here);
    if (!oa_accept(r, ')'))
        return oa_syntax_error(r, r->at, "%s; expected \",\" or \")\" in the options of %s.", here,
                               a->mechanism->name);
    r->inside--;
    return OA_OK;
}

/* Sets the options of an alias at byte `at`: those that follow it may replace them. */
static enum oa_error atom_set_preset(const struct oa_language_reader *r, struct oa_atom *a,
                                     const char *options, size_t at)
{
    struct oa_language_reader alias = {
        .context = r->context, .text = options, .inside = 1, .alias = r, .alias_at = at
    };
    do
        OA_TRY(parse_atom_argument(&alias, a));
    while (oa_accept(&alias, ','));
    for (int i = 0; i < OA_MAX_ARGUMENTS; i++)
        a->value[i].preset = a->value[i].given;
    return OA_OK;
}

/* Conflicting options, and options that the stack does not allow. */
static enum oa_error atom_check(const struct oa_language_reader *r, const struct oa_atom *a,
                                size_t at)
{
    const struct oa_mechanism *m = a->mechanism;
    bool causal = r->role == OA_STACK_DECODER, cross = r->role == OA_STACK_CROSS;
    char sentence[512];
    if (r->stacks && oa_atom_mode_clash(a, causal, cross, sentence, sizeof sentence))
        return oa_mode_error(r, at, sentence);
    bool wrong = (m->clash && m->clash(a, sentence, sizeof sentence)) ||
                 oa_relative_clash(a, sentence, sizeof sentence) ||
                 oa_head_clash(a, sentence, sizeof sentence);
    if (!wrong && m->can & OA_HAS_QUERIES)
        wrong = oa_project_clash(a, sentence, sizeof sentence);
    return wrong ? oa_syntax_error(r, at, "%s: %s", m->name, sentence) : OA_OK;
}

static enum oa_error parse_atom(struct oa_language_reader *r, struct oa_atom *out,
                                const struct oa_word *name)
{
    const char *preset;
    const struct oa_mechanism *m = oa_name_mechanism(name->text, &preset);
    if (!m)
        return oa_unknown_mechanism(r, name, false);
    oa_atom_start(out, m);
    if (preset)
        OA_TRY(atom_set_preset(r, out, preset, name->at));
    if (oa_accept(r, '('))
        OA_TRY(parse_atom_arguments(r, out));
    return atom_check(r, out, name->at);
}

static enum oa_error parse_mixture_component(struct oa_language_reader *r, struct oa_atom *out,
                                             const struct oa_word *name)
{
    const char *preset;
    const struct oa_mechanism *m = oa_name_mechanism(name->text, &preset);
    if (!m || !(m->can & OA_CAN_MIX))
        return oa_unknown_mechanism(r, name, true);
    int outside = r->inside;
    enum oa_error e = parse_atom(r, out, name);
    r->inside = outside;
    return e;
}

/* ---- mixtures, groups, layers ---- */

/* A + B: makes the parsed atom the first component of a mixture. */
static enum oa_error atom_to_mixture(struct oa_language_reader *r, struct oa_atom *a, size_t at)
{
    struct oa_atom first = *a;
    if (!(first.mechanism->can & OA_CAN_MIX)) {
        struct oa_word w = { .at = at };
        snprintf(w.text, sizeof w.text, "%s", first.mechanism->name);
        return oa_unknown_mechanism(r, &w, true);
    }
    oa_atom_start(a, oa_mechanism_find(MIXTURE));
    struct oa_atom *child = list_grow(r->context, &a->child, &a->children, sizeof *child);
    if (!child)
        return OA_NO_MEMORY;
    *child = first;
    return OA_OK;
}

static enum oa_error parse_group_term(struct oa_language_reader *r, struct oa_atom *out,
                                      const struct oa_word *name)
{
    OA_TRY(parse_atom(r, out, name));
    if (oa_peek(r) != '+')
        return OA_OK;
    OA_TRY(atom_to_mixture(r, out, name->at));
    while (oa_accept(r, '+')) {
        struct oa_word next = oa_read_word(r);
        OA_TRY(mixture_add_component(r, out, &next));
    }
    return atom_check(r, out, name->at);
}

static enum oa_error parse_head_count(struct oa_language_reader *r, int *heads)
{
    struct oa_word w = oa_read_word(r);
    size_t digits = strspn(w.text, "0123456789");
    long n = digits > 0 && digits < 6 && !w.text[digits] ? strtol(w.text, NULL, 10) : 0;
    if (n < 1 || n > MOST_HEADS)
        return oa_syntax_error(r, w.at, "expected a number of heads from 1 to %d after \":\".",
                               MOST_HEADS);
    *heads = (int)n;
    return OA_OK;
}

static enum oa_error parse_head_groups(struct oa_language_reader *r, struct oa_layer_spec *layer);

static enum oa_error expand_alias(struct oa_language_reader *r, struct oa_layer_spec *layer,
                                  const struct oa_word *name)
{
    char mark = oa_peek(r);
    if (mark == '(' || mark == ':' || mark == '+')
        return oa_syntax_error(r, r->at,
                               "%s stands for eight groups of heads; it takes no options or count "
                               "and cannot be mixed.",
                               name->text);
    struct oa_language_reader expansion = { .context = r->context,
                                            .text = oa_raganato,
                                            .stacks = r->stacks,
                                            .role = r->role,
                                            .alias = r,
                                            .alias_at = name->at };
    return parse_head_groups(&expansion, layer);
}

static enum oa_error parse_head_group(struct oa_language_reader *r, struct oa_layer_spec *layer)
{
    struct oa_word name = oa_read_word(r);
    if (strcmp(name.text, RAGANATO) == 0)
        return expand_alias(r, layer, &name);
    if (layer->groups >= MOST_HEADS)
        return oa_syntax_error(r, name.at, "a layer has at most %d groups of heads.", MOST_HEADS);
    struct oa_group_spec *g = list_grow(r->context, &layer->group, &layer->groups, sizeof *g);
    if (!g)
        return OA_NO_MEMORY;
    OA_TRY(parse_group_term(r, &g->atom, &name));
    return oa_accept(r, ':') ? parse_head_count(r, &g->heads) : OA_OK;
}

static enum oa_error parse_head_groups(struct oa_language_reader *r, struct oa_layer_spec *layer)
{
    do
        OA_TRY(parse_head_group(r, layer));
    while (oa_accept(r, '|'));
    return OA_OK;
}

enum oa_error oa_parse_layers(struct oa_language_reader *r, struct oa_spec *out)
{
    do {
        if (out->layers == MOST_LAYERS)
            return oa_syntax_error(r, r->at, "more than %d layers.", MOST_LAYERS);
        struct oa_layer_spec *layer =
            list_grow(r->context, &out->layer, &out->layers, sizeof *layer);
        if (!layer)
            return OA_NO_MEMORY;
        OA_TRY(parse_head_groups(r, layer));
    } while (oa_accept(r, ';'));
    return OA_OK;
}

enum oa_error oa_expect_end(struct oa_language_reader *r, const char *more)
{
    char here[96];
    oa_describe_next(r, here, sizeof here);
    if (oa_peek(r))
        return oa_syntax_error(r, r->at, "%s; expected the end or one of %s", here, more);
    return OA_OK;
}

enum oa_error oa_check_length(oa_context *c, const char *text)
{
    size_t length = strlen(text);
    if (length > LONGEST_TEXT)
        return oa_fail(c, OA_ARGUMENT, "the attention is %zu bytes long; the limit is %d", length,
                       LONGEST_TEXT);
    return OA_OK;
}

enum oa_error oa_spec_parse(oa_context *c, const char *text, struct oa_spec *out)
{
    *out = (struct oa_spec){ 0 };
    OA_TRY(oa_check_length(c, text));
    struct oa_language_reader r = { .context = c, .text = text };
    if (oa_begins_with_label(&r))
        return oa_syntax_error(&r, 0,
                               "encoder:, decoder: and cross: label the stacks of a model; this is "
                               "the attention of one layer: remove the label.");
    OA_TRY(oa_parse_layers(&r, out));
    return oa_expect_end(&r, "( : + | or ;");
}

/* ---- freeing ---- */

void oa_spec_free(struct oa_spec *s)
{
    for (int l = 0; l < s->layers; l++) {
        for (int g = 0; g < s->layer[l].groups; g++)
            oa_free(s->layer[l].group[g].atom.child);
        oa_free(s->layer[l].group);
    }
    oa_free(s->layer);
    *s = (struct oa_spec){ 0 };
}

enum oa_error oa_spec_check(oa_context *c, const char *text)
{
    struct oa_spec spec;
    enum oa_error e = oa_spec_parse(c, text, &spec);
    oa_spec_free(&spec);
    return e;
}
