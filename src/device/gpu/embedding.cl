/* SPDX-License-Identifier: Apache-2.0
 * Embeddings and patches (formulas: operations.h). */

typedef struct {
    long tokens, length, width;
    double factor;
    ulong ids, segments, table, position, segment, rest, y;
    dropout drop;
} embedded_tokens;

KERNEL void embed(embedded_tokens a)
{
    long t = ITEM / a.width, j = ITEM % a.width;
    if (t >= a.tokens)
        return;
    real v = (real)a.factor * AT(const real, a.table)[AT(const int, a.ids)[t] * a.width + j];
    if (a.position)
        v += AT(const real, a.position)[t % a.length * a.width + j];
    if (a.segment)
        v += AT(const real, a.segment)[AT(const int, a.segments)[t] * a.width + j];
    if (a.rest)
        v += load(AT(const act, a.rest), t * a.width + j);
    v = drop(a.drop, (ulong)t * dropout_stride(a.width) + (ulong)j, rounded(v));
    store(AT(act, a.y), t * a.width + j, v);
}

/* The gradient after dropout, where there is any. */
KERNEL void embed_tokens_gradient(long tokens, long width, dropout d, GLOBAL const act *dy,
                                  GLOBAL act *dropped)
{
    long t = ITEM / width, j = ITEM % width;
    if (t < tokens)
        store(dropped, ITEM, drop(d, (ulong)t * dropout_stride(width) + (ulong)j, load(dy, ITEM)));
}

/* dposition [length, width] += what its tokens got */
KERNEL void embed_positions_gradient(long tokens, long length, long width, GLOBAL const act *dy,
                                     GLOBAL real *dposition)
{
    long p = ITEM / width, j = ITEM % width;
    real sum = 0;
    if (p >= least(tokens, length))
        return;
    for (long t = p; t < tokens; t += length)
        sum += load(dy, t * width + j);
    dposition[ITEM] += sum;
}

/* A group has a token. That of the first token of an id adds up the gradients of all tokens of the
 * id, in their order: no other group writes to its row of the table. */
KERNEL void embed_table_gradient(long tokens, long width, double factor, GLOBAL const int *ids,
                                 GLOBAL const act *dy, GLOBAL real *dtable)
{
    SHARED double room[GROUP_SIZE];
    long first = GROUP(0);
    int id = ids[first];
    double before = 0;
    for (long t = THREAD; t < first; t += GROUP_SIZE)
        before += ids[t] == id;
    if (group_sum_double(room, before) > 0)
        return;
    for (long t = first; t < tokens; t++)
        if (ids[t] == id)
            for (long j = THREAD; j < width; j += GROUP_SIZE)
                dtable[id * width + j] += (real)factor * load(dy, t * width + j);
}

KERNEL void patches(long tokens, long count, GLOBAL const uchar *pixels, GLOBAL const int *ids,
                    GLOBAL act *y)
{
    if (ITEM < tokens * count)
        store(y, ITEM, ids[ITEM / count] ? 0 : (real)(pixels[ITEM] / 127.5 - 1));
}
