/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cgroup.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { FIELD = 512, PATH = 3 * FIELD };

/* A mounted cgroup hierarchy and the group of this process in it. */
struct hierarchy {
    const char *root; /* prefix of all paths */
    bool v2;
    char top[FIELD], mount[FIELD], options[FIELD], group[FIELD];
};

/* ---- one group ---- */

static bool cgroup_read_numbers(const char *path, double *first, double *second)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    bool found = fscanf(f, "%lf", first) == 1; /* "max": no limit */
    if (found && second)
        found = fscanf(f, "%lf", second) == 1;
    fclose(f);
    return found;
}

static void cgroup_limit_cores(const struct hierarchy *h, const char *folder,
                               struct oa_cgroup_limits *out)
{
    char path[PATH + 32], period_path[PATH + 32];
    double quota, period;
    snprintf(path, sizeof path, "%s/%s", folder, h->v2 ? "cpu.max" : "cpu.cfs_quota_us");
    snprintf(period_path, sizeof period_path, "%s/cpu.cfs_period_us", folder);
    bool found = h->v2 ? cgroup_read_numbers(path, &quota, &period)
                       : cgroup_read_numbers(path, &quota, NULL) &&
                             cgroup_read_numbers(period_path, &period, NULL);
    if (!found || quota <= 0 || period <= 0 || (out->cores > 0 && out->cores <= quota / period))
        return;
    out->cores = quota / period;
    snprintf(out->cores_file, sizeof out->cores_file, "%.150s", path + strlen(h->root));
}

static void cgroup_limit_memory(const struct hierarchy *h, const char *folder,
                                struct oa_cgroup_limits *out)
{
    char path[PATH + 32];
    double bytes;
    snprintf(path, sizeof path, "%s/%s", folder, h->v2 ? "memory.max" : "memory.limit_in_bytes");
    if (cgroup_read_numbers(path, &bytes, NULL) && bytes > 0 && bytes < (double)(SIZE_MAX / 2) &&
        (out->memory == 0 || bytes < (double)out->memory))
        out->memory = (size_t)bytes;
}

/* ---- the group and its ancestors ---- */

static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = list; (s = strstr(s, word)); s++)
        if ((s == list || s[-1] == ',') && (s[n] == 0 || s[n] == ','))
            return true;
    return false;
}

/* "4:cpu,cpuacct:/a/b", "0::/a/b": the group of this process in the hierarchy of `controller`. */
static void cgroup_find_group(struct hierarchy *h, const char *controller)
{
    char path[FIELD], line[2 * FIELD];
    h->group[0] = 0;
    snprintf(path, sizeof path, "%.100s/proc/self/cgroup", h->root);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        if (h->v2 ? list[1] == 0 : has_word(list + 1, controller))
            snprintf(h->group, sizeof h->group, "%.500s", group);
    }
    if (f)
        fclose(f);
}

static void cgroup_limit(struct hierarchy *h, const char *controller,
                         void (*apply)(const struct hierarchy *h, const char *folder,
                                       struct oa_cgroup_limits *out),
                         struct oa_cgroup_limits *out)
{
    char folder[PATH];
    if (!h->v2 && !has_word(h->options, controller))
        return;
    cgroup_find_group(h, controller);
    /* The group's path below the mount point; "" if it is the mounted group or outside of it. */
    size_t n = strcmp(h->top, "/") == 0 ? 0 : strlen(h->top);
    bool inside = strncmp(h->group, h->top, n) == 0 && (h->group[n] == '/' || h->group[n] == 0) &&
                  strncmp(h->group, "/..", 3) != 0 && strcmp(h->group + n, "/") != 0;
    size_t mount = (size_t)snprintf(folder, sizeof folder, "%.100s%s", h->root, h->mount);
    snprintf(folder + mount, sizeof folder - mount, "%s", inside ? h->group + n : "");
    apply(h, folder, out);
    while (strlen(folder) > mount) {
        *strrchr(folder, '/') = 0;
        apply(h, folder, out);
    }
}

/* "31 23 0:28 / /sys/fs/cgroup/cpu rw,relatime shared:4 - cgroup cgroup rw,cpu": proc(5). */
static bool cgroup_read_mount(const char *line, struct hierarchy *h)
{
    char kind[32];
    const char *rest = strstr(line, " - ");
    if (!rest || sscanf(line, "%*s %*s %*s %511s %511s", h->top, h->mount) != 2 ||
        sscanf(rest, " - %31s %*s %511s", kind, h->options) != 2)
        return false;
    h->v2 = strcmp(kind, "cgroup2") == 0;
    return h->v2 || strcmp(kind, "cgroup") == 0;
}

void oa_cgroup_limits_read(const char *root, struct oa_cgroup_limits *out)
{
    char path[FIELD], line[4 * FIELD];
    struct hierarchy h = { .root = root };
    *out = (struct oa_cgroup_limits){ .cores = 0 };
    snprintf(path, sizeof path, "%.100s/proc/self/mountinfo", root);
    FILE *f = fopen(path, "r");
    if (!f)
        return;
    while (fgets(line, sizeof line, f))
        if (cgroup_read_mount(line, &h)) {
            cgroup_limit(&h, "cpu", cgroup_limit_cores, out);
            cgroup_limit(&h, "memory", cgroup_limit_memory, out);
        }
    fclose(f);
}
