/* SPDX-License-Identifier: Apache-2.0
 * Which direction of a metric is better, by the words in its name. */
#include "import/observations.h"

#include <ctype.h>
#include <string.h>

static const char *const lower_words[] = {
    "loss", "nll",      "ce",         "xent",    "perplexity", "ppl",  "bpb",      "bpc",   "bpd",
    "bits", "err",      "error",      "errors",  "wer",        "cer",  "ter",      "per",   "eer",
    "mse",  "rmse",     "mae",        "mape",    "smape",      "fid",  "regret",   "kl",    "brier",
    "ece",  "distance", "divergence", "latency", "seconds",    "cost", "deviance", "edits", NULL
};
static const char *const higher_words[] = {
    "acc",        "accuracy", "bleu",   "chrf",      "rouge", "rouge1",  "rouge2",  "rougel",
    "meteor",     "comet",    "f1",     "auc",       "auroc", "auprc",   "roc",     "map",
    "ndcg",       "mrr",      "recall", "precision", "mcc",   "kappa",   "pearson", "spearman",
    "r2",         "iou",      "miou",   "dice",      "psnr",  "ssim",    "reward",  "return",
    "returns",    "score",    "em",     "top1",      "top5",  "success", "win",     "winrate",
    "throughput", "correct",  "elo",    NULL
};
/* Words that may reverse the direction of a metric, or make it one of spread: time to accuracy,
 * loss reduction, tokens per second, accuracy gap, score variance. */
static const char *const doubtful_words[] = {
    "time",   "to",         "until",    "per",      "improvement", "gain",    "reduction", "delta",
    "diff",   "difference", "negative", "neg",      "minus",       "inverse", "vs",        "change",
    "gap",    "drop",       "decrease", "increase", "degradation", "std",     "stdev",     "stddev",
    "sd",     "sem",        "var",      "variance", "spread",      "range",   "count",     "scale",
    "weight", "ratio",      "rank",     NULL
};

/* Words are separated by anything but letters and digits; "valLoss" has two. "1 - accuracy" begins
 * with a number. */
int oa_metric_direction(const char *name)
{
    bool lower = false, higher = false, doubtful = isdigit((unsigned char)*name);
    int words = 0;
    char word[32];
    size_t n = 0;
    for (const char *at = name;; at++) {
        bool starts = isupper((unsigned char)*at) && at > name && islower((unsigned char)at[-1]);
        if (!isalnum((unsigned char)*at) || starts) {
            word[n] = 0;
            lower |= n && oa_is_listed(word, lower_words);
            higher |= n && oa_is_listed(word, higher_words);
            doubtful |=
                n && (at < name + strlen(name) || words) && oa_is_listed(word, doubtful_words);
            words += n > 0;
            n = 0;
        }
        if (!*at)
            break;
        if (isalnum((unsigned char)*at) && n + 1 < sizeof word)
            word[n++] = (char)tolower((unsigned char)*at);
    }
    return lower == higher || doubtful ? 0 : lower ? -1 : 1;
}
