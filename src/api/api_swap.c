/* SPDX-License-Identifier: Apache-2.0
 * swap: a run with another attention instead of its own. Nothing is trained. */
#include "api/api.h"
#include "base/file_copies.h"
#include "base/folder_lock.h"
#include "base/safetensors.h"
#include "model/new_run.h"
#include "model/transfer_heads.h"
#include "print/print.h"
#include "train/initial.h"

#include <string.h>

struct swapping {
    oa_context *context;
    const char *run, *out;
    struct oa_trained from;
    struct oa_model *to;
    struct oa_transfer transfer;
};

/* ---- making ---- */

/* The seed is that of the run: tensors that are frozen in both are the same and need not be stored.
 */
static enum oa_error swap_open_model(struct swapping *s, const char *attention)
{
    struct oa_options o = s->from.options;
    struct oa_model_form form = s->from.model->form;
    char *canonical = NULL;
    OA_TRY(oa_stacks_canonical(s->context, attention, oa_form_stacks(&form), &canonical));
    enum oa_error e = oa_options_set(s->context, &o, "model.attention", canonical);
    if (e == OA_OK)
        e = oa_model_open(s->from.device, &o, &form, false, &s->to);
    oa_free(canonical);
    return e;
}

static enum oa_error swap_write(const struct swapping *s)
{
    struct oa_digest digest;
    char path[OA_PATH];
    OA_TRY(oa_path(s->context, path, s->run, "model.safetensors"));
    OA_TRY(oa_digest_of_file(s->context, path, &digest));
    OA_TRY(oa_initial_save(&s->transfer, s->run, &digest, s->out));
    for (int i = 0; i < s->to->store.count; i++)
        if (s->to->store.parameter[i]->source)
            OA_TRY(oa_copies_save(s->context, s->out, s->to->store.parameter[i]->source));
    return oa_new_run_write(s->to, s->from.tokenizer,
                            s->from.specials.name ? &s->from.specials : NULL, false, s->out);
}

/* Imported models can be stored in double precision, whatever train.precision is. */
static enum oa_error swap_open_run(struct swapping *s)
{
    char path[OA_PATH];
    struct oa_tensors *f;
    bool fine = false;
    OA_TRY(oa_path(s->context, path, s->run, "model.safetensors"));
    if (oa_file_exists(path)) {
        OA_TRY(oa_tensors_open(s->context, path, &f));
        fine = oa_tensors_count(f) > 0 && oa_tensors_at(f, 0)->type == OA_F64;
        oa_tensors_close(f);
    }
    return fine ? oa_trained_open_in(s->context, s->run, OA_PRECISION_F64, &s->from)
                : oa_trained_open(s->context, s->run, &s->from);
}

static enum oa_error swap_make(struct swapping *s, const char *attention)
{
    struct oa_lock *lock = NULL;
    OA_TRY(oa_new_run_check(s->context, s->out));
    OA_TRY(swap_open_run(s));
    if (s->from.checkpoint >= 0)
        return oa_fail(s->context, OA_ARGUMENT,
                       "%s has not ended; 'orthant train --resume --out %s' continues it", s->run,
                       s->run);
    OA_TRY(swap_open_model(s, attention));
    OA_TRY(oa_transfer_match(s->from.model, s->from.tokenizer, s->to, s->from.tokenizer,
                             &s->transfer));
    OA_TRY(oa_transfer_copy(&s->transfer));
    OA_TRY(oa_folder_lock(s->context, s->out, &lock));
    enum oa_error e = swap_write(s);
    oa_folder_unlock(lock);
    return e;
}

/* ---- weights that were kept ---- */

static double kept_numbers(const struct oa_fitting *f)
{
    double row = (double)(f->to->count / f->to->dim[0]);
    if (f->fit == OA_FIT_HEADS)
        return row * (double)(f->rows * oa_fitting_part_rows(f));
    return f->fit == OA_FIT_ROWS ? row * (double)f->rows : f->fit == OA_FIT_ALL ? f->to->count : 0;
}

static bool kept_whole(const struct oa_fitting *f)
{
    return kept_numbers(f) == (double)f->to->count;
}

static const char *kept_reason(const struct oa_fitting *f)
{
    return oa_fit_takes(f->fit) ? "in part there" : oa_fit_reason(f->fit);
}

/* The tensors of an attention layer, by the prefix of their names. */
struct kept_layer {
    char prefix[64], name[64];
    const struct oa_layer *layer;
    double kept, all;
};

static struct kept_layer sum_layer(const struct swapping *s, const struct oa_stack *stack, long i,
                                   bool cross)
{
    const struct oa_block *b = &stack->block[i];
    struct kept_layer k = { .layer = cross ? &b->cross : &b->attention };
    bool one = !s->to->form.encoder || !s->to->form.decoder;
    snprintf(k.prefix, sizeof k.prefix, "%s.layers.%ld.%sattention.", stack->shape.role, i,
             cross ? "cross_" : "");
    snprintf(k.name, sizeof k.name, "%s%s%ld",
             one     ? ""
             : cross ? "cross"
                     : stack->shape.role,
             one ? "" : " ", i);
    for (int t = 0; t < s->transfer.count; t++) {
        const struct oa_fitting *f = &s->transfer.item[t];
        if (strncmp(f->to->name, k.prefix, strlen(k.prefix)) != 0)
            continue;
        k.kept += kept_numbers(f);
        k.all += (double)f->to->count;
    }
    return k;
}

static void print_layer_attention(const struct oa_layer *l, struct oa_text *out)
{
    struct oa_layer_spec *one = &l->spec->layer[l->group->layer % l->spec->layers];
    oa_spec_print(&(struct oa_spec){ .layer = one, .layers = 1 }, out);
}

/* "query.weight, key.weight (frozen here and learnt there); sink.logit (not there)" */
static void add_not_kept(const struct swapping *s, const struct kept_layer *k, struct oa_text *out)
{
    const char *last = NULL;
    for (int i = 0; i < s->transfer.count; i++) {
        const struct oa_fitting *f = &s->transfer.item[i];
        if (strncmp(f->to->name, k->prefix, strlen(k->prefix)) != 0 || kept_whole(f))
            continue;
        if (last && last != kept_reason(f))
            oa_text_printf(out, " (%s); ", last);
        oa_text_printf(out, "%s%s", last == kept_reason(f) ? ", " : "",
                       f->to->name + strlen(k->prefix));
        last = kept_reason(f);
    }
    if (last)
        oa_text_printf(out, " (%s)", last);
}

/* Calls visit for every attention layer. */
static void visit_layers(const struct swapping *s, void *argument,
                         void (*visit)(const struct swapping *s, void *argument,
                                       const struct kept_layer *k))
{
    const struct oa_stack *stacks[] = { &s->to->encoder, &s->to->decoder };
    for (int r = 0; r < 2; r++)
        for (long i = 0; stacks[r]->block && i < stacks[r]->shape.layers; i++)
            for (int cross = 0; cross <= (stacks[r]->shape.cross != NULL); cross++) {
                struct kept_layer k = sum_layer(s, stacks[r], i, cross);
                visit(s, argument, &k);
            }
}

/* Whether a parameter of the new model takes values of the run's tensor p. */
static bool swap_takes(const struct oa_transfer *t, const struct oa_parameter *p)
{
    long first;
    for (int i = 0; i < t->count; i++) {
        const struct oa_fitting *f = &t->item[i];
        if (oa_fit_takes(f->fit) && f->from == p)
            return true;
        for (long part = 0; f->fit == OA_FIT_HEADS && part < oa_fitting_parts(f); part++)
            if (oa_fitting_source(f, part, &first) == p)
                return true;
    }
    return false;
}

/* ---- the report ---- */

static void add_layer_row(const struct swapping *s, void *argument, const struct kept_layer *k)
{
    struct oa_text attention, not_kept;
    oa_text_init(&attention, s->context);
    oa_text_init(&not_kept, s->context);
    print_layer_attention(k->layer, &attention);
    add_not_kept(s, k, &not_kept);
    oa_table_cell(argument, "%s", k->name);
    oa_table_cell(argument, "%s", attention.s ? attention.s : "");
    oa_table_cell(argument, "%.0f", k->kept);
    oa_table_cell(argument, "%.0f", k->all);
    oa_table_cell(argument, "%s", not_kept.length ? not_kept.s : "-");
    oa_text_free(&attention);
    oa_text_free(&not_kept);
}

static void add_others_text(const struct swapping *s, struct oa_text *out)
{
    const struct oa_transfer *t = &s->transfer;
    int others = 0, whole = 0, unused = 0;
    for (int i = 0; i < t->count; i++) {
        bool attention = strstr(t->item[i].to->name, "attention.") != NULL;
        others += !attention;
        whole += !attention && kept_whole(&t->item[i]);
    }
    oa_text_printf(out, "other parts     %d of %d tensors kept\n", whole, others);
    for (int i = 0; i < t->from->store.count; i++)
        if (!swap_takes(t, t->from->store.parameter[i]))
            oa_text_printf(out, "%s%s", unused++ ? ", " : "left behind     ",
                           t->from->store.parameter[i]->name);
    if (unused)
        oa_text_printf(out, "\n");
}

static enum oa_error report_swap_text(const struct swapping *s, const struct oa_output *output)
{
    static const struct oa_column columns[] = { { "layer", false, false },
                                                { "attention", false, true },
                                                { "kept", true, false },
                                                { "of", true, false },
                                                { "initialised", false, true } };
    struct oa_text text;
    struct oa_table table;
    oa_text_init(&text, s->context);
    oa_text_printf(&text, "run             ");
    oa_name_add(&text, s->out);
    oa_text_printf(&text, "\nfrom            ");
    oa_name_add(&text, s->run);
    oa_text_printf(&text, "\nattention       ");
    oa_name_add(&text, s->to->options.model_attention);
    oa_text_printf(&text, "\n");
    add_others_text(s, &text);
    oa_text_printf(&text, "\nParameters of attention, layer by layer:\n\n");
    oa_table_init(&table, s->context, columns, 5);
    visit_layers(s, &table, add_layer_row);
    oa_table_text(&table, 0, &text);
    oa_table_free(&table);
    return oa_emit(output, &text);
}

static void append_layer_json(const struct swapping *s, void *argument, const struct kept_layer *k)
{
    oa_context *c = s->context;
    json_t *initialised = json_array();
    struct oa_text attention;
    oa_text_init(&attention, c);
    print_layer_attention(k->layer, &attention);
    for (int i = 0; i < s->transfer.count; i++) {
        const struct oa_fitting *f = &s->transfer.item[i];
        if (strncmp(f->to->name, k->prefix, strlen(k->prefix)) == 0 && !kept_whole(f))
            oa_json_append(c, initialised,
                           json_pack("{s:s, s:s, s:f, s:I}", "tensor", f->to->name, "because",
                                     kept_reason(f), "kept", kept_numbers(f), "of",
                                     (json_int_t)f->to->count));
    }
    oa_json_append(c, argument,
                   json_pack("{s:s, s:s, s:f, s:f, s:o}", "layer", k->name, "attention",
                             attention.s ? attention.s : "", "kept", k->kept, "of", k->all,
                             "initialised", initialised));
    oa_text_free(&attention);
}

static enum oa_error report_swap_json(const struct swapping *s, const struct oa_output *output)
{
    oa_context *c = s->context;
    struct oa_text text;
    json_t *layers = json_array(), *left = json_array();
    oa_text_init(&text, c);
    visit_layers(s, layers, append_layer_json);
    for (int i = 0; i < s->transfer.from->store.count; i++)
        if (!swap_takes(&s->transfer, s->transfer.from->store.parameter[i]))
            oa_json_append(c, left, json_string(s->transfer.from->store.parameter[i]->name));
    oa_json_add(&text,
                json_pack("{s:o, s:o, s:s, s:i, s:i, s:o, s:o}", "run", oa_json_name(c, s->out),
                          "from", oa_json_name(c, s->run), "attention",
                          s->to->options.model_attention, "tensors_taken", s->transfer.taken,
                          "tensors", s->transfer.count, "left_behind", left, "layers", layers));
    return oa_emit(output, &text);
}

enum oa_error oa_swap(oa_context *c, const char *run, const char *attention, const char *out,
                      const struct oa_output *output)
{
    struct swapping s = { .context = c, .run = run, .out = out };
    OA_TRY(oa_status(c));
    enum oa_error e = swap_make(&s, attention);
    if (e == OA_OK)
        e = oa_wants_json(output) ? report_swap_json(&s, output) : report_swap_text(&s, output);
    oa_transfer_free(&s.transfer);
    oa_model_close(s.to);
    oa_trained_close(&s.from);
    return e;
}
