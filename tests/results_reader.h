/* SPDX-License-Identifier: Apache-2.0
 * results.json back into a comparison, as the tests that hold the file to what it was written from
 * want it. The program reads no such file. */
#ifndef ORTHANT_RESULTS_READER_H
#define ORTHANT_RESULTS_READER_H

#include "report/report.h"

#include <jansson.h>

/* OA_FORMAT in the context for a field that is not what a comparison writes. Free the comparison in
 * any case. */
enum oa_error oa_comparison_from_json(oa_context *c, const char *json, struct oa_comparison *out);
/* results_measures_reader.c: "metric" and "measures"; before the entries. */
enum oa_error oa_measures_read(oa_context *c, const json_t *root, struct oa_comparison *k);
/* results_vary.c: the runs of "vary". */
enum oa_error oa_variances_read(oa_context *c, const json_t *root, struct oa_comparison *k);

#endif
