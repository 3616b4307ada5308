/* SPDX-License-Identifier: Apache-2.0
 * What tests of examples set up alike: a context whose notices are kept, small files, what is read
 * of them. */
#ifndef ORTHANT_EXAMPLES_SETUP_H
#define ORTHANT_EXAMPLES_SETUP_H

#include "data/examples.h"
#include "testing.h"

#include <string.h>

static oa_context *context;
static char notices[4096];

static inline void take_notice(void *user, int level, const char *line)
{
    (void)user;
    if (level != 1)
        snprintf(notices + strlen(notices), sizeof notices - strlen(notices), "%s\n", line);
}

static inline void write_bytes(const char *path, const void *bytes, size_t count)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, count, f), count);
    assert_int_equal(fclose(f), 0);
}

static inline void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

static inline void expect_error(enum oa_error code, const char *words)
{
    const char *why;
    assert_int_equal(oa_last_error(context, &why), code);
    if (!strstr(why, words))
        fail_msg("\"%s\" is not in: %s", words, why);
    oa_clear_error(context);
}

static inline void expect_notice(const char *words)
{
    if (!strstr(notices, words))
        fail_msg("\"%s\" is not in: %s", words, notices);
}

static inline enum oa_error open_texts(enum oa_answer answer, const char *columns,
                                       const char *train, const char *valid, const char *test,
                                       struct oa_example_texts *out)
{
    struct oa_example_request r = {
        .train = train, .valid = valid, .test = test, .columns = columns, .answer = answer
    };
    notices[0] = 0;
    return oa_example_texts_open(context, &r, out);
}

static inline void refused(enum oa_answer answer, const char *columns, const char *train,
                           const char *valid, enum oa_error code, const char *words)
{
    struct oa_example_texts t;
    assert_int_equal(open_texts(answer, columns, train, valid, NULL, &t), code);
    expect_error(code, words);
}

static inline void assert_cell(const struct oa_rows *rows, size_t row, int cell, const char *text)
{
    size_t n;
    const char *s = oa_rows_cell(rows, row, cell, &n);
    if (!s || n != strlen(text) || memcmp(s, text, n) != 0)
        fail_msg("cell %d of row %zu is \"%.*s\", not \"%s\"", cell, row, s ? (int)n : 6,
                 s ? s : "(none)", text);
}

/* One file, read for an answer: its only row's cells, or the error. */
static inline void assert_row(enum oa_answer answer, const char *columns, const char *file,
                              size_t row, const char *const *cells)
{
    struct oa_example_texts t;
    assert_int_equal(open_texts(answer, columns, file, NULL, NULL, &t), OA_OK);
    int n = 0;
    for (; cells[n]; n++)
        assert_cell(&t.train, row, n, cells[n]);
    assert_int_equal(oa_rows_cells(&t.train, row), n);
    oa_example_texts_close(&t);
}

#define CELLS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static inline enum oa_error encode(const char *file, enum oa_answer answer,
                                   const struct oa_example_layout *layout,
                                   struct oa_example_texts *t, struct oa_tokenizer **tok,
                                   struct oa_examples *e)
{
    assert_int_equal(open_texts(answer, NULL, file, NULL, NULL, t), OA_OK);
    assert_int_equal(oa_example_texts_tokenizer(context, t, "byte", tok), OA_OK);
    return oa_examples_encode(*tok, t, &t->train, layout, e);
}

static inline void close_all(struct oa_example_texts *t, struct oa_tokenizer *tok,
                             struct oa_examples *e)
{
    oa_examples_close(e);
    oa_tokenizer_close(tok);
    oa_example_texts_close(t);
}

static inline int open_context(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .log = take_notice });
    return context ? 0 : -1;
}

static inline int close_context(void **state)
{
    (void)state;
    oa_close(context);
    return 0;
}

#endif
