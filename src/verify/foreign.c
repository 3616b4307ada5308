/* SPDX-License-Identifier: Apache-2.0
 * Calls of a command: a file of tensors for each, the process, and what it wrote. */
#include "verify/foreign.h"
#include "base/safetensors.h"

#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const input_names[2][3] = { { "x" }, { "q", "k", "v" } };
static const char *const mode_names[] = { "whole", "steps", "gradient" };

/* ---- the file of a call ---- */

static void set_shape(const struct oa_callable_call *call, struct oa_array *a)
{
    long x[] = { call->batch, call->tokens, call->width },
         heads[] = { call->batch, call->heads, call->tokens, call->width };
    a->dims = call->arrays == 3 ? 4 : 3;
    memcpy(a->dim, call->arrays == 3 ? heads : x, (size_t)a->dims * sizeof(long));
}

/* Adds a tensor in the precision of the call; its data are in the arena. */
static void add_tensor(const struct oa_callable_call *call, const char *name, const double *from,
                       struct oa_arena *arena, struct oa_array *out)
{
    size_t count = oa_call_elements(call), size = call->is_double ? sizeof(double) : sizeof(float);
    void *data = oa_arena_take(arena, count * size);
    *out = (struct oa_array){ .name = (char *)name,
                              .type = call->is_double ? OA_F64 : OA_F32,
                              .data = data,
                              .bytes = count * size };
    set_shape(call, out);
    for (size_t i = 0; data && i < count; i++) {
        if (call->is_double)
            ((double *)data)[i] = from[i];
        else
            ((float *)data)[i] = (float)from[i];
    }
}

static enum oa_error write_call(oa_context *c, const struct oa_callable_call *call,
                                const char *path)
{
    const char *metadata[] = { "mode",      mode_names[call->mode],
                               "causal",    call->causal ? "true" : "false",
                               "precision", call->is_double ? "f64" : "f32",
                               "claim",     call->claim,
                               NULL };
    struct oa_array tensor[5];
    struct oa_arena arena;
    int count = 0;
    oa_arena_init(&arena, c, false);
    for (int i = 0; i < call->arrays; i++)
        add_tensor(call, input_names[call->arrays == 3][i], call->input[i], &arena,
                   &tensor[count++]);
    if (call->dy)
        add_tensor(call, "dy", call->dy, &arena, &tensor[count++]);
    if (call->lengths)
        tensor[count++] = (struct oa_array){ .name = "lengths",
                                             .type = OA_I32,
                                             .dims = 1,
                                             .dim = { call->batch },
                                             .data = call->lengths,
                                             .bytes = (size_t)call->batch * sizeof(int32_t) };
    enum oa_error e = oa_status(c);
    if (e == OA_OK)
        e = oa_tensors_write(c, path, tensor, count, metadata);
    oa_arena_free(&arena);
    return e;
}

/* ---- its result ---- */

static void print_shape(int dims, const long *dim, char *out, size_t size)
{
    size_t n = 0;
    out[0] = 0;
    for (int i = 0; i < dims && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, i ? ", %ld" : "%ld", dim[i]);
}

static void read_foreign_tensor(const struct oa_tensors *file, const char *name,
                                struct oa_callable_call *call, double *to)
{
    const struct oa_array *t = oa_tensors_find(file, name);
    struct oa_array want = { 0 };
    set_shape(call, &want);
    if (!t) {
        snprintf(call->why, sizeof call->why, "%s: tensor %s is missing", call->name, name);
        return;
    }
    if (t->type != OA_F32 && t->type != OA_F64 && t->type != OA_BF16 && t->type != OA_F16) {
        snprintf(call->why, sizeof call->why, "%s: tensor %s is of type %s; give F32 or F64",
                 call->name, name, oa_type_name(t->type));
        return;
    }
    if (t->dims != want.dims || memcmp(t->dim, want.dim, (size_t)t->dims * sizeof(long)) != 0) {
        char found[96], wanted[96];
        print_shape(t->dims, t->dim, found, sizeof found);
        print_shape(want.dims, want.dim, wanted, sizeof wanted);
        snprintf(call->why, sizeof call->why, "%s: tensor %s is [%s]; give [%s]", call->name, name,
                 found, wanted);
        return;
    }
    for (size_t i = 0; i < oa_call_elements(call); i++)
        to[i] = oa_array_value(t, i);
    snprintf(call->type, sizeof call->type, "%s",
             t->type == OA_F64   ? "float64"
             : t->type == OA_F32 ? "float32"
                                 : oa_type_name(t->type));
}

/* Reads the file of a call, or has in `why` what is wrong with it. */
static void read_result(const struct oa_foreign *f, const char *path, struct oa_callable_call *call)
{
    oa_context *c = f->context;
    struct oa_tensors *file;
    const char *sentence;
    if (!oa_file_exists(path)) {
        snprintf(call->why, sizeof call->why, "the command did not write %s%s", call->name,
                 f->kept ? "" : "; --keep FOLDER keeps the files and what it printed");
        return;
    }
    if (oa_tensors_open(c, path, &file) != OA_OK) {
        oa_last_error(c, &sentence);
        snprintf(call->why, sizeof call->why, "%s", sentence);
        oa_clear_error(c);
        return;
    }
    if (call->mode != OA_CALL_GRADIENT) {
        read_foreign_tensor(file, "y", call, call->y);
    } else {
        for (int i = 0; i < call->arrays && !call->why[0]; i++) {
            char name[16];
            snprintf(name, sizeof name, "grad.%s", input_names[call->arrays == 3][i]);
            read_foreign_tensor(file, name, call, call->slope[i]);
        }
        for (int i = 0; i < call->arrays && !call->why[0]; i++) {
            for (size_t k = 0; k < oa_call_elements(call) && !call->why[0]; k++) {
                if (!isfinite(call->slope[i][k]))
                    snprintf(call->why, sizeof call->why, "%s: tensor grad.%s is not finite",
                             call->name, input_names[call->arrays == 3][i]);
            }
        }
    }
    oa_tensors_close(file);
}

/* ---- the process ---- */

/* The last line of the output that is not empty, or "". */
static void last_line(oa_context *c, const char *path, char *out, size_t size)
{
    char *text;
    size_t length;
    out[0] = 0;
    if (oa_file_read(c, path, &text, &length) != OA_OK) {
        oa_clear_error(c);
        return;
    }
    while (length && strchr("\r\n \t", text[length - 1]))
        text[--length] = 0;
    char *line = memrchr(text, '\n', length);
    snprintf(out, size, "%s", line ? line + 1 : text);
    oa_free(text);
}

/* Has a process that failed in `why` of its calls. 126 and 127: sh could not run it, which ends the
 * verification. */
static enum oa_error judge_status(const struct oa_foreign *f, int status, const char *log,
                                  struct oa_callable_call *calls, long count)
{
    char line[160], what[64];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 0)
        return OA_OK;
    last_line(f->context, log, line, sizeof line);
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : code > 128 ? code - 128 : 0; /* sh's */
    if (signal)
        snprintf(what, sizeof what, "was ended by signal %d", signal);
    else
        snprintf(what, sizeof what, "ended with exit status %d", code);
    if (code == 126 || code == 127)
        return oa_fail(f->context, OA_IO, "%.200s %s: %s", f->command, what, line);
    for (long i = 0; i < count; i++)
        snprintf(calls[i].why, sizeof calls[i].why, "%.100s %s%s%s", f->command, what,
                 line[0] ? "; its last line: " : "", line);
    return OA_OK;
}

/* "FOLDER/causal-0012.in.safetensors" in words[2 i], ".out" in words[2 i + 1]. */
static enum oa_error write_calls(struct oa_foreign *f, struct oa_callable_call *calls, long count,
                                 struct oa_arena *arena, char **words)
{
    for (long i = 0; i < count; i++) {
        long number = ++f->files;
        for (int out = 0; out < 2; out++) {
            char *path = oa_arena_take(arena, OA_PATH);
            snprintf(calls[i].name, sizeof calls[i].name, "%s-%04ld.%s.safetensors", calls[i].claim,
                     number, out ? "out" : "in");
            words[2 * i + out] = path;
            OA_TRY(oa_status(f->context));
            OA_TRY(oa_path(f->context, path, f->folder, calls[i].name));
        }
        unlink(words[2 * i + 1]); /* of an earlier verification */
        OA_TRY(write_call(f->context, &calls[i], words[2 * i]));
    }
    return OA_OK;
}

static enum oa_error run_process(struct oa_foreign *f, struct oa_callable_call *calls, long count)
{
    char log[OA_PATH];
    int status = 0;
    struct oa_arena arena;
    oa_arena_init(&arena, f->context, false);
    char **words = oa_arena_take(&arena, 2 * (size_t)count * sizeof *words);
    enum oa_error e = words ? write_calls(f, calls, count, &arena, words) : OA_NO_MEMORY;
    if (e == OA_OK)
        e = oa_path(f->context, log, f->folder, "output.txt");
    if (e == OA_OK)
        e = oa_foreign_process(f->context, f->command, words, 2 * count, log, f->timeout_seconds,
                               &status);
    if (e == OA_OK)
        e = judge_status(f, status, log, calls, count);
    for (long i = 0; e == OA_OK && i < count; i++) {
        if (!calls[i].why[0])
            read_result(f, words[2 * i + 1], &calls[i]);
    }
    for (long i = 0; words && !f->kept && i < 2 * count; i++) {
        if (words[i])
            unlink(words[i]);
    }
    if (!f->kept)
        unlink(log);
    oa_arena_free(&arena);
    return e;
}

int oa_foreign_run(void *argument, struct oa_callable_call *calls, long count)
{
    struct oa_foreign *f = argument;
    for (long i = 0; i < count; i += f->limit) {
        if (run_process(f, calls + i, oa_min(f->limit, count - i)) != OA_OK)
            return 1;
    }
    return 0;
}
