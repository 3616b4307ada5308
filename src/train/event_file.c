/* SPDX-License-Identifier: Apache-2.0
 * Scalars for TensorBoard: one event file a run. It is a list of little-endian records,
 *
 *     length (8 bytes) | masked CRC-32C of these (4) | data | masked CRC-32C of the data (4)
 *
 * whose data are protocol buffers:
 *
 *     Event { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5 }
 *     Summary { repeated Value value = 1 }
 *     Value { string tag = 1; float simple_value = 2 }
 *
 * The first has the version. A resumed run first removes records newer than its checkpoint. */
#include "base/crc32c.h"
#include "base/little_endian.h"
#include "train/train.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EVENT_FILE "events.out.tfevents.orthant"
enum { FIXED64 = 1, BYTES = 2, FIXED32 = 5, HEAD = 12, TAIL = 4, WALL_TIME = 9 };

/* ---- bytes ---- */

struct bytes {
    uint8_t *at;
    size_t count;
};

static void put_raw(struct bytes *b, const void *data, size_t count)
{
    memcpy(b->at + b->count, data, count);
    b->count += count;
}

static void put_little(struct bytes *b, uint64_t x, int count)
{
    oa_put_little_endian(b->at + b->count, x, count);
    b->count += (size_t)count;
}

static void put_varint(struct bytes *b, uint64_t x)
{
    for (; x > 0x7f; x >>= 7)
        b->at[b->count++] = (uint8_t)(x | 0x80);
    b->at[b->count++] = (uint8_t)x;
}

static void put_key(struct bytes *b, int field, int kind)
{
    put_varint(b, (uint64_t)(field << 3 | kind));
}

static void put_bytes(struct bytes *b, int field, const void *data, size_t count)
{
    put_key(b, field, BYTES);
    put_varint(b, count);
    put_raw(b, data, count);
}

static void put_double(struct bytes *b, int field, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_key(b, field, FIXED64);
    put_little(b, bits, sizeof bits);
}

/* ---- records ---- */

static void put_record(struct bytes *b, const struct bytes *data)
{
    size_t start = b->count;
    put_little(b, data->count, 8);
    put_little(b, oa_masked_crc32c(b->at + start, 8), 4);
    put_raw(b, data->at, data->count);
    put_little(b, oa_masked_crc32c(data->at, data->count), 4);
}

/* ---- events ---- */

static void put_scalar(struct bytes *summary, const char *tag, double x)
{
    uint8_t room[64];
    struct bytes value = { room, 0 };
    float single = (float)x;
    uint32_t bits;
    if (!isfinite(x))
        return;
    memcpy(&bits, &single, sizeof bits);
    put_bytes(&value, 1, tag, strlen(tag));
    put_key(&value, 2, FIXED32);
    put_little(&value, bits, sizeof bits);
    put_bytes(summary, 1, value.at, value.count);
}

size_t oa_event_print(double wall_time, const struct oa_log_line *line, uint8_t out[OA_EVENT])
{
    uint8_t room[OA_EVENT], inner[OA_EVENT];
    struct bytes record = { out, 0 }, event = { room, 0 }, summary = { inner, 0 };
    put_scalar(&summary, "loss/train", line->loss);
    put_scalar(&summary, "loss/valid", line->valid_loss);
    for (int i = 1; i < oa_measures_count(line->measures); i++) {
        char tag[40];
        snprintf(tag, sizeof tag, "%.24s/valid", line->measures[i].name);
        put_scalar(&summary, tag, line->scores[i]);
    }
    put_scalar(&summary, "learning_rate", line->lr);
    put_scalar(&summary, "gradient_norm", line->gradient_norm);
    put_scalar(&summary, "tokens_per_second", line->tokens / line->seconds);
    put_double(&event, 1, wall_time);
    put_key(&event, 2, 0);
    put_varint(&event, (uint64_t)line->step);
    put_bytes(&event, 5, summary.at, summary.count);
    put_record(&record, &event);
    return record.count;
}

static size_t print_version_event(double wall_time, uint8_t out[OA_EVENT])
{
    uint8_t room[64];
    struct bytes record = { out, 0 }, event = { room, 0 };
    put_double(&event, 1, wall_time);
    put_bytes(&event, 3, "brain.Event:2", 13);
    put_record(&record, &event);
    return record.count;
}

static double wall_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum oa_error oa_events_add(oa_context *c, const char *folder, const struct oa_log_line *line)
{
    char path[OA_PATH];
    uint8_t record[OA_EVENT];
    OA_TRY(oa_path(c, path, folder, EVENT_FILE));
    if (!oa_file_exists(path))
        OA_TRY(oa_file_write(c, path, record, print_version_event(wall_clock(), record)));
    return oa_file_append(c, path, record, oa_event_print(wall_clock(), line, record));
}

/* ---- resuming ---- */

/* Bytes of the record at the beginning of b; 0 when it is not whole. */
static size_t whole_record_size(const uint8_t *b, size_t left)
{
    uint64_t length = left > HEAD + TAIL ? oa_get_little_endian(b, 8) : 0;
    if (!length || length > left - HEAD - TAIL ||
        oa_get_little_endian(b + 8, 4) != oa_masked_crc32c(b, 8) ||
        oa_get_little_endian(b + HEAD + length, 4) != oa_masked_crc32c(b + HEAD, length))
        return 0;
    return HEAD + (size_t)length + TAIL;
}

/* Of an event as it is written here: after the time; 0 where it is left out. */
static long event_step(const uint8_t *record, size_t bytes)
{
    const uint8_t *b = record + HEAD + WALL_TIME, *end = record + bytes - TAIL;
    uint64_t step = 0;
    if (b >= end || *b++ != 2 << 3)
        return 0;
    for (int shift = 0; b < end && shift < 63; shift += 7) {
        step |= (uint64_t)(*b & 0x7f) << shift;
        if (!(*b++ & 0x80))
            break;
    }
    return (long)step;
}

enum oa_error oa_events_rewind(oa_context *c, const char *folder, long step)
{
    char path[OA_PATH], *data;
    size_t length, kept = 0, bytes;
    OA_TRY(oa_path(c, path, folder, EVENT_FILE));
    if (!oa_file_exists(path))
        return OA_OK;
    OA_TRY(oa_file_read(c, path, &data, &length));
    const uint8_t *b = (const uint8_t *)data;
    while ((bytes = whole_record_size(b + kept, length - kept)) &&
           event_step(b + kept, bytes) <= step)
        kept += bytes;
    enum oa_error e = OA_OK;
    if (kept == 0)
        unlink(path); /* begun anew, with the version first */
    else if (kept < length)
        e = oa_file_write(c, path, data, kept);
    oa_free(data);
    return e;
}
