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
      .help = "train.precision of the run: f32, bf16 or f64 (default: f32, or that of the run that "
              "export wrote)" },
    { .name = NULL },
};

const struct command command_import = {
    .name = "import",
    .sentence = "makes a run of a Hugging Face model or a GGUF file",
    .usage = "FOLDER|FILE.gguf --out DIR [--precision NAME]",
    .text =
        "Reads a Hugging Face folder and writes a run that eval, score, generate, inspect, train "
        "--init and others use like any other. It reads config.json, model.safetensors (or the "
        "shards of model.safetensors.index.json; F32, F16, BF16 or F64, stored as F32) and "
        "tokenizer.json, or a SentencePiece model (spiece.model, tokenizer.model; for Marian "
        "source.spm, target.spm and vocab.json). Without a tokenizer the model reads and writes "
        "token ids. A GGUF file (architectures llama, qwen2, qwen3, gemma2 and gpt2) may have any "
        "of the usual quantised types.\n"
        "Model types: gpt2, gpt_neo, gpt_neox, opt, llama, mistral, qwen2, qwen3, gemma2, olmo2; "
        "bert, roberta, modernbert, distilbert; vit, deit; marian, t5. A key of config.json that "
        "asks for anything else is refused by name, before a tensor is read (docs/models.md).",
    .examples = "$ orthant import SmolLM2-135M --out runs/smollm2\n"
                "$ orthant generate runs/smollm2 --prompt \"Once upon\" --tokens 50",
    .flags = flags,
    .see = "forward generate train",
    .run = run_import,
};
