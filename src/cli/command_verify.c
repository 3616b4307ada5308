/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run_foreign(struct call *call, const char *command)
{
    long timeout, seed, width, heads;
    if (!want_words(call, 0, 0, "no attention: --foreign names what is verified") ||
        !allow_none(call, "quick", "it is for attentions of this library") ||
        !flag_number(call, "timeout", 1, 86400, &timeout) ||
        !flag_number(call, "seed", 0, 9007199254740991, &seed) ||
        !flag_number(call, "width", 1, 4096, &width) ||
        !flag_number(call, "heads", 1, 4096, &heads))
        return OA_ARGUMENT;
    struct oa_foreign_request r = { .command = command,
                                    .claims = flag_value(call, "claims"),
                                    .inputs = flag_value(call, "inputs"),
                                    .tokens = flag_value(call, "tokens"),
                                    .folder = flag_value(call, "keep"),
                                    .width = width,
                                    .heads = heads,
                                    .timeout_seconds = (double)timeout,
                                    .seed = (uint64_t)seed };
    return oa_verify_foreign(call->context, &r, &call->out);
}

static enum oa_error run_verify(struct call *call)
{
    const char *foreign = flag_value(call, "foreign");
    if (foreign)
        return run_foreign(call, foreign);
    if (!allow_none(call, "claims inputs tokens width heads timeout keep seed",
                    "it needs --foreign COMMAND"))
        return OA_ARGUMENT;
    if (!want_words(call, 0, 1, "at most one attention, quoted if it has blanks"))
        return OA_ARGUMENT;
    return oa_verify(call->context, call->words ? call->word[0] : NULL, flag_given(call, "quick"),
                     &call->out);
}

static const struct flag flags[] = {
    { "quick", .help = "fewer variants and draws: seconds instead of minutes" },
    { "foreign", "COMMAND",
      .help = "verify an attention of any language: COMMAND is run by sh, with the names of files "
              "of tensors to read and to write" },
    { "claims", "LIST",
      .help = "claims about it, separated by commas: deterministic, dtype, batch, "
              "gradient, causal, padding, permutation, average, decoding",
      .fallback = "deterministic,dtype,batch" },
    { "inputs", "NAME", .help = "its tensors: x, or q, k and v of every head", .fallback = "x",
      .words = "x|qkv" },
    { "tokens", "LIST", .help = "lengths of sequences, separated by commas",
      .fallback = "1,2,7,12" },
    { "width", "N", .help = "columns of x, or of all heads together", .fallback = "16" },
    { "heads", "N", .help = "heads of q, k and v", .fallback = "2" },
    { "timeout", "SECONDS", .help = "longest time of one process", .fallback = "60" },
    { "seed", "N", .help = "seed of the tensors", .fallback = "0" },
    { "keep", "FOLDER", .help = "where the files stay; otherwise they are removed" },
    { .name = NULL },
};

const struct command command_verify = {
    .name = "verify",
    .sentence = "checks on this machine that attentions are computed correctly",
    .usage = "[SPEC] [--quick] [--json]\n"
             "--foreign COMMAND [--claims LIST] [--inputs NAME] [--keep FOLDER] [--json]",
    .text =
        "Checks every mechanism, with every value of every option, in every mode and precision. "
        "Layers: gradients against central differences, causality (bit for bit), NaN in padding, "
        "batches, attention maps against a plain implementation, shorter sequences, permutations "
        "and threads. Models and theory: models of every form against a plain implementation "
        "without padding, beam search against scoring its output, the properties declared by each "
        "mechanism, special cases that must equal another attention, parameter and FLOP counts, "
        "and random features and projections against their theoretical means and variances.\n"
        "SPEC restricts it to one attention. Each line shows the largest error of all checks next "
        "to its bound, always below 1, and where it occurred; failures follow in full, and the "
        "exit code is then 5. Output rows that rounding alone can change by as much as their size "
        "(weights of both signs, divided by a sum near 0) are inconclusive: they are counted, "
        "listed, and do not change the exit code. Unsupported modes are counted, and listed with "
        "SPEC.\n"
        "With --foreign the attention is a program of yours: COMMAND IN OUT [IN OUT ...] reads x, "
        "or q, k and v, from each safetensors file IN and writes y to OUT (docs/foreign.md). A "
        "claim that cannot be judged, because a tensor is missing or the command fails, does not "
        "hold.",
    .examples = "$ orthant verify --quick\n"
                "$ orthant verify \"performer(features=64)\"\n"
                "$ orthant verify --isa ref --json\n"
                "$ orthant verify --foreign \"python my_attention.py\" --claims causal,padding",
    .flags = flags,
    .see = "explain doctor attend",
    .run = run_verify,
};
