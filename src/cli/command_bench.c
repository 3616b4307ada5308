/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LENGTHS = 32, MOST_MECHANISMS = 128 };

/* Parses "128,512,2048" into out; returns the count, or 0 after an error was printed. */
static int parse_lengths(struct call *call, const char *flag, long out[MOST_LENGTHS])
{
    const char *text = flag_value(call, flag);
    int count = 0;
    for (const char *s = text; count < MOST_LENGTHS; s++) {
        char *end;
        errno = 0;
        out[count] = strtol(s, &end, 10);
        if (end == s || errno || out[count] < 1 || (*end && *end != ','))
            break;
        count++;
        if (!*end)
            return count;
        s = end;
    }
    wrong_use(call,
              "--%s is \"%.60s\"; give at most %d whole numbers from 1 on, separated by commas",
              flag, text, MOST_LENGTHS);
    return 0;
}

/* All mechanisms; a mixture needs components. */
static int all_mechanisms(const char *names[MOST_MECHANISMS])
{
    const char *name, *title;
    int count = 0;
    for (int i = 0; count < MOST_MECHANISMS && oa_mechanism_describe(i, &name, &title); i++)
        names[count++] = strcmp(name, "mix") == 0 ? "random + softmax" : name;
    return count;
}

static enum oa_error bench_attentions(struct call *call)
{
    const char *all[MOST_MECHANISMS],
        **given = want_memory((size_t)call->givens + 1, sizeof *given);
    long length[MOST_LENGTHS];
    struct oa_bench_request r = { .length = length,
                                  .lengths = parse_lengths(call, "lengths", length) };
    r.causal = !flag_given(call, "bidirectional");
    r.processor_time = strcmp(flag_value(call, "clock"), "processor") == 0;
    r.precision = flag_value(call, "precision");
    enum oa_error e = OA_ARGUMENT;
    if (r.lengths && flag_number(call, "tokens", 1, 1 << 24, &r.tokens) &&
        flag_number(call, "width", 1, 65536, &r.width) &&
        flag_number(call, "heads", 1, 1024, &r.heads)) {
        r.count = flag_values(call, "attention", given);
        r.attentions = given;
        if (r.count == 0 || (r.count == 1 && strcmp(given[0], "all") == 0)) {
            r.attentions = all;
            r.count = all_mechanisms(all);
        }
        e = oa_bench_attention(call->context, &r, &call->out);
    }
    free(given);
    return e;
}

/* Options of the table, or a file of them. */
static bool configured(const struct call *call)
{
    for (int i = 0; i < call->givens; i++)
        if (strchr(call->given[i].name, '.') || strstr(call->given[i].name, "config"))
            return true;
    return false;
}

static enum oa_error bench_step(struct call *call)
{
    if (!allow_none(call,
                    "decode peak kernels attention lengths tokens width heads precision "
                    "bidirectional sequences after",
                    "--step times the run that --model.attention, --train.precision and other "
                    "options --section.key describe"))
        return OA_ARGUMENT;
    enum oa_error e = apply_options_like(call);
    int processor = strcmp(flag_value(call, "clock"), "processor") == 0 ? 1
                    : flag_given(call, "clock")                         ? -1
                                                                        : 0;
    return e == OA_OK ? oa_bench_step(call->config, processor, &call->out) : e;
}

static enum oa_error bench_decode(struct call *call)
{
    if (!allow_none(call, "peak kernels lengths tokens width heads precision bidirectional",
                    "--decode times the model that --model.width, --train.precision and other "
                    "options --section.key describe"))
        return OA_ARGUMENT;
    const char **given = want_memory((size_t)call->givens + 1, sizeof *given);
    long sequences[MOST_LENGTHS];
    struct oa_decode_bench_request r = { .sequences = sequences,
                                         .sizes = parse_lengths(call, "sequences", sequences) };
    enum oa_error e = OA_ARGUMENT;
    if (r.sizes && flag_number(call, "after", 0, 1 << 24, &r.after)) {
        r.processor_time = strcmp(flag_value(call, "clock"), "processor") == 0;
        r.count = flag_values(call, "attention", given);
        r.attentions = given;
        e = apply_options_like(call);
        if (e == OA_OK)
            e = oa_bench_decode(call->config, &r, &call->out);
    }
    free(given);
    return e;
}

static enum oa_error run_bench(struct call *call)
{
    bool model = flag_given(call, "step") || flag_given(call, "decode");
    if (!want_words(call, 0, model,
                    model ? "at most one argument, the folder of a run"
                          : "no arguments without --step or --decode; attentions are given with "
                            "--attention"))
        return OA_ARGUMENT;
    if (flag_given(call, "step"))
        return bench_step(call);
    if (flag_given(call, "decode"))
        return bench_decode(call);
    if (configured(call))
        return wrong_use(
            call, "--config and --section.key need --step or --decode; layers are described by "
                  "--attention, --width, --heads and --precision");
    if (!allow_none(call, "sequences after", "it needs --decode"))
        return OA_ARGUMENT;
    static const char layers[] =
        "attention lengths tokens width heads precision clock bidirectional";
    if (flag_given(call, "peak") &&
        !allow_none(call, "kernels", "--peak measures only the machine"))
        return OA_ARGUMENT;
    if ((flag_given(call, "peak") || flag_given(call, "kernels")) &&
        !allow_none(call, layers, "--peak and --kernels time no layers"))
        return OA_ARGUMENT;
    if (flag_given(call, "peak"))
        return oa_bench_peak(call->context, &call->out);
    if (flag_given(call, "kernels"))
        return oa_bench_kernels(call->context, &call->out);
    return bench_attentions(call);
}

static const struct flag flags[] = {
    { "peak", .help = "measure only the machine: arithmetic and memory bandwidth, one core and all "
                      "threads" },
    { "step", .help = "time a training step of the run that --config and --section.key describe" },
    { "decode", .help =
                    "time token-by-token generation of the model that --config and --section.key "
                    "describe" },
    { "kernels", .help = "time every version of every kernel against plain C" },
    { "attention", "SPEC",
      .help = "attention to time; repeat for several (default: every mechanism, with --decode "
              "model.attention); all = every mechanism, not with --decode" },
    { "lengths", "LIST", .help = "sequence lengths, in tokens",
      .fallback = "128,256,512,1024,2048" },
    { "tokens", "N", .help = "tokens per pass: as many sequences as fit, at least one",
      .fallback = "4096" },
    { "width", "N", .help = "width of the layer", .fallback = "256" },
    { "heads", "N", .help = "heads of the layer", .fallback = "4" },
    { "precision", "NAME", .help = "arithmetic: f32, bf16 or f64", .fallback = "f32",
      .words = "f32|bf16|f64" },
    { "clock", "NAME",
      .help = "wall, or processor: processor time of all threads, relative to the peak of one core",
      .fallback = "wall", .words = "wall|processor" },
    { "sequences", "LIST", .help = "with --decode: numbers of sequences generated in parallel",
      .fallback = "1,8" },
    { "after", "N", .help = "with --decode: tokens of context before those that are timed",
      .fallback = "0" },
    { "bidirectional", .help = "every token sees every token (default: causal)" },
    { .name = NULL },
};

const struct command command_bench = {
    .name = "bench",
    .sentence = "times attention layers and kernels against the peak rates of this machine",
    .usage = "[--attention SPEC]... [--lengths LIST] [--precision NAME] [--width N] [--heads N]\n"
             "[DIR] --step [--config FILE] [--section.key VALUE]...\n"
             "[DIR] --decode [--attention SPEC]... [--sequences LIST] [--after N] [--section.key "
             "VALUE]...\n"
             "--peak\n"
             "--kernels",
    .text =
        "Times a layer with its projections, forward and backward, as the minimum of several "
        "runs. The rate is a share of the machine's measured peak, and the time a multiple of "
        "softmax attention's. The last column is the measured exponent: 2 means that twice the "
        "length takes four times as long.\n"
        "--step times training steps of a run by part of the model and by operation, forward and "
        "backward. The lower bound (\"floor\" in JSON) is the time that the arithmetic or the "
        "memory traffic takes at the machine's peak rates; optimise what takes many times its "
        "lower bound. If other programs use more than 15 % of the processor, a notice is printed, "
        "and unless --clock is given times are processor time.\n"
        "--decode times generation steps, one token per sequence, with an untrained model. It "
        "prints tokens per second and the bytes that a step reads (the weights once for all "
        "sequences). The lower bound is the time to read those bytes or to do the step's "
        "arithmetic on this machine.\n"
        "With the folder of a run, imported or trained, --step and --decode use its options and "
        "tokenizer; the weights are untrained.\n"
        "Run it on an idle machine. When stopped by Ctrl-C it prints what it has measured.",
    .examples =
        "$ orthant bench --peak\n"
        "$ orthant bench --attention softmax --attention linear --lengths 512,1024,2048,4096\n"
        "$ orthant bench --step --model.layers 4 --model.width 128 --train.batch 12 "
        "--train.precision bf16\n"
        "$ orthant bench --decode --attention softmax --attention linear --sequences 1,8,32 "
        "--model.width 768\n"
        "$ orthant bench runs/a --decode --sequences 1 --train.precision bf16\n"
        "$ orthant bench --attention all --lengths 512,32768 --width 512 --heads 8 --threads 1 "
        "--clock processor",
    .sections = "model data train",
    .flags = flags,
    .see = "doctor plan",
    .run = run_bench,
};
