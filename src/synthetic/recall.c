/* SPDX-License-Identifier: Apache-2.0
 * recall, scattered-recall, induction: lookup by content of what is next to an earlier symbol. */
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

/* A pair; its value is the answer when its key is the one asked for. */
static void add_key_value(const long *size, int32_t key, bool asked, struct oa_dice *dice,
                          struct oa_example *e)
{
    long value = oa_dice_below(dice, size[OA_VALUES]);
    oa_letters_add(&e->input, key);
    oa_number_add(&e->input, value);
    if (asked)
        e->label = value;
}

static void add_question(int32_t key, struct oa_example *e)
{
    oa_word_add(&e->input, "?", 1);
    oa_letters_add(&e->input, key);
    oa_number_add(&e->output, e->label);
}

static bool draw_recall(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long pairs = oa_dice_between(dice, size[OA_LEAST], size[OA_MOST]),
         asked = oa_dice_below(dice, pairs);
    draw_keys(e->room, pairs, size[OA_ALPHABET], dice);
    for (long i = 0; i < pairs; i++)
        add_key_value(size, e->room[i], i == asked, dice, e);
    add_question(e->room[asked], e);
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

/* ---- scattered recall ---- */

static const char *refuse_scattered_recall(const long *size)
{
    if (size[OA_LEAST] < 2 * size[OA_PAIRS] + 2)
        return "--min-length is less than 2 times --pairs and 2: the pairs and the question";
    if (size[OA_PAIRS] > size[OA_ALPHABET])
        return "--pairs exceeds --alphabet, the number of distinct keys";
    return NULL;
}

/* n pairs among m filler words: C(m + n, n) arrangements, keys, values and a question as above. */
static double scattered_recall_inputs(const long *size)
{
    double count = 0, pairs = (double)size[OA_PAIRS];
    for (long n = size[OA_LEAST]; n <= size[OA_MOST] && isfinite(count); n++) {
        double filler = (double)n - 2 * pairs - 2, some = pairs;
        for (double i = 1; i <= pairs; i++)
            some *=
                (filler + i) / i * ((double)size[OA_ALPHABET] - i + 1) * (double)size[OA_VALUES];
        count += some;
    }
    return count;
}

static bool draw_scattered_recall(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long pairs = size[OA_PAIRS], asked = oa_dice_below(dice, pairs), put = 0;
    e->words = oa_dice_between(dice, size[OA_LEAST], size[OA_MOST]);
    draw_keys(e->room, pairs, size[OA_ALPHABET], dice);
    for (long left = e->words - 2 - pairs; left > 0; left--) { /* of pairs and filler */
        bool here = oa_dice_below(dice, left) < pairs - put;
        if (here)
            add_key_value(size, e->room[put], put == asked, dice, e);
        else
            oa_word_add(&e->input, ".", 1);
        put += here;
    }
    add_question(e->room[asked], e);
    return true;
}

const struct oa_synthetic_task oa_task_scattered_recall = {
    .name = "scattered-recall",
    .title = "recall with the pairs at places that differ from text to text",
    .rule = "As recall, with --pairs pairs among filler (\".\"): the number of words is uniform, "
            "and every arrangement of pairs and filler before the question mark equally likely.",
    .length = "words",
    .source = "as recall; places that vary, of the queries: Arora et al.: Zoology, 2023, "
              "arXiv:2312.04927",
    .input = ". c 9 . . k 8 j 3 . ? k",
    .output = "8",
    .form = OA_ANSWERED,
    .size = { [OA_LEAST] = { 4, 16384, 12 },
              [OA_MOST] = { 4, 16384, 20 },
              [OA_ALPHABET] = { 1, 10000, 26 },
              [OA_VALUES] = { 2, 10000, 10 },
              [OA_PAIRS] = { 1, 4096, 4 } },
    .refuse = refuse_scattered_recall,
    .labels = recall_labels,
    .inputs = scattered_recall_inputs,
    .draw = draw_scattered_recall,
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
