/* SPDX-License-Identifier: Apache-2.0
 * The weights of a GGUF file or of a Hugging Face folder: model.safetensors, or shards that
 * model.safetensors.index.json lists; and their tensors by the table of a family. */
#include "base/json_read.h"
#include "base/safetensors.h"
#include "families/families.h"
#include "families/gguf_model.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <string.h>

enum { NAME = OA_TENSOR_NAME, MOST_SHARDS = 10000 };
static const char weights[] = "model.safetensors", index_name[] = "model.safetensors.index.json",
                  remedy[] = "fetch the file again";

struct oa_weight_files {
    oa_context *context;
    const struct oa_model_family *family;
    struct oa_family_tensor *table; /* owned */
    double query_factor;
    struct shard {
        char path[OA_PATH];
        struct oa_tensors *tensors; /* NULL: of a GGUF file, whose tensors are in `array` */
        struct oa_array *array;
        int arrays;
    } * shard;
    int shards;
};

/* ---- tensors of a shard ---- */

static const struct oa_array *find_in_shard(const struct shard *s, const char *name)
{
    if (s->tensors)
        return oa_tensors_find(s->tensors, name);
    for (int i = 0; i < s->arrays; i++)
        if (strcmp(s->array[i].name, name) == 0)
            return &s->array[i];
    return NULL;
}

/* ---- files ---- */

static enum oa_error add_weight_shard(struct oa_weight_files *f, const char *folder,
                                      const char *name)
{
    oa_context *c = f->context;
    struct shard *s = &f->shard[f->shards];
    if (strchr(name, '/') || !oa_name_ends(name, ".safetensors"))
        return oa_fail(c, OA_FORMAT,
                       "%s/%s names the shard '%.100s', which is no *.safetensors "
                       "in that folder",
                       folder, index_name, name);
    OA_TRY(oa_path(c, s->path, folder, name));
    if (!oa_file_exists(s->path))
        return oa_fail(c, OA_IO, "%s/%s names %s, which is missing; fetch it", folder, index_name,
                       name);
    OA_TRY(oa_tensors_open(c, s->path, &s->tensors));
    f->shards++;
    return OA_OK;
}

static enum oa_error open_listed(struct oa_weight_files *f, const char *folder, const json_t *root)
{
    oa_context *c = f->context;
    const json_t *map = json_object_get(root, "weight_map");
    const char *tensor;
    json_t *file;
    if (!json_is_object(map) || !json_object_size(map))
        return oa_fail(c, OA_FORMAT, "%s/%s has no \"weight_map\"; %s", folder, index_name, remedy);
    f->shard = oa_alloc(c, json_object_size(map) * sizeof *f->shard);
    if (!f->shard)
        return OA_NO_MEMORY;
    json_object_foreach((json_t *)(uintptr_t)map, tensor, file)
    {
        const char *name = json_string_value(file);
        if (!name)
            return oa_fail(c, OA_FORMAT, "%s/%s: \"weight_map\" has no file for %s", folder,
                           index_name, tensor);
        bool open = false;
        for (int i = 0; i < f->shards && !open; i++)
            open = strcmp(strrchr(f->shard[i].path, '/') + 1, name) == 0;
        if (!open)
            OA_TRY(add_weight_shard(f, folder, name));
        if (f->shards > MOST_SHARDS)
            return oa_fail(c, OA_UNSUPPORTED, "%s/%s names more than %d shards", folder, index_name,
                           MOST_SHARDS);
    }
    json_object_foreach((json_t *)(uintptr_t)map, tensor, file)
    {
        const struct shard *s = f->shard;
        while (strcmp(strrchr(s->path, '/') + 1, json_string_value(file)) != 0)
            s++;
        if (!oa_tensors_find(s->tensors, tensor))
            return oa_fail(c, OA_FORMAT, "%s lacks tensor %s, which %s lists for it; %s", s->path,
                           tensor, index_name, remedy);
    }
    return OA_OK;
}

static enum oa_error refuse_other_weights(oa_context *c, const char *folder)
{
    static const struct {
        const char *name, *why;
    } others[] = {
        { "pytorch_model.bin", "a pickle, which can run code when it is opened. Convert it: python "
                               "-c \"import torch, safetensors.torch as s; s.save_model("
                               "__import__('transformers').AutoModelForCausalLM.from_pretrained('.'"
                               "), 'model.safetensors')\"" },
        { "pytorch_model.bin.index.json", "an index of pickles, which can run code when they are "
                                          "opened; save the model with save_pretrained" },
        { "tf_model.h5", "of TensorFlow; save the model with save_pretrained" },
        { "flax_model.msgpack", "of Flax; save the model with save_pretrained" },
    };
    char path[OA_PATH];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        OA_TRY(oa_path(c, path, folder, others[i].name));
        if (oa_file_exists(path))
            return oa_fail(c, OA_UNSUPPORTED, "%s is %s", path, others[i].why);
    }
    return oa_fail(c, OA_IO, "%s has neither %s nor %s", folder, weights, index_name);
}

static enum oa_error open_shards(struct oa_weight_files *f, const char *folder)
{
    oa_context *c = f->context;
    char path[OA_PATH];
    json_t *root;
    OA_TRY(oa_path(c, path, folder, weights));
    if (oa_file_exists(path)) {
        f->shard = oa_alloc(c, sizeof *f->shard);
        return f->shard ? add_weight_shard(f, folder, weights) : OA_NO_MEMORY;
    }
    OA_TRY(oa_path(c, path, folder, index_name));
    if (!oa_file_exists(path))
        return refuse_other_weights(c, folder);
    OA_TRY(oa_json_read(c, path, remedy, &root));
    enum oa_error e = open_listed(f, folder, root);
    json_decref(root);
    return e;
}

/* Copies the table, with the number of the first position and zeros for biases that config.json
 * excludes. */
static enum oa_error copy_family_table(struct oa_weight_files *f, const struct oa_imported *i)
{
    const struct oa_family_tensor *table = oa_family_tensors(i->family, &i->form, &i->options);
    size_t rows = 0;
    while (table[rows++].theirs)
        ;
    f->table = oa_alloc(f->context, rows * sizeof *f->table);
    for (size_t r = 0; f->table && r < rows; r++) {
        struct oa_family_tensor *t = &f->table[r];
        *t = table[r];
        if (t->skip == OA_FIRST_POSITION)
            t->skip = i->first_position;
        bool bias = t->theirs && oa_name_ends(t->ours, ".bias");
        for (int k = 0; bias && k < OA_HF_ABSENT && i->absent_biases[k]; k++)
            if (strstr(t->ours, i->absent_biases[k]))
                t->layout = OA_LAYOUT_ZERO;
    }
    return oa_status(f->context);
}

static enum oa_error new_weight_files(oa_context *c, const struct oa_imported *i,
                                      struct oa_weight_files **out)
{
    struct oa_weight_files *f = *out = oa_alloc(c, sizeof *f);
    if (!f)
        return OA_NO_MEMORY;
    f->context = c;
    f->family = i->family;
    f->query_factor = i->query_factor;
    return copy_family_table(f, i);
}

enum oa_error oa_weight_files_open(oa_context *c, const char *folder, const struct oa_imported *i,
                                   struct oa_weight_files **out)
{
    OA_TRY(new_weight_files(c, i, out));
    return open_shards(*out, folder);
}

enum oa_error oa_weight_files_read_gguf(oa_context *c, const struct oa_gguf *g,
                                        const struct oa_imported *i, struct oa_weight_files **out)
{
    OA_TRY(new_weight_files(c, i, out));
    struct shard *s = (*out)->shard = oa_alloc(c, sizeof *s);
    if (!s)
        return OA_NO_MEMORY;
    (*out)->shards = 1;
    snprintf(s->path, sizeof s->path, "%s", oa_gguf_path(g));
    return oa_gguf_arrays(c, g, &s->array, &s->arrays);
}

void oa_weight_files_close(struct oa_weight_files *f)
{
    if (!f)
        return;
    for (int i = 0; i < f->shards; i++) {
        oa_tensors_close(f->shard[i].tensors);
        oa_gguf_arrays_free(f->shard[i].array, f->shard[i].arrays);
    }
    oa_free(f->shard);
    oa_free(f->table);
    oa_free(f);
}

/* ---- names ---- */

/* Whether a name matches a pattern; layer: the number in place of '#', −1 without one. */
static bool tensor_name_matches(const char *pattern, const char *name, long *layer)
{
    *layer = -1;
    for (; *pattern && *name; pattern++) {
        if (*pattern != '#') {
            if (*pattern != *name++)
                return false;
            continue;
        }
        if (!isdigit((unsigned char)*name) || (*name == '0' && isdigit((unsigned char)name[1])))
            return false;
        for (*layer = 0; isdigit((unsigned char)*name) && *layer < 100000; name++)
            *layer = 10 * *layer + (*name - '0');
    }
    return !*pattern && !*name;
}

void oa_family_layer_name(const char *pattern, long layer, char out[OA_TENSOR_NAME])
{
    const char *mark = strchr(pattern, '#');
    if (mark)
        snprintf(out, NAME, "%.*s%ld%s", (int)(mark - pattern), pattern, layer, mark + 1);
    else
        snprintf(out, NAME, "%s", pattern);
}

/* Files converted from TensorFlow have LayerNorm.gamma and LayerNorm.beta. */
static const struct {
    const char *newer, *older;
} renamed[] = { { "LayerNorm.weight", "LayerNorm.gamma" }, { "LayerNorm.bias", "LayerNorm.beta" } };

/* The older name of a newer one, or the reverse; other names are copied. */
static void rename_norm(const char *name, bool to_older, char out[NAME])
{
    snprintf(out, NAME, "%s", name);
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        const char *from = to_older ? renamed[i].newer : renamed[i].older,
                   *to = to_older ? renamed[i].older : renamed[i].newer;
        if (oa_name_ends(name, from))
            snprintf(out, NAME, "%.*s%s", (int)(strlen(name) - strlen(from)), name, to);
    }
}

/* The name without the prefix of the family, which some files lack. */
static const char *name_without_prefix(const struct oa_weight_files *f, const char *name)
{
    size_t n = strlen(f->family->prefix);
    return strncmp(name, f->family->prefix, n) == 0 ? name + n : name;
}

/* tensor_name_matches, with the prefix of the pattern or without. */
static bool tensor_in_file_matches(const struct oa_weight_files *f, const char *pattern,
                                   const char *name, long *layer)
{
    return tensor_name_matches(pattern, name, layer) ||
           tensor_name_matches(name_without_prefix(f, pattern), name, layer);
}

/* With the prefix of the family or without, by the newer or the older name. */
static const struct oa_array *find_tensor(const struct oa_weight_files *f, const char *name,
                                          int *shard)
{
    char older[NAME];
    rename_norm(name, true, older);
    const char *const names[] = { name, name_without_prefix(f, name), older,
                                  name_without_prefix(f, older) };
    for (*shard = 0; *shard < f->shards; ++*shard)
        for (int i = 0; i < 4; i++) {
            const struct oa_array *a = find_in_shard(&f->shard[*shard], names[i]);
            if (a)
                return a;
        }
    return NULL;
}

/* Where the values of a parameter come from. */
struct tensor_source {
    const struct oa_family_tensor *row;
    const struct oa_array *array; /* NULL: the files have none */
    int shard;
    char name[NAME];
};

/* The first row of the table for the parameter that has a tensor, or else the first one; false: the
 * table has none. */
static bool find_source(const struct oa_weight_files *f, const struct oa_parameter *p,
                        struct tensor_source *out)
{
    bool known = false;
    long layer;
    for (const struct oa_family_tensor *t = f->table; t->theirs; t++) {
        if (!tensor_name_matches(t->ours, p->name, &layer))
            continue;
        struct tensor_source s = { .row = t };
        if (t->layout != OA_LAYOUT_ZERO) {
            oa_family_layer_name(t->theirs, layer, s.name);
            s.array = find_tensor(f, s.name, &s.shard);
        }
        if (!known || s.array)
            *out = s;
        known = true;
        if (s.array || t->layout == OA_LAYOUT_ZERO)
            break;
    }
    return known;
}

bool oa_family_has(const struct oa_weight_files *f, const char *parameter)
{
    struct oa_parameter p = { 0 };
    struct tensor_source s;
    snprintf(p.name, sizeof p.name, "%s", parameter);
    return find_source(f, &p, &s) && s.array;
}

/* The next tensor that makes a row of the same parameter; false: there is none. */
static bool find_next_row(const struct oa_weight_files *f, struct tensor_source *s)
{
    const char *ours = s->row->ours;
    if (s->row->layout != OA_LAYOUT_ROW)
        return false;
    for (const struct oa_family_tensor *t = s->row + 1; t->theirs; t++)
        if (t->layout == OA_LAYOUT_ROW && strcmp(t->ours, ours) == 0) {
            *s = (struct tensor_source){ .row = t };
            snprintf(s->name, sizeof s->name, "%s", t->theirs);
            s->array = find_tensor(f, s->name, &s->shard);
            return true;
        }
    return false;
}

/* ---- shapes ---- */

/* Whether the tensor is `rows` rows of `columns` elements after leading dimensions of 1. */
static bool fits_flat(const struct oa_array *a, long rows, long columns)
{
    int first = 0;
    long rest = 1;
    while (first + 1 < a->dims && a->dim[first] == 1)
        first++;
    for (int i = first; i < a->dims; i++)
        rest *= a->dim[i];
    return rest == rows * columns && (rows == 1 || a->dim[first] == rows);
}

static enum oa_error check_source(const struct oa_weight_files *f, const struct oa_parameter *p,
                                  const struct tensor_source *s)
{
    oa_context *c = f->context;
    const struct oa_array *a = s->array;
    enum oa_family_layout layout = s->row->layout;
    if (layout == OA_LAYOUT_ZERO)
        return OA_OK;
    if (!a)
        return oa_fail(c, OA_FORMAT, "%s: tensor %s is missing%s", f->shard[0].path, s->name,
                       f->shards > 1 ? " from all shards" : "");
    const char *path = f->shard[s->shard].path;
    if (a->type != OA_F32 && a->type != OA_F64 && a->type != OA_BF16 && a->type != OA_F16)
        return oa_fail(c, OA_UNSUPPORTED,
                       "%s: tensor %s is of type %s; F32, F16, BF16 and F64 are "
                       "read",
                       path, a->name, oa_type_name(a->type));
    long width = p->dims == 2 ? p->dim[1] : 1,
         length = p->dim[0] * (s->row->parts ? s->row->parts : 1) + s->row->skip;
    bool turned = layout == OA_LAYOUT_TRANSPOSED;
    long rows = turned ? width : length, columns = turned ? length : width;
    bool fits = a->dims == p->dims && a->dim[0] == rows && (p->dims == 1 || a->dim[1] == columns);
    if (layout == OA_LAYOUT_FLAT || layout == OA_LAYOUT_ROW)
        fits = fits_flat(a, layout == OA_LAYOUT_ROW ? 1 : rows, columns);
    if (fits)
        return OA_OK;
    char wanted[64], has[128] = "";
    snprintf(wanted, sizeof wanted, p->dims == 1 ? "[%ld]" : "[%ld, %ld]", rows, columns);
    for (int i = 0, n = 0; i < a->dims && n < (int)sizeof has; i++)
        n += snprintf(has + n, sizeof has - (size_t)n, "%s%ld", i ? ", " : "", (long)a->dim[i]);
    return oa_fail(c, OA_SHAPE, "%s: tensor %s has the shape [%s]; config.json needs %s", path,
                   a->name, has, wanted);
}

/* ---- tensors that are no parameters ---- */

static bool is_ignored(const struct oa_weight_files *f, const char *name)
{
    long layer;
    for (const char *const *p = f->family->ignored; *p; p++)
        if (tensor_in_file_matches(f, *p, name, &layer))
            return true;
    return false;
}

/* A tied output layer may be in the file too, as a copy of the embedding. */
static bool is_copy_of_embedding(const struct oa_weight_files *f, const struct oa_array *a)
{
    const struct oa_parameter embedding = { .name = "embedding.weight" };
    struct tensor_source s;
    return find_source(f, &embedding, &s) && s.array && s.array->type == a->type &&
           s.array->bytes == a->bytes && memcmp(s.array->data, a->data, a->bytes) == 0;
}

/* Whether a parameter of the model is made of the tensor. ours: its name, or the pattern of one
 * that the model lacks; NULL: the table has none. */
static bool is_used(const struct oa_weight_files *f, const struct oa_model *m,
                    const struct oa_array *a, const char **ours)
{
    char name[NAME], newer[NAME];
    long layer;
    rename_norm(a->name, false, newer);
    *ours = NULL;
    for (const struct oa_family_tensor *t = f->table; t->theirs; t++) {
        if (t->layout == OA_LAYOUT_ZERO || !tensor_in_file_matches(f, t->theirs, newer, &layer))
            continue;
        *ours = t->ours;
        oa_family_layer_name(t->ours, layer, name);
        if (oa_store_find(&m->store, name))
            return true;
    }
    return false;
}

bool oa_family_has_own_output(const struct oa_weight_files *f)
{
    const struct oa_parameter output = { .name = "output.weight" };
    struct tensor_source s;
    return find_source(f, &output, &s) && s.array && !is_copy_of_embedding(f, s.array);
}

/* A parameter is made of the first of its tensors that files have; the others must be copies. */
static enum oa_error check_copy(const struct oa_weight_files *f, const struct oa_model *m,
                                const char *path, const struct oa_array *a, const char *ours)
{
    const struct oa_parameter *p = oa_store_find(&m->store, ours);
    struct tensor_source s;
    if (!p || !find_source(f, p, &s) || !s.array || s.array == a ||
        (s.row->layout != OA_LAYOUT_SAME && s.row->layout != OA_LAYOUT_READ) || s.row->parts)
        return OA_OK;
    if (s.array->bytes == a->bytes && memcmp(s.array->data, a->data, a->bytes) == 0)
        return OA_OK;
    return oa_fail(f->context, OA_FORMAT,
                   "%s: %s differs from %s, of which models of type %s have copies", path, a->name,
                   s.array->name, f->family->type);
}

static enum oa_error check_tensor(const struct oa_weight_files *f, const struct oa_model *m,
                                  int shard, const struct oa_array *a)
{
    oa_context *c = f->context;
    const char *path = f->shard[shard].path, *ours;
    int first;
    if (is_ignored(f, a->name))
        return OA_OK;
    find_tensor(f, a->name, &first);
    if (first < shard)
        return oa_fail(c, OA_FORMAT, "tensor %s is in %s and in %s; %s", a->name,
                       f->shard[first].path, path, remedy);
    if (is_used(f, m, a, &ours))
        return check_copy(f, m, path, a, ours);
    if (ours && strcmp(ours, "source_embedding.weight") == 0 && is_copy_of_embedding(f, a))
        return OA_OK;
    if (ours && strcmp(ours, "output.weight") == 0)
        return is_copy_of_embedding(f, a)
                   ? OA_OK
                   : oa_fail(c, OA_FORMAT,
                             "%s: %s differs from the embedding, but config.json ties them; set "
                             "\"tie_word_embeddings\": false",
                             path, a->name);
    return oa_fail(c, OA_FORMAT,
                   "%s: tensor %s is not part of a model of type %s with this "
                   "config.json",
                   path, a->name, f->family->type);
}

enum oa_error oa_family_check(struct oa_weight_files *f, const struct oa_model *m)
{
    struct tensor_source s;
    for (int i = 0; i < m->store.count; i++) {
        const struct oa_parameter *p = m->store.parameter[i];
        if (find_source(f, p, &s))
            do
                OA_TRY(check_source(f, p, &s));
            while (find_next_row(f, &s));
        else if (p->trainable)
            return oa_fail(f->context, OA_UNSUPPORTED, "models of type %s have no %s",
                           f->family->type, p->name);
    }
    for (int i = 0; i < f->shards; i++) {
        const struct shard *shard = &f->shard[i];
        int count = shard->tensors ? oa_tensors_count(shard->tensors) : shard->arrays;
        for (int t = 0; t < count; t++)
            OA_TRY(check_tensor(
                f, m, i, shard->tensors ? oa_tensors_at(shard->tensors, t) : &shard->array[t]));
    }
    return OA_OK;
}

/* ---- values ---- */

void oa_family_mark_given(const struct oa_weight_files *f, struct oa_model *m)
{
    struct tensor_source s;
    for (int i = 0; i < m->store.count; i++)
        m->store.parameter[i]->given = find_source(f, m->store.parameter[i], &s);
}

size_t oa_family_place(const struct oa_family_tensor *t, const struct oa_parameter *p,
                       long head_width, long row, long column)
{
    long columns = p->dims == 2 ? p->dim[1] : 1, at = row + t->skip + t->part * p->dim[0];
    if (t->layout == OA_LAYOUT_ROW)
        return (size_t)column;
    if (t->layout == OA_LAYOUT_HEADS)
        at = (row / head_width * t->parts + t->part) * head_width + row % head_width;
    if (t->layout == OA_LAYOUT_TRANSPOSED)
        return (size_t)(column * p->dim[0] * (t->parts ? t->parts : 1) + at);
    return (size_t)(at * columns + column);
}

/* An element of the parameter is factor · that of the tensor + addend. */
static void copy_values(const struct oa_weight_files *f, const struct oa_model *m,
                        const struct tensor_source *s, const struct oa_parameter *p, void *host)
{
    const struct oa_device *d = m->device;
    const struct oa_family_tensor *t = s->row;
    size_t size = d->numbers.real_size, bytes = (size_t)p->count * size;
    long columns = p->dims == 2 ? p->dim[1] : 1, width = oa_head_width(&m->options);
    bool query =
        strstr(p->name, "attention.query.weight") || strstr(p->name, "attention.query.bias");
    bool gain = oa_name_ends(p->name, "norm.weight") || oa_name_ends(p->name, "norm.out.weight");
    double factor = query ? f->query_factor : 1, addend = gain && f->family->unit_norms ? 1 : 0;
    if (t->layout == OA_LAYOUT_ZERO) {
        memset(host, 0, bytes);
    } else if (t->layout == OA_LAYOUT_SAME && s->array->type == d->numbers.real && factor == 1 &&
               addend == 0) {
        memcpy(host, (const char *)s->array->data + oa_family_place(t, p, width, 0, 0) * size,
               bytes);
    } else {
        bool row = t->layout == OA_LAYOUT_ROW;
        long first = row ? t->part : 0, end = row ? t->part + 1 : p->dim[0];
        for (long i = first; i < end; i++)
            for (long j = 0; j < columns; j++) {
                double x = oa_array_value(s->array, oa_family_place(t, p, width, i, j));
                oa_real_set(d, host, i * columns + j, factor * x + addend);
            }
    }
}

static enum oa_error copy_source(const struct oa_weight_files *f, const struct oa_model *m,
                                 const struct tensor_source *s, struct oa_parameter *p)
{
    struct oa_device *d = m->device;
    struct oa_view v;
    long columns = p->dims == 2 ? p->dim[1] : 1;
    void *host = oa_view_open(&v, d, p->value, (size_t)p->count * d->numbers.real_size,
                              OA_VIEW_READ | OA_VIEW_WRITE);
    if (host)
        copy_values(f, m, s, p, host);
    for (long i = 0; host && i < p->count && oa_status(m->context) == OA_OK; i++)
        if (!isfinite(oa_real_get(d, host, i)))
            oa_fail(m->context, OA_FORMAT,
                    "%s: tensor %s has a value that is not finite%s, at row %ld, column %ld of %s; "
                    "such a model has no output",
                    f->shard[s->shard].path, s->name,
                    s->array->type == OA_F64 ? " in single precision" : "", i / columns,
                    i % columns, p->name);
    oa_view_close(&v);
    return oa_status(m->context);
}

enum oa_error oa_family_copy(struct oa_weight_files *f, struct oa_model *m)
{
    struct tensor_source s;
    for (int i = 0; i < m->store.count; i++)
        if (find_source(f, m->store.parameter[i], &s))
            do
                OA_TRY(copy_source(f, m, &s, m->store.parameter[i]));
            while (find_next_row(f, &s));
    oa_store_refresh_all(&m->store);
    return oa_status(f->context);
}
