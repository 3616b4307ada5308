/* SPDX-License-Identifier: Apache-2.0
 * Tasks on sequences of independent uniform symbols: copy, reverse, sort; parity and majority,
 * functions of all bits that are sensitive to every bit or to few. */
#include "synthetic/synthetic.h"

#include <math.h>
#include <stdlib.h>

/* Fills e->room, sets e->words and returns it. The length is uniform from least to most. */
static long draw_symbols(const long *size, long alphabet, struct oa_dice *dice,
                         struct oa_example *e)
{
    e->words = oa_dice_between(dice, size[OA_LEAST], size[OA_MOST]);
    for (long i = 0; i < e->words; i++)
        e->room[i] = (int32_t)oa_dice_below(dice, alphabet);
    return e->words;
}

/* The number of sequences: Σ alphabet^n over lengths least … most. */
static double count_sequences(const long *size, long alphabet)
{
    double count = 0;
    for (long n = size[OA_LEAST]; n <= size[OA_MOST] && isfinite(count); n++)
        count += pow((double)alphabet, (double)n);
    return count;
}

static double alphabet_inputs(const long *size)
{
    return count_sequences(size, size[OA_ALPHABET]);
}

/* ---- copy ---- */

static bool draw_copy(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long n = draw_symbols(size, size[OA_ALPHABET], dice, e);
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
    .inputs = alphabet_inputs,
    .draw = draw_copy,
};

/* ---- reverse ---- */

static bool draw_reverse(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long n = draw_symbols(size, size[OA_ALPHABET], dice, e);
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
    .inputs = alphabet_inputs,
    .draw = draw_reverse,
};

/* ---- sort ---- */

static int compare_symbols(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static bool draw_sort(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long n = draw_symbols(size, size[OA_ALPHABET], dice, e);
    for (long i = 0; i < n; i++)
        oa_number_add(&e->input, e->room[i]);
    qsort(e->room, (size_t)n, sizeof *e->room, compare_symbols);
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
    .inputs = alphabet_inputs,
    .draw = draw_sort,
};

static long two_labels(const long *size)
{
    (void)size;
    return 2;
}

/* Draws the input. Returns the number of ones. */
static long draw_bits(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long n = draw_symbols(size, 2, dice, e), ones = 0;
    for (long i = 0; i < n; i++) {
        oa_number_add(&e->input, e->room[i]);
        ones += e->room[i];
    }
    return ones;
}

/* ---- parity ---- */

static double parity_inputs(const long *size)
{
    return count_sequences(size, 2);
}

static bool draw_parity(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    e->label = draw_bits(size, dice, e) % 2;
    oa_number_add(&e->output, e->label);
    return true;
}

const struct oa_synthetic_task oa_task_parity = {
    .name = "parity",
    .title = "is the number of ones odd?",
    .rule = "Uniform random bits; the label is 1 when the number of ones is odd, else 0.",
    .length = "bits",
    .source = "Hahn: Theoretical Limitations of Self-Attention in Neural Sequence Models, TACL "
              "2020, arXiv:1906.06755",
    .input = "0 1 1 0 1",
    .output = "1",
    .form = OA_LABELLED,
    .size = { [OA_LEAST] = { 1, 16384, 10 }, [OA_MOST] = { 1, 16384, 40 } },
    .labels = two_labels,
    .inputs = parity_inputs,
    .draw = draw_parity,
};

/* ---- majority ---- */

/* The probability of a tie of n bits: C(n, n/2) / 2^n = Π (2i - 1) / 2i. */
static double tie_probability(long n)
{
    double chance = n % 2 == 0;
    for (long i = 1; 2 * i <= n; i++)
        chance *= (double)(2 * i - 1) / (double)(2 * i);
    return chance;
}

static double majority_inputs(const long *size)
{
    double count = 0;
    for (long n = size[OA_LEAST]; n <= size[OA_MOST] && isfinite(count); n++)
        count += pow(2, (double)n) * (1 - tie_probability(n));
    return count;
}

static bool draw_majority(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long ones = draw_bits(size, dice, e);
    e->label = 2 * ones > e->words;
    oa_number_add(&e->output, e->label);
    return 2 * ones != e->words;
}

const struct oa_synthetic_task oa_task_majority = {
    .name = "majority",
    .title = "are there more ones than zeros?",
    .rule = "Uniform random bits without ties; the label is 1 when there are more ones than zeros, "
            "else 0.",
    .length = "bits",
    .source = "Merrill, Sabharwal, Smith: Saturated Transformers are Constant-Depth Threshold "
              "Circuits, TACL 2022, arXiv:2106.16213",
    .input = "0 1 1 0 1",
    .output = "1",
    .form = OA_LABELLED,
    .size = { [OA_LEAST] = { 1, 16384, 10 }, [OA_MOST] = { 1, 16384, 40 } },
    .labels = two_labels,
    .inputs = majority_inputs,
    .draw = draw_majority,
};
