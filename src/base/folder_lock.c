/* SPDX-License-Identifier: Apache-2.0
 * Exclusive use of a folder: an advisory lock (flock) on the file .lock in it, which names its
 * owner. The kernel releases the lock with its process, so a stale lock file does not block. The
 * file is removed on unlock; a process that had opened it before and locks it then finds it
 * unlinked and opens again. */
#include "base/folder_lock.h"
#include "base/context.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

struct oa_lock {
    int fd;
    char *folder, *path; /* path: of the lock file */
    size_t existed;      /* bytes of the folder's path that existed before */
    bool waits;          /* for another process that has the folder */
};

/* ---- the folder ---- */

/* Cuts off the last name; false when none is left. */
static bool lock_cut_last(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    return slash && slash > path;
}

static size_t existing_length(oa_context *c, const char *folder)
{
    char *part = oa_copy_text(c, folder);
    bool exists = part && oa_file_exists(part);
    while (part && !exists && lock_cut_last(part))
        exists = oa_file_exists(part);
    size_t length = exists ? strlen(part) : 0;
    oa_free(part);
    return length;
}

/* ---- the lock ---- */

/* For people only: without disk space the lock works all the same. */
static void lock_write_owner(const struct oa_lock *l)
{
    char text[200], date[32];
    struct utsname machine;
    struct tm utc;
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&now, &utc));
    int n = snprintf(text, sizeof text, "process %ld on %.64s, since %s\n", (long)getpid(),
                     uname(&machine) == 0 ? machine.nodename : "this machine", date);
    if (ftruncate(l->fd, 0) != 0 || pwrite(l->fd, text, (size_t)n, 0) != n)
        return;
}

/* Waits 0.1 s; OA_INTERRUPTED on a stop request. */
static enum oa_error wait_for_lock(oa_context *c, struct oa_lock *l)
{
    const struct timespec moment = { .tv_nsec = 100000000 };
    close(l->fd);
    l->fd = -1;
    if (oa_stop_requested(c))
        return oa_fail(c, OA_INTERRUPTED, "stopped by signal %d while waiting for %s",
                       oa_stop_requested(c), l->folder);
    nanosleep(&moment, NULL);
    return OA_OK;
}

/* Opens and locks the file; *again when another process unlinked it in between or has it. */
static enum oa_error lock_try(oa_context *c, struct oa_lock *l, bool *again)
{
    *again = false;
    l->fd = open(l->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (l->fd < 0)
        return oa_fail_system(c, errno, "lock", l->path);
    if (flock(l->fd, LOCK_EX | LOCK_NB) != 0) {
        *again = errno == EWOULDBLOCK && l->waits;
        if (*again)
            return wait_for_lock(c, l);
        if (errno == EWOULDBLOCK) {
            char holder[200] = "";
            ssize_t n = pread(l->fd, holder, sizeof holder - 1, 0);
            holder[n > 0 ? strcspn(holder, "\n") : 0] = 0;
            return oa_fail(c, OA_IO,
                           "%s is in use by another process (%s); wait for it to end, or choose "
                           "another folder",
                           l->folder, holder[0] ? holder : "just started");
        }
        oa_log(c, 0, "cannot lock %s (%s): make sure that no other process writes there", l->folder,
               strerror(errno));
        return OA_OK;
    }
    struct stat opened, named;
    *again = fstat(l->fd, &opened) != 0 || lstat(l->path, &named) != 0 ||
             opened.st_dev != named.st_dev || opened.st_ino != named.st_ino;
    if (*again)
        close(l->fd);
    return OA_OK;
}

static enum oa_error lock_take(oa_context *c, struct oa_lock *l)
{
    bool again = true;
    while (again)
        OA_TRY(lock_try(c, l, &again));
    lock_write_owner(l);
    oa_folder_remove_temporaries(l->folder);
    return OA_OK;
}

/* ---- locking and unlocking ---- */

static void free_lock(struct oa_lock *l)
{
    if (l->fd >= 0)
        close(l->fd);
    oa_free(l->folder);
    oa_free(l->path);
    oa_free(l);
}

static enum oa_error lock_prepare(oa_context *c, struct oa_lock *l, const char *folder)
{
    size_t length = strlen(folder), room = length + sizeof "/.lock";
    while (length > 1 && folder[length - 1] == '/')
        length--;
    l->folder = oa_copy_text(c, folder);
    l->path = oa_alloc(c, room);
    if (!l->folder || !l->path)
        return OA_NO_MEMORY;
    l->folder[length] = 0;
    snprintf(l->path, room, "%s/.lock", l->folder);
    l->existed = existing_length(c, l->folder);
    return oa_directory_make(c, l->folder);
}

static enum oa_error open_lock(oa_context *c, const char *folder, bool waits, struct oa_lock **out)
{
    struct oa_lock *l = oa_alloc(c, sizeof *l);
    *out = NULL;
    if (!l)
        return OA_NO_MEMORY;
    l->fd = -1;
    l->waits = waits;
    enum oa_error e = lock_prepare(c, l, folder);
    if (e == OA_OK)
        e = lock_take(c, l);
    if (e == OA_OK)
        *out = l;
    else
        free_lock(l);
    return e;
}

enum oa_error oa_folder_lock(oa_context *c, const char *folder, struct oa_lock **out)
{
    return open_lock(c, folder, false, out);
}

enum oa_error oa_folder_lock_wait(oa_context *c, const char *folder, struct oa_lock **out)
{
    return open_lock(c, folder, true, out);
}

void oa_folder_unlock(struct oa_lock *l)
{
    if (!l)
        return;
    unlink(l->path);
    flock(l->fd, LOCK_UN); /* explicitly: a forked child may have the file open too */
    /* Removes the folders that were created for the lock, if empty. */
    while (strlen(l->folder) > l->existed && rmdir(l->folder) == 0 && lock_cut_last(l->folder))
        ;
    free_lock(l);
}

bool oa_folder_has_files(const char *folder)
{
    DIR *d = opendir(folder);
    bool found = false;
    for (struct dirent *e = d ? readdir(d) : NULL; e && !found; e = readdir(d))
        found = e->d_name[0] != '.';
    if (d)
        closedir(d);
    return found;
}
