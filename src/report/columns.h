/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tables of a comparison show, described once (columns.def) for the terminal, Markdown,
 * the page and, as far as it has the same numbers, results.json. Private to report/.
 */
#ifndef ORTHANT_REPORT_COLUMNS_H
#define ORTHANT_REPORT_COLUMNS_H

#include "report/metric_words.h"

enum oa_column_name {
    OA_COLUMN_NONE,
#define COLUMN(name, ...) OA_COLUMN_##name,
#define QUANTITY(name, ...)
#include "report/columns.def"
#undef COLUMN
#undef QUANTITY
    OA_FIRST_QUANTITY,
    OA_BEFORE_QUANTITIES = OA_FIRST_QUANTITY - 1,
#define COLUMN(name, ...)
#define QUANTITY(name, ...) OA_COLUMN_##name,
#include "report/columns.def"
#undef COLUMN
#undef QUANTITY
    OA_COLUMNS
};

enum oa_column_kind {
    OA_KIND_WORDS,
    OA_KIND_VERDICT,
    OA_KIND_NUMBER,
    OA_KIND_SCORE,      /* with ± half */
    OA_KIND_DIFFERENCE, /* with a sign, and ± half or both ends */
    OA_KIND_P,
    OA_KIND_SHARE, /* with both ends */
    OA_KIND_RATIO
};

struct oa_report_column {
    enum oa_column_kind kind;
    const char *title, *unit, *explanation; /* see columns.def */
    const char *key;                        /* of a quantity, in results.json */
    char *(*print)(char *out, double x);    /* of a number; out: OA_NUMBER bytes */
    size_t in_run, in_standing;             /* offsets of a quantity */
};
extern const struct oa_report_column oa_report_columns[OA_COLUMNS];

/* A quantity of a run, and its place in the means over runs. */
double oa_quantity_of_run(enum oa_column_name quantity, const struct oa_run *r);
double *oa_quantity_mean(enum oa_column_name quantity, struct oa_standing *e);

/* What a column shows of an attention. */
struct oa_column_value {
    struct oa_estimate number; /* mean NaN: nothing to show; half NaN: no interval */
    struct oa_range ratio;
    double percent;       /* of a difference; NaN: not given */
    bool itself;          /* what the others are compared with: shown as – */
    int style;            /* of a verdict: enum oa_verdict */
    struct oa_text words; /* a verdict or settings; of a difference, what was found of it */
};

/* A column as a table shows it. */
struct oa_shown_column {
    enum oa_column_name name;
    const struct oa_report_column *column;
    int measure; /* of OA_COLUMN_MEASURE */
    int decimals;
    bool brief; /* for the terminal: short words */
    char title[OA_LABEL];
};
enum { OA_MOST_COLUMNS = 16 + OA_MEASURES };
/* Those of `names` that the comparison has; how many. */
int oa_columns_choose(const struct oa_comparison *k, const struct oa_summary *s,
                      const unsigned char *names, size_t count,
                      struct oa_shown_column out[OA_MOST_COLUMNS]);
/* For the terminal: a short heading and short words. */
void oa_column_make_brief(struct oa_shown_column *column);
extern const char oa_not_significant[]; /* in short words */
/* Free the words of the value. */
void oa_column_value_of(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                        const struct oa_shown_column *column, oa_context *c,
                        struct oa_column_value *out);
bool oa_column_is_text(const struct oa_shown_column *column);
/* A table of text with a row for each attention, in their order, whose name comes first. `titles`
 * has room for one more than `count`; the table borrows it and `columns`. */
void oa_columns_table(const struct oa_comparison *k, const struct oa_summary *s,
                      const struct oa_shown_column *columns, int count, struct oa_column *titles,
                      oa_context *c, struct oa_table *out);

#endif
