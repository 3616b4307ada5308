/* SPDX-License-Identifier: Apache-2.0
 * generation_config.json: how transformers writes with a model. What changes its outputs becomes
 * options decode.* of the run, or is reported as not followed. */
#include "families/generation.h"

#include "base/json_read.h"

#include <math.h>
#include <string.h>

struct generation_config {
    oa_context *c;
    const char *path;
    const json_t *root;
    const struct oa_tokenizer *tokenizer;
    struct oa_options *options;
    bool writes; /* an encoder-decoder, which `translate` decodes; otherwise `generate` does */
    long end;
    struct oa_text unfollowed; /* "top_k, typical_p" */
};

/* ---- values ---- */

static const json_t *generation_value(const struct generation_config *g, const char *key)
{
    const json_t *value = json_object_get(g->root, key);
    return json_is_null(value) ? NULL : value;
}

static void not_followed(struct generation_config *g, const char *key)
{
    oa_text_printf(&g->unfollowed, "%s%s", g->unfollowed.length ? ", " : "", key);
}

/* A number between these, as the option; reported where it is another one. */
static void take_generation_number(struct generation_config *g, const char *key, const char *option,
                                   double low, double high)
{
    const json_t *value = generation_value(g, key);
    double x = json_number_value(value);
    if (value && json_is_number(value) && x >= low && x <= high)
        oa_options_set(g->c, g->options, option, oa_real_text(x).s);
    else if (value)
        not_followed(g, key);
}

/* An id with a token, or a list of one; -1: none, or another value, which is reported. */
static long take_id(struct generation_config *g, const char *key)
{
    const json_t *value = generation_value(g, key);
    if (json_array_size(value) == 1)
        value = json_array_get(value, 0);
    json_int_t id = json_integer_value(value);
    if (!value)
        return -1;
    if (json_is_integer(value) && id >= 0 && id <= INT32_MAX &&
        oa_tokenizer_piece(g->tokenizer, (int32_t)id))
        return (long)id;
    not_followed(g, key);
    return -1;
}

/* ---- what encoder-decoders do ---- */

static void take_forced_tokens(struct generation_config *g)
{
    long first = take_id(g, "forced_bos_token_id"), last = take_id(g, "forced_eos_token_id");
    if (first >= 0)
        oa_options_set(g->c, g->options, "decode.first_token",
                       oa_tokenizer_piece(g->tokenizer, (int32_t)first));
    if (last == g->end)
        oa_options_set(g->c, g->options, "decode.force_end", "true");
    else if (last >= 0)
        not_followed(g, "forced_eos_token_id");
}

/* The token that begins a target counts in max_length. */
static void take_length(struct generation_config *g)
{
    const char *key = generation_value(g, "max_new_tokens") ? "max_new_tokens" : "max_length";
    const json_t *value = generation_value(g, key);
    json_int_t most = json_integer_value(value) - (strcmp(key, "max_length") == 0);
    char text[32];
    if (value && (!json_is_integer(value) || most < 1 || most > 1000000000)) {
        not_followed(g, key);
    } else if (value) {
        snprintf(text, sizeof text, "%lld", (long long)most);
        oa_options_set(g->c, g->options, "decode.max_tokens", text);
    }
}

/* Without it, or false: a rule that is none of ours. */
static void take_stopping(struct generation_config *g)
{
    const json_t *value = generation_value(g, "early_stopping");
    const char *word = json_string_value(value);
    bool never = word && strcmp(word, "never") == 0;
    if (never || json_is_true(value))
        oa_options_set(g->c, g->options, "decode.optimal_stopping", never ? "true" : "false");
    else if (json_number_value(generation_value(g, "num_beams")) > 1)
        not_followed(g, value ? "early_stopping false" : "early_stopping (false by default)");
}

/* Adds the ids of a list; of bad_words_ids each is a list, of one. */
static void take_suppressed(struct generation_config *g, const char *key, struct oa_text *ids)
{
    const json_t *list = generation_value(g, key);
    bool followed = !list || json_is_array(list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *id = json_array_get(list, i);
        if (json_array_size(id) == 1)
            id = json_array_get(id, 0);
        json_int_t number = json_integer_value(id);
        if (!json_is_integer(id) || number < 0 || number > INT32_MAX)
            followed = false;
        else if (number != g->end)
            oa_text_printf(ids, "%s%lld", ids->length ? "," : "", (long long)number);
    }
    if (!followed)
        not_followed(g, key);
}

static void take_masks(struct generation_config *g)
{
    struct oa_text ids;
    oa_text_init(&ids, g->c);
    take_suppressed(g, "suppress_tokens", &ids);
    take_suppressed(g, "bad_words_ids", &ids);
    if (ids.length >= OA_OPTION_TEXT)
        not_followed(g, "suppress_tokens or bad_words_ids: too many");
    else if (ids.length)
        oa_options_set(g->c, g->options, "decode.suppress", ids.s);
    oa_text_free(&ids);
    if (json_is_true(generation_value(g, "renormalize_logits")))
        oa_options_set(g->c, g->options, "decode.renormalise", "true");
}

static void take_beam_search(struct generation_config *g)
{
    take_generation_number(g, "num_beams", "decode.beam", 1, 256);
    take_generation_number(g, "length_penalty", "decode.length_penalty", 0, 10);
    take_stopping(g);
    take_length(g);
    take_forced_tokens(g);
    take_masks(g);
    if (json_is_true(generation_value(g, "do_sample")))
        not_followed(g, "do_sample");
}

/* ---- what is not followed ---- */

/* Keys that change outputs unless they have the value of `neutral`, null or false. */
static const struct {
    const char *key;
    double neutral;
    bool decoders; /* only of models that `generate` runs: the others have an option */
} other_keys[] = {
    { "forced_bos_token_id", NAN, true },
    { "forced_eos_token_id", NAN, true },
    { "suppress_tokens", NAN, true },
    { "bad_words_ids", NAN, true },
    { "begin_suppress_tokens", NAN, false },
    { "min_length", 0, false },
    { "min_new_tokens", 0, false },
    { "no_repeat_ngram_size", 0, false },
    { "encoder_no_repeat_ngram_size", 0, false },
    { "repetition_penalty", 1, false },
    { "encoder_repetition_penalty", 1, false },
    { "num_beams", 1, true },
    { "num_beam_groups", 1, false },
    { "diversity_penalty", 0, false },
    { "penalty_alpha", 0, false },
    { "exponential_decay_length_penalty", NAN, false },
    { "sequence_bias", NAN, false },
    { "constraints", NAN, false },
    { "force_words_ids", NAN, false },
    { "guidance_scale", 1, false },
    { "dola_layers", NAN, false },
    { "watermarking_config", NAN, false },
    { "stop_strings", NAN, false },
    { "token_healing", NAN, false },
    { "max_time", NAN, false },
    { "do_sample", NAN, true },
    { "temperature", 1, true },
    { "top_k", 0, true },
    { "top_p", 1, true },
    { "min_p", 0, true },
    { "typical_p", 1, true },
    { "epsilon_cutoff", 0, true },
    { "eta_cutoff", 0, true },
};

static bool is_neutral(const json_t *value, double neutral)
{
    return !value || json_is_false(value) || (json_is_array(value) && !json_array_size(value)) ||
           (json_is_number(value) && json_number_value(value) == neutral);
}

static void list_other_keys(struct generation_config *g)
{
    for (size_t i = 0; i < sizeof other_keys / sizeof *other_keys; i++) {
        const json_t *value = generation_value(g, other_keys[i].key);
        if (!(other_keys[i].decoders && g->writes) && !is_neutral(value, other_keys[i].neutral))
            not_followed(g, other_keys[i].key);
    }
}

/* `generate` goes on past the token at which transformers ends. */
static void note_end(const struct generation_config *g)
{
    const json_t *value = generation_value(g, "eos_token_id");
    struct oa_text stops;
    oa_text_init(&stops, g->c);
    for (size_t i = 0; i < (json_is_array(value) ? json_array_size(value) : 1); i++) {
        const json_t *one = json_is_array(value) ? json_array_get(value, i) : value;
        const char *piece = json_is_integer(one) && json_integer_value(one) >= 0 &&
                                    json_integer_value(one) <= INT32_MAX
                                ? oa_tokenizer_piece(g->tokenizer, (int32_t)json_integer_value(one))
                                : NULL;
        if (piece)
            oa_text_printf(&stops, " --stop \"%.60s\"", piece);
    }
    if (stops.length)
        oa_log(g->c, 0,
               "%s: \"eos_token_id\": 'orthant generate' writes on after it; end there with%s",
               g->path, stops.s);
    oa_text_free(&stops);
}

/* ---- the file ---- */

static enum oa_error follow_generation(struct generation_config *g, bool ids)
{
    oa_text_init(&g->unfollowed, g->c);
    if (g->writes)
        take_beam_search(g);
    list_other_keys(g);
    if (g->unfollowed.length)
        oa_log(g->c, 0,
               "%s: not followed: %s; 'orthant %s' has its own options, and other outputs than "
               "generate() of transformers with these",
               g->path, g->unfollowed.s, g->writes ? "translate" : "generate");
    if (!g->writes && !ids)
        note_end(g);
    oa_text_free(&g->unfollowed);
    return oa_status(g->c);
}

enum oa_error oa_generation_read(oa_context *c, const char *folder,
                                 const struct oa_tokenizer *tokenizer, struct oa_imported *i)
{
    char path[OA_PATH];
    json_t *root = NULL;
    if (!i->form.decoder)
        return OA_OK;
    OA_TRY(oa_path(c, path, folder, "generation_config.json"));
    if (!oa_file_exists(path))
        OA_TRY(oa_path(c, path, folder, "config.json"));
    OA_TRY(oa_json_read(c, path, "fetch the file again", &root));
    struct generation_config g = { .c = c,
                                   .path = path,
                                   .root = root,
                                   .tokenizer = tokenizer,
                                   .options = &i->options,
                                   .writes = i->form.encoder,
                                   .end = i->end };
    enum oa_error e =
        json_is_object(root)
            ? follow_generation(&g, !i->tokenizer)
            : oa_fail(c, OA_FORMAT, "%s is no JSON object: fetch the file again", path);
    json_decref(root);
    return e;
}
