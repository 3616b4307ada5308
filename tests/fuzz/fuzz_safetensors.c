/* SPDX-License-Identifier: Apache-2.0
 * safetensors files: any bytes give a file whose every element can be read, or a sentence. */
#include "base/safetensors.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oa_context *c = fuzz_context();
    struct oa_tensors *f;
    char path[64];
    int fd = fuzz_file(data, size, path);
    if (oa_tensors_open(c, path, &f) == OA_OK) {
        volatile double sum = 0;
        for (int i = 0; i < oa_tensors_count(f); i++) {
            const struct oa_array *a = oa_tensors_at(f, i);
            for (size_t k = 0; k < a->bytes / oa_type_size(a->type); k++)
                sum = sum + oa_array_value(a, k);
        }
        oa_tensors_close(f);
    } else if (oa_status(c) == OA_OK) {
        abort();
    }
    close(fd);
    return 0;
}
