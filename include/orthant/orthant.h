/* SPDX-License-Identifier: Apache-2.0
 *
 * Orthant: a measuring instrument for attention. The only public header, and the manual of the library.
 *
 * Conventions. Handles are opaque; whoever makes one frees it, and NULL may be freed. Functions that can fail return
 * enum oa_error; the sentence that goes with it is in the context (oa_last_error) and stays until oa_clear_error. The
 * library never prints, never exits and has no globals: text goes to a sink, progress to the log callback. One context
 * is used from one thread at a time; several contexts are independent.
 */
#ifndef ORTHANT_H
#define ORTHANT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORTHANT_VERSION "0.1.0"

/* name, text */
#define OA_ERRORS(X)                                                                                                   \
    X(OK, "success")                                                                                                   \
    X(NO_MEMORY, "out of memory")                                                                                      \
    X(ARGUMENT, "invalid option or argument")                                                                          \
    X(SHAPE, "shapes do not fit")                                                                                      \
    X(IO, "cannot read or write")                                                                                      \
    X(FORMAT, "malformed file or text")                                                                                \
    X(UNSUPPORTED, "this cannot be done")                                                                              \
    X(DIVERGED, "a number is not finite")                                                                              \
    X(INTERRUPTED, "stopped by a signal after saving")                                                                 \
    X(INTERNAL, "internal error")

enum oa_error {
#define OA_ERROR_NAME(name, text) OA_##name,
    OA_ERRORS(OA_ERROR_NAME)
#undef OA_ERROR_NAME
};

/* ---- context ---- */

typedef struct oa_context oa_context;

struct oa_settings { /* all zero = defaults */
    int threads;     /* 0 = all cores */
    const char *isa; /* "ref", "avx2", "avx512", "amx"; NULL or "auto" = best */
    void (*log)(void *argument, int level, const char *line); /* level 0 notice, 1 progress; may be NULL */
    void *log_argument;
    volatile int *stop; /* set it to a signal number: long work saves and returns */
};

oa_context *oa_open(const struct oa_settings *settings); /* NULL settings = defaults; NULL when out of memory */
void oa_close(oa_context *c);
enum oa_error oa_last_error(const oa_context *c, const char **sentence); /* OA_OK when nothing failed */
void oa_clear_error(oa_context *c);
const char *oa_version(void);

/* Where text goes: called with pieces in order. */
typedef void oa_sink(void *argument, const char *text, size_t length);

/* ---- one attention layer on tensors from a file ---- */

/* `in` (safetensors) holds x [B, n, d]; if wanted memory [B, m, d] (cross-attention), lengths [B] (I32, true key
 * lengths), word_ids [B, n] (I32), dy [B, n, d] (then the backward pass runs) and parameters by name; what is missing is
 * initialised from the seed. `out` gets y [B, n, d], grad.x, grad.memory, grad.<parameter>, and weights [B, H, n, m]. */
struct oa_attend_options {
    const char *spec;      /* the attention language: one layer */
    const char *in, *out;  /* safetensors files */
    int heads;             /* 0 = the metadata key "heads" of `in` */
    int causal;            /* 1: no token sees a later one */
    const char *precision; /* "f32", "bf16", "f64"; NULL = f32 */
    uint64_t seed;         /* of parameters that `in` does not hold */
    int weights;           /* 1: write the attention map, by the oracle in double */
};
enum oa_error oa_attend(oa_context *c, const struct oa_attend_options *o);

#ifdef __cplusplus
}
#endif
#endif
