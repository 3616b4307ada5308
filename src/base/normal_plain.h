/* SPDX-License-Identifier: Apache-2.0
 * The functions of normal_lanes.h on one number, in plain C. */
#include <math.h>
#include <stdint.h>
#include <string.h>

static double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

#define LANES double
#define WORDS uint64_t
#define LANES_OF double_of
#define WORDS_OF bits_of
#define ROOT sqrt
#define PICK(table, w) table[w]
#define LANES_FUNCTION static inline
#include "base/normal_lanes.h"
