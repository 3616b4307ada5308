/* SPDX-License-Identifier: Apache-2.0
 * bench --peak, --kernels: peak rates of the machine, and rates of the kernels. */
#include "api/api.h"
#include "kernels/kernel_bench.h"
#include "print/print.h"

#include <math.h>

/* ---- peaks ---- */

static const struct oa_column peak_columns[] = { { .title = "" },
                                                 { .title = "one core", .right = true },
                                                 { .title = "median", .right = true },
                                                 { .title = "all threads", .right = true },
                                                 { .title = "median", .right = true },
                                                 { .title = "unit" },
                                                 { .title = "measured with" } };
enum { PEAK_COLUMNS = sizeof peak_columns / sizeof *peak_columns };

static void peak_row(struct oa_table *t, const char *name, const struct oa_peak_rate *r,
                     const char *unit)
{
    char number[OA_NUMBER];
    oa_table_cell(t, "%s", name);
    oa_table_cell(t, "%s", oa_number(number, r->one, 4));
    oa_table_cell(t, "%s", oa_number(number, r->one_median, 4));
    oa_table_cell(t, "%s", oa_number(number, r->all, 4));
    oa_table_cell(t, "%s", oa_number(number, r->all_median, 4));
    oa_table_cell(t, "%s", unit);
    oa_table_cell(t, "%s", r->how);
}

static void peak_text(oa_context *c, const struct oa_peak *p, int width, struct oa_text *out)
{
    struct oa_table t;
    oa_table_init(&t, c, peak_columns, PEAK_COLUMNS);
    peak_row(&t, "f32", &p->f32, "GFLOP/s");
    peak_row(&t, "bf16", &p->bf16, "GFLOP/s");
    if (p->loads.one > 0)
        peak_row(&t, "with loads", &p->loads, "GFLOP/s");
    peak_row(&t, "memory", &p->copy, "GB/s");
    oa_table_text(&t, width, out);
    oa_table_free(&t);
    if (p->loads.one > 0)
        oa_text_printf(
            out,
            "\nAMX was in its %s state: with loads, the median is %.0f %% of the best without.\n",
            oa_peak_state(p), 100 * p->loads.one_median / p->bf16.one);
}

static void add_rate(oa_context *c, json_t *root, const char *name, const struct oa_peak_rate *r)
{
    const struct {
        const char *what;
        double value;
    } numbers[] = { { "one", r->one },
                    { "one_median", r->one_median },
                    { "all", r->all },
                    { "all_median", r->all_median } };
    char key[32];
    for (int i = 0; i < 4; i++) {
        snprintf(key, sizeof key, "%s_%s", name, numbers[i].what);
        oa_json_set(c, root, key, json_real(numbers[i].value));
    }
    snprintf(key, sizeof key, "%s_how", name);
    oa_json_set(c, root, key, json_string(r->how));
}

static json_t *peak_json(oa_context *c, const struct oa_peak *p)
{
    json_t *root = json_pack("{s:i}", "threads", oa_thread_count(c));
    add_rate(c, root, "f32", &p->f32);
    add_rate(c, root, "bf16", &p->bf16);
    if (p->loads.one > 0) {
        add_rate(c, root, "bf16_loads", &p->loads);
        oa_json_set(c, root, "state", json_string(oa_peak_state(p)));
    }
    add_rate(c, root, "copy", &p->copy);
    return root;
}

enum oa_error oa_bench_peak(oa_context *c, const struct oa_output *out)
{
    struct oa_peak p;
    struct oa_text t;
    OA_TRY(oa_status(c));
    oa_kernels_peak(c, &p);
    OA_TRY(oa_status(c));
    if (oa_stop_requested(c))
        return oa_fail(c, OA_INTERRUPTED, "stopped by signal %d", oa_stop_requested(c));
    oa_text_init(&t, c);
    if (oa_wants_json(out))
        oa_json_add(&t, peak_json(c, &p));
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

static void collect_kernel_time(void *argument, const char *kernel, const char *precision,
                                const char *version, double ns, double rate, const char *unit,
                                double speedup, double worst_error)
{
    struct collected *k = argument;
    char number[OA_NUMBER];
    oa_log(k->context, 1, "%s, %s, %s", kernel, precision, version);
    if (k->rows) {
        oa_json_append(k->context, k->rows,
                       json_pack("{s:s, s:s, s:s, s:f, s:f, s:s, s:f, s:o}", "kernel", kernel,
                                 "precision", precision, "version", version, "ns", ns, "rate", rate,
                                 "unit", unit, "speedup", speedup, "worst_error",
                                 oa_json_number(worst_error)));
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
    oa_kernels_bench(c, collect_kernel_time, &k);
    int stopped = oa_stop_requested(c);
    if (k.rows && stopped)
        oa_json_append(c, k.rows, json_pack("{s:b, s:i}", "interrupted", 1, "signal", stopped));
    if (k.rows)
        oa_json_add(&t, k.rows);
    else
        oa_table_text(&k.table, out ? out->width : 0, &t);
    if (!k.rows && stopped)
        oa_text_printf(&t, "\nStopped by signal %d: kernels are missing.\n", stopped);
    oa_table_free(&k.table);
    OA_TRY(oa_emit(out, &t));
    return stopped ? oa_fail(c, OA_INTERRUPTED, "the bench was stopped") : OA_OK;
}
