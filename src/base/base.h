/* SPDX-License-Identifier: Apache-2.0
 * base: errors, memory, threads, random streams, text, files, types, digests, options.
 *
 * Rules of the whole library: it never prints, never exits and has no mutable globals. A function
 * that can fail returns enum oa_error and records a message in the context (oa_fail); the first
 * failure remains recorded until it is cleared. Who creates an object frees it; arguments are
 * borrowed, and const unless written. */
#ifndef ORTHANT_BASE_H
#define ORTHANT_BASE_H

#include "orthant/orthant.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- errors ---- */

#if defined(__GNUC__)
#define OA_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define OA_PRINTF(text, first)
#endif

/* Records a failure and returns `code`. Only the first failure is recorded. Any thread. Message:
 * what was found, what was expected, what to do. Line ends in it, which come from names and values,
 * are escaped as \x0a. */
enum oa_error oa_fail(oa_context *c, enum oa_error code, const char *format, ...) OA_PRINTF(3, 4);
/* The same with an excerpt of the input, whole lines, after the message. */
enum oa_error oa_fail_with_excerpt(oa_context *c, enum oa_error code, const char *excerpt,
                                   const char *format, ...) OA_PRINTF(4, 5);
/* Turns a recorded OA_UNSUPPORTED into OA_ARGUMENT: the user asked for it by name. Returns
 * oa_status. */
enum oa_error oa_fail_as_argument(oa_context *c);
enum oa_error oa_status(const oa_context *c); /* OA_OK, or the code of the recorded failure */

/* Forwards a failure to the caller: the only macro of the project that hides control flow. */
#define OA_TRY(expression)                                                                         \
    do {                                                                                           \
        enum oa_error oa_try_code = (expression);                                                  \
        if (oa_try_code != OA_OK)                                                                  \
            return oa_try_code;                                                                    \
    } while (0)

/* One line to the caller's log callback, if any; level 0 = notice, 1 = progress, 2 = information.
 */
void oa_log(oa_context *c, int level, const char *format, ...) OA_PRINTF(3, 4);
/* The signal that requested a stop (SIGINT, SIGTERM), or 0. Long work polls it between steps. */
int oa_stop_requested(const oa_context *c);
/* Long computations call it between their parts, with nothing of theirs in a worker's scratch, so
 * that a server can do other work in between. Calls the function set for the context (NULL: none),
 * unless a failure is recorded. */
void oa_pause(oa_context *c);
void oa_context_on_pause(oa_context *c, void (*pause)(void *argument), void *argument);
/* `reserved` fields of public structs must be 0: they are for later versions. */
enum oa_error oa_check_reserved(oa_context *c, const char *structure, const long *reserved,
                                int count);

/* ---- memory ---- */

#define OA_ALIGN 64 /* bytes: a cache line and the widest vector */

/* Zeroed, OA_ALIGN-aligned memory, or NULL with OA_NO_MEMORY recorded. */
void *oa_alloc(oa_context *c, size_t bytes);
void *oa_alloc_raw(oa_context *c, size_t bytes); /* not zeroed */
/* Like realloc; the new part is zeroed. NULL: `old` is unchanged. */
void *oa_grow(oa_context *c, void *old, size_t old_bytes, size_t bytes);
void oa_free(void *memory);
char *oa_copy_text(oa_context *c, const char *text);
long oa_allocations(const oa_context *c); /* number of allocations so far, for tests */

/* Allocator of an arena's chunks when they are device memory (device.h). */
struct oa_memory_source {
    /* Aligned, not zeroed; NULL after a recorded failure. */
    void *(*allocate)(void *owner, size_t bytes);
    void (*release)(void *owner, void *memory);
    void (*spoil)(void *owner, void *memory, size_t bytes); /* fills it with NaN */
};

/* A bump allocator: a list of chunks that a reset merges into one, so that the second use of the
 * same size allocates nothing. A dry arena only counts and returns addresses that must not be
 * dereferenced: `plan` computes the memory of a step that way. */
struct oa_arena {
    oa_context *context;
    struct oa_chunk *chunks;               /* newest first */
    size_t used, peak;                     /* bytes in use; their maximum */
    bool dry, poison;                      /* poison: fill new memory with NaN (test builds) */
    const struct oa_memory_source *source; /* NULL: the host */
    void *owner;                           /* argument of the source's functions */
};
void oa_arena_init(struct oa_arena *a, oa_context *c, bool dry);
void oa_arena_init_from(struct oa_arena *a, oa_context *c, const struct oa_memory_source *source,
                        void *owner);
void oa_arena_free(struct oa_arena *a);
void oa_arena_reset(struct oa_arena *a);
/* Aligned, not zeroed; NULL after a recorded failure. */
void *oa_arena_take(struct oa_arena *a, size_t bytes);
/* Preallocates `bytes` in an unused arena; `peak` stays. */
void oa_arena_reserve(struct oa_arena *a, size_t bytes);
size_t oa_arena_mark(const struct oa_arena *a);
void oa_arena_release(struct oa_arena *a, size_t mark); /* everything taken since the mark */

/* ---- small arithmetic ---- */

static inline long oa_min(long a, long b)
{
    return a < b ? a : b;
}

static inline long oa_max(long a, long b)
{
    return a > b ? a : b;
}

/* ⌈n / block⌉ */
static inline long oa_blocks(long n, long block)
{
    return (n + block - 1) / block;
}
static inline long oa_round_up(long n, long step)
{
    return oa_blocks(n, step) * step;
}

/* ---- threads ---- */

struct oa_worker {
    int index;
    struct oa_arena *scratch; /* the worker's own; released after each item */
};
typedef void oa_task(void *argument, long item, const struct oa_worker *worker);

/* Runs task(argument, i, …) for i in 0 … items-1 on the context's threads, in any order, and
 * returns when all are done. For determinism, item sizes must not depend on the number of threads,
 * no two items may write the same address, and sums over items are added afterwards in item order.
 * Must not be nested. */
void oa_parallel(oa_context *c, long items, oa_task *task, void *argument);
/* Gives every worker as much scratch as the largest peak so far: which worker runs which item is
 * random, and without this one could still allocate long after the first step. */
void oa_scratch_share(oa_context *c);
/* Returns the largest scratch peak of a worker since the last call, and resets it. */
size_t oa_scratch_peak(oa_context *c);
int oa_thread_count(const oa_context *c);

/* ---- randomness ---- */

/* Counter-based (Philox4x32-10, Salmon et al., SC 2011): a value is a function of (stream, index)
 * alone, independent of order and threads. A stream is named by (seed, name), e.g. (1,
 * "init/decoder.layers.0.…"), so that changing the attention of a model changes no other stream. */
struct oa_stream {
    uint64_t key, id;
};
struct oa_stream oa_stream_named(uint64_t seed, const char *name);
/* A substream, e.g. of a training step. */
struct oa_stream oa_stream_child(struct oa_stream parent, uint64_t number);
void oa_random_block(struct oa_stream s, uint64_t index, uint32_t out[4]);
double oa_random_uniform(struct oa_stream s, uint64_t index); /* in (0,1): (x + 0.5)·2⁻³² */
double oa_random_normal(struct oa_stream s, uint64_t index);  /* Box–Muller, in double */
/* out[i] = oa_random_normal(s, first + i); first is even. */
void oa_random_normals(struct oa_stream s, uint64_t first, long n, double *out);
uint64_t oa_random_below(struct oa_stream s, uint64_t index, uint64_t n); /* 0 … n-1 */
/* Moves a random sample of k of the n items, in random order, to the front (Fisher–Yates). */
void oa_shuffle_first(struct oa_stream s, long *item, long n, long k);

/* ---- text ---- */

/* A growing string, NUL-terminated once something was added; `s` NULL before. Out of memory is
 * recorded in the context. */
struct oa_text {
    oa_context *context;
    char *s;
    size_t length, capacity;
};
void oa_text_init(struct oa_text *t, oa_context *c);
void oa_text_free(struct oa_text *t);
void oa_text_add(struct oa_text *t, const char *s, size_t n);
void oa_text_printf(struct oa_text *t, const char *format, ...) OA_PRINTF(2, 3);
void oa_text_cut(struct oa_text *t, size_t length); /* truncates */
/* The shortest decimal that reads back as the same double, in plain notation from 1e-4 to below
 * 1e16; integers without a point, 0 for -0. oa_real_rounded: to `digits` significant digits. */
struct oa_number_text {
    char s[48];
};
struct oa_number_text oa_real_text(double value);
struct oa_number_text oa_real_rounded(double value, int digits);
void oa_text_real(struct oa_text *t, double value);
/* True if the text is an integer of at most 20 digits in any notation (10, +10, 10.0, 1e1); *out is
 * then its canonical form. Leading zeros make it a code, not a number. */
bool oa_whole_number(const char *s, size_t n, struct oa_number_text *out);
/* Normalises a label for comparison: trims blanks (ASCII's, U+00A0, U+3000) and writes integers in
 * canonical form, into *whole. Returns whether it changed. */
bool oa_label_spell(const char **s, size_t *n, struct oa_number_text *whole);
/* vsnprintf in the C locale: all numbers of the library are formatted independently of the
 * program's locale. */
int oa_format(char *out, size_t size, const char *format, va_list arguments) OA_PRINTF(3, 0);
bool oa_parse_real(const char *text, double *value); /* the whole text, in the C locale */
const char *oa_plural(double count);                 /* "" for 1, else "s" */
/* Words of a choice, written "one|two|three" (choices.c). Word i into `word`; false past the end.
 */
bool oa_choice_at(const char *choices, int i, char *word, size_t size);
bool oa_choice_is(const char *choices, int i, const char *word); /* whether it is word i */
int oa_choice_index(const char *choices, const char *word);      /* -1: not among them */
/* The candidate nearest to `word` by edit distance; NULL if none is near (for "did you mean"). */
const char *oa_nearest(const char *word, const char *const *candidates, int count);

/* ---- files ---- */

/* FOLDER/NAME. OA_IO: too long. */
enum { OA_PATH = 4096 };
enum oa_error oa_path(oa_context *c, char out[OA_PATH], const char *folder, const char *name);

/* A whole file, gunzipped if need be; data[length] is 0. oa_free it. */
enum oa_error oa_file_read(oa_context *c, const char *path, char **data, size_t *length);
/* Opens a file for reading. Pipes and devices are copied into memory first, up to oa_read_limit:
 * *fd is always seekable and never blocks. Waiting for a pipe ends with OA_INTERRUPTED on a stop
 * request. remedy: end of the error message; NULL: by errno. The caller closes *fd. */
enum oa_error oa_input_open(oa_context *c, const char *path, const char *remedy, int *fd);
/* The most (unpacked) bytes read from a file: 64 times its size, at least 256 MiB. Guards against
 * endless pipes and gzip bombs. oa_fail_read_limit records the error. */
uint64_t oa_read_limit(const char *path);
enum oa_error oa_fail_read_limit(oa_context *c, const char *path, uint64_t limit);
/* Writes path.PID-N.tmp, fsyncs, renames over path, fsyncs the directory: readers see the old file
 * or the new one. The target of a symbolic link is replaced, not the link. */
enum oa_error oa_file_write(oa_context *c, const char *path, const void *data, size_t length);
enum oa_error oa_file_append(oa_context *c, const char *path, const void *data, size_t length);
enum oa_error oa_directory_make(oa_context *c, const char *path); /* like mkdir -p */
/* Records that a folder could not be listed (errno). */
enum oa_error oa_fail_folder(oa_context *c, const char *folder);
bool oa_file_exists(const char *path);
/* Whether the name has this suffix, ignoring case and a final .gz or .zst. */
bool oa_name_ends(const char *name, const char *end);
/* Recognises binary formats by their first bytes: "a ZIP archive …; unpack it"; NULL: none. */
const char *oa_binary_format(const char *data, size_t length);
bool oa_same_file(const char *a, const char *b); /* two names of one regular file */
/* Before long work: checks that its result can be written to this file, or into this folder, which
 * need not exist yet. */
enum oa_error oa_file_check(oa_context *c, const char *path);
enum oa_error oa_directory_check(oa_context *c, const char *path);

/* ---- types ---- */

enum oa_type { OA_F32, OA_BF16, OA_F64, OA_I32, OA_I64, OA_U8, OA_F16, OA_BOOL, OA_TYPES };
size_t oa_type_size(enum oa_type t);
const char *oa_type_name(enum oa_type t); /* as safetensors spells it: "F32", "BF16" … */

/* act: type of activations and matrix operands; real: of sums, statistics, parameters, their
 * gradients and optimiser state. f32: both f32; bf16: act bf16, real f32; f64: both f64. */
enum oa_precision { OA_PRECISION_F32, OA_PRECISION_BF16, OA_PRECISION_F64 };
struct oa_numbers {
    enum oa_precision precision;
    enum oa_type act, real;
    size_t act_size, real_size; /* bytes */
};
struct oa_numbers oa_numbers_of(enum oa_precision p);
const char *oa_precision_name(enum oa_precision p); /* "f32", "bf16", "f64" */
bool oa_precision_parse(const char *name, enum oa_precision *out);

static inline float oa_bf16_to_float(uint16_t x)
{
    union {
        uint32_t u;
        float f;
    } v = { .u = (uint32_t)x << 16 };
    return v.f;
}

static inline uint16_t oa_float_to_bf16(float x) /* round to nearest even; NaN stays NaN */
{
    union {
        float f;
        uint32_t u;
    } v = { .f = x };
    if ((v.u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((v.u >> 16) | 0x40u);
    return (uint16_t)((v.u + 0x7fffu + ((v.u >> 16) & 1u)) >> 16);
}

/* ---- digests ---- */

/* SHA-256 (FIPS 180-4) in 64 lower-case hexadecimal digits, as `sha256sum` prints it. */
struct oa_digest {
    char hex[65];
};
struct oa_digest oa_digest_of(const void *data, size_t bytes);
enum oa_error oa_digest_of_file(oa_context *c, const char *path,
                                struct oa_digest *out); /* of its bytes */

/* ---- options ---- */

/* The rows of options.def make the struct below, the parser, --help, the man page, the YAML
 * configuration and the report. A text option has at most OA_OPTION_TEXT-1 bytes. */
#define OA_OPTION_TEXT 1024

/* Values of an OA_CHOICE: its choices, in the order of their words in options.def. */
enum oa_position {
    OA_POSITION_LEARNED,
    OA_POSITION_SINUSOIDAL,
    OA_POSITION_ROTARY,
    OA_POSITION_NONE,
    OA_POSITION_SINUSOIDAL_HALVES
};
enum oa_rotary_pairing { OA_PAIRS_HALVES, OA_PAIRS_INTERLEAVED };
enum oa_rotary_scaling {
    OA_SCALING_NONE,
    OA_SCALING_LINEAR,
    OA_SCALING_NTK,
    OA_SCALING_YARN,
    OA_SCALING_LLAMA3
};
enum oa_model_preset {
    OA_PRESET_NONE,
    OA_PRESET_GPT2,
    OA_PRESET_LLAMA,
    OA_PRESET_NANOCHAT,
    OA_PRESET_BERT,
    OA_PRESET_VIT
};
enum oa_biases { OA_BIASES_NONE, OA_BIASES_ALL, OA_BIASES_QKV };
enum oa_norm_place { OA_NORM_PRE, OA_NORM_POST, OA_NORM_BOTH, OA_NORM_BRANCH };
enum oa_norm_kind { OA_NORM_LAYER, OA_NORM_RMS };
enum oa_activation {
    OA_ACTIVATION_GELU,
    OA_ACTIVATION_GELU_EXACT,
    OA_ACTIVATION_RELU,
    OA_ACTIVATION_RELU2,
    OA_ACTIVATION_SILU
};
enum oa_head {
    OA_HEAD_NONE,
    OA_HEAD_TANH,
    OA_HEAD_GELU,
    OA_HEAD_GELU_EXACT,
    OA_HEAD_RELU,
    OA_HEAD_SILU
};
enum oa_pooling { OA_POOL_CLS, OA_POOL_MEAN, OA_POOL_LAST };
enum oa_unknown_labels { OA_UNKNOWN_WRONG, OA_UNKNOWN_REFUSED };
enum oa_data_order { OA_ORDER_RANDOM, OA_ORDER_EPOCH };
enum oa_document_borders { OA_BORDERS_JOINED, OA_BORDERS_SEPARATE };
enum oa_too_long { OA_TOO_LONG_CUT, OA_TOO_LONG_REFUSED };
enum oa_bleu_tokenize {
    OA_BLEU_TOKENIZE_AUTO,
    OA_BLEU_TOKENIZE_13A,
    OA_BLEU_TOKENIZE_INTL,
    OA_BLEU_TOKENIZE_CHAR,
    OA_BLEU_TOKENIZE_NONE
};
enum oa_clock_kind { OA_CLOCK_PROCESSOR, OA_CLOCK_WALL };
enum oa_optimizer {
    OA_OPTIMIZER_ADAMW,
    OA_OPTIMIZER_SGD,
    OA_OPTIMIZER_ADAFACTOR,
    OA_OPTIMIZER_MUON,
    OA_OPTIMIZER_LION
};
enum oa_muon_scale { OA_MUON_SCALE_ORIGINAL, OA_MUON_SCALE_MATCH_RMS };
enum oa_muon_rounding { OA_MUON_ROUNDING_BF16, OA_MUON_ROUNDING_NONE };
enum oa_schedule {
    OA_SCHEDULE_COSINE,
    OA_SCHEDULE_INVERSE_SQRT,
    OA_SCHEDULE_LINEAR,
    OA_SCHEDULE_CONSTANT,
    OA_SCHEDULE_TRAPEZOID
};
enum oa_distil_learn { OA_LEARN_OUTPUT, OA_LEARN_ATTENTION };
enum oa_compare_items { OA_ITEMS_FIXED, OA_ITEMS_RANDOM };
enum oa_equal { OA_EQUAL_TOKENS, OA_EQUAL_TIME, OA_EQUAL_PARAMS, OA_EQUAL_FLOPS };
/* Which comparisons of a report are judged; AUTO: with the baseline if there is one, else pairs. */
enum oa_error_estimate { OA_PAIRED_ERRORS, OA_TWO_WAY_ERRORS };
enum oa_family_kind { OA_FAMILY_AUTO, OA_FAMILY_BASELINE, OA_FAMILY_UNIFORM, OA_FAMILY_PAIRS };
enum oa_tune_per { OA_TUNE_PER_SEED, OA_TUNE_PER_ONCE };

struct oa_options {
#define OA_INT(section, name, fallback, low, high, role, help) long section##_##name;
#define OA_REAL(section, name, fallback, low, high, role, help) double section##_##name;
#define OA_BOOL(section, name, fallback, role, help) bool section##_##name;
#define OA_TEXT(section, name, fallback, role, help) char section##_##name[OA_OPTION_TEXT];
#define OA_CHOICE(section, name, type, fallback, choices, role, help)                              \
    enum oa_##type section##_##name;
#include "options.def"
#undef OA_INT
#undef OA_REAL
#undef OA_BOOL
#undef OA_TEXT
#undef OA_CHOICE
};
enum oa_option_kind {
    OA_OPTION_INT,
    OA_OPTION_REAL,
    OA_OPTION_BOOL,
    OA_OPTION_WORDS,
    OA_OPTION_CHOICE
};
/* What depends on an option (column `role` of options.def); or-ed. */
enum oa_option_role {
    OA_DECIDES_NUMBERS = 1 << 0,    /* numbers of a run: its value is in the fingerprint */
    OA_DECIDES_DATA = 1 << 1,       /* what a run reads: compared by its contents */
    OA_DECIDES_VERDICTS = 1 << 2,   /* which runs a comparison has and how they are judged */
    OA_MAY_CHANGE = 1 << 3,         /* on resume */
    OA_NAMES_FILES = 1 << 4,        /* a path, or several separated by commas */
    OA_PER_RANK = 1 << 5,           /* ranks of one run may have different values */
    OA_SHARED_BUDGET = 1 << 6,      /* compare.tune may not vary it: the budget */
    OA_SHARED_STEP_SIZE = 1 << 7,   /* …: tokens per step, and so the budget */
    OA_SHARED_SEED = 1 << 8,        /* …: runs are paired by seed */
    OA_SHARED_MEASUREMENT = 1 << 9, /* …: what is measured and logged, not what is trained */
};
/* Conditions without which an option has no effect (NEEDS of options.def); or-ed. */
enum oa_option_need {
    OA_NEEDS_SPLIT = 1 << 0,      /* the validation text is a part of the training text */
    OA_NEEDS_VALIDATION = 1 << 1, /* there is a validation text */
    OA_NEEDS_INTERIM_VALIDATION = 1 << 2,
    OA_NEEDS_TIME_BUDGET = 1 << 3,
    OA_NEEDS_DROPOUT = 1 << 4,
    OA_NEEDS_FINAL_RATE = 1 << 5,   /* a schedule that ends at it */
    OA_NEEDS_FIRST_MOMENT = 1 << 6, /* an update rule that has one */
    OA_NEEDS_ADAMW = 1 << 7,        /* adamw, also as a part of muon */
    OA_NEEDS_ROTARY = 1 << 8,
    OA_NEEDS_ROTARY_SCALING = 1 << 9,
    OA_NEEDS_BETA2 = 1 << 10,
    OA_NEEDS_MUON = 1 << 11,
    OA_NEEDS_TRAPEZOID = 1 << 12,
    OA_NEEDS_RUNNING_TEXT = 1 << 13, /* a task that does not read examples */
    OA_NEEDS_TEACHER = 1 << 14,
};
struct oa_option_row {
    const char *section, *name, *key; /* key: "section.name" */
    const char *fallback, *help;
    const char *choices; /* of CHOICE: "adamw|sgd|adafactor", else NULL */
    const char *former;  /* key it had before, still read, and written in JSON files; or NULL */
    const char *former_words; /* of BOOL: words for false and true under the former key, or NULL */
    double low, high;         /* of INT and REAL */
    enum oa_option_kind kind;
    unsigned role;  /* enum oa_option_role */
    unsigned needs; /* enum oa_option_need */
    size_t offset;  /* in struct oa_options */
};
const struct oa_option_row *
oa_option_at(int i); /* in the order of options.def; NULL past the end */
/* Index of the option with this key or former key; -1: none. */
int oa_option_number(const char *key);
/* The key that JSON files use: the former one, if any, so that older files stay comparable. */
const char *oa_option_stored_key(const struct oa_option_row *row);
/* Which options were set explicitly, by their index; the others have default values. */
enum { OA_MOST_OPTIONS = 256 }; /* rows that options.def may have */
struct oa_given {
    bool option[OA_MOST_OPTIONS];
};
/* The words of a choice in files and messages: oa_option_word("compare.equal", OA_EQUAL_TIME).s is
 * "time"; oa_option_choice is -1 for other words. */
struct oa_choice_word {
    char s[24];
};
struct oa_choice_word oa_option_word(const char *key, int choice);
int oa_option_choice(const char *key, const char *word);
void oa_options_default(struct oa_options *o);
/* key: "model.layers"; an unknown key or a value out of range is refused, with the nearest spelling
 * or the range. Truth values are true, yes, on, 1 and false, no, off, 0. */
enum oa_error oa_options_set(oa_context *c, struct oa_options *o, const char *key,
                             const char *value);
/* Appends the value as text; by a former key, in the words it had then. */
enum oa_error oa_options_get(oa_context *c, const struct oa_options *o, const char *key,
                             struct oa_text *value);
/* The values of an option in two sets of options, as text: "" for an unknown key or without memory.
 * Close it. */
struct oa_option_pair {
    struct oa_text text[2];
    const char *a, *b;
    bool differ;
};
void oa_option_pair_open(oa_context *c, const struct oa_options *a, const struct oa_options *b,
                         const char *key, struct oa_option_pair *out);
void oa_option_pair_close(struct oa_option_pair *p);
/* YAML (libyaml): sections are maps, `model: {layers: 4}` or `model.layers: 4`. Errors name file
 * and line. Marks the options of the file in `given`, which may be NULL. The section
 * OA_CLAIM_SECTION has no options and is skipped; a file with it is an experiment, whose options
 * are complete: others have their defaults and count as given, unless they were given before. */
#define OA_CLAIM_SECTION "claim"
enum oa_error oa_options_load(oa_context *c, struct oa_options *o, const char *path,
                              struct oa_given *given);
void oa_options_yaml(const struct oa_options *o,
                     struct oa_text *out); /* complete, with the help as comments */
void oa_options_json(const struct oa_options *o,
                     struct oa_text *out); /* {"model": {"layers": 4, …}, …} */
enum oa_error oa_options_from_json(oa_context *c, struct oa_options *o, const char *path,
                                   const char *json);

/* The largest seed, 2⁵³ − 1: above it different integers are the same double, also in JSON. */
#define OA_LAST_SEED 9007199254740991L

/* The sources of randomness in a run, each with its own seed (chance.c). */
enum oa_chance { OA_CHANCE_INIT, OA_CHANCE_ORDER, OA_CHANCE_DROPOUT, OA_CHANCE_SPLIT, OA_CHANCES };
const char *oa_chance_name(enum oa_chance s);  /* "init", "order", "dropout", "split" */
const char *oa_chance_title(enum oa_chance s); /* "initial values", … */
/* Its own seed if the options give one, else train.seed; of the split always data.split_seed. */
uint64_t oa_chance_seed(const struct oa_options *o, enum oa_chance s);
void oa_chance_set(struct oa_options *o, enum oa_chance s, uint64_t seed);

/* ---- context ---- */

/* The device of this context (device.h), to be set before it is opened; NULL: the default one. */
struct oa_device_ops;
/* What oa_settings.device names. */
enum oa_device_kind { OA_DEVICE_CPU, OA_DEVICE_OPENCL, OA_DEVICE_CUDA, OA_DEVICE_AUTO };
enum oa_device_kind oa_context_device_kind(const oa_context *c);
int oa_context_device_number(const oa_context *c); /* of several of a kind, from 0 */
/* A table instead of what is named; NULL: none was set. */
void oa_context_set_device(oa_context *c, const struct oa_device_ops *device);
const struct oa_device_ops *oa_context_device(const oa_context *c);
/* The cluster of ranks this process belongs to (cluster.h), or NULL. silent: disables the log. */
struct oa_cluster;
void oa_context_set_cluster(oa_context *c, struct oa_cluster *cluster, bool silent);
struct oa_cluster *oa_context_cluster(const oa_context *c);
/* Ranks must stop after the same step: while stops are deferred, oa_stop_requested reports only
 * oa_stop, and oa_stop_pending the caller's stop flag. */
void oa_context_defer_stop(oa_context *c, bool defer);
int oa_stop_pending(const oa_context *c);
double oa_clock(void);           /* monotonic seconds */
double oa_processor_clock(void); /* seconds of processor time of all threads of the program */
double oa_thread_clock(void);    /* of the calling thread */

#endif
