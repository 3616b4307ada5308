/* SPDX-License-Identifier: Apache-2.0
 * listops: nested operations on lists of digits, by the rule of the Long Range Arena
 * (lra_benchmarks/data/listops.py):
 *
 *     tree(k): below the deepest level an operator with the chance 1/4, else a digit, all uniform
 *     an operator has 2 … 10 trees of level k + 1, uniformly; trees of 501 … 1999 words are kept
 *
 * MED is the median (mean of the middle two, rounded down), SM the sum modulo 10. Text as in "[MAX
 * 2 [SM 3 9 ] 1 ]", with an operator and its bracket as one word: the arena's input pipeline also
 * removes the other brackets of its files. */
#include "synthetic/listops_law.h"
#include "synthetic/synthetic.h"

#include <string.h>

enum { DIGITS = 10 };

struct tree {
    const long *size;
    struct oa_dice *dice;
    struct oa_text *text;
    long words; /* lower bound, with one word for each child that is not drawn yet */
};

/* ---- operators: of `n` values, `count` of which are each digit ---- */

static int minimum(const int *count, int n)
{
    int digit = 0;
    (void)n;
    while (!count[digit])
        digit++;
    return digit;
}

static int maximum(const int *count, int n)
{
    int digit = DIGITS - 1;
    (void)n;
    while (!count[digit])
        digit--;
    return digit;
}

/* Order statistic: the value at index `before` of the sorted values. */
static int in_order(const int *count, int before)
{
    int digit = 0;
    for (; before >= count[digit]; digit++)
        before -= count[digit];
    return digit;
}

static int median(const int *count, int n)
{
    return (in_order(count, (n - 1) / 2) + in_order(count, n / 2)) / 2;
}

static int sum_modulo(const int *count, int n)
{
    int sum = 0;
    (void)n;
    for (int digit = 0; digit < DIGITS; digit++)
        sum += digit * count[digit];
    return sum % DIGITS;
}

static const struct {
    const char *word;
    int (*value)(const int *count, int n);
} operators[OA_LISTOPS_OPERATORS] = {
    { "[MIN", minimum }, { "[MAX", maximum }, { "[MED", median }, { "[SM", sum_modulo }
};

/* ---- trees ---- */

static int draw_tree(struct tree *t, long level);

/* The value, or -1 as soon as the whole tree is too long. */
static int draw_operator(struct tree *t, long level)
{
    int count[DIGITS] = { 0 };
    long which = oa_dice_below(t->dice, OA_LISTOPS_OPERATORS),
         n = oa_dice_between(t->dice, 2, t->size[OA_ARGUMENTS]);
    t->words += 1 + n;
    if (t->words > t->size[OA_MOST])
        return -1;
    oa_word_add(t->text, operators[which].word, strlen(operators[which].word));
    for (long i = 0; i < n; i++) {
        int value = draw_tree(t, level + 1);
        if (value < 0)
            return -1;
        count[value]++;
    }
    oa_word_add(t->text, "]", 1);
    return operators[which].value(count, (int)n);
}

static int draw_tree(struct tree *t, long level)
{
    if (level < t->size[OA_DEPTH] && oa_dice_word(t->dice) < (uint32_t)(OA_LISTOPS_NODE * 0x1p32))
        return draw_operator(t, level);
    int digit = (int)oa_dice_below(t->dice, DIGITS);
    oa_number_add(t->text, digit);
    return digit;
}

static bool draw_listops(const long *size, struct oa_dice *dice, struct oa_example *e)
{
    struct tree t = { .size = size, .dice = dice, .text = &e->input, .words = 1 };
    e->label = draw_tree(&t, 1);
    e->words = t.words;
    if (e->label < 0 || t.words < size[OA_LEAST])
        return false;
    oa_number_add(&e->output, e->label);
    return true;
}

static long labels(const long *size)
{
    (void)size;
    return DIGITS;
}

const struct oa_synthetic_task oa_task_listops = {
    .name = "listops",
    .title = "the value of nested operations on lists of digits (Long Range Arena)",
    .rule = "A tree is a digit or, with probability 1/4, an operator over 2 to --arguments trees, "
            "down to --depth levels: MIN, MAX, MED (median, rounded down), SM (sum modulo 10). "
            "Only trees of the requested lengths are kept; the label is the value. The defaults "
            "are those of the Long Range Arena.",
    .length = "words",
    .source = "Nangia, Bowman: ListOps, NAACL-HLT 2018, arXiv:1804.06028; lengths and operators: "
              "Tay et al.: Long Range Arena, ICLR 2021, arXiv:2011.04006",
    .input = "[MAX 2 [SM 3 9 ] 1 ]",
    .output = "2",
    .form = OA_LABELLED,
    .size = { [OA_LEAST] = { 1, 4096, 501 },
              [OA_MOST] = { 1, 4096, 1999 },
              [OA_DEPTH] = { 1, 16, 10 },
              [OA_ARGUMENTS] = { 2, 10, 10 } },
    .labels = labels,
    .inputs = oa_listops_trees,
    .share = oa_listops_share,
    .draw = draw_listops,
};
