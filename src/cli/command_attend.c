/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run(struct call *call)
{
    long heads = 0, seed = 1;
    const char *in = flag_value(call, "in"), *out = flag_value(call, "out");
    if (!want_words(call, 1, 1, "one attention"))
        return OA_ARGUMENT;
    if (!in || !out)
        return wrong_use(call, "attend reads a file and writes one; give --in FILE and --out FILE");
    if (!flag_number(call, "heads", 0, 65536, &heads) ||
        !flag_number(call, "seed", 0, 9007199254740991, &seed))
        return OA_ARGUMENT;
    struct oa_attend_options o = { .spec = call->word[0],
                                   .in = in,
                                   .out = out,
                                   .heads = (int)heads,
                                   .causal = flag_given(call, "causal"),
                                   .precision = flag_value(call, "precision"),
                                   .seed = (uint64_t)seed,
                                   .weights = flag_given(call, "weights"),
                                   .steps = flag_given(call, "steps") };
    return oa_attend(call->context, &o);
}

static const struct flag flags[] = {
    { .name = "in",
      .argument = "FILE",
      .help = "safetensors: x, and if wanted memory, lengths, word_ids, dy, parameters" },
    { .name = "out",
      .argument = "FILE",
      .help = "safetensors to write: y, and with dy the gradients" },
    { .name = "heads",
      .argument = "N",
      .fallback = "0",
      .help = "heads of the layer; 0 = the metadata key \"heads\" of the file" },
    { .name = "causal", .help = "no token sees a later one" },
    { .name = "precision",
      .argument = "NAME",
      .fallback = "f32",
      .help = "f32, bf16 or f64",
      .words = "f32|bf16|f64" },
    { .name = "seed",
      .argument = "N",
      .fallback = "1",
      .help = "first values of parameters that the file lacks" },
    { .name = "weights",
      .help = "also write the attention map of every head, computed plainly in double" },
    { .name = "steps",
      .help = "y by decoding, one token at a time; with --causal, or as cross-attention" },
    { .name = NULL },
};

const struct command command_attend = {
    .name = "attend",
    .sentence = "runs one attention layer on tensors from a file",
    .usage =
        "SPEC --in FILE --out FILE [--heads N] [--causal] [--precision NAME] [--weights] [--steps]",
    .text = "The way to check this library against any other, tensor by tensor. The file holds x "
            "[B, n, d]; memory "
            "[B, m, d] makes it cross-attention, lengths [B] says how many keys are real, dy [B, "
            "n, d] asks for the "
            "backward pass. Parameters have the names they have in saved models, frozen ones too; "
            "those that are missing "
            "get first values as in training. The result holds y, and with dy grad.x, grad.memory "
            "and grad.NAME for every "
            "trainable "
            "parameter. With --steps y comes by the path that generates text, one token after the "
            "other, each from the "
            "state that the ones before left; it must be the same y. The gradients are those of "
            "whole sequences.",
    .examples = "$ orthant attend \"random + softmax\" --in in.safetensors --out out.safetensors "
                "--heads 4 --causal",
    .flags = flags,
    .see = "explain list",
    .run = run,
};
