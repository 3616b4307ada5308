/* SPDX-License-Identifier: Apache-2.0
 * Detection of the processor: instruction sets (present and enabled by the operating system), cores
 * available to this process, caches, memory; within the limits of control groups (cgroup.h). */
#include "base/processor.h"
#include "base/base.h"
#include "base/cgroup.h"

#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- instruction sets ---- */

#if defined(__x86_64__)

#include <cpuid.h>
#include <sys/syscall.h>

#define XCR0_AVX 0x6u     /* xmm and the upper halves of ymm are saved */
#define XCR0_AVX512 0xe6u /* and masks, upper halves of zmm, zmm 16 to 31 */
#define XCR0_AMX 0x60000u /* tile configuration and tiles */
#define ARCH_REQ_XCOMP_PERM 0x1023
#define XFEATURE_XTILEDATA 18

struct cpuid_leaf {
    unsigned a, b, c, d;
};

static struct cpuid_leaf cpuid(unsigned number, unsigned part)
{
    struct cpuid_leaf l = { 0, 0, 0, 0 };
    __get_cpuid_count(number, part, &l.a, &l.b, &l.c, &l.d);
    return l;
}

static bool bit(unsigned word, int i)
{
    return word >> i & 1;
}

/* Measured (docs/history/speed-decoding.md, "Decoding"): true of AMD's cores; on Intel's, software
 * prefetch is half as fast again. */
static bool cpu_prefetches_early(void)
{
    struct cpuid_leaf zero = cpuid(0, 0);
    char vendor[13] = "";
    memcpy(vendor, &zero.b, 4);
    memcpy(vendor + 4, &zero.d, 4);
    memcpy(vendor + 8, &zero.c, 4);
    return strcmp(vendor, "AuthenticAMD") == 0;
}

static void x86_detect(struct oa_cpu *cpu)
{
    struct cpuid_leaf one = cpuid(1, 0), seven = cpuid(7, 0), seven1 = cpuid(7, 1);
    uint64_t state = 0;   /* register state saved by the operating system */
    if (bit(one.c, 27)) { /* OSXSAVE: xgetbv is available */
        unsigned low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        state = (uint64_t)high << 32 | low;
    }
    if ((state & XCR0_AVX) == XCR0_AVX) {
        cpu->fma = bit(one.c, 12);
        cpu->f16c = bit(one.c, 29);
        cpu->avx2 = bit(seven.b, 5);
    }
    if ((state & XCR0_AVX512) == XCR0_AVX512) {
        cpu->avx512 = bit(seven.b, 16) && bit(seven.b, 17) && bit(seven.b, 28) &&
                      bit(seven.b, 30) && bit(seven.b, 31);
        cpu->avx512_bf16 = cpu->avx512 && bit(seven1.a, 5);
    }
    cpu->prefetches_early = cpu_prefetches_early();
    bool tiles = bit(seven.d, 24) && bit(seven.d, 22); /* AMX-TILE, AMX-BF16 */
    /* Linux enables tile state only on request; threads started later inherit it. */
    cpu->amx_bf16 = tiles && (state & XCR0_AMX) == XCR0_AMX &&
                    syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

static bool x86_brand_name(char name[64])
{
    char brand[49] = "";
    if (cpuid(0x80000000u, 0).a < 0x80000004u)
        return false;
    for (unsigned i = 0; i < 3; i++) {
        struct cpuid_leaf l = cpuid(0x80000002u + i, 0);
        memcpy(brand + 16 * i, &l, 16);
    }
    snprintf(name, 64, "%s", brand + strspn(brand, " "));
    return name[0] != 0;
}

#endif

enum oa_isa oa_cpu_isa(const struct oa_cpu *cpu)
{
    if (!(cpu->avx2 && cpu->fma && cpu->f16c))
        return OA_ISA_REF;
    if (!cpu->avx512)
        return OA_ISA_AVX2;
    return cpu->avx512_bf16 && cpu->amx_bf16 ? OA_ISA_AMX : OA_ISA_AVX512;
}

const char *oa_isa_name(enum oa_isa isa)
{
    static const char *const names[] = { "ref", "avx2", "avx512", "amx" };
    return names[isa];
}

/* ---- sizes ---- */

/* The first word of a file in /sys; false when there is none. */
static bool sysfs_read_word(const char *path, char word[32])
{
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    bool found = fscanf(f, "%31s", word) == 1;
    fclose(f);
    return found;
}

/* "2048K", "32M" or plain bytes; 0 for anything else, "max" for instance. */
static size_t sysfs_read_size(const char *path)
{
    char word[32];
    unsigned long long value;
    char unit = 0;
    if (!sysfs_read_word(path, word) || sscanf(word, "%llu%c", &value, &unit) < 1)
        return 0;
    return (size_t)value << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
}

static void detect_caches(struct oa_cpu *cpu)
{
    static const char folder[] = "/sys/devices/system/cpu/cpu0/cache/index";
    for (int i = 0; i < 8; i++) {
        char path[96], type[32];
        snprintf(path, sizeof path, "%s%d/type", folder, i);
        if (!sysfs_read_word(path, type) || strcmp(type, "Instruction") == 0)
            continue;
        snprintf(path, sizeof path, "%s%d/level", folder, i);
        size_t level = sysfs_read_size(path);
        snprintf(path, sizeof path, "%s%d/size", folder, i);
        if (level >= 1 && level <= 3)
            *(level == 1 ? &cpu->l1 : level == 2 ? &cpu->l2 : &cpu->l3) = sysfs_read_size(path);
    }
}

/* 0 after a failure. The kernel's mask may be longer than cpu_set_t. */
static int affinity_of_process(void)
{
    for (int most = CPU_SETSIZE; most <= 64 * CPU_SETSIZE; most *= 2) {
        size_t size = CPU_ALLOC_SIZE(most);
        cpu_set_t *mine = CPU_ALLOC(most);
        bool known = mine && sched_getaffinity(0, size, mine) == 0;
        int count = known ? CPU_COUNT_S(size, mine) : 0;
        CPU_FREE(mine);
        if (known)
            return count;
    }
    return 0;
}

static void detect_cores(struct oa_cpu *cpu, const struct oa_cgroup_limits *limits)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    cpu->online = online > 1 ? (int)online : 1;
    cpu->affinity = affinity_of_process();
    if (cpu->affinity < 1)
        cpu->affinity = cpu->online;
    cpu->quota = limits->cores;
    memcpy(cpu->quota_file, limits->cores_file, sizeof cpu->quota_file);
    cpu->cores = (int)ceil(oa_cpu_concurrency(cpu, cpu->affinity));
}

double oa_cpu_concurrency(const struct oa_cpu *cpu, int threads)
{
    double most = threads < cpu->affinity ? threads : cpu->affinity;
    return cpu->quota > 0 && cpu->quota < most ? cpu->quota : most;
}

void oa_cpu_detect(struct oa_cpu *cpu)
{
    struct oa_cgroup_limits limits;
    memset(cpu, 0, sizeof *cpu);
    oa_cgroup_limits_read("", &limits);
    struct utsname u;
    bool named = false;
#if defined(__x86_64__)
    named = x86_brand_name(cpu->name);
    x86_detect(cpu);
#endif
    if (!named && uname(&u) == 0)
        snprintf(cpu->name, sizeof cpu->name, "%.63s", u.machine);
    detect_cores(cpu, &limits);
    detect_caches(cpu);
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    cpu->memory = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : 0;
    if (limits.memory > 0 && limits.memory < cpu->memory)
        cpu->memory = limits.memory;
}
