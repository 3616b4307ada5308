/* SPDX-License-Identifier: Apache-2.0
 * `decoder` of a tokenizer.json → steps (decoder.c). */
#include "tokenizers/tokenizer_load.h"

static enum oa_error read_decoding_step(const struct oa_tokenizer_file *l, const json_t *decoder,
                                        const char *type, struct oa_decoding_step *step)
{
    const json_t *start, *stop;
    const char *space;
    enum oa_prepend scheme;
    switch (step->kind) {
    case OA_DECODE_METASPACE:
        OA_TRY(oa_read_space(l, decoder, "decoder Metaspace", &space));
        OA_TRY(oa_read_prepend_scheme(l, decoder, "decoder Metaspace", &scheme));
        oa_text_add(&step->mark, space, strlen(space));
        step->drop_first = scheme != OA_PREPEND_NEVER;
        return oa_status(l->context);
    case OA_DECODE_REPLACE:
        return oa_read_replace(l, decoder, "decoder Replace", &step->replace);
    case OA_DECODE_STRIP:
        start = oa_part_member(decoder, "start");
        stop = oa_part_member(decoder, "stop");
        step->start = (long)json_integer_value(start);
        step->stop = (long)json_integer_value(stop);
        if (!json_is_integer(start) || !json_is_integer(stop) || step->start < 0 || step->stop < 0)
            return oa_tokenizer_malformed(l, "decoder Strip",
                                          "one with numbers \"start\", \"stop\"");
        return oa_read_string(l, decoder, "decoder Strip", "content", &step->mark);
    case OA_DECODE_SUFFIX:
        return oa_read_string(l, decoder, "decoder BPEDecoder", "suffix", &step->mark);
    case OA_DECODE_WORDPIECE:
        step->clean = true;
        OA_TRY(oa_read_flag(l, decoder, "cleanup", &step->clean));
        return oa_read_string(l, decoder, type, "prefix", &step->mark);
    default:
        return OA_OK;
    }
}

static enum oa_error add_decoding_step(struct oa_tokenizer_file *l, const json_t *decoder,
                                       const char *type, enum oa_decoding_kind kind)
{
    struct oa_decoder *d = &l->tok->decoder;
    if (d->count == OA_MOST_DECODERS)
        return oa_fail(l->context, OA_UNSUPPORTED, "%s: a sequence of more than %d decoders",
                       l->name, OA_MOST_DECODERS);
    struct oa_decoding_step *step = &d->step[d->count++];
    *step = (struct oa_decoding_step){ .kind = kind };
    oa_text_init(&step->mark, l->context);
    oa_normaliser_init(&step->replace, l->context, OA_NORMAL_REPLACE);
    return read_decoding_step(l, decoder, type, step);
}

static enum oa_error read_decoder_parts(struct oa_tokenizer_file *l, const json_t *decoder,
                                        int depth)
{
    static const char *const names[] = { "ByteFallback", "ByteLevel", "Fuse",       "Metaspace",
                                         "Replace",      "Strip",     "BPEDecoder", "WordPiece" };
    const char *type;
    OA_TRY(oa_read_part_type(l, decoder, "decoder", &type));
    for (int i = 0; i < 8; i++)
        if (strcmp(type, names[i]) == 0)
            return add_decoding_step(l, decoder, type, (enum oa_decoding_kind)i);
    const json_t *parts = oa_part_member(decoder, "decoders");
    if (strcmp(type, "Sequence") != 0 || depth == OA_MOST_NESTED)
        return oa_tokenizer_unsupported(
            l, "decoder", type,
            "supported are null, BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, "
            "Strip, WordPiece and a Sequence, nested at most 8 deep");
    if (!json_is_array(parts))
        return oa_tokenizer_malformed(l, "decoder.decoders", "an array");
    for (size_t i = 0; i < json_array_size(parts); i++)
        OA_TRY(read_decoder_parts(l, json_array_get(parts, i), depth + 1));
    return OA_OK;
}

enum oa_error oa_read_decoder(struct oa_tokenizer_file *l, const json_t *decoder)
{
    return decoder ? read_decoder_parts(l, decoder, 0) : OA_OK;
}
