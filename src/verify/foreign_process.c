/* SPDX-License-Identifier: Apache-2.0
 * A command of the user as a process group of its own, which ends at a timeout or a stop. */
#include "verify/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { POLL_NANOSECONDS = 5000000, GRACE_POLLS = 200 };

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = POLL_NANOSECONDS }, NULL);
}

static enum oa_error start_group(oa_context *c, char *const *word, const char *log, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    int code = posix_spawn(pid, "/bin/sh", &files, &attributes, word, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return code == 0 ? OA_OK : oa_fail(c, OA_IO, "cannot start /bin/sh: %s", strerror(code));
}

/* Asks the group to end, and after a second ends what is left of it. */
static void end_group(pid_t pid, int *status)
{
    bool ended = false;
    kill(-pid, SIGTERM);
    for (int i = 0; i < GRACE_POLLS && !ended; i++) {
        ended = waitpid(pid, status, WNOHANG) == pid;
        pause_briefly();
    }
    kill(-pid, SIGKILL);
    if (!ended)
        waitpid(pid, status, 0);
}

enum oa_error oa_foreign_process(oa_context *c, const char *command, char *const *words, long count,
                                 const char *log, double timeout_seconds, int *status)
{
    struct oa_text script;
    pid_t pid = 0, found = 0;
    double start = oa_clock();
    char **word = oa_alloc(c, (size_t)(count + 5) * sizeof *word);
    oa_text_init(&script, c);
    oa_text_printf(&script, "%s \"$@\"", command);
    enum oa_error e = oa_status(c);
    if (e == OA_OK) {
        char *first[] = { "sh", "-c", script.s, "sh" };
        memcpy(word, first, sizeof first);
        memcpy(word + 4, words, (size_t)count * sizeof *word);
        word[count + 4] = NULL;
        e = start_group(c, word, log, &pid);
    }
    while (e == OA_OK && found == 0) {
        found = waitpid(pid, status, WNOHANG);
        if (found < 0 && errno != EINTR)
            e = oa_fail(c, OA_IO, "cannot wait for %.200s: %s", command, strerror(errno));
        else if (found == 0 && oa_stop_requested(c))
            e = oa_fail(c, OA_INTERRUPTED, "verify was stopped while %.200s ran", command);
        else if (found == 0 && oa_clock() - start > timeout_seconds)
            e = oa_fail(c, OA_IO,
                        "%.200s did not end within %g seconds and was stopped; allow more with "
                        "--timeout",
                        command, timeout_seconds);
        found = found < 0 ? 0 : found;
        if (e != OA_OK)
            end_group(pid, status);
        else if (found == 0)
            pause_briefly();
    }
    if (found)
        kill(-pid, SIGKILL); /* what it left running */
    oa_text_free(&script);
    oa_free(word);
    return e;
}
