/* SPDX-License-Identifier: Apache-2.0
 * Operands of the loops that measure peaks. A processor that multiplies zeros, or always the same
 * number, runs at a higher clock than with the numbers of a model. */
#ifndef ORTHANT_PEAK_NUMBERS_H
#define ORTHANT_PEAK_NUMBERS_H

#include <stdint.h>

/* Numbers of both signs, 0.5 to 1 in magnitude, their bits drawn by a linear congruential
 * generator. */
static inline void fill_peak_numbers(float *out, int count)
{
    uint32_t state = 12345;
    for (int i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        float magnitude = 0.5f + (float)(state >> 9) * 0x1p-24f;
        out[i] = state & 256 ? magnitude : -magnitude;
    }
}

#endif
