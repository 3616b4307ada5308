/* SPDX-License-Identifier: Apache-2.0
 * Attention layers: any options of any mechanisms of the registry, at sizes from one token and one
 * channel on, are refused with a sentence or run forward, backward and by steps; numbers stay
 * finite, and padding does not matter. */
#include "attention/attention.h"
#include "fuzz.h"

#include <math.h>

enum { MOST_TOKENS = 20, MOST_HEADS = 4, MOST_HEAD_WIDTH = 8, BATCH = 2 };
enum { NUMBERS = BATCH * MOST_TOKENS * MOST_HEADS * MOST_HEAD_WIDTH };

/* ---- bytes as choices
 * ------------------------------------------------------------------------------------------- */

struct choices {
    const uint8_t *next, *end;
};

/* One of 0 … n − 1; 0 when the bytes are used up. */
static long pick(struct choices *b, long n)
{
    return b->next < b->end ? *b->next++ % n : 0;
}

/* One word of "a|b|c", or the key of a flag. */
static void add_choice(struct choices *b, const char *words, struct oa_text *out)
{
    for (long skip = pick(b, 16); skip > 0; skip--) {
        const char *bar = strchr(words, '|');
        words = bar ? bar + 1 : words;
    }
    oa_text_printf(out, "%.*s", (int)strcspn(words, "|"), words);
}

static void add_value(struct choices *b, const struct oa_argument *a, struct oa_text *out)
{
    static const char *const reals[] = { "0", "0.5", "1", "-1", "2", "1e-3", "30" };
    if (a->key[0] && a->kind != OA_VALUE_FLAG)
        oa_text_printf(out, "%s=", a->key);
    if (a->kind == OA_VALUE_FLAG)
        oa_text_printf(out, "%s", a->key);
    else if (a->kind == OA_VALUE_CHOICE)
        add_choice(b, a->choices, out);
    else if (a->kind == OA_VALUE_INT)
        oa_text_printf(out, "%ld", pick(b, 34));
    else
        oa_text_printf(out, "%s", reals[pick(b, 7)]);
}

static const struct oa_mechanism *pick_mechanism(struct choices *b)
{
    const struct oa_mechanism *m = NULL;
    for (int i = (int)pick(b, 64); i >= 0 && !m; i--)
        m = oa_mechanism_at(i);
    return m;
}

static void add_atom(struct choices *b, struct oa_text *out)
{
    const struct oa_mechanism *m = pick_mechanism(b);
    const char *before = "(";
    oa_text_printf(out, "%s", m->name);
    for (const struct oa_argument *a = m->arguments; a->key; a++) {
        if (pick(b, 3) > 0)
            continue;
        oa_text_printf(out, "%s", before);
        add_value(b, a, out);
        before = ",";
    }
    oa_text_printf(out, "%s", before[0] == ',' ? ")" : "");
}

static void add_spec(struct choices *b, struct oa_text *out)
{
    static const char *const joints[] = { "", "", "", " | ", " + " };
    const char *joint = joints[pick(b, 5)];
    add_atom(b, out);
    if (joint[0]) {
        oa_text_printf(out, "%s", joint);
        add_atom(b, out);
    }
}

/* ---- running
 * ----------------------------------------------------------------------------------------------------
 */

struct layer {
    oa_attention *a;
    struct oa_attention_form form;
    long tokens;
    int32_t lengths[BATCH];
    float x[NUMBERS], y[NUMBERS], dx[NUMBERS];
};

static void fill(struct layer *l)
{
    const struct oa_stream s = oa_stream_named(1, "x");
    for (long i = 0; i < NUMBERS; i++)
        l->x[i] = (float)(2 * oa_random_uniform(s, (uint64_t)i) - 1);
}

static void expect_finite(const float *x, long n)
{
    for (long i = 0; i < n; i++)
        if (!isfinite(x[i]))
            abort();
}

static void run_whole(struct layer *l)
{
    long width = l->form.width, count = BATCH * l->tokens * width;
    for (long b = 0; b < BATCH; b++)
        for (long i = l->lengths[b] * width; i < l->tokens * width; i++)
            l->x[b * l->tokens * width + i] = NAN;
    struct oa_attention_input in = {
        .batch = BATCH, .tokens = l->tokens, .lengths = l->lengths, .x = l->x
    };
    if (oa_attention_forward(l->a, &in, l->y) != OA_OK)
        return;
    expect_finite(l->y, count);
    if (oa_attention_backward(l->a, l->x, l->dx, NULL) != OA_OK)
        abort();
    expect_finite(l->dx, count);
}

static void run_steps(struct layer *l)
{
    oa_attention_state *s = l->form.causal ? oa_attention_state_open(l->a) : NULL;
    for (long t = 0; s && t < l->tokens; t++) {
        struct oa_attention_input in = { .batch = 1, .tokens = 1, .x = l->x + t * l->form.width };
        if (oa_attention_step(s, &in, l->y) != OA_OK)
            abort();
        expect_finite(l->y, l->form.width);
    }
    oa_attention_state_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oa_context *c = fuzz_context();
    struct choices b = { data, data + size };
    static struct layer l;
    struct oa_text spec;
    oa_text_init(&spec, c);
    add_spec(&b, &spec);
    l.form =
        (struct oa_attention_form){ .heads = 1 + pick(&b, MOST_HEADS), .causal = (int)pick(&b, 2) };
    l.form.width = l.form.heads * (1 + pick(&b, MOST_HEAD_WIDTH));
    l.tokens = 1 + pick(&b, MOST_TOKENS);
    l.form.length = l.tokens + pick(&b, 5);
    l.form.precision = pick(&b, 2) ? "bf16" : "f32";
    for (int i = 0; i < BATCH; i++)
        l.lengths[i] = (int32_t)(l.tokens - pick(&b, l.tokens + 1));
    l.a = oa_attention_open(c, spec.s, &l.form);
    fill(&l);
    if (l.a)
        run_steps(&l);
    if (l.a)
        run_whole(&l);
    else if (oa_status(c) == OA_OK)
        abort();
    oa_attention_close(l.a);
    oa_text_free(&spec);
    return 0;
}
