/* SPDX-License-Identifier: Apache-2.0
 * cli: the program. A table of commands (commands.c), one file each. The same table and the
 * library's table of options make the parser, --help, the manual pages and the completion of
 * shells, so none of them can be out of date.
 *
 *     main.c → arguments.c (words into a struct call) → command_NAME.c → orthant.h
 *
 * Results go to standard output, everything else to standard error. */
#ifndef ORTHANT_CLI_H
#define ORTHANT_CLI_H

#include "api/commands.h"

#include <stdbool.h>
#include <stdio.h>

/* Exit codes other than 128 + signal. */
enum { DONE = 0, FAILED = 1, USAGE = 2, DIVERGED = 4, DISPROVED = 5 };

struct call;

/* An option of a command that is not a row of the table of options, or a short name of one that is.
 */
struct flag {
    const char *name;     /* without the dashes */
    const char *argument; /* "N", "FILE"; NULL: a switch */
    const char *key;      /* short for this option of the table; NULL: for none */
    const char *fallback; /* the default as help prints it; NULL: none */
    const char *help;
    const char *words; /* values to offer, "a|b"; NULL: any */
    bool hidden;       /* a former name: accepted, not shown */
};

struct command {
    const char *name, *sentence;
    const char *usage;        /* what follows the name; "\n" separates several forms */
    const char *text;         /* paragraphs, "\n" between */
    const char *examples;     /* commands, "\n" between */
    const char *sections;     /* of the table of options that count here: "model data train" */
    const struct flag *flags; /* ended by an empty row; NULL: none */
    const char *see;          /* other commands, with blanks between */
    bool ranks;               /* runs on several MPI ranks (oa_join) */
    bool hidden;              /* not in help */
    enum oa_error (*run)(struct call *call);
};

struct given_option {
    const char *name, *value; /* value "" of a switch */
};

/* One start of the program. */
struct call {
    const struct command *command;
    char **word; /* what is not an option */
    int words;
    struct given_option *given;
    int givens;
    oa_context *context;
    oa_config *config; /* defaults, then the run's (--resume), then --config, then --section.key */
    struct oa_output out; /* standard output */
    bool reported;        /* a usage error was printed already */
};

/* ---- commands.c ---- */
const struct command *command_at(int i); /* in the order of the overview; NULL past the end */
const struct command *command_find(const char *name);
const struct flag *common_flags(void);

/* ---- arguments.c ---- */
bool parse_arguments(struct call *call, int argc,
                     char **argv); /* false after a usage error was printed */
void free_arguments(struct call *call);
/* The last value given, else the fallback, else NULL. */
const char *flag_value(const struct call *call, const char *name);
bool flag_given(const struct call *call, const char *name);
int flag_values(const struct call *call, const char *name,
                const char **values); /* all, in order; room for givens */
bool has_section(const struct command *c, const char *section);
/* Sets the options that --config and --section.key gave, on top of what call->config holds. */
enum oa_error apply_options(struct call *call);
/* The same on top of those of the run that the first argument names, if there is one. */
enum oa_error apply_options_like(struct call *call);
/* A whole number from low to high; false after an error was printed. */
bool flag_number(struct call *call, const char *name, long low, long high, long *out);
/* Prints "orthant: …" and where help is; the result of a command that was used wrongly. */
enum oa_error wrong_use(struct call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* False after the use of one of these options (names with blanks between) was refused: it would do
 * nothing. */
bool allow_none(struct call *call, const char *names, const char *because);
/* Does help show it, and the parser take it? --config only where there are options of the table. */
bool takes_common(const struct command *c, const struct flag *f);
bool want_words(struct call *call, int least, int most, const char *what);

/* ---- input.c ---- */
struct input {         /* a stream that is read; data is freed by whoever began it */
    struct call *call; /* whose error it is when a line cannot be read; not needed by read_input */
    int fd;
    char *data;
    size_t length, room, taken; /* bytes in data, room there, and how many of them next_line gave */
    unsigned long long lines;   /* given */
};
/* All bytes of a file, or of the standard input (NULL or "-"), with a 0 after them; to be freed.
 * NULL after an error was printed: the command failed with OA_IO. When a stop is asked for, what
 * was read until then. */
char *read_input(struct call *call, const char *path, size_t *length);
/* Of a struct input the next line without its end, valid until the next call: 1; 0 at the end, and
 * when a stop is asked for; -1 after an error was printed, of reading or of a line above 256 MiB.
 * The library's form of reading lines. */
int next_line(void *input, const char **line, size_t *length);
/* Of a plain file what is left of it; 0 of anything else. */
size_t bytes_left(int fd);

/* ---- help.c ---- */
struct writer { /* what a page is made of; help_text.c and help_roff.c write it */
    void (*title)(FILE *f, const struct command *c);
    void (*heading)(FILE *f, const char *text);
    void (*paragraph)(FILE *f, const char *text);
    void (*code)(FILE *f, const char *line);
    void (*item)(FILE *f, const char *term, const char *text);
};
extern const struct writer text_writer, roff_writer;
void write_overview(const struct writer *w, FILE *f);
void write_command(const struct writer *w, FILE *f, const struct command *c);
/* Calls visit for every option that a command takes, in the order of its help. */
struct shown_option {
    char name[96];     /* without dashes */
    char argument[64]; /* "" of a switch */
    char text[512];    /* help, range, default */
    const char *words; /* "a|b|c" or NULL */
    const char *group; /* heading */
    const char *help;  /* the bare sentence */
};
void visit_options(const struct command *c,
                   void (*visit)(void *argument, const struct shown_option *s), void *argument);

/* ---- progress.c ---- */
void progress_open(bool quiet);
void progress_line(void *argument, int level,
                   const char *line); /* the log callback of the context */
void progress_close(void);            /* wipes the line that is being rewritten */
void print_error(const char *sentence);
void print_failure(
    const char *sentence);   /* of the library: its line ends are its own, not those of a name */
int terminal_width(FILE *f); /* 0: not a terminal */

/* ---- main.c ---- */
void to_stdout(void *argument, const char *text, size_t length); /* the sink of results */
/* The same, flushed; exits if that fails. */
void to_stdout_at_once(void *argument, const char *text, size_t length);

/* ---- safe_text.c ---- */
enum { SAFE_TEXT = 16384 }; /* room for the longest sentence, every byte of it escaped */
/* Control characters as \xNN, but for line ends if there may be lines; cut to fit. */
void safe_text(const char *text, bool lines, char *out, size_t size);
/* The same for results on a terminal, in pieces: line ends and tabs go through, and so do bytes
 * that are no UTF-8. */
void print_safely(FILE *f, const char *text, size_t length);

/* ---- lack_of_memory.c ---- */
/* Has the program end with a sentence where a library that it uses gets no memory. */
void watch_memory(void);
void end_without_memory(void) __attribute__((noreturn));
void *want_memory(size_t count,
                  size_t bytes); /* zeroed; free it. The program ends where there is none */

/* ---- stops.c ---- */
/* SIGINT, SIGTERM: noted for the library; a second one ends the program at once. SIGXFSZ is
 * ignored. */
volatile int *catch_signals(void);
bool stop_asked(void);

#endif
