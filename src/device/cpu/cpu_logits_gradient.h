/* SPDX-License-Identifier: Apache-2.0
 * Private to the three files of the backward pass of the logits engine.
 * cpu_logits_gradient.c has the formulas, cuts the work into items and runs them;
 * cpu_logits_gradient_head.c does one (b,h) of an item, block of queries by block,
 * cpu_logits_gradient_tile.c a tile of one. */
#ifndef ORTHANT_DEVICE_CPU_CPU_LOGITS_GRADIENT_H
#define ORTHANT_DEVICE_CPU_CPU_LOGITS_GRADIENT_H

#include "device/cpu/cpu_logits.h"

enum { OA_QUERY_SIDE = 1, OA_KEY_SIDE = 2 };

struct oa_logits_backward {
    struct oa_device *d;
    const struct oa_logits *a;
    bool merge_batch, merge_heads; /* gradients are shared by batch items, by heads: one item goes
                                      through all of them */
    bool merge_queries; /* gradients of queries are shared by the batch: a table of queries */
    long batch_items, head_items; /* batch · heads when not merged */
    int sides;                    /* of this pass */
    long row_cut, col_cut;        /* rows of queries, of keys of an item of this pass */
    double *dalpha;    /* [B·H, query blocks, parts] partial sums; NULL when not wanted */
    double *distances; /* … [B·H, query blocks, buckets] */
    void *delta;       /* real [B, H, T]: δ of weights whose sum is fixed; NULL: dO·O */
    struct oa_shared shared;
};

/* Gradients of the current (b,h). */
struct oa_gradients {
    const struct oa_logits_backward *f;
    bool logits;       /* dS is needed */
    void *p, *dp, *ds; /* tiles: act D, real dP, act dS */
    void *turned; /* on tiles: Qᵀ and dOᵀ of the current block, act [OA_ATTENTION_TURNED] */
    bool turn;    /* they have yet to be computed */
    void *lse, *delta, *factor;                   /* real [query_block] */
    void *dots;                                   /* real [rows]: dO·O; NULL: f has δ */
    struct oa_bounds rows;                        /* the current queries, of dq and dfold */
    bool met[OA_PACKED_BLOCKS];                   /* of each block: whether it had a tile */
    void *dq[OA_MAX_PARTS];                       /* real [rows, K] */
    void *dfold[OA_MAX_PARTS];                    /* real [rows, b]: dk of a fold */
    struct oa_bounds cols;                        /* the keys of dk, dv, dbias */
    void *dk[OA_MAX_PARTS], *dbias[OA_MAX_PARTS]; /* real [cols, K], [cols] */
    void *dv;                                     /* real [cols, V] */
    void *row;                                    /* real: one row of a tile or of q */
    void *ones, *sums; /* with forget gates: act [key_block] of ones, real [a side of a tile] */
    void *diagonals;   /* real [query_block + key_block]; NULL: not wanted */
};

/* Whether this pass computes gradients of the values, of anything through the logits, of the table
 * of a part. */
bool oa_wants_dv(const struct oa_logits_backward *f);
bool oa_wants_logits(const struct oa_logits_backward *f);
bool oa_wants_dtable(const struct oa_logits_backward *f, int c);

/* Takes the buffers of an item. */
void oa_gradient_open(struct oa_tiles *t, struct oa_gradients *g,
                      const struct oa_logits_backward *f);
/* Gradients of the current (b,h), from its queries `rows` and keys `cols`. */
void oa_gradient_head(struct oa_tiles *t, struct oa_gradients *g, struct oa_bounds rows,
                      struct oa_bounds cols);

/* lse and δ of the current block. */
void oa_gradient_load_rows(struct oa_tiles *t, struct oa_gradients *g);
/* Adds the terms of the current tile to the sums of δ: Σ g dP and Σ g, real [padded_rows]. */
void oa_gradient_tile_sums(struct oa_tiles *t, struct oa_gradients *g, void *above, void *below);
/* cpu_forget.c: adds the sums of dS of the current tile to the gradients of c. */
void oa_tiles_forgetting_gradient(struct oa_tiles *t, const struct oa_gradients *g);
/* cpu_logits_weights.c: fills f->delta. */
void oa_weights_deltas(struct oa_logits_backward *f);

/* Adds the gradients of the current tile; first: the first one of its block of queries. */
void oa_gradient_tile(struct oa_tiles *t, struct oa_gradients *g, bool first);

/* Numbers from one row of dk or dv to the next: on tiles they are transposed, in whole tiles. */
static inline long oa_gradient_width(const struct oa_tiles *t, long width)
{
    return t->on_tiles ? oa_tile_round(width) : width;
}

/* The part of sums of queries, real [rows, width], for the current block; NULL for NULL. */
static inline void *oa_gradient_block(const struct oa_tiles *t, const struct oa_gradients *g,
                                      void *sums, long width)
{
    return oa_real_at(t->d, sums, (t->rows.begin - g->rows.begin) * width);
}

/* A row of acts as reals, converted into g->row when the types differ. */
static inline const void *oa_gradient_reals(const struct oa_tiles *t, const struct oa_gradients *g,
                                            long n, const void *x)
{
    if (t->d->cpu->kernels.act == t->d->cpu->kernels.real)
        return x;
    t->d->cpu->kernels.real_from_act(n, x, g->row);
    return g->row;
}

/* Partial sums of dα of a part, for the current block of queries. */
static inline double *oa_dalpha_slot(const struct oa_tiles *t, const struct oa_gradients *g, int c)
{
    const struct oa_attention_shape *s = &t->a->shape;
    long block = t->rows.begin / t->query_block, blocks = oa_blocks(s->queries, t->query_block);
    return &g->f->dalpha[((t->b * s->heads + t->h) * blocks + block) * t->a->parts + c];
}

#endif
