/* SPDX-License-Identifier: Apache-2.0
 * Beam search with an encoder-decoder for a batch of sources. */
#ifndef ORTHANT_TASKS_WRITER_H
#define ORTHANT_TASKS_WRITER_H

#include "decode/beam.h"
#include "decode/writable.h"
#include "model/model.h"

enum { OA_SIDE_BY_SIDE = 32 }; /* most sources per call */

struct oa_writer {
    struct oa_model *model;         /* borrowed */
    struct oa_tokenizer *tokenizer; /* borrowed */
    struct oa_beam beam;
    struct oa_writable *writable;
    uint8_t *state,
        *before; /* [rows] UTF-8 state of each text (characters.h), now and one token ago */
    struct oa_decoding_batch rows;
    struct oa_sequences sources; /* of the current call */
    int32_t first;               /* decode.first_token; -1: none */
    bool force_end, renormalise;
    int32_t *suppressed; /* ids */
    int suppressed_count;
    int32_t *ids, *words, *lengths;
};

/* Refuses options decode.* that oa_writer_open would refuse with this tokenizer. */
enum oa_error oa_writer_check(oa_context *c, const struct oa_options *decode,
                              struct oa_tokenizer *tokenizer, long vocabulary);

/* Reads the options decode.*. best: hypotheses per source.
 * OA_FORMAT: the tokenizer lacks the tokens of the model (model.begin_token, model.end_token).
 * Close also after an error. */
enum oa_error oa_writer_open(struct oa_model *m, struct oa_tokenizer *tokenizer,
                             const struct oa_options *decode, int best, struct oa_writer *out);
void oa_writer_close(struct oa_writer *w);

struct oa_source_ids {
    const int32_t *ids;   /* with special tokens, within the limit of the encoder */
    const int32_t *words; /* word indices, as in training rows (data/examples.h) */
    size_t count;         /* 1 or more */
};
/* out [count][best], as from oa_beam_search; independent of the other sources of the call. Writes
 * only tokens that targets can contain (decode/writable.h). OA_INTERRUPTED within a token of a stop
 * request. */
enum oa_error oa_writer_write(struct oa_writer *w, const struct oa_source_ids *source, int count,
                              struct oa_hypothesis *out);
/* Appends the text of a hypothesis as one line of UTF-8, for printing, JSON and scoring: line ends
 * and zeros become blanks, incomplete characters U+FFFD (decode/characters.h). */
enum oa_error oa_writer_text(const struct oa_writer *w, const struct oa_hypothesis *h,
                             struct oa_text *out);

#endif
