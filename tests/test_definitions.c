/* SPDX-License-Identifier: Apache-2.0
 * The plain C kernels, which all others are compared with, against what kernels.h says that each
 * computes: definitions in long double, without a loop or a constant of the kernels. Derivatives
 * are differences of the functions. */
#include "testing.h"

#include "kernels/kernel_cases.h"

#include <math.h>

typedef long double wide;

struct definition {
    const struct kernel_problem *p;
    double *const *given; /* operands before the call */
    double **want;        /* and after it; begins as a copy of them */
    wide result;
};

static double *cell(double *const *x, const struct definition *d, int operand, long i, long j)
{
    return &x[operand][i * d->p->operand[operand].ld + j];
}
#define IN(o, i, j) ((wide)*cell(d->given, d, o, i, j))
#define OUT(o, i, j) (*cell(d->want, d, o, i, j))
#define EACH_COLUMN for (long j = 0; j < d->p->cols; j++)
#define EACH_ROW for (long i = 0; i < d->p->rows; i++)

/* Of the fourth order. */
static wide derivative(wide (*f)(wide), wide x)
{
    const wide h = 2e-4L;
    return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h);
}

/* ---- products and rows ---- */

static void define_gemm(struct definition *d)
{
    int variant = d->p->variant;
    EACH_ROW EACH_COLUMN
    {
        wide sum = variant >= 8 ? IN(2, i, j) : 0;
        for (long q = 0; q < d->p->depth; q++)
            sum += (variant & 1 ? IN(0, q, i) : IN(0, i, q)) *
                   (variant & 2 ? IN(1, j, q) : IN(1, q, j));
        OUT(2, i, j) = (double)sum;
    }
}

static void define_copy(struct definition *d)
{
    EACH_ROW EACH_COLUMN OUT(1, i, j) = (double)IN(0, i, j);
}

static void define_zero_past(struct definition *d)
{
    EACH_COLUMN OUT(0, 0, j) = 0;
}

static void define_copy_of_row(struct definition *d)
{
    EACH_COLUMN OUT(1, 0, j) = (double)IN(0, 0, j);
}

static void define_add(struct definition *d)
{
    EACH_COLUMN OUT(2, 0, j) = (double)(IN(0, 0, j) + IN(1, 0, j));
}

static void define_add_scaled(struct definition *d)
{
    EACH_COLUMN OUT(2, 0, j) = (double)((d->p->variant ? 0 : IN(0, 0, j)) + 0.625L * IN(1, 0, j));
}

static void define_axpy(struct definition *d)
{
    EACH_COLUMN OUT(1, 0, j) = (double)(IN(1, 0, j) + 0.625L * IN(0, 0, j));
}

static void define_dot(struct definition *d)
{
    EACH_COLUMN d->result += IN(0, 0, j) * IN(1, 0, j);
}

static void define_scale_rows(struct definition *d)
{
    EACH_ROW EACH_COLUMN OUT(1, i, j) = (double)(IN(0, 0, i) * IN(1, i, j));
}

static void define_multiply(struct definition *d)
{
    EACH_COLUMN OUT(2, 0, j) = (double)(IN(0, 0, j) * IN(1, 0, j));
}

static void define_multiply_gradient(struct definition *d)
{
    EACH_COLUMN OUT(2, 0, j) = (double)(IN(2, 0, j) + IN(0, 0, j) * IN(1, 0, j));
}

static void define_add_bias(struct definition *d)
{
    EACH_ROW EACH_COLUMN OUT(1, i, j) = (double)(IN(1, i, j) + IN(0, 0, j));
}

static void define_column_sums(struct definition *d)
{
    EACH_COLUMN
    {
        wide sum = IN(1, 0, j);
        EACH_ROW sum += IN(0, i, j);
        OUT(1, 0, j) = (double)sum;
    }
}

static void define_product(struct definition *d)
{
    EACH_COLUMN OUT(2, 0, j) = (double)(0.75L * IN(0, 0, j) * IN(1, 0, j));
}

static void define_sum_squares(struct definition *d)
{
    EACH_COLUMN d->result += IN(0, 0, j) * IN(0, 0, j);
}

/* ---- activations ---- */

static wide gelu_of(wide x)
{
    return x / 2 * (1 + tanhl(sqrtl(2 / acosl(-1)) * (x + 0.044715L * x * x * x)));
}

static wide gelu_exact_of(wide x)
{
    return x / 2 * erfcl(-x / sqrtl(2));
}

static wide sigmoid_of(wide x)
{
    return 1 / (1 + expl(-x));
}

static wide silu_of(wide x)
{
    return x * sigmoid_of(x);
}

static wide relu_of(wide x)
{
    return x > 0 ? x : 0;
}

static void define_by(struct definition *d, wide (*f)(wide))
{
    EACH_COLUMN OUT(1, 0, j) = (double)f(IN(0, 0, j));
}

static void define_gradient_by(struct definition *d, wide (*f)(wide))
{
    EACH_COLUMN OUT(2, 0, j) = (double)(derivative(f, IN(0, 0, j)) * IN(1, 0, j));
}

static void define_gelu(struct definition *d)
{
    define_by(d, gelu_of);
}

static void define_gelu_gradient(struct definition *d)
{
    define_gradient_by(d, gelu_of);
}

static void define_gelu_exact(struct definition *d)
{
    define_by(d, gelu_exact_of);
}

static void define_gelu_exact_gradient(struct definition *d)
{
    define_gradient_by(d, gelu_exact_of);
}

static void define_relu(struct definition *d)
{
    define_by(d, relu_of);
}

static void define_relu_gradient(struct definition *d)
{
    EACH_COLUMN OUT(2, 0, j) = IN(0, 0, j) > 0 ? (double)IN(1, 0, j) : 0;
}

static void define_relu2(struct definition *d)
{
    EACH_COLUMN OUT(1, 0, j) = (double)(relu_of(IN(0, 0, j)) * relu_of(IN(0, 0, j)));
}

static void define_relu2_gradient(struct definition *d)
{
    EACH_COLUMN OUT(2, 0, j) = (double)(2 * relu_of(IN(0, 0, j)) * IN(1, 0, j));
}

static void define_silu(struct definition *d)
{
    define_by(d, silu_of);
}

static void define_silu_gradient(struct definition *d)
{
    define_gradient_by(d, silu_of);
}

static void define_gate(struct definition *d)
{
    EACH_COLUMN OUT(2, 0, j) = (double)(IN(0, 0, j) * sigmoid_of(IN(1, 0, j)));
}

static void define_gate_gradient(struct definition *d)
{
    EACH_COLUMN
    {
        OUT(3, 0, j) = (double)(IN(2, 0, j) * sigmoid_of(IN(1, 0, j)));
        OUT(4, 0, j) = (double)(IN(2, 0, j) * IN(0, 0, j) * derivative(sigmoid_of, IN(1, 0, j)));
    }
}

static void define_gate_swish(struct definition *d)
{
    EACH_COLUMN OUT(2, 0, j) = (double)(IN(0, 0, j) * silu_of(IN(1, 0, j)));
}

static void define_gate_swish_gradient(struct definition *d)
{
    EACH_COLUMN
    {
        OUT(3, 0, j) = (double)(IN(2, 0, j) * silu_of(IN(1, 0, j)));
        OUT(4, 0, j) = (double)(IN(2, 0, j) * IN(0, 0, j) * derivative(silu_of, IN(1, 0, j)));
    }
}

static void define_rotate(struct definition *d)
{
    wide sign = d->p->variant & 1 ? -1 : 1;
    bool interleaved = d->p->variant & 2;
    EACH_ROW EACH_COLUMN
    {
        long a = interleaved ? 2 * j : j, b = interleaved ? a + 1 : a + d->p->cols;
        wide c = IN(0, 0, j), s = sign * IN(1, 0, j), x = IN(2, i, a), y = IN(2, i, b);
        OUT(2, i, a) = (double)(c * x - s * y);
        OUT(2, i, b) = (double)(s * x + c * y);
    }
}

/* ---- chance ---- */

static const struct oa_stream drawn = { 0x0123456789abcdefu, 0xfedcba9876543210u };
static const double keeps[] = { 0.9, 0.5, 1.0, 0.0 };
static const uint64_t firsts[] = { 400, ((uint64_t)1 << 34) - 8 };

static wide thinned(wide x, uint64_t element, double keep)
{
    uint32_t words[4];
    oa_random_block(drawn, element / 4, words);
    return words[element % 4] < keep * 0x1p32 ? x / keep : 0;
}

static void define_dropout(struct definition *d)
{
    uint64_t first = firsts[d->p->variant & 1];
    EACH_COLUMN OUT(1, 0, j) =
        (double)thinned(IN(0, 0, j), first + (uint64_t)j, keeps[d->p->variant / 2]);
}

static void define_dropout_tile(struct definition *d)
{
    uint64_t first = firsts[d->p->variant & 1];
    EACH_ROW EACH_COLUMN OUT(0, i, j) = (double)thinned(
        IN(0, i, j), first + 4000 * (uint64_t)i + (uint64_t)j, keeps[d->p->variant / 2]);
}

static void define_dropout_alike(struct definition *d)
{
    EACH_COLUMN OUT(1, 0, j) = IN(0, 0, j) == 0 ? 0 : (double)(IN(1, 0, j) / keeps[d->p->variant]);
}

static void define_normals(struct definition *d)
{
    uint64_t first = firsts[d->p->variant & 1] / 2;
    double scale = d->p->variant / 2 ? 1 : 0.02;
    EACH_COLUMN OUT(0, 0, j) = scale * oa_random_normal(drawn, first + (uint64_t)j);
}

/* ---- norm ---- */

static void define_norm(struct definition *d)
{
    wide n = d->p->cols;
    EACH_ROW
    {
        wide mean = 0, variance = 0;
        EACH_COLUMN mean += IN(0, i, j) / n;
        EACH_COLUMN variance += (IN(0, i, j) - mean) * (IN(0, i, j) - mean) / n;
        wide rstd = 1 / sqrtl(variance + 1e-2);
        EACH_COLUMN OUT(3, i, j) =
            (double)((IN(0, i, j) - mean) * rstd * IN(1, 0, j) + (d->p->variant ? 0 : IN(2, 0, j)));
        OUT(4, 0, i) = (double)mean;
        OUT(5, 0, i) = (double)rstd;
    }
}

static void define_norm_gradient(struct definition *d)
{
    wide n = d->p->cols;
    EACH_ROW
    {
        wide mean = IN(2, 0, i), rstd = IN(3, 0, i), plain = 0, along = 0;
        EACH_COLUMN plain += IN(4, i, j) * IN(1, 0, j) / n;
        EACH_COLUMN along += IN(4, i, j) * IN(1, 0, j) * (IN(0, i, j) - mean) * rstd / n;
        EACH_COLUMN
        {
            wide h = (IN(0, i, j) - mean) * rstd;
            OUT(5, i, j) = (double)(rstd * (IN(4, i, j) * IN(1, 0, j) - plain - h * along));
        }
    }
    EACH_COLUMN
    {
        wide gain = IN(6, 0, j), bias = IN(7, 0, j);
        EACH_ROW gain += IN(4, i, j) * (IN(0, i, j) - IN(2, 0, i)) * IN(3, 0, i);
        EACH_ROW bias += d->p->variant ? 0 : IN(4, i, j);
        OUT(6, 0, j) = (double)gain;
        OUT(7, 0, j) = (double)bias;
    }
}

static void define_rms_norm(struct definition *d)
{
    wide n = d->p->cols;
    EACH_ROW
    {
        wide square = 0;
        EACH_COLUMN square += IN(0, i, j) * IN(0, i, j) / n;
        wide rstd = 1 / sqrtl(square + 1e-2);
        EACH_COLUMN OUT(2, i, j) = (double)(IN(0, i, j) * rstd * (d->p->variant ? 1 : IN(1, 0, j)));
        OUT(3, 0, i) = (double)rstd;
    }
}

static void define_rms_norm_gradient(struct definition *d)
{
    wide n = d->p->cols;
    bool plain = d->p->variant;
    EACH_ROW
    {
        wide rstd = IN(2, 0, i), along = 0;
        EACH_COLUMN along += IN(3, i, j) * (plain ? 1 : IN(1, 0, j)) * IN(0, i, j) * rstd / n;
        EACH_COLUMN OUT(4, i, j) =
            (double)(rstd * (IN(3, i, j) * (plain ? 1 : IN(1, 0, j)) - IN(0, i, j) * rstd * along));
    }
    EACH_COLUMN
    {
        wide gain = IN(5, 0, j);
        EACH_ROW gain += plain ? 0 : IN(3, i, j) * IN(0, i, j) * IN(2, 0, i);
        OUT(5, 0, j) = (double)gain;
    }
}

/* ---- softmax ---- */

static bool sees(const struct definition *d, long i, long j)
{
    return j >= d->given[0][i] && j < d->given[1][i];
}

static void define_soft_cap(struct definition *d)
{
    EACH_COLUMN
    {
        wide t = tanhl(0.125L * IN(0, 0, j) / 5);
        OUT(0, 0, j) = (double)(5 * t);
        if (!d->p->variant)
            OUT(1, 0, j) = (double)(1 - t * t);
    }
}

/* Weights of row i into out[cols], as e^(t − the new maximum). */
static void define_softmax_row(struct definition *d, long i, wide scale, double *out)
{
    wide before = IN(3, 0, i), top = before, sum = 0;
    EACH_COLUMN if (sees(d, i, j)) top = fmaxl(top, scale * IN(2, i, j));
    EACH_COLUMN
    {
        wide weight = sees(d, i, j) && top > -INFINITY ? expl(scale * IN(2, i, j) - top) : 0;
        sum += weight;
        out[j] = (double)weight;
    }
    wide rescale = top > -INFINITY ? expl(before - top) : 1;
    OUT(3, 0, i) = (double)top;
    OUT(4, 0, i) = (double)(IN(4, 0, i) * rescale + sum);
    OUT(5, 0, i) = (double)rescale;
}

static void define_softmax_tile(struct definition *d)
{
    EACH_ROW define_softmax_row(d, i, d->p->variant ? -3 : 0.125L, &OUT(2, i, 0));
}

static void define_softmax_to_tiles(struct definition *d)
{
    double row[256];
    long steps = (d->p->cols + 31) / 32;
    EACH_ROW
    {
        memset(row, 0, sizeof row);
        define_softmax_row(d, i, 0.125L, row);
        for (long j = 0; j < 32 * steps; j++)
            d->want[6][(i / 16 * steps + j / 32) * 16 * 32 + i % 16 * 32 + j % 32] = row[j];
    }
}

static void define_softmax_again(struct definition *d)
{
    EACH_ROW EACH_COLUMN OUT(2, i, j) = sees(d, i, j) && isfinite(d->given[3][i])
                                            ? (double)expl(0.125L * IN(2, i, j) - IN(3, 0, i))
                                            : 0;
}

static void define_softmax_gradient(struct definition *d)
{
    EACH_ROW EACH_COLUMN OUT(3, i, j) =
        IN(0, i, j) == 0 ? 0 : (double)(0.125L * IN(0, i, j) * (IN(1, i, j) - IN(2, 0, i)));
}

static void define_softmax_to_act(struct definition *d)
{
    EACH_ROW define_softmax_row(d, i, d->p->variant ? -3 : 0.125L, &OUT(6, i, 0));
}

static void define_softmax_again_gradient(struct definition *d)
{
    EACH_ROW EACH_COLUMN
    {
        bool seen = sees(d, i, j) && isfinite(d->given[3][i]);
        wide weight = seen ? expl(0.125L * IN(2, i, j) - IN(3, 0, i)) : 0;
        OUT(6, i, j) = (double)weight;
        OUT(7, i, j) = weight == 0 ? 0 : (double)(weight * (IN(4, i, j) - IN(5, 0, i)));
    }
}

static void define_row_dots_real(struct definition *d)
{
    EACH_ROW
    {
        wide sum = 0;
        EACH_COLUMN sum += IN(0, i, j) * IN(1, 0, j);
        OUT(2, 0, i) = (double)sum;
    }
}

static long fold_width(const struct definition *d)
{
    return d->p->variant % 2 ? 5 : 24;
}

/* The place of column j in the product of both sides. */
static long fold_place(const struct definition *d, long j)
{
    return d->p->variant % 2 ? j + 3 : j;
}

static void define_fold_tile(struct definition *d)
{
    EACH_ROW EACH_COLUMN if (sees(d, i, j))
    {
        long l = fold_place(d, j), width = fold_width(d);
        OUT(4, i, j) = (double)((d->p->variant >= 2 ? IN(4, i, j) : 0) +
                                0.75L * IN(2, i, l % width) * IN(3, i, l / width));
    }
}

static void define_fold_gradient(struct definition *d)
{
    EACH_ROW EACH_COLUMN if (sees(d, i, j))
    {
        long q = fold_place(d, j) % fold_width(d), k = fold_place(d, j) / fold_width(d);
        OUT(5, i, q) += (double)(IN(4, i, j) * IN(3, i, k));
        OUT(6, i, k) += (double)(IN(4, i, j) * IN(2, i, q));
    }
}

static void define_softmax_pairs(struct definition *d)
{
    EACH_ROW for (long j = 0; j < 32; j++)
    {
        bool seen = j < d->p->cols && sees(d, i, j) && isfinite(d->given[5][i]);
        wide weight = seen ? expl(0.125L * IN(2, i, j) - IN(5, 0, i)) : 0;
        wide factor = d->p->variant && seen ? IN(4, i, j) : 1;
        wide slope = weight == 0 ? 0 : weight * (factor * IN(3, i, j) - IN(6, 0, i));
        d->want[7][i / 2 * 64 + 2 * j + i % 2] = (double)(weight * factor);
        d->want[8][i / 2 * 64 + 2 * j + i % 2] = (double)slope;
        d->want[9][i / 16 * 512 + i % 16 * 32 + j] = (double)slope;
    }
}

static void define_mask_tile(struct definition *d)
{
    EACH_ROW
    {
        wide sum = IN(4, 0, i);
        EACH_COLUMN
        {
            OUT(3, i, j) = sees(d, i, j) ? (double)IN(2, i, j) : 0;
            sum += sees(d, i, j) ? IN(2, i, j) : 0;
        }
        OUT(4, 0, i) = d->p->variant ? (double)IN(4, 0, i) : (double)sum;
    }
}

static void define_row_dots(struct definition *d)
{
    EACH_ROW
    {
        wide sum = 0;
        EACH_COLUMN sum += IN(0, i, j) * IN(1, d->p->variant ? 0 : i, j);
        OUT(2, 0, i) = (double)sum;
    }
}

static void define_weigh_rows(struct definition *d)
{
    EACH_COLUMN
    {
        wide sum = IN(2, 0, j);
        EACH_ROW sum += IN(0, 0, i) == 0 ? 0 : IN(0, 0, i) * IN(1, i, j);
        OUT(2, 0, j) = (double)sum;
    }
}

/* ---- features ---- */

static wide elu_of(wide x)
{
    return x > 0 ? x + 1 : expl(x);
}

static void define_feature(struct definition *d)
{
    wide (*const of[])(wide) = { elu_of, relu_of, cosl };
    int variant = d->p->variant;
    EACH_ROW EACH_COLUMN if (variant < OA_FEATURE_POWER) OUT(1, i, j) =
        (double)of[variant](IN(0, i, j));
    else for (int power = 1; power <= 3; power++) OUT(1, i, j + (power - 1) * d->p->cols) =
        (double)powl(IN(0, i, j), power);
}

static void define_feature_gradient(struct definition *d)
{
    EACH_ROW EACH_COLUMN
    {
        wide x = IN(0, i, j), dy = IN(1, i, j), sum = 0;
        for (int power = 1; power <= 3 && d->p->variant == OA_FEATURE_POWER; power++)
            sum += power * powl(x, power - 1) * IN(1, i, j + (power - 1) * d->p->cols);
        wide slopes[] = { x > 0 ? 1 : expl(x), x > 0, -sinl(x) };
        OUT(2, i, j) =
            (double)(d->p->variant == OA_FEATURE_POWER ? sum : slopes[d->p->variant] * dy);
    }
}

static void define_place(struct definition *d)
{
    EACH_ROW EACH_COLUMN
    {
        OUT(1, i, j) = (double)(relu_of(IN(0, i, j)) * sinl(0.4L));
        OUT(1, i, j + d->p->cols) = (double)(relu_of(IN(0, i, j)) * cosl(0.4L));
    }
}

static void define_place_gradient(struct definition *d)
{
    EACH_ROW EACH_COLUMN OUT(2, i, j) =
        IN(0, i, j) > 0 ? (double)(IN(1, i, j) * sinl(0.4L) + IN(1, i, j + d->p->cols) * cosl(0.4L))
                        : 0;
}

static const wide square_factors[][3] = { { 1, 0.5, 0.25 }, { 0, 0, 1 } };

static void define_quadratic(struct definition *d)
{
    const wide *c = square_factors[d->p->variant];
    EACH_ROW
    {
        long at = 0;
        if (c[0] != 0)
            OUT(1, i, at++) = (double)c[0];
        EACH_COLUMN if (c[1] != 0) OUT(1, i, at++) = (double)(c[1] * IN(0, i, j));
        EACH_COLUMN for (long k = j; k < d->p->cols; k++) OUT(1, i, at++) =
            (double)(c[2] * IN(0, i, j) * IN(0, i, k) * (k > j ? sqrtl(2) : 1));
    }
}

static void define_quadratic_gradient(struct definition *d)
{
    const wide *c = square_factors[d->p->variant];
    EACH_ROW
    {
        wide sum[256] = { 0 };
        long at = c[0] != 0;
        EACH_COLUMN if (c[1] != 0) sum[j] += c[1] * IN(1, i, at++);
        EACH_COLUMN for (long k = j; k < d->p->cols; k++, at++)
        {
            wide dy = c[2] * IN(1, i, at) * (k > j ? sqrtl(2) : 1);
            sum[j] += dy * IN(0, i, k);
            sum[k] += dy * IN(0, i, j);
        }
        EACH_COLUMN OUT(2, i, j) = (double)sum[j];
    }
}

/* ---- random features, decay, powers ---- */

static void define_random_features(struct definition *d)
{
    long n = d->p->cols;
    EACH_ROW
    {
        wide top = d->p->variant == OA_RANDOM_EXP ? -INFINITY : 0, root = sqrtl(n);
        EACH_COLUMN
        {
            wide t = 0.6 * IN(1, i, j) + IN(0, 0, j);
            top = d->p->variant == OA_RANDOM_EXP          ? fmaxl(top, t)
                  : d->p->variant == OA_RANDOM_HYPERBOLIC ? fmaxl(top, fabsl(t))
                                                          : 0;
        }
        EACH_COLUMN
        {
            wide t = 0.6 * IN(1, i, j) + IN(0, 0, j);
            wide first[] = { expl(t - top), expl(t - top), cosl(t) / root,
                             relu_of(t) / root + 1e-3L };
            OUT(2, i, j) = (double)first[d->p->variant];
            if (d->p->variant == OA_RANDOM_HYPERBOLIC || d->p->variant == OA_RANDOM_TRIG)
                OUT(2, i, j + n) =
                    (double)(d->p->variant == OA_RANDOM_TRIG ? sinl(t) / root : expl(-t - top));
        }
        OUT(3, 0, i) = (double)top;
    }
}

static void define_random_features_gradient(struct definition *d)
{
    long n = d->p->cols;
    int variant = d->p->variant;
    bool two = variant == OA_RANDOM_HYPERBOLIC || variant == OA_RANDOM_TRIG;
    EACH_ROW
    {
        wide sum = 0;
        EACH_COLUMN
        {
            wide y = IN(0, i, j), dy = IN(1, i, j), other = two ? IN(0, i, j + n) : 0,
                 more = two ? IN(1, i, j + n) : 0;
            wide slopes[] = { y * dy, y * dy - other * more, y * more - other * dy,
                              y > 1e-3 ? dy / sqrtl(n) : 0 };
            OUT(2, i, j) = (double)(0.6 * slopes[variant]);
            sum += variant == OA_RANDOM_RELU ? 0 : y * dy + other * more;
        }
        OUT(3, 0, i) = (double)sum;
    }
}

static void define_decay_tile(struct definition *d)
{
    EACH_ROW EACH_COLUMN if (sees(d, i, j)) OUT(4, i, j) =
        (double)(IN(4, i, j) * expl(IN(2, 0, j) - IN(3, 0, i)));
}

static void define_power(struct definition *d)
{
    EACH_COLUMN OUT(0, 0, j) = (double)powl(IN(0, 0, j), d->p->variant + 1);
}

static void define_power_gradient(struct definition *d)
{
    int degree = d->p->variant + 1;
    EACH_COLUMN OUT(1, 0, j) = (double)(degree * powl(IN(1, 0, j), degree - 1) * IN(0, 0, j));
}

/* ---- structured projections ---- */

static long turned_row(const struct definition *d, long i)
{
    return d->p->variant ? (long)d->given[0][i] : i;
}

static void define_lanes_in(struct definition *d)
{
    EACH_COLUMN for (long lane = 0; lane < OA_LANES; lane++) OUT(2, turned_row(d, j), lane) =
        lane < d->p->rows ? (double)IN(1, lane, j) : 0;
}

static void define_lanes_out(struct definition *d)
{
    EACH_ROW EACH_COLUMN
    {
        long r = turned_row(d, j);
        OUT(3, i, j) = (double)(IN(2, r, i) * (d->p->variant ? IN(1, 0, r) : 1));
    }
}

static void define_hadamard(struct definition *d)
{
    long unit = d->p->variant ? 3 : 1, n = d->p->cols;
    for (long r = 0; r < n; r++)
        for (long lane = 0; lane < OA_LANES; lane++) {
            wide sum = 0;
            for (long q = r % unit; q < n; q += unit)
                sum += IN(0, 0, q) * IN(1, q, lane) *
                       (__builtin_parityl((unsigned long)(r / unit & q / unit)) ? -1 : 1);
            OUT(2, r, lane) = (double)sum;
        }
}

static void define_mix_runs(struct definition *d)
{
    long b = d->p->operand[0].rows;
    for (long r = 0; r < d->p->operand[1].rows; r++)
        for (long lane = 0; lane < OA_LANES; lane++) {
            wide sum = 0;
            for (long k = 0; k < b; k++)
                sum += (d->p->variant ? IN(0, r % b, k) : IN(0, k, r % b)) *
                       IN(1, r / b * b + k, lane);
            OUT(2, r, lane) = (double)sum;
        }
}

/* ---- loss and updates ---- */

static wide log_of_sum(const struct definition *d)
{
    wide top = -INFINITY, sum = 0;
    EACH_COLUMN top = fmaxl(top, IN(0, 0, j));
    EACH_COLUMN sum += expl(IN(0, 0, j) - top);
    return top + logl(sum);
}

/* ---- weights that are no softmax: σ(t − r), max(0, t − r), max(0, t/2 − r)² ---- */

static wide weight_at(int kind, wide t, wide r)
{
    wide over = kind == OA_WEIGH_ENTMAX ? t / 2 - r : t - r;
    if (isinf(t))
        return 0;
    return kind == OA_WEIGH_SIGMOID  ? sigmoid_of(t - r)
           : over <= 0               ? 0
           : kind == OA_WEIGH_ENTMAX ? over * over
                                     : over;
}

static void define_weigh_tile(struct definition *d)
{
    EACH_ROW EACH_COLUMN OUT(2, i, j) =
        sees(d, i, j) ? (double)weight_at(d->p->variant, 0.125L * IN(2, i, j), IN(3, 0, i)) : 0;
}

/* The derivative of a weight by t, from the weight: of the last, twice that. */
static wide slope_at(int kind, wide weight)
{
    return weight == 0                ? 0
           : kind == OA_WEIGH_SIGMOID ? weight * (1 - weight)
           : kind == OA_WEIGH_ENTMAX  ? sqrtl(weight)
                                      : 1;
}

static void define_weigh_gradient(struct definition *d)
{
    int kind = d->p->variant;
    EACH_ROW EACH_COLUMN
    {
        wide slope = slope_at(kind, IN(0, i, j)), less = kind == OA_WEIGH_SIGMOID ? 0 : IN(2, 0, i);
        OUT(3, i, j) = slope == 0 ? 0 : (double)(slope * (IN(1, i, j) - less));
    }
}

static void define_weigh_sums(struct definition *d)
{
    int kind = d->p->variant ? OA_WEIGH_ENTMAX : OA_WEIGH_SPARSEMAX;
    EACH_ROW
    {
        wide above = IN(2, 0, i), below = IN(3, 0, i);
        EACH_COLUMN
        {
            wide slope = slope_at(kind, IN(0, i, j));
            above += slope == 0 ? 0 : slope * IN(1, i, j);
            below += slope;
        }
        OUT(2, 0, i) = (double)above;
        OUT(3, 0, i) = (double)below;
    }
}

/* ---- state updates ---- */

static wide log_sigmoid_of(wide x)
{
    return -log1pl(expl(-x)) / 16;
}

static void define_log_sigmoid(struct definition *d)
{
    define_by(d, log_sigmoid_of);
}

static void define_log_sigmoid_gradient(struct definition *d)
{
    define_gradient_by(d, log_sigmoid_of);
}

static void define_exp_difference(struct definition *d)
{
    EACH_COLUMN OUT(2, 0, j) = (double)expl(IN(0, 0, j) - IN(1, 0, j));
}

/* (I − L) x = the old x, by substitution; transposed from the last row on. */
static void define_solve_unit_lower(struct definition *d)
{
    long n = d->p->rows;
    for (long step = 0; step < n; step++) {
        long i = d->p->variant ? n - 1 - step : step;
        EACH_COLUMN
        {
            wide sum = IN(1, i, j);
            for (long l = 0; l < n; l++)
                if (d->p->variant ? l > i : l < i)
                    sum += (d->p->variant ? IN(0, l, i) : IN(0, i, l)) * (wide)OUT(1, l, j);
            OUT(1, i, j) = (double)sum;
        }
    }
}

static wide decayed_pair(const struct definition *d, int left, long i, long j)
{
    wide sum = 0;
    for (long c = 0; c < d->p->cols; c++) {
        wide product = IN(left, i, c) * IN(2, j, c);
        for (long l = j + 1; l <= i; l++)
            product *= IN(0, l, c);
        sum += product;
    }
    return sum;
}

static void define_decay_pairs(struct definition *d)
{
    for (long i = 0; i < d->p->rows; i++)
        for (long j = 0; j <= i; j++) {
            OUT(3, i, j) = (double)decayed_pair(d, 1, i, j);
            if (j < i && d->p->variant)
                OUT(4, i, j) = (double)decayed_pair(d, 2, i, j);
        }
    EACH_COLUMN OUT(5, 0, j) = (double)IN(2, d->p->rows - 1, j); /* scratch: the last key */
}

static void define_log_sum(struct definition *d)
{
    d->result = log_of_sum(d);
}

static void define_cross_entropy(struct definition *d)
{
    int variant = d->p->variant;
    long n = d->p->cols, target = variant == 0 ? 0 : variant == 1 ? n - 1 : n / 2;
    wide smoothing = variant == 4 ? 0.1 : 0, all = log_of_sum(d);
    EACH_COLUMN
    {
        wide q = smoothing / n + (j == target ? 1 - smoothing : 0);
        d->result += q == 0 ? 0 : q * (all - IN(0, 0, j));
        if (variant != 3)
            OUT(1, 0, j) = (double)((expl(IN(0, 0, j) - all) - q) / 4);
    }
}

static void define_adamw(struct definition *d)
{
    EACH_COLUMN
    {
        wide g = 0.5L * IN(3, 0, j), m = 0.9 * IN(1, 0, j) + (1 - 0.9) * g,
             v = 0.95 * IN(2, 0, j) + (1 - 0.95) * g * g;
        OUT(0, 0, j) =
            (double)(IN(0, 0, j) - 1e-2 * (m / 0.1 / (sqrtl(v / 0.05) + 1e-8) + 0.1 * IN(0, 0, j)));
        OUT(1, 0, j) = (double)m;
        OUT(2, 0, j) = (double)v;
    }
}

static void define_sgd(struct definition *d)
{
    EACH_COLUMN
    {
        wide m = 0.9 * IN(1, 0, j) + 0.5L * IN(2, 0, j);
        OUT(0, 0, j) = (double)(IN(0, 0, j) - 1e-2 * (m + 0.1 * IN(0, 0, j)));
        OUT(1, 0, j) = (double)m;
    }
}

/* ---- the table ---- */

#define DEFINED(name)                                                                              \
    {                                                                                              \
#name, define_##name                                                                       \
    }
static const struct {
    const char *kernel;
    void (*define)(struct definition *d);
} defined[] = {
    { "act_from_real", define_copy_of_row },
    { "real_from_act", define_copy_of_row },
    { "add_to_real", define_axpy },
    { "tile_to_act", define_copy },
    { "tile_to_real", define_copy },
    DEFINED(gemm),
    DEFINED(zero_past),
    DEFINED(add),
    DEFINED(add_scaled),
    DEFINED(axpy),
    DEFINED(dot),
    DEFINED(scale_rows),
    DEFINED(multiply),
    DEFINED(multiply_gradient),
    DEFINED(add_bias),
    DEFINED(column_sums),
    DEFINED(product),
    DEFINED(sum_squares),
    DEFINED(gelu),
    DEFINED(gelu_gradient),
    DEFINED(gelu_exact),
    DEFINED(gelu_exact_gradient),
    DEFINED(relu),
    DEFINED(relu_gradient),
    DEFINED(relu2),
    DEFINED(relu2_gradient),
    DEFINED(silu),
    DEFINED(silu_gradient),
    DEFINED(gate),
    DEFINED(gate_gradient),
    DEFINED(gate_swish),
    DEFINED(gate_swish_gradient),
    DEFINED(rotate),
    DEFINED(dropout),
    DEFINED(dropout_tile),
    DEFINED(dropout_alike),
    DEFINED(normals),
    DEFINED(norm),
    DEFINED(norm_gradient),
    DEFINED(rms_norm),
    DEFINED(rms_norm_gradient),
    DEFINED(soft_cap),
    DEFINED(softmax_tile),
    DEFINED(softmax_to_tiles),
    DEFINED(softmax_again),
    DEFINED(softmax_gradient),
    DEFINED(softmax_pairs),
    DEFINED(softmax_to_act),
    DEFINED(softmax_again_gradient),
    DEFINED(row_dots_real),
    DEFINED(fold_tile),
    DEFINED(fold_gradient),
    DEFINED(weigh_tile),
    DEFINED(weigh_gradient),
    DEFINED(weigh_sums),
    DEFINED(log_sigmoid),
    DEFINED(log_sigmoid_gradient),
    DEFINED(exp_difference),
    DEFINED(solve_unit_lower),
    DEFINED(decay_pairs),
    DEFINED(mask_tile),
    DEFINED(row_dots),
    DEFINED(weigh_rows),
    DEFINED(feature),
    DEFINED(feature_gradient),
    DEFINED(place),
    DEFINED(place_gradient),
    DEFINED(quadratic),
    DEFINED(quadratic_gradient),
    DEFINED(random_features),
    DEFINED(random_features_gradient),
    DEFINED(decay_tile),
    DEFINED(power),
    DEFINED(power_gradient),
    DEFINED(lanes_in),
    DEFINED(lanes_out),
    DEFINED(hadamard),
    DEFINED(mix_runs),
    DEFINED(log_sum),
    DEFINED(cross_entropy),
    DEFINED(adamw),
    DEFINED(sgd),
};

/* ---- comparing ---- */

/* Far above the rounding of doubles, and far below what any change of a formula makes. */
static bool is_near(double got, wide want, double magnitude)
{
    if (isnan(want) || isinf(want))
        return isnan(want) ? isnan(got) : got == (double)want;
    return fabsl(got - want) <= 1e-11L * (magnitude + fabsl(want)) + 1e-30L;
}

static void compare_operand(const struct definition *d, const struct kernel_answer *a, int o)
{
    const struct case_operand *q = &d->p->operand[o];
    for (long i = 0; i < q->rows; i++)
        for (long j = 0; j < q->cols; j++)
            if (!is_near(a->right.x[o][i * q->ld + j], OUT(o, i, j),
                         a->magnitude.x[o][i * q->ld + j]))
                fail_msg("%s, variant %d, %ld rows, %ld columns: operand %d row %ld column %ld is "
                         "%.17g instead of %.17g",
                         d->p->what->name, d->p->variant, d->p->rows, d->p->cols, o, i, j,
                         a->right.x[o][i * q->ld + j], OUT(o, i, j));
}

static void check_definition(oa_context *c, const struct kernel_problem *p,
                             void (*define)(struct definition *d))
{
    struct kernel_answer a;
    double *want[CASE_OPERANDS] = { NULL };
    assert_int_equal(oa_kernel_solve(c, p, OA_PRECISION_F64, &a), OA_OK);
    struct definition d = { .p = p, .given = a.given.x, .want = want };
    for (int o = 0; o < p->count; o++) {
        size_t bytes = (size_t)oa_case_cells(&p->operand[o]) * sizeof(double);
        want[o] = malloc(bytes);
        assert_non_null(want[o]);
        memcpy(want[o], a.given.x[o], bytes);
    }
    define(&d);
    for (int o = 0; o < p->count; o++)
        if (p->operand[o].role != CASE_IN)
            compare_operand(&d, &a, o);
    if (p->what->result_magnitude && !is_near(a.result, d.result, a.result_allowed / 1e-7))
        fail_msg("%s, variant %d: %.17g instead of %.17Lg", p->what->name, p->variant, a.result,
                 d.result);
    for (int o = 0; o < p->count; o++)
        free(want[o]);
    oa_kernel_answer_free(&a);
}

static void check_case(oa_context *c, const struct kernel_case *k,
                       void (*define)(struct definition *d))
{
    static const long sizes[][3] = { { 1, 1, 1 }, { 3, 5, 4 }, { 17, 33, 9 }, { 16, 70, 40 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int variant = 0; variant < k->variants; variant++) {
            struct kernel_problem p;
            oa_kernel_problem(&p, k, k->matrix ? sizes[i][0] : 1, sizes[i][1], sizes[i][2], variant,
                              false);
            check_definition(c, &p, define);
        }
}

static void plain_kernels_compute_what_they_are_defined_as(void **state)
{
    const struct kernel_case *k;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    (void)state;
    for (int i = 0; (k = oa_kernel_case(i)); i++) {
        size_t n = 0;
        while (n < sizeof defined / sizeof *defined && strcmp(defined[n].kernel, k->name) != 0)
            n++;
        if (n == sizeof defined / sizeof *defined)
            fail_msg("the kernel %s has no definition here", k->name);
        check_case(c, k, defined[n].define);
    }
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(
        plain_kernels_compute_what_they_are_defined_as) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
