/* SPDX-License-Identifier: Apache-2.0
 * The program, of which a call fails: an allocation, or a read of a file or folder. malloc and its
 * relatives, read, pread and readdir are defined here, so that the calls of the library, of
 * jansson, PCRE2, zlib and the others, and those inside libc are counted alike, and the program
 * that people get has no hook for it.
 *
 *     failing_program memory|reads [OUT] -- COMMAND...
 *
 * Runs the command once as it is and once for every place of it that makes such a call (a stack of
 * calls), with the call that fails there; then the same with all calls after it. Each run is a
 * process, without what OUT (a file or a folder) held. It has to end with 1 and a sentence that
 * names memory, or that something cannot be read; or with 0 and the same result. The command, given
 * again without failures, has to give that result too, with what the failed run left in OUT.
 *
 * In the environment: ORTHANT_FAILURES=all tries every call, =NUMBER this one alone, with its
 * stack; PLACES how many places are tried at most; RESULT=FILE what is compared instead of the
 * standard output; INPUT=FILE the standard input; FROM=FOLDER what OUT is a copy of to begin with;
 * AGAIN=WORD what is added to the command that is given again (where that is refused as wrong use,
 * it is left out); KEEPS: the command refuses to make a RESULT that is there, as wrong use.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <malloc.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int __real_main(int argc, char **argv); /* of the program: src/cli/main.c */
int __wrap_main(int argc, char **argv); /* is called in its place (ld --wrap) */

enum { MOST_STACKS = 2000, DEPTH = 48, MOST_PLACES = 1 << 20, MOST_BYTES = 1 << 20 };

/* ---- the allocator
 * -----------------------------------------------------------------------------------------------
 */

/* Of the sanitizer, so that it sees leaks, or of libc. */
#ifndef REAL_ALLOCATOR
#define REAL_ALLOCATOR __libc_
#endif
#define JOINED(prefix, name) prefix##name
#define REAL_OF(prefix, name) JOINED(prefix, name)
#define REAL(name) REAL_OF(REAL_ALLOCATOR, name)
void *REAL(malloc)(size_t bytes);
void *REAL(calloc)(size_t count, size_t bytes);
void *REAL(realloc)(void *old, size_t bytes);
void *REAL(memalign)(size_t unit, size_t bytes);

/* In memory that the processes share. */
struct turn {
    bool reads;         /* these are counted, not allocations */
    long count;         /* calls so far */
    long first, last;   /* of those that fail */
    bool armed, noting; /* noting: places are listed */
    int frames;
    void *stack[DEPTH]; /* of the first that failed */
    long places;
    struct place {
        uint64_t hash;
        long first; /* its first call */
    } place[MOST_PLACES];
};
static struct turn *turn;
static _Thread_local bool inside; /* backtrace allocates too */

static uint64_t hash_of(void *const *stack, int frames)
{
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < frames; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)stack[i]) * 1099511628211u;
    return hash;
}

static void note_place(void *const *stack, int frames)
{
    uint64_t hash = hash_of(stack, frames);
    for (long i = 0; i < turn->places; i++)
        if (turn->place[i].hash == hash)
            return;
    if (turn->places < MOST_PLACES)
        turn->place[turn->places++] = (struct place){ hash, turn->count };
}

/* The sanitizer does not expect that what it allocates for itself fails. */
static bool of_sanitizer(void *caller)
{
    Dl_info about;
    return dladdr(caller, &about) && about.dli_fname && strstr(about.dli_fname, "libasan");
}

static bool fails(void *caller, bool read)
{
    if (!turn || !turn->armed || turn->reads != read || inside)
        return false;
    void *stack[DEPTH];
    inside = true;
    bool failed = false;
    if (!of_sanitizer(caller)) {
        long number = __atomic_add_fetch(&turn->count, 1, __ATOMIC_SEQ_CST);
        failed = number >= turn->first && number <= turn->last;
        if (turn->noting)
            note_place(stack, backtrace(stack, DEPTH));
        else if (failed && !turn->frames)
            turn->frames = backtrace(turn->stack, DEPTH);
    }
    inside = false;
    if (failed)
        errno = read ? EIO : ENOMEM;
    return failed;
}

#define REFUSED fails(__builtin_return_address(0), false)
#define UNREADABLE fails(__builtin_return_address(0), true)
#define EXPORTED __attribute__((visibility("default")))

/* The leak sanitizer tells the dynamic linker's memory by who calls malloc, which is this file now.
 */
const char *__lsan_default_suppressions(void);
EXPORTED const char *__lsan_default_suppressions(void)
{
    return "leak:_dl_map_object_deps\n";
}

EXPORTED void *malloc(size_t bytes)
{
    return REFUSED ? NULL : REAL(malloc)(bytes);
}

EXPORTED void *calloc(size_t count, size_t bytes)
{
    return REFUSED ? NULL : REAL(calloc)(count, bytes);
}

EXPORTED void *realloc(void *old, size_t bytes)
{
    return REFUSED ? NULL : REAL(realloc)(old, bytes);
}

EXPORTED void *memalign(size_t unit, size_t bytes)
{
    return REFUSED ? NULL : REAL(memalign)(unit, bytes);
}

EXPORTED void *aligned_alloc(size_t unit, size_t bytes)
{
    return REFUSED ? NULL : REAL(memalign)(unit, bytes);
}

EXPORTED int posix_memalign(void **out, size_t unit, size_t bytes)
{
    void *memory = REFUSED ? NULL : REAL(memalign)(unit, bytes);
    if (!memory)
        return ENOMEM;
    *out = memory;
    return 0;
}

/* ---- reads: of files and folders, but not of the standard input
 * ---------------------------------------------------
 */

EXPORTED ssize_t read(int fd, void *out, size_t bytes)
{
    return fd != 0 && UNREADABLE ? -1 : syscall(SYS_read, fd, out, bytes);
}

EXPORTED ssize_t pread(int fd, void *out, size_t bytes, off_t at)
{
    return UNREADABLE ? -1 : syscall(SYS_pread64, fd, out, bytes, at);
}

EXPORTED struct dirent *readdir(DIR *d)
{
    static struct dirent *(*next)(DIR *);
    if (!next) {
        void *found = dlsym(RTLD_NEXT, "readdir");
        memcpy(&next, &found, sizeof next);
    }
    return UNREADABLE ? NULL : next(d);
}

/* ---- one run
 * -----------------------------------------------------------------------------------------------------
 */

struct command {
    const char *out, *result;
    char **words;
    int count;
};

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind, (void)where;
    return remove(path);
}

/* OUT as it is to begin with. */
static void clear(const struct command *c)
{
    const char *from = getenv("FROM");
    pid_t child;
    int status = 0;
    if (c->out)
        nftw(c->out, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (!c->out || !from)
        return;
    char *words[] = { "cp", "-r", (char *)(uintptr_t)from, (char *)(uintptr_t)c->out, NULL };
    if (posix_spawnp(&child, words[0], NULL, NULL, words, environ) != 0 ||
        waitpid(child, &status, 0) != child || status)
        perror("failing_program: cp");
}

static void disarm(void)
{
    turn->armed = false;
}

static void in_child(const struct command *c)
{
    int out = open("failing.out", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int err = open("failing.err", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int in = open(getenv("INPUT") ? getenv("INPUT") : "/dev/null", O_RDONLY);
    dup2(in, 0);
    dup2(out, 1);
    dup2(err, 2);
    atexit(disarm);
    turn->armed = true;
    int code = __real_main(c->count, c->words);
    turn->armed = false;
    exit(code);
}

/* The status of the process; the allocations first … last fail. */
static int run(const struct command *c, long first, long last)
{
    int status = -1;
    turn->count = turn->frames = 0;
    turn->first = first;
    turn->last = last;
    pid_t child = fork();
    if (child == 0)
        in_child(c);
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("failing_program");
        exit(1);
    }
    turn->armed = false; /* after an _exit */
    return status;
}

static struct content {
    char *bytes;
    size_t length;
} content_of(const char *path)
{
    struct content t = { .bytes = calloc(1, MOST_BYTES + 1) };
    FILE *f = fopen(path, "r");
    if (f)
        t.length = fread(t.bytes, 1, MOST_BYTES, f);
    if (f)
        fclose(f);
    return t;
}

static bool gives(const char *path, const struct content *expected)
{
    struct content t = content_of(path);
    bool same = t.length == expected->length && memcmp(t.bytes, expected->bytes, t.length) == 0;
    free(t.bytes);
    return same;
}

/* ---- all of them
 * -------------------------------------------------------------------------------------------------
 */

struct result {
    long tried, sentences, unharmed, wrong;
};

static void complain(struct result *r, long first, long last, int status, const char *what)
{
    struct content err = content_of("failing.err");
    printf("call %ld%s: %s (status %d)\n%.3000s\n", first, last > first ? " and all after it" : "",
           what, status, err.bytes);
    fflush(stdout);
    if (r->wrong++ < MOST_STACKS)
        backtrace_symbols_fd(turn->stack, turn->frames, 1);
    free(err.bytes);
}

/* What is wrong with a run that had one failure or more; NULL: nothing. */
static const char *judged(const struct command *c, int status, const struct content *expected,
                          struct result *r)
{
    if (!WIFEXITED(status))
        return "the program crashed";
    int code = WEXITSTATUS(status);
    if (code == 0) {
        r->unharmed++;
        return gives(c->result, expected) ? NULL : "another result, and exit code 0";
    }
    struct content err = content_of("failing.err");
    bool said = strstr(err.bytes, turn->reads ? "cannot read" : "memory") != NULL;
    free(err.bytes);
    r->sentences++;
    return code != 1 ? "another exit code than 1" : said ? NULL : "no sentence that says so";
}

static void try_failure(const struct command *c, const struct command *again,
                        const struct content *expected, long first, long last, struct result *r)
{
    clear(c);
    int status = run(c, first, last);
    const char *what = judged(c, status, expected, r);
    r->tried++;
    if (what) {
        complain(r, first, last, status, what);
        return;
    }
    if (!c->out || WEXITSTATUS(status) == 0)
        return;
    status = run(again, 0, -1);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        status = run(c, 0, -1);
    bool ended = WIFEXITED(status) &&
                 (WEXITSTATUS(status) == 0 || (WEXITSTATUS(status) == 2 && getenv("KEEPS")));
    if (!ended || !gives(c->result, expected))
        complain(r, first, last, status, "the command given again does not give what it should");
}

static struct command with_word(const struct command *c, char *word)
{
    struct command again = *c;
    if (!word)
        return again;
    again.words = calloc((size_t)c->count + 2, sizeof *again.words);
    memcpy(again.words, c->words, (size_t)c->count * sizeof *again.words);
    again.words[again.count++] = word;
    return again;
}

static struct content reference(const struct command *c)
{
    clear(c);
    turn->noting = true;
    int status = run(c, 0, -1);
    turn->noting = false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return content_of(c->result);
    printf("the command failed by itself (status %d):\n%s", status,
           content_of("failing.err").bytes);
    exit(1);
}

/* Every place, or every call, first alone and then with all that follow. */
static void try_all(const struct command *c, const struct content *expected, long first,
                    struct result *r)
{
    const char *limit = getenv("PLACES");
    struct command again = with_word(c, getenv("AGAIN"));
    long total = turn->count, places = turn->places, most = limit ? atol(limit) : places;
    bool all = first < 0;
    long step = all || places <= most ? 1 : (places + most - 1) / most;
    for (long i = 0; first <= 0 && i < (all ? total : places); i += step) {
        long call = all ? i + 1 : turn->place[i].first;
        try_failure(c, &again, expected, call, call, r);
        try_failure(c, &again, expected, call, LONG_MAX, r);
    }
    if (first > 0) {
        try_failure(c, &again, expected, first, first, r);
        try_failure(c, &again, expected, first, LONG_MAX, r);
        backtrace_symbols_fd(turn->stack, turn->frames, 1);
    }
    printf("%s: %ld %s at %ld places; %ld failures tried, %ld ended with a sentence, %ld did no "
           "harm, %ld wrong\n",
           c->words[1], total, turn->reads ? "reads" : "allocations", places, r->tried,
           r->sentences, r->unharmed, r->wrong);
}

int __wrap_main(int argc, char **argv)
{
    const char *which = getenv("ORTHANT_FAILURES"), *result = getenv("RESULT");
    int dashes = argc > 2 && strcmp(argv[2], "--") == 0 ? 2 : 3;
    if (argc <= dashes + 1)
        return 2;
    turn = mmap(NULL, sizeof *turn, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    turn->reads = strcmp(argv[1], "reads") == 0;
    argv[dashes] = argv[0];
    struct command c = { dashes == 3 ? argv[2] : NULL, result ? result : "failing.out",
                         argv + dashes, argc - dashes };
    void *warm[1];
    (void)backtrace(warm, 1); /* loads what it needs */
    struct content expected = reference(&c);
    struct result r = { 0 };
    try_all(&c, &expected, !which ? 0 : strcmp(which, "all") == 0 ? -1 : atol(which), &r);
    fflush(stdout);
    _exit(r.wrong != 0); /* what this process holds is no leak of the program */
}
