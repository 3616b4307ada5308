/* SPDX-License-Identifier: Apache-2.0
 * Configuration files: any bytes give options or a sentence; options that were read are in range.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oa_context *c = fuzz_context();
    struct oa_options o;
    char path[64];
    int fd = fuzz_file(data, size, path);
    oa_options_default(&o);
    enum oa_error e = oa_options_load(c, &o, path, NULL);
    if (e == OA_OK && (o.model_layers < 1 || o.train_batch < 1 || o.model_dropout < 0))
        abort();
    if (e != OA_OK && oa_status(c) != e)
        abort();
    close(fd);
    return 0;
}
