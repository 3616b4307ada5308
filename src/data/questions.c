/* SPDX-License-Identifier: Apache-2.0 */
#include "data/questions.h"

#include "data/example_parts.h"
#include "data/json_line.h"
#include "tokenizers/text.h"

#include <stdlib.h>
#include <string.h>

struct question_reader {
    struct oa_questions *q;
    enum oa_question_kind kind;
    struct oa_text_file file;
    int number; /* of the file */
    struct oa_json_object object;
};

static enum oa_error refuse_question(const struct question_reader *r, const char *what,
                                     const char *key)
{
    return oa_fail(r->q->context, OA_FORMAT, "%s, line %llu: %s%s%s%s", r->file.name,
                   (unsigned long long)(r->file.line - 1), what, key ? " \"" : "", key ? key : "",
                   key ? "\"" : "");
}

static enum oa_error find_question_key(const struct question_reader *r, const char *key,
                                       struct oa_json_value *out)
{
    int found = oa_json_find(&r->object, key, strlen(key), out);
    return found == 1 ? OA_OK : refuse_question(r, found ? "two keys" : "there is no key", key);
}

static enum oa_error add_question_text(struct question_reader *r, const char *key,
                                       const struct oa_json_value *value,
                                       struct oa_question_text *out)
{
    struct oa_text *text = &r->q->text;
    if (value->s[0] != '"')
        return refuse_question(r, "there is no string at key", key);
    out->at = text->length;
    const char *why = oa_json_string_text(value, text);
    if (why)
        return refuse_question(r, why, key);
    out->length = text->length - out->at;
    return oa_status(r->q->context);
}

static enum oa_error add_question_choice(struct question_reader *r, const char *key,
                                         const struct oa_json_value *value)
{
    struct oa_questions *q = r->q;
    if (!oa_reserve(q->context, &q->choice, &q->choice_capacity, q->choices + 1, sizeof *q->choice))
        return OA_NO_MEMORY;
    OA_TRY(add_question_text(r, key, value, &q->choice[q->choices]));
    if (q->choice[q->choices++].length == 0)
        return refuse_question(r, "an empty text at key", key);
    return OA_OK;
}

static enum oa_error read_pair(struct question_reader *r)
{
    static const char *const keys[] = { "sentence_good", "sentence_bad" };
    struct oa_json_value value;
    for (int i = 0; i < 2; i++) {
        OA_TRY(find_question_key(r, keys[i], &value));
        OA_TRY(add_question_choice(r, keys[i], &value));
    }
    return OA_OK;
}

static enum oa_error read_question_label(struct question_reader *r, struct oa_question *out)
{
    struct oa_json_value value;
    struct oa_number_text digits;
    OA_TRY(find_question_key(r, "label", &value));
    bool quoted = value.s[0] == '"';
    if (!oa_whole_number(value.s + quoted, value.length - (quoted ? 2 : 0), &digits) ||
        strlen(digits.s) > 6 || atol(digits.s) < 0 || atol(digits.s) >= out->count)
        return refuse_question(r, "the index of a choice, counted from 0, is expected at key",
                               "label");
    out->label = (int)atol(digits.s);
    return OA_OK;
}

static enum oa_error read_choices(struct question_reader *r, struct oa_question *out)
{
    struct oa_json_value value, item, other;
    size_t at = 0;
    const char *key = oa_json_find(&r->object, "context", 7, &other) ? "context" : "question";
    OA_TRY(find_question_key(r, key, &value));
    if (strcmp(key, "context") == 0 && oa_json_find(&r->object, "question", 8, &other))
        return refuse_question(r, "there is \"context\", so there must be no key", "question");
    OA_TRY(add_question_text(r, key, &value, &out->context));
    OA_TRY(find_question_key(r, "choices", &value));
    if (value.s[0] != '[')
        return refuse_question(r, "there is no list at key", "choices");
    while (oa_json_list_next(&value, &at, &item))
        OA_TRY(add_question_choice(r, "choices", &item));
    out->count = (int)r->q->choices - out->first;
    if (out->count < 2)
        return refuse_question(r, "fewer than two texts at key", "choices");
    return read_question_label(r, out);
}

static enum oa_error read_question(struct question_reader *r, const char *line, size_t length)
{
    struct oa_json_fault fault;
    struct oa_questions *q = r->q;
    struct oa_question new = {
        .first = (int)q->choices, .count = 2, .file = r->number, .line = r->file.line - 1
    };
    if (strspn(line, " \t") >= length)
        return OA_OK;
    if (!oa_json_object_cut(&r->object, line, length, &fault))
        return fault.why ? refuse_question(r, "not a JSON object on one line", NULL) : OA_NO_MEMORY;
    OA_TRY(r->kind == OA_MINIMAL_PAIRS ? read_pair(r) : read_choices(r, &new));
    if (!oa_reserve(q->context, &q->question, &q->capacity, q->count + 1, sizeof *q->question))
        return OA_NO_MEMORY;
    q->question[q->count++] = new;
    return OA_OK;
}

static enum oa_error read_question_file(struct oa_questions *q, const char *name,
                                        enum oa_question_kind kind, int number)
{
    char *line;
    size_t length;
    struct question_reader r = { .q = q, .kind = kind, .number = number };
    oa_json_object_init(&r.object, q->context);
    oa_text_add(&q->files, name, strlen(name) + 1);
    enum oa_error e = oa_text_file_open(q->context, name, &r.file);
    while (e == OA_OK && oa_text_file_line(&r.file, &line, &length))
        e = read_question(&r, line, length);
    oa_text_file_close(&r.file);
    oa_json_object_free(&r.object);
    return e;
}

enum oa_error oa_questions_read(oa_context *c, const char *files, enum oa_question_kind kind,
                                struct oa_questions *out)
{
    *out = (struct oa_questions){ .context = c };
    oa_text_init(&out->text, c);
    oa_text_init(&out->files, c);
    char *list = oa_copy_text(c, files);
    enum oa_error e = list ? OA_OK : OA_NO_MEMORY;
    char *name, *left = list;
    for (int i = 0; left && e == OA_OK; i++) {
        left = oa_cut_name(left, &name);
        e = read_question_file(out, name, kind, i);
    }
    oa_free(list);
    if (e == OA_OK && out->count == 0)
        e = oa_fail(c, OA_FORMAT, "%s: there is no question", files);
    return e;
}

void oa_questions_close(struct oa_questions *q)
{
    oa_free(q->choice);
    oa_free(q->question);
    oa_text_free(&q->text);
    oa_text_free(&q->files);
    *q = (struct oa_questions){ 0 };
}

const char *oa_questions_file(const struct oa_questions *q, int file)
{
    const char *name = q->files.s;
    while (file-- > 0)
        name += strlen(name) + 1;
    return name;
}
