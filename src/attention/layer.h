/* SPDX-License-Identifier: Apache-2.0
 * The attention layer, and the table that describes a mechanism to it. */
#ifndef ORTHANT_ATTENTION_LAYER_H
#define ORTHANT_ATTENTION_LAYER_H

#include "attention/spec.h"

/* ---- the layer ---- */

struct oa_layer_shape {
    long width, heads, head_width, value_width; /* D, H, K, V (K and V normally D/H) */
    long length;                                /* N: longest length, size of tables */
    long memory_length; /* N of the keys in cross-attention; = length otherwise */
    bool causal, cross, bias;
    bool plain_output;     /* no output.bias */
    bool core;             /* queries, keys and values are given: no projections (core.c) */
    long given_key_heads;  /* of a core: heads of the given keys and values; 0 = heads */
    double logit_cap;      /* logits s become cap·tanh(s/cap); 0 = none */
    double qknorm_epsilon; /* 0 = 1e-6 */
    double init_scale;     /* factor of the initial standard deviation of output.weight; 0 = 1 */
};
/* K = V = D/H, or 0, which layers refuse, if H does not divide D. */
struct oa_layer_shape oa_equal_heads_shape(long width, long heads, long length);

/* A group of heads with one mechanism (or mixture) in a layer. */
struct oa_group {
    const struct oa_mechanism *mechanism;
    const struct oa_atom *atom;
    struct oa_layer_shape shape; /* of the layer, but heads = those of this group */
    int layer, first_head;       /* number of the layer; the group's first head in it */
    int layer_heads;             /* heads of the whole layer */
    char prefix[128]; /* of parameter names: "decoder.layers.0.attention.", "….group.1." … */
    struct oa_store *store;
    oa_context *context;
    bool no_value;       /* no value.weight: component of a mixture, or OA_OWN_VALUES */
    bool stored_weights; /* attend: matrices of frozen projections are given, so no chains */
    enum {
        OA_STATISTICS_LEARNT,
        OA_STATISTICS_ABSENT,
        OA_STATISTICS_STORED
    } statistics;          /* of features; attend: whether in its file */
    bool needs_words;      /* set by the mechanism: forward needs word numbers */
    const char *needs_all; /* set by the mechanism, or NULL: why it needs all queries at once (no
                              decoding), and what to use instead */
    struct oa_parameter *parameter[12]; /* the mechanism's own, in its order */
    struct oa_parameter *query, *key, *value, *query_bias, *key_bias, *value_bias, *temperature,
        *diagonal;
    struct oa_parameter *relative; /* relative.bias, or NULL */
    long key_heads;                /* kv: heads of keys and values; normally shape.heads */
    /* Head options, or NULL: query.norm.weight … */
    struct oa_parameter *query_norm, *key_norm, *sink, *forget, *forget_bias, *gate, *gate_bias;
    /* State updates (common/state_update.c), or NULL. */
    struct oa_parameter *query_conv, *key_conv, *value_conv, *output_norm;
    struct oa_support support;
    int32_t *layout; /* block.layout as integers, for the support; updated before each use */
    struct oa_group *component; /* mixture */
    int components;
};

/* A sequence of a decoding batch. */
struct oa_layer_row {
    struct oa_state *state; /* one for each group of the layer */
    long first, queries;    /* its rows of x */
    long keys;              /* cross-attention: rows of its memory */
    oa_tensor *memory;      /* cross-attention, first call: [keys, D]; NULL later */
};
/* Projections of a decoding batch, computed for all sequences when the first one needs them. */
struct oa_shared_rows {
    oa_tensor *x;        /* of all sequences */
    long row;            /* the first one of the current sequence */
    long invariant_rows; /* of products over all (oa_gemm) */
    struct oa_shared_projection *first;
};
struct oa_shared_projection {
    const struct oa_parameter *w;
    oa_tensor *y;
    struct oa_shared_projection *next;
};
/* Queries [B·T, H·K], keys [B·S, N·K] and values [B·S, N·V] of a group, N its key_heads. Queries
 * and keys may be NULL where the mechanism has none. */
struct oa_core_heads {
    oa_tensor *query, *key, *value;
};
struct oa_layer_input {
    oa_tensor *x;                     /* [B·T, D] */
    oa_tensor *memory;                /* [B·S, D], cross-attention; NULL otherwise */
    const struct oa_core_heads *core; /* of each group of a core; for a mechanism: of its group */
    long first; /* core: position of the first query among the keys; > 0: forward only */
    long batch, queries, keys;
    const int32_t *lengths; /* [B] true key lengths; NULL = no padding */
    /* [B] true lengths of the queries of cross-attention, or NULL: features fitted to queries
     * ignore padding. Padding inputs must be finite; their outputs are undefined. */
    const int32_t *query_lengths;
    const int32_t *words;    /* [B·T] word numbers, for pattern(unit=word) */
    struct oa_rotary rotary; /* of queries and keys; zeros = none */
    double dropout;          /* of attention weights */
    /* Decoding: a state for each group of the layer (oa_layer_state_open). NULL: whole sequences.
     */
    struct oa_state *state;
    /* [B] sequences of a decoding batch, or NULL. Then x has the rows of all of them, and `queries`
     * and `keys` have no meaning. In cross-attention all have the same number of tokens so far,
     * `memory` is NULL (each sequence has its own), and sequences may share a state after the first
     * call (unless oa_layer_state_follows_queries). */
    const struct oa_layer_row *rows;
    /* For one sequence of such a batch: the shared projections, or NULL. */
    struct oa_shared_rows *shared;
};

enum oa_capability {
    OA_CAN_CAUSAL = 1,    /* has a causal form */
    OA_CAN_CROSS = 2,     /* is defined as cross-attention */
    OA_CAN_MIX = 4,       /* can be a component of a mixture */
    OA_HAS_QUERIES = 8,   /* has query and key projections (and their options) */
    OA_BOUND_LENGTH = 16, /* tables of length N: longer sequences are refused */
    OA_ORDER = 32,        /* the output depends on the order of the keys */
    OA_LINEAR_TIME = 64,  /* time and memory are linear in the length */
    OA_HAS_WEIGHTS = 128, /* O = A V with an attention map A */
    OA_OWN_VALUES = 256,  /* no value.weight, unless with the option `value` */
    OA_DROPS = 512,       /* model.attention_dropout applies to its weights */
    OA_POSITIVE = 1024,   /* all weights of A are ≥ 0 */
    OA_AVERAGES = 2048    /* rows of A sum to 1, or to 0 if nothing is visible */
};

/* Input of a mechanism's oracles: one batch item in double. */
struct oa_oracle {
    const double *x, *memory;    /* [T, D]; [S, D], NULL = self-attention */
    long queries, keys, length;  /* T, S, true key length */
    const int32_t *words;        /* [T] or NULL */
    const double *cosine, *sine; /* rotary tables [N, turned/2] or NULL */
    long turned;                 /* columns of a head that turn; 0 = all */
    bool interleaved;            /* pairs (2c, 2c + 1), not (c, c + turned/2) */
};

/* The size of an axis of a stored tensor; axis −1 is the last. 0: no such tensor. */
typedef long oa_stored_axis(const void *argument, const char *name, int axis);

struct oa_mechanism {
    const char *name, *title;
    const char *citation; /* authors, year, arXiv number */
    const char *formula;  /* plain text, one line or a few */
    const char *caveats;  /* or NULL */
    const char *mistakes; /* known mistakes in other implementations, separated by "\n"; or NULL */
    bool reads_input;     /* `forward` reads the input x itself: no core */
    const char *cost;     /* time and memory: "O(n²(K + V)) time, O(n) memory" */
    const char *state;    /* size of the decoding cache per head after t tokens: "t(K + V)" */
    unsigned can;         /* enum oa_capability; `orthant verify` tests each, set or not */
    /* Capabilities with these options; NULL: `can`. */
    unsigned (*can_with)(const struct oa_atom *a);
    const char *self_only; /* without OA_CAN_CROSS: completes "queries and keys must be" */
    const struct oa_argument *arguments; /* ended by key = NULL */
    /* If options conflict, writes a message and returns true. May be NULL. */
    bool (*clash)(const struct oa_atom *a, char *sentence, size_t size);
    /* If these options exclude a mode of `can`, writes why and returns true. May be NULL. */
    bool (*mode_clash)(const struct oa_atom *a, bool causal, bool cross, char *sentence,
                       size_t size);
    /* Refuses impossible widths and lengths. May be NULL. */
    enum oa_error (*check)(oa_context *c, const struct oa_group *g);
    /* Width of queries and keys, if not that of the model's heads. May be NULL. */
    long (*head_width)(const struct oa_atom *a);
    /* Registers parameters other than projections (which layer.c registers). May be NULL. */
    enum oa_error (*parameters)(struct oa_group *g);
    /* Writes the output of the heads to `o` [B·T, H·V]. v [B·S, H·V]: projected values; NULL with
     * no_value. */
    void (*forward)(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                    oa_tensor *v, oa_tensor *o);
    /* With OA_CAN_MIX: the part of the logits. */
    void (*part)(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                 struct oa_part_tensors *out);
    /* Updates parameters after optimiser step number `step`. May be NULL. */
    enum oa_error (*after_step)(const struct oa_group *g, long step);
    /* Forward FLOPs without projections, one sequence of T queries and S keys, all heads. */
    double (*flops)(const struct oa_group *g, long queries, long keys);
    /* Numbers cached in decoding after t tokens (cross-attention: of t keys), all heads. */
    double (*state_numbers)(const struct oa_group *g, long t);
    /* Oracles for tests and `attend --weights`. scores (OA_CAN_MIX): logits S[h][i][j]; weights:
     * map A[h][i][j] of O = A V, 0 where masked. May be NULL. */
    enum oa_error (*scores)(const struct oa_group *g, const struct oa_oracle *in, double *scores);
    enum oa_error (*weights)(const struct oa_group *g, const struct oa_oracle *in, double *weights);
    /* Oracle of the values: column `column` of the H·V values of a token with input x [D], for
     * query i. NULL: value.weight x + value.bias. */
    double (*values)(const struct oa_group *g, const double *x, long i, long column);
    /* N from the stored tensors of a layer; 0: unknown. May be NULL. */
    long (*length)(const struct oa_atom *a, oa_stored_axis *axis, const void *argument);
    /* The same for the keys of cross-attention. NULL = as `length`. */
    long (*memory_length)(const struct oa_atom *a, oa_stored_axis *axis, const void *argument);

    /* For verify only: */
    const char *plain;   /* an attention with defaults, if not the name */
    const char *trial;   /* options to combine with others, if defaults need heads wider than 4 */
    const char *numbers; /* values of integer options to test, "key=1|other=80"; default 3 */
    /* The sum of |terms| of each weight, over the denominator of its row, where weights are sums
     * that can cancel; NULL: they do not. */
    enum oa_error (*sizes)(const struct oa_group *g, const struct oa_oracle *in, double *sizes);
    double rounding; /* factor on the tolerance between decoding and whole sequences; 0 = 1 */
    /* Whether the forward pass uses statistics fitted to its input, which backward takes as
     * constants, so that finite differences do not give its gradient. NULL: never. */
    bool (*fitted)(const struct oa_group *g);
    /* Whether a layer with another N computes another function even of short sequences, because a
     * default or a unit depends on N. NULL: never. */
    bool (*length_counts)(const struct oa_group *g);
};

const struct oa_mechanism *oa_mechanism_at(int i); /* registry order; NULL past the end */
const struct oa_mechanism *oa_mechanism_find(const char *name);

struct oa_layer {
    struct oa_layer_shape shape;
    const struct oa_spec *spec;
    int groups;
    struct oa_group *group;
    struct oa_parameter *output, *output_bias;
    oa_context *context;
};
/* Checks the combination and registers the parameters of layer `number` under `prefix`
 * ("decoder.layers.0.attention."). The spec must outlive the layer. */
enum oa_error oa_layer_open(oa_context *c, const struct oa_spec *spec, int number,
                            const struct oa_layer_shape *shape, struct oa_store *store,
                            const char *prefix, struct oa_layer *out);
/* The same; `refine` may change the shape of a group (widths, length) before its parameters are
 * registered, to match stored tensors (attend). */
enum oa_error oa_layer_open_refined(oa_context *c, const struct oa_spec *spec, int number,
                                    const struct oa_layer_shape *shape, struct oa_store *store,
                                    const char *prefix,
                                    void (*refine)(void *argument, struct oa_group *g),
                                    void *argument, struct oa_layer *out);
void oa_layer_close(struct oa_layer *l);
/* y [B·T, D]. Padding rows: inputs are ignored, outputs are 0. */
oa_tensor *oa_layer_forward(oa_tape *t, const struct oa_layer *l, const struct oa_layer_input *in);

/* ---- core: a layer without projections (core.c) ---- */

/* A layer whose shape has `core`, with width = heads·head_width: oa_layer_forward then reads
 * in->core and returns the concatenated heads [B·T, ΣH·V]. Refused are attentions that read the
 * tokens' input besides queries, keys and values. */
enum oa_error oa_core_check(oa_context *c, const struct oa_group *g);
/* The head of the given keys and values that is number `head` of a group's. */
long oa_core_key_head(const struct oa_layer *l, const struct oa_group *g, long head);
/* Of a group: as many as its query heads where those of one given head are in several groups, or
 * where the mechanism has no option kv; given heads are then repeated. */
long oa_core_key_heads(const struct oa_group *g);
/* in->core with zeroed padding, by selection; NULL after a failure. */
const struct oa_core_heads *oa_core_select(oa_tape *t, const struct oa_layer *l,
                                           const struct oa_layer_input *in);

/* ---- attention map of a layer (layer_map.c): for `attend --weights`, `inspect`, tests ---- */

/* map [H, T, S] in double, by the oracles of the groups; 0 for groups without one. */
enum oa_error oa_layer_weights(const struct oa_layer *l, const struct oa_oracle *in, double *map);
/* The first group without a map, or NULL. */
const struct oa_group *oa_layer_without_map(const struct oa_layer *l);
/* y [T, D]: the output of the layer computed from such a map; equals oa_layer_forward up to
 * rounding. Every group must have a map. */
enum oa_error oa_layer_apply_map(const struct oa_layer *l, const struct oa_oracle *in,
                                 const double *map, double *y);

/* ---- decoding (layer_state.c) ---- */

/* A layer's state for one sequence of up to `length` tokens (queries, in cross-attention), which
 * comes in pieces: each oa_layer_forward with in->state set takes `queries` new tokens (one, or a
 * chunk of a prompt) with batch = 1 and a tape that does not record, and gives the rows that whole
 * sequences would. Self-attention must be causal and has no padding; cross-attention takes memory
 * and lengths as for whole sequences, and reads the memory at the first call only. Refused: layers
 * that need all tokens at once. The layer must outlive the state. */
enum oa_error oa_layer_check_decoding(
    const struct oa_layer *l); /* what oa_layer_state_open refuses, without a state */
enum oa_error oa_layer_state_open(const struct oa_layer *l, long length, struct oa_state **out);
void oa_layer_state_close(const struct oa_layer *l, struct oa_state *s);
/* For a new sequence; keeps allocated memory. */
void oa_layer_state_reset(const struct oa_layer *l, struct oa_state *s);
enum oa_error oa_layer_state_copy(const struct oa_layer *l, const struct oa_state *from,
                                  struct oa_state *to);
/* Whether a state of cross-attention depends on earlier queries too, not only on the memory. Then
 * sequences of a decoding batch cannot share it. */
bool oa_layer_state_follows_queries(const struct oa_layer *l);
/* Numbers needed by later tokens. */
double oa_layer_state_numbers(const struct oa_layer *l, const struct oa_state *s);
size_t oa_layer_state_bytes(const struct oa_layer *l, const struct oa_state *s); /* allocated */
enum oa_error oa_layer_state_check(const struct oa_layer *l, const struct oa_layer_input *in);

/* After optimiser step number `step`. */
enum oa_error oa_layer_after_step(const struct oa_layer *l, long step);
/* Forward FLOPs of one sequence, with projections. */
double oa_layer_flops(const struct oa_layer *l, long queries, long keys);

#endif
