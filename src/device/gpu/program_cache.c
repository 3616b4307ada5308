/* SPDX-License-Identifier: Apache-2.0
 * See program_cache.h. A file has the digest of its contents at its end, so that one that was cut
 * short is not used. */
#include "device/gpu/program_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIGEST = OA_PROGRAM_KEY - 1, LONGEST = 64 << 20 };

void oa_program_key(char key[OA_PROGRAM_KEY], const char *architecture, int compiler,
                    const char *text)
{
    char all[OA_PROGRAM_KEY + 64];
    snprintf(all, sizeof all, "%s %d %s", architecture, compiler,
             oa_digest_of(text, strlen(text)).hex);
    snprintf(key, OA_PROGRAM_KEY, "%s", oa_digest_of(all, strlen(all)).hex);
}

/* false: there is no folder to keep it in. */
static bool program_path(char path[4096], const char *name, const char *key, bool make)
{
    const char *given = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char folder[3500];
    int n;
    if (given && given[0] == '/')
        n = snprintf(folder, sizeof folder, "%s", given);
    else if (home && home[0] == '/')
        n = snprintf(folder, sizeof folder, "%s/.cache", home);
    else
        return false;
    if (n < 0 || (size_t)n + 10 >= sizeof folder)
        return false;
    if (make)
        mkdir(folder, 0700);
    strcat(folder, "/orthant");
    if (make)
        mkdir(folder, 0700);
    return snprintf(path, 4096, "%s/%s-%.32s.cubin", folder, name, key) < 4096;
}

char *oa_program_cached(oa_context *c, const char *name, const char *key)
{
    char path[4096];
    FILE *f = program_path(path, name, key, false) ? fopen(path, "rb") : NULL;
    struct stat s;
    char *code = NULL;
    if (f && fstat(fileno(f), &s) == 0 && s.st_size > DIGEST && s.st_size < LONGEST &&
        (code = oa_alloc(c, (size_t)s.st_size + 1)) != NULL) {
        size_t bytes = (size_t)s.st_size - DIGEST;
        bool whole = fread(code, 1, (size_t)s.st_size, f) == (size_t)s.st_size;
        if (!whole || memcmp(oa_digest_of(code, bytes).hex, code + bytes, DIGEST) != 0) {
            oa_free(code);
            code = NULL;
        }
    }
    if (f)
        fclose(f);
    return code;
}

/* Written to a temporary file and renamed: programs that compile at the same time do not meet. */
void oa_program_cache(oa_context *c, const char *name, const char *key, const char *code,
                      size_t bytes)
{
    char path[4096], temporary[4200];
    (void)c;
    if (!program_path(path, name, key, true))
        return;
    snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
    FILE *f = fopen(temporary, "wb");
    if (!f)
        return;
    bool whole = fwrite(code, 1, bytes, f) == bytes &&
                 fwrite(oa_digest_of(code, bytes).hex, 1, DIGEST, f) == DIGEST;
    if (fclose(f) == 0 && whole)
        rename(temporary, path);
    else
        remove(temporary);
}
