/* SPDX-License-Identifier: Apache-2.0
 * Pictures in the binary layout of CIFAR-10: a record is 1 byte for the class and 32 × 32 pixels,
 * row by row, of one channel, or of red, then green, then blue (Krizhevsky, "Learning multiple
 * layers of features from tiny images", 2009). Colours are converted to grey as in the Long Range
 * Arena: luma of ITU-R BT.601. */
#include "data/example_parts.h"

#include <math.h>
#include <string.h>

enum { PIXELS = OA_PICTURE_SIDE * OA_PICTURE_SIDE, GREY = 1 + PIXELS, COLOUR = 1 + 3 * PIXELS };

static enum oa_error add_pictures(struct oa_rows *rows, int file, const char *data, size_t length,
                                  size_t size)
{
    char label[8], grey[PIXELS];
    for (size_t i = 0; i < length / size; i++) {
        const char *record = data + i * size, *pixels = record + 1;
        int n = snprintf(label, sizeof label, "%u", (unsigned)(uint8_t)record[0]);
        const uint8_t *rgb = (const uint8_t *)pixels;
        for (int k = 0; k < PIXELS && size == COLOUR; k++) {
            double luma = 0.299 * rgb[k] + 0.587 * rgb[PIXELS + k] + 0.114 * rgb[2 * PIXELS + k];
            grey[k] = (char)(uint8_t)floor(luma + 0.5);
        }
        OA_TRY(oa_rows_add_cell(rows, label, (size_t)n));
        OA_TRY(oa_rows_add_cell(rows, size == COLOUR ? grey : pixels, PIXELS));
        OA_TRY(oa_rows_end(rows, file, i + 1));
    }
    return OA_OK;
}

static enum oa_error check_picture_file(const struct oa_rows *rows, const char *file,
                                        const char *columns, size_t length)
{
    if (rows->answer != OA_ANSWER_CLASS)
        return oa_fail(rows->context, OA_ARGUMENT,
                       "%s: pictures (*.bin) can only be classified (data.task classify)", file);
    if (oa_is_given(columns))
        return oa_fail(rows->context, OA_ARGUMENT,
                       "%s: data.columns does not apply to pictures (*.bin); leave it out", file);
    if (length == 0 || (length % GREY && length % COLOUR))
        return oa_fail(rows->context, OA_FORMAT,
                       "%s: %zu bytes are not a whole number of pictures of 1 byte for the class "
                       "and %d for the pixels (%d in colour)",
                       file, length, PIXELS, 3 * PIXELS);
    if (length % GREY == 0 && length % COLOUR == 0)
        return oa_fail(rows->context, OA_FORMAT,
                       "%s: %zu bytes may be %zu grey or %zu colour pictures; split the file in "
                       "two (head -c, tail -c; %d or %d bytes per picture)",
                       file, length, length / GREY, length / COLOUR, GREY, COLOUR);
    return OA_OK;
}

enum oa_error oa_read_pictures(struct oa_rows *rows, const char *file, const char *columns)
{
    char *data;
    size_t length;
    OA_TRY(oa_files_read(rows->context, file, &data, &length));
    int number = oa_rows_add_file(rows, file);
    enum oa_error error =
        number < 0 ? OA_NO_MEMORY : check_picture_file(rows, file, columns, length);
    rows->pictures = true;
    if (error == OA_OK)
        oa_log(rows->context, 2, "%s: pictures in %s", file,
               length % GREY ? "colour, converted to grey" : "grey");
    if (error == OA_OK)
        error = add_pictures(rows, number, data, length, length % GREY ? COLOUR : GREY);
    oa_free(data);
    return error;
}
