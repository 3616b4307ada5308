/* SPDX-License-Identifier: Apache-2.0
 * mqar, mqar-zoology: multi-query associative recall (Arora et al. 2023). Keys with their values,
 * then each key once more, at a random place among filler; its target is its value.
 *
 * The words: 0 is filler only, 1 … V/2 − 1 are keys, V/2 … V − 1 values. The place of a query is
 * its gap g from the end of the pairs, in units of two words, drawn without repetition with chances
 * proportional to 1/(g + 1): the published g^(0.01 − 1) without the power 0.01, so that all numbers
 * are whole and the same on every machine. */
#include "synthetic/targeted.h"

#include <math.h>

enum { WEIGHT = 1 << 26 }; /* of gap 0 */

static long mqar_gaps(const long *size, long length)
{
    return (length - 2 * size[OA_PAIRS]) / 2;
}

static const char *refuse_mqar(const long *size)
{
    if (size[OA_LEAST] % 2 || size[OA_MOST] % 2)
        return "--min-length and --max-length must be even";
    if (4 * size[OA_PAIRS] > size[OA_LEAST])
        return "--min-length is less than 4 times --pairs: each pair and each query needs two "
               "words";
    if (size[OA_PAIRS] > size[OA_ALPHABET] / 2 - 1)
        return "--pairs exceeds the number of keys, half of --alphabet less 1";
    return NULL;
}

/* n (n − 1) … (n − k + 1) */
static double falling(double n, long k)
{
    double product = 1;
    for (long i = 0; i < k; i++)
        product *= n - (double)i;
    return product;
}

/* Ordered pairs of distinct keys and distinct values, a gap for each, and filler in the rest. */
static double count_mqar(const long *size, double filler)
{
    long pairs = size[OA_PAIRS];
    double count = 0, half = floor((double)size[OA_ALPHABET] / 2);
    for (long n = size[OA_LEAST]; n <= size[OA_MOST] && isfinite(count); n += 2)
        count += falling(half - 1, pairs) * falling((double)size[OA_ALPHABET] - half, pairs) *
                 falling((double)mqar_gaps(size, n), pairs) * pow(filler, (double)(n - 3 * pairs));
    return count;
}

static double mqar_inputs(const long *size)
{
    return count_mqar(size, (double)(size[OA_ALPHABET] - size[OA_PAIRS]));
}

static double mqar_zoology_inputs(const long *size)
{
    return count_mqar(size, (double)size[OA_ALPHABET]);
}

/* `count` different numbers from `first` on, of `all`, in random order. */
static void draw_distinct(int32_t *out, long count, long first, long all, struct oa_dice *dice)
{
    for (long i = 0; i < count; i++) {
        bool known = true;
        while (known) {
            out[i] = (int32_t)(first + oa_dice_below(dice, all));
            known = false;
            for (long k = 0; k < i; k++)
                known = known || out[k] == out[i];
        }
    }
}

/* asked[g]: the number of the pair that is asked for at gap g, or −1. */
static void draw_gaps(int32_t *asked, long gaps, long pairs, struct oa_dice *dice)
{
    long left = 0;
    for (long g = 0; g < gaps; g++) {
        asked[g] = -1;
        left += WEIGHT / (g + 1);
    }
    for (long pair = 0; pair < pairs; pair++) {
        long g = 0, at = oa_dice_below(dice, left);
        for (; asked[g] >= 0 || at >= WEIGHT / (g + 1); g++)
            at -= asked[g] >= 0 ? 0 : WEIGHT / (g + 1);
        asked[g] = (int32_t)pair;
        left -= WEIGHT / (g + 1);
    }
}

static bool is_key(const int32_t *key, long pairs, long word)
{
    for (long i = 0; i < pairs; i++)
        if (key[i] == word)
            return true;
    return false;
}

/* clean: filler is not a key of the example, which would then have another word after it. */
static void draw_queries(const long *size, bool clean, struct oa_dice *dice, struct oa_example *e)
{
    long pairs = size[OA_PAIRS],
         length =
             size[OA_LEAST] + 2 * oa_dice_between(dice, 0, (size[OA_MOST] - size[OA_LEAST]) / 2);
    long gaps = mqar_gaps(size, length), half = size[OA_ALPHABET] / 2;
    int32_t *key = e->room, *value = key + pairs, *asked = value + pairs;
    draw_distinct(key, pairs, 1, half - 1, dice);
    draw_distinct(value, pairs, half, size[OA_ALPHABET] - half, dice);
    draw_gaps(asked, gaps, pairs, dice);
    e->words = 0;
    for (long i = 0; i < pairs; i++) {
        oa_targeted_add(e, key[i], OA_WITHOUT_TARGET);
        oa_targeted_add(e, value[i], OA_WITHOUT_TARGET);
    }
    for (long i = 0; i < 2 * gaps; i++) {
        long pair = i % 2 ? -1 : asked[i / 2], filler = oa_dice_below(dice, size[OA_ALPHABET]);
        while (clean && is_key(key, pairs, filler))
            filler = oa_dice_below(dice, size[OA_ALPHABET]);
        oa_targeted_add(e, pair >= 0 ? key[pair] : filler,
                        pair >= 0 ? value[pair] : OA_WITHOUT_TARGET);
    }
}

static bool draw_mqar(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    draw_queries(size, true, dice, e);
    return true;
}

static bool draw_mqar_zoology(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    draw_queries(size, false, dice, e);
    return true;
}

#define MQAR_RULE                                                                                  \
    "Pairs of a key and a value, all distinct, then each key once more, at a distance from the "   \
    "pairs with probabilities proportional to its inverse; the target of such a key is its "       \
    "value. "
#define MQAR_SIZES                                                                                 \
    {                                                                                              \
        [OA_LEAST] = { 4, 16384, 64 }, [OA_MOST] = { 4, 16384, 64 },                               \
        [OA_ALPHABET] = { 4, 100000, 8192 }, [OA_PAIRS] = {                                        \
            1,                                                                                     \
            4096,                                                                                  \
            4                                                                                      \
        }                                                                                          \
    }

const struct oa_synthetic_task oa_task_mqar = {
    .name = "mqar",
    .title = "the values of several keys (multi-query associative recall)",
    .rule = MQAR_RULE "Other words are filler: any except the keys of the example.",
    .length = "words",
    .source = "Arora et al.: Zoology, 2023, arXiv:2312.04927, whose filler is any word, also a key "
              "of the example with another word after it",
    .input = "2 5 1 6 7 0 1 4 2 3",
    .output = "- - - - - - 6 - 5 -",
    .form = OA_TARGETED,
    .size = MQAR_SIZES,
    .refuse = refuse_mqar,
    .inputs = mqar_inputs,
    .draw = draw_mqar,
};

const struct oa_synthetic_task oa_task_mqar_zoology = {
    .name = "mqar-zoology",
    .title = "mqar as published, with filler that may contradict a pair",
    .rule = MQAR_RULE "Other words are filler: any word, so that a key may occur before its query "
                      "with another word after it.",
    .length = "words",
    .source = "Arora et al.: Zoology, 2023, arXiv:2312.04927 (random_non_queries)",
    .input = "2 5 1 6 2 7 1 4 2 3",
    .output = "- - - - - - 6 - 5 -",
    .form = OA_TARGETED,
    .size = MQAR_SIZES,
    .refuse = refuse_mqar,
    .inputs = mqar_zoology_inputs,
    .draw = draw_mqar_zoology,
};
