/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run_serve(struct call *call)
{
    long port = 8080, sequences = 16, connections = 512, body = 8192, timeout = 30;
    if (!want_words(call, 1, 64, "the folders of one to 64 runs") ||
        !flag_number(call, "port", 0, 65535, &port) ||
        !flag_number(call, "sequences", 1, 256, &sequences) ||
        !flag_number(call, "connections", 8, 65536, &connections) ||
        !flag_number(call, "body", 1, 1048576, &body) ||
        !flag_number(call, "timeout", 1, 86400, &timeout))
        return OA_ARGUMENT;
    struct oa_serve_request r = { .folder = (const char *const *)call->word,
                                  .folders = call->words,
                                  .host = flag_value(call, "host"),
                                  .port = (int)port,
                                  .key_file = flag_value(call, "api-key-file"),
                                  .sequences = (int)sequences,
                                  .connections = connections,
                                  .body = body,
                                  .timeout = (double)timeout,
                                  .precision = flag_value(call, "precision") };
    call->out.sink = to_stdout_at_once;
    return oa_serve(call->context, &r, &call->out);
}

static const struct flag flags[] = {
    { "port", "N", .help = "TCP port, 0 to 65535; 0 = any free one, which is printed",
      .fallback = "8080" },
    { "host", "NAME",
      .help = "address to listen on; an address that other machines can reach needs --api-key-file",
      .fallback = "127.0.0.1" },
    { "api-key-file", "FILE", .help = "file with one key a line; requests must have one of them" },
    { "sequences", "N", .help = "sequences decoded at the same time, 1 to 256; others wait",
      .fallback = "16" },
    { "connections", "N", .help = "maximum number of connections, 8 to 65536", .fallback = "512" },
    { "body", "KIB", .help = "maximum size of a request's body in KiB, 1 to 1048576",
      .fallback = "8192" },
    { "timeout", "N",
      .help = "seconds that a client has to send a request, and to receive its answer",
      .fallback = "30" },
    { "precision", "NAME",
      .help = "arithmetic of all models: f32, bf16 or f64 (default: that of each run; of imported "
              "ones f32)",
      .words = "f32|bf16|f64" },
    { .name = NULL },
};

const struct command command_serve = {
    .name = "serve",
    .sentence = "serves trained models over HTTP, in the form of OpenAI's completions",
    .usage = "RUN... [--port N] [--host NAME] [--api-key-file FILE] [--sequences N]\n"
             "RUN... [--connections N] [--body KIB] [--timeout N] [--precision NAME]",
    .text =
        "Prints the address and answers requests until it is stopped. A browser shows a page at "
        "the address that completes a prompt with two models. The folder of a run is the name of "
        "its model.\n"
        "Language models: POST /v1/completions with prompt (a text, token ids, or a list of "
        "these), max_tokens, temperature, top_p, top_k, seed, n, stop, echo, logprobs and stream; "
        "/v1/score; /v1/attention for the maps of inspect. Other models: /v1/classify, "
        "/v1/translate. All models: /v1/embeddings. Others: /tokenize, /detokenize and "
        "/tokenizer_info for evaluation harnesses, /v1/models, /health, /metrics. Unknown members "
        "of a request are refused (docs/serve.md).\n"
        "Requests that arrive together are decoded together, and each has the text and the "
        "probabilities, bit for bit, that it has alone. The same request with the same seed "
        "(default 0) gives the same answer.\n"
        "After SIGTERM or SIGINT no connection is accepted, requests that were read are answered, "
        "and the program ends with 128 + the signal.",
    .examples =
        "$ orthant serve runs/a runs/b --port 8080\n"
        "$ curl localhost:8080/v1/completions -d '{\"model\": \"runs/a\", \"prompt\": \"To be\"}'\n"
        "$ curl localhost:8080/v1/score -d '{\"model\": \"runs/a\", \"input\": \"To be\"}'",
    .flags = flags,
    .see = "generate classify translate eval",
    .run = run_serve,
};
