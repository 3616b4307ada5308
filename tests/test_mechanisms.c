/* SPDX-License-Identifier: Apache-2.0
 * Every mechanism of the registry with every value of every option, in every mode that it claims: gradients against
 * central differences, causality and padding bit for bit, batch items apart, tables cut to the length, the outputs
 * against the oracles' maps, and what must be refused. */
#include "testing.h"

#include "attention/convolution.h"
#include "attention_case.h"

static oa_context *context;

static int open_context(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .threads = 2 });
    return context ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(context);
    return 0;
}

/* ---- the list of attentions that are tested -----------------------------------------------------------------------
 */

#define MOST 1024
static char specs[MOST][160];
static int spec_count;

static void add_spec(const char *text)
{
    struct oa_spec spec;
    bool valid = oa_spec_parse(context, text, &spec) == OA_OK;
    oa_spec_free(&spec);
    oa_clear_error(context);
    assert_true(spec_count < MOST);
    if (valid)
        snprintf(specs[spec_count++], sizeof specs[0], "%s", text);
}

static void add_values(const struct oa_mechanism *m, const struct oa_argument *a)
{
    char text[160];
    /* the default width of taylor is more than the test's model has for orthonormal columns */
    const char *more = strcmp(m->name, "taylor") == 0 ? "width=4, " : "";
    if (a->kind == OA_VALUE_FLAG)
        snprintf(text, sizeof text, "%s(%s)", m->name, a->key);
    bool divisor = strcmp(a->key, "a") == 0 || strcmp(a->key, "b") == 0; /* of every length */
    bool longest = strcmp(a->key, "length") == 0;                        /* at least the longest sequence */
    if (a->kind == OA_VALUE_INT)
        snprintf(text, sizeof text, "%s(%s=%d)", m->name, a->key, divisor ? 1 : longest ? 80 : 3);
    if (a->kind == OA_VALUE_FLAG || a->kind == OA_VALUE_INT)
        add_spec(text);
    for (const char *w = a->kind == OA_VALUE_CHOICE ? a->choices : ""; *w; w += *w == '|') {
        int n = (int)strcspn(w, "|");
        snprintf(text, sizeof text, "%s(%s%s%s%.*s)", m->name, more, a->key, a->key[0] ? "=" : "", n, w);
        add_spec(text);
        w += n;
    }
}

/* Combinations that single options do not show. */
static const char *const combinations[] = {
    "softmax(tie, temperature, diagonal)",
    "softmax(tie, temperature, scale=jl)",
    "orthogonal(qk=srht, tie, scale=jl, diagonal)",
    "orthogonal(qk=learned, temperature, diagonal)",
    "orthogonal(share=layers)",
    "linear(map=power, degree=3, tie, temperature)",
    "linear(map=relu, qk=haar, scale=jl)",
    "local(window=2, dilation=2, qk=slice)",
    "cosformer(length=80, qk=haar, tie, diagonal)",
    "polynomial(degree=4, bias=1, temperature)",
    "taylor(width=5, tie, scale=jl)",
    "polysketch(sketch=2, qk=srht)",
    "performer(kernel=hyperbolic, draw=iid, features=7)",
    "performer(features=9, ensemble=hd3, qk=givens, temperature)",
    "performer(kernel=smreg, tie):1 | cosformer:1",
    "local(window=1)",
    "dense(input=full, hidden=3, shared, bias)",
    "factorized-dense(b=1, input=full)",
    "factorized-random + factorized-dense",
    "mix(softmax, factorized-random(rank=2), alpha=sigmoid)",
    "mix(factorized-random(rank=2), random, alpha=fixed, weights=0.5/-2)",
    "dense:1 | factorized-dense:1",
    "random(init=normal)",
    "random(frozen, init=uniform, sigma=2)",
    "gaussian(offset=-1, sigma=0.7, renormalise)",
    "gaussian(offset=12.3, renormalise)",
    "gaussian(offset=-30.25, sigma=2, renormalise)",
    "gaussian(offset=0.5, sigma=3)",
    "lightconv(width=1)",
    "lightconv(width=4, glu)",
    "lightconv(width=3, glu, renormalise)",
    "dynamicconv(width=5, glu, renormalise)",
    "dynamicconv(width=3, glu):1 | gaussian:1",
    "lightconv(width=3):1 | dynamicconv(width=9):1",
    "pattern(left, edge=clamp)",
    "pattern(right, edge=self)",
    "pattern(previous, edge=clamp)",
    "pattern(next, edge=self, unit=word)",
    "pattern(left, edge=clamp, unit=word)",
    "pattern(right, unit=word)",
    "pattern(start, unit=word)",
    "pattern(last, unit=word)",
    "random + softmax",
    "dense + random(frozen, init=normal) + orthogonal(temperature)",
    "mix(softmax(tie), dense(bias), alpha=sigmoid)",
    "mix(softmax, random, alpha=sum)",
    "mix(random, softmax, alpha=fixed, weights=0.3/-0.7)",
    "local(window=2):1 | linear:1",
    "dense:1 | mix(softmax, dense(shared), alpha=sigmoid):1",
    "orthogonal(qk=slice):1 | pattern(previous):1",
    "sparse(fixed, stride=3, summary=2)",
    "sparse(fixed, stride=3, heads=split, qk=haar)",
    "sparse(stride=2, tie, temperature):1 | block-local(size=2):1",
    "longformer(window=1, global=2, tie, temperature, diagonal)",
    "longformer(window=1, global=9)",
    "longformer(window=2, qk=slice, scale=jl):1 | softmax:1",
    "block-sparse(block=2, from=local)",
    "block-sparse(block=2, from=fixed, scale=jl)",
    "bigbird(block=1, random=1, window=1)",
    "bigbird(block=2, random=1, window=1, global=1):1 | softmax:1",
    "linformer(rank=3, share=heads, temperature)",
    "linformer(rank=2, share=kv, tie)",
    "linformer(rank=3, qk=haar, scale=jl):1 | gaussian:1",
    "mixer(hidden=9, value)",
    "lightconv(width=3, glu):1 | mixer(hidden=5):1",
    "mixer:1 | mixer(value):1",
    "softmax:1 | dense:1",
};

static int collect(void **state)
{
    if (open_context(state))
        return -1;
    const struct oa_mechanism *m;
    for (int i = 0; (m = oa_mechanism_at(i)); i++) {
        add_spec(m->name);
        for (const struct oa_argument *a = m->arguments; a->key; a++)
            add_values(m, a);
    }
    for (size_t i = 0; i < sizeof combinations / sizeof combinations[0]; i++)
        add_spec(combinations[i]);
    return 0;
}

/* Opens a case, or says that the combination is refused, which must be for a mode that is not claimed or a check. Even
 * widths of convolutions exist in causal layers only. */
static bool open_case(const char *spec, enum attention_mode mode, struct attention_setup setup,
                      struct attention_case *a)
{
    setup.spec = spec;
    setup.mode = mode;
    enum oa_error e = attention_open(context, &setup, a);
    if (e == OA_OK)
        return true;
    attention_close(a);
    const char *sentence;
    oa_last_error(context, &sentence);
    if (e != OA_UNSUPPORTED || (mode == BOTH_SIDES && !strstr(spec, "conv(width=4")))
        fail_msg("%s: %s", spec, sentence);
    oa_clear_error(context);
    return false;
}

static void run(struct attention_case *a)
{
    const char *sentence;
    if (attention_run(a) == OA_OK)
        return;
    oa_last_error(context, &sentence);
    fail_msg("%s: %s", a->setup.spec, sentence);
}

typedef void property(struct attention_case *a);

/* The property for every attention in every mode it has; returns how many cases there were. */
static void for_all(struct attention_setup setup, enum attention_mode first, enum attention_mode last, property *check)
{
    int cases = 0;
    for (int i = 0; i < spec_count; i++) {
        for (int mode = first; mode <= (int)last; mode++) {
            struct attention_case a;
            if (!open_case(specs[i], (enum attention_mode)mode, setup, &a))
                continue;
            check(&a);
            attention_close(&a);
            cases++;
        }
    }
    assert_true(cases > spec_count / 2);
}

#define F64 .precision = OA_PRECISION_F64

/* ---- gradients ------------------------------------------------------------------------------------------------------
 */

static double loss(struct attention_case *a)
{
    double sum = 0;
    a->no_gradients = true;
    run(a);
    a->no_gradients = false;
    for (long b = 0; b < a->B; b++) {
        for (long i = 0; i < a->T * a->D; i++)
            sum += a->y[b * a->T * a->D + i] * a->dy[b * a->T * a->D + i];
    }
    return sum;
}

/* (loss(values + h·direction) − loss(values − h·direction))/2h */
static double difference(struct attention_case *a, double *values, const double *direction, long count, double h)
{
    double *kept = calloc((size_t)count, sizeof *kept), side[2];
    memcpy(kept, values, (size_t)count * sizeof *kept);
    for (int s = 0; s < 2; s++) {
        for (long i = 0; i < count; i++)
            values[i] = kept[i] + (s ? -h : h) * direction[i];
        oa_store_refresh(&a->store);
        side[s] = loss(a);
    }
    memcpy(values, kept, (size_t)count * sizeof *kept);
    oa_store_refresh(&a->store);
    free(kept);
    return (side[0] - side[1]) / (2 * h);
}

/* The derivative of the loss along a random direction, both ways. `values` are doubles that the case reads. Where
 * features of both signs make a denominator near 0 the loss is so curved that the error of a difference, h²·f'''/6,
 * shows; a second step takes it out (Richardson). */
static void check_direction(struct attention_case *a, const char *what, double *values, const double *gradient,
                            long count)
{
    const double h = 1e-6;
    double *direction = random_numbers(what, count), analytic = 0, size = 0;
    for (long i = 0; i < count; i++) {
        analytic += gradient[i] * direction[i];
        size += gradient[i] * gradient[i];
    }
    double numeric = difference(a, values, direction, count, h);
    if (fabs(analytic - numeric) > 1e-6 * (1 + sqrt(size) + fabs(numeric)))
        numeric = (100 * difference(a, values, direction, count, h / 10) - numeric) / 99;
    if (!(fabs(analytic - numeric) <= 1e-6 * (1 + sqrt(size) + fabs(numeric))))
        fail_msg("%s (mode %d, bias %d, padding %d, rotary %d): the gradient of %s along a direction is %.12g, by "
                 "differences %.12g",
                 a->setup.spec, a->setup.mode, a->setup.bias, a->setup.padding, a->setup.rotary, what, analytic,
                 numeric);
    free(direction);
}

/* Features fitted to the data: the fit counts as a constant, which differences do not know. Reference vectors check
 * these gradients. */
static bool is_fitted(const char *spec)
{
    return strstr(spec, "favor++") || strstr(spec, "derf");
}

static void gradients_are_differences(struct attention_case *a)
{
    if (is_fitted(a->setup.spec))
        return;
    run(a);
    double **gradient = calloc((size_t)a->store.count, sizeof *gradient);
    double *dx = random_numbers("", a->B * a->T * a->D), *dm = random_numbers("", a->B * a->S * a->D);
    memcpy(dx, a->dx, (size_t)(a->B * a->T * a->D) * sizeof *dx);
    if (a->memory)
        memcpy(dm, a->dmemory, (size_t)(a->B * a->S * a->D) * sizeof *dm);
    for (int i = 0; i < a->store.count; i++) {
        const struct oa_parameter *p = a->store.parameter[i];
        assert_true(p->trainable == (p->gradient != NULL)); /* frozen: not even a place for a gradient */
        gradient[i] = calloc((size_t)p->count, sizeof **gradient);
        if (p->trainable)
            memcpy(gradient[i], p->gradient, (size_t)p->count * sizeof **gradient);
    }
    check_direction(a, "x", a->x, dx, a->B * a->T * a->D);
    if (a->memory)
        check_direction(a, "memory", a->memory, dm, a->B * a->S * a->D);
    for (int i = 0; i < a->store.count; i++) {
        const struct oa_parameter *p = a->store.parameter[i];
        if (p->trainable)
            check_direction(a, p->name, p->value, gradient[i], p->count);
        free(gradient[i]);
    }
    free(gradient);
    free(dx);
    free(dm);
}

static void gradients(void **state)
{
    (void)state;
    for_all((struct attention_setup){ F64 }, BOTH_SIDES, CROSS, gradients_are_differences);
    for_all((struct attention_setup){ F64, .bias = true, .padding = true, .batch = 3 }, BOTH_SIDES, CROSS,
            gradients_are_differences);
    for_all((struct attention_setup){ F64, .padding = true, .rotary = true }, BOTH_SIDES, CAUSAL,
            gradients_are_differences);
}

/* ---- causality ------------------------------------------------------------------------------------------------------
 */

static void later_tokens_change_nothing(struct attention_case *a)
{
    long row = a->D, all = a->B * a->T * a->D;
    double *before = random_numbers("", all);
    a->no_gradients = true;
    run(a);
    memcpy(before, a->y, (size_t)all * sizeof *before);
    for (long t = 1; t < a->T; t++) {
        for (long i = 0; i < row; i++)
            a->x[t * row + i] += 3; /* of the first item */
        run(a);
        if (memcmp(before, a->y, (size_t)(t * row) * sizeof *before) != 0)
            fail_msg("%s: token %ld changes an output before it", a->setup.spec, t);
        if (memcmp(before + a->T * row, a->y + a->T * row, (size_t)((a->B - 1) * a->T * row) * sizeof *before) != 0)
            fail_msg("%s: a token changes another item of the batch", a->setup.spec);
        memcpy(before, a->y, (size_t)all * sizeof *before);
    }
    free(before);
}

static void causality(void **state)
{
    (void)state;
    for_all((struct attention_setup){ F64 }, CAUSAL, CAUSAL, later_tokens_change_nothing);
    for_all((struct attention_setup){ .precision = OA_PRECISION_F32, .queries = 70, .length = 70 }, CAUSAL, CAUSAL,
            later_tokens_change_nothing);
    for_all((struct attention_setup){ .precision = OA_PRECISION_BF16, .queries = 9, .length = 9 }, CAUSAL, CAUSAL,
            later_tokens_change_nothing);
}

/* ---- padding and batches --------------------------------------------------------------------------------------------
 */

/* y, dx, dmemory and the gradients of the store, one after the other. */
static double *everything(const struct attention_case *a, long *count)
{
    long n = a->B * a->T * a->D, m = a->memory ? a->B * a->S * a->D : 0, total = 2 * n + m + a->store.updated, at = 0;
    double *out = calloc((size_t)total, sizeof *out);
    const double *parts[] = { a->y, a->dx, a->dmemory };
    const long sizes[] = { n, n, m };
    for (int p = 0; p < 3; p++) {
        for (long i = 0; i < sizes[p]; i++)
            out[at++] = parts[p][i];
    }
    for (long i = 0; i < a->store.updated; i++)
        out[at++] = oa_real_get(a->device, a->store.gradients, i);
    *count = total;
    return out;
}

static void garbage_in_padding_changes_nothing(struct attention_case *a)
{
    long count;
    double *padded = a->memory ? a->memory : a->x;
    run(a);
    double *before = everything(a, &count);
    for (long i = 0; i < count; i++)
        assert_true(isfinite(before[i]));
    for (long b = 0; b < a->B; b++) {
        for (long i = a->lengths[b] * a->D; i < a->S * a->D; i++) {
            padded[b * a->S * a->D + i] = i % 3 ? NAN : INFINITY;
            if (!a->memory)
                a->dy[b * a->T * a->D + i] = NAN;
        }
        for (long i = a->lengths[b]; !a->memory && i < a->T; i++)
            a->words[b * a->T + i] = -7;
    }
    run(a);
    double *after = everything(a, &count);
    if (memcmp(before, after, (size_t)count * sizeof *before) != 0)
        fail_msg("%s (mode %d): what stands in padding changes a result", a->setup.spec, a->setup.mode);
    for (long b = 0; b < a->B && !a->memory; b++) {
        for (long i = a->lengths[b] * a->D; i < a->T * a->D; i++)
            assert_true(after[b * a->T * a->D + i] == 0);
    }
    free(before);
    free(after);
}

static void padding(void **state)
{
    (void)state;
    for_all((struct attention_setup){ F64, .padding = true, .bias = true, .batch = 3 }, BOTH_SIDES, CROSS,
            garbage_in_padding_changes_nothing);
    for_all((struct attention_setup){ .precision = OA_PRECISION_F32, .padding = true, .batch = 3 }, BOTH_SIDES, CROSS,
            garbage_in_padding_changes_nothing);
}

/* The first item alone gives what it gave among others. */
static void items_do_not_meet(struct attention_case *a)
{
    struct attention_case alone;
    struct attention_setup setup = a->setup;
    setup.batch = 1;
    run(a);
    assert_int_equal(attention_open(context, &setup, &alone), OA_OK);
    run(&alone);
    for (long i = 0; i < a->T * a->D; i++)
        assert_true(fabs(alone.y[i] - a->y[i]) <= 1e-12 * (1 + fabs(a->y[i])));
    attention_close(&alone);
}

static void batches(void **state)
{
    (void)state;
    for_all((struct attention_setup){ F64, .padding = true, .batch = 3 }, BOTH_SIDES, CROSS, items_do_not_meet);
}

/* ---- tables ---------------------------------------------------------------------------------------------------------
 */

/* Copies the leading part of a larger parameter. */
static void copy_leading(const struct attention_case *from, const struct oa_parameter *p, struct attention_case *to,
                         struct oa_parameter *q)
{
    for (long i = 0; i < q->count; i++) {
        long rest = i, at = 0, stride = 1;
        for (int d = q->dims - 1; d >= 0; d--) {
            at += rest % q->dim[d] * stride;
            rest /= q->dim[d];
            stride *= p->dim[d];
        }
        oa_real_set(to->device, q->value, i, oa_real_get(from->device, p->value, at));
    }
}

static void shorter_is_cut(struct attention_case *a)
{
    const char *cosformer = strstr(a->setup.spec, "cosformer");
    if (cosformer && !strstr(cosformer, "length="))
        return; /* N is its unit of angles, not the size of a table */
    struct attention_case cut;
    if (strncmp(a->setup.spec, "sparse", 6) == 0 && !strstr(a->setup.spec, "stride="))
        return; /* the default stride is ⌈√N⌉: with another N it is another attention */
    if (strstr(a->setup.spec, "factorized-dense") || (a->setup.mode == CAUSAL && strstr(a->setup.spec, "mixer")))
        return; /* which pair of numbers a position has, or which time a hidden unit, depends on N */
    struct attention_setup setup = a->setup;
    setup.length = a->T;
    assert_int_equal(attention_open(context, &setup, &cut), OA_OK);
    for (int i = 0; i < cut.store.count; i++)
        copy_leading(a, oa_store_find(&a->store, cut.store.parameter[i]->name), &cut, cut.store.parameter[i]);
    oa_store_refresh(&cut.store);
    run(a);
    run(&cut);
    for (long i = 0; i < a->B * a->T * a->D; i++)
        assert_true(fabs(cut.y[i] - a->y[i]) <= 1e-12 * (1 + fabs(a->y[i])));
    attention_close(&cut);
}

static void tables(void **state)
{
    (void)state;
    for_all((struct attention_setup){ F64, .length = 11 }, BOTH_SIDES, CROSS, shorter_is_cut);
}

static void too_long_is_refused(void **state)
{
    (void)state;
    static const char *const bound[] = { "dense",     "random", "factorized-dense", "factorized-random",
                                         "linformer", "mixer",  "random + softmax", "softmax:1 | dense:1" };
    for (size_t i = 0; i < sizeof bound / sizeof bound[0]; i++) {
        struct attention_case a;
        const char *sentence;
        assert_true(open_case(bound[i], BOTH_SIDES, (struct attention_setup){ F64, .queries = 8, .length = 7 }, &a));
        assert_int_equal(attention_run(&a), OA_SHAPE);
        oa_last_error(context, &sentence);
        assert_non_null(strstr(sentence, "8 tokens is longer than the tables"));
        oa_clear_error(context);
        attention_close(&a);
    }
}

/* ---- maps -----------------------------------------------------------------------------------------------------------
 */

static double projected(const struct attention_case *a, const struct oa_parameter *w, const struct oa_parameter *b,
                        long out, const double *row, long width)
{
    double sum = b ? oa_real_get(a->device, b->value, out) : 0;
    for (long i = 0; i < width; i++)
        sum += oa_real_get(a->device, w->value, out * width + i) * row[i];
    return sum;
}

static void check_rows(const struct attention_case *a, const struct oa_group *g, const double *map, long b)
{
    for (long h = 0; h < g->shape.heads * a->T; h++) {
        double sum = 0;
        for (long j = 0; j < a->S; j++)
            sum += map[h * a->S + j];
        bool empty = a->lengths && (a->memory ? a->lengths[b] == 0 : h % a->T >= a->lengths[b]);
        empty |= sum == 0 && g->support.name; /* a sparse support may leave a row nothing */
        if (g->mechanism->scores)
            assert_true(fabs(sum - !empty) < 1e-12);
    }
}

/* What row t mixes: longformer's global rows have values of their own. */
static void row_values(const struct attention_case *a, const struct oa_group *g, long t, const double *source,
                       double *values)
{
    char name[200];
    bool own = strcmp(g->mechanism->name, "longformer") == 0 && t < oa_atom_int(g->atom, "global", 1);
    snprintf(name, sizeof name, "%sglobal.value.weight", g->prefix);
    const struct oa_parameter *w = own ? oa_store_find(&a->store, name) : NULL;
    snprintf(name, sizeof name, "%sglobal.value.bias", g->prefix);
    const struct oa_parameter *b = w ? oa_store_find(&a->store, name) : g->value_bias;
    for (long j = 0; j < a->S; j++) {
        for (long c = 0; c < g->shape.heads * (a->D / a->setup.heads); c++)
            values[j * a->D + c] = g->value ? projected(a, w ? w : g->value, b, c, source + j * a->D, a->D)
                                            : oa_convolution_value(g, source + j * a->D, c);
    }
}

/* O = A V of one item, all groups side by side. */
static void mix_values(const struct attention_case *a, long b, double *o)
{
    long D = a->D, V = D / a->setup.heads;
    double *values = calloc((size_t)(a->S * D), sizeof *values);
    double *map = calloc((size_t)(a->setup.heads * a->T * a->S), sizeof *map);
    const double *source = (a->memory ? a->memory : a->x) + b * a->S * D;
    struct oa_oracle in = { .x = a->x + b * a->T * D,
                            .memory = a->memory ? source : NULL,
                            .queries = a->T,
                            .keys = a->S,
                            .length = a->lengths ? a->lengths[b] : a->S,
                            .words = a->words + b * a->T,
                            .cosine = a->cosine,
                            .sine = a->sine };
    for (int i = 0; i < a->layer.groups; i++) {
        const struct oa_group *g = &a->layer.group[i];
        assert_int_equal(g->mechanism->weights(g, &in, map), OA_OK);
        check_rows(a, g, map, b);
        long own = strcmp(g->mechanism->name, "longformer") == 0 ? oa_atom_int(g->atom, "global", 1) : 0;
        for (long t = 0; t < a->T; t++) {
            if (t == 0 || t == own)
                row_values(a, g, t, source, values);
            for (long h = 0; h < g->shape.heads; h++) {
                for (long c = 0; c < V; c++) {
                    double *out = o + t * D + (g->first_head + h) * V + c;
                    *out = 0;
                    for (long j = 0; j < a->S; j++)
                        *out += map[(h * a->T + t) * a->S + j] * values[j * D + h * V + c];
                }
            }
        }
    }
    free(values);
    free(map);
}

static bool has_map(const struct attention_case *a)
{
    for (int i = 0; i < a->layer.groups; i++) {
        if (!a->layer.group[i].mechanism->weights)
            return false;
    }
    return true;
}

static void outputs_are_the_map_times_values(struct attention_case *a)
{
    if (!has_map(a))
        return;
    double *o = calloc((size_t)(a->T * a->D), sizeof *o);
    run(a);
    for (long b = 0; b < a->B; b++) {
        mix_values(a, b, o);
        for (long t = 0; t < a->T; t++) {
            bool padded = a->lengths && !a->memory && t >= a->lengths[b];
            for (long c = 0; c < a->D; c++) {
                double want = padded ? 0 : projected(a, a->layer.output, a->layer.output_bias, c, o + t * a->D, a->D);
                double got = a->y[(b * a->T + t) * a->D + c];
                if (!(fabs(want - got) <= 1e-11 * (1 + fabs(want))))
                    fail_msg("%s (mode %d): y[%ld, %ld, %ld] is %.15g, the oracle says %.15g", a->setup.spec,
                             a->setup.mode, b, t, c, got, want);
            }
        }
    }
    free(o);
}

static void maps(void **state)
{
    (void)state;
    for_all((struct attention_setup){ F64, .bias = true, .padding = true, .batch = 3 }, BOTH_SIDES, CROSS,
            outputs_are_the_map_times_values);
    for_all((struct attention_setup){ F64, .rotary = true }, BOTH_SIDES, CAUSAL, outputs_are_the_map_times_values);
}

/* Supports over many tiles: ranges and tiles that are skipped must lose no pair, and pairs are counted one by one. */
static void pairs_are_counted(struct attention_case *a)
{
    const struct oa_group *g = &a->layer.group[0];
    struct oa_oracle in = { .queries = a->T, .keys = a->S, .length = a->S };
    double pairs = 0;
    for (long h = 0; h < g->shape.heads; h++) {
        for (long i = 0; i < a->T; i++) {
            for (long j = 0; j < a->S; j++)
                pairs += oa_oracle_visible(g, &in, h, i, j);
        }
    }
    assert_true(oa_visible_pairs(g, a->T, a->S) == pairs);
}

static void supports_over_many_tiles(void **state)
{
    (void)state;
    static const char *const texts[] = { "softmax",
                                         "local(window=1)",
                                         "local(window=5, dilation=7)",
                                         "local(window=40)",
                                         "local(window=64)",
                                         "local(window=3, dilation=64)",
                                         "local",
                                         "block-local(size=7)",
                                         "block-local(size=64)",
                                         "sparse",
                                         "sparse(stride=90, heads=split)",
                                         "sparse(fixed, stride=70, summary=3)",
                                         "sparse(fixed, stride=50, heads=split)",
                                         "block-sparse(block=5, from=fixed)",
                                         "block-sparse(block=9, from=local)",
                                         "block-sparse(block=4)",
                                         "longformer(window=5, global=70)",
                                         "longformer(window=9, global=2, shared)",
                                         "longformer(window=70)",
                                         "bigbird(block=16, random=1)",
                                         "bigbird(block=7, random=2, window=1, global=1)" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (int mode = BOTH_SIDES; mode <= CAUSAL; mode++) {
            struct attention_case a;
            struct attention_setup setup = { F64, .padding = true, .queries = 200, .length = 200 };
            assert_true(open_case(texts[i], (enum attention_mode)mode, setup, &a));
            pairs_are_counted(&a);
            outputs_are_the_map_times_values(&a);
            gradients_are_differences(&a);
            attention_close(&a);
        }
    }
}

/* Given logits and folds over many tiles, one map for the batch (no padding) and one for each item; 600 keys are two
 * items of the shared map's backward pass. */
static void parts_over_many_tiles(void **state)
{
    (void)state;
    static const char *const texts[] = { "factorized-random(rank=3)", "factorized-dense(a=20)",
                                         "mix(factorized-random(rank=3), random)",
                                         "mix(factorized-random(rank=3), factorized-dense(b=50), alpha=sigmoid)" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (int variant = 0; variant < 3; variant++) {
            struct attention_case a;
            long n = variant == 2 ? 600 : 200;
            struct attention_setup setup = { F64, .padding = variant == 0, .queries = n, .length = n };
            assert_true(open_case(texts[i], variant ? CAUSAL : BOTH_SIDES, setup, &a));
            outputs_are_the_map_times_values(&a);
            gradients_are_differences(&a);
            attention_close(&a);
        }
    }
}

/* Several chunks of the engines, with keys whose logarithmic features drift over hundreds: row i must neither lose its
 * keys to a larger one that comes later nor depend on it. */
static void long_sequences(void **state)
{
    (void)state;
    static const char *const texts[] = { "performer(features=6)",
                                         "performer(kernel=hyperbolic, features=6)",
                                         "performer(kernel=relu, features=6)",
                                         "performer(kernel=smreg, tie, features=6)",
                                         "cosformer",
                                         "polynomial(degree=4)",
                                         "taylor(width=3)",
                                         "polysketch(sketch=3)" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (int mode = BOTH_SIDES; mode <= CROSS; mode++) {
            struct attention_case a;
            struct attention_setup setup = { F64, .padding = true, .queries = 150, .keys = 140, .length = 150 };
            assert_true(open_case(texts[i], (enum attention_mode)mode, setup, &a));
            for (long t = 0; t < a.T * a.D; t++)
                a.x[t] *= 1 + 6 * (double)t / (double)(a.T * a.D);
            gradients_are_differences(&a);
            outputs_are_the_map_times_values(&a);
            if (mode == CAUSAL)
                later_tokens_change_nothing(&a);
            attention_close(&a);
        }
    }
}

/* ---- order ----------------------------------------------------------------------------------------------------------
 */

static void swap_rows(double *x, long a, long b, long width)
{
    for (long i = 0; i < width; i++) {
        double kept = x[a * width + i];
        x[a * width + i] = x[b * width + i];
        x[b * width + i] = kept;
    }
}

static bool order_matters(const struct attention_case *a)
{
    for (int i = 0; i < a->layer.groups; i++) {
        const struct oa_group *g = &a->layer.group[i];
        bool matters = g->mechanism->can & OA_ORDER;
        for (int c = 0; c < g->components; c++)
            matters |= (g->component[c].mechanism->can & OA_ORDER) != 0;
        if (matters)
            return true;
    }
    return false;
}

/* Swapping tokens swaps outputs, exactly when the mechanism does not look at positions. */
static void swapped_tokens(struct attention_case *a)
{
    const struct oa_group *g = &a->layer.group[0];
    run(a); /* also: a layout of blocks is read */
    bool pattern = strncmp(a->setup.spec, "pattern", 7) == 0;
    bool cycle = strcmp(a->setup.spec, "local(dilation=3)") == 0; /* 0 and 3 see each other and nothing else */
    bool all = g->support.name && oa_visible_pairs(g, a->T, a->T) == (double)(g->shape.heads * a->T * a->T);
    if (strstr(a->setup.spec, "width=1)") || (pattern && !strstr(a->setup.spec, "left")) ||
        (all && a->layer.groups == 1) || cycle)
        return; /* a token that sees itself only, or everything, has no order */
    double difference = 0, *before = random_numbers("", a->B * a->T * a->D);
    memcpy(before, a->y, (size_t)(a->B * a->T * a->D) * sizeof *before);
    swap_rows(a->x, 0, 3, a->D);
    run(a);
    swap_rows(a->y, 0, 3, a->D);
    for (long i = 0; i < a->T * a->D; i++)
        difference = fmax(difference, fabs(before[i] - a->y[i]));
    if (order_matters(a) != (difference > 1e-10))
        fail_msg("%s: swapping two tokens makes a difference of %g", a->setup.spec, difference);
    free(before);
}

static void order(void **state)
{
    (void)state;
    for_all((struct attention_setup){ F64 }, BOTH_SIDES, BOTH_SIDES, swapped_tokens);
}

/* ---- limits ---------------------------------------------------------------------------------------------------------
 */

static void assert_same(const char *one, const char *other, enum attention_mode mode, bool same, double tolerance)
{
    struct attention_case a, b;
    struct attention_setup setup = { F64, .padding = true };
    assert_true(open_case(one, mode, setup, &a));
    assert_true(open_case(other, mode, setup, &b));
    run(&a);
    run(&b);
    double difference = 0;
    for (long i = 0; i < a.B * a.T * a.D; i++)
        difference = fmax(difference, fabs(a.y[i] - b.y[i]));
    if (same != (difference <= tolerance))
        fail_msg("%s and %s differ by %g", one, other, difference);
    attention_close(&a);
    attention_close(&b);
}

static void limits(void **state)
{
    (void)state;
    for (int mode = BOTH_SIDES; mode <= CAUSAL; mode++) {
        assert_same("local(window=6)", "softmax", (enum attention_mode)mode, true, 1e-12);
        assert_same("local(window=2)", "softmax", (enum attention_mode)mode, false, 1e-3);
        assert_same("block-local(size=6)", "softmax", (enum attention_mode)mode, true, 1e-12);
        assert_same("block-local(size=5)", "softmax", (enum attention_mode)mode, false, 1e-3);
        assert_same("sparse(stride=6)", "softmax", (enum attention_mode)mode, true, 1e-12);
        assert_same("sparse(fixed, stride=3, summary=3)", "softmax", (enum attention_mode)mode, true, 1e-12);
        assert_same("sparse(stride=3, heads=split)", "softmax", (enum attention_mode)mode, false, 1e-3);
        assert_same("block-sparse(block=6)", "softmax", (enum attention_mode)mode, true, 1e-12);
        assert_same("block-sparse(block=1, from=local)", "local(window=1)", (enum attention_mode)mode, true, 1e-12);
        assert_same("block-sparse(block=1)", "sparse", (enum attention_mode)mode, true, 1e-12);
        assert_same("block-sparse(block=1, from=fixed)", "sparse(fixed)", (enum attention_mode)mode, true, 1e-12);
        assert_same("longformer(global=6, shared)", "softmax", (enum attention_mode)mode, true, 1e-12);
        assert_same("longformer(window=6, shared)", "softmax", (enum attention_mode)mode, true, 1e-12);
        assert_same("longformer(window=1, shared)", "softmax", (enum attention_mode)mode, false, 1e-3);
        assert_same("longformer(window=6)", "softmax", (enum attention_mode)mode, false, 1e-3);
        assert_same("bigbird(block=1, random=7)", "softmax", (enum attention_mode)mode, true, 1e-12);
        assert_same("bigbird(block=2, random=0, window=1, global=0)", "block-local(size=2)", (enum attention_mode)mode,
                    true, 1e-12);
        assert_same("orthogonal", "softmax(qk=haar)", (enum attention_mode)mode, true, 0);
        assert_same("orthogonal", "orthogonal(qk=gram-schmidt)", (enum attention_mode)mode, true, 1e-10);
        assert_same("orthogonal", "orthogonal(tie)", (enum attention_mode)mode, false, 1e-3);
        assert_same("gaussian(sigma=0.05, renormalise)", "pattern", (enum attention_mode)mode, true, 1e-12);
        assert_same("gaussian(sigma=0.05, renormalise, offset=-1)", "pattern(previous, edge=clamp)",
                    (enum attention_mode)mode, true, 1e-12);
        assert_same("gaussian", "gaussian(renormalise)", (enum attention_mode)mode, false, 1e-3);
        assert_same("lightconv", "lightconv(renormalise)", (enum attention_mode)mode, false, 1e-3);
        assert_same("random(frozen, init=normal, sigma=0)", "random(frozen, init=uniform, sigma=0)",
                    (enum attention_mode)mode, true, 0);
        assert_same("mix(random(frozen), random(frozen), alpha=fixed, weights=1/0)", "random(frozen)",
                    (enum attention_mode)mode, false, 1e-9); /* streams differ: mix.0. is another name */
        assert_same("mix(softmax, random, alpha=fixed, weights=0/0)", "random(frozen, init=normal, sigma=0)",
                    (enum attention_mode)mode, true, 1e-12);
    }
}

/* ---- frozen projections
 * ----------------------------------------------------------------------------------------------- */

/* The value of a parameter of layer 0 or 1 of a model of two layers. */
static void frozen_value(const char *text, const char *name, double out[2])
{
    struct oa_spec spec;
    struct oa_device *device;
    struct oa_store store;
    struct oa_layer layer[2];
    struct oa_layer_shape shape = { .width = 8, .heads = 2, .head_width = 4, .value_width = 4, .length = 7 };
    assert_int_equal(oa_spec_parse(context, text, &spec), OA_OK);
    assert_int_equal(oa_device_open(context, OA_PRECISION_F64, false, &device), OA_OK);
    oa_store_init(&store, device);
    for (int l = 0; l < 2; l++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "decoder.layers.%d.attention.", l);
        assert_int_equal(oa_layer_open(context, &spec, l, &shape, &store, prefix, &layer[l]), OA_OK);
    }
    assert_int_equal(oa_store_allocate(&store, 1, true), OA_OK);
    for (int l = 0; l < 2; l++) {
        char full[128];
        snprintf(full, sizeof full, "decoder.layers.%d.attention.%s", l, name);
        const struct oa_parameter *p = oa_store_find(&store, full);
        assert_non_null(p);
        assert_false(p->trainable);
        out[l] = *(const double *)p->value;
        oa_layer_close(&layer[l]);
    }
    oa_store_free(&store);
    oa_device_close(device);
    oa_spec_free(&spec);
}

static void layers_share_when_asked(void **state)
{
    (void)state;
    double value[2], alternating[2];
    frozen_value("orthogonal", "query.weight", value);
    assert_true(value[0] != value[1]);
    frozen_value("orthogonal(share=layers)", "query.weight", value);
    assert_true(value[0] == value[1]);
    frozen_value("orthogonal(share=layers) ; linear(qk=haar, share=layers)", "query.weight", alternating);
    assert_true(alternating[0] == value[0] && alternating[1] == value[0]);
}

/* ---- cost
 * ------------------------------------------------------------------------------------------------------------- */

/* The counting device must agree with the formulas, up to elementwise work. */
static void flops_agree_with_the_plan(void **state)
{
    (void)state;
    static const char *const texts[] = { "softmax",
                                         "orthogonal(tie)",
                                         "dense",
                                         "random",
                                         "factorized-dense",
                                         "factorized-random",
                                         "factorized-random + softmax",
                                         "linear",
                                         "random + softmax",
                                         "local(window=8)",
                                         "dense:2 | linear:2",
                                         "gaussian",
                                         "lightconv(glu)",
                                         "dynamicconv(width=31)",
                                         "cosformer",
                                         "polynomial",
                                         "taylor",
                                         "polysketch",
                                         "performer(kernel=trig)",
                                         "sparse",
                                         "longformer(window=16, global=8)",
                                         "block-sparse(block=16)",
                                         "bigbird(block=16)",
                                         "linformer",
                                         "mixer",
                                         "mixer(value)" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct oa_spec spec;
        struct oa_device *device;
        struct oa_store store;
        struct oa_layer layer;
        oa_tape tape;
        struct oa_layer_shape shape = { 64, 4, 16, 16, .length = 256 };
        assert_int_equal(oa_spec_parse(context, texts[i], &spec), OA_OK);
        assert_int_equal(oa_device_open(context, OA_PRECISION_F32, true, &device), OA_OK);
        oa_store_init(&store, device);
        oa_tape_init(&tape, device);
        assert_int_equal(oa_layer_open(context, &spec, 0, &shape, &store, "", &layer), OA_OK);
        assert_int_equal(oa_store_allocate(&store, 1, false), OA_OK);
        oa_tape_reset(&tape, false, false, oa_stream_named(1, ""));
        device->flops = 0;
        struct oa_layer_input in = { .batch = 1, .queries = 256, .keys = 256 };
        in.x = oa_tensor_new(&tape, 256, 64);
        assert_non_null(oa_layer_forward(&tape, &layer, &in));
        double ratio = device->flops / oa_layer_flops(&layer, 256, 256);
        if (!(ratio > 0.9 && ratio < 1.15))
            fail_msg("%s: the plan counts %.3g times the FLOPs of the formula", texts[i], ratio);
        oa_layer_close(&layer);
        oa_tape_free(&tape);
        oa_store_free(&store);
        oa_device_close(device);
        oa_spec_free(&spec);
    }
}

/* Table 4.1 of the accounting: parameters beyond values and output of one layer with 8 heads, width 512, N = 256. */
static void parameter_counts(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        long trainable, frozen;
    } rows[] = {
        { "softmax", 2 * 512 * 512, 0 },
        { "orthogonal", 0, 2 * 512 * 512 },
        { "orthogonal(tie)", 0, 512 * 512 },
        { "random", 8 * 256 * 256, 0 },
        { "random(frozen)", 0, 8 * 256 * 256 },
        { "dense", 8 * (64 * 64 + 64 * 256), 0 },
        { "factorized-dense", 8 * (16 + 16) * 64, 0 },
        { "factorized-dense(a=8, input=full)", 8 * (8 + 32) * 512, 0 },
        { "factorized-random", 8 * 2 * 256 * 8, 0 },
        { "linear", 2 * 512 * 512, 0 },
        { "mixer(value)", 2 * 256 * 256 + 256 + 256, 0 },
        { "linformer", 2 * 512 * 512 + 2 * 8 * 256 * 64, 0 },
        { "linformer(rank=16, share=kv, qk=haar)", 256 * 16, 2 * 512 * 512 },
        { "gaussian", 0, 0 },
        { "lightconv", 8 * 7, 0 },
        { "dynamicconv(glu)", 512 * 512 + 8 * 7 * 512, 0 },
        { "cosformer", 2 * 512 * 512, 0 },
        { "taylor", 2 * 128 * 512, 0 },
        { "polysketch", 2 * 512 * 512, 2 * 64 * 32 },
        { "performer(qk=haar)", 0, 2 * 512 * 512 + 266 * 64 },
        { "pattern", 0, 0 },
        { "random + softmax", 8 * 256 * 256 + 2 * 512 * 512 + 16, 0 },
        { "softmax(temperature, diagonal)", 2 * 512 * 512 + 8 + 512, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct oa_spec spec;
        struct oa_device *device;
        struct oa_store store;
        struct oa_layer layer;
        struct oa_layer_shape shape = { 512, 8, 64, 64, .length = 256 };
        assert_int_equal(oa_spec_parse(context, rows[i].spec, &spec), OA_OK);
        assert_int_equal(oa_device_open(context, OA_PRECISION_F32, true, &device), OA_OK);
        oa_store_init(&store, device);
        assert_int_equal(oa_layer_open(context, &spec, 0, &shape, &store, "", &layer), OA_OK);
        assert_int_equal(store.trainable, rows[i].trainable + 2 * 512 * 512);
        assert_int_equal(store.frozen, rows[i].frozen);
        oa_layer_close(&layer);
        oa_store_free(&store);
        oa_device_close(device);
        oa_spec_free(&spec);
    }
}

/* ---- refused
 * ---------------------------------------------------------------------------------------------------------- */

static void assert_refused(struct attention_setup setup, const char *part)
{
    struct attention_case a;
    const char *sentence;
    assert_int_not_equal(attention_open(context, &setup, &a), OA_OK);
    attention_close(&a);
    oa_last_error(context, &sentence);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" is not in: %s", part, sentence);
    oa_clear_error(context);
}

static void what_cannot_be_right_is_refused(void **state)
{
    (void)state;
    assert_refused((struct attention_setup){ .spec = "pattern(next)", .mode = CAUSAL },
                   "look ahead and have no causal form");
    assert_refused((struct attention_setup){ .spec = "pattern(unit=word)", .mode = CAUSAL },
                   "pattern(unit=word) has no causal form");
    assert_refused((struct attention_setup){ .spec = "softmax:1 | pattern(end):1", .mode = CAUSAL }, "no causal form");
    assert_refused((struct attention_setup){ .spec = "pattern", .mode = CROSS }, "pattern is for self-attention only");
    assert_refused((struct attention_setup){ .spec = "local", .mode = CROSS }, "local is for self-attention only");
    assert_refused((struct attention_setup){ .spec = "cosformer(length=6)", .mode = BOTH_SIDES }, "at least 7");
    assert_refused((struct attention_setup){ .spec = "polynomial(degree=3)", .mode = CAUSAL }, "must be even");
    assert_refused((struct attention_setup){ .spec = "performer(favor#)", .mode = CAUSAL }, "has no causal form");
    assert_refused((struct attention_setup){ .spec = "performer(redraw=10)", .mode = CAUSAL }, "leave redraw out");
    assert_refused((struct attention_setup){ .spec = "performer(draw=iid, ensemble=givens)", .mode = CAUSAL },
                   "draw=iid has none");
    assert_refused((struct attention_setup){ .spec = "performer(smreg, iid)", .mode = CAUSAL }, "draw=iid is favor+");
    assert_refused((struct attention_setup){ .spec = "block-sparse(from=local)", .mode = CROSS }, "give a layout=FILE");
    assert_refused((struct attention_setup){ .spec = "block-sparse(layout=a, from=local)" }, "give one of them");
    assert_refused((struct attention_setup){ .spec = "sparse(summary=2)" }, "summary belongs to fixed");
    assert_refused((struct attention_setup){ .spec = "bigbird(window=2)" }, "give 1 or 3");
    assert_refused((struct attention_setup){ .spec = "softmax:3", .mode = BOTH_SIDES }, "2 heads do not fit");
    assert_refused(
        (struct attention_setup){ .spec = "orthogonal(qk=block)", .mode = BOTH_SIDES, .width = 10, .heads = 3 },
        "does not divide the model width 10");
    assert_refused((struct attention_setup){ .spec = "dense", .mode = BOTH_SIDES, .width = 10, .heads = 3 },
                   "10 does not divide by 3");
    assert_refused((struct attention_setup){ .spec = "linformer", .mode = CAUSAL }, "linformer has no causal form");
    assert_refused((struct attention_setup){ .spec = "mixer", .mode = BOTH_SIDES, .width = 10, .heads = 3 },
                   "3 heads of 3 channels do not make 10");
    assert_refused((struct attention_setup){ .spec = "mixer", .mode = CROSS }, "mixer is for self-attention only");
    assert_refused((struct attention_setup){ .spec = "lightconv", .mode = CROSS }, "is for self-attention only");
    assert_refused((struct attention_setup){ .spec = "dynamicconv(width=4)", .mode = BOTH_SIDES },
                   "their number must be odd; take 3 or 5");
    assert_refused((struct attention_setup){ .spec = "factorized-dense(a=2)", .mode = BOTH_SIDES },
                   "a = 2 times b = 3 is 6, but must be the longest length N = 7");
    assert_refused((struct attention_setup){ .spec = "factorized-dense", .mode = CAUSAL, .width = 10, .heads = 3 },
                   "10 does not divide by 3");
    assert_refused(
        (struct attention_setup){ .spec = "orthogonal(qk=slice)", .mode = BOTH_SIDES, .width = 10, .heads = 3 },
        "make 9");
    assert_refused((struct attention_setup){ .spec = "softmax", .mode = BOTH_SIDES, .width = 2, .heads = 3 },
                   "at least 1");
    struct oa_layer_shape both = { 8, 2, 4, 4, .length = 7, .causal = true, .cross = true };
    struct oa_spec spec;
    struct oa_layer layer;
    assert_int_equal(oa_spec_parse(context, "softmax", &spec), OA_OK);
    assert_int_equal(oa_layer_open(context, &spec, 0, &both, NULL, "", &layer), OA_ARGUMENT);
    oa_clear_error(context);
    oa_spec_free(&spec);
}

/* A mechanism that does not claim a mode is refused there; the registry says why it exists. */
static void the_registry_is_complete(void **state)
{
    (void)state;
    const struct oa_mechanism *m;
    for (int i = 0; (m = oa_mechanism_at(i)); i++) {
        assert_ptr_equal(oa_mechanism_find(m->name), m);
        assert_true(m->title && m->citation && m->formula && m->cost && m->state && m->arguments);
        assert_true(m->forward && m->flops);
        assert_true(!(m->can & OA_CAN_MIX) || (m->part && m->scores));
        assert_true(!(m->can & OA_HAS_WEIGHTS) == !m->weights);
        assert_true(!(m->can & OA_BOUND_LENGTH) || m->length);
        if (strcmp(m->name, "mix") == 0)
            continue;
        if (!(m->can & OA_CAN_CROSS))
            assert_refused((struct attention_setup){ .spec = m->name, .mode = CROSS }, "self-attention only");
        if (!(m->can & OA_CAN_CAUSAL))
            assert_refused((struct attention_setup){ .spec = m->name, .mode = CAUSAL }, "no causal form");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_registry_is_complete),
        cmocka_unit_test(gradients),
        cmocka_unit_test(causality),
        cmocka_unit_test(padding),
        cmocka_unit_test(batches),
        cmocka_unit_test(tables),
        cmocka_unit_test(too_long_is_refused),
        cmocka_unit_test(maps),
        cmocka_unit_test(supports_over_many_tiles),
        cmocka_unit_test(parts_over_many_tiles),
        cmocka_unit_test(long_sequences),
        cmocka_unit_test(order),
        cmocka_unit_test(limits),
        cmocka_unit_test(layers_share_when_asked),
        cmocka_unit_test(flops_agree_with_the_plan),
        cmocka_unit_test(parameter_counts),
        cmocka_unit_test(what_cannot_be_right_is_refused),
    };
    return cmocka_run_group_tests(tests, collect, close_context);
}
