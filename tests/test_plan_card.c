/* SPDX-License-Identifier: Apache-2.0
 * What `plan` says of a card's memory: the sum of the three that a step needs, 1.5 + 2 + 0.5 GiB.
 */
#include "testing.h"

#include "api/plan_card.h"

static const double GiB = 1024.0 * 1024 * 1024;
static oa_context *context;

static void expect_text(size_t memory, const char *expected)
{
    const struct oa_listed_device card = { .name = "cuda:0", .card = "Card", .memory = memory };
    const struct oa_plan plan = { .memory_parameters = 1.5 * GiB,
                                  .memory_activations = 2 * GiB,
                                  .memory_scratch = 0.5 * GiB };
    struct oa_text text;
    oa_text_init(&text, context);
    oa_card_memory_text(&card, &text);
    oa_card_excess_text(&card, "softmax", &plan, &text);
    assert_string_equal(text.s, expected);
    oa_text_free(&text);
}

static void a_step_needs_all_three_memories(void **state)
{
    (void)state;
    expect_text((size_t)(4 * GiB), "\nMemory of cuda:0, Card: 4.00 GiB.\n");
    expect_text((size_t)(3.9 * GiB),
                "\nMemory of cuda:0, Card: 3.90 GiB.\nsoftmax needs 4.00 GiB, more than that: make "
                "train.batch smaller and train.accumulate larger, or the model smaller.\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_step_needs_all_three_memories) };
    context = oa_open(NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    oa_close(context);
    return failed;
}
