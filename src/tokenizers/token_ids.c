/* SPDX-License-Identifier: Apache-2.0
 * Growable arrays of token ids, and the vocabulary: id ↔ piece, id → bytes. */
#include "tokenizers/tokenizer_parts.h"

/* ---- ids ---- */

void oa_ids_init(struct oa_ids *ids, oa_context *c)
{
    *ids = (struct oa_ids){ .context = c };
}

void oa_ids_free(struct oa_ids *ids)
{
    oa_free(ids->id);
    oa_ids_init(ids, ids->context);
}

enum oa_error oa_ids_add(struct oa_ids *ids, int32_t id)
{
    if (ids->count == ids->capacity &&
        !oa_reserve(ids->context, &ids->id, &ids->capacity, ids->count + 1, sizeof *ids->id))
        return OA_NO_MEMORY;
    ids->id[ids->count++] = id;
    return OA_OK;
}

enum oa_error oa_ids_append(struct oa_ids *ids, const int32_t *id, size_t count)
{
    if (!oa_reserve(ids->context, &ids->id, &ids->capacity, ids->count + count, sizeof *ids->id))
        return OA_NO_MEMORY;
    if (count)
        memcpy(ids->id + ids->count, id, count * sizeof *id);
    ids->count += count;
    return OA_OK;
}

/* ---- vocabulary ---- */

void oa_vocabulary_init(struct oa_vocabulary *v, oa_context *c)
{
    *v = (struct oa_vocabulary){ .context = c };
    oa_words_init(&v->pieces, c);
    oa_text_init(&v->pool, c);
}

void oa_vocabulary_free(struct oa_vocabulary *v)
{
    oa_words_free(&v->pieces);
    oa_free(v->id_of);
    oa_free(v->number_of);
    oa_text_free(&v->pool);
    oa_free(v->start);
    oa_vocabulary_init(v, v->context);
}

static int32_t piece_number(const struct oa_vocabulary *v, int32_t id)
{
    return id >= 0 && id < v->size ? v->number_of[id] : -1;
}

int32_t oa_vocabulary_find(const struct oa_vocabulary *v, const char *piece, size_t n)
{
    int32_t number = oa_words_find(&v->pieces, piece, n);
    return number < 0 ? -1 : v->id_of[number];
}

int32_t oa_vocabulary_model_find(const struct oa_vocabulary *v, const char *piece, size_t n)
{
    int32_t number = oa_words_find(&v->pieces, piece, n);
    return number < 0 || number >= v->model_size ? -1 : v->id_of[number];
}

const char *oa_vocabulary_piece(const struct oa_vocabulary *v, int32_t id)
{
    int32_t number = piece_number(v, id);
    return number < 0 ? NULL : oa_words_at(&v->pieces, number, NULL);
}

const char *oa_vocabulary_bytes(const struct oa_vocabulary *v, int32_t id, size_t *length)
{
    int32_t number = piece_number(v, id);
    *length = number < 0 ? 0 : v->start[number + 1] - v->start[number];
    return number < 0 ? NULL : v->pool.s + v->start[number];
}

static enum oa_error check_new_piece(const struct oa_vocabulary *v, const char *where,
                                     const char *piece, size_t n, int32_t id)
{
    if (id < 0 || id >= OA_MOST_IDS)
        return oa_fail(v->context, OA_FORMAT, "%s: \"%s\" has id %d; ids must be from 0 to %d",
                       where, piece, (int)id, OA_MOST_IDS - 1);
    if (piece_number(v, id) >= 0)
        return oa_fail(v->context, OA_FORMAT, "%s: \"%s\" and \"%s\" have the same id %d", where,
                       oa_vocabulary_piece(v, id), piece, (int)id);
    if (oa_words_find(&v->pieces, piece, n) >= 0)
        return oa_fail(v->context, OA_FORMAT, "%s: duplicate token \"%s\"", where, piece);
    return OA_OK;
}

enum oa_error oa_vocabulary_add(struct oa_vocabulary *v, const char *where, const char *piece,
                                size_t n, int32_t id, const char *bytes, size_t byte_count)
{
    OA_TRY(check_new_piece(v, where, piece, n, id));
    size_t pieces = (size_t)v->pieces.count;
    if (!oa_reserve(v->context, &v->id_of, &v->id_of_capacity, pieces + 1, sizeof *v->id_of) ||
        !oa_reserve(v->context, &v->start, &v->start_capacity, pieces + 2, sizeof *v->start) ||
        !oa_reserve(v->context, &v->number_of, &v->number_of_capacity, (size_t)id + 1,
                    sizeof *v->number_of))
        return OA_NO_MEMORY;
    int32_t number = oa_words_add(&v->pieces, piece, n);
    oa_text_add(&v->pool, bytes, byte_count);
    if (number < 0 || oa_status(v->context) == OA_NO_MEMORY)
        return OA_NO_MEMORY;
    while (v->size <= id)
        v->number_of[v->size++] = -1;
    v->number_of[id] = number;
    v->id_of[number] = id;
    v->start[number + 1] = v->pool.length;
    return OA_OK;
}
