/* SPDX-License-Identifier: Apache-2.0
 * What each claim about an attention of another program asks for and compares. */
#include "verify/callable_checks.h"

#include "base/permutation.h"

#include <math.h>
#include <string.h>

/* Largest difference of two results that must be equal, relative to the largest element: float32,
 * float64, and of one with the other. */
static const double equal_bound[] = { 2e-4, 1e-9 };
#define MIXED_BOUND 1e-3
#define GRADIENT_BOUND 1e-5
#define STEP 1e-5 /* of central differences */
#define LOUD 1e3  /* the factor of tokens that must not be seen */

/* ---- arguments ---- */

static double rounded(double x, bool is_double)
{
    return is_double ? x : (double)(float)x;
}

/* Normally distributed numbers of the precision; NULL: no memory. */
static double *draw(struct oa_claim_check *s, size_t count, bool is_double, double factor)
{
    double *out = oa_arena_take(&s->arena, count * sizeof *out);
    for (size_t i = 0; out && i < count; i++)
        out[i] = rounded(factor * oa_claim_normal(s), is_double);
    return out;
}

static struct oa_callable_call new_call(struct oa_claim_check *s, bool is_double, long tokens)
{
    const struct oa_callable *f = s->f;
    bool heads = f->arrays == 3;
    struct oa_callable_call call = { .is_double = is_double,
                                     .arrays = f->arrays,
                                     .batch = f->batch,
                                     .heads = heads ? f->heads : 1,
                                     .tokens = tokens,
                                     .width = heads ? f->width / f->heads : f->width };
    for (int i = 0; i < f->arrays; i++)
        call.input[i] = draw(s, oa_call_elements(&call), is_double, 1);
    return call;
}

/* Sequence b alone, of its first `tokens`. */
static struct oa_callable_call one_sequence(struct oa_claim_check *s,
                                            const struct oa_callable_call *all, long b, long tokens)
{
    struct oa_callable_call call = *all;
    size_t row = (size_t)all->width, part = (size_t)tokens * row;
    call.batch = 1;
    call.tokens = tokens;
    for (int i = 0; i < all->arrays; i++) {
        double *to = oa_arena_take(&s->arena, oa_call_elements(&call) * sizeof *to);
        for (long h = 0; to && h < all->heads; h++)
            memcpy(to + (size_t)h * part,
                   all->input[i] + (size_t)((b * all->heads + h) * all->tokens) * row,
                   part * sizeof *to);
        call.input[i] = to;
    }
    return call;
}

/* The same with other tokens from `first` on. */
static struct oa_callable_call replace_tokens(struct oa_claim_check *s,
                                              const struct oa_callable_call *all, long first,
                                              double factor)
{
    struct oa_callable_call call = *all;
    size_t count = oa_call_elements(all), row = (size_t)all->width;
    for (int i = 0; i < all->arrays; i++) {
        double *to = draw(s, count, all->is_double, factor);
        for (size_t r = 0; to && r < count / row; r++) {
            if ((long)(r % (size_t)all->tokens) < first)
                memcpy(to + r * row, all->input[i] + r * row, row * sizeof *to);
        }
        call.input[i] = to;
    }
    return call;
}

/* ---- comparing ---- */

struct row_difference {
    double error; /* relative to the largest element; infinite: not comparable */
    long row;
    bool finite; /* the expected value is */
    const char *name;
};

/* y of the first `count` tokens of `found` and of `expected`, of which sequence b is sequence 0 of
 * `found`. order: NULL, or of each token of `found` the one of `expected`. */
static struct row_difference largest_row_error(const struct oa_callable_call *found,
                                               const struct oa_callable_call *expected, long b,
                                               long count, const long *order)
{
    struct row_difference d = { .error = -1, .finite = true, .name = expected->name };
    double size = 1e-6;
    for (int pass = 0; pass < 2; pass++) {
        for (long i = 0; i < found->batch * found->heads * count * found->width; i++) {
            long column = i % found->width, t = i / found->width % count,
                 outer = i / found->width / count, from = order ? order[t] : t;
            double y = found->y[(outer * found->tokens + t) * found->width + column];
            double want =
                expected->y[((b * found->heads + outer) * expected->tokens + from) * found->width +
                            column];
            double apart = fabs(y - want) / size;
            if (pass == 0) {
                size = isfinite(want) ? fmax(size, fabs(want)) : size;
            } else if (isnan(apart) || apart > d.error) {
                d = (struct row_difference){ isnan(apart) ? INFINITY : apart, t, isfinite(want),
                                             d.name };
                if (isinf(d.error))
                    return d;
            }
        }
    }
    return d;
}

/* Is it comparable? Otherwise notes that the expected result is not finite. */
static bool is_finite(struct oa_claim_check *s, const struct row_difference *d, double bound)
{
    if (!d->finite)
        oa_claim_note(s, INFINITY, bound, "a result is not finite, in row %ld%s%s", d->row,
                      d->name[0] ? " of y in " : "", d->name);
    return d->finite;
}

/* ---- claims ---- */

/* Calls check for both precisions and all lengths. */
static void each_case(struct oa_claim_check *s,
                      void (*check)(struct oa_claim_check *s, const struct oa_callable_call *call,
                                    double bound))
{
    for (int is_double = 1; is_double >= 0; is_double--) {
        for (int i = 0; i < s->f->lengths && oa_status(s->context) == OA_OK; i++) {
            struct oa_callable_call call = new_call(s, is_double, s->f->tokens[i]);
            check(s, &call, equal_bound[is_double]);
        }
    }
}

static void pure_case(struct oa_claim_check *s, const struct oa_callable_call *call, double bound)
{
    (void)bound;
    const struct oa_callable_call *done = oa_claim_call(s, call, 0);
    if (done)
        oa_claim_note(s, done->changed, 0.5, "an argument of %ld tokens was changed in place",
                      call->tokens);
}

static void check_pure(struct oa_claim_check *s)
{
    each_case(s, pure_case);
}

static void deterministic_case(struct oa_claim_check *s, const struct oa_callable_call *call,
                               double bound)
{
    const struct oa_callable_call *first = oa_claim_call(s, call, 0),
                                  *again = oa_claim_call(s, call, 0),
                                  *later = oa_claim_call(s, call, 1);
    size_t bytes = oa_call_elements(call) * sizeof(double);
    if (!s->judging)
        return;
    struct row_difference d = largest_row_error(first, first, 0, first->tokens, NULL);
    if (!is_finite(s, &d, bound))
        return;
    oa_claim_note(s, memcmp(first->y, again->y, bytes) != 0, 0.5,
                  "two calls with the same %ld tokens differ", call->tokens);
    oa_claim_note(s, memcmp(first->y, later->y, bytes) != 0, 0.5,
                  "two runs with the same %ld tokens differ", call->tokens);
}

static void check_deterministic(struct oa_claim_check *s)
{
    each_case(s, deterministic_case);
}

static void note_type(struct oa_claim_check *s, const struct oa_callable_call *done)
{
    const char *type = done->is_double ? "float64" : "float32";
    if (!done->why[0])
        oa_claim_note(s, strcmp(done->type, type) != 0, 0.5, "%s gives a result of %s", type,
                      done->type);
}

static void check_dtype(struct oa_claim_check *s)
{
    for (int i = 0; i < s->f->lengths; i++) {
        struct oa_callable_call call = new_call(s, false, s->f->tokens[i]);
        const struct oa_callable_call *coarse = oa_claim_call(s, &call, 0);
        call.is_double = 1;
        const struct oa_callable_call *fine = oa_claim_call(s, &call, 0);
        if (!s->judging)
            continue;
        note_type(s, coarse);
        note_type(s, fine);
        struct row_difference d = largest_row_error(coarse, fine, 0, call.tokens, NULL);
        if (is_finite(s, &d, MIXED_BOUND))
            oa_claim_note(s, d.error, MIXED_BOUND, "row %ld in float32 is not that in float64",
                          d.row);
    }
}

static void batch_case(struct oa_claim_check *s, const struct oa_callable_call *call, double bound)
{
    const struct oa_callable_call *whole = oa_claim_call(s, call, 0);
    for (long b = 0; b < call->batch; b++) {
        struct oa_callable_call one = one_sequence(s, call, b, call->tokens);
        const struct oa_callable_call *alone = oa_claim_call(s, &one, 0);
        if (!s->judging)
            continue;
        struct row_difference d = largest_row_error(alone, whole, b, call->tokens, NULL);
        if (is_finite(s, &d, bound))
            oa_claim_note(s, d.error, bound,
                          "row %ld of sequence %ld of %ld differs alone and in a batch", d.row, b,
                          call->batch);
    }
}

static void check_batch(struct oa_claim_check *s)
{
    each_case(s, batch_case);
}

static void causal_case(struct oa_claim_check *s, const struct oa_callable_call *call, double bound)
{
    const struct oa_callable_call *whole = oa_claim_call(s, call, 0);
    if (s->judging) {
        struct row_difference itself = largest_row_error(whole, whole, 0, 1, NULL);
        is_finite(s, &itself, bound);
    }
    for (int loud = 0; loud < 2; loud++) {
        for (long first = 1; first < call->tokens; first++) {
            struct oa_callable_call other = replace_tokens(s, call, first, loud ? LOUD : 1);
            const struct oa_callable_call *done = oa_claim_call(s, &other, 0);
            if (!s->judging)
                continue;
            struct row_difference d = largest_row_error(done, whole, 0, first, NULL);
            if (is_finite(s, &d, bound))
                oa_claim_note(s, d.error, bound, "row %ld changes with the tokens from %ld on%s",
                              d.row, first, loud ? ", if these are large" : "");
        }
    }
}

static void check_causal(struct oa_claim_check *s)
{
    each_case(s, causal_case);
}

/* Sequence b of n tokens, padded, against the sequence without its padding. */
static void check_padded_sequence(struct oa_claim_check *s, const struct oa_callable_call *call,
                                  const struct oa_callable_call *whole, long b, double bound)
{
    long n = call->lengths[b];
    struct oa_callable_call one = one_sequence(s, call, b, call->tokens),
                            cut = one_sequence(s, call, b, n);
    one.lengths = cut.lengths = call->lengths + b;
    const struct oa_callable_call *alone = oa_claim_call(s, &cut, 0);
    if (s->judging) {
        struct row_difference d = largest_row_error(alone, whole, b, n, NULL);
        if (is_finite(s, &d, bound))
            oa_claim_note(s, d.error, bound,
                          "row %ld of a sequence of %ld tokens padded to %ld is not that without "
                          "padding",
                          d.row, n, call->tokens);
    }
    for (int loud = 0; loud < 2; loud++) {
        struct oa_callable_call other = replace_tokens(s, &one, n, loud ? LOUD : 1);
        const struct oa_callable_call *done = oa_claim_call(s, &other, 0);
        if (!s->judging)
            continue;
        struct row_difference d = largest_row_error(done, alone, 0, n, NULL);
        if (is_finite(s, &d, bound))
            oa_claim_note(s, d.error, bound,
                          "row %ld of a sequence of %ld tokens padded to %ld changes with the "
                          "padding",
                          d.row, n, call->tokens);
    }
}

static void padding_case(struct oa_claim_check *s, const struct oa_callable_call *call,
                         double bound)
{
    struct oa_callable_call padded = *call;
    int32_t *lengths = oa_arena_take(&s->arena, (size_t)call->batch * sizeof *lengths);
    if (!lengths)
        return;
    for (long b = 0; b < call->batch; b++)
        lengths[b] = 1 + (int32_t)oa_claim_below(s, b ? call->tokens : oa_max(1, call->tokens - 1));
    padded.lengths = lengths;
    const struct oa_callable_call *whole = oa_claim_call(s, &padded, 0);
    for (long b = 0; b < call->batch; b++)
        check_padded_sequence(s, &padded, whole, b, bound);
}

static void check_padding(struct oa_claim_check *s)
{
    each_case(s, padding_case);
}

static void permutation_case(struct oa_claim_check *s, const struct oa_callable_call *call,
                             double bound)
{
    struct oa_callable_call moved = *call;
    struct oa_stream stream = oa_stream_child(s->stream, s->drawn++);
    size_t count = oa_call_elements(call), row = (size_t)call->width;
    long order[256];
    for (long t = 0; t < call->tokens; t++)
        order[t] = (long)oa_permuted(stream, (uint64_t)t, (uint64_t)call->tokens);
    for (int i = 0; i < call->arrays; i++) {
        double *to = oa_arena_take(&s->arena, count * sizeof *to);
        for (size_t r = 0; to && r < count / row; r++) {
            size_t t = r % (size_t)call->tokens;
            memcpy(to + r * row, call->input[i] + (r - t + (size_t)order[t]) * row,
                   row * sizeof *to);
        }
        moved.input[i] = to;
    }
    const struct oa_callable_call *whole = oa_claim_call(s, call, 0),
                                  *done = oa_claim_call(s, &moved, 0);
    if (!s->judging)
        return;
    for (long b = 0; b < call->batch; b++) {
        struct oa_callable_call part = *done;
        part.batch = 1;
        part.y += (size_t)b * count / (size_t)call->batch;
        struct row_difference d = largest_row_error(&part, whole, b, call->tokens, order);
        if (is_finite(s, &d, bound))
            oa_claim_note(s, d.error, bound, "row %ld does not move with its token", d.row);
    }
}

static void check_permutation(struct oa_claim_check *s)
{
    each_case(s, permutation_case);
}

/* All values of a head are equal: an average of them is that value. */
static void average_case(struct oa_claim_check *s, const struct oa_callable_call *call,
                         double bound)
{
    struct oa_callable_call flat = *call;
    size_t count = oa_call_elements(call), row = (size_t)call->width,
           head = row * (size_t)call->tokens;
    double *to = oa_arena_take(&s->arena, count * sizeof *to);
    for (size_t i = 0; to && i < count; i++)
        to[i] = call->input[2][i - i % head + i % row];
    flat.input[2] = to;
    const struct oa_callable_call *done = oa_claim_call(s, &flat, 0);
    if (!s->judging)
        return;
    struct oa_callable_call values = flat;
    values.y = to;
    struct row_difference d = largest_row_error(done, &values, 0, call->tokens, NULL);
    oa_claim_note(s, d.error, bound, "row %ld is not the value that all of its keys have", d.row);
}

static void check_average(struct oa_claim_check *s)
{
    each_case(s, average_case);
}

static void decoding_case(struct oa_claim_check *s, const struct oa_callable_call *call,
                          double bound)
{
    struct oa_callable_call steps = *call;
    steps.mode = OA_CALL_STEPS;
    const struct oa_callable_call *whole = oa_claim_call(s, call, 0),
                                  *done = oa_claim_call(s, &steps, 1);
    if (!s->judging)
        return;
    struct row_difference d = largest_row_error(done, whole, 0, call->tokens, NULL);
    if (is_finite(s, &d, bound))
        oa_claim_note(s, d.error, bound,
                      "token %ld of %ld decoded is not its row of the whole sequence", d.row,
                      call->tokens);
}

static void check_decoding(struct oa_claim_check *s)
{
    each_case(s, decoding_case);
}

static double product(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Along a random direction of the tokens `at` of argument i. */
static void check_slope(struct oa_claim_check *s, const struct oa_callable_call *call,
                        const double *dy, const double *gradient, int i, long at)
{
    size_t count = oa_call_elements(call), row = (size_t)call->width;
    double *direction = draw(s, count, true, 1), value[2] = { 0 };
    if (!direction)
        return;
    for (size_t r = 0; r < count / row; r++) {
        if ((long)(r % (size_t)call->tokens) != at)
            memset(direction + r * row, 0, row * sizeof *direction);
    }
    for (int side = 0; side < 2; side++) {
        struct oa_callable_call moved = *call;
        double *to = oa_arena_take(&s->arena, count * sizeof *to);
        for (size_t k = 0; to && k < count; k++)
            to[k] = call->input[i][k] + (side ? STEP : -STEP) * direction[k];
        moved.input[i] = to;
        const struct oa_callable_call *done = oa_claim_call(s, &moved, 0);
        value[side] = done ? product(dy, done->y, count) : 0;
    }
    if (!s->judging)
        return;
    double numeric = (value[1] - value[0]) / (2 * STEP),
           theirs = product(direction, gradient, count);
    oa_claim_note(s, fabs(numeric - theirs) / fmax(1, fabs(numeric)), GRADIENT_BOUND,
                  "the slope of argument %d at token %ld is %.6g, by central differences %.6g", i,
                  at, theirs, numeric);
}

static void check_gradient(struct oa_claim_check *s)
{
    for (int k = 0; k < s->f->lengths; k++) {
        struct oa_callable_call call = new_call(s, true, s->f->tokens[k]), slopes = call;
        double *dy = draw(s, oa_call_elements(&call), true, 1);
        slopes.mode = OA_CALL_GRADIENT;
        slopes.dy = dy;
        const struct oa_callable_call *theirs = oa_claim_call(s, &slopes, 1);
        for (int i = 0; theirs && dy && i < call.arrays; i++) {
            for (long t = 0; t < call.tokens; t++)
                check_slope(s, &call, dy, theirs->slope[i], i, t);
        }
    }
}

const struct oa_claim oa_claims[] = {
    { "pure", "f leaves its arguments as they are", false, check_pure },
    { "deterministic", "the same arguments give the same bits", false, check_deterministic },
    { "dtype", "float32 and float64 give results of their own type that agree", false,
      check_dtype },
    { "batch", "a sequence has the same result alone and in a batch", false, check_batch },
    { "gradient", "the gradient is that of central differences", false, check_gradient },
    { "causal", "no row depends on later tokens", true, check_causal },
    { "padding", "rows are those of the sequence without its padding", false, check_padding },
    { "permutation", "permuted tokens give permuted rows", false, check_permutation },
    { "average", "rows are averages of the values: weights sum to 1", false, check_average },
    { "decoding", "token by token gives the rows of the whole sequence", true, check_decoding },
};
const int oa_claim_count = sizeof oa_claims / sizeof oa_claims[0];
