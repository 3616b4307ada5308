/* SPDX-License-Identifier: Apache-2.0
 * judge: the statistics and the report of a comparison, of runs that another program made. */
#include "api/api.h"
#include "api/comparison_report.h"
#include "base/folder_lock.h"
#include "import/import.h"

#include <string.h>

static enum oa_error check_judge_request(const oa_config *config, const struct oa_judge_request *r)
{
    oa_context *c = config->context;
    double step;
    OA_TRY(oa_check_reserved(c, "oa_judge_request", r->reserved, 4));
    if (r->at && strcmp(r->at, "last") != 0 && strcmp(r->at, "best") != 0 &&
        !oa_parse_real(r->at, &step))
        return oa_fail(c, OA_ARGUMENT, "--at is '%s'; give last, best or a step", r->at);
    if (!(r->level >= 0 && r->level < 0.5))
        return oa_fail(c, OA_ARGUMENT,
                       "the level is %s; give a probability below 0.5, such as 0.01",
                       oa_real_text(r->level).s);
    return OA_OK;
}

enum oa_error oa_judge_runs(const oa_config *config, const struct oa_judge_request *r,
                            const char *folder, const struct oa_output *out)
{
    oa_context *c = config->context;
    const struct oa_options *o = &config->options;
    struct oa_comparison comparison = { 0 };
    struct oa_lock *lock = NULL;
    char path[OA_PATH];
    struct oa_import_request request = { .paths = r->path,
                                         .count = r->paths,
                                         .system = r->system,
                                         .seed = r->seed,
                                         .step = r->step,
                                         .metric = *o->compare_metric ? o->compare_metric : NULL,
                                         .direction = r->better < 0   ? OA_IMPORT_LOWER
                                                      : r->better > 0 ? OA_IMPORT_HIGHER
                                                                      : OA_IMPORT_BY_NAME,
                                         .at = r->at,
                                         .baseline = o->compare_baseline,
                                         .threshold = o->compare_threshold,
                                         .margin = o->compare_margin,
                                         .sequential = o->compare_sequential,
                                         .family = o->compare_family,
                                         .test = o->compare_test,
                                         .level = r->level,
                                         .unpaired = r->unpaired };
    OA_TRY(oa_status(c));
    OA_TRY(check_judge_request(config, r));
    if (folder) { /* a comparison there has a report, which that of judge would replace */
        OA_TRY(oa_directory_check(c, folder));
        OA_TRY(oa_path(c, path, folder, "contest.json"));
        if (oa_file_exists(path))
            return oa_fail(c, OA_ARGUMENT, "%s has a comparison; choose another folder", folder);
    }
    enum oa_error e = oa_import_runs(c, &request, &comparison);
    if (e == OA_OK)
        e = folder ? oa_folder_lock(c, folder, &lock) : OA_OK;
    if (e == OA_OK)
        e = oa_report_comparison(c, folder, &comparison, out);
    oa_folder_unlock(lock);
    oa_comparison_free(&comparison);
    return e;
}
