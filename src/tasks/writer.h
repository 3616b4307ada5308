/* SPDX-License-Identifier: Apache-2.0
 *
 * What an encoder with a decoder writes for sources side by side, each with its beam.
 */
#ifndef ORTHANT_TASKS_WRITER_H
#define ORTHANT_TASKS_WRITER_H

#include "decode/beam.h"
#include "decode/writable.h"
#include "model/model.h"

enum { OA_SIDE_BY_SIDE = 32 }; /* sources of a call, at most */

struct oa_writer {
    struct oa_model *model;         /* borrowed */
    struct oa_tokenizer *tokenizer; /* borrowed */
    struct oa_beam beam;
    struct oa_writable *writable;
    uint8_t *state,
        *before; /* [rows] of the texts so far (decode/characters.h); of the call before */
    struct oa_decoding_batch rows;
    struct oa_sequences sources; /* of the call at hand */
    int32_t *ids, *words, *lengths;
};

/* decode.beam, length_penalty and patient are read; `best` hypotheses a source. A tokenizer without
 * the special tokens of targets is refused. Close also after an error. */
enum oa_error oa_writer_open(struct oa_model *m, struct oa_tokenizer *tokenizer,
                             const struct oa_options *decode, int best, struct oa_writer *out);
void oa_writer_close(struct oa_writer *w);

struct oa_source_ids {
    const int32_t *ids; /* special tokens included, no more than the encoder reads */
    const int32_t
        *words;   /* their word numbers, as those of the rows it learnt from (data/examples.h) */
    size_t count; /* 1 or more */
};
/* out [count][best], as oa_beam_search gives them: what is written for a source does not depend on
 * those beside it. Nothing is written that no target of the task can contain (decode/writable.h).
 * OA_INTERRUPTED within a token when a stop is asked for. */
enum oa_error oa_writer_write(struct oa_writer *w, const struct oa_source_ids *source, int count,
                              struct oa_hypothesis *out);
/* Appends the text of a hypothesis as everybody is to have it, printed, in JSON and scored: one
 * line of UTF-8. Line ends and zeros become blanks; a character that is not whole becomes U+FFFD
 * (decode/characters.h). */
enum oa_error oa_writer_text(const struct oa_writer *w, const struct oa_hypothesis *h,
                             struct oa_text *out);

#endif
