/* SPDX-License-Identifier: Apache-2.0
 * train.only: which parameters of a model are trained. */
#include "model/model.h"

#include <fnmatch.h>
#include <string.h>

enum { PATTERN = 256 };

/* The next pattern of the list, without blanks around it; false: there is none. */
static bool next_pattern(const char **list, char out[PATTERN])
{
    *list += strspn(*list, ", ");
    size_t n = strcspn(*list, ",");
    const char *begin = *list;
    *list += n;
    while (n && begin[n - 1] == ' ')
        n--;
    snprintf(out, PATTERN, "%.*s", (int)n, begin);
    return n > 0;
}

static bool is_named(const char *list, const char *name)
{
    char pattern[PATTERN];
    while (next_pattern(&list, pattern))
        if (fnmatch(pattern, name, 0) == 0)
            return true;
    return false;
}

static enum oa_error check_pattern(const struct oa_model *m, const char *pattern)
{
    const struct oa_store *s = &m->store;
    const struct oa_parameter *frozen = NULL;
    for (int i = 0; i < s->count; i++) {
        bool match = fnmatch(pattern, s->parameter[i]->name, 0) == 0;
        if (match && s->parameter[i]->trainable)
            return OA_OK;
        if (match)
            frozen = s->parameter[i];
    }
    if (frozen)
        return oa_fail(
            m->context, OA_ARGUMENT,
            "train.only: \"%s\" names what is not trained, such as %s: its attention has "
            "it frozen",
            pattern, frozen->name);
    return oa_fail(
        m->context, OA_ARGUMENT,
        "train.only: no parameter has a name like \"%s\"; they have names such as %s, %s", pattern,
        s->parameter[0]->name, s->parameter[s->count - 1]->name);
}

enum oa_error oa_model_hold_others(struct oa_model *m)
{
    const char *list = m->options.train_only;
    char pattern[PATTERN];
    bool adapters = m->options.train_lora > 0;
    if (!list[0] && !adapters)
        return OA_OK;
    while (next_pattern(&list, pattern))
        OA_TRY(check_pattern(m, pattern));
    if (adapters)
        OA_TRY(oa_model_add_adapters(m));
    for (int i = 0; i < m->store.count; i++) {
        struct oa_parameter *p = m->store.parameter[i];
        bool named = p->merged || (is_named(m->options.train_only, p->name) && !p->adapter.in);
        if (p->trainable && !named)
            oa_store_exclude(&m->store, p);
    }
    return m->store.trainable ? OA_OK
                              : oa_fail(m->context, OA_ARGUMENT,
                                        "train.only = \"%s\" names no parameter: leave it out to "
                                        "train all",
                                        m->options.train_only);
}
