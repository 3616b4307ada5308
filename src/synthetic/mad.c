/* SPDX-License-Identifier: Apache-2.0
 * Five of the six tasks of MAD (Poli et al. 2024, arXiv 2403.17844): in-context recall, fuzzy and
 * noisy recall, selective copying, memorisation. The sixth, compression, reconstructs a sequence
 * from the output at one token by a separate network; a decoder could attend to the sequence
 * instead.
 *
 * The recall tasks share one stream of pairs. Of V words the first half are keys, the rest values;
 * a key keeps the value of its first occurrence. Targets are the values of keys that came before;
 * the last key is one of these. */
#include "synthetic/targeted.h"

#include <math.h>

static long key_words(const long *size)
{
    return size[OA_ALPHABET] / 2;
}

static long value_words(const long *size)
{
    return size[OA_ALPHABET] - key_words(size);
}

/* ---- in-context recall, with and without noise ---- */

static const char *refuse_pairs(const long *size)
{
    if (size[OA_LEAST] % 2 || size[OA_MOST] % 2)
        return "--min-length and --max-length must be even";
    return NULL;
}

/* Sequences of n pairs, the last of which repeats a key, by the number of different keys: of m
 * pairs with j keys, the next is one of these j, one of the others with any value, or noise. */
static double count_pair_sequences(const long *size, long n, double noise)
{
    enum { MOST_KEYS = 512 };
    double count[MOST_KEYS + 1] = { 1 }, keys = (double)key_words(size),
                             values = (double)value_words(size), all = 0;
    for (long m = 1; m < n; m++)
        for (long j = oa_min(m, oa_min((long)keys, MOST_KEYS)); j >= 0; j--)
            count[j] = count[j] * ((double)j + noise) +
                       (j ? count[j - 1] * (keys - (double)j + 1) * values : 0);
    for (long j = 1; j <= MOST_KEYS; j++)
        all += count[j] * (double)j;
    return all;
}

static double count_recall_lengths(const long *size, double noise)
{
    double count = 0;
    for (long n = size[OA_LEAST] / 2; n <= size[OA_MOST] / 2 && isfinite(count); n++)
        count += count_pair_sequences(size, n, noise);
    return count;
}

static double context_recall_inputs(const long *size)
{
    return count_recall_lengths(size, 0);
}

static double noisy_recall_inputs(const long *size)
{
    return count_recall_lengths(size, (double)size[OA_NOISE_WORDS] * (double)size[OA_NOISE_WORDS]);
}

/* value[k]: of key k, or −1; order[i]: the keys so far, in the order of occurrence. */
static void add_recall_pair(const long *size, struct oa_dice *dice, int32_t *value, int32_t *order,
                            long *seen, bool last, struct oa_example *e)
{
    long key = last ? order[oa_dice_below(dice, *seen)] : oa_dice_below(dice, key_words(size));
    bool known = value[key] >= 0;
    if (!known) {
        value[key] = (int32_t)(key_words(size) + oa_dice_below(dice, value_words(size)));
        order[(*seen)++] = (int32_t)key;
    }
    oa_targeted_add(e, key, known ? value[key] : OA_WITHOUT_TARGET);
    oa_targeted_add(e, value[key], OA_WITHOUT_TARGET);
}

/* noise: percentage of pairs that are noise words instead; one pair, drawn, never is. */
static bool draw_pairs(const long *size, long noise, struct oa_dice *dice, struct oa_example *e)
{
    long pairs = oa_dice_between(dice, size[OA_LEAST] / 2, size[OA_MOST] / 2), seen = 0;
    long never = oa_dice_below(dice, pairs - 1);
    int32_t *value = e->room, *order = value + key_words(size);
    for (long k = 0; k < key_words(size); k++)
        value[k] = -1;
    e->words = 0;
    for (long i = 0; i < pairs; i++) {
        bool noisy = noise && i != never && i + 1 < pairs && oa_dice_below(dice, 100) < noise;
        for (int w = 0; noisy && w < 2; w++)
            oa_targeted_add(e, size[OA_ALPHABET] + oa_dice_below(dice, size[OA_NOISE_WORDS]),
                            OA_WITHOUT_TARGET);
        if (!noisy)
            add_recall_pair(size, dice, value, order, &seen, i + 1 == pairs, e);
    }
    return true;
}

static bool draw_context_recall(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    return draw_pairs(size, 0, dice, e);
}

static bool draw_noisy_recall(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    return draw_pairs(size, size[OA_NOISE], dice, e);
}

#define MAD                                                                                        \
    "Poli et al.: Mechanistic Design and Scaling of Hybrid Architectures, 2024, arXiv:2403.17844"

const struct oa_synthetic_task oa_task_context_recall = {
    .name = "context-recall",
    .title = "the values of keys that came before (in-context recall)",
    .rule =
        "Pairs of a uniform key (the first half of the words) and a value: uniform if the key is "
        "new, else that of its first occurrence. The last key has occurred before. The target of "
        "a repeated key is its value.",
    .length = "words",
    .source = MAD,
    .input = "0 5 1 7 0 5 1 7",
    .output = "- - - - 5 - 7 -",
    .form = OA_TARGETED,
    .size = { [OA_LEAST] = { 4, 16384, 128 },
              [OA_MOST] = { 4, 16384, 128 },
              [OA_ALPHABET] = { 2, 1024, 16 } },
    .refuse = refuse_pairs,
    .inputs = context_recall_inputs,
    .draw = draw_context_recall,
};

const struct oa_synthetic_task oa_task_noisy_recall = {
    .name = "noisy-recall",
    .title = "in-context recall with noise between the pairs",
    .rule =
        "As context-recall, but with a probability of --noise percent a pair is replaced by two "
        "uniform noise words, which have a vocabulary of their own; not the last pair and one "
        "other, drawn at random.",
    .length = "words",
    .source = MAD,
    .input = "0 5 17 30 1 7 0 5",
    .output = "- - - - - - 5 -",
    .form = OA_TARGETED,
    .size = { [OA_LEAST] = { 4, 16384, 128 },
              [OA_MOST] = { 4, 16384, 128 },
              [OA_ALPHABET] = { 2, 1024, 16 },
              [OA_NOISE] = { 1, 99, 20 },
              [OA_NOISE_WORDS] = { 1, 1024, 16 } },
    .refuse = refuse_pairs,
    .inputs = noisy_recall_inputs,
    .draw = draw_noisy_recall,
};

/* ---- fuzzy recall ---- */

static const char *refuse_fuzzy(const long *size)
{
    return size[OA_LEAST] < 4 * size[OA_MOTIF] ? "--min-length is less than 4 times --motif: there "
                                                 "must be room for two pairs"
                                               : NULL;
}

static double fuzzy_recall_inputs(const long *size)
{
    (void)size;
    return INFINITY; /* not counted */
}

/* A motif at `at` of e->room: its length, then so many words from `first` on. */
static long draw_motif(const long *size, long first, long all, int32_t *at, struct oa_dice *dice)
{
    long n = oa_dice_between(dice, 1, size[OA_MOTIF]);
    at[0] = (int32_t)n;
    for (long i = 0; i < n; i++)
        at[1 + i] = (int32_t)(first + oa_dice_below(dice, all));
    return n + 1;
}

static bool same_motif(const int32_t *a, const int32_t *b)
{
    for (long i = 0; i <= a[0]; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* The place of an equal key before `at`, where the new key is; `at` itself if there is none. Keys
 * and values follow one another from 0 on. */
static long find_motif(const int32_t *room, long at)
{
    for (long k = 0; k < at;) {
        if (same_motif(room + k, room + at))
            return k;
        k += room[k] + 1;
        k += room[k] + 1;
    }
    return at;
}

/* The value is predicted from the last word of the key, and word by word. */
static void add_motifs(const int32_t *key, bool known, struct oa_example *e)
{
    const int32_t *value = key + key[0] + 1;
    for (long i = 0; i < key[0]; i++)
        oa_targeted_add(e, key[1 + i], known && i + 1 == key[0] ? value[1] : OA_WITHOUT_TARGET);
    for (long i = 0; i < value[0]; i++)
        oa_targeted_add(e, value[1 + i],
                        known && i + 1 < value[0] ? value[2 + i] : OA_WITHOUT_TARGET);
}

/* The words of all pairs are counted first, in `words`; filling is in front. */
static bool draw_fuzzy_recall(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long length = oa_dice_between(dice, size[OA_LEAST], size[OA_MOST]), most = 2 * size[OA_MOTIF];
    long end = 0, pairs = 0, words = 0, targets = 0;
    int32_t *room = e->room, *chosen = room + 2 * length + 2 * most;
    while (words + most <= length) {
        draw_motif(size, 0, key_words(size), room + end, dice);
        long at = find_motif(room, end), value = at + room[at] + 1;
        if (at == end)
            end = value + draw_motif(size, key_words(size), value_words(size), room + value, dice);
        else
            targets++;
        chosen[pairs++] = (int32_t)at;
        words += room[at] + room[value];
    }
    e->words = 0;
    for (long i = words; i < length; i++)
        oa_targeted_add(e, size[OA_ALPHABET], OA_WITHOUT_TARGET);
    for (long i = 0; i < pairs; i++) {
        bool known = false;
        for (long k = 0; k < i; k++)
            known = known || chosen[k] == chosen[i];
        add_motifs(room + chosen[i], known, e);
    }
    return targets > 0;
}

const struct oa_synthetic_task oa_task_fuzzy_recall = {
    .name = "fuzzy-recall",
    .title = "in-context recall of keys and values of several words",
    .rule =
        "As context-recall, with keys and values of 1 to --motif uniform words, each length "
        "equally likely. The targets are the words of the values of repeated keys, of which there "
        "is at least one. Pairs are added while the longest one fits; filler, a word of its own, "
        "is in front.",
    .length = "words",
    .source = MAD,
    .input = "16 0 3 9 1 12 8 0 3 9",
    .output = "- - - - - - - - 9 -",
    .form = OA_TARGETED,
    .size = { [OA_LEAST] = { 4, 4096, 128 },
              [OA_MOST] = { 4, 4096, 128 },
              [OA_ALPHABET] = { 2, 1024, 16 },
              [OA_MOTIF] = { 1, 8, 3 } },
    .refuse = refuse_fuzzy,
    .inputs = fuzzy_recall_inputs,
    .draw = draw_fuzzy_recall,
};

/* ---- selective copying ---- */

static const char *refuse_copying(const long *size)
{
    return size[OA_LEAST] < 2 * size[OA_COPIES] + 1
               ? "--min-length is less than 2 times --copies and 1: the words, the copy word, and "
                 "a place for each"
               : NULL;
}

/* The words, and where they are among the blanks before the copy word. */
static double selective_copy_inputs(const long *size)
{
    double count = 0, k = (double)size[OA_COPIES];
    for (long n = size[OA_LEAST]; n <= size[OA_MOST] && isfinite(count); n++) {
        double places = 1, room = (double)n - k - 1;
        for (double i = 1; i <= k; i++)
            places *= (room - k + i) / i;
        count += places * pow((double)(size[OA_ALPHABET] - 2), k);
    }
    return count;
}

static bool draw_selective_copy(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long copies = size[OA_COPIES], blank = size[OA_ALPHABET] - 1, copy = blank - 1, put = 0;
    long room = oa_dice_between(dice, size[OA_LEAST], size[OA_MOST]) - copies - 1;
    e->words = 0;
    for (long i = 0; i < room; i++) { /* each subset of the places is equally likely */
        bool here = oa_dice_below(dice, room - i) < copies - put;
        if (here)
            e->room[put++] = (int32_t)oa_dice_below(dice, copy);
        oa_targeted_add(e, here ? e->room[put - 1] : blank, OA_WITHOUT_TARGET);
    }
    oa_targeted_add(e, copy, OA_WITHOUT_TARGET);
    for (long i = 0; i < copies; i++)
        oa_targeted_add(e, blank, e->room[i]);
    return true;
}

const struct oa_synthetic_task oa_task_selective_copy = {
    .name = "selective-copy",
    .title = "the words between blanks, in their order (selective copying)",
    .rule =
        "Uniform words at uniform places among blanks (the last word of the vocabulary), then the "
        "copy word (the last but one), then a blank for each word, whose targets are the words in "
        "order.",
    .length = "words",
    .source = MAD,
    .input = "15 3 15 7 14 15 15",
    .output = "- - - - - 3 7",
    .form = OA_TARGETED,
    .size = { [OA_LEAST] = { 3, 16384, 256 },
              [OA_MOST] = { 3, 16384, 256 },
              [OA_ALPHABET] = { 3, 1024, 16 },
              [OA_COPIES] = { 1, 4096, 16 } },
    .refuse = refuse_copying,
    .inputs = selective_copy_inputs,
    .draw = draw_selective_copy,
};

/* ---- memorisation ---- */

static long memorised_keys(const long *size)
{
    return (size[OA_ALPHABET] - 1) / 2;
}

static double memorisation_inputs(const long *size)
{
    double count = 0;
    for (long n = size[OA_LEAST] / 2; n <= size[OA_MOST] / 2 && isfinite(count); n++)
        count += pow((double)memorised_keys(size), (double)n);
    return count;
}

/* One map for all data sets: of a stream of its own. */
static bool draw_memorisation(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    long keys = memorised_keys(size), blank = size[OA_ALPHABET] - 1, values = blank - keys;
    long pairs = oa_dice_between(dice, size[OA_LEAST] / 2, size[OA_MOST] / 2);
    struct oa_stream map = oa_stream_named(0, "data/memorisation/map");
    e->words = 0;
    for (long i = 0; i < pairs; i++) {
        long key = oa_dice_below(dice, keys);
        oa_targeted_add(e, key, OA_WITHOUT_TARGET);
        oa_targeted_add(e, blank,
                        keys + (long)oa_random_below(map, (uint64_t)key, (uint64_t)values));
    }
    return true;
}

const struct oa_synthetic_task oa_task_memorisation = {
    .name = "memorisation",
    .title = "the values of keys that are the same in all examples",
    .rule =
        "A uniform key, then a blank (the last word of the vocabulary), whose target is the value "
        "of the key. The map from keys to values is random but the same in all examples and all "
        "data sets.",
    .length = "words",
    .source = MAD,
    .input = "3 255 90 255",
    .output = "- 141 - 204",
    .form = OA_TARGETED,
    .size = { [OA_LEAST] = { 2, 16384, 32 },
              [OA_MOST] = { 2, 16384, 32 },
              [OA_ALPHABET] = { 3, 100000, 256 } },
    .refuse = refuse_pairs,
    .inputs = memorisation_inputs,
    .draw = draw_memorisation,
};
