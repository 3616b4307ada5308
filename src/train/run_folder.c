/* SPDX-License-Identifier: Apache-2.0
 * The folder of a run: paths and checkpoints. The two newest are kept, so that the run can be
 * resumed when one of them is damaged. */
#include "train/train.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char prefix[] = "checkpoint";
enum { KEPT = 2, MOST = OA_CHECKPOINTS };

static void print_step_file(const char *before, long step, char out[64])
{
    snprintf(out, 64, "%.24s-%09ld.safetensors", before, step);
}

enum oa_error oa_step_file_path(oa_context *c, char out[OA_PATH], const char *folder,
                                const char *before, long step)
{
    char name[64];
    print_step_file(before, step, name);
    return oa_path(c, out, folder, name);
}

long oa_step_file_step(const char *before, const char *name)
{
    char same[64];
    size_t n = strlen(before);
    if (strncmp(name, before, n) != 0 || name[n] != '-')
        return -1;
    long step = strtol(name + n + 1, NULL, 10);
    print_step_file(before, step, same);
    return strcmp(same, name) == 0 ? step : -1;
}

static int compare_newest_first(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return (x < y) - (x > y);
}

int oa_folder_checkpoints(oa_context *c, const char *folder, long steps[OA_CHECKPOINTS])
{
    DIR *d = opendir(folder);
    int count = 0;
    if (!d && errno == ENOENT)
        return 0;
    for (struct dirent *e; d && (errno = 0, e = readdir(d)) && count < MOST;) {
        long step = oa_step_file_step(prefix, e->d_name);
        if (step >= 0)
            steps[count++] = step;
    }
    if (errno) {
        oa_fail_folder(c, folder);
        count = -1;
    }
    if (d)
        closedir(d);
    if (count > 0)
        qsort(steps, (size_t)count, sizeof *steps, compare_newest_first);
    return count;
}

static void remove_old_checkpoints(oa_context *c, const char *folder, int first)
{
    long steps[MOST];
    char path[OA_PATH];
    int count = oa_folder_checkpoints(c, folder, steps);
    for (int i = first; i < count; i++)
        if (oa_step_file_path(c, path, folder, prefix, steps[i]) == OA_OK)
            unlink(path);
}

enum oa_error oa_folder_checkpoint(const struct oa_model *m, const struct oa_progress *p,
                                   const char *folder)
{
    char path[OA_PATH];
    OA_TRY(oa_step_file_path(m->context, path, folder, prefix, p->step));
    OA_TRY(oa_checkpoint_save(m, p, path));
    remove_old_checkpoints(m->context, folder, KEPT);
    return oa_status(m->context);
}

enum oa_error oa_folder_moment(const struct oa_model *m, const struct oa_progress *p,
                               const char *folder, int moment, void *out)
{
    char path[OA_PATH];
    OA_TRY(oa_step_file_path(m->context, path, folder, prefix, p->step));
    return oa_checkpoint_moment(m, path, moment, out);
}

void oa_folder_forget(oa_context *c, const char *folder)
{
    remove_old_checkpoints(c, folder, 0);
}

bool oa_folder_has_checkpoint(oa_context *c, const char *folder)
{
    long steps[MOST];
    return oa_folder_checkpoints(c, folder, steps) != 0;
}

static bool run_has_file(const char *folder, const char *name)
{
    char path[OA_PATH];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && n < OA_PATH && oa_file_exists(path);
}

bool oa_folder_has_run(oa_context *c, const char *folder)
{
    return oa_folder_has_checkpoint(c, folder) || run_has_file(folder, "log.jsonl") ||
           run_has_file(folder, "model.safetensors");
}

double oa_checkpoint_wait(double minutes, double cost)
{
    return fmax(60 * minutes, 100 * cost);
}

/* Tries the newest, then the one before; logs why a file is passed over. */
enum oa_error oa_folder_resume(struct oa_model *m, struct oa_progress *p, const char *folder,
                               oa_accept *accept, void *argument, double *age)
{
    long steps[MOST];
    char path[OA_PATH];
    int count = oa_folder_checkpoints(m->context, folder, steps);
    *age = -1;
    if (count < 0)
        return oa_status(m->context);
    for (int i = 0; i < count; i++) {
        struct stat about;
        OA_TRY(oa_step_file_path(m->context, path, folder, prefix, steps[i]));
        enum oa_error e = oa_checkpoint_load(m, p, path, accept, argument);
        if (e == OA_OK)
            *age = stat(path, &about) == 0 ? fmax(0, difftime(time(NULL), about.st_mtime)) : 0;
        if (e == OA_OK || e == OA_ARGUMENT || e == OA_NO_MEMORY || e == OA_INTERRUPTED ||
            i + 1 == count)
            return e;
        const char *why;
        oa_last_error(m->context, &why);
        oa_log(m->context, 0, "%s; resuming from the checkpoint of step %ld instead", why,
               steps[i + 1]);
        oa_clear_error(m->context);
    }
    return OA_OK;
}
