/* SPDX-License-Identifier: Apache-2.0
 * Tables of what distances add to logits (formulas: cpu_relative.c). */
enum { ALIBI = 1, T5 };

typedef struct {
    long kind, heads, length, causal, buckets, distance;
    ulong bias, table, bucket;
} relative_tables;

FUNCTION double alibi_slope(long head, long heads)
{
    long power = 1;
    while (2 * power <= heads)
        power *= 2;
    if (head < power)
        return exp2(-8 * (double)(head + 1) / (double)power);
    return exp2(-8 * (double)(2 * (head - power) + 1) / (double)(2 * power));
}

FUNCTION long side_bucket(long t, long count, long distance)
{
    long exact = count / 2;
    if (t < exact)
        return t;
    if (t >= distance)
        return count - 1;
    double share = log((double)t / (double)exact) / log((double)distance / (double)exact);
    return least(exact + (long)(share * (double)(count - exact) + 1e-9), count - 1);
}

FUNCTION long bucket_of(relative_tables a, long d)
{
    long half_count = a.buckets / 2;
    if (a.causal)
        return side_bucket(most(0, -d), a.buckets, a.distance);
    return side_bucket(d < 0 ? -d : d, half_count, a.distance) + (d > 0 ? half_count : 0);
}

/* A thread has a distance. */
KERNEL void relative(relative_tables a)
{
    long e = ITEM, entries = 2 * a.length - 1, d = e - a.length + 1;
    if (e >= entries)
        return;
    long bucket = a.kind == T5 ? bucket_of(a, d) : 0;
    if (a.kind == T5)
        AT(int, a.bucket)[e] = (int)bucket;
    for (long h = 0; h < a.heads; h++)
        AT(real, a.table)
        [h * entries + e] =
            a.kind == T5      ? AT(const real, a.bias)[h * a.buckets + bucket]
            : a.kind == ALIBI ? (real)(-alibi_slope(h, a.heads) * (double)(d < 0 ? -d : d))
                              : 0;
}
