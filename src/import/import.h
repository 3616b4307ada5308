/* SPDX-License-Identifier: Apache-2.0
 *
 * import: runs of other programs as a comparison (compare/comparison.h). Read import.c first.
 *
 *     CSV, TSV ──┐
 *     JSON       ├──> observations: system, seed, step, value ──> struct oa_comparison
 *     TensorBoard┘
 *
 * Such runs have no parameters, times or machine.
 */
#ifndef ORTHANT_IMPORT_H
#define ORTHANT_IMPORT_H

#include "compare/comparison.h"

enum oa_import_direction { OA_IMPORT_BY_NAME, OA_IMPORT_LOWER, OA_IMPORT_HIGHER };

struct oa_import_request {
    const char *const *paths; /* [count] files, and folders of event files */
    int count;
    /* Names of columns; NULL: recognised by usual names. metric: of event files a tag. */
    const char *system, *seed, *step, *metric;
    enum oa_import_direction direction; /* which is better */
    const char *at;        /* which value of a run with steps counts: "last", "best" or a step */
    const char *baseline;  /* name of a system; NULL or "": none */
    const char *threshold; /* "X", "METRIC=X": where a run has solved its task; NULL, "": none */
    double margin;         /* these as in the comparison */
    bool sequential;
    enum oa_family_kind family;
    enum oa_error_estimate test;
    double level;
    bool unpaired; /* runs are independent, whatever their seeds are called */
};
/* A path without names of systems is one system. The metric is the only measure of the comparison.
 * OA_FORMAT: a file cannot be read, with its line. OA_ARGUMENT: columns or the direction have to be
 * given. */
enum oa_error oa_import_runs(oa_context *c, const struct oa_import_request *r,
                             struct oa_comparison *out);

#endif
