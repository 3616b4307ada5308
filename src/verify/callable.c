/* SPDX-License-Identifier: Apache-2.0
 * Claims about an attention of another program: the loop over claims, the record of their errors,
 * and the results as text or JSON. */
#include "base/json_read.h"
#include "base/json_write.h"
#include "decode/characters.h"
#include "print/print.h"
#include "verify/callable_checks.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

size_t oa_call_elements(const struct oa_callable_call *call)
{
    return (size_t)(call->batch * call->heads * call->tokens * call->width);
}

/* ---- for claims ---- */

double oa_claim_normal(struct oa_claim_check *s)
{
    return oa_random_normal(s->stream, s->drawn++);
}

long oa_claim_below(struct oa_claim_check *s, long n)
{
    return (long)oa_random_below(oa_stream_child(s->stream, 1), s->drawn++, (uint64_t)n);
}

void oa_claim_note(struct oa_claim_check *s, double error, double bound, const char *where, ...)
{
    double ratio = isnan(error) ? INFINITY : error / bound;
    va_list arguments;
    if (!s->judging || ratio <= s->worst)
        return;
    s->worst = ratio;
    s->error = error;
    s->bound = bound;
    va_start(arguments, where);
    oa_format(s->where, sizeof s->where, where, arguments);
    va_end(arguments);
}

void oa_claim_fail(struct oa_claim_check *s, const char *why, ...)
{
    va_list arguments;
    if (!s->judging || (isinf(s->worst) && isnan(s->error)))
        return;
    s->worst = INFINITY;
    s->error = s->bound = NAN;
    va_start(arguments, why);
    oa_format(s->where, sizeof s->where, why, arguments);
    va_end(arguments);
}

static double *zeros(struct oa_claim_check *s, size_t count)
{
    double *out = oa_arena_take(&s->arena, count * sizeof *out);
    if (out)
        memset(out, 0, count * sizeof *out);
    return out;
}

static const struct oa_callable_call *
collect_call(struct oa_claim_check *s, const struct oa_callable_call *call, struct oa_call_list *l)
{
    if (l->count == l->capacity) {
        size_t size = sizeof *l->call, old = (size_t)l->capacity * size;
        struct oa_callable_call *grown = oa_grow(s->context, l->call, old, 2 * old + 64 * size);
        if (!grown)
            return NULL;
        l->call = grown;
        l->capacity = 2 * l->capacity + 64;
    }
    struct oa_callable_call *copy = &l->call[l->count++];
    *copy = *call;
    copy->claim = s->claim->name;
    copy->causal = s->causal;
    copy->y = zeros(s, oa_call_elements(call));
    for (int i = 0; i < call->arrays; i++)
        copy->slope[i] = zeros(s, oa_call_elements(call));
    return copy->y && copy->slope[call->arrays - 1] ? copy : NULL;
}

const struct oa_callable_call *oa_claim_call(struct oa_claim_check *s,
                                             const struct oa_callable_call *call, int run)
{
    struct oa_call_list *l = &s->list[run];
    if (!s->judging)
        return collect_call(s, call, l);
    const struct oa_callable_call *done = &l->call[l->next++];
    if (done->why[0])
        oa_claim_fail(s, "%s", done->why);
    return done;
}

/* ---- the loop ---- */

static enum oa_error run_calls(struct oa_claim_check *s)
{
    for (int i = 0; i < 2; i++) {
        if (!s->list[i].count)
            continue;
        if (oa_stop_requested(s->context) ||
            s->f->run(s->f->argument, s->list[i].call, s->list[i].count) != 0) {
            OA_TRY(oa_status(s->context));
            return oa_fail(s->context, OA_INTERRUPTED, "verify was stopped");
        }
    }
    return oa_status(s->context);
}

static enum oa_error judge_claim(struct oa_claim_check *s)
{
    s->claim->check(s);
    OA_TRY(oa_status(s->context));
    OA_TRY(run_calls(s));
    s->drawn = 0;
    s->judging = true;
    s->claim->check(s);
    return oa_status(s->context);
}

static bool claim_holds(const struct oa_claim_check *s)
{
    return s->worst >= 0 && s->worst <= 1;
}

/* The names that f may have; pure, the first of the claims, is not about copies. */
static const char *claim_names(const struct oa_callable *f)
{
    const char *all = "pure, deterministic, dtype, batch, gradient, causal, padding, permutation, "
                      "average, decoding";
    return all + (f->copies ? strlen("pure, ") : 0);
}

/* The claims of f, in their order, into out[room]; refuses other names. */
static enum oa_error read_claims(oa_context *c, const struct oa_callable *f,
                                 const struct oa_claim **out, int room, int *count)
{
    *count = 0;
    for (const char *at = f->claims; *at; at += at[0] == ',') {
        size_t n = strcspn(at, ",");
        const struct oa_claim *found = NULL;
        for (int i = f->copies ? 1 : 0; i < oa_claim_count; i++) {
            if (strlen(oa_claims[i].name) == n && memcmp(oa_claims[i].name, at, n) == 0)
                found = &oa_claims[i];
        }
        if (!found)
            return oa_fail(c, OA_ARGUMENT, "there is no claim '%.*s'; choose from %s",
                           (int)oa_min((long)n, 60), at, claim_names(f));
        for (int i = 0; i < *count; i++) {
            if (out[i] == found)
                return oa_fail(c, OA_ARGUMENT, "the claim %s is named twice", found->name);
        }
        if (*count < room)
            out[(*count)++] = found;
        at += n;
    }
    if (!*count)
        return oa_fail(c, OA_ARGUMENT, "claims is empty: name at least one of %s", claim_names(f));
    return OA_OK;
}

static enum oa_error check_callable(oa_context *c, const struct oa_callable *f)
{
    if (f->arrays != 1 && f->arrays != 3)
        return oa_fail(c, OA_ARGUMENT, "there are %d input tensors; give 1 (x) or 3 (q, k, v)",
                       f->arrays);
    if (f->batch < 1 || f->batch > 64 || f->heads < 1 || f->width < 1 || f->width > 4096 ||
        f->width % f->heads)
        return oa_fail(c, OA_ARGUMENT,
                       "batch %ld, width %ld, heads %ld: give a batch of 1 to 64 and a width up to "
                       "4096 that is a multiple of heads",
                       f->batch, f->width, f->heads);
    for (int i = 0; i < f->lengths; i++) {
        if (f->tokens[i] < 1 || f->tokens[i] > 256)
            return oa_fail(c, OA_ARGUMENT, "a sequence of %ld tokens; give 1 to 256", f->tokens[i]);
    }
    return f->lengths > 0 ? OA_OK : oa_fail(c, OA_ARGUMENT, "tokens is empty: give a length");
}

/* ---- results ---- */

static const struct oa_column columns[] = { { .title = "claim" },
                                            { .title = "calls", .right = true },
                                            { .title = "worst", .right = true },
                                            { .title = "bound", .right = true },
                                            { .title = "" },
                                            { .title = "what was found", .shorten = true } };

/* Where the largest error is, or why there is none; "" where it is 0. */
static const char *where_text(const struct oa_claim_check *s)
{
    return s->worst < 0 ? "no check was made" : s->worst == 0 ? "" : s->where;
}

static void print_claims(const struct oa_claim_check *s, int count, int failed, int width,
                         struct oa_text *out)
{
    struct oa_table t;
    long calls = 0;
    oa_table_init(&t, s->context, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < count; i++) {
        char error[OA_NUMBER], bound[OA_NUMBER];
        bool measured = !isnan(s[i].bound);
        long asked = s[i].list[0].count + s[i].list[1].count;
        calls += asked;
        oa_table_cell(&t, "%s", s[i].claim->name);
        oa_table_cell(&t, "%ld", asked);
        oa_table_cell(&t, "%s", measured ? oa_number(error, s[i].error, 2) : "");
        oa_table_cell(&t, "%s", measured ? oa_number(bound, s[i].bound, 2) : "");
        oa_table_cell(&t, "%s", claim_holds(&s[i]) ? "pass" : "FAIL");
        oa_table_cell(&t, "%s", claim_holds(&s[i]) ? s[i].claim->sentence : "see below");
    }
    oa_table_text(&t, width, out);
    oa_table_free(&t);
    for (int i = 0, shown = 0; i < count; i++) {
        if (!claim_holds(&s[i]))
            oa_text_printf(out, "%s%s: %s\n", shown++ ? "" : "\nFailures\n", s[i].claim->name,
                           where_text(&s[i]));
    }
    oa_text_printf(out, "\n%d claims, %ld calls: %d passed, %d failed\n", count, calls,
                   count - failed, failed);
}

/* A text of the user, in which bytes that are not UTF-8 become U+FFFD. */
static json_t *safe_string(oa_context *c, const char *text)
{
    struct oa_text clean;
    oa_text_init(&clean, c);
    oa_characters_text(text, strlen(text), &clean);
    json_t *value = json_string(clean.s ? clean.s : "");
    oa_text_free(&clean);
    return value;
}

static json_t *claim_object(const struct oa_claim_check *s)
{
    bool holds = claim_holds(s);
    return json_pack("{s:s, s:s, s:b, s:I, s:o, s:o, s:o}", "claim", s->claim->name, "sentence",
                     s->claim->sentence, "passed", holds, "calls",
                     (json_int_t)(s->list[0].count + s->list[1].count), "error",
                     oa_json_number(s->error), "bound", oa_json_number(s->bound), "where",
                     safe_string(s->context, where_text(s)));
}

static void write_claims(const struct oa_callable *f, const struct oa_claim_check *s, int count,
                         int failed, struct oa_text *out)
{
    json_t *claims = json_array(), *failures = json_array();
    for (int i = 0; i < count; i++) {
        oa_json_append(s->context, claims, claim_object(&s[i]));
        if (!claim_holds(&s[i]))
            oa_json_append(s->context, failures, claim_object(&s[i]));
    }
    json_t *all = json_pack("{s:o, s:i, s:i, s:i, s:o, s:o}", "foreign",
                            f->title ? safe_string(s->context, f->title) : json_null(), "checks",
                            count, "passed", count - failed, "failed", failed, "claims", claims,
                            "failures", failures);
    if (all)
        oa_json_text(all, out);
    else
        oa_fail(s->context, OA_NO_MEMORY, "out of memory while writing JSON");
    json_decref(all);
}

static enum oa_error report_claims(const struct oa_callable *f, const struct oa_claim_check *s,
                                   int count, const struct oa_output *out)
{
    struct oa_text t;
    int failed = 0;
    for (int i = 0; i < count; i++)
        failed += !claim_holds(&s[i]);
    oa_text_init(&t, s->context);
    if (out && out->json)
        write_claims(f, s, count, failed, &t);
    else
        print_claims(s, count, failed, out ? out->width : 0, &t);
    if (oa_status(s->context) == OA_OK && out && out->sink && t.length)
        out->sink(out->argument, t.s, t.length);
    oa_text_free(&t);
    OA_TRY(oa_status(s->context));
    return failed ? oa_fail(s->context, OA_DISPROVED, "%d of %d claims failed", failed, count)
                  : OA_OK;
}

enum { CLAIMS = 16 };

enum oa_error oa_callable_verify(oa_context *c, const struct oa_callable *f,
                                 const struct oa_output *out)
{
    const struct oa_claim *claim[CLAIMS];
    struct oa_claim_check check[CLAIMS];
    int count, begun = 0;
    bool causal = false;
    OA_TRY(check_callable(c, f));
    OA_TRY(read_claims(c, f, claim, CLAIMS, &count));
    for (int i = 0; i < count; i++) {
        causal |= claim[i]->causal;
        if (f->arrays == 1 && strcmp(claim[i]->name, "average") == 0)
            return oa_fail(c, OA_ARGUMENT, "the claim average is about inputs qkv, not x");
    }
    enum oa_error e = OA_OK;
    for (; begun < count && e == OA_OK; begun++) {
        struct oa_claim_check *s = &check[begun];
        *s = (struct oa_claim_check){ .claim = claim[begun],
                                      .f = f,
                                      .context = c,
                                      .stream = oa_stream_named(f->seed, claim[begun]->name),
                                      .causal = causal,
                                      .worst = -1,
                                      .error = NAN,
                                      .bound = NAN };
        oa_arena_init(&s->arena, c, false);
        oa_log(c, 1, "%s: %.0f %%", s->claim->name, 100.0 * begun / count);
        e = judge_claim(s);
    }
    if (e == OA_OK)
        e = report_claims(f, check, count, out);
    for (int i = 0; i < begun; i++) {
        oa_arena_free(&check[i].arena);
        oa_free(check[i].list[0].call);
        oa_free(check[i].list[1].call);
    }
    return e;
}
