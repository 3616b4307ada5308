/* SPDX-License-Identifier: Apache-2.0
 * Decoding caches. A slot has either a row per token (KV cache) or the running sums of a
 * recurrence.
 *
 * Rows that no later query sees are evicted, many at once, when memory is needed. There is room for
 * two windows, so that no more rows are moved than added (summaries are moved once more). Where all
 * rows stay visible, memory doubles when it is full. Always visible rows (sinks, summaries of
 * completed blocks) come first, then the window: a horizon guarantees that the engines may use row
 * numbers as positions. */
#include "ops/ops.h"

enum { LEAST_ROOM = 64 }; /* rows that are allocated at first */

void oa_state_open(struct oa_state *s, struct oa_device *d, long length)
{
    *s = (struct oa_state){ .device = d, .length = length };
}

static void cache_release(struct oa_device *d, void *memory)
{
    if (memory)
        d->ops->release(d, memory);
}

void oa_state_close(struct oa_state *s)
{
    for (int i = 0; i < OA_MAX_CACHE_SLOTS; i++)
        cache_release(s->device, s->slot[i].data);
    *s = (struct oa_state){ 0 };
}

void oa_state_reset(struct oa_state *s)
{
    s->tokens = 0;
    for (int i = 0; i < OA_MAX_CACHE_SLOTS; i++)
        s->slot[i].rows = s->slot[i].alive = 0;
}

double oa_state_numbers(const struct oa_state *s)
{
    double sum = 0;
    for (int i = 0; i < OA_MAX_CACHE_SLOTS; i++)
        sum += (double)s->slot[i].alive * (double)s->slot[i].cols;
    return sum;
}

size_t oa_state_bytes(const struct oa_state *s)
{
    size_t sum = 0;
    for (int i = 0; i < OA_MAX_CACHE_SLOTS; i++)
        sum += (size_t)s->slot[i].room * s->slot[i].row_bytes;
    return sum;
}

static size_t slot_head_bytes(const struct oa_cache_slot *p)
{
    return p->row_bytes / (size_t)p->heads;
}

/* Row i of head h in memory for `room` rows. */
static void *slot_head_row(const struct oa_cache_slot *p, void *data, long room, long h, long i)
{
    return oa_at(data, slot_head_bytes(p), h * room + i);
}

enum oa_error oa_state_copy(const struct oa_state *from, struct oa_state *to)
{
    for (int i = 0; i < OA_MAX_CACHE_SLOTS; i++) {
        const struct oa_cache_slot *p = &from->slot[i];
        struct oa_cache_slot *q = &to->slot[i];
        void *data = q->data;
        long room = oa_max(p->rows, p->least);
        if (room > q->room) {
            cache_release(from->device, data);
            q->room = 0;
            q->data = data = from->device->ops->allocate(from->device, (size_t)room * p->row_bytes);
            if (!data)
                return OA_NO_MEMORY;
        }
        room = oa_max(room, q->room);
        *q = *p;
        q->data = data;
        q->room = room;
        for (long h = 0; h < p->heads && p->rows; h++)
            from->device->ops->copy(from->device, (size_t)p->rows * slot_head_bytes(p),
                                    slot_head_row(p, p->data, p->room, h, 0),
                                    slot_head_row(p, data, room, h, 0));
    }
    to->tokens = from->tokens;
    return OA_OK;
}

/* ---- slots ---- */

void oa_state_begin(oa_tape *t, struct oa_state *s)
{
    t->state = s;
    if (s)
        s->next = 0;
}

/* The next slot, with rows of `cols` numbers of `size` bytes. */
static struct oa_cache_slot *cache_next_slot(oa_tape *t, long heads, long cols, size_t size)
{
    struct oa_state *s = t->state;
    if (s->next == OA_MAX_CACHE_SLOTS) {
        oa_fail(t->context, OA_INTERNAL, "decoding state: more than %d cache slots needed",
                OA_MAX_CACHE_SLOTS);
        return NULL;
    }
    struct oa_cache_slot *p = &s->slot[s->next++];
    if (cols > 0) {
        p->heads = heads;
        p->cols = cols;
        p->row_bytes = (size_t)cols * size;
    }
    return p;
}

void *oa_cache_numbers(oa_tape *t, long count, size_t size)
{
    struct oa_cache_slot *p = cache_next_slot(t, 1, count, size);
    if (p && !p->data) {
        p->data = t->device->ops->allocate(t->device, p->row_bytes);
        p->room = 1;
    }
    if (!p || !p->data)
        return NULL;
    if (p->rows == 0)
        t->device->ops->fill(t->device, p->row_bytes, 0, p->data);
    p->rows = p->alive = 1;
    return p->data;
}

void *oa_cache_computed(oa_tape *t, size_t bytes, bool *made)
{
    void *data = oa_cache_numbers(t, (long)bytes, 1);
    *made = data && t->state->tokens > 0;
    if (data)
        t->state->slot[t->state->next - 1].alive = 0;
    return data;
}

/* ---- calls for all sequences of a batch ---- */

void oa_deferred_begin(oa_tape *t, struct oa_deferred *d)
{
    d->puts = d->attentions = 0;
    t->deferred = t->device->ops->put_heads && t->device->ops->logits_of_rows ? d : NULL;
}

void oa_deferred_run(oa_tape *t)
{
    struct oa_deferred *f = t->deferred;
    if (!f)
        return;
    if (f->puts)
        t->device->ops->put_heads(t->device, f->puts, f->put);
    if (f->attentions)
        t->device->ops->logits_of_rows(t->device, f->attentions, f->attention);
    f->puts = f->attentions = 0;
}

void oa_deferred_end(oa_tape *t)
{
    oa_deferred_run(t);
    t->deferred = NULL;
}

/* ---- rows ---- */

static void defer_put(oa_tape *t, const struct oa_head_put *put)
{
    struct oa_deferred *f = t->deferred;
    if (f->puts == OA_MAX_DEFERRED)
        oa_deferred_run(t);
    f->room[f->puts] = *put;
    f->put[f->puts] = &f->room[f->puts];
    f->puts++;
}

/* Writes the rows of x, [rows, heads·width], from row j on. */
static void slot_put_rows(oa_tape *t, const struct oa_cache_slot *p, const oa_tensor *x, long j)
{
    struct oa_device *d = t->device;
    long width = p->cols / p->heads, step = p->room * width;
    size_t size = d->numbers.act_size;
    for (long i = 0; x->rows < p->heads && i < x->rows; i++) {
        const void *from = oa_at(x->data, size, i * x->ld);
        void *to = slot_head_row(p, p->data, p->room, 0, j + i);
        if (t->deferred)
            defer_put(t, &(struct oa_head_put){ p->heads, width, from, to, step });
        else
            d->ops->select_rows(d, p->heads, width, p->heads, NULL, from, width, to, step);
    }
    if (x->rows >= p->heads)
        for (long h = 0; h < p->heads && x->rows; h++)
            d->ops->select_rows(d, x->rows, width, x->rows, NULL, oa_at(x->data, size, h * width),
                                x->ld, slot_head_row(p, p->data, p->room, h, j), width);
}

long oa_cache_live_rows(const struct oa_horizon *h, long position)
{
    if (h->block)
        return position / h->block * h->summary + position % h->block;
    long first = h->span ? oa_max(0, position - h->span + 1) : 0,
         sinks = oa_min(h->sinks, position);
    return sinks + position - oa_max(first, sinks);
}

/* Number of summary rows in front of the window: the rest of completed blocks is evicted. */
static long horizon_summaries(const struct oa_horizon *h, long tokens, long rows)
{
    return h->summary ? (tokens - rows) / (h->block - h->summary) * h->summary : 0;
}

bool oa_cache_has_gap(const struct oa_horizon *h, long tokens, long rows)
{
    return rows < tokens && (h->sinks || h->summary);
}

void oa_cache_row_positions(const struct oa_horizon *h, long tokens, long rows, int32_t *positions)
{
    long sinks = oa_min(h->sinks, rows), front = sinks + horizon_summaries(h, tokens, rows);
    for (long r = 0; r < rows; r++) {
        long s = r - sinks, position = r < sinks ? r : tokens - (rows - r);
        if (s >= 0 && r < front)
            position = s / h->summary * h->block + h->block - h->summary + s % h->summary;
        positions[r] = (int32_t)position;
    }
}

/* Destination of rows: the slot itself, or larger memory. */
struct slot_memory {
    void *data;
    long room;
};

/* In place, moves at most from − to rows at a time: source and destination must not overlap. */
static void slot_move_rows(struct oa_device *d, const struct oa_cache_slot *p, long from, long rows,
                           struct slot_memory goal, long to)
{
    long most = goal.data == p->data ? from - to : rows, width = p->cols / p->heads;
    for (long i = 0, n; most > 0 && i < rows; i += n) {
        n = oa_min(most, rows - i);
        for (long h = 0; h < p->heads; h++)
            d->ops->select_rows(d, n, width, n, NULL,
                                slot_head_row(p, p->data, p->room, h, from + i), width,
                                slot_head_row(p, goal.data, goal.room, h, to + i), width);
    }
}

/* Moves live rows only: those in front, summaries of newly completed blocks, the window. */
static void slot_evict(struct oa_device *d, struct oa_cache_slot *p, struct slot_memory goal,
                       const struct oa_horizon *h, long tokens)
{
    long alive = oa_cache_live_rows(h, tokens);
    long front = oa_min(h->sinks, alive) + horizon_summaries(h, tokens, p->rows), to = front;
    slot_move_rows(d, p, 0, front, goal, 0);
    for (long end = front + h->block; h->summary && end <= p->rows;
         end += h->block, to += h->summary)
        slot_move_rows(d, p, end - h->summary, h->summary, goal, to);
    slot_move_rows(d, p, p->rows - (alive - to), alive - to, goal, to);
    p->rows = alive;
}

/* Room for always visible rows and two windows, or, where nothing is evicted, for all rows.
 * Eviction depends on the tokens only, not on the memory of a copy, so that sums of a copy have
 * equal bits. */
static bool slot_make_room(oa_tape *t, struct oa_cache_slot *p, const struct oa_horizon *h,
                           long count)
{
    struct oa_state *s = t->state;
    long rows = oa_cache_live_rows(h, s->tokens) + count, most = oa_max(s->length, rows);
    long window = h->block ? h->block : h->span;
    long front = h->block ? most / h->block * h->summary : h->sinks;
    long room = window            ? oa_max(rows, oa_min(most, front + 2 * window))
                : rows <= p->room ? p->room
                                  : oa_min(most, oa_max(LEAST_ROOM, oa_max(rows, 2 * p->room)));
    bool grows = room > p->room;
    p->least = window ? room : 0;
    if (p->rows + count <= room && !grows)
        return true;
    struct slot_memory goal = { p->data, p->room };
    if (grows)
        goal =
            (struct slot_memory){ t->device->ops->allocate(t->device, (size_t)room * p->row_bytes),
                                  room };
    if (!goal.data)
        return false;
    slot_evict(t->device, p, goal, h, s->tokens);
    if (grows) {
        cache_release(t->device, p->data);
        p->data = goal.data;
        p->room = goal.room;
    }
    return true;
}

static oa_tensor *slot_tensor(oa_tape *t, const struct oa_cache_slot *p)
{
    long width = p->cols / p->heads;
    return oa_tensor_from(t, p->data, p->rows, width, width, false);
}

/* Appends the rows of the new tokens. */
static struct oa_cache_slot *cache_append(oa_tape *t, oa_tensor *x, long heads,
                                          const struct oa_horizon *h)
{
    struct oa_cache_slot *p =
        x ? cache_next_slot(t, heads, x->cols, t->device->numbers.act_size) : NULL;
    if (!p || !slot_make_room(t, p, h, x->rows))
        return NULL;
    slot_put_rows(t, p, x, p->rows);
    p->rows += x->rows;
    p->alive = oa_cache_live_rows(h, t->state->tokens + x->rows);
    return p;
}

/* Stores the rows of a cross-attention memory; x NULL: those stored at the first call. */
static struct oa_cache_slot *cache_memory(oa_tape *t, oa_tensor *x, long heads)
{
    struct oa_cache_slot *p =
        cache_next_slot(t, heads, x ? x->cols : 0, t->device->numbers.act_size);
    if (!p || oa_status(t->context) != OA_OK)
        return NULL;
    if (!x)
        return p;
    if (x->rows > p->room) {
        cache_release(t->device, p->data);
        p->data = t->device->ops->allocate(t->device, (size_t)x->rows * p->row_bytes);
        p->room = p->data ? x->rows : 0;
    }
    if (!p->data)
        return NULL;
    slot_put_rows(t, p, x, 0);
    p->rows = p->alive = x->rows;
    return p;
}

static struct oa_cache_slot *cache_keys(oa_tape *t, struct oa_attention_shape *shape,
                                        const struct oa_horizon *horizon, long heads, oa_tensor *x)
{
    static const struct oa_horizon unlimited = { 0 };
    const struct oa_horizon *h = shape->causal && horizon ? horizon : &unlimited;
    struct oa_cache_slot *p =
        shape->causal ? cache_append(t, x, heads, h) : cache_memory(t, x, heads);
    if (!p)
        return NULL;
    shape->keys = p->rows;
    shape->first = shape->causal ? p->rows - shape->queries : t->state->tokens;
    shape->summaries = horizon_summaries(h, t->state->tokens + shape->queries, p->rows);
    return p;
}

oa_tensor *oa_cache_rows(oa_tape *t, struct oa_attention_shape *shape,
                         const struct oa_horizon *horizon, oa_tensor *x)
{
    struct oa_cache_slot *p = cache_keys(t, shape, horizon, 1, x);
    return p ? slot_tensor(t, p) : NULL;
}

oa_tensor *oa_cache_rows_by_head(oa_tape *t, struct oa_attention_shape *shape,
                                 const struct oa_horizon *horizon, oa_tensor *x)
{
    struct oa_cache_slot *p = cache_keys(t, shape, horizon, oa_key_heads(shape), x);
    if (!p)
        return NULL;
    if (shape->key_head_rows && shape->key_head_rows != p->room) {
        oa_fail(t->context, OA_INTERNAL, "cache slots of keys and values have %ld and %ld rows",
                shape->key_head_rows, p->room);
        return NULL;
    }
    shape->key_head_rows = p->room;
    return slot_tensor(t, p);
}
