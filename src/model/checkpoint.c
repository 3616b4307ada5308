/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints: the flat arrays of the store as they are in memory, so that going on gives the same
 * bits, and in the metadata all that says what run it is, everything under the checksum of the
 * file. */
#include "base/safetensors.h"
#include "model/model_identity.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define VERSION "2"
enum { VALUES, MOMENT1, MOMENT2, ARRAYS, FROZEN = ARRAYS, MOST };
static const char *const array_name[MOST] = { "values", "moment1", "moment2", "frozen" };

/* The flat arrays of a store, where the host reads and writes them; of moments that are apart, or
 * not there in a model that is not trained, only their sizes. */
struct flat {
    struct oa_view view[MOST];
    struct oa_array array[MOST];
};

static const void *make_moment(void *argument, const struct oa_array *a)
{
    const struct oa_store *s = argument;
    return s->gather_moment(s->gather_argument, a->name == array_name[MOMENT2]);
}

static void put_apart(const struct oa_store *s, struct oa_array *a)
{
    a->make = make_moment;
    a->argument = (struct oa_store *)(uintptr_t)s;
}

static enum oa_error open_flat(const struct oa_model *m, unsigned use, struct flat *f)
{
    const struct oa_store *s = &m->store;
    enum oa_type type = m->device->numbers.real;
    size_t real = oa_type_size(type);
    void *memory[MOST] = { s->values, s->moment1, s->moment2,
                           oa_real_at(m->device, s->values, s->live) };
    long size[MOST] = { s->live, s->updated, s->updated, s->total - s->live };
    for (int i = 0; i < MOST; i++) {
        bool moment = i == MOMENT1 || i == MOMENT2, apart = s->sharded && moment;
        bool here = !apart && (!moment || memory[i]);
        oa_view_open(&f->view[i], m->device, memory[i], here ? (size_t)size[i] * real : 0, use);
        f->array[i] = (struct oa_array){ .name = (char *)(uintptr_t)array_name[i],
                                         .type = type,
                                         .dims = 1,
                                         .dim = { size[i] },
                                         .data = f->view[i].host,
                                         .bytes = (size_t)size[i] * real };
        if (apart)
            put_apart(s, &f->array[i]);
    }
    return oa_status(m->context);
}

static void close_flat(struct flat *f)
{
    for (int i = 0; i < MOST; i++)
        oa_view_close(&f->view[i]);
}

/* Frozen tensors are made again from the seed; this says whether they came out the same, on
 * whatever machine. */
static void frozen_text(const struct flat *f, char out[16])
{
    const struct oa_view *frozen = &f->view[FROZEN];
    unsigned long crc = crc32_z(0, NULL, 0);
    if (frozen->bytes)
        crc = crc32_z(crc, frozen->host, frozen->bytes);
    snprintf(out, 16, "%08lx", crc);
}

/* Those of another model (train.init) no seed gives again. */
static int arrays_of(const struct flat *f, const struct oa_progress *p)
{
    return p->origin.start.hex[0] && f->view[FROZEN].bytes ? MOST : ARRAYS;
}

static enum oa_error write_flat(const struct oa_model *m, const struct flat *f,
                                const struct oa_progress *p, const char *path)
{
    struct oa_text options;
    char *form = oa_model_identity(m->context, &m->options, &m->form);
    char step[32], seconds[40], processor[40], tokens[40], best[96], frozen[16];
    frozen_text(f, frozen);
    oa_text_init(&options, m->context);
    oa_options_json(&m->options, &options);
    snprintf(step, sizeof step, "%ld", p->step);
    snprintf(seconds, sizeof seconds, "%.17g", p->seconds);
    snprintf(processor, sizeof processor, "%.17g", p->processor);
    snprintf(tokens, sizeof tokens, "%.17g", p->tokens);
    snprintf(best, sizeof best, "%ld %.17g %ld", p->best.step, p->best.score, p->best.stale);
    const char *metadata[] = { "orthant.checkpoint",
                               VERSION,
                               "step",
                               step,
                               "seconds",
                               seconds,
                               "processor",
                               processor,
                               "tokens",
                               tokens,
                               "best",
                               best,
                               "options",
                               options.s,
                               OA_MODEL_IDENTITY,
                               form,
                               "frozen",
                               frozen,
                               "training_text",
                               p->origin.training_text.hex,
                               "validation_text",
                               p->origin.validation_text.hex,
                               "tokenizer",
                               p->origin.tokenizer.hex,
                               p->origin.start.hex[0] ? "start" : NULL,
                               p->origin.start.hex,
                               NULL };
    enum oa_error e = oa_status(m->context);
    if (e == OA_OK)
        e = oa_tensors_write_checksummed(m->context, path, f->array, arrays_of(f, p), metadata);
    free(form);
    oa_text_free(&options);
    return e;
}

enum oa_error oa_checkpoint_save(const struct oa_model *m, const struct oa_progress *p,
                                 const char *path)
{
    struct flat f;
    enum oa_error e = open_flat(m, OA_VIEW_READ, &f);
    if (e == OA_OK)
        e = write_flat(m, &f, p, path);
    close_flat(&f);
    return e;
}

/* ---- loading ---- */

static const char *text_of(const struct oa_tensors *f, const char *key)
{
    const char *text = oa_tensors_metadata(f, key);
    return text ? text : "";
}

/* Nothing below is asked before this: a checksum that fits says that every text is there as it was
 * written. */
static enum oa_error checkpoint_require_checksum(const struct oa_model *m, const char *path,
                                                 const struct oa_tensors *f)
{
    const char *version = oa_tensors_metadata(f, "orthant.checkpoint");
    if (!version || strcmp(version, VERSION) != 0)
        return oa_fail(m->context, OA_FORMAT,
                       "%s: not a checkpoint of this version of Orthant (form %s, expected %s)",
                       path, version ? version : "unknown", VERSION);
    if (!oa_tensors_metadata(f, OA_CHECKSUM_KEY))
        return oa_fail(m->context, OA_FORMAT,
                       "%s: the checkpoint has no checksum: the file was altered", path);
    return OA_OK;
}

static enum oa_error check_arrays(const struct oa_model *m, const char *path,
                                  const struct oa_tensors *f, const struct flat *have, int arrays)
{
    char frozen[16];
    for (int i = 0; i < arrays; i++) {
        const struct oa_array *a = oa_tensors_find(f, array_name[i]);
        if (!a || a->bytes != have->array[i].bytes || a->type != have->array[i].type)
            return oa_fail(m->context, OA_FORMAT,
                           "%s: not a checkpoint of this model: array \"%s\" %s (were model.* or "
                           "train.precision changed?)",
                           path, array_name[i], a ? "has another size or type" : "is missing");
    }
    frozen_text(have, frozen);
    if (arrays == ARRAYS && strcmp(frozen, text_of(f, "frozen")) != 0)
        return oa_fail(
            m->context, OA_FORMAT,
            "%s: the frozen tensors that train.seed gives here are not those the run was begun "
            "with: another "
            "seed, or another machine's mathematical library; go on where the run was begun",
            path);
    return OA_OK;
}

static struct oa_digest digest(const struct oa_tensors *f, const char *key)
{
    struct oa_digest d;
    snprintf(d.hex, sizeof d.hex, "%s", text_of(f, key));
    return d;
}

/* Checkpoints of older programs say nothing of it. */
static struct oa_best read_best(const struct oa_tensors *f)
{
    struct oa_best b;
    bool there = sscanf(text_of(f, "best"), "%ld %lg %ld", &b.step, &b.score, &b.stale) == 3;
    return there ? b : (struct oa_best){ 0 };
}

static enum oa_error read_progress(oa_context *c, const char *path, const struct oa_tensors *f,
                                   struct oa_progress *p)
{
    *p = (struct oa_progress){ .step = strtol(text_of(f, "step"), NULL, 10),
                               .seconds = strtod(text_of(f, "seconds"), NULL),
                               .processor = strtod(text_of(f, "processor"), NULL),
                               .tokens = strtod(text_of(f, "tokens"), NULL),
                               .best = read_best(f),
                               .origin = { .training_text = digest(f, "training_text"),
                                           .validation_text = digest(f, "validation_text"),
                                           .tokenizer = digest(f, "tokenizer"),
                                           .start = digest(f, "start") } };
    oa_options_default(&p->options);
    return oa_options_from_json(c, &p->options, path, text_of(f, "options"));
}

static void copy_arrays(const struct oa_tensors *from, const struct flat *to, int arrays)
{
    for (int i = 0; i < arrays; i++)
        if (to->view[i].bytes)
            memcpy(to->view[i].host, oa_tensors_find(from, array_name[i])->data, to->view[i].bytes);
}

/* Of another form, or with other options that say what the model is; older programs' checkpoints
 * are silent. */
static enum oa_error check_model(const struct oa_model *m, const char *path,
                                 const struct oa_tensors *f)
{
    const char *identity = oa_tensors_metadata(f, OA_MODEL_IDENTITY);
    return identity ? oa_model_check_identity(m->context, path, identity, &m->options, &m->form)
                    : OA_OK;
}

static enum oa_error copy_in(struct oa_model *m, const struct oa_progress *p, const char *path,
                             const struct oa_tensors *from)
{
    struct flat f;
    enum oa_error e = open_flat(m, OA_VIEW_READ | OA_VIEW_WRITE, &f);
    int arrays = arrays_of(&f, p);
    if (e == OA_OK)
        e = check_arrays(m, path, from, &f, arrays);
    if (e == OA_OK)
        copy_arrays(from, &f, arrays);
    close_flat(&f);
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
    return there
               ? OA_OK
               : oa_fail(m->context, OA_FORMAT, "%s changed while it was read: start again", path);
}

enum oa_error oa_checkpoint_load(struct oa_model *m, struct oa_progress *p, const char *path,
                                 oa_accept *accept, void *argument)
{
    struct oa_tensors *f;
    OA_TRY(oa_tensors_open(m->context, path, &f));
    enum oa_error e = checkpoint_require_checksum(m, path, f);
    if (e == OA_OK)
        e = read_progress(m->context, path, f, p);
    if (e == OA_OK)
        e = accept(argument, p);
    if (e == OA_OK)
        e = check_model(m, path, f);
    if (e == OA_OK)
        e = copy_in(m, p, path, f);
    oa_tensors_close(f);
    return e;
}
