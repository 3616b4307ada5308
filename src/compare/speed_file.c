/* SPDX-License-Identifier: Apache-2.0
 * speed.json: the rounds of a measurement of speeds. */
#include "compare/speed.h"

#include "base/checksum.h"
#include "statistics/statistics.h"

#include <math.h>
#include <string.h>

static const char remedy[] = "remove the file to measure speeds again";

static json_t *seconds_json(const struct oa_entry *e, int rounds)
{
    json_t *array = json_array();
    for (int r = 0; e->step_seconds && r < rounds; r++)
        json_array_append_new(array, json_real(e->step_seconds[r]));
    return array;
}

enum oa_error oa_speed_write(struct comparison *t)
{
    char path[OA_PATH];
    const struct oa_comparison *k = t->out;
    OA_TRY(oa_path(t->c, path, t->r->folder, OA_SPEED_FILE));
    json_t *root = json_object(), *steps = json_object();
    for (int i = 0; i < k->count; i++)
        json_object_set_new(steps, k->entries[i].attention,
                            seconds_json(&k->entries[i], k->rounds));
    json_object_set(root, "fingerprint", t->shared);
    json_object_set_new(root, "machine", json_string(k->speed_machine));
    json_object_set_new(root, "rounds", json_integer(k->rounds));
    json_object_set_new(root, "step_seconds", steps);
    enum oa_error e = oa_checksummed_write(t->c, path, root);
    json_decref(root);
    return e;
}

/* ---- reading ---- */

static enum oa_error bad(oa_context *c, const char *path, const char *what)
{
    return oa_fail(c, OA_FORMAT, "%s: %.200s; %s", path, what, remedy);
}

/* An attention that was not measured has an empty list. */
static enum oa_error read_entry(oa_context *c, const char *path, const json_t *list, int rounds,
                                struct oa_entry *e)
{
    if (json_array_size(list) == 0)
        return OA_OK;
    if (json_array_size(list) != (size_t)rounds)
        return bad(c, path, "an attention has not as many numbers as there are rounds");
    e->step_seconds = oa_alloc(c, (size_t)rounds * sizeof *e->step_seconds);
    if (!e->step_seconds)
        return OA_NO_MEMORY;
    for (int r = 0; r < rounds; r++) {
        e->step_seconds[r] = json_number_value(json_array_get(list, (size_t)r));
        if (!(e->step_seconds[r] > 0))
            return bad(c, path, "seconds of a step must be numbers above 0");
    }
    return OA_OK;
}

static bool holds_all(const struct oa_comparison *k, const json_t *steps)
{
    for (int i = 0; i < k->count; i++)
        if (!json_is_array(json_object_get(steps, k->entries[i].attention)))
            return false;
    return true;
}

static enum oa_error read_rounds(struct comparison *t, const char *path, const json_t *root)
{
    struct oa_comparison *k = t->out;
    json_int_t rounds = json_integer_value(json_object_get(root, "rounds"));
    if (rounds < 1 || rounds > OA_MOST_ROUNDS)
        return bad(t->c, path, "the number of rounds is not one that is measured");
    for (int i = 0; i < k->count; i++)
        OA_TRY(read_entry(
            t->c, path,
            json_object_get(json_object_get(root, "step_seconds"), k->entries[i].attention),
            (int)rounds, &k->entries[i]));
    k->rounds = (int)rounds;
    return OA_OK;
}

/* Is it of this machine, and of all attentions that take part now? */
static bool still_holds(const struct comparison *t, const json_t *root, const char *machine)
{
    const char *theirs = json_string_value(json_object_get(root, "machine"));
    return theirs && strcmp(theirs, machine) == 0 &&
           holds_all(t->out, json_object_get(root, "step_seconds"));
}

enum oa_error oa_speed_read(struct comparison *t, const char *machine, bool *found)
{
    char path[OA_PATH];
    json_t *root;
    *found = false;
    OA_TRY(oa_path(t->c, path, t->r->folder, OA_SPEED_FILE));
    if (!oa_file_exists(path))
        return OA_OK;
    OA_TRY(oa_checksummed_read(t->c, path, remedy, &root));
    enum oa_error e =
        oa_fingerprint_check(t->c, path, json_object_get(root, "fingerprint"), t->shared, remedy);
    *found = e == OA_OK && still_holds(t, root, machine);
    if (*found)
        e = read_rounds(t, path, root);
    json_decref(root);
    return e;
}
