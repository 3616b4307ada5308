/* SPDX-License-Identifier: Apache-2.0 */
#include "tasks/details.h"

#include "metrics/confusion.h"

#include <stdlib.h>
#include <string.h>

void oa_details_free(struct oa_details *d)
{
    for (int i = 0; i < d->example_count; i++) {
        oa_free(d->examples[i].source);
        oa_free(d->examples[i].reference);
        oa_free(d->examples[i].output);
    }
    if (d->confusion)
        oa_confusion_free(d->confusion);
    oa_free(d->confusion);
    oa_free(d->parts);
    oa_free(d->examples);
    *d = (struct oa_details){ 0 };
}

/* The longest prefix of at most `most` bytes that does not split a character. */
static size_t whole_characters(const char *s, size_t n, size_t most)
{
    size_t kept = n < most ? n : most;
    while (kept < n && kept > 0 && ((unsigned char)s[kept] & 0xc0) == 0x80)
        kept--;
    return kept;
}

/* ---- parts ---- */

enum oa_error oa_details_reserve(oa_context *c, struct oa_details *d, int parts)
{
    struct oa_breakdown *room = oa_alloc(c, (size_t)(d->part_count + parts) * sizeof *room);
    if (!room)
        return OA_NO_MEMORY;
    if (d->part_count)
        memcpy(room, d->parts, (size_t)d->part_count * sizeof *room);
    oa_free(d->parts);
    d->parts = room;
    return OA_OK;
}

void oa_details_add(struct oa_details *d, const char *by, const char *name, const char *measure,
                    double value, long n)
{
    struct oa_breakdown *p = &d->parts[d->part_count++];
    *p = (struct oa_breakdown){ .value = value, .n = (double)n };
    size_t kept = whole_characters(name, strlen(name), sizeof p->name - 1);
    snprintf(p->by, sizeof p->by, "%s", by);
    snprintf(p->name, sizeof p->name, "%.*s", (int)kept, name);
    snprintf(p->measure, sizeof p->measure, "%s", measure);
}

/* ---- by length ---- */

static uint32_t entry_row(const struct oa_scored_rows *j, long entry)
{
    return j->row ? j->row[entry] : (uint32_t)entry;
}

static long entry_length(const struct oa_scored_rows *j, long entry)
{
    const size_t *start = j->examples->source.start + entry_row(j, entry);
    return (long)(start[1] - start[0]);
}

static int compare_lengths(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

/* Upper ends of the parts: the distinct quartiles of the sorted lengths. */
static int choose_ends(const long *sorted, long count, long end[OA_LENGTHS])
{
    int parts = 0;
    for (long k = 1; k <= OA_LENGTHS; k++) {
        long length = sorted[(k * count + OA_LENGTHS - 1) / OA_LENGTHS - 1];
        if (!parts || length > end[parts - 1])
            end[parts++] = length;
    }
    return parts;
}

struct by_length {
    const struct oa_scored_rows *j;
    const char *measure;
    oa_part_score *score;
    void *argument;
    struct oa_details *d;
    uint32_t *entry; /* room for all */
    long *sorted;
};

/* Lengths from `low` to `high`. */
static enum oa_error add_lengths(struct by_length *b, long low, long high)
{
    char name[64];
    double value;
    long count = 0;
    for (long i = 0; i < b->j->count; i++)
        if (entry_length(b->j, i) >= low && entry_length(b->j, i) <= high)
            b->entry[count++] = (uint32_t)i;
    OA_TRY(b->score(b->argument, b->entry, count, &value));
    snprintf(name, sizeof name, low == high ? "%ld tokens" : "%ld to %ld tokens", low, high);
    oa_details_add(b->d, "length", name, b->measure, value, count);
    return OA_OK;
}

static enum oa_error add_all_lengths(struct by_length *b)
{
    long end[OA_LENGTHS];
    for (long i = 0; i < b->j->count; i++)
        b->sorted[i] = entry_length(b->j, i);
    qsort(b->sorted, (size_t)b->j->count, sizeof *b->sorted, compare_lengths);
    int parts = choose_ends(b->sorted, b->j->count, end);
    for (int k = 0; parts > 1 && k < parts; k++)
        OA_TRY(add_lengths(b, k ? end[k - 1] + 1 : b->sorted[0], end[k]));
    return OA_OK;
}

enum oa_error oa_details_by_length(oa_context *c, const struct oa_scored_rows *j,
                                   const char *measure, oa_part_score *score, void *argument,
                                   struct oa_details *d)
{
    struct by_length b = {
        .j = j, .measure = measure, .score = score, .argument = argument, .d = d
    };
    if (j->count == 0)
        return OA_OK;
    OA_TRY(oa_details_reserve(c, d, OA_LENGTHS));
    b.entry = oa_alloc(c, (size_t)j->count * sizeof *b.entry);
    b.sorted = oa_alloc(c, (size_t)j->count * sizeof *b.sorted);
    enum oa_error e = b.entry && b.sorted ? add_all_lengths(&b) : OA_NO_MEMORY;
    oa_free(b.entry);
    oa_free(b.sorted);
    return e;
}

/* ---- examples ---- */

static int compare_rows(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Pairs of row and entry, sorted by row. */
static uint32_t (*sorted_rows(oa_context *c, const struct oa_scored_rows *j))[2]
{
    uint32_t(*pair)[2] = oa_alloc(c, ((size_t)j->count + 1) * sizeof *pair);
    for (long i = 0; pair && i < j->count; i++) {
        pair[i][0] = entry_row(j, i);
        pair[i][1] = (uint32_t)i;
    }
    if (pair)
        qsort(pair, (size_t)j->count, sizeof *pair, compare_rows);
    return pair;
}

/* Pairs are printed as two lines. */
static void print_source(const struct oa_rows *rows, size_t row, struct oa_text *out)
{
    int first = oa_rows_first_text(rows), texts = first ? oa_rows_cells(rows, row) - first : 1;
    for (int i = 0; i < texts; i++) {
        size_t n, kept;
        const char *s = oa_rows_cell(rows, row, first + i, &n);
        kept = whole_characters(s, n, OA_SHOWN_TEXT);
        oa_text_add(out, "\n", i > 0);
        oa_text_add(out, s, kept);
        oa_text_printf(out, "%s", kept < n ? " …" : "");
    }
}

static void add_reference(const struct oa_rows *rows, size_t row, struct oa_text *out)
{
    size_t n;
    const char *s = oa_rows_cell(rows, row, oa_rows_first_text(rows) ? 0 : 1, &n);
    oa_text_add(out, s, n);
}

static char *move_text(oa_context *c, struct oa_text *text)
{
    char *copy = oa_copy_text(c, text->s ? text->s : "");
    oa_text_cut(text, 0);
    return copy;
}

static enum oa_error add_specimen(oa_context *c, const struct oa_scored_rows *j,
                                  const uint32_t *pair, oa_answer_text *answer, void *argument,
                                  struct oa_details *d)
{
    const struct oa_rows *rows = j->examples->rows;
    struct oa_specimen *x = &d->examples[d->example_count++];
    struct oa_text text;
    oa_text_init(&text, c);
    oa_text_add(&text, "", 0);
    x->row = (long)pair[0];
    if (!rows->pictures) {
        print_source(rows, pair[0], &text);
        x->source = move_text(c, &text);
    }
    add_reference(rows, pair[0], &text);
    x->reference = move_text(c, &text);
    answer(argument, (long)pair[1], &text);
    x->output = move_text(c, &text);
    oa_text_free(&text);
    return oa_status(c);
}

/* Draws a uniform sample of rows in order (Knuth's algorithm S). */
enum oa_error oa_details_examples(oa_context *c, const struct oa_scored_rows *j,
                                  oa_answer_text *answer, void *argument, struct oa_details *d)
{
    struct oa_stream stream = oa_stream_named(0, "specimens");
    long wanted = oa_min(OA_SPECIMENS, j->count);
    uint32_t(*pair)[2] = sorted_rows(c, j);
    d->examples = oa_alloc(c, ((size_t)wanted + 1) * sizeof *d->examples);
    enum oa_error e = pair && d->examples ? OA_OK : OA_NO_MEMORY;
    for (long i = 0; e == OA_OK && i < j->count; i++)
        if ((long)oa_random_below(stream, (uint64_t)i, (uint64_t)(j->count - i)) <
            wanted - d->example_count)
            e = add_specimen(c, j, pair[i], answer, argument, d);
    oa_free(pair);
    return e;
}
