/* SPDX-License-Identifier: Apache-2.0
 * The tokenizer of pictures in patches (Dosovitskiy et al. 2021, "An image is worth 16x16 words",
 * arXiv 2010.11929): a square of pixels is a token. All have the same id, "[PxP]"; their pixels are
 * passed separately. */
#include "tokenizers/tokenizer_parts.h"

#include <stdlib.h>

enum { LEAST = 2 }; /* patches of 1 pixel are the tokenizer "byte" */

static bool is_side(long side)
{
    return side >= LEAST && side <= OA_PICTURE_SIDE && OA_PICTURE_SIDE % side == 0;
}

enum oa_error oa_tokenizer_make_patches(oa_context *c, const char *spec, struct oa_tokenizer **out)
{
    struct oa_tokenizer *tok;
    char *end, piece[16];
    long side = strtol(spec + strlen(OA_PATCHES), &end, 10);
    if (*end || !is_side(side))
        return oa_fail(c, OA_ARGUMENT,
                       "tokenizer \"%s\": P of patch:P, the side of a patch, must be 2, 4, 8, 16 "
                       "or 32 (pictures are %d pixels wide)",
                       spec, OA_PICTURE_SIDE);
    int n = snprintf(piece, sizeof piece, "[%ldx%ld]", side, side);
    enum oa_error e = oa_tokenizer_new(c, OA_TOKENIZER_CHAR, &tok);
    if (e == OA_OK)
        e = oa_vocabulary_add(&tok->vocabulary, spec, piece, (size_t)n, OA_PATCH_ID, piece,
                              (size_t)n);
    if (e == OA_OK)
        e = oa_tokenizer_finish(tok, spec);
    if (e != OA_OK)
        oa_tokenizer_close(tok);
    else
        *out = tok;
    return e;
}

long oa_tokenizer_patch(const struct oa_tokenizer *tok)
{
    const char *piece =
        tok->vocabulary.model_size == 1 ? oa_tokenizer_piece(tok, OA_PATCH_ID) : NULL;
    long high, wide;
    char end;
    bool is =
        piece && sscanf(piece, "[%ldx%ld%c", &high, &wide, &end) == 3 && end == ']' && high == wide;
    return is && is_side(high) ? high : 0;
}

const char *oa_patches_name(const struct oa_tokenizer *tok)
{
    static const char *const names[] = { OA_PATCHES "2", OA_PATCHES "4", OA_PATCHES "8",
                                         OA_PATCHES "16", OA_PATCHES "32" };
    int i = 0;
    for (long side = LEAST; side < oa_tokenizer_patch(tok); side *= 2)
        i++;
    return names[i];
}

enum oa_error oa_patches_encode(const struct oa_tokenizer *tok, const char *name,
                                const char *picture, size_t length, struct oa_ids *ids,
                                struct oa_text *pixels)
{
    long side = oa_tokenizer_patch(tok), across = OA_PICTURE_SIDE / side;
    if (length != OA_PICTURE_SIDE * OA_PICTURE_SIDE)
        return oa_fail(tok->context, OA_FORMAT, "%s: a picture has %d x %d bytes, not %zu", name,
                       OA_PICTURE_SIDE, OA_PICTURE_SIDE, length);
    for (long i = 0; i < across * across; i++) {
        const char *corner = picture + i / across * side * OA_PICTURE_SIDE + i % across * side;
        OA_TRY(oa_ids_add(ids, OA_PATCH_ID));
        for (long y = 0; y < side; y++)
            oa_text_add(pixels, corner + y * OA_PICTURE_SIDE, (size_t)side);
    }
    return oa_status(tok->context);
}
