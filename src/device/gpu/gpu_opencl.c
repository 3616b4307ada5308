/* SPDX-License-Identifier: Apache-2.0
 * The GPU device's driver in OpenCL (3.0, Khronos; 2.0 is enough). libOpenCL.so.1 is loaded when a
 * device is opened. Memory is coarse-grained shared virtual memory: its addresses can be added to
 * and passed in structs, and the host copies from and to it by commands of the queue only.
 *
 * All devices that a process opens on one card share its context and its compiled programs, which
 * stay until the process ends: runs that share the card, or follow each other, compile once. Each
 * has a queue and kernels of its own.
 *
 * The declarations below are those of CL/cl.h, which the build then does not need. */
#include "device/gpu/gpu_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct cl_object *cl_handle; /* platforms, devices, contexts, queues, programs, kernels */
enum {
    CL_DEVICE_TYPE_CPU = 2,
    CL_DEVICE_TYPE_ALL = -1,
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101f,
    CL_DEVICE_NAME = 0x102b,
    CL_DRIVER_VERSION = 0x102d,
    CL_DEVICE_VERSION = 0x102f,
    CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
    CL_DEVICE_SVM_CAPABILITIES = 0x1053,
    CL_DEVICE_SVM_COARSE_GRAIN_BUFFER = 1,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_KERNEL_EXEC_INFO_SVM_PTRS = 0x11b6,
    CL_MEM_READ_WRITE = 1,
    MAX_DEVICES = 64
};

/* name, result, parameters */
#define OPENCL_FUNCTIONS(F)                                                                        \
    F(clGetPlatformIDs, int32_t, (uint32_t, cl_handle *, uint32_t *))                              \
    F(clGetDeviceIDs, int32_t, (cl_handle, uint64_t, uint32_t, cl_handle *, uint32_t *))           \
    F(clGetDeviceInfo, int32_t, (cl_handle, uint32_t, size_t, void *, size_t *))                   \
    F(clCreateContext, cl_handle,                                                                  \
      (const intptr_t *, uint32_t, const cl_handle *, void *, void *, int32_t *))                  \
    F(clCreateCommandQueueWithProperties, cl_handle,                                               \
      (cl_handle, cl_handle, const uint64_t *, int32_t *))                                         \
    F(clReleaseCommandQueue, int32_t, (cl_handle))                                                 \
    F(clSVMAlloc, void *, (cl_handle, uint64_t, size_t, uint32_t))                                 \
    F(clSVMFree, void, (cl_handle, void *))                                                        \
    F(clEnqueueSVMMemcpy, int32_t,                                                                 \
      (cl_handle, uint32_t, void *, const void *, size_t, uint32_t, const cl_handle *,             \
       cl_handle *))                                                                               \
    F(clEnqueueSVMMemFill, int32_t,                                                                \
      (cl_handle, void *, const void *, size_t, size_t, uint32_t, const cl_handle *, cl_handle *)) \
    F(clCreateProgramWithSource, cl_handle,                                                        \
      (cl_handle, uint32_t, const char **, const size_t *, int32_t *))                             \
    F(clBuildProgram, int32_t,                                                                     \
      (cl_handle, uint32_t, const cl_handle *, const char *, void *, void *))                      \
    F(clGetProgramBuildInfo, int32_t, (cl_handle, cl_handle, uint32_t, size_t, void *, size_t *))  \
    F(clReleaseProgram, int32_t, (cl_handle))                                                      \
    F(clCreateKernel, cl_handle, (cl_handle, const char *, int32_t *))                             \
    F(clReleaseKernel, int32_t, (cl_handle))                                                       \
    F(clSetKernelArg, int32_t, (cl_handle, uint32_t, size_t, const void *))                        \
    F(clSetKernelArgSVMPointer, int32_t, (cl_handle, uint32_t, const void *))                      \
    F(clSetKernelExecInfo, int32_t, (cl_handle, uint32_t, size_t, const void *))                   \
    F(clEnqueueNDRangeKernel, int32_t,                                                             \
      (cl_handle, cl_handle, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,   \
       const cl_handle *, cl_handle *))                                                            \
    F(clFlush, int32_t, (cl_handle))                                                               \
    F(clFinish, int32_t, (cl_handle))

enum { MAX_ALLOCATIONS = 4096, MAX_PROGRAM_KERNELS = 64, MAX_PARTS = 8 };

/* What the devices on a card have in common. */
struct opencl_card {
    int index;
    pid_t process; /* that opened it */
    void *library;
#define OPENCL_POINTER(name, result, parameters) result(*name) parameters;
    OPENCL_FUNCTIONS(OPENCL_POINTER)
    cl_handle device, context;
    struct oa_gpu_facts facts; /* processor: programs are not optimised: PoCL takes minutes for one
                                  that is, and a processor has the CPU device for speed */
    struct opencl_built *built;
    struct opencl_card *next;
};

struct opencl_built {
    struct opencl_built *next;
    int parts;
    const char *text[MAX_PARTS]; /* constants of the program */
    cl_handle program;
};

static struct opencl_card *opencl_cards; /* under the lock, as their lists */
static pthread_mutex_t opencl_lock = PTHREAD_MUTEX_INITIALIZER;

struct opencl {
    struct opencl_card *card;
    cl_handle queue;
    void *allocation[MAX_ALLOCATIONS]; /* for kernels that are given addresses in structs */
    int allocations;
};

struct opencl_program {
    struct opencl_card *card;
    cl_handle program, kernel[MAX_PROGRAM_KERNELS];
    int kernels;
};

static bool opencl_check(oa_context *c, int32_t status, const char *what)
{
    if (status)
        oa_fail(c, OA_UNSUPPORTED, "opencl: %s failed with code %d (CL/cl.h names it)", what,
                (int)status);
    return status == 0;
}

/* ---- opening ---- */

static bool load_opencl(oa_context *c, struct opencl_card *card)
{
    card->library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!card->library) {
        oa_fail(c, OA_UNSUPPORTED,
                "device opencl: libOpenCL.so.1 cannot be loaded; it comes with the driver of a "
                "card (Debian: ocl-icd-libopencl1; for a processor: pocl-opencl-icd)");
        return false;
    }
    const char *missing = NULL;
#define OPENCL_LOAD(name, result, parameters)                                                      \
    *(void **)(&card->name) = dlsym(card->library, #name);                                         \
    if (!card->name)                                                                               \
        missing = #name;
    OPENCL_FUNCTIONS(OPENCL_LOAD)
    if (missing)
        oa_fail(c, OA_UNSUPPORTED, "device opencl: libOpenCL.so.1 has no %s; OpenCL 2.0 has",
                missing);
    return !missing;
}

/* Devices of all platforms, one after the other; how many. */
static int list_opencl_devices(struct opencl_card *card, cl_handle device[MAX_DEVICES])
{
    cl_handle platform[MAX_DEVICES];
    uint32_t platforms = 0, devices = 0;
    if (card->clGetPlatformIDs(MAX_DEVICES, platform, &platforms))
        return 0;
    for (uint32_t i = 0; i < oa_min(platforms, MAX_DEVICES) && devices < MAX_DEVICES; i++) {
        uint32_t more = 0, room = MAX_DEVICES - devices;
        if (card->clGetDeviceIDs(platform[i], (uint32_t)CL_DEVICE_TYPE_ALL, room, device + devices,
                                 &more) == 0)
            devices += (uint32_t)oa_min(more, room);
    }
    return (int)devices;
}

static void opencl_facts(struct opencl_card *card)
{
    struct oa_gpu_facts *facts = &card->facts;
    char version[128] = "", driver[128] = "";
    uint64_t memory = 0, type = 0;
    card->clGetDeviceInfo(card->device, CL_DEVICE_NAME, sizeof facts->name, facts->name, NULL);
    card->clGetDeviceInfo(card->device, CL_DEVICE_VERSION, sizeof version, version, NULL);
    card->clGetDeviceInfo(card->device, CL_DRIVER_VERSION, sizeof driver, driver, NULL);
    card->clGetDeviceInfo(card->device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
    card->clGetDeviceInfo(card->device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    snprintf(facts->driver, sizeof facts->driver, "%.60s, driver %.50s", version, driver);
    facts->memory = memory;
    facts->processor = type & CL_DEVICE_TYPE_CPU;
}

/* What the kernels need and a device may lack. */
static bool opencl_suffices(oa_context *c, struct opencl_card *card)
{
    const char *name = card->facts.name;
    uint64_t memory = 0, doubles = 0;
    card->clGetDeviceInfo(card->device, CL_DEVICE_SVM_CAPABILITIES, sizeof memory, &memory, NULL);
    card->clGetDeviceInfo(card->device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof doubles, &doubles, NULL);
    if (!(memory & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
        oa_fail(c, OA_UNSUPPORTED, "device opencl: %s has no shared virtual memory (OpenCL 2.0)",
                name);
    else if (!doubles)
        oa_fail(c, OA_UNSUPPORTED, "device opencl: %s has no double precision", name);
    return (memory & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) && doubles;
}

static bool open_card(oa_context *c, struct opencl_card *card)
{
    cl_handle device[MAX_DEVICES];
    int32_t status = 0;
    if (!load_opencl(c, card))
        return false;
    int devices = list_opencl_devices(card, device);
    if (card->index >= devices) {
        oa_fail(c, OA_UNSUPPORTED, "device opencl:%d is not here; OpenCL devices: %d%s",
                card->index, devices, devices ? ", numbered from 0" : " (no driver is installed)");
        return false;
    }
    card->device = device[card->index];
    opencl_facts(card);
    if (!opencl_suffices(c, card))
        return false;
    card->context = card->clCreateContext(NULL, 1, &card->device, NULL, NULL, &status);
    return opencl_check(c, status, "clCreateContext");
}

/* Under the lock; NULL after a failure. */
static struct opencl_card *card_of(oa_context *c, int index)
{
    struct opencl_card *card = opencl_cards;
    if (card && card->process != getpid()) {
        oa_fail(c, OA_UNSUPPORTED,
                "device opencl: this process was forked from one that had used OpenCL, and lacks "
                "its threads; use OpenCL only after the fork");
        return NULL;
    }
    while (card && card->index != index)
        card = card->next;
    if (card)
        return card;
    card = oa_alloc(c, sizeof *card);
    if (!card)
        return NULL;
    card->index = index;
    card->process = getpid();
    if (!open_card(c, card)) {
        if (card->library)
            dlclose(card->library);
        oa_free(card);
        return NULL;
    }
    card->next = opencl_cards;
    return opencl_cards = card;
}

static void opencl_close(void *state)
{
    struct opencl *cl = state;
    if (cl->queue)
        cl->card->clReleaseCommandQueue(cl->queue);
    oa_free(cl);
}

static void *opencl_open(oa_context *c, int index, struct oa_gpu_facts *facts)
{
    int32_t status = 0;
    struct opencl *cl = oa_alloc(c, sizeof *cl);
    if (!cl)
        return NULL;
    pthread_mutex_lock(&opencl_lock);
    cl->card = card_of(c, index);
    pthread_mutex_unlock(&opencl_lock);
    if (cl->card) {
        *facts = cl->card->facts;
        cl->queue = cl->card->clCreateCommandQueueWithProperties(cl->card->context,
                                                                 cl->card->device, NULL, &status);
        opencl_check(c, status, "clCreateCommandQueueWithProperties");
    }
    if (!cl->queue) {
        opencl_close(cl);
        return NULL;
    }
    return cl;
}

/* ---- memory ---- */

static void *opencl_allocate(void *state, oa_context *c, size_t bytes)
{
    struct opencl *cl = state;
    if (cl->allocations == MAX_ALLOCATIONS) {
        oa_fail(c, OA_NO_MEMORY, "device opencl: more than %d allocations", MAX_ALLOCATIONS);
        return NULL;
    }
    void *memory = cl->card->clSVMAlloc(cl->card->context, CL_MEM_READ_WRITE, bytes, 0);
    if (memory)
        cl->allocation[cl->allocations++] = memory;
    else
        oa_fail(c, OA_NO_MEMORY, "device opencl: no %.1f MB of memory left on it", bytes / 1e6);
    return memory;
}

static void opencl_release(void *state, void *memory)
{
    struct opencl *cl = state;
    int i = 0;
    while (i < cl->allocations && cl->allocation[i] != memory)
        i++;
    if (i == cl->allocations)
        return;
    cl->allocation[i] = cl->allocation[--cl->allocations];
    cl->card->clFinish(cl->queue);
    cl->card->clSVMFree(cl->card->context, memory);
}

static void opencl_copy_bytes(void *state, oa_context *c, bool wait, size_t bytes, const void *x,
                              void *y)
{
    struct opencl *cl = state;
    if (bytes && x != y)
        opencl_check(c, cl->card->clEnqueueSVMMemcpy(cl->queue, wait, y, x, bytes, 0, NULL, NULL),
                     "clEnqueueSVMMemcpy");
}

static void opencl_upload(void *state, oa_context *c, size_t bytes, const void *host, void *x)
{
    opencl_copy_bytes(state, c, true, bytes, host, x);
}

static void opencl_download(void *state, oa_context *c, size_t bytes, const void *x, void *host)
{
    opencl_copy_bytes(state, c, true, bytes, x, host);
}

static void opencl_copy(void *state, oa_context *c, size_t bytes, const void *x, void *y)
{
    opencl_copy_bytes(state, c, false, bytes, x, y);
}

static void opencl_fill(void *state, oa_context *c, size_t bytes, int byte, void *x)
{
    struct opencl *cl = state;
    unsigned char pattern = (unsigned char)byte;
    if (bytes)
        opencl_check(c,
                     cl->card->clEnqueueSVMMemFill(cl->queue, x, &pattern, 1, bytes, 0, NULL, NULL),
                     "clEnqueueSVMMemFill");
}

/* ---- kernels ---- */

static void report_opencl_log(oa_context *c, struct opencl_card *card, cl_handle program,
                              const char *name)
{
    char log[2000] = "";
    size_t bytes = 0;
    card->clGetProgramBuildInfo(program, card->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log,
                                &bytes);
    oa_fail(c, OA_UNSUPPORTED, "device opencl: its compiler refuses %s.cl: %s", name, log);
}

static struct opencl_built *find_built(struct opencl_card *card, int parts, const char *const *text)
{
    struct opencl_built *b = card->built;
    while (b && (b->parts != parts || memcmp(b->text, text, (size_t)parts * sizeof *text) != 0))
        b = b->next;
    return b;
}

/* Under the lock; NULL after a failure. */
static struct opencl_built *build_program(oa_context *c, struct opencl_card *card, const char *name,
                                          int parts, const char *const *text)
{
    extern const char oa_opencl_language_cl[];
    const char *all[MAX_PARTS + 1] = { oa_opencl_language_cl };
    int32_t status = 0;
    struct opencl_built *b = oa_alloc(c, sizeof *b);
    if (!b)
        return NULL;
    memcpy(all + 1, text, (size_t)parts * sizeof *text);
    memcpy(b->text, text, (size_t)parts * sizeof *text);
    b->parts = parts;
    b->program =
        card->clCreateProgramWithSource(card->context, (uint32_t)parts + 1, all, NULL, &status);
    if (opencl_check(c, status, "clCreateProgramWithSource") &&
        card->clBuildProgram(
            b->program, 1, &card->device,
            card->facts.processor ? "-cl-std=CL3.0 -cl-opt-disable" : "-cl-std=CL3.0", NULL, NULL))
        report_opencl_log(c, card, b->program, name);
    if (oa_status(c)) {
        if (b->program)
            card->clReleaseProgram(b->program);
        oa_free(b);
        return NULL;
    }
    b->next = card->built;
    return card->built = b;
}

static void *opencl_compile(void *state, oa_context *c, const char *name, int parts,
                            const char *const *text)
{
    struct opencl *cl = state;
    struct opencl_program *p = oa_alloc(c, sizeof *p);
    if (!p)
        return NULL;
    pthread_mutex_lock(&opencl_lock);
    struct opencl_built *b = find_built(cl->card, parts, text);
    if (!b)
        b = build_program(c, cl->card, name, parts, text);
    pthread_mutex_unlock(&opencl_lock);
    if (!b) {
        oa_free(p);
        return NULL;
    }
    *p = (struct opencl_program){ .card = cl->card, .program = b->program };
    return p;
}

static void opencl_forget(void *program)
{
    struct opencl_program *p = program;
    for (int i = 0; i < p->kernels; i++)
        p->card->clReleaseKernel(p->kernel[i]);
    oa_free(p);
}

static void *opencl_kernel(void *program, oa_context *c, const char *name)
{
    struct opencl_program *p = program;
    int32_t status = 0;
    if (p->kernels == MAX_PROGRAM_KERNELS) {
        oa_fail(c, OA_UNSUPPORTED, "opencl: a program has more than %d kernels",
                MAX_PROGRAM_KERNELS);
        return NULL;
    }
    cl_handle kernel = p->card->clCreateKernel(p->program, name, &status);
    if (!opencl_check(c, status, name))
        return NULL;
    return p->kernel[p->kernels++] = kernel;
}

static bool set_opencl_arguments(struct opencl *cl, oa_context *c, void *kernel,
                                 const struct oa_gpu_grid *l)
{
    int32_t status = 0;
    for (int i = 0; i < l->arguments && !status; i++) {
        const struct oa_gpu_argument *a = l->argument + i;
        if (a->bytes)
            status = cl->card->clSetKernelArg(kernel, (uint32_t)i, a->bytes, a->value);
        else
            status = cl->card->clSetKernelArgSVMPointer(kernel, (uint32_t)i,
                                                        *(const void *const *)a->value);
    }
    if (!status && l->indirect)
        status =
            cl->card->clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS,
                                          (size_t)cl->allocations * sizeof(void *), cl->allocation);
    return opencl_check(c, status, "clSetKernelArg");
}

static void opencl_launch(void *state, oa_context *c, void *kernel, const struct oa_gpu_grid *l)
{
    struct opencl *cl = state;
    size_t threads[3] = { (size_t)l->threads, 1, 1 },
           all[3] = { (size_t)(l->groups[0] * l->threads), (size_t)l->groups[1],
                      (size_t)l->groups[2] };
    if (set_opencl_arguments(cl, c, kernel, l))
        opencl_check(c,
                     cl->card->clEnqueueNDRangeKernel(cl->queue, kernel, 3, NULL, all, threads, 0,
                                                      NULL, NULL),
                     "clEnqueueNDRangeKernel");
}

static void opencl_wait(void *state, oa_context *c)
{
    struct opencl *cl = state;
    opencl_check(c, cl->card->clFinish(cl->queue), "clFinish");
}

const struct oa_gpu_driver oa_gpu_opencl = {
    .name = "opencl",
    .open = opencl_open,
    .close = opencl_close,
    .allocate = opencl_allocate,
    .release = opencl_release,
    .upload = opencl_upload,
    .download = opencl_download,
    .copy = opencl_copy,
    .fill = opencl_fill,
    .compile = opencl_compile,
    .forget = opencl_forget,
    .kernel = opencl_kernel,
    .launch = opencl_launch,
    .wait = opencl_wait,
};
