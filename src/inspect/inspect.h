/* SPDX-License-Identifier: Apache-2.0
 * inspect: the attention maps of a model on one text, and the facts of each head.
 *
 *     text → model, watched → each layer's input → the oracles → maps → numbers of heads, nearest
 * fixed patterns
 *
 * The maps are not those of the engines, which keep none, but what the mechanisms' oracles make of
 * the numbers that entered each layer. That they are the same is measured: A V through the output
 * projection against the layer's output. */
#ifndef ORTHANT_INSPECT_H
#define ORTHANT_INSPECT_H

#include "model/model.h"
#include "print/print.h"

#include <jansson.h>

enum { OA_FIXED_NAME = 64 };

/* Facts of a map. The mass of a row is |A_ij|/Σ_j |A_ij|, which of weights that are averages is
 * A_ij itself; rows without any weight have none and are left out of entropy and distance. */
struct oa_head_facts {
    double entropy;       /* nats: the mean of −Σ_j p ln p over rows; NaN: no row has mass */
    double entropy_share; /* Σ_i entropy of row i / Σ_i ln(keys that it can see); NaN: none can see
                             two */
    double distance;      /* tokens: the mean of Σ_j p |i − j|; in cross-attention places of two
                             sequences */
    char nearest[OA_FIXED_NAME]; /* the fixed attention that covers most; "" when there was none to
                                    try */
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
/* Visits the maps [T, S] of every form of the mechanism `pattern` that the mode has, by its oracle,
 * and at last the uniform average; other edges only of patterns with rows that are empty. */
enum oa_error oa_fixed_maps(oa_context *c, const struct oa_fixed_shape *s, oa_fixed_visit *visit,
                            void *argument);

/* ---- a model on a text (inspect.c) ---- */

#define OA_LARGE_DEVIATION 1e-3

struct oa_layer_view {
    const struct oa_stack *stack;
    const struct oa_layer *layer; /* of the model, which must live as long */
    int number;                   /* in its stack, from 0 */
    struct oa_oracle in;          /* what entered it, in double */
    double *y;                    /* [T, D] what came out */
    double *map;                  /* [H, T, S] */
    long *visible;                /* [H, T] keys that a query can see: mode and support */
    struct oa_head_facts *head;   /* [H] */
    /* The largest difference between y and what the map makes of the values, in units of the
     * largest |y|. NaN: not measured: a head has no map, or values of each row are its own and
     * there are too many. */
    double deviation;
};
struct oa_inspection {
    oa_context *context;
    struct oa_arena arena;
    struct oa_layer_view *layer; /* in the order in which they ran */
    int layers;
    long capacity;
};
/* Runs the model forward on one sequence (rows = 1), and on its source where it has an encoder
 * next to a decoder, and keeps what entered each attention layer and what came out. The tape is
 * used up. Close also after an error. */
enum oa_error oa_watch_model(oa_tape *t, struct oa_model *m, const struct oa_sequences *in,
                             const struct oa_sequences *source, struct oa_inspection *out);
/* The same, with the maps, their facts and the proof of them. */
enum oa_error oa_inspect_model(oa_tape *t, struct oa_model *m, const struct oa_sequences *in,
                               const struct oa_sequences *source, struct oa_inspection *out);
void oa_inspection_close(struct oa_inspection *i);
const struct oa_group *oa_view_group(const struct oa_layer_view *v,
                                     long head); /* the group of a head */
bool oa_view_visible(const struct oa_layer_view *v, long head, long i, long j);

/* ---- what could be tried instead (suggestion.c) ---- */

#define OA_REPLACEABLE 0.8 /* of the mass */
/* Is the head covered so far by another attention than its own? */
bool oa_head_replaceable(const struct oa_layer_view *v, long head);
long oa_replaceable_heads(const struct oa_layer_view *v); /* how many of the layer */
/* The attention of the layer as it is; and with such heads replaced, heads of one kind side by
 * side. */
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
    long checkpoint; /* step of the checkpoint that was looked at; -1: the finished model */
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
