/* SPDX-License-Identifier: Apache-2.0
 * A comparison that goes on until its questions are answered: rounds of runs, each wanted by the
 * statistics of those before (report/until.c), within a budget of time. The time of a round that is
 * predicted is that of the runs before it; it is all that is not decided by finished runs alone. */
#include "api/api_until.h"

#include "compare/spending.h"

struct until {
    oa_context *c;
    const char *folder;
    struct oa_comparison *k;
    struct comparison *held;
    struct oa_cell *cells; /* of the round */
    int wanted;
    double began;                   /* clock: of this call */
    struct oa_spending before, now; /* calls before this one; with this one */
};

/* ---- time ---- */

static double spent(const struct until *u)
{
    return u->before.clock + oa_clock() - u->began;
}

/* Mean training time of the runs that there are: of one attention, or (entry < 0) of all. 0: none.
 */
static double seconds_a_run(const struct oa_comparison *k, int entry)
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

/* What the round will take by the clock: training time, and what came with it in the rounds before.
 */
static double predicted(const struct until *u)
{
    double training = 0, all = seconds_a_run(u->k, -1);
    for (int i = 0; i < u->wanted; i++) {
        double own = seconds_a_run(u->k, u->cells[i].entry);
        if (!oa_comparison_has(u->held, &u->cells[i]))
            training += own > 0 ? own : all;
    }
    return u->now.training > 0 ? training * u->now.rounds / u->now.training : training;
}

static int to_train(const struct until *u)
{
    int n = 0;
    for (int i = 0; i < u->wanted; i++)
        n += !oa_comparison_has(u->held, &u->cells[i]);
    return n;
}

/* The first round is made in any case: without it nothing is known of what a run takes. */
static bool affordable(const struct until *u)
{
    double budget = u->k->until.budget;
    return budget <= 0 || u->k->until.rounds == 0 || to_train(u) == 0 ||
           spent(u) + predicted(u) <= budget;
}

static enum oa_error save(struct until *u)
{
    u->now.clock = spent(u);
    return oa_spending_write(u->c, u->folder, &u->now);
}

/* ---- a round ---- */

static void add_open(const struct until *u, const struct oa_summary *s, struct oa_text *out)
{
    const char *before = "";
    if (!s)
        oa_text_printf(out, "the first %d seeds of each", u->k->until.least);
    for (int i = 0; i < u->k->count && s; i++)
        if (oa_question_open(u->k, s, i)) {
            oa_text_printf(out, "%s%s",
                           *before ? before : "open: ", oa_entry_name(&u->k->entries[i]));
            before = ", ";
        }
}

static void announce(const struct until *u, const struct oa_summary *s)
{
    struct oa_text line;
    char number[OA_NUMBER];
    if (to_train(u) == 0)
        return;
    oa_text_init(&line, u->c);
    oa_text_printf(&line, "round %d: ", u->k->until.rounds + 1);
    add_open(u, s, &line);
    oa_text_printf(&line, "; %d run%s to train", to_train(u), oa_plural(to_train(u)));
    if (predicted(u) > 0)
        oa_text_printf(&line, ", about %s", oa_number_seconds(number, predicted(u)));
    if (u->k->until.budget > 0)
        oa_text_printf(&line, "; %s of the budget remain",
                       oa_number_seconds(number, u->k->until.budget > spent(u)
                                                     ? u->k->until.budget - spent(u)
                                                     : 0));
    oa_log(u->c, 2, "%s", line.s ? line.s : "");
    oa_text_free(&line);
}

static double training_time(const struct until *u, const bool *had)
{
    double sum = 0;
    for (int i = 0; i < u->wanted; i++)
        if (!had[i])
            sum += u->k->entries[u->cells[i].entry].runs[u->cells[i].seed].seconds;
    return sum;
}

static enum oa_error make_round(struct until *u)
{
    double began = oa_clock();
    bool *had = oa_alloc(u->c, ((size_t)u->wanted + 1) * sizeof *had);
    for (int i = 0; i < u->wanted && had; i++)
        had[i] = oa_comparison_has(u->held, &u->cells[i]);
    bool trains = to_train(u) > 0;
    enum oa_error e = had ? oa_comparison_make(u->held, u->cells, u->wanted) : OA_NO_MEMORY;
    if (e == OA_OK && trains) {
        u->now.rounds += oa_clock() - began;
        u->now.training += training_time(u, had);
    }
    oa_free(had);
    u->k->until.rounds++;
    return e;
}

/* The statistics of the runs so far, the runs that they ask for, and these runs. *over: there are
 * no more. */
static enum oa_error one_round(struct until *u, bool *over)
{
    struct oa_summary s;
    OA_TRY(oa_summary_make(u->c, u->k, &s));
    bool first = s.count > 0 && s.entries[0].made < u->k->until.least;
    enum oa_error e = oa_until_wanted(u->c, u->k, &s, u->cells, &u->wanted);
    if (e == OA_OK && u->wanted == 0)
        u->k->until.ending = oa_until_ending(u->k, &s);
    else if (e == OA_OK && !affordable(u))
        u->k->until.ending = OA_ENDING_BUDGET;
    *over = u->k->until.ending != OA_ENDING_NONE;
    if (e == OA_OK && !*over)
        announce(u, first ? NULL : &s);
    oa_summary_free(&s);
    return e == OA_OK && !*over ? make_round(u) : e;
}

/* Seeds that nobody has are no columns of the comparison. */
static void trim(struct oa_comparison *k)
{
    int most = 0;
    for (int i = 0; i < k->count; i++) {
        int made = oa_runs_made(&k->entries[i], k->seeds);
        most = made > most ? made : most;
    }
    k->seeds = most;
}

static enum oa_error all_rounds(struct until *u)
{
    bool over = false;
    enum oa_error e = OA_OK;
    while (e == OA_OK && !over) {
        e = one_round(u, &over);
        enum oa_error saved = e == OA_OK || e == OA_INTERRUPTED ? save(u) : OA_OK;
        e = e == OA_OK ? saved : e;
    }
    u->k->until.spent = spent(u);
    return e;
}

/* A stop in the middle of a round is counted, too; what a kill takes away is the time since the
 * round began. */
static enum oa_error spend(struct until *u)
{
    OA_TRY(oa_spending_read(u->c, u->folder, &u->before));
    u->now = u->before;
    u->cells = oa_alloc(u->c, ((size_t)u->k->count + 1) * sizeof *u->cells);
    enum oa_error e = u->cells ? all_rounds(u) : OA_NO_MEMORY;
    oa_free(u->cells);
    return e;
}

enum oa_error oa_comparison_until(oa_context *c, const struct oa_comparison_request *r,
                                  double began, struct oa_comparison *k)
{
    struct until u = { .c = c, .folder = r->folder, .k = k, .began = began };
    enum oa_error e = oa_comparison_open(c, r, k, &u.held);
    if (e == OA_OK)
        e = spend(&u);
    if (e == OA_OK)
        e = oa_comparison_finish(u.held);
    oa_comparison_close(u.held);
    if (e == OA_OK)
        trim(k);
    return e;
}
