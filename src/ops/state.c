/* SPDX-License-Identifier: Apache-2.0
 *
 * What decoding keeps: places of rows, one for each token (keys, values), and places of numbers (sums of a recurrence).
 *
 * Rows that no later query can see are forgotten. They leave when their room is needed, a whole lot at a time: there is
 * room for two windows, so no more rows are moved than came, and each summary once more. What is seen for ever (sinks,
 * the summaries of blocks that ended) stands in front, and the window closes up behind it: by the horizon's promise the
 * engines may then count positions in rows kept.
 */
#include "ops/ops.h"

#include "base/bugs.h"

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
        if (p->rows)
            from->device->ops->copy(from->device, (size_t)p->rows * p->row_bytes, p->data, data);
    }
    to->tokens = from->tokens;
    return OA_OK;
}

/* ---- places ----------------------------------------------------------------------------------------------------- */

void oa_state_begin(oa_tape *t, struct oa_state *s)
{
    t->state = s;
    if (s)
        s->next = 0;
}

/* The next place, whose rows have `cols` numbers of `size` bytes. */
static struct oa_place *next_place(oa_tape *t, long cols, size_t size)
{
    struct oa_state *s = t->state;
    if (s->next == OA_MAX_PLACES) {
        oa_fail(t->context, OA_INTERNAL, "a decoding state has no more than %d places", OA_MAX_PLACES);
        return NULL;
    }
    struct oa_place *p = &s->place[s->next++];
    if (cols > 0) {
        p->cols = cols;
        p->row_bytes = (size_t)cols * size;
    }
    return p;
}

void *oa_keep_numbers(oa_tape *t, long count, size_t size)
{
    struct oa_place *p = next_place(t, count, size);
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

/* ---- rows ---------------------------------------------------------------------------------------------------------
 */

static void copy_rows(struct oa_device *d, long rows, long cols, const void *x, long ldx, void *y)
{
    if (rows > 0)
        d->ops->select_rows(d, rows, cols, rows, NULL, x, ldx, y, cols);
}

static void *row_of(const struct oa_place *p, void *data, long i)
{
    return oa_at(data, p->row_bytes, i);
}

long oa_rows_alive(const struct oa_horizon *h, long position)
{
    if (h->block)
        return position / h->block * h->summary + position % h->block;
    long first = h->span ? oa_max(0, position - h->span + 1) : 0, sinks = oa_min(h->sinks, position);
    return sinks + position - oa_max(first, sinks);
}

/* Summaries in front of the rows kept: each block of which only they are left is that much shorter. */
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

/* Rows may move to the front in place: by no more at a time than lie between there and here. */
static void move_rows(struct oa_device *d, const struct oa_place *p, long from, long rows, void *data, long to)
{
    long most = data == p->data ? from - to : rows;
    for (long i = 0, n; most > 0 && i < rows; i += n) {
        n = oa_min(most, rows - i);
        copy_rows(d, n, p->cols, row_of(p, p->data, from + i), p->cols, row_of(p, data, to + i));
    }
}

/* Moves to `data` what is alive: what stands in front, the summaries of the blocks that ended since, the window. */
static void pack_rows(struct oa_device *d, struct oa_place *p, void *data, const struct oa_horizon *h, long tokens)
{
    long alive = oa_rows_alive(h, tokens);
    long front = oa_min(h->sinks, alive) + summaries(h, tokens, p->rows), to = front;
    move_rows(d, p, 0, front, data, 0);
    for (long end = front + h->block; h->summary && end <= p->rows; end += h->block, to += h->summary)
        move_rows(d, p, end - h->summary - OA_BUG(SUMMARY_NEXT_DOOR), h->summary, data, to);
    move_rows(d, p, p->rows - (alive - to), alive - to, data, to);
    p->rows = alive;
}

/* Room for all rows there can be, or for what is seen for ever and two windows. */
static long room_for(const struct oa_state *s, const struct oa_horizon *h, long rows)
{
    long most = oa_max(s->length, rows), window = h->block ? h->block : h->span;
    long front = h->block ? most / h->block * h->summary : h->sinks;
    return window ? oa_max(rows, oa_min(most, front + 2 * window)) : most;
}

/* When rows leave depends on what came, not on the room a copy may have more of: sums then round alike. */
static bool make_room(oa_tape *t, struct oa_place *p, const struct oa_horizon *h, long count)
{
    struct oa_state *s = t->state;
    long room = room_for(s, h, oa_rows_alive(h, s->tokens) + count);
    bool grows = room > p->room;
    if (p->rows + count <= room && !grows)
        return true;
    void *data = grows ? take(t->device, (size_t)room * p->row_bytes) : p->data;
    if (!data)
        return false;
    pack_rows(t->device, p, data, h, s->tokens);
    if (grows) {
        give(t->device, p->data);
        p->data = data;
        p->room = room;
    }
    return true;
}

static oa_tensor *kept_rows(oa_tape *t, const struct oa_place *p)
{
    return oa_tensor_from(t, p->data, p->rows, p->cols, p->cols, false);
}

/* The rows of the new tokens behind those that are there. */
static oa_tensor *append(oa_tape *t, oa_tensor *x, const struct oa_horizon *h)
{
    struct oa_place *p = x ? next_place(t, x->cols, t->device->numbers.act_size) : NULL;
    if (!p || !make_room(t, p, h, x->rows))
        return NULL;
    copy_rows(t->device, x->rows, x->cols, x->data, x->ld, row_of(p, p->data, p->rows));
    p->rows += x->rows;
    p->alive = oa_rows_alive(h, t->state->tokens + x->rows);
    return kept_rows(t, p);
}

/* The rows of a memory; NULL: those that came before. */
static oa_tensor *keep_memory(oa_tape *t, oa_tensor *x)
{
    struct oa_place *p = next_place(t, x ? x->cols : 0, t->device->numbers.act_size);
    if (!p || oa_status(t->context) != OA_OK)
        return NULL;
    if (!x)
        return kept_rows(t, p);
    if (x->rows > p->room) {
        give(t->device, p->data);
        p->data = take(t->device, (size_t)x->rows * p->row_bytes);
        p->room = p->data ? x->rows : 0;
    }
    if (!p->data)
        return NULL;
    copy_rows(t->device, x->rows, x->cols, x->data, x->ld, p->data);
    p->rows = p->alive = x->rows;
    return kept_rows(t, p);
}

oa_tensor *oa_keep_keys(oa_tape *t, struct oa_attention_shape *shape, const struct oa_horizon *horizon, oa_tensor *x)
{
    static const struct oa_horizon endless = { 0 };
    const struct oa_horizon *h = shape->causal && horizon ? horizon : &endless;
    oa_tensor *kept = shape->causal ? append(t, x, h) : keep_memory(t, x);
    if (!kept)
        return NULL;
    shape->keys = kept->rows;
    shape->first = shape->causal ? kept->rows - shape->queries : t->state->tokens;
    shape->summaries = summaries(h, t->state->tokens + shape->queries, kept->rows);
    return kept;
}
