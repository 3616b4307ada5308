/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EXAMPLES = 100000000, MOST_SIZE = 1000000 };

static bool read_data_request(struct call *call, struct oa_data_request *r)
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
                flag_number(call, "arguments", 1, MOST_SIZE, &r->arguments) &&
                flag_number(call, "pairs", 1, MOST_SIZE, &r->pairs) &&
                flag_number(call, "copies", 1, MOST_SIZE, &r->copies) &&
                flag_number(call, "motif", 1, MOST_SIZE, &r->motif) &&
                flag_number(call, "noise", 1, MOST_SIZE, &r->noise) &&
                flag_number(call, "noise-words", 1, MOST_SIZE, &r->noise_words);
    r->seed = (uint64_t)seed;
    return good;
}

static enum oa_error pack_data(struct call *call)
{
    static const char making[] =
        "train valid test seed min-length max-length alphabet values depth arguments pairs copies "
        "motif noise noise-words";
    struct oa_pack_files r = { .files = flag_value(call, "data"),
                               .tokenizer = flag_value(call, "tokenizer"),
                               .documents = flag_value(call, "documents"),
                               .column = flag_value(call, "column"),
                               .end = flag_value(call, "end") };
    const char *folder = flag_value(call, "out");
    long tokens = 0;
    if (!allow_none(call, making, "'data pack' packs texts that exist"))
        return OA_ARGUMENT;
    if (!r.files || !r.tokenizer || !folder)
        return wrong_use(call, "data pack needs --data FILES, --tokenizer T and --out FOLDER");
    if (!flag_number(call, "shard-tokens", 1, LONG_MAX, &tokens))
        return OA_ARGUMENT;
    r.shard_tokens = (uint64_t)tokens;
    return oa_pack(call->context, &r, folder, &call->out);
}

static enum oa_error dedup_data(struct call *call)
{
    static const char others[] = "train valid test seed min-length max-length alphabet values "
                                 "depth arguments tokenizer end shard-tokens";
    struct oa_dedup_files r = { .files = flag_value(call, "data"),
                                .documents = flag_value(call, "documents"),
                                .column = flag_value(call, "column") };
    const char *near = flag_value(call, "near");
    char *end;
    long shingle = 0, memory = 0;
    if (!allow_none(call, others, "'data dedup' finds duplicates among texts that exist"))
        return OA_ARGUMENT;
    r.near = strtod(near, &end);
    if (end == near || *end || !(r.near >= 0 && r.near <= 1))
        return wrong_use(call, "--near is \"%.40s\"; give a number from 0 to 1", near);
    if (!r.files)
        return wrong_use(call, "data dedup needs --data FILES");
    if (!flag_number(call, "shingle", 1, 32, &shingle) ||
        !flag_number(call, "memory", 1, LONG_MAX >> 20, &memory))
        return OA_ARGUMENT;
    r.shingle = (int)shingle;
    r.memory = (uint64_t)memory << 20;
    return oa_dedup(call->context, &r, flag_value(call, "out"), &call->out);
}

static enum oa_error run_data(struct call *call)
{
    static const char packing[] = "tokenizer end shard-tokens", finding[] = "near shingle memory",
                      reading[] = "data documents column";
    struct oa_data_request r = { .task = NULL };
    if (!want_words(call, 1, 1, "a task, 'pack', 'dedup' or 'list'"))
        return OA_ARGUMENT;
    if (strcmp(call->word[0], "pack") == 0)
        return allow_none(call, finding, "only 'data dedup' finds duplicates") ? pack_data(call)
                                                                               : OA_ARGUMENT;
    if (strcmp(call->word[0], "dedup") == 0)
        return dedup_data(call);
    if (!allow_none(call, packing, "only 'data pack' packs texts") ||
        !allow_none(call, finding, "only 'data dedup' finds duplicates") ||
        !allow_none(call, reading, "only 'data pack' and 'data dedup' read texts"))
        return OA_ARGUMENT;
    if (strcmp(call->word[0], "list") == 0) {
        static const char making[] =
            "out train valid test seed min-length max-length alphabet values depth arguments pairs "
            "copies motif noise noise-words";
        if (!allow_none(call, making, "'data list' writes nothing"))
            return OA_ARGUMENT;
        return oa_data_list(call->context, &call->out);
    }
    r.task = call->word[0];
    const char *folder = flag_value(call, "out");
    if (!folder)
        return wrong_use(call, "data needs --out FOLDER");
    return read_data_request(call, &r) ? oa_data(call->context, &r, folder, &call->out)
                                       : OA_ARGUMENT;
}

static const struct flag flags[] = {
    { "out", "DIR", .help = "folder to create" },
    { "train", "N", .help = "training examples", .fallback = "96000" },
    { "valid", "N", .help = "validation examples", .fallback = "2000" },
    { "test", "N", .help = "test examples", .fallback = "2000" },
    { "seed", "N", .help = "seed of the examples", .fallback = "0" },
    { "min-length", "N",
      .help = "shortest input; unit and default depend on the task, see 'orthant data list'" },
    { "max-length", "N", .help = "longest input" },
    { "alphabet", "N", .help = "number of symbols; recall, scattered-recall: number of keys" },
    { "values", "N", .help = "recall, scattered-recall: number of values" },
    { "depth", "N", .help = "listops: maximum depth of a tree" },
    { "arguments", "N", .help = "listops: maximum number of arguments of an operator" },
    { "pairs", "N",
      .help = "mqar, mqar-zoology, scattered-recall: keys with values in an example" },
    { "copies", "N", .help = "selective-copy: words to copy" },
    { "motif", "N", .help = "fuzzy-recall: maximum words of a key or a value" },
    { "noise", "N", .help = "noisy-recall: percent of the pairs that are noise" },
    { "noise-words", "N", .help = "noisy-recall: words of the noise" },
    { "data", "FILES",
      .help =
          "pack, dedup: text files separated by commas, patterns such as 'wiki/*.jsonl', or @LIST, "
          "a file with a name a line" },
    { "tokenizer", "T", .help = "pack: a tokenizer.json, or char, byte, bpe:N, word:N" },
    { "documents", "KIND",
      .help =
          "pack, dedup: what a document is: files, lines, json (an object per line); auto = json "
          "for *.jsonl, else files",
      .fallback = "auto" },
    { "column", "NAME", .help = "pack, dedup: member of a JSON object that has the text",
      .fallback = "text" },
    { "end", "TOKEN", .help = "pack: special token after each document; empty = none",
      .fallback = "<|endoftext|>" },
    { "shard-tokens", "N",
      .help = "pack: a shard ends with the first document that reaches so many tokens",
      .fallback = "67108864" },
    { "near", "S",
      .help = "dedup: minimum estimated Jaccard similarity of near duplicates; 0 = exact ones only",
      .fallback = "0.8" },
    { "shingle", "N", .help = "dedup: words of a shingle", .fallback = "5" },
    { "memory", "MIB", .help = "dedup: maximum memory of the search, in MiB", .fallback = "1024" },
    { .name = NULL },
};

const struct command command_data = {
    .name = "data",
    .sentence =
        "generates synthetic data sets (ListOps, copying, recall), packs texts into a corpus, or "
        "finds duplicates in them",
    .usage = "TASK --out FOLDER [--train N] [--valid N] [--test N] [--seed N] [--min-length N]...\n"
             "pack --data FILES --tokenizer T --out FOLDER [--documents KIND] [--column NAME]...\n"
             "dedup --data FILES [--out FOLDER] [--near S] [--shingle N] [--memory MIB]...\n"
             "list",
    .text =
        "'data TASK' generates a synthetic data set that tests what an attention can learn. "
        "'orthant data list' prints the rule of each task, its papers, and its options with "
        "defaults and ranges; docs/synthetic-data.md shows an example of each file.\n"
        "Classification (PART.tsv: label, tab, text): listops, the value of nested operations on "
        "digits, by default as in the Long Range Arena; parity and majority of bits.\n"
        "Sequence to sequence (PART.source, PART.target): copy, reverse, sort.\n"
        "Continuation (PART.tsv, and PART.txt with the answer as the last word of the line): "
        "induction, the symbol that followed an earlier occurrence of the last one; recall, the "
        "value of a key; scattered-recall, the same with filler between the pairs, so that keys "
        "cannot be found by their position.\n"
        "Targets of chosen words, for --task answer (PART.tsv: words, tab, a target or - for "
        "each): mqar and mqar-zoology, the values of several keys; MAD's context-recall, "
        "fuzzy-recall, noisy-recall, selective-copy and memorisation.\n"
        "PART is train, valid and test. All inputs of a data set are different. The same options "
        "give the same bytes, and validation and test examples do not depend on the number of "
        "training examples. data.json, with a checksum, records the contents. An existing data "
        "set is replaced when the new one is complete; a folder with anything else is refused.\n"
        "'data pack' tokenizes texts once, on all threads, into a folder for data.train, so that "
        "training starts at once and memory does not grow with the corpus. An interrupted packing "
        "is continued by the same command. docs/corpora.md describes the files.\n"
        "'data dedup' reports documents that equal an earlier one up to white space, and near "
        "duplicates by MinHash. With --out it writes the first of each as JSON Lines, which 'data "
        "pack' reads.",
    .examples =
        "$ orthant data listops --out listops\n"
        "$ orthant data recall --min-length 8 --max-length 32 --alphabet 100 --values 100 "
        "--out recall\n"
        "$ orthant data copy --train 10000 --valid 500 --test 500 --max-length 20 --seed 7 "
        "--out copy\n"
        "$ orthant data mqar --max-length 128 --pairs 8 --train 100000 --out mqar\n"
        "$ orthant data pack --data 'wiki/*.jsonl.gz' --tokenizer tokenizer.json --out corpus\n"
        "$ orthant data dedup --data 'wiki/*.jsonl.gz' --out wiki-dedup\n"
        "$ orthant data list",
    .flags = flags,
    .see = "train compare tokenizer",
    .run = run_data,
};
