/* SPDX-License-Identifier: Apache-2.0
 * Questions with several texts to choose from, one of them right: minimal pairs and multiple
 * choice, read from JSON Lines. */
#ifndef ORTHANT_DATA_QUESTIONS_H
#define ORTHANT_DATA_QUESTIONS_H

#include "base/base.h"

struct oa_question_text {
    size_t at, length; /* in oa_questions.text */
};

struct oa_question {
    struct oa_question_text context; /* length 0: none */
    int first, count, label; /* choices first … first + count - 1; the right one, from 0 */
    int file;
    uint64_t line; /* of the file, from 1 */
};

struct oa_questions {
    oa_context *context;
    struct oa_text text;
    struct oa_text files; /* names, each ended by 0 */
    struct oa_question_text *choice;
    struct oa_question *question;
    size_t choices, count, choice_capacity, capacity;
};

enum oa_question_kind {
    OA_MINIMAL_PAIRS, /* {"sentence_good": …, "sentence_bad": …}: no context, the first is right */
    OA_MULTIPLE_CHOICE /* {"context" or "question": …, "choices": […], "label": index from 0} */
};
/* files: between commas. Other keys are not read. OA_FORMAT names file and line. Close it also
 * after an error. */
enum oa_error oa_questions_read(oa_context *c, const char *files, enum oa_question_kind kind,
                                struct oa_questions *out);
void oa_questions_close(struct oa_questions *q);
const char *oa_questions_file(const struct oa_questions *q, int file);

#endif
