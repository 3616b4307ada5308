/* SPDX-License-Identifier: Apache-2.0
 * The attention language: canonical forms, what is refused and how, heads of groups, and any bytes
 * at all. */
#include "testing.h"

#include "attention/attention.h"

#include <stdlib.h>
#include <string.h>

static oa_context *context;

static int open_context(void **state)
{
    (void)state;
    context = oa_open(NULL);
    return context ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(context);
    return 0;
}

static void assert_prints(const char *text, const char *canonical)
{
    struct oa_spec spec;
    struct oa_text out;
    oa_text_init(&out, context);
    if (oa_spec_parse(context, text, &spec) != OA_OK) {
        const char *sentence;
        oa_last_error(context, &sentence);
        fail_msg("%s", sentence);
    }
    oa_spec_print(&spec, &out);
    assert_string_equal(out.s, canonical);
    oa_spec_free(&spec);
    oa_text_free(&out);
}

static const struct {
    const char *text, *canonical;
} forms[] = {
    { "softmax", "softmax" },
    { "  softmax\t\n", "softmax" },
    { "local(window=64);softmax", "local(window=64) ; softmax" },
    { "pattern( previous ) : 1|softmax : 7", "pattern(previous):1 | softmax:7" },
    { "random+softmax", "random + softmax" },
    { "mix(random, softmax)", "random + softmax" },
    { "mix(random,softmax,alpha=softmax)", "random + softmax" },
    { "mix(random, softmax, sum)", "mix(random, softmax, alpha=sum)" },
    { "mix(alpha=sigmoid, softmax, random)", "mix(softmax, random, alpha=sigmoid)" },
    { "mix(random,softmax,alpha=fixed,weights= 0.30 / 7e-1)",
      "mix(random, softmax, alpha=fixed, weights=0.3/0.7)" },
    { "fixed-random", "random(frozen)" },
    { "fixed-random(init=normal, sigma=1)", "random(frozen, init=normal, sigma=1)" },
    { "fixed-random(frozen)", "random(frozen)" },
    { "fixed-random + orthogonal(temperature)", "random(frozen) + orthogonal(temperature)" },
    { "mix(fixed-random(normal), dense(full))", "random(frozen, init=normal) + dense(input=full)" },
    { "pattern(current)", "pattern" },
    { "pattern(word, clamp, last)", "pattern(last, edge=clamp, unit=word)" },
    { "linear(map=elu)", "linear" },
    { "linear(power)", "linear(map=power)" },
    { "linear(power, degree=2)", "linear(map=power)" },
    { "linear(degree=3,map=power)", "linear(map=power, degree=3)" },
    { "linear(diagonal, temperature, jl, tie, srht)",
      "linear(qk=srht, tie, scale=jl, temperature, diagonal)" },
    { "softmax(qk=learned)", "softmax" },
    { "orthogonal(qk=haar)", "orthogonal" },
    { "orthogonal(qk=learned)", "orthogonal(qk=learned)" },
    { "orthogonal(share=layers)", "orthogonal(share=layers)" },
    { "local(window=128, dilation=1)", "local" },
    { "local(qk=slice, dilation=2, window=3)", "local(window=3, dilation=2, qk=slice)" },
    { "dense(bias,shared,hidden=3,input=full)", "dense(input=full, hidden=3, shared, bias)" },
    { "dense(input=slice)", "dense" },
    { "random(sigma=0.50,init=uniform)", "random(init=uniform, sigma=0.5)" },
    { "softmax:1 | dense:2", "softmax:1 | dense:2" },
    { "local(window=3) | linear", "local(window=3) | linear" },
    { "raganato",
      "pattern:1 | pattern(previous):1 | pattern(next):1 | pattern(left):1 | pattern(right):1 | "
      "pattern(end):1 | pattern(start):1 | softmax" },
    { "softmax(gate=none, qknorm=none, normalise=softmax)", "softmax" },
    { "softmax(swish, forget, sink, rms, kv=2, jl, alibi)",
      "softmax(scale=jl, kv=2, qknorm=rms, normalise=sink, forget, gate=swish, relative=alibi)" },
    { "local(gate=channel, sparsemax, window=3)",
      "local(window=3, normalise=sparsemax, gate=channel)" },
    { "random(gate=head, entmax, frozen)", "random(frozen, normalise=entmax, gate=head)" },
    { "linear(gate=swish, kv=1, qknorm=unit)", "linear(kv=1, qknorm=unit, gate=swish)" },
    { "linear(update=delta, conv=4, decay=head, map=unit)",
      "linear(map=unit, conv=4, decay=head, update=delta)" },
    { "linear(conv=0, sum)", "linear" },
    { "retention", "linear(map=identity, decay=fixed, gate=swish)" },
    { "gla", "linear(map=identity, decay=channel, gate=swish)" },
    { "deltanet(conv=2)", "linear(map=unit, conv=2, update=delta)" },
    { "gated-deltanet:3 | softmax:1",
      "linear(map=unit, conv=4, decay=head, update=delta, gate=swish):3 | softmax:1" },
    { "kda(kv=1)", "linear(map=unit, conv=4, decay=channel, update=delta, kv=1, gate=channel)" },
    { "hedgehog(conv=3)", "linear(map=hedgehog, conv=3)" },
    { "linformer(gate=head, qknorm=layer, share=kv)",
      "linformer(share=kv, qknorm=layer, gate=head)" },
    { "pattern(head, previous)", "pattern(previous, gate=head)" },
    { "mix(random, softmax(qknorm=unit), normalise=sigmoid, gate=head, alpha=sum, alibi)",
      "mix(random, softmax(qknorm=unit), alpha=sum, normalise=sigmoid, gate=head, "
      "relative=alibi)" },
    { "mqa", "softmax(kv=1)" },
    { "mqa:2 | softmax:2", "softmax(kv=1):2 | softmax:2" },
    { "mqa(forget, kv=2)", "softmax(kv=2, forget)" },
    { "softmax(distance=64,relative=t5,tie)", "softmax(tie, relative=t5, distance=64)" },
    { "softmax(t5, buckets=32, distance=128)", "softmax(relative=t5)" },
    { "softmax(share=layers, t5)", "softmax(share=layers, relative=t5)" },
    { "mix(random, softmax, alibi)", "mix(random, softmax, relative=alibi)" },
    { "softmax ; raganato",
      "softmax ; pattern:1 | pattern(previous):1 | pattern(next):1 | pattern(left):1 | "
      "pattern(right):1 | pattern(end):1 | pattern(start):1 | softmax" },
};

static void canonical_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        assert_prints(forms[i].text, forms[i].canonical);
        assert_prints(forms[i].canonical, forms[i].canonical);
    }
}

/* ---- what is refused
 * ------------------------------------------------------------------------------------------- */

/* The sentence names the character and contains every one of `parts`, which are separated by ~. */
static void assert_sentence(const char *text, int character, const char *parts)
{
    const char *sentence;
    char place[40], part[200];
    oa_last_error(context, &sentence);
    snprintf(place, sizeof place, "attention, character %d: ", character);
    if (strncmp(sentence, place, strlen(place)) != 0)
        fail_msg("\"%s\" is not at character %d: %s", text, character, sentence);
    for (const char *p = parts; *p; p += *p == '~') {
        snprintf(part, sizeof part, "%.*s", (int)strcspn(p, "~"), p);
        if (!strstr(sentence, part))
            fail_msg("\"%s\" is not in: %s", part, sentence);
        p += strlen(part);
    }
    oa_clear_error(context);
}

static void assert_refused(const char *text, int character, const char *parts)
{
    struct oa_spec spec;
    assert_int_equal(oa_spec_parse(context, text, &spec), OA_ARGUMENT);
    oa_spec_free(&spec);
    assert_sentence(text, character, parts);
}

static const struct {
    const char *text;
    int character;
    const char *parts;
} refusals[] = {
    { "", 1, "unexpected end of the text~expected a mechanism~Valid: softmax, orthogonal" },
    { "sofmax", 1,
      "unexpected \"sofmax\"~did you mean softmax?~Valid: softmax, orthogonal, dense~\n  sofmax\n  "
      "^" },
    { "random + sofmax", 10,
      "did you mean softmax?~that can be mixed~\n  random + sofmax\n           ^" },
    { "random + linear", 10, "unexpected \"linear\"; expected a mechanism that can be mixed" },
    { "linear + random", 1, "that can be mixed" },
    { "local + softmax", 1, "that can be mixed" },
    { "mix(random, linear)", 13, "that can be mixed" },
    { "mix(random, mix(random, softmax))", 13, "that can be mixed" },
    { "random + raganato", 10, "that can be mixed" },
    { "softmax ;", 10, "unexpected end of the text; expected a mechanism" },
    { "; softmax", 1, "unexpected \";\"; expected a mechanism" },
    { "softmax | | softmax", 11, "unexpected \"|\"" },
    { "softmax softmax", 9, "unexpected \"softmax\"; expected the end" },
    { "softmax)", 8, "unexpected \")\"" },
    { "softmax(", 9, "unexpected end of the text; expected an option of softmax" },
    { "softmax()", 9, "unexpected \")\"; expected an option of softmax" },
    { "softmax(tie", 12, "expected \",\" or \")\" in the options of softmax" },
    { "softmax(tie temperature)", 13, "expected \",\" or \")\"" },
    { "softmax(tie,)", 13, "unexpected \")\"" },
    { "softmax(temprature)", 9,
      "softmax has no option \"temprature\"; did you mean temperature?~share=none|layers" },
    { "softmax(window=3)", 9, "softmax has no option \"window\"~Valid: qk=learned|haar" },
    { "softmax(qk=har)", 12,
      "qk has no value \"har\"; did you mean haar?~learned|haar|gram-schmidt" },
    { "softmax(tie=1)", 13, "tie is a flag and takes no value" },
    { "softmax(tie, tie)", 14, "tie is given twice" },
    { "softmax(haar, qk=srht)", 15, "qk is given twice" },
    { "softmax(none)", 9, "several options~write share=none or scale=none" },
    { "softmax(share=layers)", 1, "share=layers applies to frozen projections" },
    { "orthogonal(init=haar)", 1, "init applies to learned projections" },
    { "softmax(init=har)", 14, "did you mean haar?" },
    { "softmax(kv=0)", 12, "kv is 0; it must be between 1 and 1024" },
    { "softmax(kv=2, tie)", 1, "kv and tie exclude each other" },
    { "mqa(tie)", 1, "kv and tie exclude each other" },
    { "mqa(kv=1, kv=2)", 11, "kv is given twice" },
    { "softmax(qknorm=rsm)", 16, "did you mean rms?~none|rms|layer|unit" },
    { "softmax(kv=x)", 12, "kv is \"x\"; expected an integer from 1 to 1024" },
    { "linformer(kv=2)", 11, "linformer has no option \"kv\"" },
    { "linformer(normalise=sink)", 11, "linformer has no option \"normalise\"" },
    { "linear(normalise=sink)", 8, "linear has no option \"normalise\"" },
    { "longformer(kv=1)", 12, "longformer has no option \"kv\"" },
    { "mix(random, softmax, forget)", 22, "mix has no option \"forget\"" },
    { "random + softmax(gate=head)", 1,
      "gate belongs to the mixture as a whole: write mix(…, gate=" },
    { "random(sink) + softmax", 1, "normalise belongs to the mixture as a whole" },
    { "mix(random, softmax(kv=1))", 1, "kv is not possible in a mixture~remove kv" },
    { "mix(random(forget), softmax)", 1, "forget is not possible in a mixture" },
    { "mix(random, dense, sigmoid)", 20,
      "several options; write alpha=sigmoid or normalise=sigmoid" },
    { "random + mqa", 1, "kv is not possible in a mixture" },
    { "softmax(relative=alibi, buckets=8)", 1, "buckets and distance belong to relative=t5" },
    { "softmax(relative=t6)", 18, "relative has no value \"t6\"; did you mean t5?~none|alibi|t5" },
    { "softmax(relative=t5, buckets=3)", 30, "buckets is 3; it must be between 4 and 4096" },
    { "random(relative=t5)", 8, "random has no option \"relative\"" },
    { "linformer(relative=t5)", 11, "linformer has no option \"relative\"" },
    { "linear(relative=alibi)", 8, "linear has no option \"relative\"" },
    { "random + softmax(relative=t5)", 1, "belong to the mixture as a whole" },
    { "mix(random, softmax, share=layers)", 1, "share=layers is for relative=t5" },
    { "local(window)", 7, "window needs a value" },
    { "local(window=)", 14, "window= needs a value" },
    { "local(window=0)", 14, "window is 0; it must be between 1" },
    { "local(window=-5)", 14, "window is -5" },
    { "local(window=2.5)", 14, "window is \"2.5\"; expected an integer" },
    { "local(window=6 4)", 14, "window is \"6 4\"; expected an integer" },
    { "local(window=99999999999999999999)", 14, "an integer" },
    { "random(init=normal, sigma=wide)", 27, "sigma is \"wide\"; expected a number" },
    { "random(init=normal, sigma=inf)", 27, "a number" },
    { "random(init=normal, sigma=1e999)", 27, "a number" },
    { "random(sigma=2)", 1, "sigma belongs to init=normal" },
    { "linear(degree=3)", 1, "degree belongs to map=power" },
    { "linear(unit)", 8, "\"unit\" is a value of several options" },
    { "linear(head)", 8, "\"head\" is a value of several options" },
    { "linear(map=hedgehog, decay=channel)", 1, "map=hedgehog has 2K features" },
    { "linear(power, decay=channel)", 1, "only with degree=1" },
    { "mix", 1, "at least two components" },
    { "mix(softmax)", 1, "at least two components" },
    { "mix(softmax, random, dense, alpha=sigmoid)", 1, "exactly two components; there are 3" },
    { "mix(softmax, random, alpha=fixed)", 1, "alpha=fixed needs weights" },
    { "mix(softmax, random, weights=1/2)", 1, "weights belong to alpha=fixed" },
    { "mix(softmax, random, alpha=fixed, weights=1/2/3)", 1,
      "there are 3 weights for 2 components" },
    { "mix(softmax, random, alpha=fixed, weights=1//3)", 43, "numbers separated by /" },
    { "mix(softmax, random, alpha=fixed, weights=1 2)", 43, "numbers separated by /" },
    { "mix(softmax, randon)", 14, "mix has no option \"randon\"; did you mean random?" },
    { "softmax + random + dense + random + dense + random + dense", 54, "at most 6 components" },
    { "softmax:0", 9, "a number of heads from 1 to 1024" },
    { "softmax:", 9, "a number of heads" },
    { "softmax:1025", 9, "a number of heads" },
    { "softmax:two", 9, "a number of heads" },
    { "softmax:-1", 9, "a number of heads" },
    { "raganato:8", 9, "raganato stands for eight groups" },
    { "raganato(tie)", 9, "raganato stands for eight groups" },
    { "softmax\x01", 8, "unexpected byte 0x01~softmax?" },
};

static void refused_with_reasons(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        assert_refused(refusals[i].text, refusals[i].character, refusals[i].parts);
}

/* ---- stacks
 * ----------------------------------------------------------------------------------------------------
 */

enum {
    E = OA_STACK(OA_STACK_ENCODER),
    D = OA_STACK(OA_STACK_DECODER),
    C = OA_STACK(OA_STACK_CROSS)
};

#define PATTERNS                                                                                   \
    "pattern:1 | pattern(previous):1 | pattern(next):1 | pattern(left):1 | pattern(right):1 | "    \
    "pattern(end):1 | "                                                                            \
    "pattern(start):1 | softmax"

static const struct {
    unsigned has;
    const char *text, *canonical, *encoder, *decoder,
        *cross; /* NULL: the model has no such stack */
} stacks[] = {
    { E | D | C, "encoder:raganato&cross:softmax&decoder:random+softmax",
      "encoder: " PATTERNS " & decoder: random + softmax", PATTERNS, "random + softmax",
      "softmax" },
    { E | D | C, "cross: linear & encoder: local ; softmax",
      "encoder: local ; softmax & cross: linear", "local ; softmax", "softmax", "linear" },
    { E | D | C, " decoder : local ( window = 64 ) : 1 | softmax",
      "decoder: local(window=64):1 | softmax", "softmax", "local(window=64):1 | softmax",
      "softmax" },
    { E | D | C, "random", "random", "random", "random", "softmax" },
    { E | D | C, "softmax:7 | linear:1", "softmax:7 | linear:1", "softmax:7 | linear:1",
      "softmax:7 | linear:1", "softmax" },
    { E | D | C, "decoder: softmax & encoder: softmax(qk=learned)", "softmax", "softmax", "softmax",
      "softmax" },
    { E | D | C, "encoder: random & decoder: random", "encoder: random & decoder: random", "random",
      "random", "softmax" },
    { E | D | C, "encoder: linformer & cross: linformer", "encoder: linformer & cross: linformer",
      "linformer", "softmax", "linformer" },
    { E | D | C, "decoder: softmax(relative=t5, buckets=7)",
      "decoder: softmax(relative=t5, buckets=7)", "softmax", "softmax(relative=t5, buckets=7)",
      "softmax" },
    { E | D | C, "decoder: lightconv(width=4)", "decoder: lightconv(width=4)", "softmax",
      "lightconv(width=4)", "softmax" },
    { D, "decoder: softmax", "softmax", NULL, "softmax", NULL },
    { D, "decoder: local ; random", "local ; random", NULL, "local ; random", NULL },
    { D, "local ; random", "local ; random", NULL, "local ; random", NULL },
    { E, "raganato", PATTERNS, PATTERNS, NULL, NULL },
    { E, "encoder: raganato ; linformer", PATTERNS " ; linformer", PATTERNS " ; linformer", NULL,
      NULL },
    { C, "linear", "linear", NULL, NULL, "linear" },
};

static void assert_layers(const struct oa_spec *spec, const char *want)
{
    struct oa_text out;
    oa_text_init(&out, context);
    oa_spec_print(spec, &out);
    if (want)
        assert_string_equal(out.s, want);
    else
        assert_int_equal(spec->layers, 0);
    oa_text_free(&out);
}

static void assert_stacks(size_t i, const char *text)
{
    struct oa_stack_specs all;
    struct oa_text out;
    oa_text_init(&out, context);
    enum oa_error e = oa_stacks_parse(context, text, stacks[i].has, &all);
    if (e != OA_OK) {
        const char *sentence;
        oa_last_error(context, &sentence);
        fail_msg("%s: %s", text, sentence);
    }
    oa_stacks_print(&all, &out);
    assert_string_equal(out.s, stacks[i].canonical);
    assert_layers(&all.spec[OA_STACK_ENCODER], stacks[i].encoder);
    assert_layers(&all.spec[OA_STACK_DECODER], stacks[i].decoder);
    assert_layers(&all.spec[OA_STACK_CROSS], stacks[i].cross);
    oa_stacks_free(&all);
    oa_text_free(&out);
}

static void stacks_have_their_layers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
        assert_stacks(i, stacks[i].text);
        assert_stacks(i, stacks[i].canonical);
    }
}

static void labels_are_known(void **state)
{
    (void)state;
    struct oa_stack_specs all;
    struct oa_spec one;
    assert_int_equal(oa_stacks_parse(context, "cross: softmax & decoder: local", E | D | C, &all),
                     OA_OK);
    assert_int_equal(all.named, D | C);
    assert_int_equal(all.has, E | D | C);
    oa_stacks_free(&all);
    assert_int_equal(oa_stacks_parse(context, "softmax", D, &all), OA_OK);
    assert_int_equal(all.named, 0);
    oa_stacks_free(&all);
    assert_int_equal(oa_stack_parse(context, "decoder: linear ; local", OA_STACK_DECODER, &one),
                     OA_OK);
    assert_layers(&one, "linear ; local");
    oa_spec_free(&one);
    assert_string_equal(oa_stack_name(OA_STACK_ENCODER), "encoder");
    assert_string_equal(oa_stack_name(OA_STACK_DECODER), "decoder");
    assert_string_equal(oa_stack_name(OA_STACK_CROSS), "cross");
}

static const struct {
    unsigned has;
    const char *text;
    int character;
    const char *parts;
    enum oa_error code;
} stack_refusals[] = {
    { D, "encoder: softmax", 1,
      "the model has no encoder; its stacks are: decoder~\n  encoder: softmax\n  ^", OA_ARGUMENT },
    { D, "decoder: softmax & cross: linear", 20,
      "the model has no cross-attention; its stacks are: decoder", OA_ARGUMENT },
    { E, "decoder: softmax", 1, "the model has no decoder; its stacks are: encoder", OA_ARGUMENT },
    { E | D | C, "encodr: softmax", 1,
      "unexpected \"encodr\"~did you mean encoder?~Valid: encoder, decoder, cross", OA_ARGUMENT },
    { D, "decodr: softmax", 1, "did you mean decoder?~Valid: decoder", OA_ARGUMENT },
    { E | D | C, "encoder: local & decodr: softmax", 18,
      "unexpected \"decodr\"; expected the label~did you mean decoder?", OA_ARGUMENT },
    { E | D | C, "encoder: local & softmax", 18,
      "unexpected \"softmax\"; expected the label of a stack and \":\"", OA_ARGUMENT },
    { E | D | C, "encoder: local & decoder", 18,
      "unexpected \"decoder\"; expected the label of a stack and \":\". Valid", OA_ARGUMENT },
    { E | D | C, "encoder: local &", 17, "unexpected end of the text; expected the label",
      OA_ARGUMENT },
    { E | D | C, "softmax & decoder: local", 9,
      "\"&\" separates labelled stacks, but the first has no label", OA_ARGUMENT },
    { E | D | C, "encoder: local & encoder: softmax", 18, "encoder is given twice", OA_ARGUMENT },
    { E | D | C, "encoder: & decoder: local", 10, "unexpected \"&\"; expected a mechanism",
      OA_ARGUMENT },
    { E | D | C, "encoder:", 9, "unexpected end of the text; expected a mechanism", OA_ARGUMENT },
    { E | D | C, "encoder: softmax )", 18,
      "unexpected \")\"; expected the end or one of ( : + | ; or &", OA_ARGUMENT },
    { E | D | C, "encoder: sofmax & cross: linear", 10, "did you mean softmax?", OA_ARGUMENT },
    { E | D | C, "cross: linear ; local(windw=3)", 23, "did you mean window?", OA_ARGUMENT },
    { E | D | C, "encoder: softmax ; decoder: local", 20,
      "unexpected \"decoder\"; expected a mechanism", OA_ARGUMENT },
    { D, "softmax ; linformer", 11, "linformer has no causal form", OA_UNSUPPORTED },
    { E | D | C, "encoder: linformer & decoder: linformer", 31, "linformer has no causal form",
      OA_UNSUPPORTED },
    { E | D | C, "decoder: softmax | pattern(next)", 20, "look ahead and have no causal form",
      OA_UNSUPPORTED },
    { E | D | C, "decoder: softmax ; pattern(unit=word)", 20, "no causal form", OA_UNSUPPORTED },
    { E | D | C, "decoder: raganato", 10, "no causal form~decoder: raganato\n           ^",
      OA_UNSUPPORTED },
    { E | D | C, "cross: local", 8, "local is for self-attention only", OA_UNSUPPORTED },
    { E | D | C, "cross: softmax ; block-sparse", 18, "is for self-attention only",
      OA_UNSUPPORTED },
    { E | D | C, "cross: softmax(relative=t5)", 8,
      "softmax: relative positions are for self-attention only", OA_UNSUPPORTED },
    { E | D | C, "cross: mix(random, softmax, relative=alibi)", 8,
      "relative positions are for self-attention only", OA_UNSUPPORTED },
    { E | D | C, "encoder: softmax(relative=t5, buckets=7)", 10,
      "buckets=7 must be even~use 6 or 8", OA_UNSUPPORTED },
    { E | D | C, "encoder: softmax(relative=t5, buckets=8, distance=2)", 10,
      "use a distance of at least 3, or fewer", OA_UNSUPPORTED },
    { E | D | C, "decoder: softmax(relative=t5, buckets=7, distance=3)", 10,
      "distance=3: the first 3 of 7 buckets", OA_UNSUPPORTED },
    { E | D | C, "encoder: lightconv(width=4)", 10, "must be odd", OA_UNSUPPORTED },
    { E, "lightconv(width=4)", 1, "must be odd", OA_UNSUPPORTED },
};

static void stacks_are_refused_with_reasons(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stack_refusals / sizeof stack_refusals[0]; i++) {
        struct oa_stack_specs all;
        enum oa_error e =
            oa_stacks_parse(context, stack_refusals[i].text, stack_refusals[i].has, &all);
        oa_stacks_free(&all);
        assert_sentence(stack_refusals[i].text, stack_refusals[i].character,
                        stack_refusals[i].parts);
        assert_int_equal(e, stack_refusals[i].code);
    }
    assert_refused("decoder: softmax", 1, "label the stacks of a model~remove the label");
    assert_refused("softmax & local", 9, "; expected the end or one of ( : + | or ;");
}

/* A long text is shown around the place; the caret stays under it, also behind letters of several
 * bytes. */
static void carets_point_into_long_texts(void **state)
{
    (void)state;
    char text[600] = "";
    for (int i = 0; i < 40; i++)
        strcat(text, "softmax ; ");
    strcat(text, "häar");
    const char *sentence;
    struct oa_spec spec;
    assert_int_equal(oa_spec_parse(context, text, &spec), OA_ARGUMENT);
    oa_spec_free(&spec);
    oa_last_error(context, &sentence);
    const char *line = strchr(sentence, '\n') + 1, *caret = strchr(line, '\n') + 1;
    assert_int_equal(strncmp(line, "  … ", 6), 0);
    assert_string_equal(strstr(line, "häar") ? "shown" : "hidden", "shown");
    assert_int_equal((int)strcspn(caret, "^"),
                     (int)(strstr(line, "häar") - line) - 2); /* … has three bytes */
    oa_clear_error(context);
}

static void too_much_is_refused(void **state)
{
    (void)state;
    size_t length = 9000;
    char *text = malloc(length + 1);
    assert_non_null(text);
    memset(text, '(', length);
    text[length] = 0;
    struct oa_spec spec;
    assert_int_equal(oa_spec_parse(context, text, &spec), OA_ARGUMENT);
    oa_clear_error(context);
    memcpy(text, "mix(", 4);
    text[8000] = 0;
    assert_int_equal(oa_spec_parse(context, text, &spec), OA_ARGUMENT);
    oa_spec_free(&spec);
    oa_clear_error(context);
    free(text);
}

/* ---- heads
 * -----------------------------------------------------------------------------------------------------
 */

static enum oa_error heads_of(const char *text, int heads, int *count)
{
    struct oa_spec spec;
    assert_int_equal(oa_spec_parse(context, text, &spec), OA_OK);
    enum oa_error e = oa_spec_heads(context, &spec.layer[0], heads, count);
    oa_spec_free(&spec);
    return e;
}

static void assert_heads_refused(const char *text, int heads, const char *part)
{
    int count[8];
    const char *sentence;
    assert_int_equal(heads_of(text, heads, count), OA_ARGUMENT);
    oa_last_error(context, &sentence);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" is not in: %s", part, sentence);
    oa_clear_error(context);
}

static void heads_are_shared(void **state)
{
    (void)state;
    int count[8];
    assert_int_equal(heads_of("softmax", 5, count), OA_OK);
    assert_int_equal(count[0], 5);
    assert_int_equal(heads_of("softmax:1 | dense | linear", 7, count), OA_OK);
    assert_int_equal(count[0], 1);
    assert_int_equal(count[1], 3);
    assert_int_equal(count[2], 3);
    assert_int_equal(heads_of("raganato", 9, count), OA_OK);
    assert_int_equal(count[7], 2);
    assert_heads_refused("raganato", 7, "at least 8");
    assert_heads_refused("softmax:1 | dense:2", 4, "the counts of its groups sum to 3");
    assert_heads_refused("softmax:1 | dense | linear", 4, "cannot be split equally among 2 groups");
    assert_heads_refused("softmax:3 | dense:2", 4, "sum to 5");
}

/* ---- values
 * ----------------------------------------------------------------------------------------------------
 */

/* A choice is its whole word: not one that begins like it, nor a part of it. */
static void choices_are_whole_words(void **state)
{
    (void)state;
    struct oa_spec spec;
    assert_int_equal(oa_spec_parse(context, "mix(random, softmax, alpha=sigmoid)", &spec), OA_OK);
    const struct oa_atom *a = &spec.layer[0].group[0].atom;
    assert_true(oa_atom_is(a, "alpha", "sigmoid"));
    assert_false(oa_atom_is(a, "alpha", "softmax"));
    assert_false(oa_atom_is(a, "alpha", "sigmo"));
    assert_false(oa_atom_is(a, "alpha", "sigmoid|"));
    assert_false(oa_atom_is(a, "width", "sigmoid"));
    oa_spec_free(&spec);
}

static void values_and_defaults(void **state)
{
    (void)state;
    struct oa_spec spec;
    double weights[4];
    assert_int_equal(
        oa_spec_parse(context,
                      "local(dilation=3) | mix(random, dense(hidden=7), fixed, weights=1/-2)",
                      &spec),
        OA_OK);
    const struct oa_atom *local = &spec.layer[0].group[0].atom, *mix = &spec.layer[0].group[1].atom;
    assert_int_equal(oa_atom_int(local, "window", -1), 128);
    assert_int_equal(oa_atom_int(local, "dilation", -1), 3);
    assert_false(oa_atom_flag(local, "tie"));
    assert_true(oa_atom_is(local, "qk", "learned"));
    assert_int_equal(oa_atom_int(local, "nothing", 5), 5);
    assert_int_equal(oa_atom_int(&mix->child[1], "hidden", 4), 7);
    assert_true(oa_atom_real(&mix->child[0], "sigma", 0.25) == 0.25);
    assert_int_equal(oa_atom_reals(mix, "weights", weights, 4), 2);
    assert_true(weights[0] == 1 && weights[1] == -2);
    oa_spec_free(&spec);
}

/* ---- any bytes
 * -------------------------------------------------------------------------------------------------
 */

static const char *const pieces[] = { "softmax", "random",  "mix",   "raganato", "fixed-random",
                                      "pattern", "linear",  "dense", "(",        ")",
                                      "+",       "|",       ";",     ":",        ",",
                                      "=",       " ",       "1",     "qk",       "haar",
                                      "weights", "0.3/0.7", "alpha", "fixed",    "\xff",
                                      "ä",       "tie",     "-",     "window",   "9999999999",
                                      "&",       "encoder", "cross", "decoder: " };

static void parse_anything(const char *text)
{
    struct oa_spec spec, again;
    struct oa_text out;
    oa_text_init(&out, context);
    if (oa_spec_parse(context, text, &spec) == OA_OK) {
        oa_spec_print(&spec, &out);
        assert_int_equal(oa_spec_parse(context, out.s, &again), OA_OK);
        oa_spec_free(&again);
    }
    oa_spec_free(&spec);
    oa_clear_error(context);
    struct oa_stack_specs all, twice;
    oa_text_cut(&out, 0);
    if (oa_stacks_parse(context, text, E | D | C, &all) == OA_OK) {
        oa_stacks_print(&all, &out);
        assert_int_equal(oa_stacks_parse(context, out.s, E | D | C, &twice), OA_OK);
        oa_stacks_free(&twice);
    }
    oa_stacks_free(&all);
    oa_text_free(&out);
    oa_clear_error(context);
}

static void any_bytes_are_parsed_or_refused(void **state)
{
    (void)state;
    struct oa_stream s = oa_stream_named(1, "test/language");
    uint64_t at = 0;
    for (int round = 0; round < 4000; round++) {
        char text[400] = "";
        long n = (long)oa_random_below(s, at++, 24);
        for (long i = 0; i < n; i++)
            strcat(text, pieces[oa_random_below(s, at++, sizeof pieces / sizeof pieces[0])]);
        parse_anything(text);
    }
    for (int round = 0; round < 4000; round++) {
        char text[40];
        long n = (long)oa_random_below(s, at++, sizeof text);
        for (long i = 0; i < n; i++)
            text[i] = (char)oa_random_below(s, at++, 256);
        text[n] = 0;
        parse_anything(text);
    }
}

/* ---- the same function ---- */

static const struct {
    const char *one, *other;
    bool same;
} pairs[] = {
    { "softmax(init=haar)", "softmax", true },
    { "softmax(init=haar)", "softmax(init=slice, qk=learned)", true },
    { "softmax(init=haar)", "orthogonal", false },
    { "softmax(init=haar, kv=1)", "softmax", false },
    { "softmax(init=haar, kv=1)", "mqa", true },
    { "local(window=128, init=haar)", "local", true },
    { "local(window=127)", "local(window=126)", false },
    { "random(init=normal, sigma=0.3)", "random", true },
    { "random(frozen, init=normal, sigma=0.3)", "random(frozen)", false },
    { "random(frozen, init=normal)", "random(frozen, init=normal, sigma=0)", false },
    { "gaussian(sigma=2)", "gaussian", false },
    { "random(init=normal) + softmax", "random + softmax(init=haar)", true },
    { "random(init=normal) + softmax", "random + softmax", true },
    { "random + softmax", "random + dense", false },
    { "mix(random, softmax, alpha=fixed, weights=1/2)",
      "mix(random, softmax, alpha=fixed, weights=1/3)", false },
    { "softmax:1 | softmax(init=haar):3", "softmax:1 | softmax:3", true },
    { "softmax:1 | softmax:3", "softmax:2 | softmax:2", false },
    { "softmax:1 | softmax", "softmax", false },
    { "softmax ; softmax(init=haar)", "softmax", true },
    { "softmax ; local", "softmax ; local ; softmax ; local", true },
    { "softmax ; local", "local ; softmax", false },
    { "softmax ; local", "softmax ; local ; softmax", false },
};

static void initial_values_are_no_other_function(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct oa_spec one, other;
        assert_int_equal(oa_spec_parse(context, pairs[i].one, &one), OA_OK);
        assert_int_equal(oa_spec_parse(context, pairs[i].other, &other), OA_OK);
        if (oa_spec_same_function(&one, &other) != pairs[i].same ||
            oa_spec_same_function(&other, &one) != pairs[i].same)
            fail_msg("\"%s\" and \"%s\"", pairs[i].one, pairs[i].other);
        oa_spec_free(&one);
        oa_spec_free(&other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_forms),
        cmocka_unit_test(refused_with_reasons),
        cmocka_unit_test(stacks_have_their_layers),
        cmocka_unit_test(labels_are_known),
        cmocka_unit_test(stacks_are_refused_with_reasons),
        cmocka_unit_test(carets_point_into_long_texts),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(heads_are_shared),
        cmocka_unit_test(values_and_defaults),
        cmocka_unit_test(choices_are_whole_words),
        cmocka_unit_test(initial_values_are_no_other_function),
        cmocka_unit_test(any_bytes_are_parsed_or_refused),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
