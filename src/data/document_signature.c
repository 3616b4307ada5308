/* SPDX-License-Identifier: Apache-2.0 */
#include "data/document_signature.h"

#include "base/new_file.h"
#include "tokenizers/text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

struct oa_signature_maker {
    struct oa_running_digest *digest;
    char held[512]; /* normalised text that is not in the digest yet */
    size_t length;
    bool begun, space; /* a character has come; white space since the last one */
    int shingle;
    bool inside;   /* a word */
    uint64_t word; /* hash of it so far */
    uint64_t last[OA_MOST_SHINGLE], words;
    uint32_t min[OA_SIGNATURE_HASHES];
};

/* The finaliser of splitmix64 (Steele, Lea and Flood 2014). */
static uint64_t scramble(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* ---- shingles ---- */

/* Multiply-shift hashing (Dietzfelbinger et al. 1997), one function for each value. */
static uint64_t factor[OA_SIGNATURE_HASHES], offset[OA_SIGNATURE_HASHES];

static void draw_hash_functions(void)
{
    for (uint64_t i = 0; i < OA_SIGNATURE_HASHES; i++) {
        factor[i] = scramble(2 * i + 1) | 1;
        offset[i] = scramble(2 * i + 2);
    }
}

static void add_shingle(struct oa_signature_maker *m, uint64_t shingle)
{
    for (int i = 0; i < OA_SIGNATURE_HASHES; i++) {
        uint32_t value = (uint32_t)((factor[i] * shingle + offset[i]) >> 32);
        m->min[i] = value < m->min[i] ? value : m->min[i];
    }
}

static uint64_t hash_of_words(const struct oa_signature_maker *m, uint64_t count)
{
    uint64_t hash = count;
    for (uint64_t i = m->words - count; i < m->words; i++)
        hash = scramble(hash + 0x9e3779b97f4a7c15 + m->last[i % OA_MOST_SHINGLE]);
    return hash;
}

static void end_word(struct oa_signature_maker *m)
{
    if (!m->inside)
        return;
    m->inside = false;
    m->last[m->words++ % OA_MOST_SHINGLE] = scramble(m->word);
    if (m->words >= (uint64_t)m->shingle)
        add_shingle(m, hash_of_words(m, (uint64_t)m->shingle));
}

/* Thai, Lao, Burmese, Khmer, Kana, Bopomofo and Han. */
static bool is_written_without_spaces(uint32_t code)
{
    static const uint32_t ranges[][2] = { { 0x0e00, 0x0eff },  { 0x1000, 0x109f },
                                          { 0x1780, 0x17ff },  { 0x3040, 0x312f },
                                          { 0x31a0, 0x31ff },  { 0x3400, 0x4dbf },
                                          { 0x4e00, 0x9fff },  { 0xf900, 0xfaff },
                                          { 0x20000, 0x3ffff } };
    return code >= ranges[0][0] && OA_CODE_IN(code, ranges);
}

static void add_to_word(struct oa_signature_maker *m, uint32_t code)
{
    bool word =
        code < 0x80 ? (code | 32) - 'a' < 26 || code - '0' < 10 || code == '_' : oa_is_word(code);
    if (!word) {
        end_word(m);
        return;
    }
    if (!m->inside)
        m->word = 0xcbf29ce484222325; /* FNV-1a, over code points */
    m->inside = true;
    uint32_t lower = code < 0x80 ? code | (uint32_t)(code - 'A' < 26) << 5
                                 : (uint32_t)utf8proc_tolower((utf8proc_int32_t)code);
    m->word = (m->word ^ lower) * 0x100000001b3;
    if (is_written_without_spaces(code))
        end_word(m);
}

/* ---- making one ---- */

enum oa_error oa_signature_begin(oa_context *c, int shingle, struct oa_signature_maker **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct oa_signature_maker *m = oa_alloc(c, sizeof *m);
    pthread_once(&once, draw_hash_functions);
    *out = m;
    if (!m)
        return OA_NO_MEMORY;
    m->shingle = shingle;
    memset(m->min, 0xff, sizeof m->min);
    m->digest = oa_digest_begin(c);
    if (m->digest)
        return OA_OK;
    oa_signature_close(m);
    *out = NULL;
    return OA_NO_MEMORY;
}

void oa_signature_close(struct oa_signature_maker *m)
{
    if (m)
        oa_free(m->digest);
    oa_free(m);
}

static void flush_normalised(struct oa_signature_maker *m)
{
    oa_digest_add(m->digest, m->held, m->length);
    m->length = 0;
}

void oa_signature_add(struct oa_signature_maker *m, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        uint32_t code = (uint8_t)text[at];
        int n = code < 0x80 ? 1 : oa_utf8_decode(text + at, length - at, &code);
        bool valid = n > 0;
        n = valid ? n : 1;
        if (valid && oa_is_space(code)) {
            m->space = m->begun;
            end_word(m);
        } else {
            if (m->length + 8 > sizeof m->held)
                flush_normalised(m);
            if (m->space)
                m->held[m->length++] = ' ';
            memcpy(m->held + m->length, text + at, (size_t)n);
            m->length += (size_t)n;
            m->space = false;
            m->begun = true;
            if (m->shingle && valid)
                add_to_word(m, code);
            else
                end_word(m);
        }
        at += (size_t)n;
    }
}

void oa_signature_end(struct oa_signature_maker *m, struct oa_signature *out)
{
    flush_normalised(m);
    end_word(m);
    if (m->words && m->words < (uint64_t)m->shingle)
        add_shingle(m, hash_of_words(m, m->words));
    struct oa_digest digest = oa_digest_end(m->digest);
    *out =
        (struct oa_signature){ .words = m->words < UINT32_MAX ? (uint32_t)m->words : UINT32_MAX };
    memcpy(out->min, m->min, sizeof out->min);
    for (size_t i = 0; i < sizeof out->digest; i++) {
        const char pair[3] = { digest.hex[2 * i], digest.hex[2 * i + 1], 0 };
        out->digest[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
}
