/* SPDX-License-Identifier: Apache-2.0
 * The columns of unlabelled lines, separated by tabs as in the training tables. */
#include "data/example_parts.h"
#include "data/inputs.h"

#include <string.h>

struct oa_input_columns {
    oa_context *context;
    char *columns; /* NULL: none were named */
    int texts;
    enum oa_answer answer;
    struct oa_column_plan plan;
    bool planned; /* for the file at hand */
    struct oa_cells cells;
    struct oa_text joined[2]; /* of each text */
};

enum oa_error oa_input_columns_open(oa_context *c, const char *columns, int texts,
                                    enum oa_answer answer, struct oa_input_columns **out)
{
    struct oa_input_columns *g = *out = oa_alloc(c, sizeof *g);
    if (!g)
        return OA_NO_MEMORY;
    g->context = g->cells.context = c;
    g->texts = texts;
    g->answer = answer;
    oa_text_init(&g->joined[0], c);
    oa_text_init(&g->joined[1], c);
    if (oa_is_given(columns))
        g->columns = oa_copy_text(c, columns);
    return oa_status(c);
}

void oa_input_columns_close(struct oa_input_columns *g)
{
    if (!g)
        return;
    oa_text_free(&g->joined[0]);
    oa_text_free(&g->joined[1]);
    oa_free(g->cells.cell);
    oa_free(g->columns);
    oa_free(g);
}

int oa_input_columns_texts(const struct oa_input_columns *g)
{
    return g->texts;
}

bool oa_input_columns_whole(const struct oa_input_columns *g)
{
    return !g->columns && g->texts == 1;
}

void oa_input_columns_begin(struct oa_input_columns *g)
{
    g->planned = false;
}

/* Columns 1 and 2 of two, where none are named. */
static enum oa_error plan_input_columns(struct oa_input_columns *g, const char *place)
{
    g->planned = true;
    if (g->columns)
        return oa_columns_plan_texts(g->context, place, g->columns, g->answer, g->texts, &g->cells,
                                     &g->plan);
    g->plan = (struct oa_column_plan){ .count = g->texts };
    for (int i = 0; i < g->texts; i++)
        g->plan.column[i] = (struct oa_column){ .joined = 1, .at = { i } };
    return OA_OK;
}

static enum oa_error take_input_cells(struct oa_input_columns *g, const char *place,
                                      struct oa_input_text *out)
{
    if (!g->columns && g->cells.count != (size_t)g->texts)
        return oa_fail(g->context, OA_FORMAT,
                       "%s: %zu column%s; a pair of texts is 2 columns separated by a tab, or "
                       "those of --columns",
                       place, g->cells.count, oa_plural(g->cells.count));
    OA_TRY(oa_cells_check(&g->cells, &g->plan, place));
    for (int i = 0; i < g->texts; i++) {
        const struct oa_cell cell = oa_cells_join(&g->cells, &g->plan.column[i], &g->joined[i]);
        out[i] = (struct oa_input_text){ cell.s, cell.length };
    }
    return OA_OK;
}

enum oa_error oa_input_columns_cut(struct oa_input_columns *g, const char *place, const char *line,
                                   size_t length, struct oa_input_text *out, bool *header)
{
    bool first = !g->planned;
    *header = false;
    out[0] = (struct oa_input_text){ line, length };
    if (oa_input_columns_whole(g))
        return OA_OK;
    OA_TRY(oa_cells_cut(&g->cells, (char *)(uintptr_t)line, length));
    if (first)
        OA_TRY(plan_input_columns(g, place));
    *header = first && g->plan.header;
    return *header ? OA_OK : take_input_cells(g, place, out);
}
