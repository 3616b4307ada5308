/* SPDX-License-Identifier: Apache-2.0
 * translate: what an encoder with a decoder writes for lines of text, block by block. */
#include "api/api.h"
#include "tasks/writer.h"

#include <string.h>

struct source {
    struct oa_examples coded; /* count 0: nothing is written for it */
    uint64_t line;
};

struct translation {
    struct oa_trained t;
    const struct oa_translate_request *r;
    const struct oa_output *out;
    struct oa_example_layout layout;
    struct oa_writer writer;
    struct source source[OA_SIDE_BY_SIDE];
    int count; /* lines of the block at hand */
    uint64_t lines, cut, bad;
};

/* ---- opening ---- */

static enum oa_error check_task(const struct translation *x, const char *folder, const struct oa_task *task)
{
    if (task && task->layout && task->answer == OA_ANSWER_TEXT)
        return OA_OK;
    return oa_fail(x->t.context, OA_ARGUMENT,
                   "%s was trained for the task \"%s\", which writes no text for a line; translate takes runs of "
                   "translate and summarize",
                   folder, x->t.options.data_task);
}

static enum oa_error open_translation(struct translation *x, const oa_config *config, const char *folder)
{
    int best = x->r->best ? x->r->best : 1;
    if (best > config->options.decode_beam)
        return oa_fail(x->t.context, OA_ARGUMENT,
                       "%d hypotheses of a beam of %ld: decode.beam must be at least as many", best,
                       config->options.decode_beam);
    OA_TRY(oa_trained_open(x->t.context, folder, &x->t));
    const struct oa_task *task = oa_task_find(x->t.options.data_task);
    OA_TRY(check_task(x, folder, task));
    x->layout = *task->layout;
    x->layout.source_limit = oa_model_source_context(&x->t.options);
    return oa_writer_open(x->t.model, x->t.tokenizer, &config->options, best, &x->writer);
}

/* ---- reading ---- */

static bool is_utf8(const char *s, size_t n)
{
    uint32_t code;
    while (n) {
        int k = oa_utf8_decode(s, n, &code);
        if (k < 1)
            return false;
        s += k;
        n -= (size_t)k;
    }
    return true;
}

static bool is_blank(const char *s, size_t n)
{
    return strspn(s, " \t\r") >= n;
}

/* A line that cannot be read is said, and nothing is written for it. */
static enum oa_error encode(struct translation *x, const char *s, size_t n, struct source *out)
{
    char name[64];
    const char *why;
    oa_context *c = x->t.context;
    struct oa_given_text text = { s, n };
    snprintf(name, sizeof name, "line %llu", (unsigned long long)out->line);
    if (!is_utf8(s, n)) {
        x->bad++;
        oa_log(c, 0, "%s is not UTF-8: an empty line stands for it", name);
        return OA_OK;
    }
    enum oa_error e = oa_source_encode(x->t.tokenizer, &x->layout, name, &text, 1, &out->coded);
    if (e != OA_FORMAT && e != OA_ARGUMENT && e != OA_SHAPE)
        return e;
    oa_last_error(c, &why);
    oa_log(c, 0, "%s; an empty line stands for it", why);
    oa_clear_error(c);
    x->bad++;
    return OA_OK;
}

static enum oa_error read_block(struct translation *x, bool *more)
{
    const char *s;
    size_t n;
    int most = x->r->at_once ? 1 : OA_SIDE_BY_SIDE;
    for (x->count = 0; x->count < most; x->count++) {
        struct source *to = &x->source[x->count];
        *more = x->r->next(x->r->argument, &s, &n);
        if (!*more)
            return OA_OK;
        *to = (struct source){ .line = ++x->lines };
        n -= n && s[n - 1] == '\r';
        if (!is_blank(s, n))
            OA_TRY(encode(x, s, n, to));
        x->cut += to->coded.source.cut;
    }
    return OA_OK;
}

/* ---- writing ---- */

/* A line stays a line. */
static enum oa_error decode(struct translation *x, const struct oa_hypothesis *h, struct oa_text *out)
{
    size_t from = out->length;
    OA_TRY(oa_tokenizer_decode(x->t.tokenizer, h->ids, (size_t)h->count, out));
    for (size_t i = from; i < out->length; i++)
        if (out->s[i] == '\n' || out->s[i] == '\r' || out->s[i] == 0)
            out->s[i] = ' ';
    return oa_status(x->t.context);
}

static enum oa_error say_plain(struct translation *x, const struct oa_hypothesis *h, struct oa_text *out)
{
    if (h && x->r->scores)
        oa_text_printf(out, "%.4f", h->score);
    if (x->r->scores)
        oa_text_printf(out, "\t");
    if (h)
        OA_TRY(decode(x, h, out));
    oa_text_printf(out, "\n");
    return OA_OK;
}

static enum oa_error say_list(struct translation *x, uint64_t line, const struct oa_hypothesis *h, struct oa_text *out)
{
    for (int i = 0; h && i < x->r->best && h[i].count >= 0; i++) {
        oa_text_printf(out, "%llu ||| ", (unsigned long long)line - 1);
        OA_TRY(decode(x, &h[i], out));
        oa_text_printf(out, " ||| %.4f\n", h[i].score);
    }
    return OA_OK;
}

static enum oa_error say_json(struct translation *x, uint64_t line, const struct oa_hypothesis *h, struct oa_text *out)
{
    json_t *list = json_array();
    enum oa_error e = OA_OK;
    for (int i = 0; h && i < x->writer.beam.best && h[i].count >= 0 && e == OA_OK; i++) {
        struct oa_text text;
        oa_text_init(&text, x->t.context);
        e = decode(x, &h[i], &text);
        json_t *one = json_pack("{s:o}", "text", oa_json_bytes(x->t.context, text.s ? text.s : "", text.length));
        json_object_set_new(one, "log_p", oa_json_number(h[i].score));
        json_array_append_new(list, one);
        oa_text_free(&text);
    }
    oa_json_line(out, json_pack("{s:I, s:o}", "line", (json_int_t)line, "hypotheses", list));
    return e;
}

static enum oa_error say(struct translation *x, uint64_t line, const struct oa_hypothesis *h)
{
    struct oa_text text;
    oa_text_init(&text, x->t.context);
    enum oa_error e = oa_wants_json(x->out) ? say_json(x, line, h, &text)
                      : x->r->best          ? say_list(x, line, h, &text)
                                            : say_plain(x, h, &text);
    if (e == OA_OK && text.length)
        return oa_emit(x->out, &text);
    oa_text_free(&text);
    return e;
}

static enum oa_error write_block(struct translation *x, struct oa_hypothesis *found)
{
    struct oa_source_ids ids[OA_SIDE_BY_SIDE];
    int some = 0, best = x->writer.beam.best;
    for (int i = 0; i < x->count; i++)
        if (x->source[i].coded.count)
            ids[some++] = (struct oa_source_ids){ x->source[i].coded.source.ids, x->source[i].coded.source.start[1] };
    if (some)
        OA_TRY(oa_writer_write(&x->writer, ids, some, found));
    const struct oa_hypothesis *next = found;
    for (int i = 0; i < x->count; i++) {
        bool written = x->source[i].coded.count > 0;
        OA_TRY(say(x, x->source[i].line, written ? next : NULL));
        next += written ? best : 0;
    }
    return OA_OK;
}

static void close_block(struct translation *x)
{
    for (int i = 0; i < OA_SIDE_BY_SIDE; i++)
        oa_examples_close(&x->source[i].coded);
}

static enum oa_error next_block(struct translation *x, bool *more)
{
    size_t room = (size_t)OA_SIDE_BY_SIDE * (size_t)x->writer.beam.best;
    struct oa_hypothesis *found = oa_alloc(x->t.context, room * sizeof *found);
    enum oa_error e = found ? read_block(x, more) : OA_NO_MEMORY;
    if (e == OA_OK && oa_stop_requested(x->t.context))
        e = oa_fail(x->t.context, OA_INTERRUPTED, "stopped while line %llu was waited for",
                    (unsigned long long)x->lines + 1);
    if (e == OA_OK)
        e = write_block(x, found);
    if (found)
        oa_hypotheses_free(found, (int)room);
    oa_free(found);
    close_block(x);
    return e;
}

static enum oa_error translate(struct translation *x, const oa_config *config, const char *folder)
{
    bool more = true;
    OA_TRY(open_translation(x, config, folder));
    while (more) {
        OA_TRY(next_block(x, &more));
        oa_log(x->t.context, 1, "%llu lines", (unsigned long long)x->lines);
    }
    if (x->cut)
        oa_log(x->t.context, 0, "%llu of %llu lines were cut to the %ld tokens that the model reads",
               (unsigned long long)x->cut, (unsigned long long)x->lines, x->layout.source_limit);
    if (x->bad)
        oa_log(x->t.context, 0, "%llu of %llu lines could not be read", (unsigned long long)x->bad,
               (unsigned long long)x->lines);
    return OA_OK;
}

enum oa_error oa_translate(const oa_config *config, const char *folder, const struct oa_translate_request *request,
                           const struct oa_output *out)
{
    struct translation x = { .t = { .context = config->context }, .r = request, .out = out };
    OA_TRY(oa_status(config->context));
    OA_TRY(oa_check_reserved(config->context, "oa_translate_request", request->reserved, 4));
    enum oa_error e = translate(&x, config, folder);
    if (x.writer.model)
        oa_writer_close(&x.writer);
    oa_trained_close(&x.t);
    return e;
}
