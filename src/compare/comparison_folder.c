/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/comparison_folder.h"

#include "base/checksum.h"
#include "compare/run_items.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char unknown_owner[] =
    "--overwrite: not a folder that this program made; remove it yourself, or give another --out";

static enum oa_error check_comparison_marker(oa_context *c, const char *path)
{
    json_t *root;
    OA_TRY(oa_checksummed_read(c, path, unknown_owner, &root));
    bool ours = json_is_object(json_object_get(root, "fingerprint")) &&
                json_is_array(json_object_get(root, "members"));
    json_decref(root);
    return ours ? OA_OK : oa_fail(c, OA_ARGUMENT, "%s: %s", path, unknown_owner);
}

/* runs/attention-NN/seed-S, tune/attention-NN/CELL/seed-S, vary/attention-NN/SOURCE-SEED */
static const struct oa_folder_name run_names[] = { { "run.json", NULL },
                                                   { "result.json", NULL },
                                                   { OA_ITEMS_FILE, NULL },
                                                   { "attention", oa_run_names },
                                                   { NULL, oa_run_names } };
static const struct oa_folder_name seed_names[] = { { "seed-#", run_names }, { NULL, NULL } };
static const struct oa_folder_name runs_names[] = { { "attention-#", seed_names }, { NULL, NULL } };
static const struct oa_folder_name cell_names[] = { { "*", seed_names }, { NULL, NULL } };
static const struct oa_folder_name tune_names[] = { { "attention-#", cell_names }, { NULL, NULL } };
static const struct oa_folder_name source_names[] = { { "init-#", run_names },
                                                      { "order-#", run_names },
                                                      { "dropout-#", run_names },
                                                      { "split-#", run_names },
                                                      { NULL, NULL } };
static const struct oa_folder_name vary_names[] = { { "attention-#", source_names },
                                                    { NULL, NULL } };
static const struct oa_folder_name comparison_names[] = { { "contest.json", NULL },
                                                          { "spending.json", NULL },
                                                          { "speed.json", NULL },
                                                          { "results.json", NULL },
                                                          { "report.html", NULL },
                                                          { "report.md", NULL },
                                                          { "report.svg", NULL },
                                                          { "runs", runs_names },
                                                          { "vary", vary_names },
                                                          { "tune", tune_names },
                                                          { OA_TEMPORARY_NAME, NULL },
                                                          { ".lock", NULL },
                                                          { NULL, NULL } };

const struct oa_folder_kind oa_comparison_folder = { "comparison", "contest.json", comparison_names,
                                                     check_comparison_marker };

/* Cuts a path down to the comparison in whose runs, trials or varied runs it is; false: there is
 * none. */
static bool cut_to_comparison(char path[PATH_MAX])
{
    static const char *const parts[] = { "runs", "vary", "tune" };
    for (char *slash; (slash = strrchr(path, '/')) && slash > path;) {
        char marker[PATH_MAX + 16];
        *slash = 0;
        snprintf(marker, sizeof marker, "%s/contest.json", path);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            if (strcmp(slash + 1, parts[i]) == 0 && oa_file_exists(marker))
                return true;
    }
    return false;
}

enum oa_error oa_comparison_check_outside(oa_context *c, const char *folder)
{
    char path[OA_PATH], real[PATH_MAX];
    OA_TRY(oa_path(c, path, folder, "run.json"));
    bool marked = oa_file_exists(path);
    bool below = realpath(folder, real) && cut_to_comparison(real);
    if (!marked && !below)
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT,
                   "%s belongs to a comparison%s%s, which alone trains there: resume it with the "
                   "same 'orthant compare'; to train a model further start another run from it, "
                   "with --init and another --out",
                   folder, below ? ", " : " (run.json)", below ? real : "");
}
