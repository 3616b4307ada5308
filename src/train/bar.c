/* SPDX-License-Identifier: Apache-2.0
 * Progress of work whose size is known: "title [########............] 40 %, 0:12 left". */
#include "train/train.h"

#include <string.h>

enum { WIDE = 20 };                     /* marks of a bar */
static const double bar_interval = 0.2; /* seconds between two lines */

void oa_bar_open(struct oa_bar *b, oa_context *c, const char *title)
{
    *b = (struct oa_bar){ .context = c, .title = title, .began = oa_clock() };
}

void oa_bar_log(struct oa_bar *b, long done, long all)
{
    char marks[WIDE + 1], left[32] = "";
    double now = oa_clock(), share = all > 0 ? (double)done / (double)all : 1;
    if (b->logged > 0 && now - b->logged < bar_interval)
        return;
    b->logged = now;
    int full = (int)(share * WIDE);
    memset(marks, '#', (size_t)full);
    memset(marks + full, '.', (size_t)(WIDE - full));
    marks[WIDE] = 0;
    if (done > 0) {
        long seconds = (long)((now - b->began) * (1 - share) / share);
        snprintf(left, sizeof left, ", %ld:%02ld left", seconds / 60, seconds % 60);
    }
    oa_log(b->context, 1, "%s [%s] %.0f %%%s", b->title, marks, 100 * share, left);
}
