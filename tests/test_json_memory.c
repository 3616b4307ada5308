/* SPDX-License-Identifier: Apache-2.0
 * jansson without memory: what is built and written is whole, or the failure is recorded. Each of
 * its allocations fails in turn. */
#include "testing.h"

#include "base/checksum.h"
#include "base/json_write.h"
#include "explain/explain.h"
#include "print/print.h"
#include "train/run_scores.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static long left; /* allocations before the one that fails; negative: none fails */

static void *allocate_some(size_t bytes)
{
    return left-- == 0 ? NULL : malloc(bytes);
}

static void print_list(oa_context *c, struct oa_text *out)
{
    oa_attention_list_json(c, out);
}

static void print_scores(oa_context *c, struct oa_text *out)
{
    static const struct oa_measure measures[] = {
        { .name = "loss" }, { .name = "accuracy" }, { .name = "f1" }, { .name = NULL }
    };
    const struct oa_tested test = { .made = true, .loss = 1, .scores = { 0, 2, 3 } };
    json_t *root = json_object();
    oa_json_set(c, root, "test", oa_run_test_json(measures, &test));
    oa_json_text(root, out);
    json_decref(root);
}

static void write_checksummed(oa_context *c, struct oa_text *out)
{
    char *text = NULL;
    size_t length = 0;
    json_t *root = json_pack("{s:s, s:i}", "name", "value", "number", 3);
    remove("checksummed.json");
    if (root && oa_checksummed_write(c, "checksummed.json", root) == OA_OK &&
        oa_file_read(c, "checksummed.json", &text, &length) == OA_OK)
        oa_text_add(out, text, length);
    if (!root)
        oa_fail(c, OA_NO_MEMORY, "no root");
    oa_free(text);
    json_decref(root);
}

static void expect_whole_or_recorded(void (*print)(oa_context *c, struct oa_text *out))
{
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    struct oa_text whole, out;
    long failures = 0;
    oa_text_init(&whole, c);
    oa_text_init(&out, c);
    left = -1;
    print(c, &whole);
    assert_int_equal(oa_status(c), OA_OK);
    assert_true(whole.length > 40);
    for (long n = 0, failed = 1; failed; n += 1 + n / 100) {
        left = n;
        oa_text_cut(&out, 0);
        print(c, &out);
        failed = left < 0;
        failures += failed;
        if (oa_status(c) == OA_OK && (!out.s || strcmp(out.s, whole.s) != 0))
            fail_msg("without allocation %ld: %s instead of %s, and no failure", n, out.s, whole.s);
        assert_true(oa_status(c) == OA_OK || oa_status(c) == OA_NO_MEMORY);
        oa_clear_error(c);
    }
    assert_true(failures > 10);
    left = -1;
    oa_text_free(&whole);
    oa_text_free(&out);
    oa_close(c);
}

static void the_list_of_mechanisms_is_whole(void **state)
{
    (void)state;
    expect_whole_or_recorded(print_list);
}

static void scores_are_whole(void **state)
{
    (void)state;
    expect_whole_or_recorded(print_scores);
}

static void checksummed_files_are_whole(void **state)
{
    (void)state;
    expect_whole_or_recorded(write_checksummed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_of_mechanisms_is_whole),
        cmocka_unit_test(scores_are_whole),
        cmocka_unit_test(checksummed_files_are_whole),
    };
    json_set_alloc_funcs(allocate_some, free);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
