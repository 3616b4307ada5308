/* SPDX-License-Identifier: Apache-2.0
 *
 * What decoding keeps: places of rows, one for each token (keys, values), and places of numbers
 * (sums of a recurrence).
 *
 * Rows that no later query can see are forgotten. They leave when their room is needed, a whole lot
 * at a time: there is room for two windows, so no more rows are moved than came, and each summary
 * once more. What is seen for ever (sinks, the summaries of blocks that ended) stands in front, and
 * the window closes up behind it: by the horizon's promise the engines may then count positions in
 * rows kept.
 */
#include "ops/ops.h"

void oa_state_open(struct oa_state *s, struct oa_device *d, long length)
{
    *s = (struct oa_state){ .device = d, .length = length };
}

static void *take(struct oa_device *d, size_t bytes)
{
    return d->ops->allocate(d, bytes);
}

static void give(struct oa_device *d, void *memory)
{
    if (memory)
        d->ops->release(d, memory);
}

void oa_state_close(struct oa_state *s)
{
    for (int i = 0; i < OA_MAX_PLACES; i++)
        give(s->device, s->place[i].data);
    *s = (struct oa_state){ 0 };
}

void oa_state_reset(struct oa_state *s)
{
    s->tokens = 0;
    for (int i = 0; i < OA_MAX_PLACES; i++)
        s->place[i].rows = s->place[i].alive = 0;
}

double oa_state_numbers(const struct oa_state *s)
{
    double sum = 0;
    for (int i = 0; i < OA_MAX_PLACES; i++)
        sum += (double)s->place[i].alive * (double)s->place[i].cols;
    return sum;
}

static size_t head_bytes(const struct oa_place *p)
{
    return p->row_bytes / (size_t)p->heads;
}

/* Row i of a head, in memory that has room for so many. */
static void *head_row(const struct oa_place *p, void *data, long room, long h, long i)
{
    return oa_at(data, head_bytes(p), h * room + i);
}

enum oa_error oa_state_copy(const struct oa_state *from, struct oa_state *to)
{
    for (int i = 0; i < OA_MAX_PLACES; i++) {
        const struct oa_place *p = &from->place[i];
        struct oa_place *q = &to->place[i];
        void *data = q->data;
        if (p->room > q->room) {
            give(from->device, data);
            q->room = 0;
            q->data = data = take(from->device, (size_t)p->room * p->row_bytes);
            if (!data)
                return OA_NO_MEMORY;
        }
        long room = oa_max(p->room, q->room);
        *q = *p;
        q->data = data;
        q->room = room;
        for (long h = 0; h < p->heads && p->rows; h++)
            from->device->ops->copy(from->device, (size_t)p->rows * head_bytes(p),
                                    head_row(p, p->data, p->room, h, 0),
                                    head_row(p, data, room, h, 0));
    }
    to->tokens = from->tokens;
    return OA_OK;
}

/* ---- places
 * -----------------------------------------------------------------------------------------------------
 */

void oa_state_begin(oa_tape *t, struct oa_state *s)
{
    t->state = s;
    if (s)
        s->next = 0;
}

/* The next place, whose rows have `cols` numbers of `size` bytes. */
static struct oa_place *next_place(oa_tape *t, long heads, long cols, size_t size)
{
    struct oa_state *s = t->state;
    if (s->next == OA_MAX_PLACES) {
        oa_fail(t->context, OA_INTERNAL, "a decoding state has no more than %d places",
                OA_MAX_PLACES);
        return NULL;
    }
    struct oa_place *p = &s->place[s->next++];
    if (cols > 0) {
        p->heads = heads;
        p->cols = cols;
        p->row_bytes = (size_t)cols * size;
    }
    return p;
}

void *oa_keep_numbers(oa_tape *t, long count, size_t size)
{
    struct oa_place *p = next_place(t, 1, count, size);
    if (p && !p->data) {
        p->data = take(t->device, p->row_bytes);
        p->room = 1;
    }
    if (!p || !p->data)
        return NULL;
    if (p->rows == 0)
        t->device->ops->fill(t->device, p->row_bytes, 0, p->data);
    p->rows = p->alive = 1;
    return p->data;
}

void *oa_keep_made(oa_tape *t, size_t bytes, bool *made)
{
    void *data = oa_keep_numbers(t, (long)bytes, 1);
    *made = data && t->state->tokens > 0;
    if (data)
        t->state->place[t->state->next - 1].alive = 0;
    return data;
}

/* ---- rows
 * ---------------------------------------------------------------------------------------------------------
 */

/* Rows from i on, of all heads, in memory that has room for so many, to rows from j on. */
static void copy_rows(struct oa_device *d, const struct oa_place *p, long rows, void *from,
                      long from_room, long i, void *to, long to_room, long j)
{
    long width = p->cols / p->heads;
    for (long h = 0; h < p->heads && rows > 0; h++)
        d->ops->select_rows(d, rows, width, rows, NULL, head_row(p, from, from_room, h, i), width,
                            head_row(p, to, to_room, h, j), width);
}

/* Rows of x, in each of which all heads are side by side, to rows from j on. */
static void put_rows(struct oa_device *d, const struct oa_place *p, const oa_tensor *x, long j)
{
    long width = p->cols / p->heads, step = p->room * width;
    size_t size = d->numbers.act_size;
    if (x->rows < p->heads)
        for (long i = 0; i < x->rows; i++)
            d->ops->select_rows(d, p->heads, width, p->heads, NULL, oa_at(x->data, size, i * x->ld),
                                width, head_row(p, p->data, p->room, 0, j + i), step);
    else
        for (long h = 0; h < p->heads && x->rows; h++)
            d->ops->select_rows(d, x->rows, width, x->rows, NULL, oa_at(x->data, size, h * width),
                                x->ld, head_row(p, p->data, p->room, h, j), width);
}

long oa_rows_alive(const struct oa_horizon *h, long position)
{
    if (h->block)
        return position / h->block * h->summary + position % h->block;
    long first = h->span ? oa_max(0, position - h->span + 1) : 0,
         sinks = oa_min(h->sinks, position);
    return sinks + position - oa_max(first, sinks);
}

/* Summaries in front of the rows kept: each block of which only they are left is that much shorter.
 */
static long summaries(const struct oa_horizon *h, long tokens, long rows)
{
    return h->summary ? (tokens - rows) / (h->block - h->summary) * h->summary : 0;
}

bool oa_rows_apart(const struct oa_horizon *h, long tokens, long rows)
{
    return rows < tokens && (h->sinks || h->summary);
}

void oa_row_positions(const struct oa_horizon *h, long tokens, long rows, int32_t *positions)
{
    long sinks = oa_min(h->sinks, rows), front = sinks + summaries(h, tokens, rows);
    for (long r = 0; r < rows; r++) {
        long s = r - sinks, position = r < sinks ? r : tokens - (rows - r);
        if (s >= 0 && r < front)
            position = s / h->summary * h->block + h->block - h->summary + s % h->summary;
        positions[r] = (int32_t)position;
    }
}

/* Where rows move to: the place itself, or memory with more room. */
struct goal {
    void *data;
    long room;
};

/* Rows may move to the front in place: by no more at a time than lie between there and here. */
static void move_rows(struct oa_device *d, const struct oa_place *p, long from, long rows,
                      struct goal goal, long to)
{
    long most = goal.data == p->data ? from - to : rows;
    for (long i = 0, n; most > 0 && i < rows; i += n) {
        n = oa_min(most, rows - i);
        copy_rows(d, p, n, p->data, p->room, from + i, goal.data, goal.room, to + i);
    }
}

/* Moves what is alive: what stands in front, the summaries of the blocks that ended since, the
 * window. */
static void pack_rows(struct oa_device *d, struct oa_place *p, struct goal goal,
                      const struct oa_horizon *h, long tokens)
{
    long alive = oa_rows_alive(h, tokens);
    long front = oa_min(h->sinks, alive) + summaries(h, tokens, p->rows), to = front;
    move_rows(d, p, 0, front, goal, 0);
    for (long end = front + h->block; h->summary && end <= p->rows;
         end += h->block, to += h->summary)
        move_rows(d, p, end - h->summary, h->summary, goal, to);
    move_rows(d, p, p->rows - (alive - to), alive - to, goal, to);
    p->rows = alive;
}

/* Room for all rows there can be, or for what is seen for ever and two windows. */
static long room_for(const struct oa_state *s, const struct oa_horizon *h, long rows)
{
    long most = oa_max(s->length, rows), window = h->block ? h->block : h->span;
    long front = h->block ? most / h->block * h->summary : h->sinks;
    return window ? oa_max(rows, oa_min(most, front + 2 * window)) : most;
}

/* When rows leave depends on what came, not on the room a copy may have more of: sums then round
 * alike. */
static bool make_room(oa_tape *t, struct oa_place *p, const struct oa_horizon *h, long count)
{
    struct oa_state *s = t->state;
    long room = room_for(s, h, oa_rows_alive(h, s->tokens) + count);
    bool grows = room > p->room;
    if (p->rows + count <= room && !grows)
        return true;
    struct goal goal = { p->data, p->room };
    if (grows)
        goal = (struct goal){ take(t->device, (size_t)room * p->row_bytes), room };
    if (!goal.data)
        return false;
    pack_rows(t->device, p, goal, h, s->tokens);
    if (grows) {
        give(t->device, p->data);
        p->data = goal.data;
        p->room = goal.room;
    }
    return true;
}

static oa_tensor *kept_rows(oa_tape *t, const struct oa_place *p)
{
    long width = p->cols / p->heads;
    return oa_tensor_from(t, p->data, p->rows, width, width, false);
}

/* The rows of the new tokens behind those that are there. */
static struct oa_place *append(oa_tape *t, oa_tensor *x, long heads, const struct oa_horizon *h)
{
    struct oa_place *p = x ? next_place(t, heads, x->cols, t->device->numbers.act_size) : NULL;
    if (!p || !make_room(t, p, h, x->rows))
        return NULL;
    put_rows(t->device, p, x, p->rows);
    p->rows += x->rows;
    p->alive = oa_rows_alive(h, t->state->tokens + x->rows);
    return p;
}

/* The rows of a memory; NULL: those that came before. */
static struct oa_place *keep_memory(oa_tape *t, oa_tensor *x, long heads)
{
    struct oa_place *p = next_place(t, heads, x ? x->cols : 0, t->device->numbers.act_size);
    if (!p || oa_status(t->context) != OA_OK)
        return NULL;
    if (!x)
        return p;
    if (x->rows > p->room) {
        give(t->device, p->data);
        p->data = take(t->device, (size_t)x->rows * p->row_bytes);
        p->room = p->data ? x->rows : 0;
    }
    if (!p->data)
        return NULL;
    put_rows(t->device, p, x, 0);
    p->rows = p->alive = x->rows;
    return p;
}

static struct oa_place *keep(oa_tape *t, struct oa_attention_shape *shape,
                             const struct oa_horizon *horizon, long heads, oa_tensor *x)
{
    static const struct oa_horizon endless = { 0 };
    const struct oa_horizon *h = shape->causal && horizon ? horizon : &endless;
    struct oa_place *p = shape->causal ? append(t, x, heads, h) : keep_memory(t, x, heads);
    if (!p)
        return NULL;
    shape->keys = p->rows;
    shape->first = shape->causal ? p->rows - shape->queries : t->state->tokens;
    shape->summaries = summaries(h, t->state->tokens + shape->queries, p->rows);
    return p;
}

oa_tensor *oa_keep_keys(oa_tape *t, struct oa_attention_shape *shape,
                        const struct oa_horizon *horizon, oa_tensor *x)
{
    struct oa_place *p = keep(t, shape, horizon, 1, x);
    return p ? kept_rows(t, p) : NULL;
}

oa_tensor *oa_keep_keys_apart(oa_tape *t, struct oa_attention_shape *shape,
                              const struct oa_horizon *horizon, oa_tensor *x)
{
    struct oa_place *p = keep(t, shape, horizon, shape->heads, x);
    if (!p)
        return NULL;
    if (shape->key_head_rows && shape->key_head_rows != p->room) {
        oa_fail(t->context, OA_INTERNAL, "places of keys and values have room for %ld and %ld rows",
                shape->key_head_rows, p->room);
        return NULL;
    }
    shape->key_head_rows = p->room;
    return kept_rows(t, p);
}
