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

static bool is_metric_word(const char *const *words, const char *word)
{
    while (*words && strcmp(word, *words) != 0)
        words++;
    return *words != NULL;
}

/* Words are parted by anything but letters and digits; "valLoss" has two. */
int oa_metric_direction(const char *name)
{
    bool lower = false, higher = false;
    char word[32];
    size_t n = 0;
    for (const char *at = name;; at++) {
        bool starts = isupper((unsigned char)*at) && at > name && islower((unsigned char)at[-1]);
        if (!isalnum((unsigned char)*at) || starts) {
            word[n] = 0;
            lower |= n && is_metric_word(lower_words, word);
            higher |= n && is_metric_word(higher_words, word);
            n = 0;
        }
        if (!*at)
            break;
        if (isalnum((unsigned char)*at) && n + 1 < sizeof word)
            word[n++] = (char)tolower((unsigned char)*at);
    }
    return lower == higher ? 0 : lower ? -1 : 1;
}
