/* SPDX-License-Identifier: Apache-2.0 */
#include "tasks/text_task.h"

#include "data/masking.h"
#include "data/packed_corpus.h"
#include "tasks/hits.h"

#include <string.h>

/* Repeated lines such as refrains and licences are not leakage. */
static const double usual_overlap = 0.01;

/* measured: the validation or the test side. */
static enum oa_error compare_sides(oa_context *c, const struct oa_tokens *train,
                                   const struct oa_tokens *measured)
{
    struct oa_text_overlap o;
    OA_TRY(oa_corpus_overlap(c, &(struct oa_corpus){ .train = *train, .valid = *measured }, &o));
    double share = o.pieces ? (double)o.found / (double)o.pieces / o.searched : 0;
    if (share > usual_overlap && o.sampled)
        oa_log(c, 0,
               "warning: of %llu pieces of %d tokens, a sample of the %s, %llu occur verbatim in "
               "%.3g %% of the %s, which were searched; in all of it about %.0f %% of the pieces "
               "would: scores may reflect memorisation",
               (unsigned long long)o.pieces, OA_OVERLAP_TOKENS, measured->name,
               (unsigned long long)o.found, 100 * o.searched, train->name,
               100 * (share < 1 ? share : 1));
    else if (share > usual_overlap)
        oa_log(c, 0,
               "warning: of the %llu pieces of %d tokens of the %s %llu occur verbatim in the %s: "
               "scores may reflect memorisation",
               (unsigned long long)o.pieces, OA_OVERLAP_TOKENS, measured->name,
               (unsigned long long)o.found, train->name);
    return OA_OK;
}

/* Whether no tokenizer was asked for: "char", or what the task sets (tasks.h: preset). */
static bool is_default_tokenizer(const struct oa_options *o)
{
    const struct oa_task *task = oa_task_find(o->data_task);
    for (const struct oa_preset *p = task ? task->preset : NULL; p && p->key; p++)
        if (strcmp(p->key, "data.tokenizer") == 0 && strcmp(p->value, o->data_tokenizer) == 0)
            return true;
    return strcmp(o->data_tokenizer, "char") == 0;
}

/* That of the packed corpus; one that was asked for must agree. */
static enum oa_error open_packed_tokenizer(oa_context *c, const char *folder,
                                           const struct oa_options *o, struct oa_tokenizer **out)
{
    struct oa_tokenizer *given;
    const char *spec = o->data_tokenizer;
    OA_TRY(oa_packed_tokenizer(c, folder, out));
    if (is_default_tokenizer(o))
        return OA_OK;
    if (!oa_file_exists(spec) && strcmp(spec, "byte") != 0)
        return oa_fail(c, OA_ARGUMENT, "%s has its own tokenizer: leave data.tokenizer = %s out",
                       folder, spec);
    OA_TRY(oa_tokenizer_open(c, spec, NULL, NULL, &given));
    bool same = oa_tokenizers_agree(given, *out);
    oa_tokenizer_close(given);
    return same ? OA_OK
                : oa_fail(c, OA_ARGUMENT,
                          "%s was packed with another tokenizer than %s: leave data.tokenizer out",
                          folder, spec);
}

enum oa_error oa_text_task_tokenizer(oa_context *c, const struct oa_options *o,
                                     struct oa_tokenizer **out)
{
    char folder[OA_OPTION_TEXT];
    if (oa_first_packed_corpus(c, o->data_train, folder))
        return open_packed_tokenizer(c, folder, o, out);
    return oa_tokenizer_open(c, o->data_tokenizer, o->data_train, o->data_valid, out);
}

static enum oa_error open_corpus(oa_context *c, const struct oa_options *o, struct oa_workload *out)
{
    return oa_corpora_open(c, out->tokenizer, o->data_train, o->data_mix, o->data_valid,
                           o->data_valid_fraction, oa_chance_seed(o, OA_CHANCE_SPLIT),
                           &out->corpus);
}

enum oa_error oa_text_task_open(oa_context *c, const struct oa_options *o,
                                const char *const *special, long sentinels, struct oa_workload *out)
{
    int32_t id;
    if (o->data_mix[0] && o->data_order != OA_ORDER_EPOCH)
        return oa_fail(c, OA_ARGUMENT,
                       "data.mix draws the rows of each corpus without replacement, but data.order "
                       "is random: add --data.order epoch");
    OA_TRY(oa_text_task_tokenizer(c, o, &out->tokenizer));
    for (; *special; special++)
        OA_TRY(oa_tokenizer_add_special(out->tokenizer, *special, &id));
    for (long i = 0; i < sentinels; i++) {
        char name[OA_SENTINEL];
        oa_sentinel_name(i, name);
        OA_TRY(oa_tokenizer_add_special(out->tokenizer, name, &id));
    }
    OA_TRY(open_corpus(c, o, out));
    OA_TRY(compare_sides(c, &out->corpus.train, &out->corpus.valid));
    if (!o->data_test[0])
        return OA_OK;
    OA_TRY(oa_corpus_open_test(out->tokenizer, o->data_test, &out->corpus));
    return compare_sides(c, &out->corpus.train, &out->corpus.test);
}

enum oa_error oa_text_task_open_measured(oa_context *c, const struct oa_options *o,
                                         const struct oa_measured_data *data,
                                         struct oa_workload *out, enum oa_side *side)
{
    *side = data->files ? OA_TRAINING : o->data_test[0] ? OA_TEST : OA_VALIDATION;
    if (data->files) {
        OA_TRY(oa_corpora_open(c, out->tokenizer, data->files, "", NULL, 0, 0, &out->corpus));
        out->corpus.train.name = "text";
        return OA_OK;
    }
    return *side == OA_TEST ? oa_corpus_open_test(out->tokenizer, o->data_test, &out->corpus)
                            : open_corpus(c, o, out);
}

enum oa_error oa_text_task_hold_out(const struct oa_workload *w, double fraction,
                                    struct oa_workload *out)
{
    *out = *w;
    out->lent = out->lent_ids = true;
    out->corpus = (struct oa_corpus){ 0 }; /* trials have no test data */
    return oa_corpus_hold_out(oa_tokenizer_context(w->tokenizer), w->tokenizer, &w->corpus.train,
                              fraction, &out->corpus);
}

void oa_text_task_plan_padding(const struct oa_options *o, struct oa_step_shape *shape)
{
    shape->typical.planned_padding = o->data_documents == OA_BORDERS_SEPARATE;
    shape->largest.planned_padding =
        shape->typical.planned_padding || o->data_order == OA_ORDER_EPOCH;
}

const struct oa_tokens *oa_text_task_side(const struct oa_workload *w, enum oa_side side)
{
    return side == OA_TRAINING     ? &w->corpus.train
           : side == OA_VALIDATION ? &w->corpus.valid
                                   : &w->corpus.test;
}

struct token_hits {
    struct oa_items *items;
    long right;
};

static void count_token_hits(void *argument, long item, long hits, long targets)
{
    struct token_hits *k = argument;
    k->right += hits;
    oa_items_add(k->items, 1, item, 100 * (double)hits, (double)targets);
}

enum oa_error oa_text_task_accuracy(const struct oa_scoring *j, double scores[OA_MEASURES])
{
    struct token_hits k = { .items = j->items };
    OA_TRY(oa_items_begin(j->context, j->items, 1));
    OA_TRY(oa_visit_hits(j, count_token_hits, &k));
    scores[1] = 100 * (double)k.right / (double)j->cover->targets;
    return OA_OK;
}
