/* SPDX-License-Identifier: Apache-2.0
 * The kernels of the GPU device as C++ for the host, of one precision: the words in which OpenCL C
 * and CUDA C++ differ have a third form here. Compiled with -fsanitize=thread, whose calls at each
 * access go to emulated.c. */
#include "emulated.h"

#include <cmath>
#include <cstring>
#include <utility>

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define KERNEL static __attribute__((noinline))
#define FUNCTION static inline
#define GLOBAL
#define LOCAL
#ifdef __SANITIZE_ADDRESS__ /* which watches the ends of each array, in its own section only */
#define SHARED static
#else
#define SHARED static __attribute__((section("emulated_shared")))
#endif
#define AT(type, address) ((type *)(address))
#define GROUP(d) (emulated_at.group[d])
#define GROUPS(d) (emulated_at.groups[d])
#define THREAD (emulated_at.thread)
#define ITEM (emulated_at.group[0] * GROUP_SIZE + emulated_at.thread)
#define BARRIER emulated_barrier(__LINE__)
#define MULTIPLY_HIGH(a, b) ((uint)((ulong)(a) * (b) >> 32))

static inline float AS_FLOAT(uint bits)
{
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint AS_UINT(float x)
{
    uint bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

using namespace std;

#define PROGRAM(name)                                                                              \
    namespace name                                                                                 \
    {
#define END }

/* numbers.cl is the first of each. */
/* clang-format off */
PROGRAM(elements)
#include "device/gpu/numbers.cl"
#include "device/gpu/elements.cl"
END
PROGRAM(gemm)
#include "device/gpu/numbers.cl"
#include "device/gpu/gemm.cl"
END
PROGRAM(norm)
#include "device/gpu/numbers.cl"
#include "device/gpu/norm.cl"
END
PROGRAM(embedding)
#include "device/gpu/numbers.cl"
#include "device/gpu/embedding.cl"
END
PROGRAM(loss)
#include "device/gpu/numbers.cl"
#include "device/gpu/loss.cl"
END
PROGRAM(update)
#include "device/gpu/numbers.cl"
#include "device/gpu/update.cl"
END
PROGRAM(logits)
#include "device/gpu/numbers.cl"
#include "device/gpu/logits.cl"
END
PROGRAM(relative)
#include "device/gpu/numbers.cl"
#include "device/gpu/relative.cl"
END
PROGRAM(mixture)
#include "device/gpu/numbers.cl"
#include "device/gpu/mixture.cl"
END
PROGRAM(forget)
#include "device/gpu/numbers.cl"
#include "device/gpu/forget.cl"
END
PROGRAM(chunks)
#include "device/gpu/numbers.cl"
#include "device/gpu/chunks.cl"
END
PROGRAM(linear_attention)
#include "device/gpu/numbers.cl"
#include "device/gpu/linear_attention.cl"
END
PROGRAM(recurrence)
#include "device/gpu/numbers.cl"
#include "device/gpu/recurrence.cl"
END
PROGRAM(features)
#include "device/gpu/numbers.cl"
#include "device/gpu/features.cl"
END
PROGRAM(random_features)
#include "device/gpu/numbers.cl"
#include "device/gpu/random_features.cl"
END
PROGRAM(rows)
#include "device/gpu/numbers.cl"
#include "device/gpu/rows.cl"
END
PROGRAM(heads)
#include "device/gpu/numbers.cl"
#include "device/gpu/heads.cl"
END
PROGRAM(length)
#include "device/gpu/numbers.cl"
#include "device/gpu/length.cl"
END
PROGRAM(transform)
#include "device/gpu/numbers.cl"
#include "device/gpu/transform.cl"
END
PROGRAM(mixer)
#include "device/gpu/numbers.cl"
#include "device/gpu/mixer.cl"
END
PROGRAM(pattern)
#include "device/gpu/numbers.cl"
#include "device/gpu/pattern.cl"
END
PROGRAM(band)
#include "device/gpu/numbers.cl"
#include "device/gpu/band.cl"
END
PROGRAM(planted)
#include "device/gpu/numbers.cl"
#include "planted.cl"
END
    /* clang-format on */

    template <auto kernel>
    struct caller;

template <class... P, void (*kernel)(P...)> struct caller<kernel> {
    static constexpr int parameters = sizeof...(P);
    static constexpr size_t bytes[] = { (is_pointer<P>::value ? 0 : sizeof(P))... };

    template <size_t... i>
    __attribute__((no_sanitize("thread"))) static void pass(const void *const *argument,
                                                            index_sequence<i...>)
    {
        kernel(*(const P *)argument[i]...);
    }

    __attribute__((no_sanitize("thread"))) static void call(const void *const *argument)
    {
        pass(argument, index_sequence_for<P...>{});
    }
};

/* clang-format off */
#define ENTRY(program, name)                                                                       \
    { #program, #name, caller<program::name>::parameters, caller<program::name>::bytes,            \
      caller<program::name>::call, sizeof(elements::act) < 4 ? sizeof(elements::act) : 4 },

extern "C" const struct emulated_kernel EMULATED_KERNELS[] = {
#define OA_GPU_WITHOUT_UNITS
#define OA_GPU_PROGRAM(name)
#define OA_GPU_KERNEL(program, name) ENTRY(program, name)
#include "device/gpu/gpu_kernels.def"
    ENTRY(planted, planted_nothing)
    ENTRY(planted, planted_race)
    ENTRY(planted, planted_group_race)
    ENTRY(planted, planted_shared_race)
    ENTRY(planted, planted_unwritten)
    ENTRY(planted, planted_write_after)
    ENTRY(planted, planted_read_before)
    ENTRY(planted, planted_divergence)
    { nullptr, nullptr, 0, nullptr, nullptr, 0 }
};
