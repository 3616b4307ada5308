/* SPDX-License-Identifier: Apache-2.0 */
#include "synthetic/seen_inputs.h"

enum oa_error oa_seen_open(oa_context *c, long most, struct oa_seen *out)
{
    uint64_t places = 16;
    while (places < 2 * (uint64_t)most)
        places *= 2;
    *out = (struct oa_seen){ .mark = oa_alloc(c, places * sizeof *out->mark), .mask = places - 1 };
    return out->mark ? OA_OK : OA_NO_MEMORY;
}

void oa_seen_close(struct oa_seen *s)
{
    oa_free(s->mark);
    s->mark = NULL;
}

/* FNV-1a, and the finaliser of splitmix64, since the low bits choose the place. */
static uint64_t mark_of(const char *input, size_t length)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)input[i]) * 0x100000001b3u;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    h ^= h >> 31;
    return h ? h : 1;
}

bool oa_seen_add(struct oa_seen *s, const char *input, size_t length)
{
    uint64_t mark = mark_of(input, length), at = mark & s->mask;
    while (s->mark[at] && s->mark[at] != mark)
        at = (at + 1) & s->mask;
    bool fresh = !s->mark[at];
    s->mark[at] = mark;
    return fresh;
}
