/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/run_items.h"

#include "base/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char version[] = "1", window_word[] = "windows";
static const char items_remedy[] =
    "remove the file to go on without intervals over items, or the run's folder to train it again";
enum { SIDES = 2, ITEMS_NAME = 48 };
static const char *const sides[SIDES] = { "validation", "test" };

static void print_items_name(int side, const char *what, char out[ITEMS_NAME])
{
    snprintf(out, ITEMS_NAME, "%s.%.24s", sides[side], what);
}

/* ---- writing ---- */

static int list_item_arrays(const struct oa_measure *measures, const struct oa_items *items,
                            char (*name)[ITEMS_NAME], struct oa_array *out)
{
    int n = 0;
    for (int side = 0; side < SIDES; side++)
        for (int m = 0; m < oa_measures_count(measures); m++) {
            const struct oa_items *x = &items[side];
            if (!x->measured[m])
                continue;
            print_items_name(side, oa_measures_or_loss(measures)[m].name, name[n]);
            out[n] = (struct oa_array){ .name = name[n],
                                        .type = OA_F64,
                                        .dims = 2,
                                        .dim = { x->count, 2 },
                                        .data = x->measured[m],
                                        .bytes = (size_t)x->count * sizeof *x->measured[m] };
            n++;
        }
    return n;
}

enum oa_error oa_run_items_save(oa_context *c, const char *folder,
                                const struct oa_measure *measures, const struct oa_run *run)
{
    char path[OA_PATH], name[SIDES * OA_MEASURES][ITEMS_NAME], unit[SIDES][32];
    struct oa_array arrays[SIDES * OA_MEASURES];
    const struct oa_items items[SIDES] = { run->items, run->test_items };
    const char *metadata[] = { "orthant.items", version,           "weights",
                               run->weights,    "validation.item", unit[0],
                               "test.item",     unit[1],           NULL };
    int count = list_item_arrays(measures, items, name, arrays);
    if (!count)
        return OA_OK;
    for (int side = 0; side < SIDES; side++)
        snprintf(unit[side], sizeof unit[side], "%ld %s", items[side].rows_per_item,
                 items[side].text ? window_word : "examples");
    OA_TRY(oa_path(c, path, folder, OA_ITEMS_FILE));
    return oa_tensors_write_checksummed(c, path, arrays, count, metadata);
}

/* ---- reading ---- */

struct items_reading {
    oa_context *c;
    const char *path;
    struct oa_tensors *file;
    const struct oa_measure *measures;
};

static enum oa_error refuse_items(const struct items_reading *r, const char *name, const char *what)
{
    return oa_fail(r->c, OA_FORMAT, "%s: %s %s; %s", r->path, name, what, items_remedy);
}

static enum oa_error check_items_origin(const struct items_reading *r, const struct oa_run *run)
{
    const char *found = oa_tensors_metadata(r->file, "orthant.items"),
               *weights = oa_tensors_metadata(r->file, "weights");
    if (!found || strcmp(found, version) != 0 || !oa_tensors_metadata(r->file, OA_CHECKSUM_KEY))
        return refuse_items(r, "the file", "is no file of items, or was altered");
    if (!weights || strcmp(weights, run->weights) != 0)
        return refuse_items(r, "the file", "has the items of another model than result.json");
    return OA_OK;
}

/* The score of the result in a measure; the two may be summed in different orders. */
static enum oa_error check_items_score(const struct items_reading *r, const char *name,
                                       const struct oa_items *x, int measure, double score)
{
    double sum = oa_items_score(x, measure);
    if (fabs(sum - score) <= 1e-9 * fmax(fabs(score), 1e-300) || sum == score)
        return OA_OK;
    return oa_fail(r->c, OA_FORMAT, "%s: the mean of %s is %s, but the result has %s; %s", r->path,
                   name, oa_real_text(sum).s, oa_real_text(score).s, items_remedy);
}

static enum oa_error read_measure_items(const struct items_reading *r, int side, int measure,
                                        struct oa_items *x)
{
    char name[ITEMS_NAME];
    print_items_name(side, oa_measures_or_loss(r->measures)[measure].name, name);
    const struct oa_array *a = oa_tensors_find(r->file, name);
    if (!a)
        return OA_OK;
    if (a->type != OA_F64 || a->dims != 2 || a->dim[1] != 2 || a->dim[0] < 1 ||
        (x->count && a->dim[0] != x->count))
        return refuse_items(r, name, "is not [items, 2] in F64");
    x->count = a->dim[0];
    OA_TRY(oa_items_begin(r->c, x, measure));
    memcpy(x->measured[measure], a->data, a->bytes);
    for (long i = 0; i < x->count; i++) {
        const struct oa_item *item = &x->measured[measure][i];
        if (!isfinite(item->sum) || !(item->targets >= 0) || !isfinite(item->targets))
            return refuse_items(r, name, "has a value that is not a sum over targets");
    }
    return OA_OK;
}

static enum oa_error read_side_items(const struct items_reading *r, int side,
                                     const double scores[OA_MEASURES], struct oa_items *x)
{
    char name[ITEMS_NAME];
    print_items_name(side, "item", name);
    const char *unit = oa_tensors_metadata(r->file, name);
    x->rows_per_item = unit ? strtol(unit, NULL, 10) : 0;
    x->text = unit && strstr(unit, window_word);
    for (int m = 0; m < oa_measures_count(r->measures); m++) {
        OA_TRY(read_measure_items(r, side, m, x));
        print_items_name(side, oa_measures_or_loss(r->measures)[m].name, name);
        if (x->measured[m])
            OA_TRY(check_items_score(r, name, x, m, scores[m]));
    }
    if (x->count && x->rows_per_item < 1)
        return refuse_items(r, sides[side], "does not say what an item is");
    return OA_OK;
}

static enum oa_error read_items(const struct items_reading *r, struct oa_run *run)
{
    double valid[OA_MEASURES], test[OA_MEASURES];
    memcpy(valid, run->scores, sizeof valid);
    memcpy(test, run->test.scores, sizeof test);
    valid[0] = run->valid_loss;
    test[0] = run->test.loss;
    OA_TRY(check_items_origin(r, run));
    OA_TRY(read_side_items(r, 0, valid, &run->items));
    return read_side_items(r, 1, test, &run->test_items);
}

enum oa_error oa_run_items_load(oa_context *c, const char *folder,
                                const struct oa_measure *measures, struct oa_run *run)
{
    char path[OA_PATH];
    struct items_reading r = { .c = c, .path = path, .measures = measures };
    OA_TRY(oa_path(c, path, folder, OA_ITEMS_FILE));
    if (run->failed || !oa_file_exists(path))
        return OA_OK;
    OA_TRY(oa_tensors_open(c, path, &r.file));
    enum oa_error e = read_items(&r, run);
    oa_tensors_close(r.file);
    return e;
}
