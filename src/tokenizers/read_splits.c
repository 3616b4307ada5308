/* SPDX-License-Identifier: Apache-2.0
 * `pre_tokenizer` of a tokenizer.json → splits (word_split.c). */
#include "tokenizers/tokenizer_load.h"

static enum oa_error read_byte_level(struct oa_tokenizer_file *l, const json_t *level)
{
    bool use_regex = true, prefix_space = true; /* the defaults of the format */
    OA_TRY(oa_read_flag(l, level, "add_prefix_space", &prefix_space));
    OA_TRY(oa_read_flag(l, level, "use_regex", &use_regex));
    l->tok->splitter.prefix_space = l->tok->prefix_space = prefix_space;
    return use_regex || prefix_space
               ? oa_splitter_add_split(&l->tok->splitter, l->name,
                                       use_regex ? oa_gpt2_pattern : NULL, OA_SPLIT_ISOLATED, false)
               : OA_OK;
}

static enum oa_error add_literal_split(struct oa_tokenizer_file *l, const char *literal,
                                       enum oa_split_behaviour behaviour, bool invert)
{
    struct oa_text quoted;
    oa_text_init(&quoted, l->context);
    for (const char *s = literal; *s; s++) { /* \\Q…\\E would end at the first \\E */
        oa_text_add(&quoted, "\\", strchr("\\^$.[]|()?*+{}#-", *s) != NULL);
        oa_text_add(&quoted, s, 1);
    }
    enum oa_error error = oa_status(l->context) == OA_NO_MEMORY ? OA_NO_MEMORY : OA_OK;
    if (error == OA_OK)
        error = oa_splitter_add_split(&l->tok->splitter, l->name, quoted.s ? quoted.s : "",
                                      behaviour, invert);
    oa_text_free(&quoted);
    return error;
}

static enum oa_error read_behaviour(const struct oa_tokenizer_file *l, const json_t *split,
                                    const char *fallback, enum oa_split_behaviour *out)
{
    static const char *const names[] = { "Isolated", "Removed", "MergedWithPrevious",
                                         "MergedWithNext", "Contiguous" };
    const char *behavior = oa_text_member(split, "behavior");
    if (!behavior && !oa_part_member(split, "behavior"))
        behavior = fallback;
    for (int i = 0; behavior && i < 5; i++)
        if (strcmp(behavior, names[i]) == 0) {
            *out = (enum oa_split_behaviour)i;
            return OA_OK;
        }
    return oa_tokenizer_malformed(
        l, "behavior of a Split",
        "one of Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous");
}

static enum oa_error read_split(struct oa_tokenizer_file *l, const json_t *split)
{
    const json_t *pattern = oa_part_member(split, "pattern");
    const char *regex = oa_text_member(pattern, "Regex"),
               *literal = oa_text_member(pattern, "String");
    enum oa_split_behaviour behaviour;
    bool invert = false;
    OA_TRY(oa_read_flag(l, split, "invert", &invert));
    OA_TRY(read_behaviour(l, split, NULL, &behaviour));
    if (regex)
        return oa_splitter_add_split(&l->tok->splitter, l->name, regex, behaviour, invert);
    if (literal)
        return add_literal_split(l, literal, behaviour, invert);
    return oa_tokenizer_malformed(l, "pattern of a Split", "{\"Regex\": …} or {\"String\": …}");
}

static enum oa_error add_punctuation(struct oa_tokenizer_file *l, enum oa_split_behaviour behaviour)
{
    struct oa_text set;
    oa_text_init(&set, l->context);
    oa_add_punctuation_set(&set);
    enum oa_error e =
        set.s ? oa_splitter_add_split(&l->tok->splitter, l->name, set.s, behaviour, false)
              : OA_NO_MEMORY;
    oa_text_free(&set);
    return e;
}

static enum oa_error add_white_space(struct oa_tokenizer_file *l)
{
    return oa_splitter_add_split(&l->tok->splitter, l->name, "\\s+", OA_SPLIT_REMOVED, false);
}

enum oa_error oa_read_space(const struct oa_tokenizer_file *l, const json_t *metaspace,
                            const char *part, const char **space)
{
    uint32_t code;
    *space = oa_text_member(metaspace, "replacement");
    size_t n = *space ? strlen(*space) : 0;
    if (n && oa_utf8_decode(*space, n, &code) == (int)n)
        return OA_OK;
    return oa_tokenizer_malformed(l, part, "one with a \"replacement\" of one character");
}

enum oa_error oa_read_prepend_scheme(const struct oa_tokenizer_file *l, const json_t *metaspace,
                                     const char *part, enum oa_prepend *scheme)
{
    static const char *const names[] = { "never", "always", "first" };
    const char *given = oa_text_member(metaspace, "prepend_scheme");
    bool prefix = true; /* of files before tokenizers 0.15 */
    OA_TRY(oa_read_flag(l, metaspace, "add_prefix_space", &prefix));
    *scheme = prefix ? OA_PREPEND_ALWAYS : OA_PREPEND_NEVER;
    if (!oa_part_member(metaspace, "prepend_scheme"))
        return OA_OK;
    for (int i = 0; given && i < 3; i++)
        if (strcmp(given, names[i]) == 0) {
            *scheme = (enum oa_prepend)i;
            return OA_OK;
        }
    return oa_tokenizer_malformed(l, part, "one with a \"prepend_scheme\" never, always or first");
}

static enum oa_error read_metaspace(struct oa_tokenizer_file *l, const json_t *metaspace)
{
    static const char part[] = "pre_tokenizer Metaspace";
    const char *space;
    enum oa_prepend scheme;
    bool split = true;
    OA_TRY(oa_read_space(l, metaspace, part, &space));
    OA_TRY(oa_read_prepend_scheme(l, metaspace, part, &scheme));
    OA_TRY(oa_read_flag(l, metaspace, "split", &split));
    return oa_splitter_add_metaspace(&l->tok->splitter, l->name, space, scheme, split);
}

static enum oa_error read_one_split(struct oa_tokenizer_file *l, const json_t *pre,
                                    const char *type, bool *known)
{
    *known = true;
    if (strcmp(type, "Split") == 0)
        return read_split(l, pre);
    if (strcmp(type, "Digits") == 0) {
        bool individual = false;
        OA_TRY(oa_read_flag(l, pre, "individual_digits", &individual));
        /* Unicode 17, as the reference: two more blocks of digits than in patterns */
        return oa_splitter_add_split(&l->tok->splitter, l->name,
                                     "[\\p{N}\\x{11DE0}-\\x{11DE9}\\x{16FF4}-\\x{16FF6}]",
                                     individual ? OA_SPLIT_ISOLATED : OA_SPLIT_CONTIGUOUS, false);
    }
    if (strcmp(type, "Metaspace") == 0)
        return read_metaspace(l, pre);
    if (strcmp(type, "Punctuation") == 0) {
        enum oa_split_behaviour behaviour;
        OA_TRY(read_behaviour(l, pre, "Isolated", &behaviour));
        return add_punctuation(l, behaviour);
    }
    if (strcmp(type, "CharDelimiterSplit") == 0) {
        const char *delimiter = oa_text_member(pre, "delimiter");
        if (!delimiter)
            return oa_tokenizer_malformed(l, "delimiter of CharDelimiterSplit", "a character");
        return add_literal_split(l, delimiter, OA_SPLIT_REMOVED, false);
    }
    if (strcmp(type, "WhitespaceSplit") == 0)
        return add_white_space(l);
    if (strcmp(type, "Whitespace") == 0)
        return oa_splitter_add_split(&l->tok->splitter, l->name,
                                     "[\\w\\x{200C}\\x{200D}]+|[^\\w\\s\\x{200C}\\x{200D}]+",
                                     OA_SPLIT_REMOVED, true);
    if (strcmp(type, "BertPreTokenizer") == 0) {
        OA_TRY(add_white_space(l));
        return add_punctuation(l, OA_SPLIT_ISOLATED);
    }
    *known = false;
    return OA_OK;
}

/* A pre-tokenizer, or a Sequence. ByteLevel must be the last one. */
static enum oa_error read_split_parts(struct oa_tokenizer_file *l, const json_t *pre, int depth,
                                      bool *bytes)
{
    const char *type;
    bool known;
    OA_TRY(oa_read_part_type(l, pre, "pre_tokenizer", &type));
    if (*bytes)
        return oa_tokenizer_unsupported(l, "pre_tokenizer", type, "ByteLevel must be the last one");
    *bytes = strcmp(type, "ByteLevel") == 0;
    if (*bytes)
        return read_byte_level(l, pre);
    OA_TRY(read_one_split(l, pre, type, &known));
    if (known)
        return OA_OK;
    const json_t *parts = oa_part_member(pre, "pretokenizers");
    if (strcmp(type, "Sequence") != 0 || depth == OA_MOST_NESTED)
        return oa_tokenizer_unsupported(
            l, "pre_tokenizer", type,
            "supported are ByteLevel, BertPreTokenizer, CharDelimiterSplit, Digits, Metaspace, "
            "Punctuation, Split, Whitespace, WhitespaceSplit and a Sequence, nested at most 8 "
            "deep");
    if (!json_is_array(parts))
        return oa_tokenizer_malformed(l, "pre_tokenizer.pretokenizers", "an array");
    for (size_t i = 0; i < json_array_size(parts); i++)
        OA_TRY(read_split_parts(l, json_array_get(parts, i), depth + 1, bytes));
    return OA_OK;
}

enum oa_error oa_read_splits(struct oa_tokenizer_file *l, const json_t *pre, bool *bytes)
{
    *bytes = false;
    return pre ? read_split_parts(l, pre, 0, bytes) : OA_OK;
}
