/* SPDX-License-Identifier: Apache-2.0
 * The sources of randomness in a run, and the option with the seed of each. Frozen tensors and
 * features redrawn during training count as initial values: all are drawn by name from one seed. */
#include "base/base.h"

static const struct {
    const char *name, *title;
    size_t seed; /* offset in struct oa_options */
} sources[OA_CHANCES] = {
    [OA_CHANCE_INIT] = { "init", "initial values", offsetof(struct oa_options, train_seed_init) },
    [OA_CHANCE_ORDER] = { "order", "batch order", offsetof(struct oa_options, train_seed_order) },
    [OA_CHANCE_DROPOUT] = { "dropout", "dropout", offsetof(struct oa_options, train_seed_dropout) },
    [OA_CHANCE_SPLIT] = { "split", "split of the text",
                          offsetof(struct oa_options, data_split_seed) },
};

const char *oa_chance_name(enum oa_chance s)
{
    return sources[s].name;
}

const char *oa_chance_title(enum oa_chance s)
{
    return sources[s].title;
}

uint64_t oa_chance_seed(const struct oa_options *o, enum oa_chance s)
{
    long own = *(const long *)(const void *)((const char *)o + sources[s].seed);
    return (uint64_t)(own < 0 ? o->train_seed : own);
}

void oa_chance_set(struct oa_options *o, enum oa_chance s, uint64_t seed)
{
    *(long *)(void *)((char *)o + sources[s].seed) = (long)seed;
}
