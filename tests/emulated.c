/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch runs its groups one after the other. Each thread of a group has a stack of its own, and
 * runs up to the next barrier; then the next one does. The compiler puts a call before each access
 * of a kernel (__tsan_read4 and so on, which are ours here), and each number of an allocation and
 * of shared memory has two marks: who wrote it last and who read it last. A mark has the time,
 * which is one more after each barrier, at each group and at each launch. Two threads race where
 * both touch a number, one of them writes, and no barrier of their group is between: so whether a
 * race is found does not depend on the order in which threads run.
 *
 * Builds with sanitizers do not have it: they would replace these calls, and the stacks. */
#include "emulated.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { MOST_ALLOCATIONS = 4096, GAP = 4096, STACK = 256 << 10 };

struct emulated_place emulated_at;
size_t emulated_bytes, emulated_most_bytes;
bool emulated_bounds_only;

static _Noreturn void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- marks ---- */

struct mark {
    uint64_t time; /* 0: nobody yet */
    int thread;
    bool several; /* other threads as well, at this time */
    bool groups;  /* other groups of the launch as well */
};

struct marks {
    struct mark written, read;
};

enum { SMALLEST = 2 }; /* bytes of any number that kernels write */

struct range {
    char *memory;
    size_t bytes;
    struct marks *marks;
};

static struct {
    pthread_mutex_t lock; /* of a launch, and of the allocations */
    struct range allocation[MOST_ALLOCATIONS];
    int allocations;
    struct range shared;
    uint64_t now, launch, group; /* the times when the launch and the group began */
    const struct emulated_kernel *kernel;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void report(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "kernel %s of %s.cl, group %ld, %ld, thread %d: ", state.kernel->name,
            state.kernel->program, emulated_at.group[0], emulated_at.group[1], emulated_at.thread);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    abort();
}

static size_t marks_bytes(size_t bytes)
{
    return (bytes / SMALLEST + 1) * sizeof(struct marks);
}

static struct marks *new_marks(size_t bytes)
{
    struct marks *marks = mmap(NULL, marks_bytes(bytes), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return marks == MAP_FAILED ? NULL : marks;
}

/* Was it touched since `since` by another thread, without a barrier between? */
static bool unordered(struct mark m, uint64_t since)
{
    if (m.time < since)
        return false;
    return m.groups || m.time < state.group ||
           (m.time == state.now && (m.several || m.thread != emulated_at.thread));
}

static void mark_read(struct mark *m, uint64_t since)
{
    if (m->time < since) {
        m->several = m->groups = false;
    } else {
        m->groups |= m->time < state.group;
        m->several = m->time == state.now && (m->several || m->thread != emulated_at.thread);
    }
    m->time = state.now;
    m->thread = emulated_at.thread;
}

static _Noreturn void report_race(const struct range *r, size_t byte, bool write, bool written,
                                  struct mark other)
{
    bool groups = other.groups || other.time < state.group;
    report("%s byte %zu of %s, which thread %d of %s group %s, and no barrier is between",
           write ? "writes" : "reads", byte, r == &state.shared ? "shared memory" : "an allocation",
           other.thread, groups ? "another" : "the", written ? "wrote" : "read");
}

static void touch(const struct range *r, size_t first, size_t bytes, bool write)
{
    bool shared = r == &state.shared;
    size_t step = state.kernel->smallest;
    uint64_t since = shared ? state.group : state.launch;
    for (size_t i = first / step * step; i < first + bytes; i += step) {
        struct marks *m = r->marks + i / SMALLEST;
        if (unordered(m->written, since))
            report_race(r, i, write, true, m->written);
        if (write && unordered(m->read, since))
            report_race(r, i, write, false, m->read);
        if (!write && shared && m->written.time < since)
            report("reads byte %zu of shared memory, which its group has not written", i);
        if (write)
            m->written = (struct mark){ .time = state.now, .thread = emulated_at.thread };
        else
            mark_read(&m->read, since);
    }
}

/* ---- accesses ---- */

static char *stacks; /* of the threads */

static const struct range *range_of(const char *x)
{
    static int last; /* most accesses are to where one was before */
    for (int i = last; i < state.allocations + last; i++) {
        const struct range *r = state.allocation + i % state.allocations;
        if (x >= r->memory && x < r->memory + r->bytes) {
            last = i % state.allocations;
            return r;
        }
    }
    return x >= state.shared.memory && x < state.shared.memory + state.shared.bytes ? &state.shared
                                                                                    : NULL;
}

/* Kernels touch their stacks, where they are, allocations and shared memory. */
static void access_bytes(const void *address, size_t bytes, bool write)
{
    const char *x = address, *own = (const char *)&emulated_at;
    if ((x >= stacks && x < stacks + (size_t)OA_GPU_GROUP * STACK) ||
        (x >= own && x < own + sizeof emulated_at))
        return;
    const struct range *r = range_of(x);
    if (!r || x + bytes > r->memory + r->bytes)
        report("%s %zu bytes at %p, outside of every allocation", write ? "writes" : "reads", bytes,
               address);
    if (!emulated_bounds_only)
        touch(r, (size_t)(x - r->memory), bytes, write);
}

#define CALL(name)                                                                                 \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
    }
#define ACCESS(name, bytes, write)                                                                 \
    void name(const void *x);                                                                      \
    void name(const void *x)                                                                       \
    {                                                                                              \
        access_bytes(x, bytes, write);                                                             \
    }
#define ACCESS_RANGE(name, write)                                                                  \
    void name(const void *x, size_t bytes);                                                        \
    void name(const void *x, size_t bytes)                                                         \
    {                                                                                              \
        access_bytes(x, bytes, write);                                                             \
    }
CALL(__tsan_init)
CALL(__tsan_func_entry)
CALL(__tsan_func_exit)
ACCESS(__tsan_read1, 1, false)
ACCESS(__tsan_read2, 2, false)
ACCESS(__tsan_read4, 4, false)
ACCESS(__tsan_read8, 8, false)
ACCESS(__tsan_read16, 16, false)
ACCESS(__tsan_unaligned_read2, 2, false)
ACCESS(__tsan_unaligned_read4, 4, false)
ACCESS(__tsan_unaligned_read8, 8, false)
ACCESS(__tsan_unaligned_read16, 16, false)
ACCESS(__tsan_write1, 1, true)
ACCESS(__tsan_write2, 2, true)
ACCESS(__tsan_write4, 4, true)
ACCESS(__tsan_write8, 8, true)
ACCESS(__tsan_write16, 16, true)
ACCESS(__tsan_unaligned_write2, 2, true)
ACCESS(__tsan_unaligned_write4, 4, true)
ACCESS(__tsan_unaligned_write8, 8, true)
ACCESS(__tsan_unaligned_write16, 16, true)
ACCESS_RANGE(__tsan_read_range, false)
ACCESS_RANGE(__tsan_write_range, true)

/* ---- threads ---- */

struct thread {
    ucontext_t context;
    jmp_buf place;
    int line; /* of the barrier it waits at; 0: it has ended */
};

static struct thread threads[OA_GPU_GROUP], scheduler;
static const void *const *arguments; /* of the launch */

/* setjmp() is many times as fast as swapcontext(). */
static void switch_threads(struct thread *from, struct thread *to)
{
    if (_setjmp(from->place) == 0)
        _longjmp(to->place, 1);
}

void emulated_barrier(int line)
{
    threads[emulated_at.thread].line = line;
    switch_threads(threads + emulated_at.thread, &scheduler);
}

/* A thread that ends is that of the next group. */
static void run_thread(void)
{
    for (;;) {
        emulated_barrier(0);
        state.kernel->call(arguments);
    }
}

static void make_threads(void)
{
    stacks = mmap(NULL, (size_t)OA_GPU_GROUP * STACK, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED)
        abort();
    for (int i = 0; i < OA_GPU_GROUP; i++) {
        ucontext_t *c = &threads[i].context;
        getcontext(c);
        c->uc_stack.ss_sp = stacks + (size_t)i * STACK;
        c->uc_stack.ss_size = STACK;
        makecontext(c, run_thread, 0);
        emulated_at.thread = i;
        if (_setjmp(scheduler.place) == 0)
            setcontext(c);
    }
}

/* All threads up to the next barrier, every other time the last one first; false: they have ended.
 */
static bool run_to_barrier(void)
{
    state.now++;
    for (int i = 0; i < OA_GPU_GROUP; i++) {
        emulated_at.thread = state.now % 2 ? OA_GPU_GROUP - 1 - i : i;
        switch_threads(&scheduler, threads + emulated_at.thread);
    }
    for (int i = 1; i < OA_GPU_GROUP; i++) {
        emulated_at.thread = i;
        if (threads[i].line != threads[0].line)
            report("%s %d, thread 0 %s %d",
                   threads[i].line ? "waits at the barrier of line" : "has ended, line",
                   threads[i].line, threads[0].line ? "at that of line" : "has ended, line",
                   threads[0].line);
    }
    return threads[0].line != 0;
}

/* ---- the driver's table ---- */

static void *emulated_open(oa_context *c, int index, struct oa_gpu_facts *facts)
{
    extern char __start_emulated_shared[] __attribute__((weak)),
        __stop_emulated_shared[] __attribute__((weak));
    (void)c, (void)index;
    *facts = (struct oa_gpu_facts){ "emulated", "emulated", (size_t)1 << 30, true, false };
    pthread_mutex_lock(&state.lock);
    if (!stacks) {
        size_t bytes = (size_t)(__stop_emulated_shared - __start_emulated_shared);
        state.shared =
            (struct range){ __start_emulated_shared, bytes, bytes ? new_marks(bytes) : NULL };
        make_threads();
    }
    pthread_mutex_unlock(&state.lock);
    return &state;
}

static void emulated_close(void *own)
{
    (void)own;
}

/* No two allocations are next to each other. */
static void *emulated_allocate(void *own, oa_context *c, size_t bytes)
{
    (void)own;
    struct range r = { oa_alloc_raw(c, bytes + GAP), bytes, new_marks(bytes) };
    pthread_mutex_lock(&state.lock);
    if (!r.memory || !r.marks || state.allocations == MOST_ALLOCATIONS)
        abort();
    state.allocation[state.allocations++] = r;
    emulated_bytes += bytes;
    if (emulated_bytes > emulated_most_bytes)
        emulated_most_bytes = emulated_bytes;
    pthread_mutex_unlock(&state.lock);
    return r.memory;
}

static void emulated_release(void *own, void *memory)
{
    (void)own;
    pthread_mutex_lock(&state.lock);
    for (int i = 0; i < state.allocations; i++)
        if (state.allocation[i].memory == memory) {
            emulated_bytes -= state.allocation[i].bytes;
            munmap(state.allocation[i].marks, marks_bytes(state.allocation[i].bytes));
            state.allocation[i] = state.allocation[--state.allocations];
            oa_free(memory);
            break;
        }
    pthread_mutex_unlock(&state.lock);
}

static void emulated_upload(void *own, oa_context *c, size_t bytes, const void *host, void *x)
{
    (void)own, (void)c;
    memcpy(x, host, bytes);
}

static void emulated_download(void *own, oa_context *c, size_t bytes, const void *x, void *host)
{
    (void)own, (void)c;
    memcpy(host, x, bytes);
}

static void emulated_copy(void *own, oa_context *c, size_t bytes, const void *x, void *y)
{
    (void)own, (void)c;
    memmove(y, x, bytes);
}

static void emulated_fill(void *own, oa_context *c, size_t bytes, int byte, void *x)
{
    (void)own, (void)c;
    memset(x, byte, bytes);
}

struct emulated_program {
    const char *name;
    const struct emulated_kernel *kernels; /* of its precision */
};

static void *emulated_compile(void *own, oa_context *c, const char *name, int parts,
                              const char *const *text)
{
    (void)own, (void)parts;
    struct emulated_program *p = oa_alloc(c, sizeof *p);
    const struct emulated_kernel *kernels = strstr(text[0], "ACT_BF16")   ? emulated_bf16
                                            : strstr(text[0], "REAL_F64") ? emulated_f64
                                                                          : emulated_f32;
    if (p)
        *p = (struct emulated_program){ name, kernels };
    return p;
}

static void emulated_forget(void *program)
{
    oa_free(program);
}

static void *emulated_kernel(void *program, oa_context *c, const char *name)
{
    const struct emulated_program *p = program;
    for (const struct emulated_kernel *k = p->kernels; k->name; k++)
        if (strcmp(k->name, name) == 0 && strcmp(k->program, p->name) == 0)
            return (void *)(uintptr_t)k;
    oa_fail(c, OA_UNSUPPORTED, "emulated: %s.cl has no kernel %s", p->name, name);
    return NULL;
}

static void check_parameters(const struct oa_gpu_grid *l)
{
    if (l->arguments != state.kernel->parameters || l->threads != OA_GPU_GROUP)
        report("is given %d arguments and %ld threads", l->arguments, l->threads);
    for (int i = 0; i < l->arguments; i++)
        if (l->argument[i].bytes != state.kernel->bytes[i])
            report("argument %d has %zu bytes, its parameter %zu (an address: 0)", i,
                   l->argument[i].bytes, state.kernel->bytes[i]);
}

static void emulated_launch(void *own, oa_context *c, void *kernel, const struct oa_gpu_grid *l)
{
    const void *value[64];
    (void)own, (void)c;
    pthread_mutex_lock(&state.lock);
    state.kernel = kernel;
    check_parameters(l);
    for (int i = 0; i < l->arguments; i++)
        value[i] = l->argument[i].value;
    arguments = value;
    state.launch = state.now + 1;
    for (int dimension = 0; dimension < 3; dimension++)
        emulated_at.groups[dimension] = l->groups[dimension];
    for (long g = 0; g < l->groups[0] * l->groups[1]; g++) {
        emulated_at.group[0] = g % l->groups[0];
        emulated_at.group[1] = g / l->groups[0];
        state.group = state.now + 1;
        while (run_to_barrier())
            ;
    }
    pthread_mutex_unlock(&state.lock);
}

static void emulated_wait(void *own, oa_context *c)
{
    (void)own, (void)c;
}

const struct oa_gpu_driver emulated_driver = {
    .name = "emulated",
    .open = emulated_open,
    .close = emulated_close,
    .allocate = emulated_allocate,
    .release = emulated_release,
    .upload = emulated_upload,
    .download = emulated_download,
    .copy = emulated_copy,
    .fill = emulated_fill,
    .compile = emulated_compile,
    .forget = emulated_forget,
    .kernel = emulated_kernel,
    .launch = emulated_launch,
    .wait = emulated_wait,
};

static enum oa_error open_emulated(struct oa_device *d)
{
    return oa_gpu_open(d, &emulated_driver);
}

const struct oa_device_ops *oa_emulated_device(void)
{
    static struct oa_device_ops table;
    if (!table.name) {
        table = oa_device_opencl;
        table.open = open_emulated;
        table.name = "emulated";
    }
    return &table;
}
