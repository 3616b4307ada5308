/* SPDX-License-Identifier: Apache-2.0
 *
 * The retained share of an attention: its gain over the uniform baseline divided by that of
 * softmax, or of the baseline. Both gains are means of differences by seed, so the share has
 * Fieller's interval (statistics/fieller.h), at 95 % for each attention alone. It is described: no
 * verdict depends on it.
 *
 * Where the gain of softmax itself is not significant there are no shares: they would be noise. Its
 * verdict against the uniform baseline decides, and the interval where it has none.
 */
#include "report/retained.h"

#include "print/print.h"

#include <math.h>
#include <string.h>

static const double level = 0.05;

int oa_retained_whole(const struct oa_comparison *k, const struct oa_summary *s)
{
    if (s->uniform < 0 || k->baseline)
        return s->uniform < 0 || k->baseline - 1 == s->uniform ? -1 : k->baseline - 1;
    for (int i = 0; i < k->count; i++)
        if (i != s->uniform && strcmp(k->entries[i].attention, "softmax") == 0)
            return i;
    return -1;
}

/* Gains over the uniform baseline with each seed that all three finished; how many. */
static int fill_gains(const struct oa_comparison *k, int uniform, int whole, int entry,
                      double *gain, double *whole_gain)
{
    int n = 0;
    for (int r = 0; r < k->seeds && n < OA_SEEDS_CAP; r++) {
        const struct oa_run *u = &k->entries[uniform].runs[r], *w = &k->entries[whole].runs[r],
                            *x = &k->entries[entry].runs[r];
        if (!oa_run_finished(k, u) || !oa_run_finished(k, w) || !oa_run_finished(k, x))
            continue;
        const struct oa_measure *m = oa_compared_measure(k);
        double base = oa_cost(m, oa_run_score(k, u));
        gain[n] = base - oa_cost(m, oa_run_score(k, x));
        whole_gain[n++] = base - oa_cost(m, oa_run_score(k, w));
    }
    return n;
}

static enum oa_retained_state state_of(const struct oa_fieller *share, double cost,
                                       bool insignificant)
{
    bool no_gain = !(fabs(share->gain) > 1e-13 * fabs(cost)); /* rounding */
    if (share->n < 1)
        return OA_RETAINED_NONE;
    if (share->n < 2)
        return OA_RETAINED_ONE_SEED;
    if (no_gain || share->form != OA_FIELLER_BOUNDED)
        return OA_RETAINED_UNBOUNDED;
    if (insignificant)
        return OA_RETAINED_INSIGNIFICANT;
    return share->gain > 0 ? OA_RETAINED_BOUNDED : OA_RETAINED_LOSS;
}

struct oa_retained oa_retained_of(const struct oa_comparison *k, const struct oa_summary *s,
                                  int entry)
{
    double gain[OA_SEEDS_CAP] = { 0 }, whole_gain[OA_SEEDS_CAP] = { 0 };
    int whole = oa_retained_whole(k, s), n = 0;
    if (whole >= 0 && entry != s->uniform && !s->entries[s->uniform].failed &&
        !s->entries[whole].failed && !s->entries[entry].failed)
        n = fill_gains(k, s->uniform, whole, entry, gain, whole_gain);
    struct oa_retained out = { .share = oa_fieller_of(gain, whole_gain, n, level) };
    double cost = n ? oa_standing_score(k, &s->entries[whole])->mean : NAN;
    enum oa_against_verdict v =
        n ? oa_compared_pair(s, whole, s->uniform)->verdict : OA_AGAINST_NONE;
    out.state =
        state_of(&out.share, cost, v == OA_AGAINST_UNRESOLVED || v == OA_AGAINST_EQUIVALENT);
    return out;
}

char *oa_retained_ends(char out[OA_INTERVAL], const struct oa_retained *r)
{
    char low[OA_NUMBER], high[OA_NUMBER];
    *out = 0;
    if (r->state == OA_RETAINED_BOUNDED)
        snprintf(out, OA_INTERVAL, "[%s, %s]", oa_number_fixed(low, r->share.low, 2),
                 oa_number_fixed(high, r->share.high, 2));
    return out;
}

bool oa_retained_shown(const struct oa_retained *r)
{
    return r->state == OA_RETAINED_BOUNDED || r->state == OA_RETAINED_ONE_SEED;
}

bool oa_retained_any(const struct oa_comparison *k, const struct oa_summary *s)
{
    int whole = oa_retained_whole(k, s);
    for (int i = 0; whole >= 0 && i < s->count; i++) {
        struct oa_retained r = oa_retained_of(k, s, i);
        if (i != whole && oa_retained_shown(&r))
            return true;
    }
    return false;
}

void oa_retained_reason(const struct oa_comparison *k, const struct oa_summary *s,
                        enum oa_retained_state state, struct oa_text *out)
{
    int whole = oa_retained_whole(k, s);
    const char *name = whole < 0 ? "" : oa_entry_name(&k->entries[whole]);
    if (state == OA_RETAINED_NONE)
        oa_text_printf(out, "a run failed");
    else if (state == OA_RETAINED_ONE_SEED)
        oa_text_printf(out, "one seed: no interval");
    else if (state == OA_RETAINED_UNBOUNDED)
        oa_text_printf(out, "not bounded: %s is not shown to differ from the uniform baseline",
                       name);
    else if (state == OA_RETAINED_INSIGNIFICANT)
        oa_text_printf(
            out, "not given: the gain of %s over the uniform baseline is not significant", name);
    else if (state == OA_RETAINED_LOSS)
        oa_text_printf(out, "%s is worse than the uniform baseline: nothing to retain", name);
}

void oa_retained_sentence(const struct oa_comparison *k, const struct oa_summary *s,
                          struct oa_text *out)
{
    int whole = oa_retained_whole(k, s);
    const char *before = "";
    if (whole < 0)
        return;
    if (!oa_retained_any(k, s)) {
        struct oa_retained r = oa_retained_of(k, s, whole);
        if (oa_retained_shown(&r)) /* there is no other attention without failures */
            return;
        oa_text_printf(out, "Retained share: ");
        oa_retained_reason(k, s, r.state, out);
        oa_text_printf(out, ".");
        return;
    }
    for (int o = 0; o < s->count; o++) {
        int i = s->order[o];
        struct oa_retained r = oa_retained_of(k, s, i);
        if (i == whole || !oa_retained_shown(&r))
            continue;
        oa_text_printf(out, "%s", before);
        char value[OA_NUMBER], low[OA_NUMBER], high[OA_NUMBER];
        oa_text_printf(out, "%s keeps %s %%", oa_entry_name(&k->entries[i]),
                       oa_number_fixed(value, 100 * r.share.value, 0));
        if (r.state == OA_RETAINED_BOUNDED)
            oa_text_printf(out, " (95 %% interval %s to %s %%)",
                           oa_number_fixed(low, 100 * r.share.low, 0),
                           oa_number_fixed(high, 100 * r.share.high, 0));
        before = ", ";
    }
    oa_text_printf(out, " of what %s gains over the uniform baseline.",
                   oa_entry_name(&k->entries[whole]));
}

void oa_retained_note(const struct oa_comparison *k, const struct oa_summary *s, bool column,
                      struct oa_text *out)
{
    int whole = oa_retained_whole(k, s);
    struct oa_text sentence;
    oa_text_init(&sentence, out->context);
    if (column && whole >= 0 && oa_retained_any(k, s))
        oa_text_printf(&sentence,
                       "Retained share: gain over the uniform baseline as a share of that of %s, "
                       "with its 95 %% interval (Fieller); described, not judged.",
                       oa_entry_name(&k->entries[whole]));
    else
        oa_retained_sentence(k, s, &sentence);
    if (sentence.length)
        oa_text_printf(out, "%s\n", sentence.s);
    oa_text_free(&sentence);
}
