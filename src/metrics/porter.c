/* SPDX-License-Identifier: Apache-2.0
 *
 * Porter's stemmer (Program 14.3, 1980) in NLTK's default mode NLTK_EXTENSIONS, as rouge-score uses
 * it. Words are lower-case ASCII letters and digits; digits count as consonants.
 */
#include "metrics/metrics_parts.h"

/* A word, rewritten in place: no rule makes it longer than the original. */
struct word {
    char *s;
    size_t n;
};

/* ---- vowels and consonants ---- */

static bool is_vowel(char c)
{
    return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u';
}

/* y is a consonant at the beginning and after a vowel, so consonants and vowels alternate in a run.
 */
static bool is_consonant(const char *s, size_t i)
{
    bool turned = false;
    for (; s[i] == 'y' && i > 0; i--)
        turned = !turned;
    return !is_vowel(s[i]) != turned;
}

/* m of [C](VC){m}[V] of the first n letters. */
static int measure(const char *s, size_t n)
{
    int m = 0;
    bool before = true;
    for (size_t i = 0; i < n; i++) {
        bool consonant = s[i] == 'y' ? i == 0 || !before : !is_vowel(s[i]);
        m += i > 0 && consonant && !before;
        before = consonant;
    }
    return m;
}

static bool has_vowel(const char *s, size_t n)
{
    bool before = false;
    for (size_t i = 0; i < n; i++) {
        before = s[i] == 'y' ? !before : !is_vowel(s[i]);
        if (!before)
            return true;
    }
    return false;
}

static bool ends_double_consonant(struct word w)
{
    return w.n >= 2 && w.s[w.n - 1] == w.s[w.n - 2] && is_consonant(w.s, w.n - 1);
}

/* Consonant, vowel, consonant other than w, x, y; or just a vowel and a consonant. */
static bool ends_cvc(const char *s, size_t n)
{
    if (n == 2)
        return !is_consonant(s, 0) && is_consonant(s, 1);
    return n >= 3 && is_consonant(s, n - 3) && !is_consonant(s, n - 2) && is_consonant(s, n - 1) &&
           s[n - 1] != 'w' && s[n - 1] != 'x' && s[n - 1] != 'y';
}

/* ---- rules ---- */

static bool ends(struct word w, const char *suffix)
{
    size_t n = strlen(suffix);
    return w.n >= n && memcmp(w.s + w.n - n, suffix, n) == 0;
}

static struct word replace(struct word w, size_t cut, const char *by)
{
    size_t n = strlen(by);
    memcpy(w.s + w.n - cut, by, n);
    w.n = w.n - cut + n;
    return w;
}

struct rule {
    const char *suffix, *by;
};

/* Applies the first rule whose suffix matches, if the stem's measure is above `more`.
 */
static struct word apply(struct word w, const struct rule *rules, int more)
{
    for (const struct rule *r = rules; r->suffix; r++) {
        size_t n = strlen(r->suffix);
        if (ends(w, r->suffix))
            return measure(w.s, w.n - n) > more ? replace(w, n, r->by) : w;
    }
    return w;
}

/* ---- steps ---- */

static struct word step_1a(struct word w)
{
    static const struct rule rules[] = {
        { "sses", "ss" }, { "ies", "i" }, { "ss", "ss" }, { "s", "" }, { NULL, NULL }
    };
    if (ends(w, "ies") && w.n == 4)
        return replace(w, 3, "ie");
    return apply(w, rules, -1);
}

/* After -ed or -ing was cut off. */
static struct word mend(struct word w)
{
    if (ends(w, "at") || ends(w, "bl") || ends(w, "iz"))
        return replace(w, 0, "e");
    if (ends_double_consonant(w)) {
        char last = w.s[w.n - 1];
        w.n -= last != 'l' && last != 's' && last != 'z';
        return w;
    }
    return measure(w.s, w.n) == 1 && ends_cvc(w.s, w.n) ? replace(w, 0, "e") : w;
}

static struct word step_1b(struct word w)
{
    if (ends(w, "ied"))
        return replace(w, 3, w.n == 4 ? "ie" : "i");
    if (ends(w, "eed"))
        return measure(w.s, w.n - 3) > 0 ? replace(w, 3, "ee") : w;
    if (ends(w, "ed") && has_vowel(w.s, w.n - 2))
        return mend(replace(w, 2, ""));
    if (ends(w, "ing") && has_vowel(w.s, w.n - 3))
        return mend(replace(w, 3, ""));
    return w;
}

static struct word step_1c(struct word w)
{
    if (ends(w, "y") && w.n > 2 && is_consonant(w.s, w.n - 2))
        w.s[w.n - 1] = 'i';
    return w;
}

static struct word step_2(struct word w)
{
    static const struct rule rules[] = {
        { "ational", "ate" }, { "tional", "tion" }, { "enci", "ence" },   { "anci", "ance" },
        { "izer", "ize" },    { "bli", "ble" },     { "alli", "al" },     { "entli", "ent" },
        { "eli", "e" },       { "ousli", "ous" },   { "ization", "ize" }, { "ation", "ate" },
        { "ator", "ate" },    { "alism", "al" },    { "iveness", "ive" }, { "fulness", "ful" },
        { "ousness", "ous" }, { "aliti", "al" },    { "iviti", "ive" },   { "biliti", "ble" },
        { "fulli", "ful" },   { NULL, NULL },
    };
    while (ends(w, "alli") && measure(w.s, w.n - 4) > 0)
        w = replace(w, 4, "al");
    if (ends(w, "logi")) /* the l counts with the stem */
        return measure(w.s, w.n - 3) > 0 ? replace(w, 1, "") : w;
    return apply(w, rules, 0);
}

static struct word step_3(struct word w)
{
    static const struct rule rules[] = {
        { "icate", "ic" }, { "ative", "" }, { "alize", "al" }, { "iciti", "ic" },
        { "ical", "ic" },  { "ful", "" },   { "ness", "" },    { NULL, NULL },
    };
    return apply(w, rules, 0);
}

static struct word step_4(struct word w)
{
    static const struct rule rules[] = {
        { "al", "" },   { "ance", "" }, { "ence", "" }, { "er", "" },    { "ic", "" },
        { "able", "" }, { "ible", "" }, { "ant", "" },  { "ement", "" }, { "ment", "" },
        { "ent", "" },  { "ou", "" },   { "ism", "" },  { "ate", "" },   { "iti", "" },
        { "ous", "" },  { "ive", "" },  { "ize", "" },  { NULL, NULL },
    };
    if (ends(w, "ion")) {
        bool after = w.n > 3 && (w.s[w.n - 4] == 's' || w.s[w.n - 4] == 't');
        return after && measure(w.s, w.n - 3) > 1 ? replace(w, 3, "") : w;
    }
    return apply(w, rules, 1);
}

static struct word step_5(struct word w)
{
    if (ends(w, "e")) {
        int m = measure(w.s, w.n - 1);
        if (m > 1 || (m == 1 && !ends_cvc(w.s, w.n - 1)))
            w.n--;
    }
    if (ends(w, "ll") && measure(w.s, w.n - 1) > 1)
        w.n--;
    return w;
}

/* ---- irregular words ---- */

static bool irregular(struct word *w)
{
    static const struct rule words[] = {
        { "skies", "sky" },
        { "sky", "sky" },
        { "dying", "die" },
        { "lying", "lie" },
        { "tying", "tie" },
        { "news", "news" },
        { "innings", "inning" },
        { "inning", "inning" },
        { "outings", "outing" },
        { "outing", "outing" },
        { "cannings", "canning" },
        { "canning", "canning" },
        { "howe", "howe" },
        { "proceed", "proceed" },
        { "exceed", "exceed" },
        { "succeed", "succeed" },
        { NULL, NULL },
    };
    for (const struct rule *r = words; r->suffix; r++)
        if (strlen(r->suffix) == w->n && ends(*w, r->suffix)) {
            *w = replace(*w, w->n, r->by);
            return true;
        }
    return false;
}

size_t oa_porter_stem(char *word, size_t length)
{
    struct word w = { word, length };
    if (length <= 2 || irregular(&w))
        return w.n;
    return step_5(step_4(step_3(step_2(step_1c(step_1b(step_1a(w))))))).n;
}
