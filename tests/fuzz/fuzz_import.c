/* SPDX-License-Identifier: Apache-2.0
 * Runs of other programs: any bytes, as a table, JSON or an event file, give a comparison whose
 * runs are finite or failed, or a sentence. */
#include "fuzz.h"

#include "import/observations.h"

#include <math.h>

static void check_comparison(const struct oa_comparison *k)
{
    for (int i = 0; i < k->count; i++)
        for (int s = 0; s < k->seeds; s++) {
            const struct oa_run *r = &k->entries[i].runs[s];
            if (!r->absent && !r->failed && !isfinite(r->valid_loss))
                abort();
        }
}

static enum oa_error import_events(oa_context *c, const struct oa_import_request *r,
                                   struct oa_comparison *k)
{
    struct oa_observations o;
    oa_observations_init(&o, c, r);
    enum oa_error e = oa_observe_events(&o, 0);
    if (e == OA_OK)
        e = oa_compare_observations(&o, k);
    oa_observations_free(&o);
    return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oa_context *c = fuzz_context();
    struct oa_comparison k = { 0 };
    char path[64];
    const char *paths[] = { path };
    if (!size)
        return 0;
    struct oa_import_request r = {
        .paths = paths, .count = 1, .direction = OA_IMPORT_LOWER, .at = data[0] & 2 ? "best" : NULL
    };
    int fd = fuzz_file(data + 1, size - 1, path);
    enum oa_error e = data[0] & 1 ? import_events(c, &r, &k) : oa_import_runs(c, &r, &k);
    if (e == OA_OK)
        check_comparison(&k);
    else if (oa_status(c) != e)
        abort();
    oa_comparison_free(&k);
    close(fd);
    return 0;
}
