/* SPDX-License-Identifier: Apache-2.0
 *
 * The sources of chance in a run, and the option that holds the seed of each. Frozen tensors, and
 * features that are drawn again during a training, belong to the initial values: both are drawn as
 * those are, by name from one seed.
 */
#include "base/base.h"

static const struct {
    const char *name, *says;
    size_t seed; /* in struct oa_options */
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

const char *oa_chance_says(enum oa_chance s)
{
    return sources[s].says;
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
