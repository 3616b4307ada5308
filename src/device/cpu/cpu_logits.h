/* SPDX-License-Identifier: Apache-2.0
 * Private to the logits engine: how one worker walks over the tiles of S of one (batch item, head).
 *
 * S is never stored. Terms:
 *
 *     block            rows of queries, query_block of them
 *     tile             block × keys that it sees, at most key_block: a dense buffer of reals that
 *                      stays in the L2 cache. Its leading dimension is its width, which makes
 *                      products 10 to 20 % faster than a fixed leading dimension
 *     packed operand   a contiguous copy of rows of a (b,h), padded with rows of zeros to a
 * multiple of OA_TILE_GRANULE. Products of these are 10 to 20 % faster than of columns of [B·T,
 * H·K], have few different shapes (each costs oneDNN a compilation), and NaN in padded rows cannot
 * reach them panel            OA_PANEL rows or columns of a packed operand in the order in which
 * the matrix units read them (cpu_panels.h) piece            one of disjoint parts of a sparse
 * support, dense in an order of rows of its own (cpu_pieces.c)
 *
 * Use:
 *
 *     oa_tiles_open(&t, …);
 *     oa_tiles_head(&t, b, h);                 then oa_tiles_pack_queries, oa_tiles_pack_keys
 *     if (oa_tiles_block(&t, i0, all keys))    rows i0 … i0 + query_block − 1
 *         while (oa_tiles_next(&t))
 *             factor = oa_tiles_logits(&t);    t.s has the tile of S
 */
#ifndef ORTHANT_DEVICE_CPU_CPU_LOGITS_H
#define ORTHANT_DEVICE_CPU_CPU_LOGITS_H

#include "device/cpu/cpu.h"
#include "device/support_functions.h"

#include <math.h>

enum {
    OA_TILE_GRANULE = 16,
    OA_PACKED_BLOCKS = 16 /* query blocks whose operands are packed at a time */
};

/* begin ≤ x < end; empty when begin ≥ end. */
struct oa_bounds {
    long begin, end;
};

static inline struct oa_bounds oa_bounds_cut(struct oa_bounds a, struct oa_bounds b)
{
    return (struct oa_bounds){ oa_max(a.begin, b.begin), oa_min(a.end, b.end) };
}

static inline long oa_bounds_length(struct oa_bounds s)
{
    return oa_max(0, s.end - s.begin);
}

/* Key j of query head h of batch item b in x, keys or values of `width` columns. */
static inline const void *oa_key_row(const struct oa_device *d, const struct oa_attention_shape *s,
                                     long b, long h, long j, long width, const void *x, long ld)
{
    long n = oa_key_head(s, h);
    long own = (n * s->key_head_rows + j) * width, packed = (b * s->keys + j) * ld + n * width;
    return oa_act_at(d, x, s->key_head_rows ? own : packed);
}

static inline long oa_tile_round(long n)
{
    return (n + OA_TILE_GRANULE - 1) / OA_TILE_GRANULE * OA_TILE_GRANULE;
}

/* Rows of a sequence, copied next to each other (ld is the width), or where they are; the first is
 * row `begin`. Where products read their right operand in panels (gemm_pack), it is there in these
 * as well, made once for all the tiles that need it. */
struct oa_packed {
    const void *x;
    long begin, width, ld;
    long rows;                /* with the zeros at the end */
    const void *pair, *tiles; /* op(B) of pair products, [width, rows]; of the others, [rows,
                                 width]; NULL: not made */
};

/* The right operand of which products; any of both. */
enum oa_packed_side { OA_PACKED_PAIR = 1, OA_PACKED_TILES = 2 };

struct oa_tiles {
    struct oa_device *d;
    const struct oa_logits *a;
    const struct oa_support_functions *support; /* of a; NULL: every key is seen */
    struct oa_gemm_state *gemm;
    struct oa_arena *scratch;
    bool failed;   /* no memory, which is recorded: nothing is to be done */
    bool on_tiles; /* cpu_attention_tiles.c makes the tiles */
    long query_block, key_block;

    /* the (b,h) at work: how many queries and keys are real; the operands */
    long b, h, queries, keys;
    bool keys_packed;                                          /* all that it sees */
    struct oa_packed q[OA_MAX_PARTS], k[OA_MAX_PARTS], v, d_o; /* FOLD: both are rows of queries */

    /* the query block at work: its real rows; the keys that any of them sees; what each row sees */
    struct oa_bounds rows, seen;
    long padded_rows;
    int32_t *low, *high;

    /* the tile at work: its keys; what each row sees, counted from the first of them */
    struct oa_bounds cols;
    long padded_cols;
    int32_t *tile_low, *tile_high;
    void *s, *part; /* real [padded_rows, padded_cols]: logits; one part of a mixture; NULL where
                     the kernels on tiles make logits */
    void *slope;    /* with a soft cap, real like s: its derivative; NULL: not wanted */
};

/* Rows of a block of queries in tiles of at most key_block keys: where work is cut, it is cut in
 * these. */
long oa_tiles_query_block(const struct oa_device *d, const struct oa_logits *a, long key_block);
/* Takes the buffers that every pass needs; tiles have at most key_block keys. */
void oa_tiles_open(struct oa_tiles *t, struct oa_device *d, const struct oa_logits *a,
                   const struct oa_worker *w, long key_block);
/* n elements of scratch; t->failed when there is no memory. */
void *oa_tiles_take(struct oa_tiles *t, long n, size_t size);

void oa_tiles_head(struct oa_tiles *t, long b, long h);
/* Rows of columns h·width … of the batch item at work of x [B·length, …]; rows from `real` on are
 * packed as zeros. */
struct oa_packed oa_tiles_pack(struct oa_tiles *t, const void *x, long ld, long length,
                               struct oa_bounds rows, long real, long width);
/* The same of the values. */
struct oa_packed oa_tiles_pack_values(struct oa_tiles *t, struct oa_bounds rows, long real);
/* Fetches rows of acts that will be read or written soon to the L2 cache. */
void oa_tiles_fetch(const struct oa_tiles *t, const void *x, long ld, long rows, long width);
void oa_tiles_pack_queries(struct oa_tiles *t, struct oa_bounds rows, bool gradient);
void oa_tiles_pack_keys(struct oa_tiles *t, struct oa_bounds cols, bool gradient);
/* Before the queries `rows` of a head, on tiles: where they are more than are at work at a time,
 * all keys that they see within `cols` are packed once, and oa_tiles_pack_keys does nothing. Not
 * with a support, where queries at work see few keys, and different ones. */
void oa_tiles_pack_all_keys(struct oa_tiles *t, struct oa_bounds rows, struct oa_bounds cols,
                            bool gradient);
/* Both sides of the parts whose queries and keys are tables. */
void oa_tiles_pack_tables(struct oa_tiles *t, struct oa_bounds rows, struct oa_bounds cols);

/* The keys that rows i0 … i1-1 can see: support, causality and length; begin is a multiple of
 * OA_TILE_GRANULE. */
struct oa_bounds oa_tiles_seen(const struct oa_tiles *t, long i0, long i1);
/* Keys of a block of keys, which all blocks of queries at work go through before the next: as many
 * as stay in the L2 cache, packed and with their sums, in whole tiles; all of `seen` with a
 * support, since blocks of queries then see few keys, and different ones, and for weights that are
 * no softmax. */
long oa_tiles_keys_at_once(const struct oa_tiles *t, struct oa_bounds seen);
/* Rows of the blocks of queries at work, at most. */
long oa_tiles_rows_at_once(const struct oa_tiles *t);
/* Goes to the block of queries that starts at i0, looking at the keys `within` only. False: it sees
 * none of them. */
bool oa_tiles_block(struct oa_tiles *t, long i0, struct oa_bounds within);
/* Goes to the next tile of the block, at first to the first. False: there is none. */
bool oa_tiles_next(struct oa_tiles *t);
/* Supports whose rows are not intervals: what of t->s is between the bounds and not visible gets a
 * logit of −∞. */
void oa_tiles_hide(struct oa_tiles *t);

/* Pairs in all tiles of forward passes over a->shape with a->support, visible or not, every row
 * being real; where cpu_attention_tiles.c makes the tiles, those of the groups of OA_PANEL rows
 * that it makes. */
double oa_tiles_pairs(struct oa_device *d, const struct oa_logits *a);

/* Puts logits into t->s; the true ones are the returned factor times these. */
double oa_tiles_logits(struct oa_tiles *t);
/* Logits in t->s or where they are, rows *ld apart; the true ones are *factor times these. Only to
 * be read, and only where they are visible. */
const void *oa_tiles_logits_in_place(struct oa_tiles *t, double *factor, long *ld);
/* The columns of a FOLD in the tile at work. */
struct oa_fold oa_tiles_fold(const struct oa_tiles *t, int part);
/* α of a part. */
double oa_tiles_alpha(const struct oa_tiles *t, int part);
/* Attention dropout of a tile of reals: masks are addressed by (b, h, i, j). */
void oa_tiles_dropout(struct oa_tiles *t, void *x);

/* Where the random words of the tile at work are: block0 and blocks_a_row of dropout_tile. */
void oa_tiles_dropout_blocks(const struct oa_tiles *t, uint64_t *block0, uint64_t *blocks_a_row);

/* A tile of reals as an operand of a product, in the buffer `act` when the types differ. */
const void *oa_tiles_act(struct oa_tiles *t, const void *tile, void *act);

/* Products of the tile at work with packed operands; all results are real, and overwritten without
 * `accumulate`. pair:   tile         += rows · keysᵀ keys:   c [rows, …]  += tile · keys rows:   c
 * [cols, …]  += tileᵀ · rows */
void oa_tiles_pair_product(struct oa_tiles *t, struct oa_packed rows, struct oa_packed keys,
                           void *tile, bool accumulate);
void oa_tiles_keys_product(struct oa_tiles *t, const void *tile, struct oa_packed keys, void *c,
                           bool accumulate);
void oa_tiles_rows_product(struct oa_tiles *t, const void *tile, struct oa_packed rows, void *c,
                           bool accumulate);

void oa_real_fill(const struct oa_device *d, long n, double value, void *x);
/* Zeros in rows of columns of a matrix. */
void oa_zero_rows(void *x, size_t row_bytes, size_t bytes, long rows);

/* Weights that are no softmax, and need a number of the whole row before its first weight. */
static inline bool oa_weighs(const struct oa_logits *a)
{
    return a->normaliser >= OA_NORMALISE_SIGMOID;
}

static inline enum oa_weighing oa_weighing_of(const struct oa_logits *a)
{
    static const enum oa_weighing kinds[] = { [OA_NORMALISE_SIGMOID] = OA_WEIGH_SIGMOID,
                                              [OA_NORMALISE_SPARSEMAX] = OA_WEIGH_SPARSEMAX,
                                              [OA_NORMALISE_ENTMAX] = OA_WEIGH_ENTMAX };
    return kinds[a->normaliser];
}

/* Whether the sum of a row of weights is fixed, so that their gradients need a sum of the row. */
static inline bool oa_weighs_sums(const struct oa_logits *a)
{
    return a->normaliser >= OA_NORMALISE_SPARSEMAX;
}

/* Scratch of the backward pass. */
static inline size_t oa_deltas_bytes(const struct oa_device *d, const struct oa_logits *a)
{
    long rows = a->shape.batch * a->shape.heads * a->shape.queries;
    return oa_weighs_sums(a) ? (size_t)rows * d->numbers.real_size : 0;
}

/* cpu_logits_weights.c: ln |V| or τ of the rows of the block at work, real [padded_rows], by its
 * tiles; afterwards the block is at its first tile again. */
void oa_weights_open_block(struct oa_tiles *t, struct oa_bounds within, void *numbers);
/* τ of a row of n logits, −∞ where not visible, that are to be multiplied by `factor`; x [n]: room.
 */
double oa_row_threshold(const struct oa_device *d, const struct oa_logits *a, const void *row,
                        long n, double factor, double *x);
/* t->s, logits that are to be multiplied by `factor`, becomes weights. */
void oa_weights_tile(struct oa_tiles *t, double factor, const void *numbers);

/* cpu_sink.c: the sink joins a softmax that was made without it; its gradient. */
void oa_sink_join(struct oa_device *d, const struct oa_logits *a);
void oa_sink_gradient(struct oa_device *d, const struct oa_logits *a);
static inline double oa_sink_logit(const struct oa_device *d, const struct oa_logits *a, long h)
{
    return a->normaliser == OA_NORMALISE_SINK ? oa_real_get(d, a->sink, h) : -INFINITY;
}

/* A softmax with running maximum m and sum z of no keys, or of the sink alone. */
static inline bool oa_softmax_is_empty(double m, double z, double sink)
{
    return z == 0 || (m == sink && z == 1);
}

/* Logits that do not depend on the input: a table, or the product of two. */
static inline bool oa_part_given(const struct oa_logits_part *p)
{
    return p->kind == OA_PART_TABLE ||
           (p->kind == OA_PART_DOT && p->q_table && p->k_table && p->k_head_stride && !p->bias);
}

/* cpu_attention_tiles.c: whether it computes the tiles of an attention, of at most key_block keys
 * (t->on_tiles). */
bool oa_attention_on_tiles(const struct oa_device *d, const struct oa_logits *a, long key_block);
/* Whether the logits are made there too; otherwise they are made before, in t->s. */
bool oa_attention_makes_logits(const struct oa_logits *a);
/* Elements from one row of dS to the next. */
static inline long oa_gradient_ld(const struct oa_tiles *t)
{
    return t->on_tiles ? oa_round_up(t->padded_cols, OA_PANEL) : t->padded_cols;
}
/* The tile at work, forward; … backward, where g->d_o is set here. */
void oa_attention_add_tile(struct oa_tiles *t, const struct oa_attention_sums *sums);
void oa_attention_add_gradient(struct oa_tiles *t, struct oa_attention_gradient *g);
/* Sums of keys as struct oa_attention_gradient has them: times factor real [width] (NULL: 1) to x
 * act [rows, width]; or times a number added to x real [rows, width], by way of `row`, real
 * [width]. */
void oa_attention_store(const struct oa_tiles *t, const void *sums, long rows, long width,
                        const void *factor, void *x, long ld);
void oa_attention_add(const struct oa_tiles *t, const void *sums, long rows, long width,
                      double factor, void *row, void *x);

/* cpu_logits_gradient.c: scratch of gradients of keys and values that query heads share, as the
 * backward pass takes it; for the plan device. */
void oa_key_gradients_take(struct oa_device *d, const struct oa_logits *a);

/* cpu_logits_row.c: whether it computes an attention of one query; n of them. */
bool oa_row_wanted(const struct oa_logits *a);
void oa_row_forward(struct oa_device *d, long n, const struct oa_logits *const *a);

/* cpu_relative.c: the logits of row i, keys begin … begin+n−1, from `s` on, get factor · what their
 * distances add. */
void oa_distances_add(struct oa_device *d, const struct oa_logits *a, long h, long i, long begin,
                      long n, double factor, void *s);
void oa_tiles_add_distances(struct oa_tiles *t,
                            double factor); /* the tile at work; nothing where there is no table */
/* Gradient of the biases of buckets. sums: oa_distances_bytes of doubles (0: not wanted), zeros at
 * first, one set per block of queries; dS: act, of the tile at work; room: buffer for a row and a
 * column of it in reals. */
size_t oa_distances_bytes(const struct oa_device *d, const struct oa_logits *a);
void oa_tiles_distance_gradient(struct oa_tiles *t, const void *ds, void *room, double *sums);
void oa_distances_finish(struct oa_device *d, const struct oa_logits *a,
                         const double *sums); /* adds them to dbias */

/* cpu_forget.c: factor · (c_i − c_j) joins the logits of the tile at work; the n logits of the only
 * query from key `begin` on. */
void oa_tiles_add_forgetting(struct oa_tiles *t, double factor);
void oa_forgetting_row(struct oa_device *d, const struct oa_logits *a, long b, long h, long begin,
                       long n, void *s);

/* cpu_logits_shared.c: gradients of keys and biases that are parameters, each (b,h) into sums of
 * its own. */
struct oa_shared {
    struct oa_device *d;
    const struct oa_logits *a;
    void *sums; /* real, of oa_shared_bytes; NULL: there are none, places are those of the gradients
                   themselves */
};
bool oa_shared_wanted(const struct oa_logits *a); /* cpu_logits_gradient.c */
size_t oa_shared_bytes(const struct oa_device *d, const struct oa_logits *a);
void oa_shared_clear(const struct oa_shared *s, long b, long h);
void *oa_shared_keys(const struct oa_shared *s, long b, long h,
                     int part); /* where dk [S, K] of the (b,h) adds up */
void *oa_shared_bias(const struct oa_shared *s, long b, long h, int part); /* … dbias [S] */
void oa_shared_add(const struct oa_shared *s); /* the sums to the gradients */

/* cpu_tables.c: every part is given and the batch items have the same keys, so that one P serves
 * the whole batch. */
bool oa_tables_shared(const struct oa_logits *a);
void oa_tables_forward(struct oa_device *d, const struct oa_logits *a);
void oa_tables_gradient(struct oa_device *d, const struct oa_logits *a);

#endif
