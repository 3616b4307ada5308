/* SPDX-License-Identifier: Apache-2.0
 * Fixed patterns (formulas: cpu_pattern.c). A thread has a column of a sequence and `run` of its
 * units. Where a row needs a running sum, a first pass sums the runs, a second one adds them up in
 * their order, and the third goes on from there. Sums are doubles: weights reach n³. */
enum { SHIFT, LAST, CONTEXT, WHOLE, CUBIC };
enum { EDGE_ZERO, EDGE_SELF, EDGE_CLAMP };

/* Units are words, token starts[u] … starts[u + 1] − 1, or tokens. Steps of a scan are positions,
 * from `first` on; reversed: from the last. */
typedef struct {
    long batch, heads, values, in_length, out_length, first, run, chunks;
    long form, offset, mirrored, reversed, transposed, edge, kept, state_rows;
    ulong key_lengths, query_lengths, words, starts, units, state, carry, x, y;
    long ldx, ldy;
} fixed_pattern;

/* Onefold to fourfold prefix sums. */
typedef struct {
    double one, two, three, four;
} prefix_sums;

FUNCTION long pattern_tokens(fixed_pattern a, long b)
{
    return least(real_length(AT(const int, a.key_lengths), b, a.in_length),
                 real_length(AT(const int, a.query_lengths), b, a.in_length));
}

FUNCTION long pattern_units(fixed_pattern a, long b)
{
    return a.words ? AT(const int, a.units)[b] : pattern_tokens(a, b);
}

FUNCTION long unit_token(fixed_pattern a, long b, long u)
{
    return a.words ? AT(const int, a.starts)[b * (a.in_length + 1) + u] : u;
}

/* Where words begin, and how many there are: a group has a sequence, a thread a run of tokens. */
KERNEL void find_words(fixed_pattern a)
{
    SHARED int room[GROUP_SIZE];
    long b = GROUP(0), tokens = pattern_tokens(a, b), run = (tokens + GROUP_SIZE - 1) / GROUP_SIZE;
    long begin = least(tokens, THREAD * run), end = least(tokens, begin + run);
    GLOBAL const int *words = AT(const int, a.words) + b * a.in_length;
    GLOBAL int *starts = AT(int, a.starts) + b * (a.in_length + 1);
    int count = 0, before = 0;
    for (long i = begin; i < end; i++)
        count += i == 0 || words[i] != words[i - 1];
    room[THREAD] = count;
    BARRIER;
    for (int t = 0; t < THREAD; t++)
        before += room[t];
    for (long i = begin; i < end; i++)
        if (i == 0 || words[i] != words[i - 1])
            starts[before++] = (int)i;
    if (THREAD == GROUP_SIZE - 1) {
        starts[before] = (int)tokens;
        AT(int, a.units)[b] = before;
    }
}

/* ---- units ---- */

FUNCTION GLOBAL double *state_row(fixed_pattern a, long b, long col, long row)
{
    long h = col / a.values;
    return AT(double, a.state) + ((b * a.heads + h) * a.state_rows + row) * a.values +
           col % a.values;
}

/* x of the unit at a position: the mean of its tokens, in a gradient their sum; before `first` it
 * is in the state. */
FUNCTION double unit_value(fixed_pattern a, long b, long col, long position)
{
    long u = position - a.first;
    if (u < 0)
        return *state_row(a, b, col, a.kept + u);
    long begin = unit_token(a, b, u), end = unit_token(a, b, u + 1);
    double sum = 0;
    for (long t = begin; t < end; t++)
        sum += (double)load(AT(const act, a.x), (b * a.in_length + t) * a.ldx + col);
    return a.transposed ? sum : sum / (double)(end - begin);
}

FUNCTION void store_unit(fixed_pattern a, long b, long col, long position, double value)
{
    long begin = unit_token(a, b, position - a.first),
         end = unit_token(a, b, position - a.first + 1);
    if (a.transposed)
        value /= (double)(end - begin);
    for (long t = begin; t < end; t++)
        store(AT(act, a.y), (b * a.out_length + t) * a.ldy + col, (real)value);
}

/* ---- weights; n units ---- */

FUNCTION double cube_of(long m)
{
    return (double)m * (double)m * (double)m;
}

FUNCTION double sum_of_cubes(long m)
{
    double triangle = (double)m * (double)(m + 1) / 2;
    return triangle * triangle;
}

/* W is a product of a factor of the row, a sum and a factor of the column; transposed, these two
 * change places. */
FUNCTION double row_factor(fixed_pattern a, long n, long i)
{
    long place = a.mirrored ? n - 1 - i : i;
    switch (a.form) {
    case CONTEXT:
        return place < 2 ? 0 : 1 / sum_of_cubes(place - 1);
    case CUBIC:
        return 1 / sum_of_cubes(place + 1);
    default:
        return 1;
    }
}

FUNCTION double column_factor(fixed_pattern a, long n, long i)
{
    long place = a.mirrored ? n - 1 - i : i;
    switch (a.form) {
    case CONTEXT:
        return cube_of(place + 1);
    case WHOLE:
        return cube_of(place + 1) / sum_of_cubes(n);
    case LAST:
        return i == n - 1;
    default:
        return 1;
    }
}

/* The unit that row i puts all its weight on when it has no key; −1: none. */
FUNCTION long edge_unit(fixed_pattern a, long i, long nearest)
{
    return a.edge == EDGE_ZERO ? -1 : a.edge == EDGE_SELF ? i : nearest;
}

FUNCTION double value_or_zero(fixed_pattern a, long b, long col, long position)
{
    return position < 0 ? 0 : unit_value(a, b, col, position);
}

FUNCTION double shifted_unit(fixed_pattern a, long b, long col, long n, long i)
{
    long j = a.transposed ? i - a.offset : i + a.offset, last = a.offset < 0 ? 0 : n - 1;
    bool there = j >= 0 && j < n;
    if (!a.transposed)
        return value_or_zero(a, b, col, there ? j : edge_unit(a, i, last));
    double value = there ? unit_value(a, b, col, j) : 0;
    if (a.offset && edge_unit(a, last, last) == i)
        value += unit_value(a, b, col, last);
    return value;
}

/* What the two rows of left and right without keys give to unit i, or get there. */
FUNCTION double context_edge(fixed_pattern a, long b, long col, long n, long i)
{
    double sum = 0;
    for (long e = a.first; e < 2 && e < n; e++) {
        long row = a.mirrored ? n - 1 - e : e, at = edge_unit(a, row, a.mirrored ? n - 1 : 0);
        if (a.transposed ? at == i : row == i)
            sum += value_or_zero(a, b, col, a.transposed ? row : at);
    }
    return sum;
}

/* ---- scans ---- */

/* The sums after step q. Context looks back by two units. */
FUNCTION prefix_sums scan_step(fixed_pattern a, long b, long col, long n, long q, prefix_sums s)
{
    long at = a.form == CONTEXT ? q - 2 : q, i = a.reversed ? n - 1 - at : at;
    if (at >= 0)
        s.one += (a.transposed ? row_factor(a, n, i) : column_factor(a, n, i)) *
                 unit_value(a, b, col, i);
    s.two += s.one;
    s.three += s.two;
    s.four += s.three;
    return s;
}

/* carry double [4][B][chunks + 1][H·V]: sums of each run; after carry_sums those before it,
 * and at the end those of all. */
FUNCTION long carry_at(fixed_pattern a, long b, long chunk, long col)
{
    return (b * (a.chunks + 1) + chunk) * a.heads * a.values + col;
}

FUNCTION prefix_sums carried(fixed_pattern a, long at)
{
    long plane = a.batch * (a.chunks + 1) * a.heads * a.values;
    GLOBAL const double *c = AT(const double, a.carry);
    prefix_sums none = { 0, 0, 0, 0 };
    if (a.form == CUBIC) {
        none.two = c[at + plane];
        none.three = c[at + 2 * plane];
        none.four = c[at + 3 * plane];
    }
    none.one = c[at];
    return none;
}

FUNCTION void carry(fixed_pattern a, long at, prefix_sums s)
{
    long plane = a.batch * (a.chunks + 1) * a.heads * a.values;
    GLOBAL double *c = AT(double, a.carry);
    c[at] = s.one;
    if (a.form != CUBIC)
        return;
    c[at + plane] = s.two;
    c[at + 2 * plane] = s.three;
    c[at + 3 * plane] = s.four;
}

KERNEL void run_sums(fixed_pattern a)
{
    long cols = a.heads * a.values, run = quotient(ITEM, cols), col = ITEM - run * cols,
         b = quotient(run, a.chunks), chunk = run - b * a.chunks;
    prefix_sums s = { 0, 0, 0, 0 };
    if (b >= a.batch)
        return;
    long n = a.first + pattern_units(a, b), begin = a.first + chunk * a.run;
    for (long q = begin; q < least(n, begin + a.run); q++)
        s = scan_step(a, b, col, n, q, s);
    carry(a, carry_at(a, b, chunk, col), s);
}

/* After `steps` steps on zeros s has grown by binomials of it; then the sums of the run. */
KERNEL void carry_sums(fixed_pattern a)
{
    long cols = a.heads * a.values, col = ITEM % cols, b = ITEM / cols;
    prefix_sums s = { 0, 0, 0, 0 };
    if (b >= a.batch)
        return;
    if (a.state_rows > a.kept)
        s.one = *state_row(a, b, col, a.kept);
    if (a.state_rows > a.kept + 1) {
        s.two = *state_row(a, b, col, a.kept + 1);
        s.three = *state_row(a, b, col, a.kept + 2);
        s.four = *state_row(a, b, col, a.kept + 3);
    }
    long units = pattern_units(a, b);
    for (long chunk = 0; chunk < a.chunks; chunk++) {
        long at = carry_at(a, b, chunk, col);
        double steps = (double)most(0, least(a.run, units - chunk * a.run));
        double pairs = steps * (steps + 1) / 2, triples = pairs * (steps + 2) / 3;
        prefix_sums run = carried(a, at);
        carry(a, at, s);
        s.four += run.four + steps * s.three + pairs * s.two + triples * s.one;
        s.three += run.three + steps * s.two + pairs * s.one;
        s.two += run.two + steps * s.one;
        s.one += run.one;
    }
    carry(a, carry_at(a, b, a.chunks, col), s);
}

/* Row i of the result, given the sums up to it, or those of all. */
FUNCTION double pattern_row(fixed_pattern a, long b, long col, long n, long i, prefix_sums before,
                            prefix_sums s)
{
    double factor = a.transposed ? column_factor(a, n, i) : row_factor(a, n, i);
    switch (a.form) {
    case SHIFT:
        return shifted_unit(a, b, col, n, i);
    case LAST:
        if (!a.transposed)
            return unit_value(a, b, col, n - 1);
        return factor * s.one;
    case CONTEXT:
        return factor * s.one + context_edge(a, b, col, n, i);
    case CUBIC:
        return factor * (6 * before.four + s.two);
    default:
        return factor * s.one;
    }
}

KERNEL void pattern_rows(fixed_pattern a)
{
    long cols = a.heads * a.values, run = quotient(ITEM, cols), col = ITEM - run * cols,
         b = quotient(run, a.chunks), chunk = run - b * a.chunks;
    prefix_sums s = { 0, 0, 0, 0 }, before;
    if (b >= a.batch)
        return;
    bool scans = a.form == CONTEXT || a.form == CUBIC;
    long n = a.first + pattern_units(a, b), begin = a.first + chunk * a.run;
    if (scans || a.form == WHOLE || (a.form == LAST && a.transposed))
        s = carried(a, carry_at(a, b, scans ? chunk : a.chunks, col));
    for (long q = begin; q < least(n, begin + a.run); q++) {
        long i = a.reversed ? n - 1 - q : q;
        before = s;
        if (scans)
            s = scan_step(a, b, col, n, q, s);
        store_unit(a, b, col, i, pattern_row(a, b, col, n, i, before, s));
    }
    for (long t = most(pattern_tokens(a, b), chunk * a.run);
         t < least(a.out_length, (chunk + 1) * a.run); t++)
        store(AT(act, a.y), (b * a.out_length + t) * a.ldy + col, 0);
}

/* The state after these units: the last values, the sums. */
KERNEL void keep_pattern(fixed_pattern a)
{
    long cols = a.heads * a.values, col = ITEM % cols, b = ITEM / cols;
    double last[2];
    if (b >= a.batch)
        return;
    long n = a.first + pattern_units(a, b);
    for (long i = 0; i < a.kept; i++)
        last[i] = unit_value(a, b, col, n - a.kept + i);
    for (long i = 0; i < a.kept; i++)
        *state_row(a, b, col, i) = last[i];
    if (a.state_rows == a.kept)
        return;
    prefix_sums s = carried(a, carry_at(a, b, a.chunks, col));
    *state_row(a, b, col, a.kept) = s.one;
    if (a.form != CUBIC)
        return;
    *state_row(a, b, col, a.kept + 1) = s.two;
    *state_row(a, b, col, a.kept + 2) = s.three;
    *state_row(a, b, col, a.kept + 3) = s.four;
}
