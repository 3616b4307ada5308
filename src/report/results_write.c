/* SPDX-License-Identifier: Apache-2.0
 *
 * results.json: the whole contest, every run with its curve, and what the statistics say. docs/results.md describes it.
 * Statistics are written for other programs; results_read.c passes over them and they are computed again.
 */
#include "report/results.h"

#include <math.h>
#include <string.h>
#include <utf8proc.h>

/* ---- values ---- */

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* jansson refuses what is not UTF-8, e.g. a sentence that was cut in the middle of a letter: such bytes become "?". */
static json_t *text(const char *s)
{
    if (!s)
        return json_null();
    json_t *value = json_string(s);
    if (value)
        return value;
    char *copy = strdup(s);
    for (utf8proc_ssize_t i = 0, n; copy && copy[i]; i += n > 0 ? n : 1) {
        utf8proc_int32_t code;
        n = utf8proc_iterate((const utf8proc_uint8_t *)copy + i, -1, &code);
        if (n <= 0)
            copy[i] = '?';
    }
    value = copy ? json_string(copy) : NULL;
    free(copy);
    return value;
}

static void set(oa_context *c, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        oa_fail(c, OA_NO_MEMORY, "no memory left for the results");
}

static void append(oa_context *c, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        oa_fail(c, OA_NO_MEMORY, "no memory left for the results");
}

/* Text that is JSON already (options, machine). */
static json_t *parsed(oa_context *c, const char *json, const char *what)
{
    json_error_t error;
    json_t *value = json ? json_loads(json, JSON_DECODE_ANY, &error) : json_null();
    if (!value)
        oa_fail(c, OA_INTERNAL, "the %s of this contest are not JSON (line %d: %s)", what, error.line, error.text);
    return value ? value : json_null();
}

/* ---- runs ---- */

static json_t *curve_json(oa_context *c, const struct oa_run *r)
{
    json_t *curve = json_object(), *steps = json_array();
    for (int i = 0; i < r->points; i++)
        append(c, steps, json_integer(r->curve[i].step));
    set(c, curve, "step", steps);
#define COLUMN(field)                                                                                                  \
    json_t *field = json_array();                                                                                      \
    for (int i = 0; i < r->points; i++)                                                                                \
        append(c, field, number(r->curve[i].field));                                                                   \
    set(c, curve, #field, field);
    OA_CURVE_NUMBERS(COLUMN)
#undef COLUMN
    return curve;
}

static json_t *run_json(oa_context *c, const struct oa_run *r)
{
    json_t *run = json_object();
    set(c, run, "seed", json_integer((json_int_t)r->seed));
    set(c, run, "failed", json_boolean(r->failed));
    set(c, run, "failure", r->failed ? text(r->failure) : json_null());
    set(c, run, "steps", json_integer(r->steps));
#define NUMBER(field) set(c, run, #field, number(r->field));
    OA_RUN_NUMBERS(NUMBER)
#undef NUMBER
    set(c, run, "curve", curve_json(c, r));
    return run;
}

/* ---- statistics ---- */

static json_t *estimate_json(oa_context *c, const struct oa_estimate *e)
{
    json_t *object = json_object();
    set(c, object, "n", json_integer(e->n));
    set(c, object, "mean", number(e->mean));
    set(c, object, "sd", number(e->sd));
    set(c, object, "low", number(e->mean - e->half));
    set(c, object, "high", number(e->mean + e->half));
    return object;
}

static json_t *standing_json(oa_context *c, const struct oa_standing *s)
{
    json_t *object = json_object();
    set(c, object, "verdict", text(oa_verdict_name(s->verdict)));
    set(c, object, "failed_runs", json_integer(s->failed));
    set(c, object, "loss", estimate_json(c, &s->loss));
    set(c, object, "difference", s->difference.n ? estimate_json(c, &s->difference) : json_null());
    set(c, object, "difference_percent", number(s->percent));
    set(c, object, "p", number(s->p));
    set(c, object, "p_holm", number(s->holm));
    set(c, object, "seeds_needed", s->seeds_needed ? json_integer(s->seeds_needed) : json_null());
#define MEAN(field) set(c, object, #field, number(s->field))
    MEAN(perplexity);
    MEAN(bits_per_character);
    MEAN(bits_per_byte);
    MEAN(steps);
    MEAN(tokens);
    MEAN(seconds);
    MEAN(seconds_per_step);
    MEAN(tokens_per_second);
    MEAN(flops);
    MEAN(flops_per_step);
    MEAN(peak_memory);
#undef MEAN
    set(c, object, "front_speed", json_boolean(s->front_speed));
    set(c, object, "front_parameters", json_boolean(s->front_parameters));
    return object;
}

/* ---- the file ---- */

static json_t *entry_json(oa_context *c, const struct oa_contest *k, const struct oa_summary *s, int i)
{
    json_t *entry = json_object(), *runs = json_array();
    set(c, entry, "attention", text(k->entries[i].attention));
    set(c, entry, "trainable", number(k->entries[i].trainable));
    set(c, entry, "frozen", number(k->entries[i].frozen));
    set(c, entry, "statistics", standing_json(c, &s->entries[i]));
    for (int r = 0; r < k->seeds; r++)
        append(c, runs, run_json(c, &k->entries[i].runs[r]));
    set(c, entry, "runs", runs);
    return entry;
}

static json_t *contest_json(oa_context *c, const struct oa_contest *k, const struct oa_summary *s)
{
    json_t *root = json_object(), *valid = json_object(), *order = json_array(), *entries = json_array();
    set(c, root, "schema", text(OA_RESULTS_SCHEMA));
    set(c, root, "conclusion", text(s->conclusion));
    set(c, root, "equal", text(k->equal));
    set(c, root, "seeds", json_integer(k->seeds));
    set(c, valid, "characters", number(k->characters));
    set(c, valid, "bytes", number(k->bytes));
    set(c, valid, "tokens", number(k->valid_tokens));
    set(c, root, "validation", valid);
    set(c, root, "options", parsed(c, k->options_json, "options"));
    set(c, root, "machine", parsed(c, k->machine_json, "machine's data"));
    set(c, root, "reference", s->reference < 0 ? json_null() : json_integer(s->reference));
    for (int i = 0; i < k->count; i++)
        append(c, order, json_integer(s->order[i]));
    set(c, root, "order", order);
    for (int i = 0; i < k->count; i++)
        append(c, entries, entry_json(c, k, s, i));
    set(c, root, "entries", entries);
    return root;
}

void oa_report_json(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    json_t *root = contest_json(out->context, k, s);
    if (oa_status(out->context) == OA_OK)
        oa_json_text(root, out);
    json_decref(root);
}
