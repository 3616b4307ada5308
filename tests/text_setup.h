/* SPDX-License-Identifier: Apache-2.0
 * What tests of texts and tokenizers set up alike: a folder and a context of their own, files, ids.
 */
#ifndef ORTHANT_TEXT_SETUP_H
#define ORTHANT_TEXT_SETUP_H

#include "setups.h"
#include "tokenizers/tokenizer.h"

#define SHAKESPEARE SOURCE_DIR "/data/tinyshakespeare.txt"
#define DATA SOURCE_DIR "/tests/data/"

static oa_context *context;
static char last_notice[256];

static inline void keep_notice(void *argument, int level, const char *line)
{
    (void)argument;
    if (level == 0)
        snprintf(last_notice, sizeof last_notice, "%s", line);
}

/* Every test runs in an empty folder of its own. */
static inline int enter_folder(void **state)
{
    *state = enter_own_folder();
    context = oa_open(&(struct oa_settings){ .threads = 1, .log = keep_notice });
    last_notice[0] = 0;
    return *state && context ? 0 : -1;
}

static inline int leave_folder(void **state)
{
    oa_close(context);
    return leave_own_folder(*state);
}

static inline void expect_error(enum oa_error code, const char *part)
{
    expect_failure(context, code, part);
}

static inline void expect_ok(enum oa_error code)
{
    const char *sentence;
    oa_last_error(context, &sentence);
    if (code != OA_OK)
        fail_msg("%s", sentence);
}

static inline void put(const char *path, const void *data, size_t length)
{
    expect_ok(oa_file_write(context, path, data, length));
}

static inline struct oa_tokenizer *open_tokenizer(const char *spec, const char *files)
{
    struct oa_tokenizer *tok;
    expect_ok(oa_tokenizer_open(context, spec, files, NULL, &tok));
    return tok;
}

static inline struct oa_ids encode(struct oa_tokenizer *tok, const char *text, size_t length)
{
    struct oa_ids ids;
    oa_ids_init(&ids, context);
    expect_ok(oa_tokenizer_encode(tok, text, length, &ids));
    return ids;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

#endif
