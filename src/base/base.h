/* SPDX-License-Identifier: Apache-2.0
 *
 * base: what every other folder stands on. Read in this order: context and errors, memory, threads,
 * randomness, text and files, options.
 *
 * Rules of the whole library: it never prints, never exits and has no mutable globals. A function
 * that can fail returns enum oa_error and leaves a sentence in the context (oa_fail); the first
 * failure stays until it is cleared. Whoever makes an object frees it; arguments are borrowed, and
 * const unless written.
 */
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

/* Records a failure and returns `code`. The first failure is kept; later ones are dropped. Safe
 * from any thread. The sentence says what was found, what was expected and what to do, with the
 * numbers in it. */
enum oa_error oa_fail(oa_context *c, enum oa_error code, const char *format, ...) OA_PRINTF(3, 4);
/* The same with lines of their own below the sentence. No other line ends are in what is recorded:
 * those in arguments of a sentence come from names and values, and are shown as \x0a. */
enum oa_error oa_fail_with_picture(oa_context *c, enum oa_error code, const char *picture,
                                   const char *format, ...) OA_PRINTF(4, 5);
/* A recorded OA_UNSUPPORTED becomes OA_ARGUMENT, with its sentence: what cannot be done was named
 * by the user. Returns what is recorded then. */
enum oa_error oa_fail_as_named(oa_context *c);
enum oa_error
oa_status(const oa_context *c); /* OA_OK, or the code of the failure that is recorded */

/* Forwards a failure to the caller: the only macro of the project that hides control flow. */
#define OA_TRY(expression)                                                                         \
    do {                                                                                           \
        enum oa_error oa_try_code = (expression);                                                  \
        if (oa_try_code != OA_OK)                                                                  \
            return oa_try_code;                                                                    \
    } while (0)

/* One line to the caller's log callback (level 0 = notice, 1 = progress, 2 = information); nothing
 * happens without a callback. */
void oa_log(oa_context *c, int level, const char *format, ...) OA_PRINTF(3, 4);
/* The number of the signal that asked for a stop (SIGINT, SIGTERM), or 0. Long work polls it
 * between steps. */
int oa_stop_requested(const oa_context *c);
/* Public structs have room for later versions: a `reserved` field that is not 0 is refused. */
enum oa_error oa_check_reserved(oa_context *c, const char *structure, const long *reserved,
                                int count);

/* ---- memory ---- */

#define OA_ALIGN 64 /* bytes: a cache line and the widest vector */

/* Zeroed, OA_ALIGN-aligned memory, or NULL with OA_NO_MEMORY recorded. oa_allocations counts every
 * call (tests). */
void *oa_alloc(oa_context *c, size_t bytes);
void *oa_alloc_raw(oa_context *c,
                   size_t bytes); /* not zeroed: its pages cost nothing until they are touched */
void *oa_grow(oa_context *c, void *old, size_t old_bytes,
              size_t bytes); /* like realloc; the new part is zeroed */
void oa_free(void *memory);
char *oa_copy_text(oa_context *c, const char *text);
long oa_allocations(const oa_context *c);

/* Where an arena gets its chunks when they are not the host's memory (device.h). */
struct oa_memory_source {
    void *(*allocate)(void *owner,
                      size_t bytes); /* aligned, NOT zeroed; NULL after a recorded failure */
    void (*release)(void *owner, void *memory);
    void (*spoil)(void *owner, void *memory, size_t bytes); /* fills it with NaN */
};

/* An arena hands out memory by moving a mark. It is a list of chunks that is merged into one when
 * it is reset, so the second use of the same size allocates nothing. A dry arena hands out
 * addresses that must not be touched and only counts: that is how `plan` knows the memory of a step
 * before anything runs. */
struct oa_arena {
    oa_context *context;
    struct oa_chunk *chunks; /* newest first */
    size_t used, peak;       /* bytes in use, and the most since the arena was made */
    bool dry, poison;        /* poison: fill what is handed out with NaN (test builds) */
    const struct oa_memory_source *source; /* NULL: the host */
    void *owner;                           /* what the source's functions are given */
};
void oa_arena_init(struct oa_arena *a, oa_context *c, bool dry);
void oa_arena_init_from(struct oa_arena *a, oa_context *c, const struct oa_memory_source *source,
                        void *owner);
void oa_arena_free(struct oa_arena *a);
void oa_arena_reset(struct oa_arena *a);
void *oa_arena_take(struct oa_arena *a,
                    size_t bytes); /* aligned, NOT zeroed; NULL after a recorded failure */
/* Makes room for `bytes` in an arena that is not in use, so that taking them later allocates
 * nothing; `peak` stays. */
void oa_arena_reserve(struct oa_arena *a, size_t bytes);
size_t oa_arena_mark(const struct oa_arena *a);
void oa_arena_release(struct oa_arena *a,
                      size_t mark); /* gives back all that was taken since the mark */

/* ---- small arithmetic ---- */

static inline long oa_min(long a, long b)
{
    return a < b ? a : b;
}

static inline long oa_max(long a, long b)
{
    return a > b ? a : b;
}

/* Number of blocks of `block` that cover n. */
static inline long oa_blocks(long n, long block)
{
    return (n + block - 1) / block;
}
static inline long oa_round_up(long n, long step)
{
    return oa_blocks(n, step) * step;
}

/* ---- threads ---- */

/* A worker's view of a parallel call: its number and its own scratch arena (released after each
 * item). */
struct oa_worker {
    int index;
    struct oa_arena *scratch;
};
typedef void oa_task(void *argument, long item, const struct oa_worker *worker);

/* Runs task(argument, i, …) for every i in 0 … items-1, on the context's threads, in any order, and
 * returns when all are done. Determinism rests on one rule: items are cut by size, never by thread
 * count, and no two items write the same place; sums over items are added afterwards in item order.
 * Not to be nested. */
void oa_parallel(oa_context *c, long items, oa_task *task, void *argument);
/* Gives every worker as much scratch as the hungriest one has needed so far. Which worker meets
 * which item is chance, so without this a worker could still allocate long after the first step. */
void oa_scratch_share(oa_context *c);
/* The most scratch that one worker has needed since the last call: forgets it, and counts anew. */
size_t oa_scratch_peak(oa_context *c);
int oa_thread_count(const oa_context *c);

/* ---- randomness ---- */

/* Counter-based (Philox4x32-10, Salmon et al., SC 2011): the value is a function of (stream, index)
 * alone, so it is free of order, of threads and of history. A stream is named by (seed, name), e.g.
 * (1, "init/decoder.layers.0.…"); changing the attention of a model changes no other stream. */
struct oa_stream {
    uint64_t key, id;
};
struct oa_stream oa_stream_named(uint64_t seed, const char *name);
struct oa_stream oa_stream_child(struct oa_stream parent,
                                 uint64_t number); /* e.g. one for each training step */
void oa_random_block(struct oa_stream s, uint64_t index, uint32_t out[4]);
double oa_random_uniform(struct oa_stream s, uint64_t index); /* in (0,1): (x + 0.5)·2⁻³² */
double oa_random_normal(struct oa_stream s, uint64_t index);  /* Box–Muller, in double */
/* out[i] = oa_random_normal(s, first + i); first is even. */
void oa_random_normals(struct oa_stream s, uint64_t first, long n, double *out);
uint64_t oa_random_below(struct oa_stream s, uint64_t index, uint64_t n); /* 0 … n-1 */

/* ---- text ---- */

/* A growing string; `s` is always terminated once something was added. A failed growth is recorded
 * in the context. */
struct oa_text {
    oa_context *context;
    char *s;
    size_t length, capacity;
};
void oa_text_init(struct oa_text *t, oa_context *c);
void oa_text_free(struct oa_text *t);
void oa_text_add(struct oa_text *t, const char *s, size_t n);
void oa_text_printf(struct oa_text *t, const char *format, ...) OA_PRINTF(2, 3);
void oa_text_cut(struct oa_text *t, size_t length); /* forgets what lies beyond */
/* A number as people write it: the fewest digits that read back as the same double, plain decimal
 * from 1e-4 to below 1e16, no point where there is nothing behind it, 0 for -0. Rounded: the same
 * of its first `digits` digits. */
struct oa_real_text {
    char s[48];
};
struct oa_real_text oa_real_text(double value);
struct oa_real_text oa_real_rounded(double value, int digits);
void oa_text_real(struct oa_text *t, double value);
/* Is the text a whole number of at most 20 digits: 10, +10, 10.0, 1e1? Then *out is its digits,
 * with a minus if it is negative, exactly. A number with leading zeros is a code and none. */
bool oa_whole_number(const char *s, size_t n, struct oa_real_text *out);
/* How a label is spelled wherever labels are compared: without blanks at its ends (ASCII's, U+00A0,
 * U+3000), and a whole number by its digits, which are then in *whole. True: it was spelled
 * otherwise. */
bool oa_label_spell(const char **s, size_t *n, struct oa_real_text *whole);
/* Numbers have a decimal point whatever the locale of the program: in every printf of this library,
 * and here. */
int oa_format(char *out, size_t size, const char *format, va_list arguments)
    OA_PRINTF(3, 0);                                 /* like vsnprintf */
bool oa_parse_real(const char *text, double *value); /* the whole text */
const char *
oa_plural(double count); /* what makes a noun a plural where there is not one of it: "s" or "" */
/* oa_nearest ("did you mean") is in orthant.h. */

/* ---- files ---- */

/* A whole file in memory, gzip unpacked transparently; `*data` has a terminating 0 beyond
 * `*length`. oa_free it. */
enum oa_error oa_file_read(oa_context *c, const char *path, char **data, size_t *length);
/* Opens a file for reading. What has no size, such as a pipe, is copied into memory first, up to
 * oa_read_limit: *fd is a plain file in every case, and reading from it does not wait. A stop that
 * is asked for ends the wait for a pipe with OA_INTERRUPTED. remedy: the end of the sentence that
 * says why it cannot be read; NULL: what fits the reason. The caller closes *fd. */
enum oa_error oa_input_open(oa_context *c, const char *path, const char *remedy, int *fd);
/* The most bytes that reading a file may give: 64 times its size, but at least 256 MiB. A pipe or a
 * device has no size and may have no end, and gzip packs zeros a thousand to one. oa_fail_endless
 * says so. */
uint64_t oa_read_limit(const char *path);
enum oa_error oa_fail_endless(oa_context *c, const char *path, uint64_t limit);
/* Writes path.PID-N.tmp, fsyncs, renames over path, fsyncs the directory: a reader sees the old
 * file or the new one. Of a symbolic link, what it points to is replaced. */
enum oa_error oa_file_write(oa_context *c, const char *path, const void *data, size_t length);
enum oa_error oa_file_append(oa_context *c, const char *path, const void *data, size_t length);
enum oa_error oa_directory_make(oa_context *c, const char *path); /* with its parents */
/* That a folder could not be listed (errno). One that cannot be read is not taken for an empty one.
 */
enum oa_error oa_fail_folder(oa_context *c, const char *folder);
bool oa_file_exists(const char *path);
/* Does the name end so, in capitals or not, a .gz behind it apart? */
bool oa_name_ends(const char *name, const char *end);
/* What no text begins with: "a ZIP archive …; unpack it", the format and what to do; NULL: these
 * bytes may be text. */
const char *oa_binary_format(const char *data, size_t length);
bool oa_same_file(const char *a, const char *b); /* two names of one file that is there */
/* Before long work: can its result be written to this file, or into this folder, which may not
 * exist yet? */
enum oa_error oa_file_check(oa_context *c, const char *path);
enum oa_error oa_directory_check(oa_context *c, const char *path);

/* folder_lock.c: a folder for one process alone. It is made if need be; when the process ends,
 * however it ends, the lock is gone. A folder that another process holds is refused with that one's
 * number, machine and time; where the file system knows no locks a notice says so, and nothing is
 * held. Leftovers of writes that were killed are removed. */
struct oa_lock;
enum oa_error oa_folder_lock(oa_context *c, const char *folder, struct oa_lock **out);
void oa_folder_unlock(
    struct oa_lock *l); /* also removes the folder, if it was made for the lock and is empty */
/* Removes the path.PID-N.tmp that killed processes left; only in a folder that is locked. */
void oa_folder_sweep(const char *folder);

/* ---- types ---- */

enum oa_type { OA_F32, OA_BF16, OA_F64, OA_I32, OA_I64, OA_U8, OA_TYPES };
size_t oa_type_size(enum oa_type t);
const char *oa_type_name(enum oa_type t); /* as safetensors spells it: "F32", "BF16" … */

/* `act` is the type of activations and matrix operands, `real` that of sums, statistics,
 * parameters, gradients of parameters and optimiser state: f32 has f32 in both, bf16 act bf16 and
 * real f32, f64 f64 in both. */
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

/* ---- safetensors ---- */

/* One tensor of a file: name, type, shape, and its bytes (row-major, little-endian). */
struct oa_array {
    char *name;
    enum oa_type type;
    int dims;
    long dim[8];
    const void *data;
    size_t bytes;
    /* When it is written, instead of data, and twice: makes the bytes, valid until the next call;
     * NULL after a recorded failure. */
    const void *(*make)(void *argument, const struct oa_array *a);
    void *argument;
};
struct oa_tensors; /* a file that was read and fully validated (bounds, overlap, holes, duplicates)
                    */
enum oa_error oa_tensors_open(oa_context *c, const char *path, struct oa_tensors **out);
void oa_tensors_close(struct oa_tensors *f);
int oa_tensors_count(const struct oa_tensors *f);
const struct oa_array *oa_tensors_at(const struct oa_tensors *f, int i);
const struct oa_array *oa_tensors_find(const struct oa_tensors *f, const char *name);
const char *oa_tensors_metadata(const struct oa_tensors *f, const char *key); /* NULL when absent */
/* Writes atomically and durably (as oa_file_write), streaming from the arrays: no second copy in
 * memory. metadata: pairs key, value, …, ended by NULL; may be NULL. */
enum oa_error oa_tensors_write(oa_context *c, const char *path, const struct oa_array *arrays,
                               int count, const char *const *metadata);
/* The same with the metadata OA_CHECKSUM_KEY: a checksum of all that the file says (docs/interop.md
 * has the recipe). oa_tensors_open refuses a file whose checksum does not match; a file without one
 * is taken as it is. */
#define OA_CHECKSUM_KEY "orthant.seal"
enum oa_error oa_tensors_write_checksummed(oa_context *c, const char *path,
                                           const struct oa_array *arrays, int count,
                                           const char *const *metadata);
/* Element i of an array as a double, whatever its type. */
double oa_array_value(const struct oa_array *a, size_t i);

/* ---- digests ---- */

/* SHA-256 (FIPS 180-4) in 64 lower-case hexadecimal digits, as `sha256sum` prints it. */
struct oa_digest {
    char hex[65];
};
struct oa_digest oa_digest_of(const void *data, size_t bytes);
struct oa_digest oa_digest_of_arrays(const struct oa_array *arrays,
                                     int count); /* of their bytes, one after another */
enum oa_error oa_digest_of_file(oa_context *c, const char *path,
                                struct oa_digest *out); /* of its bytes */

/* ---- options ---- */

/* One row of options.def each gives the struct below, the parser, --help, the man page, the YAML
 * configuration and the report. A text option holds at most OA_OPTION_TEXT-1 bytes. */
#define OA_OPTION_TEXT 1024

/* What an OA_CHOICE holds: its choices, in the order of their words in options.def. */
enum oa_position {
    OA_POSITION_LEARNED,
    OA_POSITION_SINUSOIDAL,
    OA_POSITION_ROTARY,
    OA_POSITION_NONE
};
enum oa_norm_place { OA_NORM_PRE, OA_NORM_POST };
enum oa_pooling { OA_POOL_CLS, OA_POOL_MEAN, OA_POOL_LAST };
enum oa_unknown_labels { OA_UNKNOWN_WRONG, OA_UNKNOWN_REFUSED };
enum oa_too_long { OA_TOO_LONG_CUT, OA_TOO_LONG_REFUSED };
enum oa_bleu_tokenize {
    OA_BLEU_TOKENIZE_AUTO,
    OA_BLEU_TOKENIZE_13A,
    OA_BLEU_TOKENIZE_INTL,
    OA_BLEU_TOKENIZE_CHAR,
    OA_BLEU_TOKENIZE_NONE
};
enum oa_clock_kind { OA_CLOCK_PROCESSOR, OA_CLOCK_WALL };
enum oa_optimizer { OA_OPTIMIZER_ADAMW, OA_OPTIMIZER_SGD, OA_OPTIMIZER_ADAFACTOR };
enum oa_schedule {
    OA_SCHEDULE_COSINE,
    OA_SCHEDULE_INVERSE_SQRT,
    OA_SCHEDULE_LINEAR,
    OA_SCHEDULE_CONSTANT
};
enum oa_equal { OA_EQUAL_TOKENS, OA_EQUAL_TIME, OA_EQUAL_PARAMS, OA_EQUAL_FLOPS };
enum oa_looks { OA_LOOKS_ONE, OA_LOOKS_ANY };

struct oa_options {
#define OA_INT(section, name, fallback, low, high, help) long section##_##name;
#define OA_REAL(section, name, fallback, low, high, help) double section##_##name;
#define OA_BOOL(section, name, fallback, help) bool section##_##name;
#define OA_TEXT(section, name, fallback, help) char section##_##name[OA_OPTION_TEXT];
#define OA_CHOICE(section, name, type, fallback, choices, help) enum oa_##type section##_##name;
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
struct oa_option_row {
    const char *section, *name, *fallback, *choices,
        *help;        /* choices: "adamw|sgd|adafactor", or NULL */
    double low, high; /* of INT and REAL */
    enum oa_option_kind kind;
    size_t offset; /* in struct oa_options */
};
const struct oa_option_row *
oa_option_at(int i);                   /* in the order of options.def; NULL past the end */
int oa_option_number(const char *key); /* its place there; -1: there is none of that name */
/* Which options somebody chose, by their number; the others have values that nobody asked for. */
enum { OA_MOST_OPTIONS = 256 }; /* rows that options.def may have */
struct oa_given {
    bool option[OA_MOST_OPTIONS];
};
/* The words of a choice, which files and sentences have: oa_option_word("compare.equal",
 * OA_EQUAL_TIME).s is "time"; oa_choice_of gives -1 for what is no choice. */
struct oa_option_word {
    char s[24];
};
struct oa_option_word oa_option_word(const char *key, int choice);
int oa_option_choice(const char *key, const char *word);
void oa_options_default(struct oa_options *o);
/* key: "model.layers"; an unknown key or a value out of range is refused, with the nearest spelling
 * or the range. Truth values are true, yes, on, 1 and false, no, off, 0. */
enum oa_error oa_options_set(oa_context *c, struct oa_options *o, const char *key,
                             const char *value);
enum oa_error oa_options_get(oa_context *c, const struct oa_options *o, const char *key,
                             struct oa_text *value);
/* YAML (libyaml): sections are maps, `model: {layers: 4}` or `model.layers: 4`. Errors name file
 * and line. The section OA_CLAIM_SECTION, which is no option's, is passed over. given: those in the
 * file are marked in it; may be NULL. */
#define OA_CLAIM_SECTION "claim"
enum oa_error oa_options_load(oa_context *c, struct oa_options *o, const char *path,
                              struct oa_given *given);
void oa_options_yaml(const struct oa_options *o,
                     struct oa_text *out); /* complete, with the help as comments */
void oa_options_json(const struct oa_options *o,
                     struct oa_text *out); /* {"model": {"layers": 4, …}, …} */
enum oa_error oa_options_from_json(oa_context *c, struct oa_options *o, const char *path,
                                   const char *json);

/* The largest seed, 2⁵³ − 1: above it doubles, and so readers of JSON, cannot tell neighbours
 * apart. */
#define OA_LAST_SEED 9007199254740991L

/* What chance decides in a run. Each has a seed of its own (chance.c). */
enum oa_chance { OA_CHANCE_INIT, OA_CHANCE_ORDER, OA_CHANCE_DROPOUT, OA_CHANCE_SPLIT, OA_CHANCES };
const char *oa_chance_name(enum oa_chance s); /* "init", "order", "dropout", "split" */
const char *oa_chance_says(enum oa_chance s); /* "initial values", … */
/* Its own seed where the options give one, else train.seed; the split is that of data.split_seed
 * always. */
uint64_t oa_chance_seed(const struct oa_options *o, enum oa_chance s);
void oa_chance_set(struct oa_options *o, enum oa_chance s, uint64_t seed);

/* ---- the processor ---- */

enum oa_isa {
    OA_ISA_REF,
    OA_ISA_AVX2,
    OA_ISA_AVX512,
    OA_ISA_AMX
}; /* each includes the ones before it */
struct oa_cpu {
    char name[64];
    bool avx2, fma, f16c, avx512, avx512_bf16,
        amx_bf16;     /* present, and enabled by the operating system */
    bool looks_ahead; /* fetches lines that are read in order so early that a prefetch of them costs
                         and gives nothing */
    int cores;    /* that this process can use at once, at least 1: the least of the three below,
                     rounded up */
    int online;   /* of the machine */
    int affinity; /* that the process may run on: sched_setaffinity(2), cpusets */
    double quota; /* processor time in a second that its control group allows; 0: no limit */
    char quota_file[160];      /* which says so */
    size_t l1, l2, l3, memory; /* bytes; 0 = unknown */
};
/* How many of `threads` can run at once: a fraction where the quota of a control group is one. */
double oa_cpu_concurrency(const struct oa_cpu *cpu, int threads);
void oa_cpu_detect(struct oa_cpu *cpu);
enum oa_isa oa_cpu_isa(const struct oa_cpu *cpu); /* the best that this processor has */
const char *oa_isa_name(enum oa_isa isa);         /* "ref", "avx2", "avx512", "amx" */

/* ---- context ---- */

const struct oa_cpu *oa_context_cpu(const oa_context *c);
enum oa_isa oa_context_isa(const oa_context *c); /* after --isa */
/* The device that computes for this context (device.h): chosen before any is opened; NULL: the
 * usual one. */
struct oa_device_ops;
void oa_context_choose(oa_context *c, const struct oa_device_ops *device);
const struct oa_device_ops *oa_context_device(const oa_context *c);
/* The other ranks that work with this process (cluster.h); NULL: there are none. `silent`: nothing
 * is said any more. */
struct oa_cluster;
void oa_context_join(oa_context *c, struct oa_cluster *cluster, bool silent);
struct oa_cluster *oa_context_cluster(const oa_context *c);
/* Several ranks must stop after the same step: while it is held, oa_stop_requested says only what
 * oa_stop asked for, and oa_stop_held what the caller's stop says. */
void oa_context_hold_stop(oa_context *c, bool hold);
int oa_stop_held(const oa_context *c);
double oa_clock(void);           /* monotonic seconds */
double oa_processor_clock(void); /* seconds of processor time of all threads of the program */
double oa_thread_clock(void);    /* of the calling thread */

#endif
