/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run_forward(struct call *call)
{
    struct oa_forward_request r = { .in = flag_value(call, "in"),
                                    .out = flag_value(call, "out"),
                                    .precision = flag_value(call, "precision") };
    if (!want_words(call, 1, 1, "the folder of a run"))
        return OA_ARGUMENT;
    if (!r.in || !r.out)
        return wrong_use(call, "forward needs --in FILE and --out FILE");
    return oa_forward(call->context, call->word[0], &r);
}

static const struct flag flags[] = {
    { "in", "FILE",
      .help = "safetensors file with input_ids; where the model reads them, also lengths, "
              "token_type_ids, decoder_input_ids, decoder_lengths" },
    { "out", "FILE", .help = "safetensors file to write: logits and hidden states" },
    { "precision", "NAME", .help = "arithmetic: f32, bf16 or f64", .fallback = "f32",
      .words = "f32|bf16|f64" },
    { .name = NULL },
};

const struct command command_forward = {
    .name = "forward",
    .sentence = "runs a trained model on tensors from a file",
    .usage = "RUN --in FILE --out FILE [--precision NAME]",
    .text =
        "Compares a whole model with any other, tensor by tensor. The input file contains "
        "input_ids [B, T] (I32 or I64), and optionally lengths [B], the true lengths of the rows "
        "(default: no padding), token_type_ids [B, T] for pairs of texts, and for an "
        "encoder-decoder decoder_input_ids [B, U] and decoder_lengths [B]. Tensors whose names "
        "begin with \"expect.\", and attention masks, are ignored.\n"
        "The output file contains logits [B, T, vocabulary] (of an encoder-decoder [B, U, "
        "vocabulary], of a classifier [B, classes]), last_hidden_state, the input of the output "
        "layer, and encoder_last_hidden_state if there is an encoder. Rows beyond a length are 0.",
    .examples =
        "$ orthant forward runs/a --in in.safetensors --out out.safetensors\n"
        "$ orthant forward runs/a --in in.safetensors --out out.safetensors --precision f64",
    .flags = flags,
    .see = "attend eval",
    .run = run_forward,
};
