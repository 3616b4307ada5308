/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints: the flat arrays of the store as they are in memory, so that a resumed run has the
 * same bits; progress and identity of the run in the metadata; a checksum over everything. */
#include "base/safetensors.h"
#include "model/model_identity.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define VERSION "2"
enum { VALUES, MOMENT1, MOMENT2, ARRAYS, FROZEN = ARRAYS, MOST };
static const char *const array_name[MOST] = { "values", "moment1", "moment2", "frozen" };

/* Host views of the flat arrays of a store; only the sizes of sharded or absent moments. */
struct store_arrays {
    struct oa_view view[MOST];
    struct oa_array array[MOST];
};

static const void *checkpoint_moment_bytes(void *argument, const struct oa_array *a)
{
    const struct oa_store *s = argument;
    return s->gather_moment(s->gather_argument, a->name == array_name[MOMENT2]);
}

static enum oa_error flat_open(const struct oa_model *m, unsigned use, struct store_arrays *f)
{
    const struct oa_store *s = &m->store;
    enum oa_type type = m->device->numbers.real;
    size_t real = oa_type_size(type);
    void *memory[MOST] = { s->values, s->moment1, s->moment2,
                           oa_real_at(m->device, s->values, s->live) };
    long size[MOST] = { s->live, s->updated, s->updated, s->total - s->live };
    for (int i = 0; i < MOST; i++) {
        bool moment = i == MOMENT1 || i == MOMENT2, sharded = s->sharded && moment;
        bool here = !sharded && (!moment || memory[i]);
        oa_view_open(&f->view[i], m->device, memory[i], here ? (size_t)size[i] * real : 0, use);
        f->array[i] = (struct oa_array){ .name = (char *)(uintptr_t)array_name[i],
                                         .type = type,
                                         .dims = 1,
                                         .dim = { size[i] },
                                         .data = f->view[i].host,
                                         .bytes = (size_t)size[i] * real };
        if (sharded) {
            f->array[i].make = checkpoint_moment_bytes;
            f->array[i].argument = (struct oa_store *)(uintptr_t)s;
        }
    }
    return oa_status(m->context);
}

static void flat_close(struct store_arrays *f)
{
    for (int i = 0; i < MOST; i++)
        oa_view_close(&f->view[i]);
}

/* CRC-32 of the frozen tensors, which are regenerated from the seed: detects differences between
 * machines. */
static void flat_frozen_crc(const struct store_arrays *f, char out[16])
{
    const struct oa_view *frozen = &f->view[FROZEN];
    unsigned long crc = crc32_z(0, NULL, 0);
    if (frozen->bytes)
        crc = crc32_z(crc, frozen->host, frozen->bytes);
    snprintf(out, 16, "%08lx", crc);
}

/* Number of arrays in the file; with train.init, frozen tensors cannot be regenerated and are
 * saved. */
static int flat_count(const struct store_arrays *f, const struct oa_progress *p)
{
    return p->origin.start.hex[0] && f->view[FROZEN].bytes ? MOST : ARRAYS;
}

static enum oa_error flat_write(const struct oa_model *m, const struct store_arrays *f,
                                const struct oa_progress *p, const char *path)
{
    struct oa_text options;
    char *form = oa_model_identity(m->context, &m->options, &m->form);
    char step[32], seconds[40], processor[40], tokens[40], best[96], frozen[16];
    flat_frozen_crc(f, frozen);
    oa_text_init(&options, m->context);
    oa_options_json(&m->options, &options);
    snprintf(step, sizeof step, "%ld", p->step);
    snprintf(seconds, sizeof seconds, "%.17g", p->seconds);
    snprintf(processor, sizeof processor, "%.17g", p->processor);
    snprintf(tokens, sizeof tokens, "%.17g", p->tokens);
    snprintf(best, sizeof best, "%ld %.17g %ld", p->best.step, p->best.score, p->best.stale);
    const struct {
        const char *key, *value;
        bool optional; /* left out where it is "" */
    } entry[] = { { "orthant.checkpoint", VERSION, false },
                  { "step", step, false },
                  { "seconds", seconds, false },
                  { "processor", processor, false },
                  { "tokens", tokens, false },
                  { "best", best, false },
                  { "options", options.s, false },
                  { OA_MODEL_IDENTITY, form, false },
                  { "frozen", frozen, false },
                  { "training_text", p->origin.training_text.hex, false },
                  { "validation_text", p->origin.validation_text.hex, false },
                  { "tokenizer", p->origin.tokenizer.hex, false },
                  { "arithmetic", p->arithmetic, false },
                  { "start", p->origin.start.hex, true },
                  { "teacher", p->origin.teacher.hex, true } };
    enum { ENTRIES = sizeof entry / sizeof *entry };
    const char *metadata[2 * ENTRIES + 1] = { NULL };
    for (int i = 0, n = 0; i < ENTRIES; i++)
        if (!entry[i].optional || entry[i].value[0]) {
            metadata[n++] = entry[i].key;
            metadata[n++] = entry[i].value;
        }
    enum oa_error e = oa_status(m->context);
    if (e == OA_OK)
        e = oa_tensors_write_checksummed(m->context, path, f->array, flat_count(f, p), metadata);
    oa_free(form);
    oa_text_free(&options);
    return e;
}

enum oa_error oa_checkpoint_save(const struct oa_model *m, const struct oa_progress *p,
                                 const char *path)
{
    struct store_arrays f;
    enum oa_error e = flat_open(m, OA_VIEW_READ, &f);
    if (e == OA_OK)
        e = flat_write(m, &f, p, path);
    flat_close(&f);
    return e;
}

/* ---- loading ---- */

static const char *checkpoint_text(const struct oa_tensors *f, const char *key)
{
    const char *text = oa_tensors_metadata(f, key);
    return text ? text : "";
}

/* oa_tensors_open has verified the checksum, if present; here it must be. */
static enum oa_error checkpoint_require_checksum(const struct oa_model *m, const char *path,
                                                 const struct oa_tensors *f)
{
    const char *version = oa_tensors_metadata(f, "orthant.checkpoint");
    if (!version || strcmp(version, VERSION) != 0)
        return oa_fail(m->context, OA_FORMAT,
                       "%s: not a checkpoint of this version of Orthant (format %s, expected %s)",
                       path, version ? version : "unknown", VERSION);
    if (!oa_tensors_metadata(f, OA_CHECKSUM_KEY))
        return oa_fail(m->context, OA_FORMAT, "%s: checksum missing: the checkpoint was altered",
                       path);
    return OA_OK;
}

static enum oa_error checkpoint_check_arrays(const struct oa_model *m, const char *path,
                                             const struct oa_tensors *f,
                                             const struct store_arrays *have, int arrays)
{
    char frozen[16];
    for (int i = 0; i < arrays; i++) {
        const struct oa_array *a = oa_tensors_find(f, array_name[i]);
        if (!a || a->bytes != have->array[i].bytes || a->type != have->array[i].type)
            return oa_fail(m->context, OA_FORMAT,
                           "%s: not a checkpoint of this model: array \"%s\" %s (did model.* or "
                           "train.precision change?)",
                           path, array_name[i], a ? "has another size or type" : "is missing");
    }
    flat_frozen_crc(have, frozen);
    if (arrays == ARRAYS && strcmp(frozen, checkpoint_text(f, "frozen")) != 0)
        return oa_fail(m->context, OA_FORMAT,
                       "%s: the frozen tensors generated from train.seed differ from those of the "
                       "run: the seed changed, or this machine's math library rounds differently; "
                       "resume on the machine where the run started",
                       path);
    return OA_OK;
}

static struct oa_digest checkpoint_digest(const struct oa_tensors *f, const char *key)
{
    struct oa_digest d;
    snprintf(d.hex, sizeof d.hex, "%s", checkpoint_text(f, key));
    return d;
}

static enum oa_error checkpoint_read_progress(oa_context *c, const char *path,
                                              const struct oa_tensors *f, struct oa_progress *p)
{
    *p = (struct oa_progress){ .step = strtol(checkpoint_text(f, "step"), NULL, 10),
                               .seconds = strtod(checkpoint_text(f, "seconds"), NULL),
                               .processor = strtod(checkpoint_text(f, "processor"), NULL),
                               .tokens = strtod(checkpoint_text(f, "tokens"), NULL),
                               .origin = { .training_text = checkpoint_digest(f, "training_text"),
                                           .validation_text =
                                               checkpoint_digest(f, "validation_text"),
                                           .tokenizer = checkpoint_digest(f, "tokenizer"),
                                           .start = checkpoint_digest(f, "start"),
                                           .teacher = checkpoint_digest(f, "teacher") } };
    snprintf(p->arithmetic, sizeof p->arithmetic, "%s", checkpoint_text(f, "arithmetic"));
    struct oa_best *b = &p->best; /* absent from checkpoints of old versions */
    if (sscanf(checkpoint_text(f, "best"), "%ld %lg %ld", &b->step, &b->score, &b->stale) != 3)
        *b = (struct oa_best){ 0 };
    oa_options_default(&p->options);
    return oa_options_from_json(c, &p->options, path, checkpoint_text(f, "options"));
}

static enum oa_error checkpoint_restore(struct oa_model *m, const struct oa_progress *p,
                                        const char *path, const struct oa_tensors *from)
{
    struct store_arrays f;
    enum oa_error e = flat_open(m, OA_VIEW_READ | OA_VIEW_WRITE, &f);
    int arrays = flat_count(&f, p);
    if (e == OA_OK)
        e = checkpoint_check_arrays(m, path, from, &f, arrays);
    for (int i = 0; e == OA_OK && i < arrays; i++)
        if (f.view[i].bytes)
            memcpy(f.view[i].host, oa_tensors_find(from, array_name[i])->data, f.view[i].bytes);
    flat_close(&f);
    if (e == OA_OK)
        oa_store_refresh_all(&m->store);
    return e;
}

enum oa_error oa_checkpoint_moment(const struct oa_model *m, const char *path, int moment,
                                   void *out)
{
    struct oa_tensors *f;
    OA_TRY(oa_tensors_open(m->context, path, &f));
    const struct oa_array *a = oa_tensors_find(f, array_name[MOMENT1 + moment]);
    bool there = a && a->bytes == (size_t)m->store.updated * m->device->numbers.real_size;
    if (there)
        memcpy(out, a->data, a->bytes);
    oa_tensors_close(f);
    return there ? OA_OK
                 : oa_fail(m->context, OA_FORMAT, "%s changed while being read; try again", path);
}

enum oa_error oa_checkpoint_load(struct oa_model *m, struct oa_progress *p, const char *path,
                                 oa_accept *accept, void *argument)
{
    struct oa_tensors *f;
    OA_TRY(oa_tensors_open(m->context, path, &f));
    enum oa_error e = checkpoint_require_checksum(m, path, f);
    if (e == OA_OK)
        e = checkpoint_read_progress(m->context, path, f, p);
    if (e == OA_OK)
        e = accept(argument, p);
    const char *identity = oa_tensors_metadata(f, OA_MODEL_IDENTITY); /* NULL: of an old version */
    if (e == OA_OK && identity)
        e = oa_model_check_identity(m->context, path, identity, &m->options, &m->form);
    if (e == OA_OK)
        e = checkpoint_restore(m, p, path, f);
    oa_tensors_close(f);
    return e;
}
