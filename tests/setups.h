/* SPDX-License-Identifier: Apache-2.0
 * What several tests set up alike: a folder of their own, a text, a small model, options by their
 * words. */
#ifndef ORTHANT_SETUPS_H
#define ORTHANT_SETUPS_H

#include "base/base.h"
#include "testing.h"

#include <stdio.h>
#include <unistd.h>

/* ---- folders and commands ---- */

static inline void shell(const char *format, ...) OA_PRINTF(1, 2);
static inline void shell(const char *format, ...)
{
    char command[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    assert_int_equal(system(command), 0);
}

static inline void remove_folder(const char *folder)
{
    shell("rm -rf '%s'", folder);
}

/* An empty folder of its own for a test, which becomes the working directory. NULL: there is none.
 */
static inline char *enter_own_folder(void)
{
    char *folder = strdup("own.XXXXXX");
    if (folder && mkdtemp(folder) && chdir(folder) == 0)
        return folder;
    free(folder);
    return NULL;
}

static inline int leave_own_folder(char *folder)
{
    int back = chdir("..");
    if (back == 0)
        remove_folder(folder);
    free(folder);
    return back;
}

/* ---- errors ---- */

/* The failure that is recorded, which is then forgotten: its code, and a part of its sentence. */
static inline void expect_failure(oa_context *c, enum oa_error code, const char *part)
{
    const char *sentence;
    assert_int_equal(oa_last_error(c, &sentence), code);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" does not contain \"%s\"", sentence, part);
    oa_clear_error(c);
}

/* ---- texts ---- */

static inline int write_foxes(const char *path, int sentences)
{
    FILE *f = fopen(path, "w");
    for (int i = 0; f && i < sentences; i++)
        fprintf(f, "the %s fox over the %s dog; ", i % 3 ? "quick" : "slow",
                i % 5 ? "lazy" : "tired");
    return f ? fclose(f) : -1;
}

/* With structure enough to learn from in a few dozen steps. */
static inline int write_foxes_and_cats(const char *path, int sentences)
{
    FILE *f = fopen(path, "w");
    for (int i = 0; f && i < sentences; i++)
        fprintf(f, "the %s %s over the %s dog; ", i % 3 ? "quick" : "slow",
                i % 2 ? "fox jumps" : "cat leaps", i % 5 ? "lazy" : "tired");
    return f ? fclose(f) : -1;
}

/* ---- options ---- */

static inline void set_option(struct oa_options *o, const char *key, const char *value)
{
    assert_int_equal(oa_options_set(NULL, o, key, value), OA_OK);
}

/* One layer of two narrow heads, to be trained on a text for some steps. */
static inline struct oa_options small_model(const char *text, long steps)
{
    struct oa_options o;
    oa_options_default(&o);
    snprintf(o.data_train, sizeof o.data_train, "%s", text);
    o.model_layers = 1;
    o.model_width = 16;
    o.model_heads = 2;
    o.model_context = 16;
    o.train_steps = steps;
    o.train_warmup = 2;
    return o;
}

#endif
