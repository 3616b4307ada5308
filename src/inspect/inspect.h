/* SPDX-License-Identifier: Apache-2.0
 * inspect: the attention maps of a model on one text, and the facts of each head.
 *
 *     text → model → input of each layer → oracles → maps → facts of heads, nearest fixed maps
 *
 * The engines store no maps. The maps are computed by the oracles of the mechanisms, their plain
 * definitions in double precision, from the recorded input of each layer, and checked: A·V through
 * the output projection must equal the recorded output of the layer. */
#ifndef ORTHANT_INSPECT_H
#define ORTHANT_INSPECT_H

#include "model/model.h"
#include "print/print.h"

#include <jansson.h>

enum { OA_FIXED_NAME = 64 };

/* Facts of a map. The mass p_ij is |A_ij|/Σ_j |A_ij|, which is A_ij itself if rows are averages.
 * Rows without any weight are left out of entropy and distance. */
struct oa_head_facts {
    double entropy;       /* nats: the mean of −Σ_j p ln p over rows; NaN: no row has mass */
    double entropy_share; /* Σ_i entropy of row i / Σ_i ln(its visible keys); NaN: no row has two */
    double distance;      /* tokens: the mean of Σ_j p |i − j|; in cross-attention i and j are
                             positions in two sequences */
    char nearest[OA_FIXED_NAME]; /* the fixed attention that covers most; "": none */
    double covered;              /* its share of the mass, 0 to 1 */
};

/* One head's map. */
struct oa_head_map {
    const double *map; /* [T, S] */
    long queries, keys;
    const long *visible; /* [T] keys that a query can see */
};
void oa_head_measure(const struct oa_head_map *m,
                     struct oa_head_facts *out); /* all but nearest and covered */
/* The mass that a map shares with fixed weights [T, S] whose rows sum to 1 or 0: the mean over rows
 * of Σ_j min(p, w), which is 1 minus their total variation distance; 1 where both rows are empty, 0
 * where one is. */
double oa_head_covered(const struct oa_head_map *m, const double *fixed);

/* ---- fixed attentions (fixed_maps.c) ---- */

struct oa_fixed_shape {
    long queries, keys;
    bool causal, cross;
};
typedef void oa_fixed_visit(void *argument, const char *attention, const double *map);
/* Visits the maps [T, S] of every form of the mechanism `pattern` that is valid for the shape, and
 * last the uniform average. Other values of `edge` are tried only for patterns with empty rows. */
enum oa_error oa_fixed_maps(oa_context *c, const struct oa_fixed_shape *s, oa_fixed_visit *visit,
                            void *argument);

/* ---- a model on a text (inspect.c) ---- */

#define OA_LARGE_DEVIATION 1e-3

struct oa_layer_view {
    const struct oa_stack *stack;
    const struct oa_layer *layer; /* of the model, which must live as long */
    int number;                   /* in its stack, from 0 */
    struct oa_oracle in;          /* its input, in double */
    double *y;                    /* [T, D] its output */
    double *map;                  /* [H, T, S] */
    long *visible;                /* [H, T] keys that a query can see: mode and support */
    struct oa_head_facts *head;   /* [H] */
    /* The largest difference between y and the output by the maps, relative to the largest |y|.
     * NaN: not computed, since a head has no map, or each row has its own values and they are too
     * many. */
    double deviation;
};
struct oa_inspection {
    oa_context *context;
    struct oa_arena arena;
    struct oa_layer_view *layer; /* in the order in which they ran */
    int layers;
    long capacity;
};
/* Runs the model forward on one sequence (rows = 1), and on its source if it is an encoder-decoder,
 * and records input and output of each attention layer. The tape is reset. Close also after an
 * error. */
enum oa_error oa_watch_model(oa_tape *t, struct oa_model *m, const struct oa_sequences *in,
                             const struct oa_sequences *source, struct oa_inspection *out);
/* The same, with the maps, their facts and their deviation. */
enum oa_error oa_inspect_model(oa_tape *t, struct oa_model *m, const struct oa_sequences *in,
                               const struct oa_sequences *source, struct oa_inspection *out);
void oa_inspection_close(struct oa_inspection *i);
const struct oa_group *oa_view_group(const struct oa_layer_view *v,
                                     long head); /* the group of a head */
bool oa_view_visible(const struct oa_layer_view *v, long head, long i, long j);

/* ---- what could be tried instead (suggestion.c) ---- */

#define OA_REPLACEABLE 0.8 /* of the mass */
/* Whether another attention than its own covers the head so far. */
bool oa_head_replaceable(const struct oa_layer_view *v, long head);
long oa_replaceable_heads(const struct oa_layer_view *v); /* how many of the layer */
/* The attention of the layer; and with such heads replaced, equal heads in one group. */
void oa_view_attention(const struct oa_layer_view *v, struct oa_text *out);
void oa_view_suggestion(const struct oa_layer_view *v, struct oa_text *out);
/* The same of all layers, as model.attention; false: no head is replaceable. */
bool oa_inspection_suggestion(const struct oa_inspection *i, struct oa_text *out);

/* ---- what is shown ---- */

struct oa_token_names { /* of a sequence, made readable */
    char **name;
    long count;
};
struct oa_inspected {
    const char *run, *attention; /* the folder; model.attention */
    long checkpoint;             /* step of the inspected checkpoint; -1: the finished model */
    const struct oa_inspection *what;
    const struct oa_token_names *queries,
        *source; /* of oa_model_stack; of an encoder next to a decoder, or NULL */
};
const struct oa_token_names *oa_view_queries(const struct oa_inspected *s,
                                             const struct oa_layer_view *v);
const struct oa_token_names *oa_view_keys(const struct oa_inspected *s,
                                          const struct oa_layer_view *v);
/* "decoder layer 1", "decoder layer 1, cross-attention" */
void oa_view_title(const struct oa_layer_view *v, struct oa_text *out);
/* A fixed attention as people read it: "uniform" for the uniform average, else its own text. */
const char *oa_fixed_name(const char *attention);
long oa_inspection_heads(const struct oa_inspection *i);
json_t *oa_inspection_layers_json(const struct oa_inspection *i); /* maps rounded to 1e-4 */
void oa_inspection_json(const struct oa_inspected *s,
                        struct oa_text *out); /* the same, with the names of tokens */
void oa_inspection_table(const struct oa_inspected *s, int width, struct oa_text *out);
void oa_inspection_html(const struct oa_inspected *s, struct oa_text *out);

#endif
