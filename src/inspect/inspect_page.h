/* SPDX-License-Identifier: Apache-2.0
 * inspect_page.css and inspect_page.js, embedded by the build (cmake/embed.cmake). Private to
 * src/inspect. */
#ifndef ORTHANT_INSPECT_PAGE_H
#define ORTHANT_INSPECT_PAGE_H

extern const char oa_inspect_page_css[], oa_inspect_page_js[];

#endif
