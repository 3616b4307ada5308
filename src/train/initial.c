/* SPDX-License-Identifier: Apache-2.0 */
#include "train/initial.h"

#include "base/json_write.h"
#include "model/pretrained.h"
#include "model/transfer_heads.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

/* Tensors of an embedding fit whenever the widths do, so that nothing fits where these differ. */
static enum oa_error check_any_fits(const struct oa_initial *i)
{
    const struct oa_options *from = &i->from->options, *to = &i->transfer.to->options;
    if (i->transfer.taken)
        return OA_OK;
    return oa_fail(
        i->transfer.to->context, OA_ARGUMENT,
        "train.init = %s: none of its tensors fits this model: model.width, model.layers and "
        "model.heads are %ld, %ld, %ld there and %ld, %ld, %ld here; give the options model.* of "
        "that run",
        to->train_init, from->model_width, from->model_layers, from->model_heads, to->model_width,
        to->model_layers, to->model_heads);
}

enum oa_error oa_initial_open(struct oa_model *to, const struct oa_workload *w, bool values,
                              struct oa_initial *out)
{
    struct oa_pretrained start;
    *out = (struct oa_initial){ 0 };
    OA_TRY(oa_pretrained_find(to->context, to->options.train_init, &start));
    OA_TRY(oa_pretrained_tokenizer(to->context, &start, &out->tokenizer));
    OA_TRY(values ? oa_pretrained_open(to->device, &start, out->tokenizer, &out->from)
                  : oa_pretrained_describe(to->device, &start, &out->from));
    OA_TRY(oa_transfer_match(out->from, out->tokenizer, to, w->tokenizer, &out->transfer));
    return check_any_fits(out);
}

void oa_initial_close(struct oa_initial *i)
{
    oa_transfer_free(&i->transfer);
    oa_model_close(i->from);
    oa_tokenizer_close(i->tokenizer);
    *i = (struct oa_initial){ 0 };
}

/* ---- the folder of the new run ---- */

enum oa_error oa_initial_check(oa_context *c, const struct oa_options *o, const char *folder)
{
    char *from = o->train_init[0] ? realpath(o->train_init, NULL) : NULL,
         *to = realpath(folder, NULL);
    size_t n = to ? strlen(to) : 0;
    bool inside = from && to && strncmp(from, to, n) == 0 && (from[n] == 0 || from[n] == '/');
    free(from);
    free(to);
    if (!inside)
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT,
                   "train.init = %s is in %s, the folder of the new run: give another --out",
                   o->train_init, folder);
}

/* ---- notices ---- */

static int count_fit(const struct oa_transfer *t, enum oa_fit fit)
{
    int count = 0;
    for (int i = 0; i < t->count; i++)
        count += t->item[i].fit == fit;
    return count;
}

/* "a.weight, b.weight (not there)", or their number where they are many. */
static void add_fit_group(const struct oa_transfer *t, enum oa_fit fit, const char *before,
                          struct oa_text *out)
{
    enum { FEW = 4 };
    const char *comma = before;
    int count = count_fit(t, fit);
    if (count > FEW)
        oa_text_printf(out, "%s%d", before, count);
    for (int i = 0; i < t->count && count <= FEW; i++)
        if (t->item[i].fit == fit) {
            oa_text_printf(out, "%s%s", comma, t->item[i].to->name);
            comma = ", ";
        }
    oa_text_printf(out, " (%s)", oa_fit_reason(fit));
}

static void log_transfer(const struct oa_transfer *t, const char *who)
{
    struct oa_text text;
    const char *before = "; not taken: ";
    oa_text_init(&text, t->to->context);
    oa_text_printf(&text, "%s: %d of %d tensors start with the values of %s", who, t->taken,
                   t->count, t->to->options.train_init);
    for (int i = 0; i < t->count; i++) {
        const struct oa_fitting *f = &t->item[i];
        if (f->fit == OA_FIT_ROWS)
            oa_text_printf(&text, ", of %s %ld of %ld rows", f->to->name, f->rows, f->to->dim[0]);
        else if (f->fit == OA_FIT_HEADS && f->rows < oa_fitting_parts(f))
            oa_text_printf(&text, ", of %s %ld of %ld heads", f->to->name, f->rows,
                           oa_fitting_parts(f));
    }
    for (enum oa_fit fit = OA_FIT_MISSING; fit < OA_FITS; fit++)
        if (count_fit(t, fit)) {
            add_fit_group(t, fit, before, &text);
            before = "; ";
        }
    if (text.s)
        oa_log(t->to->context, 0, "%s", text.s);
    oa_text_free(&text);
}

/* Options that change the function of a tensor and not its shape. */
static void log_model_differences(const struct oa_initial *i)
{
    static const char *const keys[] = { "model.heads", "model.position", "model.norm",
                                        "model.scale_embedding", "model.head" };
    oa_context *c = i->transfer.to->context;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        struct oa_option_pair value;
        oa_option_pair_open(c, &i->from->options, &i->transfer.to->options, keys[k], &value);
        if (value.differ)
            oa_log(c, 0,
                   "%s was trained with %s = %s, but it is %s here: the values were learned for "
                   "another model",
                   i->transfer.to->options.train_init, keys[k], value.a, value.b);
        oa_option_pair_close(&value);
    }
}

static enum oa_error compare_initial(struct oa_model *to, const struct oa_workload *w,
                                     const char *who, struct oa_started *out)
{
    struct oa_initial i;
    enum oa_error e = oa_initial_open(to, w, false, &i);
    if (e == OA_OK) {
        log_transfer(&i.transfer, who);
        log_model_differences(&i);
        *out = (struct oa_started){ i.transfer.taken, i.transfer.count };
    }
    oa_initial_close(&i);
    return e;
}

enum oa_error oa_initial_log(oa_context *c, const struct oa_options *o, const struct oa_workload *w,
                             const char *who, struct oa_started *out)
{
    struct oa_device *d;
    struct oa_model *to = NULL;
    *out = (struct oa_started){ 0 };
    if (!o->train_init[0])
        return OA_OK;
    OA_TRY(oa_device_open(c, o->train_precision, true, &d));
    enum oa_error e = oa_model_describe(d, o, &w->form, &to);
    if (e == OA_OK)
        e = compare_initial(to, w, who, out);
    oa_model_close(to);
    oa_device_close(d);
    return e;
}

/* ---- init.json ---- */

static json_t *taken_json(oa_context *c, const struct oa_fitting *f)
{
    json_t *o = json_pack("{s:s}", "tensor", f->to->name);
    if (strcmp(f->from->name, f->to->name) != 0)
        oa_json_set(c, o, "from", json_string(f->from->name));
    if (f->fit == OA_FIT_ROWS) {
        oa_json_set(c, o, "rows", json_integer(f->rows));
        oa_json_set(c, o, "of", json_integer(f->to->dim[0]));
    }
    if (f->fit == OA_FIT_HEADS) {
        oa_json_set(c, o, "heads", json_integer(f->rows));
        oa_json_set(c, o, "of", json_integer(oa_fitting_parts(f)));
    }
    return o;
}

static json_t *initial_json(const struct oa_transfer *t, const char *run,
                            const struct oa_digest *model)
{
    oa_context *c = t->to->context;
    json_t *taken = json_array(), *left = json_array();
    for (int k = 0; k < t->count; k++) {
        const struct oa_fitting *f = &t->item[k];
        if (f->to->merged)
            continue;
        if (oa_fit_takes(f->fit))
            oa_json_append(c, taken, taken_json(c, f));
        else
            oa_json_append(
                c, left,
                json_pack("{s:s, s:s}", "tensor", f->to->name, "because", oa_fit_reason(f->fit)));
    }
    return json_pack("{s:s, s:o, s:o, s:o}", "from", run, "model",
                     json_sprintf("sha256:%s", model->hex), "taken", taken, "not_taken", left);
}

enum oa_error oa_initial_save(const struct oa_transfer *t, const char *run,
                              const struct oa_digest *model, const char *folder)
{
    oa_context *c = t->to->context;
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, folder, OA_INITIAL_FILE));
    json_t *root = initial_json(t, run, model);
    char *text = oa_json_dump(c, root, JSON_INDENT(1));
    enum oa_error e = oa_status(c);
    if (e == OA_OK)
        e = oa_file_write(c, path, text, strlen(text));
    oa_free(text);
    json_decref(root);
    return e;
}
