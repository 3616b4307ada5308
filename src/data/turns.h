/* SPDX-License-Identifier: Apache-2.0
 * Sequences in which chosen tokens are targets (OA_ANSWER_TOKENS). The first cell of a row has a
 * letter for each other cell:
 *
 *     s u a t   a message of the system, the user, the assistant, a tool ("ua": prompt, answer)
 *     i g       tokens and their targets, word by word; OA_NO_TARGET: the word has none
 *
 * Messages are read as <|user|> text <|end|> <|assistant|> text <|end|>; targets are the tokens of
 * the assistant's texts and their ends. */
#ifndef ORTHANT_DATA_TURNS_H
#define ORTHANT_DATA_TURNS_H

#include "data/examples.h"

#define OA_TURN_END "<|end|>"
#define OA_NO_TARGET "-"

char oa_role_letter(const char *role); /* 0: unknown */
/* The first cell of a row of prompt and answer, or of tokens and targets. */
enum oa_error oa_rows_add_roles(struct oa_rows *rows, bool aligned);
/* Whether a cell has targets of the words of the cell before it. */
bool oa_rows_are_targets(const struct oa_rows *rows, size_t row, int cell);
/* Appends the targets of such a cell, without OA_NO_TARGET. */
void oa_add_targets(const char *s, size_t length, struct oa_text *out);

/* oa_examples_encode of such rows. Sequences that are too long lose their beginning. */
enum oa_error oa_turns_encode(struct oa_tokenizer *tok, const struct oa_rows *rows,
                              const struct oa_example_layout *layout, struct oa_examples *out);
/* Appends a prompt as a message of the user, and the beginning of an answer; the tokenizer has the
 * roles. */
enum oa_error oa_turns_encode_prompt(struct oa_tokenizer *tok, const char *prompt, size_t length,
                                     struct oa_ids *ids);

#endif
