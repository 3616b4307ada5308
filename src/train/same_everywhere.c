/* SPDX-License-Identifier: Apache-2.0
 * Checks that the ranks of a cluster do the same work: all that affects the bits of a run is
 * compared with the first rank, files by their contents, since paths may differ from host to
 * host. */
#include "device/device_list.h"
#include "kernels/kernels.h"
#include "train/fingerprint.h"

#include <gnu/libc-version.h>
#include <stddef.h>
#include <string.h>

enum { VALUE = 96 };

/* All but the options, in the order in which they are compared. */
static const struct identity_line {
    const char *what, *remedy;
} lines[] = {
    { "the version of Orthant", "install the same program on every host" },
    { "the C library", "run on hosts of one distribution, or in one container" },
    { "the instruction set", "give every rank the lowest of them with --isa" },
    { "the library for matrix products",
      "install the same libraries on every host, or run in one container" },
    { "the processor",
      "it may round differently: choose hosts of one kind, or allow it with cluster.mixed on" },
    { "the SHA-256 of the training text", "copy the same file to every host" },
    { "the SHA-256 of the validation text", "copy the same file to every host" },
    { "the SHA-256 of the test data", "copy the same file to every host" },
    { "the SHA-256 of the tokenizer", "copy the same tokenizer.json to every host" },
    { "the SHA-256 of the model of train.init", "copy the same model to every host" },
};
enum { LINES = sizeof lines / sizeof *lines };

struct rank_identity {
    char line[LINES][VALUE];
    struct oa_options options;
};

static enum oa_error fill_identity(oa_context *c, const struct oa_options *o,
                                   const struct oa_workload *w, struct rank_identity *p)
{
    struct oa_kernels k;
    struct oa_origin origin;
    struct oa_digest test = oa_workload_side(w, OA_TEST).digest;
    OA_TRY(oa_origin_of(c, w, &origin));
    char device[OA_DEVICE_LABEL];
    oa_device_label(c, device);
    oa_kernels_init(&k, o->train_precision, oa_context_isa(c), oa_context_cpu(c));
    const char *values[LINES] = { oa_version(),
                                  gnu_get_libc_version(),
                                  device[0] ? device : oa_isa_name(oa_context_isa(c)),
                                  k.gemm_name ? k.gemm_name : "",
                                  o->cluster_mixed ? "any" : oa_context_cpu(c)->name,
                                  origin.training_text.hex,
                                  origin.validation_text.hex,
                                  test.hex,
                                  origin.tokenizer.hex,
                                  origin.start.hex };
    for (int i = 0; i < LINES; i++)
        snprintf(p->line[i], VALUE, "%s", values[i]);
    p->options = *o;
    return OA_OK;
}

/* ---- comparing ---- */

static enum oa_error compare_rank_option(oa_context *c, const char *key,
                                         const struct oa_options *first,
                                         const struct oa_options *here)
{
    struct oa_option_pair value;
    oa_option_pair_open(c, first, here, key, &value);
    enum oa_error e = oa_status(c);
    if (e == OA_OK && value.differ)
        e = oa_fail(c, OA_ARGUMENT,
                    "%s is \"%s\" here and \"%s\" on rank 0; give every rank the same options", key,
                    value.b, value.a);
    oa_option_pair_close(&value);
    return e;
}

static enum oa_error compare_identities(oa_context *c, const struct rank_identity *first,
                                        const struct rank_identity *here)
{
    const struct oa_option_row *row;
    for (int i = 0; i < LINES; i++)
        if (strcmp(first->line[i], here->line[i]) != 0)
            return oa_fail(c, OA_ARGUMENT, "%s is \"%.64s\" here and \"%.64s\" on rank 0; %s",
                           lines[i].what, here->line[i], first->line[i], lines[i].remedy);
    for (int i = 0; (row = oa_option_at(i)); i++) /* of files the contents are compared */
        if (!(row->role & (OA_NAMES_FILES | OA_PER_RANK)))
            OA_TRY(compare_rank_option(c, row->key, &first->options, &here->options));
    return OA_OK;
}

/* Another program may even have other options, so their size is compared as well. */
struct program {
    long size, numbers;
    char version[VALUE], command[VALUE], folder[OA_PATH], resume[4], overwrite[4], attentions[16];
};

static enum oa_error check_same_word(oa_context *c, const char *what, const char *first,
                                     const char *here)
{
    if (strcmp(first, here) == 0)
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT,
                   "%s is \"%.400s\" here and \"%.400s\" on rank 0; give every rank the same", what,
                   here, first);
}

static enum oa_error compare_programs(oa_context *c, const struct program *first,
                                      const struct program *here)
{
    if (memcmp(first, here, offsetof(struct program, command)) != 0)
        return oa_fail(c, OA_ARGUMENT, "Orthant is another build (%s) than on rank 0 (%s); %s",
                       here->version, first->version, lines[0].remedy);
    OA_TRY(check_same_word(c, "the command", first->command, here->command));
    OA_TRY(check_same_word(c, "--out", first->folder, here->folder));
    OA_TRY(check_same_word(c, "--resume", first->resume, here->resume));
    OA_TRY(check_same_word(c, "--overwrite", first->overwrite, here->overwrite));
    return check_same_word(c, "the number of attentions", first->attentions, here->attentions);
}

static void fill_program(const struct oa_work *w, struct program *p)
{
    p->size = sizeof(struct rank_identity);
    p->numbers = OA_NUMBERS_VERSION;
    snprintf(p->version, VALUE, "%s", oa_version());
    snprintf(p->command, VALUE, "%s", w->command);
    snprintf(p->folder, OA_PATH, "%s", w->folder);
    snprintf(p->resume, sizeof p->resume, "%s", w->resume ? "on" : "off");
    snprintf(p->overwrite, sizeof p->overwrite, "%s", w->overwrite ? "on" : "off");
    snprintf(p->attentions, sizeof p->attentions, "%d", w->count);
}

static enum oa_error compare_rank_attention(struct oa_cluster *cluster, const char *name)
{
    char first[OA_OPTION_TEXT] = "", here[OA_OPTION_TEXT] = "";
    snprintf(here, sizeof here, "%s", name);
    memcpy(first, here, sizeof first);
    OA_TRY(oa_cluster_broadcast(cluster, "the attentions", first, sizeof first));
    return oa_cluster_agree(cluster, check_same_word(cluster->context, "--attention", first, here));
}

enum oa_error oa_same_program(struct oa_cluster *cluster, const struct oa_options *o,
                              const struct oa_work *work)
{
    struct program mine = { 0 };
    if (!cluster)
        return OA_OK;
    cluster->timeout = o->cluster_timeout;
    fill_program(work, &mine);
    struct program first = mine;
    OA_TRY(oa_cluster_broadcast(cluster, "the first message", &first, sizeof first));
    OA_TRY(oa_cluster_agree(cluster, compare_programs(cluster->context, &first, &mine)));
    for (int i = 0; i < work->count; i++)
        OA_TRY(compare_rank_attention(cluster, work->attentions[i]));
    return OA_OK;
}

enum oa_error oa_same_everywhere(struct oa_cluster *cluster, const struct oa_options *o,
                                 const struct oa_workload *w, enum oa_error opened)
{
    if (!cluster)
        return opened;
    oa_context *c = cluster->context;
    OA_TRY(oa_cluster_agree(cluster, opened));
    struct rank_identity *here = oa_alloc(c, 2 * sizeof *here), *first = here + 1;
    if (!here)
        return OA_NO_MEMORY;
    enum oa_error e = fill_identity(c, o, w, here);
    *first = *here;
    if (e == OA_OK)
        e = oa_cluster_broadcast(cluster, "the options", first, sizeof *first);
    if (e == OA_OK)
        e = oa_cluster_agree(cluster, compare_identities(c, first, here));
    oa_free(here);
    return e;
}
