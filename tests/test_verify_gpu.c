/* SPDX-License-Identifier: Apache-2.0
 * `orthant verify --device opencl` in a short form: mechanisms with their defaults, in all modes
 * and precisions, on the GPU device. VERIFY_EMULATED: all of the registry, on the kernels compiled
 * for the host (emulated.c); else a few on an OpenCL driver, which compiles for minutes for all. */
#include "testing.h"

#include "attention/attention.h"
#include "base/context.h"
#include "verify/verify.h"
#ifdef VERIFY_EMULATED
#include "emulated.h"
#endif

static oa_context *open_gpu(void)
{
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1, .device = "opencl" });
#ifdef VERIFY_EMULATED
    oa_context_set_device(c, oa_emulated_device());
    emulated_bounds_only = true;
#endif
    return c;
}

static long check_subject(oa_context *c, const char *spec, const char *subject)
{
    const char *sentence = "";
    struct oa_proof p;
    enum oa_error e = oa_proof_make(c, spec, true, subject, &p);
    long checks = p.checks;
    oa_last_error(c, &sentence);
    if ((e && e != OA_UNSUPPORTED) || p.failures)
        fail_msg("%s, %s: %s, %d of %ld checks failed%s%s", spec, subject, sentence, p.failures,
                 checks, p.failures ? ", the first: " : "", p.failures ? p.failure->what : "");
    oa_clear_error(c);
    oa_proof_free(&p);
    return checks;
}

/* Outputs against the plain implementation of its maps, and, since linformer has no such maps,
 * sequences of a batch against each alone. */
static void check_outputs(oa_context *c, const char *spec)
{
    double start = oa_clock();
    long checks = check_subject(c, spec, "oracles") + check_subject(c, spec, "batches");
    print_message("%-16s %ld checks, %.1f s\n", spec, checks, oa_clock() - start);
    assert_true(checks > 0);
}

#ifdef VERIFY_EMULATED
static void every_mechanism_is_verified(void **state)
{
    (void)state;
    oa_context *c = open_gpu();
    for (int i = 0; oa_mechanism_at(i); i++)
        check_outputs(c, oa_proof_default_spec(oa_mechanism_at(i)));
    oa_close(c);
}
#else
static void some_mechanisms_are_verified(void **state)
{
    (void)state;
#ifdef ORTHANT_POISON
    print_message("drivers do not run under sanitizers\n");
    skip();
#endif
    struct oa_device *d;
    oa_context *c = open_gpu();
    if (oa_device_open(c, OA_PRECISION_F64, false, &d)) {
        const char *why;
        oa_last_error(c, &why);
        print_message("%s\n", why);
        oa_close(c);
        skip();
    }
    oa_device_close(d);
    check_outputs(c, "softmax");
    check_outputs(c, "linear");
    check_outputs(c, "deltanet");
    oa_close(c);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef VERIFY_EMULATED
        cmocka_unit_test(every_mechanism_is_verified),
#else
        cmocka_unit_test(some_mechanisms_are_verified),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
