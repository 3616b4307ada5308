/* SPDX-License-Identifier: Apache-2.0
 * Singular values by way of GᵀG: Householder reflections make it tridiagonal, bisection with Sturm
 * counts finds its extreme eigenvalues (Golub, Van Loan, Matrix computations, 8.3 and 8.4). Their
 * roots have an absolute error of about 1e-8 of the largest, which is sufficient for condition
 * numbers below 10⁶. Cost: k²d + 4k³/3 multiply-adds. */
#include "theory/spectrum.h"
#include "theory/draws.h"

#include <math.h>

/* p = β A v over the trailing block, w = p − (β pᵀv/2) v, A ← A − v wᵀ − w vᵀ. v = a[col, first …].
 */
static void reflect_trailing_block(long k, long first, double *a, double *v, double *w)
{
    long n = k - first;
    double beta = 2 / oa_dot(n, v, v);
    for (long i = 0; i < n; i++)
        w[i] = beta * oa_dot(n, a + (first + i) * k + first, v);
    double half = beta * oa_dot(n, w, v) / 2;
    for (long i = 0; i < n; i++)
        w[i] -= half * v[i];
    for (long i = 0; i < n; i++) {
        double *row = a + (first + i) * k + first;
        for (long j = 0; j < n; j++)
            row[j] -= v[i] * w[j] + w[i] * v[j];
    }
}

/* a [k, k] symmetric, overwritten; the diagonal and the squares of the off-diagonal. */
static void make_tridiagonal(long k, double *a, double *diagonal, double *square, double *w)
{
    for (long c = 0; c < k; c++) {
        double *v = a + c * k + c + 1;
        long n = k - c - 1;
        diagonal[c] = a[c * k + c];
        if (n == 0)
            break;
        square[c] = oa_dot(n, v, v);
        v[0] += copysign(sqrt(square[c]), v[0]);
        if (n > 1 && square[c] > 0)
            reflect_trailing_block(k, c + 1, a, v, w);
    }
}

/* The number of eigenvalues below x. */
static long count_eigenvalues_below(long k, const double *diagonal, const double *square, double x)
{
    long count = 0;
    double q = 1;
    for (long i = 0; i < k; i++) {
        q = diagonal[i] - x - (i ? square[i - 1] / q : 0);
        if (fabs(q) < 1e-300)
            q = -1e-300;
        count += q < 0;
    }
    return count;
}

/* The eigenvalue with `below` smaller ones. */
static double find_eigenvalue(long k, const double *diagonal, const double *square, long below,
                              double top)
{
    double low = 0, high = top;
    for (int i = 0; i < 80; i++) {
        double middle = (low + high) / 2;
        if (count_eigenvalues_below(k, diagonal, square, middle) > below)
            high = middle;
        else
            low = middle;
    }
    return (low + high) / 2;
}

struct oa_extremes oa_singular_extremes(long d, long k, const double *columns, double *memory)
{
    double *a = memory, *diagonal = a + k * k, *square = diagonal + k, *w = square + k, top = 0;
    for (long i = 0; i < k; i++) {
        for (long j = 0; j <= i; j++)
            a[i * k + j] = a[j * k + i] = oa_dot(d, columns + i * d, columns + j * d);
        top += a[i * k + i];
    }
    make_tridiagonal(k, a, diagonal, square, w);
    return (struct oa_extremes){ sqrt(find_eigenvalue(k, diagonal, square, k - 1, top)),
                                 sqrt(find_eigenvalue(k, diagonal, square, 0, top)) };
}
