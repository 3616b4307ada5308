/* SPDX-License-Identifier: Apache-2.0
 * The frame of a page, and text that is safe in it. */
#include "print/svg.h"

#include <string.h>
#include <utf8proc.h>

/* page.css and page.js, embedded by the build. */
extern const char oa_page_css[], oa_page_js[];

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

static bool turns_direction(utf8proc_int32_t code)
{
    return code == 0x061c || code == 0x200e || code == 0x200f ||
           (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

int oa_text_visible(const char *text, char shown[8])
{
    utf8proc_int32_t code;
    int n = (int)utf8proc_iterate((const utf8proc_uint8_t *)text, -1, &code);
    bool control =
        n > 0 && code != '\n' && code != '\t' && (code < 0x20 || (code >= 0x7f && code < 0xa0));
    if (n <= 0)
        strcpy(shown, "?");
    else if (control)
        snprintf(shown, 8, "\\x%02x", (unsigned)code & 0xff);
    else if (turns_direction(code))
        snprintf(shown, 8, "\\u%04x", (unsigned)code & 0xffff);
    else
        snprintf(shown, 8, "%.*s", n, text);
    return n > 0 ? n : 1;
}

/* Bytes that are not UTF-8 become "?": a browser and an XML reader may differ on them. */
void oa_html_text(struct oa_text *out, const char *text)
{
    char shown[8];
    for (int n; *text; text += n) {
        n = oa_text_visible(text, shown);
        const char *other = entity(*shown);
        oa_text_add(out, other ? other : shown, strlen(other ? other : shown));
    }
}

void oa_html_begin(struct oa_text *out, const char *title)
{
    oa_text_printf(out,
                   "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                   "<meta name=\"generator\" content=\"Orthant " ORTHANT_VERSION "\"/>\n<title>");
    oa_html_text(out, title);
    oa_text_printf(out, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n<main>\n", oa_chart_css,
                   oa_page_css);
}

void oa_html_end(struct oa_text *out)
{
    oa_text_printf(out,
                   "<footer>Made by Orthant " ORTHANT_VERSION
                   ". This file is self-contained: it loads and sends "
                   "nothing.</footer>\n</main>\n<script>\n%s</script>\n</body>\n</html>\n",
                   oa_page_js);
}
