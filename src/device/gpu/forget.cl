/* SPDX-License-Identifier: Apache-2.0
 * Sums of forget gates along the sequence (formulas: cpu_forget.c), in doubles. A group has a
 * sequence and a head, a thread a run of tokens: first the sum of its run, then the sums from that
 * of the runs before on. */
typedef struct {
    long length, heads;
    ulong z, total, sums, dsums, dz;
} forget_gates;

FUNCTION double log_sigmoid(double z)
{
    return z < 0 ? z - log1p(exp(z)) : -log1p(exp(-z));
}

/* x as two reals. */
FUNCTION void put_forget_sum(GLOBAL real *pair, double x)
{
    real whole = (real)x;
    pair[0] = whole;
    pair[1] = (real)(x - (double)whole);
}

/* The sum of what the threads before this one have. */
FUNCTION double sum_before(LOCAL double *room, double own)
{
    double sum = 0;
    room[THREAD] = own;
    BARRIER;
    for (int i = 0; i < THREAD; i++)
        sum += room[i];
    return sum;
}

KERNEL void forget_sums(forget_gates a)
{
    SHARED double room[GROUP_SIZE];
    long run = (a.length + GROUP_SIZE - 1) / GROUP_SIZE, first = least(a.length, THREAD * run),
         end = least(a.length, first + run), h = GROUP(0) % a.heads,
         row = GROUP(0) / a.heads * a.length;
    GLOBAL real *total = AT(real, a.total) + 2 * h;
    double c = a.total ? (double)total[0] + (double)total[1] : 0, sum = 0;
    for (long i = first; i < end; i++)
        sum += log_sigmoid(load(AT(const act, a.z), (row + i) * a.heads + h));
    c += sum_before(room, sum);
    for (long i = first; i < end; i++) {
        c += log_sigmoid(load(AT(const act, a.z), (row + i) * a.heads + h));
        put_forget_sum(AT(real, a.sums) + ((row + i) * a.heads + h) * 2, c);
    }
    BARRIER;
    if (a.total && first < end && end == a.length)
        put_forget_sum(total, c);
}

/* dz_l = (1 − σ(z_l)) Σ_{t≥l} dc_t: runs from the end on. */
KERNEL void forget_sums_gradient(forget_gates a)
{
    SHARED double room[GROUP_SIZE];
    long run = (a.length + GROUP_SIZE - 1) / GROUP_SIZE, end = most(0, a.length - THREAD * run),
         first = most(0, end - run), h = GROUP(0) % a.heads, row = GROUP(0) / a.heads * a.length;
    double sum = 0;
    for (long i = end - 1; i >= first; i--)
        sum += (double)AT(const real, a.dsums)[(row + i) * a.heads + h];
    double dc = sum_before(room, sum);
    for (long i = end - 1; i >= first; i--) {
        long at = (row + i) * a.heads + h;
        dc += (double)AT(const real, a.dsums)[at];
        store(AT(act, a.dz), at, (real)(dc / (1 + exp((double)load(AT(const act, a.z), at)))));
    }
}
