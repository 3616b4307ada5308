/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run_export(struct call *call)
{
    const char *out = flag_value(call, "out");
    if (!want_words(call, 1, 1, "the folder of a run"))
        return OA_ARGUMENT;
    if (!out)
        return wrong_use(call, "export needs --out FOLDER");
    return oa_export(call->context, call->word[0], out, &call->out);
}

static const struct flag flags[] = {
    { "out", "DIR", .help = "folder of the model to make, which must not have one" },
    { .name = NULL },
};

const struct command command_export = {
    .name = "export",
    .sentence = "makes a Hugging Face model of a run",
    .usage = "RUN --out DIR",
    .text =
        "Writes config.json, model.safetensors, tokenizer.json, tokenizer_config.json and a model "
        "card, which AutoModelForCausalLM and AutoTokenizer of transformers open, with the same "
        "function. Learned and sinusoidal positions become gpt2, rotary ones gpt_neox; with a "
        "root mean square norm and gated feed-forward layers llama, mistral (one window in all "
        "layers) or qwen2. Encoders become bert, encoder-decoders marian or t5.\n"
        "Other attentions than softmax and local, and other options that transformers has no "
        "class for, are exported with a modelling file of their own, modeling_orthant.py in plain "
        "PyTorch: from_pretrained opens such a folder with trust_remote_code=True "
        "(docs/export.md).",
    .examples = "$ orthant export runs/a --out hf",
    .flags = flags,
    .see = "import forward",
    .run = run_export,
};
