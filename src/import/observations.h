/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of one metric, each of a system, a seed and a step. Private to import/ and its tests.
 */
#ifndef ORTHANT_IMPORT_OBSERVATIONS_H
#define ORTHANT_IMPORT_OBSERVATIONS_H

#include "import/import.h"
#include "import/sheet.h"

struct oa_observation {
    int32_t system, seed; /* seed -1: none */
    double step;          /* NaN: none */
    double value;         /* NaN: not finite, or missing */
    int path;             /* of the request */
    unsigned long line;   /* of that file; 0: it has none */
    size_t order;         /* number in the order of reading */
};

struct oa_observations {
    oa_context *context;
    const struct oa_import_request *request;
    struct oa_words systems, seeds; /* labels, in the order in which they were met */
    struct oa_observation *at;
    size_t count, capacity;
    char *metric; /* its name; NULL: not known yet */
    struct oa_text
        remarks; /* sentences about how the data were read, each with a blank before it */
};
void oa_observations_init(struct oa_observations *o, oa_context *c,
                          const struct oa_import_request *r);
void oa_observations_free(struct oa_observations *o);
/* Labels become valid UTF-8 without control characters. seed NULL or "": none. */
enum oa_error oa_observe(struct oa_observations *o, const char *system, const char *seed,
                         double step, double value, int path, unsigned long line);
/* Sets the name, which is the same for all files. */
enum oa_error oa_observe_metric(struct oa_observations *o, const char *name);

/* sheet_columns.c: finds the columns, and adds a sheet's values. */
enum oa_error oa_observe_sheet(struct oa_observations *o, const struct oa_sheet *s, int path);
/* event_runs.c: a folder of event files, or one such file. */
enum oa_error oa_observe_events(struct oa_observations *o, int path);

/* run_names.c: "adam/seed-3", "adam_3", "adam (run 3)": *system is the length of "adam", *seed
 * starts at the digits, of which there are *digits. False: the name does not end in a seed. */
bool oa_split_run_name(const char *name, size_t *system, const char **seed, size_t *digits);
/* If no seed is known and every system has only one run, systems are names of runs: splits them. */
enum oa_error oa_split_runs(struct oa_observations *o);

/* metric_direction.c: 1: higher is better, -1: lower, 0: the name does not tell. */
int oa_metric_direction(const char *name);

/* observed_runs.c: the comparison, without baseline. */
enum oa_error oa_compare_observations(struct oa_observations *o, struct oa_comparison *out);

#endif
