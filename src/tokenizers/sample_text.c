/* SPDX-License-Identifier: Apache-2.0
 * Finds the sample text: in the checkout, relative to the program (bin/orthant → share/orthant), or
 * in the configured data folder. */
#include "tokenizers/tokenizer_parts.h"

#include <unistd.h>

#define INSTALLED "tinyshakespeare.txt"

/* "…/bin/orthant" → "…/share/orthant/tinyshakespeare.txt" */
static bool find_installed(char out[OA_SAMPLE_PATH])
{
    char program[OA_SAMPLE_PATH / 2];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = 0;
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(program, '/');
        if (!slash)
            return false;
        *slash = 0;
    }
    snprintf(out, OA_SAMPLE_PATH, "%s/share/orthant/" INSTALLED, program);
    return oa_file_exists(out);
}

const char *oa_sample_text(const char *name, char out[OA_SAMPLE_PATH])
{
    if (strcmp(name, OA_SAMPLE_TEXT) != 0 || oa_file_exists(name))
        return name;
    if (find_installed(out))
        return out;
    snprintf(out, OA_SAMPLE_PATH, "%s/" INSTALLED, ORTHANT_DATA);
    return oa_file_exists(out) ? out : name;
}
