/* SPDX-License-Identifier: Apache-2.0
 * Initial values from a trained run (train.init): which tensors fit, notices about it, init.json in
 * the run's folder.
 *
 *     {"from": "runs/m", "model": "sha256:…",
 *      "taken": [{"tensor": "embedding.weight", "rows": 65, "of": 67}, {"tensor":
 * "encoder.norm.weight"}, {"tensor": "decoder.layers.0.attention.group.1.query.weight", "from":
 * "decoder.layers.0.attention.query.weight", "heads": 4, "of": 4}, …], "not_taken": [{"tensor":
 * "classifier.weight", "because": "not there"}, …]} */
#ifndef ORTHANT_TRAIN_INITIAL_H
#define ORTHANT_TRAIN_INITIAL_H

#include "model/transfer.h"
#include "train/train.h"

#define OA_INITIAL_FILE "init.json"

struct oa_initial {
    struct oa_model *from;
    struct oa_tokenizer *tokenizer;
    struct oa_transfer transfer;
};
/* Matches the run that train.init names with the model `to` of w, with values if wanted. Refused
 * when nothing fits. Close it also after an error. */
enum oa_error oa_initial_open(struct oa_model *to, const struct oa_workload *w, bool values,
                              struct oa_initial *out);
void oa_initial_close(struct oa_initial *i);
/* run, model: where the values are from, and the digest of its model file. */
enum oa_error oa_initial_save(const struct oa_transfer *t, const char *run,
                              const struct oa_digest *model, const char *folder);

/* Refuses an initial run inside the folder of the new run. */
enum oa_error oa_initial_check(oa_context *c, const struct oa_options *o, const char *folder);
/* Logs what fits, before anything runs; without train.init nothing. who: name in the notice. out:
 * how many tensors the model has, and of how many something is taken. */
struct oa_started {
    int taken, count;
};
enum oa_error oa_initial_log(oa_context *c, const struct oa_options *o, const struct oa_workload *w,
                             const char *who, struct oa_started *out);

#endif
