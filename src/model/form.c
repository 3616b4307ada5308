/* SPDX-License-Identifier: Apache-2.0
 * Forms of models: stacks and output, their names in files, and the options that apply to them. */
#include "model/model.h"

#include <math.h>
#include <string.h>

static const char *const output_name[] = { "tokens", "classes", "number", "states" };
enum { OUTPUTS = sizeof output_name / sizeof *output_name };

struct oa_model_form oa_language_model_form(long vocabulary)
{
    return (struct oa_model_form){ .decoder = true,
                                   .output = OA_OUTPUT_TOKENS,
                                   .vocabulary = vocabulary };
}

bool oa_is_language_model(const struct oa_model_form *f)
{
    return f->decoder && !f->encoder && f->output == OA_OUTPUT_TOKENS;
}

const char *oa_architecture_name(const struct oa_model_form *f)
{
    return !f->encoder ? "decoder" : f->decoder ? "encoder-decoder" : "encoder";
}

const char *oa_output_name(enum oa_model_output output)
{
    return output_name[output];
}

unsigned oa_form_stacks(const struct oa_model_form *f)
{
    unsigned encoder = f->encoder ? OA_STACK(OA_STACK_ENCODER) : 0,
             decoder = f->decoder ? OA_STACK(OA_STACK_DECODER) : 0;
    return encoder | decoder | (encoder && decoder ? OA_STACK(OA_STACK_CROSS) : 0);
}

bool oa_architecture_parse(const char *name, struct oa_model_form *out)
{
    bool both = strcmp(name, "encoder-decoder") == 0;
    out->encoder = both || strcmp(name, "encoder") == 0;
    out->decoder = both || strcmp(name, "decoder") == 0;
    return out->encoder || out->decoder;
}

bool oa_output_parse(const char *name, enum oa_model_output *out)
{
    for (int i = 0; i < OUTPUTS; i++)
        if (strcmp(name, output_name[i]) == 0) {
            *out = (enum oa_model_output)i;
            return true;
        }
    return false;
}

double oa_embedding_deviation(const struct oa_options *o)
{
    return o->model_scale_embedding ? 1 / sqrt((double)o->model_width) : OA_EMBEDDING_DEVIATION;
}

double oa_embedding_factor(const struct oa_options *o)
{
    double root = o->model_scale_embedding ? sqrt((double)o->model_width) : 1;
    return o->model_embedding_scale * root;
}

struct oa_image oa_form_image(const struct oa_model_form *f)
{
    struct oa_image i = { f->channels, f->image_height, f->image_width, 0 };
    if (!f->channels)
        i = (struct oa_image){ 1, OA_PICTURE_SIDE, OA_PICTURE_SIDE, 0 };
    while (i.channels * (i.side + 1) * (i.side + 1) <= f->patch)
        i.side++;
    return i;
}

/* ---- incompatible options ---- */

static enum oa_error form_check_image(oa_context *c, const struct oa_model_form *f,
                                      const struct oa_options *o)
{
    const struct oa_image i = oa_form_image(f);
    if (!f->channels)
        return OA_OK;
    bool whole = i.side && i.channels * i.side * i.side == f->patch && i.height % i.side == 0 &&
                 i.width % i.side == 0;
    if (!whole || i.height < 1 || i.width < 1)
        return oa_fail(c, OA_SHAPE,
                       "images of %ld x %ld pixels of %ld channels have no patches of %ld numbers",
                       i.height, i.width, i.channels, f->patch);
    long patches = (i.height / i.side) * (i.width / i.side);
    if (patches >= o->model_context)
        return oa_fail(c, OA_SHAPE,
                       "images of %ld patches and a token for the class need a model.context of "
                       "more than %ld",
                       patches, o->model_context);
    return OA_OK;
}

static enum oa_error form_check_stacks(oa_context *c, const struct oa_model_form *f)
{
    bool both = f->encoder && f->decoder;
    if (!f->encoder && !f->decoder)
        return oa_fail(c, OA_INTERNAL, "a model needs an encoder, a decoder or both");
    if (both && (f->output != OA_OUTPUT_TOKENS || f->segments))
        return oa_fail(c, OA_UNSUPPORTED,
                       "an encoder-decoder outputs tokens and has no segments: use one stack for "
                       "classes, numbers and text pairs");
    if (f->patch && (f->decoder || f->output == OA_OUTPUT_TOKENS))
        return oa_fail(c, OA_UNSUPPORTED,
                       "image patches need an encoder with classes or a number as output");
    if (f->output == OA_OUTPUT_STATES && f->decoder)
        return oa_fail(c, OA_UNSUPPORTED, "a decoder needs an output layer");
    if (f->output == OA_OUTPUT_CLASSES && f->classes < 2)
        return oa_fail(c, OA_SHAPE, "a classifier needs at least 2 classes, not %ld", f->classes);
    return OA_OK;
}

static enum oa_error form_refuse_option(oa_context *c, const struct oa_model_form *f,
                                        const char *option, const char *value, const char *only)
{
    return oa_fail(
        c, OA_ARGUMENT,
        "%s = %s applies to %s only; this model is of architecture %s with output %s: remove it",
        option, value, only, oa_architecture_name(f), oa_output_name(f->output));
}

static enum oa_error form_refuse_number(oa_context *c, const struct oa_model_form *f,
                                        const char *option, double value, const char *only)
{
    return form_refuse_option(c, f, option, oa_real_text(value).s, only);
}

static enum oa_error form_check_source(oa_context *c, const struct oa_model_form *f,
                                       const struct oa_options *o)
{
    static const char both[] = "an encoder-decoder";
    const struct {
        const char *option;
        long value;
    } number[] = { { "model.encoder_layers", o->model_encoder_layers },
                   { "model.encoder_heads", o->model_encoder_heads },
                   { "model.encoder_ffn", o->model_encoder_ffn },
                   { "model.source_context", o->model_source_context } };
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (number[i].value)
            return form_refuse_number(c, f, number[i].option, (double)number[i].value, both);
    if (strcmp(o->model_begin_token, "<s>") != 0)
        return form_refuse_option(c, f, "model.begin_token", o->model_begin_token, both);
    if (strcmp(o->model_end_token, "</s>") != 0)
        return form_refuse_option(c, f, "model.end_token", o->model_end_token, both);
    if (!o->model_share_embeddings)
        return form_refuse_option(c, f, "model.share_embeddings", "false", both);
    if (o->model_encoder_rotary_base > 0)
        return form_refuse_number(c, f, "model.encoder_rotary_base", o->model_encoder_rotary_base,
                                  both);
    return OA_OK;
}

static enum oa_error form_check_pool(oa_context *c, const struct oa_model_form *f,
                                     const struct oa_options *o)
{
    bool first = o->model_pool == OA_POOL_CLS;
    if (f->output == OA_OUTPUT_TOKENS && !first)
        return form_refuse_option(c, f, "model.pool",
                                  oa_option_word("model.pool", (int)o->model_pool).s,
                                  "classes and numbers");
    if (f->output != OA_OUTPUT_TOKENS && f->decoder && first)
        return oa_fail(c, OA_ARGUMENT,
                       "model.pool = cls: in a decoder the first token attends to itself only; use "
                       "last or mean");
    return OA_OK;
}

/* Options that only an encoder without a decoder has. */
static enum oa_error form_check_encoder(oa_context *c, const struct oa_model_form *f,
                                        const struct oa_options *o)
{
    static const char encoders[] = "encoders";
    bool encoder = f->encoder && !f->decoder;
    if (!encoder && o->model_head != OA_HEAD_NONE)
        return form_refuse_option(c, f, "model.head",
                                  oa_option_word("model.head", (int)o->model_head).s, encoders);
    if (!encoder && o->model_segments)
        return form_refuse_number(c, f, "model.segments", (double)o->model_segments, encoders);
    if (f->segments && o->model_segments == 1)
        return oa_fail(c, OA_ARGUMENT,
                       "model.segments = 1: pairs of texts need 2, or 0, which means 2 for pairs");
    if (o->model_head_norm && o->model_head == OA_HEAD_NONE)
        return oa_fail(c, OA_ARGUMENT,
                       "model.head_norm = true has no effect without model.head: choose its "
                       "activation, or remove it");
    return OA_OK;
}

static enum oa_error form_check_norms(oa_context *c, const struct oa_model_form *f,
                                      const struct oa_options *o)
{
    if (o->model_parallel && f->encoder && f->decoder)
        return form_refuse_option(c, f, "model.parallel", "true", "models of one stack");
    bool reads = o->model_norm == OA_NORM_PRE || o->model_norm == OA_NORM_BOTH;
    if (!o->model_first_norm && !reads)
        return oa_fail(c, OA_ARGUMENT,
                       "model.first_norm = false has no effect with model.norm = %s: there is no "
                       "norm before a sublayer",
                       oa_option_word("model.norm", (int)o->model_norm).s);
    if (o->model_parallel && o->model_norm == OA_NORM_POST)
        return oa_fail(
            c, OA_ARGUMENT,
            "model.parallel = true with model.norm = post: each sum would have a norm of "
            "its own; use pre, both or branch");
    return OA_OK;
}

long oa_ffn_width(const struct oa_options *o)
{
    if (o->model_ffn)
        return o->model_ffn;
    return o->model_ffn_gate ? oa_round_up(oa_blocks(8 * o->model_width, 3), 16)
                             : 4 * o->model_width;
}

long oa_head_width(const struct oa_options *o)
{
    return o->model_head_width ? o->model_head_width : o->model_width / o->model_heads;
}

enum oa_error oa_check_heads(oa_context *c, const struct oa_options *o)
{
    long encoder = o->model_encoder_heads ? o->model_encoder_heads : o->model_heads;
    if (o->model_head_width)
        return OA_OK;
    if (o->model_width % o->model_heads)
        return oa_fail(c, OA_ARGUMENT, "model.heads = %ld does not divide model.width = %ld",
                       o->model_heads, o->model_width);
    if (o->model_width % encoder)
        return oa_fail(c, OA_ARGUMENT,
                       "model.encoder_heads = %ld does not divide model.width = %ld", encoder,
                       o->model_width);
    if (encoder != o->model_heads && o->model_position == OA_POSITION_ROTARY)
        return oa_fail(c, OA_ARGUMENT,
                       "model.encoder_heads = %ld with rotary positions needs model.head_width, "
                       "since all heads turn by the same angles",
                       encoder);
    return OA_OK;
}

enum oa_error oa_check_form(oa_context *c, const struct oa_model_form *f,
                            const struct oa_options *o)
{
    OA_TRY(form_check_stacks(c, f));
    OA_TRY(form_check_image(c, f, o));
    OA_TRY(form_check_pool(c, f, o));
    OA_TRY(form_check_encoder(c, f, o));
    OA_TRY(form_check_norms(c, f, o));
    if (f->output != OA_OUTPUT_TOKENS && o->model_scale_output)
        return form_refuse_option(c, f, "model.scale_output", "true", "models of tokens");
    if (f->output == OA_OUTPUT_NUMBER && o->train_label_smoothing > 0)
        return form_refuse_number(c, f, "train.label_smoothing", o->train_label_smoothing,
                                  "classes and tokens");
    return f->encoder && f->decoder ? OA_OK : form_check_source(c, f, o);
}
