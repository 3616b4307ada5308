/* SPDX-License-Identifier: Apache-2.0
 * Names of runs, which are a system and a seed. */
#include "import/observations.h"

#include <ctype.h>
#include <string.h>

static const char separators[] = "-_/= :#(";

/* The length of `name` without a final word such as "seed"; `length` if there is none. */
static size_t without_seed_word(const char *name, size_t length)
{
    static const char *const words[] = { "seed", "run", "rep",     "replicate", "trial",
                                         "try",  "s",   "version", "repeat",    "r" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]), k = 0;
        if (n > length || (n < length && !strchr(separators, name[length - n - 1])))
            continue;
        while (k < n && tolower((unsigned char)name[length - n + k]) == words[i][k])
            k++;
        if (k == n)
            return length - n;
    }
    return length;
}

static size_t without_separators(const char *name, size_t length)
{
    while (length && strchr(separators, name[length - 1]))
        length--;
    return length;
}

bool oa_split_run_name(const char *name, size_t *system, const char **seed, size_t *digits)
{
    size_t end = strlen(name);
    end -= end && name[end - 1] == ')';
    size_t from = end;
    while (from && isdigit((unsigned char)name[from - 1]))
        from--;
    size_t bare = without_separators(name, from), word = without_seed_word(name, bare);
    bool parted = bare < from || word < bare;
    *seed = name + from;
    *digits = end - from;
    *system = without_separators(name, word);
    return *digits && parted && *system;
}

/* The length of "adam-seed1" in "adam-seed1/version_0", the name of a logger's folder of Lightning;
 * 0: the name does not end so, or has no word for a seed before it. */
static size_t without_version(const char *name)
{
    static const char version[] = "/version_";
    size_t end = strlen(name), from = end, n = strlen(version);
    while (from && isdigit((unsigned char)name[from - 1]))
        from--;
    if (from == end || from < n || strncmp(name + from - n, version, n) != 0)
        return 0;
    end = from = from - n;
    while (from && isdigit((unsigned char)name[from - 1]))
        from--;
    size_t bare = without_separators(name, from);
    return from < end && without_seed_word(name, bare) < bare ? end : 0;
}

/* A value without a step is a run of its own. */
static bool each_has_one_run(const struct oa_observations *o)
{
    bool steps = false;
    for (size_t i = 0; i < o->count; i++) {
        if (o->at[i].seed >= 0)
            return false;
        steps |= o->at[i].step == o->at[i].step;
    }
    return o->count && (steps || o->count == (size_t)o->systems.count);
}

/* Removes versions from names if all have a seed before the version. */
static enum oa_error drop_versions(struct oa_observations *o)
{
    struct oa_words runs = o->systems, systems;
    for (int32_t i = 0; i < runs.count; i++)
        if (!without_version(oa_words_at(&runs, i, NULL)))
            return OA_OK;
    oa_words_init(&systems, o->context);
    for (int32_t i = 0; i < runs.count; i++) {
        const char *name = oa_words_at(&runs, i, NULL);
        size_t bare = without_version(name);
        if (oa_words_add(&systems, name, bare) < i) {
            oa_words_free(&systems);
            return oa_fail(o->context, OA_ARGUMENT,
                           "%.*s has several versions, of which %s is one; leave the folder of "
                           "one of them",
                           (int)bare, name, name);
        }
    }
    o->systems = systems; /* with the numbers of the runs */
    oa_text_printf(&o->remarks, " Versions are left out of names: %s is %s.",
                   oa_words_at(&runs, 0, NULL), oa_words_at(&systems, 0, NULL));
    oa_words_free(&runs);
    return oa_status(o->context);
}

enum oa_error oa_split_runs(struct oa_observations *o)
{
    const char *unsplit = NULL, *seed;
    size_t length, digits;
    if (!each_has_one_run(o))
        return OA_OK;
    OA_TRY(drop_versions(o));
    int split = 0;
    for (int32_t i = 0; i < o->systems.count; i++) {
        const char *name = oa_words_at(&o->systems, i, NULL);
        if (oa_split_run_name(name, &length, &seed, &digits))
            split++;
        else
            unsplit = name;
    }
    if (unsplit && split)
        return oa_fail(o->context, OA_ARGUMENT,
                       "the run name '%s' does not end in a seed, as 'name-seed1' does, so system "
                       "and seed cannot be distinguished; name runs so, or give a column of seeds "
                       "with --seed",
                       unsplit);
    if (unsplit)
        return OA_OK;
    struct oa_words runs = o->systems;
    oa_words_init(&o->systems, o->context);
    for (size_t i = 0; i < o->count && oa_status(o->context) == OA_OK; i++) {
        const char *name = oa_words_at(&runs, o->at[i].system, NULL);
        oa_split_run_name(name, &length, &seed, &digits);
        o->at[i].system = oa_words_add(&o->systems, name, length);
        o->at[i].seed = oa_words_add(&o->seeds, seed, digits);
        if (i == 0) {
            oa_text_printf(&o->remarks,
                           " Names of runs were read as system and seed: %s is %.*s, "
                           "seed %.*s.",
                           name, (int)length, name, (int)digits, seed);
        }
    }
    oa_words_free(&runs);
    return oa_status(o->context);
}
