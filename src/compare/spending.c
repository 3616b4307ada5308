/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/spending.h"

#include "base/checksum.h"

static enum oa_error read_seconds(oa_context *c, const char *path, const json_t *root,
                                  const char *key, double *out)
{
    const json_t *value = json_object_get(root, key);
    *out = json_number_value(value);
    if (json_is_number(value) && *out >= 0)
        return OA_OK;
    return oa_fail(c, OA_FORMAT,
                   "%s: \"%s\" must be a number of seconds; remove the file to count from 0", path,
                   key);
}

enum oa_error oa_spending_read(oa_context *c, const char *folder, struct oa_spending *out)
{
    char path[OA_PATH];
    json_t *root;
    *out = (struct oa_spending){ 0 };
    OA_TRY(oa_path(c, path, folder, "spending.json"));
    if (!oa_file_exists(path))
        return OA_OK;
    OA_TRY(oa_checksummed_read(c, path, "remove it to count from 0", &root));
    enum oa_error e = read_seconds(c, path, root, "clock", &out->clock);
    if (e == OA_OK)
        e = read_seconds(c, path, root, "rounds", &out->rounds);
    if (e == OA_OK)
        e = read_seconds(c, path, root, "training", &out->training);
    json_decref(root);
    return e;
}

enum oa_error oa_spending_write(oa_context *c, const char *folder, const struct oa_spending *s)
{
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, folder, "spending.json"));
    json_t *root = json_pack("{s:f, s:f, s:f}", "clock", s->clock, "rounds", s->rounds, "training",
                             s->training);
    enum oa_error e = root ? oa_checksummed_write(c, path, root)
                           : oa_fail(c, OA_NO_MEMORY, "%s: out of memory", path);
    json_decref(root);
    return e;
}
