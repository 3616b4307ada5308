/* SPDX-License-Identifier: Apache-2.0
 * The GPU device's driver in CUDA. Three libraries are loaded when a device is opened: the card's
 * driver (libcuda), the compiler of kernels at run time (libnvrtc) and, if it is there, cuBLAS for
 * matrix products. Every device has a stream of its own in the card's primary context, so that
 * several runs share the card. Compiled programs are cached in a folder (program_cache.h).
 *
 * The declarations below are those of NVIDIA's headers (CUDA 12 and 13), which the
 * build then does not need. */
#include "device/gpu/gpu_driver.h"
#include "device/gpu/program_cache.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cuda_object *cuda_handle; /* contexts, streams, modules, functions, cuBLAS */
typedef unsigned long long cuda_address;

enum {
    CUDA_MULTIPROCESSORS = 16, /* attributes of a device */
    CUDA_CAPABILITY_MAJOR = 75,
    CUDA_CAPABILITY_MINOR = 76,
    CUDA_STREAM_NON_BLOCKING = 1,
    CUBLAS_N = 0,
    CUBLAS_T = 1,
    CUBLAS_F32 = 0, /* types of elements */
    CUBLAS_F64 = 1,
    CUBLAS_BF16 = 14,
    CUBLAS_COMPUTE_F32 = 68,
    CUBLAS_COMPUTE_F64 = 70,
    CUBLAS_NO_REDUCED_SUMS = 16, /* a mode */
    CUBLAS_WORKSPACE = 32 << 20 /* bytes; its own, so that results do not depend on other streams */
};

#define CUDA_FUNCTIONS(F)                                                                          \
    F(cuInit, int, (unsigned))                                                                     \
    F(cuGetErrorString, int, (int, const char **))                                                 \
    F(cuDriverGetVersion, int, (int *))                                                            \
    F(cuDeviceGetCount, int, (int *))                                                              \
    F(cuDeviceGet, int, (int *, int))                                                              \
    F(cuDeviceGetName, int, (char *, int, int))                                                    \
    F(cuDeviceTotalMem_v2, int, (size_t *, int))                                                   \
    F(cuDeviceGetAttribute, int, (int *, int, int))                                                \
    F(cuDevicePrimaryCtxRetain, int, (cuda_handle *, int))                                         \
    F(cuDevicePrimaryCtxRelease_v2, int, (int))                                                    \
    F(cuCtxSetCurrent, int, (cuda_handle))                                                         \
    F(cuStreamCreate, int, (cuda_handle *, unsigned))                                              \
    F(cuStreamDestroy_v2, int, (cuda_handle))                                                      \
    F(cuStreamSynchronize, int, (cuda_handle))                                                     \
    F(cuMemAlloc_v2, int, (cuda_address *, size_t))                                                \
    F(cuMemFree_v2, int, (cuda_address))                                                           \
    F(cuMemcpyHtoDAsync_v2, int, (cuda_address, const void *, size_t, cuda_handle))                \
    F(cuMemcpyDtoHAsync_v2, int, (void *, cuda_address, size_t, cuda_handle))                      \
    F(cuMemcpyDtoDAsync_v2, int, (cuda_address, cuda_address, size_t, cuda_handle))                \
    F(cuMemsetD8Async, int, (cuda_address, unsigned char, size_t, cuda_handle))                    \
    F(cuModuleLoadData, int, (cuda_handle *, const void *))                                        \
    F(cuModuleUnload, int, (cuda_handle))                                                          \
    F(cuModuleGetFunction, int, (cuda_handle *, cuda_handle, const char *))                        \
    F(cuLaunchKernel, int,                                                                         \
      (cuda_handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,          \
       cuda_handle, void **, void **))
#define NVRTC_FUNCTIONS(F)                                                                         \
    F(nvrtcVersion, int, (int *, int *))                                                           \
    F(nvrtcCreateProgram, int,                                                                     \
      (cuda_handle *, const char *, const char *, int, const char *const *, const char *const *))  \
    F(nvrtcDestroyProgram, int, (cuda_handle *))                                                   \
    F(nvrtcCompileProgram, int, (cuda_handle, int, const char *const *))                           \
    F(nvrtcGetProgramLogSize, int, (cuda_handle, size_t *))                                        \
    F(nvrtcGetProgramLog, int, (cuda_handle, char *))                                              \
    F(nvrtcGetCUBINSize, int, (cuda_handle, size_t *))                                             \
    F(nvrtcGetCUBIN, int, (cuda_handle, char *))
#define CUBLAS_FUNCTIONS(F)                                                                        \
    F(cublasCreate_v2, int, (cuda_handle *))                                                       \
    F(cublasDestroy_v2, int, (cuda_handle))                                                        \
    F(cublasSetStream_v2, int, (cuda_handle, cuda_handle))                                         \
    F(cublasSetMathMode, int, (cuda_handle, int))                                                  \
    F(cublasSetWorkspace_v2, int, (cuda_handle, void *, size_t))                                   \
    F(cublasGemmEx, int,                                                                           \
      (cuda_handle, int, int, int, int, int, const void *, const void *, int, int, const void *,   \
       int, int, const void *, void *, int, int, int, int))

struct cuda {
#define CUDA_POINTER(name, result, parameters) result(*name) parameters;
    CUDA_FUNCTIONS(CUDA_POINTER)
    NVRTC_FUNCTIONS(CUDA_POINTER)
    CUBLAS_FUNCTIONS(CUDA_POINTER)
    void *driver, *nvrtc, *cublas; /* libraries; cublas NULL: products by our kernels */
    int device, nvrtc_version;
    bool retained;
    char architecture[48]; /* "--gpu-architecture=sm_90" */
    cuda_handle context, stream, blas;
    cuda_address workspace;
};

struct cuda_program {
    struct cuda *cuda;
    cuda_handle module;
};

static cuda_address address_of(const void *x)
{
    return (cuda_address)(uintptr_t)x;
}

static bool cuda_check(oa_context *c, const struct cuda *cuda, int status, const char *what)
{
    const char *sentence = NULL;
    if (status) {
        cuda->cuGetErrorString(status, &sentence);
        oa_fail(c, OA_UNSUPPORTED, "device cuda: %s failed: %s (%d)", what,
                sentence ? sentence : "unknown", status);
    }
    return status == 0;
}

/* ---- opening ---- */

static void *load_first(const char *const *names)
{
    void *library = NULL;
    for (; *names && !library; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* Names of CUDA 13 and 12, where the linker finds them and where the toolkit puts them. */
static bool load_cuda(oa_context *c, struct cuda *cuda)
{
    static const char *const driver[] = { "libcuda.so.1", NULL };
    static const char *const nvrtc[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                         "/usr/local/cuda/lib64/libnvrtc.so", NULL };
    static const char *const cublas[] = { "libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                          "/usr/local/cuda/lib64/libcublas.so", NULL };
    const char *missing = NULL;
    cuda->driver = load_first(driver);
    cuda->nvrtc = cuda->driver ? load_first(nvrtc) : NULL;
    cuda->cublas = cuda->nvrtc ? load_first(cublas) : NULL;
    if (!cuda->driver || !cuda->nvrtc) {
        oa_fail(c, OA_UNSUPPORTED, "device cuda: %s cannot be loaded; %s",
                cuda->driver ? "libnvrtc (13 or 12)" : "libcuda.so.1",
                cuda->driver ? "it is in NVIDIA's CUDA toolkit and in pip's nvidia-cuda-nvrtc; add "
                               "its folder to LD_LIBRARY_PATH"
                             : "it comes with NVIDIA's driver");
        return false;
    }
#define CUDA_LOAD(from, name)                                                                      \
    if (from && !(*(void **)(&cuda->name) = dlsym(from, #name)))                                   \
        missing = #name;
#define CUDA_LOAD_DRIVER(name, result, parameters) CUDA_LOAD(cuda->driver, name)
#define CUDA_LOAD_NVRTC(name, result, parameters) CUDA_LOAD(cuda->nvrtc, name)
#define CUDA_LOAD_CUBLAS(name, result, parameters) CUDA_LOAD(cuda->cublas, name)
    CUDA_FUNCTIONS(CUDA_LOAD_DRIVER)
    NVRTC_FUNCTIONS(CUDA_LOAD_NVRTC)
    CUBLAS_FUNCTIONS(CUDA_LOAD_CUBLAS)
    if (missing)
        oa_fail(c, OA_UNSUPPORTED, "device cuda: the libraries have no %s; CUDA 12 has", missing);
    return !missing;
}

static bool find_card(oa_context *c, struct cuda *cuda, int index, struct oa_gpu_facts *facts)
{
    int cards = 0, version = 0, major = 0, minor = 0, nvrtc[2] = { 0, 0 };
    if (!cuda_check(c, cuda, cuda->cuInit(0), "cuInit") ||
        !cuda_check(c, cuda, cuda->cuDeviceGetCount(&cards), "cuDeviceGetCount"))
        return false;
    if (index >= cards) {
        oa_fail(c, OA_UNSUPPORTED, "device cuda:%d is not here; cards: %d, numbered from 0", index,
                cards);
        return false;
    }
    if (!cuda_check(c, cuda, cuda->cuDeviceGet(&cuda->device, index), "cuDeviceGet"))
        return false;
    cuda->cuDriverGetVersion(&version);
    cuda->nvrtcVersion(nvrtc, nvrtc + 1);
    cuda->cuDeviceGetName(facts->name, sizeof facts->name, cuda->device);
    cuda->cuDeviceTotalMem_v2(&facts->memory, cuda->device);
    cuda->cuDeviceGetAttribute(&major, CUDA_CAPABILITY_MAJOR, cuda->device);
    cuda->cuDeviceGetAttribute(&minor, CUDA_CAPABILITY_MINOR, cuda->device);
    facts->matrix_units = major >= 8;
    cuda->nvrtc_version = nvrtc[0] * 100 + nvrtc[1];
    snprintf(facts->driver, sizeof facts->driver,
             "CUDA %d.%d, sm_%d%d, nvrtc %d.%d, products by %s", version / 1000,
             version % 1000 / 10, major, minor, nvrtc[0], nvrtc[1],
             cuda->cublas ? "cuBLAS" : "our kernels");
    snprintf(cuda->architecture, sizeof cuda->architecture, "--gpu-architecture=sm_%d%d", major,
             minor);
    return true;
}

static bool open_blas(oa_context *c, struct cuda *cuda)
{
    if (!cuda->cublas)
        return true;
    if (!cuda_check(c, cuda, cuda->cuMemAlloc_v2(&cuda->workspace, CUBLAS_WORKSPACE), "cuMemAlloc"))
        return false;
    int status = cuda->cublasCreate_v2(&cuda->blas);
    if (!status)
        status = cuda->cublasSetStream_v2(cuda->blas, cuda->stream);
    if (!status)
        status = cuda->cublasSetWorkspace_v2(cuda->blas, (void *)(uintptr_t)cuda->workspace,
                                             CUBLAS_WORKSPACE);
    if (!status)
        status = cuda->cublasSetMathMode(cuda->blas, CUBLAS_NO_REDUCED_SUMS);
    if (status)
        oa_fail(c, OA_UNSUPPORTED, "device cuda: cuBLAS cannot be opened (status %d)", status);
    return !status;
}

static bool open_cuda(oa_context *c, struct cuda *cuda, int index, struct oa_gpu_facts *facts)
{
    if (!load_cuda(c, cuda) || !find_card(c, cuda, index, facts))
        return false;
    if (!cuda_check(c, cuda, cuda->cuDevicePrimaryCtxRetain(&cuda->context, cuda->device),
                    "cuDevicePrimaryCtxRetain"))
        return false;
    cuda->retained = true;
    return cuda_check(c, cuda, cuda->cuCtxSetCurrent(cuda->context), "cuCtxSetCurrent") &&
           cuda_check(c, cuda, cuda->cuStreamCreate(&cuda->stream, CUDA_STREAM_NON_BLOCKING),
                      "cuStreamCreate") &&
           open_blas(c, cuda);
}

/* The libraries stay loaded: they have threads of their own, and the next device is opened faster.
 */
static void cuda_close(void *state)
{
    struct cuda *cuda = state;
    if (cuda->retained)
        cuda->cuCtxSetCurrent(cuda->context);
    if (cuda->blas)
        cuda->cublasDestroy_v2(cuda->blas);
    if (cuda->workspace)
        cuda->cuMemFree_v2(cuda->workspace);
    if (cuda->stream)
        cuda->cuStreamDestroy_v2(cuda->stream);
    if (cuda->retained)
        cuda->cuDevicePrimaryCtxRelease_v2(cuda->device);
    oa_free(cuda);
}

static void *cuda_open(oa_context *c, int index, struct oa_gpu_facts *facts)
{
    struct cuda *cuda = oa_alloc(c, sizeof *cuda);
    if (cuda && !open_cuda(c, cuda, index, facts)) {
        cuda_close(cuda);
        return NULL;
    }
    return cuda;
}

/* ---- memory ---- the calling thread may be another one than that of the last call ---- */

static struct cuda *current(void *state)
{
    struct cuda *cuda = state;
    cuda->cuCtxSetCurrent(cuda->context);
    return cuda;
}

static void *cuda_allocate(void *state, oa_context *c, size_t bytes)
{
    struct cuda *cuda = current(state);
    cuda_address memory = 0;
    if (cuda->cuMemAlloc_v2(&memory, bytes ? bytes : 1))
        oa_fail(c, OA_NO_MEMORY, "device cuda: no %.1f MB of memory left on the card",
                (double)bytes / 1e6);
    return (void *)(uintptr_t)memory;
}

static void cuda_release(void *state, void *memory)
{
    struct cuda *cuda = current(state);
    cuda->cuStreamSynchronize(cuda->stream);
    cuda->cuMemFree_v2(address_of(memory));
}

/* From ordinary memory the copy is taken before the call returns. */
static void cuda_upload(void *state, oa_context *c, size_t bytes, const void *host, void *x)
{
    struct cuda *cuda = current(state);
    if (bytes)
        cuda_check(c, cuda, cuda->cuMemcpyHtoDAsync_v2(address_of(x), host, bytes, cuda->stream),
                   "a copy to the card");
}

static void cuda_wait(void *state, oa_context *c)
{
    struct cuda *cuda = current(state);
    cuda_check(c, cuda, cuda->cuStreamSynchronize(cuda->stream), "an operation");
}

static void cuda_download(void *state, oa_context *c, size_t bytes, const void *x, void *host)
{
    struct cuda *cuda = current(state);
    if (bytes)
        cuda_check(c, cuda, cuda->cuMemcpyDtoHAsync_v2(host, address_of(x), bytes, cuda->stream),
                   "a copy from the card");
    cuda_wait(state, c);
}

static void cuda_copy(void *state, oa_context *c, size_t bytes, const void *x, void *y)
{
    struct cuda *cuda = current(state);
    if (bytes && x != y)
        cuda_check(c, cuda,
                   cuda->cuMemcpyDtoDAsync_v2(address_of(y), address_of(x), bytes, cuda->stream),
                   "a copy on the card");
}

static void cuda_fill(void *state, oa_context *c, size_t bytes, int byte, void *x)
{
    struct cuda *cuda = current(state);
    if (bytes)
        cuda_check(c, cuda,
                   cuda->cuMemsetD8Async(address_of(x), (unsigned char)byte, bytes, cuda->stream),
                   "filling memory");
}

/* ---- kernels ---- */

static char *join_texts(oa_context *c, int parts, const char *const *text)
{
    extern const char oa_cuda_language_cl[];
    size_t bytes = strlen(oa_cuda_language_cl) + 1;
    for (int i = 0; i < parts; i++)
        bytes += strlen(text[i]);
    char *all = oa_alloc(c, bytes), *end = all;
    if (!all)
        return NULL;
    end = stpcpy(end, oa_cuda_language_cl);
    for (int i = 0; i < parts; i++)
        end = stpcpy(end, text[i]);
    return all;
}

static void report_nvrtc_log(oa_context *c, const struct cuda *cuda, cuda_handle program,
                             const char *name, int status)
{
    size_t bytes = 0;
    cuda->nvrtcGetProgramLogSize(program, &bytes);
    char *log = bytes > 0 ? oa_alloc(c, bytes + 1) : NULL;
    if (log)
        cuda->nvrtcGetProgramLog(program, log);
    oa_fail(c, OA_UNSUPPORTED, "device cuda: nvrtc refuses %s.cl (%d): %.1500s", name, status,
            log ? log : "no reason is given");
    oa_free(log);
}

/* Machine code, and its size; NULL after a failure. */
static char *compile_cubin(oa_context *c, const struct cuda *cuda, const char *name,
                           const char *text, size_t *bytes)
{
    const char *const options[] = { cuda->architecture, "--std=c++17", "--fmad=true" };
    cuda_handle program = NULL;
    char *code = NULL;
    int status = cuda->nvrtcCreateProgram(&program, text, name, 0, NULL, NULL);
    if (!status)
        status = cuda->nvrtcCompileProgram(program, 3, options);
    if (status)
        report_nvrtc_log(c, cuda, program, name, status);
    else if (cuda->nvrtcGetCUBINSize(program, bytes) == 0 &&
             (code = oa_alloc(c, *bytes + 1)) != NULL)
        cuda->nvrtcGetCUBIN(program, code);
    if (program)
        cuda->nvrtcDestroyProgram(&program);
    return code;
}

/* From the cache, or compiled now. */
static char *cubin_of(oa_context *c, const struct cuda *cuda, const char *name, const char *text)
{
    char key[OA_PROGRAM_KEY];
    size_t bytes = 0;
    oa_program_key(key, cuda->architecture, cuda->nvrtc_version, text);
    char *code = oa_program_cached(c, name, key);
    if (code)
        return code;
    code = compile_cubin(c, cuda, name, text, &bytes);
    if (code)
        oa_program_cache(c, name, key, code, bytes);
    return code;
}

static void *cuda_compile(void *state, oa_context *c, const char *name, int parts,
                          const char *const *text)
{
    struct cuda *cuda = current(state);
    char *all = join_texts(c, parts, text), *code = all ? cubin_of(c, cuda, name, all) : NULL;
    struct cuda_program *p = code ? oa_alloc(c, sizeof *p) : NULL;
    if (p) {
        p->cuda = cuda;
        cuda_check(c, cuda, cuda->cuModuleLoadData(&p->module, code), name);
    }
    oa_free(all);
    oa_free(code);
    return p;
}

static void cuda_forget(void *program)
{
    struct cuda_program *p = program;
    if (p->module)
        current(p->cuda)->cuModuleUnload(p->module);
    oa_free(p);
}

static void *cuda_kernel(void *program, oa_context *c, const char *name)
{
    struct cuda_program *p = program;
    cuda_handle kernel = NULL;
    cuda_check(c, p->cuda, current(p->cuda)->cuModuleGetFunction(&kernel, p->module, name), name);
    return kernel;
}

static void cuda_launch(void *state, oa_context *c, void *kernel, const struct oa_gpu_grid *l)
{
    enum { MOST = 32 };
    struct cuda *cuda = current(state);
    void *parameters[MOST];
    if (l->arguments > MOST) {
        oa_fail(c, OA_UNSUPPORTED, "device cuda: a kernel has more than %d arguments", MOST);
        return;
    }
    for (int i = 0; i < l->arguments; i++)
        parameters[i] = (void *)(uintptr_t)l->argument[i].value;
    cuda_check(c, cuda,
               cuda->cuLaunchKernel(kernel, (unsigned)l->groups[0], (unsigned)l->groups[1],
                                    (unsigned)l->groups[2], (unsigned)l->threads, 1, 1, 0,
                                    cuda->stream, parameters, NULL),
               "a launch");
}

/* ---- matrix products ---- C is row-major: to cuBLAS, whose matrices are column-major, it is
 * Cᵀ = op(B)ᵀ op(A)ᵀ. ---- */

static bool cuda_gemm(void *state, oa_context *c, const struct oa_gemm *g, enum oa_precision p,
                      const void *a, const void *b, void *product)
{
    struct cuda *cuda = current(state);
    bool f64 = p == OA_PRECISION_F64;
    int in = f64 ? CUBLAS_F64 : p == OA_PRECISION_BF16 ? CUBLAS_BF16 : CUBLAS_F32;
    int out = g->real_out && !f64 ? CUBLAS_F32 : in;
    const float one = 1, add = g->accumulate;
    const double one64 = 1, add64 = g->accumulate;
    if (!cuda->blas || g->invariant_rows || g->packed || g->m > 1 << 30 || g->n > 1 << 30)
        return false;
    int status = cuda->cublasGemmEx(cuda->blas, g->tb ? CUBLAS_T : CUBLAS_N,
                                    g->ta ? CUBLAS_T : CUBLAS_N, (int)g->n, (int)g->m, (int)g->k,
                                    f64 ? (const void *)&one64 : &one, b, in, (int)g->ldb, a, in,
                                    (int)g->lda, f64 ? (const void *)&add64 : &add, product, out,
                                    (int)g->ldc, f64 ? CUBLAS_COMPUTE_F64 : CUBLAS_COMPUTE_F32, -1);
    if (status)
        oa_fail(c, OA_UNSUPPORTED,
                "device cuda: cuBLAS refuses a product of [%ld, %ld] and [%ld, %ld] (status %d)",
                g->m, g->k, g->k, g->n, status);
    return true;
}

const struct oa_gpu_driver oa_gpu_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .compile = cuda_compile,
    .forget = cuda_forget,
    .kernel = cuda_kernel,
    .launch = cuda_launch,
    .wait = cuda_wait,
    .gemm = cuda_gemm,
};
