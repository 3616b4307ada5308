/* SPDX-License-Identifier: Apache-2.0
 * Tables of text, and numbers in them. */
#include "import/sheet.h"

#include "base/reserve.h"

#include <math.h>
#include <string.h>
#include <strings.h>

void oa_sheet_init(struct oa_sheet *s, oa_context *c, const char *path)
{
    *s = (struct oa_sheet){ .context = c, .path = path };
    oa_words_init(&s->names, c);
    oa_text_init(&s->text, c);
}

void oa_sheet_free(struct oa_sheet *s)
{
    oa_words_free(&s->names);
    oa_text_free(&s->text);
    oa_free(s->cell);
    oa_free(s->row);
}

enum oa_error oa_sheet_begin_row(struct oa_sheet *s, unsigned long line)
{
    if (!oa_reserve(s->context, &s->row, &s->row_capacity, s->rows + 1, sizeof *s->row))
        return OA_NO_MEMORY;
    s->row[s->rows++] = (struct oa_sheet_row){ s->cells, line };
    return OA_OK;
}

enum oa_error oa_sheet_add(struct oa_sheet *s, int32_t column, const char *text, size_t length)
{
    static const char blanks[] = " \t\r\n";
    while (length && strchr(blanks, *text)) {
        text++;
        length--;
    }
    while (length && strchr(blanks, text[length - 1]))
        length--;
    if (!oa_reserve(s->context, &s->cell, &s->cell_capacity, s->cells + 1, sizeof *s->cell))
        return OA_NO_MEMORY;
    s->cell[s->cells++] = (struct oa_sheet_cell){ column, s->text.length };
    oa_text_add(&s->text, text, length);
    oa_text_add(&s->text, "", 1);
    return oa_status(s->context);
}

const char *oa_sheet_text(const struct oa_sheet *s, size_t row, int32_t column)
{
    size_t end = row + 1 < s->rows ? s->row[row + 1].first : s->cells;
    for (size_t i = s->row[row].first; i < end; i++)
        if (s->cell[i].column == column)
            return s->text.s + s->cell[i].at;
    return "";
}

const char *oa_sheet_name(const struct oa_sheet *s, int32_t column)
{
    return oa_words_at(&s->names, column, NULL);
}

bool oa_is_listed(const char *name, const char *const *list)
{
    while (*list && strcasecmp(name, *list) != 0)
        list++;
    return *list != NULL;
}

enum oa_cell_kind oa_cell_number(const char *text, double *value)
{
    static const char *const empty[] = { "", "null", "none", "na", "n/a", "-", NULL };
    static const char *const not_finite[] = { "nan",  "inf",       "infinity",  "+inf",
                                              "-inf", "+infinity", "-infinity", NULL };
    *value = NAN;
    if (oa_is_listed(text, empty))
        return OA_CELL_EMPTY;
    if (oa_is_listed(text, not_finite))
        return OA_CELL_NOT_FINITE;
    if (!oa_parse_real(text, value))
        return OA_CELL_TEXT;
    return isfinite(*value) ? OA_CELL_NUMBER : OA_CELL_NOT_FINITE;
}
