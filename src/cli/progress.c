/* SPDX-License-Identifier: Apache-2.0
 * Messages and progress on standard error. On a terminal progress is one line that is rewritten;
 * elsewhere a line is printed now and then, so that log files stay readable. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Seconds between plain lines: at first the least, then a fiftieth of the time so far, at last the
 * most. */
#define LEAST_BETWEEN_LINES 10
#define MOST_BETWEEN_LINES 300

static struct {
    bool quiet, terminal, shown;
    double first, last; /* clock of the first and the last plain line; 0 = none yet */
} progress;

int terminal_width(FILE *f)
{
    struct winsize size;
    if (!isatty(fileno(f)))
        return 0;
    return ioctl(fileno(f), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* A terminal that obeys escape sequences. */
static bool obeys(FILE *f)
{
    const char *term = getenv("TERM");
    return isatty(fileno(f)) && !(term && strcmp(term, "dumb") == 0);
}

void progress_open(bool quiet)
{
    progress.quiet = quiet;
    progress.terminal = obeys(stderr);
}

static void wipe(void)
{
    if (progress.shown)
        fputs("\r\033[K", stderr);
    progress.shown = false;
}

/* Bytes of the first `columns` characters. */
static int first_columns(const char *line, int columns)
{
    int i = 0;
    for (int seen = 0; line[i]; i++)
        if (((unsigned char)line[i] & 0xc0) != 0x80 && seen++ == columns)
            break;
    return i;
}

static void now_and_then(const char *line)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec, wait = (now - progress.first) / 50;
    if (wait < LEAST_BETWEEN_LINES)
        wait = LEAST_BETWEEN_LINES;
    if (progress.last > 0 &&
        now - progress.last < (wait < MOST_BETWEEN_LINES ? wait : MOST_BETWEEN_LINES))
        return;
    if (progress.last == 0)
        progress.first = now;
    progress.last = now;
    fprintf(stderr, "%s\n", line);
}

void progress_line(void *argument, int level, const char *text)
{
    char line[SAFE_TEXT];
    (void)argument;
    if (level != 0 && progress.quiet)
        return;
    safe_text(text, false, line, sizeof line);
    if (level != 1) {
        wipe();
        fprintf(stderr, level == 0 ? "orthant: %s\n" : "%s\n", line);
    } else if (progress.terminal) {
        wipe();
        fprintf(stderr, "%.*s", first_columns(line, terminal_width(stderr) - 1), line);
        fflush(stderr);
        progress.shown = true;
    } else {
        now_and_then(line);
    }
}

void progress_close(void)
{
    wipe();
    fflush(stderr);
}

static void print_red(const char *sentence, bool lines)
{
    const char *no = getenv("NO_COLOR");
    bool red = obeys(stderr) && !(no && no[0]);
    char safe[SAFE_TEXT];
    safe_text(sentence, lines, safe, sizeof safe);
    fflush(stdout);
    wipe();
    fprintf(stderr, "%sorthant:%s %s\n", red ? "\033[1;31m" : "", red ? "\033[0m" : "", safe);
}

void print_error(const char *sentence)
{
    print_red(sentence, false);
}

void print_failure(const char *sentence)
{
    print_red(sentence, true);
}
