/* SPDX-License-Identifier: Apache-2.0
 * Parallel files: line n of one is the translation of line n of the other. */
#include "data/example_parts.h"

static enum oa_error check_counts(oa_context *c, const struct oa_text_file *a,
                                  const struct oa_text_file *b)
{
    uint64_t of_a = oa_text_file_count(a), of_b = oa_text_file_count(b);
    if (of_a == of_b)
        return OA_OK;
    const struct oa_text_file *shorter = of_a < of_b ? a : b;
    return oa_fail(c, OA_FORMAT,
                   "parallel files differ in length: %s has %llu lines and %s has %llu (%s ends "
                   "after line %llu)",
                   a->name, (unsigned long long)of_a, b->name, (unsigned long long)of_b,
                   shorter->name, (unsigned long long)(of_a < of_b ? of_a : of_b));
}

static enum oa_error pair_lines(struct oa_rows *rows, struct oa_text_file *source,
                                struct oa_text_file *target)
{
    char *s, *t;
    size_t of_s, of_t;
    int file = oa_rows_add_file(rows, source->name);
    if (file < 0)
        return OA_NO_MEMORY;
    while (oa_text_file_line(source, &s, &of_s) && oa_text_file_line(target, &t, &of_t)) {
        OA_TRY(oa_rows_add_cell(rows, s, of_s));
        OA_TRY(oa_rows_add_cell(rows, t, of_t));
        OA_TRY(oa_rows_end(rows, file, source->line - 1));
    }
    rows->carriage_returns += source->carriage_returns + target->carriage_returns;
    return OA_OK;
}

enum oa_error oa_read_parallel(struct oa_rows *rows, const char *source, const char *target)
{
    struct oa_text_file a, b = { 0 };
    enum oa_error error = oa_text_file_open(rows->context, source, &a);
    if (error == OA_OK)
        error = oa_text_file_open(rows->context, target, &b);
    if (error == OA_OK)
        error = oa_check_parallel_formats(rows->context, &a, &b);
    if (error == OA_OK)
        error = check_counts(rows->context, &a, &b);
    if (error == OA_OK)
        error = pair_lines(rows, &a, &b);
    oa_text_file_close(&a);
    oa_text_file_close(&b);
    return error;
}
