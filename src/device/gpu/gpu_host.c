/* while it is being written: operations that are not there yet, by the host */
#include "device/gpu/gpu.h"
static struct oa_device *to_host(struct oa_device *d)
{
    if (!d->cpu)
        oa_device_cpu.open(d);
    oa_gpu_of(d)->driver->wait(oa_gpu_of(d)->state, d->context);
    return d;
}
#define OA_DO(name, parameters, arguments)                                                         \
    __attribute__((weak)) void oa_gpu_##name parameters                                            \
    {                                                                                              \
        to_host(d);                                                                                \
        oa_device_cpu.name arguments;                                                              \
    }
#define OA_ASK(type, name, parameters, arguments)                                                  \
    __attribute__((weak)) type oa_gpu_##name parameters                                            \
    {                                                                                              \
        to_host(d);                                                                                \
        return oa_device_cpu.name arguments;                                                       \
    }
#define AT(x) ((void *)(uintptr_t)(x))
#define OF(type, a) (a)
#define OA_REQUIRED_OPERATIONS
#include "device/operations.def"
