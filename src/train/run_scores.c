/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_scores.h"

#include "base/json_read.h"
#include "print/print.h"
#include "train/train.h"

#include <math.h>
#include <string.h>

static double score_value(const json_t *x)
{
    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

/* ---- scores ---- */

json_t *oa_run_scores_json(const struct oa_measure *measures, const double scores[OA_MEASURES])
{
    json_t *object = json_object();
    for (int i = 1; object && i < oa_measures_count(measures); i++)
        if (json_object_set_new(object, measures[i].name, oa_json_number(scores[i])) != 0) {
            json_decref(object);
            object = NULL;
        }
    return object;
}

void oa_run_scores_read(const struct oa_measure *measures, const json_t *object,
                        double scores[OA_MEASURES])
{
    oa_scores_clear(scores);
    for (int i = 1; i < oa_measures_count(measures); i++)
        scores[i] = score_value(json_object_get(object, measures[i].name));
}

/* ---- the test ---- */

json_t *oa_run_test_json(const struct oa_measure *measures, const struct oa_tested *test)
{
    if (!test->made)
        return json_null();
    bool others = oa_measures_count(measures) > 1;
    return json_pack(others ? "{s:o, s:o, s:o, s:o, s:o, s:o}" : "{s:o, s:o, s:o, s:o, s:o}",
                     "tokens", oa_json_number(test->targets), "loss", oa_json_number(test->loss),
                     "perplexity", oa_json_number(test->perplexity), "bits_per_character",
                     oa_json_number(test->bits_per_character), "bits_per_byte",
                     oa_json_number(test->bits_per_byte), "scores",
                     others ? oa_run_scores_json(measures, test->scores) : NULL);
}

void oa_run_test_read(const struct oa_measure *measures, const json_t *object,
                      struct oa_tested *out)
{
    *out = (struct oa_tested){ .made = json_is_object(object),
                               .targets = score_value(json_object_get(object, "tokens")),
                               .loss = score_value(json_object_get(object, "loss")),
                               .perplexity = score_value(json_object_get(object, "perplexity")),
                               .bits_per_character =
                                   score_value(json_object_get(object, "bits_per_character")),
                               .bits_per_byte =
                                   score_value(json_object_get(object, "bits_per_byte")) };
    oa_run_scores_read(measures, json_object_get(object, "scores"), out->scores);
}

/* ---- parts and examples ---- */

void oa_parts_write(const struct oa_run *run, json_t *object)
{
    json_t *parts = json_array(), *examples = json_array();
    for (int i = 0; i < run->details.part_count; i++) {
        const struct oa_breakdown *p = &run->details.parts[i];
        json_array_append_new(
            parts, json_pack("{s:o, s:o, s:s, s:o, s:o}", "by", oa_json_string(p->by), "name",
                             oa_json_string(p->name), "measure", p->measure, "value",
                             oa_json_number(p->value), "n", oa_json_number(p->n)));
    }
    for (int i = 0; i < run->details.example_count; i++) {
        const struct oa_specimen *e = &run->details.examples[i];
        json_array_append_new(examples, json_pack("{s:I, s:o, s:o, s:o}", "row", (json_int_t)e->row,
                                                  "source", oa_json_string(e->source), "reference",
                                                  oa_json_string(e->reference), "output",
                                                  oa_json_string(e->output)));
    }
    if (run->details.part_count)
        json_object_set(object, "breakdown", parts);
    if (run->details.example_count)
        json_object_set(object, "examples", examples);
    json_decref(parts);
    json_decref(examples);
}

static enum oa_error refuse_part(oa_context *c, const char *path, const char *key, size_t i)
{
    return oa_fail(c, OA_FORMAT, "%s: %s[%zu] is invalid; train that run again", path, key, i);
}

static bool read_part_text(const json_t *object, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    snprintf(out, size, "%s", text ? text : "");
    return text && strlen(text) < size;
}

static bool read_breakdown(const json_t *object, struct oa_breakdown *p)
{
    const json_t *n = json_object_get(object, "n"), *x = json_object_get(object, "value");
    p->value = score_value(x);
    p->n = score_value(n);
    return read_part_text(object, "by", p->by, sizeof p->by) &&
           read_part_text(object, "name", p->name, sizeof p->name) &&
           read_part_text(object, "measure", p->measure, sizeof p->measure) &&
           (json_is_number(x) || json_is_null(x)) && p->n >= 0;
}

static bool copy_example_text(oa_context *c, const json_t *object, const char *key, char **out)
{
    const json_t *text = json_object_get(object, key);
    *out = json_is_string(text) ? oa_copy_text(c, json_string_value(text)) : NULL;
    return json_is_string(text) || json_is_null(text);
}

static bool read_example(oa_context *c, const json_t *object, struct oa_specimen *e)
{
    const json_t *row = json_object_get(object, "row");
    e->row = (long)json_integer_value(row);
    bool texts = copy_example_text(c, object, "source", &e->source);
    texts &= copy_example_text(c, object, "reference", &e->reference);
    texts &= copy_example_text(c, object, "output", &e->output);
    return texts && json_is_integer(row) && e->row >= 0;
}

static enum oa_error read_parts(oa_context *c, const char *path, const json_t *parts,
                                struct oa_run *run)
{
    size_t n = json_array_size(parts);
    run->details.parts = n ? oa_alloc(c, n * sizeof *run->details.parts) : NULL;
    for (size_t i = 0; run->details.parts && i < n; i++)
        if (!read_breakdown(json_array_get(parts, i),
                            &run->details.parts[run->details.part_count++]))
            return refuse_part(c, path, "breakdown", i);
    return oa_status(c);
}

/* Rows must rise, so that examples of several runs can be merged in one pass. */
static enum oa_error read_examples(oa_context *c, const char *path, const json_t *examples,
                                   struct oa_run *run)
{
    size_t n = json_array_size(examples);
    run->details.examples = n ? oa_alloc(c, n * sizeof *run->details.examples) : NULL;
    for (size_t i = 0; run->details.examples && i < n; i++) {
        struct oa_specimen *e = &run->details.examples[run->details.example_count++];
        if (!read_example(c, json_array_get(examples, i), e) || (i && e->row <= e[-1].row))
            return refuse_part(c, path, "examples", i);
    }
    return oa_status(c);
}

enum oa_error oa_parts_read(oa_context *c, const char *path, const json_t *object,
                            struct oa_run *run)
{
    OA_TRY(read_parts(c, path, json_object_get(object, "breakdown"), run));
    return read_examples(c, path, json_object_get(object, "examples"), run);
}
