/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures in the binary layout of CIFAR-10 with one channel: records of a byte for the class and 32 × 32 bytes for the
 * pixels, row by row (Krizhevsky, "Learning multiple layers of features from tiny images", 2009). A pixel is a token.
 */
#include "data/example_parts.h"

enum { PIXELS = 1024, RECORD = 1 + PIXELS };

static enum oa_error add_pictures(struct oa_rows *rows, int file, const char *data, size_t records)
{
    char label[8];
    for (size_t i = 0; i < records; i++) {
        const char *record = data + i * RECORD;
        int n = snprintf(label, sizeof label, "%u", (unsigned)(uint8_t)record[0]);
        OA_TRY(oa_rows_add_cell(rows, label, (size_t)n));
        OA_TRY(oa_rows_add_cell(rows, record + 1, PIXELS));
        OA_TRY(oa_rows_end(rows, file, i + 1));
    }
    return OA_OK;
}

static enum oa_error check_pictures(const struct oa_rows *rows, const char *file, const char *columns, size_t length)
{
    if (rows->answer != OA_ANSWER_CLASS)
        return oa_fail(rows->context, OA_ARGUMENT, "%s: pictures (*.bin) have a class; they are for classification",
                       file);
    if (columns && columns[strspn(columns, " ")])
        return oa_fail(rows->context, OA_ARGUMENT, "%s: pictures (*.bin) have no columns; leave data.columns out",
                       file);
    if (length == 0 || length % RECORD)
        return oa_fail(rows->context, OA_FORMAT,
                       "%s: %zu bytes are not a whole number of pictures: each is 1 byte for the class and %d for the "
                       "pixels",
                       file, length, PIXELS);
    return OA_OK;
}

enum oa_error oa_read_pictures(struct oa_rows *rows, const char *file, const char *columns)
{
    char *data;
    size_t length;
    OA_TRY(oa_files_read(rows->context, file, &data, &length));
    int number = oa_rows_add_file(rows, file);
    enum oa_error error = number < 0 ? OA_NO_MEMORY : check_pictures(rows, file, columns, length);
    rows->pictures = true;
    if (error == OA_OK)
        error = add_pictures(rows, number, data, length / RECORD);
    oa_free(data);
    return error;
}
