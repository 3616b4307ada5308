/* SPDX-License-Identifier: Apache-2.0
 * Arguments of attention on tiles (kernels.h: attention_tile, attention_tile_gradient,
 * softmax_pairs): a block of queries and a tile of keys, both padded with rows of zeros to
 * multiples of 16. */
#ifndef ORTHANT_KERNELS_ATTENTION_TILE_H
#define ORTHANT_KERNELS_ATTENTION_TILE_H

#include "kernels/kernels.h"

enum { OA_ATTENTION_ROWS = 128, OA_ATTENTION_COLS = 512, OA_ATTENTION_WIDTH = 256 }; /* most */

/* Keys or values: act [rows, width], ld elements from row to row; the tile begins with row `first`,
 * a multiple of 16. pair, tiles: packed by gemm_pack as the right operand of products with their
 * transpose, with themselves. */
struct oa_attention_keys {
    const void *x;
    long first, rows, width, ld;
    const void *pair, *tiles;
};

struct oa_attention_tile {
    long rows, cols;
    double scale; /* of q·k, above 0 */
    const int32_t *low, *high;
    const void *q; /* act [rows, k.width], ldq elements apart */
    long ldq;
    struct oa_attention_keys k, v;
    void *logits; /* real [rows, cols], lds elements apart: logits before the scale, overwritten.
                     NULL: they are products of q and k; otherwise q and k are used by gradients
                     only and may be empty */
    long lds;
    double
        keep; /* below 1: dropout of the weights as by dropout_tile, with the following arguments */
    struct oa_stream dropout;
    uint64_t block0, blocks_a_row;
};

/* Running sums of a block of queries: m, z, rescale of softmax_tile, and o real [rows, v.width] ←
 * o·rescale + P V; first: the first tile, o ← P V. */
struct oa_attention_sums {
    void *m, *z, *rescale, *o;
    bool first;
};

/* Elements of the transposes of q and d_o of a block; rows are padded to 32. */
#define OA_ATTENTION_TURNED(width, values)                                                         \
    ((oa_round_up(width, 32) + oa_round_up(values, 32)) * OA_ATTENTION_ROWS)

/* lse, delta real [rows]. turned: act [OA_ATTENTION_TURNED], the transposes, which the first tile
 * of a block computes (turn) and the others reuse. dq real [rows, k.width] ← dq + dS K; first: ← dS
 * K. dv += Pᵀ dO and dk += dSᵀ Q, real [cols/16][width rounded up to 16][16]. NULL: not wanted. ds:
 * act [rows, cols rounded up to 32], ldds elements apart: dS. */
struct oa_attention_gradient {
    const void *d_o; /* act [rows, v.width], ldo elements apart */
    long ldo;
    const void *lse, *delta;
    void *turned;
    void *dq, *dk, *dv, *ds;
    long ldds;
    bool first, turn;
};

/* With P = e^{scale·s − lse} as softmax_again makes it, P∘factor and dS = P∘(factor∘dp − delta), 0
 * where P is 0, both rounded: up to 32 columns, of which column j is column first + j of low and
 * high. Rows 2i and 2i + 1 are stored side by side, [rows/2, 32, 2]; dS also row by row, [⌈rows/16⌉
 * tiles, `tile` elements apart][16, `row` elements apart][32]. Columns after the last are 0; values
 * below the least normal number may be 0. */
struct oa_softmax_pairs {
    long rows, cols, first; /* rows: even */
    double scale;
    const int32_t *low, *high;
    const void *s;            /* real [rows, cols], lds elements apart */
    const void *dp, *factor;  /* real [rows, 32]; factor: NULL is 1 */
    const void *lse, *delta;  /* real [rows] */
    void *p_pairs, *ds_pairs; /* act */
    void *ds;                 /* act; NULL: not wanted */
    long lds, row, tile;
};

#endif
