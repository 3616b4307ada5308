/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the attention language share. The way of a text:
 *
 *     language_reader.c (bytes, words, sentences of errors) ── language_stacks.c (the stacks of a
 * model, labelled, &) ── language_parse.c (layers ; groups | mixtures + atoms) ──
 * language_options.c (names and values inside the parentheses) ── struct oa_spec, struct
 * oa_stack_specs ── language_print.c
 *
 * What a model calls is in attention.h: oa_stacks_parse with the stacks that it has, or
 * oa_stack_parse if that is one; oa_spec_parse is for one layer by itself, which has no stacks.
 */
#ifndef ORTHANT_ATTENTION_LANGUAGE_H
#define ORTHANT_ATTENTION_LANGUAGE_H

#include "attention/mechanism.h"

/* Sizes that bound what any text can make: far beyond use, small enough for any machine. */
#define LONGEST_TEXT 8192
#define MOST_LAYERS 1024
#define MOST_HEADS 1024

struct oa_language_reader {
    oa_context *context;
    const char *text;
    size_t at;       /* the next byte */
    int inside;      /* parentheses that are open: + is a letter there (kernel=favor+) */
    unsigned stacks; /* that the model has (OA_STACK); 0: the text is of one layer, and no mode is
                        known */
    enum oa_stack_role role; /* of the stack whose layers are read */
    const struct oa_language_reader
        *alias; /* the text is what an alias there stands for, and errors point at it; NULL: no */
    size_t alias_at;
};

struct oa_word {
    size_t at;
    char text[64]; /* empty: there is no word here */
};

/* Each skips white space first. */
char oa_peek(struct oa_language_reader *r);
bool oa_accept(struct oa_language_reader *r, char mark);
struct oa_word oa_read_word(struct oa_language_reader *r);
struct oa_word oa_read_value(struct oa_language_reader *r, char *value,
                             size_t size); /* up to , ) or the end; too long = empty */
void oa_describe_next(struct oa_language_reader *r, char *out,
                      size_t size); /* what stands at the next byte */

/* Records "attention, character N: <sentence>" with the text and a caret under the character. */
enum oa_error oa_syntax_error(const struct oa_language_reader *r, size_t at, const char *format,
                              ...) OA_PRINTF(3, 4);
/* The same for what is spelt well and cannot be right there: OA_UNSUPPORTED. */
enum oa_error oa_mode_error(const struct oa_language_reader *r, size_t at, const char *sentence);

/* ---- layers (language_parse.c) and stacks (language_stacks.c) ---- */

enum oa_error oa_check_length(oa_context *c,
                              const char *text); /* refuses a text that is too long to be read */
enum oa_error oa_parse_layers(struct oa_language_reader *r,
                              struct oa_spec *out); /* up to what cannot go on */
/* Refuses what is behind the end of what was read: `more` says how it could go on, "( : + | or ;".
 */
enum oa_error oa_expect_end(struct oa_language_reader *r, const char *more);
/* Does the text begin with a label, misspelt or not? */
bool oa_begins_with_label(const struct oa_language_reader *r);

/* ---- names and options (language_options.c) ---- */

#define MIXTURE "mix"
#define RAGANATO "raganato" /* the one alias for groups of heads */
extern const char oa_raganato[];
/* Alias i and what it stands for; false past the end. */
bool oa_alias_at(int i, const char **name, char *meaning, size_t size);
extern const char oa_grammar[]; /* of the language, one rule a line */

/* Mechanism of a name or an alias; `preset` becomes the flag that the alias stands for, or NULL. */
const struct oa_mechanism *oa_name_mechanism(const char *name, const char **preset);
enum oa_error oa_unknown_mechanism(const struct oa_language_reader *r, const struct oa_word *w,
                                   bool component);
/* "; did you mean X?" or "." */
void oa_suggest(const char *word, const char *const *names, int count, char *out, size_t size);
void oa_atom_start(struct oa_atom *a, const struct oa_mechanism *m, const char *preset);
enum oa_error oa_set_option(struct oa_language_reader *r, struct oa_atom *a,
                            const struct oa_word *key);
enum oa_error oa_set_word(const struct oa_language_reader *r, struct oa_atom *a,
                          const struct oa_word *w);

/* Word i of "one|two|three" into `word`; false past the end. */
bool oa_choice_word(const char *choices, int i, char *word, size_t size);
/* Whether word i of "one|two|three" is `word`; oracles ask for every pair of tokens. */
bool oa_choice_is(const char *choices, int i, const char *word);

#endif
