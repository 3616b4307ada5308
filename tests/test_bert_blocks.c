/* SPDX-License-Identifier: Apache-2.0
 * Models of other programs (tests/golden-hf): with the options of a family and its tensors under
 * our names, logits are those of the program, whole sequences and token by token. */
#include "base/safetensors.h"
#include "testing.h"

#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* How a tensor of ours, [rows, columns], is made of theirs. */
enum how {
    AS_IS,
    TURNED,    /* stored [in, out] */
    PART,      /* a third of the rows, or of the columns of a turned one: queries, keys, values */
    PART_HEAD, /* a third of the rows of each head */
    SHARED,    /* a head of theirs for several of ours */
    LATER,     /* from row `part` on */
    PLUS_ONE,
    ZERO
};

struct mapping {
    const char *ours,
        *theirs; /* the first %d in theirs is the layer, which ours has after layers. */
    enum how how;
    int part;
    double factor; /* 0: 1 */
};

struct family {
    const char *name, *options; /* key=value, separated by blanks */
    long kept_heads;            /* SHARED: theirs */
    bool encoder;
    const struct mapping *map;
};

#define LLAMA(q_factor, norm)                                                                      \
    { "embedding.weight", "model.embed_tokens.weight", AS_IS, 0, 0 },                              \
        { "output.weight", "lm_head.weight", AS_IS, 0, 0 },                                        \
        { "norm.weight", "model.norm.weight", norm, 0, 0 },                                        \
        { "attention_norm.weight", "model.layers.%d.input_layernorm.weight", norm, 0, 0 },         \
        { "attention.query.weight", "model.layers.%d.self_attn.q_proj.weight", AS_IS, 0,           \
          q_factor },                                                                              \
        { "attention.key.weight", "model.layers.%d.self_attn.k_proj.weight", SHARED, 0, 0 },       \
        { "attention.value.weight", "model.layers.%d.self_attn.v_proj.weight", SHARED, 0, 0 },     \
        { "attention.query.bias", "model.layers.%d.self_attn.q_proj.bias", AS_IS, 0, 0 },          \
        { "attention.key.bias", "model.layers.%d.self_attn.k_proj.bias", SHARED, 0, 0 },           \
        { "attention.value.bias", "model.layers.%d.self_attn.v_proj.bias", SHARED, 0, 0 },         \
        { "attention.output.weight", "model.layers.%d.self_attn.o_proj.weight", AS_IS, 0, 0 },     \
        { "ffn.gate.weight", "model.layers.%d.mlp.gate_proj.weight", AS_IS, 0, 0 },                \
        { "ffn.in.weight", "model.layers.%d.mlp.up_proj.weight", AS_IS, 0, 0 },                    \
    {                                                                                              \
        "ffn.out.weight", "model.layers.%d.mlp.down_proj.weight", AS_IS, 0, 0                      \
    }

static const struct mapping llama[] = {
    LLAMA(0, AS_IS),
    { "ffn_norm.weight", "model.layers.%d.post_attention_layernorm.weight", AS_IS, 0, 0 },
    { NULL, NULL, AS_IS, 0, 0 }
};

/* Logits are q·k/√16 there, and q·k/√12 here. */
static const struct mapping gemma2[] = {
    LLAMA(0.86602540378443864676, PLUS_ONE),
    { "attention_norm.out.weight", "model.layers.%d.post_attention_layernorm.weight", PLUS_ONE, 0,
      0 },
    { "ffn_norm.weight", "model.layers.%d.pre_feedforward_layernorm.weight", PLUS_ONE, 0, 0 },
    { "ffn_norm.out.weight", "model.layers.%d.post_feedforward_layernorm.weight", PLUS_ONE, 0, 0 },
    { NULL, NULL, AS_IS, 0, 0 }
};

/* The weights and the biases of a layer. */
#define BOTH(ours, theirs, how, part)                                                              \
    { ours ".weight", theirs ".weight", how, part, 0 },                                            \
    {                                                                                              \
        ours ".bias", theirs ".bias", how, part, 0                                                 \
    }

static const struct mapping gpt2[] = {
    { "embedding.weight", "transformer.wte.weight", AS_IS, 0, 0 },
    { "position.weight", "transformer.wpe.weight", AS_IS, 0, 0 },
    BOTH("decoder.norm", "transformer.ln_f", AS_IS, 0),
    BOTH("attention_norm", "transformer.h.%d.ln_1", AS_IS, 0),
    BOTH("ffn_norm", "transformer.h.%d.ln_2", AS_IS, 0),
    BOTH("attention.query", "transformer.h.%d.attn.c_attn", PART, 0),
    BOTH("attention.key", "transformer.h.%d.attn.c_attn", PART, 1),
    BOTH("attention.value", "transformer.h.%d.attn.c_attn", PART, 2),
    BOTH("attention.output", "transformer.h.%d.attn.c_proj", TURNED, 0),
    BOTH("ffn.in", "transformer.h.%d.mlp.c_fc", TURNED, 0),
    BOTH("ffn.out", "transformer.h.%d.mlp.c_proj", TURNED, 0),
    { NULL, NULL, AS_IS, 0, 0 }
};

/* Logits are not divided by √10. */
static const struct mapping gpt_neo[] = {
    { "embedding.weight", "transformer.wte.weight", AS_IS, 0, 0 },
    { "position.weight", "transformer.wpe.weight", AS_IS, 0, 0 },
    BOTH("decoder.norm", "transformer.ln_f", AS_IS, 0),
    BOTH("attention_norm", "transformer.h.%d.ln_1", AS_IS, 0),
    BOTH("ffn_norm", "transformer.h.%d.ln_2", AS_IS, 0),
    { "attention.query.weight", "transformer.h.%d.attn.attention.q_proj.weight", AS_IS, 0,
      3.16227766016837933200 },
    { "attention.key.weight", "transformer.h.%d.attn.attention.k_proj.weight", AS_IS, 0, 0 },
    { "attention.value.weight", "transformer.h.%d.attn.attention.v_proj.weight", AS_IS, 0, 0 },
    { "attention.query.bias", "", ZERO, 0, 0 },
    { "attention.key.bias", "", ZERO, 0, 0 },
    { "attention.value.bias", "", ZERO, 0, 0 },
    BOTH("attention.output", "transformer.h.%d.attn.attention.out_proj", AS_IS, 0),
    BOTH("ffn.in", "transformer.h.%d.mlp.c_fc", AS_IS, 0),
    BOTH("ffn.out", "transformer.h.%d.mlp.c_proj", AS_IS, 0),
    { NULL, NULL, AS_IS, 0, 0 }
};

static const struct mapping gpt_neox[] = {
    { "embedding.weight", "gpt_neox.embed_in.weight", AS_IS, 0, 0 },
    { "output.weight", "embed_out.weight", AS_IS, 0, 0 },
    BOTH("decoder.norm", "gpt_neox.final_layer_norm", AS_IS, 0),
    BOTH("attention_norm", "gpt_neox.layers.%d.input_layernorm", AS_IS, 0),
    BOTH("ffn_norm", "gpt_neox.layers.%d.post_attention_layernorm", AS_IS, 0),
    BOTH("attention.query", "gpt_neox.layers.%d.attention.query_key_value", PART_HEAD, 0),
    BOTH("attention.key", "gpt_neox.layers.%d.attention.query_key_value", PART_HEAD, 1),
    BOTH("attention.value", "gpt_neox.layers.%d.attention.query_key_value", PART_HEAD, 2),
    BOTH("attention.output", "gpt_neox.layers.%d.attention.dense", AS_IS, 0),
    BOTH("ffn.in", "gpt_neox.layers.%d.mlp.dense_h_to_4h", AS_IS, 0),
    BOTH("ffn.out", "gpt_neox.layers.%d.mlp.dense_4h_to_h", AS_IS, 0),
    { NULL, NULL, AS_IS, 0, 0 }
};

static const struct mapping opt[] = {
    { "embedding.weight", "model.decoder.embed_tokens.weight", AS_IS, 0, 0 },
    { "position.weight", "model.decoder.embed_positions.weight", LATER, 2, 0 },
    BOTH("decoder.norm", "model.decoder.final_layer_norm", AS_IS, 0),
    BOTH("attention_norm", "model.decoder.layers.%d.self_attn_layer_norm", AS_IS, 0),
    BOTH("ffn_norm", "model.decoder.layers.%d.final_layer_norm", AS_IS, 0),
    BOTH("attention.query", "model.decoder.layers.%d.self_attn.q_proj", AS_IS, 0),
    BOTH("attention.key", "model.decoder.layers.%d.self_attn.k_proj", AS_IS, 0),
    BOTH("attention.value", "model.decoder.layers.%d.self_attn.v_proj", AS_IS, 0),
    BOTH("attention.output", "model.decoder.layers.%d.self_attn.out_proj", AS_IS, 0),
    BOTH("ffn.in", "model.decoder.layers.%d.fc1", AS_IS, 0),
    BOTH("ffn.out", "model.decoder.layers.%d.fc2", AS_IS, 0),
    { NULL, NULL, AS_IS, 0, 0 }
};

static const struct mapping bert[] = {
    { "embedding.weight", "bert.embeddings.word_embeddings.weight", AS_IS, 0, 0 },
    { "position.weight", "bert.embeddings.position_embeddings.weight", AS_IS, 0, 0 },
    { "segment.weight", "bert.embeddings.token_type_embeddings.weight", AS_IS, 0, 0 },
    BOTH("embedding_norm", "bert.embeddings.LayerNorm", AS_IS, 0),
    BOTH("attention_norm", "bert.encoder.layer.%d.attention.output.LayerNorm", AS_IS, 0),
    BOTH("ffn_norm", "bert.encoder.layer.%d.output.LayerNorm", AS_IS, 0),
    BOTH("attention.query", "bert.encoder.layer.%d.attention.self.query", AS_IS, 0),
    BOTH("attention.key", "bert.encoder.layer.%d.attention.self.key", AS_IS, 0),
    BOTH("attention.value", "bert.encoder.layer.%d.attention.self.value", AS_IS, 0),
    BOTH("attention.output", "bert.encoder.layer.%d.attention.output.dense", AS_IS, 0),
    BOTH("ffn.in", "bert.encoder.layer.%d.intermediate.dense", AS_IS, 0),
    BOTH("ffn.out", "bert.encoder.layer.%d.output.dense", AS_IS, 0),
    { NULL, NULL, AS_IS, 0, 0 }
};

/* The presets of --preset, option by option, with what a family changes. */
#define GPT2 "model.bias=true "
#define ROOT_MEAN_SQUARE                                                                           \
    "model.norm_kind=rms model.ffn_gate=true model.position=rotary model.context=64 "
#define SWIGLU "model.activation=silu "

static const struct family families[] = {
    { "gpt2", GPT2 "model.width=40 model.layers=2", 0, false, gpt2 },
    { "gpt_neo", GPT2 "model.width=40 model.layers=2 model.attention=softmax;local(window=4)", 0,
      false, gpt_neo },
    { "gpt_neox",
      GPT2 "model.width=48 model.heads=3 model.layers=2 model.ffn=88 model.position=rotary "
           "model.rotary_share=0.25 model.activation=gelu-exact model.tie_output=false",
      0, false, gpt_neox },
    { "opt", GPT2 "model.width=40 model.layers=2 model.ffn=96 model.activation=relu", 0, false,
      opt },
    { "llama",
      ROOT_MEAN_SQUARE SWIGLU "model.width=40 model.layers=3 model.ffn=72 model.tie_output=false "
                              "model.rotary_base=500000",
      2, false, llama },
    { "llama-bf16",
      ROOT_MEAN_SQUARE SWIGLU "model.width=48 model.layers=2 model.ffn=80 model.tie_output=false "
                              "model.norm_epsilon=1e-6",
      4, false, llama },
    { "mistral",
      ROOT_MEAN_SQUARE SWIGLU "model.width=40 model.layers=2 model.ffn=88 model.tie_output=false "
                              "model.norm_epsilon=1e-6 model.attention=local(window=4)",
      2, false, llama },
    { "qwen2",
      ROOT_MEAN_SQUARE SWIGLU "model.width=40 model.layers=2 model.ffn=96 model.bias=qkv "
                              "model.norm_epsilon=1e-6 model.rotary_base=1e6",
      2, false, llama },
    { "gemma2",
      ROOT_MEAN_SQUARE "model.width=36 model.layers=2 model.ffn=72 model.head_width=12 "
                       "model.norm=both model.norm_epsilon=1e-6 model.scale_embedding=true "
                       "model.logit_cap=5 model.output_cap=8 "
                       "model.attention=local(window=4);softmax",
      2, false, gemma2 },
    { "bert-mlm",
      GPT2 "model.width=40 model.layers=2 model.ffn=80 model.context=40 model.norm=post "
           "model.norm_epsilon=1e-12 model.embedding_norm=true model.activation=gelu-exact",
      0, true, bert },
};
enum { FAMILIES = sizeof families / sizeof *families, MOST = 64 };

struct opened {
    oa_context *c;
    const struct family *f;
    struct oa_tensors *file;
    struct oa_device *device;
    struct oa_options options;
    struct oa_model *model;
    oa_tape tape;
    long rows, length;
    int32_t ids[MOST], types[MOST], lengths[8];
};

static void assert_ok(const struct opened *o)
{
    const char *sentence;
    if (oa_last_error(o->c, &sentence) != OA_OK)
        fail_msg("%s: %s", o->f->name, sentence);
}

/* ---- tensors ---- */

static const struct mapping *mapping_of(const struct family *f, const char *name)
{
    const struct mapping *found = NULL;
    size_t longest = 0;
    for (const struct mapping *m = f->map; m->ours; m++) {
        size_t n = strlen(m->ours), all = strlen(name);
        bool ends = n <= all && strcmp(name + all - n, m->ours) == 0 &&
                    (n == all || name[all - n - 1] == '.');
        if (ends && n > longest) {
            found = m;
            longest = n;
        }
    }
    return found;
}

static const struct oa_array *their_tensor(const struct opened *o, const struct mapping *m,
                                           const char *name)
{
    char theirs[200];
    const char *layer = strstr(name, "layers.");
    snprintf(theirs, sizeof theirs, "%s", m->theirs);
    char *number = strstr(theirs, "%d");
    if (number) {
        char rest[200];
        snprintf(rest, sizeof rest, "%s", number + 2);
        snprintf(number, sizeof theirs - (size_t)(number - theirs), "%c%s", layer[7], rest);
    }
    return oa_tensors_find(o->file, theirs);
}

static double their_value(const struct opened *o, const struct mapping *m, const struct oa_array *a,
                          const struct oa_parameter *p, long i)
{
    long cols = p->dims == 1 ? 1 : p->dim[1], rows = p->dim[0], r = i / cols, c = i % cols;
    long heads = o->options.model_heads, width = rows / heads;
    if (m->how == ZERO)
        return 0;
    if (m->how == TURNED && p->dims == 2)
        return oa_array_value(a, (size_t)(c * rows + r));
    if (m->how == PART)
        return oa_array_value(a, (size_t)(c * 3 * rows + m->part * rows + r));
    if (m->how == PART_HEAD)
        r = r / width * 3 * width + m->part * width + r % width;
    if (m->how == SHARED)
        r = r / width * o->f->kept_heads / heads * width + r % width;
    if (m->how == LATER)
        r += m->part;
    double value = oa_array_value(a, (size_t)(r * cols + c));
    return (m->how == PLUS_ONE) + value * (m->factor > 0 ? m->factor : 1);
}

static void take_tensors(struct opened *o)
{
    for (int i = 0; i < o->model->store.count; i++) {
        const struct oa_parameter *p = o->model->store.parameter[i];
        if (!p->trainable)
            continue;
        const struct mapping *m = mapping_of(o->f, p->name);
        const struct oa_array *a = m ? their_tensor(o, m, p->name) : NULL;
        if (!m || (!a && m->how != ZERO))
            fail_msg("%s: nothing is mapped to %s", o->f->name, p->name);
        for (long k = 0; k < p->count; k++)
            oa_real_write(o->device, p->value, k, their_value(o, m, a, p, k));
    }
    oa_store_refresh_all(&o->model->store);
}

/* ---- opening ---- */

static void set_options(struct opened *o)
{
    const char *text = o->f->options;
    char key[64], value[64];
    int read;
    oa_options_default(&o->options);
    for (; sscanf(text, " %63[^=]=%63[^ ]%n", key, value, &read) == 2; text += read)
        oa_options_set(o->c, &o->options, key, value);
    assert_ok(o);
}

static void read_numbers(const struct opened *o, const char *name, int32_t *out)
{
    const struct oa_array *a = oa_tensors_find(o->file, name);
    for (size_t i = 0; a && i < a->bytes / sizeof *out; i++)
        out[i] = (int32_t)oa_array_value(a, i);
}

static void open_family(struct opened *o, const struct family *f, enum oa_precision p)
{
    char path[300];
    memset(o, 0, sizeof *o);
    o->f = f;
    o->c = oa_open(&(struct oa_settings){ .threads = 1 });
    snprintf(path, sizeof path, SOURCE_DIR "/tests/golden-hf/%s.safetensors", f->name);
    oa_tensors_open(o->c, path, &o->file);
    assert_ok(o);
    set_options(o);
    const struct oa_array *ids = oa_tensors_find(o->file, "input_ids");
    o->rows = ids->dim[0];
    o->length = ids->dim[1];
    assert_true(o->rows * o->length <= MOST);
    read_numbers(o, "input_ids", o->ids);
    read_numbers(o, "token_type_ids", o->types);
    read_numbers(o, "lengths", o->lengths);
    struct oa_model_form form = oa_language_model_form(1);
    struct oa_device *d;
    for (const struct mapping *m = f->map; m->ours; m++)
        if (strcmp(m->ours, "embedding.weight") == 0)
            form.vocabulary = oa_tensors_find(o->file, m->theirs)->dim[0];
    form.encoder = form.segments = f->encoder;
    form.decoder = !f->encoder;
    oa_device_open(o->c, p, false, &o->device);
    d = o->device;
    oa_model_open(d, &o->options, &form, false, &o->model);
    assert_ok(o);
    oa_tape_init(&o->tape, d);
    take_tensors(o);
}

static void close_family(struct opened *o)
{
    oa_tape_free(&o->tape);
    oa_model_close(o->model);
    oa_device_close(o->device);
    oa_tensors_close(o->file);
    oa_close(o->c);
}

/* ---- comparing ---- */

/* Rows of the real positions, one after the other: the norm of the difference by that of the
 * expected rows. */
struct distance {
    double difference, size;
};

static void add_distance(struct distance *d, double got, double want)
{
    d->difference += (got - want) * (got - want);
    d->size += want * want;
}

static void assert_close(const struct opened *o, const struct distance *d, double tolerance,
                         const char *what)
{
    double relative = sqrt(d->difference / d->size);
    if (!(d->size > 0 && relative <= tolerance))
        fail_msg("%s, %s: differs by %.3g, allowed is %.3g", o->f->name, what, relative, tolerance);
}

static void whole_sequences_match(struct opened *o, double tolerance)
{
    const struct oa_array *logits = oa_tensors_find(o->file, "expect.logits"),
                          *want = logits ? logits
                                         : oa_tensors_find(o->file, "expect.last_hidden_state");
    struct oa_sequences in = { .rows = o->rows,
                               .length = o->length,
                               .ids = o->ids,
                               .lengths = o->lengths,
                               .segments = o->f->encoder ? o->types : NULL };
    struct distance d = { 0, 0 };
    oa_tape_reset(&o->tape, false, false, oa_stream_named(1, "test"));
    oa_tensor *hidden = oa_model_hidden(&o->tape, o->model, &in, NULL, NULL);
    const void *rows =
        logits && hidden ? oa_model_logits(&o->tape, o->model, hidden, 0, hidden->rows) : NULL;
    assert_ok(o);
    for (long i = 0; i < o->rows * o->length * want->dim[2]; i++) {
        long position = i / want->dim[2];
        double got = 0;
        if (logits)
            got = oa_real_get(o->device, rows, i);
        else
            oa_acts_read(o->device, 1, oa_act_at(o->device, hidden->data, i), &got);
        if (position % o->length < o->lengths[position / o->length])
            add_distance(&d, got, oa_array_value(want, (size_t)i));
    }
    assert_close(o, &d, tolerance, "whole sequences");
}

/* Logits of steps are floats. */
static void steps_match(struct opened *o)
{
    const struct oa_array *want = oa_tensors_find(o->file, "expect.logits");
    struct distance d = { 0, 0 };
    float *logits = oa_alloc(o->c, (size_t)o->model->vocabulary * sizeof *logits);
    for (long b = 0; b < o->rows; b++) {
        struct oa_decoding r;
        oa_decoding_open(o->model, &r);
        for (long t = 0; t < o->lengths[b]; t++) {
            long at = b * o->length + t;
            oa_decoding_read(&r, o->ids + at, 1, logits);
            assert_ok(o);
            for (long v = 0; v < want->dim[2]; v++)
                add_distance(&d, (double)logits[v],
                             oa_array_value(want, (size_t)(at * want->dim[2] + v)));
        }
        oa_decoding_close(&r);
    }
    oa_free(logits);
    assert_close(o, &d, 1e-6, "token by token");
}

static void logits_are_those_of_the_program(void **state)
{
    (void)state;
    for (int i = 0; i < FAMILIES; i++) {
        struct opened o;
        open_family(&o, &families[i], OA_PRECISION_F64);
        whole_sequences_match(&o, 1e-9);
        if (!families[i].encoder)
            steps_match(&o);
        close_family(&o);
        open_family(&o, &families[i], OA_PRECISION_F32);
        whole_sequences_match(&o, 1e-4);
        close_family(&o);
    }
}

/* ---- rotary angles ---- */

/* What transformers 5.24.0, modeling_rope_utils.py, makes of the same parameters, computed in
 * float64: radians a token, and the factor of sine and cosine. NTK: its dynamic kind at four times
 * the context. */
static const struct scaling {
    const char *options;
    double amplitude, frequency[8]; /* up to the first 0 */
} scalings[] = {
    { "model.rotary_scaling=linear model.rotary_factor=4",
      1,
      { 0.25, 0.07905694150420949, 0.025, 0.007905694150420948, 0.0025, 0.000790569415042095,
        0.00025, 7.905694150420948e-05 } },
    { "model.rotary_scaling=ntk model.rotary_factor=4",
      1,
      { 1.0, 0.2594128170149228, 0.06729500963161782, 0.017457188019584336, 0.004528618321319533,
        0.0011747816359188909, 0.00030475341355111886, 7.905694150420948e-05 } },
    { "model.rotary_scaling=yarn model.rotary_factor=4 model.rotary_context=2048",
      1.138629436111989,
      { 1.0, 0.31622776601683794, 0.1, 0.02569350598886808, 0.00625, 0.0013834964763236662, 0.00025,
        7.905694150420948e-05 } },
    { "model.rotary_base=500000 model.rotary_scaling=yarn model.rotary_factor=8 "
      "model.rotary_context=512 model.rotary_fast=16 model.rotary_slow=2 "
      "model.rotary_amplitude=1.25",
      1.25,
      { 1.0, 0.13736194419698577, 0.015669179554526638, 0.0009115830921521386,
        0.00017677669529663688, 3.428102195952591e-05, 6.647869871181236e-06,
        1.2891731721515574e-06 } },
    { "model.rotary_base=500000 model.rotary_scaling=llama3 model.rotary_factor=8 "
      "model.rotary_context=8192",
      1,
      { 1.0, 0.19392274474868576, 0.03760603093086393, 0.0072926647372171085, 0.0005248461609929547,
        3.428102195952591e-05, 6.647869871181236e-06, 1.2891731721515574e-06 } },
    { "model.rotary_share=0.5 model.rotary_scaling=llama3 model.rotary_factor=32 "
      "model.rotary_context=1024 model.rotary_slow=2 model.rotary_fast=8",
      1,
      { 1.0, 0.1, 0.0003125, 3.125e-05 } },
};

static void check_scaling(const struct scaling *s)
{
    struct family f = { .name = s->options, .options = s->options };
    struct opened o = { .f = &f };
    struct oa_model_form form = oa_language_model_form(7);
    o.c = oa_open(&(struct oa_settings){ .threads = 1 });
    set_options(&o);
    o.options.model_position = OA_POSITION_ROTARY;
    o.options.model_width = 64;
    o.options.model_layers = 1;
    oa_device_open(o.c, OA_PRECISION_F64, false, &o.device);
    oa_model_open(o.device, &o.options, &form, false, &o.model);
    assert_ok(&o);
    const struct oa_parameter *cosine = o.model->positions.cosine, *sine = o.model->positions.sine;
    long pairs = 0;
    while (pairs < 8 && s->frequency[pairs] > 0)
        pairs++;
    assert_int_equal(cosine->dim[1], pairs);
    for (long i = 0; i < pairs * 60; i++) {
        double angle = (double)(i / pairs) * s->frequency[i % pairs],
               x = oa_real_read(o.device, cosine->value, i),
               y = oa_real_read(o.device, sine->value, i);
        if (!(fabs(x - s->amplitude * cos(angle)) < 1e-12 &&
              fabs(y - s->amplitude * sin(angle)) < 1e-12))
            fail_msg("%s: position %ld, pair %ld: (%.17g, %.17g)", s->options, i / pairs, i % pairs,
                     x, y);
    }
    oa_model_close(o.model);
    oa_device_close(o.device);
    oa_close(o.c);
}

static void rotary_scalings_are_those_of_transformers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scalings / sizeof *scalings; i++)
        check_scaling(&scalings[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_those_of_the_program),
        cmocka_unit_test(rotary_scalings_are_those_of_transformers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
