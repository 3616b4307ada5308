/* SPDX-License-Identifier: Apache-2.0
 * copy, reverse, sort: sequence-to-sequence tasks. */
#include "synthetic/symbol_rows.h"

#include <stdlib.h>

static double inputs(const long *size)
{
    return oa_row_count(size, size[OA_ALPHABET]);
}

/* ---- copy ---- */

static bool draw_copy(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long n = oa_row_draw(size, size[OA_ALPHABET], dice, e);
    for (long i = 0; i < n; i++)
        oa_letters_add(&e->input, e->room[i]);
    oa_text_add(&e->output, e->input.s, e->input.length);
    return true;
}

const struct oa_synthetic_task oa_task_copy = {
    .name = "copy",
    .title = "copy a sequence",
    .rule = "Each symbol is uniform over the alphabet; the target is the source.",
    .length = "symbols",
    .source = "Graves, Wayne, Danihelka: Neural Turing Machines, 2014, arXiv:1410.5401",
    .input = "c a b b",
    .output = "c a b b",
    .form = OA_PAIRED,
    .size = { [OA_LEAST] = { 1, 16384, 10 },
              [OA_MOST] = { 1, 16384, 40 },
              [OA_ALPHABET] = { 1, 10000, 26 } },
    .inputs = inputs,
    .draw = draw_copy,
};

/* ---- reverse ---- */

static bool draw_reverse(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long n = oa_row_draw(size, size[OA_ALPHABET], dice, e);
    for (long i = 0; i < n; i++) {
        oa_letters_add(&e->input, e->room[i]);
        oa_letters_add(&e->output, e->room[n - 1 - i]);
    }
    return true;
}

const struct oa_synthetic_task oa_task_reverse = {
    .name = "reverse",
    .title = "reverse a sequence",
    .rule = "Each symbol is uniform over the alphabet; the target is the source in reverse order.",
    .length = "symbols",
    .source = "Grefenstette, Hermann, Suleyman, Blunsom: Learning to Transduce with Unbounded "
              "Memory, 2015, arXiv:1506.02516",
    .input = "c a b b",
    .output = "b b a c",
    .form = OA_PAIRED,
    .size = { [OA_LEAST] = { 1, 16384, 10 },
              [OA_MOST] = { 1, 16384, 40 },
              [OA_ALPHABET] = { 1, 10000, 26 } },
    .inputs = inputs,
    .draw = draw_reverse,
};

/* ---- sort ---- */

static int compare_bytes(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static bool draw_sort(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long n = oa_row_draw(size, size[OA_ALPHABET], dice, e);
    for (long i = 0; i < n; i++)
        oa_number_add(&e->input, e->room[i]);
    qsort(e->room, (size_t)n, sizeof *e->room, compare_bytes);
    for (long i = 0; i < n; i++)
        oa_number_add(&e->output, e->room[i]);
    return true;
}

const struct oa_synthetic_task oa_task_sort = {
    .name = "sort",
    .title = "sort numbers",
    .rule = "Each number is uniform from 0 to alphabet - 1; the target is the source in ascending "
            "order, with repetitions.",
    .length = "numbers",
    .source = "Vinyals, Bengio, Kudlur: Order Matters: Sequence to Sequence for Sets, ICLR 2016, "
              "arXiv:1511.06391",
    .input = "12 3 7 3",
    .output = "3 3 7 12",
    .form = OA_PAIRED,
    .size = { [OA_LEAST] = { 1, 16384, 10 },
              [OA_MOST] = { 1, 16384, 40 },
              [OA_ALPHABET] = { 1, 10000, 100 } },
    .inputs = inputs,
    .draw = draw_sort,
};
