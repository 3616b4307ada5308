/* SPDX-License-Identifier: Apache-2.0
 * The attention language: any bytes give a spec or a sentence, of a layer and of each set of
 * stacks; a spec prints to a form that parses to itself. */
#include "attention/attention.h"
#include "fuzz.h"

static void check_round_trip(oa_context *c, const struct oa_spec *spec)
{
    struct oa_text once, twice;
    struct oa_spec again;
    oa_text_init(&once, c);
    oa_text_init(&twice, c);
    oa_spec_print(spec, &once);
    if (oa_spec_parse(c, once.s, &again) != OA_OK)
        abort();
    oa_spec_print(&again, &twice);
    if (strcmp(once.s, twice.s) != 0)
        abort();
    oa_spec_free(&again);
    oa_text_free(&once);
    oa_text_free(&twice);
}

static void check_stacks(oa_context *c, const char *text, unsigned has)
{
    struct oa_text once, twice;
    struct oa_stack_specs all, again;
    oa_text_init(&once, c);
    oa_text_init(&twice, c);
    if (oa_stacks_parse(c, text, has, &all) == OA_OK) {
        oa_stacks_print(&all, &once);
        if (oa_stacks_parse(c, once.s, has, &again) != OA_OK)
            abort();
        oa_stacks_print(&again, &twice);
        if (strcmp(once.s, twice.s) != 0)
            abort();
        oa_stacks_free(&again);
    } else if (oa_status(c) == OA_OK) {
        abort();
    }
    oa_stacks_free(&all);
    oa_text_free(&once);
    oa_text_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oa_context *c = fuzz_context();
    char *text = calloc(size + 1, 1);
    struct oa_spec spec;
    memcpy(text, data, size);
    enum oa_error e = oa_spec_parse(c, text, &spec);
    if (e == OA_OK)
        check_round_trip(c, &spec);
    else if (oa_status(c) != e)
        abort();
    oa_spec_free(&spec);
    oa_clear_error(c);
    for (unsigned has = 1; has < 1u << OA_STACK_ROLES; has++) {
        check_stacks(c, text, has);
        oa_clear_error(c);
    }
    free(text);
    return 0;
}
