/* SPDX-License-Identifier: Apache-2.0
 * Style and script of every page. Private to print/. */
#ifndef ORTHANT_PRINT_PAGE_STYLE_H
#define ORTHANT_PRINT_PAGE_STYLE_H

#include "print/svg.h"

void oa_page_style(struct oa_text *out);
void oa_page_script(struct oa_text *out);

#endif
