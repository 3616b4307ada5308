/* SPDX-License-Identifier: Apache-2.0
 * generate: a trained model goes on from a prompt, token by token. */
#include "api/api.h"
#include "decode/decode.h"

#include <math.h>
#include <string.h>

struct generation {
    struct oa_trained t;
    const struct oa_options *o; /* generate.* */
    struct oa_decoding decoding;
    struct oa_sampler *sampler;
    struct oa_ids ids; /* prompt and all that followed */
    float *logits;
    const struct oa_output *out;
    struct oa_text said; /* JSON: the text so far */
};

/* An empty prompt begins a line; the line end itself is not printed. Where the vocabulary has none, id 0 begins. */
static enum oa_error encode_prompt(struct generation *g)
{
    const char *prompt = g->o->generate_prompt;
    if (prompt[0])
        return oa_tokenizer_encode(g->t.tokenizer, prompt, strlen(prompt), &g->ids);
    if (oa_tokenizer_encode(g->t.tokenizer, "\n", 1, &g->ids) == OA_OK && g->ids.count)
        return OA_OK;
    oa_clear_error(g->t.context);
    return oa_ids_add(&g->ids, 0);
}

static enum oa_error prepare(struct generation *g, const char *folder)
{
    oa_context *c = g->t.context;
    OA_TRY(oa_trained_open(c, folder, &g->t));
    struct oa_sampling how = { .temperature = g->o->generate_temperature,
                               .top_k = g->o->generate_top_k,
                               .top_p = g->o->generate_top_p,
                               .seed = (uint64_t)g->o->generate_seed };
    OA_TRY(oa_sampler_open(c, &how, g->t.model->vocabulary, &g->sampler));
    OA_TRY(oa_decoding_open(g->t.model, &g->decoding));
    g->logits = oa_alloc(c, (size_t)g->t.model->vocabulary * sizeof *g->logits);
    return g->logits ? encode_prompt(g) : OA_NO_MEMORY;
}

static void say(struct generation *g, const char *text, size_t length)
{
    if (oa_wants_json(g->out))
        oa_text_add(&g->said, text, length);
    else if (length && oa_wants_text(g->out))
        g->out->sink(g->out->argument, text, length);
}

/* Rows of the embedding that no token stands for are never drawn. */
static void mask_unused(struct generation *g)
{
    for (long i = 0; i < g->t.model->vocabulary; i++)
        if (i >= oa_tokenizer_size(g->t.tokenizer) || !oa_tokenizer_piece(g->t.tokenizer, (int32_t)i))
            g->logits[i] = -INFINITY;
}

static enum oa_error next_token(struct generation *g, long index)
{
    int32_t token;
    size_t length;
    OA_TRY(oa_decoding_continue(&g->decoding, g->ids.id, (long)g->ids.count, g->logits));
    mask_unused(g);
    OA_TRY(oa_sample(g->sampler, g->logits, (uint64_t)index, &token));
    OA_TRY(oa_ids_add(&g->ids, token));
    const char *bytes = oa_tokenizer_bytes(g->t.tokenizer, token, &length);
    say(g, bytes, length);
    return OA_OK;
}

static enum oa_error finish(struct generation *g, const char *folder)
{
    if (!oa_wants_json(g->out)) {
        say(g, "\n", 1);
        return OA_OK;
    }
    struct oa_text t;
    oa_text_init(&t, g->t.context);
    json_t *root = json_pack("{s:s, s:I, s:I}", "run", folder, "seed", (json_int_t)g->o->generate_seed, "tokens",
                             (json_int_t)g->o->generate_tokens);
    json_object_set_new(root, "text", oa_json_bytes(g->t.context, g->said.s, g->said.length));
    oa_json_add(&t, root);
    return oa_emit(g->out, &t);
}

static enum oa_error generate(struct generation *g, const char *folder)
{
    OA_TRY(prepare(g, folder));
    say(g, g->o->generate_prompt, strlen(g->o->generate_prompt));
    for (long i = 0; i < g->o->generate_tokens; i++) {
        OA_TRY(next_token(g, i));
        if (i <= 1) /* after the prompt, and after a token alone */
            oa_device_settle(g->t.device);
        if (oa_stop_requested(g->t.context))
            return oa_fail(g->t.context, OA_INTERRUPTED, "stopped after %ld tokens", i + 1);
    }
    return finish(g, folder);
}

enum oa_error oa_generate(const oa_config *config, const char *folder, const struct oa_output *out)
{
    oa_context *c = config->context;
    struct generation g = { .t = { .context = c }, .o = &config->options, .out = out };
    OA_TRY(oa_status(c));
    oa_ids_init(&g.ids, c);
    oa_text_init(&g.said, c);
    enum oa_error e = generate(&g, folder);
    oa_text_free(&g.said);
    oa_ids_free(&g.ids);
    oa_free(g.logits);
    oa_sampler_close(g.sampler);
    oa_decoding_close(&g.decoding);
    oa_trained_close(&g.t);
    return e;
}
