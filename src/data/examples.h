/* SPDX-License-Identifier: Apache-2.0
 * Examples: pairs of texts, texts with a class or a number, pictures with a class. Files → rows of
 * texts → tokenizer → rows of ids → batches. A run does
 *
 *     oa_example_texts_open(c, &request, &texts);
 *     oa_example_texts_tokenizer(c, &texts, "bpe:8000", &tok);
 *     oa_examples_encode(tok, &texts, &texts.train, &layout, &train);    also texts.valid, .test
 *     oa_example_batches_open(c, &train, &batching, &batches);
 *     oa_batches_wrap(c, &oa_example_batches_kind, batches, &out);
 *
 * docs/data.md describes the files for users. Rows that are left out, cut or duplicated are counted
 * and logged; nothing is dropped silently. */
#ifndef ORTHANT_DATA_EXAMPLES_H
#define ORTHANT_DATA_EXAMPLES_H

#include "data/data.h"

/* ---- rows of texts ---- */

/* The kind of answer, and so the cells of a row:
 * text    source, target, further references for metrics
 * class   label, text, or label, text, text
 * number  the same with a number for the label
 * tokens  roles, then a text for each of them (turns.h): targets are chosen tokens of a sequence */
enum oa_answer { OA_ANSWER_TEXT, OA_ANSWER_CLASS, OA_ANSWER_NUMBER, OA_ANSWER_TOKENS };

enum { OA_ROWS_SHOWN = 5, OA_LABEL_SHOWN = 72 };

struct oa_row_place {
    int file;
    uint64_t line; /* from 1; the number of a picture */
};

/* The training, validation or test data as they are in their files. */
struct oa_rows {
    oa_context *context;
    const char *name; /* "training", "validation", "test": for messages */
    enum oa_answer answer;
    bool pictures;  /* each text is a picture, a byte per pixel */
    bool dialogues; /* files that are not tables are dialogues */
    bool drawn;     /* validation rows that were held out of the training files */
    bool whole;     /* keep rows with an empty text: a test score covers all rows */
    size_t count;
    struct oa_text pool; /* the cells end to end */
    size_t *cell;        /* cell k: pool.s[cell[k]] … cell[k + 1] - 1 */
    size_t *row;         /* row i: cells row[i] … row[i + 1] - 1 */
    struct oa_row_place *place;
    size_t cells, cell_capacity, row_capacity, place_capacity;
    char **file;
    int files;
    size_t file_capacity;
    struct oa_digest digest; /* of the cells, whatever their files; detects changed data */
    uint64_t left_out;       /* rows with an empty text */
    uint64_t left_out_line[OA_ROWS_SHOWN];
    uint64_t kept_empty;       /* the same where they are kept */
    uint64_t carriage_returns; /* lines that ended with CR LF; the CR is no part of them */
    /* Labels that were normalised (oa_label_spell), e.g. 10.0 to 10: their count, and the first
     * one. */
    uint64_t respelled;
    char respelled_from[OA_LABEL_SHOWN], respelled_to[OA_LABEL_SHOWN];
};
/* Cell `cell` of row `row`, without terminating 0; NULL: the row has fewer cells. */
const char *oa_rows_cell(const struct oa_rows *rows, size_t row, int cell, size_t *length);
int oa_rows_cells(const struct oa_rows *rows, size_t row);
int oa_rows_first_text(const struct oa_rows *rows); /* the cells before it are labels */
/* "pictures", "pairs of texts" or "single texts". rows: at least one. */
const char *oa_rows_kind(const struct oa_rows *rows);
bool oa_holds_pictures(const char *files); /* by the suffix of the last name */
void oa_rows_print_place(const struct oa_rows *rows, size_t row,
                         struct oa_text *out); /* "FILE, line N" */

/* The labels of the training rows, sorted as numbers if all are numbers, else by bytes; a class is
 * the index of its label. */
struct oa_labels {
    char **name;
    long count;
    bool numeric;
};
long oa_labels_find(const struct oa_labels *classes, const char *label,
                    size_t length); /* -1 when absent */
/* Whole numbers are normalised, since older models have "1e+01" and "10.0". Free also after an
 * error. */
enum oa_error oa_labels_copy(oa_context *c, char *const *name, long count, struct oa_labels *out);
void oa_labels_free(struct oa_labels *classes);
bool oa_parse_finite(const char *s, size_t n, double *value); /* a finite number in a text */

struct oa_example_request {
    const char *train, *valid, *test; /* lists of files; valid and test may be empty or NULL */
    const char *columns;      /* data.columns: names or numbers of columns; empty or NULL: detect */
    const char *test_columns; /* of the test files; NULL: `columns` */
    enum oa_answer answer;
    double valid_fraction; /* without valid: this share of the training rows is held out */
    uint64_t split_seed;
    bool stratify;       /* classes: hold out the same share of each, never all of its rows */
    bool refuse_unknown; /* reject labels that no training example has; else OA_IGNORED */
    bool dialogues;      /* texts: files that are not tables are dialogues, one per line */
};

/* Validation or test rows that are also training rows. */
struct oa_overlap {
    uint64_t rows;    /* equal in all cells */
    uint64_t sources; /* equal in their text, whatever the answer */
};

struct oa_example_texts {
    struct oa_rows train, valid, test;
    struct oa_labels classes; /* of OA_ANSWER_CLASS */
    struct oa_overlap valid_overlap, test_overlap;
};
/* Reads the files, holds out validation rows and counts overlap. Errors name file and line: wrong
 * formats, numbers that are not finite, labels of which no training example has any. */
enum oa_error oa_example_texts_open(oa_context *c, const struct oa_example_request *request,
                                    struct oa_example_texts *out);
/* For evaluating a model with these classes (OA_ANSWER_CLASS): reads the test rows or, where no
 * test file is named, the validation rows. Training rows are read if validation rows are held out
 * of them, and otherwise, if possible, to count overlap; if not possible, that is logged. */
enum oa_error oa_example_texts_open_measured(oa_context *c,
                                             const struct oa_example_request *request,
                                             const struct oa_labels *classes,
                                             struct oa_example_texts *out);
/* Splits the training rows at random: *out gets this share as validation rows, the others as
 * training rows, and the labels of all. Close it. */
enum oa_error oa_example_texts_hold_out(const struct oa_example_texts *whole, double fraction,
                                        uint64_t seed, struct oa_example_texts *out);
void oa_example_texts_close(struct oa_example_texts *texts);
/* oa_tokenizer_open on the texts of the rows, sources and targets but not labels: bpe is trained on
 * the training rows, char collects the characters of all rows. Pictures need "byte" or "patch:P".
 */
enum oa_error oa_example_texts_tokenizer(oa_context *c, const struct oa_example_texts *texts,
                                         const char *spec, struct oa_tokenizer **out);

/* For files whose whole lines are texts or labels: rejects tables and JSON objects, by name and
 * first lines. */
enum oa_error oa_check_lines(oa_context *c, const char *name, const char *text, size_t length);

/* ---- rows of ids ---- */

/* Special tokens around the texts, NULL for none, and limits. A source is begin, text, end, for a
 * pair followed by text, end; a target is begin, text, end: a decoder reads all but its last token
 * and predicts all but the first. */
struct oa_example_layout {
    char source_begin[OA_OPTION_TEXT], source_end[OA_OPTION_TEXT], target_begin[OA_OPTION_TEXT],
        target_end[OA_OPTION_TEXT];
    long source_limit, target_limit; /* most tokens that encoder and decoder read; 0: no limit */
    bool refuse_long;                /* reject rows beyond the limit instead of cutting them */
    bool keep_end;                   /* cut the beginning of a long source instead of its end */
    bool words;                      /* word indices are needed */
};

/* Sequences of ids end to end: i is ids[start[i]] … ids[start[i + 1] - 1]. */
struct oa_id_lists {
    int32_t *ids;
    int32_t *words;  /* word indices; a special token is a word of its own; NULL: not needed */
    uint8_t *pixels; /* P·P of each id of a patch; NULL: no patches */
    size_t *start;   /* [count + 1]; NULL: no sequences */
    long longest;
    uint64_t cut; /* sequences that were cut to the limit */
};

struct oa_examples {
    const struct oa_rows *rows; /* borrowed */
    size_t count;
    struct oa_id_lists source, target; /* target: of OA_ANSWER_TEXT */
    size_t patch;                      /* pixels per patch; 0: no patches */
    int32_t *split; /* [count] ids of a source before its second text; NULL: no pairs */
    int32_t *label; /* [count] of OA_ANSWER_CLASS; OA_IGNORED: not a label of the training rows */
    double *value;  /* [count] of OA_ANSWER_NUMBER */
    /* Of OA_ANSWER_TOKENS: the target of each token of the sources, or OA_IGNORED; and how many
     * targets each source has [count]. */
    int32_t *goal, *goals;
};
/* Adds missing special tokens to the tokenizer. A pair that is too long is cut at the end of its
 * longer text, token by token. A cut source keeps its end token; a cut target does not, since it
 * has not ended. */
enum oa_error oa_examples_encode(struct oa_tokenizer *tok, const struct oa_example_texts *texts,
                                 const struct oa_rows *rows, const struct oa_example_layout *layout,
                                 struct oa_examples *out);
void oa_examples_close(struct oa_examples *e);

/* An unlabelled text or pair as an example of a source only, cut to the limit (out->source.cut).
 * name: for messages. The tokenizer must have the special tokens. */
struct oa_input_text {
    const char *s;
    size_t length;
};
enum oa_error oa_source_encode(struct oa_tokenizer *tok, const struct oa_example_layout *layout,
                               const char *name, const struct oa_input_text *text, int texts,
                               struct oa_examples *out);

/* Concatenates such examples in order, skipping those of count 0. Close also after an error. */
enum oa_error oa_sources_join(oa_context *c, const struct oa_examples *const *part, int parts,
                              struct oa_examples *out);

/* ---- batches ---- */

struct oa_example_batching {
    long rows;   /* of a batch */
    long tokens; /* not 0: instead, as many rows as have at most this many tokens with padding */
    uint64_t seed;
    /* Not 0, encoders only: batch only rows with the same oa_padded_length, which is at most this,
     * so that the padded length of a row does not depend on its batch. */
    long alike;
};

/* Batches of rows of similar length. An epoch visits all rows once: sorted by length (target, then
 * source; from 24 tokens on in buckets of about 1/24), shuffled within a bucket, cut into batches,
 * and the batches shuffled. Micro-batch `micro` of step `step` is number (step - 1)·accumulate +
 * micro of the endless sequence of epochs, a function of that number and the seed, so a resumed run
 * continues exactly. The last batch of an epoch may be smaller. Validation visits all rows once,
 * sorted by length; with a limit on targets, a random subset with a fixed seed, at least one row.
 * Rows with a target are for a decoder: input, target and source. Others are for an encoder: the
 * source is the input, with a label or a value. The examples are borrowed. */
struct oa_example_batches;
enum oa_error oa_example_batches_open(oa_context *c, const struct oa_examples *examples,
                                      const struct oa_example_batching *how,
                                      struct oa_example_batches **out);
extern const struct oa_batches_kind oa_example_batches_kind; /* self: struct oa_example_batches */

/* Upper bounds over all batches. */
struct oa_example_extent {
    long rows, length, source_length;
    size_t places, source_places; /* rows × length */
};
struct oa_example_extent oa_example_batches_extent(const struct oa_example_batches *b);
/* Mean rows and input tokens (without padding) of the batches of the first epoch; 0 without
 * examples. */
struct oa_example_mean {
    double rows, tokens;
};
enum oa_error oa_example_batches_mean(oa_context *c, const struct oa_examples *e,
                                      const struct oa_example_batching *how,
                                      struct oa_example_mean *out);
/* The share of padding in source and target positions of an epoch, from 0. */
double oa_example_batches_padding(struct oa_example_batches *b, uint64_t epoch);

#endif
