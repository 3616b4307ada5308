/* SPDX-License-Identifier: Apache-2.0
 *
 * The products of kernels/gemm_amx.c on tiles in plain C: the same source, and the same bits, on
 * every processor, far too slow for anything but tests.
 *
 * TDPBF16PS (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2): for every
 * element of C a sum of the even products and one of the odd ones, each a chain of fused
 * multiply-adds from zero in the order of k; both are added, then C. Every operation rounds to
 * nearest; denormals are zeros, going in and coming out.
 */
#include "plain_tiles.h"

#include "kernels/tile_finish.h"

#include <math.h>
#include <string.h>

enum { TILE_TALL = 16, TILE_WORDS = 16 };

struct plain_tile {
    union {
        float real[TILE_TALL][TILE_WORDS];
        uint16_t half[TILE_TALL][2 * TILE_WORDS];
    };
};

static float flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

/* The numbers of a tile as floats, and whether all of them are zero or of a size at which products
 * of two are exact in float and sums of such products never become denormal. */
static bool tile_numbers(const struct plain_tile *t, float out[TILE_TALL][2 * TILE_WORDS])
{
    bool plain = true;
    for (int i = 0; i < TILE_TALL; i++)
        for (int j = 0; j < 2 * TILE_WORDS; j++) {
            float x = out[i][j] = flushed(oa_bf16_to_float(t->half[i][j]));
            plain = plain && (x == 0 || (fabsf(x) > 0x1p-50f && fabsf(x) < 0x1p50f));
        }
    return plain;
}

/* sum[j] = fused a·b[2j] + sum[j]; where the product is exact it need not be fused. */
static void add_products(bool plain, float a, const float *b, float sum[TILE_WORDS])
{
    if (plain)
        for (int j = 0; j < TILE_WORDS; j++)
            sum[j] += a * b[2 * j];
    else
        for (int j = 0; j < TILE_WORDS; j++)
            sum[j] = flushed(fmaf(a, b[2 * j], sum[j]));
}

static void multiply_tiles(struct plain_tile *c, const struct plain_tile *a,
                           const struct plain_tile *b)
{
    float left[TILE_TALL][2 * TILE_WORDS], right[TILE_TALL][2 * TILE_WORDS];
    bool plain = tile_numbers(a, left), both = tile_numbers(b, right) && plain;
    for (int i = 0; i < TILE_TALL; i++) {
        float even[TILE_WORDS] = { 0 }, odd[TILE_WORDS] = { 0 };
        for (int p = 0; p < TILE_WORDS; p++) {
            add_products(both, left[i][2 * p], right[p], even);
            add_products(both, left[i][2 * p + 1], right[p] + 1, odd);
        }
        for (int j = 0; j < TILE_WORDS; j++)
            c->real[i][j] = flushed(flushed(c->real[i][j]) + flushed(even[j] + odd[j]));
    }
}

static void load_tile(struct plain_tile *t, const char *from, long row)
{
    for (int i = 0; i < TILE_TALL; i++)
        memcpy(t->half[i], from + i * row, 64);
}

static void store_tile(const struct plain_tile *t, char *to, long row)
{
    for (int i = 0; i < TILE_TALL; i++)
        memcpy(to + i * row, t->half[i], 64);
}

#define TILE_INLINE static inline
#define TILES struct plain_tile tile[8]
#define tile_zero(t) memset(&tile[t], 0, sizeof *tile)
#define tile_load(t, from, row) load_tile(&tile[t], (const char *)(from), row)
#define tile_store(t, to, row) store_tile(&tile[t], (char *)(to), row)
#define tile_multiply(c, a, b) multiply_tiles(&tile[c], &tile[a], &tile[b])
#define fetch(address) ((void)(address))
#define tiles_begin() ((void)0)
#define tiles_end() ((void)0)

/* ---- packing ---- */

/* word[i] is a row of 16 pairs. */
static void put_tile(uint16_t word[16][32], bool turned, char *out)
{
    uint16_t tile[16][16][2];
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            memcpy(tile[turned ? j : i][turned ? i : j], &word[i][2 * j], 4);
    memcpy(out, tile, sizeof tile);
}

/* Two tiles from rows x[i·ld], i < width, of `depth` numbers along k. */
static void pack_along(long width, long depth, const uint16_t *x, long ld, bool turned, char *out)
{
    uint16_t word[32][32] = { { 0 } };
    for (long i = 0; i < width && i < 32; i++)
        for (long p = 0; p < depth && p < 32; p++)
            word[i][p] = x[i * ld + p];
    put_tile(word, turned, out);
    put_tile(word + 16, turned, out + 1024);
}

/* Two tiles from rows x[p·ld], p < depth, of `width` numbers across. */
static void pack_across(long width, long depth, const uint16_t *x, long ld, bool turned, char *out)
{
    uint16_t word[32][32] = { { 0 } };
    for (long i = 0; i < width && i < 32; i++)
        for (long p = 0; p < depth && p < 32; p++)
            word[i / 16 * 16 + p / 2][i % 16 * 2 + p % 2] = x[p * ld + i];
    put_tile(word, turned, out);
    put_tile(word + 16, turned, out + 1024);
}

/* ---- C ---- */

/* A row of 32 sums goes to C: `cols` of them, as bf16, as reals, or added to reals. */
static void finish_row(long cols, const float *sums, bool real, bool add, void *c)
{
    for (long j = 0; j < cols; j++) {
        float *to = (float *)c + j;
        if (real)
            *to = add ? *to + sums[j] : sums[j];
        else
            ((uint16_t *)c)[j] = oa_float_to_bf16(sums[j]);
    }
}

/* Rows of sums from `first` on go to C. */
static void finish_rows(const struct tile_finish *f, long first, long rows)
{
    for (long i = first; i < first + rows; i++)
        finish_row(f->cols, f->sums + i * 32, f->real, f->add, f->c + (size_t)i * f->next);
}

#define finish_ordered() ((void)0)

/* Sums [rows, 32] are added to the first `wide` of two blocks [rows, 16] that lie `block` apart. */
static void add_sums(const float *sums, long rows, long wide, float *to, long block)
{
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < 16 * wide; j++)
            to[j / 16 * block + i * 16 + j % 16] += sums[i * 32 + j];
}

#include "kernels/tile_multiply.h"
#include "kernels/tile_product.h"

struct oa_gemm_state {
    struct tile_room room;
};

#include "kernels/tile_attention.h"

static struct oa_gemm_state *gemm_open(oa_context *c, enum oa_precision p)
{
    (void)p;
    size_t before = (size_t)oa_round_up(sizeof(struct oa_gemm_state), OA_ALIGN);
    struct oa_gemm_state *s = oa_alloc_raw(c, before + tile_room_bytes);
    if (s)
        s->room = tile_room((char *)s + before);
    return s;
}

static void gemm_close(struct oa_gemm_state *s)
{
    oa_free(s);
}

static void gemm(struct oa_gemm_state *s, const struct oa_gemm *g, const void *a, const void *b,
                 void *c)
{
    multiply_part(&s->room, g, &(struct oa_gemm_part){ 0, g->m, 0, g->n, 0 }, a, b, NULL, c);
}

void oa_kernels_tiles(struct oa_kernels *k)
{
    if (k->precision != OA_PRECISION_BF16)
        return;
    k->gemm_open = gemm_open;
    k->gemm_close = gemm_close;
    k->gemm_share = NULL;
    k->gemm = gemm;
    use_parts(k);
    k->gemm_name = "tiles in plain C";
}
