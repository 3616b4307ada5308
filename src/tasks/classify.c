/* SPDX-License-Identifier: Apache-2.0
 * Classification of a text, of a pair of texts (Devlin et al. 2019: [CLS] a [SEP] b [SEP]), or of a picture, whose
 * pixels are tokens (Tay et al. 2021, Long Range Arena). */
#include "tasks/example_task.h"

#include <string.h>

static const struct oa_example_layout layout = { .source_begin = "[CLS]", .source_end = "[SEP]", .words = true };

static struct oa_line name_of(const struct oa_labels *classes, long i)
{
    return (struct oa_line){ classes->name[i], strlen(classes->name[i]) };
}

static enum oa_error score(const struct oa_judging *j, const struct oa_outputs *o, struct oa_line *found,
                           struct oa_line *right, double scores[OA_MEASURES])
{
    const struct oa_labels *classes = &j->workload->texts.classes;
    struct oa_classes k = { 0 };
    struct oa_f1 f1 = { 0 };
    bool defined;
    for (long i = 0; i < o->rows; i++) {
        found[i] = name_of(classes, oa_likeliest(o->out + i * o->width, o->width));
        right[i] = name_of(classes, o->label[i]);
    }
    enum oa_error e = oa_classes_count(j->context, found, right, o->rows, &k);
    if (e == OA_OK)
        e = oa_f1_of(j->context, &k, OA_AVERAGE_MACRO, (struct oa_line){ 0 }, &f1);
    if (e == OA_OK) {
        scores[1] = 100 * oa_accuracy(&k);
        scores[2] = 100 * f1.f1;
        scores[3] = 100 * oa_mcc(&k, &defined);
    }
    oa_classes_free(&k);
    return e;
}

static enum oa_error judge(const struct oa_judging *j, double scores[OA_MEASURES])
{
    struct oa_outputs o;
    enum oa_error e = oa_example_outputs(j, j->workload->form.classes, &o);
    struct oa_line *found = oa_alloc(j->context, ((size_t)o.rows + 1) * sizeof *found),
                   *right = oa_alloc(j->context, ((size_t)o.rows + 1) * sizeof *right);
    if (e == OA_OK)
        e = found && right ? score(j, &o, found, right, scores) : OA_NO_MEMORY;
    oa_free(found);
    oa_free(right);
    oa_outputs_free(&o);
    return e;
}

static const struct oa_measure measures[] = { { "loss", "valid loss", "nats an example", 4, false },
                                              { "accuracy", "accuracy", "%", 2, true },
                                              { "f1", "macro F1", "%", 2, true },
                                              { "mcc", "Matthews correlation", "%", 2, true },
                                              { .name = NULL } };

const struct oa_task oa_task_classify = {
    .name = "classify",
    .what = "classification: the class of a text, of a pair of texts, or of a picture",
    .citation = "Devlin et al. 2019, arXiv 1810.04805",
    .stacks = OA_STACK(OA_STACK_ENCODER),
    .measures = measures,
    .metric = "accuracy",
    .layout = &layout,
    .open = oa_example_task_open,
    .open_measured = oa_example_task_open_measured,
    .batches = oa_example_task_batches,
    .hold_out = oa_example_task_hold_out,
    .shape = oa_example_task_shape,
    .answer = OA_ANSWER_CLASS,
    .judge = judge,
};
