/* SPDX-License-Identifier: Apache-2.0
 * verify: the proof as text or JSON; of mechanisms, and of a command. */
#include "api/api.h"
#include "verify/foreign.h"
#include "verify/verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum oa_error verify_mechanisms(oa_context *c, const char *spec, int quick,
                                       struct oa_proof *p, const struct oa_output *out)
{
    struct oa_text t;
    OA_TRY(oa_proof_make(c, spec, quick != 0, NULL, p));
    oa_text_init(&t, c);
    if (oa_wants_json(out))
        oa_proof_json(p, &t);
    else
        oa_proof_text(p, out ? out->width : 0, &t);
    OA_TRY(oa_emit(out, &t));
    if (p->failures)
        return oa_fail(c, OA_DISPROVED, "%d of %ld checks failed", p->failures, p->checks);
    return OA_OK;
}

enum oa_error oa_verify(oa_context *c, const char *spec, int quick, const struct oa_output *out)
{
    struct oa_proof p = { .context = c };
    OA_TRY(oa_status(c));
    enum oa_error e = verify_mechanisms(c, spec, quick, &p, out);
    oa_proof_free(&p);
    return e;
}

/* ---- a command ---- */

enum { LENGTHS = 16, FILES_OF_A_PROCESS = 400 };

static enum oa_error read_lengths(oa_context *c, const char *list, long out[LENGTHS], int *count)
{
    *count = 0;
    for (const char *at = list; *at || at == list;) {
        char *end;
        errno = 0;
        long n = strtol(at, &end, 10);
        if (end == at || errno || (*end && *end != ',') || *count == LENGTHS)
            return oa_fail(c, OA_ARGUMENT,
                           "--tokens is '%.60s'; give up to %d lengths separated by commas, such "
                           "as 1,7,12",
                           list, LENGTHS);
        out[(*count)++] = n;
        at = *end ? end + 1 : end;
    }
    return OA_OK;
}

/* The folder of the request, or a new one that is removed afterwards. */
static enum oa_error open_folder(oa_context *c, const struct oa_foreign_request *r,
                                 char out[OA_PATH])
{
    const char *base = getenv("TMPDIR");
    if (r->folder) {
        OA_TRY(oa_directory_make(c, r->folder));
        snprintf(out, OA_PATH, "%s", r->folder);
        return OA_OK;
    }
    OA_TRY(oa_path(c, out, base && *base ? base : "/tmp", "orthant-verify-XXXXXX"));
    if (!mkdtemp(out))
        return oa_fail(c, OA_IO, "cannot create the folder %s: %s; set TMPDIR, or --keep", out,
                       strerror(errno));
    return OA_OK;
}

enum oa_error oa_verify_foreign(oa_context *c, const struct oa_foreign_request *r,
                                const struct oa_output *out)
{
    const char *inputs = r->inputs ? r->inputs : "x";
    char folder[OA_PATH];
    long tokens[LENGTHS];
    struct oa_callable f = { .run = oa_foreign_run,
                             .title = r->command,
                             .claims = r->claims ? r->claims : "deterministic,dtype,batch",
                             .arrays = strcmp(inputs, "qkv") == 0 ? 3 : 1,
                             .batch = 3,
                             .heads = strcmp(inputs, "qkv") != 0 ? 1
                                      : r->heads                 ? r->heads
                                                                 : 2,
                             .width = r->width ? r->width : 16,
                             .tokens = tokens,
                             .copies = 1,
                             .seed = r->seed };
    struct oa_foreign foreign = { .context = c,
                                  .command = r->command,
                                  .folder = folder,
                                  .kept = r->folder != NULL,
                                  .timeout_seconds =
                                      r->timeout_seconds > 0 ? r->timeout_seconds : 60,
                                  .limit = FILES_OF_A_PROCESS };
    OA_TRY(oa_status(c));
    if (!r->command || !*r->command)
        return oa_fail(c, OA_ARGUMENT, "the command is empty; give one, such as \"python f.py\"");
    if (strcmp(inputs, "x") != 0 && strcmp(inputs, "qkv") != 0)
        return oa_fail(c, OA_ARGUMENT, "--inputs is '%.40s'; give x or qkv", inputs);
    OA_TRY(read_lengths(c, r->tokens ? r->tokens : "1,2,7,12", tokens, &f.lengths));
    OA_TRY(open_folder(c, r, folder));
    f.argument = &foreign;
    enum oa_error e = oa_callable_verify(c, &f, out);
    if (!r->folder)
        rmdir(folder);
    return e;
}
