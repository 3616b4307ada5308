/* SPDX-License-Identifier: Apache-2.0
 * Linear attention: what is not a product or a scan of chunks (chunks.cl). The formulas are in
 * cpu_linear_attention.c; here S and z of a (b,h) lie one after the other. Vectors of tokens are
 * [pairs, chunks, CHUNK]. */
enum { CHUNK = 64 };

/* The policies of oa_denominator, in their order. */
enum { ADD, SIGN, CLAMP, NONE, CONSTANT };

typedef struct {
    long heads, key_heads, queries, keys, chunks, key_chunks, first, pairs, features, width;
    long causal, begun, policy, ldo;
    double epsilon;
    ulong query_lengths, key_lengths, key_scale, query_scale, state, o, d_o, den;
    /* scratch; NULL without scales: m_i [pairs, rows] and in chunks, c_j, e^{c_j − M}, e^{M of the
     * chunk before − m_i}, e^{M of the chunk before − M} [pairs, key_chunks] */
    ulong seen, row_scale, scale, key_factor, share, decay;
    ulong states, sums, inverse, error;
} linear_rows;

FUNCTION long real_keys(linear_rows a, long b)
{
    return real_length(AT(const int, a.key_lengths), b, a.keys);
}

/* The state that the (b,h) begins with, which all query heads of a head of keys share. */
FUNCTION GLOBAL real *kept_state(linear_rows a, long pair)
{
    long b = (a.first + pair) / a.heads, h = (a.first + pair) % a.heads;
    long size = a.features * a.width + a.features + 1;
    return AT(real, a.state) + (b * a.key_heads + h * a.key_heads / a.heads) * size;
}

FUNCTION real first_scale(linear_rows a, long pair)
{
    return a.begun ? kept_state(a, pair)[a.features * a.width + a.features] : -INFINITY;
}

FUNCTION GLOBAL const real *key_scales(linear_rows a, long pair)
{
    long b = (a.first + pair) / a.heads, h = (a.first + pair) % a.heads;
    return AT(const real, a.key_scale) + (b * a.key_heads + h * a.key_heads / a.heads) * a.keys;
}

/* m_i of a (b,h), [pairs][rows]: the largest scale of the first and of keys up to i, or of all; a
 * group has a (b,h), a thread a run of rows. */
KERNEL void linear_scales(linear_rows a, long rows)
{
    SHARED real tops[GROUP_SIZE];
    long pair = GROUP(0), b = (a.first + pair) / a.heads, keys = a.key_scale ? real_keys(a, b) : 0;
    long run = (rows + GROUP_SIZE - 1) / GROUP_SIZE, begin = THREAD * run;
    GLOBAL const real *scale = key_scales(a, pair);
    GLOBAL real *seen = AT(real, a.seen) + pair * rows;
    real top = -INFINITY;
    for (long i = begin; i < least(begin + run, keys); i++)
        top = fmax(top, scale[i]);
    tops[THREAD] = top;
    BARRIER;
    top = first_scale(a, pair);
    for (int t = 0; t < (a.causal ? THREAD : GROUP_SIZE); t++)
        top = fmax(top, tops[t]);
    for (long i = begin; i < least(begin + run, rows); i++) {
        if (a.causal && i < keys)
            top = fmax(top, scale[i]);
        seen[i] = top - top == 0 ? top : 0;
    }
}

/* The scale of the state after chunk c, and before it. */
FUNCTION real scale_after(linear_rows a, long pair, long c)
{
    long b = (a.first + pair) / a.heads, keys = real_keys(a, b), rows = most(a.queries, a.keys);
    return keys ? AT(const real, a.seen)[pair * rows + least((c + 1) * CHUNK, keys) - 1] : 0;
}

FUNCTION real scale_before(linear_rows a, long pair, long c)
{
    return c > 0 ? scale_after(a, pair, c - 1) : first_scale(a, pair);
}

/* The factors of tokens and chunks. A thread has a token of the longer side. */
KERNEL void linear_factors(linear_rows a)
{
    long longest = most(a.chunks, a.key_chunks) * CHUNK, pair = ITEM / longest, i = ITEM % longest,
         c = i / CHUNK, rows = most(a.queries, a.keys);
    if (pair >= a.pairs)
        return;
    bool begun = c > 0 || a.begun;
    real before = scale_before(a, pair, c), after = scale_after(a, pair, c);
    if (c < a.key_chunks) {
        long at = pair * a.key_chunks * CHUNK + i;
        bool there = i < real_keys(a, (a.first + pair) / a.heads);
        real own = there ? key_scales(a, pair)[i] : 0;
        AT(real, a.scale)[at] = own;
        AT(real, a.key_factor)[at] = there ? exp(own - after) : 0;
        if (i % CHUNK == 0)
            AT(real, a.decay)[pair * a.key_chunks + c] = begun ? exp(before - after) : 1;
    }
    if (c < a.chunks) {
        real own = AT(const real, a.seen)[pair * rows + least(i, rows - 1)];
        AT(real, a.row_scale)[pair * a.chunks * CHUNK + i] = own;
        AT(real, a.share)[pair * a.chunks * CHUNK + i] = a.causal && begun ? exp(before - own) : 1;
    }
}

/* ---- denominators ---- */

FUNCTION double guarded(long policy, double epsilon, double den)
{
    switch (policy) {
    case ADD:
        return den + epsilon;
    case SIGN:
        return fabs(den) >= epsilon ? den : den < 0 ? -epsilon : epsilon;
    case CLAMP:
        return den < epsilon ? epsilon : den;
    case CONSTANT:
        return epsilon;
    default:
        return den;
    }
}

/* The denominator does not depend on its sum. */
FUNCTION bool is_clamped(long policy, double limit, double den)
{
    return policy == CONSTANT || (policy == SIGN && fabs(den) <= limit) ||
           (policy == CLAMP && den <= limit);
}

/* ε of query i at the scale of its denominator. */
FUNCTION double epsilon_of(linear_rows a, long pair, long i)
{
    long b = (a.first + pair) / a.heads, rows = most(a.queries, a.keys);
    if (!a.query_scale || (real_keys(a, b) == 0 && !a.begun))
        return a.epsilon;
    double seen = a.seen ? AT(const real, a.seen)[pair * rows + (a.causal ? i : 0)] : 0;
    return a.epsilon *
           exp(-(double)AT(const real, a.query_scale)[(a.first + pair) * a.queries + i] - seen);
}

/* Of the sums: denominators after their policy, and their inverses. A thread has a token. */
KERNEL void linear_denominators(linear_rows a)
{
    long length = a.chunks * CHUNK, pair = ITEM / length, i = ITEM % length;
    if (pair >= a.pairs || i >= a.queries)
        return;
    real den = 0;
    if (i < real_length(AT(const int, a.query_lengths), (a.first + pair) / a.heads, a.queries))
        den = (real)guarded(a.policy, epsilon_of(a, pair, i), (double)AT(const real, a.sums)[ITEM]);
    AT(real, a.den)[(a.first + pair) * a.queries + i] = den;
    AT(real, a.inverse)[ITEM] = den == 0 ? 0 : 1 / den;
}

/* 1/den_i and e_i = −(dO_i·O_i)/den_i, 0 where the denominator is clamped. A group has a token. */
KERNEL void linear_errors(linear_rows a)
{
    SHARED real room[GROUP_SIZE];
    long length = a.chunks * CHUNK, pair = GROUP(0) / length, i = GROUP(0) % length,
         b = (a.first + pair) / a.heads, h = (a.first + pair) % a.heads;
    long at = (b * a.queries + i) * a.ldo + h * a.width;
    bool there = i < real_length(AT(const int, a.query_lengths), b, a.queries);
    real sum = 0;
    for (long j = THREAD; there && j < a.width; j += GROUP_SIZE)
        sum += load(AT(const act, a.d_o), at + j) * load(AT(const act, a.o), at + j);
    sum = group_sum(room, sum);
    if (THREAD != 0)
        return;
    real den = there ? AT(const real, a.den)[(a.first + pair) * a.queries + i] : 0,
         inverse = den == 0 ? 0 : 1 / den;
    AT(real, a.inverse)[GROUP(0)] = inverse;
    bool clamped = there && is_clamped(a.policy, (double)(real)epsilon_of(a, pair, i), (double)den);
    AT(real, a.error)[GROUP(0)] = clamped ? 0 : -sum * inverse;
}

/* ---- the state of decoding ---- */

/* Into the last place of the states. A thread has a number. */
KERNEL void linear_load_state(linear_rows a)
{
    long size = a.features * a.width + a.features, pair = ITEM / size, e = ITEM % size;
    if (pair < a.pairs)
        AT(real, a.states)
    [(pair * (a.key_chunks + 1) + a.key_chunks) * size + e] = kept_state(a, pair)[e];
}

/* And back, by the last of the query heads that share it; its scale comes last. */
KERNEL void linear_keep_state(linear_rows a)
{
    long size = a.features * a.width + a.features, pair = ITEM / (size + 1), e = ITEM % (size + 1),
         h = (a.first + pair) % a.heads, rows = most(a.queries, a.keys);
    if (pair >= a.pairs || (h + 1) * a.key_heads / a.heads == h * a.key_heads / a.heads)
        return;
    if (e < size)
        kept_state(a, pair)[e] =
            AT(const real, a.states)[(pair * (a.key_chunks + 1) + a.key_chunks) * size + e];
    else
        kept_state(a, pair)[e] = a.seen ? AT(const real, a.seen)[(pair + 1) * rows - 1] : 0;
}

/* One token with a state, as in decoding: the recurrence itself (cpu_linear_step.c). A group has a
 * head of keys and the query heads that read it. */
KERNEL void linear_step(linear_rows a, GLOBAL const act *fq, long ldfq, GLOBAL const act *fk,
                        long ldfk, GLOBAL const act *v, long ldv, GLOBAL act *o)
{
    SHARED real room[GROUP_SIZE];
    long b = GROUP(0) / a.key_heads, n = GROUP(0) % a.key_heads, r = a.features,
         size = r * a.width + r, sharing = a.heads / a.key_heads;
    GLOBAL real *state = AT(real, a.state) + GROUP(0) * (size + 1);
    real before = a.begun ? state[size] : -INFINITY, after = before, share = a.begun ? 1 : 0,
         weight = 0;
    if (a.keys > 0) {
        real own = a.key_scale ? AT(const real, a.key_scale)[GROUP(0)] : 0;
        after = fmax(before, own);
        share = a.begun ? exp(before - after) : 0;
        weight = exp(own - after);
    }
    BARRIER;
    for (long e = THREAD; e < size; e += GROUP_SIZE) {
        long c = e < r * a.width ? e / a.width : e - r * a.width;
        real more = 0;
        if (a.keys > 0)
            more = weight * load(fk, b * ldfk + n * r + c);
        if (a.keys > 0 && e < r * a.width)
            more *= load(v, b * ldv + n * a.width + e % a.width);
        state[e] = (a.begun ? share * state[e] : 0) + more;
    }
    if (THREAD == 0)
        state[size] = after;
    BARRIER;
    for (long h = n * sharing; h < (n + 1) * sharing; h++) {
        real sum = 0;
        for (long c = THREAD; c < r; c += GROUP_SIZE)
            sum += load(fq, b * ldfq + h * r + c) * state[r * a.width + c];
        double epsilon = a.epsilon;
        if (a.query_scale)
            epsilon *= exp(-(double)AT(const real, a.query_scale)[b * a.heads + h] - (double)after);
        real den = (real)guarded(a.policy, epsilon, (double)group_sum(room, sum));
        if (THREAD == 0)
            AT(real, a.den)[b * a.heads + h] = den;
        for (long j = THREAD; j < a.width; j += GROUP_SIZE) {
            sum = 0;
            for (long c = 0; c < r; c++)
                sum += load(fq, b * ldfq + h * r + c) * state[c * a.width + j];
            store(o, b * a.ldo + h * a.width + j, den == 0 ? 0 : sum / den);
        }
    }
}
