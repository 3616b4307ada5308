/* SPDX-License-Identifier: Apache-2.0
 * The logits engine (formulas: cpu_logits.c, cpu_logits_gradient.c, cpu_logits_weights.c,
 * cpu_polynomial.c). S is never stored: a group makes it tile by tile, 64 × 64, of queries × keys
 * or, for what belongs to keys, of keys × queries, and keeps its sums in registers. Backward, S and
 * P are made again for each of the gradients.
 *
 * Thread (y, x) of 16 × 8 has rows y + 16·k of a tile and columns x + 8·l. The queries or keys of a
 * piece of a sparse support are rows of the sequence in an order of their own: row i of the piece
 * is row ⌊i/take⌋·stride + i mod take of the sequence, from the first on. */
enum {
    TILE = 64,
    PITCH = TILE + 1,
    Y = 16,
    X = 8,
    ROWS = TILE / Y, /* of a thread */
    COLS = TILE / X,
    PAIRS = ROWS * COLS,
    CHUNK = 2 * TILE, /* columns of the sums of a group */
    SUMS = 2 * PAIRS,
#ifdef REAL_F64
    STEP = 8,
#else
    STEP = 16,
#endif
    ROOM = 2 * STEP * PITCH
};

enum { DOT, TABLE, FOLD };
enum { SOFTMAX, SINK, SIGMOID, SPARSEMAX, ENTMAX, POLYNOMIAL };

/* An addend of the logits: struct oa_logits_part without its gradients. */
typedef struct {
    long kind, width;
    double scale;
    ulong q;
    long ldq, q_table, q_head_stride;
    ulong k;
    long ldk, folds, k_table, k_head_stride;
    ulong bias;
    long bias_head_stride;
    ulong table;
    long table_length;
} part;

typedef struct {
    long sequences, stride, first, take;
} row_order;

/* struct oa_logits without its gradients. */
typedef struct {
    long batch, queries, keys, heads, key_heads, value_width, causal, first, summaries,
        key_head_rows;
    double cap;
    ulong key_lengths, query_lengths;
    long form, parameter[4];
    ulong layout, alpha, distances;
    long distance_length;
    ulong query_position, key_position, forget_query, forget_key;
    long forget_query_rows, forget_key_rows;
    ulong v;
    long ldv;
    ulong o;
    long ldo;
    ulong d_o;
    long normaliser;
    ulong sink, lse, delta;
    dropout drop;
    row_order query_order, key_order;
    long query_rows, key_rows, merge; /* of a sequence; the results of earlier pieces are there */
    long degree;
    double bias; /* POLYNOMIAL */
    long parts;
    ulong more; /* the parts after the first */
    part first_part;
} attention;

/* The (b,h) at work, n its head of keys; real queries and keys. */
typedef struct {
    long b, h, n, queries, keys;
} place;

KERNEL void keep_part(part p, GLOBAL part *parts, long at)
{
    if (ITEM == 0)
        parts[at] = p;
}

/* ---- visible keys: device/support*.c, key_sets.c ---- */

enum {
    FORM_ALL,
    FORM_WINDOW,
    FORM_DILATED,
    FORM_GLOBAL,
    FORM_BLOCKS,
    FORM_LAYOUT,
    FORM_POOLED,
    FORM_KEY_SETS,
    FORM_NEAR,
    FORM_CLASS_BEFORE,
    FORM_CLASS_AFTER,
    FORM_SUMMARY_BEFORE,
    FORM_SUMMARY_AFTER
};

enum { BAND = 1, STRIDED = 2, CELL = 4, SUMMARY = 8 };

typedef struct {
    int sets, stride, summary;
} key_sets;

FUNCTION bool keys_hold(key_sets k, bool causal, int i, int j)
{
    int late = max(i, j), early = min(i, j), l = k.stride;
    if (causal && j > i)
        return false;
    return (k.sets & BAND && late - early < l) || (k.sets & STRIDED && (late - early) % l == 0) ||
           (k.sets & CELL && late / l == early / l) ||
           (k.sets & SUMMARY && early % l >= l - k.summary);
}

FUNCTION int next_summary(key_sets k, int j)
{
    int first = k.stride - k.summary, at = j % k.stride;
    return at >= first ? j : j - at + first;
}

FUNCTION bool past_meets(key_sets k, int i0, int i1, int j0, int j1)
{
    int l = k.stride, nearest = max(0, i0 - (j1 - 1)), farthest = i1 - 1 - j0;
    if (farthest < 0)
        return false;
    return (k.sets & BAND && nearest < l) || (k.sets & STRIDED && farthest / l * l >= nearest) ||
           (k.sets & CELL && (nearest == 0 || i0 / l == (j1 - 1) / l)) ||
           (k.sets & SUMMARY && next_summary(k, j0) <= min(j1, i1) - 1);
}

FUNCTION bool keys_meet(key_sets k, bool causal, int i0, int i1, int j0, int j1)
{
    return past_meets(k, i0, i1, j0, j1) || (!causal && past_meets(k, j0, j1, i0, i1));
}

FUNCTION key_sets sets_of(attention a, long h)
{
    int fixed = (int)a.parameter[0];
    int near = fixed ? CELL : BAND, far = fixed ? SUMMARY : STRIDED;
    key_sets k;
    k.sets = !a.parameter[3] ? near | far : h % 2 == 0 ? near : far;
    k.stride = (int)a.parameter[1];
    k.summary = min((int)a.parameter[2], k.stride);
    return k;
}

FUNCTION bool block_on(attention a, long h, int p, int q)
{
    int b = (int)a.parameter[0], n = (int)a.parameter[1];
    key_sets k;
    if (a.form == FORM_LAYOUT)
        return AT(const int, a.layout)[(h * a.parameter[1] + p) * a.parameter[2] + q] != 0;
    k.sets = (int)a.parameter[2];
    k.stride = (int)a.parameter[3];
    k.summary = 1;
    return keys_meet(k, false, p * b, min(p * b + b, n), q * b, min(q * b + b, n));
}

FUNCTION int window_back(attention a)
{
    return (int)a.parameter[0] - (a.causal ? 1 : 0);
}

FUNCTION int window_ahead(attention a)
{
    return a.causal ? 0 : (int)a.parameter[0];
}

/* Keys that any of the queries i0 … i1 − 1 of a head may see: *low ≤ j < *high. Of one query, and a
 * form from FORM_NEAR on, those that it sees. */
FUNCTION void key_range(attention a, long h, long i0, long i1, long *low, long *high)
{
    long p = a.parameter[0], l = a.parameter[1], front = a.summaries;
    key_sets k = sets_of(a, h);
    bool far = (k.sets & (STRIDED | SUMMARY)) != 0;
    *low = 0;
    *high = a.keys;
    switch (a.form) {
    case FORM_WINDOW:
        *low = i0 - window_back(a);
        *high = i1 + window_ahead(a);
        break;
    case FORM_DILATED:
        *low = i0 - window_back(a) * l;
        *high = i1 + window_ahead(a) * l;
        break;
    case FORM_GLOBAL:
        *high = i0 < l && a.parameter[2] ? a.keys : most(l, i1 + window_ahead(a));
        if (i1 <= l && !a.parameter[2])
            *high = 0;
        break;
    case FORM_BLOCKS:
        *low = i0 / p * p;
        *high = ((i1 - 1) / p + 1) * p;
        break;
    case FORM_POOLED:
        if (a.parameter[2] == BAND) {
            *low = most(i0 / p * p - a.parameter[3] + 1, 0) / p * p;
            *high = ((((i1 - 1) / p + 1) * p - 2 + a.parameter[3]) / p + 1) * p;
        }
        break;
    case FORM_KEY_SETS:
        if (k.sets == BAND) {
            *low = i0 - l + 1;
            *high = i1 - 1 + l;
        } else if (k.sets == CELL) {
            *low = front + (i0 - front) / l * l;
            *high = front + ((i1 - 1 - front) / l + 1) * l;
        }
        break;
    case FORM_NEAR: /* bounds do not fall from row to row */
        if (k.sets & BAND) {
            *low = i0 - l + 1;
            *high = i1 - 1 + l;
        } else if (k.sets & CELL) {
            *low = i0 / l * l;
            *high = (i1 - 1) / l * l + l;
        } else if (k.sets & STRIDED) {
            *low = i0;
            *high = i1;
        } else {
            long last = (i1 - 1) / l * l;
            *low = i0 / l * l + l - k.summary;
            *high = i1 - 1 < last + l - k.summary ? last + l - k.summary : last + l;
        }
        break;
    case FORM_CLASS_BEFORE:
        *high = far ? i1 - 1 : 0;
        break;
    case FORM_CLASS_AFTER:
        *low = i0 + 1;
        *high = far ? a.keys : 0;
        break;
    case FORM_SUMMARY_BEFORE:
        *high = far ? (i1 - 1) / l * k.summary : 0;
        break;
    case FORM_SUMMARY_AFTER:
        *low = (i0 / k.summary + 1) * l;
        *high = far ? a.keys : 0;
        break;
    }
    *low = most(0, *low);
    *high = least(*high, a.keys);
}

FUNCTION bool visible(attention a, long h, long position, long key)
{
    int i = (int)position, j = (int)key, p = (int)a.parameter[0], front = (int)a.summaries;
    key_sets k;
    long low, high;
    switch (a.form) {
    case FORM_ALL:
        return true;
    case FORM_WINDOW:
        return i - j <= window_back(a) && j - i <= window_ahead(a);
    case FORM_DILATED:
        return (i - j) % (int)a.parameter[1] == 0 &&
               (i - j) / (int)a.parameter[1] <= window_back(a) &&
               (j - i) / (int)a.parameter[1] <= window_ahead(a);
    case FORM_GLOBAL:
        if (i < a.parameter[1])
            return a.parameter[2] != 0;
        return j < a.parameter[1] || (i - j <= window_back(a) && j - i <= window_ahead(a));
    case FORM_BLOCKS:
        return i / p == j / p;
    case FORM_LAYOUT:
    case FORM_POOLED:
        return block_on(a, h, i / p, j / p);
    case FORM_KEY_SETS:
        k = sets_of(a, h);
        return j < front ? (k.sets & SUMMARY) != 0
                         : keys_hold(k, a.causal != 0, i - front, j - front);
    default:
        key_range(a, h, position, position + 1, &low, &high);
        return key >= low && key < high;
    }
}

FUNCTION bool all_blocks_off(attention a, long h, long i0, long i1, long j0, long j1)
{
    long b = a.parameter[0];
    for (long p = i0 / b; p * b < i1; p++)
        for (long q = j0 / b; q * b < j1; q++)
            if (block_on(a, h, (int)p, (int)q))
                return false;
    return true;
}

/* No pair of queries at positions i0 … i1 − 1 with keys j0 … j1 − 1 is visible: the tile is
 * skipped. */
FUNCTION bool form_is_empty(attention a, long h, long i0, long i1, long j0, long j1)
{
    long g = a.parameter[1], front = a.summaries;
    key_sets k;
    switch (a.form) {
    case FORM_GLOBAL:
        if (i0 < g && a.parameter[2])
            return false;
        return i1 <= g || (j0 >= g && (j1 - 1 < most(i0, g) - window_back(a) ||
                                       j0 > i1 - 1 + window_ahead(a)));
    case FORM_LAYOUT:
    case FORM_POOLED:
        return all_blocks_off(a, h, i0, i1, j0, j1);
    case FORM_KEY_SETS:
        k = sets_of(a, h);
        if (j0 < front && (k.sets & SUMMARY))
            return false;
        j0 = most(j0, front);
        return j0 >= j1 || !keys_meet(k, a.causal != 0, (int)(i0 - front), (int)(i1 - front),
                                      (int)(j0 - front), (int)(j1 - front));
    default:
        return false;
    }
}

/* The same of queries i0 … and keys j0 … of the place, with causality. */
FUNCTION bool tile_is_empty(attention a, place w, long i0, long j0)
{
    long i1 = least(i0 + TILE, w.queries), j1 = least(j0 + TILE, w.keys), low, high;
    if (i0 >= i1 || j0 >= j1 || (a.causal && j0 > a.first + i1 - 1))
        return true;
    if (a.form == FORM_ALL)
        return false;
    key_range(a, w.h, a.first + i0, a.first + i1, &low, &high);
    return j1 <= low || j0 >= high || form_is_empty(a, w.h, a.first + i0, a.first + i1, j0, j1);
}

/* All its pairs are visible. */
FUNCTION bool tile_is_full(attention a, place w, long i0, long j0)
{
    long low = a.first + i0, high = low + TILE - 1;
    if (i0 + TILE > w.queries || j0 + TILE > w.keys || (a.causal && j0 + TILE - 1 > low))
        return false;
    if (a.form == FORM_WINDOW)
        return high - j0 <= window_back(a) && j0 + TILE - 1 - low <= window_ahead(a);
    return a.form == FORM_ALL;
}

FUNCTION bool pair_is_seen(attention a, place w, long i, long j)
{
    return i < w.queries && j < w.keys && (!a.causal || j <= a.first + i) &&
           visible(a, w.h, a.first + i, j);
}

/* ---- rows ---- */

/* Rows of a matrix: row i begins at x + place·ld, where place is i in the order. */
typedef struct {
    ulong x;
    long ld, width, end; /* rows from `end` on are zeros */
    row_order order;
} operand;

FUNCTION long row_in_order(row_order o, long i)
{
    return o.take == o.stride ? i : i / o.take * o.stride + i % o.take;
}

/* Real rows of a piece of a sequence. */
FUNCTION long rows_in_order(row_order o, long sequence, long length)
{
    long rest = length % o.stride - o.first - sequence;
    return o.take == o.stride ? length : length / o.stride * o.take + most(0, least(rest, o.take));
}

FUNCTION place place_of(attention a, long head)
{
    place w;
    long sequences = a.query_order.sequences;
    w.b = head / a.heads;
    w.h = head % a.heads;
    w.n = w.h * a.key_heads / a.heads;
    w.queries =
        rows_in_order(a.query_order, w.b % sequences,
                      real_length(AT(const int, a.query_lengths), w.b / sequences, a.query_rows));
    w.keys = rows_in_order(a.key_order, w.b % sequences,
                           real_length(AT(const int, a.key_lengths), w.b / sequences, a.key_rows));
    return w;
}

/* The row of the batch where the piece of the place begins. */
FUNCTION long first_row(row_order o, long b, long rows)
{
    return b / o.sequences * rows + o.first + b % o.sequences;
}

FUNCTION operand rows_of(ulong x, long at, long ld, long width, long end, row_order o)
{
    operand m;
    m.x = (ulong)(AT(const act, x) + at);
    m.ld = ld;
    m.width = width;
    m.end = end;
    m.order = o;
    return m;
}

FUNCTION operand rows_of_queries(attention a, place w, ulong x, long ld, long width)
{
    return rows_of(x, first_row(a.query_order, w.b, a.query_rows) * ld + w.h * width, ld, width,
                   w.queries, a.query_order);
}

FUNCTION operand rows_of_keys(attention a, place w, ulong x, long ld, long width)
{
    if (a.key_head_rows)
        return rows_of(
            x, (w.n * a.key_head_rows + a.key_order.first + w.b % a.key_order.sequences) * width,
            width, width, w.keys, a.key_order);
    return rows_of(x, first_row(a.key_order, w.b, a.key_rows) * ld + w.n * width, ld, width, w.keys,
                   a.key_order);
}

FUNCTION operand part_queries(attention a, place w, part p)
{
    if (p.q_table)
        return rows_of(p.q, w.h * p.q_head_stride + a.first * p.width, p.width, p.width, w.queries,
                       a.query_order);
    return rows_of_queries(a, w, p.q, p.ldq, p.width);
}

FUNCTION operand part_keys(attention a, place w, part p)
{
    if (p.k_table)
        return rows_of(p.k, w.h * p.k_head_stride, p.width, p.width, w.keys, a.key_order);
    return rows_of_keys(a, w, p.k, p.ldk, p.width);
}

/* Where lse and δ of query i are. */
FUNCTION long state_at(attention a, place w, long i)
{
    long sequences = a.query_order.sequences;
    return (w.b / sequences * a.heads + w.h) * a.query_rows + a.query_order.first +
           w.b % sequences + row_in_order(a.query_order, i);
}

/* ---- products ---- */

FUNCTION real element(operand m, long i, long col)
{
    return i < m.end && col < m.width
               ? load(AT(const act, m.x), row_in_order(m.order, i) * m.ld + col)
               : 0;
}

/* STEP columns from `col` on of 64 rows from `row` on: to[column][row]. */
FUNCTION void load_columns(operand m, long row, long col, LOCAL real *to)
{
    for (int e = THREAD; e < TILE * STEP; e += GROUP_SIZE)
        to[e % STEP * PITCH + e / STEP] = element(m, row + e / STEP, col + e % STEP);
}

/* s [64, 64] += rows r0 … of x times rows c0 … of y. */
FUNCTION void add_dots(operand x, long r0, operand y, long c0, LOCAL real *room, real *s)
{
    int first = THREAD / X, col = THREAD % X;
    for (long k0 = 0; k0 < x.width; k0 += STEP) {
        load_columns(x, r0, k0, room);
        load_columns(y, c0, k0, room + STEP * PITCH);
        BARRIER;
        for (int k = 0; k < STEP; k++) {
            real left[ROWS], right[COLS];
            for (int r = 0; r < ROWS; r++)
                left[r] = room[k * PITCH + first + Y * r];
            for (int q = 0; q < COLS; q++)
                right[q] = room[(STEP + k) * PITCH + col + X * q];
            for (int r = 0; r < ROWS; r++)
                for (int q = 0; q < COLS; q++)
                    s[r * COLS + q] += left[r] * right[q];
        }
        BARRIER;
    }
}

/* sums [64, 128] += tile [64, 64] times columns `from` … of rows c0 … of m. */
FUNCTION void add_rows(LOCAL const real *tile, operand m, long c0, long from, LOCAL real *room,
                       real *sums)
{
    int first = THREAD / X, col = THREAD % X;
    bool wide = m.width - from > TILE;
    for (int k0 = 0; k0 < TILE && c0 + k0 < m.end; k0 += STEP) {
        for (int e = THREAD; e < STEP * CHUNK; e += GROUP_SIZE)
            if (wide || e % CHUNK < TILE)
                room[e] = element(m, c0 + k0 + e / CHUNK, from + e % CHUNK);
        BARRIER;
        for (int k = 0; k < STEP; k++) {
            real left[ROWS], right[COLS];
            for (int r = 0; r < ROWS; r++)
                left[r] = tile[(first + Y * r) * PITCH + k0 + k];
            for (int q = 0; q < COLS; q++)
                right[q] = room[k * CHUNK + col + X * q];
            for (int r = 0; r < ROWS; r++)
                for (int q = 0; q < COLS; q++)
                    sums[r * COLS + q] += left[r] * right[q];
            if (!wide)
                continue;
            for (int q = 0; q < COLS; q++)
                right[q] = room[k * CHUNK + TILE + col + X * q];
            for (int r = 0; r < ROWS; r++)
                for (int q = 0; q < COLS; q++)
                    sums[PAIRS + r * COLS + q] += left[r] * right[q];
        }
        BARRIER;
    }
}

/* Sum e of a thread is that of row sum_row(e) of the tile and column sum_col(e) of the chunk. */
FUNCTION int sum_row(int e)
{
    return THREAD / X + Y * (e % PAIRS / COLS);
}

FUNCTION int sum_col(int e)
{
    return THREAD % X + X * (e % COLS) + e / PAIRS * TILE;
}

/* ---- logits ---- */

FUNCTION real alpha_of(attention a, long h, long c)
{
    return a.alpha ? AT(const real, a.alpha)[h * a.parts + c] : 1;
}

/* What a pair adds to part c beside a product. */
FUNCTION real pair_logit(attention a, place w, part p, long i, long j)
{
    if (p.kind == TABLE)
        return AT(const real, p.table)[(w.h * p.table_length + a.first + i) * p.table_length + j];
    if (p.kind == FOLD)
        return element(rows_of_queries(a, w, p.q, p.ldq, p.width), i, j % p.width) *
               element(rows_of_queries(a, w, p.k, p.ldk, p.folds), i, j / p.width);
    return p.bias ? AT(const real, p.bias)[w.h * p.bias_head_stride + j] : 0;
}

/* s = a part of the tile of queries i0 … and keys j0 …, or by_keys the other way round. */
FUNCTION void part_logits(attention a, place w, part p, bool by_keys, long i0, long j0,
                          LOCAL real *tile, LOCAL real *room, real *s)
{
    for (int e = 0; e < PAIRS; e++)
        s[e] = 0;
    if (p.kind == DOT) {
        operand q = part_queries(a, w, p), k = part_keys(a, w, p);
        add_dots(by_keys ? k : q, by_keys ? j0 : i0, by_keys ? q : k, by_keys ? i0 : j0, room, s);
        for (int e = 0; e < PAIRS; e++)
            s[e] *= (real)p.scale;
        if (!p.bias)
            return;
    }
#pragma unroll 1
    for (int e = 0; e < PAIRS; e++) {
        long i = i0 + (by_keys ? sum_col(e) : sum_row(e)),
             j = j0 + (by_keys ? sum_row(e) : sum_col(e));
        tile[sum_row(e) * PITCH + sum_col(e)] =
            i < w.queries && j < w.keys ? pair_logit(a, w, p, i, j) : 0;
    }
    for (int e = 0; e < PAIRS; e++)
        s[e] += tile[sum_row(e) * PITCH + sum_col(e)];
}

/* What distances and forgetting add. */
FUNCTION real added_logit(attention a, place w, long i, long j)
{
    real sum = 0;
    if (a.distances) {
        long query = a.query_position
                         ? AT(const int, a.query_position)[i]
                         : a.first + a.query_order.first + row_in_order(a.query_order, i);
        long key = a.key_position ? AT(const int, a.key_position)[j]
                                  : a.key_order.first + row_in_order(a.key_order, j);
        sum = AT(
            const real,
            a.distances)[w.h * (2 * a.distance_length - 1) + a.distance_length - 1 + key - query];
    }
    if (a.forget_query) {
        GLOBAL const real *c =
            AT(const real, a.forget_query) + ((w.b * a.forget_query_rows + i) * a.heads + w.h) * 2;
        GLOBAL const real *k =
            AT(const real, a.forget_key) + ((w.b * a.forget_key_rows + j) * a.heads + w.h) * 2;
        sum += (c[0] - k[0]) + (c[1] - k[1]);
    }
    return sum;
}

/* The logit of a pair whose parts add up to s. */
FUNCTION real finished_logit(attention a, place w, long i, long j, real s)
{
    if (!pair_is_seen(a, w, i, j))
        return -INFINITY;
    if (a.distances || a.forget_query)
        s += added_logit(a, w, i, j);
    return a.cap > 0 ? (real)a.cap * tanh(s / (real)a.cap) : s;
}

FUNCTION int sum_at(int e)
{
    return sum_row(e) * PITCH + sum_col(e);
}

/* s = logits of a tile, as above, −∞ where not visible. What takes more than a product is done pair
 * by pair in `tile`, where a thread meets only its own pairs: registers have no index. */
FUNCTION void tile_logits(attention a, place w, bool by_keys, long i0, long j0, LOCAL real *tile,
                          LOCAL real *room, real *s)
{
    part_logits(a, w, a.first_part, by_keys, i0, j0, tile, room, s);
    if (a.alpha)
        for (int e = 0; e < PAIRS; e++)
            s[e] *= alpha_of(a, w.h, 0);
    for (long c = 1; c < a.parts; c++) {
        real more[PAIRS], factor = alpha_of(a, w.h, c);
        part_logits(a, w, AT(const part, a.more)[c - 1], by_keys, i0, j0, tile, room, more);
        for (int e = 0; e < PAIRS; e++)
            s[e] += factor * more[e];
    }
    if (!a.distances && !a.forget_query && a.cap == 0 && tile_is_full(a, w, i0, j0))
        return;
    for (int e = 0; e < PAIRS; e++)
        tile[sum_at(e)] = s[e];
#pragma unroll 1
    for (int e = 0; e < PAIRS; e++)
        tile[sum_at(e)] = finished_logit(a, w, i0 + (by_keys ? sum_col(e) : sum_row(e)),
                                         j0 + (by_keys ? sum_row(e) : sum_col(e)), tile[sum_at(e)]);
    for (int e = 0; e < PAIRS; e++)
        s[e] = tile[sum_at(e)];
}

/* ---- weights ---- */

FUNCTION real whole_power(real x, long n)
{
    real power = 1;
    for (; n > 0; n /= 2, x *= x)
        if (n % 2)
            power *= x;
    return power;
}

/* 1/den, 0 where that leaves the range of numbers, or would in its derivative. */
FUNCTION real inverse(real den)
{
#ifdef REAL_F64
    return den <= 0 ? 0 : 1 / den;
#else
    return den <= 1e-30f ? 0 : 1 / den;
#endif
}

/* The weight of a logit in a row with this lse, or number; −∞: not visible. */
FUNCTION real weight_of(attention a, real s, real row)
{
    real above = a.normaliser == ENTMAX ? s / 2 - row : s - row;
    if (s == -INFINITY)
        return 0;
    switch (a.normaliser) {
    case SIGMOID:
        return sigmoid(above);
    case SPARSEMAX:
        return above > 0 ? above : 0;
    case ENTMAX:
        return above > 0 ? above * above : 0;
    case POLYNOMIAL:
        return whole_power(s, a.degree) * inverse(row);
    default:
        return row == -INFINITY ? 0 : exp(above);
    }
}

/* dS = slope·(dP − δ) */
FUNCTION real weight_slope(attention a, real s, real weight, real row)
{
    switch (a.normaliser) {
    case SIGMOID:
        return weight * (1 - weight);
    case SPARSEMAX:
        return weight > 0;
    case ENTMAX:
        return sqrt(weight);
    case POLYNOMIAL:
        return (real)a.degree * whole_power(s, a.degree - 1) * inverse(row);
    default:
        return weight;
    }
}

/* What dropout multiplies the weight of a pair by. */
FUNCTION real kept(attention a, place w, long i, long j)
{
    long row = (w.b * a.heads + w.h) * a.queries + i;
    return drop(a.drop, (ulong)row * dropout_stride(a.keys) + (ulong)j, 1);
}

/* Of the pairs of a tile that a thread has: logits become weights; without `known` numbers of rows,
 * those of 1. */
FUNCTION void weigh_pairs(attention a, place w, bool by_keys, bool known, long i0, LOCAL real *tile)
{
#pragma unroll 1
    for (int e = 0; e < PAIRS; e++) {
        long i = i0 + (by_keys ? sum_col(e) : sum_row(e));
        real logit = tile[sum_at(e)], row = 1;
        if (logit != -INFINITY && known)
            row = AT(const real, a.lse)[state_at(a, w, i)];
        tile[sum_at(e)] = weight_of(a, logit, row);
    }
}

/* … are multiplied by what dropout does to them. */
FUNCTION void drop_pairs(attention a, place w, bool by_keys, long i0, long j0, LOCAL real *tile)
{
    if (a.drop.limit >= 4294967296.0)
        return;
#pragma unroll 1
    for (int e = 0; e < PAIRS; e++)
        if (tile[sum_at(e)] != 0)
            tile[sum_at(e)] *= kept(a, w, i0 + (by_keys ? sum_col(e) : sum_row(e)),
                                    j0 + (by_keys ? sum_row(e) : sum_col(e)));
}

/* … logits become slopes of their weights, 0 where the weight is 0, times that of a soft cap. */
FUNCTION void slope_pairs(attention a, place w, bool by_keys, long i0, LOCAL real *tile)
{
#pragma unroll 1
    for (int e = 0; e < PAIRS; e++) {
        long i = i0 + (by_keys ? sum_col(e) : sum_row(e));
        real logit = tile[sum_at(e)], slope = 0;
        if (logit != -INFINITY) {
            real row = AT(const real, a.lse)[state_at(a, w, i)], p = weight_of(a, logit, row),
                 rest = a.cap > 0 ? logit / (real)a.cap : 0;
            slope = p == 0 ? 0 : weight_slope(a, logit, p, row) * (1 - rest * rest);
        }
        tile[sum_at(e)] = slope;
    }
}

FUNCTION void store_tile(real *s, LOCAL real *tile)
{
    for (int e = 0; e < PAIRS; e++)
        tile[sum_at(e)] = s[e];
    BARRIER;
}

/* The largest, or the sum, of a number that the threads of a row have, for each row of a thread. */
FUNCTION void row_maxima(real *x, LOCAL real *room)
{
    for (int r = 0; r < ROWS; r++)
        room[(THREAD / X + Y * r) * X + THREAD % X] = x[r];
    BARRIER;
    for (int r = 0; r < ROWS; r++)
        for (int q = 0; q < X; q++)
            x[r] = max(x[r], room[(THREAD / X + Y * r) * X + q]);
    BARRIER;
}

FUNCTION void row_totals(real *x, LOCAL real *room)
{
    for (int r = 0; r < ROWS; r++)
        room[(THREAD / X + Y * r) * X + THREAD % X] = x[r];
    BARRIER;
    for (int r = 0; r < ROWS; r++) {
        x[r] = 0;
        for (int q = 0; q < X; q++)
            x[r] += room[(THREAD / X + Y * r) * X + q];
    }
    BARRIER;
}

/* ---- forward ---- */

/* m, z and the sums go on with a tile of logits, which becomes weights relative to m. */
FUNCTION void online_softmax(real *s, LOCAL real *room, real *m, real *z, real *sums)
{
    real top[ROWS];
    for (int r = 0; r < ROWS; r++) {
        top[r] = m[r];
        for (int q = 0; q < COLS; q++)
            top[r] = max(top[r], s[r * COLS + q]);
    }
    row_maxima(top, room);
    for (int r = 0; r < ROWS; r++) {
        bool empty = top[r] == -INFINITY;
        real factor = empty ? 1 : exp(m[r] - top[r]);
        m[r] = top[r];
        z[r] *= factor;
        for (int q = 0; q < COLS; q++) {
            s[r * COLS + q] = empty ? 0 : exp(s[r * COLS + q] - top[r]);
            z[r] += s[r * COLS + q];
            sums[r * COLS + q] *= factor;
            sums[PAIRS + r * COLS + q] *= factor;
        }
    }
}

/* Columns from + 64·half … of O: with earlier pieces, of which lse `one` is there, joined by the
 * weights of both. lse of this one: [64]. */
FUNCTION void store_output(attention a, place w, long i0, long from, LOCAL const real *tile,
                           LOCAL const real *lse)
{
    operand o = rows_of_queries(a, w, a.o, a.ldo, a.value_width);
#pragma unroll 1
    for (int e = THREAD; e < TILE * TILE; e += GROUP_SIZE) {
        long i = i0 + e / TILE, col = from + e % TILE,
             at = row_in_order(a.query_order, i) * a.ldo + col;
        real x = tile[e / TILE * PITCH + e % TILE], two = lse[e / TILE];
        if (i >= a.queries || col >= a.value_width)
            continue;
        if (!a.merge)
            store(AT(act, o.x), at, i < w.queries ? x : 0);
        else if (i < w.queries && two != -INFINITY) {
            real one = AT(const real, a.lse)[state_at(a, w, i)], top = max(one, two);
            real both = top + log(exp(one - top) + exp(two - top));
            store(AT(act, o.x), at,
                  exp(one - both) * load(AT(const act, o.x), at) + exp(two - both) * x);
        }
    }
}

FUNCTION void store_lse(attention a, place w, long i0, real *lse)
{
    for (int r = 0; r < ROWS; r++) {
        long i = i0 + THREAD / X + Y * r;
        if (THREAD % X || i >= a.queries)
            continue;
        long at = state_at(a, w, i);
        if (!a.merge)
            AT(real, a.lse)
        [at] = i < w.queries ? lse[r] : a.normaliser == POLYNOMIAL ? 0 : -INFINITY;
        else if (i < w.queries && lse[r] != -INFINITY)
        {
            real one = AT(const real, a.lse)[at], top = max(one, lse[r]);
            AT(real, a.lse)[at] = top + log(exp(one - top) + exp(lse[r] - top));
        }
    }
}

/* Group (block, b, h | chunk): 64 rows and 128 columns of O. Columns `lse_chunk` write lse. */
KERNEL void logits(attention a, long chunk, long lse_chunk)
{
    SHARED real tile[TILE * PITCH], room[ROOM];
    long blocks = (a.queries + TILE - 1) / TILE, i0 = (blocks - 1 - GROUP(0) % blocks) * TILE;
    long from = (chunk + GROUP(1)) * CHUNK, low = 0, high;
    place w = place_of(a, GROUP(0) / blocks);
    bool soft = a.normaliser <= SINK, powers = a.normaliser == POLYNOMIAL;
    real m[ROWS], z[ROWS], s[PAIRS], sums[SUMS];
    operand v = rows_of_keys(a, w, a.v, a.ldv, a.value_width);
    for (int e = 0; e < SUMS; e++)
        sums[e] = 0;
    for (int r = 0; r < ROWS; r++) {
        long i = i0 + THREAD / X + Y * r;
        m[r] = powers          ? 1
               : soft          ? -INFINITY
               : i < w.queries ? AT(const real, a.lse)[state_at(a, w, i)]
                               : 0;
        z[r] = 0;
        if (a.normaliser == SINK)
            m[r] = AT(const real, a.sink)[w.h];
    }
    high = a.causal ? least(w.keys, a.first + least(i0 + TILE, w.queries)) : w.keys;
    if (a.form != FORM_ALL && i0 < w.queries) {
        long end;
        key_range(a, w.h, a.first + i0, a.first + least(i0 + TILE, w.queries), &low, &end);
        high = least(high, end);
    }
    for (long j0 = low / TILE * TILE; j0 < high; j0 += TILE) {
        if (tile_is_empty(a, w, i0, j0))
            continue;
        tile_logits(a, w, false, i0, j0, tile, room, s);
        if (soft)
            online_softmax(s, room, m, z, sums);
        for (int e = 0; e < PAIRS; e++)
            tile[sum_at(e)] = s[e];
        if (!soft)
            weigh_pairs(a, w, false, !powers, i0, tile);
        for (int e = 0; e < PAIRS; e++)
            if (powers)
                z[e / COLS] += tile[sum_at(e)];
        drop_pairs(a, w, false, i0, j0, tile);
        BARRIER;
        add_rows(tile, v, j0, from, room, sums);
    }
    row_totals(z, room);
    for (int r = 0; r < ROWS; r++) {
        if (soft) {
            bool empty = z[r] == 0;
            if (a.normaliser == SINK)
                z[r] += exp(AT(const real, a.sink)[w.h] - m[r]);
            m[r] = empty ? -INFINITY : m[r] + log(z[r]);
            z[r] = empty ? 0 : 1 / z[r];
        } else if (powers) {
            m[r] = z[r] + (real)a.bias;
            z[r] = inverse(m[r]);
        } else
            z[r] = 1;
    }
    for (int r = 0; r < ROWS; r++)
        if (THREAD % X == 0)
            room[THREAD / X + Y * r] = m[r];
    for (int e = 0; e < PAIRS; e++)
        tile[sum_at(e)] = sums[e] * z[e / COLS];
    BARRIER;
    store_output(a, w, i0, from, tile, room);
    BARRIER;
    for (int e = 0; e < PAIRS; e++)
        tile[sum_at(e)] = sums[PAIRS + e] * z[e / COLS];
    BARRIER;
    store_output(a, w, i0, from + TILE, tile, room);
    BARRIER;
    if (chunk + GROUP(1) == lse_chunk && (soft || powers))
        store_lse(a, w, i0, m);
}

/* ---- numbers of rows that are found before the weights ---- */

/* A group has a row: ln |V|. */
KERNEL void count_keys(attention a)
{
    SHARED real room[GROUP_SIZE];
    place w = place_of(a, GROUP(0) / a.queries);
    long i = GROUP(0) % a.queries, low = 0, high = w.keys;
    real count = 0;
    if (i < w.queries && a.form != FORM_ALL)
        key_range(a, w.h, a.first + i, a.first + i + 1, &low, &high);
    for (long j = low + THREAD; i < w.queries && j < high; j += GROUP_SIZE)
        count += pair_is_seen(a, w, i, j);
    count = group_sum(room, count);
    if (THREAD == 0)
        AT(real, a.lse)
    [state_at(a, w, i)] = i >= w.queries ? -INFINITY : count > 0 ? log(count) : INFINITY;
}

/* Logits of blocks of queries from `first` on: rows [64·blocks, keys], −∞ where not visible. Group
 * (block, tile of keys). */
KERNEL void logits_rows(attention a, long first, GLOBAL real *rows)
{
    SHARED real tile[TILE * PITCH], room[ROOM];
    long blocks = (a.queries + TILE - 1) / TILE, tiles = (a.keys + TILE - 1) / TILE,
         block = first + GROUP(0) / tiles, i0 = block % blocks * TILE, j0 = GROUP(0) % tiles * TILE;
    place w = place_of(a, block / blocks);
    bool empty = tile_is_empty(a, w, i0, j0);
    real s[PAIRS];
    if (!empty)
        tile_logits(a, w, false, i0, j0, tile, room, s);
    for (int e = 0; e < PAIRS; e++) {
        long j = j0 + sum_col(e);
        if (j < a.keys)
            rows[(GROUP(0) / tiles * TILE + sum_row(e)) * a.keys + j] = empty ? -INFINITY : s[e];
    }
}

/* τ of a row, which a group has: Newton's method from below (cpu_logits_weights.c). */
KERNEL void row_thresholds(attention a, long first, GLOBAL const real *rows)
{
    SHARED real room[GROUP_SIZE];
    long blocks = (a.queries + TILE - 1) / TILE, block = first + GROUP(0) / TILE,
         i = block % blocks * TILE + GROUP(0) % TILE;
    place w = place_of(a, block / blocks);
    GLOBAL const real *row = rows + GROUP(0) * a.keys;
    real scale = a.normaliser == ENTMAX ? (real)0.5 : 1, top = -INFINITY, tau = -1;
    if (i >= a.queries)
        return;
    for (long j = THREAD; j < a.keys; j += GROUP_SIZE)
        top = max(top, scale * row[j]);
    top = group_max(room, top);
    for (int step = 0; step < 100 && top > -INFINITY; step++) {
        real f = 0, slope = 0;
        for (long j = THREAD; j < a.keys; j += GROUP_SIZE) {
            real above = scale * row[j] - top - tau;
            if (above <= 0)
                continue;
            f += a.normaliser == ENTMAX ? above * above : above;
            slope += a.normaliser == ENTMAX ? 2 * above : 1;
        }
        f = group_sum(room, f);
        slope = group_sum(room, slope);
        real next = tau + (f - 1) / slope;
        if (!(next > tau))
            break;
        tau = next;
    }
    if (THREAD == 0)
        AT(real, a.lse)
    [state_at(a, w, i)] = i >= w.queries ? -INFINITY : top > -INFINITY ? top + tau : INFINITY;
}

/* A sink joins a softmax that was made without it, a group has a row (cpu_sink.c). */
KERNEL void join_sink(attention a)
{
    SHARED real room[GROUP_SIZE];
    place w = place_of(a, GROUP(0) / a.queries);
    long i = GROUP(0) % a.queries, at = state_at(a, w, i);
    operand o = rows_of_queries(a, w, a.o, a.ldo, a.value_width);
    real lse = AT(const real, a.lse)[at], sink = AT(const real, a.sink)[w.h], top = max(lse, sink);
    real both = top + log(exp(lse - top) + exp(sink - top));
    group_sum(room, 0);
    if (lse == -INFINITY)
        return;
    for (long c = THREAD; c < a.value_width; c += GROUP_SIZE)
        store(AT(act, o.x), i * a.ldo + c,
              load(AT(const act, o.x), i * a.ldo + c) * exp(lse - both));
    if (THREAD == 0)
        AT(real, a.lse)[at] = both;
}

/* ---- backward ---- */

/* δ_i = dO_i·O_i of 16 rows of a group, of all heads in a row of [B·T]. */
KERNEL void logits_deltas(attention a)
{
    SHARED real room[GROUP_SIZE];
    long row = GROUP(0) * Y + THREAD / X, head = row / a.queries, i = row % a.queries;
    bool there = head < a.batch * a.heads;
    place w = place_of(a, there ? head : 0);
    operand o = rows_of_queries(a, w, a.o, a.ldo, a.value_width),
            d_o = rows_of_queries(a, w, a.d_o, a.ldo, a.value_width);
    real sum = 0;
    for (long c = THREAD % X; there && c < a.value_width; c += X)
        sum += element(o, i, c) * element(d_o, i, c);
    room[THREAD] = sum;
    BARRIER;
    if (!there || THREAD % X)
        return;
    for (int q = 1; q < X; q++)
        sum += room[THREAD + q];
    AT(real, a.delta)[state_at(a, w, i)] = sum;
}

/* s = dS of a tile: slope·(dP − δ). With above, Σ g dP and Σ g of the rows instead. */
FUNCTION void tile_gradient(attention a, place w, bool by_keys, long i0, long j0, LOCAL real *tile,
                            LOCAL real *room, real *s, real *above, real *below)
{
    operand d_o = rows_of_queries(a, w, a.d_o, a.ldo, a.value_width),
            v = rows_of_keys(a, w, a.v, a.ldv, a.value_width);
    bool dropped = a.drop.limit < 4294967296.0, centred = !above && a.normaliser != SIGMOID;
    real dp[PAIRS], delta[COLS], lse[COLS];
    for (int e = 0; e < PAIRS; e++)
        dp[e] = 0;
    tile_logits(a, w, by_keys, i0, j0, tile, room, s);
    add_dots(by_keys ? v : d_o, by_keys ? j0 : i0, by_keys ? d_o : v, by_keys ? i0 : j0, room, dp);
    for (int r = 0; r < (by_keys ? COLS : ROWS); r++) {
        long i = i0 + (by_keys ? THREAD % X + X * r : THREAD / X + Y * r);
        delta[r] = centred && i < w.queries ? AT(const real, a.delta)[state_at(a, w, i)] : 0;
        lse[r] = i < w.queries ? AT(const real, a.lse)[state_at(a, w, i)] : -INFINITY;
    }
    if (a.normaliser <= SINK && a.cap == 0) {
        for (int e = 0; e < PAIRS; e++) {
            real row = lse[by_keys ? e % COLS : e / COLS];
            s[e] = row == -INFINITY ? 0 : exp(s[e] - row);
        }
    } else {
        for (int e = 0; e < PAIRS; e++)
            tile[sum_at(e)] = s[e];
        slope_pairs(a, w, by_keys, i0, tile);
        for (int e = 0; e < PAIRS; e++)
            s[e] = tile[sum_at(e)];
    }
    if (dropped) {
        for (int e = 0; e < PAIRS; e++)
            tile[sum_at(e)] = s[e] == 0 ? 0 : 1;
        drop_pairs(a, w, by_keys, i0, j0, tile);
        for (int e = 0; e < PAIRS; e++)
            dp[e] *= tile[sum_at(e)];
    }
    for (int e = 0; e < PAIRS; e++) {
        if (above) {
            above[e / COLS] += s[e] == 0 ? 0 : s[e] * dp[e];
            below[e / COLS] += s[e];
        } else
            s[e] = s[e] == 0 ? 0 : s[e] * (dp[e] - delta[by_keys ? e % COLS : e / COLS]);
    }
}

/* δ of weights whose sum is fixed. Group: 64 rows. */
KERNEL void weight_deltas(attention a)
{
    SHARED real tile[TILE * PITCH], room[ROOM];
    long blocks = (a.queries + TILE - 1) / TILE, i0 = GROUP(0) % blocks * TILE;
    place w = place_of(a, GROUP(0) / blocks);
    real s[PAIRS], above[ROWS], below[ROWS];
    for (int r = 0; r < ROWS; r++)
        above[r] = below[r] = 0;
    for (long j0 = 0; j0 < w.keys; j0 += TILE)
        if (!tile_is_empty(a, w, i0, j0))
            tile_gradient(a, w, false, i0, j0, tile, room, s, above, below);
    row_totals(above, room);
    row_totals(below, room);
    for (int r = 0; r < ROWS; r++) {
        long i = i0 + THREAD / X + Y * r;
        if (THREAD % X == 0 && i < a.queries)
            AT(real, a.delta)[state_at(a, w, i)] = below[r] > 0 ? above[r] / below[r] : 0;
    }
}

/* Sums of a tile of dS along its diagonals, then of those of a bucket: sums [buckets] of reals, of
 * which each thread has some. */
FUNCTION void add_distances(attention a, long i0, long j0, LOCAL const real *tile, LOCAL real *room,
                            GLOBAL const int *bucket, long buckets, GLOBAL real *sums)
{
    bool single = !a.query_position && !a.key_position &&
                  a.query_order.take == a.query_order.stride &&
                  a.key_order.take == a.key_order.stride;
    long at = a.distance_length - 1 + j0 - i0 - (TILE - 1), last = 2 * a.distance_length - 2;
    for (int e = THREAD; single && e < 2 * TILE - 1; e += GROUP_SIZE) {
        real sum = 0;
        for (int i = most(0, TILE - 1 - e); i < TILE && i + e - (TILE - 1) < TILE; i++)
            sum += tile[i * PITCH + i + e - (TILE - 1)];
        room[e] = sum;
    }
    BARRIER;
    for (long c = THREAD; c < buckets; c += GROUP_SIZE) {
        real sum = sums[c];
        for (int e = 0; single && e < 2 * TILE - 1; e++)
            if (at + e >= 0 && at + e <= last && bucket[at + e] == c)
                sum += room[e];
        for (int e = 0; !single && e < TILE * TILE; e++) {
            long i = i0 + e / TILE, j = j0 + e % TILE;
            if (i >= a.queries || j >= a.keys)
                continue;
            long query = a.query_position ? AT(const int, a.query_position)[i]
                                          : a.query_order.first + row_in_order(a.query_order, i),
                 key = a.key_position ? AT(const int, a.key_position)[j]
                                      : a.key_order.first + row_in_order(a.key_order, j);
            if (bucket[a.distance_length - 1 + key - query] == c)
                sum += tile[e / TILE * PITCH + e % TILE];
        }
        sums[c] = sum;
    }
    BARRIER;
}

/* What a launch of query_gradient or key_gradient makes. */
typedef struct {
    ulong out; /* act [rows, ld]; table: real [B, H, rows, width]; 0: not wanted */
    long ld, table;
    long part;               /* of queries or keys; −1: values */
    ulong forget;            /* real [B·rows, H], added to */
    ulong bucket, distances; /* partial sums, real [B, H, blocks, buckets], overwritten */
    long buckets;
    ulong bias; /* real [B, H, keys]: Σ_i dS_ij */
} wanted;

/* 64 columns of a gradient, as acts, or as reals of the (b,h). */
FUNCTION void store_columns(attention a, wanted g, operand to, long head, long row0, long rows,
                            long from, LOCAL const real *tile)
{
#pragma unroll 1
    for (int e = THREAD; e < TILE * TILE; e += GROUP_SIZE) {
        long i = row0 + e / TILE, col = from + e % TILE,
             at = row_in_order(to.order, i) * g.ld + col;
        real x = i < to.end ? tile[e / TILE * PITCH + e % TILE] : 0;
        if (i >= rows || col >= to.width)
            continue;
        if (g.table)
            AT(real, g.out)[(head * rows + i) * to.width + col] = x;
        else if (!a.merge)
            store(AT(act, to.x), at, x);
        else if (i < to.end)
            store(AT(act, to.x), at, load(AT(const act, to.x), at) + x);
    }
}

FUNCTION void store_gradient(attention a, wanted g, operand to, long head, long row0, long rows,
                             long from, real factor, LOCAL real *tile, real *sums)
{
    for (int e = 0; e < PAIRS; e++)
        tile[sum_at(e)] = factor * sums[e];
    BARRIER;
    store_columns(a, g, to, head, row0, rows, from, tile);
    BARRIER;
    for (int e = 0; e < PAIRS; e++)
        tile[sum_at(e)] = factor * sums[PAIRS + e];
    BARRIER;
    store_columns(a, g, to, head, row0, rows, from + TILE, tile);
    BARRIER;
}

/* Group (block, b, h | chunk): dq of a DOT, 64 rows and 128 columns of it, Σ_j dS_ij k_j; the
 * first chunk also has what the launch wants of dS by rows. */
KERNEL void query_gradient(attention a, wanted g, part p)
{
    SHARED real tile[TILE * PITCH], room[ROOM];
    long blocks = (a.queries + TILE - 1) / TILE, block = blocks - 1 - GROUP(0) % blocks,
         head = GROUP(0) / blocks, i0 = block * TILE, from = GROUP(1) * CHUNK;
    place w = place_of(a, head);
    operand k = part_keys(a, w, p);
    real s[PAIRS], sums[SUMS], totals[ROWS];
    GLOBAL real *distances = AT(real, g.distances) + (head * blocks + block) * g.buckets;
    bool also = GROUP(1) == 0 && g.distances;
    for (int e = 0; e < SUMS; e++)
        sums[e] = 0;
    for (int r = 0; r < ROWS; r++)
        totals[r] = 0;
    for (long c = THREAD; also && c < g.buckets; c += GROUP_SIZE)
        distances[c] = 0;
    for (long j0 = 0; j0 < w.keys; j0 += TILE) {
        if (tile_is_empty(a, w, i0, j0))
            continue;
        tile_gradient(a, w, false, i0, j0, tile, room, s, 0, 0);
        for (int e = 0; e < PAIRS; e++)
            totals[e / COLS] += s[e];
        store_tile(s, tile);
        if (g.out)
            add_rows(tile, k, j0, from, room, sums);
        if (also)
            add_distances(a, i0, j0, tile, room, AT(const int, g.bucket), g.buckets, distances);
        BARRIER;
    }
    if (g.out)
        store_gradient(a, g, rows_of_queries(a, w, g.table ? a.o : g.out, g.ld, p.width), head, i0,
                       a.queries, from, alpha_of(a, w.h, g.part) * (real)p.scale, tile, sums);
    row_totals(totals, room);
    for (int r = 0; r < ROWS; r++) {
        long i = i0 + THREAD / X + Y * r;
        if (g.forget && GROUP(1) == 0 && THREAD % X == 0 && i < w.queries)
            AT(real, g.forget)[(w.b * a.forget_query_rows + i) * a.heads + w.h] += totals[r];
    }
}

/* Group (block, b, head of keys | chunk): 64 rows and 128 columns of Σ_i D_ij dO_i, or of Σ_i dS_ij
 * q_i, over the query heads that share them; of tables, and for what belongs to query heads, each
 * has its own. */
FUNCTION void gradient_of_keys(attention a, wanted g, part p, long each, bool values,
                               LOCAL real *tile, LOCAL real *room)
{
    long blocks = (a.keys + TILE - 1) / TILE, j0 = GROUP(0) % blocks * TILE,
         heads = each ? a.heads : a.key_heads, head = GROUP(0) / blocks, n = head % heads,
         from = GROUP(1) * CHUNK, end = 0;
    long width = values ? a.value_width : p.width;
    real s[PAIRS], sums[SUMS], totals[ROWS];
    place w = place_of(a, 0);
    for (int e = 0; e < SUMS; e++)
        sums[e] = 0;
    for (int r = 0; r < ROWS; r++)
        totals[r] = 0;
    for (long h = 0; h < a.heads; h++) {
        if (each ? h != n : h * a.key_heads / a.heads != n)
            continue;
        w = place_of(a, head / heads * a.heads + h);
        end = w.keys;
        operand q = values ? rows_of_queries(a, w, a.d_o, a.ldo, width) : part_queries(a, w, p);
        real factor = values ? 1 : alpha_of(a, h, g.part) * (real)p.scale;
        for (long i0 = a.causal ? most(0, j0 - a.first) / TILE * TILE : 0; i0 < w.queries;
             i0 += TILE) {
            if (tile_is_empty(a, w, i0, j0))
                continue;
            if (values) {
                tile_logits(a, w, true, i0, j0, tile, room, s);
                for (int e = 0; e < PAIRS; e++)
                    tile[sum_at(e)] = s[e];
                weigh_pairs(a, w, true, true, i0, tile);
                drop_pairs(a, w, true, i0, j0, tile);
                BARRIER;
            } else {
                tile_gradient(a, w, true, i0, j0, tile, room, s, 0, 0);
                for (int e = 0; e < PAIRS; e++) {
                    totals[e / COLS] += s[e];
                    s[e] *= factor;
                }
                store_tile(s, tile);
            }
            if (g.out)
                add_rows(tile, q, i0, from, room, sums);
            BARRIER;
        }
    }
    if (g.out)
        store_gradient(a, g, rows_of_keys(a, w, g.table ? a.v : g.out, g.ld, width), head, j0,
                       a.keys, from, 1, tile, sums);
    row_totals(totals, room);
    for (int r = 0; r < ROWS; r++) {
        long j = j0 + THREAD / X + Y * r;
        if (GROUP(1) || THREAD % X || j >= a.keys)
            continue;
        if (g.bias)
            AT(real, g.bias)[head * a.keys + j] = alpha_of(a, w.h, g.part) * totals[r];
        if (g.forget && j < end)
            AT(real, g.forget)[(w.b * a.forget_key_rows + j) * a.heads + w.h] -= totals[r];
    }
}

KERNEL void key_gradient(attention a, wanted g, part p, long each)
{
    SHARED real tile[TILE * PITCH], room[ROOM];
    gradient_of_keys(a, g, p, each, false, tile, room);
}

/* Apart from key_gradient: with a barrier on one side of a branch PoCL cannot compile a kernel. */
KERNEL void value_gradient(attention a, wanted g, part p, long each)
{
    SHARED real tile[TILE * PITCH], room[ROOM];
    gradient_of_keys(a, g, p, each, true, tile, room);
}

/* dtable_ij of a part of head h, += α Σ_b dS_ij. Group (tile, h). */
KERNEL void table_gradient(attention a, long c, long n, GLOBAL real *dtable)
{
    SHARED real tile[TILE * PITCH], room[ROOM];
    long blocks = (a.queries + TILE - 1) / TILE, tiles = (a.keys + TILE - 1) / TILE,
         h = GROUP(0) / tiles / blocks, i0 = GROUP(0) / tiles % blocks * TILE,
         j0 = GROUP(0) % tiles * TILE;
    real s[PAIRS], sums[PAIRS];
    for (int e = 0; e < PAIRS; e++)
        sums[e] = 0;
    for (long b = 0; b < a.batch; b++) {
        place w = place_of(a, b * a.heads + h);
        if (tile_is_empty(a, w, i0, j0))
            continue;
        tile_gradient(a, w, false, i0, j0, tile, room, s, 0, 0);
        for (int e = 0; e < PAIRS; e++)
            sums[e] += s[e];
    }
    for (int e = 0; e < PAIRS; e++) {
        long i = i0 + sum_row(e), j = j0 + sum_col(e);
        if (i < a.queries && j < a.keys)
            dtable[(h * n + i) * n + j] += alpha_of(a, h, c) * sums[e];
    }
}

/* Σ_ij dS_ij S^c_ij over 64 rows, which a group has: partial [B, H, blocks]. */
KERNEL void alpha_gradient(attention a, part p, GLOBAL real *partial)
{
    SHARED real tile[TILE * PITCH], room[ROOM];
    long blocks = (a.queries + TILE - 1) / TILE, i0 = GROUP(0) % blocks * TILE;
    place w = place_of(a, GROUP(0) / blocks);
    real s[PAIRS], own[PAIRS], sum = 0;
    for (long j0 = 0; j0 < w.keys; j0 += TILE) {
        if (tile_is_empty(a, w, i0, j0))
            continue;
        tile_gradient(a, w, false, i0, j0, tile, room, s, 0, 0);
        part_logits(a, w, p, false, i0, j0, tile, room, own);
        for (int e = 0; e < PAIRS; e++)
            if (s[e] != 0)
                sum += s[e] * own[e];
    }
    sum = group_sum(room, sum);
    if (THREAD == 0)
        partial[GROUP(0)] = sum;
}

/* dS of blocks of queries from `first` on: rows [64·blocks, keys]. Group (block, tile of keys). */
KERNEL void gradient_rows(attention a, long first, GLOBAL real *rows)
{
    SHARED real tile[TILE * PITCH], room[ROOM];
    long blocks = (a.queries + TILE - 1) / TILE, tiles = (a.keys + TILE - 1) / TILE,
         block = first + GROUP(0) / tiles, i0 = block % blocks * TILE, j0 = GROUP(0) % tiles * TILE;
    place w = place_of(a, block / blocks);
    bool empty = tile_is_empty(a, w, i0, j0);
    real s[PAIRS];
    if (!empty)
        tile_gradient(a, w, false, i0, j0, tile, room, s, 0, 0);
    for (int e = 0; e < PAIRS; e++) {
        long j = j0 + sum_col(e);
        if (j < a.keys)
            rows[(GROUP(0) / tiles * TILE + sum_row(e)) * a.keys + j] = empty ? 0 : s[e];
    }
}

typedef struct {
    ulong dq, dk; /* act, or 0 */
} fold_rows;

/* A FOLD of a row, which a group has: dq[p] = α Σ_f dS[f·width + p] k[f], dk[f] = α Σ_p dS[f·width
 * + p] q[p]. */
KERNEL void fold_gradient(attention a, part p, long c, long first, GLOBAL const real *rows,
                          fold_rows to)
{
    ulong dq = to.dq, dk = to.dk;
    long blocks = (a.queries + TILE - 1) / TILE, block = first + GROUP(0) / TILE,
         i = block % blocks * TILE + GROUP(0) % TILE;
    place w = place_of(a, block / blocks);
    GLOBAL const real *row = rows + GROUP(0) * a.keys;
    operand q = rows_of_queries(a, w, p.q, p.ldq, p.width),
            k = rows_of_queries(a, w, p.k, p.ldk, p.folds);
    real alpha = alpha_of(a, w.h, c);
    for (long e = THREAD; i < a.queries && e < p.width + p.folds; e += GROUP_SIZE) {
        real sum = 0;
        long f = e - p.width;
        for (long j = e; e < p.width && i < w.queries && j < a.keys; j += p.width)
            sum += row[j] * element(k, i, j / p.width);
        for (long j = f * p.width; f >= 0 && i < w.queries && j < least(a.keys, (f + 1) * p.width);
             j++)
            sum += row[j] * element(q, i, j % p.width);
        if (f < 0 && dq)
            store(AT(act, rows_of_queries(a, w, dq, p.ldq, p.width).x), i * p.ldq + e, alpha * sum);
        if (f >= 0 && dk)
            store(AT(act, rows_of_queries(a, w, dk, p.ldk, p.folds).x), i * p.ldk + f, alpha * sum);
    }
}

/* Σ_i e^{b − lse_i} δ_i of a (b,h), which a group has: partial [B, H]. */
KERNEL void sink_gradient(attention a, GLOBAL real *partial)
{
    SHARED real room[GROUP_SIZE];
    place w = place_of(a, GROUP(0));
    real sum = 0;
    for (long i = THREAD; i < w.queries; i += GROUP_SIZE) {
        long at = state_at(a, w, i);
        real lse = AT(const real, a.lse)[at];
        if (lse != -INFINITY)
            sum += exp(AT(const real, a.sink)[w.h] - lse) * AT(const real, a.delta)[at];
    }
    sum = group_sum(room, sum);
    if (THREAD == 0)
        partial[GROUP(0)] = sum;
}

/* to[h·stride + e] += factor·Σ partial [B, H, blocks, n] over b and blocks; without a stride, over
 * heads too. */
KERNEL void add_partials(long batch, long heads, long blocks, long n, double factor,
                         GLOBAL const real *partial, GLOBAL real *to, long stride, long each)
{
    long h = ITEM / n, e = ITEM % n, first = each ? h : 0, end = each ? h + 1 : heads;
    double sum = 0;
    if (h >= (each ? heads : 1))
        return;
    for (long b = 0; b < batch; b++)
        for (long g = first; g < end; g++)
            for (long i = 0; i < blocks; i++)
                sum += (double)partial[((b * heads + g) * blocks + i) * n + e];
    to[h * stride + e] += (real)(factor * sum);
}
