/* SPDX-License-Identifier: Apache-2.0
 * A comparison that adds seeds until it is resolved: rounds of runs, chosen by the statistics of
 * the runs so far (report/until.c), within a budget of time. Whether a round fits the budget is
 * predicted from the time of earlier runs; every other decision depends on results of finished runs
 * alone. */
#include "api/api_until.h"

#include "compare/comparison_file.h"

struct until {
    oa_context *c;
    const char *folder;
    struct oa_comparison *k;
    struct comparison_session *session;
    struct oa_cell *cells; /* of the round */
    int wanted;
    double began;                   /* clock: of this call */
    struct oa_spending before, now; /* calls before this one; with this one */
};

/* ---- time ---- */

static double until_spent(const struct until *u)
{
    return u->before.clock + oa_clock() - u->began;
}

/* Mean training time of the finished runs: of one attention, or (entry < 0) of all. 0: none. */
static double mean_run_seconds(const struct oa_comparison *k, int entry)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < k->count; i++)
        for (int s = 0; s < k->seeds && (entry < 0 || i == entry); s++)
            if (oa_run_finished(k, &k->entries[i].runs[s])) {
                sum += k->entries[i].runs[s].seconds;
                n++;
            }
    return n ? sum / n : 0;
}

/* Of the round by the clock: training time times the overhead factor of the rounds before. */
static double predicted_seconds(const struct until *u)
{
    double training = 0, all = mean_run_seconds(u->k, -1);
    for (int i = 0; i < u->wanted; i++) {
        double own = mean_run_seconds(u->k, u->cells[i].entry);
        if (!oa_comparison_has(u->session, &u->cells[i]))
            training += own > 0 ? own : all;
    }
    return u->now.training > 0 ? training * u->now.rounds / u->now.training : training;
}

static int count_untrained(const struct until *u)
{
    int n = 0;
    for (int i = 0; i < u->wanted; i++)
        n += !oa_comparison_has(u->session, &u->cells[i]);
    return n;
}

/* ---- a round ---- */

static void add_open_questions(const struct until *u, const struct oa_summary *s,
                               struct oa_text *out)
{
    const char *before = "";
    if (!s)
        oa_text_printf(out, "the first %d seeds of each", u->k->until.least);
    for (int i = 0; i < u->k->count && s; i++)
        if (oa_question_open(s, i)) {
            oa_text_printf(out, "%s%s",
                           *before ? before : "open: ", oa_entry_name(&u->k->entries[i]));
            before = ", ";
        }
}

static void log_round(const struct until *u, const struct oa_summary *s)
{
    struct oa_text line;
    char number[OA_NUMBER];
    if (count_untrained(u) == 0)
        return;
    oa_text_init(&line, u->c);
    oa_text_printf(&line, "round %d: ", u->k->until.rounds + 1);
    add_open_questions(u, s, &line);
    oa_text_printf(&line, "; %d run%s to train%s", count_untrained(u),
                   oa_plural(count_untrained(u)),
                   !u->k->tuning.per_seed || !u->k->tuning.grid.options ? ""
                   : count_untrained(u) == 1                            ? ", tuned before"
                                                                        : ", each tuned before");
    if (predicted_seconds(u) > 0)
        oa_text_printf(&line, ", about %s", oa_number_seconds(number, predicted_seconds(u)));
    if (u->k->until.budget > 0)
        oa_text_printf(&line, "; %s of the budget remain",
                       oa_number_seconds(number, u->k->until.budget > until_spent(u)
                                                     ? u->k->until.budget - until_spent(u)
                                                     : 0));
    oa_log(u->c, 2, "%s", line.s ? line.s : "");
    oa_text_free(&line);
}

static enum oa_error make_round(struct until *u)
{
    double began = oa_clock();
    bool *had = oa_alloc(u->c, ((size_t)u->wanted + 1) * sizeof *had);
    for (int i = 0; i < u->wanted && had; i++)
        had[i] = oa_comparison_has(u->session, &u->cells[i]);
    bool trains = count_untrained(u) > 0;
    enum oa_error e = had ? oa_comparison_make(u->session, u->cells, u->wanted) : OA_NO_MEMORY;
    if (e == OA_OK && trains) {
        double seconds = 0;
        for (int i = 0; i < u->wanted; i++)
            if (!had[i])
                seconds += u->k->entries[u->cells[i].entry].runs[u->cells[i].seed].seconds;
        u->now.rounds += oa_clock() - began;
        u->now.training += seconds;
    }
    oa_free(had);
    u->k->until.rounds++;
    return e;
}

/* Computes the statistics of the runs so far, and makes the runs that they ask for. *over: the
 * comparison has ended. */
static enum oa_error until_round(struct until *u, bool *over)
{
    struct oa_summary s;
    OA_TRY(oa_summary_make(u->c, u->k, &s));
    bool first = s.count > 0 && s.entries[0].made < u->k->until.least;
    double budget = u->k->until.budget;
    enum oa_error e = oa_until_wanted(u->c, u->k, &s, u->cells, &u->wanted);
    /* The first round is always made: without it the time of a run is unknown. */
    bool limited = budget > 0 && u->k->until.rounds > 0;
    if (e == OA_OK && u->wanted == 0)
        u->k->until.ending = oa_until_ending(u->k, &s);
    else if (e == OA_OK && limited && count_untrained(u) > 0 &&
             until_spent(u) + predicted_seconds(u) > budget)
        u->k->until.ending = OA_ENDING_BUDGET;
    *over = u->k->until.ending != OA_ENDING_NONE;
    if (e == OA_OK && !*over)
        log_round(u, first ? NULL : &s);
    oa_summary_free(&s);
    return e == OA_OK && !*over ? make_round(u) : e;
}

/* The time of a round that is stopped counts, too; a kill loses the time since the round began. */
static enum oa_error run_rounds(struct until *u)
{
    bool over = false;
    OA_TRY(oa_spending_read(u->c, u->folder, &u->before));
    u->now = u->before;
    u->cells = oa_alloc(u->c, ((size_t)u->k->count + 1) * sizeof *u->cells);
    enum oa_error e = u->cells ? OA_OK : OA_NO_MEMORY;
    while (e == OA_OK && !over) {
        e = until_round(u, &over);
        u->now.clock = until_spent(u);
        if (e == OA_INTERRUPTED)
            oa_spending_write(u->c, u->folder, &u->now);
        else if (e == OA_OK)
            e = oa_spending_write(u->c, u->folder, &u->now);
    }
    u->k->until.spent = until_spent(u);
    oa_free(u->cells);
    return e;
}

enum oa_error oa_comparison_until(oa_context *c, const struct oa_comparison_request *r,
                                  double began, struct oa_comparison *k)
{
    struct until u = { .c = c, .folder = r->folder, .k = k, .began = began };
    enum oa_error e = oa_comparison_open(c, r, k, &u.session);
    if (e == OA_OK)
        e = run_rounds(&u);
    if (e == OA_OK)
        e = oa_comparison_finish(u.session);
    oa_comparison_close(u.session);
    if (e == OA_OK) {
        int most = 0;
        for (int i = 0; i < k->count; i++) {
            int made = oa_runs_made(&k->entries[i], k->seeds);
            most = made > most ? made : most;
        }
        k->seeds = most;
    }
    return e;
}
