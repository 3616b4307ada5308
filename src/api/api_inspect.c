/* SPDX-License-Identifier: Apache-2.0
 * inspect: a trained model reads a text, and its attention maps are shown. */
#include "api/api.h"
#include "inspect/inspect.h"
#include "tasks/tasks.h"

#include <string.h>

struct inspected_reading { /* ids of what is read, as one sequence */
    struct oa_ids ids, words, segments;
    struct oa_sequences sequence;
    struct oa_token_names names;
};

struct inspecting {
    struct oa_trained t;
    const struct oa_inspect_request *r;
    struct oa_example_layout layout; /* of the run's task; zeros: running text */
    struct inspected_reading main, source;
    struct oa_inspection what;
};

/* ---- ids ---- */

static enum oa_error add_special(struct inspecting *n, struct inspected_reading *to,
                                 const char *content)
{
    if (!*content)
        return OA_OK;
    int32_t id = oa_tokenizer_find_special(n->t.tokenizer, content);
    if (id < 0)
        return oa_fail(n->t.context, OA_FORMAT,
                       "the tokenizer has no token \"%s\": it is not this model's", content);
    OA_TRY(oa_ids_add(&to->ids, id));
    return oa_ids_add(&to->words, to->words.count ? to->words.id[to->words.count - 1] + 1 : 0);
}

static enum oa_error add_inspected_text(struct inspecting *n, struct oa_tokenizer *tok,
                                        struct inspected_reading *to, const char *name,
                                        const char *text, size_t length)
{
    if (length == 0)
        return oa_fail(n->t.context, OA_ARGUMENT, "%s: the text is empty", name);
    return oa_tokenizer_encode_text(tok, name, text, length, &to->ids, &to->words);
}

/* All ids so far belong to this text of a pair. */
static enum oa_error end_segment(struct inspected_reading *to, int32_t segment)
{
    while (to->segments.count < to->ids.count)
        OA_TRY(oa_ids_add(&to->segments, segment));
    return OA_OK;
}

/* What an encoder reads: begin, text, end, and of a pair text, end. */
static enum oa_error encode_source(struct inspecting *n, struct inspected_reading *to, bool pair)
{
    const struct oa_example_layout *l = &n->layout;
    OA_TRY(add_special(n, to, l->source_begin));
    OA_TRY(add_inspected_text(n, n->t.tokenizer, to, "--text", n->r->text, n->r->length));
    OA_TRY(add_special(n, to, l->source_end));
    OA_TRY(end_segment(to, 0));
    if (!pair)
        return OA_OK;
    OA_TRY(
        add_inspected_text(n, n->t.tokenizer, to, "--target", n->r->target, n->r->target_length));
    OA_TRY(add_special(n, to, l->source_end));
    return end_segment(to, 1);
}

static enum oa_error check_length(const struct inspecting *n, const struct inspected_reading *r,
                                  const char *name, long most, const char *option)
{
    if ((long)r->ids.count <= most)
        return OA_OK;
    return oa_fail(
        n->t.context, OA_SHAPE,
        "%s: the text has %zu tokens, special ones included, and the model reads at most "
        "%ld (%s): give a shorter one",
        name, r->ids.count, most, option);
}

static enum oa_error check_request(const struct inspecting *n)
{
    const struct oa_model_form *f = &n->t.model->form;
    bool two = f->segments || (f->encoder && f->decoder);
    if (f->patch)
        return oa_fail(n->t.context, OA_ARGUMENT,
                       "the model reads images; inspect needs a model of texts");
    if (two && !n->r->target)
        return oa_fail(n->t.context, OA_ARGUMENT,
                       "the model reads two texts: give %s with --target",
                       f->segments ? "the second text of the pair" : "the target of the decoder");
    if (!two && n->r->target)
        return oa_fail(n->t.context, OA_ARGUMENT,
                       "--target has no effect: the model (%s) reads one text, that of --text",
                       oa_architecture_name(f));
    return OA_OK;
}

static enum oa_error encode_inspected_texts(struct inspecting *n)
{
    const struct oa_model_form *f = &n->t.model->form;
    const struct oa_options *o = &n->t.options;
    const struct oa_task *task = oa_task_find(o->data_task);
    if (task && task->layout)
        n->layout = oa_example_layout_of(o, task);
    OA_TRY(check_request(n));
    if (!f->encoder || !f->decoder) {
        OA_TRY(encode_source(n, &n->main, f->segments));
        return check_length(n, &n->main, "--text", o->model_context, "model.context");
    }
    OA_TRY(encode_source(n, &n->source, false));
    OA_TRY(
        check_length(n, &n->source, "--text", oa_model_source_context(o), "model.source_context"));
    /* the decoder reads all of the target but its end */
    OA_TRY(add_special(n, &n->main, n->layout.target_begin));
    OA_TRY(add_inspected_text(n, oa_tokenizer_of_targets(n->t.tokenizer), &n->main, "--target",
                              n->r->target, n->r->target_length));
    return check_length(n, &n->main, "--target", o->model_context, "model.context");
}

/* ---- names of tokens ---- */

/* Blanks and line ends are shown, other control characters and what is no UTF-8 as their bytes. */
static void add_readable(struct oa_text *out, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length;) {
        uint32_t code;
        int n = oa_utf8_decode(bytes + i, length - i, &code);
        if (n > 1)
            oa_text_add(out, bytes + i, (size_t)n);
        else if (bytes[i] == ' ')
            oa_text_printf(out, "␣");
        else if (bytes[i] == '\n')
            oa_text_printf(out, "↵");
        else if (n == 1 && (unsigned char)bytes[i] >= 32 && bytes[i] != 127)
            oa_text_add(out, bytes + i, 1);
        else
            oa_text_printf(out, "\\x%02x", (unsigned char)bytes[i]);
        i += n > 0 ? (size_t)n : 1;
    }
}

static enum oa_error name_tokens(struct inspecting *n, struct inspected_reading *r)
{
    struct oa_text text;
    oa_text_init(&text, n->t.context);
    r->names.name = oa_alloc(n->t.context, (r->ids.count + 1) * sizeof *r->names.name);
    for (size_t i = 0; r->names.name && i < r->ids.count; i++) {
        size_t length;
        bool special = oa_tokenizer_is_special(n->t.tokenizer, r->ids.id[i]);
        const char *bytes = special ? oa_tokenizer_piece(n->t.tokenizer, r->ids.id[i])
                                    : oa_tokenizer_bytes(n->t.tokenizer, r->ids.id[i], &length);
        oa_text_cut(&text, 0);
        add_readable(&text, bytes, special ? strlen(bytes) : length);
        r->names.name[r->names.count++] = oa_copy_text(n->t.context, text.s ? text.s : "");
    }
    oa_text_free(&text);
    return oa_status(n->t.context);
}

static enum oa_error finish_reading(struct inspecting *n, struct inspected_reading *r)
{
    r->sequence =
        (struct oa_sequences){ .rows = 1,
                               .length = (long)r->ids.count,
                               .ids = r->ids.id,
                               .segments = n->t.model->form.segments ? r->segments.id : NULL,
                               .words = r->words.id };
    return name_tokens(n, r);
}

static void open_reading(struct inspected_reading *r, oa_context *c)
{
    oa_ids_init(&r->ids, c);
    oa_ids_init(&r->words, c);
    oa_ids_init(&r->segments, c);
}

static void close_reading(struct inspected_reading *r)
{
    for (long i = 0; i < r->names.count; i++)
        oa_free(r->names.name[i]);
    oa_free(r->names.name);
    oa_ids_free(&r->ids);
    oa_ids_free(&r->words);
    oa_ids_free(&r->segments);
}

/* ---- the answer ---- */

static enum oa_error write_inspection_page(const struct inspecting *n,
                                           const struct oa_inspected *shown)
{
    struct oa_text page;
    oa_text_init(&page, n->t.context);
    oa_inspection_html(shown, &page);
    enum oa_error e = oa_status(n->t.context);
    if (e == OA_OK)
        e = oa_file_write(n->t.context, n->r->page, page.s, page.length);
    oa_text_free(&page);
    return e;
}

/* Warns where the map times the values differs from the output of the layer. */
static void warn_of_deviations(const struct inspecting *n)
{
    for (int i = 0; i < n->what.layers; i++) {
        const struct oa_layer_view *v = &n->what.layer[i];
        struct oa_text title;
        oa_text_init(&title, n->t.context);
        oa_view_title(v, &title);
        if (v->deviation > OA_LARGE_DEVIATION)
            oa_log(n->t.context, 0,
                   "%s: maps times values differ from the output of the layer by %.1g of its "
                   "largest element",
                   title.s ? title.s : "", v->deviation);
        oa_text_free(&title);
    }
}

static enum oa_error print_inspection(const struct inspecting *n, const char *folder,
                                      const struct oa_output *out)
{
    const struct oa_inspected shown = { .run = folder,
                                        .checkpoint = n->t.checkpoint,
                                        .attention = n->t.options.model_attention,
                                        .what = &n->what,
                                        .queries = &n->main.names,
                                        .source = n->source.ids.count ? &n->source.names : NULL };
    struct oa_text text;
    warn_of_deviations(n);
    if (n->r->page)
        OA_TRY(write_inspection_page(n, &shown));
    oa_text_init(&text, n->t.context);
    if (oa_wants_json(out)) {
        oa_inspection_json(&shown, &text);
        return oa_emit(out, &text);
    }
    oa_inspection_table(&shown, out ? out->width : 0, &text);
    if (n->r->page) {
        oa_text_printf(&text, "\npage     ");
        oa_name_add(&text, n->r->page);
        oa_text_printf(&text, "\n");
    }
    return oa_emit(out, &text);
}

static enum oa_error inspect(struct inspecting *n, const char *folder, const struct oa_output *out)
{
    OA_TRY(oa_trained_open_finely(n->t.context, folder, &n->t));
    OA_TRY(encode_inspected_texts(n));
    OA_TRY(finish_reading(n, &n->main));
    if (n->source.ids.count)
        OA_TRY(finish_reading(n, &n->source));
    OA_TRY(oa_inspect_model(&n->t.tape, n->t.model, &n->main.sequence,
                            n->source.ids.count ? &n->source.sequence : NULL, &n->what));
    return print_inspection(n, folder, out);
}

enum oa_error oa_inspect(oa_context *c, const char *folder,
                         const struct oa_inspect_request *request, const struct oa_output *out)
{
    struct inspecting n = { .t = { .context = c }, .r = request };
    OA_TRY(oa_status(c));
    OA_TRY(oa_check_reserved(c, "oa_inspect_request", request->reserved, 4));
    if (!request->text)
        return oa_fail(c, OA_ARGUMENT, "inspect needs a text");
    if (request->page)
        OA_TRY(oa_file_check(c, request->page));
    open_reading(&n.main, c);
    open_reading(&n.source, c);
    enum oa_error e = inspect(&n, folder, out);
    oa_inspection_close(&n.what);
    close_reading(&n.main);
    close_reading(&n.source);
    oa_trained_close(&n.t);
    return e;
}
