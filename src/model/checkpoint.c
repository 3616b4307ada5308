/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints: the flat arrays of the store as they are in memory, so that going on gives the same bits, with a CRC-32
 * over all of it, because a file can be altered without its header showing it. */
#include "model/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ARRAYS = 3 };
static const char *const array_name[ARRAYS] = { "values", "moment1", "moment2" };

static void flat_arrays(const struct oa_model *m, struct oa_array out[ARRAYS])
{
    const struct oa_store *s = &m->store;
    enum oa_type type = m->device->kernels.real;
    void *memory[ARRAYS] = { s->values, s->moment1, s->moment2 };
    long size[ARRAYS] = { s->live, s->updated, s->updated };
    for (int i = 0; i < ARRAYS; i++)
        out[i] = (struct oa_array){ .name = (char *)(uintptr_t)array_name[i],
                                    .type = type,
                                    .dims = 1,
                                    .dim = { size[i] },
                                    .data = memory[i],
                                    .bytes = (size_t)size[i] * oa_type_size(type) };
}

static unsigned long checksum(const struct oa_array *arrays)
{
    unsigned long crc = crc32_z(0, NULL, 0);
    for (int i = 0; i < ARRAYS; i++)
        crc = crc32_z(crc, arrays[i].data, arrays[i].bytes);
    return crc;
}

enum oa_error oa_checkpoint_save(const struct oa_model *m, const struct oa_progress *p, const char *path)
{
    struct oa_array arrays[ARRAYS];
    flat_arrays(m, arrays);
    char crc[32], step[32], seconds[40], tokens[40], data[32];
    snprintf(crc, sizeof crc, "%08lx", checksum(arrays));
    snprintf(step, sizeof step, "%ld", p->step);
    snprintf(seconds, sizeof seconds, "%.17g", p->seconds);
    snprintf(tokens, sizeof tokens, "%.17g", p->tokens);
    snprintf(data, sizeof data, "%016" PRIx64, p->data);
    const char *metadata[] = { "orthant.checkpoint",
                               "1",
                               "crc32",
                               crc,
                               "step",
                               step,
                               "seconds",
                               seconds,
                               "tokens",
                               tokens,
                               "data",
                               data,
                               "attention",
                               m->options.model_attention,
                               NULL };
    return oa_tensors_write(m->context, path, arrays, ARRAYS, metadata);
}

static enum oa_error check(const struct oa_model *m, const char *path, const struct oa_tensors *f,
                           const struct oa_array *have)
{
    struct oa_array got[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) {
        const struct oa_array *a = oa_tensors_find(f, array_name[i]);
        if (!a || a->bytes != have[i].bytes || a->type != have[i].type)
            return oa_fail(
                m->context, OA_FORMAT,
                "%s: not a checkpoint of this model: array \"%s\" %s (were model.* or train.precision changed?)", path,
                array_name[i], a ? "has another size or type" : "is missing");
        got[i] = *a;
    }
    const char *crc = oa_tensors_metadata(f, "crc32");
    if (!crc || strtoul(crc, NULL, 16) != checksum(got))
        return oa_fail(m->context, OA_FORMAT, "%s: the contents do not match their checksum: the file was altered",
                       path);
    return OA_OK;
}

static const char *text_of(const struct oa_tensors *f, const char *key)
{
    const char *text = oa_tensors_metadata(f, key);
    return text ? text : "0";
}

enum oa_error oa_checkpoint_load(struct oa_model *m, struct oa_progress *p, const char *path)
{
    struct oa_tensors *f;
    OA_TRY(oa_tensors_open(m->context, path, &f));
    struct oa_array arrays[ARRAYS];
    flat_arrays(m, arrays);
    enum oa_error e = check(m, path, f, arrays);
    for (int i = 0; e == OA_OK && i < ARRAYS; i++)
        memcpy((void *)(uintptr_t)arrays[i].data, oa_tensors_find(f, array_name[i])->data, arrays[i].bytes);
    if (e == OA_OK) {
        *p = (struct oa_progress){ .step = strtol(text_of(f, "step"), NULL, 10),
                                   .seconds = strtod(text_of(f, "seconds"), NULL),
                                   .tokens = strtod(text_of(f, "tokens"), NULL),
                                   .data = strtoull(text_of(f, "data"), NULL, 16) };
        oa_store_refresh(&m->store);
    }
    oa_tensors_close(f);
    return e;
}
