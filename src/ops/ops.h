/* SPDX-License-Identifier: Apache-2.0
 *
 * ops: tensors, an eager tape, the parameter store, and the differentiable operations.
 *
 * An op runs at once on the device and, when the tape records, leaves a node with what its backward
 * pass needs; oa_tape_backward walks the nodes back. Mechanisms and models are written forward
 * only; hand-written derivatives exist in the ops and engines alone. The first failure stays in the
 * context, an op given NULL returns NULL: code that composes ops has no error branches, its caller
 * checks oa_status once.
 */
#ifndef ORTHANT_OPS_H
#define ORTHANT_OPS_H

#include "device/device.h"

/* ---- parameters
 * ---------------------------------------------------------------------------------------------- */

enum oa_init { OA_INIT_ZERO, OA_INIT_ONE, OA_INIT_NORMAL, OA_INIT_UNIFORM, OA_INIT_CUSTOM };

/* One named parameter. Trainable ones lie one after the other in flat arrays (values, gradients,
 * moments), so that clipping, updates and saving are one loop each; frozen ones have a value only,
 * made again from the seed. */
struct oa_parameter {
    char name[160];
    int dims;
    long dim[4];
    long count;
    bool trainable, decay; /* decay: weight decay applies (matrices) */
    bool matrix;           /* used as an operand of matrix products: an act copy is kept */
    bool bits;             /* 0 or 1, I32 in files */
    bool kept;             /* frozen, but not to be made again from the seed alone: always saved */
    bool moving;  /* kept, and changed by training otherwise than by a gradient: part of checkpoints
                   */
    bool redrawn; /* moving, by oa_store_redraw */
    bool given;   /* its values will come from a file: oa_store_allocate draws none */
    enum oa_init init;
    double scale; /* NORMAL: standard deviation; UNIFORM: limit */
    /* CUSTOM: writes `count` doubles, and may use `fill_room` more behind them as scratch; called
     * when the store is allocated and when the parameter is drawn again. */
    enum oa_error (*fill)(oa_context *c, const struct oa_parameter *p, uint64_t seed, double *out);
    long fill_room;
    long fill_argument[6];
    /* Kept as the numbers of fast transforms, but in files it is the matrix [expanded] that this
     * makes as `fill` does, under the name that ends in .weight instead of .transform. NULL: it is
     * in files what it is here. */
    enum oa_error (*expand)(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                            double *out);
    long expanded[2];
    uint64_t seed; /* that the values were drawn from; the store's own unless oa_store_draw_from was
                      asked */
    const char *source; /* for `fill`: the name of a file; borrowed */
    char stream[160];   /* name of the random stream; default "init/" + name */
    void *value;        /* real [count] */
    void *act;    /* act [count], equal to value (f32, f64: the same memory); only with `matrix` */
    void *packed; /* the same in the order of pack_weights (operations.def); NULL: never made */
    unsigned long packed_version; /* the store's version when that was made */
    void *gradient;               /* real [count]; NULL when frozen */
    void *change; /* real [count]: what a step gathers for its move, zeroed with the gradients; only
                     if moving */
};

struct oa_store {
    oa_context *context;
    struct oa_device *device;
    struct oa_arena arena;
    struct oa_parameter **parameter;
    int count, capacity;
    long trainable, frozen; /* elements, without gaps */
    /* Ends in the flat arrays, in elements: with weight decay; trainable; what training changes;
     * all. */
    long decayed, updated, live, total;
    void *values, *acts, *moment1, *moment2;
    void *gradients; /* [live]: of trainable ones, then the changes of those that move */
    uint64_t seed;   /* of oa_store_allocate */
    bool allocated;
    bool apart; /* moments are not whole here: oa_store_take_moments says how much of them is */
    /* Makes the whole of moment 0 or 1 of all ranks, [updated] on the host, valid until the next
     * call; NULL after a recorded failure. Of moments that are apart. */
    const void *(*whole)(void *argument, int moment);
    void *whole_argument;
    unsigned long version;  /* of the values: how often they changed */
    struct oa_arena packed; /* weights that decoding reads */
};

void oa_store_init(struct oa_store *s, struct oa_device *d);
void oa_store_free(struct oa_store *s);
/* Registers a copy of `p`; the pointer stays valid. A name that exists already is returned if the
 * shape is equal (layers that share), else it is an error. */
struct oa_parameter *oa_store_add(struct oa_store *s, const struct oa_parameter *p);
/* Lays out and initialises everything from `seed`; with `training`, gradients and moments too.
 * No-op values on the plan device. Nothing can be added afterwards. */
enum oa_error oa_store_allocate(struct oa_store *s, uint64_t seed, bool training);
/* With `apart`, after that: room for so many elements of each moment. */
enum oa_error oa_store_take_moments(struct oa_store *s, long count);
struct oa_parameter *oa_store_find(const struct oa_store *s, const char *name);
/* After values changed (an update, a load): makes the act copies again, and packed weights when
 * they are next read. */
void oa_store_refresh(struct oa_store *s);
void oa_store_refresh_from(struct oa_store *s, long first); /* those from element `first` on */
void oa_store_refresh_all(struct oa_store *s);              /* also of frozen ones */
/* Draws a `redrawn` parameter again, from a stream of the seed, its own and `number`. */
enum oa_error oa_store_redraw(struct oa_store *s, struct oa_parameter *p, uint64_t number);
/* Draws the first values of a parameter again, from another seed than the store's. */
enum oa_error oa_store_draw_from(struct oa_store *s, struct oa_parameter *p, uint64_t seed);
void oa_store_zero_gradients(struct oa_store *s); /* and changes */

/* ---- tensors and the tape
 * ------------------------------------------------------------------------------------- */

typedef struct oa_tensor oa_tensor;
struct oa_tensor {
    void *data;     /* act [rows, cols], row-major, leading dimension ld */
    void *gradient; /* like data (same ld); NULL until something flows back */
    long rows, cols, ld;
    bool wants_gradient;
    bool lent;              /* made before the operations that write into it: see oa_tape_wrote */
    bool owns_gradient;     /* the tape took the gradient's memory, nobody lent it */
    oa_tensor *made_before; /* the list of tensors whose data the tape took, since the last node */
    oa_tensor *base; /* a view of columns of another tensor: data and gradient lie in the base */
    long first;      /* first column in the base */
};

typedef struct oa_tape oa_tape;
struct oa_tape {
    oa_context *context;
    struct oa_device *device;
    struct oa_arena arena; /* activations, saved values, gradients: reset at each step; dry on the
                              plan device */
    struct oa_arena nodes; /* tensors, nodes and their records: always real */
    struct oa_node *last;
    oa_tensor *made;         /* tensors since the last node: the next one's */
    struct oa_spare *spares; /* matrices that the backward pass is done with */
    bool record;             /* keep nodes for backward */
    bool train;              /* dropout is on */
    struct oa_stream step;   /* stream of this step: dropout streams are children of it */
    uint64_t sites;          /* number of dropout sites so far in this step */
    const char *stack; /* part of the model whose operations run, for diagnoses: "decoder"; NULL: of
                          no stack */
    const char *place; /* in it: "ffn" */
    int layer;         /* its number, or -1 */
    struct oa_state *state; /* decoding: what ops keep between calls; NULL = sequences are whole */
    long invariant_rows;    /* of linear maps (oa_gemm) */
    struct oa_store *
        packs; /* decoding: linear maps read the weights of this store packed; NULL = as they are */
};

void oa_tape_init(oa_tape *t, struct oa_device *d);
void oa_tape_free(oa_tape *t);
void oa_tape_reset(oa_tape *t, bool record, bool train, struct oa_stream step);
void *
oa_tape_take(oa_tape *t,
             size_t bytes); /* numbers: the step's arena; not to be touched on the plan device */
/* The host's bytes where the device can read them until the step ends: themselves if the memory is
 * shared, else a copy. They must not change meanwhile. NULL stays NULL; also NULL after a recorded
 * failure. */
const void *oa_tape_lend(oa_tape *t, const void *host, size_t bytes);
void *oa_tape_note(oa_tape *t,
                   size_t bytes); /* records: small structs that ops keep for backward */
oa_tensor *oa_tensor_new(oa_tape *t, long rows, long cols); /* act, not initialised */
oa_tensor *oa_tensor_from(oa_tape *t, const void *act, long rows, long cols, long ld,
                          bool wants_gradient);
/* Columns first … first+count−1 of x as a tensor: engines write the heads of a group into a view of
 * the concatenation. Views are outputs: their gradient is read from the base's, never written. */
oa_tensor *oa_columns(oa_tape *t, oa_tensor *x, long first, long count);
typedef void oa_backward(oa_tape *t, void *saved);
/* Leaves a node; `saved` comes from oa_tape_note. No-op unless the tape records. The node is called
 * like the function that records it. */
#define oa_record(t, backward, saved) oa_record_as(t, __func__, backward, saved)
void oa_record_as(oa_tape *t, const char *op, oa_backward *backward, void *saved);
/* The newest node is the one that wrote y, a tensor (or columns of one) that was made before other
 * nodes. */
void oa_tape_wrote(oa_tape *t, oa_tensor *y);
/* Where the operations that follow belong: literals, or NULL. */
void oa_tape_at(oa_tape *t, const char *stack, const char *place, int layer);
/* Afterwards values and gradients of tensors made by oa_tensor_new are gone; those of
 * oa_tensor_from stay. */
void oa_tape_backward(oa_tape *t);
/* The same, and somebody may do something before each node (begins) and after it. */
typedef void oa_beside_node(void *argument, bool begins);
void oa_tape_backward_with(oa_tape *t, oa_beside_node *beside, void *argument);
/* A number that two tapes share whose nodes are the same operations at the same places, in the same
 * order. */
uint64_t oa_tape_signature(const oa_tape *t);

/* ---- diagnosis (trace.c) ---- */

struct oa_trace { /* an operation on the tape */
    const char *op, *stack, *place;
    int layer;
};
/* The first operation, in the order they ran, whose results are not all finite; false: there is
 * none. Before oa_tape_backward. */
bool oa_trace_forward(const oa_tape *t, struct oa_trace *out);
/* Runs backward instead of oa_tape_backward, up to the first operation that sends a gradient that
 * is not finite to a tensor or to a parameter of the store; false: none did. */
bool oa_trace_backward(oa_tape *t, const struct oa_store *s, struct oa_trace *out);

/* Gradients of a tensor with several consumers add up. An op that sends a gradient to x asks where
 * to write (whole matrix, leading dimension x->ld, to be overwritten) and says when it is done.
 * NULL: no gradient is wanted. */
void *oa_gradient_begin(oa_tape *t, oa_tensor *x);
void oa_gradient_end(oa_tape *t, oa_tensor *x, void *written);
/* The gradient that reached an output (NULL when nothing did: the op's backward then does nothing).
 */
const void *oa_gradient_of(const oa_tape *t, const oa_tensor *y);

/* A dropout site: its own stream, keep = 1 when not training or p = 0. Sites are numbered in order
 * of their making. */
struct oa_dropout oa_dropout_site(oa_tape *t, double p);

/* ---- decoding (state.c): one sequence that comes in pieces
 * ------------------------------------------------------- */

/* Ops that need something of the tokens before ask the tape's state for a place; as they ask in the
 * same order at each call, places have no names. Nothing is recorded for backward then. */
struct oa_place {
    void *data; /* [heads, room, cols / heads]: what a query reads of a head lies end to end */
    long heads;
    long rows, room, cols; /* rows of `cols` numbers that are there, and that fit */
    long alive;            /* rows that can be seen by later queries */
    size_t row_bytes;
};
enum { OA_MAX_PLACES = OA_MAX_PARTS + 2 };
struct oa_state {
    struct oa_device *device;
    long length; /* most tokens there will be */
    long tokens; /* so many came in earlier calls: the position of the first new one */
    struct oa_place place[OA_MAX_PLACES];
    int next;
};
void oa_state_open(struct oa_state *s, struct oa_device *d,
                   long length); /* takes memory at the first call only */
void oa_state_close(struct oa_state *s);
void oa_state_reset(struct oa_state *s); /* no tokens yet; memory stays */
/* The same tokens in another state, which may be ahead or behind: both can then go on
 * independently. */
enum oa_error oa_state_copy(const struct oa_state *from, struct oa_state *to);
double oa_state_numbers(const struct oa_state *s); /* numbers that later tokens need */
/* The ops that follow use the state, from its first place on; NULL: they use none. */
void oa_state_begin(oa_tape *t, struct oa_state *s);
/* Rows of `tokens` tokens that a query behind them, or a later one, can see. */
long oa_rows_alive(const struct oa_horizon *h, long tokens);
/* For ops: `count` numbers of `size` bytes, zeros before the first token. */
void *oa_keep_numbers(oa_tape *t, long count, size_t size);
/* For ops: bytes that are a function of the parameters alone; *made: they are there from earlier
 * tokens. */
void *oa_keep_made(oa_tape *t, size_t bytes, bool *made);
/* For ops: keys or values, one row for each token, of all tokens so far. In a causal layer x are
 * the new ones, which go behind those that are there, and what the horizon allows is forgotten
 * (NULL: nothing). Otherwise x was made of the memory of cross-attention at the first call, and is
 * NULL later. The shape's keys and first then count in the rows that are returned. */
oa_tensor *oa_keep_keys(oa_tape *t, struct oa_attention_shape *shape,
                        const struct oa_horizon *horizon, oa_tensor *x);
/* The same head by head: rows of one head are returned, those of the others follow after the
 * shape's key_head_rows. */
oa_tensor *oa_keep_keys_apart(oa_tape *t, struct oa_attention_shape *shape,
                              const struct oa_horizon *horizon, oa_tensor *x);
/* Are tokens missing between the `rows` rows that are kept after `tokens` tokens? Then what was
 * forgotten lies between those that are seen for ever and the rest, and positions are not those of
 * rows. */
bool oa_rows_apart(const struct oa_horizon *h, long tokens, long rows);
void oa_row_positions(const struct oa_horizon *h, long tokens, long rows, int32_t *positions);

/* ---- operations
 * -----------------------------------------------------------------------------------------------
 */

/* B of the product g with a parameter, [n, k]: its act copy, or where the tape packs weights what
 * the device made of that, which g is told. */
const void *oa_weights(oa_tape *t, struct oa_parameter *w, struct oa_gemm *g);
/* y = x Wᵀ + b. W [out, in] (matrix), b [out] or NULL. Frozen W gets no gradient, x does. */
oa_tensor *oa_linear(oa_tape *t, oa_tensor *x, struct oa_parameter *w, struct oa_parameter *b);
/* A linear map of each head: y[:, h·out … ] = in_h W[h]ᵀ + b[h], W [H, out, in]; in_h = all of x,
 * or with `slice` the columns first + h·in … of x (docs/attention.md: factorized-dense). */
oa_tensor *oa_head_linear(oa_tape *t, oa_tensor *x, struct oa_parameter *w, struct oa_parameter *b,
                          bool slice, long first);
/* y_h = x U_h for each head by fast transforms (device.h); chains [H, oa_chain_numbers], frozen. */
oa_tensor *oa_transform_op(oa_tape *t, oa_tensor *x, const struct oa_parameter *chains,
                           const struct oa_chain *chain);
oa_tensor *oa_gelu(oa_tape *t, oa_tensor *x); /* in its tanh form (kernels.h) */
oa_tensor *oa_relu(oa_tape *t, oa_tensor *x);
oa_tensor *oa_feature(oa_tape *t, oa_tensor *x, enum oa_feature f, int degree, long heads);
/* Feature maps of kernel attention (features.c). x is contiguous. */
/* [relu(x_h) sin θ, relu(x_h) cos θ] of each head, θ = π t/(2·limit) at position t of sequences of
 * `length` rows. */
oa_tensor *oa_place(oa_tape *t, oa_tensor *x, long length, long heads, double limit);
/* Each head's row by layer norm without parameters. */
oa_tensor *oa_head_norm(oa_tape *t, oa_tensor *x, long heads, double epsilon);
/* y_h = x_h S, S [K, s] matrix `index` of the frozen w [·, K, s], for all heads. */
oa_tensor *oa_sketch(oa_tape *t, oa_tensor *x, long heads, const struct oa_parameter *w,
                     long index);
oa_tensor *oa_product(oa_tape *t, oa_tensor *x, oa_tensor *y,
                      double a); /* a·x·y, element by element */
/* Statistics of q and k for such features: fills how[0] (queries) and how[1] (keys); `shape` says
 * what is real. No gradient flows. Without `kept` they are those of q and k themselves, for each
 * batch item. With it they are what is kept, which does not depend on q and k; in training those of
 * q and k are then gathered for oa_move_moments. */
struct oa_kept_moments {
    struct oa_parameter *mean, *square, *seen; /* [2, H, K], [2, H, K, K]; [1]: steps so far */
};
void oa_random_statistics_op(oa_tape *t, const struct oa_attention_shape *shape,
                             enum oa_random_fit kind, oa_tensor *q, oa_tensor *k,
                             const struct oa_parameter *omega, const struct oa_kept_moments *kept,
                             struct oa_random_features how[2]);
/* After a step: step number n moves what is kept by max(1/n, 0.01) of the way to the mean over what
 * it gathered. */
void oa_move_moments(struct oa_device *d, const struct oa_kept_moments *kept);
/* Random features of each head (device.h): kind, scale, half_norm and statistics from `how`, Ω
 * [r_0, K] frozen (NULL when `how` has one for each head). *top receives the logarithmic scales,
 * real [B, H, length]. */
oa_tensor *oa_random_features_op(oa_tape *t, oa_tensor *x, long length, long heads,
                                 const int32_t *lengths, const struct oa_parameter *omega,
                                 const struct oa_random_features *how, void **top);
/* Positions count from 0 in sequences of `length` rows, or from the state's tokens on; real [≥
 * length, K/2]. */
oa_tensor *oa_rotate(oa_tape *t, oa_tensor *x, long length, long heads, const void *cosine,
                     const void *sine);
/* Rows of padding (t ≥ lengths[b] in sequences of `length` rows) become 0, forward and backward, by
 * selection. */
oa_tensor *oa_select_rows(oa_tape *t, oa_tensor *x, long length, const int32_t *lengths);
/* The first `count` rows of every sequence of `length`, as sequences of `count`; and such rows put
 * in the place of those of o, after an op that left these rows 0 and sends nothing back through
 * them. */
oa_tensor *oa_leading_rows(oa_tape *t, oa_tensor *x, long length, long count);
void oa_put_leading_rows(oa_tape *t, oa_tensor *o, long length, long count, oa_tensor *y);
/* y = x · s · temperature[h] · diagonal[h, ·]; either parameter may be NULL. */
oa_tensor *oa_scale_heads(oa_tape *t, oa_tensor *x, long heads, double s,
                          struct oa_parameter *temperature, struct oa_parameter *diagonal);
/* sum = x + dropout(branch), returned in *sum; the result is norm(sum). */
oa_tensor *oa_residual_norm_op(oa_tape *t, oa_tensor *x, oa_tensor *branch, double dropout,
                               struct oa_parameter *gain, struct oa_parameter *bias,
                               oa_tensor **sum);
/* y[t] = dropout(factor·table[id] + position + segment + rest); `position`, `segment` and `rest`
 * may be NULL. */
struct oa_embedding_tables {
    struct oa_parameter *table, *position, *segment; /* [vocabulary, D], [N, D], [2, D] */
    double factor;
    oa_tensor *rest; /* [tokens, D], contiguous */
};
/* Token i of a sequence of `length` stands at position first + i. segments [tokens]: with a segment
 * table. */
oa_tensor *oa_embed(oa_tape *t, const int32_t *ids, const int32_t *segments, long tokens,
                    long length, long first, const struct oa_embedding_tables *tables,
                    double dropout);
/* Pixels of tokens that are patches, from −1 to 1 (bytes [tokens, count]); of tokens with another
 * id than 0 they are 0. Both on the host; on the plan device they may be NULL. */
oa_tensor *oa_patches(oa_tape *t, const uint8_t *pixels, const int32_t *ids, long tokens,
                      long count);
/* y row i = x row index[i]; no row twice. index on the host; on the plan device it may be NULL. x
 * is contiguous. */
oa_tensor *oa_choose_rows(oa_tape *t, oa_tensor *x, const int32_t *index, long count);
/* y[b] = mean of the first lengths[b] of the `length` rows of sequence b (NULL: of all). x is
 * contiguous. */
oa_tensor *oa_mean_rows(oa_tape *t, oa_tensor *x, long length, const int32_t *lengths);
/* What rows of outputs x Wᵀ + b are compared with. */
struct oa_targets {
    const int32_t *id;   /* [rows] < 0: none */
    const double *value; /* [rows] numbers instead: w has one row, the loss is the squared error */
    double smoothing;    /* of labels: kernels.h, cross_entropy */
    double scale;        /* of the gradient */
};
/* Sum of the losses, in nats where there are targets, unscaled; the gradient that flows is scale
 * times it. b may be NULL. */
double oa_linear_loss_op(oa_tape *t, oa_tensor *x, struct oa_parameter *w, struct oa_parameter *b,
                         const struct oa_targets *targets);

/* Engines as ops: fill the struct's shape, inputs as tensors; o is a view to write into. With a
 * state the tensors of a causal layer are those of the new tokens, and the op keeps what later ones
 * need; those made of the memory of cross-attention are NULL after the first call. */
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
struct oa_relative_bias { /* what distances add to the logits; NONE: nothing */
    enum oa_relative_kind kind;
    long buckets, distance;    /* T5 */
    struct oa_parameter *bias; /* T5: [H, buckets] */
};
/* mixture and relative may be NULL: plain sum, nothing. */
void oa_logits_op(oa_tape *t, const struct oa_attention_shape *shape,
                  const struct oa_support *support, int parts, const struct oa_part_tensors *part,
                  const struct oa_mixture *mixture, const struct oa_relative_bias *relative,
                  oa_tensor *v, double dropout, oa_tensor *o);
void oa_linear_attention_op(oa_tape *t, const struct oa_attention_shape *shape, oa_tensor *fq,
                            oa_tensor *fk, oa_tensor *v, enum oa_denominator policy, double epsilon,
                            oa_tensor *o);
/* The same with features that are polynomials of degree 2 of the heads' rows of q and k,
 * coefficients c (kernels.h: quadratic); they are made chunk by chunk and never stored. */
void oa_squared_attention_op(oa_tape *t, const struct oa_attention_shape *shape, oa_tensor *q,
                             oa_tensor *k, oa_tensor *v, const double c[3],
                             enum oa_denominator policy, double epsilon, oa_tensor *o);
/* The same with logarithmic scales of keys and queries, real [B, H, S] and [B, H, T], that the
 * features leave out (either may be NULL; see device.h). */
void oa_scaled_linear_attention_op(oa_tape *t, const struct oa_attention_shape *shape,
                                   oa_tensor *fq, oa_tensor *fk, const void *query_scale,
                                   const void *key_scale, oa_tensor *v, enum oa_denominator policy,
                                   double epsilon, oa_tensor *o);
void oa_polynomial_op(oa_tape *t, const struct oa_attention_shape *shape, oa_tensor *q,
                      oa_tensor *k, oa_tensor *v, int degree, double scale, double bias,
                      oa_tensor *o);
void oa_pattern_op(oa_tape *t, const struct oa_attention_shape *shape, enum oa_pattern pattern,
                   enum oa_edge edge, const int32_t *words, oa_tensor *v, oa_tensor *o);
/* band: shape, taps, before, offset, sigma and renormalise; the logits of the taps are those of
 * heads (kernel [H, taps]) or of tokens (filters [B·T, H·taps]), NULL both for a Gaussian. */
void oa_band_op(oa_tape *t, const struct oa_band *band, struct oa_parameter *kernel,
                oa_tensor *filters, oa_tensor *v, oa_tensor *o);
/* y_b,h = W[h][:m]ᵀ x_b,h: the m rows of each sequence become k; W [H, N, k], or [N, k] for all
 * heads. Rows beyond lengths[b] count as zeros. */
oa_tensor *oa_project_length(oa_tape *t, oa_tensor *x, long batch, long heads,
                             const int32_t *lengths, struct oa_parameter *w);
struct oa_mixer { /* a perceptron along the length (mixer_op.c): in [D_S, N] and [D_S], out [N, D_S]
                     and [N] */
    struct oa_parameter *in_weight, *in_bias, *out_weight, *out_bias;
    bool causal;
};
/* y [B·n, C] from the columns first … first+C−1 of x. Rows of padding are to be zeros. */
void oa_mixer_op(oa_tape *t, const struct oa_mixer *mixer, oa_tensor *x, long first, long batch,
                 oa_tensor *y);
/* y = a·σ(b) for rows x = [a | b]. */
oa_tensor *oa_gate(oa_tape *t, oa_tensor *x);

#endif
