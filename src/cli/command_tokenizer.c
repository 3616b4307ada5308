/* SPDX-License-Identifier: Apache-2.0
 * orthant tokenizer train | encode | decode. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --text, or the file of --data, or standard input; *text is freed by the caller. */
static enum oa_error take_text(struct call *call, char **text, size_t *length)
{
    const char *given = flag_value(call, "text"), *path = flag_value(call, "data");
    *text = NULL;
    if (given && path)
        return wrong_use(call, "give --text or --data, not both");
    if (given) {
        *length = strlen(given);
        *text = memcpy(want_memory(*length + 1, 1), given, *length);
    } else {
        *text = read_input(call, path, length);
    }
    return stop_asked() ? OA_INTERRUPTED : *text ? OA_OK : OA_IO;
}

static enum oa_error encode_given_text(struct call *call)
{
    char *text;
    size_t length;
    if (!want_words(call, 2, 2, "'encode' and a tokenizer.json"))
        return OA_ARGUMENT;
    enum oa_error e = take_text(call, &text, &length);
    const char *pair = flag_value(call, "pair");
    if (e == OA_OK && (pair || flag_given(call, "special")))
        e = oa_encode_with_specials(call->context, call->word[1], text, length, pair, &call->out);
    else if (e == OA_OK)
        e = oa_encode(call->context, call->word[1], text, length, &call->out);
    free(text);
    return e;
}

/* Numbers with white space between; -1 after an error was printed. */
static long parse_ids(struct call *call, const char *text, size_t length, int32_t *ids)
{
    long count = 0;
    for (const char *s = text, *end = text + length; s < end;) {
        char *after;
        s += strspn(s, " \t\r\n");
        if (s == end)
            break;
        errno = 0;
        long id = strtol(s, &after, 10);
        if (after == s || errno || id < 0 || id > INT32_MAX ||
            (*after && !strchr(" \t\r\n", *after))) {
            wrong_use(call, "\"%.20s\" is not a token id", s);
            return -1;
        }
        ids[count++] = (int32_t)id;
        s = after;
    }
    return count;
}

static enum oa_error decode_ids(struct call *call)
{
    char *text;
    size_t length;
    if (!want_words(call, 2, 2, "'decode' and a tokenizer.json"))
        return OA_ARGUMENT;
    enum oa_error e = take_text(call, &text, &length);
    int32_t *ids = e == OA_OK ? want_memory(length / 2 + 1, sizeof *ids) : NULL;
    if (e == OA_OK) {
        long count = parse_ids(call, text, length, ids);
        e = count < 0 ? OA_ARGUMENT
                      : oa_decode(call->context, call->word[1], ids, (size_t)count, &call->out);
    }
    free(ids);
    free(text);
    return e;
}

static enum oa_error run_tokenizer(struct call *call)
{
    const char *what = call->words ? call->word[0] : "";
    if (strcmp(what, "train") != 0 &&
        !allow_none(call, "kind out", "only 'tokenizer train' uses it"))
        return OA_ARGUMENT;
    if (strcmp(what, "encode") != 0 &&
        !allow_none(call, "pair special", "only 'tokenizer encode' uses it"))
        return OA_ARGUMENT;
    if (strcmp(what, "encode") == 0)
        return encode_given_text(call);
    if (strcmp(what, "decode") == 0)
        return decode_ids(call);
    if (strcmp(what, "train") == 0) {
        if (!want_words(call, 1, 1, "'train'") ||
            !allow_none(call, "text", "'tokenizer train' reads --data"))
            return OA_ARGUMENT;
        return oa_tokenizer_make(call->context, flag_value(call, "kind"), flag_value(call, "data"),
                                 flag_value(call, "out"), &call->out);
    }
    return wrong_use(call, "tokenizer needs one of train, encode and decode");
}

static const struct flag flags[] = {
    { "kind", "KIND", .help = "train: char, byte, bpe:N or word:N (N tokens)",
      .fallback = "bpe:1000" },
    { "data", "FILES",
      .help = "train: text files, separated by commas; encode, decode: file to read instead of "
              "standard input" },
    { "out", "FILE", .help = "train: file to write", .fallback = "tokenizer.json" },
    { "text", "TEXT", .help = "encode, decode: text to use instead of standard input" },
    { "special",
      .help =
          "encode: with the special tokens of the file's post_processor, e.g. [CLS] and [SEP]" },
    { "pair", "TEXT", .help = "encode: a second text after it, with special tokens" },
    { .name = NULL },
};

const struct command command_tokenizer = {
    .name = "tokenizer",
    .sentence = "trains a tokenizer, encodes text as token ids and decodes them",
    .usage = "train --data FILES [--kind KIND] [--out FILE]\n"
             "encode FILE [--text TEXT | --data FILE] [--special] [--pair TEXT]\n"
             "decode FILE [--text IDS | --data FILE]",
    .text =
        "Reads and writes tokenizer.json of the Hugging Face tokenizers library; reads models of "
        "SentencePiece (*.model, *.spm) as well. Token ids are separated by blanks. Of "
        "tokenizers that orthant trains, decode(encode(text)) is the text, byte for byte.",
    .examples =
        "$ orthant tokenizer train --kind bpe:2000 --data data/tinyshakespeare.txt --out t.json\n"
        "$ orthant tokenizer encode t.json --text \"To be, or not\"\n"
        "$ orthant tokenizer encode t.json < some.txt | orthant tokenizer decode t.json",
    .flags = flags,
    .see = "train",
    .run = run_tokenizer,
};
