/* SPDX-License-Identifier: Apache-2.0
 * parity, majority: functions of all bits, sensitive to every bit or to few. */
#include "synthetic/symbol_rows.h"

#include <math.h>

static long two(const long *size)
{
    (void)size;
    return 2;
}

/* Draws the input. Returns the number of ones. */
static long draw_bits(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long n = oa_row_draw(size, 2, dice, e), ones = 0;
    for (long i = 0; i < n; i++) {
        oa_number_add(&e->input, e->room[i]);
        ones += e->room[i];
    }
    return ones;
}

/* ---- parity ---- */

static double parity_inputs(const long *size)
{
    return oa_row_count(size, 2);
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
    .labels = two,
    .inputs = parity_inputs,
    .draw = draw_parity,
};

/* ---- majority ---- */

/* The probability of a tie of n bits: C(n, n/2) / 2^n = Π (2i - 1) / 2i. */
static double tie(long n)
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
        count += pow(2, (double)n) * (1 - tie(n));
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
    .labels = two,
    .inputs = majority_inputs,
    .draw = draw_majority,
};
