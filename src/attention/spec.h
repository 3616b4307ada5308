/* SPDX-License-Identifier: Apache-2.0
 * Parsed attentions: mechanisms' options, the result of parsing, queries on it.
 *
 *     text ── language/language_parse.c ──> struct oa_spec ── layer/layer.c ──> groups of heads
 */
#ifndef ORTHANT_ATTENTION_SPEC_H
#define ORTHANT_ATTENTION_SPEC_H

#include "ops/ops.h"

/* ---- options of mechanisms ---- */

/* REALS: numbers separated by /. */
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
    const char *key; /* "": set by bare words only (the kind of `pattern`) */
    enum oa_value_kind kind;
    const char *fallback; /* default as text; NULL: depends on the model */
    const char *choices;  /* CHOICE: "slice|full"; the first is the default */
    double low, high;     /* INT, REAL */
    const char *help;
};
struct oa_value {
    bool given;
    bool preset;    /* given by an alias: may be given again, which replaces it */
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
        { "init",                                                                                  \
          OA_VALUE_CHOICE,                                                                         \
          "normal",                                                                                \
          OA_QK_INIT,                                                                              \
          0,                                                                                       \
          0,                                                                                       \
          "initial values of learned projections, drawn as those of qk" },                         \
        { "tie", OA_VALUE_FLAG, "0", NULL, 0, 0, "keys use the query projection" },                \
        { "share",                                                                                 \
          OA_VALUE_CHOICE,                                                                         \
          "none",                                                                                  \
          "none|layers",                                                                           \
          0,                                                                                       \
          0,                                                                                       \
          "layers: frozen projections and relative.bias are shared by all layers" },               \
        { "scale", OA_VALUE_CHOICE, "none", "none|jl", 0, 0, "jl: times √(D/K)" },                 \
        { "temperature", OA_VALUE_FLAG, "0", NULL, 0, 0, "a trainable scalar for each head" },     \
    {                                                                                              \
        "diagonal", OA_VALUE_FLAG, "0", NULL, 0, 0, "a trainable diagonal for each head"           \
    }
/* The head options (docs/attention.md, Head options; common/head_options.c). A mechanism lists
 * those that it has after its projection options, in this order. */
#define OA_KV_ARGUMENT                                                                             \
    {                                                                                              \
        "kv", OA_VALUE_INT, NULL, NULL, 1, 1024,                                                   \
            "number of key and value heads, each shared by equally many query heads"               \
    }
#define OA_QKNORM_ARGUMENT                                                                         \
    {                                                                                              \
        "qknorm", OA_VALUE_CHOICE, "none", "none|rms|layer|unit|joint", 0, 0,                      \
            "norm of the rows of queries and keys, of each head or of all heads together"          \
    }
#define OA_NORMALISE_ARGUMENT                                                                      \
    {                                                                                              \
        "normalise", OA_VALUE_CHOICE, "softmax", "softmax|sink|sigmoid|sparsemax|entmax", 0, 0,    \
            "how a row of logits becomes weights"                                                  \
    }
#define OA_FORGET_ARGUMENT                                                                         \
    {                                                                                              \
        "forget", OA_VALUE_FLAG, "0", NULL, 0, 0,                                                  \
            "a trained forget gate of each token lowers the logits of the keys before it"          \
    }
#define OA_GATE_ARGUMENT                                                                           \
    {                                                                                              \
        "gate", OA_VALUE_CHOICE, "none", "none|head|channel|swish", 0, 0,                          \
            "the output of each head is multiplied by a gate of the token"                         \
    }
#define OA_QUERY_HEAD_ARGUMENTS OA_KV_ARGUMENT, OA_QKNORM_ARGUMENT, OA_GATE_ARGUMENT
#define OA_LOGITS_HEAD_ARGUMENTS OA_NORMALISE_ARGUMENT, OA_FORGET_ARGUMENT, OA_GATE_ARGUMENT
/* Relative positions (docs/attention.md, common/relative.c), for softmax mechanisms over tokens. */
#define OA_RELATIVE_ARGUMENTS                                                                      \
    { "relative",                                                                                  \
      OA_VALUE_CHOICE,                                                                             \
      NULL,                                                                                        \
      "none|alibi|t5",                                                                             \
      0,                                                                                           \
      0,                                                                                           \
      "bias added to the logits by distance" },                                                    \
        { "buckets", OA_VALUE_INT, "32", NULL, 4, 4096, "t5: number of distance buckets" },        \
    {                                                                                              \
        "distance", OA_VALUE_INT, "128", NULL, 2, 1 << 30,                                         \
            "t5: distances from this one on share the last bucket"                                 \
    }
#define OA_QK_LEARNED "learned|haar|gram-schmidt|gaussian|slice|srht|hd3|block|givens|permutation"
#define OA_QK_INIT "normal|haar|gram-schmidt|gaussian|slice|srht|hd3|block|givens|permutation"
#define OA_QK_HAAR "haar|gram-schmidt|gaussian|slice|srht|hd3|block|givens|permutation|learned"

/* ---- a parsed attention ---- */

#define OA_MAX_ARGUMENTS 32
struct oa_atom {
    const struct oa_mechanism *mechanism;
    struct oa_value value[OA_MAX_ARGUMENTS]; /* in the order of mechanism->arguments */
    struct oa_atom *child;                   /* mixture: components */
    int children;
};
struct oa_group_spec {
    struct oa_atom atom;
    int heads; /* 0: an equal share of the remaining heads */
};
struct oa_layer_spec {
    struct oa_group_spec *group;
    int groups;
};
struct oa_spec {
    struct oa_layer_spec *layer; /* used by the layers of a model in turn */
    int layers;
};
/* Parses the attention of one layer, or of the layers of one stack, without a label. Errors name
 * the character, what was found, the nearest valid spelling and all valid ones, and show the text
 * with a caret. oa_spec_free it, also after an error. */
enum oa_error oa_spec_parse(oa_context *c, const char *text, struct oa_spec *out);
enum oa_error oa_spec_check(oa_context *c, const char *text); /* for the errors only */
void oa_spec_free(struct oa_spec *s);
void oa_spec_print(const struct oa_spec *s, struct oa_text *out); /* canonical form */

/* The uniform average over all visible keys, in canonical form: logits fixed at 0. */
#define OA_UNIFORM_ATTENTION "random(frozen, init=normal, sigma=0)"

/* The stacks of a model (language_stacks.c): "encoder: raganato & decoder: random + softmax" gives
 * encoder self-attention, decoder self-attention and cross-attention, in any order. A stack without
 * a label is softmax; a text without labels is the self-attention of every stack. */
enum oa_stack_role { OA_STACK_ENCODER, OA_STACK_DECODER, OA_STACK_CROSS, OA_STACK_ROLES };
#define OA_STACK(role) (1u << (role))
#define OA_LANGUAGE_MODEL OA_STACK(OA_STACK_DECODER) /* the stacks of a language model */
struct oa_stack_specs {
    unsigned has;                        /* stacks of the model: OA_STACK(OA_STACK_ENCODER) | … */
    unsigned named;                      /* stacks with a label in the text */
    struct oa_spec spec[OA_STACK_ROLES]; /* empty (layers = 0) for stacks not in `has` */
};
const char *oa_stack_name(enum oa_stack_role role); /* its label */
/* Parses the attention of a model with the stacks `has`. In addition to oa_spec_parse, refuses
 * unknown, absent or repeated labels, and mechanisms impossible in their stack (no causal form in
 * the decoder, self-attention only as cross-attention: OA_UNSUPPORTED). Widths, lengths and heads
 * are checked when a layer is opened. oa_stacks_free it, also after an error. */
enum oa_error oa_stacks_parse(oa_context *c, const char *text, unsigned has,
                              struct oa_stack_specs *out);
void oa_stacks_free(struct oa_stack_specs *s);
/* Canonical form: encoder, decoder, cross; without stacks that are plain softmax, and without
 * labels if the model has one stack or all are softmax ("softmax"). */
void oa_stacks_print(const struct oa_stack_specs *s, struct oa_text *out);
/* The text in that form; oa_free it. NULL after an error. */
enum oa_error oa_stacks_canonical(oa_context *c, const char *text, unsigned has, char **out);
/* Parses the attention of a model with one stack, labelled or not. oa_spec_free it, also after an
 * error. */
enum oa_error oa_stack_parse(oa_context *c, const char *text, enum oa_stack_role only,
                             struct oa_spec *out);

/* Numbers of heads of the groups of a layer into count[groups]; refused if they do not fit. */
enum oa_error oa_spec_heads(oa_context *c, const struct oa_layer_spec *s, int heads, int *count);
/* The value of an option: given, or default. */
const struct oa_value *oa_atom_value(const struct oa_atom *a, const char *key);
bool oa_atom_value_exists(const struct oa_atom *a, const char *key);
/* fallback: for defaults that depend on the model. */
long oa_atom_int(const struct oa_atom *a, const char *key, long fallback);
double oa_atom_real(const struct oa_atom *a, const char *key, double fallback);
bool oa_atom_flag(const struct oa_atom *a, const char *key);
bool oa_atom_is(const struct oa_atom *a, const char *key, const char *word); /* of a choice */
/* Returns how many were copied, at most `room`. */
int oa_atom_reals(const struct oa_atom *a, const char *key, double *out, int room);
void oa_atom_print(const struct oa_atom *a, struct oa_text *out); /* canonical form */

/* language_same.c: whether two attentions compute the same function of the same parameters, which
 * options of initial values do not change. Groups of other sizes count as another function. */
bool oa_atom_same_function(const struct oa_atom *a, const struct oa_atom *b);
bool oa_layer_same_function(const struct oa_layer_spec *a, const struct oa_layer_spec *b);
/* Layer by layer, where one has the other's layers several times. */
bool oa_spec_same_function(const struct oa_spec *a, const struct oa_spec *b);
bool oa_stacks_same_function(const struct oa_stack_specs *a, const struct oa_stack_specs *b);
/* Whether the value of option i makes it another function than its default. */
bool oa_atom_value_matters(const struct oa_atom *a, int i);

/* capabilities.c */
unsigned oa_atom_capabilities(const struct oa_atom *a); /* enum oa_capability */
/* If the mode is impossible with these options, writes why and returns true. */
bool oa_atom_mode_clash(const struct oa_atom *a, bool causal, bool cross, char *sentence,
                        size_t size);
/* Whether weights of both signs are divided by their sum: it can be close to 0, and rounding errors
 * then as large as the result. */
bool oa_atom_divides_signed(const struct oa_atom *a);
/* Whether sums are rounded and then raised to a power, and their errors with them. */
bool oa_atom_raises_rounding(const struct oa_atom *a);
/* Adds notes, one per line: attention dropout without weights to drop. */
void oa_spec_dropout_notes(const struct oa_spec *s, double dropout, struct oa_text *out);
/* The same, bf16 where rounding decides the result, and states that can grow without bound, for the
 * valid attention `text` of a model
 * with the stacks `has`. */
enum oa_error oa_attention_notes(oa_context *c, const char *text, unsigned has,
                                 const struct oa_options *o, struct oa_text *out);
enum oa_error oa_attention_warn(oa_context *c, const char *text, unsigned has,
                                const struct oa_options *o); /* to the log */

#endif
