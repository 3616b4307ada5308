/* SPDX-License-Identifier: Apache-2.0
 * doctor: the hardware and libraries of this machine, which are used, and why others are not. */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "api/api.h"

#include "cluster/cluster.h"
#include "device/device_list.h"
#include "kernels/kernels.h"

#include <pcre2.h>
#include <string.h>
#include <utf8proc.h>
#include <yaml.h>
#include <zlib.h>

enum { PRECISIONS = 3, ISAS = OA_ISA_AMX + 1, LIBRARIES = 5, WHY = 160, DEVICES = 16 };

struct library {
    const char *name;
    char version[64];
};

struct examination {
    oa_context *c;
    const struct oa_cpu *cpu;
    struct oa_kernels kernels[PRECISIONS];
    char why_not[ISAS][WHY]; /* empty: it is used */
    struct library linked[LIBRARIES];
    char engine[OA_ENGINE]; /* the MPI library; empty: none */
    struct oa_listed_device device[DEVICES];
    int devices;
};

/* ---- examining ---- */

struct need {
    enum oa_isa isa;
    bool there;
    const char *name;
};

/* What the processor lacks for an instruction set, as words. */
static void list_lacking(const struct oa_cpu *cpu, enum oa_isa isa, char out[WHY])
{
    const struct need needs[] = {
        { OA_ISA_AVX2, cpu->avx2, "AVX2" },
        { OA_ISA_AVX2, cpu->fma, "FMA" },
        { OA_ISA_AVX2, cpu->f16c, "F16C" },
        { OA_ISA_AVX512, cpu->avx512, "AVX-512 (F, DQ, CD, BW, VL)" },
        { OA_ISA_AMX, cpu->avx512_bf16, "AVX512-BF16" },
        { OA_ISA_AMX, cpu->amx_bf16, "AMX-BF16" },
    };
    out[0] = 0;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        size_t length = strlen(out);
        if (needs[i].isa <= isa && !needs[i].there)
            snprintf(out + length, WHY - length, "%s%s", length ? ", " : "", needs[i].name);
    }
}

static void explain_isa(struct examination *x, enum oa_isa isa)
{
    char missing[WHY];
    list_lacking(x->cpu, isa, missing);
    if (missing[0])
        snprintf(x->why_not[isa], WHY, "the processor or the system does not offer %.100s",
                 missing);
    else if (isa > oa_context_isa(x->c))
        snprintf(x->why_not[isa], WHY, "lowered by --isa %s", oa_isa_name(oa_context_isa(x->c)));
}

static void list_libraries(struct examination *x)
{
    char pcre2[64] = "?";
    pcre2_config(PCRE2_CONFIG_VERSION, pcre2);
    x->linked[0] = (struct library){ .name = "jansson" };
    snprintf(x->linked[0].version, 64, "%s", jansson_version_str());
    x->linked[1] = (struct library){ .name = "libyaml" };
    snprintf(x->linked[1].version, 64, "%s", yaml_get_version_string());
    x->linked[2] = (struct library){ .name = "pcre2" };
    snprintf(x->linked[2].version, 64, "%.*s", (int)strcspn(pcre2, " "), pcre2);
    x->linked[3] = (struct library){ .name = "utf8proc" };
    snprintf(x->linked[3].version, 64, "%s", utf8proc_version());
    x->linked[4] = (struct library){ .name = "zlib" };
    snprintf(x->linked[4].version, 64, "%s", zlibVersion());
}

static void examine(oa_context *c, struct examination *x)
{
    *x = (struct examination){ .c = c, .cpu = oa_context_cpu(c) };
    for (int p = 0; p < PRECISIONS; p++)
        oa_kernels_init(&x->kernels[p], (enum oa_precision)p, oa_context_isa(c), x->cpu);
    for (int i = 0; i < ISAS; i++)
        explain_isa(x, (enum oa_isa)i);
    list_libraries(x);
    x->devices = oa_device_list(c, x->device, DEVICES);
    oa_cluster_engine(x->engine);
}

/* ---- as text ---- */

static void line(struct oa_text *t, const char *name)
{
    oa_text_printf(t, "%-12s ", name);
}

static void size(struct oa_text *t, const char *name, size_t bytes)
{
    static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double x = (double)bytes;
    int u = 0;
    while (x >= 1024 && u < 4) {
        x /= 1024;
        u++;
    }
    oa_text_printf(t, "%s%.4g %s", name, x, unit[u]);
}

static void feature(struct oa_text *t, const char *name, bool there)
{
    oa_text_printf(t, "%s%s ", there ? "" : "no ", name);
}

/* How many cores the process can use, and what decides it. */
static void cores_text(const struct oa_cpu *cpu, struct oa_text *t)
{
    line(t, "cores");
    oa_text_printf(t, "%d usable", cpu->cores);
    if (cpu->affinity < cpu->online)
        oa_text_printf(t, "; the affinity mask of the process has %d of %d", cpu->affinity,
                       cpu->online);
    if (cpu->quota > 0)
        oa_text_printf(t, "; the quota of the control group is %g cores (%s)", cpu->quota,
                       cpu->quota_file);
    if (cpu->affinity >= cpu->online && cpu->quota <= 0)
        oa_text_printf(t, "; no affinity mask and no quota limits them");
    oa_text_add(t, "\n", 1);
}

static void processor_text(const struct examination *x, struct oa_text *t)
{
    const struct oa_cpu *cpu = x->cpu;
    line(t, "processor");
    oa_text_printf(t, "%s, %d core%s\n", cpu->name, cpu->online, oa_plural(cpu->online));
    cores_text(cpu, t);
    line(t, "features");
    feature(t, "avx2", cpu->avx2);
    feature(t, "fma", cpu->fma);
    feature(t, "f16c", cpu->f16c);
    feature(t, "avx512", cpu->avx512);
    feature(t, "avx512-bf16", cpu->avx512_bf16);
    feature(t, "amx-bf16", cpu->amx_bf16);
    oa_text_add(t, "\n", 1);
    line(t, "caches");
    size(t, "L1 ", cpu->l1);
    size(t, ", L2 ", cpu->l2);
    size(t, ", L3 ", cpu->l3);
    oa_text_add(t, "\n", 1);
    line(t, "memory");
    size(t, "", cpu->memory);
    oa_text_add(t, "\n", 1);
    line(t, "threads");
    oa_text_printf(t, "%d", oa_thread_count(x->c));
    if (oa_thread_count(x->c) > cpu->cores)
        oa_text_printf(t, ", more than the usable cores: threads share cores and are no faster");
    oa_text_add(t, "\n", 1);
}

static void kernels_text(const struct examination *x, struct oa_text *t)
{
    line(t, "set");
    oa_text_printf(t, "%s\n", oa_isa_name(oa_context_isa(x->c)));
    for (int i = ISAS - 1; i > 0; i--) {
        if (!x->why_not[i][0])
            continue;
        line(t, "");
        oa_text_printf(t, "not %s: %s\n", oa_isa_name((enum oa_isa)i), x->why_not[i]);
    }
    for (int p = 0; p < PRECISIONS; p++) {
        const struct oa_kernels *k = &x->kernels[p];
        line(t, oa_precision_name((enum oa_precision)p));
        oa_text_printf(t, "kernels %s, matrix products %s\n", oa_isa_name(k->isa), k->gemm_name);
    }
}

/* "cuda:0": what --device selects. */
static void selected_device(oa_context *c, char name[32])
{
    static const char *const words[] = { "cpu", "opencl", "cuda" };
    enum oa_device_kind kind = oa_context_device_kind(c);
    int number = oa_context_device_number(c);
    if (kind == OA_DEVICE_AUTO)
        oa_device_auto(c, &kind, &number);
    snprintf(name, 32, kind == OA_DEVICE_CPU ? "%s" : "%s:%d", words[kind], number);
}

static void devices_text(const struct examination *x, struct oa_text *t)
{
    char selected[32];
    selected_device(x->c, selected);
    line(t, "device");
    oa_text_printf(t, "%s (--device)\n", selected);
    for (int i = 0; i < x->devices; i++) {
        const struct oa_listed_device *d = x->device + i;
        line(t, i ? "" : "others");
        if (d->problem[0]) {
            oa_text_printf(t, "%s\n", d->problem);
            continue;
        }
        oa_text_printf(t, "%s  %s, ", d->name, d->card);
        size(t, "", d->memory);
        oa_text_printf(t, ", %s%s\n", d->driver,
                       d->processor ? "; it is the processor, not a card" : "");
    }
}

/* ---- as JSON ---- */

static json_t *processor_json(const struct oa_cpu *cpu)
{
    return json_pack("{s:s, s:i, s:i, s:i, s:o, s:o, s:b, s:b, s:b, s:b, s:b, s:b, s:I, s:I, s:I}",
                     "name", cpu->name, "cores", cpu->cores, "cores_online", cpu->online,
                     "cores_affinity", cpu->affinity, "cores_quota",
                     cpu->quota > 0 ? json_real(cpu->quota) : json_null(), "quota_file",
                     cpu->quota > 0 ? json_string(cpu->quota_file) : json_null(), "avx2", cpu->avx2,
                     "fma", cpu->fma, "f16c", cpu->f16c, "avx512", cpu->avx512, "avx512_bf16",
                     cpu->avx512_bf16, "amx_bf16", cpu->amx_bf16, "l1", (json_int_t)cpu->l1, "l2",
                     (json_int_t)cpu->l2, "l3", (json_int_t)cpu->l3);
}

static json_t *devices_json(const struct examination *x, bool *card)
{
    json_t *all = json_array();
    for (int i = 0; i < x->devices; i++) {
        const struct oa_listed_device *d = x->device + i;
        bool usable = !d->problem[0];
        *card = *card || (usable && !d->processor);
        json_array_append_new(all,
                              json_pack("{s:s, s:o, s:o, s:I, s:b, s:o}", "device", d->name, "name",
                                        usable ? json_string(d->card) : json_null(), "driver",
                                        usable ? json_string(d->driver) : json_null(), "memory",
                                        (json_int_t)d->memory, "is_processor", d->processor,
                                        "problem", usable ? json_null() : json_string(d->problem)));
    }
    return all;
}

static json_t *examination_json(const struct examination *x)
{
    json_t *root = json_object(), *kernels = json_object(), *not_used = json_object(),
           *libraries = json_object();
    for (int p = 0; p < PRECISIONS; p++)
        oa_json_set(x->c, kernels, oa_precision_name((enum oa_precision)p),
                    json_pack("{s:s, s:s}", "isa", oa_isa_name(x->kernels[p].isa), "products",
                              x->kernels[p].gemm_name));
    for (int i = 0; i < ISAS; i++)
        if (x->why_not[i][0])
            oa_json_set(x->c, not_used, oa_isa_name((enum oa_isa)i), json_string(x->why_not[i]));
    for (int i = 0; i < LIBRARIES; i++)
        oa_json_set(x->c, libraries, x->linked[i].name, json_string(x->linked[i].version));
    oa_json_set(x->c, root, "orthant", json_string(oa_version()));
    oa_json_set(x->c, root, "processor", processor_json(x->cpu));
    oa_json_set(x->c, root, "memory", json_integer((json_int_t)x->cpu->memory));
    oa_json_set(x->c, root, "threads", json_integer(oa_thread_count(x->c)));
    oa_json_set(x->c, root, "isa", json_string(oa_isa_name(oa_context_isa(x->c))));
    oa_json_set(x->c, root, "not_used", not_used);
    oa_json_set(x->c, root, "kernels", kernels);
    oa_json_set(x->c, root, "libraries", libraries);
    oa_json_set(x->c, root, "mpi", x->engine[0] ? json_string(x->engine) : json_null());
    char selected[32];
    bool card = false;
    selected_device(x->c, selected);
    oa_json_set(x->c, root, "device", json_string(selected));
    oa_json_set(x->c, root, "devices", devices_json(x, &card));
    oa_json_set(x->c, root, "gpu_used", json_boolean(strcmp(selected, "cpu") != 0));
    oa_json_set(x->c, root, "gpu_found", json_boolean(card));
    return root;
}

enum oa_error oa_doctor(oa_context *c, const struct oa_output *out)
{
    struct examination x;
    struct oa_text t;
    examine(c, &x);
    oa_text_init(&t, c);
    if (oa_wants_json(out)) {
        oa_json_add(&t, examination_json(&x));
    } else {
        line(&t, "orthant");
        oa_text_printf(&t, "%s\n", oa_version());
        processor_text(&x, &t);
        kernels_text(&x, &t);
        line(&t, "libraries");
        for (int i = 0; i < LIBRARIES; i++)
            oa_text_printf(&t, "%s%s %s", i ? ", " : "", x.linked[i].name, x.linked[i].version);
        oa_text_add(&t, "\n", 1);
        line(&t, "ranks");
        oa_text_printf(&t, "%s\n",
                       x.engine[0] ? x.engine : "one: built without MPI (cmake -DORTHANT_MPI=ON)");
        devices_text(&x, &t);
    }
    return oa_emit(out, &t);
}
