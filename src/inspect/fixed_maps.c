/* SPDX-License-Identifier: Apache-2.0
 * The maps that depend on positions only: those of the mechanism `pattern`, by its reference
 * implementation, and the uniform average. */
#include "attention/layer/single_layer.h"
#include "inspect/inspect.h"

#include <string.h>

struct fixing {
    oa_context *c;
    const struct oa_fixed_shape *shape;
    oa_fixed_visit *visit;
    void *argument;
    double *map;
};

/* The word of a list "a|b|c" that begins at *list, which goes on to the next; false at the end. */
static bool next_word(const char **list, char *word, size_t size)
{
    size_t n = strcspn(*list, "|");
    snprintf(word, size, "%.*s", (int)n, *list);
    *list += n + ((*list)[n] == '|');
    return n > 0;
}

static bool has_empty_row(const struct fixing *f)
{
    for (long i = 0; i < f->shape->queries; i++) {
        double sum = 0;
        for (long j = 0; j < f->shape->keys; j++)
            sum += f->map[i * f->shape->keys + j];
        if (sum == 0)
            return true;
    }
    return false;
}

/* The map of an attention without parameters. */
static enum oa_error make_fixed_map(const struct fixing *f, const char *attention)
{
    struct oa_single_layer single = { 0 };
    struct oa_layer_shape shape = oa_equal_heads_shape(1, 1, f->shape->queries);
    struct oa_oracle in = { .queries = f->shape->queries,
                            .keys = f->shape->keys,
                            .length = f->shape->keys };
    shape.causal = f->shape->causal;
    enum oa_error e = oa_single_layer_dry(f->c, attention, &shape, &single);
    if (e == OA_OK)
        e = oa_layer_weights(&single.layer, &in, f->map);
    oa_single_layer_close(&single);
    return e;
}

static bool is_valid_here(const struct fixing *f, const char *attention)
{
    struct oa_spec spec;
    char why[512];
    bool clash = oa_spec_parse(f->c, attention, &spec) != OA_OK ||
                 oa_atom_mode_clash(&spec.layer[0].group[0].atom, f->shape->causal, f->shape->cross,
                                    why, sizeof why);
    oa_spec_free(&spec);
    return !clash;
}

static enum oa_error try_fixed_map(const struct fixing *f, const char *attention)
{
    OA_TRY(make_fixed_map(f, attention));
    f->visit(f->argument, attention, f->map);
    return OA_OK;
}

static enum oa_error each_edge(const struct fixing *f, const struct oa_mechanism *pattern,
                               const char *kind)
{
    char name[OA_FIXED_NAME], edge[24];
    const char *edges = pattern->arguments[1].choices;
    snprintf(name, sizeof name, "%s(%s)", pattern->name, kind);
    if (!is_valid_here(f, name))
        return oa_status(f->c);
    OA_TRY(try_fixed_map(f, name));
    next_word(&edges, edge, sizeof edge); /* the default */
    bool empty = has_empty_row(f);
    while (empty && next_word(&edges, edge, sizeof edge)) {
        snprintf(name, sizeof name, "%s(%s, %s=%s)", pattern->name, kind, pattern->arguments[1].key,
                 edge);
        OA_TRY(try_fixed_map(f, name));
    }
    return OA_OK;
}

static enum oa_error visit_fixed_maps(const struct fixing *f)
{
    const struct oa_mechanism *pattern = oa_mechanism_find("pattern");
    const char *kinds = pattern->arguments[0].choices;
    char kind[24];
    while (!f->shape->cross && next_word(&kinds, kind, sizeof kind))
        OA_TRY(each_edge(f, pattern, kind));
    for (long i = 0; i < f->shape->queries; i++) {
        long n = f->shape->causal ? i + 1 : f->shape->keys;
        for (long j = 0; j < f->shape->keys; j++)
            f->map[i * f->shape->keys + j] = j < n ? 1 / (double)n : 0;
    }
    f->visit(f->argument, OA_UNIFORM_ATTENTION, f->map);
    return OA_OK;
}

enum oa_error oa_fixed_maps(oa_context *c, const struct oa_fixed_shape *s, oa_fixed_visit *visit,
                            void *argument)
{
    struct fixing f = { .c = c, .shape = s, .visit = visit, .argument = argument };
    f.map = oa_alloc(c, (size_t)(s->queries * s->keys) * sizeof *f.map);
    enum oa_error e = f.map ? visit_fixed_maps(&f) : OA_NO_MEMORY;
    oa_free(f.map);
    return e;
}
