/* SPDX-License-Identifier: Apache-2.0
 * Rows of texts: adding, access, digest; held-out rows; overlap of two sides. */
#include "base/safetensors.h"
#include "data/example_parts.h"
#include "tokenizers/word_table.h"

#include <math.h>
#include <string.h>

void oa_rows_init(struct oa_rows *rows, oa_context *c, const char *name, enum oa_answer answer)
{
    *rows = (struct oa_rows){ .context = c, .name = name, .answer = answer };
    oa_text_init(&rows->pool, c);
}

void oa_rows_free(struct oa_rows *rows)
{
    for (int i = 0; i < rows->files; i++)
        oa_free(rows->file[i]);
    oa_free(rows->file);
    oa_free(rows->cell);
    oa_free(rows->row);
    oa_free(rows->place);
    oa_text_free(&rows->pool);
    oa_rows_init(rows, rows->context, rows->name, rows->answer);
}

/* ---- access ---- */

int oa_rows_first_text(const struct oa_rows *rows)
{
    return rows->answer == OA_ANSWER_TEXT ? 0 : 1;
}

int oa_rows_cells(const struct oa_rows *rows, size_t row)
{
    return (int)(rows->row[row + 1] - rows->row[row]);
}

const char *oa_rows_cell(const struct oa_rows *rows, size_t row, int cell, size_t *length)
{
    if (cell >= oa_rows_cells(rows, row))
        return NULL;
    size_t k = rows->row[row] + (size_t)cell;
    *length = rows->cell[k + 1] - rows->cell[k];
    return rows->pool.s + rows->cell[k];
}

void oa_rows_print_place(const struct oa_rows *rows, size_t row, struct oa_text *out)
{
    const struct oa_row_place *p = &rows->place[row];
    oa_text_printf(out, "%s, %s %llu", rows->file[p->file], rows->pictures ? "picture" : "line",
                   (unsigned long long)p->line);
}

/* ---- adding ---- */

int oa_rows_add_file(struct oa_rows *rows, const char *name)
{
    size_t count = (size_t)rows->files;
    char *copy = oa_copy_text(rows->context, name);
    if (!copy || !oa_reserve(rows->context, &rows->file, &rows->file_capacity, count + 1,
                             sizeof *rows->file)) {
        oa_free(copy);
        return -1;
    }
    rows->file[rows->files] = copy;
    return rows->files++;
}

void oa_rows_count_respelled(struct oa_rows *rows, const char *from, size_t n, const char *to)
{
    if (!rows->respelled++) {
        snprintf(rows->respelled_from, OA_LABEL_SHOWN, "%.*s", (int)n, from);
        snprintf(rows->respelled_to, OA_LABEL_SHOWN, "%s", to);
    }
}

/* Normalises the label, which is the first cell of a row with a class. */
static void respell_label(struct oa_rows *rows, struct oa_number_text *whole, const char **s,
                          size_t *n)
{
    const char *from = *s;
    size_t length = *n;
    bool label = rows->answer == OA_ANSWER_CLASS &&
                 rows->cells == (rows->count ? rows->row[rows->count] : 0);
    if (!label || !oa_label_spell(s, n, whole))
        return;
    char to[OA_LABEL_SHOWN];
    snprintf(to, sizeof to, "%.*s", (int)(*n < sizeof to ? *n : sizeof to - 1), *s);
    oa_rows_count_respelled(rows, from, length, to);
}

enum oa_error oa_rows_add_cell(struct oa_rows *rows, const char *s, size_t n)
{
    struct oa_number_text whole;
    respell_label(rows, &whole, &s, &n);
    if (!oa_reserve(rows->context, &rows->cell, &rows->cell_capacity, rows->cells + 2,
                    sizeof *rows->cell))
        return OA_NO_MEMORY;
    oa_text_add(&rows->pool, s, n);
    rows->cell[++rows->cells] = rows->pool.length;
    return oa_status(rows->context) == OA_NO_MEMORY ? OA_NO_MEMORY : OA_OK;
}

/* Labels and further references may be blank. */
static bool lacks_text(const struct oa_rows *rows)
{
    int from = oa_rows_first_text(rows), cells = oa_rows_cells(rows, rows->count);
    int to = rows->answer == OA_ANSWER_TEXT ? 2 : cells;
    for (int k = from; k < to && !rows->pictures; k++) {
        size_t n;
        const char *s = oa_rows_cell(rows, rows->count, k, &n);
        if (oa_is_blank(s, n))
            return true;
    }
    return false;
}

void oa_rows_count_left_out(struct oa_rows *rows, uint64_t line)
{
    if (rows->left_out < OA_ROWS_SHOWN)
        rows->left_out_line[rows->left_out] = line;
    rows->left_out++;
}

enum oa_error oa_rows_end(struct oa_rows *rows, int file, uint64_t line)
{
    size_t n = rows->count;
    if (!oa_reserve(rows->context, &rows->row, &rows->row_capacity, n + 2, sizeof *rows->row) ||
        !oa_reserve(rows->context, &rows->place, &rows->place_capacity, n + 1, sizeof *rows->place))
        return OA_NO_MEMORY;
    rows->row[n + 1] = rows->cells;
    bool lacks = lacks_text(rows);
    if (lacks && !rows->whole) {
        oa_rows_count_left_out(rows, line);
        rows->cells = rows->row[n];
        oa_text_cut(&rows->pool, rows->cell[rows->cells]);
        return OA_OK;
    }
    rows->kept_empty += lacks;
    rows->place[n] = (struct oa_row_place){ file, line };
    rows->count++;
    return OA_OK;
}

void oa_rows_set_digest(struct oa_rows *rows)
{
    const struct oa_array parts[] = {
        { .data = rows->pool.s, .bytes = rows->pool.length },
        { .data = rows->cell, .bytes = rows->cells * sizeof *rows->cell },
        { .data = rows->row, .bytes = rows->count * sizeof *rows->row }
    };
    rows->digest = oa_digest_of_arrays(parts, sizeof parts / sizeof *parts);
}

/* ---- holding out ---- */

/* A random order of 0 … count - 1, of which only the first `known` are shuffled. NULL: no memory.
 */
static long *draw_order(oa_context *c, size_t count, size_t known, uint64_t seed)
{
    long *order = oa_alloc(c, (count + 1) * sizeof *order);
    for (size_t i = 0; order && i < count; i++)
        order[i] = (long)i;
    if (order)
        oa_shuffle_first(oa_stream_named(seed, "split"), order, (long)count, (long)known);
    return order;
}

/* Marks the first `chosen` of a random order of 0 … count - 1. */
static enum oa_error mark_random_rows(oa_context *c, size_t count, size_t chosen, uint64_t seed,
                                      uint8_t *mark)
{
    long *order = draw_order(c, count, chosen, seed);
    for (size_t i = 0; order && i < chosen; i++)
        mark[order[i]] = 1;
    oa_free(order);
    return order ? OA_OK : OA_NO_MEMORY;
}

/* ---- by class */

struct class_share {
    size_t rows, held;
    double missing; /* of its exact share of the held-out rows */
};

/* Largest remainders: each class gives the whole part of its share, then one more row where most is
 * missing, until `wanted` are held out or no class could keep a row. */
static void share_out_classes(struct class_share *class, int32_t classes, double fraction,
                              size_t wanted)
{
    for (int32_t i = 0; i < classes; i++) {
        struct class_share *k = &class[i];
        k->held = (size_t)fmin(floor((double)k->rows * fraction), (double)(k->rows - 1));
        k->missing = (double)k->rows * fraction - (double)k->held;
        wanted -= k->held < wanted ? k->held : wanted;
    }
    for (bool more = true; more && wanted; wanted--) {
        struct class_share *most = NULL;
        for (int32_t i = 0; i < classes; i++)
            if (class[i].held + 1 < class[i].rows && (!most || class[i].missing > most->missing))
                most = &class[i];
        more = most != NULL;
        if (!most)
            break;
        most->held++;
        most->missing--;
    }
}

static void tell_unheld(const struct oa_rows *rows, const struct oa_words *labels,
                        const struct class_share *class)
{
    enum { SHOWN = 10, LONGEST = 60 };
    struct oa_text names;
    int32_t none = 0;
    oa_text_init(&names, rows->context);
    for (int32_t i = 0; i < labels->count; i++)
        if (!class[i].held && none++ < SHOWN)
            oa_text_printf(&names, "%s\"%.*s\"", none > 1 ? ", " : "", LONGEST,
                           oa_words_at(labels, i, NULL));
    if (none)
        oa_log(
            rows->context, 0,
            "%s: no example held out for validation of %d of %d classes, which have too few: %s%s",
            rows->file[0], (int)none, (int)labels->count, names.s ? names.s : "",
            none > SHOWN ? " …" : "");
    oa_text_free(&names);
}

/* Stratified: as many rows as without classes, of each class its share, in random order. */
static enum oa_error choose_by_class(const struct oa_rows *rows, double fraction, size_t wanted,
                                     uint64_t seed, uint8_t *mark)
{
    struct oa_words labels;
    oa_words_init(&labels, rows->context);
    long *order = draw_order(rows->context, rows->count, rows->count, seed);
    int32_t *of = oa_alloc(rows->context, (rows->count + 1) * sizeof *of);
    struct class_share *class = oa_alloc(rows->context, (rows->count + 1) * sizeof *class);
    bool good = order && of && class;
    for (size_t i = 0; good && i < rows->count; i++) {
        size_t n;
        const char *label = oa_rows_cell(rows, i, 0, &n);
        good = (of[i] = oa_words_add(&labels, label, n)) >= 0;
        if (good)
            class[of[i]].rows++;
    }
    if (good) {
        share_out_classes(class, labels.count, fraction, wanted);
        tell_unheld(rows, &labels, class);
    }
    for (size_t i = 0; good && i < rows->count; i++) {
        struct class_share *k = &class[of[order[i]]];
        mark[order[i]] = k->held > 0;
        k->held -= k->held > 0;
    }
    oa_words_free(&labels);
    oa_free(order);
    oa_free(of);
    oa_free(class);
    return good ? OA_OK : OA_NO_MEMORY;
}

/* ---- dividing */

/* group[i] is the group of row i, from 0. Rows of one line, such as the turns of a dialogue, form a
 * group and are not separated. Returns the number of groups. */
static size_t group_rows(const struct oa_rows *rows, size_t *group)
{
    size_t groups = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct oa_row_place *p = &rows->place[i];
        groups += i == 0 || p->line != p[-1].line || p->file != p[-1].file;
        group[i] = groups - 1;
    }
    return groups;
}

static enum oa_error divide_rows(const struct oa_rows *rows, const size_t *group,
                                 const uint8_t *mark, struct oa_rows *rest, struct oa_rows *held)
{
    for (int i = 0; i < rows->files; i++)
        if (oa_rows_add_file(rest, rows->file[i]) < 0 || oa_rows_add_file(held, rows->file[i]) < 0)
            return OA_NO_MEMORY;
    for (size_t i = 0; i < rows->count; i++) {
        struct oa_rows *to = mark[group[i]] ? held : rest;
        size_t n;
        for (int k = 0; k < oa_rows_cells(rows, i); k++) {
            const char *s = oa_rows_cell(rows, i, k, &n);
            OA_TRY(oa_rows_add_cell(to, s, n));
        }
        OA_TRY(oa_rows_end(to, rows->place[i].file, rows->place[i].line));
    }
    return OA_OK;
}

enum oa_error oa_rows_divide(const struct oa_rows *rows, double fraction, uint64_t seed,
                             bool by_class, struct oa_rows *rest, struct oa_rows *held)
{
    size_t *group = oa_alloc(rows->context, (rows->count + 1) * sizeof *group);
    uint8_t *mark = oa_alloc(rows->context, rows->count + 1);
    size_t groups = group && mark ? group_rows(rows, group) : 0,
           kept = (size_t)floor((double)groups * (1 - fraction));
    held->pictures = rest->pictures = rows->pictures;
    enum oa_error error = !group || !mark ? OA_NO_MEMORY
                          : by_class && groups == rows->count
                              ? choose_by_class(rows, fraction, groups - kept, seed, mark)
                              : mark_random_rows(rows->context, groups, groups - kept, seed, mark);
    if (error == OA_OK)
        error = divide_rows(rows, group, mark, rest, held);
    oa_free(mark);
    oa_free(group);
    return error;
}

enum oa_error oa_rows_hold_out(struct oa_rows *rows, double fraction, uint64_t seed, bool by_class,
                               struct oa_rows *held)
{
    struct oa_rows rest;
    oa_rows_init(&rest, rows->context, rows->name, rows->answer);
    held->drawn = true;
    enum oa_error error = oa_rows_divide(rows, fraction, seed, by_class, &rest, held);
    if (error != OA_OK) {
        oa_rows_free(&rest);
        return error;
    }
    rest.left_out = rows->left_out; /* counted while reading */
    memcpy(rest.left_out_line, rows->left_out_line, sizeof rest.left_out_line);
    rest.carriage_returns = rows->carriage_returns;
    oa_rows_free(rows);
    *rows = rest;
    return OA_OK;
}

/* ---- overlap ---- */

/* A key of the cells from … to - 1: each with its length before it. */
static void make_key(const struct oa_rows *rows, size_t row, int from, int to, struct oa_text *out)
{
    oa_text_cut(out, 0);
    for (int k = from; k < to; k++) {
        size_t n;
        const char *s = oa_rows_cell(rows, row, k, &n);
        oa_text_add(out, (const char *)&n, sizeof n);
        oa_text_add(out, s, n);
    }
}

static int last_cell(const struct oa_rows *rows, size_t row, bool sources)
{
    if (rows->answer == OA_ANSWER_TEXT)
        return sources ? 1 : 2;
    return oa_rows_cells(rows, row) - (sources && rows->answer == OA_ANSWER_TOKENS);
}

static enum oa_error count_shared(const struct oa_rows *train, const struct oa_rows *side,
                                  bool sources, uint64_t *out)
{
    struct oa_words seen;
    struct oa_text key;
    int from = sources ? oa_rows_first_text(train) : 0;
    enum oa_error error = OA_OK;
    oa_words_init(&seen, train->context);
    oa_text_init(&key, train->context);
    oa_text_add(&key, "", 0);
    for (size_t i = 0; i < train->count && error == OA_OK; i++) {
        make_key(train, i, from, last_cell(train, i, sources), &key);
        error = key.s && oa_words_add(&seen, key.s, key.length) >= 0 ? OA_OK : OA_NO_MEMORY;
    }
    *out = 0;
    for (size_t i = 0; i < side->count && error == OA_OK; i++) {
        make_key(side, i, from, last_cell(side, i, sources), &key);
        *out += oa_words_find(&seen, key.s, key.length) >= 0;
    }
    oa_words_free(&seen);
    oa_text_free(&key);
    return error;
}

enum oa_error oa_rows_overlap(const struct oa_rows *train, const struct oa_rows *side,
                              struct oa_overlap *out)
{
    OA_TRY(count_shared(train, side, false, &out->rows));
    return count_shared(train, side, true, &out->sources);
}
