/* SPDX-License-Identifier: Apache-2.0 */
#include "api/attention_names.h"

#include <string.h>

/* The lines of compare.attentions, without blanks around them; empty lines are ignored. */
static enum oa_error take_own(const oa_config *config, struct oa_names *out)
{
    const char *own = config->options.compare_attentions;
    size_t lines = 1;
    for (const char *at = own; *at; at++)
        lines += *at == '\n';
    out->text = oa_copy_text(config->context, own);
    out->name = oa_alloc(config->context, lines * sizeof *out->name);
    if (!out->text || !out->name)
        return OA_NO_MEMORY;
    char *rest = NULL;
    for (char *line = strtok_r(out->text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        line += strspn(line, " ");
        for (size_t end = strlen(line); end > 0 && line[end - 1] == ' '; end--)
            line[end - 1] = 0;
        if (*line)
            out->name[out->count++] = line;
    }
    return OA_OK;
}

static enum oa_error take_given(oa_context *c, const char *const *given, int count,
                                struct oa_names *out)
{
    if (out->count)
        oa_log(c, 0, "--attention overrides the %d attentions of compare.attentions", out->count);
    oa_names_free(out);
    out->name = oa_alloc(c, (size_t)count * sizeof *out->name);
    if (!out->name)
        return OA_NO_MEMORY;
    for (int i = 0; i < count; i++)
        out->name[out->count++] = given[i];
    return OA_OK;
}

enum oa_error oa_names_open(const oa_config *config, const char *const *given, int count,
                            struct oa_names *out)
{
    *out = (struct oa_names){ 0 };
    OA_TRY(take_own(config, out));
    return count > 0 ? take_given(config->context, given, count, out) : OA_OK;
}

void oa_names_free(struct oa_names *n)
{
    oa_free(n->text);
    oa_free(n->name);
    *n = (struct oa_names){ 0 };
}
