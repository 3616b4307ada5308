/* SPDX-License-Identifier: Apache-2.0
 * generate: a trained model continues prompts, token by token. */
#include "api/input_lines.h"
#include "data/turns.h"
#include "decode/characters.h"
#include "decode/decode.h"
#include "decode/writable.h"
#include "tasks/tasks.h"

#include <string.h>

struct generation {
    struct oa_trained t;
    const struct oa_options *o; /* generate.* */
    const struct oa_generate_request *r;
    const struct oa_output *out;
    struct oa_decoding decoding;
    struct oa_sampler *sampler;
    struct oa_writable *writable;
    uint8_t state; /* of the text so far, prompt included (decode/characters.h) */
    float *logits;
    const char *prompt;
    size_t length;
    struct oa_ids ids;         /* the prompt's, then what followed */
    size_t read;               /* of the prompt */
    int32_t end;               /* the token that ends answers of the task; −1: none */
    bool ended;                /* the model has written it */
    struct oa_text held;       /* written by the model and not yet printed */
    struct oa_characters sink; /* bytes of an incomplete character */
    struct oa_text printed;    /* JSON: the text of this continuation */
    json_t *samples;           /* JSON: of this prompt */
    uint64_t made;             /* continuations so far */
    long written;              /* tokens of all of them */
    bool stopped;              /* by a signal, before all were made */
    uint64_t prompts;          /* read so far */
};

/* ---- opening ---- */

static enum oa_error check_generator_run(const struct generation *g, const char *folder)
{
    const struct oa_task *task = oa_task_find(g->t.options.data_task);
    bool aligned = task && task->answer == OA_ANSWER_TOKENS && task->layout &&
                   oa_task_answer_end(task, g->t.tokenizer) < 0;
    if (aligned)
        return oa_fail(g->t.context, OA_ARGUMENT,
                       "%s was trained on tokens and targets, which have no prompts; use 'orthant "
                       "eval'",
                       folder);
    if (oa_is_language_model(&g->t.model->form))
        return OA_OK;
    return oa_fail(g->t.context, OA_ARGUMENT,
                   "%s was trained for the task \"%s\"; generate needs a run of lm%s", folder,
                   g->t.options.data_task,
                   task && oa_task_writes(task) ? "; use 'orthant translate'" : "");
}

static enum oa_error prepare_generation(struct generation *g, const char *folder)
{
    oa_context *c = g->t.context;
    for (int i = 0; i < g->r->stops; i++)
        if (!g->r->stop[i][0])
            return oa_fail(c, OA_ARGUMENT, "a stop text is empty");
    if (g->o->generate_temperature == 0 && g->o->generate_samples > 1)
        oa_log(c, 0, "generate.temperature is 0: all %ld samples will be the same text",
               g->o->generate_samples);
    OA_TRY(oa_trained_open_as(c, folder, g->r->precision, &g->t));
    OA_TRY(check_generator_run(g, folder));
    struct oa_sampling how = { .temperature = g->o->generate_temperature,
                               .top_k = g->o->generate_top_k,
                               .top_p = g->o->generate_top_p,
                               .seed = (uint64_t)g->o->generate_seed };
    g->end = oa_task_answer_end(oa_task_find(g->t.options.data_task), g->t.tokenizer);
    const struct oa_writing_rules rules = {
        .end = g->end, .spelt = g->end < 0, .specials = g->t.specials.name ? &g->t.specials : NULL
    };
    OA_TRY(oa_sampler_open(c, &how, g->t.model->vocabulary, &g->sampler));
    OA_TRY(oa_writable_open(c, g->t.tokenizer, g->t.model->vocabulary, &rules, &g->writable));
    OA_TRY(oa_decoding_open(g->t.model, &g->decoding));
    g->logits = oa_alloc(c, (size_t)g->t.model->vocabulary * sizeof *g->logits);
    return g->logits ? OA_OK : OA_NO_MEMORY;
}

/* ---- a continuation ---- */

/* Prints bytes as text, or adds them to that of the JSON; `last`: completes the text. */
static void print_text(struct generation *g, const char *bytes, size_t length, bool last)
{
    struct oa_text text;
    oa_text_init(&text, g->t.context);
    oa_characters_add(&g->sink, bytes, length, &text);
    if (last)
        oa_characters_end(&g->sink, &text);
    if (oa_wants_json(g->out))
        oa_text_add(&g->printed, text.s, text.length);
    else if (text.length && oa_wants_text(g->out))
        g->out->sink(g->out->argument, text.s, text.length);
    oa_text_free(&text);
}

static enum oa_error next_token(struct generation *g, long index)
{
    int32_t token;
    size_t length;
    OA_TRY(oa_decoding_continue(&g->decoding, g->ids.id, (long)g->ids.count, g->logits));
    oa_writable_mask(g->writable, g->state, g->logits);
    OA_TRY(oa_sample(g->sampler, g->logits, (uint64_t)index, &token));
    OA_TRY(oa_ids_add(&g->ids, token));
    g->ended = token == g->end;
    if (g->ended)
        return OA_OK;
    g->state = oa_writable_after(g->writable, g->state, token);
    const char *bytes = oa_tokenizer_bytes(g->t.tokenizer, token, &length);
    oa_text_add(&g->held, bytes, length);
    return oa_status(g->t.context);
}

/* Called before further work only, so that a complete answer does not count as interrupted. */
static bool is_stopped(struct generation *g)
{
    g->stopped = g->stopped || oa_stop_requested(g->t.context);
    return g->stopped;
}

/* Until the end, a stop text, the limit or a signal. *found: the stop text, or -1. Text that may
 * begin a stop text waits in `held`. */
static enum oa_error write_tokens(struct generation *g, int *found)
{
    *found = -1;
    for (long i = 0; i < g->o->generate_tokens && *found < 0 && !g->ended && !is_stopped(g); i++) {
        OA_TRY(next_token(g, i));
        g->written++;
        if (i <= 1) /* after the prompt, and after a token alone */
            oa_device_settle(g->t.device);
        size_t settled = oa_before_stop(g->held.s, g->held.length, g->r->stop, g->r->stops, found);
        print_text(g, g->held.s, settled, *found >= 0);
        memmove(g->held.s, g->held.s + settled, g->held.length - settled);
        oa_text_cut(&g->held, g->held.length - settled);
    }
    if (*found < 0)
        print_text(g, g->held.s, g->held.length, true);
    return OA_OK;
}

static void begin_generation(struct generation *g)
{
    bool valid;
    g->state = OA_CHARACTER_WHOLE;
    g->ended = false;
    for (size_t i = 0; g->end < 0 && i < g->length; i++)
        g->state = oa_character_after(g->state, (uint8_t)g->prompt[i], &valid);
    g->sink = (struct oa_characters){ 0 };
    oa_sampler_seed(g->sampler, (uint64_t)g->o->generate_seed + g->made);
    oa_decoding_reset(&g->decoding);
    g->ids.count = g->read;
    oa_text_cut(&g->held, 0);
    oa_text_cut(&g->printed, 0);
}

static enum oa_error one_sample(struct generation *g, long sample)
{
    int found;
    begin_generation(g);
    if (!oa_wants_json(g->out)) {
        char line[128];
        int n = snprintf(line, sizeof line, "%s==> sample %ld of %ld, seed %llu <==\n",
                         sample ? "\n" : "", sample + 1, g->o->generate_samples,
                         (unsigned long long)g->o->generate_seed + g->made);
        if (g->o->generate_samples > 1)
            print_text(g, line, (size_t)n, true);
        print_text(g, g->prompt, g->end < 0 ? g->length : 0,
                   false); /* an answer is no continuation */
        if (g->end < 0 && oa_ids_are_joined(g->t.tokenizer, g->prompt, g->length))
            print_text(g, " ", 1, false);
    }
    OA_TRY(write_tokens(g, &found));
    if (oa_wants_json(g->out)) {
        const char *stop = found < 0 ? NULL : g->r->stop[found];
        json_t *o = json_pack("{s:I, s:I, s:o}", "seed",
                              (json_int_t)((uint64_t)g->o->generate_seed + g->made), "tokens",
                              (json_int_t)(g->ids.count - g->read), "stop",
                              oa_json_name(g->t.context, stop));
        oa_json_set(g->t.context, o, "text",
                    oa_json_bytes(g->t.context, g->printed.s, g->printed.length));
        oa_json_set(g->t.context, o, "interrupted", json_boolean(found < 0 && g->stopped));
        oa_json_append(g->t.context, g->samples, o);
    } else
        print_text(g, "\n", 1, true);
    g->made++;
    return OA_OK;
}

/* ---- a prompt ---- */

/* An empty prompt begins a line; the line end itself is not printed. Where the vocabulary has none,
 * id 0 begins. */
static enum oa_error encode_prompt(struct generation *g)
{
    g->ids.count = 0;
    if (g->end >= 0)
        return oa_turns_encode_prompt(g->t.tokenizer, g->prompt, g->length, &g->ids);
    if (g->length)
        return oa_tokenizer_encode(g->t.tokenizer, g->prompt, g->length, &g->ids);
    enum oa_error e = oa_tokenizer_encode(g->t.tokenizer, "\n", 1, &g->ids);
    if (e == OA_NO_MEMORY || (e == OA_OK && g->ids.count))
        return e;
    oa_clear_error(g->t.context);
    return oa_ids_add(&g->ids, 0);
}

static enum oa_error emit_json(struct generation *g, const char *folder)
{
    struct oa_text t;
    oa_text_init(&t, g->t.context);
    json_t *root = json_pack("{s:o}", "run", oa_json_name(g->t.context, folder));
    oa_trained_json(&g->t, root);
    oa_json_set(g->t.context, root, "prompt", oa_json_bytes(g->t.context, g->prompt, g->length));
    oa_json_set(g->t.context, root, "samples", json_incref(g->samples));
    oa_json_set(g->t.context, root, "interrupted", json_boolean(g->stopped));
    if (g->r->next)
        oa_json_line(&t, root);
    else
        oa_json_add(&t, root);
    return oa_emit(g->out, &t);
}

static enum oa_error take_prompt(struct generation *g, const char *prompt, size_t length)
{
    const struct oa_options *o = g->o;
    g->prompt = prompt;
    g->length = length;
    json_array_clear(g->samples);
    if ((uint64_t)o->generate_seed + g->made + (uint64_t)o->generate_samples - 1 > OA_LAST_SEED)
        return oa_fail(
            g->t.context, OA_ARGUMENT,
            "generate.seed = %ld and %ld samples: the last seed would be above %ld; give "
            "a smaller one",
            o->generate_seed, (long)g->made + o->generate_samples, OA_LAST_SEED);
    OA_TRY(encode_prompt(g));
    g->read = g->ids.count;
    return OA_OK;
}

static enum oa_error go_on(struct generation *g, const char *folder)
{
    for (long i = 0; i < g->o->generate_samples && !is_stopped(g); i++)
        OA_TRY(one_sample(g, i));
    return oa_wants_json(g->out) ? emit_json(g, folder) : OA_OK;
}

/* A prompt that cannot be read is reported, and the next ones are answered. */
static enum oa_error go_on_from_next(struct generation *g, const char *folder, const char *prompt,
                                     size_t length)
{
    const char *why;
    oa_context *c = g->t.context;
    enum oa_error e = take_prompt(g, prompt, length);
    g->prompts++;
    if (e == OA_OK)
        return go_on(g, folder);
    if (e != OA_FORMAT)
        return e;
    oa_last_error(c, &why);
    oa_log(c, 0, "prompt %llu: %s; %s", (unsigned long long)g->prompts, why,
           oa_wants_json(g->out) ? "it has no samples" : "printing an empty line");
    oa_clear_error(c);
    if (oa_wants_json(g->out))
        return emit_json(g, folder);
    print_text(g, "\n", 1, true);
    return OA_OK;
}

static enum oa_error go_on_from_all(struct generation *g, const char *folder)
{
    const char *prompt;
    size_t length;
    int there = 1;
    while (!g->stopped && (there = g->r->next(g->r->argument, &prompt, &length)) > 0) {
        oa_input_line_trim(g->prompts == 0, &prompt, &length);
        OA_TRY(go_on_from_next(g, folder, prompt, length));
    }
    if (!g->stopped && oa_stop_requested(g->t.context))
        return oa_fail(g->t.context, OA_INTERRUPTED, "stopped while waiting for a prompt");
    return there < 0 ? oa_input_failed(g->t.context, g->prompts + 1) : OA_OK;
}

static enum oa_error generate(struct generation *g, const char *folder)
{
    const char *prompt = g->r->prompt ? g->r->prompt : g->o->generate_prompt;
    size_t length = g->r->prompt ? g->r->length : strlen(prompt);
    OA_TRY(prepare_generation(g, folder));
    if (g->r->next) {
        OA_TRY(go_on_from_all(g, folder));
    } else {
        OA_TRY(take_prompt(g, prompt, length));
        OA_TRY(go_on(g, folder));
    }
    if (g->stopped)
        return oa_fail(g->t.context, OA_INTERRUPTED, "stopped after %ld token%s", g->written,
                       g->written == 1 ? "" : "s");
    return OA_OK;
}

enum oa_error oa_generate(const oa_config *config, const char *folder,
                          const struct oa_generate_request *request, const struct oa_output *out)
{
    static const struct oa_generate_request nothing = { 0 };
    oa_context *c = config->context;
    struct generation g = {
        .t = { .context = c }, .o = &config->options, .r = request ? request : &nothing, .out = out
    };
    OA_TRY(oa_status(c));
    OA_TRY(oa_check_reserved(c, "oa_generate_request", g.r->reserved, 3));
    oa_ids_init(&g.ids, c);
    oa_text_init(&g.held, c);
    oa_text_init(&g.printed, c);
    g.samples = json_array();
    enum oa_error e = generate(&g, folder);
    json_decref(g.samples);
    oa_text_free(&g.held);
    oa_text_free(&g.printed);
    oa_ids_free(&g.ids);
    oa_free(g.logits);
    oa_writable_close(g.writable);
    oa_sampler_close(g.sampler);
    oa_decoding_close(&g.decoding);
    oa_trained_close(&g.t);
    return e;
}
