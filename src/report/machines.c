/* SPDX-License-Identifier: Apache-2.0
 * What a reader must know of runs that were trained on several machines. */
#include "report/metric_words.h"

#include <string.h>

static const struct oa_run *run_at(const struct oa_comparison *k, int i)
{
    return &k->entries[i / k->seeds].runs[i % k->seeds];
}

/* Where the threads begin in "processor, instruction set, 1 of 2 threads": runs of one machine may
 * have had any number of them. Of one that was begun elsewhere all is its name. */
static size_t name_length(const char *machine)
{
    size_t whole = strlen(machine);
    for (const char *at = machine; !strstr(machine, "begun on") && (at = strstr(at, ", ")); at += 2)
        if (strspn(at + 2, "0123456789") > 0 && strstr(at, " threads"))
            return (size_t)(at - machine);
    return whole;
}

/* One of an older program does not say what made matrix products: it is as long as the other is
 * without that. */
static bool same_machine(const char *a, const char *b)
{
    size_t n = name_length(a), m = name_length(b), least = n < m ? n : m;
    return strncmp(a, b, least) == 0 && (n == m || strncmp((n > m ? a : b) + least, ", ", 2) == 0);
}

/* Is this the first run, in the order of the file, of the machine that trained it? */
static bool first_of_machine(const struct oa_comparison *k, int run)
{
    const struct oa_run *it = run_at(k, run);
    for (int i = 0; i < run; i++)
        if (!run_at(k, i)->absent && same_machine(run_at(k, i)->machine, it->machine))
            return false;
    return !it->absent;
}

void oa_machines_sentence(const struct oa_comparison *k, struct oa_text *out)
{
    int machines = 0;
    for (int i = 0; i < k->count * k->seeds; i++)
        machines += first_of_machine(k, i);
    if (machines > 1)
        oa_text_printf(
            out,
            " The runs were trained on %d machines: their %s are comparable, their %s are not.",
            machines, oa_about_loss(k) ? "losses" : "scores",
            k->rounds ? "times" : "speeds and times");
}
