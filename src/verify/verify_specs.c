/* SPDX-License-Identifier: Apache-2.0
 * Which attentions are verified: every mechanism of the registry with its defaults, with every
 * value of every choice, with every flag, with a value of every integer, and in some combinations
 * of options. A registered mechanism is verified without further work. */
#include "attention/language/language.h"
#include "verify/verify.h"

#include <string.h>

static const char *const combinations[] = {
    "softmax(tie, temperature, diagonal)",
    "softmax(tie, temperature, scale=jl)",
    "orthogonal(qk=srht, tie, scale=jl, diagonal)",
    "orthogonal(qk=learned, temperature, diagonal)",
    "orthogonal(share=layers)",
    "linear(map=power, degree=3, tie, temperature)",
    "linear(map=relu, qk=haar, scale=jl)",
    "local(window=2, dilation=2, qk=slice)",
    "cosformer(length=80, qk=haar, tie, diagonal)",
    "polynomial(degree=4, bias=1, temperature)",
    "taylor(width=5, tie, scale=jl)",
    "polysketch(sketch=2, qk=srht)",
    "performer(kernel=hyperbolic, draw=iid, features=7)",
    "performer(features=9, ensemble=hd3, qk=givens, temperature)",
    "performer(kernel=smreg, tie):1 | cosformer:1",
    "local(window=1)",
    "dense(input=full, hidden=3, shared, bias)",
    "factorized-dense(b=1, input=full)",
    "factorized-random + factorized-dense",
    "mix(softmax, factorized-random(rank=2), alpha=sigmoid)",
    "mix(factorized-random(rank=2), random, alpha=fixed, weights=0.5/-2)",
    "dense:1 | factorized-dense:1",
    "random(init=normal)",
    "random(frozen, init=uniform, sigma=2)",
    "gaussian(offset=-1, sigma=0.7, renormalise)",
    "gaussian(offset=12.3, renormalise)",
    "gaussian(offset=-30.25, sigma=2, renormalise)",
    "gaussian(offset=0.5, sigma=3)",
    "lightconv(width=1)",
    "lightconv(width=4, glu)",
    "lightconv(width=3, glu, renormalise)",
    "dynamicconv(width=5, glu, renormalise)",
    "dynamicconv(width=3, glu):1 | gaussian:1",
    "lightconv(width=3):1 | dynamicconv(width=9):1",
    "pattern(left, edge=clamp)",
    "pattern(right, edge=self)",
    "pattern(previous, edge=clamp)",
    "pattern(next, edge=self, unit=word)",
    "pattern(left, edge=clamp, unit=word)",
    "pattern(right, unit=word)",
    "pattern(start, unit=word)",
    "pattern(last, unit=word)",
    "random + softmax",
    "dense + random(frozen, init=normal) + orthogonal(temperature)",
    "mix(softmax(tie), dense(bias), alpha=sigmoid)",
    "mix(softmax, random, alpha=sum)",
    "mix(random, softmax, alpha=fixed, weights=0.3/-0.7)",
    "local(window=2):1 | linear:1",
    "dense:1 | mix(softmax, dense(shared), alpha=sigmoid):1",
    "orthogonal(qk=slice):1 | pattern(previous):1",
    "sparse(fixed, stride=3, summary=2)",
    "sparse(fixed, stride=3, heads=split, qk=haar)",
    "sparse(stride=2, tie, temperature):1 | block-local(size=2):1",
    "longformer(window=1, global=2, tie, temperature, diagonal)",
    "longformer(window=1, global=9)",
    "longformer(window=2, qk=slice, scale=jl):1 | softmax:1",
    "block-sparse(block=2, from=local)",
    "block-sparse(block=2, from=fixed, scale=jl)",
    "bigbird(block=1, random=1, window=1)",
    "bigbird(block=2, random=1, window=1, global=1):1 | softmax:1",
    "linformer(rank=3, share=heads, temperature)",
    "linformer(rank=2, share=kv, tie)",
    "linformer(rank=3, qk=haar, scale=jl):1 | gaussian:1",
    "mixer(hidden=9, value)",
    "lightconv(width=3, glu):1 | mixer(hidden=5):1",
    "mixer:1 | mixer(value):1",
    "local(window=4):1 | softmax:1",
    "block-local(size=5)",
    "polynomial(degree=4, bias=1)",
    "linear(map=power, degree=3, tie)",
    "performer(kernel=trig):1 | cosformer:1",
    "random + softmax + dense + orthogonal(tie)",
    "dense:1 | mixer(hidden=9):1",
    "gaussian(offset=-1, sigma=0.3, renormalise)",
    "gaussian(offset=3, sigma=0.3)",
    "gaussian(offset=-2.5, sigma=0.2)",
    "pattern(left, edge=self)",
    "pattern(previous, edge=self):1 | pattern(left):1",
    "sparse(stride=4, heads=split)",
    "longformer(window=2, global=3)",
    "longformer(window=2, global=0)",
    "longformer(window=1, global=2, shared)",
    "longformer(window=2, qk=slice):1 | linear:1",
    "block-sparse(block=2, from=fixed)",
    "bigbird(block=2, random=1, window=1, global=1)",
    "linformer(rank=3, share=kv)",
    "mixer(hidden=30, value)",
    "mixer(hidden=3)",
    "softmax:1 | dense:1",
    "softmax(kv=2):4",
    "softmax(kv=2, temperature, diagonal, scale=jl, relative=alibi):4",
    "orthogonal(qk=srht, kv=2, temperature):4",
    "orthogonal(qk=slice, kv=1):2 | softmax(kv=1):2",
    "local(window=2, kv=2, gate=head):4",
    "sparse(fixed, stride=3, summary=2, kv=2):4",
    "sparse(stride=3, kv=2, relative=t5, buckets=8, distance=7):4",
    "block-sparse(block=2, from=fixed, kv=1, qk=haar)",
    "linear(map=power, degree=3, kv=2):4",
    "cosformer(kv=2):4",
    "polynomial(degree=4, bias=1, kv=2):4",
    "taylor(width=5, kv=2):4",
    "polysketch(sketch=2, qk=srht, kv=1)",
    "performer(features=9, kv=2):4",
    "sparse(fixed, stride=3, summary=2, normalise=sink)",
    "sparse(stride=3, heads=split, normalise=sink, relative=alibi)",
    "sparse(stride=3, normalise=sigmoid)",
    "local(window=2, dilation=2, normalise=sigmoid)",
    "longformer(window=1, global=2, normalise=entmax)",
    "longformer(window=2, global=1, normalise=sink)",
    "bigbird(block=2, random=1, window=1, global=1, normalise=sparsemax)",
    "random(normalise=sink)",
    "dense(bias, normalise=entmax)",
    "factorized-dense(normalise=sink):1 | softmax(kv=1, normalise=sink):1",
    "mix(random, softmax, alpha=sum, normalise=sparsemax, relative=t5, buckets=8, distance=6)",
    "mix(dense, softmax, alpha=fixed, weights=0.3/-0.7, normalise=sigmoid, gate=channel)",
    "softmax(tie, qknorm=rms)",
    "softmax(tie, temperature, qknorm=unit)",
    "linear(map=relu, kv=2, qknorm=rms):4",
    "performer(kv=1, qknorm=unit)",
    "longformer(window=1, global=2, qknorm=layer)",
    "taylor(width=5, qknorm=layer)",
    "linformer(rank=3, qknorm=rms)",
    "mix(random, softmax(qknorm=rms), normalise=sink, gate=head)",
    "softmax(kv=2, qknorm=rms, normalise=sink, forget):4",
    "softmax(kv=2, qknorm=joint):4 | local(window=2, qknorm=joint):2",
    "softmax(normalise=sigmoid, forget)",
    "softmax(normalise=entmax, forget, relative=alibi)",
    "longformer(window=2, global=2, forget, gate=head)",
    "local(window=2, forget)",
    "sparse(fixed, stride=3, summary=2, forget)",
    "random(forget)",
    "dense(bias, normalise=sparsemax, forget):1 | softmax(forget):1",
    "block-local(size=5, forget)",
    "linear(map=relu, gate=swish)",
    "linear(map=relu, conv=2, qk=haar)",
    "linear(map=hedgehog, kv=2):4",
    "linear(map=hedgehog, decay=head)",
    "linear(map=identity, tie, update=delta)",
    "linear(map=identity, decay=fixed, gate=swish)",
    "linear(map=identity, decay=channel):1 | softmax:1",
    "linear(map=power, degree=1, decay=channel)",
    "linear(map=unit, tie, conv=2)",
    "linear(map=unit, conv=4, decay=channel, update=delta, gate=channel)",
    "linear(map=unit, conv=2, decay=head, update=delta, kv=2, gate=swish):4",
    "linear(decay=fixed, temperature, diagonal)",
    "longformer(window=1, global=2, gate=channel)",
    "pattern(previous, gate=head):1 | mixer(hidden=5, gate=channel):1",
    "mix(random, softmax, alpha=sum, gate=head)",
    "performer(gate=channel):1 | lightconv(width=3, gate=swish):1",
    "linformer(rank=3, gate=head)",
    "softmax(relative=t5, buckets=8, distance=6)",
    "mix(random, softmax, relative=t5, buckets=8, distance=7)",
    "mix(random, factorized-random(rank=2), alpha=sum, relative=alibi)",
    "longformer(window=1, global=2, relative=t5, buckets=8, distance=6)",
    "longformer(window=2, global=1, shared, relative=alibi)",
    "sparse(fixed, stride=3, summary=2, relative=t5, buckets=8, distance=9)",
    "sparse(stride=3, relative=t5, buckets=8, distance=7)",
    "sparse(stride=4, heads=split, relative=alibi)",
    "local(window=2, dilation=2, relative=alibi)",
    "bigbird(block=2, random=1, window=1, global=1, relative=t5, buckets=8, distance=9)",
    "softmax(tie, relative=alibi):1 | local(window=4, relative=t5, buckets=8, distance=8):1",
};

enum { FIRST_CAPACITY = 64 };

/* Adds the text unless it is invalid: a choice may need another option. */
static void add_spec(struct oa_proof *p, const char *text)
{
    struct oa_spec spec;
    enum oa_error e = oa_spec_parse(p->context, text, &spec);
    oa_spec_free(&spec);
    if (e == OA_NO_MEMORY)
        return;
    oa_clear_error(p->context);
    int n = p->spec_count;
    if (e != OA_OK)
        return;
    if (n == 0 || (n >= FIRST_CAPACITY && (n & (n - 1)) == 0)) {
        size_t size = sizeof p->specs[0], capacity = n ? 2 * (size_t)n : FIRST_CAPACITY;
        void *grown = oa_grow(p->context, p->specs, (size_t)n * size, capacity * size);
        if (!grown)
            return;
        p->specs = grown;
    }
    snprintf(p->specs[p->spec_count++], sizeof p->specs[0], "%s", text);
}

/* "key=number", small enough for the sequences of the checks unless the mechanism names one. */
static void print_integer_option(const struct oa_mechanism *m, const struct oa_argument *a,
                                 char *out, size_t size)
{
    size_t n = strlen(a->key);
    for (int i = 0; m->numbers && oa_choice_at(m->numbers, i, out, size); i++) {
        if (strncmp(out, a->key, n) == 0 && out[n] == '=')
            return;
    }
    snprintf(out, size, "%s=%d", a->key, strcmp(a->key, "kv") == 0 ? 1 : 3);
}

/* Are the values of this option tried with this mechanism? Those of projections and heads are the
 * same code for all; the number of key heads is not, because engines read it. */
static bool tries_option(const struct oa_proof *p, const struct oa_mechanism *m,
                         const struct oa_argument *a)
{
    static const char *const heads[] = { "qknorm", "normalise", "forget", "gate" };
    if (p->quick && strcmp(a->key, "qk") == 0)
        return false;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        if (strcmp(a->key, heads[i]) == 0)
            return strcmp(m->name, "softmax") == 0;
    }
    return true;
}

static void add_option_specs(struct oa_proof *p, const struct oa_mechanism *m,
                             const struct oa_argument *a)
{
    char text[OA_PROOF_TEXT], number[64], word[64];
    if (strcmp(a->key, "init") == 0 && m->can & OA_HAS_QUERIES)
        return; /* initial values of projections change no computation */
    if (a->kind == OA_VALUE_FLAG || a->kind == OA_VALUE_INT) {
        print_integer_option(m, a, number, sizeof number);
        snprintf(text, sizeof text, "%s(%s)", m->name, a->kind == OA_VALUE_FLAG ? a->key : number);
        add_spec(p, text);
    }
    for (int i = 0; a->kind == OA_VALUE_CHOICE && oa_choice_at(a->choices, i, word, sizeof word);
         i++) {
        snprintf(text, sizeof text, "%s(%s%s%s%s%s)", m->name, m->trial ? m->trial : "",
                 m->trial ? ", " : "", a->key, a->key[0] ? "=" : "", word);
        add_spec(p, text);
    }
}

/* The layers of the one attention, each by itself. */
static void add_layer_specs(struct oa_proof *p)
{
    for (int i = 0; i < p->only_spec.layers; i++) {
        struct oa_spec one = { .layer = &p->only_spec.layer[i], .layers = 1 };
        struct oa_text text;
        oa_text_init(&text, p->context);
        oa_spec_print(&one, &text);
        bool complete = oa_status(p->context) == OA_OK;
        if (complete && text.length < sizeof p->specs[0])
            add_spec(p, text.s);
        else if (complete)
            oa_fail(p->context, OA_ARGUMENT, "the attention is longer than %d characters",
                    OA_PROOF_TEXT - 1);
        oa_text_free(&text);
    }
}

enum oa_error oa_proof_collect(struct oa_proof *p)
{
    const struct oa_mechanism *m;
    if (p->only) {
        add_layer_specs(p);
        return oa_status(p->context);
    }
    for (int i = 0; (m = oa_mechanism_at(i)); i++) {
        add_spec(p, m->name);
        for (const struct oa_argument *a = m->arguments; a->key; a++) {
            if (tries_option(p, m, a))
                add_option_specs(p, m, a);
        }
    }
    for (size_t i = 0; i < sizeof combinations / sizeof combinations[0]; i++)
        add_spec(p, combinations[i]);
    return oa_status(p->context);
}
