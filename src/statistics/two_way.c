/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of rows and columns of which some cells are empty, as the sum of row and column effects:
 *
 *     y[i][s] = a[i] + b[s] + noise,    the mean of b over the columns is 0
 *
 * by least squares over the cells that are not empty. With this norm a[i] is the mean that row i
 * would have, were no cell of it empty: the least-squares mean, or estimated population marginal
 * mean, with equal weights of the columns (Searle, Speed and Milliken, "Population marginal means
 * in the linear model: an alternative to least squares means", The American Statistician 34 (1980),
 * 216-221).
 *
 * The columns are eliminated from the normal equations: with n[i] cells in a row, m[s] in a column
 * and c[s] the mean of a column,
 *
 *     n[i] a[i] - sum over j of (sum over s in i and j of 1/m[s]) a[j]
 *         = sum over s in i of (y[i][s] - c[s])
 *
 * These determine a up to a constant. Adding 1/rows to every element of the matrix sets the sum of
 * a to 0 and makes the matrix positive definite if the cells are connected, so that Cholesky's
 * method applies. The norm above is restored at the end.
 */
#include "statistics/statistics.h"

#include <math.h>

struct table {
    const double *y;
    int rows, columns;
    double level; /* some number of the table, subtracted from all: large ones lose digits */
    double *matrix, *a, *b; /* [rows][rows], [rows], [columns] */
};

static bool has(const struct table *t, int row, int column)
{
    return !isnan(t->y[row * t->columns + column]);
}

static double two_way_cell(const struct table *t, int row, int column)
{
    return t->y[row * t->columns + column] - t->level;
}

static double *two_way_element(const struct table *t, int i, int j)
{
    return &t->matrix[i * t->rows + j];
}

static double any_cell(const struct table *t)
{
    for (int i = 0; i < t->rows * t->columns; i++)
        if (!isnan(t->y[i]))
            return t->y[i];
    return NAN;
}

/* ---- columns, given the rows ---- */

static int cells_of_column(const struct table *t, int column)
{
    int n = 0;
    for (int i = 0; i < t->rows; i++)
        n += has(t, i, column);
    return n;
}

/* b: the mean of each column after subtracting a; NaN where the column is empty. */
static void fill_columns(struct table *t)
{
    for (int s = 0; s < t->columns; s++) {
        double sum = 0;
        for (int i = 0; i < t->rows; i++)
            sum += has(t, i, s) ? two_way_cell(t, i, s) - t->a[i] : 0;
        t->b[s] = sum / cells_of_column(t, s);
    }
}

/* ---- the equations ---- */

static void add_column(struct table *t, int s)
{
    double share = 1.0 / cells_of_column(t, s);
    for (int i = 0; i < t->rows; i++) {
        if (!has(t, i, s))
            continue;
        *two_way_element(t, i, i) += 1;
        for (int j = 0; j < t->rows; j++)
            *two_way_element(t, i, j) -= has(t, j, s) ? share : 0;
    }
}

/* a becomes the right side: b has the means of the columns then, since a is 0. */
static void set_up(struct table *t)
{
    for (int i = 0; i < t->rows; i++)
        t->a[i] = 0;
    for (int i = 0; i < t->rows * t->rows; i++)
        t->matrix[i] = 1.0 / t->rows;
    fill_columns(t);
    for (int s = 0; s < t->columns; s++)
        add_column(t, s);
    for (int i = 0; i < t->rows; i++)
        for (int s = 0; s < t->columns; s++)
            t->a[i] += has(t, i, s) ? two_way_cell(t, i, s) - t->b[s] : 0;
}

/* The lower triangle L of the matrix = L L'. A pivot is about 1 or larger, and 0 except for
 * rounding if the cells are not connected. */
static void factor(struct table *t)
{
    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j <= i; j++) {
            double left = *two_way_element(t, i, j);
            for (int l = 0; l < j; l++)
                left -= *two_way_element(t, i, l) * *two_way_element(t, j, l);
            *two_way_element(t, i, j) =
                i == j ? sqrt(left > 1e-9 ? left : NAN) : left / *two_way_element(t, j, j);
        }
}

static void solve(struct table *t)
{
    factor(t);
    for (int i = 0; i < t->rows; i++) {
        for (int l = 0; l < i; l++)
            t->a[i] -= *two_way_element(t, i, l) * t->a[l];
        t->a[i] /= *two_way_element(t, i, i);
    }
    for (int i = t->rows - 1; i >= 0; i--) {
        for (int l = i + 1; l < t->rows; l++)
            t->a[i] -= *two_way_element(t, l, i) * t->a[l];
        t->a[i] /= *two_way_element(t, i, i);
    }
}

static void normalise(struct table *t)
{
    double sum = 0;
    int n = 0;
    for (int s = 0; s < t->columns; s++)
        if (!isnan(t->b[s])) {
            sum += t->b[s];
            n++;
        }
    for (int s = 0; s < t->columns; s++)
        t->b[s] -= sum / n;
    for (int i = 0; i < t->rows; i++)
        t->a[i] += sum / n + t->level;
}

enum oa_error oa_fit_two_way(oa_context *c, const double *y, int rows, int columns, double *a,
                             double *b)
{
    struct table t = { .y = y, .rows = rows, .columns = columns, .a = a, .b = b };
    t.matrix = oa_alloc(c, ((size_t)rows * (size_t)rows + 1) * sizeof *t.matrix);
    if (!t.matrix)
        return OA_NO_MEMORY;
    t.level = any_cell(&t);
    set_up(&t);
    solve(&t);
    fill_columns(&t);
    normalise(&t);
    oa_free(t.matrix);
    return OA_OK;
}
