/* SPDX-License-Identifier: Apache-2.0
 * Text files, or files of ids → token ids of the training and the validation side. */
#include "base/reserve.h"
#include "base/safetensors.h"
#include "data/packed_corpus.h"
#include "data/text_cache.h"

#include <math.h>
#include <string.h>

/* The part that is held out for validation. */
struct holdout {
    double fraction;
    uint64_t seed; /* of its position; 0: at the end */
};

/* The training text is before and after the held-out block. A side in one piece has an empty second
 * span. */
enum { SPANS = 2 };

struct oa_text_block oa_held_block(uint64_t count, double fraction, uint64_t seed)
{
    uint64_t kept = (uint64_t)floor((double)count * (1 - fraction)), from = kept;
    if (seed)
        from = oa_random_below(oa_stream_named(seed, "split"), 0, kept + 1);
    return (struct oa_text_block){ from, from + (count - kept) };
}

static void make_spans(struct oa_text_block valid, size_t count, struct oa_text_block kept[SPANS],
                       struct oa_text_block block[SPANS])
{
    kept[0] = (struct oa_text_block){ 0, valid.from };
    kept[1] = (struct oa_text_block){ valid.to, count };
    block[0] = valid;
    block[1] = (struct oa_text_block){ count, count };
}

/* Encodes spans separately, so that no token crosses the held-out block. The initial capacity is
 * exact for char and byte and a third of the bytes for bpe and word: long texts are not copied. */
static enum oa_error encode_side(struct oa_tokenizer *tok, const struct oa_text_source *source,
                                 const struct oa_text_block spans[SPANS], const char *name,
                                 struct oa_tokens *out)
{
    enum oa_tokenizer_kind kind = oa_tokenizer_kind_of(tok);
    struct oa_array bytes[SPANS];
    struct oa_ids ids;
    *out = (struct oa_tokens){ .name = name };
    for (int i = 0; i < SPANS; i++) {
        const char *text = source->text + spans[i].from;
        bytes[i] = (struct oa_array){ .data = text, .bytes = spans[i].to - spans[i].from };
        out->characters += oa_text_characters(text, bytes[i].bytes);
        out->bytes += bytes[i].bytes;
    }
    uint64_t expected = kind == OA_TOKENIZER_CHAR ? out->characters : out->bytes;
    if (kind == OA_TOKENIZER_BPE || kind == OA_TOKENIZER_WORD || kind == OA_TOKENIZER_WORDPIECE ||
        kind == OA_TOKENIZER_UNIGRAM || kind == OA_TOKENIZER_MARIAN)
        expected /= 3;
    oa_ids_init(&ids, oa_tokenizer_context(tok));
    enum oa_error error = oa_reserve(ids.context, &ids.id, &ids.capacity, expected, sizeof *ids.id)
                              ? OA_OK
                              : OA_NO_MEMORY;
    for (int i = 0; i < SPANS && error == OA_OK; i++)
        if (bytes[i].bytes)
            error = oa_tokenizer_encode_part(tok, source, bytes[i].data, bytes[i].bytes, &ids);
    if (error != OA_OK) {
        oa_ids_free(&ids);
        return error;
    }
    out->ids = ids.id;
    out->count = ids.count;
    out->digest = oa_digest_of_arrays(bytes, SPANS);
    return OA_OK;
}

/* ---- files of token ids ---- */

struct id_gathering {
    const struct oa_tokenizer *tok;
    struct oa_ids ids;
};

static enum oa_error gather_id(void *argument, const char *path, uint64_t place, uint32_t id)
{
    struct id_gathering *g = argument;
    int32_t size = oa_tokenizer_size(g->tok);
    if (id >= (uint32_t)size)
        return oa_fail(oa_tokenizer_context(g->tok), OA_FORMAT,
                       "%s: token %llu is id %u, but the tokenizer has ids 0 to %d: the file was "
                       "made with another tokenizer",
                       path, (unsigned long long)place, id, (int)size - 1);
    if (!oa_tokenizer_piece(g->tok, (int32_t)id))
        return oa_fail(oa_tokenizer_context(g->tok), OA_FORMAT,
                       "%s: token %llu is id %u, for which the tokenizer has no token", path,
                       (unsigned long long)place, id);
    return oa_ids_add(&g->ids, (int32_t)id);
}

/* Counts and digest of tokens; characters and bytes are 0 where the tokenizer knows no text, and of
 * tokens in files. */
static enum oa_error count_tokens(oa_context *c, const struct oa_tokenizer *tok,
                                  struct oa_tokens *t)
{
    if (!t->ids)
        return oa_tokens_sample_digest(c, t);
    for (size_t i = 0; i < t->count && oa_tokenizer_kind_of(tok) != OA_TOKENIZER_IDS; i++) {
        size_t n;
        const char *bytes = oa_tokenizer_bytes(tok, t->ids[i], &n);
        t->characters += oa_text_characters(bytes, n);
        t->bytes += n;
    }
    t->digest = oa_digest_of(t->ids, t->count * sizeof *t->ids);
    return OA_OK;
}

static enum oa_error take_side(const struct oa_tokenizer *tok, const int32_t *ids,
                               const struct oa_text_block spans[SPANS], const char *name,
                               struct oa_tokens *out)
{
    size_t first = spans[0].to - spans[0].from, second = spans[1].to - spans[1].from;
    int32_t *copy = oa_alloc(oa_tokenizer_context(tok), (first + second) * sizeof *copy);
    if (!copy)
        return OA_NO_MEMORY;
    if (first)
        memcpy(copy, ids + spans[0].from, first * sizeof *copy);
    if (second)
        memcpy(copy + first, ids + spans[1].from, second * sizeof *copy);
    *out = (struct oa_tokens){ .ids = copy, .count = first + second, .name = name };
    return count_tokens(oa_tokenizer_context(tok), tok, out);
}

enum oa_error oa_corpus_hold_out(oa_context *c, const struct oa_tokenizer *tok,
                                 const struct oa_tokens *whole, double fraction,
                                 struct oa_corpus *out)
{
    static const char kept[] = "training text without its held-out part",
                      held[] = "held-out part of the training text";
    size_t cut = (size_t)floor((double)whole->count * (1 - fraction));
    out->train = oa_tokens_part(whole, 0, whole->parts ? 0 : cut, kept);
    out->valid = oa_tokens_part(whole, cut, whole->parts ? 0 : whole->count - cut, held);
    if (whole->parts)
        out->train.spans = out->valid.spans = 0;
    for (int i = 0; i < whole->parts; i++) { /* of a mixture, a part of each corpus */
        struct oa_corpus_part *p = &out->train.part[out->train.parts++];
        *p = whole->part[i];
        cut = (size_t)floor((double)p->count * (1 - fraction));
        oa_tokens_append(&out->valid, whole, p->from + cut, p->count - cut);
        oa_tokens_append(&out->train, whole, p->from, cut);
        p->from = out->train.count - cut;
        p->count = cut;
    }
    OA_TRY(count_tokens(c, tok, &out->train));
    return count_tokens(c, tok, &out->valid);
}

/* ---- ids that stay in their files ---- */

static enum oa_error store_side(oa_context *c, struct oa_token_store *store,
                                const struct oa_text_block spans[SPANS], const char *name,
                                struct oa_tokens *out)
{
    *out = (struct oa_tokens){ .marked = true, .name = name };
    for (int i = 0; i < SPANS; i++) {
        uint64_t count = spans[i].to - spans[i].from;
        if (count)
            out->span[out->spans++] =
                (struct oa_token_span){ NULL, oa_token_store_share(store), spans[i].from, count };
        out->count += count;
    }
    return oa_tokens_sample_digest(c, out);
}

/* valid NULL: nothing is held out. */
static enum oa_error open_id_corpus(const struct oa_tokenizer *tok, const char *files,
                                    const struct holdout *how, const char *name,
                                    struct oa_tokens *first, struct oa_tokens *valid)
{
    oa_context *c = oa_tokenizer_context(tok);
    struct oa_id_file *list;
    struct oa_token_store *store;
    struct oa_text_block kept[SPANS], block[SPANS];
    int count;
    OA_TRY(oa_id_files_list(c, files, &list, &count));
    enum oa_error e = oa_token_store_open(tok, list, count, &store);
    oa_id_files_free(list, count);
    if (e != OA_OK)
        return e;
    uint64_t all = oa_token_store_count(store);
    make_spans(oa_held_block(all, how->fraction, how->seed), all, kept, block);
    e = store_side(c, store, kept, name, first);
    if (e == OA_OK && valid)
        e = store_side(c, store, block, "validation text", valid);
    oa_token_store_release(store);
    return e;
}

/* valid NULL: nothing is held out. */
static enum oa_error read_id_corpus(const struct oa_tokenizer *tok, const char *files,
                                    const struct holdout *how, const char *name,
                                    struct oa_tokens *first, struct oa_tokens *valid)
{
    struct id_gathering g = { .tok = tok };
    oa_ids_init(&g.ids, oa_tokenizer_context(tok));
    enum oa_error e = oa_id_files_read(oa_tokenizer_context(tok), files, gather_id, &g);
    struct oa_text_block kept[SPANS], block[SPANS];
    make_spans(oa_held_block(g.ids.count, how->fraction, how->seed), g.ids.count, kept, block);
    if (e == OA_OK)
        e = take_side(tok, g.ids.id, kept, name, first);
    if (e == OA_OK && valid)
        e = take_side(tok, g.ids.id, block, "validation text", valid);
    oa_ids_free(&g.ids);
    return e;
}

/* ---- text ---- */

/* valid NULL: nothing is held out. */
static enum oa_error read_corpus(struct oa_tokenizer *tok, const char *files,
                                 const struct holdout *how, const char *name,
                                 struct oa_tokens *first, struct oa_tokens *valid)
{
    char *text;
    size_t length;
    bool ids;
    struct oa_text_block kept[SPANS], held[SPANS];
    if (oa_is_packed_corpus(files)) {
        if (how->seed)
            return oa_fail(oa_tokenizer_context(tok), OA_UNSUPPORTED,
                           "data.split_seed is not supported for the packed corpus %s: its last "
                           "documents are held out",
                           files);
        return oa_packed_corpus_open(tok, files, how->fraction, name, first, valid);
    }
    OA_TRY(oa_id_files_are(oa_tokenizer_context(tok), files, &ids));
    if (ids) {
        bool large = oa_id_files_bytes(oa_tokenizer_context(tok), files) > OA_IDS_IN_MEMORY;
        return (large ? open_id_corpus : read_id_corpus)(tok, files, how, name, first,
                                                         how->fraction > 0 ? valid : NULL);
    }
    if (oa_text_cache_wanted(tok, files))
        return oa_text_cache_open(tok, files, how->fraction, how->seed, name, first,
                                  how->fraction > 0 ? valid : NULL);
    OA_TRY(oa_files_read(oa_tokenizer_context(tok), files, &text, &length));
    struct oa_text_source source = { files, text, length };
    struct oa_text_block block =
        oa_held_block(oa_text_characters(text, length), how->fraction, how->seed);
    block.from = oa_character_offset(text, length, block.from);
    block.to = oa_character_offset(text, length, block.to);
    make_spans(block, length, kept, held);
    enum oa_error error = encode_side(tok, &source, kept, name, first);
    if (error == OA_OK && valid)
        error = encode_side(tok, &source, held, "validation text", valid);
    oa_free(text);
    return error;
}

enum oa_error oa_corpus_check_holdout(oa_context *c, const char *train_files,
                                      const char *valid_files, double valid_fraction,
                                      uint64_t split_seed)
{
    bool apart = oa_is_given(valid_files);
    if (!oa_is_given(train_files))
        return oa_fail(c, OA_ARGUMENT, "data.train is empty: name the files of the training text");
    if (!(valid_fraction >= 0 && valid_fraction < 1))
        return oa_fail(c, OA_ARGUMENT, "data.valid_fraction = %s must be at least 0 and below 1",
                       oa_real_text(valid_fraction).s);
    if (split_seed && (apart || valid_fraction == 0))
        return oa_fail(c, OA_ARGUMENT, "data.split_seed = %llu has no effect: %s",
                       (unsigned long long)split_seed,
                       apart ? "data.valid names a file of its own"
                             : "data.valid_fraction = 0 holds nothing out");
    return OA_OK;
}

enum oa_error oa_corpus_open_split(oa_context *c, struct oa_tokenizer *tok, const char *train_files,
                                   const char *valid_files, double valid_fraction,
                                   uint64_t split_seed, struct oa_corpus *out)
{
    *out = (struct oa_corpus){ 0 };
    bool apart = oa_is_given(valid_files);
    struct holdout how = { valid_fraction, split_seed };
    OA_TRY(oa_corpus_check_holdout(c, train_files, valid_files, valid_fraction, split_seed));
    enum oa_error error = read_corpus(tok, train_files, apart ? &(struct holdout){ 0 } : &how,
                                      "training text", &out->train, &out->valid);
    if (error == OA_OK && apart)
        error = read_corpus(tok, valid_files, &(struct holdout){ 0 }, "validation text",
                            &out->valid, NULL);
    if (error == OA_OK && out->train.count == 0)
        error = oa_fail(c, OA_ARGUMENT,
                        "%s has no text; a pipe can be read only once and the vocabulary was made "
                        "from it: give a file",
                        train_files);
    if (error != OA_OK)
        oa_corpus_close(out);
    return error;
}

enum oa_error oa_corpus_open(oa_context *c, struct oa_tokenizer *tok, const char *train_files,
                             const char *valid_files, double valid_fraction, struct oa_corpus *out)
{
    return oa_corpus_open_split(c, tok, train_files, valid_files, valid_fraction, 0, out);
}

enum oa_error oa_corpus_open_test(struct oa_tokenizer *tok, const char *files,
                                  struct oa_corpus *out)
{
    OA_TRY(read_corpus(tok, files, &(struct holdout){ 0 }, "test text", &out->test, NULL));
    return out->test.count > 1
               ? OA_OK
               : oa_fail(oa_tokenizer_context(tok), OA_ARGUMENT,
                         "data.test = %.200s has fewer than 2 tokens, an input and a target",
                         files);
}

void oa_corpus_close(struct oa_corpus *corpus)
{
    struct oa_tokens *side[] = { &corpus->train, &corpus->valid, &corpus->test };
    for (int i = 0; i < 3; i++) {
        oa_free(side[i]->ids);
        for (int k = 0; k < side[i]->spans; k++) {
            oa_free(side[i]->span[k].ids);
            oa_token_store_release(side[i]->span[k].store);
        }
    }
    *corpus = (struct oa_corpus){ 0 };
}
