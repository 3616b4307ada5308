/* SPDX-License-Identifier: Apache-2.0
 * Explanations: the list has every mechanism; text and JSON have all options in force and all
 * unsupported modes; costs match closed forms. */
#include "testing.h"

#include "explain/explain.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static oa_context *context;
static struct oa_options options;

static int open_context(void **state)
{
    (void)state;
    context = oa_open(NULL);
    oa_options_default(&options);
    return context ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(context);
    return 0;
}

typedef enum oa_error explanation(oa_context *c, const char *spec, const struct oa_options *o,
                                  struct oa_text *out);

static struct oa_text explained(const char *spec, explanation *explain)
{
    struct oa_text out;
    const char *sentence;
    oa_text_init(&out, context);
    enum oa_error e = explain(context, spec, &options, &out);
    oa_last_error(context, &sentence);
    if (e != OA_OK)
        fail_msg("%s: %s", spec, sentence);
    return out;
}

static void assert_explained(const char *spec, const char *part)
{
    struct oa_text out = explained(spec, oa_attention_explain);
    if (!strstr(out.s, part))
        fail_msg("\"%s\" is not in the explanation of %s:\n%s", part, spec, out.s);
    oa_text_free(&out);
}

static void relative_positions_are_explained(void **state)
{
    (void)state;
    assert_explained("local(relative=alibi)",
                     "    alibi         − m_h |i − j| is added to the logits;");
    assert_explained("local(relative=alibi)", "Press, Smith, Lewis 2022 (ICLR), arXiv 2108.12409");
    assert_explained("softmax(relative=t5, buckets=16)", "relative.bias [4, 16]");
    assert_explained("softmax(relative=t5, buckets=16)",
                     "Raffel et al. 2020 (JMLR), arXiv 1910.10683");
    assert_explained("mix(random, softmax, relative=t5)",
                     "relative positions are for self-attention only");
}

static void each_stack_is_explained(void **state)
{
    (void)state;
    const char *text = "cross: linear & encoder: raganato";
    assert_explained(text, "pattern(start):1 | softmax & cross: linear\n");
    assert_explained(text,
                     "\nencoder: the self-attention of the encoder, bidirectional\n\npattern:1 | ");
    assert_explained(
        text,
        "\ncross: the cross-attention: queries of the decoder, keys of the encoder\n\nlinear\n");
    assert_explained(text, "many keys as queries\n");
    assert_explained("decoder: linear",
                     "\ndecoder: the self-attention of the decoder, causal\n\nlinear\n");
    assert_explained("decoder: linear", "                causal\n");
    struct oa_text out = explained("decoder: softmax", oa_attention_explain);
    assert_int_equal(strncmp(out.s, "softmax\n\ndecoder:", 17), 0);
    assert_null(strstr(out.s, "encoder:"));
    assert_null(strstr(out.s, "cross "));
    oa_text_free(&out);
    oa_text_init(&out, context);
    assert_int_equal(oa_attention_explain(context, "decoder: raganato", &options, &out),
                     OA_ARGUMENT);
    oa_clear_error(context);
    assert_int_equal(oa_attention_explain_json(context, "encoder: raganato & x", &options, &out),
                     OA_ARGUMENT);
    oa_clear_error(context);
    oa_text_free(&out);
}

/* A causal map has half the pairs of query and key, cross-attention all of them. */
static void stack_cost_depends_on_its_mode(void **state)
{
    (void)state;
    struct oa_text text = explained("encoder: softmax & decoder: softmax & cross: softmax",
                                    oa_attention_explain_json);
    json_t *root = json_loads(text.s, 0, NULL), *all = json_object_get(root, "stacks");
    double flops[3];
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = { "encoder", "decoder", "cross" };
        json_t *layer =
            json_array_get(json_object_get(json_object_get(all, names[i]), "layers"), 0);
        flops[i] = json_number_value(json_object_get(layer, "flops"));
        assert_true(flops[i] > 0);
        assert_int_equal(json_is_null(json_object_get(layer, "decoding")), i != 1);
    }
    assert_string_equal(json_string_value(json_object_get(root, "spec")), "softmax");
    assert_true(flops[0] == flops[2]);
    assert_true(flops[1] < flops[0]);
    json_decref(root);
    oa_text_free(&text);
}

static void every_mechanism_is_explained(void **state)
{
    (void)state;
    struct oa_text list;
    oa_text_init(&list, context);
    assert_int_equal(oa_attention_list(context, &list), OA_OK);
    const struct oa_mechanism *m;
    for (int i = 0; (m = oa_mechanism_at(i)); i++) {
        assert_non_null(strstr(list.s, m->title));
        if (strcmp(m->name, "mix") != 0)
            assert_explained(m->name, m->title);
    }
    oa_text_free(&list);
}

static void text_has_options_shapes_and_refusals(void **state)
{
    (void)state;
    assert_explained("softmax", "65536 trainable, none frozen");
    assert_explained("orthogonal", "32768 trainable, 32768 frozen (regenerated from the seed)");
    assert_explained("orthogonal", "defaults      qk=haar, init=normal, tie=no");
    assert_explained(
        "random(frozen, init=normal)",
        "options       frozen=yes, init=normal\n    defaults      sigma=auto, normalise=softmax, "
        "forget=no, gate=none\n");
    assert_explained("softmax(gate=head)", "gate          O_h σ(x·w_h), one number a head;");
    assert_explained("softmax(gate=head)", "gate.weight [4, 128]");
    assert_explained("pattern(gate=channel)", "gate.weight [128, 128]");
    assert_explained("local(window=8)",
                     "options       window=8\n    defaults      dilation=1, qk=learned");
    assert_explained("orthogonal(qk=slice)", "query.weight [128, 128] frozen");
    assert_explained("random + softmax",
                     "tensors       value.weight [128, 128], mix.theta [4, 2]\n");
    assert_explained("dense",
                     "known mistakes in other implementations\n                  Long Range Arena");
    assert_explained("local", "cross         local is for self-attention only");
    assert_explained("raganato",
                     "(model.heads = 4 does not fit this attention; shown with 8 heads)");
    assert_explained("raganato", "have no causal form");
    assert_explained("raganato", "head 7: softmax");
    assert_explained("random + dense", "component 1: dense");
    assert_explained("local ; softmax", "layers 1, 3, … (entry 2 of 2)");
    assert_explained("mix(softmax, random, alpha=fixed, weights=1/2)", "weights=1/2");
}

/* Softmax attention has 2 FLOPs for each multiply-add and 5 for each element of the softmax; the
 * backward pass 2.5 times that, and the projections twice. */
static void flops_and_memory_match_closed_forms(void **state)
{
    (void)state;
    double n = 64, d = 128, pairs = n * (n + 1) / 2, projections = 4 * 2 * n * d * d;
    struct oa_text text = explained("softmax", oa_attention_explain_json);
    json_t *root = json_loads(text.s, 0, NULL),
           *layer = json_array_get(json_object_get(root, "layers"), 0);
    double flops = json_number_value(json_object_get(layer, "flops"));
    double training = json_number_value(json_object_get(layer, "training_flops"));
    assert_true(fabs(flops - projections - pairs * (4 * d + 5 * 4)) <= 0.01 * flops);
    assert_true(training > 3 * flops && training < 3.5 * flops);
    assert_true(json_number_value(json_object_get(layer, "training_memory")) >
                8 * 4 * n * d); /* q k v o and gradients */
    json_decref(root);
    oa_text_free(&text);
}

/* With biases; the output projection is of the layer and of no group. */
static void parameters_are_of_their_groups(void **state)
{
    static const char *const specs[] = { "softmax", "softmax:2 | local(window=8):2" };
    long projection = 128 * 128 + 128;
    (void)state;
    options.model_bias = OA_BIASES_ALL;
    for (int i = 0; i < 2; i++) {
        struct oa_text text = explained(specs[i], oa_attention_explain_json);
        json_t *root = json_loads(text.s, 0, NULL),
               *layer = json_array_get(json_object_get(root, "layers"), 0),
               *groups = json_object_get(layer, "groups");
        assert_int_equal(json_integer_value(json_object_get(layer, "trainable")), 4 * projection);
        assert_int_equal(json_array_size(groups), i + 1);
        for (int g = 0; g <= i; g++)
            assert_int_equal(
                json_integer_value(json_object_get(json_array_get(groups, (size_t)g), "trainable")),
                3 * projection / (i + 1));
        json_decref(root);
        oa_text_free(&text);
    }
    options.model_bias = OA_BIASES_NONE;
}

/* Keys and values grow with the sequence, a recurrent state does not, and a layer that is not
 * causal has none. */
static void decoding_states_have_expected_sizes(void **state)
{
    (void)state;
    assert_explained(
        "softmax",
        "decoding      state of 16384 numbers after 64 tokens (64 KiB in f32), 8192 after 32");
    /* With forget gates 2 reals a head besides: of the last token, and of each key that is kept. */
    assert_explained("softmax(forget)",
                     "state of 16904 numbers after 64 tokens (66.03 KiB in f32), "
                     "8456 after 32");
    assert_explained("random",
                     "state of 8192 numbers after 64 tokens (32 KiB in f32), 4096 after 32");
    assert_explained("polysketch(sketch=4)",
                     "state of 1324 numbers after 64 tokens"); /* 4 heads · (10 · (32 + 1) + 1) */
    assert_explained("lightconv(width=8)",
                     "bidirectional lightconv(width=8): the width must be odd");
    struct oa_text text = explained("linformer", oa_attention_explain_json);
    json_t *root = json_loads(text.s, 0, NULL),
           *layer = json_array_get(json_object_get(root, "layers"), 0);
    assert_true(json_is_null(json_object_get(layer, "decoding")));
    json_decref(root);
    oa_text_free(&text);
}

static void every_known_mistake_is_listed(void **state)
{
    (void)state;
    struct oa_text page;
    const struct oa_mechanism *m;
    oa_text_init(&page, context);
    assert_int_equal(oa_attention_list_markdown(context, &page), OA_OK);
    for (int i = 0; (m = oa_mechanism_at(i)); i++) {
        char heading[80];
        snprintf(heading, sizeof heading, "\n### %s\n", m->name);
        assert_non_null(strstr(page.s, heading));
        assert_non_null(strstr(page.s, m->citation));
        if (!m->mistakes && strcmp(m->name, "gaussian") != 0 &&
            strcmp(m->name, "block-sparse") != 0)
            fail_msg("%s lists no known mistakes: add .mistakes, or its name here", m->name);
        for (const char *s = m->mistakes; s && *s;
             s += strcspn(s, "\n") + (s[strcspn(s, "\n")] == '\n'))
            if (s[strcspn(s, "\n") - 1] != '.')
                fail_msg("%s: a mistake is not a sentence: %s", m->name, s);
    }
    assert_non_null(strstr(page.s, "but not with `next`, `right`, `end`, `last`, `unit=word`\n"));
    oa_text_free(&page);
}

static void wrong_attentions_are_errors(void **state)
{
    (void)state;
    struct oa_text out;
    oa_text_init(&out, context);
    assert_int_equal(oa_attention_explain(context, "sofmax", &options, &out), OA_ARGUMENT);
    oa_clear_error(context);
    assert_int_equal(
        oa_attention_explain_json(context, "orthogonal(qk=block):3 | softmax", &options, &out),
        OA_OK);
    for (int heads = 3; heads <= 8; heads += 5) { /* of 4 */
        char spec[32];
        snprintf(spec, sizeof spec, "softmax(kv=%d)", heads);
        assert_int_equal(oa_attention_explain(context, spec, &options, &out), OA_ARGUMENT);
        oa_clear_error(context);
    }
    options.model_width = 130;
    assert_int_equal(oa_attention_explain(context, "softmax", &options, &out), OA_ARGUMENT);
    oa_clear_error(context);
    options.model_width = 128;
    oa_text_free(&out);
}

static json_t *parsed(const struct oa_text *text)
{
    json_error_t error;
    json_t *root = json_loads(text->s, 0, &error);
    if (!root)
        fail_msg("line %d: %s in\n%s", error.line, error.text, text->s);
    return root;
}

static void json_has_layers_groups_and_modes(void **state)
{
    (void)state;
    struct oa_text list, text = explained("random + orthogonal ; local(window=3):1 | softmax",
                                          oa_attention_explain_json);
    json_t *root = parsed(&text), *layers = json_object_get(root, "layers"),
           *first = json_array_get(layers, 0);
    assert_int_equal(json_array_size(layers), 2);
    json_t *group = json_array_get(json_object_get(first, "groups"), 0);
    assert_string_equal(json_string_value(json_object_get(group, "spec")), "random + orthogonal");
    assert_int_equal(json_array_size(json_object_get(group, "components")), 2);
    assert_int_equal(json_integer_value(json_object_get(first, "frozen")), 2 * 128 * 128);
    assert_true(json_is_true(json_object_get(json_object_get(first, "modes"), "cross")));
    json_t *second = json_array_get(layers, 1), *modes = json_object_get(second, "modes");
    assert_non_null(json_string_value(json_object_get(json_object_get(modes, "cross"), "refused")));
    json_decref(root);
    oa_text_free(&text);

    oa_text_init(&list, context);
    assert_int_equal(oa_attention_list_json(context, &list), OA_OK);
    root = parsed(&list);
    int count = 0;
    while (oa_mechanism_at(count))
        count++;
    assert_int_equal(json_array_size(root), count);
    json_decref(root);
    oa_text_free(&list);
}

static json_t *options_of_bare(const json_t *mechanism, json_t **root)
{
    struct oa_text text;
    const char *name = json_string_value(json_object_get(mechanism, "name"));
    oa_text_init(&text, context);
    *root =
        oa_attention_explain_json(context, name, &options, &text) == OA_OK ? parsed(&text) : NULL;
    oa_clear_error(context);
    oa_text_free(&text);
    json_t *layer = json_array_get(json_object_get(*root, "layers"), 0);
    return json_object_get(json_array_get(json_object_get(layer, "groups"), 0), "options");
}

/* Whether an option of `own` was compared with its row in the list. */
static bool compare_default(const json_t *option, const json_t *own)
{
    const char *key = json_string_value(json_object_get(option, "key")),
               *listed = json_string_value(json_object_get(option, "default"));
    json_t *found = json_object_get(own, *key ? key : "kind");
    const char *value = json_string_value(json_object_get(found, "value"));
    if (!value || !listed || !json_is_true(json_object_get(found, "default")))
        return false;
    bool number = strspn(listed, "0123456789.e+-") == strlen(listed);
    if (number ? strtod(value, NULL) != strtod(listed, NULL) : strcmp(value, listed) != 0)
        fail_msg("the option %s is %s, listed as %s", key, value, listed);
    return true;
}

/* The default that a list has of an option is what a mechanism has that was given none. */
static void listed_defaults_are_those_of_a_bare_mechanism(void **state)
{
    (void)state;
    struct oa_text list;
    size_t i, k;
    json_t *mechanism, *option, *explained_root;
    int compared = 0;
    oa_text_init(&list, context);
    assert_int_equal(oa_attention_list_json(context, &list), OA_OK);
    json_t *root = parsed(&list);
    json_array_foreach(root, i, mechanism)
    {
        json_t *own = options_of_bare(mechanism, &explained_root);
        json_array_foreach(json_object_get(mechanism, "options"), k, option)
        {
            compared += compare_default(option, own);
        }
        json_decref(explained_root);
    }
    assert_true(compared > 50);
    json_decref(root);
    oa_text_free(&list);
}

/* Keys and values of all tokens grow with them; the sums of linear attention do not. */
static void states_half_way(void **state)
{
    static const struct {
        const char *attention;
        double share;
    } cases[] = { { "softmax", 0.5 }, { "linear", 1 } };
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct oa_text text = explained(cases[i].attention, oa_attention_explain_json);
        json_t *root = parsed(&text), *layer = json_array_get(json_object_get(root, "layers"), 0),
               *decoding = json_object_get(layer, "decoding");
        double whole = json_number_value(json_object_get(decoding, "state_numbers")),
               half = json_number_value(json_object_get(decoding, "state_numbers_half_way"));
        assert_true(whole > 0 && half == cases[i].share * whole);
        json_decref(root);
        oa_text_free(&text);
    }
}

static double memory_of(const char *spec, size_t layer)
{
    struct oa_text text = explained(spec, oa_attention_explain_json);
    json_t *root = parsed(&text), *l = json_array_get(json_object_get(root, "layers"), layer);
    double memory = json_number_value(json_object_get(l, "training_memory"));
    json_decref(root);
    oa_text_free(&text);
    return memory;
}

static void memory_of_a_layer_ignores_other_layers(void **state)
{
    (void)state;
    double sketched = memory_of("polysketch", 0), softmax = memory_of("softmax", 0);
    assert_true(sketched > softmax);
    assert_true(memory_of("polysketch ; softmax", 0) == sketched);
    assert_true(memory_of("polysketch ; softmax", 1) == softmax);
    assert_true(memory_of("softmax ; polysketch", 1) == sketched);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_mechanism_is_explained),
                                        cmocka_unit_test(relative_positions_are_explained),
                                        cmocka_unit_test(each_stack_is_explained),
                                        cmocka_unit_test(stack_cost_depends_on_its_mode),
                                        cmocka_unit_test(text_has_options_shapes_and_refusals),
                                        cmocka_unit_test(flops_and_memory_match_closed_forms),
                                        cmocka_unit_test(every_known_mistake_is_listed),
                                        cmocka_unit_test(parameters_are_of_their_groups),
                                        cmocka_unit_test(decoding_states_have_expected_sizes),
                                        cmocka_unit_test(memory_of_a_layer_ignores_other_layers),
                                        cmocka_unit_test(wrong_attentions_are_errors),
                                        cmocka_unit_test(json_has_layers_groups_and_modes),
                                        cmocka_unit_test(
                                            listed_defaults_are_those_of_a_bare_mechanism),
                                        cmocka_unit_test(states_half_way) };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
