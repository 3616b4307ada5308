/* SPDX-License-Identifier: Apache-2.0
 * Kernels with one mistake each, for test_emulated.c; x and y have n elements, a multiple of the
 * group. */

/* None: a sum of a group, and each thread its own element. */
KERNEL void planted_nothing(long n, GLOBAL const real *x, GLOBAL real *y)
{
    SHARED real room[GROUP_SIZE];
    real sum = group_sum(room, x[ITEM]);
    if (ITEM < n)
        y[ITEM] = sum;
}

/* A thread reads what another of its group writes. */
KERNEL void planted_race(long n, GLOBAL const real *x, GLOBAL real *y)
{
    y[ITEM] = x[ITEM];
    if (THREAD == 0)
        y[ITEM] += y[ITEM + 1];
}

/* The last group reads what the first writes: a barrier does not help. */
KERNEL void planted_group_race(long n, GLOBAL const real *x, GLOBAL real *y)
{
    y[ITEM] = x[ITEM];
    BARRIER;
    if (ITEM == n - 1)
        y[ITEM] += y[0];
}

/* group_sum without its second barrier. */
KERNEL void planted_shared_race(long n, GLOBAL const real *x, GLOBAL real *y)
{
    SHARED real room[GROUP_SIZE];
    room[THREAD] = x[ITEM];
    BARRIER;
    for (int width = GROUP_SIZE / 2; width > 0; width /= 2)
        if (THREAD < width)
            room[THREAD] += room[THREAD + width];
    BARRIER;
    y[ITEM] = room[0];
}

/* Of the second half of the room, which nobody wrote. */
KERNEL void planted_unwritten(long n, GLOBAL const real *x, GLOBAL real *y)
{
    SHARED real room[2 * GROUP_SIZE];
    room[THREAD] = x[ITEM];
    BARRIER;
    y[ITEM] = room[THREAD + GROUP_SIZE];
}

KERNEL void planted_write_after(long n, GLOBAL const real *x, GLOBAL real *y)
{
    y[ITEM + 1] = x[ITEM];
}

KERNEL void planted_read_before(long n, GLOBAL const real *x, GLOBAL real *y)
{
    y[ITEM] = x[ITEM - 1];
}

/* Half of the group does not come to the barrier. */
KERNEL void planted_divergence(long n, GLOBAL const real *x, GLOBAL real *y)
{
    if (THREAD < GROUP_SIZE / 2)
        BARRIER;
    y[ITEM] = x[ITEM];
}
