/* SPDX-License-Identifier: Apache-2.0 */
#include "model/transfer_heads.h"

#include <string.h>

static const char *const fit_reason[OA_FITS] = { [OA_FIT_ALL] = "taken",
                                                 [OA_FIT_ROWS] = "taken in part",
                                                 [OA_FIT_HEADS] = "taken by head",
                                                 [OA_FIT_MISSING] = "not there",
                                                 [OA_FIT_STACK] = "there in another stack",
                                                 [OA_FIT_SHAPE] = "of another shape there",
                                                 [OA_FIT_LEARNT] = "frozen here and learnt there",
                                                 [OA_FIT_DRAWN] =
                                                     "frozen, and drawn by another rule there" };

const char *oa_fit_reason(enum oa_fit fit)
{
    return fit_reason[fit];
}

bool oa_fit_takes(enum oa_fit fit)
{
    return fit == OA_FIT_ALL || fit == OA_FIT_ROWS || fit == OA_FIT_HEADS;
}

/* ---- tokens ---- */

/* Both tokenizers have the same tokens with the same ids. */
static bool transfer_same_tokens(const struct oa_transfer *t, const struct oa_tokenizer *from,
                                 const struct oa_tokenizer *to)
{
    if (oa_tokenizer_size(from) != oa_tokenizer_size(to))
        return false;
    for (long i = 0; i < oa_tokenizer_size(to); i++)
        if (t->token[i] != i && oa_tokenizer_piece(to, (int32_t)i))
            return false;
    return true;
}

/* ---- names ---- */

static bool both_stacks(const struct oa_model *m)
{
    return m->form.encoder && m->form.decoder;
}

static const char *only_stack(const struct oa_model *m)
{
    return oa_stack_name(m->form.decoder ? OA_STACK_DECODER : OA_STACK_ENCODER);
}

static bool is_position(const char *name)
{
    return strcmp(name, "position.weight") == 0 || strncmp(name, "rotary.", 7) == 0;
}

/* "position.weight" of a model of one stack is "encoder.position.weight" where there are two. */
static struct oa_parameter *transfer_find_position(const struct oa_transfer *t, const char *name)
{
    char longer[160];
    if (is_position(name) && both_stacks(t->from)) {
        snprintf(longer, sizeof longer, "%s.%.100s", only_stack(t->to), name);
        return oa_store_find(&t->from->store, longer);
    }
    const char *dot = strchr(name, '.');
    if (!dot || !is_position(dot + 1) || both_stacks(t->from))
        return NULL;
    size_t role = (size_t)(dot - name);
    const char *only = only_stack(t->from);
    return strlen(only) == role && memcmp(only, name, role) == 0
               ? oa_store_find(&t->from->store, dot + 1)
               : NULL;
}

static struct oa_parameter *transfer_find(const struct oa_transfer *t, const char *name)
{
    struct oa_parameter *there = oa_store_find(&t->from->store, name);
    if (!there &&
        (strcmp(name, "source_embedding.weight") == 0 || strcmp(name, "output.weight") == 0))
        return oa_store_find(&t->from->store, "embedding.weight");
    return there ? there : transfer_find_position(t, name);
}

/* Whether the other stack has a parameter of this name. */
static bool in_other_stack(const struct oa_transfer *t, const char *name)
{
    static const char *const roles[] = { "encoder.", "decoder." };
    char other[160];
    for (int i = 0; i < 2; i++)
        if (strncmp(name, roles[i], strlen(roles[i])) == 0) {
            snprintf(other, sizeof other, "%s%.140s", roles[1 - i], name + strlen(roles[i]));
            return oa_store_find(&t->from->store, other) != NULL;
        }
    return false;
}

/* ---- matching ---- */

/* Initialised by the same rule. */
static bool same_initialisation(const struct oa_parameter *a, const struct oa_parameter *b)
{
    return a->init == b->init && a->scale == b->scale && a->fill == b->fill &&
           a->expand == b->expand &&
           memcmp(a->fill_argument, b->fill_argument, sizeof a->fill_argument) == 0 &&
           memcmp(a->fill_number, b->fill_number, sizeof a->fill_number) == 0 &&
           strcmp(a->source ? a->source : "", b->source ? b->source : "") == 0;
}

/* Parameters with a row for each token, by tokens; learned positions up to the shorter length. */
static enum oa_fit transfer_fit_rows(const struct oa_transfer *t, struct oa_fitting *f)
{
    const struct oa_parameter *a = f->from, *b = f->to;
    bool positions = b == t->to->positions.table || b == t->to->source_positions.table;
    bool same_rows = a->dims == b->dims && (a->dims == 1 || a->dim[1] == b->dim[1]);
    if (!oa_parameter_is_learned(b) || !oa_parameter_is_learned(a) || a->dims > 2 || !same_rows ||
        !(f->tokens || positions))
        return OA_FIT_SHAPE;
    f->rows = f->tokens ? 0 : oa_min(a->dim[0], b->dim[0]);
    for (long i = 0; f->tokens && i < t->to->vocabulary; i++)
        f->rows += t->token[i] >= 0;
    return f->rows ? OA_FIT_ROWS : OA_FIT_SHAPE;
}

static enum oa_fit transfer_fit(const struct oa_transfer *t, struct oa_fitting *f,
                                bool tokens_alike)
{
    if (!f->from)
        return in_other_stack(t, f->to->name) ? OA_FIT_STACK : OA_FIT_MISSING;
    bool same_shape =
        f->from->dims == f->to->dims &&
        memcmp(f->from->dim, f->to->dim, (size_t)f->to->dims * sizeof *f->to->dim) == 0;
    if (!same_shape || (f->tokens && !tokens_alike))
        return transfer_fit_rows(t, f);
    if (oa_parameter_is_learned(f->to))
        return OA_FIT_ALL;
    if (oa_parameter_is_learned(f->from))
        return OA_FIT_LEARNT;
    return same_initialisation(f->from, f->to) ? OA_FIT_ALL : OA_FIT_DRAWN;
}

enum oa_error oa_transfer_match(const struct oa_model *from, const struct oa_tokenizer *from_tokens,
                                struct oa_model *to, const struct oa_tokenizer *to_tokens,
                                struct oa_transfer *out)
{
    oa_context *c = to->context;
    *out = (struct oa_transfer){ .from = from, .to = to, .count = to->store.count };
    out->item = oa_alloc(c, (size_t)out->count * sizeof *out->item);
    out->token = oa_alloc(c, (size_t)to->vocabulary * sizeof *out->token);
    if (!out->item || !out->token)
        return OA_NO_MEMORY;
    for (long i = 0; i < to->vocabulary; i++) {
        const char *piece =
            i < oa_tokenizer_size(to_tokens) ? oa_tokenizer_piece(to_tokens, (int32_t)i) : NULL;
        out->token[i] = piece ? oa_tokenizer_find(from_tokens, piece) : -1;
    }
    bool alike = transfer_same_tokens(out, from_tokens, to_tokens);
    for (int i = 0; i < out->count; i++) {
        struct oa_fitting *f = &out->item[i];
        f->to = to->store.parameter[i];
        f->tokens = f->to == to->embedding || f->to == to->source_embedding ||
                    (to->form.output == OA_OUTPUT_TOKENS &&
                     (f->to == to->output || f->to == to->output_bias));
        f->from = transfer_find(out, f->to->name);
        f->fit = transfer_fit(out, f, alike);
    }
    oa_transfer_match_heads(out);
    for (int i = 0; i < out->count; i++)
        out->taken += oa_fit_takes(out->item[i].fit);
    return OA_OK;
}

void oa_transfer_free(struct oa_transfer *t)
{
    oa_free(t->item);
    oa_free(t->token);
    *t = (struct oa_transfer){ 0 };
}

/* ---- copying ---- */

static void transfer_copy_rows(const struct oa_transfer *t, const struct oa_fitting *f, size_t real,
                               const char *from, char *to)
{
    size_t row = (f->to->dims == 1 ? 1 : (size_t)f->to->dim[1]) * real;
    for (long i = 0; i < f->to->dim[0]; i++) {
        long j = f->tokens ? t->token[i] : i < f->rows ? i : -1;
        if (j >= 0)
            memcpy(to + (size_t)i * row, from + (size_t)j * row, row);
    }
}

static void transfer_copy_heads(const struct oa_transfer *t, const struct oa_fitting *f,
                                size_t real, char *to)
{
    long rows = oa_fitting_part_rows(f), first = 0;
    size_t row = (size_t)(f->to->count / f->to->dim[0]) * real;
    for (long i = 0; i < oa_fitting_parts(f); i++) {
        const struct oa_parameter *p = oa_fitting_source(f, i, &first);
        struct oa_view v;
        const char *from =
            p ? oa_view_open(&v, t->from->device, p->value, (size_t)p->count * real, OA_VIEW_READ)
              : NULL;
        if (from)
            memcpy(to + (size_t)(i * rows) * row, from + (size_t)first * row, (size_t)rows * row);
        if (p)
            oa_view_close(&v);
    }
}

static void transfer_copy_values(const struct oa_transfer *t, const struct oa_fitting *f)
{
    struct oa_device *d = t->to->device;
    size_t real = d->numbers.real_size;
    struct oa_view a, b;
    const char *from = oa_view_open(&a, t->from->device, f->from->value,
                                    (size_t)f->from->count * real, OA_VIEW_READ);
    char *to = oa_view_open(&b, d, f->to->value, (size_t)f->to->count * real,
                            OA_VIEW_READ | OA_VIEW_WRITE);
    if (from && to && f->fit == OA_FIT_ALL)
        memcpy(to, from, (size_t)f->to->count * real);
    else if (from && to && f->fit == OA_FIT_HEADS)
        transfer_copy_heads(t, f, real, to);
    else if (from && to)
        transfer_copy_rows(t, f, real, from, to);
    oa_view_close(&a);
    oa_view_close(&b);
}

void oa_transfer_seeds(const struct oa_transfer *t)
{
    for (int i = 0; i < t->count; i++)
        if (t->item[i].fit == OA_FIT_ALL)
            t->item[i].to->seed = t->item[i].from->seed;
}

enum oa_error oa_transfer_copy(const struct oa_transfer *t)
{
    for (int i = 0; i < t->count; i++)
        if (oa_fit_takes(t->item[i].fit))
            transfer_copy_values(t, &t->item[i]);
    oa_transfer_seeds(t);
    oa_store_refresh_all(&t->to->store);
    return oa_status(t->to->context);
}
