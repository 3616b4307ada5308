/* SPDX-License-Identifier: Apache-2.0
 * State updates: what is not a product or a scan of chunks (chunks.cl). The formulas are in
 * cpu_recurrence.c. Rows of chunks are [pairs, chunks, CHUNK, …]; those that are not tokens are
 * zeros. */
enum { CHUNK = 64, DELTA_COLUMNS = 16, DELTA_ROWS = 8 /* of a chunk, a thread */ };

/* The kinds of oa_decay, in their order. */
enum { DECAY_NONE, DECAY_FIXED, DECAY_HEAD, DECAY_CHANNEL };

typedef struct {
    long heads, length, chunks, first, pairs, features, width, decay, decays;
    long begun, ldq, ldk, ldv, ld_decay, ld_beta;
    double scale;
    ulong lengths, q, k, v, decay_logits, rate, beta_logits, state;
    ulong dq, dk, dv, d_decay_logits, d_beta_logits;
    /* scratch: q with the scale, k, q e^b, k e^b, k e^{b_C − b}; ln γ and b; −b; e^{b_C}; β */
    ulong query, key, query_left, key_left, key_right, log_decay, sums, negated, ends, beta;
    ulong pairs_of, key_pairs, u, states;           /* P, −A, U, S before each chunk */
    ulong d_states, d_u, d_pairs, d_key_pairs;      /* dS after each chunk, dU then dR, dP, da */
    ulong d_query, d_left, d_right, d_end, d_decay; /* of query, key …, b_C, ln γ */
    ulong diagonal, along;                          /* of dP; Σ dln γ ln γ of a chunk */
} recurrence_rows;

FUNCTION long real_rows(recurrence_rows a, long item)
{
    long b = (a.first + item / a.chunks) / a.heads;
    return real_length(AT(const int, a.lengths), b, a.length) - item % a.chunks * CHUNK;
}

FUNCTION long rows_there(recurrence_rows a, long item)
{
    return a.length - item % a.chunks * CHUNK;
}

/* Row i of a chunk in [B·T, …] with `width` columns a head. */
FUNCTION long token_place(recurrence_rows a, long item, long i, long ld, long width)
{
    long b = (a.first + item / a.chunks) / a.heads, h = (a.first + item / a.chunks) % a.heads;
    return (b * a.length + item % a.chunks * CHUNK + i) * ld + h * width;
}

/* ---- decays ---- */

FUNCTION real log_decay_of(recurrence_rows a, long item, long i, long c)
{
    long h = (a.first + item / a.chunks) % a.heads;
    if (a.decay == DECAY_NONE || i >= real_rows(a, item))
        return 0;
    if (a.decay == DECAY_FIXED)
        return (real)log1p(-exp2(-5 - (double)h));
    real x = load(AT(const act, a.decay_logits), token_place(a, item, i, a.ld_decay, a.decays) + c);
    real tail = log1p(exp(-fabs(x)));
    if (a.decay == DECAY_CHANNEL)
        return ((x < 0 ? x : 0) - tail) / 16;
    return -exp(AT(const real, a.rate)[h]) * ((x > 0 ? x : 0) + tail);
}

/* ln γ, b and what follows from them; β. A thread has a column of a chunk. */
KERNEL void recurrence_decays(recurrence_rows a)
{
    long item = ITEM / a.decays, c = ITEM % a.decays, at = item * CHUNK * a.decays + c;
    real sum = 0;
    if (item >= a.pairs * a.chunks)
        return;
    for (long i = 0; i < CHUNK; i++, at += a.decays) {
        real own = log_decay_of(a, item, i, c);
        sum += own;
        AT(real, a.log_decay)[at] = own;
        AT(real, a.sums)[at] = sum;
        if (a.decays == 1)
            AT(real, a.negated)[item * CHUNK + i] = -sum;
    }
    AT(real, a.ends)[ITEM] = exp(sum);
    for (long i = 0; a.beta_logits && c == 0 && i < CHUNK; i++)
        AT(real, a.beta)
    [item * CHUNK + i] =
        i < real_rows(a, item)
            ? sigmoid(load(AT(const act, a.beta_logits), token_place(a, item, i, a.ld_beta, 1)))
            : 0;
}

/* b of row i, column c. */
FUNCTION real sum_at(recurrence_rows a, long item, long i, long c)
{
    return AT(const real, a.sums)[(item * CHUNK + i) * a.decays + (a.decays > 1 ? c : 0)];
}

/* Queries and keys as products read them. A thread has an element. */
KERNEL void recurrence_operands(recurrence_rows a)
{
    long c = ITEM % a.features, i = ITEM / a.features % CHUNK, item = ITEM / a.features / CHUNK;
    real q = 0, k = 0;
    if (item >= a.pairs * a.chunks)
        return;
    if (i < real_rows(a, item)) {
        q = (real)a.scale *
            load(AT(const act, a.q), token_place(a, item, i, a.ldq, a.features) + c);
        k = load(AT(const act, a.k), token_place(a, item, i, a.ldk, a.features) + c);
    }
    real own = sum_at(a, item, i, c), left = exp(own);
    AT(real, a.query)[ITEM] = q;
    AT(real, a.key)[ITEM] = k;
    AT(real, a.query_left)[ITEM] = q * left;
    AT(real, a.key_left)[ITEM] = k * left;
    AT(real, a.key_right)[ITEM] = k * exp(sum_at(a, item, CHUNK - 1, c) - own);
}

/* P, and −A, with decays by channel. A thread has a pair. */
KERNEL void recurrence_channel_pairs(recurrence_rows a)
{
    long j = ITEM % CHUNK, i = ITEM / CHUNK % CHUNK, item = ITEM / CHUNK / CHUNK, r = a.features;
    long own = (item * CHUNK + i) * r, other = (item * CHUNK + j) * r;
    GLOBAL const real *q = AT(const real, a.query), *k = AT(const real, a.key),
                      *b = AT(const real, a.sums);
    real pair = 0, key_pair = 0;
    if (item >= a.pairs * a.chunks)
        return;
    for (long c = 0; j <= i && c < r; c++) {
        real decayed = k[other + c] * exp(b[own + c] - b[other + c]);
        pair += q[own + c] * decayed;
        key_pair += k[own + c] * decayed;
    }
    AT(real, a.pairs_of)[ITEM] = pair;
    if (a.beta_logits)
        AT(real, a.key_pairs)
    [ITEM] = j < i ? -AT(const real, a.beta)[item * CHUNK + i] * key_pair : 0;
}

/* ---- the delta rule: a chunk after the other. A group has some columns of V of a (b,h); a thread
 * one of them and every eighth row ---- */

/* −A of the rows, or, transposed, of the columns: u_i += Σ x_ij u_j, from the first row on or from
 * the last. All rows of u are in `room` then. */
FUNCTION void solve_rows(GLOBAL const real *x, bool transposed, real *u, LOCAL real *room)
{
    int col = THREAD % DELTA_COLUMNS, first = THREAD / DELTA_COLUMNS;
    for (int step = 0; step < CHUNK; step++) {
        int j = transposed ? CHUNK - 1 - step : step;
        if (j % DELTA_ROWS == first)
            room[j * DELTA_COLUMNS + col] = u[j / DELTA_ROWS];
        BARRIER;
        real done = room[j * DELTA_COLUMNS + col];
        for (int n = 0; n < CHUNK / DELTA_ROWS; n++) {
            int i = first + DELTA_ROWS * n;
            if (transposed ? i < j : i > j)
                u[n] += x[transposed ? j * CHUNK + i : i * CHUNK + j] * done;
        }
    }
    BARRIER;
}

/* u_i = Σ_c x_ic state_c of this thread's rows. */
FUNCTION void read_state(GLOBAL const real *x, GLOBAL const real *state, long features, long width,
                         real *u)
{
    for (int n = 0; n < CHUNK / DELTA_ROWS; n++)
        u[n] = 0;
    for (long c = 0; c < features; c++) {
        real s = state[c * width];
        for (int n = 0; n < CHUNK / DELTA_ROWS; n++)
            u[n] += x[(THREAD / DELTA_COLUMNS + DELTA_ROWS * n) * features + c] * s;
    }
}

/* U of all chunks, and S before each; S after all comes last.
 *
 *     U = (I + A)⁻¹ β(V − K e^b S),   S ← e^{b_C} S + (K e^{b_C − b})ᵀ U */
KERNEL void recurrence_delta_states(recurrence_rows a)
{
    SHARED real room[CHUNK * DELTA_COLUMNS];
    long across = (a.width + DELTA_COLUMNS - 1) / DELTA_COLUMNS, pair = GROUP(0) / across,
         r = a.features, width = a.width;
    int first = THREAD / DELTA_COLUMNS, own = THREAD % DELTA_COLUMNS;
    long col = GROUP(0) % across * DELTA_COLUMNS + own;
    bool there = col < width;
    GLOBAL real *state = AT(real, a.states) + pair * (a.chunks + 1) * r * width + (there ? col : 0);
    real u[CHUNK / DELTA_ROWS];
    for (long c = first; there && c < r; c += DELTA_ROWS)
        state[c * width] =
            a.begun ? AT(const real, a.state)[((a.first + pair) * r + c) * width + col] : 0;
    for (long chunk = 0; chunk < a.chunks; chunk++, state += r * width) {
        long item = pair * a.chunks + chunk, real_count = real_rows(a, item);
        GLOBAL const real *right = AT(const real, a.key_right) + item * CHUNK * r;
        BARRIER;
        read_state(AT(const real, a.key_left) + item * CHUNK * r, state, r, width, u);
        for (int n = 0; n < CHUNK / DELTA_ROWS; n++) {
            long i = first + DELTA_ROWS * n;
            real v = there && i < real_count
                         ? load(AT(const act, a.v), token_place(a, item, i, a.ldv, width) + col)
                         : 0;
            u[n] = i < real_count ? AT(const real, a.beta)[item * CHUNK + i] * (v - u[n]) : 0;
        }
        solve_rows(AT(const real, a.key_pairs) + item * CHUNK * CHUNK, false, u, room);
        for (int n = 0; there && n < CHUNK / DELTA_ROWS; n++)
            AT(real, a.u)[(item * CHUNK + first + DELTA_ROWS * n) * width + col] = u[n];
        for (long c = first; there && c < r; c += DELTA_ROWS) {
            real sum =
                AT(const real, a.ends)[item * a.decays + (a.decays > 1 ? c : 0)] * state[c * width];
            for (int i = 0; i < CHUNK; i++)
                sum += right[i * r + c] * room[i * DELTA_COLUMNS + own];
            state[(r + c) * width] = sum;
        }
    }
}

/* dR into the place of dU, which has Pᵀ dO; dS after each chunk into the place of (Q e^b)ᵀ dO. The
 * last place of d_states has dS at work.
 *
 *     dR = (I + A)⁻ᵀ (dU + K e^{b_C − b} dS),   dS ← e^{b_C} dS + (Q e^b)ᵀ dO − (K e^b)ᵀ β dR */
KERNEL void recurrence_delta_gradients(recurrence_rows a)
{
    SHARED real room[CHUNK * DELTA_COLUMNS];
    long across = (a.width + DELTA_COLUMNS - 1) / DELTA_COLUMNS, pair = GROUP(0) / across,
         r = a.features, width = a.width;
    int first = THREAD / DELTA_COLUMNS, own = THREAD % DELTA_COLUMNS;
    long col = GROUP(0) % across * DELTA_COLUMNS + own;
    bool there = col < width;
    GLOBAL real *all = AT(real, a.d_states) + pair * (a.chunks + 1) * r * width + (there ? col : 0),
                *state = all + a.chunks * r * width;
    real u[CHUNK / DELTA_ROWS];
    for (long c = first; there && c < r; c += DELTA_ROWS)
        state[c * width] = 0;
    for (long chunk = a.chunks - 1; chunk >= 0; chunk--) {
        long item = pair * a.chunks + chunk;
        GLOBAL const real *left = AT(const real, a.key_left) + item * CHUNK * r,
                          *beta = AT(const real, a.beta) + item * CHUNK;
        GLOBAL real *rows = AT(real, a.d_u) + item * CHUNK * width + (there ? col : 0),
                    *after = all + chunk * r * width;
        BARRIER;
        read_state(AT(const real, a.key_right) + item * CHUNK * r, state, r, width, u);
        for (int n = 0; n < CHUNK / DELTA_ROWS; n++)
            u[n] += rows[(first + DELTA_ROWS * n) * width];
        solve_rows(AT(const real, a.key_pairs) + item * CHUNK * CHUNK, true, u, room);
        for (int n = 0; there && n < CHUNK / DELTA_ROWS; n++)
            rows[(first + DELTA_ROWS * n) * width] = u[n];
        for (long c = first; there && c < r; c += DELTA_ROWS) {
            real before = state[c * width],
                 decay = AT(const real, a.ends)[item * a.decays + (a.decays > 1 ? c : 0)],
                 sum = decay * before + after[c * width];
            for (int i = 0; i < CHUNK; i++)
                sum -= left[i * r + c] * beta[i] * room[i * DELTA_COLUMNS + own];
            after[c * width] = before;
            state[c * width] = sum;
        }
    }
}

/* dv = β dR, and the gradient of the logits of β. A group has a token. */
KERNEL void recurrence_delta_rows(recurrence_rows a)
{
    SHARED real room[GROUP_SIZE];
    long item = GROUP(0) / CHUNK, i = GROUP(0) % CHUNK, at = GROUP(0) * a.width;
    bool there = i < real_rows(a, item);
    real beta = there ? AT(const real, a.beta)[GROUP(0)] : 0, sum = 0;
    if (i >= rows_there(a, item))
        return;
    for (long j = THREAD; j < a.width; j += GROUP_SIZE) {
        real own = AT(const real, a.d_u)[at + j];
        sum += own * AT(const real, a.u)[at + j];
        if (a.dv)
            store(AT(act, a.dv), token_place(a, item, i, a.ldv, a.width) + j,
                  there ? beta * own : 0);
    }
    sum = group_sum(room, sum);
    if (THREAD == 0 && a.d_beta_logits)
        store(AT(act, a.d_beta_logits), token_place(a, item, i, a.ld_beta, 1),
              there ? sum * (1 - beta) : 0);
}

/* ---- gradients of pairs and states ---- */

/* The diagonal of dP, which has no decay, and zeros in its place. A thread has a row. */
KERNEL void recurrence_diagonal(recurrence_rows a)
{
    long at = ITEM * CHUNK + ITEM % CHUNK;
    if (ITEM >= a.pairs * a.chunks * CHUNK)
        return;
    AT(real, a.diagonal)[ITEM] = AT(const real, a.d_pairs)[at];
    AT(real, a.d_pairs)[at] = 0;
}

/* The decays of what states gave to dq, dk on the left and on the right; what b_C gets of it. A
 * thread has a column of a chunk. */
KERNEL void recurrence_state_gradients(recurrence_rows a)
{
    long r = a.features, item = ITEM / r, c = ITEM % r, base = item * CHUNK * r + c;
    real end = 0, both = 0;
    if (item >= a.pairs * a.chunks)
        return;
    real last = sum_at(a, item, CHUNK - 1, c);
    for (long i = 0; i < CHUNK; i++) {
        long at = base + i * r;
        real own = sum_at(a, item, i, c), left = exp(own);
        AT(real, a.d_query)[at] *= left;
        if (a.beta_logits)
            AT(real, a.d_left)[at] *= left;
        real right = exp(last - own) * AT(const real, a.d_right)[at];
        AT(real, a.d_right)[at] = right;
        end += AT(const real, a.key)[at] * right;
    }
    long state = ((item + item / a.chunks) * r + c) * a.width;
    for (long j = 0; j < a.width; j++)
        both += AT(const real, a.states)[state + j] * AT(const real, a.d_states)[state + j];
    AT(real, a.d_end)
    [ITEM] = end + both * AT(const real, a.ends)[item * a.decays + (a.decays > 1 ? c : 0)];
}

/* What pairs add to dq, dk on the left and on the right, with decays by channel. A thread has an
 * element. */
KERNEL void recurrence_channel_gradients(recurrence_rows a)
{
    long r = a.features, c = ITEM % r, i = ITEM / r % CHUNK, item = ITEM / r / CHUNK,
         base = item * CHUNK * r + c, tile = item * CHUNK * CHUNK;
    if (item >= a.pairs * a.chunks)
        return;
    GLOBAL const real *q = AT(const real, a.query) + base, *k = AT(const real, a.key) + base,
                      *b = AT(const real, a.sums) + base, *dp = AT(const real, a.d_pairs) + tile,
                      *da = AT(const real, a.d_key_pairs) + tile;
    real own = b[i * r], query = 0, left = 0, right = 0;
    for (long j = 0; j < i; j++) {
        real other = exp(own - b[j * r]) * k[j * r];
        query += dp[i * CHUNK + j] * other;
        if (a.beta_logits)
            left += da[i * CHUNK + j] * other;
    }
    for (long j = i + 1; j < CHUNK; j++) {
        real sum = dp[j * CHUNK + i] * q[j * r];
        if (a.beta_logits)
            sum += da[j * CHUNK + i] * k[j * r];
        right += exp(b[j * r] - own) * sum;
    }
    AT(real, a.d_query)[ITEM] += query;
    AT(real, a.d_right)[ITEM] += right;
    if (a.beta_logits)
        AT(real, a.d_left)[ITEM] += left;
}

/* d ln γ = db of the rows, summed from the last to the first on top of that of b_C. A thread has a
 * column of a chunk. */
KERNEL void recurrence_decay_sums(recurrence_rows a)
{
    long r = a.features, item = ITEM / r, c = ITEM % r, base = item * CHUNK * r + c;
    if (item >= a.pairs * a.chunks)
        return;
    real sum = AT(const real, a.d_end)[ITEM];
    for (long i = CHUNK - 1; i >= 0; i--) {
        long at = base + i * r;
        real left = a.beta_logits ? AT(const real, a.d_left)[at] : 0;
        sum += AT(const real, a.query)[at] * AT(const real, a.d_query)[at] +
               AT(const real, a.key)[at] * left -
               AT(const real, a.key)[at] * AT(const real, a.d_right)[at];
        AT(real, a.d_decay)[at] = sum;
    }
}

/* ---- stores ---- */

/* dq, dk and, by channel, the gradient of the logits of γ. A thread has an element. */
KERNEL void recurrence_store(recurrence_rows a)
{
    long r = a.features, c = ITEM % r, i = ITEM / r % CHUNK, item = ITEM / r / CHUNK;
    if (item >= a.pairs * a.chunks || i >= rows_there(a, item))
        return;
    bool there = i < real_rows(a, item);
    real own = AT(const real, a.diagonal)[item * CHUNK + i],
         left = a.beta_logits ? AT(const real, a.d_left)[ITEM] : 0,
         dq = AT(const real, a.d_query)[ITEM] + own * AT(const real, a.key)[ITEM],
         dk = left + AT(const real, a.d_right)[ITEM] + own * AT(const real, a.query)[ITEM];
    if (a.dq)
        store(AT(act, a.dq), token_place(a, item, i, a.ldq, r) + c, there ? (real)a.scale * dq : 0);
    if (a.dk)
        store(AT(act, a.dk), token_place(a, item, i, a.ldk, r) + c, there ? dk : 0);
    if (a.decay != DECAY_CHANNEL || !a.d_decay_logits)
        return;
    long at = token_place(a, item, i, a.ld_decay, r) + c;
    real slope = there ? (1 - sigmoid(load(AT(const act, a.decay_logits), at))) / 16 : 0;
    store(AT(act, a.d_decay_logits), at, there ? slope * AT(const real, a.d_decay)[ITEM] : 0);
}

/* ln γ = −e^rate·ln(1 + e^x): dx = −dln γ·e^rate·σ(x), and Σ dln γ·ln γ of the chunk. A group has
 * a chunk. */
KERNEL void recurrence_head_decays(recurrence_rows a)
{
    SHARED real room[GROUP_SIZE];
    long item = GROUP(0), h = (a.first + item / a.chunks) % a.heads, i = THREAD, r = a.features;
    real along = 0;
    if (i < CHUNK && i < rows_there(a, item)) {
        real sum = 0;
        long at = token_place(a, item, i, a.ld_decay, 1);
        if (i < real_rows(a, item)) {
            for (long c = 0; c < r; c++)
                sum += AT(const real, a.d_decay)[(item * CHUNK + i) * r + c];
            along = sum * AT(const real, a.log_decay)[item * CHUNK + i];
            sum *=
                -exp(AT(const real, a.rate)[h]) * sigmoid(load(AT(const act, a.decay_logits), at));
        }
        if (a.d_decay_logits)
            store(AT(act, a.d_decay_logits), at, sum);
    }
    along = group_sum(room, along);
    if (THREAD == 0)
        AT(real, a.along)[item] = along;
}

/* d_rate [H] += Σ along of the chunks of the head. A thread has a head. */
KERNEL void recurrence_rate_gradient(recurrence_rows a, GLOBAL real *d_rate)
{
    real sum = 0;
    if (ITEM >= a.heads)
        return;
    for (long pair = 0; pair < a.pairs; pair++)
        for (long c = 0; c < a.chunks && (a.first + pair) % a.heads == ITEM; c++)
            sum += AT(const real, a.along)[pair * a.chunks + c];
    d_rate[ITEM] += sum;
}

/* The state of decoding, into the last place of the states or from there. A thread has a number. */
KERNEL void recurrence_move_state(recurrence_rows a, long back)
{
    long size = a.features * a.width, pair = ITEM / size, e = ITEM % size;
    if (pair >= a.pairs)
        return;
    GLOBAL real *kept = AT(real, a.state) + (a.first + pair) * size + e,
                *last = AT(real, a.states) + (pair * (a.chunks + 1) + a.chunks) * size + e;
    if (back)
        *kept = *last;
    else
        *last = *kept;
}

/* One token with a state, as in decoding: the recurrence itself. A thread has a column of V. */
KERNEL void recurrence_step(recurrence_rows a, GLOBAL act *o, long ldo)
{
    long pair = ITEM / a.width, j = ITEM % a.width, r = a.features;
    if (pair >= a.pairs)
        return;
    GLOBAL real *state = AT(real, a.state) + (a.first + pair) * r * a.width + j;
    GLOBAL const act *q = AT(const act, a.q) + token_place(a, pair, 0, a.ldq, r),
                     *k = AT(const act, a.k) + token_place(a, pair, 0, a.ldk, r);
    bool there = real_rows(a, pair) > 0;
    real decay = exp(log_decay_of(a, pair, 0, 0)), known = 0, sum = 0, u = 0;
    for (long c = 0; c < r; c++) {
        if (a.decay == DECAY_CHANNEL)
            decay = exp(log_decay_of(a, pair, 0, c));
        real s = a.begun ? decay * state[c * a.width] : 0;
        state[c * a.width] = s;
        if (a.beta_logits && there)
            known += load(k, c) * s;
    }
    if (there)
        u = load(AT(const act, a.v), token_place(a, pair, 0, a.ldv, a.width) + j) - known;
    if (a.beta_logits && there)
        u *= sigmoid(load(AT(const act, a.beta_logits), token_place(a, pair, 0, a.ld_beta, 1)));
    for (long c = 0; there && c < r; c++) {
        real s = state[c * a.width] + load(k, c) * u;
        state[c * a.width] = s;
        sum += (real)a.scale * load(q, c) * s;
    }
    store(o, token_place(a, pair, 0, ldo, a.width) + j, sum);
}
