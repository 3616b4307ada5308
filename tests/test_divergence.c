/* SPDX-License-Identifier: Apache-2.0
 *
 * Overflows put into a layer in the middle of a model: the operation that made the first number
 * that is not finite is named, with its layer, not the tensor that happens to lie first in the
 * store. */
#include "testing.h"

#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char text_file[] = "test_divergence_text.txt", folder[] = "test_divergence_run";

static int make_text(void **state)
{
    (void)state;
    FILE *f = fopen(text_file, "w");
    for (int i = 0; i < 200; i++)
        fprintf(f, "the %s dog; ", i % 3 ? "quick" : "slow");
    return fclose(f);
}

static struct oa_options options(void)
{
    struct oa_options o;
    oa_options_default(&o);
    snprintf(o.data_train, sizeof o.data_train, "%s", text_file);
    o.model_layers = 4;
    o.model_width = 16;
    o.model_heads = 2;
    o.model_context = 12;
    o.train_batch = 2;
    o.train_accumulate = 2;
    o.train_steps = 2;
    o.train_warmup = 1;
    o.train_eval_every = 0;
    return o;
}

/* What is changed in the weights after step 2: every element of a parameter is set to `value`. */
struct injection {
    const char *parameter;
    float value;
};

static enum oa_error accept(void *argument, const struct oa_progress *p)
{
    (void)argument, (void)p;
    return OA_OK;
}

static void inject(const struct oa_options *o, const struct injection *what)
{
    char path[128];
    struct oa_workload w;
    struct oa_device *d;
    struct oa_model *m;
    struct oa_progress p;
    oa_context *c = oa_open(NULL);
    snprintf(path, sizeof path, "%s/checkpoint-000000002.safetensors", folder);
    assert_int_equal(oa_workload_open(c, o, &w), OA_OK);
    assert_int_equal(oa_device_open(c, OA_PRECISION_F32, false, &d), OA_OK);
    assert_int_equal(oa_model_open(d, o,
                                   (struct oa_model_form[]){
                                       oa_language_model_form(oa_tokenizer_size(w.tokenizer)) },
                                   true, &m),
                     OA_OK);
    assert_int_equal(oa_checkpoint_load(m, &p, path, accept, NULL), OA_OK);
    for (; what->parameter; what++) {
        struct oa_parameter *q = oa_store_find(&m->store, what->parameter);
        assert_non_null(q);
        for (long i = 0; i < q->count; i++)
            oa_real_write(d, q->value, i, what->value * (i % 2 ? 1 : -0.75f));
    }
    assert_int_equal(oa_checkpoint_save(m, &p, path), OA_OK);
    oa_model_close(m);
    oa_device_close(d);
    oa_workload_close(&w);
    oa_close(c);
}

static enum oa_error train(const struct oa_options *o, char sentence[512])
{
    struct oa_workload w;
    struct oa_run run;
    oa_context *c = oa_open(NULL);
    const char *why;
    assert_int_equal(oa_workload_open(c, o, &w), OA_OK);
    struct oa_train_request r = { .options = o,
                                  .workload = &w,
                                  .folder = folder,
                                  .resume = true,
                                  .keep = true,
                                  .title = "test" };
    enum oa_error e = oa_train_run(c, &r, &run);
    oa_last_error(c, &why);
    snprintf(sentence, 512, "%s", why ? why : "");
    oa_run_free(&run);
    oa_workload_close(&w);
    oa_close(c);
    return e;
}

static void expect(const struct injection *what, const char *first, const char *which)
{
    struct oa_options o = options();
    char sentence[512];
    assert_int_equal(system("rm -rf test_divergence_run"), 0);
    assert_int_equal(train(&o, sentence), OA_OK);
    inject(&o, what);
    o.train_steps = 4;
    assert_int_equal(train(&o, sentence), OA_DIVERGED);
    if (!strstr(sentence, first) || !strstr(sentence, which) ||
        !strstr(sentence, "step 3, micro-batch 1 of 2"))
        fail_msg("\"%s\" instead of %s, %s", sentence, which, first);
}

static void forward_overflows(void **state)
{
    (void)state;
    expect((struct injection[]){ { "decoder.layers.2.ffn.in.weight", 3e38f }, { 0 } },
           "(first: linear in decoder.layers.2.ffn, forward)", "the loss is not finite");
    expect((struct injection[]){ { "decoder.layers.1.attention.value.weight", 3e38f }, { 0 } },
           "(first: linear in decoder.layers.1.attention, forward)", "the loss is not finite");
    expect((struct injection[]){ { "decoder.layers.1.attention.query.weight", 1e30f },
                                 { "decoder.layers.1.attention.key.weight", 1e30f },
                                 { 0 } },
           "(first: logits in decoder.layers.1.attention, forward)", "the loss is not finite");
    expect((struct injection[]){ { "decoder.layers.3.ffn_norm.weight", (float)INFINITY }, { 0 } },
           "(first: residual_norm in decoder.layers.3.ffn_norm, forward)",
           "the loss is not finite");
    expect((struct injection[]){ { "embedding.weight", (float)NAN }, { 0 } },
           "(first: embed in embedding, forward)", "the loss is not finite");
}

/* The products of tiny and huge weights are tame on the way forward; the way back meets the huge
 * ones first. */
static void backward_overflows(void **state)
{
    (void)state;
    expect((struct injection[]){ { "decoder.norm.weight", 1e5f },
                                 { "decoder.layers.2.ffn.in.weight", 1e-37f },
                                 { "decoder.layers.2.ffn.out.weight", 3e38f },
                                 { 0 } },
           "(first: linear in decoder.layers.2.ffn, backward)", "the gradient is not finite");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(forward_overflows),
                                        cmocka_unit_test(backward_overflows) };
    return cmocka_run_group_tests(tests, make_text, NULL);
}
