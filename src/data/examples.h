/* SPDX-License-Identifier: Apache-2.0
 *
 * Examples: pairs of texts, texts with a class or a number, pictures with a class. Files → rows of
 * texts → tokenizer → rows of ids → batches. A run does
 *
 *     oa_example_texts_open(c, &request, &texts);
 *     oa_example_texts_tokenizer(c, &texts, "bpe:8000", &tok);
 *     oa_examples_encode(tok, &texts, &texts.train, &layout, &train);      and so for texts.valid,
 * texts.test oa_example_batches_open(c, &train, &batching, &batches);             struct
 * oa_batches_kind has the functions
 *
 * docs/data.md says for users which files are read and how; what is left out, cut or there twice is
 * counted here and said in notices of the log. Nothing is dropped in silence.
 */
#ifndef ORTHANT_DATA_EXAMPLES_H
#define ORTHANT_DATA_EXAMPLES_H

#include "data/data.h"

/* ---- rows of texts ---- */

/* What a model answers, and so what the cells of a row are:
 * text    source, target; behind them further targets, which only measures read
 * class   label, text, or label, text, text
 * number  the same with a number for a label */
enum oa_answer { OA_ANSWER_TEXT, OA_ANSWER_CLASS, OA_ANSWER_NUMBER };

enum { OA_ROWS_SHOWN = 5, OA_LABEL_SHOWN = 72 };

struct oa_row_place {
    int file;
    uint64_t line; /* from 1; of a picture its number */
};

/* One side of the data as it stands in its files. */
struct oa_rows {
    oa_context *context;
    const char *name; /* "training", "validation", "test": for messages */
    enum oa_answer answer;
    bool pictures;  /* each text is a picture: a byte a pixel */
    bool dialogues; /* files that are no tables are dialogues */
    bool drawn;     /* validation rows that were drawn from the training files */
    bool whole;     /* rows with an empty text are kept: a score is of all of a test set */
    size_t count;
    struct oa_text pool; /* the cells end to end */
    size_t *cell;        /* cell k: pool.s[cell[k]] … cell[k + 1] - 1 */
    size_t *row;         /* row i: cells row[i] … row[i + 1] - 1 */
    struct oa_row_place *place;
    size_t cells, cell_capacity, row_capacity, place_capacity;
    char **file;
    int files;
    size_t file_capacity;
    struct oa_digest
        digest; /* of the texts, wherever they stood: checkpoints and comparisons notice others */
    uint64_t left_out; /* rows with an empty text */
    uint64_t left_out_line[OA_ROWS_SHOWN];
    uint64_t kept_empty;       /* the same where they are kept */
    uint64_t carriage_returns; /* lines that ended with CR LF; the CR is no part of them */
    /* Labels that are whole numbers and were not written so: 10.0, 1e1. A class is the number. The
     * first one. */
    uint64_t respelled;
    char respelled_from[OA_LABEL_SHOWN], respelled_to[OA_LABEL_SHOWN];
};
/* Cell `cell` of row `row`, not ended by a 0; NULL where the row has not as many. */
const char *oa_rows_cell(const struct oa_rows *rows, size_t row, int cell, size_t *length);
int oa_rows_cells(const struct oa_rows *rows, size_t row);
int oa_rows_first_text(const struct oa_rows *rows);   /* the cells before it are labels */
const char *oa_rows_kind(const struct oa_rows *rows); /* "pictures", "pairs of texts", "single
                                                         texts"; of one row or more */
bool oa_holds_pictures(const char *files);            /* by the end of the list's last name */
void oa_rows_print_place(const struct oa_rows *rows, size_t row,
                         struct oa_text *out); /* "FILE, line N" */

/* The labels of the training rows, in the order of their numbers if all of them are numbers, else
 * in that of their bytes; a class is the place in it. */
struct oa_labels {
    char **name;
    long count;
    bool numeric;
};
long oa_labels_find(const struct oa_labels *classes, const char *label,
                    size_t length); /* -1 when absent */
/* Whole numbers are spelled as such, for older models have "1e+01" and "10.0". To be freed, also
 * after an error. */
enum oa_error oa_labels_copy(oa_context *c, char *const *name, long count, struct oa_labels *out);
void oa_labels_free(struct oa_labels *classes);

struct oa_example_request {
    const char *train, *valid, *test; /* lists of files; valid and test may be empty or NULL */
    const char
        *columns; /* data.columns: names or numbers of columns, keys; empty or NULL: found out */
    const char *test_columns; /* the same of the test files, where they are not the run's; NULL:
                                 `columns` */
    enum oa_answer answer;
    double valid_fraction; /* without valid: so much of the training rows, drawn with split_seed;
                            * those of a line stay together */
    uint64_t split_seed;
    bool
        stratify; /* of OA_ANSWER_CLASS: of every class the same share, and never all of its rows */
    bool refuse_unknown; /* labels that no training example has; else such a row has no class, which
                            is told */
    bool dialogues;      /* of OA_ANSWER_TEXT: files that are no tables are dialogues, one a line */
};

/* Rows of a side that are in the training side as well. */
struct oa_overlap {
    uint64_t rows;    /* the same in all their cells */
    uint64_t sources; /* the same text, whatever the answer */
};

struct oa_example_texts {
    struct oa_rows train, valid, test;
    struct oa_labels classes; /* of OA_ANSWER_CLASS */
    struct oa_overlap valid_overlap, test_overlap;
};
/* Reads, holds out and compares. What a file cannot be is refused with file and line, a number that
 * is not finite, and sides whose labels are all unknown to the training side. */
enum oa_error oa_example_texts_open(oa_context *c, const struct oa_example_request *request,
                                    struct oa_example_texts *out);
/* For a model that is there, whose classes are given (of OA_ANSWER_CLASS): its test rows, or where
 * no file of them is named its validation rows. Training rows are read only where these are held
 * out of them, and else, if they can be, to count how many of the others are among them; that they
 * cannot is said in a notice. */
enum oa_error oa_example_texts_open_measured(oa_context *c,
                                             const struct oa_example_request *request,
                                             const struct oa_labels *classes,
                                             struct oa_example_texts *out);
/* The training rows in two, drawn with the seed: *out has so much of them as its validation rows
 * and the others as its training rows, with the labels of the whole. To be closed. */
enum oa_error oa_example_texts_hold_out(const struct oa_example_texts *whole, double fraction,
                                        uint64_t seed, struct oa_example_texts *out);
void oa_example_texts_close(struct oa_example_texts *texts);
/* oa_tokenizer_open on the texts of the rows, of sources and targets alike, labels apart: bpe is
 * trained on the training rows, char collects the characters of all sides. Pictures need "byte" or
 * "patch:P". */
enum oa_error oa_example_texts_tokenizer(oa_context *c, const struct oa_example_texts *texts,
                                         const char *spec, struct oa_tokenizer **out);

/* Of a file whose lines are to be texts or labels, by its name and its first lines: refuses tables
 * and JSON objects. */
enum oa_error oa_check_lines(oa_context *c, const char *name, const char *text, size_t length);

/* ---- rows of ids ---- */

/* What stands around the ids: special tokens, NULL for none. A source is begin, text, end, and of a
 * pair text, end again; a target is begin, ids, end: a decoder reads all of it but the last token
 * and predicts all but the first. */
struct oa_example_layout {
    const char *source_begin, *source_end, *target_begin, *target_end;
    long source_limit,
        target_limit; /* most tokens that an encoder, a decoder reads; 0: any number */
    bool refuse_long; /* a row beyond the limit is refused, else cut */
    bool keep_end;    /* a source that is too long loses its beginning, else its end */
    bool words;       /* numbers of words are wanted */
};

/* Sequences of ids end to end: i is ids[start[i]] … ids[start[i + 1] - 1]. */
struct oa_id_lists {
    int32_t *ids, *words; /* words: oa_tokenizer_encode_text, special tokens are words of their own;
                             NULL: unasked */
    uint8_t *pixels;      /* P·P of each id, in patches of pictures; NULL: they are none */
    size_t *start;        /* [count + 1]; NULL: there are none */
    long longest;
    uint64_t cut; /* how many were longer than the limit */
};

struct oa_examples {
    const struct oa_rows *rows; /* borrowed */
    size_t count;
    struct oa_id_lists source, target; /* target: of OA_ANSWER_TEXT */
    size_t patch;                      /* pixels of a token; 0: none are patches */
    int32_t *split; /* [count] ids of a source before its second text; NULL: there are no pairs */
    int32_t *label; /* [count] of OA_ANSWER_CLASS; OA_IGNORED: no training example has its label */
    double *value;  /* [count] of OA_ANSWER_NUMBER */
};
/* Adds the special tokens to the tokenizer where they are not in it. A pair that is too long loses
 * the end of its longer text, token by token; a source keeps its end token, a target does not, for
 * it has not come to its end. */
enum oa_error oa_examples_encode(struct oa_tokenizer *tok, const struct oa_example_texts *texts,
                                 const struct oa_rows *rows, const struct oa_example_layout *layout,
                                 struct oa_examples *out);
void oa_examples_close(struct oa_examples *e);

/* A text, or a pair, that no answer is known to, as one example: its source alone, cut to the limit
 * where it is too long (out->source.cut). name: for messages. The special tokens must be in the
 * tokenizer. */
struct oa_given_text {
    const char *s;
    size_t length;
};
enum oa_error oa_source_encode(struct oa_tokenizer *tok, const struct oa_example_layout *layout,
                               const char *name, const struct oa_given_text *text, int texts,
                               struct oa_examples *out);

/* Sources of several such examples as one, in their order; those of count 0 are passed over. Closed
 * also after an error. */
enum oa_error oa_sources_join(oa_context *c, const struct oa_examples *const *part, int parts,
                              struct oa_examples *out);

/* ---- batches ---- */

struct oa_example_batching {
    long rows;   /* of a batch */
    long tokens; /* not 0: instead, as many rows as have at most so many tokens, padding included,
                    on either side */
    uint64_t seed;
    /* Not 0: rows of a batch are padded to one length that each has by itself, at most this one,
     * and rows of others are in other batches: what a row is computed in does not depend on those
     * beside it. Of an encoder's rows. */
    long alike;
};

/* Batches of rows of like length. Training goes through all rows once an epoch: sorted by length
 * (of the target, then of the source; from 24 tokens on in steps of about 1/24), rows of the same
 * length in an order of the epoch's own, cut into batches, and these in an order of the epoch's
 * own. Micro-batch `micro` of step `step` is number (step - 1)·accumulate + micro of the endless
 * sequence of epochs: a function of it and the seed alone, so that a resumed run goes on as if it
 * had not stopped. The last rows of an epoch may be a smaller batch. Validation goes through all
 * rows once, in the order of their lengths; with a limit on the targets, through rows that are
 * drawn with a fixed seed, as many as stay within it, at least one. Rows with a target are a
 * decoder's: input and target, and the source beside them. Others are an encoder's: the source is
 * the input, and there is a label or a value. The examples are borrowed. */
struct oa_example_batches;
enum oa_error oa_example_batches_open(oa_context *c, const struct oa_examples *examples,
                                      const struct oa_example_batching *how,
                                      struct oa_example_batches **out);
extern const struct oa_batches_kind oa_example_batches_kind; /* self: struct oa_example_batches */

/* No batch is larger in any of these. */
struct oa_example_extent {
    long rows, length, source_length;
    size_t places, source_places; /* rows × length */
};
struct oa_example_extent oa_example_batches_extent(const struct oa_example_batches *b);
/* What a batch of the first epoch has on average: rows, and tokens that are read, padding apart.
 * Nothing of what cannot be batches. */
struct oa_example_mean {
    double rows, tokens;
};
enum oa_error oa_example_batches_mean(oa_context *c, const struct oa_examples *e,
                                      const struct oa_example_batching *how,
                                      struct oa_example_mean *out);
/* The share of the positions of an epoch, from 0, of both sides, that are padding. */
double oa_example_batches_padding(struct oa_example_batches *b, uint64_t epoch);

#endif
