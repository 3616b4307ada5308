/* SPDX-License-Identifier: Apache-2.0
 * recall, induction: lookup by content of what is next to an earlier symbol. */
#include "synthetic/synthetic.h"

#include <math.h>

/* ---- recall ---- */

static const char *refuse_recall(const long *size)
{
    return size[OA_MOST] > size[OA_ALPHABET] ? "--max-length, the pairs of an example, exceeds "
                                               "--alphabet, the number of distinct keys"
                                             : NULL;
}

static long recall_labels(const long *size)
{
    return size[OA_VALUES];
}

/* n pairs: K (K-1) … (K-n+1) choices of keys, V^n of values, n of the key asked for. */
static double recall_inputs(const long *size)
{
    double count = 0, ordered = 1;
    for (long n = 1; n <= size[OA_MOST] && isfinite(count); n++) {
        ordered *= (double)(size[OA_ALPHABET] - n + 1) * (double)size[OA_VALUES];
        if (n >= size[OA_LEAST])
            count += (double)n * ordered;
    }
    return count;
}

/* The first n of a shuffled row of all keys. */
static void draw_keys(int32_t *key, long n, long all, struct oa_dice *dice)
{
    for (long i = 0; i < all; i++)
        key[i] = (int32_t)i;
    for (long i = 0; i < n; i++) {
        long other = oa_dice_between(dice, i, all - 1);
        int32_t chosen = key[other];
        key[other] = key[i];
        key[i] = chosen;
    }
}

static bool draw_recall(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long pairs = oa_dice_between(dice, size[OA_LEAST], size[OA_MOST]),
         asked = oa_dice_below(dice, pairs);
    draw_keys(e->room, pairs, size[OA_ALPHABET], dice);
    for (long i = 0; i < pairs; i++) {
        long value = oa_dice_below(dice, size[OA_VALUES]);
        oa_letters_add(&e->input, e->room[i]);
        oa_number_add(&e->input, value);
        if (i == asked)
            e->label = value;
    }
    oa_word_add(&e->input, "?", 1);
    oa_letters_add(&e->input, e->room[asked]);
    oa_number_add(&e->output, e->label);
    e->words = 2 * pairs + 2;
    return true;
}

const struct oa_synthetic_task oa_task_recall = {
    .name = "recall",
    .title = "the value that belongs to a key (associative recall)",
    .rule = "Pairs of a key (letters) and a value (a number), then a question mark and one of the "
            "keys, uniformly chosen; the answer is its value. The keys of an example are distinct, "
            "values uniform.",
    .length = "pairs",
    .source =
        "Ba, Hinton, Mnih, Leibo, Ionescu: Using Fast Weights to Attend to the Recent Past, 2016, "
        "arXiv:1610.06258; of language models: Arora et al.: Zoology, 2023, arXiv:2312.04927",
    .input = "c 9 k 8 j 3 f 1 ? c",
    .output = "9",
    .form = OA_ANSWERED,
    .size = { [OA_LEAST] = { 1, 10000, 4 },
              [OA_MOST] = { 1, 10000, 16 },
              [OA_ALPHABET] = { 1, 10000, 26 },
              [OA_VALUES] = { 2, 10000, 10 } },
    .refuse = refuse_recall,
    .labels = recall_labels,
    .inputs = recall_inputs,
    .draw = draw_recall,
};

/* ---- induction ---- */

static long induction_labels(const long *size)
{
    return size[OA_ALPHABET];
}

/* n symbols with distance d: A choices of the symbol, A-1 for each of the d-1 between, A for each
 * of the n-1-d before. */
static double induction_inputs(const long *size)
{
    double count = 0, a = (double)size[OA_ALPHABET];
    for (long n = size[OA_LEAST]; n <= size[OA_MOST] && isfinite(count); n++)
        for (long d = 2; d < n; d++)
            count += pow(a, (double)(n - d)) * pow(a - 1, (double)(d - 1));
    return count;
}

/* A symbol that is not `other`. */
static int32_t draw_another(struct oa_dice *dice, long alphabet, int32_t other)
{
    long symbol = oa_dice_below(dice, alphabet - 1);
    return (int32_t)(symbol + (symbol >= other));
}

static bool draw_induction(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long n = oa_dice_between(dice, size[OA_LEAST], size[OA_MOST]),
         before = n - 1 - oa_dice_between(dice, 2, n - 1);
    int32_t asked = (int32_t)oa_dice_below(dice, size[OA_ALPHABET]);
    for (long i = 0; i < n; i++) {
        bool free = i < before, same = i == before || i == n - 1;
        e->room[i] = same   ? asked
                     : free ? (int32_t)oa_dice_below(dice, size[OA_ALPHABET])
                            : draw_another(dice, size[OA_ALPHABET], asked);
        oa_letters_add(&e->input, e->room[i]);
    }
    e->label = e->room[before + 1];
    oa_letters_add(&e->output, e->label);
    e->words = n;
    return true;
}

const struct oa_synthetic_task oa_task_induction = {
    .name = "induction",
    .title = "what followed the previous occurrence of the last symbol (induction heads)",
    .rule = "The last symbol has occurred before; the answer is what followed its previous "
            "occurrence, whose distance is uniform from 2 to length - 1. The symbols between are "
            "different from it, all others uniform.",
    .length = "symbols",
    .source = "Olsson et al.: In-context Learning and Induction Heads, 2022, arXiv:2209.11895; as "
              "a task: Fu et al.: Hungry Hungry Hippos, ICLR 2023, arXiv:2212.14052",
    .input = "d a c b a e a f a",
    .output = "f",
    .form = OA_ANSWERED,
    .size = { [OA_LEAST] = { 3, 16384, 10 },
              [OA_MOST] = { 3, 16384, 40 },
              [OA_ALPHABET] = { 2, 10000, 26 } },
    .labels = induction_labels,
    .inputs = induction_inputs,
    .draw = draw_induction,
};
