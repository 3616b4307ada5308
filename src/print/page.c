/* SPDX-License-Identifier: Apache-2.0
 * The frame of a page, and text that is safe in it. */
#include "print/page_style.h"

#include <string.h>
#include <utf8proc.h>

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
        return (unsigned char)c < 32 && c != '\n' && c != '\t' ? " " : NULL;
    }
}

/* Bytes that are not UTF-8 become "?": a browser and an XML reader may differ on them. */
void oa_html_text(struct oa_text *out, const char *text)
{
    for (utf8proc_ssize_t n; *text; text += n) {
        utf8proc_int32_t code;
        n = utf8proc_iterate((const utf8proc_uint8_t *)text, -1, &code);
        const char *other = n > 0 ? entity(*text) : "?";
        n = n > 0 ? n : 1;
        oa_text_add(out, other ? other : text, other ? strlen(other) : (size_t)n);
    }
}

void oa_html_begin(struct oa_text *out, const char *title)
{
    oa_text_printf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                        "<meta name=\"generator\" content=\"Orthant " ORTHANT_VERSION "\"/>\n<title>");
    oa_html_text(out, title);
    oa_text_printf(out, "</title>\n<style>\n");
    oa_page_style(out);
    oa_text_printf(out, "</style>\n</head>\n<body>\n<main>\n");
}

void oa_html_end(struct oa_text *out)
{
    oa_text_printf(out, "<footer>Made by Orthant " ORTHANT_VERSION
                        ". The file stands alone: it loads nothing and sends nothing.</footer>\n</main>\n<script>\n");
    oa_page_script(out);
    oa_text_printf(out, "</script>\n</body>\n</html>\n");
}
