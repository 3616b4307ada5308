/* SPDX-License-Identifier: Apache-2.0
 * api: the functions of orthant.h and commands.h. Each file is one command: it reads options, calls
 * the rooms that do the work, and turns the result into text. */
#ifndef ORTHANT_API_H
#define ORTHANT_API_H

#include "api/commands.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "data/data.h"
#include "model/model.h"
#include "train/train.h"

#include <jansson.h>

struct oa_config {
    oa_context *context;
    struct oa_options options;
    struct oa_given given; /* the others are those of the task (oa_task_preset) */
    bool overwrite;        /* train and compare replace a run or a comparison in their folder */
    bool declared;         /* of an experiment: its options are not to be changed */
    bool left_teacher;     /* oa_config_like_run: the run has one, which is left out here */
};

/* Logs the options that the preset of the task sets, where they were not given. */
void oa_config_say_preset(const oa_config *config);

/* A copy, with train.init in which options model.* that nobody gave are those of the run it names
 * (of another comparison: of its first run), which is said (initial_options.c). attention: whether
 * model.attention is among them. */
enum oa_error oa_config_begin_from(const oa_config *in, bool attention, oa_config *out);

/* Refuses what oa_compare would refuse before its first run, with the attentions of the
 * configuration; writes nothing. */
enum oa_error oa_compare_check(const oa_config *config, const char *folder);

/* Hands a finished text to the sink and frees it. Returns the state of the context: a failure while
 * the text was made is in it. */
enum oa_error oa_emit(const struct oa_output *out, struct oa_text *text);
bool oa_wants_text(const struct oa_output *out);
bool oa_wants_json(const struct oa_output *out);
/* Adds a name that is in a line: its line ends are shown as \x0a. */
void oa_name_add(struct oa_text *text, const char *name);
/* Adds a JSON value, indented, with a line end, and frees it. */
void oa_json_add(struct oa_text *text, json_t *value);
void oa_json_line(struct oa_text *text, json_t *value); /* the same on one line */
/* Bytes as a JSON string; what is not UTF-8 becomes U+FFFD (decode/characters.h), since JSON has no
 * other way. */
json_t *oa_json_bytes(oa_context *c, const char *bytes, size_t length);
json_t *oa_json_name(oa_context *c,
                     const char *name); /* the same of a name; null where it is NULL */

/* A trained model, opened for use (api_run.c). */
struct oa_trained {
    oa_context *context;
    struct oa_options options;
    struct oa_tokenizer *tokenizer;
    struct oa_labels labels; /* of its classes; count 0: it has none, or does not know them */
    struct oa_labels
        specials;    /* that the training text of a language model had; name NULL: not known */
    long checkpoint; /* the run has not ended: the values are those of this step; -1: they are the
                        finished ones */
    struct oa_device *device;
    struct oa_model *model;
    oa_tape tape;
};
enum oa_error oa_trained_open(oa_context *c, const char *folder, struct oa_trained *out);
/* The same in float32 where it was trained in bf16: what is looked at is not rounded more than need
 * be. */
enum oa_error oa_trained_open_finely(oa_context *c, const char *folder, struct oa_trained *out);
/* The same in a precision of choice. */
enum oa_error oa_trained_open_in(oa_context *c, const char *folder, enum oa_precision precision,
                                 struct oa_trained *out);
/* The same in one with that name; NULL: that of the run. */
enum oa_error oa_trained_open_as(oa_context *c, const char *folder, const char *precision,
                                 struct oa_trained *out);
/* OA_ARGUMENT unless it is the name of a precision. */
enum oa_error oa_precision_read(oa_context *c, const char *name, enum oa_precision *out);
void oa_trained_close(struct oa_trained *t); /* also after a failed open */
/* Member "checkpoint", its step, of a run that has not ended. */
/* Refuses, for commands that read data, imported models without an output layer, and those of
 * images. */
enum oa_error oa_trained_check_output(const struct oa_trained *t, const char *folder);
void oa_trained_json(const struct oa_trained *t, json_t *object);

/* Scores of a run on a workload, as text and as members of a JSON object (scores.c). */
struct oa_scores oa_scores_of(const struct oa_workload *w, const struct oa_run *run);
void oa_scores_text(const struct oa_scores *s, const struct oa_workload *w, struct oa_text *out);
void oa_scores_json(oa_context *c, const struct oa_scores *s, const struct oa_workload *w,
                    json_t *object);
bool oa_predicts_tokens(const struct oa_workload *w); /* else a class or a number an example */
bool oa_reads_examples(const struct oa_workload *w);  /* else running text */

#endif
