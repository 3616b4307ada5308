/* SPDX-License-Identifier: Apache-2.0
 * The program: finds the command, opens a context, runs, and turns what happened into an exit code.
 */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static int why_not_written; /* errno of the first failed write */

/* Reports that standard output could not be written; returns the exit code. After EPIPE it prints
 * nothing: the reader closed the pipe. */
static int not_written(void)
{
    char sentence[160];
    if (why_not_written == EPIPE)
        return 128 + SIGPIPE;
    snprintf(sentence, sizeof sentence, "cannot write to the standard output: %s",
             strerror(why_not_written));
    print_error(sentence);
    return FAILED;
}

static bool is_written(void)
{
    if (!why_not_written && ferror(stdout))
        why_not_written = errno;
    return !why_not_written;
}

void to_stdout(void *argument, const char *text, size_t length)
{
    (void)argument;
    progress_close();
    if (terminal_width(stdout))
        print_safely(stdout, text, length);
    else
        fwrite(text, 1, length, stdout);
    (void)is_written();
}

void to_stdout_at_once(void *argument, const char *text, size_t length)
{
    to_stdout(argument, text, length);
    fflush(stdout);
    if (is_written())
        return;
    exit(not_written());
}

/* Prints the failure, unless a usage error was printed already. An interruption is printed only if
 * it has a message: the step that was reached, and how to continue. */
static void report_failure(const struct call *call, enum oa_error e)
{
    const char *sentence;
    bool known = oa_last_error(call->context, &sentence) != OA_OK;
    if (!call->reported && (known || e != OA_INTERRUPTED))
        print_failure(sentence);
}

/* speaks: whether this rank prints the failure. */
static int exit_code(const struct call *call, enum oa_error e, int signal, bool speaks)
{
    if (e == OA_OK)
        return DONE;
    if (speaks)
        report_failure(call, e);
    if (e == OA_INTERRUPTED)
        return 128 + (signal ? signal : SIGINT);
    return e == OA_ARGUMENT    ? USAGE
           : e == OA_DIVERGED  ? DIVERGED
           : e == OA_DISPROVED ? DISPROVED
                               : FAILED;
}

/* cluster.timeout in seconds, needed before the ranks have joined; 0 if the options are wrong,
 * which the first rank reports after joining. */
static double join_timeout(struct call *call)
{
    double seconds = 0;
    call->config = oa_config_new(call->context);
    if (call->config && apply_options(call) == OA_OK)
        oa_config_get_number(call->config, "cluster.timeout", &seconds);
    oa_config_free(call->config);
    call->config = NULL;
    oa_clear_error(call->context);
    return seconds;
}

static enum oa_error prepare_call(struct call *call)
{
    const char *sentence;
    enum oa_error e = oa_last_error(call->context, &sentence); /* of opening: --isa or --threads */
    if (e != OA_OK)
        return e;
    if (call->command->ranks && !flag_given(call, "dump-config"))
        e = oa_join(call->context, join_timeout(call));
    if (e != OA_OK)
        return e;
    call->config = oa_config_new(call->context);
    return call->config ? OA_OK : OA_NO_MEMORY;
}

static enum oa_error run_call(struct call *call)
{
    enum oa_error e = prepare_call(call);
    if (e != OA_OK)
        return e;
    if (!flag_given(call, "dump-config"))
        return call->command->run(call);
    e = apply_options(call);
    return e == OA_OK ? oa_config_write(call->config, &call->out) : e;
}

static int run_command(struct call *call)
{
    long threads = 0;
    volatile int *stop = catch_signals();
    const char *sentence;
    if (!flag_number(call, "threads", 0, 1024, &threads))
        return USAGE;
    progress_open(flag_given(call, "quiet"));
    struct oa_settings settings = { .threads = (int)threads,
                                    .isa = flag_value(call, "isa"),
                                    .device = flag_value(call, "device"),
                                    .log = progress_line,
                                    .stop = stop };
    call->out = (struct oa_output){ .sink = to_stdout,
                                    .json = flag_given(call, "json"),
                                    .width = terminal_width(stdout) };
    call->context = oa_open(&settings);
    if (!call->context)
        end_without_memory();
    enum oa_error e = run_call(call);
    progress_close();
    enum oa_error before = oa_last_error(call->context, &sentence);
    bool speaks = oa_speaks(call->context);
    if (before == OA_NO_MEMORY ||
        (e != OA_OK && before == OA_IO)) /* the first cause, not what followed from it */
        e = before;
    if (e == OA_OK && before == OA_OK) /* did all ranks come to the end? */
        e = oa_last_error(call->context, &sentence);
    int code = exit_code(call, e, oa_stopped_by(call->context), speaks);
    fflush(stderr);
    oa_part(call->context, code);
    oa_config_free(call->config);
    oa_close(call->context);
    return code;
}

static int run_parsed(const struct command *c, int argc, char **argv)
{
    struct call call = { .command = c };
    int code = USAGE;
    if (parse_arguments(&call, argc, argv)) {
        if (flag_given(&call, "help")) {
            write_command(&text_writer, stdout, c);
            code = DONE;
        } else {
            code = run_command(&call);
        }
    }
    free_arguments(&call);
    return code;
}

static int no_such_command(const char *name)
{
    const char *names[64];
    char sentence[256];
    int count = 0;
    for (int i = 0; command_at(i) && count < 64; i++)
        if (!command_at(i)->hidden)
            names[count++] = command_at(i)->name;
    const char *near = oa_nearest(name, names, count);
    if (near)
        snprintf(
            sentence, sizeof sentence,
            "there is no command \"%.60s\"; did you mean \"%s\"? 'orthant --help' lists them all",
            name, near);
    else
        snprintf(sentence, sizeof sentence,
                 "there is no command \"%.60s\"; 'orthant --help' lists them all", name);
    print_error(sentence);
    return USAGE;
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static int print_help(int argc, char **argv)
{
    if (argc < 1) {
        write_overview(&text_writer, stdout);
        return DONE;
    }
    const struct command *c = command_find(argv[0]);
    if (!c)
        return no_such_command(argv[0]);
    write_command(&text_writer, stdout, c);
    return DONE;
}

static int run_arguments(int argc, char **argv)
{
    if (argc < 2) {
        write_overview(&text_writer, stderr);
        return USAGE;
    }
    if (is_one_of(argv[1], "--help", "-h") || is_one_of(argv[1], "help", "help"))
        return print_help(argc - 2, argv + 2);
    if (is_one_of(argv[1], "--version", "-V") || is_one_of(argv[1], "version", "version")) {
        printf("orthant %s\n", oa_version());
        return DONE;
    }
    const struct command *c = command_find(argv[1]);
    return c ? run_parsed(c, argc - 2, argv + 2) : no_such_command(argv[1]);
}

int main(int argc, char **argv)
{
    watch_memory();
    int code = run_arguments(argc, argv);
    fflush(stdout); /* output may still be buffered: a full disk is noticed here */
    int failure = is_written() ? 0 : not_written();
    return code ? code : failure;
}
