/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line of the standard input is a prompt; who types it sees where. */
static int next_prompt(void *argument, const char **prompt, size_t *length)
{
    if (isatty(STDIN_FILENO)) {
        fputs("> ", stderr);
        fflush(stderr);
    }
    return next_line(argument, prompt, length);
}

static enum oa_error interact(struct call *call, struct oa_generate_request *request)
{
    struct input in = { .call = call, .fd = STDIN_FILENO };
    request->next = next_prompt;
    request->argument = &in;
    enum oa_error e = oa_generate(call->config, call->word[0], request, &call->out);
    free(in.data);
    return e;
}

static enum oa_error from_file(struct call *call, const char *path,
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

static enum oa_error generate(struct call *call, const char **stops)
{
    const char *file = flag_value(call, "prompt-file");
    struct oa_generate_request request = { .prompt = flag_value(call, "prompt"), .stop = stops };
    request.length = request.prompt ? strlen(request.prompt) : 0;
    request.stops = flag_values(call, "stop", stops);
    if (flag_given(call, "interactive"))
        return interact(call, &request);
    return file ? from_file(call, file, &request)
                : oa_generate(call->config, call->word[0], &request, &call->out);
}

static enum oa_error run(struct call *call)
{
    bool prompt = flag_given(call, "prompt"), file = flag_given(call, "prompt-file");
    if (!want_words(call, 1, 1, "the folder of a run"))
        return OA_ARGUMENT;
    if (prompt + file + flag_given(call, "interactive") > 1)
        return wrong_use(
            call, "a prompt comes from one place: give --prompt, --prompt-file or --interactive");
    call->out.sink = to_stdout_at_once;
    enum oa_error e = apply_options(call);
    const char **stops = want_memory((size_t)call->givens + 1, sizeof *stops);
    if (e == OA_OK)
        e = generate(call, stops);
    free(stops);
    return e;
}

static const struct flag flags[] = {
    { .name = "prompt",
      .argument = "TEXT",
      .help = "text to go on from, however long (default: generate.prompt)" },
    { .name = "prompt-file",
      .argument = "FILE",
      .help = "go on from all bytes of a file; - is the standard input" },
    { .name = "interactive",
      .help = "every line of the standard input is a prompt of its own, until its end" },
    { .name = "tokens", .argument = "N", .key = "generate.tokens", .help = "tokens to write" },
    { .name = "stop",
      .argument = "TEXT",
      .help =
          "end before the first of these texts, which is not written; may be given several times" },
    { .name = "samples",
      .argument = "N",
      .key = "generate.samples",
      .help = "continuations of a prompt, with seeds seed, seed + 1, …" },
    { .name = "seed", .argument = "N", .key = "generate.seed", .help = "seed of the sampling" },
    { .name = "temperature",
      .argument = "X",
      .key = "generate.temperature",
      .help = "0 = always the likeliest" },
    { .name = "top-k",
      .argument = "N",
      .key = "generate.top_k",
      .help = "draw from the N likeliest tokens" },
    { .name = "top-p",
      .argument = "X",
      .key = "generate.top_p",
      .help = "draw from the likeliest that make up X" },
    { .name = NULL },
};

const struct command command_generate = {
    .name = "generate",
    .sentence = "writes text with a trained model",
    .usage =
        "DIR [--prompt TEXT | --prompt-file FILE | --interactive] [--tokens N] [--stop TEXT]...\n"
        "DIR [--samples N] [--seed N] [--temperature X] [--top-k N] [--top-p X] [--json]",
    .text = "The prompt is printed first and the text follows token by token. The same folder, "
            "prompt, seed and "
            "options give the same text. A token is made from the state that the ones before it "
            "left, so it costs "
            "the same however long the text is, but for attention over all keys. When "
            "model.context is full, the "
            "model goes on from the last half of it, which it reads again: it sees the last "
            "model.context / 2 to "
            "model.context tokens. The text is UTF-8: tokens that would break a character are not "
            "drawn, and one that the "
            "last "
            "token leaves incomplete is printed as U+FFFD. Special tokens are drawn that the "
            "training text had.\n"
            "Continuations are numbered 0, 1, 2, … over all prompts of a call; number n is drawn "
            "with generate.seed + n "
            "and is the text that --seed with that number alone gives. With --json there is an "
            "object a prompt, with "
            "seed, number of tokens, text and stop text (or null) of each sample, and whether a "
            "signal ended it or, in "
            "\"interrupted\" of a sample, "
            "cut it short; with "
            "--interactive it is one line. A line of --interactive that cannot be read, of bytes "
            "that the vocabulary does "
            "not have, is said and answered by an empty one (--json: by no samples).",
    .examples =
        "$ orthant generate runs/a --prompt \"To be\" --tokens 200 --seed 1\n"
        "$ orthant generate runs/a --prompt-file start.txt --stop \"EXIT\" --samples 3 --json\n"
        "$ printf 'ROMEO:\\nJULIET:\\n' | orthant generate runs/a --interactive --tokens 60",
    .sections = "generate",
    .flags = flags,
    .see = "train eval",
    .run = run,
};
