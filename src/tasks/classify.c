/* SPDX-License-Identifier: Apache-2.0
 * Classification of a text, a pair of texts (Devlin et al. 2019: [CLS] a [SEP] b [SEP]) or a
 * picture whose pixels are tokens (Tay et al. 2021, Long Range Arena). */
#include "metrics/confusion.h"
#include "tasks/example_task.h"

#include <string.h>

static const struct oa_example_layout layout = { .source_begin = "[CLS]",
                                                 .source_end = "[SEP]",
                                                 .words = true };

static struct oa_line class_label(const struct oa_labels *classes, long i)
{
    return (struct oa_line){ classes->name[i], strlen(classes->name[i]) };
}

/* ---- parts and examples ---- */

/* Predicted and reference labels, in the order of the outputs. */
struct class_outputs {
    const struct oa_scoring *j;
    const struct oa_outputs *o;
    struct oa_line *found, *right;
};

static enum oa_error score_class_part(void *argument, const uint32_t *entry, long count,
                                      double *score)
{
    const struct class_outputs *s = argument;
    long right = 0;
    for (long i = 0; i < count; i++)
        right += oa_line_order(s->found[entry[i]], s->right[entry[i]]) == 0;
    *score = 100 * (double)right / (double)count;
    return OA_OK;
}

static void print_label(void *argument, long entry, struct oa_text *out)
{
    const struct class_outputs *s = argument;
    oa_text_add(out, s->found[entry].s, s->found[entry].length);
}

/* A part for each class that has examples. */
static void add_classes(const struct class_outputs *s, const struct oa_classes *k, bool f1)
{
    const struct oa_labels *classes = &s->j->workload->texts.classes;
    for (long i = 0; i < classes->count; i++)
        for (int c = 0; c < k->count; c++)
            if (k->item[c].expected &&
                oa_line_order(k->item[c].label, class_label(classes, i)) == 0)
                oa_details_add(s->j->details, "class", classes->name[i], f1 ? "f1" : "accuracy",
                               100 * (f1 ? oa_f1_of_class(&k->item[c]).f1
                                         : oa_f1_of_class(&k->item[c]).recall),
                               k->item[c].expected);
}

static enum oa_error add_class_details(struct class_outputs *s, const struct oa_classes *k)
{
    const struct oa_scoring *j = s->j;
    struct oa_scored_rows rows = { oa_workload_examples(j->workload, j->side), s->o->row,
                                   s->o->rows };
    if (!j->details)
        return OA_OK;
    j->details->confusion = oa_alloc(j->context, sizeof *j->details->confusion);
    if (!j->details->confusion)
        return OA_NO_MEMORY;
    OA_TRY(oa_confusion_count(j->context, s->found, s->right, s->o->rows, j->details->confusion));
    OA_TRY(oa_details_reserve(j->context, j->details, 2 * k->count));
    for (int f1 = 0; k->count <= OA_CLASSES && f1 < 2; f1++)
        add_classes(s, k, f1);
    OA_TRY(oa_details_by_length(j->context, &rows, "accuracy", score_class_part, s, j->details));
    return oa_details_examples(j->context, &rows, print_label, s, j->details);
}

/* ---- scores ---- */

static enum oa_error add_right_items(const struct class_outputs *s)
{
    struct oa_items *items = s->j->items;
    OA_TRY(oa_items_begin(s->j->context, items, 1));
    for (long i = 0; i < s->o->rows; i++)
        oa_items_add(items, 1, (long)s->o->row[i],
                     oa_line_order(s->found[i], s->right[i]) == 0 ? 100 : 0, 1);
    return OA_OK;
}

static enum oa_error score_classes(struct class_outputs *s, double scores[OA_MEASURES])
{
    oa_context *c = s->j->context;
    const struct oa_labels *classes = &s->j->workload->texts.classes;
    struct oa_classes k = { 0 };
    struct oa_f1 f1 = { 0 };
    bool defined;
    for (long i = 0; i < s->o->rows; i++) {
        s->found[i] = class_label(classes, oa_likeliest(s->o->out + i * s->o->width, s->o->width));
        /* the reference label may be one that no training example has */
        s->right[i].s = oa_rows_cell(oa_workload_examples(s->j->workload, s->j->side)->rows,
                                     s->o->row[i], 0, &s->right[i].length);
    }
    enum oa_error e = oa_classes_count(c, s->found, s->right, s->o->rows, &k);
    if (e == OA_OK)
        e = add_right_items(s);
    if (e == OA_OK)
        e = oa_f1_of(c, &k, OA_AVERAGE_MACRO, (struct oa_line){ 0 }, &f1);
    if (e == OA_OK) {
        scores[1] = 100 * oa_accuracy(&k);
        scores[2] = 100 * f1.f1;
        scores[3] = 100 * oa_mcc(&k, &defined);
        e = add_class_details(s, &k);
    }
    oa_classes_free(&k);
    return e;
}

static enum oa_error score_classes_task(const struct oa_scoring *j, double scores[OA_MEASURES])
{
    struct oa_outputs o;
    enum oa_error e = oa_example_outputs(j, j->workload->form.classes, &o);
    struct class_outputs s = { .j = j, .o = &o };
    s.found = oa_alloc(j->context, ((size_t)o.rows + 1) * sizeof *s.found);
    s.right = oa_alloc(j->context, ((size_t)o.rows + 1) * sizeof *s.right);
    if (e == OA_OK)
        e = s.found && s.right ? score_classes(&s, scores) : OA_NO_MEMORY;
    oa_free(s.found);
    oa_free(s.right);
    oa_outputs_free(&o);
    return e;
}

static const struct oa_measure measures[] = { { "loss", "valid loss", "nats an example", 4, false,
                                                0 },
                                              { "accuracy", "accuracy", "%", 2, true, 100 },
                                              { "f1", "macro F1", "%", 2, true, 100 },
                                              { "mcc", "Matthews correlation", "%", 2, true, 100 },
                                              { .name = NULL } };

const struct oa_task oa_task_classify = {
    .name = "classify",
    .what = "classification: the class of a text, of a pair of texts, or of a picture",
    .citation = "Devlin et al. 2019, arXiv 1810.04805",
    .stacks = OA_STACK(OA_STACK_ENCODER),
    .measures = measures,
    .item_measures = 1u << 1,
    .preset = oa_answer_preset,
    .metric = "accuracy",
    .layout = &layout,
    .open = oa_example_task_open,
    .open_measured = oa_example_task_open_measured,
    .batches = oa_example_task_batches,
    .hold_out = oa_example_task_hold_out,
    .shape = oa_example_task_shape,
    .answer = OA_ANSWER_CLASS,
    .score = score_classes_task,
};
