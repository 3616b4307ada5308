/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run_attend(struct call *call)
{
    long heads = 0, seed = 1;
    const char *in = flag_value(call, "in"), *out = flag_value(call, "out");
    if (!want_words(call, 1, 1, "one attention"))
        return OA_ARGUMENT;
    if (!in || !out)
        return wrong_use(call, "attend needs --in FILE and --out FILE");
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
    { "in", "FILE",
      .help = "safetensors file with x; optionally memory, lengths, word_ids, dy and parameters" },
    { "out", "FILE", .help = "safetensors file to write: y, and with dy the gradients" },
    { "heads", "N", .help = "attention heads; 0 = the metadata key \"heads\" of the input file",
      .fallback = "0" },
    { "causal", .help = "causal mask: no token sees a later one" },
    { "precision", "NAME", .help = "arithmetic: f32, bf16 or f64", .fallback = "f32",
      .words = "f32|bf16|f64" },
    { "seed", "N", .help = "seed of parameters that the input file lacks", .fallback = "1" },
    { "weights", .help = "also write the attention weights of every head, computed by the plain "
                         "implementation in double precision" },
    { "steps", .help = "compute y by decoding, one token at a time; needs --causal or a memory" },
    { .name = NULL },
};

const struct command command_attend = {
    .name = "attend",
    .sentence = "runs one attention layer on tensors from a file",
    .usage =
        "SPEC --in FILE --out FILE [--heads N] [--causal] [--precision NAME] [--weights] [--steps]",
    .text =
        "Compares this library with any other, tensor by tensor. The input file contains x [B, "
        "n, d]; memory [B, m, d] makes it cross-attention, lengths [B] are the numbers of keys "
        "without padding, dy [B, n, d] asks for the backward pass. Parameters, frozen ones "
        "included, have the names they have in saved models; missing ones are initialised as in "
        "training. The output file contains y, and with dy also grad.x, grad.memory and "
        "grad.NAME for every trainable parameter.\n"
        "With --steps y is computed as in text generation, one token after another from a "
        "decoding state; it must be the same y. Gradients are always those of whole sequences.",
    .examples = "$ orthant attend \"random + softmax\" --in in.safetensors --out out.safetensors "
                "--heads 4 --causal",
    .flags = flags,
    .see = "explain list",
    .run = run_attend,
};
