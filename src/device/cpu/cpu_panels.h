/* SPDX-License-Identifier: Apache-2.0
 * Packed panels: a right operand in the order in which the matrix units read it, OA_PANEL rows at a
 * time, packed once for many products that each use a part of it. Where the kernels have no packed
 * products there are no panels, and products read the operand itself, with the same bits. */
#ifndef ORTHANT_DEVICE_CPU_CPU_PANELS_H
#define ORTHANT_DEVICE_CPU_CPU_PANELS_H

#include "device/cpu/cpu.h"

/* op(B) [k, n] of products with rows of acts: the rows are its columns (pair), or its k. */
struct oa_panels {
    void *x;     /* NULL: no panels */
    size_t step; /* bytes of OA_PANEL rows */
    long k;      /* k of the packed operand */
};

/* Takes scratch for `most` rows of `width` numbers; *failed becomes true without memory. */
struct oa_panels oa_panels_take(const struct oa_device *d, struct oa_arena *scratch, long most,
                                long width, bool pair, bool *failed);
/* Packs rows of act x, which was taken as a pair; … as rows. */
void oa_panels_pair(const struct oa_device *d, struct oa_panels *p, const void *x, long ld,
                    long rows, long width);
void oa_panels_rows(const struct oa_device *d, struct oa_panels *p, const void *x, long ld,
                    long rows, long width);
/* Whether a product uses the panels: they exist, and it has enough rows for the matrix units. */
bool oa_panels_serve(const struct oa_panels *p, const struct oa_gemm *g);
/* c = a op(b) as kernels.h: b is the operand in the panels from row `first` on, a multiple of
 * OA_PANEL. Rows after the packed ones count as zeros; if the last panel along k has other rows,
 * their columns of a must be zeros. */
void oa_panels_multiply(const struct oa_device *d, struct oa_gemm_state *s, const struct oa_gemm *g,
                        const void *a, const void *b, const struct oa_panels *p, long first,
                        void *c);

/* cpu_random_features.c: scratch of the device for Ω, where all heads share it; the plan takes it
 * too. */
struct oa_panels oa_random_panels(struct oa_device *d, const struct oa_random_features *a,
                                  bool forward, bool *failed);

#endif
