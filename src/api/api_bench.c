/* SPDX-License-Identifier: Apache-2.0
 * bench --peak, --kernels: what the machine can do, and what the kernels make of it. */
#include "api/api.h"
#include "kernels/kernel_bench.h"
#include "print/print.h"

#include <math.h>

/* ---- peaks ---- */

static const struct oa_column peak_columns[] = { { .title = "" },
                                                 { .title = "one core", .right = true },
                                                 { .title = "all threads", .right = true },
                                                 { .title = "unit" },
                                                 { .title = "measured with" } };

static void peak_row(struct oa_table *t, const char *name, double one, double all, const char *unit, const char *how)
{
    char number[OA_NUMBER];
    oa_table_cell(t, "%s", name);
    oa_table_cell(t, "%s", oa_number(number, one, 4));
    oa_table_cell(t, "%s", oa_number(number, all, 4));
    oa_table_cell(t, "%s", unit);
    oa_table_cell(t, "%s", how);
}

static void peak_text(oa_context *c, const struct oa_peak *p, int width, struct oa_text *out)
{
    struct oa_table t;
    oa_table_init(&t, c, peak_columns, 5);
    peak_row(&t, "f32", p->f32_one, p->f32_all, "GFLOP/s", p->f32_how);
    peak_row(&t, "bf16", p->bf16_one, p->bf16_all, "GFLOP/s", p->bf16_how);
    peak_row(&t, "memory", p->copy_one, p->copy_all, "GB/s", "a large copy, bytes read and written");
    oa_table_text(&t, width, out);
    oa_table_free(&t);
}

enum oa_error oa_bench_peak(oa_context *c, const struct oa_output *out)
{
    struct oa_peak p;
    struct oa_text t;
    OA_TRY(oa_status(c));
    oa_kernels_peak(c, &p);
    oa_text_init(&t, c);
    if (oa_wants_json(out))
        oa_json_add(&t,
                    json_pack("{s:i, s:f, s:f, s:s, s:f, s:f, s:s, s:f, s:f}", "threads", oa_thread_count(c), "f32_one",
                              p.f32_one, "f32_all", p.f32_all, "f32_how", p.f32_how, "bf16_one", p.bf16_one, "bf16_all",
                              p.bf16_all, "bf16_how", p.bf16_how, "copy_one", p.copy_one, "copy_all", p.copy_all));
    else
        peak_text(c, &p, out ? out->width : 0, &t);
    return oa_emit(out, &t);
}

/* ---- kernels ---- */

static const struct oa_column kernel_columns[] = {
    { .title = "kernel", .shorten = true },
    { .title = "precision" },
    { .title = "version" },
    { .title = "ns an\nelement", .right = true },
    { .title = "rate", .right = true },
    { .title = "unit" },
    { .title = "times\nref", .right = true },
    { .title = "error of\nallowed", .right = true },
};
enum { KERNEL_COLUMNS = sizeof kernel_columns / sizeof *kernel_columns };

struct collected {
    oa_context *context;
    struct oa_table table;
    json_t *rows; /* NULL: the table is wanted */
};

static void collect(void *argument, const char *kernel, const char *precision, const char *version, double ns,
                    double rate, const char *unit, double speedup, double worst_error)
{
    struct collected *k = argument;
    char number[OA_NUMBER];
    oa_log(k->context, 1, "%s, %s, %s", kernel, precision, version);
    if (k->rows) {
        json_array_append_new(k->rows,
                              json_pack("{s:s, s:s, s:s, s:f, s:f, s:s, s:f, s:o}", "kernel", kernel, "precision",
                                        precision, "version", version, "ns", ns, "rate", rate, "unit", unit, "speedup",
                                        speedup, "worst_error", oa_json_number(worst_error)));
        return;
    }
    oa_table_cell(&k->table, "%s", kernel);
    oa_table_cell(&k->table, "%s", precision);
    oa_table_cell(&k->table, "%s", version);
    oa_table_cell(&k->table, "%s", oa_number(number, ns, 3));
    oa_table_cell(&k->table, "%s", oa_number(number, rate, 3));
    oa_table_cell(&k->table, "%s", unit);
    oa_table_cell(&k->table, "%s", oa_number(number, speedup, 3));
    oa_table_cell(&k->table, "%s", oa_number(number, worst_error, 2));
}

enum oa_error oa_bench_kernels(oa_context *c, const struct oa_output *out)
{
    struct oa_text t;
    struct collected k = { .context = c, .rows = oa_wants_json(out) ? json_array() : NULL };
    OA_TRY(oa_status(c));
    oa_text_init(&t, c);
    oa_table_init(&k.table, c, kernel_columns, KERNEL_COLUMNS);
    oa_kernels_bench(c, collect, &k);
    if (k.rows)
        oa_json_add(&t, k.rows);
    else
        oa_table_text(&k.table, out ? out->width : 0, &t);
    oa_table_free(&k.table);
    return oa_emit(out, &t);
}
