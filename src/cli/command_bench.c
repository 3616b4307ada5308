/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LENGTHS = 32, MOST_MECHANISMS = 128 };

/* "128,512,2048"; the count, or 0 after an error was printed. */
static int parse_list(struct call *call, const char *flag, long out[MOST_LENGTHS])
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
    wrong_use(
        call,
        "--%s is \"%.60s\"; give whole numbers from 1 on with commas between, at most %d of them",
        flag, text, MOST_LENGTHS);
    return 0;
}

/* All mechanisms; a mixture has no form without components. */
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
                                  .lengths = parse_list(call, "lengths", length) };
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
                    "--step times what the options of a run say, --model.attention and "
                    "--train.precision among them"))
        return OA_ARGUMENT;
    enum oa_error e = apply_options(call);
    int processor = strcmp(flag_value(call, "clock"), "processor") == 0 ? 1
                    : flag_given(call, "clock")                         ? -1
                                                                        : 0;
    return e == OA_OK ? oa_bench_step(call->config, processor, &call->out) : e;
}

static enum oa_error bench_decode(struct call *call)
{
    if (!allow_none(call, "peak kernels lengths tokens width heads precision bidirectional",
                    "--decode times what the options of a run say, --model.width and "
                    "--train.precision among them"))
        return OA_ARGUMENT;
    const char **given = want_memory((size_t)call->givens + 1, sizeof *given);
    long sequences[MOST_LENGTHS];
    struct oa_decode_bench_request r = { .sequences = sequences,
                                         .sizes = parse_list(call, "sequences", sequences) };
    enum oa_error e = OA_ARGUMENT;
    if (r.sizes && flag_number(call, "after", 0, 1 << 24, &r.after)) {
        r.processor_time = strcmp(flag_value(call, "clock"), "processor") == 0;
        r.count = flag_values(call, "attention", given);
        r.attentions = given;
        e = apply_options(call);
        if (e == OA_OK)
            e = oa_bench_decode(call->config, &r, &call->out);
    }
    free(given);
    return e;
}

static enum oa_error run(struct call *call)
{
    if (!want_words(call, 0, 0, "no words; attentions are given with --attention"))
        return OA_ARGUMENT;
    if (flag_given(call, "step"))
        return bench_step(call);
    if (flag_given(call, "decode"))
        return bench_decode(call);
    if (configured(call))
        return wrong_use(
            call,
            "options of a run, and --config, are for --step and --decode; the bench of layers has "
            "--attention, --width, --heads and --precision");
    if (!allow_none(call, "sequences after", "it belongs to --decode"))
        return OA_ARGUMENT;
    static const char layers[] =
        "attention lengths tokens width heads precision clock bidirectional";
    if (flag_given(call, "peak") &&
        !allow_none(call, "kernels", "--peak measures the machine alone"))
        return OA_ARGUMENT;
    if ((flag_given(call, "peak") || flag_given(call, "kernels")) &&
        !allow_none(call, layers, "it belongs to the bench of layers, not to --peak or --kernels"))
        return OA_ARGUMENT;
    if (flag_given(call, "peak"))
        return oa_bench_peak(call->context, &call->out);
    if (flag_given(call, "kernels"))
        return oa_bench_kernels(call->context, &call->out);
    return bench_attentions(call);
}

static const struct flag flags[] = {
    { .name = "peak", .help = "only the machine: arithmetic and memory, one core and all threads" },
    { .name = "step",
      .help = "a training step of the run that --config and the options of the sections describe" },
    { .name = "decode",
      .help =
          "writing: tokens of the model that --config and the options of the sections describe" },
    { .name = "kernels", .help = "every version of every kernel beside the plain C one" },
    { .name = "attention",
      .argument = "SPEC",
      .help = "an attention to time; given once for each (default: all, which means every "
              "mechanism; with --decode "
              "model.attention, and all is none there)" },
    { .name = "lengths",
      .argument = "LIST",
      .fallback = "128,256,512,1024,2048",
      .help = "tokens of a sequence" },
    { .name = "tokens",
      .argument = "N",
      .fallback = "4096",
      .help = "tokens of a pass: as many sequences as fit, at least one" },
    { .name = "width", .argument = "N", .fallback = "256", .help = "width of the layer" },
    { .name = "heads", .argument = "N", .fallback = "4", .help = "heads of the layer" },
    { .name = "precision",
      .argument = "NAME",
      .fallback = "f32",
      .help = "f32, bf16 or f64",
      .words = "f32|bf16|f64" },
    { .name = "clock",
      .argument = "NAME",
      .fallback = "wall",
      .help = "wall, or processor: processor time of all threads, against the peak of one core",
      .words = "wall|processor" },
    { .name = "sequences",
      .argument = "LIST",
      .fallback = "1,8",
      .help = "with --decode: written side by side" },
    { .name = "after",
      .argument = "N",
      .fallback = "0",
      .help = "with --decode: tokens of each sequence before those that are timed" },
    { .name = "bidirectional",
      .help = "every token sees every token; otherwise none sees a later one" },
    { .name = NULL },
};

const struct command command_bench = {
    .name = "bench",
    .sentence = "times attention layers and kernels against the peaks of this machine",
    .usage =
        "[--attention SPEC]... [--lengths LIST] [--precision NAME] [--width N] [--heads N]\n"
        "--step [--config FILE] [--section.key VALUE]...\n"
        "--decode [--attention SPEC]... [--sequences LIST] [--after N] [--section.key VALUE]...\n"
        "--peak\n"
        "--kernels",
    .text =
        "A layer is timed with its projections, forward and backward, as the least of several "
        "runs. Its rate is "
        "given as a share of the machine's measured peak and its time as a multiple of softmax "
        "attention's; the "
        "last column is the measured exponent: 2 means four times the time for twice the length.\n"
        "With --step, training steps of a run are timed, by part of the model and by operation: "
        "what each takes "
        "forward and backward, and the floor, the time that its arithmetic or its memory traffic "
        "would take at the "
        "machine's peaks. What is many times its floor is worth a look. Where other programs have "
        "the processor for "
        "more than 15 % of the time it says so, and unless --clock is given times are of the "
        "processor.\n"
        "With --decode, steps of writing are timed, a token of each sequence, with a model of "
        "first values: tokens "
        "a second, the bytes that a step has to read, the weights once for all sequences, and the "
        "share of the "
        "floor, the time that reading as many or the step's arithmetic takes on this machine.\n"
        "Other programs make the numbers worse, never better: run it on an idle machine. Stopped "
        "by Ctrl-C, it "
        "prints what it has measured.",
    .examples =
        "$ orthant bench --peak\n"
        "$ orthant bench --attention softmax --attention linear --lengths 512,1024,2048,4096\n"
        "$ orthant bench --step --model.layers 4 --model.width 128 --train.batch 12 "
        "--train.precision bf16\n"
        "$ orthant bench --decode --attention softmax --attention linear --sequences 1,8,32 "
        "--model.width 768\n"
        "$ orthant bench --attention all --lengths 512,32768 --width 512 --heads 8 --threads 1 "
        "--clock processor",
    .sections = "model data train",
    .flags = flags,
    .see = "doctor plan",
    .run = run,
};
