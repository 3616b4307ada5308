/* SPDX-License-Identifier: Apache-2.0
 * Two normal numbers from the 128 bits of a block by Box and Muller (A note on the generation of
 * random normal deviates, 1958), in double, for one block or for as many as a vector has lanes:
 * written once, over types of the including file.
 *
 *     LANES, WORDS                   double and uint64_t, or vectors of as many of them
 *     LANES_OF(w), WORDS_OF(x)       the same bits as the other type
 *     ROOT(x)                        square roots
 *     PICK(table, w)                 table[w], of doubles
 *     LANES_FUNCTION                 specifiers of its functions
 *
 * Everything is sums, differences, products and square roots as IEEE 754 rounds them, in one order
 * and never fused, and so has the same bits on every processor, with every instruction set and
 * every C library. The logarithm, the sine and the cosine are within 0.52 units of the last place.
 * Programs that use those of the C library get numbers that differ in the 53rd bit where these
 * round differently: about one in 10⁹ is another float.
 *
 * Method: a table reduces the argument to a number near 1 (or 0), of which a short Taylor
 * polynomial is evaluated, and large terms are sums of two doubles. Table entries have so few bits
 * that their products with the leading bits of a number are exact. */
#ifndef OA_NORMAL_LANES_H
#define OA_NORMAL_LANES_H

#include <stdint.h>

enum { OA_LOG_PIECES = 32, OA_CIRCLE_POINTS = 81 };
/* Pieces of [0.6875, 1.375), as wide as a 32nd of their power of two. inverse: c, about 1/middle,
 * in 9 bits, 1 where the piece ends in 1; −log c = high (a multiple of 2⁻⁴²) + low. */
extern const double oa_log_inverse[OA_LOG_PIECES], oa_log_high[OA_LOG_PIECES],
    oa_log_low[OA_LOG_PIECES];
/* sin(i π/32) = high (26 bits) + low; the cosine is 16 entries on. */
extern const double oa_circle_high[OA_CIRCLE_POINTS], oa_circle_low[OA_CIRCLE_POINTS];

#endif

#ifdef LANES

/* Of integers below 2⁵². */
LANES_FUNCTION LANES lanes_whole(WORDS w)
{
    return LANES_OF(w | 0x4330000000000000u) - 0x1p52;
}

/* In (0,1): 52 bits and a half, which a double holds exactly; never 0, whose logarithm Box–Muller
 * could not take. */
LANES_FUNCTION LANES lanes_uniform(WORDS w)
{
    return (lanes_whole(w >> 12) + 0.5) * 0x1p-52;
}

/* log(1 + r) − r for |r| < 2⁻⁵·⁸. */
LANES_FUNCTION LANES lanes_log_rest(LANES r)
{
    LANES high = 1.0 / 7 - r * (1.0 / 8 - r * (1.0 / 9 - r * (1.0 / 10)));
    return r * r * (r * (1.0 / 3 - r * (1.0 / 4 - r * (1.0 / 5 - r * (1.0 / 6 - r * high)))) - 0.5);
}

/* log u for 2⁻⁶⁴ < u < 1: u = 2ᵏ m, m·c = 1 + r. The upper 40 bits of m times the 9 of c are exact,
 * and so are the terms of the other bits. */
LANES_FUNCTION LANES lanes_log(LANES u)
{
    WORDS bits = WORDS_OF(u), above = bits + ((uint64_t)64 << 52) - 0x3fe6000000000000u;
    WORDS exponent = above >> 52, piece = above >> 47 & 31;
    LANES k = lanes_whole(exponent) - 64,
          m = LANES_OF(bits + ((uint64_t)64 << 52) - (exponent << 52));
    LANES c = PICK(oa_log_inverse, piece), leading = LANES_OF(WORDS_OF(m) & ~(uint64_t)0x1fff);
    LANES a = leading * c - 1, b = (m - leading) * c, r = a + b;
    LANES sum = k * 0x1.62e42fefa38p-1 + PICK(oa_log_high, piece),
          high = sum + r; /* log 2 in 42 bits */
    LANES low =
        ((sum - high) + r) + ((a - r) + b) + (k * 0x1.ef35793c7673p-45 + PICK(oa_log_low, piece));
    return high + (low + lanes_log_rest(r));
}

/* Sine and cosine of 0 ≤ angle < 2π + 0.01, which is n·π/32 + y, |y| ≤ π/64:
 * sin = S + C·y + S·(cos y − 1) + C·(sin y − y), and the cosine in the same way. */
struct lanes_arc {
    LANES y, leading, rest; /* y = leading (26 bits) + rest */
    LANES cosine, sine;     /* cos y − 1, sin y − y */
};

LANES_FUNCTION LANES lanes_arc_sine(const struct lanes_arc *a, LANES s, LANES s_low, LANES c,
                                    LANES c_low)
{
    LANES step = c * a->leading, high = s + step;
    LANES rest =
        s_low + (c_low * a->y + c * a->rest) + ((s + s_low) * a->cosine + (c + c_low) * a->sine);
    return high + (((s - high) + step) + rest);
}

LANES_FUNCTION void lanes_sine_cosine(LANES angle, LANES *sine, LANES *cosine)
{
    LANES shifted = angle * 0x1.45f306dc9c883p3 + 0x1.8p52,
          n = shifted - 0x1.8p52; /* 32/π; to the nearest integer */
    WORDS point = WORDS_OF(shifted) & 127;
    LANES a = angle - n * 0x1.921fb54442dp-4,
          b = n * 0x1.8469898cc518p-52; /* π/32 in 46 bits, 46 more, and the rest */
    LANES y = a - b, low = ((a - y) - b) + n * 0x1.fc8f8cbb5bf6cp-101, z = y * y;
    struct lanes_arc arc = { .y = y, .leading = LANES_OF(WORDS_OF(y) & ~(uint64_t)0x7ffffff) };
    arc.rest = (y - arc.leading) + low;
    arc.cosine = z * (z * (1.0 / 24 - z * (1.0 / 720 - z * (1.0 / 40320))) - 0.5);
    arc.sine = y * z * (z * (1.0 / 120 - z * (1.0 / 5040 - z * (1.0 / 362880))) - 1.0 / 6);
    LANES s = PICK(oa_circle_high, point), s_low = PICK(oa_circle_low, point);
    LANES c = PICK(oa_circle_high, point + 16), c_low = PICK(oa_circle_low, point + 16);
    *sine = lanes_arc_sine(&arc, s, s_low, c, c_low);
    *cosine = lanes_arc_sine(&arc, c, c_low, -s, -s_low);
}

/* The two normal numbers of a block whose words are first (the lower two) and second. */
LANES_FUNCTION void lanes_normal(WORDS first, WORDS second, LANES *even, LANES *odd)
{
    LANES radius = ROOT(-2 * lanes_log(lanes_uniform(first))), sine, cosine;
    lanes_sine_cosine(0x1.921fb54442d18p2 * lanes_uniform(second), &sine, &cosine); /* 2π */
    *even = radius * cosine;
    *odd = radius * sine;
}

#endif
