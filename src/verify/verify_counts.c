/* SPDX-License-Identifier: Apache-2.0
 * Parameters of one layer against closed forms, and of whole models against published counts. FLOPs
 * of the formula of each mechanism against those that the counting device counts, within 15 %,
 * since formulas omit elementwise work. Visible pairs of the formula against enumerated ones. */
#include "verify/verify.h"

#include <math.h>
#include <string.h>

/* ---- parameters ---- */

/* Without values and output; one layer with 8 heads, width 512, N = 256. */
static const struct {
    const char *spec;
    long trainable, frozen;
} layers[] = {
    { "softmax", 2 * 512 * 512, 0 },
    { "orthogonal", 0, 2 * 512 * 512 },
    { "orthogonal(tie)", 0, 512 * 512 },
    { "random", 8 * 256 * 256, 0 },
    { "random(frozen)", 0, 8 * 256 * 256 },
    { "dense", 8 * (64 * 64 + 64 * 256), 0 },
    { "factorized-dense", 8 * (16 + 16) * 64, 0 },
    { "factorized-dense(a=8, input=full)", 8 * (8 + 32) * 512, 0 },
    { "factorized-random", 8 * 2 * 256 * 8, 0 },
    { "linear", 2 * 512 * 512, 0 },
    { "mixer(value)", 2 * 256 * 256 + 256 + 256, 0 },
    { "linformer", 2 * 512 * 512 + 2 * 8 * 256 * 64, 0 },
    { "linformer(rank=16, share=kv, qk=haar)", 256 * 16, 2 * 512 * 512 },
    { "gaussian", 0, 0 },
    { "lightconv", 8 * 7, 0 },
    { "dynamicconv(glu)", 512 * 512 + 8 * 7 * 512, 0 },
    { "cosformer", 2 * 512 * 512, 0 },
    { "taylor", 2 * 128 * 512, 0 },
    { "polysketch", 2 * 512 * 512, 2 * 64 * 32 },
    { "performer(qk=haar)", 0, 2 * 512 * 512 + 266 * 64 },
    { "pattern", 0, 0 },
    { "random + softmax", 8 * 256 * 256 + 2 * 512 * 512 + 16, 0 },
    { "softmax(forget)", 2 * 512 * 512 + 8 * 512 + 8, 0 },
    { "softmax(qknorm=rms)", 2 * 512 * 512 + 2 * 64, 0 },
    { "softmax(normalise=sink)", 2 * 512 * 512 + 8, 0 },
    { "softmax(kv=2)", 2 * 2 * 64 * 512, 0 },
    { "orthogonal(kv=1)", 512 * (64 - 512), 512 * (512 + 64) },
    { "linear(map=hedgehog)", 2 * 512 * 512 + 2 * 8 * 64 * 64, 0 },
    { "retention", 3 * 512 * 512 + 64, 0 },
    { "gla", 3 * 512 * 512 + 2 * 16 * 512 + 512 + 64, 0 },
    { "deltanet", 2 * 512 * 512 + 3 * 4 * 512 + 8 * 512 + 64, 0 },
    { "gated-deltanet", 3 * 512 * 512 + 3 * 4 * 512 + 2 * 8 * 512 + 2 * 8 + 64, 0 },
    { "kda", 3 * 512 * 512 + 3 * 4 * 512 + 8 * 512 + 2 * 16 * 512 + 512 + 64, 0 },
    { "gated-deltanet(kv=2)",
      (2 * 2 * 64 + 512) * 512 + 4 * (512 + 2 * 128) + 2 * 8 * 512 + 2 * 8 + 64, 0 },
    { "softmax(gate=head)", 2 * 512 * 512 + 8 * 512, 0 },
    { "linear(gate=channel)", 3 * 512 * 512, 0 },
    { "pattern(gate=swish)", 512 * 512, 0 },
    { "softmax(temperature, diagonal)", 2 * 512 * 512 + 8 + 512, 0 },
};

static void check_layer_parameters(struct oa_proof *p)
{
    struct oa_layer_shape shape = { 512, 8, 64, 64, .length = 256 };
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        struct oa_single_layer l;
        const char *name = oa_proof_line_name(p, layers[i].spec);
        if (!oa_proof_includes(p, name))
            continue;
        if (oa_single_layer_dry(p->context, layers[i].spec, &shape, &l) == OA_OK) {
            oa_proof_measure_mechanism(
                p, name, fabs((double)(l.store.trainable - 2 * 512 * 512 - layers[i].trainable)), 0,
                "%s: trainable parameters, expected %ld", layers[i].spec, layers[i].trainable);
            oa_proof_measure_mechanism(p, name, fabs((double)(l.store.frozen - layers[i].frozen)),
                                       0, "%s: frozen parameters, expected %ld", layers[i].spec,
                                       layers[i].frozen);
        }
        oa_single_layer_close(&l);
    }
}

/* ---- published counts ---- */

/* Narang et al. 2021 (arXiv 2102.11972), Table 1: T5-base in Mesh TensorFlow, 222.86 M parameters,
 * 24 self-attention layers of 4·768²; its synthesizer layers have 8 heads of width 128, tables of
 * length 512, and, in "plus", one query projection for both components. Tay et al. 2021 (arXiv
 * 2005.00743), Table 2: 12 self-attention layers, 67 M with softmax attention, tables of length
 * 256; frozen tables were not counted. In millions, as published. */
static const struct published_model {
    const char *what, *spec;
    bool t5;
    long shared; /* parameters that the published model shares between components */
    double millions;
} models[] = {
    { "T5-base, dense", "dense(shared, input=full)", true, 0, 224 },
    { "T5-base, dense_plus", "mix(dense(shared, input=full), softmax, alpha=sum)", true, 768 * 1024,
      243 },
    { "T5-base, random", "random", true, 0, 254 },
    { "T5-base, random_plus", "mix(random, softmax, alpha=sum)", true, 0, 292 },
    { "T5-base, factorized", "factorized-random(rank=16)", true, 0, 207 },
    { "WMT, random", "random", false, 0, 67 },
    { "WMT, fixed random", "random(frozen)", false, 0, 61 },
    { "WMT, factorized random", "factorized-random(rank=8)", false, 0, 61 },
    { "WMT, random + vanilla", "mix(random, softmax, alpha=sum)", false, 0, 73 },
};

static void check_published_models(struct oa_proof *p)
{
    static const struct oa_layer_shape t5 = { 768, 8, 128, 128, .length = 512 },
                                       wmt = { 512, 8, 64, 64, .length = 256 };
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        const struct published_model *m = &models[i];
        struct oa_single_layer l;
        const char *name = oa_proof_line_name(p, m->spec);
        if (!oa_proof_includes(p, name))
            continue;
        if (oa_single_layer_dry(p->context, m->spec, m->t5 ? &t5 : &wmt, &l) == OA_OK) {
            double layer = (double)(l.store.trainable - m->shared);
            double size = m->t5 ? 222.86 + 24 * (layer - 4.0 * 768 * 768) / 1e6
                                : 67 + 12 * (layer - 4.0 * 512 * 512) / 1e6;
            oa_proof_measure_mechanism(p, name, fabs(size - m->millions), 0.5,
                                       "%s: %.2f million parameters, published %.0f", m->what, size,
                                       m->millions);
        }
        oa_single_layer_close(&l);
    }
}

/* ---- FLOPs ---- */

enum { LENGTH = 256, WIDTH = 64 };

static void check_flops(struct oa_proof *p, const char *spec)
{
    struct oa_single_layer l;
    struct oa_layer_shape shape = { WIDTH, 4, 16, 16, .length = LENGTH };
    const char *name = oa_proof_line_name(p, spec);
    if (oa_single_layer_dry(p->context, spec, &shape, &l) == OA_OK) {
        oa_tape_reset(&l.tape, false, false, oa_stream_named(1, ""));
        l.device->flops = 0;
        struct oa_layer_input in = { .batch = 1, .queries = LENGTH, .keys = LENGTH };
        in.x = oa_tensor_new(&l.tape, LENGTH, WIDTH);
        oa_tensor *y = oa_layer_forward(&l.tape, &l.layer, &in);
        double ratio = y ? l.device->flops / oa_layer_flops(&l.layer, LENGTH, LENGTH) : NAN;
        oa_proof_measure_mechanism(p, name, fabs(log(ratio)), 0.14,
                                   "%s: counted FLOPs, %.3f times the formula", spec, ratio);
    }
    if (oa_status(p->context) != OA_NO_MEMORY)
        oa_clear_error(p->context);
    oa_single_layer_close(&l);
}

static void visible_pairs_match_formula(struct oa_proof *p, struct oa_attention_case *a)
{
    const struct oa_group *g = &a->single.layer.group[0];
    struct oa_oracle in = { .queries = a->T, .keys = a->S, .length = a->S };
    double pairs = 0;
    a->no_gradients = true;
    if (g->support.form == OA_SUPPORT_ALL || a->single.layer.groups > 1 ||
        !oa_proof_run(p, a)) /* which reads a layout of blocks */
        return;
    for (long h = 0; h < g->shape.heads; h++) {
        for (long i = 0; i < a->T; i++) {
            for (long j = 0; j < a->S; j++)
                pairs += oa_oracle_visible(g, &in, h, i, j);
        }
    }
    oa_proof_measure(p, a, fabs(oa_visible_pairs(g, a->T, a->S) - pairs), 0,
                     "visible pairs, %.0f enumerated", pairs);
}

static void verify_counts_of_attention(struct oa_proof *p, const char *spec)
{
    struct oa_setup setup = { .precision = OA_PRECISION_F32, .queries = 75, .length = 75 };
    oa_proof_check_modes(p, spec, &setup, OA_MODE_BOTH, OA_MODE_CAUSAL,
                         visible_pairs_match_formula);
}

static void verify_counts_of_mechanisms(struct oa_proof *p)
{
    check_layer_parameters(p);
    check_published_models(p);
    const struct oa_mechanism *m;
    for (int i = 0; (m = oa_mechanism_at(i)); i++) {
        if (oa_proof_includes(p, m->name))
            check_flops(p, oa_proof_default_spec(m));
    }
}

const struct oa_subject oa_subject_counts = { "counts", 2, verify_counts_of_attention,
                                              verify_counts_of_mechanisms };
