/* SPDX-License-Identifier: Apache-2.0
 * Private to inspect/: what its page has beside the style and script of all pages. */
#ifndef ORTHANT_INSPECT_PAGE_SCRIPT_H
#define ORTHANT_INSPECT_PAGE_SCRIPT_H

extern const char oa_inspection_style[], oa_inspection_script[];

#endif
