/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <limits.h>
#include <string.h>

enum { MOST_EXAMPLES = 100000000, MOST_SIZE = 1000000 };

static bool read_request(struct call *call, struct oa_data_request *r)
{
    long seed = 0;
    bool good = flag_number(call, "train", 0, MOST_EXAMPLES, &r->train) &&
                flag_number(call, "valid", 0, MOST_EXAMPLES, &r->valid) &&
                flag_number(call, "test", 0, MOST_EXAMPLES, &r->test) &&
                flag_number(call, "seed", 0, LONG_MAX, &seed) &&
                flag_number(call, "min-length", 1, MOST_SIZE, &r->min_length) &&
                flag_number(call, "max-length", 1, MOST_SIZE, &r->max_length) &&
                flag_number(call, "alphabet", 1, MOST_SIZE, &r->alphabet) &&
                flag_number(call, "values", 1, MOST_SIZE, &r->values) &&
                flag_number(call, "depth", 1, MOST_SIZE, &r->depth) &&
                flag_number(call, "arguments", 1, MOST_SIZE, &r->arguments);
    r->seed = (uint64_t)seed;
    return good;
}

static enum oa_error list(struct call *call)
{
    static const char making[] =
        "out train valid test seed min-length max-length alphabet values depth arguments";
    if (!allow_none(call, making, "'data list' makes nothing"))
        return OA_ARGUMENT;
    return oa_data_list(call->context, &call->out);
}

static enum oa_error run(struct call *call)
{
    struct oa_data_request r = { .task = NULL };
    if (!want_words(call, 1, 1, "a task, or 'list'"))
        return OA_ARGUMENT;
    if (strcmp(call->word[0], "list") == 0)
        return list(call);
    r.task = call->word[0];
    const char *folder = flag_value(call, "out");
    if (!folder)
        return wrong_use(call, "data needs --out FOLDER");
    return read_request(call, &r) ? oa_data(call->context, &r, folder, &call->out) : OA_ARGUMENT;
}

static const struct flag flags[] = {
    { .name = "out", .argument = "DIR", .help = "the folder to write; it is made" },
    { .name = "train", .argument = "N", .fallback = "96000", .help = "examples for training" },
    { .name = "valid", .argument = "N", .fallback = "2000", .help = "examples for validation" },
    { .name = "test", .argument = "N", .fallback = "2000", .help = "examples for the test" },
    { .name = "seed", .argument = "N", .fallback = "0", .help = "another seed, other examples" },
    { .name = "min-length",
      .argument = "N",
      .help = "shortest input; the unit and the default are the task's" },
    { .name = "max-length", .argument = "N", .help = "longest input" },
    { .name = "alphabet", .argument = "N", .help = "symbols that there are; of recall: keys" },
    { .name = "values", .argument = "N", .help = "recall: values that there are" },
    { .name = "depth", .argument = "N", .help = "listops: levels of a tree" },
    { .name = "arguments", .argument = "N", .help = "listops: most trees that an operator takes" },
    { .name = NULL },
};

const struct command command_data = {
    .name = "data",
    .sentence = "makes data sets that attention is diagnosed with: ListOps, copying, recall",
    .usage = "TASK --out FOLDER [--train N] [--valid N] [--test N] [--seed N] [--min-length N]...\n"
             "list",
    .text =
        "What must be learned is known exactly, so an attention that fails shows what it cannot "
        "do. 'orthant data "
        "list' has the rule of each task, its papers, its options with their defaults and ranges.\n"
        "Label a text (PART.tsv, label and text with a tab between): listops, the value of nested "
        "operations on "
        "digits, by the rule of the Long Range Arena when no length is given; parity and majority "
        "of bits.\n"
        "Turn a line into a line (PART.source, PART.target): copy, reverse, sort.\n"
        "Go on with a text (PART.tsv, and PART.txt, where the answer is the last word of the "
        "line): induction, what "
        "followed the last symbol when it was there before; recall, the value that belongs to a "
        "key.\n"
        "PART is train, valid and test. All inputs of a data set are different. The same options "
        "give the same bytes, "
        "and test and validation examples are the same for any number of training examples. "
        "data.json, which has a checksum, records "
        "what the folder holds. A data set that is there already is replaced, once the new one is "
        "complete; a folder "
        "that holds anything else is refused. docs/data.md has an example of each file.",
    .examples = "$ orthant data listops --out listops\n"
                "$ orthant data recall --min-length 8 --max-length 32 --alphabet 100 --values 100 "
                "--out recall\n"
                "$ orthant data copy --train 10000 --valid 500 --test 500 --max-length 20 --seed 7 "
                "--out copy\n"
                "$ orthant data list",
    .flags = flags,
    .see = "train compare tokenizer",
    .run = run,
};
