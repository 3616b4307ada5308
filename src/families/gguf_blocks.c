/* SPDX-License-Identifier: Apache-2.0
 * Blocks of quantised values, as llama.cpp lays them out. Scales are half floats; a
 * block of K types has 256 values in 8 or 16 groups. */
#include "base/little_endian.h"
#include "base/safetensors.h"
#include "families/gguf.h"

#include <string.h>

static float half_at(const uint8_t *at)
{
    const struct oa_array a = { .type = OA_F16, .data = at };
    return (float)oa_array_value(&a, 0);
}

static void read_f32(const uint8_t *b, float *out)
{
    memcpy(out, b, sizeof *out);
}

static void read_f16(const uint8_t *b, float *out)
{
    *out = half_at(b);
}

static void read_bf16(const uint8_t *b, float *out)
{
    *out = oa_bf16_to_float((uint16_t)oa_get_little_endian(b, 2));
}

/* 16 bytes have 32 values: the low halves first. */
static int nibble(const uint8_t *bytes, int i)
{
    return i < 16 ? bytes[i] & 15 : bytes[i - 16] >> 4;
}

/* Bit i of 32 is the fifth of value i. */
static int fifth_bit(const uint8_t *bits, int i)
{
    return (bits[i / 8] >> i % 8 & 1) << 4;
}

static void read_q4_0(const uint8_t *b, float *out)
{
    float scale = half_at(b);
    for (int i = 0; i < 32; i++)
        out[i] = scale * (float)(nibble(b + 2, i) - 8);
}

static void read_q4_1(const uint8_t *b, float *out)
{
    float scale = half_at(b), least = half_at(b + 2);
    for (int i = 0; i < 32; i++)
        out[i] = scale * (float)nibble(b + 4, i) + least;
}

static void read_q5_0(const uint8_t *b, float *out)
{
    float scale = half_at(b);
    for (int i = 0; i < 32; i++)
        out[i] = scale * (float)((nibble(b + 6, i) | fifth_bit(b + 2, i)) - 16);
}

static void read_q5_1(const uint8_t *b, float *out)
{
    float scale = half_at(b), least = half_at(b + 2);
    for (int i = 0; i < 32; i++)
        out[i] = scale * (float)(nibble(b + 8, i) | fifth_bit(b + 4, i)) + least;
}

static void read_q8_0(const uint8_t *b, float *out)
{
    float scale = half_at(b);
    for (int i = 0; i < 32; i++)
        out[i] = scale * (float)(int8_t)b[2 + i];
}

/* Eight scales and eight minima of 6 bits in 12 bytes. */
static void scale_of_group(const uint8_t *packed, int group, int *scale, int *least)
{
    if (group < 4) {
        *scale = packed[group] & 63;
        *least = packed[group + 4] & 63;
    } else {
        *scale = (packed[group + 4] & 15) | packed[group - 4] >> 6 << 4;
        *least = packed[group + 4] >> 4 | packed[group] >> 6 << 4;
    }
}

/* Groups 2k and 2k + 1 of 32 values are the low and the high halves of 32 bytes. fifth: the fifth
 * bits, a byte for the same place of all groups; NULL: none. */
static void read_k_groups(const uint8_t *b, const uint8_t *fifth, const uint8_t *quarters,
                          float *out)
{
    float all_scale = half_at(b), all_least = half_at(b + 2);
    for (int group = 0; group < 8; group++) {
        int scale, least;
        scale_of_group(b + 4, group, &scale, &least);
        for (int i = 0; i < 32; i++) {
            uint8_t byte = quarters[group / 2 * 32 + i];
            int q = group % 2 ? byte >> 4 : byte & 15;
            if (fifth)
                q |= (fifth[i] >> group & 1) << 4;
            out[group * 32 + i] = all_scale * (float)scale * (float)q - all_least * (float)least;
        }
    }
}

static void read_q4_k(const uint8_t *b, float *out)
{
    read_k_groups(b, NULL, b + 16, out);
}

static void read_q5_k(const uint8_t *b, float *out)
{
    read_k_groups(b, b + 16, b + 48, out);
}

/* 128 bytes of low halves, 64 bytes of pairs of high bits, 16 signed scales, the scale of all. In
 * each half of 128 values place l of quarter k has its low bits in byte l + 32·(k mod 2). */
static void read_q6_k(const uint8_t *b, float *out)
{
    float all_scale = half_at(b + 208);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, quarter = i % 128 / 32, l = i % 32;
        uint8_t low = b[half * 64 + quarter % 2 * 32 + l], high = b[128 + half * 32 + l];
        int q = (quarter < 2 ? low & 15 : low >> 4) | (high >> 2 * quarter & 3) << 4;
        int8_t scale = (int8_t)b[192 + half * 8 + quarter * 2 + l / 16];
        out[i] = all_scale * (float)scale * (float)(q - 32);
    }
}

const struct oa_gguf_type *oa_gguf_type_at(int type)
{
    static const struct oa_gguf_type types[] = {
        [0] = { "F32", 1, 4, read_f32 },        [1] = { "F16", 1, 2, read_f16 },
        [2] = { "Q4_0", 32, 18, read_q4_0 },    [3] = { "Q4_1", 32, 20, read_q4_1 },
        [6] = { "Q5_0", 32, 22, read_q5_0 },    [7] = { "Q5_1", 32, 24, read_q5_1 },
        [8] = { "Q8_0", 32, 34, read_q8_0 },    [12] = { "Q4_K", 256, 144, read_q4_k },
        [13] = { "Q5_K", 256, 176, read_q5_k }, [14] = { "Q6_K", 256, 210, read_q6_k },
        [30] = { "BF16", 1, 2, read_bf16 },
    };
    bool known = type >= 0 && type < (int)(sizeof types / sizeof *types) && types[type].name;
    return known ? &types[type] : NULL;
}
