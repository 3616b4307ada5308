/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison that nobody ran: losses that fall as losses do, with noise from named random
 * streams, so that the same arguments give the same comparison everywhere. For tests of the report,
 * and for looking at it: `test_report --write FOLDER`.
 */
#ifndef ORTHANT_SYNTHETIC_COMPARISON_H
#define ORTHANT_SYNTHETIC_COMPARISON_H

#include "base/base.h"
#include "compare/comparison.h"

#include <math.h>
#include <string.h>

/* What an attention is made up to be. */
struct synthetic {
    const char *attention;
    double loss, spread; /* final validation loss, deviation over the seeds */
    double speed;        /* tokens a second */
    double trainable, frozen;
    int failed; /* so many of the last seeds fail */
};

static const struct synthetic six_attentions[] = {
    { "softmax", 1.632, 0.004, 41000, 812032, 0, 0 },
    { "local(window=64)", 1.640, 0.006, 52500, 812032, 0, 0 },
    { "orthogonal", 1.668, 0.002, 44800, 681000, 131072, 0 },
    { "linear(map=elu, qk=haar)", 1.741, 0.003, 61200, 681000, 131072, 0 },
    { "pattern(previous):1 | random + softmax:3 ; performer(features=64)", 1.659, 0.003, 38000,
      901120, 16384, 0 },
    { "<script>alert(\"a & b's\")</script>", 1.9, 0.01, 70000, 655360, 0, 1 },
};

static double noise(const char *attention, uint64_t seed, const char *what, uint64_t index)
{
    char name[256];
    snprintf(name, sizeof name, "%.160s/%s", attention, what);
    return oa_random_normal(oa_stream_named(seed, name), index);
}

static void fill_curve(oa_context *c, const struct synthetic *a, double final, struct oa_run *r)
{
    r->points = (int)(r->steps / 10) + 1;
    r->curve = oa_alloc(c, (size_t)r->points * sizeof *r->curve);
    for (int i = 0; i < r->points; i++) {
        struct oa_curve_point *p = &r->curve[i];
        double share = (double)i / (r->points - 1),
               smooth = final + 2.5 * exp(-9 * share) + 0.25 * (1 - share);
        p->step = 10L * i;
        p->tokens = 768.0 * (double)p->step;
        p->seconds = p->tokens / a->speed * (1 + 0.02 * noise(a->attention, r->seed, "time", 0));
        p->train_loss = smooth - 0.12 + 0.03 * noise(a->attention, r->seed, "train", (uint64_t)i);
        p->valid_loss = NAN;
        if (p->step % 100 == 0)
            p->valid_loss =
                smooth + 0.004 * noise(a->attention, r->seed, "valid", (uint64_t)i) * (1 - share);
    }
}

static void fill_run(oa_context *c, const struct synthetic *a, bool failed, struct oa_run *r)
{
    /* What the seeds have in common is larger than what the attentions differ in: pairing has to
     * remove it. */
    double shared = 0.02 * noise("all", r->seed, "shared", 0);
    r->steps = failed ? 700 : 2000;
    snprintf(r->machine, sizeof r->machine, "A Processor <2>, avx512, 2 threads");
    snprintf(r->weights, sizeof r->weights, "%s",
             failed ? "" : oa_digest_of(a->attention, strlen(a->attention)).hex);
    r->tokens = 768.0 * (double)r->steps;
    r->valid_loss = a->loss + shared + a->spread * noise(a->attention, r->seed, "loss", 0);
    fill_curve(c, a, r->valid_loss, r);
    r->perplexity = exp(r->valid_loss);
    r->bits_per_character = r->bits_per_byte = r->valid_loss / log(2);
    r->valid_tokens = 111539;
    r->seconds = r->curve[r->points - 1].seconds;
    r->processor_seconds = 1.9 * r->seconds;
    r->tokens_per_second = a->speed;
    r->seconds_per_step = 768 / a->speed;
    r->flops_per_step = 6 * 768 * (a->trainable + a->frozen);
    r->flops = r->flops_per_step * (double)r->steps;
    r->peak_memory = 4 * 3 * (a->trainable + a->frozen) + 30e6;
    if (!failed)
        return;
    r->failed = true;
    r->valid_loss = r->perplexity = r->bits_per_character = r->bits_per_byte = NAN;
    snprintf(r->failure, sizeof r->failure,
             "step 700: the loss is not finite <nan>; a smaller --lr may help");
}

static void make_comparison(oa_context *c, const struct synthetic *attentions, int count, int seeds,
                            struct oa_comparison *k)
{
    *k = (struct oa_comparison){
        .count = count, .seeds = seeds, .characters = 111540, .bytes = 111540
    };
    k->valid_tokens = 111540;
    k->eval_tokens = 111539;
    k->equal = OA_EQUAL_TOKENS;
    struct oa_options options;
    struct oa_text text;
    oa_options_default(&options);
    options.train_steps = 2000;
    oa_text_init(&text, c);
    oa_options_json(&options, &text);
    k->options_json = text.s;
    k->machine_json = oa_copy_text(
        c, "{\"processor\": \"A Processor <2> & Co\", \"isa\": \"avx512\", \"threads\": 2, "
           "\"memory\": 8589934592, \"kernels\": [\"ref\", \"avx512\"], "
           "\"versions\": {\"orthant\": \"0.1.0\"}, \"date\": \"2025-01-01T00:00:00Z\"}");
    k->entries = oa_alloc(c, (size_t)count * sizeof *k->entries);
    for (int i = 0; i < count; i++) {
        struct oa_entry *e = &k->entries[i];
        e->attention = oa_copy_text(c, attentions[i].attention);
        e->trainable = attentions[i].trainable;
        e->frozen = attentions[i].frozen;
        e->runs = oa_alloc(c, (size_t)seeds * sizeof *e->runs);
        for (int r = 0; r < seeds; r++) {
            e->runs[r].seed = (uint64_t)r + 1;
            fill_run(c, &attentions[i], r >= seeds - attentions[i].failed, &e->runs[r]);
        }
    }
}

#endif
