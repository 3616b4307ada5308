/* SPDX-License-Identifier: Apache-2.0
 * The input tensors of an `orthant attend` file (orthant attend --help), with checks of shapes,
 * types, lengths, word numbers and, outside of padding, finite values. */
#include "attend/attend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool oa_attend_is_input(const char *name)
{
    static const char *const names[] = { "x", "memory", "dy", "lengths", "word_ids" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

long oa_attend_key_length(const struct oa_attend_run *a, long b)
{
    return a->lengths ? a->lengths[b] : a->keys;
}

long oa_attend_query_length(const struct oa_attend_run *a, long b)
{
    return a->lengths && !a->memory ? a->lengths[b] : a->queries;
}

/* ---- shapes ---- */

void oa_attend_print_sizes(int dims, const long *dim, char *out, size_t size)
{
    size_t n = 0;
    out[0] = 0;
    for (int i = 0; i < dims && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, dim[i] < 0 ? "%sat least %ld" : "%s%ld",
                              i ? ", " : "", labs(dim[i]));
}

/* Finds the tensor `name`, NULL if absent; −1 in dim accepts any size from 1. */
static enum oa_error find_input(const struct oa_attend_run *a, const char *name, int dims,
                                const long *dim, const char *shape, bool integers,
                                const struct oa_array **out)
{
    const struct oa_array *t = oa_tensors_find(a->file, name);
    *out = t;
    if (!t)
        return OA_OK;
    bool is_integer = t->type == OA_I32 || t->type == OA_I64;
    bool is_real = t->type == OA_F32 || t->type == OA_F64 || t->type == OA_BF16;
    if (!(integers ? is_integer : is_real))
        return oa_fail(a->context, OA_SHAPE, "%s: tensor %s is of type %s; expected %s",
                       a->options->in, t->name, oa_type_name(t->type),
                       integers ? "I32" : "F32, F64 or BF16");
    bool fits = t->dims == dims;
    for (int i = 0; fits && i < dims; i++)
        fits = dim[i] < 0 ? t->dim[i] >= 1 : t->dim[i] == dim[i];
    if (fits)
        return OA_OK;
    char found[160], wanted[160];
    oa_attend_print_sizes(t->dims, t->dim, found, sizeof found);
    oa_attend_print_sizes(dims, dim, wanted, sizeof wanted);
    return oa_fail(a->context, OA_SHAPE, "%s: tensor %s is [%s]; expected %s = [%s]",
                   a->options->in, name, found, shape, wanted);
}

static enum oa_error find_input_rows(struct oa_attend_run *a)
{
    OA_TRY(find_input(a, "x", 3, (const long[]){ -1, -1, -1 }, "[B, n, d]", false, &a->x));
    if (!a->x)
        return oa_fail(a->context, OA_SHAPE, "%s: tensor x is missing; expected x [B, n, d]",
                       a->options->in);
    a->batch = a->x->dim[0];
    a->queries = a->keys = a->x->dim[1];
    a->width = a->x->dim[2];
    OA_TRY(find_input(a, "memory", 3, (const long[]){ a->batch, -1, a->width }, "[B, m, d]", false,
                      &a->memory));
    if (a->memory)
        a->keys = a->memory->dim[1];
    return find_input(a, "dy", 3, (const long[]){ a->batch, a->queries, a->width }, "[B, n, d]",
                      false, &a->dy);
}

/* ---- lengths and words ---- */

static int32_t *copy_integer_tensor(struct oa_attend_run *a, const struct oa_array *t, long count)
{
    int32_t *out = oa_arena_take(&a->arena, (size_t)count * sizeof *out);
    for (long i = 0; out && i < count; i++) {
        double value = oa_array_value(t, (size_t)i);
        out[i] = value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : (int32_t)value;
    }
    return out;
}

static enum oa_error read_input_lengths(struct oa_attend_run *a)
{
    const struct oa_array *t;
    OA_TRY(find_input(a, "lengths", 1, (const long[]){ a->batch }, "[B]", true, &t));
    a->lengths = t ? copy_integer_tensor(a, t, a->batch) : NULL;
    for (long b = 0; a->lengths && b < a->batch; b++) {
        if (a->lengths[b] < 0 || a->lengths[b] > a->keys)
            return oa_fail(a->context, OA_SHAPE,
                           "%s: lengths[%ld] is %d; expected 0 to %ld, the length of %s",
                           a->options->in, b, a->lengths[b], a->keys, a->memory ? "memory" : "x");
    }
    return oa_status(a->context);
}

/* Word numbers start at 0 and increase by 0 or 1 from token to token. */
static enum oa_error read_input_words(struct oa_attend_run *a)
{
    OA_TRY(find_input(a, "word_ids", 2, (const long[]){ a->batch, a->queries }, "[B, n]", true,
                      &a->word_ids));
    a->words = a->word_ids ? copy_integer_tensor(a, a->word_ids, a->batch * a->queries) : NULL;
    for (long b = 0; a->words && b < a->batch; b++) {
        const int32_t *row = a->words + b * a->queries;
        for (long i = 0; i < oa_attend_query_length(a, b); i++) {
            int32_t low = i ? row[i - 1] : 0, high = i ? row[i - 1] + 1 : 0;
            if (row[i] < low || row[i] > high)
                return oa_fail(a->context, OA_SHAPE,
                               "%s: word_ids[%ld, %ld] is %d; word numbers must start at 0 and "
                               "increase by 0 or 1",
                               a->options->in, b, i, row[i]);
        }
    }
    return oa_status(a->context);
}

/* ---- numbers ---- */

static enum oa_error check_input_is_finite(const struct oa_attend_run *a, const struct oa_array *t,
                                           long rows, bool keys)
{
    for (long b = 0; t && b < a->batch; b++) {
        long real = keys ? oa_attend_key_length(a, b) : oa_attend_query_length(a, b);
        for (long i = 0; i < real * a->width; i++) {
            if (!isfinite(oa_array_value(t, (size_t)(b * rows * a->width + i))))
                return oa_fail(a->context, OA_DIVERGED,
                               "%s: %s[%ld, %ld, %ld] is not finite and not padding",
                               a->options->in, t->name, b, i / a->width, i % a->width);
        }
    }
    return OA_OK;
}

static enum oa_error read_head_count(struct oa_attend_run *a)
{
    const char *text = oa_tensors_metadata(a->file, "heads");
    char *end = "";
    a->heads = a->options->heads ? a->options->heads : text ? strtol(text, &end, 10) : 0;
    if (a->heads >= 1 && a->heads <= 65536 && *end == 0)
        return OA_OK;
    if (!text && !a->options->heads)
        return oa_fail(a->context, OA_ARGUMENT,
                       "%s: number of heads missing: set --heads, or the metadata key heads",
                       a->options->in);
    return oa_fail(a->context, OA_ARGUMENT, "%s: the number of heads is %s; expected 1 to 65536",
                   a->options->in, a->options->heads ? "out of range" : text);
}

enum oa_error oa_attend_read(struct oa_attend_run *a)
{
    OA_TRY(oa_tensors_open(a->context, a->options->in, &a->file));
    OA_TRY(read_head_count(a));
    OA_TRY(find_input_rows(a));
    OA_TRY(read_input_lengths(a));
    OA_TRY(read_input_words(a));
    OA_TRY(check_input_is_finite(a, a->x, a->queries, false));
    OA_TRY(check_input_is_finite(a, a->memory, a->keys, true));
    return check_input_is_finite(a, a->dy, a->queries, false);
}
