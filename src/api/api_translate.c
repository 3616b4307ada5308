/* SPDX-License-Identifier: Apache-2.0
 * translate: an encoder-decoder writes outputs for lines of text, block by block. */
#include "api/input_lines.h"
#include "api/word_links.h"
#include "tasks/writer.h"

#include <string.h>

struct translation {
    struct oa_trained t;
    const struct oa_translate_request *r;
    const struct oa_output *out;
    struct oa_input_lines lines;
    struct oa_writer writer;
    struct oa_coded_line source[OA_SIDE_BY_SIDE];
    int count; /* lines of the current block */
    uint64_t written, unended;
};

/* ---- opening ---- */

/* Options that are not given are those of the run. */
static enum oa_error read_decode_options(const oa_config *config, const struct oa_options *run,
                                         struct oa_options *out)
{
    const struct oa_option_row *row;
    *out = config->options;
    for (int i = 0; (row = oa_option_at(i)); i++) {
        struct oa_text value;
        oa_text_init(&value, config->context);
        if (strcmp(row->section, "decode") == 0 && !config->given.option[i] &&
            oa_options_get(config->context, run, row->key, &value) == OA_OK)
            oa_options_set(config->context, out, row->key, value.s ? value.s : "");
        oa_text_free(&value);
    }
    return oa_status(config->context);
}

static enum oa_error open_translation(struct translation *x, const oa_config *config,
                                      const char *folder)
{
    int best = x->r->best ? x->r->best : 1;
    struct oa_options decode;
    OA_TRY(oa_trained_open(x->t.context, folder, &x->t));
    const struct oa_task *task = oa_task_find(x->t.options.data_task);
    if (!task || !oa_task_writes(task))
        return oa_fail(x->t.context, OA_ARGUMENT,
                       "%s was trained for the task \"%s\"; translate needs a run of translate, "
                       "summarize or dialogue",
                       folder, x->t.options.data_task);
    OA_TRY(read_decode_options(config, &x->t.options, &decode));
    if (best > decode.decode_beam)
        return oa_fail(x->t.context, OA_ARGUMENT,
                       "%d hypotheses need decode.beam of at least as many; it is %ld", best,
                       decode.decode_beam);
    x->lines = (struct oa_input_lines){ .context = x->t.context,
                                        .tokenizer = x->t.tokenizer,
                                        .layout = oa_example_layout_of(&x->t.options, task),
                                        .next = x->r->next,
                                        .argument = x->r->argument,
                                        .all = (double)x->r->bytes,
                                        .title = "translating" };
    x->lines.layout.refuse_long = false;
    return oa_writer_open(x->t.model, x->t.tokenizer, &decode, best, &x->writer);
}

/* ---- writing ---- */

/* A line and its hypotheses. */
struct answered {
    const struct oa_coded_line *line;
    const struct oa_hypothesis *found; /* NULL: the line is blank, or cannot be read */
};

static enum oa_error find_links(struct translation *x, const struct answered *a,
                                const struct oa_hypothesis *h, struct oa_links *out)
{
    const struct oa_id_lists *s = &a->line->coded.source;
    struct oa_sequences source = {
        .rows = 1, .length = (long)s->start[1], .ids = s->ids, .words = s->words
    };
    return oa_links_find(&x->t, &source, h->ids, h->count, out);
}

/* In Pharaoh's format: "0-0 2-1". */
static enum oa_error add_links(struct translation *x, const struct answered *a,
                               const struct oa_hypothesis *h, struct oa_text *out)
{
    struct oa_links l;
    if (!x->r->alignment)
        return OA_OK;
    enum oa_error e = find_links(x, a, h, &l);
    oa_text_printf(out, " |||");
    for (long i = 0; i < l.count; i++)
        oa_text_printf(out, " %d-%d", l.link[i].source, l.link[i].target);
    oa_free(l.link);
    return e;
}

static enum oa_error add_translation_line(struct translation *x, const struct answered *a,
                                          struct oa_text *out)
{
    const struct oa_hypothesis *h = a->found;
    if (h && x->r->scores)
        oa_text_printf(out, "%.4f", h->score);
    if (x->r->scores)
        oa_text_printf(out, "\t");
    if (h)
        OA_TRY(oa_writer_text(&x->writer, h, out));
    if (h)
        OA_TRY(add_links(x, a, h, out));
    oa_text_printf(out, "\n");
    return OA_OK;
}

/* The best hypotheses in the format of n-best lists: "number ||| text ||| score". */
static enum oa_error add_nbest_list(struct translation *x, const struct answered *a,
                                    struct oa_text *out)
{
    const struct oa_hypothesis *h = a->found;
    for (int i = 0; h && i < x->r->best && h[i].count >= 0; i++) {
        oa_text_printf(out, "%llu ||| ", (unsigned long long)a->line->line - 1);
        OA_TRY(oa_writer_text(&x->writer, &h[i], out));
        oa_text_printf(out, " ||| %.4f", h[i].score);
        OA_TRY(add_links(x, a, &h[i], out));
        oa_text_printf(out, "\n");
    }
    return OA_OK;
}

static enum oa_error set_links(struct translation *x, const struct answered *a,
                               const struct oa_hypothesis *h, json_t *to)
{
    struct oa_links l;
    if (!x->r->alignment)
        return OA_OK;
    enum oa_error e = find_links(x, a, h, &l);
    json_t *list = json_array();
    for (long i = 0; i < l.count; i++)
        oa_json_append(x->t.context, list,
                       json_pack("[i, i]", (int)l.link[i].source, (int)l.link[i].target));
    oa_json_set(x->t.context, to, "alignment", list);
    oa_free(l.link);
    return e;
}

static enum oa_error hypothesis_json(struct translation *x, const struct answered *a,
                                     const struct oa_hypothesis *h, json_t *to)
{
    struct oa_text text;
    oa_text_init(&text, x->t.context);
    enum oa_error e = oa_writer_text(&x->writer, h, &text);
    oa_json_set(x->t.context, to, "text",
                oa_json_bytes(x->t.context, text.s ? text.s : "", text.length));
    oa_json_set(x->t.context, to, "log_p", oa_json_number(h->score));
    oa_json_set(x->t.context, to, "ended", json_boolean(!h->cut));
    oa_text_free(&text);
    return e == OA_OK ? set_links(x, a, h, to) : e;
}

static enum oa_error add_translation_json(struct translation *x, const struct answered *a,
                                          struct oa_text *out)
{
    const struct oa_hypothesis *h = a->found;
    json_t *list = json_array();
    enum oa_error e = OA_OK;
    for (int i = 0; h && i < x->writer.beam.best && h[i].count >= 0 && e == OA_OK; i++) {
        json_t *one = json_object();
        e = hypothesis_json(x, a, &h[i], one);
        oa_json_append(out->context, list, one);
    }
    json_t *o = json_pack("{s:I, s:o}", "line", (json_int_t)a->line->line, "hypotheses", list);
    oa_trained_json(&x->t, o);
    oa_json_line(out, o);
    return e;
}

static enum oa_error print_translation(struct translation *x, const struct answered *a)
{
    struct oa_text text;
    oa_text_init(&text, x->t.context);
    enum oa_error e = oa_wants_json(x->out) ? add_translation_json(x, a, &text)
                      : x->r->best          ? add_nbest_list(x, a, &text)
                                            : add_translation_line(x, a, &text);
    if (e == OA_OK && text.length)
        return oa_emit(x->out, &text);
    oa_text_free(&text);
    return e;
}

static enum oa_error write_block(struct translation *x, struct oa_hypothesis *found)
{
    struct oa_source_ids ids[OA_SIDE_BY_SIDE];
    int some = 0, best = x->writer.beam.best;
    for (int i = 0; i < x->count; i++) {
        const struct oa_id_lists *s = &x->source[i].coded.source;
        if (x->source[i].coded.count)
            ids[some++] = (struct oa_source_ids){ s->ids, s->words, s->start[1] };
    }
    if (some)
        OA_TRY(oa_writer_write(&x->writer, ids, some, found));
    const struct oa_hypothesis *next = found;
    for (int i = 0; i < x->count; i++) {
        bool written = x->source[i].coded.count > 0;
        x->written += written;
        x->unended += written && next->cut;
        OA_TRY(print_translation(x, &(struct answered){ &x->source[i], written ? next : NULL }));
        next += written ? best : 0;
    }
    return OA_OK;
}

static enum oa_error next_translate_block(struct translation *x, bool *more)
{
    size_t room = (size_t)OA_SIDE_BY_SIDE * (size_t)x->writer.beam.best;
    struct oa_hypothesis *found = oa_alloc(x->t.context, room * sizeof *found);
    enum oa_error e = OA_NO_MEMORY;
    if (found)
        e = oa_input_lines_read(&x->lines, x->r->at_once ? 1 : OA_SIDE_BY_SIDE, x->source,
                                &x->count, more);
    if (e == OA_OK)
        e = write_block(x, found);
    if (found)
        oa_hypotheses_free(found, (int)room);
    oa_free(found);
    oa_input_lines_release(x->source, x->count);
    return e;
}

/* Reports lines that were cut or not read, and best hypotheses that did not end. */
static void log_incomplete(const struct translation *x)
{
    long most = x->t.options.model_context - 1, limit = x->writer.beam.limit;
    bool limited = limit && limit <= most;
    oa_input_lines_account(&x->lines);
    if (x->unended)
        oa_log(x->t.context, 0,
               "%llu of %llu outputs did not end within %ld tokens (%s): they are truncated, and "
               "their log p lacks the end token",
               (unsigned long long)x->unended, (unsigned long long)x->written,
               limited ? limit : most, limited ? "decode.max_tokens" : "model.context");
}

static enum oa_error translate(struct translation *x, const oa_config *config, const char *folder)
{
    bool more = true;
    OA_TRY(open_translation(x, config, folder));
    while (more)
        OA_TRY(next_translate_block(x, &more));
    log_incomplete(x);
    return OA_OK;
}

enum oa_error oa_translate(const oa_config *config, const char *folder,
                           const struct oa_translate_request *request, const struct oa_output *out)
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
