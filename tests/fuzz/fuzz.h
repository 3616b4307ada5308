/* SPDX-License-Identifier: Apache-2.0
 * What the fuzzers share: a context that is made once, and bytes as a file. Build with
 * clang -fsanitize=fuzzer,address,undefined; tools/test.sh runs each briefly. */
#ifndef ORTHANT_FUZZ_H
#define ORTHANT_FUZZ_H

#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline oa_context *fuzz_context(void)
{
    static oa_context *c;
    if (!c)
        c = oa_open(&(struct oa_settings){ .threads = 1 });
    oa_clear_error(c);
    return c;
}

/* An unnamed file with these bytes; the path is written to `path`. Close the result. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[64])
{
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

#endif
