/* SPDX-License-Identifier: Apache-2.0
 * Closed forms for U [d, k] with uniformly distributed orthonormal columns (Haar), for G [d, k]
 * with entries N(0, 1/d), and for distances under them. */
#ifndef ORTHANT_THEORY_CLOSED_FORMS_H
#define ORTHANT_THEORY_CLOSED_FORMS_H

/* |xU|²/|x|² ~ Beta(k/2, (d − k)/2); its variance 2k(d − k)/(d²(d + 2)), and that of |xG|²/|x|²,
 * 2k/d². */
double oa_law_norm_variance(double d, double k);
double oa_law_gaussian_norm_variance(double d, double k);
double oa_law_norm_cdf(double d, double k, double ratio);  /* P((d/k)|xU|²/|x|² ≤ ratio) */
double oa_law_norm_quantile(double d, double k, double p); /* its quantile */

/* Variance of ⟨xU, yU⟩ for unit vectors with ⟨x, y⟩ = cosine (mean k·cosine/d):
 * (a + b − k²/d²)cosine² + b, b = k(d − k)/(d(d − 1)(d + 2)), a = k/d − b(d + 1). */
double oa_law_product_variance(double d, double k, double cosine);

/* E|U_11| = Γ(d/2)/(√π Γ((d + 1)/2)): E Q_11 of a Householder QR without the signs of R is minus
 * that. */
double oa_law_first_entry(double d);

/* Condition number of G for large d: (1 + √(k/d))/(1 − √(k/d)); of a square one, geometric mean,
 * d·e^1.537 (Edelman 1988, Eigenvalues and condition numbers of random matrices). */
double oa_law_gaussian_condition(double d, double k);
double oa_law_square_condition(double d);

/* Johnson–Lindenstrauss: P(|ratio − 1| > ε) ≤ 2 exp(−k(ε²/4 − ε³/6)); the width that n points need
 * for a probability of success of at least 1/n, 4 ln n/(ε²/2 − ε³/3); and the number of points that
 * a width allows. */
double oa_law_jl_bound(double k, double epsilon);
double oa_law_jl_width(double points, double epsilon);
double oa_law_jl_points(double k, double epsilon);
/* The exact probability, from the Beta distribution. */
double oa_law_distortion(double d, double k, double epsilon);

#endif
