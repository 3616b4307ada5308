/* SPDX-License-Identifier: Apache-2.0
 * Dialogues in the layout of DailyDialog (Li et al. 2017, arXiv 1710.03957): one per line,
 * "__eou__" after each turn (optional after the last). Every turn but the first is the target of an
 * example whose source is all turns before it. */
#include "data/example_parts.h"

#include <string.h>

#define END_OF_TURN "__eou__"

struct turn {
    const char *s;
    size_t length;
};

/* Counts of what gives no example. */
struct passed_over {
    uint64_t annotated; /* dialogues with something after a tab */
    uint64_t single;    /* dialogues of one turn */
    uint64_t empty;     /* turns without text */
};

static struct turn trim_turn(const char *s, const char *end)
{
    for (; s < end && *s == ' '; s++)
        ;
    for (; end > s && end[-1] == ' '; end--)
        ;
    return (struct turn){ s, (size_t)(end - s) };
}

/* The next turn with a text, from *at on, which is advanced past it; false: none is left. Counts
 * empty ones. */
static bool next_turn(const char **at, const char *end, struct turn *out, uint64_t *empty)
{
    while (*at < end) {
        const char *mark = memmem(*at, (size_t)(end - *at), END_OF_TURN, strlen(END_OF_TURN));
        *out = trim_turn(*at, mark ? mark : end);
        *at = mark ? mark + strlen(END_OF_TURN) : end;
        if (out->length)
            return true;
        *empty += mark != NULL;
    }
    return false;
}

/* An example for every turn but the first: the turns before it, joined by the mark, and the turn.
 */
static enum oa_error add_answers(struct oa_rows *rows, int file, uint64_t line, const char *s,
                                 size_t length, struct oa_text *history, struct passed_over *over)
{
    struct turn turn;
    const char *at = s, *end = s + length;
    int turns = 0;
    oa_text_cut(history, 0);
    for (; next_turn(&at, end, &turn, &over->empty); turns++) {
        if (turns) {
            OA_TRY(oa_rows_add_cell(rows, history->s, history->length));
            OA_TRY(oa_rows_add_cell(rows, turn.s, turn.length));
            OA_TRY(oa_rows_end(rows, file, line));
            oa_text_printf(history, " %s ", END_OF_TURN);
        }
        oa_text_add(history, turn.s, turn.length);
    }
    over->single += turns == 1;
    if (turns == 0)
        oa_rows_count_left_out(rows, line);
    return oa_status(rows->context) == OA_NO_MEMORY ? OA_NO_MEMORY : OA_OK;
}

static void log_skipped_turns(oa_context *c, const char *name, const struct passed_over *over)
{
    if (over->annotated)
        oa_log(c, 0, "%s: text after a tab was ignored in %llu dialogues", name,
               (unsigned long long)over->annotated);
    if (over->single)
        oa_log(c, 0, "%s: %llu dialogues were left out: they have a single turn and so no answer",
               name, (unsigned long long)over->single);
    if (over->empty)
        oa_log(c, 0, "%s: %llu turns without text were left out", name,
               (unsigned long long)over->empty);
}

enum oa_error oa_read_dialogues(struct oa_rows *rows, const char *name, const char *columns)
{
    struct oa_text_file f = { 0 };
    struct oa_text history;
    char *line;
    size_t length;
    struct passed_over over = { 0 };
    if (oa_is_given(columns))
        return oa_fail(rows->context, OA_ARGUMENT,
                       "%s: data.columns does not apply to dialogues; leave it out", name);
    oa_text_init(&history, rows->context);
    int file = oa_rows_add_file(rows, name);
    enum oa_error error = file < 0 ? OA_NO_MEMORY : oa_text_file_open(rows->context, name, &f);
    if (error == OA_OK)
        error = oa_check_format(rows->context, &f, OA_EXPECT_LINES);
    while (error == OA_OK && oa_text_file_line(&f, &line, &length)) {
        const char *tab = memchr(line, '\t', length); /* annotations follow */
        over.annotated += tab != NULL;
        length = tab ? (size_t)(tab - line) : length;
        error = add_answers(rows, file, f.line - 1, line, length, &history, &over);
    }
    if (error == OA_OK)
        log_skipped_turns(rows->context, name, &over);
    rows->carriage_returns += f.carriage_returns;
    oa_text_file_close(&f);
    oa_text_free(&history);
    return error;
}
