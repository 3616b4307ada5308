/* SPDX-License-Identifier: Apache-2.0 */
#include "model/new_run.h"

enum oa_error oa_new_run_check(oa_context *c, const char *folder)
{
    /* config.json may be of an attempt that failed: the weights come last */
    static const char *const names[] = { "model.safetensors", "log.jsonl", "contest.json" };
    char path[OA_PATH];
    OA_TRY(oa_directory_check(c, folder));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        OA_TRY(oa_path(c, path, folder, names[i]));
        if (oa_file_exists(path))
            return oa_fail(c, OA_ARGUMENT, "%s exists; choose another folder", path);
    }
    return OA_OK;
}

enum oa_error oa_new_run_write(const struct oa_model *m, const struct oa_tokenizer *tokenizer,
                               const struct oa_labels *specials, bool frozen, const char *folder)
{
    oa_context *c = m->context;
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, folder, "tokenizer.json"));
    OA_TRY(oa_tokenizer_save(c, tokenizer, path));
    OA_TRY(oa_path(c, path, folder, "config.json"));
    OA_TRY(oa_model_save_config(m, specials, path));
    OA_TRY(oa_path(c, path, folder, "model.safetensors"));
    return oa_model_save(m, tokenizer, path, frozen);
}
