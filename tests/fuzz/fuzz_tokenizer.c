/* SPDX-License-Identifier: Apache-2.0
 * tokenizer.json and models of SentencePiece: any bytes give a tokenizer or a sentence; a tokenizer
 * takes any text without falling over. */
#include "data/data.h"
#include "fuzz.h"
#include "tokenizers/sentencepiece.h"

/* The bytes as a spiece.model, by way of its tokenizer.json. */
static enum oa_error parse_model(oa_context *c, const char *data, size_t size,
                                 struct oa_tokenizer **out)
{
    struct oa_sentencepiece pieces;
    char *json = NULL;
    enum oa_error e = oa_sentencepiece_read(c, "fuzz", data, size, &pieces);
    if (e == OA_OK)
        e = oa_sentencepiece_json(c, &pieces, &json);
    if (e == OA_OK)
        e = oa_tokenizer_parse(c, "fuzz", json, strlen(json), out);
    oa_free(json);
    oa_free(pieces.piece);
    return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oa_context *c = fuzz_context();
    struct oa_tokenizer *tok;
    bool json = size && (*data == '{' || *data == ' ' || *data == '[');
    if ((json ? oa_tokenizer_parse(c, "fuzz", (const char *)data, size, &tok)
              : parse_model(c, (const char *)data, size, &tok)) != OA_OK) {
        if (oa_status(c) == OA_OK)
            abort();
        return 0;
    }
    struct oa_ids ids;
    struct oa_text back;
    oa_ids_init(&ids, c);
    oa_text_init(&back, c);
    if (oa_tokenizer_encode(tok, (const char *)data, size, &ids) == OA_OK &&
        oa_tokenizer_decode(tok, ids.id, ids.count, &back) != OA_OK)
        abort();
    oa_text_free(&back);
    oa_ids_free(&ids);
    oa_tokenizer_close(tok);
    return 0;
}
