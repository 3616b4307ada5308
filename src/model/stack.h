/* SPDX-License-Identifier: Apache-2.0
 *
 * A stack: the blocks that a sequence goes through, and the norm behind them.
 *
 *     x → [ norm → self-attention → + → ( norm → attention to a memory → + → ) norm → feed-forward
 * → + ] × layers → norm
 *
 * Pre-norm (Xiong et al. 2020), or post-norm (Vaswani et al. 2017): [ self-attention → + → norm → …
 * ] × layers, and no norm behind them. GELU feed-forward (the tanh form). What it is in its model
 * is its role: an encoder sees whole sequences, a decoder is causal, and one with a memory attends
 * to what an encoder made (Vaswani et al. 2017). Parameter names:
 * ROLE.layers.L.{attention_norm,cross_norm,ffn_norm}.weight (.bias), ROLE.layers.L.attention.… and
 * ROLE.layers.L.cross_attention.… (contract of the attention layer),
 * ROLE.layers.L.ffn.{in,out}.weight (.bias), ROLE.norm.weight (.bias; pre-norm alone).
 */
#ifndef ORTHANT_MODEL_STACK_H
#define ORTHANT_MODEL_STACK_H

#include "attention/attention.h"

struct oa_stack_shape {
    const char *role;                /* "encoder", "decoder": a literal */
    const struct oa_spec *attention; /* of the sequence to itself, the layers in turn; borrowed */
    const struct oa_spec *cross;    /* of the sequence to a memory; NULL: there is none. Borrowed */
    long layers, width, heads, ffn; /* D, H; ffn: hidden units of the feed-forward layer */
    long length, memory_length;     /* the longest sequence and memory: N of tables */
    bool causal, bias, post_norm;
};

struct oa_block {
    struct oa_layer attention, cross;
    struct oa_parameter *attention_norm, *attention_norm_bias, *cross_norm, *cross_norm_bias,
        *ffn_norm, *ffn_norm_bias;
    struct oa_parameter *in, *in_bias, *out, *out_bias;
};

struct oa_stack {
    oa_context *context;
    struct oa_stack_shape shape;
    struct oa_block *block; /* [layers] */
    struct oa_parameter *norm, *norm_bias;
};

/* Registers the parameters in the store. First values: matrices N(0, 1/inputs), with pre-norm those
 * that write to the residual stream scaled by 1/√(number of branches) (GPT-2): there the sum of the
 * branches is what grows. Close also after an error. */
enum oa_error oa_stack_open(oa_context *c, const struct oa_stack_shape *shape,
                            struct oa_store *store, struct oa_stack *out);
void oa_stack_close(struct oa_stack *s);

/* Decoding states of the layers of a stack; cross: NULL without a memory. */
struct oa_stack_state {
    struct oa_state **self, **cross; /* [layers] */
    long memory_length; /* of the memory that `cross` has read, for sequences side by side */
    oa_tensor *memory;  /* which it reads in this call, then; NULL: it has read it */
};

/* Told what every attention layer was given and gave, as soon as it has run. */
struct oa_attention_watch {
    void (*seen)(void *argument, const struct oa_stack *s, const struct oa_layer *l,
                 const struct oa_layer_input *in, const oa_tensor *y);
    void *argument;
};

struct oa_stack_input {
    oa_tensor *x;           /* [B·T, D]; one that wants a gradient when the tape records */
    oa_tensor *memory;      /* [B·S, D]; NULL: the stack has none */
    long batch, length;     /* B, T */
    long memory_length;     /* S */
    const int32_t *words;   /* [B·T] word numbers, for pattern(unit=word); NULL: nobody asks */
    const int32_t *lengths; /* [B] true lengths of the sequences; NULL: all are whole */
    const int32_t *memory_lengths; /* [B] of the memories; NULL: all are whole */
    const void *cosine,
        *sine; /* rotary tables, real [N, K/2]; NULL: none. Self-attention alone is rotated */
    double dropout, attention_dropout;
    const struct oa_stack_state
        *state; /* of a single sequence that goes on; NULL: sequences are whole */
    const struct oa_stack_state
        *rows; /* [B] of sequences side by side (attention.h: oa_layer_input); NULL */
    const struct oa_attention_watch *watch; /* NULL: nobody looks */
};
/* Hidden states [B·T, D]. */
oa_tensor *oa_stack_forward(oa_tape *t, const struct oa_stack *s, const struct oa_stack_input *in);

/* The first group of its self-attention that needs the word numbers of the tokens; NULL: none does.
 */
const struct oa_group *oa_stack_by_words(const struct oa_stack *s);
/* What mechanisms do after optimiser step number `step`. */
enum oa_error oa_stack_after_step(const struct oa_stack *s, long step);

/* Can it go token by token? OA_UNSUPPORTED otherwise, with a sentence that names the attention. */
enum oa_error oa_stack_reads_on(const struct oa_stack *s);
/* States for one sequence of up to shape.length tokens. Close also after an error. */
enum oa_error oa_stack_state_open(const struct oa_stack *s, struct oa_stack_state *out);
void oa_stack_state_close(const struct oa_stack *s, struct oa_stack_state *state);
void oa_stack_state_reset(const struct oa_stack *s, const struct oa_stack_state *state);
enum oa_error oa_stack_state_copy(const struct oa_stack *s, const struct oa_stack_state *from,
                                  const struct oa_stack_state *to);

/* parameters.c: parameters of a model beside those of attention, by the whole name. NULL after a
 * failure. */
struct oa_parameter *oa_add_matrix(struct oa_store *s, const char *name, long rows, long cols,
                                   double deviation);
struct oa_parameter *oa_add_vector(struct oa_store *s, const char *name, long n, enum oa_init init);

#endif
