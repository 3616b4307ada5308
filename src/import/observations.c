/* SPDX-License-Identifier: Apache-2.0 */
#include "import/observations.h"

#include "base/reserve.h"
#include "decode/characters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void oa_observations_init(struct oa_observations *o, oa_context *c,
                          const struct oa_import_request *r)
{
    *o = (struct oa_observations){ .context = c, .request = r };
    oa_words_init(&o->systems, c);
    oa_words_init(&o->seeds, c);
    oa_text_init(&o->remarks, c);
}

void oa_observations_free(struct oa_observations *o)
{
    oa_words_free(&o->systems);
    oa_words_free(&o->seeds);
    oa_text_free(&o->remarks);
    oa_free(o->metric);
    oa_free(o->at);
}

/* Valid UTF-8 without control characters, which reports and JSON can have. */
static void add_plain(const char *label, struct oa_text *out)
{
    oa_characters_text(label, strlen(label), out);
    for (size_t i = 0; i < out->length; i++)
        if ((unsigned char)out->s[i] < 0x20 || out->s[i] == 0x7f)
            out->s[i] = ' ';
}

static int32_t label_number(struct oa_words *labels, const char *label)
{
    struct oa_text plain;
    oa_text_init(&plain, labels->context);
    add_plain(label, &plain);
    int32_t n = plain.s ? oa_words_add(labels, plain.s, plain.length) : -1;
    oa_text_free(&plain);
    return n;
}

/* Squares of values, and their inverses, must be finite. */
static enum oa_error check_range(struct oa_observations *o, double value, int path,
                                 unsigned long line)
{
    char place[32] = "";
    if (isnan(value) || value == 0 || (fabs(value) <= 1e100 && fabs(value) >= 1e-100))
        return OA_OK;
    if (line)
        snprintf(place, sizeof place, ":%lu", line);
    return oa_fail(o->context, OA_FORMAT,
                   "%s%s: %s is out of range: judge takes sizes from 1e-100 to 1e100; give it in "
                   "another unit",
                   o->request->paths[path], place, oa_real_text(value).s);
}

enum oa_error oa_observe(struct oa_observations *o, const char *system, const char *seed,
                         double step, double value, int path, unsigned long line)
{
    OA_TRY(check_range(o, value, path, line));
    if (!oa_reserve(o->context, &o->at, &o->capacity, o->count + 1, sizeof *o->at))
        return OA_NO_MEMORY;
    struct oa_number_text whole; /* pandas writes 3.0 if the column has gaps */
    while (seed && seed[0] == '0' && seed[strspn(seed, "0123456789")] == 0 && seed[1])
        seed++; /* 01 is seed 1 */
    if (seed && oa_whole_number(seed, strlen(seed), &whole))
        seed = whole.s;
    struct oa_observation *new = &o->at[o->count++];
    *new = (struct oa_observation){ label_number(&o->systems, system),
                                    seed && *seed ? label_number(&o->seeds, seed) : -1,
                                    step,
                                    value,
                                    path,
                                    line,
                                    o->count };
    return oa_status(o->context);
}

enum oa_error oa_observe_metric(struct oa_observations *o, const char *name)
{
    struct oa_text plain;
    oa_text_init(&plain, o->context);
    add_plain(name, &plain);
    enum oa_error e = oa_status(o->context);
    if (e == OA_OK && !o->metric)
        o->metric = oa_copy_text(o->context, plain.s ? plain.s : "");
    else if (e == OA_OK && strcmp(o->metric, plain.s ? plain.s : "") != 0)
        e = oa_fail(o->context, OA_ARGUMENT,
                    "the files have different metrics, %s and %s; give --metric", o->metric,
                    plain.s);
    oa_text_free(&plain);
    return e == OA_OK && !o->metric ? OA_NO_MEMORY : e;
}
