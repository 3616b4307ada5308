/* SPDX-License-Identifier: Apache-2.0
 * Checks that a resumed run is the run that was begun: its options, except those that set how long
 * and how often, and by their digests its texts, its tokenizer and its initial model. */
#include "train/fingerprint.h"

#include <string.h>

/* ---- options ---- */

/* A run by the clock may get another time, as one by steps other steps. */
static bool is_time(const struct oa_option_row *row, const struct oa_options *before,
                    const struct oa_options *now)
{
    return strcmp(row->key, "train.seconds") == 0 && before->train_seconds > 0 &&
           now->train_seconds > 0;
}

static enum oa_error check_same_option(oa_context *c, const char *folder,
                                       const struct oa_option_row *row,
                                       const struct oa_options *before,
                                       const struct oa_options *now, const char *remedy)
{
    struct oa_option_pair value;
    oa_option_pair_open(c, before, now, row->key, &value);
    enum oa_error e = oa_status(c);
    if (e == OA_OK && value.differ)
        e = oa_fail(
            c, OA_ARGUMENT,
            "%s was begun with %s = %s, but it is %s now: a run is resumed with the options "
            "it began with; %s",
            folder, row->key, value.a, value.b, remedy);
    oa_option_pair_close(&value);
    return e;
}

/* With and without a model to start from: one of the two has no name, or no digest. */
static enum oa_error check_same_init(oa_context *c, const char *folder, const char *before,
                                     const char *now)
{
    if (!*before == !*now)
        return OA_OK;
    return oa_fail(
        c, OA_ARGUMENT,
        "%s was begun %s train.init, but now %s is given: %s, or train into a new folder", folder,
        *before ? "with" : "without", *before ? "none" : "one",
        *before ? "give it again" : "leave it out");
}

enum oa_error oa_same_options(oa_context *c, const char *folder, const struct oa_options *before,
                              const struct oa_options *now)
{
    const struct oa_option_row *row;
    struct oa_options was = *before;
    if (now->data_bleu_tokenize == OA_BLEU_TOKENIZE_AUTO) /* the data decide, which come later */
        was.data_bleu_tokenize = OA_BLEU_TOKENIZE_AUTO;
    else if (was.data_bleu_tokenize ==
             OA_BLEU_TOKENIZE_AUTO) /* a program that had no such option */
        was.data_bleu_tokenize = OA_BLEU_TOKENIZE_13A;
    for (int i = 0; (row = oa_option_at(i)); i++)
        if (!(row->role & OA_MAY_CHANGE) && !is_time(row, before, now))
            OA_TRY(check_same_option(c, folder, row, &was, now,
                                     "leave the option out, or train into a new folder"));
    return check_same_init(c, folder, before->train_init, now->train_init);
}

enum oa_error oa_equal_options(oa_context *c, const char *folder, const struct oa_options *before,
                               const struct oa_options *now)
{
    const struct oa_option_row *row;
    for (int i = 0; (row = oa_option_at(i)); i++)
        if ((row->role & OA_DECIDES_NUMBERS) &&
            ((row->role & OA_MAY_CHANGE) || is_time(row, before, now)))
            OA_TRY(
                check_same_option(c, folder, row, before, now,
                                  "its checkpoint is of another comparison; remove that folder to "
                                  "train the run again"));
    return oa_same_options(c, folder, before, now);
}

/* ---- texts and tokenizer ---- */

enum oa_error oa_origin_of(oa_context *c, const struct oa_workload *w, struct oa_origin *out)
{
    out->training_text = oa_workload_side(w, OA_TRAINING).digest;
    out->validation_text = oa_workload_side(w, OA_VALIDATION).digest;
    out->start = w->start;
    return oa_tokenizer_digest(c, w->tokenizer, &out->tokenizer);
}

static enum oa_error check_same_digest(oa_context *c, const char *folder, const char *what,
                                       const struct oa_digest *before, const struct oa_digest *now)
{
    if (strcmp(before->hex, now->hex) == 0)
        return OA_OK;
    return oa_fail(
        c, OA_ARGUMENT,
        "%s was begun with %s (SHA-256 %.12s… instead of %.12s…); nothing was changed: put "
        "the old one back, or train into a new folder",
        folder, what, before->hex, now->hex);
}

enum oa_error oa_same_origin(oa_context *c, const char *folder, const struct oa_origin *before,
                             const struct oa_origin *now)
{
    OA_TRY(check_same_digest(c, folder, "other training text", &before->training_text,
                             &now->training_text));
    OA_TRY(check_same_digest(c, folder, "other validation text", &before->validation_text,
                             &now->validation_text));
    OA_TRY(check_same_init(c, folder, before->start.hex, now->start.hex));
    OA_TRY(check_same_digest(c, folder, "another model to start from (train.init)", &before->start,
                             &now->start));
    if (before->teacher.hex[0] || now->teacher.hex[0])
        OA_TRY(check_same_digest(c, folder, "another teacher (distil.teacher)", &before->teacher,
                                 &now->teacher));
    return check_same_digest(c, folder, "another tokenizer", &before->tokenizer, &now->tokenizer);
}
