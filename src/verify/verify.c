/* SPDX-License-Identifier: Apache-2.0
 * The loop over subjects and attentions, and the record of their results. */
#include "verify/verify.h"
#include "base/concurrent.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* ---- results ---- */

/* Appends an element to the array at *list, which grows by doubling; NULL after a recorded failure.
 */
static void *append_result(struct oa_proof *p, void *list, int *count, size_t size)
{
    void *array;
    int n = *count;
    memcpy(&array, list, sizeof array);
    if (n == 0 || (n >= 8 && (n & (n - 1)) == 0)) {
        size_t capacity = n ? 2 * (size_t)n : 8;
        array = oa_grow(p->context, array, (size_t)n * size, capacity * size);
        if (!array)
            return NULL;
        memcpy(list, &array, sizeof array);
    }
    (*count)++;
    return (char *)array + (size_t)n * size;
}

static struct oa_proof_line *find_or_add_line(struct oa_proof *p, const char *mechanism)
{
    for (int i = p->lines - 1; i >= 0; i--) {
        if (strcmp(p->line[i].subject, p->subject) == 0 &&
            strcmp(p->line[i].mechanism, mechanism) == 0)
            return &p->line[i];
    }
    struct oa_proof_line *l = append_result(p, &p->line, &p->lines, sizeof *l);
    if (!l)
        return NULL;
    *l = (struct oa_proof_line){ .subject = p->subject };
    snprintf(l->mechanism, sizeof l->mechanism, "%s", mechanism);
    return l;
}

/* Error ÷ bound; infinite for NaN, and for an error that must be 0. */
static double relative_to_bound(const struct oa_check *f)
{
    if (isnan(f->error))
        return INFINITY;
    return f->error == 0 ? 0 : f->error / f->bound;
}

static void record_check(struct oa_proof *p, const char *mechanism, const struct oa_check *f)
{
    struct oa_proof_line *l = find_or_add_line(p, mechanism);
    if (!l)
        return;
    if (l->checks++ == l->inconclusive || relative_to_bound(f) > relative_to_bound(&l->worst))
        l->worst = *f;
    p->checks++;
    p->largest_bound = fmax(p->largest_bound, f->bound);
    if (f->error <= f->bound)
        return;
    l->failed++;
    struct oa_check *failure = append_result(p, &p->failure, &p->failures, sizeof *failure);
    if (failure)
        *failure = *f;
}

static const char *line_name(const struct oa_spec *s)
{
    return s->layers == 1 && s->layer[0].groups == 1 ? s->layer[0].group[0].atom.mechanism->name
                                                     : "side by side";
}

static struct oa_check new_check(const struct oa_proof *p, const struct oa_attention_case *a,
                                 double error, double bound)
{
    struct oa_check f = { .subject = p->subject,
                          .mode = oa_mode_name(a->setup.mode),
                          .precision = oa_precision_name(a->setup.precision),
                          .error = error,
                          .bound = bound };
    snprintf(f.spec, sizeof f.spec, "%s", a->setup.spec);
    return f;
}

void oa_proof_measure(struct oa_proof *p, const struct oa_attention_case *a, double error,
                      double bound, const char *what, ...)
{
    struct oa_check f = new_check(p, a, error, bound);
    va_list arguments;
    va_start(arguments, what);
    oa_format(f.what, sizeof f.what, what, arguments);
    va_end(arguments);
    p->of_cases++;
    record_check(p, line_name(&a->single.spec), &f);
}

void oa_proof_inconclusive(struct oa_proof *p, const struct oa_attention_case *a, double number,
                           const char *why, ...)
{
    struct oa_check f = new_check(p, a, NAN, number);
    struct oa_proof_line *l = find_or_add_line(p, line_name(&a->single.spec));
    va_list arguments;
    va_start(arguments, why);
    oa_format(f.what, sizeof f.what, why, arguments);
    va_end(arguments);
    struct oa_check *copy =
        l ? append_result(p, &p->inconclusive, &p->inconclusives, sizeof *copy) : NULL;
    if (!copy)
        return;
    *copy = f;
    l->inconclusive++;
    l->checks++;
    p->checks++;
    p->of_cases++;
}

void oa_proof_measure_mechanism(struct oa_proof *p, const char *mechanism, double error,
                                double bound, const char *what, ...)
{
    struct oa_check f = {
        .subject = p->subject, .mode = "", .precision = "", .error = error, .bound = bound
    };
    va_list arguments;
    va_start(arguments, what);
    oa_format(f.what, sizeof f.what, what, arguments);
    va_end(arguments);
    snprintf(f.spec, sizeof f.spec, "%s", mechanism);
    record_check(p, mechanism, &f);
}

double oa_proof_difference(const double *a, const double *b, long count)
{
    double worst = 0;
    for (long i = 0; i < count; i++) {
        double d = fabs(a[i] - b[i]) / (1 + fabs(a[i]));
        worst = d <= worst ? worst : d; /* NaN stays */
    }
    return worst;
}

/* ---- cases ---- */

bool oa_proof_stopped(const struct oa_proof *p)
{
    return oa_status(p->context) != OA_OK || oa_stop_requested(p->context);
}

/* Does the table of the mechanism claim the mode? Asked of mechanisms without options only, and not
 * of those that need a file. */
static bool is_mode_claimed(const struct oa_attention_case *a)
{
    const struct oa_layer_spec *l = a->single.spec.layer;
    if (a->single.spec.layers != 1 || l->groups != 1 || l->group[0].atom.children)
        return false;
    const struct oa_mechanism *m = l->group[0].atom.mechanism;
    for (const struct oa_argument *o = m->arguments; o->key; o++) {
        if (o->kind == OA_VALUE_TEXT)
            return false;
    }
    bool has = a->setup.mode == OA_MODE_BOTH ||
               (m->can & (a->setup.mode == OA_MODE_CAUSAL ? OA_CAN_CAUSAL : OA_CAN_CROSS));
    return has && strcmp(a->setup.spec, m->name) == 0;
}

static void record_refusal(struct oa_proof *p, const struct oa_attention_case *a,
                           const char *sentence)
{
    if (is_mode_claimed(a)) {
        oa_proof_measure(p, a, INFINITY, 0, "claimed but refused: %s", sentence);
        return;
    }
    struct oa_proof_line *l = find_or_add_line(p, line_name(&a->single.spec));
    if (l)
        l->refused++;
    for (int i = 0; i < p->refusals; i++) {
        if (p->refusal[i].mode == oa_mode_name(a->setup.mode) &&
            strcmp(p->refusal[i].spec, a->setup.spec) == 0)
            return;
    }
    struct oa_refusal *r = p->only ? append_result(p, &p->refusal, &p->refusals, sizeof *r) : NULL;
    if (!r)
        return;
    *r = (struct oa_refusal){ .mode = oa_mode_name(a->setup.mode) };
    snprintf(r->spec, sizeof r->spec, "%s", a->setup.spec);
    snprintf(r->sentence, sizeof r->sentence, "%s", sentence);
}

void oa_proof_error(struct oa_proof *p, const struct oa_attention_case *a)
{
    const char *sentence;
    char saved[OA_PROOF_TEXT];
    enum oa_error e = oa_last_error(p->context, &sentence);
    if (e == OA_OK || e == OA_NO_MEMORY)
        return;
    snprintf(saved, sizeof saved, "%s", sentence);
    oa_clear_error(p->context);
    if (e == OA_UNSUPPORTED || (e == OA_SHAPE && p->only))
        record_refusal(p, a, saved);
    else
        oa_proof_measure(p, a, INFINITY, 0, "error: %s", saved);
}

bool oa_proof_open(struct oa_proof *p, const char *spec, enum oa_mode mode,
                   const struct oa_setup *setup, struct oa_attention_case *a)
{
    struct oa_setup s = *setup;
    s.spec = spec;
    s.mode = mode;
    if (oa_case_open(p->context, &s, a) == OA_OK)
        return true;
    oa_proof_error(p, a);
    oa_case_close(a);
    return false;
}

bool oa_proof_run(struct oa_proof *p, struct oa_attention_case *a)
{
    bool done = oa_case_run(a) == OA_OK;
    oa_proof_error(p, a);
    return done;
}

void oa_proof_check_modes(struct oa_proof *p, const char *spec, const struct oa_setup *setup,
                          enum oa_mode first, enum oa_mode last, oa_property *check)
{
    for (int mode = first; mode <= (int)last && !oa_proof_stopped(p); mode++) {
        struct oa_attention_case a;
        if (!oa_proof_open(p, spec, (enum oa_mode)mode, setup, &a))
            continue;
        check(p, &a);
        oa_case_close(&a);
    }
}

const char *oa_proof_default_spec(const struct oa_mechanism *m)
{
    return m->plain ? m->plain : m->name;
}

const char *oa_proof_line_name(struct oa_proof *p, const char *spec)
{
    struct oa_spec parsed;
    const char *name = oa_spec_parse(p->context, spec, &parsed) == OA_OK ? line_name(&parsed) : "";
    oa_spec_free(&parsed);
    return name;
}

bool oa_proof_includes(const struct oa_proof *p, const char *mechanism)
{
    for (int l = 0; p->only && l < p->only_spec.layers; l++) {
        for (int g = 0; g < p->only_spec.layer[l].groups; g++) {
            const struct oa_atom *a = &p->only_spec.layer[l].group[g].atom;
            if (strcmp(a->mechanism->name, mechanism) == 0)
                return true;
            for (int i = 0; i < a->children; i++) {
                if (strcmp(a->child[i].mechanism->name, mechanism) == 0)
                    return true;
            }
        }
    }
    return !p->only;
}

/* ---- the loop ---- */

static const struct oa_subject *const subjects[] = {
#define LIST(name) &oa_subject_##name,
    OA_SUBJECTS(LIST)
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

/* Work in units of struct oa_subject, of all subjects before the current one and of all. */
struct proof_progress {
    double start, done, all;
};

static void log_proof_progress(const struct oa_proof *p, const struct proof_progress *w,
                               const struct oa_subject *s, int i, int count)
{
    double share = (w->done + s->work * i / count) / w->all, spent = oa_clock() - w->start;
    char rest[48] = "";
    if (share > 0.02)
        snprintf(rest, sizeof rest, ", %.0f s left", spent * (1 - share) / share);
    oa_log(p->context, 1, "%s: %d of %d, %ld checks, %d failed, %.0f %%%s", s->name, i, count,
           p->checks, p->failures, 100 * share, rest);
}

static void verify_subject(struct oa_proof *p, const struct oa_subject *s,
                           const struct proof_progress *w)
{
    p->subject = s->name;
    for (int i = 0; s->each && i < p->spec_count && !oa_proof_stopped(p); i++) {
        log_proof_progress(p, w, s, i, p->spec_count);
        s->each(p, p->specs[i]);
    }
    if (s->once && !oa_proof_stopped(p)) {
        log_proof_progress(p, w, s, 0, 1);
        s->once(p);
    }
}

static void close_other_threads(struct oa_proof *p)
{
    for (int i = 0; i < 2; i++) {
        oa_close(p->other_threads[i]);
        p->other_threads[i] = NULL;
    }
}

enum oa_error oa_proof_make(oa_context *c, const char *spec, bool quick, const char *subject,
                            struct oa_proof *out)
{
    struct proof_progress progress = { .start = oa_clock() };
    *out = (struct oa_proof){ .context = c, .only = spec, .quick = quick };
    OA_TRY(oa_status(c));
    if (spec)
        OA_TRY(oa_spec_parse(c, spec, &out->only_spec));
    OA_TRY(oa_proof_collect(out));
    for (int i = 0; i < 2; i++) {
        int threads = i ? oa_thread_count(c) + 2 : 1;
        out->other_threads[i] = oa_context_clone(c, threads, NULL, NULL);
        if (!out->other_threads[i])
            return oa_status(c);
    }
    for (int i = 0; i < SUBJECTS; i++)
        progress.all += subjects[i]->work;
    for (int i = 0; i < SUBJECTS; i++) {
        if (!subject || strcmp(subject, subjects[i]->name) == 0)
            verify_subject(out, subjects[i], &progress);
        progress.done += subjects[i]->work;
    }
    close_other_threads(out);
    out->seconds = oa_clock() - progress.start;
    if (oa_stop_requested(c))
        return oa_fail(c, OA_INTERRUPTED, "verify was stopped");
    if (out->only && !out->of_cases && out->refusals)
        return oa_fail(c, OA_UNSUPPORTED, "%s has no mode to verify: %s", spec,
                       out->refusal[0].sentence);
    return oa_status(c);
}

void oa_proof_free(struct oa_proof *p)
{
    close_other_threads(p);
    oa_spec_free(&p->only_spec);
    oa_free(p->specs);
    oa_free(p->line);
    oa_free(p->failure);
    oa_free(p->inconclusive);
    oa_free(p->refusal);
    *p = (struct oa_proof){ .context = p->context };
}
