/* SPDX-License-Identifier: Apache-2.0
 * Parts of blocks that no imported family shows: BERT's encoder against transformers in float64
 * (tests/golden-hf/bert-mlm.safetensors, whose output layer this program has not), and scaled
 * rotary angles. */
#include "base/safetensors.h"
#include "testing.h"

#include "model/model.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 64 };

struct opened {
    oa_context *c;
    struct oa_device *device;
    struct oa_options options;
    struct oa_model *model;
    oa_tape tape;
};

static void assert_fine(const struct opened *o)
{
    const char *sentence;
    if (oa_last_error(o->c, &sentence) != OA_OK)
        fail_msg("%s", sentence);
}

/* options: key=value, separated by blanks */
static void open_model(struct opened *o, const char *options, const struct oa_model_form *form,
                       enum oa_precision p)
{
    char key[64], value[64];
    int read;
    *o = (struct opened){ .c = oa_open(&(struct oa_settings){ .threads = 1 }) };
    oa_options_default(&o->options);
    for (; sscanf(options, " %63[^=]=%63[^ ]%n", key, value, &read) == 2; options += read)
        oa_options_set(o->c, &o->options, key, value);
    oa_device_open(o->c, p, false, &o->device);
    oa_model_open(o->device, &o->options, form, false, &o->model);
    assert_fine(o);
    oa_tape_init(&o->tape, o->device);
}

static void close_model(struct opened *o)
{
    oa_tape_free(&o->tape);
    oa_model_close(o->model);
    oa_device_close(o->device);
    oa_close(o->c);
}

/* ---- BERT ---- */

static const struct {
    const char *ours, *theirs;
} names[] = { { "embedding.", "bert.embeddings.word_embeddings." },
              { "position.", "bert.embeddings.position_embeddings." },
              { "segment.", "bert.embeddings.token_type_embeddings." },
              { "encoder.embedding_norm.", "bert.embeddings.LayerNorm." },
              { "attention_norm.", "attention.output.LayerNorm." },
              { "ffn_norm.", "output.LayerNorm." },
              { "attention.query.", "attention.self.query." },
              { "attention.key.", "attention.self.key." },
              { "attention.value.", "attention.self.value." },
              { "attention.output.", "attention.output.dense." },
              { "ffn.in.", "intermediate.dense." },
              { "ffn.out.", "output.dense." } };

/* "encoder.layers.0.ffn.in.weight" is "bert.encoder.layer.0.intermediate.dense.weight". */
static void name_of_bert(const char *ours, char out[200])
{
    bool layer = strncmp(ours, "encoder.layers.", 15) == 0;
    const char *rest = layer ? ours + 17 : ours;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(rest, names[i].ours, strlen(names[i].ours)) == 0) {
            snprintf(out, 200, "%s%.2s%s%s", layer ? "bert.encoder.layer." : "",
                     layer ? ours + 15 : "", names[i].theirs, rest + strlen(names[i].ours));
            return;
        }
    fail_msg("no name for %s", ours);
}

static void take_values(struct opened *o, const struct oa_tensors *file)
{
    for (int i = 0; i < o->model->store.count; i++) {
        const struct oa_parameter *p = o->model->store.parameter[i];
        char name[200];
        name_of_bert(p->name, name);
        const struct oa_array *a = oa_tensors_find(file, name);
        if (!a)
            fail_msg("no tensor %s for %s", name, p->name);
        for (long k = 0; k < p->count; k++)
            oa_real_write(o->device, p->value, k, oa_array_value(a, (size_t)k));
    }
    oa_store_refresh_all(&o->model->store);
}

static void read_integers(const struct oa_tensors *file, const char *name, int32_t *out)
{
    const struct oa_array *a = oa_tensors_find(file, name);
    for (size_t i = 0; i < a->bytes / sizeof *out; i++)
        out[i] = (int32_t)oa_array_value(a, i);
}

static void check_bert(enum oa_precision p, double tolerance)
{
    static const char options[] =
        "model.bias=true model.width=40 model.layers=2 model.ffn=80 model.context=40 "
        "model.norm=post model.norm_epsilon=1e-12 model.embedding_norm=true "
        "model.activation=gelu-exact";
    struct opened o;
    struct oa_tensors *file;
    int32_t ids[MOST], types[MOST], lengths[8];
    double difference = 0, size = 0;
    oa_context *c = oa_open(NULL);
    assert_int_equal(oa_tensors_open(c, SOURCE_DIR "/tests/golden-hf/bert-mlm.safetensors", &file),
                     OA_OK);
    long vocabulary = oa_tensors_find(file, "bert.embeddings.word_embeddings.weight")->dim[0];
    open_model(
        &o, options,
        &(struct oa_model_form){ .encoder = true, .segments = true, .vocabulary = vocabulary }, p);
    take_values(&o, file);
    const struct oa_array *want = oa_tensors_find(file, "expect.last_hidden_state");
    assert_true(want->dim[0] * want->dim[1] <= MOST);
    read_integers(file, "input_ids", ids);
    read_integers(file, "token_type_ids", types);
    read_integers(file, "lengths", lengths);
    struct oa_sequences in = { .rows = want->dim[0],
                               .length = want->dim[1],
                               .ids = ids,
                               .lengths = lengths,
                               .segments = types };
    oa_tape_reset(&o.tape, false, false, oa_stream_named(1, "test"));
    const oa_tensor *hidden = oa_model_hidden(&o.tape, o.model, &in, NULL, NULL);
    assert_fine(&o);
    for (long i = 0; i < in.rows * in.length * want->dim[2]; i++) {
        long position = i / want->dim[2];
        double got, right = oa_array_value(want, (size_t)i);
        oa_acts_read(o.device, 1, oa_act_at(o.device, hidden->data, i), &got);
        if (position % in.length >= lengths[position / in.length])
            continue;
        difference += (got - right) * (got - right);
        size += right * right;
    }
    if (!(sqrt(difference / size) <= tolerance))
        fail_msg("differs by %.3g", sqrt(difference / size));
    close_model(&o);
    oa_tensors_close(file);
    oa_close(c);
}

static void hidden_states_of_bert(void **state)
{
    (void)state;
    check_bert(OA_PRECISION_F64, 1e-12);
    check_bert(OA_PRECISION_F32, 1e-5);
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
    /* the same, of a model whose context is four times that one */
    { "model.rotary_scaling=yarn model.rotary_factor=4 model.context=8192",
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
    char options[400];
    struct opened o;
    struct oa_model_form form = oa_language_model_form(7);
    snprintf(options, sizeof options, "model.position=rotary model.width=64 model.layers=1 %s",
             s->options);
    open_model(&o, options, &form, OA_PRECISION_F64);
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
    close_model(&o);
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
        cmocka_unit_test(hidden_states_of_bert),
        cmocka_unit_test(rotary_scalings_are_those_of_transformers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
