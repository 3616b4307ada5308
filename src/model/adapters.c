/* SPDX-License-Identifier: Apache-2.0
 * train.lora: low-rank adapters of the projections of attention (LoRA, Hu et al. 2021, arXiv
 * 2106.09685), W + alpha/r·B A, initially with A normal of variance 1/inputs and B = 0. Files
 * contain the sum. */
#include "model/model.h"

#include <math.h>
#include <string.h>

static bool takes_adapter(const struct oa_parameter *p)
{
    static const char *const ends[] = { ".query.weight", ".key.weight", ".value.weight",
                                        ".output.weight" };
    bool projection = false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        projection |= oa_name_ends(p->name, ends[i]);
    return projection && p->trainable && p->matrix && p->dims == 2 && strstr(p->name, "attention.");
}

/* "….query.weight" becomes "….query.lora_in". */
static struct oa_parameter *add_factor(struct oa_model *m, const struct oa_parameter *w,
                                       const char *end, long rows, long cols)
{
    bool in = strcmp(end, "lora_in") == 0;
    struct oa_parameter p = { .dims = 2,
                              .dim = { rows, cols },
                              .trainable = true,
                              .decay = true,
                              .matrix = true,
                              .merged = true,
                              .init = in ? OA_INIT_NORMAL : OA_INIT_ZERO,
                              .scale = 1 / sqrt((double)cols) };
    snprintf(p.name, sizeof p.name, "%.*s%s", (int)(strlen(w->name) - strlen("weight")), w->name,
             end);
    return oa_store_add(&m->store, &p);
}

enum oa_error oa_model_add_adapters(struct oa_model *m)
{
    long r = m->options.train_lora;
    int count = m->store.count, added = 0;
    if (m->options.train_average > 1)
        return oa_fail(m->context, OA_ARGUMENT,
                       "train.average = %ld cannot be combined with train.lora: the mean of "
                       "products is not the product of means; use 0",
                       (long)m->options.train_average);
    for (int i = 0; i < count; i++) {
        struct oa_parameter *w = m->store.parameter[i];
        if (!takes_adapter(w))
            continue;
        if (r > oa_min(w->dim[0], w->dim[1]))
            return oa_fail(m->context, OA_ARGUMENT,
                           "train.lora = %ld exceeds the rank of %s [%ld, %ld]: use at most %ld", r,
                           w->name, w->dim[0], w->dim[1], oa_min(w->dim[0], w->dim[1]));
        w->adapter.in = add_factor(m, w, "lora_in", r, w->dim[1]);
        w->adapter.out = add_factor(m, w, "lora_out", w->dim[0], r);
        w->adapter.scale = m->options.train_lora_alpha / (double)r;
        added++;
    }
    OA_TRY(oa_status(m->context));
    return added ? OA_OK
                 : oa_fail(m->context, OA_ARGUMENT,
                           "train.lora: the attention \"%s\" has no learned projections to adapt",
                           m->options.model_attention);
}

enum oa_error oa_model_merge_adapter(const struct oa_model *m, const struct oa_parameter *p,
                                     void *out)
{
    const struct oa_parameter *a = p->adapter.in, *b = p->adapter.out;
    struct oa_device *d = m->device;
    size_t real = d->numbers.real_size;
    struct oa_view of_w, of_a, of_b;
    const void *w = oa_view_open(&of_w, d, p->value, (size_t)p->count * real, OA_VIEW_READ),
               *in = oa_view_open(&of_a, d, a->value, (size_t)a->count * real, OA_VIEW_READ),
               *up = oa_view_open(&of_b, d, b->value, (size_t)b->count * real, OA_VIEW_READ);
    long cols = p->dim[1], rank = a->dim[0];
    for (long i = 0; w && in && up && i < p->dim[0]; i++)
        for (long j = 0; j < cols; j++) {
            double sum = 0;
            for (long k = 0; k < rank; k++)
                sum += oa_real_get(d, up, i * rank + k) * oa_real_get(d, in, k * cols + j);
            oa_real_set(d, out, i * cols + j,
                        oa_real_get(d, w, i * cols + j) + p->adapter.scale * sum);
        }
    oa_view_close(&of_w);
    oa_view_close(&of_a);
    oa_view_close(&of_b);
    return oa_status(m->context);
}

static enum oa_error merge_into_place(struct oa_model *m, struct oa_parameter *p)
{
    size_t bytes = (size_t)p->count * m->device->numbers.real_size;
    struct oa_view v;
    void *sum = oa_alloc(m->context, bytes);
    enum oa_error e = sum ? oa_model_merge_adapter(m, p, sum) : OA_NO_MEMORY;
    void *value = e == OA_OK ? oa_view_open(&v, m->device, p->value, bytes, OA_VIEW_WRITE) : NULL;
    if (value)
        memcpy(value, sum, bytes);
    if (e == OA_OK)
        oa_view_close(&v);
    oa_free(sum);
    p->adapter.in = p->adapter.out = NULL;
    return e == OA_OK ? oa_status(m->context) : e;
}

enum oa_error oa_model_merge_adapters(struct oa_model *m)
{
    for (int i = 0; i < m->store.count; i++)
        if (m->store.parameter[i]->adapter.in)
            OA_TRY(merge_into_place(m, m->store.parameter[i]));
    oa_store_refresh_all(&m->store);
    return oa_status(m->context);
}
