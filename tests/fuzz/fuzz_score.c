/* SPDX-License-Identifier: Apache-2.0
 * Metrics of segments: any bytes as a hypothesis and two references, by every metric in many
 * settings. No score is negative or no number, and TER against a text itself is 0. */
#include "fuzz.h"
#include "metrics/metrics.h"

static struct oa_metric_options options_of(uint8_t bits)
{
    struct oa_metric_options o;
    oa_metric_defaults(&o);
    o.bleu_tokens = (enum oa_bleu_tokens)(bits & 3);
    o.bleu_lowercase = o.chrf_lowercase = bits & 4;
    o.chrf_words = bits & 8 ? 2 : 0;
    o.chrf_whitespace = o.ter_case_sensitive = bits & 16;
    o.ter_normalized = o.rouge_stemmer = bits & 32;
    o.ter_asian = bits & 64;
    o.ter_no_punctuation = bits & 128;
    o.rouge_newline = "<n>";
    return o;
}

static double score(oa_context *c, const struct oa_metric *m, const struct oa_metric_options *o,
                    const struct oa_line *hypothesis, const struct oa_line *const *reference,
                    int references)
{
    struct oa_statistics s;
    if (oa_statistics_take(c, m, o, hypothesis, reference, references, 1, &s) != OA_OK)
        abort();
    double x = oa_statistics_score(&s);
    oa_statistics_free(&s);
    return x;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct oa_metric *const metrics[] = { &oa_bleu,      &oa_chrf,   &oa_ter,
                                                       &oa_rouge1,    &oa_rouge2, &oa_rouge_l,
                                                       &oa_rouge_lsum };
    oa_context *c = fuzz_context();
    if (size < 3)
        return 0;
    const struct oa_metric_options o = options_of(data[0]);
    const char *text = (const char *)data + 2;
    size_t first = data[1] % (size - 1), rest = size - 2 - (first < size - 2 ? first : size - 2);
    struct oa_line a = { text, size - 2 - rest }, b = { text + a.length, rest };
    const struct oa_line *reference[2] = { &b, &a };
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (!(score(c, metrics[i], &o, &a, reference, 1) >= 0) ||
            !(score(c, metrics[i], &o, &a, reference, 2) >= 0))
            abort();
    if (!o.ter_normalized && score(c, &oa_ter, &o, &a, reference + 1, 1) != 0)
        abort();
    return 0;
}
