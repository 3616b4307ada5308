/* SPDX-License-Identifier: Apache-2.0
 * A heat map as a picture in a page: a PNG (ISO/IEC 15948) of palette indices, in base64 (RFC
 * 4648). The palette goes through OKLCH (Ottosson 2020, "A perceptual color space for image
 * processing") with a lightness that rises evenly, so that more looks like more, without colour
 * too, and on a light as on a dark page. */
#include "print/print.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

enum { CLEAR = 255 }; /* the index of what is not there; levels are 0 to 254 */

/* ---- colours ---- */

static unsigned char srgb(double linear)
{
    double x = fmin(1, fmax(0, linear));
    x = x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
    return (unsigned char)lround(255 * x);
}

void oa_heat_color(double share, unsigned char rgb[3])
{
    const double turn = 3.14159265358979323846 / 180;
    double L = 0.2 + 0.75 * share, C = 0.06 + 0.05 * share, h = (285 - 185 * share) * turn;
    double a = C * cos(h), b = C * sin(h);
    double l = pow(L + 0.3963377774 * a + 0.2158037573 * b, 3),
           m = pow(L - 0.1055613458 * a - 0.0638541728 * b, 3),
           s = pow(L - 0.0894841775 * a - 1.2914855480 * b, 3);
    rgb[0] = srgb(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s);
    rgb[1] = srgb(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s);
    rgb[2] = srgb(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s);
}

/* ---- PNG ---- */

static void big_endian(unsigned char *to, unsigned long x)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(x >> (24 - 8 * i));
}

static void add_chunk(struct oa_text *png, const char *type, const void *data, size_t length)
{
    unsigned char number[4];
    big_endian(number, length);
    oa_text_add(png, (const char *)number, 4);
    size_t start = png->length;
    oa_text_add(png, type, 4);
    oa_text_add(png, data, length);
    if (oa_status(png->context) != OA_OK)
        return;
    big_endian(number, crc32(0, (const Bytef *)png->s + start, (uInt)(4 + length)));
    oa_text_add(png, (const char *)number, 4);
}

/* Every row begins with the number of its filter: none. */
static void add_pixels(struct oa_text *png, const struct oa_heat *h)
{
    uLong plain = (uLong)h->rows * (uLong)(h->columns + 1), bound = compressBound(plain);
    unsigned char *raw = oa_alloc(png->context, plain), *packed = oa_alloc(png->context, bound);
    for (long i = 0; raw && i < h->rows; i++) {
        for (long j = 0; j < h->columns; j++) {
            double x = h->share(h->argument, i, j);
            raw[i * (h->columns + 1) + 1 + j] =
                x < 0 ? CLEAR : (unsigned char)lround((CLEAR - 1) * fmin(1, isfinite(x) ? x : 1));
        }
    }
    if (raw && packed && compress2(packed, &bound, raw, plain, 9) != Z_OK)
        oa_fail(png->context, OA_INTERNAL, "zlib could not pack a picture of %ld by %ld",
                h->columns, h->rows);
    if (oa_status(png->context) == OA_OK)
        add_chunk(png, "IDAT", packed, bound);
    oa_free(raw);
    oa_free(packed);
}

void oa_heat_png(const struct oa_heat *h, struct oa_text *out)
{
    unsigned char head[13] = { [8] = 8, [9] = 3 }; /* 8 bits, a palette */
    big_endian(head, (unsigned long)h->columns);
    big_endian(head + 4, (unsigned long)h->rows);
    oa_text_add(out, "\x89PNG\r\n\x1a\n", 8);
    add_chunk(out, "IHDR", head, sizeof head);
    unsigned char rgb[256 * 3] = { 0 }, alpha[256];
    for (int i = 0; i < CLEAR; i++)
        oa_heat_color(i / (CLEAR - 1.0), rgb + 3 * i);
    memset(alpha, 255, sizeof alpha);
    alpha[CLEAR] = 0;
    add_chunk(out, "PLTE", rgb, sizeof rgb);
    add_chunk(out, "tRNS", alpha, sizeof alpha);
    add_pixels(out, h);
    add_chunk(out, "IEND", "", 0);
}

/* ---- in a page ---- */

void oa_base64_text(struct oa_text *out, const void *data, size_t length)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *b = data;
    for (size_t i = 0; i < length; i += 3) {
        unsigned long three = (unsigned long)b[i] << 16;
        three |=
            (i + 1 < length ? (unsigned long)b[i + 1] << 8 : 0) | (i + 2 < length ? b[i + 2] : 0);
        char four[4] = { letters[three >> 18], letters[three >> 12 & 63], letters[three >> 6 & 63],
                         letters[three & 63] };
        if (i + 2 >= length)
            four[3] = '=';
        if (i + 1 >= length)
            four[2] = '=';
        oa_text_add(out, four, 4);
    }
}

void oa_heat_data(const struct oa_heat *h, struct oa_text *out)
{
    struct oa_text png;
    oa_text_init(&png, out->context);
    oa_heat_png(h, &png);
    oa_text_printf(out, "data:image/png;base64,");
    if (oa_status(out->context) == OA_OK)
        oa_base64_text(out, png.s, png.length);
    oa_text_free(&png);
}
