/* SPDX-License-Identifier: Apache-2.0
 * A stack of Transformer blocks with a final norm.
 *
 *     x → [ norm → self-attention → + → ( norm → cross-attention → + → ) norm → FFN → + ] × layers
 *       → norm
 *
 * Pre-norm (Xiong et al. 2020); post-norm (Vaswani et al. 2017): [ self-attention → + → norm → … ]
 * × layers without a final norm; both: [ norm → self-attention → norm → + … ]; branch (OLMo 2): the
 * second of these alone. Without first_norm the first attention has no norm before it. Parallel: x
 * + attention(norm x) + FFN(norm' x). Feed-forward: W_out f(W_in x), gated W_out (f(W_gate x) ⊙
 * W_in x). Roles: an encoder sees whole sequences, a decoder is causal, and one with a memory
 * attends to an encoder's output. Parameters: ROLE.embedding_norm.weight (.bias),
 * ROLE.layers.L.{attention_norm,cross_norm,ffn_norm}.weight
 * (.bias), with both also …_norm.out.weight, ROLE.layers.L.attention.… and
 * ROLE.layers.L.cross_attention.… (contract of the attention layer),
 * ROLE.layers.L.ffn.{in,gate,out}.weight (.bias), ROLE.norm.weight (.bias; not post-norm). */
#ifndef ORTHANT_MODEL_STACK_H
#define ORTHANT_MODEL_STACK_H

#include "attention/attention.h"

struct oa_stack_shape {
    const char *role;                /* "encoder", "decoder": a literal */
    const struct oa_spec *attention; /* self-attention, layers in turn; borrowed */
    const struct oa_spec *cross;     /* cross-attention, or NULL; borrowed */
    long layers, width, heads, ffn;  /* D, H; ffn: hidden units of the feed-forward layer */
    long head_width;                 /* 0: D/H */
    long length, memory_length;      /* the longest sequence and memory: N of tables */
    bool causal;
    enum oa_biases bias;
    enum oa_norm_place place;
    enum oa_norm_kind norm;
    double epsilon;
    bool gain, embedding_norm, first_norm; /* gain: of norms */
    enum oa_activation activation;
    bool gated, parallel;
    double residual_scale; /* factor of branches */
    double logit_cap;      /* of attention; 0: none */
    double qknorm_epsilon; /* of attention; 0: 1e-6 */
};

/* Norms of a sublayer: of what it reads, and of what it writes. */
struct oa_branch_norms {
    bool reads, writes; /* writes: with post-norm of the sum */
    struct oa_norm in, out;
};

struct oa_block {
    struct oa_layer attention, cross;
    struct oa_branch_norms attention_norm, cross_norm, ffn_norm;
    struct oa_parameter *in, *in_bias, *gate, *gate_bias, *out, *out_bias;
};

struct oa_stack {
    oa_context *context;
    struct oa_stack_shape shape;
    struct oa_block *block; /* [layers] */
    struct oa_norm embedding_norm, norm;
};

/* Registers the parameters in the store. Initial values: matrices N(0, 1/inputs); with pre-norm,
 * those that write to the residual stream scaled by 1/√(number of branches) (GPT-2). Close also
 * after an error. */
enum oa_error oa_stack_open(oa_context *c, const struct oa_stack_shape *shape,
                            struct oa_store *store, struct oa_stack *out);
void oa_stack_close(struct oa_stack *s);

/* Decoding states of the layers of a stack; cross: NULL without a memory. */
struct oa_stack_state {
    struct oa_state **self, **cross; /* [layers] */
    long queries;                    /* decoding batches: tokens of this sequence in a call */
    long memory_length;              /* decoding batches: length of this sequence's memory */
    oa_tensor *memory;               /* decoding batches: the memory at the first call, then NULL */
};

/* Of a tape: called after every attention layer with its input and output. */
struct oa_attention_hook {
    void (*after)(void *argument, const struct oa_stack *s, const struct oa_layer *l,
                  const struct oa_layer_input *in, const oa_tensor *y);
    void *argument;
};

struct oa_stack_input {
    oa_tensor *x;                  /* [B·T, D]; wants a gradient when the tape records. With `rows`
                                      their tokens, which T does not count */
    oa_tensor *memory;             /* [B·S, D], or NULL */
    long batch, length;            /* B, T */
    long memory_length;            /* S */
    const int32_t *words;          /* [B·T] word numbers, for pattern(unit=word), or NULL */
    const int32_t *lengths;        /* [B] true lengths; NULL: no padding */
    const int32_t *memory_lengths; /* [B]; NULL: no padding */
    struct oa_rotary rotary;       /* of self-attention; zeros: none */
    struct oa_rotary local_rotary; /* of that in layers all of whose heads are local */
    double dropout, attention_dropout;
    const struct oa_stack_state *state; /* decoding: of a single sequence; NULL: whole sequences */
    const struct oa_stack_state *rows;  /* [B] decoding batch (oa_layer_input), or NULL */
};
/* Hidden states [B·T, D]. */
oa_tensor *oa_stack_forward(oa_tape *t, const struct oa_stack *s, const struct oa_stack_input *in);

/* Are all heads `local`? */
bool oa_layer_is_local(const struct oa_layer *l);

/* The first group of the self-attention that needs word numbers, or NULL. */
const struct oa_group *oa_stack_needs_words(const struct oa_stack *s);
/* Updates of mechanisms after optimiser step number `step`. */
enum oa_error oa_stack_after_step(const struct oa_stack *s, long step);

/* OA_UNSUPPORTED if an attention cannot decode token by token; the message names it. */
enum oa_error oa_stack_check_decoding(const struct oa_stack *s);
/* States for one sequence of up to shape.length tokens. Close also after an error. */
enum oa_error oa_stack_state_open(const struct oa_stack *s, struct oa_stack_state *out);
void oa_stack_state_close(const struct oa_stack *s, struct oa_stack_state *state);
void oa_stack_state_reset(const struct oa_stack *s, const struct oa_stack_state *state);
size_t oa_stack_state_bytes(const struct oa_stack *s, const struct oa_stack_state *state);
enum oa_error oa_stack_state_copy(const struct oa_stack *s, const struct oa_stack_state *from,
                                  const struct oa_stack_state *to);

/* Registers a parameter by its full name; NULL after a failure. */
struct oa_parameter *oa_add_matrix(struct oa_store *s, const char *name, long rows, long cols,
                                   double deviation);
struct oa_parameter *oa_add_vector(struct oa_store *s, const char *name, long n, enum oa_init init);

#endif
