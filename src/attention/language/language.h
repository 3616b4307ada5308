/* SPDX-License-Identifier: Apache-2.0
 * The parts of the attention language. Files, in the order of parsing:
 *
 *     language_reader.c    tokens, error messages
 *     language_stacks.c    labelled stacks of a model, &
 *     language_parse.c     layers ; groups | mixtures + atoms
 *     language_options.c   names and options inside of parentheses
 *     language_print.c     canonical form of struct oa_spec, oa_stack_specs
 *     language_same.c      whether two of them are the same function
 *
 * Callers use spec.h: oa_stacks_parse or oa_stack_parse for a model, oa_spec_parse for a layer. */
#ifndef ORTHANT_ATTENTION_LANGUAGE_H
#define ORTHANT_ATTENTION_LANGUAGE_H

#include "attention/mechanism.h"

/* Limits on what a text can allocate. */
#define LONGEST_TEXT 8192
#define MOST_LAYERS 1024
#define MOST_HEADS 1024

struct oa_language_reader {
    oa_context *context;
    const char *text;
    size_t at;               /* the next byte */
    int inside;              /* open parentheses: + is a letter there (kernel=favor+) */
    unsigned stacks;         /* of the model (OA_STACK); 0: a single layer, mode unknown */
    enum oa_stack_role role; /* of the current stack */
    /* The text is the expansion of an alias in this one, at alias_at, where errors point; or NULL.
     */
    const struct oa_language_reader *alias;
    size_t alias_at;
};

struct oa_word {
    size_t at;
    char text[64]; /* empty: no word here */
};

/* All skip white space first. */
char oa_peek(struct oa_language_reader *r);
bool oa_accept(struct oa_language_reader *r, char mark);
struct oa_word oa_read_word(struct oa_language_reader *r);
struct oa_word oa_read_value(struct oa_language_reader *r, char *value,
                             size_t size); /* up to , ) or the end; empty if too long */
/* "unexpected \"WORD\"", for error messages. */
void oa_describe_next(struct oa_language_reader *r, char *out, size_t size);

/* Records "attention, character N: MESSAGE" with the text and a caret below the character. */
enum oa_error oa_syntax_error(const struct oa_language_reader *r, size_t at, const char *format,
                              ...) OA_PRINTF(3, 4);
/* The same with OA_UNSUPPORTED: valid, but impossible in this mode. */
enum oa_error oa_mode_error(const struct oa_language_reader *r, size_t at, const char *sentence);

/* ---- layers (language_parse.c) and stacks (language_stacks.c) ---- */

enum oa_error oa_check_length(oa_context *c, const char *text); /* at most LONGEST_TEXT bytes */
/* Stops at the first byte that cannot continue. */
enum oa_error oa_parse_layers(struct oa_language_reader *r, struct oa_spec *out);
/* Refuses trailing text; more: what could follow, "( : + | or ;". */
enum oa_error oa_expect_end(struct oa_language_reader *r, const char *more);
/* Whether the text starts with a label, even misspelled. */
bool oa_begins_with_label(const struct oa_language_reader *r);

/* ---- names and options (language_options.c) ---- */

#define MIXTURE "mix"
#define RAGANATO "raganato" /* the one alias for groups of heads */
extern const char oa_raganato[];
/* Alias i and its expansion; false past the end. */
bool oa_alias_at(int i, const char **name, char *meaning, size_t size);
extern const char oa_grammar[]; /* one rule per line */

/* Mechanism of a name or alias; *preset: the options that the alias sets, or NULL. */
const struct oa_mechanism *oa_name_mechanism(const char *name, const char **preset);
enum oa_error oa_unknown_mechanism(const struct oa_language_reader *r, const struct oa_word *w,
                                   bool component);
/* "; did you mean X?" or "." */
void oa_suggest(const char *word, const char *const *names, int count, char *out, size_t size);
void oa_atom_start(struct oa_atom *a, const struct oa_mechanism *m);
enum oa_error oa_set_option(struct oa_language_reader *r, struct oa_atom *a,
                            const struct oa_word *key);
enum oa_error oa_set_word(const struct oa_language_reader *r, struct oa_atom *a,
                          const struct oa_word *w);

/* In the canonical form: constant defaults are omitted; where the default depends on the model,
 * given values are printed. */
bool oa_value_is_printed(const struct oa_argument *a, const struct oa_value *v);

#endif
