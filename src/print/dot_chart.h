/* SPDX-License-Identifier: Apache-2.0
 * A dot for every value, in a row for each group. */
#ifndef ORTHANT_PRINT_DOT_CHART_H
#define ORTHANT_PRINT_DOT_CHART_H

#include "print/print.h"

struct oa_dot_row {
    const char *name, *note; /* the note is at the right end of the row; NULL: none */
    const double *values;    /* those that are not finite are left out */
    int count;
    int color;
};
struct oa_dot_chart {
    const char *title, *description, *x_label;
    double line; /* a dashed line through all rows, with its name; NaN: none */
    const char *line_name;
    const struct oa_dot_row *rows;
    int count;
    int width; /* 0: 960; below 560 the name is above its dots */
};
void oa_svg_dots(const struct oa_dot_chart *chart, struct oa_text *out);

#endif
