/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The next line of standard input; on a terminal after a "> ". */
static int next_prompt(void *argument, const char **prompt, size_t *length)
{
    if (isatty(STDIN_FILENO)) {
        fputs("> ", stderr);
        fflush(stderr);
    }
    return next_line(argument, prompt, length);
}

static enum oa_error generate_from_file(struct call *call, const char *path,
                                        struct oa_generate_request *request)
{
    char *text = read_input(call, path, &request->length);
    if (!text)
        return OA_IO;
    request->prompt = text;
    enum oa_error e = stop_asked() ? OA_INTERRUPTED
                                   : oa_generate(call->config, call->word[0], request, &call->out);
    free(text);
    return e;
}

static enum oa_error generate_from(struct call *call, const char **stops)
{
    const char *file = flag_value(call, "prompt-file");
    struct oa_generate_request request = { .prompt = flag_value(call, "prompt"),
                                           .stop = stops,
                                           .precision = flag_value(call, "precision") };
    request.length = request.prompt ? strlen(request.prompt) : 0;
    request.stops = flag_values(call, "stop", stops);
    if (flag_given(call, "interactive")) {
        struct input in = { .call = call, .fd = STDIN_FILENO };
        request.next = next_prompt;
        request.argument = &in;
        enum oa_error e = oa_generate(call->config, call->word[0], &request, &call->out);
        free(in.data);
        return e;
    }
    return file ? generate_from_file(call, file, &request)
                : oa_generate(call->config, call->word[0], &request, &call->out);
}

static enum oa_error run_generate(struct call *call)
{
    bool prompt = flag_given(call, "prompt"), file = flag_given(call, "prompt-file");
    if (!want_words(call, 1, 1, "the folder of a run"))
        return OA_ARGUMENT;
    if (prompt + file + flag_given(call, "interactive") > 1)
        return wrong_use(call, "give one of --prompt, --prompt-file and --interactive");
    call->out.sink = to_stdout_at_once;
    enum oa_error e = apply_options(call);
    const char **stops = want_memory((size_t)call->givens + 1, sizeof *stops);
    if (e == OA_OK)
        e = generate_from(call, stops);
    free(stops);
    return e;
}

static const struct flag flags[] = {
    { "prompt", "TEXT", .help = "text to continue, of any length (default: generate.prompt)" },
    { "prompt-file", "FILE", .help = "file to continue; - = standard input" },
    { "interactive", .help = "each line of standard input is a prompt" },
    { "tokens", "N", .help = "tokens to generate", .key = "generate.tokens" },
    { "stop", "TEXT", .help = "stop before the first occurrence of this text; repeat for several" },
    { "samples", "N", .help = "continuations per prompt, with seeds seed, seed + 1, …",
      .key = "generate.samples" },
    { "seed", "N", .help = "seed of the sampling", .key = "generate.seed" },
    { "temperature", "X", .help = "sampling temperature; 0 = always the most likely token",
      .key = "generate.temperature" },
    { "top-k", "N", .help = "sample from the N most likely tokens", .key = "generate.top_k" },
    { "top-p", "X",
      .help = "sample from the most likely tokens with total probability X (nucleus sampling)",
      .key = "generate.top_p" },
    { "precision", "NAME",
      .help = "arithmetic: f32, bf16 or f64 (default: that of the run; of imported ones f32)",
      .words = "f32|bf16|f64" },
    { .name = NULL },
};

const struct command command_generate = {
    .name = "generate",
    .sentence = "generates text with a trained language model",
    .usage =
        "DIR [--prompt TEXT | --prompt-file FILE | --interactive] [--tokens N] [--stop TEXT]...\n"
        "DIR [--samples N] [--seed N] [--temperature X] [--top-k N] [--top-p X] [--json]\n"
        "DIR [--precision NAME] ...",
    .text =
        "Prints the prompt and continues it token by token. The same folder, prompt, seed and "
        "options give the same text. Each token is computed from the state of those before it, "
        "so its cost does not grow with the text, except for attention over all keys. When "
        "model.context is full, the model re-reads the last half of it and continues: it sees "
        "the last model.context / 2 to model.context tokens. The text is UTF-8: tokens that "
        "would break a character are not sampled, and one left incomplete at the end is printed "
        "as U+FFFD. Special tokens are sampled if the training text had them. A model of the task "
        "answer reads the prompt as a user's turn and prints the answer alone, to its end.\n"
        "Continuations are numbered 0, 1, 2, … over all prompts of a call; number n uses seed "
        "generate.seed + n and is the text that --seed with this number gives alone. --json "
        "prints an object per prompt with seed, token count, text and stop text (or null) of "
        "each sample; \"interrupted\" is true if a signal cut it short. With --interactive "
        "each object is one line. A line of --interactive with bytes outside the vocabulary is "
        "reported on standard error and gives an empty line (--json: no samples).",
    .examples =
        "$ orthant generate runs/a --prompt \"To be\" --tokens 200 --seed 1\n"
        "$ orthant generate runs/a --prompt-file start.txt --stop \"EXIT\" --samples 3 --json\n"
        "$ printf 'ROMEO:\\nJULIET:\\n' | orthant generate runs/a --interactive --tokens 60",
    .sections = "generate",
    .flags = flags,
    .see = "train eval",
    .run = run_generate,
};
