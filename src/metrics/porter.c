/* SPDX-License-Identifier: Apache-2.0
 * Porter's stemmer (Program 14.3, 1980) in NLTK's default mode NLTK_EXTENSIONS, as rouge-score uses
 * it. Words are lower-case ASCII letters and digits; digits count as consonants. */
#include "metrics/metrics_parts.h"

/* A word, rewritten in place: no rule makes it longer than the original. */
struct porter_word {
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
static int vc_measure(const char *s, size_t n)
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

/* Consonant, vowel, consonant other than w, x, y; or just a vowel and a consonant. */
static bool ends_cvc(const char *s, size_t n)
{
    if (n == 2)
        return !is_consonant(s, 0) && is_consonant(s, 1);
    return n >= 3 && is_consonant(s, n - 3) && !is_consonant(s, n - 2) && is_consonant(s, n - 1) &&
           s[n - 1] != 'w' && s[n - 1] != 'x' && s[n - 1] != 'y';
}

/* ---- rules ---- */

static bool has_suffix(struct porter_word w, const char *suffix)
{
    size_t n = strlen(suffix);
    return w.n >= n && memcmp(w.s + w.n - n, suffix, n) == 0;
}

static struct porter_word replace_suffix(struct porter_word w, size_t cut, const char *by)
{
    size_t n = strlen(by);
    memcpy(w.s + w.n - cut, by, n);
    w.n = w.n - cut + n;
    return w;
}

struct porter_rule {
    const char *suffix, *by;
};

/* Applies the first rule whose suffix matches, if the stem's measure is above `more`. */
static struct porter_word apply_rules(struct porter_word w, const struct porter_rule *rules,
                                      int more)
{
    for (const struct porter_rule *r = rules; r->suffix; r++) {
        size_t n = strlen(r->suffix);
        if (has_suffix(w, r->suffix))
            return vc_measure(w.s, w.n - n) > more ? replace_suffix(w, n, r->by) : w;
    }
    return w;
}

/* ---- steps ---- */

static struct porter_word step_1a(struct porter_word w)
{
    static const struct porter_rule rules[] = {
        { "sses", "ss" }, { "ies", "i" }, { "ss", "ss" }, { "s", "" }, { NULL, NULL }
    };
    if (has_suffix(w, "ies") && w.n == 4)
        return replace_suffix(w, 3, "ie");
    return apply_rules(w, rules, -1);
}

/* After -ed or -ing was cut off. */
static struct porter_word repair_stem(struct porter_word w)
{
    if (has_suffix(w, "at") || has_suffix(w, "bl") || has_suffix(w, "iz"))
        return replace_suffix(w, 0, "e");
    if (w.n >= 2 && w.s[w.n - 1] == w.s[w.n - 2] && is_consonant(w.s, w.n - 1)) {
        char last = w.s[w.n - 1];
        w.n -= last != 'l' && last != 's' && last != 'z';
        return w;
    }
    return vc_measure(w.s, w.n) == 1 && ends_cvc(w.s, w.n) ? replace_suffix(w, 0, "e") : w;
}

static struct porter_word step_1b(struct porter_word w)
{
    if (has_suffix(w, "ied"))
        return replace_suffix(w, 3, w.n == 4 ? "ie" : "i");
    if (has_suffix(w, "eed"))
        return vc_measure(w.s, w.n - 3) > 0 ? replace_suffix(w, 3, "ee") : w;
    if (has_suffix(w, "ed") && has_vowel(w.s, w.n - 2))
        return repair_stem(replace_suffix(w, 2, ""));
    if (has_suffix(w, "ing") && has_vowel(w.s, w.n - 3))
        return repair_stem(replace_suffix(w, 3, ""));
    return w;
}

static struct porter_word step_1c(struct porter_word w)
{
    if (has_suffix(w, "y") && w.n > 2 && is_consonant(w.s, w.n - 2))
        w.s[w.n - 1] = 'i';
    return w;
}

static struct porter_word step_2(struct porter_word w)
{
    static const struct porter_rule rules[] = {
        { "ational", "ate" }, { "tional", "tion" }, { "enci", "ence" },   { "anci", "ance" },
        { "izer", "ize" },    { "bli", "ble" },     { "alli", "al" },     { "entli", "ent" },
        { "eli", "e" },       { "ousli", "ous" },   { "ization", "ize" }, { "ation", "ate" },
        { "ator", "ate" },    { "alism", "al" },    { "iveness", "ive" }, { "fulness", "ful" },
        { "ousness", "ous" }, { "aliti", "al" },    { "iviti", "ive" },   { "biliti", "ble" },
        { "fulli", "ful" },   { NULL, NULL },
    };
    while (has_suffix(w, "alli") && vc_measure(w.s, w.n - 4) > 0)
        w = replace_suffix(w, 4, "al");
    if (has_suffix(w, "logi")) /* the l counts with the stem */
        return vc_measure(w.s, w.n - 3) > 0 ? replace_suffix(w, 1, "") : w;
    return apply_rules(w, rules, 0);
}

static struct porter_word step_3(struct porter_word w)
{
    static const struct porter_rule rules[] = {
        { "icate", "ic" }, { "ative", "" }, { "alize", "al" }, { "iciti", "ic" },
        { "ical", "ic" },  { "ful", "" },   { "ness", "" },    { NULL, NULL },
    };
    return apply_rules(w, rules, 0);
}

static struct porter_word step_4(struct porter_word w)
{
    static const struct porter_rule rules[] = {
        { "al", "" },   { "ance", "" }, { "ence", "" }, { "er", "" },    { "ic", "" },
        { "able", "" }, { "ible", "" }, { "ant", "" },  { "ement", "" }, { "ment", "" },
        { "ent", "" },  { "ou", "" },   { "ism", "" },  { "ate", "" },   { "iti", "" },
        { "ous", "" },  { "ive", "" },  { "ize", "" },  { NULL, NULL },
    };
    if (has_suffix(w, "ion")) {
        bool after = w.n > 3 && (w.s[w.n - 4] == 's' || w.s[w.n - 4] == 't');
        return after && vc_measure(w.s, w.n - 3) > 1 ? replace_suffix(w, 3, "") : w;
    }
    return apply_rules(w, rules, 1);
}

static struct porter_word step_5(struct porter_word w)
{
    if (has_suffix(w, "e")) {
        int m = vc_measure(w.s, w.n - 1);
        if (m > 1 || (m == 1 && !ends_cvc(w.s, w.n - 1)))
            w.n--;
    }
    if (has_suffix(w, "ll") && vc_measure(w.s, w.n - 1) > 1)
        w.n--;
    return w;
}

/* ---- irregular words ---- */

static bool irregular_stem(struct porter_word *w)
{
    static const struct porter_rule words[] = {
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
    for (const struct porter_rule *r = words; r->suffix; r++)
        if (strlen(r->suffix) == w->n && has_suffix(*w, r->suffix)) {
            *w = replace_suffix(*w, w->n, r->by);
            return true;
        }
    return false;
}

size_t oa_porter_stem(char *word, size_t length)
{
    struct porter_word w = { word, length };
    if (length <= 2 || irregular_stem(&w))
        return w.n;
    return step_5(step_4(step_3(step_2(step_1c(step_1b(step_1a(w))))))).n;
}
