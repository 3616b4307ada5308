/* SPDX-License-Identifier: Apache-2.0
 * tokenizer: makes one, and turns text into ids and back. */
#include "api/api.h"
#include "api/commands.h"
#include "tokenizers/text.h"

#include <string.h>

static enum oa_error report_made(oa_context *c, const struct oa_tokenizer *tok, const char *path,
                                 const struct oa_output *out)
{
    struct oa_text t;
    oa_text_init(&t, c);
    if (oa_wants_json(out))
        oa_json_add(&t,
                    json_pack("{s:o, s:s, s:i}", "path", oa_json_name(c, path), "kind",
                              oa_tokenizer_kind_name(tok), "tokens", (int)oa_tokenizer_size(tok)));
    else
        oa_text_printf(&t, "%s: %s, %d tokens\n", path, oa_tokenizer_kind_name(tok),
                       (int)oa_tokenizer_size(tok));
    return oa_emit(out, &t);
}

/* The result must not take the place of a text that it was made from. */
static enum oa_error check_output(oa_context *c, const char *files, const char *path)
{
    char *list = oa_copy_text(c, files ? files : ""), *file;
    bool same = false;
    for (char *rest = list; rest;) {
        rest = oa_cut_name(rest, &file);
        same = same || oa_same_file(file, path);
    }
    oa_free(list);
    if (same)
        return oa_fail(c, OA_ARGUMENT,
                       "%s is one of the input texts and would be overwritten: give another --out",
                       path);
    return oa_status(c);
}

enum oa_error oa_tokenizer_make(oa_context *c, const char *spec, const char *files,
                                const char *path, const struct oa_output *out)
{
    struct oa_tokenizer *tok;
    OA_TRY(oa_status(c));
    OA_TRY(oa_file_check(c, path));
    OA_TRY(check_output(c, files, path));
    OA_TRY(oa_tokenizer_open(c, spec, files, NULL, &tok));
    enum oa_error e = oa_tokenizer_save(c, tok, path);
    if (e == OA_OK)
        e = report_made(c, tok, path, out);
    oa_tokenizer_close(tok);
    return e;
}

/* ---- text to ids ---- */

/* types NULL: without. */
static json_t *ids_json(const struct oa_tokenizer *tok, const struct oa_ids *ids,
                        const struct oa_ids *types)
{
    oa_context *c = oa_tokenizer_context(tok);
    json_t *root = json_object(), *numbers = json_array(), *pieces = json_array();
    for (size_t i = 0; i < ids->count; i++) {
        oa_json_append(c, numbers, json_integer(ids->id[i]));
        oa_json_append(c, pieces, json_string(oa_tokenizer_piece(tok, ids->id[i])));
    }
    oa_json_set(c, root, "ids", numbers);
    oa_json_set(c, root, "pieces", pieces);
    json_t *list = types ? json_array() : NULL;
    for (size_t i = 0; types && i < types->count; i++)
        oa_json_append(c, list, json_integer(types->id[i]));
    if (types)
        oa_json_set(c, root, "type_ids", list);
    return root;
}

static enum oa_error emit_ids(const struct oa_tokenizer *tok, const struct oa_ids *ids,
                              const struct oa_ids *types, const struct oa_output *out)
{
    struct oa_text t;
    oa_text_init(&t, oa_tokenizer_context(tok));
    if (oa_wants_json(out))
        oa_json_add(&t, ids_json(tok, ids, types));
    else {
        for (size_t i = 0; i < ids->count; i++)
            oa_text_printf(&t, "%s%d", i ? " " : "", (int)ids->id[i]);
        oa_text_add(&t, "\n", 1);
    }
    return oa_emit(out, &t);
}

enum oa_error oa_encode(oa_context *c, const char *tokenizer, const char *text, size_t length,
                        const struct oa_output *out)
{
    struct oa_tokenizer *tok;
    struct oa_ids ids;
    OA_TRY(oa_status(c));
    OA_TRY(oa_tokenizer_load(c, tokenizer, &tok));
    oa_ids_init(&ids, c);
    enum oa_error e = oa_tokenizer_encode(tok, text, length, &ids);
    if (e == OA_OK)
        e = emit_ids(tok, &ids, NULL, out);
    oa_ids_free(&ids);
    oa_tokenizer_close(tok);
    return e;
}

enum oa_error oa_encode_with_specials(oa_context *c, const char *tokenizer, const char *text,
                                      size_t length, const char *pair, const struct oa_output *out)
{
    enum { TEXT, PAIR, WHOLE, TYPES, LISTS };
    struct oa_tokenizer *tok;
    struct oa_ids ids[LISTS];
    OA_TRY(oa_status(c));
    OA_TRY(oa_tokenizer_load(c, tokenizer, &tok));
    for (int i = 0; i < LISTS; i++)
        oa_ids_init(&ids[i], c);
    enum oa_error e = oa_tokenizer_encode(tok, text, length, &ids[TEXT]);
    if (e == OA_OK && pair)
        e = oa_tokenizer_encode(tok, pair, strlen(pair), &ids[PAIR]);
    if (e == OA_OK)
        e = oa_tokenizer_add_specials(tok, &ids[TEXT], pair ? &ids[PAIR] : NULL, &ids[WHOLE],
                                      &ids[TYPES]);
    if (e == OA_OK)
        e = emit_ids(tok, &ids[WHOLE], &ids[TYPES], out);
    for (int i = 0; i < LISTS; i++)
        oa_ids_free(&ids[i]);
    oa_tokenizer_close(tok);
    return e;
}

enum oa_error oa_decode(oa_context *c, const char *tokenizer, const int32_t *ids, size_t count,
                        const struct oa_output *out)
{
    struct oa_tokenizer *tok;
    struct oa_text t, json;
    OA_TRY(oa_status(c));
    OA_TRY(oa_tokenizer_load(c, tokenizer, &tok));
    oa_text_init(&t, c);
    oa_text_init(&json, c);
    enum oa_error e = oa_tokenizer_decode(tok, ids, count, &t);
    oa_tokenizer_close(tok);
    if (e == OA_OK && oa_wants_json(out))
        oa_json_add(&json, json_pack("{s:o}", "text", oa_json_bytes(c, t.s, t.length)));
    e = oa_emit(out, oa_wants_json(out) ? &json : &t);
    oa_text_free(&t);
    oa_text_free(&json);
    return e;
}
