/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder that one process has for itself: an advisory lock (flock) on the file .lock in it, which
 * says who holds it. The kernel forgets the lock with its process, so a lock file that was left
 * behind holds nobody up. The file is removed at the end; whoever opened it before and locks it
 * after that holds a file without a name, sees so and opens again.
 */
#include "base/context.h"

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
    char *folder, *path; /* of the folder, of the lock file */
    size_t existed;      /* bytes of the folder's path that were there before */
};

/* ---- the folder ---- */

/* Cuts the last name off a path; false when none is left. */
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
    bool there = part && oa_file_exists(part);
    while (part && !there && lock_cut_last(part))
        there = oa_file_exists(part);
    size_t length = there ? strlen(part) : 0;
    oa_free(part);
    return length;
}

static void remove_what_was_made(const struct oa_lock *l)
{
    while (strlen(l->folder) > l->existed && rmdir(l->folder) == 0 && lock_cut_last(l->folder))
        ;
}

/* ---- the lock ---- */

static enum oa_error fail_held(oa_context *c, const struct oa_lock *l)
{
    char holder[200] = "";
    ssize_t n = pread(l->fd, holder, sizeof holder - 1, 0);
    holder[n > 0 ? strcspn(holder, "\n") : 0] = 0;
    return oa_fail(
        c, OA_IO,
        "%s is in use by another process (%s); wait until it has ended, or choose another folder",
        l->folder, holder[0] ? holder : "it has only just begun");
}

/* Who is in the folder is said for people; where there is no room for it the lock holds all the
 * same. */
static void say_holder(const struct oa_lock *l)
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

static bool still_named(const struct oa_lock *l)
{
    struct stat open, named;
    return fstat(l->fd, &open) == 0 && lstat(l->path, &named) == 0 && open.st_dev == named.st_dev &&
           open.st_ino == named.st_ino;
}

/* Opens and locks the file; *again when another process removed it in between. */
static enum oa_error try_lock(oa_context *c, struct oa_lock *l, bool *again)
{
    *again = false;
    l->fd = open(l->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (l->fd < 0)
        return oa_fail_system(c, errno, "lock", l->path);
    if (flock(l->fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return fail_held(c, l);
        oa_log(c, 0, "%s cannot be locked (%s): see to it that no other process writes there",
               l->folder, strerror(errno));
        return OA_OK;
    }
    *again = !still_named(l);
    if (*again)
        close(l->fd);
    return OA_OK;
}

static enum oa_error lock_take(oa_context *c, struct oa_lock *l)
{
    bool again = true;
    while (again)
        OA_TRY(try_lock(c, l, &again));
    say_holder(l);
    oa_folder_sweep(l->folder);
    return OA_OK;
}

/* ---- both ---- */

static void free_lock(struct oa_lock *l)
{
    if (l->fd >= 0)
        close(l->fd);
    oa_free(l->folder);
    oa_free(l->path);
    oa_free(l);
}

static enum oa_error name_lock(oa_context *c, struct oa_lock *l, const char *folder)
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

enum oa_error oa_folder_lock(oa_context *c, const char *folder, struct oa_lock **out)
{
    struct oa_lock *l = oa_alloc(c, sizeof *l);
    *out = NULL;
    if (!l)
        return OA_NO_MEMORY;
    l->fd = -1;
    enum oa_error e = name_lock(c, l, folder);
    if (e == OA_OK)
        e = lock_take(c, l);
    if (e == OA_OK)
        *out = l;
    else
        free_lock(l);
    return e;
}

void oa_folder_unlock(struct oa_lock *l)
{
    if (!l)
        return;
    unlink(l->path);
    flock(l->fd,
          LOCK_UN); /* said, since a child that was forked meanwhile has the file open as well */
    remove_what_was_made(l);
    free_lock(l);
}
