/* SPDX-License-Identifier: Apache-2.0
 *
 * attention: the attention language, the registry of mechanisms, and the attention layer. Read this first, then
 * softmax.c (the smallest mechanism), then layer.c.
 *
 *     text ── language.c ──> struct oa_spec ── layer.c ──> groups of heads ── mechanism ──> ops
 *
 * A mechanism is a const table in its own file and one line of registry.def. Its options, modes, formula and citation
 * stand in that table; parser, help, documentation, tests and reports loop over the registry.
 */
#ifndef ORTHANT_ATTENTION_H
#define ORTHANT_ATTENTION_H

#include "ops/ops.h"

/* ---- options of mechanisms ----------------------------------------------------------------------------------- */

enum oa_value_kind { OA_VALUE_INT, OA_VALUE_REAL, OA_VALUE_FLAG, OA_VALUE_CHOICE, OA_VALUE_TEXT };
/* One row of a mechanism's options. A choice or flag may be written as a bare word. */
struct oa_argument {
    const char *key; /* "" = only bare words set it (the kind of `pattern`) */
    enum oa_value_kind kind;
    const char *fallback; /* default as text; NULL = not a constant (then it is printed whenever it is given) */
    const char *choices;  /* CHOICE: "slice|full"; the first is the default */
    double low, high;     /* INT, REAL */
    const char *help;
};
struct oa_value {
    bool given;
    double number; /* INT, REAL; FLAG 0/1; CHOICE: index in choices */
    char text[256];
};

/* The projection options (contract.md §1, O2), for every mechanism with queries and keys. */
#define OA_PROJECTION_ARGUMENTS(first_qk)                                                                              \
    { "qk", OA_VALUE_CHOICE, NULL, first_qk, 0, 0, "how queries and keys are projected; all but learned are frozen" }, \
        { "tie", OA_VALUE_FLAG, "0", NULL, 0, 0, "keys use the query projection" },                                    \
        { "share",                                                                                                     \
          OA_VALUE_CHOICE,                                                                                             \
          "none",                                                                                                      \
          "none|layers",                                                                                               \
          0,                                                                                                           \
          0,                                                                                                           \
          "layers: one draw of a frozen projection for all layers" },                                                  \
        { "scale", OA_VALUE_CHOICE, "none", "none|jl", 0, 0, "jl: times √(d/d_h)" },                                   \
        { "temperature", OA_VALUE_FLAG, "0", NULL, 0, 0, "a trainable scalar for each head" },                         \
    {                                                                                                                  \
        "diagonal", OA_VALUE_FLAG, "0", NULL, 0, 0, "a trainable diagonal for each head"                               \
    }
#define OA_QK_LEARNED "learned|haar|gram-schmidt|gaussian|slice|srht|hd3|block|givens|permutation"
#define OA_QK_HAAR "haar|gram-schmidt|gaussian|slice|srht|hd3|block|givens|permutation|learned"

/* ---- a parsed attention -------------------------------------------------------------------------------------- */

#define OA_MAX_ARGUMENTS 16
struct oa_atom {
    const struct oa_mechanism *mechanism;
    struct oa_value value[OA_MAX_ARGUMENTS]; /* in the order of mechanism->arguments */
    struct oa_atom *child;                   /* mixture: its components */
    int children;
};
struct oa_group_spec {
    struct oa_atom atom;
    int heads; /* 0 = an equal share of what is left */
};
struct oa_layer_spec {
    struct oa_group_spec *group;
    int groups;
};
struct oa_spec {
    struct oa_layer_spec *layer; /* layers of a model take them in turn */
    int layers;
};
/* Parses; an error points at the character, names what was found, the nearest valid spelling and what would be valid:
 * the sentence in the context has the text and a caret line. Free with oa_spec_free (also after an error). */
enum oa_error oa_spec_parse(oa_context *c, const char *text, struct oa_spec *out);
void oa_spec_free(struct oa_spec *s);
void oa_spec_print(const struct oa_spec *s, struct oa_text *out); /* canonical form */
/* Heads of each group of a layer of `heads` heads into count[groups]; refused when they do not divide. */
enum oa_error oa_spec_heads(oa_context *c, const struct oa_layer_spec *s, int heads, int *count);
/* The value of an option by key: the one given, or its default. */
const struct oa_value *oa_atom_value(const struct oa_atom *a, const char *key);
long oa_atom_int(const struct oa_atom *a, const char *key, long fallback); /* fallback: for defaults not constant */
double oa_atom_real(const struct oa_atom *a, const char *key, double fallback);
bool oa_atom_flag(const struct oa_atom *a, const char *key);
const char *oa_atom_choice(const struct oa_atom *a, const char *key); /* the chosen word */

/* ---- the layer ----------------------------------------------------------------------------------------------- */

struct oa_layer_shape {
    long width, heads, head_width, value_width; /* D, H of the layer, K, V (the last two normally D/H) */
    long length;                                /* N: longest length, size of tables */
    long memory_length;                         /* N of the keys in cross-attention; = length otherwise */
    bool causal, cross, bias;
    double init_scale; /* times the standard deviation of output.weight; 0 = 1 */
};

/* A group of heads with one mechanism (or mixture) in a layer: what a mechanism's functions get. */
struct oa_group {
    const struct oa_mechanism *mechanism;
    const struct oa_atom *atom;
    struct oa_layer_shape shape; /* of the layer, but heads = those of this group */
    int layer, first_head;       /* number of the layer; the group's first head in it */
    int layer_heads;             /* heads of the whole layer */
    char prefix[128];            /* of parameter names: "decoder.layers.0.attention.", "….group.1." … */
    struct oa_store *store;
    oa_context *context;
    bool no_value;                      /* component of a mixture: the mixture owns value.weight */
    struct oa_parameter *parameter[12]; /* the mechanism's own, in its order */
    struct oa_parameter *query, *key, *value, *query_bias, *key_bias, *value_bias, *temperature, *diagonal;
    struct oa_support support;
    struct oa_group *component; /* mixture */
    int components;
};

struct oa_layer_input {
    oa_tensor *x;      /* [B·T, D] */
    oa_tensor *memory; /* [B·S, D], cross-attention; NULL otherwise */
    long batch, queries, keys;
    const int32_t *lengths;    /* [B] true key lengths; NULL = no padding */
    const int32_t *words;      /* [B·T] word numbers, for pattern(unit=word) */
    const void *cosine, *sine; /* rotary tables, real [N, K/2]; NULL = none */
    double dropout;            /* of attention weights */
};

enum oa_capability {
    OA_CAN_CAUSAL = 1,    /* has a causal form */
    OA_CAN_CROSS = 2,     /* has a meaning as cross-attention */
    OA_CAN_MIX = 4,       /* its logits can be a component of a mixture */
    OA_HAS_QUERIES = 8,   /* has query and key projections (and their options) */
    OA_BOUND_LENGTH = 16, /* has tables of length N: longer sequences are refused */
    OA_ORDER = 32,        /* the output depends on the order of the keys */
    OA_LINEAR_TIME = 64,  /* time and memory are linear in the length */
    OA_HAS_WEIGHTS = 128  /* O = A V with a map A that can be shown */
};

struct oa_cost {
    double flops;             /* forward, of the mechanism beyond its projections, one sequence */
    double trainable, frozen; /* parameters */
};

struct oa_mechanism {
    const char *name, *title;
    const char *citation; /* authors, year, arXiv number */
    const char *formula;  /* plain text, one line or a few */
    const char *caveats;  /* what a user should know; NULL = nothing */
    const char *cost;     /* "O(n²(K + V))" */
    unsigned can;
    const struct oa_argument *arguments; /* ended by key = NULL */
    /* Refuses what has no meaning here (may be NULL); the general rules (causal, cross, mixture) are checked by
     * layer.c. */
    enum oa_error (*check)(oa_context *c, const struct oa_group *g);
    /* Registers the group's own parameters (projections of queries, keys, values are registered by layer.c for
     * mechanisms that have them). May be NULL. */
    enum oa_error (*parameters)(struct oa_group *g);
    /* Writes the heads of the group into `o` [B·T, H·V]; v [B·S, H·V] is projected already (NULL with no_value). */
    void (*forward)(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in, oa_tensor *v, oa_tensor *o);
    /* Mixable mechanisms: their part of the logits instead. */
    void (*part)(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in, struct oa_part_tensors *out);
    /* FLOPs of the forward pass beyond the projections, for one sequence of T queries and S keys, all heads. */
    double (*flops)(const struct oa_group *g, long queries, long keys);
    /* The effective attention map A of O = A V in double, weights[h][i][j] of one batch item, by the plainest code: an
     * oracle for tests and for `attend --weights`. in is [T, D], [S, D] doubles. NULL: there is none. */
    enum oa_error (*weights)(const struct oa_group *g, const double *x, const double *memory, long queries, long keys,
                             long length, const int32_t *words, double *weights);
};

const struct oa_mechanism *oa_mechanism_at(int i); /* registry order; NULL past the end */
const struct oa_mechanism *oa_mechanism_find(const char *name);

struct oa_layer {
    struct oa_layer_shape shape;
    const struct oa_spec *spec;
    int groups;
    struct oa_group *group;
    struct oa_parameter *output, *output_bias;
    oa_context *context;
};
/* Checks the combination, registers every parameter of layer `number` under `prefix` ("decoder.layers.0.attention.").
 * The spec must outlive the layer. */
enum oa_error oa_layer_open(oa_context *c, const struct oa_spec *spec, int number, const struct oa_layer_shape *shape,
                            struct oa_store *store, const char *prefix, struct oa_layer *out);
void oa_layer_close(struct oa_layer *l);
/* y [B·T, D]. Padded rows: inputs are ignored by selection, outputs are 0. */
oa_tensor *oa_layer_forward(oa_tape *t, const struct oa_layer *l, const struct oa_layer_input *in);
double oa_layer_flops(const struct oa_layer *l, long queries,
                      long keys); /* forward, one sequence, projections included */

/* ---- helpers for mechanisms (projection.c, support.c, generator.c) ------------------------------------------- */

/* q [B·T, H·K] and k [B·S, H·K] after projection, rotation, scale, temperature and diagonal (contract.md §1). */
void oa_project(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in, oa_tensor **q, oa_tensor **k);
struct oa_attention_shape oa_group_shape(const struct oa_group *g, const struct oa_layer_input *in);

/* Random d × (heads·width) matrices of mechanisms.md O2: out is stored [heads·width, d] as a Linear weight, head after
 * head; made in double. kind: a word of OA_QK_LEARNED other than learned. */
enum oa_error oa_generate_projection(oa_context *c, const char *kind, long d, long heads, long width,
                                     struct oa_stream s, double *out);

#endif
