/* SPDX-License-Identifier: Apache-2.0
 * Words of a choice, written "one|two|three". */
#include "base/base.h"

#include <string.h>

/* The text from word i on; NULL past the end. */
static const char *choice_begin(const char *choices, int i)
{
    for (; i > 0 && choices; i--) {
        choices = strchr(choices, '|');
        choices = choices ? choices + 1 : NULL;
    }
    return choices;
}

bool oa_choice_at(const char *choices, int i, char *word, size_t size)
{
    const char *s = choice_begin(choices, i);
    if (s)
        snprintf(word, size, "%.*s", (int)strcspn(s, "|"), s);
    return s != NULL;
}

bool oa_choice_is(const char *choices, int i, const char *word)
{
    const char *s = choice_begin(choices, i);
    size_t length = strlen(word);
    return s && strncmp(s, word, length) == 0 && strcspn(s, "|") == length;
}

int oa_choice_index(const char *choices, const char *word)
{
    for (int i = 0; choices; choices = choice_begin(choices, 1), i++)
        if (oa_choice_is(choices, 0, word))
            return i;
    return -1;
}
