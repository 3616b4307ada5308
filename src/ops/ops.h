/* SPDX-License-Identifier: Apache-2.0
 * ops: tensors, an eager tape, the parameter store, and the differentiable operations.
 *
 * An op runs at once on the device and, when the tape records, adds a node with what its backward
 * pass needs; oa_tape_backward runs the nodes in reverse. Mechanisms and models are written forward
 * only; derivatives are hand-written in ops and engines. The context records the first failure,
 * and an op given NULL returns NULL, so that code that composes ops has no error branches: its
 * caller checks oa_status once. */
#ifndef ORTHANT_OPS_H
#define ORTHANT_OPS_H

#include "device/device.h"

/* ---- parameters ---- */

enum oa_init { OA_INIT_ZERO, OA_INIT_ONE, OA_INIT_NORMAL, OA_INIT_UNIFORM, OA_INIT_CUSTOM };

/* One named parameter. Trainable ones are contiguous in flat arrays (values, gradients, moments),
 * so that clipping, updates and saving are one loop each; frozen ones have a value only,
 * reproducible from the seed. */
struct oa_parameter {
    char name[160];
    int dims;
    long dim[4];
    long count;
    bool trainable, decay; /* decay: weight decay applies (matrices) */
    bool matrix;           /* operand of matrix products: has an act copy */
    bool bits;             /* 0 or 1; I32 in files */
    bool stored;           /* frozen, but not reproducible from the seed: always saved */
    bool moving;           /* stored, and updated in training without a gradient: in checkpoints */
    bool redrawn;          /* moving, by oa_store_redraw */
    bool given;            /* loaded from a file: oa_store_allocate does not initialise it */
    bool excluded;         /* trainable, but not in this run: oa_store_exclude */
    bool merged;           /* of an adapter: files have the merged matrix instead */
    /* Matrices of oa_linear that work as w + scale·out·in, in [r, k], out [m, r] (LoRA, Hu et al.
     * 2021, arXiv 2106.09685); NULL: w alone. */
    struct {
        struct oa_parameter *in, *out;
        double scale;
    } adapter;
    enum oa_init init;
    double scale; /* NORMAL: standard deviation; UNIFORM: limit */
    /* CUSTOM: writes `count` doubles; the `fill_room` doubles after them are scratch. Called by
     * oa_store_allocate and on redraws. */
    enum oa_error (*fill)(oa_context *c, const struct oa_parameter *p, uint64_t seed, double *out);
    long fill_room;
    long fill_argument[6];
    double fill_number[6];
    /* For parameters stored as factors of a fast transform: writes the matrix [expanded], as `fill`
     * does, that files have instead, with the suffix .weight for .transform. NULL: saved as is. */
    enum oa_error (*expand)(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                            double *out);
    long expanded[2];
    uint64_t seed;      /* of the values: the store's, or that of oa_store_draw_from */
    const char *source; /* for `fill`: a file name; borrowed */
    char stream[160];   /* name of the random stream; default "init/" + name */
    void *value;        /* real [count] */
    void *act;          /* act [count] copy of value (f32, f64: the same memory); with `matrix` */
    void *packed;       /* the same in the layout of pack_weights (operations.def), or NULL */
    unsigned long packed_version; /* store version of `packed` */
    void *gradient;               /* real [count]; NULL when frozen */
    void *change; /* moving: real [count], accumulated in a step, zeroed with the gradients */
};

struct oa_store {
    oa_context *context;
    struct oa_device *device;
    struct oa_arena arena;
    struct oa_parameter **parameter;
    int count, capacity;
    long trainable, frozen; /* elements, without gaps */
    /* Ends of sections in the flat arrays, in elements: with weight decay; trainable; changed by
     * training; all. */
    long decayed, updated, live, total;
    void *values, *acts, *moment1, *moment2;
    /* [live]: of trainable parameters, then the changes of moving ones; after these `spare`
     * elements that ops write as gradients of excluded parameters and nothing reads. */
    void *gradients;
    long spare;
    uint64_t seed; /* of oa_store_allocate */
    bool allocated;
    bool sharded; /* has a shard of the moments only: oa_store_allocate_moments */
    /* Sharded: gathers moment 0 or 1 of all ranks, [updated] on the host, valid until the next
     * call; NULL after a recorded failure. */
    const void *(*gather_moment)(void *argument, int moment);
    void *gather_argument;
    unsigned long version;  /* incremented when values change */
    struct oa_arena packed; /* packed weights for decoding */
    struct oa_arena work;   /* temporary matrices of update rules */
};

void oa_store_init(struct oa_store *s, struct oa_device *d);
void oa_store_free(struct oa_store *s);
/* Registers a copy of `p`; the result stays valid. A registered name is returned if its shape is
 * equal (shared parameters), else it is an error. */
struct oa_parameter *oa_store_add(struct oa_store *s, const struct oa_parameter *p);
/* Before the layout: the parameter is not trained (no update, no moments, and no gradient where it
 * is a matrix of a block). */
void oa_store_exclude(struct oa_store *s, struct oa_parameter *p);
/* Whether it is trained, in this run or in another one. */
static inline bool oa_parameter_is_learned(const struct oa_parameter *p)
{
    return p->trainable || p->excluded;
}
/* Lays out and initialises all parameters from `seed`; with `training`, also gradients and moments.
 * No parameter can be added afterwards. */
enum oa_error oa_store_allocate(struct oa_store *s, uint64_t seed, bool training);
/* Sharded, after oa_store_allocate: `count` elements of each moment. */
enum oa_error oa_store_allocate_moments(struct oa_store *s, long count);
struct oa_parameter *oa_store_find(const struct oa_store *s, const char *name);
/* After values changed (update, load): updates the act copies, and packed weights on next use. */
void oa_store_refresh(struct oa_store *s);
void oa_store_refresh_from(struct oa_store *s, long first); /* those from element `first` on */
void oa_store_refresh_all(struct oa_store *s);              /* frozen ones too */
/* Redraws a `redrawn` parameter from the stream of its name and `number`. */
enum oa_error oa_store_redraw(struct oa_store *s, struct oa_parameter *p, uint64_t number);
/* Initialises a parameter from another seed than the store's. */
enum oa_error oa_store_draw_from(struct oa_store *s, struct oa_parameter *p, uint64_t seed);
void oa_store_zero_gradients(struct oa_store *s); /* and changes */

/* ---- tensors and the tape ---- */

typedef struct oa_tensor oa_tensor;
struct oa_tensor {
    void *data;     /* act [rows, cols], row-major, leading dimension ld */
    void *gradient; /* like data (same ld); NULL until something flows back */
    long rows, cols, ld;
    bool wants_gradient;
    bool lent;              /* allocated before the operations that write it: oa_tape_wrote */
    bool owns_gradient;     /* the gradient's memory is the tape's */
    oa_tensor *made_before; /* next in the list of tensors allocated since the last node */
    oa_tensor *base; /* a view of columns of this tensor: data and gradient are in the base */
    long first;      /* first column in the base */
};

typedef struct oa_tape oa_tape;
struct oa_tape {
    oa_context *context;
    struct oa_device *device;
    struct oa_arena arena; /* device: activations, saved values, gradients; reset at each step; dry
                              on the plan device */
    struct oa_arena nodes; /* host: tensors, nodes and their records */
    struct oa_node *last;
    oa_tensor *made;         /* tensors allocated since the last node */
    struct oa_spare *spares; /* matrices free for reuse in the backward pass */
    bool record;             /* keep nodes for backward */
    bool train;              /* dropout is on */
    struct oa_stream step;   /* stream of this step: parent of the dropout streams */
    uint64_t sites;          /* number of dropout sites so far in this step */
    const char *stack;       /* for diagnosis: part of the model that runs, "decoder" or NULL */
    const char *place;       /* in it: "ffn" */
    int layer;               /* number of the layer, or -1 */
    struct oa_state *state;  /* decoding: caches of the ops; NULL: whole sequences */
    struct oa_deferred *deferred; /* calls of a decoding batch; NULL: none */
    long invariant_rows; /* > 0: linear maps are batch invariant: each group of so many rows (a
                             sequence) gets the same bits as alone */
    const struct oa_attention_hook
        *hook;              /* of model/stack.h: called after each attention layer; NULL: none */
    struct oa_store *packs; /* decoding: linear maps use this store's packed weights; NULL: none */
};

void oa_tape_init(oa_tape *t, struct oa_device *d);
void oa_tape_free(oa_tape *t);
void oa_tape_reset(oa_tape *t, bool record, bool train, struct oa_stream step);
/* Device memory until the next reset; must not be dereferenced. */
void *oa_tape_take(oa_tape *t, size_t bytes);
/* Host data for the device, valid until the next reset: `host` itself if memory is shared, which
 * must not change meanwhile, else a copy. NULL for NULL, or after a recorded failure. */
const void *oa_tape_upload(oa_tape *t, const void *host, size_t bytes);
void *oa_tape_take_host(oa_tape *t, size_t bytes); /* for structs that ops keep for backward */
oa_tensor *oa_tensor_new(oa_tape *t, long rows, long cols); /* act, not initialised */
oa_tensor *oa_tensor_from(oa_tape *t, const void *act, long rows, long cols, long ld,
                          bool wants_gradient);
/* A view of columns first … first+count−1 of x: engines write the heads of a group into a view of
 * the concatenation. For outputs only: a view's gradient is read from the base's, never written. */
oa_tensor *oa_columns(oa_tape *t, oa_tensor *x, long first, long count);
typedef void oa_backward(oa_tape *t, void *saved);
/* Adds a node, named like the calling function; no-op unless the tape records. saved: from
 * oa_tape_take_host. */
#define oa_record(t, backward, saved) oa_record_as(t, __func__, backward, saved)
void oa_record_as(oa_tape *t, const char *op, oa_backward *backward, void *saved);
/* Declares that the newest node wrote y, a tensor (or view) allocated before other nodes. */
void oa_tape_wrote(oa_tape *t, oa_tensor *y);
/* For diagnosis: the part of the model of the operations that follow; literals, or NULL. */
void oa_tape_at(oa_tape *t, const char *stack, const char *place, int layer);
/* Overwrites values and gradients of tensors from oa_tensor_new, but not those from oa_tensor_from.
 */
void oa_tape_backward(oa_tape *t);
/* The same; calls the hook before (begins = true) and after each node. */
typedef void oa_node_hook(void *argument, bool begins);
void oa_tape_backward_with(oa_tape *t, oa_node_hook *hook, void *argument);
/* Hash of the sequence of operations and their parts of the model. */
uint64_t oa_tape_signature(const oa_tape *t);

/* ---- diagnosis (trace.c) ---- */

struct oa_trace { /* names an operation on the tape */
    const char *op, *stack, *place;
    int layer;
};
/* Before oa_tape_backward: the first operation with a non-finite result; false: none. */
bool oa_trace_forward(const oa_tape *t, struct oa_trace *out);
/* Instead of oa_tape_backward: runs backward up to the first operation that produces a non-finite
 * gradient of a tensor or parameter; false: none did. */
bool oa_trace_backward(oa_tape *t, const struct oa_store *s, struct oa_trace *out);

/* Gradients of a tensor with several consumers are summed. begin returns where an op writes its
 * gradient of x (whole matrix, leading dimension x->ld, overwritten), NULL if none is wanted; end
 * adds it. */
void *oa_gradient_begin(oa_tape *t, oa_tensor *x);
void oa_gradient_end(oa_tape *t, oa_tensor *x, void *written);
/* The gradient of an output; NULL if none flowed back: then backward has nothing to do. */
const void *oa_gradient_of(const oa_tape *t, const oa_tensor *y);

/* The next dropout site, with a stream by its number; keep = 1 when not training or p = 0. */
struct oa_dropout oa_dropout_site(oa_tape *t, double p);

/* ---- decoding caches (state.c): one sequence, token by token or in chunks ---- */

/* Ops that need data of earlier tokens take a slot of the tape's state, in the same order at each
 * call. Nothing is recorded for backward then. */
struct oa_cache_slot {
    void *data; /* [heads, room, cols / heads]: contiguous per head */
    long heads;
    long rows, room, cols; /* rows of `cols` numbers; room: allocated rows */
    long least;            /* room that a copy needs if it is to evict rows when this one does */
    long alive;            /* rows visible to later queries */
    size_t row_bytes;
};
enum { OA_MAX_CACHE_SLOTS = OA_MAX_PARTS + 2 };
struct oa_state {
    struct oa_device *device;
    long length; /* most tokens there will be */
    long tokens; /* of earlier calls: position of the first new one */
    struct oa_cache_slot slot[OA_MAX_CACHE_SLOTS];
    int next;
};
/* Allocates on first use. */
void oa_state_open(struct oa_state *s, struct oa_device *d, long length);
void oa_state_close(struct oa_state *s);
void oa_state_reset(struct oa_state *s); /* no tokens yet; memory stays */
/* Copies the tokens; both states then continue independently. */
enum oa_error oa_state_copy(const struct oa_state *from, struct oa_state *to);
double oa_state_numbers(const struct oa_state *s); /* numbers that later tokens need */
size_t oa_state_bytes(const struct oa_state *s);   /* allocated */
/* Makes the ops that follow use the state, from its first slot on; NULL: none. */
void oa_state_begin(oa_tape *t, struct oa_state *s);
/* Number of rows of `tokens` tokens visible to later queries. */
long oa_cache_live_rows(const struct oa_horizon *h, long tokens);
/* A slot of `count` numbers of `size` bytes; zero before the first token. */
void *oa_cache_numbers(oa_tape *t, long count, size_t size);
/* A slot for values that depend on the parameters only; *made: already computed. */
void *oa_cache_computed(oa_tape *t, size_t bytes, bool *made);
/* Keys or values of all tokens so far, a row each. Causal: appends x, the rows of the new tokens,
 * and evicts rows outside of the horizon (NULL: none). Cross-attention: stores x, made of the
 * memory, at the first call; x is NULL later. Sets the shape's keys and first to count in the
 * returned rows. */
oa_tensor *oa_cache_rows(oa_tape *t, struct oa_attention_shape *shape,
                         const struct oa_horizon *horizon, oa_tensor *x);
/* The same, contiguous per head: returns the rows of head 0; the shape's key_head_rows is the
 * distance to the next head's, in rows. */
oa_tensor *oa_cache_rows_by_head(oa_tape *t, struct oa_attention_shape *shape,
                                 const struct oa_horizon *horizon, oa_tensor *x);
/* Calls that a decoding batch makes for all its sequences together, each with caches of its own:
 * copies of new rows into these, and attention whose result nothing reads before (struct
 * oa_logits_rule: last). */
enum { OA_MAX_DEFERRED = 256 };
struct oa_deferred {
    long puts, attentions;
    struct oa_head_put room[OA_MAX_DEFERRED];
    const struct oa_head_put *put[OA_MAX_DEFERRED];
    const struct oa_logits *attention[OA_MAX_DEFERRED]; /* in memory of the tape */
};
/* From now on the ops of the tape may defer; on devices without such calls they never do. */
void oa_deferred_begin(oa_tape *t, struct oa_deferred *d);
void oa_deferred_run(oa_tape *t); /* all that was deferred so far */
void oa_deferred_end(oa_tape *t); /* the same, and ops run at once again */
/* Whether rows were evicted between always visible ones and the window, of which `rows` remain
 * after `tokens` tokens: row numbers and positions then differ. */
bool oa_cache_has_gap(const struct oa_horizon *h, long tokens, long rows);
void oa_cache_row_positions(const struct oa_horizon *h, long tokens, long rows, int32_t *positions);

/* ---- operations ---- */

/* Operand B [n, k] of the product g: the act copy of w, or its packed form, which is noted in g. */
const void *oa_weight_operand(oa_tape *t, struct oa_parameter *w, struct oa_gemm *g);
/* y = x Wᵀ + b. W [out, in] (matrix), b [out] or NULL. Frozen W gets no gradient, x does. With an
 * adapter y + scale·(x inᵀ) outᵀ. */
oa_tensor *oa_linear(oa_tape *t, oa_tensor *x, struct oa_parameter *w, struct oa_parameter *b);
/* A linear map of each head: y[:, h·out … ] = in_h W[h]ᵀ + b[h], W [H, out, in]; in_h = all of x,
 * or with `slice` the columns first + h·in … of x (docs/attention.md: factorized-dense). */
oa_tensor *oa_head_linear(oa_tape *t, oa_tensor *x, struct oa_parameter *w, struct oa_parameter *b,
                          bool slice, long first);
/* y_h = x U_h for each head by fast transforms (device.h); chains [H, oa_chain_numbers], frozen. */
oa_tensor *oa_transform_op(oa_tape *t, oa_tensor *x, const struct oa_parameter *chains,
                           const struct oa_chain *chain);
/* f(x), elementwise; x is contiguous. */
oa_tensor *oa_activate(oa_tape *t, oa_tensor *x, enum oa_unary kind);
oa_tensor *oa_gelu(oa_tape *t, oa_tensor *x); /* in its tanh form (kernels.h) */
oa_tensor *oa_relu(oa_tape *t, oa_tensor *x);
oa_tensor *oa_tanh(oa_tape *t, oa_tensor *x);
/* f(gate)·up, elementwise; both are contiguous. */
oa_tensor *oa_gated(oa_tape *t, oa_tensor *gate, oa_tensor *up, enum oa_unary kind);
/* Feature map of linear attention, element by element; POWER: [x, x², … x^degree] of each head. */
oa_tensor *oa_feature(oa_tape *t, oa_tensor *x, enum oa_feature f, int degree, long heads);
/* [relu(x_h) sin θ, relu(x_h) cos θ] of each head, θ = π t/(2·limit) at position t of sequences of
 * `length` rows (cosFormer, Qin et al. 2022). */
oa_tensor *oa_position_features(oa_tape *t, oa_tensor *x, long length, long heads, double limit);
/* Each head's row of K numbers over its root mean square, by layer norm, or over its length, ε
 * within the root; times gain [K], the same for all heads (NULL: 1; UNIT has none). x is
 * contiguous. */
enum oa_head_norm_kind {
    OA_HEAD_NORM_NONE,
    OA_HEAD_NORM_RMS,
    OA_HEAD_NORM_LAYER,
    OA_HEAD_NORM_UNIT
};
oa_tensor *oa_head_norm(oa_tape *t, oa_tensor *x, long heads, enum oa_head_norm_kind kind,
                        double epsilon, const struct oa_parameter *gain);
/* y_h = x_h S, S [K, s] matrix `index` of the frozen w [·, K, s], for all heads. */
oa_tensor *oa_sketch(oa_tape *t, oa_tensor *x, long heads, const struct oa_parameter *w,
                     long index);
/* a·x·y, element by element; both are contiguous. */
oa_tensor *oa_product(oa_tape *t, oa_tensor *x, oa_tensor *y, double a);
/* Statistics of q and k for random features: fills how[0] (queries) and how[1] (keys), without
 * gradient. `kept` NULL: of q and k themselves, per batch item. Else the running moments; in
 * training those of q and k are then accumulated for oa_running_moments_update. */
struct oa_running_moments {
    struct oa_parameter *mean, *square, *seen; /* [2, H, K], [2, H, K, K]; [1]: steps so far */
};
void oa_random_statistics_op(oa_tape *t, const struct oa_attention_shape *shape,
                             enum oa_random_fit kind, oa_tensor *q, oa_tensor *k,
                             const struct oa_parameter *omega,
                             const struct oa_running_moments *kept,
                             struct oa_random_features how[2]);
/* After step n: m ← m + max(1/n, 0.01)·(mean of the accumulated moments − m). */
void oa_running_moments_update(struct oa_device *d, const struct oa_running_moments *kept);
/* Random features of each head (device.h): kind, scale, half_norm and statistics from `how`, Ω
 * [r_0, K] frozen (NULL when `how` has one for each head). *top receives the logarithmic scales,
 * real [B, H, length]. */
oa_tensor *oa_random_features_op(oa_tape *t, oa_tensor *x, long length, long heads,
                                 const int32_t *lengths, const struct oa_parameter *omega,
                                 const struct oa_random_features *how, void **top);
/* Rotary positions, in place. Positions count from 0 in sequences of `length` rows, or from the
 * state's tokens on. Tables real [≥ length, width/2]; of each head the first `width` columns turn
 * (0: all). */
struct oa_rotary {
    const void *cosine, *sine; /* NULL: no rotary positions */
    long width;
    bool interleaved; /* kernels.h: oa_rotation */
};
oa_tensor *oa_rotate(oa_tape *t, oa_tensor *x, long length, long heads,
                     const struct oa_rotary *rotary);
/* Zeroes padding rows (t ≥ lengths[b] in sequences of `length` rows), forward and backward, by
 * selection: their content may be NaN. */
oa_tensor *oa_select_rows(oa_tape *t, oa_tensor *x, long length, const int32_t *lengths);
/* The first `count` rows of every sequence of `length`, as sequences of `count`; and the inverse: y
 * replaces those rows of o, which must not have a gradient of their own. */
oa_tensor *oa_leading_rows(oa_tape *t, oa_tensor *x, long length, long count);
void oa_put_leading_rows(oa_tape *t, oa_tensor *o, long length, long count, oa_tensor *y);
/* y = x · s · temperature[h] · diagonal[h, ·]; either parameter may be NULL. */
oa_tensor *oa_scale_heads(oa_tape *t, oa_tensor *x, long heads, double s,
                          struct oa_parameter *temperature, struct oa_parameter *diagonal);
/* Layer norm, or root mean square norm (kernels.h). */
struct oa_norm {
    struct oa_parameter *gain, *bias; /* [D], or NULL */
    bool rms;
    double epsilon;
};
/* sum = x + scale·dropout(branch), returned in *sum (branch NULL: x); the result is norm(sum), or
 * sum without a norm. */
oa_tensor *oa_residual_norm_op(oa_tape *t, oa_tensor *x, oa_tensor *branch, double dropout,
                               double scale, const struct oa_norm *norm, oa_tensor **sum);
/* y[t] = dropout(factor·table[id] + position + segment + rest); `position`, `segment` and `rest`
 * may be NULL. */
struct oa_embedding_tables {
    struct oa_parameter *table, *position, *segment; /* [vocabulary, D], [N, D], [·, D] */
    double factor;
    oa_tensor *rest; /* [tokens, D], contiguous */
};
/* Token i of a sequence of `length` has position first + i. segments [tokens]: with a segment
 * table. */
oa_tensor *oa_embed(oa_tape *t, const int32_t *ids, const int32_t *segments, long tokens,
                    long length, long first, const struct oa_embedding_tables *tables,
                    double dropout);
/* Pixels of patch tokens (bytes [tokens, count]), scaled to −1 … 1; 0 for tokens with id ≠ 0. Host
 * pointers; NULL allowed on the plan device. */
oa_tensor *oa_patch_pixels(oa_tape *t, const uint8_t *pixels, const int32_t *ids, long tokens,
                           long count);
/* y row i = x row index[i]; no duplicates. index: host pointer, NULL allowed on the plan device. x
 * contiguous. */
oa_tensor *oa_choose_rows(oa_tape *t, oa_tensor *x, const int32_t *index, long count);
/* y[b] = mean of the first lengths[b] of the `length` rows of sequence b (NULL: of all). x is
 * contiguous. */
oa_tensor *oa_mean_rows(oa_tape *t, oa_tensor *x, long length, const int32_t *lengths);
/* Targets of the outputs x Wᵀ + b. */
struct oa_targets {
    const int32_t *id;   /* [rows] < 0: none; cross-entropy */
    const double *value; /* [rows] instead: w has one row; squared error */
    double cap;          /* soft cap of the logits; 0: none */
    double smoothing;    /* label smoothing: kernels.h, cross_entropy */
    double scale;        /* of the gradient */
    double *losses;      /* host [rows], receives the loss of each row; NULL: not wanted */
    const struct oa_soft_targets *soft; /* a teacher, or NULL */
};
/* A teacher of tokens: hard·(cross-entropy) + soft·KL(teacher‖outputs). */
struct oa_soft_targets {
    oa_tensor *x;                     /* its rows, which get no gradient */
    const struct oa_parameter *w, *b; /* b may be NULL */
    double cap, hard, soft;
};
/* Sum of the losses (cross-entropy in nats) over rows with a target; the gradient is scale times
 * its gradient. b may be NULL. */
double oa_linear_loss_op(oa_tape *t, oa_tensor *x, struct oa_parameter *w, struct oa_parameter *b,
                         const struct oa_targets *targets);

/* Engines as ops; o is a view to write into. With a state, tensors of a causal layer are those of
 * the new tokens, and the op caches what later ones need; tensors made of the memory of
 * cross-attention are NULL after the first call. */
struct oa_part_tensors { /* one part of the logits in terms of tensors and parameters */
    enum oa_part_kind kind;
    double scale;
    long width;
    oa_tensor *q, *k;             /* DOT, NULL where a side is a table; FOLD */
    struct oa_parameter *q_table; /* [H, N, width] */
    struct oa_parameter *k_table; /* [H, N, width] or [N, width] */
    struct oa_parameter *bias;    /* [H, N] or [N] */
    struct oa_parameter *table;   /* TABLE: [H, N, N] */
};
struct oa_mixture {              /* α of the parts from θ (docs/attention.md: mix) */
    enum oa_mixture_kind kind;   /* NONE: plain sum */
    struct oa_parameter *theta;  /* SOFTMAX [H, C]; SIGMOID [1] */
    double weight[OA_MAX_PARTS]; /* FIXED */
};
struct oa_relative_bias { /* added to the logits by distance; NONE: nothing */
    enum oa_relative_kind kind;
    long buckets, distance;    /* T5 */
    struct oa_parameter *bias; /* T5: [H, buckets] */
};
/* Forget gates of the tokens x: their logits z [B·T, H], and what the logits engine reads. */
struct oa_forget_gates {
    long length;        /* T */
    void *sums, *dsums; /* struct oa_forget_sums; dsums NULL: nothing is recorded */
};
/* `length` rows a sequence; with a state the sums go on from those of earlier tokens. NULL after a
 * failure. */
struct oa_forget_gates *oa_forget_gates_op(oa_tape *t, oa_tensor *z, long batch, long length);
struct oa_logits_rule { /* from the sum of the parts to weights */
    struct oa_relative_bias relative;
    enum oa_normaliser normaliser;
    struct oa_parameter *sink;          /* SINK: [H] */
    struct oa_forget_gates *forgetting; /* NULL: none */
    bool last; /* nothing reads the result before the mechanism's forward pass ends */
};
/* mixture and rule may be NULL: plain sum, softmax. */
void oa_logits_op(oa_tape *t, const struct oa_attention_shape *shape,
                  const struct oa_support *support, int parts, const struct oa_part_tensors *part,
                  const struct oa_mixture *mixture, const struct oa_logits_rule *rule, oa_tensor *v,
                  double dropout, oa_tensor *o);
void oa_linear_attention_op(oa_tape *t, const struct oa_attention_shape *shape, oa_tensor *fq,
                            oa_tensor *fk, oa_tensor *v, enum oa_denominator policy, double epsilon,
                            oa_tensor *o);
/* The same with features that are polynomials of degree 2 of the heads' rows of q and k,
 * coefficients c (kernels.h: quadratic); they are made chunk by chunk and never stored. */
void oa_squared_attention_op(oa_tape *t, const struct oa_attention_shape *shape, oa_tensor *q,
                             oa_tensor *k, oa_tensor *v, const double c[3],
                             enum oa_denominator policy, double epsilon, oa_tensor *o);
/* The same with features that are divided by e^scale: logarithmic scales of keys and queries, real
 * [B, H, S] and [B, H, T], or NULL (see device.h). */
void oa_scaled_linear_attention_op(oa_tape *t, const struct oa_attention_shape *shape,
                                   oa_tensor *fq, oa_tensor *fk, const void *query_scale,
                                   const void *key_scale, oa_tensor *v, enum oa_denominator policy,
                                   double epsilon, oa_tensor *o);
/* Rows of heads (device.h: oa_row_map), one by one; the second into o, with a gain [width]. */
oa_tensor *oa_map_rows(oa_tape *t, oa_tensor *x, long heads, enum oa_row_map_kind kind,
                       double epsilon);
void oa_norm_heads(oa_tape *t, oa_tensor *x, long heads, struct oa_parameter *gain, double epsilon,
                   oa_tensor *o);
/* Causal convolution of the columns of sequences of `length` rows with w [cols, W], then z·σ(z).
 * `follows`: with a state, the rows of x follow those of earlier calls. NULL for NULL. */
oa_tensor *oa_causal_conv_op(oa_tape *t, oa_tensor *x, long length, struct oa_parameter *w,
                             bool follows);
/* State updates (cpu_recurrence.c): scale·Sᵀq of the state S after each token. Causal. */
struct oa_state_update {
    double scale;
    enum oa_decay decay;
    oa_tensor *decay_logits;   /* HEAD: [B·T, H]; CHANNEL: [B·T, H·r]; else NULL */
    struct oa_parameter *rate; /* HEAD: [H] */
    bool delta;
    oa_tensor *beta_logits; /* delta: [B·T, H] */
};
void oa_recurrence_op(oa_tape *t, const struct oa_attention_shape *shape, oa_tensor *q,
                      oa_tensor *k, oa_tensor *v, const struct oa_state_update *how, oa_tensor *o);
void oa_polynomial_op(oa_tape *t, const struct oa_attention_shape *shape, oa_tensor *q,
                      oa_tensor *k, oa_tensor *v, int degree, double scale, double bias,
                      oa_tensor *o);
void oa_pattern_op(oa_tape *t, const struct oa_attention_shape *shape, enum oa_pattern_kind pattern,
                   enum oa_edge edge, const int32_t *words, oa_tensor *v, oa_tensor *o);
/* band: shape, taps, before, offset, sigma and renormalise; the logits of the taps are those of
 * heads (kernel [H, taps]) or of tokens (filters [B·T, H·taps]), NULL both for a Gaussian. */
void oa_band_op(oa_tape *t, const struct oa_band *band, struct oa_parameter *kernel,
                oa_tensor *filters, oa_tensor *v, oa_tensor *o);
/* y_b,h = W[h][:m]ᵀ x_b,h: the m rows of each sequence become k; W [H, N, k], or [N, k] for all
 * heads. Rows beyond lengths[b] count as zeros. */
oa_tensor *oa_project_length(oa_tape *t, oa_tensor *x, long batch, long heads,
                             const int32_t *lengths, struct oa_parameter *w);
/* An MLP along the length (mixer_op.c): in [D_S, N] and [D_S], out [N, D_S] and [N]. */
struct oa_mixer {
    struct oa_parameter *in_weight, *in_bias, *out_weight, *out_bias;
    bool causal;
};
/* y [B·n, C] from the columns first … first+C−1 of x, whose padding rows must be zeros. */
void oa_mixer_op(oa_tape *t, const struct oa_mixer *mixer, oa_tensor *x, long first, long batch,
                 oa_tensor *y);
/* y = x times the gates of z (operations.h: oa_head_gate); x and z from oa_tensor_new, y a view to
 * write into. */
void oa_head_gate_op(oa_tape *t, enum oa_head_gate_kind kind, long heads, oa_tensor *x,
                     oa_tensor *z, oa_tensor *y);
/* Rows of key_heads heads with each repeated heads/key_heads times; x itself if they are equal. */
oa_tensor *oa_repeat_heads(oa_tape *t, oa_tensor *x, long key_heads, long heads);
/* y = a·σ(b) for rows x = [a | b]. */
oa_tensor *oa_gate(oa_tape *t, oa_tensor *x);

#endif
