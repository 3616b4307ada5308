/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run_import(struct call *call)
{
    const char *out = flag_value(call, "out");
    if (!want_words(call, 1, 1, "the folder of a model"))
        return OA_ARGUMENT;
    if (!out)
        return wrong_use(call, "import needs --out FOLDER");
    return oa_import(call->context, call->word[0], out, flag_value(call, "precision"), &call->out);
}

static const struct flag flags[] = {
    { "out", "DIR", .help = "folder of the run to make, which must not have one" },
    { "precision", "NAME",
      .help = "train.precision of the run, with which it is evaluated, continued and trained: f32, "
              "bf16 or f64; f32 without it, or that of the run that export wrote" },
    { .name = NULL },
};

const struct command command_import = {
    .name = "import",
    .sentence = "makes a run of a Hugging Face model or a GGUF file",
    .usage = "FOLDER|FILE.gguf --out DIR [--precision NAME]",
    .text =
        "Reads config.json, model.safetensors (or the shards that model.safetensors.index.json "
        "lists) and tokenizer.json, and writes a run that eval, score, generate, inspect and "
        "train --init use as any other. Weights may be F32, F16, BF16 or F64; the run has them as "
        "F32. Without tokenizer.json a model of SentencePiece is read (spiece.model, "
        "tokenizer.model; of Marian source.spm, target.spm and vocab.json); without that the model "
        "reads and writes numbers of tokens. A GGUF file "
        "(architecture llama, qwen2 or qwen3) may have any of the usual quantised types.\n"
        "Supported are language models of the types gemma2, gpt2, gpt_neo, gpt_neox, llama, "
        "mistral, opt, qwen2 and qwen3. What such a model may have and this program has not is "
        "refused by its name in config.json, before a tensor is read.",
    .examples = "$ orthant import SmolLM2-135M --out runs/smollm2\n"
                "$ orthant generate runs/smollm2 --prompt \"Once upon\" --tokens 50",
    .flags = flags,
    .see = "forward generate train",
    .run = run_import,
};
