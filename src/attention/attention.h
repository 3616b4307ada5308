/* SPDX-License-Identifier: Apache-2.0
 *
 * attention: the attention language, the registry of mechanisms, and the attention layer. Read this
 * first, then softmax.c (the smallest mechanism), then layer.c.
 *
 *     text ── language_parse.c ──> struct oa_spec ── layer.c ──> groups of heads ── mechanism ──>
 * ops
 *
 * A mechanism is a const table in its own file and one line of registry.def. Its options, modes,
 * formula and citation stand in that table; parser, help, documentation, tests and reports loop
 * over the registry.
 */
#ifndef ORTHANT_ATTENTION_H
#define ORTHANT_ATTENTION_H

#include "ops/ops.h"

/* ---- options of mechanisms ---- */

/* REALS: numbers with / between them. */
enum oa_value_kind {
    OA_VALUE_INT,
    OA_VALUE_REAL,
    OA_VALUE_FLAG,
    OA_VALUE_CHOICE,
    OA_VALUE_TEXT,
    OA_VALUE_REALS
};
/* One row of a mechanism's options. A choice or flag may be written as a bare word. */
struct oa_argument {
    const char *key; /* "" = only bare words set it (the kind of `pattern`) */
    enum oa_value_kind kind;
    const char *fallback; /* default as text; NULL = not a constant (then it is printed whenever it
                             is given) */
    const char *choices;  /* CHOICE: "slice|full"; the first is the default */
    double low, high;     /* INT, REAL */
    const char *help;
};
struct oa_value {
    bool given;
    double number;  /* INT, REAL; FLAG 0/1; CHOICE: index in choices; REALS: how many */
    char text[256]; /* TEXT; REALS in canonical form */
};

/* The projection options (docs/attention.md, Projections), for every mechanism with queries and
 * keys. */
#define OA_PROJECTION_ARGUMENTS(first_qk)                                                          \
    { "qk",                                                                                        \
      OA_VALUE_CHOICE,                                                                             \
      NULL,                                                                                        \
      first_qk,                                                                                    \
      0,                                                                                           \
      0,                                                                                           \
      "how queries and keys are projected; all but learned are frozen" },                          \
        { "tie", OA_VALUE_FLAG, "0", NULL, 0, 0, "keys use the query projection" },                \
        { "share",                                                                                 \
          OA_VALUE_CHOICE,                                                                         \
          "none",                                                                                  \
          "none|layers",                                                                           \
          0,                                                                                       \
          0,                                                                                       \
          "layers: one draw of a frozen projection, and one relative.bias, for all layers" },      \
        { "scale", OA_VALUE_CHOICE, "none", "none|jl", 0, 0, "jl: times √(D/K)" },                 \
        { "temperature", OA_VALUE_FLAG, "0", NULL, 0, 0, "a trainable scalar for each head" },     \
    {                                                                                              \
        "diagonal", OA_VALUE_FLAG, "0", NULL, 0, 0, "a trainable diagonal for each head"           \
    }
/* Relative positions (docs/attention.md), for every mechanism whose map is a softmax of logits over
 * tokens that it can put at a distance: common/relative.c. */
#define OA_RELATIVE_ARGUMENTS                                                                           \
    { "relative",                                                                                       \
      OA_VALUE_CHOICE,                                                                                  \
      NULL,                                                                                             \
      "none|alibi|t5",                                                                                  \
      0,                                                                                                \
      0,                                                                                                \
      "what the distance of a key adds to its logit" },                                                 \
        { "buckets", OA_VALUE_INT, "32", NULL, 4, 4096, "of t5: distances that have a bias together" }, \
    {                                                                                                   \
        "distance", OA_VALUE_INT, "128", NULL, 2, 1 << 30,                                              \
            "of t5: all from this one on are in the last bucket"                                        \
    }
#define OA_QK_LEARNED "learned|haar|gram-schmidt|gaussian|slice|srht|hd3|block|givens|permutation"
#define OA_QK_HAAR "haar|gram-schmidt|gaussian|slice|srht|hd3|block|givens|permutation|learned"

/* ---- a parsed attention ---- */

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
/* Parses the attention of one layer, or of the layers of one stack, without a label; an error
 * points at the character, names what was found, the nearest valid spelling and what would be
 * valid: the sentence in the context has the text and a caret line. Free with oa_spec_free (also
 * after an error). */
enum oa_error oa_spec_parse(oa_context *c, const char *text, struct oa_spec *out);
enum oa_error oa_spec_check(oa_context *c, const char *text); /* parses for the errors alone */
void oa_spec_free(struct oa_spec *s);
void oa_spec_print(const struct oa_spec *s, struct oa_text *out); /* canonical form */

/* The uniform average over all keys that the mode lets a query see, in canonical form: logits that
 * are 0 and stay so.
 */
#define OA_UNIFORM_ATTENTION "random(frozen, init=normal, sigma=0)"

/* The stacks of a model (language_stacks.c): "encoder: raganato & decoder: random + softmax". What
 * a model's self-attention in the encoder, its self-attention in the decoder and its
 * cross-attention are, in any order; a stack without a label is softmax, and a text without labels
 * is the self-attention of every stack. */
enum oa_stack_role { OA_STACK_ENCODER, OA_STACK_DECODER, OA_STACK_CROSS, OA_STACK_ROLES };
#define OA_STACK(role) (1u << (role))
#define OA_LANGUAGE_MODEL                                                                          \
    OA_STACK(OA_STACK_DECODER) /* the stacks of a model that goes on with a text */
struct oa_stack_specs {
    unsigned has;   /* stacks of the model: OA_STACK(OA_STACK_ENCODER) | … */
    unsigned named; /* those with a label in the text; 0: the text has no labels */
    struct oa_spec
        spec[OA_STACK_ROLES]; /* of each stack in `has`; of the others empty (layers = 0) */
};
const char *oa_stack_name(enum oa_stack_role role); /* its label */
/* Parses the attention of a model that has the stacks `has`. Besides what oa_spec_parse refuses,
 * with the same care: a label that there is not, that the model does not have or that is given
 * twice, and what cannot stand in its stack (no causal form in the decoder, self-attention only as
 * cross-attention: OA_UNSUPPORTED). What depends on widths, lengths and heads is found when a layer
 * is opened. Free with oa_stacks_free (also after an error). */
enum oa_error oa_stacks_parse(oa_context *c, const char *text, unsigned has,
                              struct oa_stack_specs *out);
void oa_stacks_free(struct oa_stack_specs *s);
/* Canonical form: encoder, decoder, cross; stacks that are plain softmax are left out, labels too
 * where the model has one stack, or where nothing is left to label ("softmax"). */
void oa_stacks_print(const struct oa_stack_specs *s, struct oa_text *out);
/* A text in that form, to be freed; NULL after an error. */
enum oa_error oa_stacks_canonical(oa_context *c, const char *text, unsigned has, char **out);
/* Parses the attention of a model with one stack, labelled or not. Free with oa_spec_free (also
 * after an error). */
enum oa_error oa_stack_parse(oa_context *c, const char *text, enum oa_stack_role only,
                             struct oa_spec *out);

/* Heads of each group of a layer of `heads` heads into count[groups]; refused when they do not
 * divide. */
enum oa_error oa_spec_heads(oa_context *c, const struct oa_layer_spec *s, int heads, int *count);
/* The value of an option by key: the one given, or its default. */
const struct oa_value *oa_atom_value(const struct oa_atom *a, const char *key);
long oa_atom_int(const struct oa_atom *a, const char *key,
                 long fallback); /* fallback: for defaults not constant */
double oa_atom_real(const struct oa_atom *a, const char *key, double fallback);
bool oa_atom_flag(const struct oa_atom *a, const char *key);
bool oa_atom_is(const struct oa_atom *a, const char *key,
                const char *word); /* is that word the chosen one? */
int oa_atom_reals(const struct oa_atom *a, const char *key, double *out,
                  int room);                                      /* how many were copied */
void oa_atom_print(const struct oa_atom *a, struct oa_text *out); /* canonical form of one atom */

/* claims.c: what an attention claims with its options, and what follows for a training. */
unsigned oa_atom_claims(const struct oa_atom *a); /* enum oa_capability */
/* Why it cannot be causal, or bidirectional, or cross-attention, with these options: writes the
 * sentence and returns true. Components of a mixture have theirs. */
bool oa_atom_mode_clash(const struct oa_atom *a, bool causal, bool cross, char *sentence,
                        size_t size);
/* Are weights of both signs divided by their sum? It can come near 0, and a rounding then be as
 * large as the result. */
bool oa_atom_divides_signed(const struct oa_atom *a);
/* Sentences, one a line, about what options ask for and parts of the attention do not have or bear:
 * attention dropout without weights to drop, and bf16 where it decides the result. Nothing is added
 * when there is nothing to say. */
void oa_spec_dropout_notes(const struct oa_spec *s, double dropout, struct oa_text *out);
/* Both, of the attention `text` (which must be valid) of a model with the stacks `has`, under these
 * options. */
enum oa_error oa_attention_notes(oa_context *c, const char *text, unsigned has,
                                 const struct oa_options *o, struct oa_text *out);
enum oa_error oa_attention_warn(oa_context *c, const char *text, unsigned has,
                                const struct oa_options *o); /* as lines of the log */

/* ---- the layer ---- */

struct oa_layer_shape {
    long width, heads, head_width,
        value_width;    /* D, H of the layer, K, V (the last two normally D/H) */
    long length;        /* N: longest length, size of tables */
    long memory_length; /* N of the keys in cross-attention; = length otherwise */
    bool causal, cross, bias;
    double init_scale; /* times the standard deviation of output.weight; 0 = 1 */
};
/* Heads that share the width, with one length of queries and keys; heads that do not divide it get
 * the width 0, which layers refuse. */
struct oa_layer_shape oa_even_shape(long width, long heads, long length);

/* A group of heads with one mechanism (or mixture) in a layer: what a mechanism's functions get. */
struct oa_group {
    const struct oa_mechanism *mechanism;
    const struct oa_atom *atom;
    struct oa_layer_shape shape; /* of the layer, but heads = those of this group */
    int layer, first_head;       /* number of the layer; the group's first head in it */
    int layer_heads;             /* heads of the whole layer */
    char prefix[128]; /* of parameter names: "decoder.layers.0.attention.", "….group.1." … */
    struct oa_store *store;
    oa_context *context;
    bool no_value;       /* no value.weight: a component of a mixture, or OA_OWN_VALUES */
    bool stored_weights; /* the matrices of frozen projections are given (attend): no chains for
                            them */
    enum {
        OA_STATISTICS_LEARNT,
        OA_STATISTICS_ABSENT,
        OA_STATISTICS_STORED
    } statistics;          /* attend: in its file? */
    bool needs_words;      /* set by the mechanism: forward needs the word numbers of the tokens */
    const char *needs_all; /* set by the mechanism: why forward needs all queries at once, so that
                              none can wait, and what to use instead; NULL: it does not */
    struct oa_parameter *parameter[12]; /* the mechanism's own, in its order */
    struct oa_parameter *query, *key, *value, *query_bias, *key_bias, *value_bias, *temperature,
        *diagonal;
    struct oa_parameter *relative; /* relative.bias; NULL: there is none */
    struct oa_support support;
    int32_t *layout; /* block.layout as integers, for the support; made from the parameter before
                        each use */
    struct oa_group *component; /* mixture */
    int components;
};

/* A sequence that is decoded beside others. */
struct oa_layer_row {
    struct oa_state *state; /* one for each group of the layer */
    long keys;              /* cross-attention: rows of its memory */
    oa_tensor *memory;      /* cross-attention, first call: [keys, D]; NULL later */
};
/* Rows of sequences side by side, all projected by a parameter when the first of them asks. */
struct oa_shared_rows {
    oa_tensor *x;        /* of all sequences */
    long sequence;       /* the one at hand */
    long invariant_rows; /* of products over all (oa_gemm) */
    struct oa_shared_projection *first;
};
struct oa_shared_projection {
    const struct oa_parameter *w;
    oa_tensor *y;
    struct oa_shared_projection *next;
};
struct oa_layer_input {
    oa_tensor *x;      /* [B·T, D] */
    oa_tensor *memory; /* [B·S, D], cross-attention; NULL otherwise */
    long batch, queries, keys;
    const int32_t *lengths; /* [B] true key lengths; NULL = no padding */
    /* [B] true lengths of the queries of cross-attention, where keys have their own: what is fitted
     * to queries, or has no row to make, leaves the others out. Their inputs must be finite, and
     * their outputs mean nothing. NULL: all are real. */
    const int32_t *query_lengths;
    const int32_t *words;      /* [B·T] word numbers, for pattern(unit=word) */
    const void *cosine, *sine; /* rotary tables, real [N, K/2]; NULL = none */
    double dropout;            /* of attention weights */
    struct oa_state *state; /* decoding: one for each group of the layer (oa_layer_state_open); NULL
                               = whole sequences */
    /* [B] Decoding side by side, B sequences that are equally long so far. In cross-attention
     * several may have the same state after the first call, and `memory` is NULL: each has its own.
     * NULL: there are none. */
    const struct oa_layer_row *rows;
    /* One of such sequences, on its way through a mechanism: what was projected of all of them at
     * once. NULL: nothing.
     */
    struct oa_shared_rows *shared;
};

enum oa_capability {
    OA_CAN_CAUSAL = 1,    /* has a causal form */
    OA_CAN_CROSS = 2,     /* has a meaning as cross-attention */
    OA_CAN_MIX = 4,       /* its logits can be a component of a mixture */
    OA_HAS_QUERIES = 8,   /* has query and key projections (and their options) */
    OA_BOUND_LENGTH = 16, /* has tables of length N: longer sequences are refused */
    OA_ORDER = 32,        /* the output depends on the order of the keys */
    OA_LINEAR_TIME = 64,  /* time and memory are linear in the length */
    OA_HAS_WEIGHTS = 128, /* O = A V with a map A that can be shown */
    OA_OWN_VALUES = 256, /* makes its values itself: no value.weight, but with the option `value` */
    OA_DROPS = 512,      /* has attention weights that model.attention_dropout drops */
    OA_POSITIVE = 1024,  /* no weight of A is below 0 */
    OA_AVERAGES = 2048 /* weights are divided by their sum: rows of A sum to 1, or to 0 where there
                          is nothing */
};

/* What the oracles of a mechanism get: one batch item in double. */
struct oa_oracle {
    const double *x, *memory;    /* [T, D]; [S, D], NULL = self-attention */
    long queries, keys, length;  /* T, S, true key length */
    const int32_t *words;        /* [T] or NULL */
    const double *cosine, *sine; /* rotary tables [N, K/2] or NULL */
};

/* Finds the shape of a tensor that is already stored: axis counts from the end (−1 is the last); 0
 * = there is none. */
typedef long oa_stored_axis(const void *argument, const char *name, int axis);

struct oa_mechanism {
    const char *name, *title;
    const char *citation; /* authors, year, arXiv number */
    const char *formula;  /* plain text, one line or a few */
    const char *caveats;  /* what a user should know; NULL = nothing */
    const char *mistakes; /* of other implementations, and whose: sentences with "\n" between; NULL
                             = none known */
    const char *cost;     /* time and memory: "O(n²(K + V)) time, O(n) memory" */
    const char *state;    /* what decoding must keep, numbers a head after t tokens: "t(K + V)" */
    unsigned can; /* enum oa_capability: claims, each of which `orthant verify` measures, also where
                     it is not made */
    /* The claims with these options; NULL = `can`, whatever they are. */
    unsigned (*can_with)(const struct oa_atom *a);
    const char *self_only; /* without OA_CAN_CROSS: why, after "queries and keys must be" */
    const struct oa_argument *arguments; /* ended by key = NULL */
    /* Options that contradict each other: writes what is wrong and returns true. May be NULL. */
    bool (*clash)(const struct oa_atom *a, char *sentence, size_t size);
    /* Options with which a mode that `can` claims does not exist: writes why and returns true. May
     * be NULL. */
    bool (*mode_clash)(const struct oa_atom *a, bool causal, bool cross, char *sentence,
                       size_t size);
    /* Refuses what has no meaning at these widths and lengths (may be NULL). */
    enum oa_error (*check)(oa_context *c, const struct oa_group *g);
    /* Width of queries and keys when the mechanism sets it (else that of the model's heads). May be
     * NULL. */
    long (*head_width)(const struct oa_atom *a);
    /* Registers the group's own parameters (projections of queries, keys, values are registered by
     * layer.c for mechanisms that have them). May be NULL. */
    enum oa_error (*parameters)(struct oa_group *g);
    /* Writes the heads of the group into `o` [B·T, H·V]; v [B·S, H·V] is projected already (NULL
     * with no_value). */
    void (*forward)(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                    oa_tensor *v, oa_tensor *o);
    /* Mixable mechanisms: their part of the logits instead. */
    void (*part)(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                 struct oa_part_tensors *out);
    /* What happens after optimiser step number `step`, a function of it and of the parameters. May
     * be NULL. */
    enum oa_error (*after_step)(const struct oa_group *g, long step);
    /* FLOPs of the forward pass beyond the projections, for one sequence of T queries and S keys,
     * all heads. */
    double (*flops)(const struct oa_group *g, long queries, long keys);
    /* Numbers that decoding keeps after t tokens, all heads; in cross-attention, of a memory of t
     * tokens. */
    double (*state_numbers)(const struct oa_group *g, long t);
    /* Oracles for tests and for `attend --weights`, by the plainest code. scores: the logits
     * S[h][i][j] in double (mixable mechanisms); weights: the map A[h][i][j] of O = A V, 0 where
     * masked. NULL: there is none. */
    enum oa_error (*scores)(const struct oa_group *g, const struct oa_oracle *in, double *scores);
    enum oa_error (*weights)(const struct oa_group *g, const struct oa_oracle *in, double *weights);
    /* What these weights mix: number `column` of the H·V values of a token with the input x [D], as
     * row i mixes it. NULL: value.weight x + value.bias in every row. */
    double (*values)(const struct oa_group *g, const double *x, long i, long column);
    /* N as the stored tensors of a layer say it; 0 = they do not. May be NULL. */
    long (*length)(const struct oa_atom *a, oa_stored_axis *axis, const void *argument);
    /* The same for the keys of cross-attention. NULL = as `length`. */
    long (*memory_length)(const struct oa_atom *a, oa_stored_axis *axis, const void *argument);

    /* What the proof cannot measure and has to be told (verify reads it, nothing else does): */
    const char
        *plain; /* an attention with the defaults, where the name alone is none; NULL = the name */
    const char *trial; /* options to try others with, as the defaults need wider heads than 4; NULL
                          = none */
    const char *numbers; /* whole numbers to try, "key=1|other=80"; options that are not there are
                            tried with 3 */
    double rounding;     /* decoding may differ from the whole sequence so many times as much as
                            elsewhere; 0 = once */
    /* Is the forward pass fitted to its input, and the fit a constant of the backward pass?
     * Differences are then no derivatives. NULL = never. */
    bool (*fitted)(const struct oa_group *g);
    /* Is N more here than the size of tables, a default or a unit? A layer of another N is then
     * another attention, and not this one with its tables cut. NULL = never. */
    bool (*length_counts)(const struct oa_group *g);
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
/* Checks the combination, registers every parameter of layer `number` under `prefix`
 * ("decoder.layers.0.attention."). The spec must outlive the layer. */
enum oa_error oa_layer_open(oa_context *c, const struct oa_spec *spec, int number,
                            const struct oa_layer_shape *shape, struct oa_store *store,
                            const char *prefix, struct oa_layer *out);
/* The same; `refine` may change the shape of a group (widths, length) before its parameters are
 * registered: tensors that exist already know better (attend). */
enum oa_error oa_layer_open_refined(oa_context *c, const struct oa_spec *spec, int number,
                                    const struct oa_layer_shape *shape, struct oa_store *store,
                                    const char *prefix,
                                    void (*refine)(void *argument, struct oa_group *g),
                                    void *argument, struct oa_layer *out);
void oa_layer_close(struct oa_layer *l);
/* y [B·T, D]. Padded rows: inputs are ignored by selection, outputs are 0. */
oa_tensor *oa_layer_forward(oa_tape *t, const struct oa_layer *l, const struct oa_layer_input *in);

/* ---- the map of a layer (layer_map.c): for `attend --weights`, `inspect` and tests ---- */

/* map [H, T, S] in double, by the oracles of the groups; heads of a group that has none are 0. */
enum oa_error oa_layer_weights(const struct oa_layer *l, const struct oa_oracle *in, double *map);
/* The first group without a map; NULL: all have one. */
const struct oa_group *oa_layer_mapless(const struct oa_layer *l);
/* y [T, D]: what such a map makes of the values, through the output projection. It equals what the
 * layer gives, up to rounding, if the map is the one that the layer used. Every group must have a
 * map. */
enum oa_error oa_layer_mix(const struct oa_layer *l, const struct oa_oracle *in, const double *map,
                           double *y);

/* ---- decoding (layer_state.c) ---- */

/* A layer's state for one sequence of up to `length` tokens (queries, in cross-attention), which
 * comes in pieces: each oa_layer_forward with in->state set takes `queries` new tokens (one, or a
 * chunk of a prompt) with batch = 1 and a tape that does not record, and gives the rows that whole
 * sequences would. Self-attention must be causal and has no padding; cross-attention takes memory
 * and lengths as ever, and reads the memory at the first call only. Refused: layers that need all
 * tokens at once. The layer must outlive the state. */
enum oa_error
oa_layer_reads_on(const struct oa_layer *l); /* what oa_layer_state_open refuses, without a state */
enum oa_error oa_layer_state_open(const struct oa_layer *l, long length, struct oa_state **out);
void oa_layer_state_close(const struct oa_layer *l, struct oa_state *s);
void oa_layer_state_reset(const struct oa_layer *l,
                          struct oa_state *s); /* another sequence; memory stays */
enum oa_error oa_layer_state_copy(const struct oa_layer *l, const struct oa_state *from,
                                  struct oa_state *to);
double oa_layer_state_numbers(const struct oa_layer *l,
                              const struct oa_state *s); /* that later tokens need */
enum oa_error oa_layer_state_check(const struct oa_layer *l, const struct oa_layer_input *in);

enum oa_error oa_layer_after_step(const struct oa_layer *l,
                                  long step); /* after optimiser step number `step` */
double oa_layer_flops(const struct oa_layer *l, long queries,
                      long keys); /* forward, one sequence, projections included */

/* ---- helpers for mechanisms ---- */

/* projection.c: q [B·T, H·K] and k [B·S, H·K] after projection, scale, temperature, diagonal
 * (docs/attention.md), and rotation at the end: positions turn what is scored. */
enum oa_error oa_project_parameters(struct oa_group *g);
enum oa_error oa_project_weights(
    struct oa_group *g); /* the matrices and their biases alone, without t_h and Λ_h */
void oa_project(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                oa_tensor **q, oa_tensor **k);
double oa_project_flops(const struct oa_group *g, long queries, long keys);
/* A projection of the group (query, key) as a matrix [H·K, D] in double, whichever way it is kept.
 */
enum oa_error oa_project_matrix(const struct oa_group *g, const struct oa_parameter *w,
                                double *matrix);
bool oa_project_clash(const struct oa_atom *a, char *sentence,
                      size_t size); /* projection options that contradict */

/* layer.c */
void oa_value_parameters(struct oa_group *g); /* value.weight and its bias */
/* Are the keys those of another sequence? Then they come from the memory (NULL when decoding has
 * read it), else from x.
 */
bool oa_keys_elsewhere(const struct oa_group *g, const struct oa_layer_input *in);
/* Rows of sequence number `sequence`, `count` each, where they lie. NULL stays NULL. */
oa_tensor *oa_sequence_rows(oa_tape *t, const oa_tensor *x, long sequence, long count);
oa_tensor *oa_key_input(const struct oa_group *g, const struct oa_layer_input *in);
struct oa_attention_shape oa_group_shape(const struct oa_group *g, const struct oa_layer_input *in);
long oa_group_length(const struct oa_group *g); /* N of its tables */
/* A parameter of the group under prefix + name; the rest as in *p. NULL after a failure. */
struct oa_parameter *oa_group_parameter(struct oa_group *g, const char *name,
                                        const struct oa_parameter *p);

/* relative.c: relative positions, of groups with that option; of all others nothing. */
bool oa_relative_clash(const struct oa_atom *a, char *sentence, size_t size);
bool oa_relative_mode_clash(const struct oa_atom *a, bool causal, bool cross, char *sentence,
                            size_t size);
enum oa_error oa_relative_parameters(struct oa_group *g); /* relative.bias */
struct oa_relative_bias oa_group_relative(const struct oa_group *g);
struct oa_relative_words {
    const char *name, *formula, *cost, *citation;
};
const struct oa_relative_words *oa_relative_words(const struct oa_atom *a); /* NULL: it has none */
/* Oracle: what the distance j − i adds to a logit, in double. */
double oa_relative_score(const struct oa_group *g, long head, long i, long j);

/* logits.c: mechanisms that are one part of the logits. */
void oa_part_forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                     oa_tensor *v, oa_tensor *o);
double oa_visible_pairs(const struct oa_group *g, long queries, long keys); /* of all heads */
void oa_dot_part(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                 struct oa_part_tensors *out);
double oa_dot_flops(const struct oa_group *g, long queries, long keys);
double oa_dot_state(const struct oa_group *g,
                    long t); /* keys and values of the rows that the support can still see */
double oa_value_state(const struct oa_group *g, long t); /* the values alone */
double oa_sums_state(const struct oa_group *g,
                     double features); /* S, z and their scale, for r features of a head */

/* oracle.c */
bool oa_oracle_visible(const struct oa_group *g, const struct oa_oracle *in, long head, long i,
                       long j);
enum oa_error oa_oracle_project(const struct oa_group *g, const struct oa_oracle *in, double *q,
                                double *k);
enum oa_error oa_dot_scores(const struct oa_group *g, const struct oa_oracle *in, double *scores);
enum oa_error oa_softmax_weights(const struct oa_group *g, const struct oa_oracle *in,
                                 double *weights);
/* Row `column` of w times x [D], and its bias if there is one. */
double oa_oracle_value(const struct oa_group *g, const struct oa_parameter *w,
                       const struct oa_parameter *b, const double *x, long column);
double oa_parameter_at(const struct oa_group *g, const struct oa_parameter *p,
                       long i); /* slow off the host */
/* A_ij = kernel(q_i, k_j)/guard(Σ_j kernel(q_i, k_j)) over visible keys, rows of one head [K] at
 * positions i, j; a denominator of 0 gives 0. guard NULL: as it is. With log_scale, the kernel of a
 * key is e^{log_scale} times what `kernel` says, and the guard sees sums relative to the largest
 * scale among the visible keys. */
typedef double oa_kernel(const struct oa_group *g, const double *q, const double *k, long i,
                         long j);
enum oa_error oa_kernel_weights(const struct oa_group *g, const struct oa_oracle *in,
                                oa_kernel *kernel,
                                double (*log_scale)(const struct oa_group *g, const double *k),
                                double (*guard)(const struct oa_group *g, double den),
                                double *weights);

/* generator.c: random projections (docs/attention.md, Projections), one matrix d × width a head,
 * stored [heads·width, d] as a Linear weight, made in double. */
enum oa_projection {
    OA_PROJECTION_LEARNED,
    OA_PROJECTION_HAAR,
    OA_PROJECTION_GRAM_SCHMIDT,
    OA_PROJECTION_GAUSSIAN,
    OA_PROJECTION_SLICE,
    OA_PROJECTION_SRHT,
    OA_PROJECTION_HD3,
    OA_PROJECTION_BLOCK,
    OA_PROJECTION_GIVENS,
    OA_PROJECTION_PERMUTATION,
    OA_PROJECTIONS,
    OA_PROJECTION_DRAWN = OA_PROJECTION_HAAR /* the first that is drawn */
};
const char *oa_projection_name(enum oa_projection kind); /* the word of OA_QK_LEARNED */
const char *oa_projection_says(enum oa_projection kind); /* what is drawn, in words */
enum oa_projection oa_projection_of(const char *word);   /* OA_PROJECTIONS: none has this name */

struct oa_projection_shape {
    enum oa_projection kind; /* one that is drawn */
    long d, heads, width;    /* heads that are wanted */
    long first_head,
        layer_heads; /* slice: which columns of the layer's one matrix these heads take */
};
/* What a kind cannot do is refused with a sentence (widths, powers of two). */
enum oa_error oa_projection_check(oa_context *c, const struct oa_projection_shape *p);
enum oa_error oa_generate_projection(oa_context *c, const struct oa_projection_shape *p,
                                     struct oa_stream s, double *out);
/* Where the kind is a chain that pays (chains.h): its numbers instead, [heads, oa_chain_numbers],
 * of the same draw. */
bool oa_projection_chain(const struct oa_projection_shape *p, struct oa_chain *out);
enum oa_error oa_generate_chains(oa_context *c, const struct oa_projection_shape *p,
                                 struct oa_stream s, double *out);

#endif
