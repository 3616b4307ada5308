/* SPDX-License-Identifier: Apache-2.0
 * The loop over subjects and attentions, and the list of what was found. */
#include "verify/verify.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* ---- what was found
 * ------------------------------------------------------------------------------------------------
 */

/* Room for one more in an array that grows by doubling; NULL after a recorded failure. */
static void *add_room(struct oa_proof *p, void **array, int count, size_t size)
{
    bool full = count == 0 || (count >= 8 && (count & (count - 1)) == 0);
    if (full) {
        size_t capacity = count ? 2 * (size_t)count : 8;
        void *grown = oa_grow(p->context, *array, (size_t)count * size, capacity * size);
        if (!grown)
            return NULL;
        *array = grown;
    }
    return (char *)*array + (size_t)count * size;
}

static struct oa_proof_line *line_of(struct oa_proof *p, const char *mechanism)
{
    for (int i = p->lines - 1; i >= 0; i--) {
        if (strcmp(p->line[i].subject, p->subject) == 0 &&
            strcmp(p->line[i].mechanism, mechanism) == 0)
            return &p->line[i];
    }
    void *array = p->line;
    struct oa_proof_line *l = add_room(p, &array, p->lines, sizeof *l);
    p->line = array;
    if (!l)
        return NULL;
    *l = (struct oa_proof_line){ .subject = p->subject };
    snprintf(l->mechanism, sizeof l->mechanism, "%s", mechanism);
    p->lines++;
    return l;
}

/* How near an error is to its bound; errors that must be 0 count as infinitely far beyond. */
static double share(const struct oa_check *f)
{
    if (isnan(f->error))
        return INFINITY;
    return f->error == 0 ? 0 : f->error / f->bound;
}

static bool keep(struct oa_proof *p, struct oa_check **list, int *count, const struct oa_check *f)
{
    void *array = *list;
    struct oa_check *kept = add_room(p, &array, *count, sizeof *kept);
    *list = array;
    if (!kept)
        return false;
    *kept = *f;
    (*count)++;
    return true;
}

static void note(struct oa_proof *p, const char *mechanism, const struct oa_check *f)
{
    struct oa_proof_line *l = line_of(p, mechanism);
    if (!l)
        return;
    if (l->checks++ == l->unjudged || share(f) > share(&l->worst))
        l->worst = *f;
    p->checks++;
    p->largest_bound = fmax(p->largest_bound, f->bound);
    if (f->error <= f->bound)
        return;
    l->failed++;
    keep(p, &p->failure, &p->failures, f);
}

static const char *row_name(const struct oa_spec *s)
{
    return s->layers == 1 && s->layer[0].groups == 1 ? s->layer[0].group[0].atom.mechanism->name
                                                     : "side by side";
}

static struct oa_check check_of(const struct oa_proof *p, const struct oa_case *a, double error,
                                double bound)
{
    struct oa_check f = { .subject = p->subject,
                          .mode = oa_mode_name(a->setup.mode),
                          .precision = oa_precision_name(a->setup.precision),
                          .error = error,
                          .bound = bound };
    snprintf(f.spec, sizeof f.spec, "%s", a->setup.spec);
    return f;
}

void oa_proof_measure(struct oa_proof *p, const struct oa_case *a, double error, double bound,
                      const char *what, ...)
{
    struct oa_check f = check_of(p, a, error, bound);
    va_list arguments;
    va_start(arguments, what);
    oa_format(f.what, sizeof f.what, what, arguments);
    va_end(arguments);
    p->of_cases++;
    note(p, row_name(&a->rig.spec), &f);
}

void oa_proof_unjudged(struct oa_proof *p, const struct oa_case *a, double number, const char *why,
                       ...)
{
    struct oa_check f = check_of(p, a, NAN, number);
    struct oa_proof_line *l = line_of(p, row_name(&a->rig.spec));
    va_list arguments;
    va_start(arguments, why);
    oa_format(f.what, sizeof f.what, why, arguments);
    va_end(arguments);
    if (!l || !keep(p, &p->unjudged, &p->unjudgeds, &f))
        return;
    l->unjudged++;
    l->checks++;
    p->checks++;
    p->of_cases++;
}

void oa_proof_law(struct oa_proof *p, const char *mechanism, double error, double bound,
                  const char *law, ...)
{
    struct oa_check f = {
        .subject = p->subject, .mode = "", .precision = "", .error = error, .bound = bound
    };
    va_list arguments;
    va_start(arguments, law);
    oa_format(f.what, sizeof f.what, law, arguments);
    va_end(arguments);
    snprintf(f.spec, sizeof f.spec, "%s", mechanism);
    note(p, mechanism, &f);
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

/* ---- cases
 * ---------------------------------------------------------------------------------------------------------
 */

bool oa_proof_stopped(const struct oa_proof *p)
{
    return oa_status(p->context) != OA_OK || oa_stop_requested(p->context);
}

static bool reads_files(const struct oa_mechanism *m)
{
    bool files = false;
    for (const struct oa_argument *o = m->arguments; o->key; o++)
        files |= o->kind == OA_VALUE_TEXT;
    return files;
}

/* A mechanism without options has every mode that its table claims, and sees both sides in any
 * case. (A file may be what a mode needs.) */
static bool claimed(const struct oa_case *a)
{
    const struct oa_layer_spec *l = a->rig.spec.layer;
    if (a->rig.spec.layers != 1 || l->groups != 1 || l->group[0].atom.children)
        return false;
    const struct oa_mechanism *m = l->group[0].atom.mechanism;
    bool has = a->setup.mode == OA_MODE_BOTH ||
               (m->can & (a->setup.mode == OA_MODE_CAUSAL ? OA_CAN_CAUSAL : OA_CAN_CROSS));
    return has && !reads_files(m) && strcmp(a->setup.spec, m->name) == 0;
}

static void refuse(struct oa_proof *p, const struct oa_case *a, const char *sentence)
{
    if (claimed(a)) {
        oa_proof_measure(p, a, INFINITY, 0, "claimed, but refused: %s", sentence);
        return;
    }
    struct oa_proof_line *l = line_of(p, row_name(&a->rig.spec));
    if (l)
        l->refused++;
    for (int i = 0; i < p->refusals; i++) {
        if (p->refusal[i].mode == oa_mode_name(a->setup.mode) &&
            strcmp(p->refusal[i].spec, a->setup.spec) == 0)
            return;
    }
    void *array = p->refusal;
    struct oa_refusal *r = p->only ? add_room(p, &array, p->refusals, sizeof *r) : NULL;
    if (!r)
        return;
    p->refusal = array;
    *r = (struct oa_refusal){ .mode = oa_mode_name(a->setup.mode) };
    snprintf(r->spec, sizeof r->spec, "%s", a->setup.spec);
    snprintf(r->sentence, sizeof r->sentence, "%s", sentence);
    p->refusals++;
}

/* An error other than one that ends the proof is something found. */
void oa_proof_error(struct oa_proof *p, const struct oa_case *a)
{
    const char *sentence;
    char kept[OA_PROOF_TEXT];
    enum oa_error e = oa_last_error(p->context, &sentence);
    if (e == OA_OK || e == OA_NO_MEMORY)
        return;
    snprintf(kept, sizeof kept, "%s", sentence);
    oa_clear_error(p->context);
    if (e == OA_UNSUPPORTED || (e == OA_SHAPE && p->only))
        refuse(p, a, kept);
    else
        oa_proof_measure(p, a, INFINITY, 0, "error: %s", kept);
}

bool oa_proof_open(struct oa_proof *p, const char *spec, enum oa_mode mode,
                   const struct oa_setup *setup, struct oa_case *a)
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

bool oa_proof_run(struct oa_proof *p, struct oa_case *a)
{
    bool done = oa_case_run(a) == OA_OK;
    oa_proof_error(p, a);
    return done;
}

void oa_proof_modes(struct oa_proof *p, const char *spec, const struct oa_setup *setup,
                    enum oa_mode first, enum oa_mode last, oa_property *check)
{
    for (int mode = first; mode <= (int)last && !oa_proof_stopped(p); mode++) {
        struct oa_case a;
        if (!oa_proof_open(p, spec, (enum oa_mode)mode, setup, &a))
            continue;
        check(p, &a);
        oa_case_close(&a);
    }
}

const char *oa_proof_plain(const struct oa_mechanism *m)
{
    return m->plain ? m->plain : m->name;
}

const char *oa_proof_row(struct oa_proof *p, const char *spec)
{
    struct oa_spec parsed;
    const char *name = oa_spec_parse(p->context, spec, &parsed) == OA_OK ? row_name(&parsed) : "";
    oa_spec_free(&parsed);
    return name;
}

bool oa_proof_wants(const struct oa_proof *p, const char *mechanism)
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

/* ---- the loop
 * -------------------------------------------------------------------------------------------------------
 */

static const struct oa_subject *const subjects[] = {
#define LIST(name) &oa_subject_##name,
    OA_SUBJECTS(LIST)
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

/* How far a run is: what subjects take is known roughly. */
struct course {
    double start, done, all;
};

static void report(const struct oa_proof *p, const struct course *w, const struct oa_subject *s,
                   int i, int count)
{
    double share = (w->done + s->work * i / count) / w->all, spent = oa_clock() - w->start;
    char rest[48] = "";
    if (share > 0.02)
        snprintf(rest, sizeof rest, ", %.0f s left", spent * (1 - share) / share);
    oa_log(p->context, 1, "%s: %d of %d, %ld checks, %d failed, %.0f %%%s", s->name, i, count,
           p->checks, p->failures, 100 * share, rest);
}

static void look(struct oa_proof *p, const struct oa_subject *s, const struct course *w)
{
    p->subject = s->name;
    for (int i = 0; s->each && i < p->spec_count && !oa_proof_stopped(p); i++) {
        report(p, w, s, i, p->spec_count);
        s->each(p, p->specs[i]);
    }
    if (s->once && !oa_proof_stopped(p)) {
        report(p, w, s, 0, 1);
        s->once(p);
    }
}

static void close_others(struct oa_proof *p)
{
    for (int i = 0; i < 2; i++) {
        oa_close(p->other[i]);
        p->other[i] = NULL;
    }
}

static enum oa_error open_all(struct oa_proof *p)
{
    OA_TRY(oa_status(p->context));
    if (p->only)
        OA_TRY(oa_spec_parse(p->context, p->only, &p->only_spec));
    OA_TRY(oa_proof_collect(p));
    for (int i = 0; i < 2; i++) {
        int threads = i ? oa_thread_count(p->context) + 2 : 1;
        p->other[i] = oa_open(&(struct oa_settings){
            .threads = threads, .isa = oa_isa_name(oa_context_isa(p->context)) });
        if (!p->other[i] || oa_thread_count(p->other[i]) != threads)
            return oa_fail(p->context, OA_NO_MEMORY,
                           "out of memory for the %d threads to compare with", threads);
    }
    return OA_OK;
}

enum oa_error oa_proof_make(oa_context *c, const char *spec, bool quick, const char *subject,
                            struct oa_proof *out)
{
    struct course course = { .start = oa_clock() };
    *out = (struct oa_proof){ .context = c, .only = spec, .quick = quick };
    OA_TRY(open_all(out));
    for (int i = 0; i < SUBJECTS; i++)
        course.all += subjects[i]->work;
    for (int i = 0; i < SUBJECTS; i++) {
        if (!subject || strcmp(subject, subjects[i]->name) == 0)
            look(out, subjects[i], &course);
        course.done += subjects[i]->work;
    }
    close_others(out);
    out->seconds = oa_clock() - course.start;
    if (oa_stop_requested(c))
        return oa_fail(c, OA_INTERRUPTED, "the proof was stopped");
    if (out->only && !out->of_cases && out->refusals)
        return oa_fail(c, OA_UNSUPPORTED, "there is no form of %s to verify: %s", spec,
                       out->refusal[0].sentence);
    return oa_status(c);
}

void oa_proof_free(struct oa_proof *p)
{
    close_others(p);
    oa_spec_free(&p->only_spec);
    oa_free(p->specs);
    oa_free(p->line);
    oa_free(p->failure);
    oa_free(p->unjudged);
    oa_free(p->refusal);
    *p = (struct oa_proof){ .context = p->context };
}
