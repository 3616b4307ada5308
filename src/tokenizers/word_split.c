/* SPDX-License-Identifier: Apache-2.0
 * Text → words, before BPE: a sequence of splits, each applied to the words of the previous one. A
 * split makes words of the matches of a regular expression (regex.c) and the text between them, by
 * its behaviour; only OA_SPLIT_REMOVED drops bytes.
 *
 * PCRE2 gets only valid UTF-8, checked once, since a check per match would be quadratic; each
 * maximal invalid stretch is a word. Linear in the text for the patterns in use. Patterns are not
 * trusted: searches have limits on steps, memory and time, and honour stop requests. */
#include "tokenizers/tokenizer_parts.h"

#include "tokenizers/regex.h"

#include <time.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* "Language Models are Unsupervised Multitask Learners", Radford et al. 2019 (the code that came
 * with it). Its \p{L}+ is spelt (?:[A-Za-z]++|\p{L})++, which matches the same and halves the time
 * for English. */
const char oa_gpt2_pattern[] = "'s|'t|'re|'ve|'m|'ll|'d| ?(?:[A-Za-z]++|\\p{L})++| ?\\p{N}+| "
                               "?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

enum {
    MOST_SPLITS = 64,       /* each is a level of recursion */
    MOST_STEPS = 10000000,  /* of a search: PCRE2's match limit */
    MOST_KIBIBYTES = 65536, /* of a search without JIT */
    JIT_STACK = 4 << 20,
    WINDOW = 1024, /* starting positions between checks of time and stop requests */
};

struct oa_pattern {
    pcre2_code *code; /* NULL: no search, the whole text is one word */
    pcre2_match_data *match;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack;
    enum oa_split_behaviour behaviour;
    bool invert;          /* swaps matches and the text between them */
    bool prefix_space;    /* prepends a blank to texts without one */
    bool from_start;      /* has \G: no windows */
    struct oa_text space; /* of Metaspace: what blanks become; empty: another split */
    enum oa_prepend prepend;
};

void oa_splitter_init(struct oa_splitter *s, oa_context *c)
{
    *s = (struct oa_splitter){ .context = c };
}

void oa_splitter_free(struct oa_splitter *s)
{
    for (int i = 0; i < s->count; i++) {
        pcre2_match_data_free(s->pattern[i].match);
        pcre2_match_context_free(s->pattern[i].limits);
        pcre2_jit_stack_free(s->pattern[i].stack);
        pcre2_code_free(s->pattern[i].code);
        oa_text_free(&s->pattern[i].space);
    }
    oa_free(s->pattern);
    oa_splitter_init(s, s->context);
}

/* ---- patterns ---- */

static enum oa_error set_limits(oa_context *c, struct oa_pattern *out)
{
    out->match = pcre2_match_data_create_from_pattern(out->code, NULL);
    out->limits = pcre2_match_context_create(NULL);
    if (!out->match || !out->limits)
        return oa_fail(c, OA_NO_MEMORY, "out of memory for the matches of a pattern");
    pcre2_set_match_limit(out->limits, MOST_STEPS);
    pcre2_set_heap_limit(out->limits, MOST_KIBIBYTES);
    if (pcre2_jit_compile(out->code, PCRE2_JIT_COMPLETE) ==
        0) { /* JIT is optional: only speed depends on it */
        out->stack = pcre2_jit_stack_create(32768, JIT_STACK, NULL);
        pcre2_jit_stack_assign(out->limits, NULL, out->stack);
    }
    return OA_OK;
}

static enum oa_error compile(oa_context *c, const char *where, const char *pattern,
                             const struct oa_text *translated, struct oa_pattern *out)
{
    int error;
    PCRE2_SIZE place;
    char sentence[256];
    pcre2_compile_context *lines = pcre2_compile_context_create(NULL);
    if (!lines)
        return oa_fail(c, OA_NO_MEMORY, "out of memory for a pattern");
    pcre2_set_newline(lines, PCRE2_NEWLINE_LF);
    out->code = pcre2_compile((PCRE2_SPTR)(translated->s ? translated->s : ""), translated->length,
                              PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT, &error,
                              &place, lines);
    pcre2_compile_context_free(lines);
    if (out->code)
        return set_limits(c, out);
    pcre2_get_error_message(error, (PCRE2_UCHAR *)sentence, sizeof sentence);
    return oa_fail(c, OA_UNSUPPORTED, "%s: pattern \"%.200s\" cannot be used: %s", where, pattern,
                   sentence);
}

enum oa_error oa_splitter_add_split(struct oa_splitter *s, const char *where, const char *pattern,
                                    enum oa_split_behaviour behaviour, bool invert)
{
    size_t bytes = (size_t)s->count * sizeof *s->pattern;
    if (s->count == MOST_SPLITS)
        return oa_fail(s->context, OA_UNSUPPORTED, "%s: a sequence of more than %d pre_tokenizers",
                       where, MOST_SPLITS);
    struct oa_pattern *grown = oa_grow(s->context, s->pattern, bytes, bytes + sizeof *s->pattern);
    if (!grown)
        return OA_NO_MEMORY;
    s->pattern = grown;
    struct oa_pattern *p = &grown[s->count++];
    *p = (struct oa_pattern){ .behaviour = behaviour,
                              .invert = invert,
                              .prefix_space = s->prefix_space };
    s->prefix_space = false;
    if (!pattern)
        return OA_OK;
    struct oa_text translated;
    oa_text_init(&translated, s->context);
    enum oa_error error =
        oa_regex_translate(s->context, where, pattern, &translated, &p->from_start);
    if (error == OA_OK)
        error = compile(s->context, where, pattern, &translated, p);
    oa_text_free(&translated);
    return error;
}

enum oa_error oa_splitter_add(struct oa_splitter *s, const char *where, const char *pattern)
{
    return oa_splitter_add_split(s, where, pattern, OA_SPLIT_ISOLATED, false);
}

enum oa_error oa_splitter_add_metaspace(struct oa_splitter *s, const char *where, const char *space,
                                        enum oa_prepend prepend, bool split)
{
    char pattern[32];
    uint32_t code = 0;
    (void)oa_utf8_decode(space, strlen(space), &code);
    snprintf(pattern, sizeof pattern, "\\x{%X}", (unsigned)code);
    OA_TRY(
        oa_splitter_add_split(s, where, split ? pattern : NULL, OA_SPLIT_MERGED_WITH_NEXT, false));
    struct oa_pattern *p = &s->pattern[s->count - 1];
    oa_text_init(&p->space, s->context);
    oa_text_add(&p->space, space, strlen(space));
    p->prepend = prepend;
    return oa_status(s->context);
}

/* ---- splitting ---- */

struct split {
    const struct oa_splitter *s;
    const char *beginning; /* of the input in the text of the current level; NULL: not in it */
    oa_word_sink *sink;
    void *argument;
    double began, most_seconds; /* CPU time of this thread; began < 0: not started */
};

static double thread_seconds(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) ? 0
                                                      : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Between windows of a search. */
static enum oa_error check_search(struct split *job, size_t n, size_t from)
{
    int signal = oa_stop_requested(job->s->context);
    double now = thread_seconds();
    if (signal)
        return oa_fail(job->s->context, OA_INTERRUPTED,
                       "stopped by signal %d while splitting text into words", signal);
    if (job->began < 0)
        job->began = now;
    if (now - job->began <= job->most_seconds)
        return OA_OK;
    return oa_fail(job->s->context, OA_UNSUPPORTED,
                   "splitting %zu bytes of text into words took %.0f s up to byte %zu: a pattern "
                   "of the tokenizer is too slow; use another tokenizer",
                   n, now - job->began, from);
}

static size_t byte_or_character(const char *text, size_t n)
{
    uint32_t code;
    int length = oa_utf8_decode(text, n, &code);
    return length ? (size_t)length : 1;
}

/* The first match at or after `from`; false: none, or a recorded error. */
static bool search_pattern(struct split *job, const struct oa_pattern *p, const char *text,
                           size_t n, size_t from, size_t *start, size_t *stop)
{
    for (size_t end = from + WINDOW; p->code; end = from + WINDOW) {
        pcre2_set_offset_limit(p->limits, p->from_start || end > n ? PCRE2_UNSET : end);
        int found = pcre2_match(p->code, (PCRE2_SPTR)text, n, from, PCRE2_NO_UTF_CHECK, p->match,
                                p->limits);
        if (found == PCRE2_ERROR_JIT_STACKLIMIT)
            found = pcre2_match(p->code, (PCRE2_SPTR)text, n, from,
                                PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, p->match, p->limits);
        if (found >= 0) {
            const PCRE2_SIZE *place = pcre2_get_ovector_pointer(p->match);
            *start = place[0];
            *stop = place[1];
            return *stop >= *start;
        }
        if (found != PCRE2_ERROR_NOMATCH) {
            char why[256];
            pcre2_get_error_message(found, (PCRE2_UCHAR *)why, sizeof why);
            oa_fail(job->s->context, OA_UNSUPPORTED,
                    "splitting %zu bytes of text into words failed at byte %zu: %s; a pattern of "
                    "the tokenizer is too complex: use another tokenizer",
                    n, from, why);
            return false;
        }
        if (p->from_start || end >= n || check_search(job, n, from) != OA_OK)
            return false;
        for (from = end + 1;
             from < n && ((uint8_t)text[from] & 0xc0) == 0x80;) /* skip the starts tried so far */
            from++;
    }
    return false;
}

/* The pending word of a level, which the next stretch may extend. */
struct joining {
    const struct oa_pattern *p;
    size_t start, stop;
    bool there, was_match;
};

static enum oa_error split_level(struct split *job, int level, const char *text, size_t n,
                                 size_t settled, size_t *used);

static enum oa_error hand_word(struct split *job, int level, const char *text, size_t start,
                               size_t stop)
{
    size_t used;
    return stop > start
               ? split_level(job, level + 1, text + start, stop - start, stop - start, &used)
               : OA_OK;
}

/* Handles the next stretch of a level: a match, or the text before one. */
static enum oa_error join_stretch(struct split *job, int level, struct joining *j, const char *text,
                                  size_t start, size_t stop, bool match)
{
    bool is = match != j->p->invert, joins = false;
    switch (j->p->behaviour) {
    case OA_SPLIT_ISOLATED:
        return hand_word(job, level, text, start, stop);
    case OA_SPLIT_REMOVED:
        return is ? OA_OK : hand_word(job, level, text, start, stop);
    case OA_SPLIT_MERGED_WITH_PREVIOUS:
        joins = is && !j->was_match;
        break;
    case OA_SPLIT_MERGED_WITH_NEXT:
        joins = !is && j->was_match;
        break;
    case OA_SPLIT_CONTIGUOUS:
        joins = is == j->was_match;
        break;
    }
    enum oa_error error =
        joins || !j->there ? OA_OK : hand_word(job, level, text, j->start, j->stop);
    j->start = joins && j->there ? j->start : start;
    j->stop = stop;
    j->there = true;
    j->was_match = is;
    return error;
}

/* The matches of a level, as the reference finds them: skips an empty match at the end of the last
 * one. *done: end of the text that was handled. */
static enum oa_error split_matches(struct split *job, int level, struct joining *j,
                                   const char *text, size_t n, size_t settled, size_t *done)
{
    size_t from = 0, last = SIZE_MAX, start, stop;
    while (from <= n && search_pattern(job, j->p, text, n, from, &start, &stop) &&
           stop <= settled) {
        if (start == stop && stop == last) {
            from += from < n ? byte_or_character(text + from, n - from) : 1;
            continue;
        }
        if (start > *done)
            OA_TRY(join_stretch(job, level, j, text, *done, start, false));
        OA_TRY(join_stretch(job, level, j, text, start, stop, true));
        *done = from = last = stop;
    }
    OA_TRY(oa_status(job->s->context));
    if (settled >= n && *done < n) {
        OA_TRY(join_stretch(job, level, j, text, *done, n, false));
        *done = n;
    }
    return j->there ? hand_word(job, level, text, j->start, j->stop) : OA_OK;
}

/* The text of a level that changes it: with a blank before it, or with Metaspace's blanks. */
static void rewrite_text(const struct split *job, const struct oa_pattern *p, const char *text,
                         size_t n, struct oa_text *out)
{
    static const struct oa_text blank = { .s = (char *)" ", .length = 1 };
    const struct oa_text *space = p->space.length ? &p->space : &blank;
    bool begins = n >= space->length && memcmp(text, space->s, space->length) == 0;
    bool prepend = !p->space.length || p->prepend == OA_PREPEND_ALWAYS ||
                   (p->prepend == OA_PREPEND_FIRST && text == job->beginning);
    if (prepend && !begins && *text != ' ')
        oa_text_add(out, space->s, space->length);
    oa_replace_literal(text, n, &blank, space, out);
}

static enum oa_error split_rewritten(struct split *job, int level, struct joining *j,
                                     const char *text, size_t n)
{
    struct oa_text other;
    const char *beginning = job->beginning;
    size_t done = 0;
    oa_text_init(&other, job->s->context);
    rewrite_text(job, j->p, text, n, &other);
    job->beginning = text == beginning ? other.s : NULL;
    enum oa_error error = oa_status(job->s->context);
    if (error == OA_OK)
        error = split_matches(job, level, j, other.s, other.length, other.length, &done);
    oa_text_free(&other);
    job->beginning = beginning;
    return error;
}

/* Valid UTF-8 through the splits from `level` on; *used counts the bytes whose words end at or
 * before `settled`, which is below n only for splits that isolate. */
static enum oa_error split_level(struct split *job, int level, const char *text, size_t n,
                                 size_t settled, size_t *used)
{
    *used = 0;
    if (level == job->s->count) {
        *used = n && n <= settled ? n : 0;
        return *used ? job->sink(job->argument, text, n) : OA_OK;
    }
    struct joining j = { .p = &job->s->pattern[level] };
    if (n && ((j.p->prefix_space && *text != ' ') || j.p->space.length)) {
        *used = n;
        return split_rewritten(job, level, &j, text, n);
    }
    return split_matches(job, level, &j, text, n, settled, used);
}

enum oa_error oa_splitter_settled(const struct oa_splitter *s, const char *text, size_t length,
                                  size_t settled, oa_word_sink *sink, void *argument,
                                  size_t *consumed)
{
    struct split job = {
        s, s->inside ? NULL : text, sink, argument, -1, 10 + 1e-5 * (double)length
    };
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

enum oa_error oa_splitter_words(const struct oa_splitter *s, const char *text, size_t length,
                                oa_word_sink *sink, void *argument)
{
    size_t consumed;
    return oa_splitter_settled(s, text, length, length, sink, argument, &consumed);
}

enum oa_error oa_splitter_replace(const struct oa_splitter *s, const char *text, size_t length,
                                  const struct oa_text *content, struct oa_text *out)
{
    struct split job = { .s = s, .began = -1, .most_seconds = 10 + 1e-5 * (double)length };
    size_t from = 0, done = 0, last = SIZE_MAX, start, stop;
    while (from <= length &&
           search_pattern(&job, &s->pattern[0], text, length, from, &start, &stop)) {
        if (start == stop && stop == last) {
            from += from < length ? byte_or_character(text + from, length - from) : 1;
            continue;
        }
        oa_text_add(out, text + done, start - done);
        oa_text_add(out, content->s, content->length);
        done = from = last = stop;
    }
    oa_text_add(out, text + done, length - done);
    return oa_status(s->context);
}

bool oa_splitter_streams(const struct oa_splitter *s)
{
    return s->count == 1 && s->pattern[0].behaviour == OA_SPLIT_ISOLATED && !s->pattern[0].invert &&
           !s->pattern[0].prefix_space && s->pattern[0].space.length == 0;
}
