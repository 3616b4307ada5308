/* SPDX-License-Identifier: Apache-2.0 */
#include "data/corpus_mix.h"

#include <string.h>

enum { DIGITS = 6 }; /* after the point */

/* ---- data.mix ---- */

/* A decimal number times 10^DIGITS. Returns the end, or NULL: not a number, or too large. */
static const char *read_weight(const char *s, long *out)
{
    long whole = 0, scale = 1;
    const char *begin = s;
    for (; *s >= '0' && *s <= '9' && whole < 1000000; s++)
        whole = 10 * whole + (*s - '0');
    if (*s == '.')
        for (s++; *s >= '0' && *s <= '9' && scale < 1000000; s++, scale *= 10)
            whole = 10 * whole + (*s - '0');
    for (; scale < 1000000; scale *= 10)
        whole *= 10;
    *out = whole;
    return s > begin && whole > 0 && (*s == '\0' || *s == ',') ? s : NULL;
}

static const char *last_component(const char *file, size_t *length)
{
    size_t n = strlen(file);
    while (n > 1 && file[n - 1] == '/')
        n--;
    const char *name = file + n;
    while (name > file && name[-1] != '/')
        name--;
    *length = n - (size_t)(name - file);
    return name;
}

static bool names_corpus(const char *file, const char *name, size_t n)
{
    size_t length;
    const char *last = last_component(file, &length), *dot = memchr(last + 1, '.', length - 1);
    if (strlen(file) == n && memcmp(file, name, n) == 0)
        return true;
    return (length == n && memcmp(last, name, n) == 0) ||
           (dot && (size_t)(dot - last) == n && memcmp(last, name, n) == 0);
}

static enum oa_error find_named_corpus(oa_context *c, const char *name, size_t n,
                                       const char *const *files, int count, int *out)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        if (names_corpus(files[i], name, n)) {
            *out = i;
            found++;
        }
    if (found == 1)
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT,
                   "data.mix: \"%.*s\" is the name of %s corpora of data.train: give the name of a "
                   "file or folder there, or its whole path",
                   (int)n, name, found ? "several" : "no");
}

static long common_factor(long a, long b)
{
    return b ? common_factor(b, a % b) : a;
}

static enum oa_error reduce_weights(oa_context *c, struct oa_corpus_part *part, int count)
{
    long factor = 0, sum = 0;
    for (int i = 0; i < count; i++)
        factor = common_factor(factor, part[i].weight);
    for (int i = 0; i < count; i++)
        sum += part[i].weight /= factor;
    if (sum <= OA_MIX_PERIOD)
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT,
                   "data.mix: as whole numbers the weights add up to %ld, more than %d: give them "
                   "fewer digits",
                   sum, OA_MIX_PERIOD);
}

enum oa_error oa_corpus_mix_parse(oa_context *c, const char *mix, const char *const *files,
                                  int count, struct oa_corpus_part part[OA_CORPORA])
{
    for (int i = 0; i < count; i++) {
        size_t length;
        const char *name = last_component(files[i], &length);
        part[i].weight = 0;
        snprintf(part[i].name, sizeof part[i].name, "%.*s", (int)length, name);
    }
    for (const char *s = mix, *end; *s; s = *end ? end + 1 : end) {
        size_t n = strcspn(s, ",");
        const char *colon = memrchr(s, ':', n);
        long weight;
        int i = 0;
        end = colon ? read_weight(colon + 1, &weight) : NULL;
        if (!end || colon == s)
            return oa_fail(c, OA_ARGUMENT,
                           "data.mix: \"%.*s\" is not a name, a colon and a positive number with "
                           "at most %d digits after the point, as in wiki:0.7",
                           (int)n, s, DIGITS);
        OA_TRY(find_named_corpus(c, s, (size_t)(colon - s), files, count, &i));
        if (part[i].weight)
            return oa_fail(c, OA_ARGUMENT, "data.mix names %s twice", files[i]);
        part[i].weight = weight;
    }
    for (int i = 0; i < count; i++)
        if (!part[i].weight)
            return oa_fail(c, OA_ARGUMENT,
                           "data.mix has no weight for %s: give it one, or take it out of "
                           "data.train",
                           files[i]);
    return reduce_weights(c, part, count);
}

/* ---- turns ---- */

/* The next corpus after n rows, of which done[k] were of corpus k. With L = 2·count - 2 and shares
 * w, those with (n + 1)·w - done >= 1/L may take a turn, and the one takes it that would first be
 * late: the smallest (1 - 1/L - ((n + 1)·w - done)) / w. In whole numbers, times L·period. */
static int corpus_in_turn(const struct oa_corpus_mix *m, long n, const uint32_t *done)
{
    int best = -1;
    int64_t parts = 2 * m->count - 2, best_slack = 0;
    for (int k = 0; k < m->count; k++) {
        int64_t lag = parts * ((n + 1) * m->weight[k] - (int64_t)done[k] * m->period);
        int64_t slack = (parts - 1) * m->period - lag;
        if (lag < m->period)
            continue;
        if (best < 0 || slack * m->weight[best] < best_slack * m->weight[k]) {
            best = k;
            best_slack = slack;
        }
    }
    return best;
}

enum oa_error oa_corpus_mix_open(oa_context *c, const struct oa_corpus_part *part, int count,
                                 struct oa_corpus_mix *out)
{
    uint32_t done[OA_CORPORA] = { 0 };
    *out = (struct oa_corpus_mix){ .count = count };
    for (int k = 0; k < count; k++)
        out->period += out->weight[k] = part[k].weight;
    out->corpus = oa_alloc(c, (size_t)out->period * sizeof *out->corpus);
    out->before = oa_alloc(c, (size_t)out->period * sizeof *out->before);
    if (!out->corpus || !out->before)
        return OA_NO_MEMORY;
    for (long n = 0; n < out->period; n++) {
        int k = count > 1 ? corpus_in_turn(out, n, done) : 0;
        out->corpus[n] = (uint8_t)k;
        out->before[n] = done[k]++;
    }
    return OA_OK;
}

void oa_corpus_mix_close(struct oa_corpus_mix *m)
{
    oa_free(m->corpus);
    oa_free(m->before);
    *m = (struct oa_corpus_mix){ 0 };
}

int oa_corpus_mix_turn(const struct oa_corpus_mix *m, uint64_t n, uint64_t *before)
{
    uint64_t period = (uint64_t)m->period;
    int k = m->corpus[n % period];
    *before = n / period * (uint64_t)m->weight[k] + m->before[n % period];
    return k;
}

uint64_t oa_corpus_mix_rows(const struct oa_corpus_mix *m, int k, uint64_t n)
{
    uint64_t period = (uint64_t)m->period, rows = n / period * (uint64_t)m->weight[k];
    for (uint64_t i = n % period; i-- > 0;)
        if (m->corpus[i] == k)
            return rows + m->before[i] + 1;
    return rows;
}
