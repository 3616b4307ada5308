/* SPDX-License-Identifier: Apache-2.0
 *
 * Text → words, before BPE: regular expressions applied one after the other, each to the words of the one before.
 * Matches and the stretches between them are words ("Isolated"), so no byte is lost.
 *
 * The patterns of tokenizer.json are spelt for Oniguruma; PCRE2 reads the same syntax as far as tokenizers use it, with
 * two differences that are written out here: its \s takes in U+180E, which Unicode no longer counts as white space, and
 * its letters and digits are those of the Unicode version that it was built for. Only valid UTF-8 is shown to PCRE2
 * (checked once, not at each match, which would make the time quadratic); each maximal stretch of other bytes is a word
 * of its own. Cost: linear in the text for the patterns in use.
 */
#include "tokenizers/tokenizer_parts.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* "Language Models are Unsupervised Multitask Learners", Radford et al. 2019 (the code that came with it). Its \p{L}+
 * is spelt (?:[A-Za-z]++|\p{L})++, which matches the same and halves the time for English. */
const char oa_gpt2_pattern[] = "'s|'t|'re|'ve|'m|'ll|'d| ?(?:[A-Za-z]++|\\p{L})++| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"
                               "\\s+(?!\\S)|\\s+";

struct oa_pattern {
    pcre2_code *code;
    pcre2_match_data *match;
};

void oa_splitter_init(struct oa_splitter *s, oa_context *c)
{
    *s = (struct oa_splitter){ .context = c };
}

void oa_splitter_free(struct oa_splitter *s)
{
    for (int i = 0; i < s->count; i++) {
        pcre2_match_data_free(s->pattern[i].match);
        pcre2_code_free(s->pattern[i].code);
    }
    oa_free(s->pattern);
    oa_splitter_init(s, s->context);
}

/* ---- patterns ------------------------------------------------------------------------------------------------ */

#define SPACE_RANGES "\\t-\\r\\x{85}\\p{Z}"

/* Letters and numbers that Unicode 15, 15.1 and 16 added to version 14, the one of PCRE2 10.42: with them one text has
 * the same words whatever PCRE2 is installed, and the same as with Hugging Face tokenizers 0.23. */
#define LETTER_RANGES                                                                                                  \
    "\\p{L}\\x{1C89}-\\x{1C8A}\\x{A7CB}-\\x{A7CD}\\x{A7DA}-\\x{A7DC}\\x{105C0}-\\x{105F3}"                             \
    "\\x{10D4A}-\\x{10D65}\\x{10D6F}-\\x{10D85}\\x{10EC2}-\\x{10EC4}\\x{1123F}-\\x{11240}"                             \
    "\\x{11380}-\\x{11389}\\x{1138B}\\x{1138E}\\x{11390}-\\x{113B5}\\x{113B7}\\x{113D1}\\x{113D3}"                     \
    "\\x{11BC0}-\\x{11BE0}\\x{11F02}\\x{11F04}-\\x{11F10}\\x{11F12}-\\x{11F33}\\x{1342F}\\x{13441}-\\x{13446}"         \
    "\\x{13460}-\\x{143FA}\\x{16100}-\\x{1611D}\\x{16D40}-\\x{16D6C}\\x{18CFF}\\x{1B132}\\x{1B155}"                    \
    "\\x{1DF25}-\\x{1DF2A}\\x{1E030}-\\x{1E06D}\\x{1E4D0}-\\x{1E4EB}\\x{1E5D0}-\\x{1E5ED}\\x{1E5F0}\\x{2B739}"         \
    "\\x{2EBF0}-\\x{2EE5D}\\x{31350}-\\x{323AF}"
#define NUMBER_RANGES                                                                                                  \
    "\\p{N}\\x{10D40}-\\x{10D49}\\x{116D0}-\\x{116E3}\\x{11BF0}-\\x{11BF9}\\x{11F50}-\\x{11F59}"                       \
    "\\x{16130}-\\x{16139}\\x{16D70}-\\x{16D79}\\x{1CCF0}-\\x{1CCF9}\\x{1D2C0}-\\x{1D2D3}"                             \
    "\\x{1E4F0}-\\x{1E4F9}\\x{1E5F1}-\\x{1E5FA}"

/* Escapes that are written out, as members of a class. */
static const struct escape {
    const char *spelt, *ranges;
    bool negated;
} escapes[] = {
    { "\\s", SPACE_RANGES, false },    { "\\S", SPACE_RANGES, true },      { "\\p{L}", LETTER_RANGES, false },
    { "\\P{L}", LETTER_RANGES, true }, { "\\p{N}", NUMBER_RANGES, false }, { "\\P{N}", NUMBER_RANGES, true },
};

/* Writes the escape at p; returns its length. Inside a class a negated one cannot be written out and stays. */
static size_t translate_escape(const char *p, bool inside, struct oa_text *out)
{
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
        const struct escape *e = &escapes[i];
        size_t n = strlen(e->spelt);
        if (strncmp(p, e->spelt, n) != 0 || (inside && e->negated))
            continue;
        oa_text_printf(out, inside ? "%s" : e->negated ? "[^%s]" : "[%s]", e->ranges);
        return n;
    }
    oa_text_add(out, p, 2);
    return 2;
}

static enum oa_error translate(oa_context *c, const char *where, const char *pattern, struct oa_text *out)
{
    bool inside = false; /* of a [class] */
    for (const char *p = pattern; *p; p++) {
        if (*p == '\\' && p[1]) {
            p += translate_escape(p, inside, out) - 1;
            continue;
        }
        if (inside && (*p == '[' || (*p == '&' && p[1] == '&')) && p[1] != ':')
            return oa_fail(c, OA_UNSUPPORTED, "%s: pattern \"%s\" has a class inside a class at byte %zu: not read",
                           where, pattern, (size_t)(p - pattern));
        if (*p == '[' || *p == ']')
            inside = *p == '[' || (inside && p[-1] == '[');
        oa_text_add(out, p, 1);
    }
    return oa_status(c) == OA_NO_MEMORY ? OA_NO_MEMORY : OA_OK;
}

static enum oa_error compile(oa_context *c, const char *where, const char *pattern, size_t length,
                             struct oa_pattern *out)
{
    int error;
    PCRE2_SIZE place;
    out->code = pcre2_compile((PCRE2_SPTR)pattern, length, PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error,
                              &place, NULL);
    if (!out->code) {
        char sentence[256];
        pcre2_get_error_message(error, (PCRE2_UCHAR *)sentence, sizeof sentence);
        return oa_fail(c, OA_UNSUPPORTED, "%s: pattern \"%s\" cannot be used: %s (byte %zu)", where, pattern, sentence,
                       (size_t)place);
    }
    pcre2_jit_compile(out->code, PCRE2_JIT_COMPLETE); /* where there is no JIT, matching is slower and the same */
    out->match = pcre2_match_data_create_from_pattern(out->code, NULL);
    return out->match ? OA_OK : oa_fail(c, OA_NO_MEMORY, "out of memory for the matches of \"%s\"", pattern);
}

enum oa_error oa_splitter_add(struct oa_splitter *s, const char *where, const char *pattern)
{
    size_t bytes = (size_t)s->count * sizeof *s->pattern;
    struct oa_pattern *grown = oa_grow(s->context, s->pattern, bytes, bytes + sizeof *s->pattern);
    if (!grown)
        return OA_NO_MEMORY;
    s->pattern = grown;
    struct oa_text text;
    oa_text_init(&text, s->context);
    enum oa_error error = translate(s->context, where, pattern, &text);
    if (error == OA_OK)
        error = compile(s->context, where, text.s ? text.s : "", text.length, &s->pattern[s->count]);
    oa_text_free(&text);
    s->count++;
    return error;
}

/* ---- splitting ----------------------------------------------------------------------------------------------- */

struct split {
    const struct oa_splitter *s;
    oa_word_sink *sink;
    void *argument;
};

/* The next match of a level at or after `from`; false when there is none or after a recorded failure. */
static bool next_match(const struct split *job, int level, const char *text, size_t n, size_t from, size_t *start,
                       size_t *stop)
{
    const struct oa_pattern *p = &job->s->pattern[level];
    int found = pcre2_match(p->code, (PCRE2_SPTR)text, n, from, PCRE2_NO_UTF_CHECK, p->match, NULL);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH) {
        char sentence[256];
        pcre2_get_error_message(found, (PCRE2_UCHAR *)sentence, sizeof sentence);
        oa_fail(job->s->context, OA_UNSUPPORTED, "splitting %zu bytes of text into words failed at byte %zu: %s", n,
                from, sentence);
    }
    if (found < 0)
        return false;
    const PCRE2_SIZE *place = pcre2_get_ovector_pointer(p->match);
    *start = place[0];
    *stop = place[1];
    return *stop >= *start && *start >= from;
}

static size_t character_length(const char *text, size_t n)
{
    uint32_t code;
    int length = oa_utf8_decode(text, n, &code);
    return length ? (size_t)length : 1;
}

/* Valid UTF-8 through the patterns from `level` on; *used counts the bytes whose words end at or before `settled`. */
static enum oa_error split_level(const struct split *job, int level, const char *text, size_t n, size_t settled,
                                 size_t *used)
{
    size_t done = 0, from = 0, start, stop, inner;
    if (level == job->s->count) {
        done = n && n <= settled ? n : 0;
        *used = done;
        return done ? job->sink(job->argument, text, n) : OA_OK;
    }
    while (from < n && next_match(job, level, text, n, from, &start, &stop) && stop <= settled) {
        if (start > done)
            OA_TRY(split_level(job, level + 1, text + done, start - done, start - done, &inner));
        if (stop > start)
            OA_TRY(split_level(job, level + 1, text + start, stop - start, stop - start, &inner));
        done = stop;
        from = stop > start ? stop : stop + (stop < n ? character_length(text + stop, n - stop) : 1);
    }
    OA_TRY(oa_status(job->s->context));
    if (settled >= n && done < n) {
        OA_TRY(split_level(job, level + 1, text + done, n - done, n - done, &inner));
        done = n;
    }
    *used = done;
    return OA_OK;
}

enum oa_error oa_splitter_settled(const struct oa_splitter *s, const char *text, size_t length, size_t settled,
                                  oa_word_sink *sink, void *argument, size_t *consumed)
{
    struct split job = { s, sink, argument };
    size_t at = 0;
    while (at < settled) {
        size_t valid = oa_utf8_valid_length(text + at, length - at), used = 0;
        if (valid)
            OA_TRY(split_level(&job, 0, text + at, valid, settled - at, &used));
        at += used;
        if (used < valid)
            break;
        size_t invalid = oa_utf8_invalid_length(text + at, length - at);
        if (invalid > settled - at)
            break;
        if (invalid)
            OA_TRY(sink(argument, text + at, invalid));
        at += invalid;
    }
    *consumed = at;
    return OA_OK;
}

enum oa_error oa_splitter_words(const struct oa_splitter *s, const char *text, size_t length, oa_word_sink *sink,
                                void *argument)
{
    size_t consumed;
    return oa_splitter_settled(s, text, length, length, sink, argument, &consumed);
}
