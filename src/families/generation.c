/* SPDX-License-Identifier: Apache-2.0
 * generation_config.json: how transformers writes with a model. What changes its outputs becomes
 * options decode.* of the run, or is reported as not followed; these options become the file of a
 * model that is exported. */
#include "families/generation.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "families/stop_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct generation_config {
    oa_context *c;
    const char *path;
    const json_t *root;
    const struct oa_tokenizer *tokenizer;
    struct oa_options *options;
    bool writes; /* an encoder-decoder, which `translate` decodes; otherwise `generate` does */
    bool own;    /* the file is generation_config.json, in which a missing id is none */
    long begin, end, vocabulary;
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

/* ---- options of encoder-decoders ---- */

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

/* As in transformers, the end may be in suppress_tokens, and an id without a logit has no effect.
 */
static void take_suppressed(struct generation_config *g, struct oa_text *ids)
{
    const json_t *list = generation_value(g, "suppress_tokens");
    bool followed = !list || json_is_array(list), outside = false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_int_t id = json_integer_value(json_array_get(list, i));
        if (!json_is_integer(json_array_get(list, i)))
            followed = false;
        else if (id < 0 || id >= g->vocabulary)
            outside = true;
        else
            oa_text_printf(ids, "%s%lld", ids->length ? "," : "", (long long)id);
    }
    if (!followed)
        not_followed(g, "suppress_tokens");
    if (outside)
        oa_log(g->c, 0,
               "%s: \"suppress_tokens\": ids outside the vocabulary of %ld are ignored, as by "
               "transformers",
               g->path, g->vocabulary);
}

/* Adds the ids of lists of one; transformers ignores an end among them. */
static void take_bad_words(struct generation_config *g, struct oa_text *ids)
{
    const json_t *lists = generation_value(g, "bad_words_ids");
    bool single = false, other = lists && !json_is_array(lists);
    for (size_t i = 0; i < json_array_size(lists); i++) {
        const json_t *one = json_array_get(lists, i),
                     *id = json_array_size(one) == 1 ? json_array_get(one, 0) : NULL;
        json_int_t number = json_integer_value(id);
        bool known = json_is_integer(id) && number >= 0 && number < g->vocabulary;
        single = single || known;
        other = other || !known;
        if (known && number != g->end)
            oa_text_printf(ids, "%s%lld", ids->length ? "," : "", (long long)number);
    }
    if (other)
        not_followed(g, single ? "bad_words_ids (but those of one token are)" : "bad_words_ids");
}

static void take_masks(struct generation_config *g)
{
    struct oa_text ids;
    oa_text_init(&ids, g->c);
    take_suppressed(g, &ids);
    take_bad_words(g, &ids);
    if (ids.length >= OA_OPTION_TEXT)
        not_followed(g, "suppress_tokens or bad_words_ids: too many");
    else if (ids.length)
        oa_options_set(g->c, g->options, "decode.suppress", ids.s);
    oa_text_free(&ids);
    if (json_is_true(generation_value(g, "renormalize_logits")))
        oa_options_set(g->c, g->options, "decode.renormalise", "true");
}

static bool is_id(const json_t *value, long id)
{
    if (json_array_size(value) == 1)
        value = json_array_get(value, 0);
    return json_is_integer(value) && json_integer_value(value) == id;
}

/* A run begins and ends a target with the tokens of config.json. */
static void check_target_tokens(struct generation_config *g)
{
    const json_t *begin = generation_value(g, "decoder_start_token_id"),
                 *end = generation_value(g, "eos_token_id");
    if (begin && !is_id(begin, g->begin))
        not_followed(g, "decoder_start_token_id");
    if (end && !is_id(end, g->end))
        not_followed(g, "eos_token_id");
    if (!end && g->own)
        not_followed(g, "eos_token_id (none)");
}

/* Reports defaults of transformers that differ from those of decode.*. */
static void note_defaults(const struct generation_config *g)
{
    bool beams = generation_value(g, "num_beams"),
         length = generation_value(g, "max_new_tokens") || generation_value(g, "max_length");
    if (beams && length)
        return;
    oa_log(g->c, 0,
           "%s has no %s: generate() of transformers then writes %s%s%s; for that give 'orthant "
           "translate'%s%s",
           g->path,
           beams    ? "\"max_length\""
           : length ? "\"num_beams\""
                    : "\"num_beams\" and \"max_length\"",
           beams ? "" : "greedily", beams || length ? "" : ", ",
           length ? "" : "at most 20 new tokens", beams ? "" : " --decode.beam 1",
           length ? "" : " --decode.max_tokens 20");
}

static void take_beam_search(struct generation_config *g)
{
    const json_t *width = generation_value(g, "num_beams"),
                 *stopping = generation_value(g, "early_stopping");
    const char *word = json_string_value(stopping);
    bool never = word && strcmp(word, "never") == 0;
    if (!width || json_is_integer(width))
        take_generation_number(g, "num_beams", "decode.beam", 1, 256);
    else
        not_followed(g, "num_beams");
    take_generation_number(g, "length_penalty", "decode.length_penalty", 0, 10);
    if (never || json_is_true(stopping) || json_integer_value(stopping))
        oa_options_set(g->c, g->options, "decode.optimal_stopping", never ? "true" : "false");
    else if (json_number_value(width) > 1) /* "early_stopping": false is a rule of its own */
        not_followed(g, stopping ? "early_stopping false" : "early_stopping (false by default)");
    take_length(g);
    take_forced_tokens(g);
    take_masks(g);
    check_target_tokens(g);
    note_defaults(g);
    if (json_is_true(generation_value(g, "do_sample")))
        not_followed(g, "do_sample");
}

/* ---- keys that are not followed ---- */

/* Keys that change outputs unless their value is `neutral`, null, false or an empty list. */
static const struct {
    const char *key;
    double neutral;
    bool decoders;    /* only of models that `generate` runs: the others have an option */
    const char *with; /* no effect unless this key is true, or above 1; NULL: always an effect */
} other_keys[] = {
    { "forced_bos_token_id", NAN, true, NULL },
    { "forced_eos_token_id", NAN, true, NULL },
    { "suppress_tokens", NAN, true, NULL },
    { "bad_words_ids", NAN, true, NULL },
    { "begin_suppress_tokens", NAN, false, NULL },
    { "min_length", 0, false, NULL },
    { "min_new_tokens", 0, false, NULL },
    { "no_repeat_ngram_size", 0, false, NULL },
    { "encoder_no_repeat_ngram_size", 0, false, NULL },
    { "repetition_penalty", 1, false, NULL },
    { "encoder_repetition_penalty", 1, false, NULL },
    { "num_beams", 1, true, NULL },
    { "num_return_sequences", 1, false, NULL },
    { "length_penalty", 1, true, "num_beams" },
    { "max_length", NAN, true, NULL },
    { "max_new_tokens", NAN, true, NULL },
    { "forced_decoder_ids", NAN, false, NULL },
    { "num_beam_groups", 1, false, NULL },
    { "diversity_penalty", 0, false, NULL },
    { "penalty_alpha", 0, false, NULL },
    { "exponential_decay_length_penalty", NAN, false, NULL },
    { "sequence_bias", NAN, false, NULL },
    { "constraints", NAN, false, NULL },
    { "force_words_ids", NAN, false, NULL },
    { "guidance_scale", 1, false, NULL },
    { "dola_layers", NAN, false, NULL },
    { "watermarking_config", NAN, false, NULL },
    { "stop_strings", NAN, false, NULL },
    { "token_healing", NAN, false, NULL },
    { "max_time", NAN, false, NULL },
    { "do_sample", NAN, true, NULL },
    { "temperature", 1, true, "do_sample" },
    { "top_k", 0, true, "do_sample" },
    { "top_p", 1, true, "do_sample" },
    { "min_p", 0, true, "do_sample" },
    { "typical_p", 1, true, "do_sample" },
    { "epsilon_cutoff", 0, true, "do_sample" },
    { "eta_cutoff", 0, true, "do_sample" },
};

/* `generate` goes on past the token at which transformers ends. */
static void note_end(struct generation_config *g)
{
    const json_t *value = generation_value(g, "eos_token_id");
    struct oa_text stops, unknown;
    oa_text_init(&stops, g->c);
    oa_text_init(&unknown, g->c);
    for (size_t i = 0; i < (json_is_array(value) ? json_array_size(value) : 1); i++) {
        const json_t *one = json_is_array(value) ? json_array_get(value, i) : value;
        json_int_t id = json_is_integer(one) ? json_integer_value(one) : -1;
        bool known = id >= 0 && id <= INT32_MAX && oa_tokenizer_piece(g->tokenizer, (int32_t)id);
        if (known) {
            oa_text_printf(&stops, " --stop ");
            oa_stop_text_quoted(g->c, g->tokenizer, (int32_t)id, &stops);
        } else if (one) {
            oa_text_printf(&unknown, "%s%lld", unknown.length ? ", " : "", (long long)id);
        }
    }
    if (stops.length)
        oa_log(g->c, 0,
               "%s: \"eos_token_id\": 'orthant generate' writes on after it; end there with%s",
               g->path, stops.s);
    if (unknown.length)
        oa_log(g->c, 0, "%s: \"eos_token_id\": the tokenizer has no token %s", g->path, unknown.s);
    oa_text_free(&stops);
    oa_text_free(&unknown);
}

/* ---- the file ---- */

static enum oa_error follow_generation(struct generation_config *g, bool ids)
{
    oa_text_init(&g->unfollowed, g->c);
    if (g->writes)
        take_beam_search(g);
    for (size_t i = 0; i < sizeof other_keys / sizeof *other_keys; i++) {
        const char *with = other_keys[i].with;
        const json_t *value = generation_value(g, other_keys[i].key),
                     *other = with ? generation_value(g, with) : NULL;
        bool effect = !with || json_is_true(other) || json_number_value(other) > 1,
             neutral = !value || json_is_false(value) ||
                       (json_is_array(value) && !json_array_size(value)) ||
                       (json_is_number(value) && json_number_value(value) == other_keys[i].neutral);
        if (!(other_keys[i].decoders && g->writes) && effect && !neutral)
            not_followed(g, other_keys[i].key);
    }
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
    bool own = oa_file_exists(path);
    if (!own)
        OA_TRY(oa_path(c, path, folder, "config.json"));
    OA_TRY(oa_json_read(c, path, "fetch the file again", &root));
    struct generation_config g = { .c = c,
                                   .path = path,
                                   .root = root,
                                   .tokenizer = tokenizer,
                                   .options = &i->options,
                                   .writes = i->form.encoder,
                                   .own = own,
                                   .begin = i->begin,
                                   .end = i->end,
                                   .vocabulary = i->options.model_vocabulary };
    enum oa_error e =
        json_is_object(root)
            ? follow_generation(&g, !i->tokenizer)
            : oa_fail(c, OA_FORMAT, "%s is no JSON object: fetch the file again", path);
    json_decref(root);
    return e;
}

/* ---- exporting ---- */

json_t *oa_generation_json(oa_context *c, const struct oa_exported *x,
                           const struct oa_tokenizer *tokenizer)
{
    const struct oa_options *o = x->options;
    long most = o->decode_max_tokens ? o->decode_max_tokens : o->model_context;
    json_t *root =
        json_pack("{s:I, s:I, s:I, s:I, s:I}", "decoder_start_token_id", (json_int_t)x->begin,
                  "pad_token_id", (json_int_t)x->begin, "eos_token_id", (json_int_t)x->end,
                  "max_length", (json_int_t)most + 1, "num_beams", (json_int_t)o->decode_beam);
    if (o->decode_beam > 1) {
        oa_json_set(c, root, "length_penalty", json_real(o->decode_length_penalty));
        oa_json_set(c, root, "early_stopping",
                    o->decode_optimal_stopping ? json_string("never") : json_true());
    }
    if (o->decode_force_end)
        oa_json_set(c, root, "forced_eos_token_id", json_integer(x->end));
    if (o->decode_first_token[0])
        oa_json_set(c, root, "forced_bos_token_id",
                    json_integer(oa_tokenizer_find(tokenizer, o->decode_first_token)));
    if (o->decode_renormalise)
        oa_json_set(c, root, "renormalize_logits", json_true());
    json_t *ids = json_array();
    char *end;
    for (const char *at = o->decode_suppress; *at; at = end + (*end == ',')) {
        oa_json_append(c, ids, json_integer(strtol(at, &end, 10)));
        if (end == at)
            break;
    }
    if (json_array_size(ids))
        oa_json_set(c, root, "suppress_tokens", json_incref(ids));
    json_decref(ids);
    return root;
}
