/* SPDX-License-Identifier: Apache-2.0
 * families: models of other programs as runs of this one. A family is a const table in its own file
 * and a line of families.def: how its config.json maps to options, and its tensors to parameters.
 *
 *     config.json ──> options and form ──> an empty model ──┐
 *     model.safetensors, or shards and their index ─────────┴──> the folder of a run
 */
#ifndef ORTHANT_FAMILIES_H
#define ORTHANT_FAMILIES_H

#include "families/hf_config.h"
#include "model/model.h"

/* A tensor of the family and the parameter that is made of it. '#' is the number of a layer. */
struct oa_family_tensor {
    const char *theirs, *ours;
    enum oa_family_layout {
        OA_LAYOUT_SAME,
        OA_LAYOUT_TRANSPOSED, /* [inputs, outputs] */
        OA_LAYOUT_HEADS,      /* parts alternate head by head */
        OA_LAYOUT_ZERO,       /* no tensor: the parameter is 0 */
        OA_LAYOUT_READ,       /* as SAME, but never exported */
        OA_LAYOUT_FLAT,       /* as many elements in more dimensions */
        OA_LAYOUT_ROW         /* row `part` of the parameter; several tensors make one */
    } layout;
    int part, parts; /* rows are `parts` equal parts, of which this is number `part`; 0, 0: all */
    long skip;       /* rows before the first of the parameter; or OA_FIRST_POSITION */
};
enum { OA_FIRST_POSITION = -1 }; /* the first_position of struct oa_hf_config */

#define OA_WHOLE(theirs, ours)                                                                     \
    {                                                                                              \
        theirs, ours, OA_LAYOUT_SAME, 0, 0, 0                                                      \
    }
/* The weight and the bias of a linear map or a norm. */
#define OA_PAIR(theirs, ours)                                                                      \
    OA_WHOLE(theirs ".weight", ours ".weight"), OA_WHOLE(theirs ".bias", ours ".bias")
#define OA_TURNED(theirs, ours)                                                                    \
    {                                                                                              \
        theirs, ours, OA_LAYOUT_TRANSPOSED, 0, 0, 0                                                \
    }
#define OA_PART(theirs, ours, layout, part, parts)                                                 \
    {                                                                                              \
        theirs, ours, layout, part, parts, 0                                                       \
    }
#define OA_AFTER(skip, theirs, ours)                                                               \
    {                                                                                              \
        theirs, ours, OA_LAYOUT_SAME, 0, 0, skip                                                   \
    }
#define OA_READ(theirs, ours)                                                                      \
    {                                                                                              \
        theirs, ours, OA_LAYOUT_READ, 0, 0, 0                                                      \
    }
#define OA_FLAT(theirs, ours)                                                                      \
    {                                                                                              \
        theirs, ours, OA_LAYOUT_FLAT, 0, 0, 0                                                      \
    }
#define OA_ROW(row, theirs, ours)                                                                  \
    {                                                                                              \
        theirs, ours, OA_LAYOUT_ROW, row, 0, 0                                                     \
    }
#define OA_ZERO(ours)                                                                              \
    {                                                                                              \
        "", ours, OA_LAYOUT_ZERO, 0, 0, 0                                                          \
    }
#define OA_LAST_TENSOR OA_WHOLE(NULL, NULL)

/* A model to be exported. */
struct oa_exported {
    const struct oa_model_family *family;
    const char *class; /* of transformers */
    const struct oa_model_form *form;
    const struct oa_options *options;
    const struct oa_spec *attention; /* of the one stack */
    long keys, window;               /* heads of keys and values; 0: no window */
    bool mixed;                      /* only some layers have the window (oa_exported_windowed) */
    long buckets, distance;          /* of relative positions of T5; 0: none */
    long begin, end;                 /* ids around a target, of encoder-decoders */
    char why[400];                   /* with a modelling file of its own: why no family has it */
};

struct oa_model_family {
    const char *type;                       /* "model_type" of config.json */
    const char *prefix;                     /* of tensors, which some files lack: "transformer." */
    const struct oa_family_tensor *tensors; /* the last has theirs NULL */
    const struct oa_family_tensor *classifier_tensors; /* of classes and numbers; NULL: none */
    const struct oa_family_tensor *gated_tensors;      /* with model.ffn_gate; NULL: the same */
    const char *const *ignored; /* tensors that are passed over; the last is NULL */
    bool unit_norms;            /* gains of norms are stored less 1 */
    bool zero_biases;           /* exporting: biases that a model lacks are written as zeros */
    bool encoder, encoder_decoder;
    bool unscaled_logits; /* exporting: logits of attention are not divided by √(head width) */
    bool tied_by_tensors; /* config.json has no flag: the output is tied unless its tensor differs
                             from the embedding */
    const char *class, *classifier; /* of transformers; classifier: of classes and numbers */
    /* Exporting; NULL: models are not exported as this family. refuses: the first option whose
     * value the family does not have, or NULL; write: the keys of config.json but those that all
     * families have. */
    const char *(*refuses)(const struct oa_exported *x);
    void (*write)(oa_context *c, const struct oa_exported *x, json_t *config);
    /* Sets model.* and the form; a key whose value is not supported is refused by its name. */
    void (*read)(struct oa_hf_config *h);
};
/* Whether a layer has the window. */
bool oa_exported_windowed(const struct oa_exported *x, long layer);
/* The table for models of this form and with these options. */
const struct oa_family_tensor *oa_family_tensors(const struct oa_model_family *f,
                                                 const struct oa_model_form *form,
                                                 const struct oa_options *o);
/* Borrowed; NULL past the end. */
const struct oa_model_family *oa_family_at(int i);
/* NULL: unknown. */
const struct oa_model_family *oa_family_find(const char *type);

/* What is known of a model before its weights are read. */
struct oa_imported {
    const struct oa_model_family *family;
    double parameters;   /* trainable */
    double query_factor; /* struct oa_hf_config */
    long first_position; /* struct oa_hf_config */
    long begin, end;     /* struct oa_hf_config */
    const char *absent_biases[OA_HF_ABSENT];
    bool tokenizer; /* there was one */
    struct oa_model_form form;
    struct oa_labels labels; /* of form; freed */
    struct oa_options options;
};

/* family_tensors.c: the weights of a folder. */
struct oa_weight_files;
/* Refuses, before reading tensors: absent or damaged files, pickles, a tensor in two shards. */
enum oa_error oa_weight_files_open(oa_context *c, const char *folder, const struct oa_imported *i,
                                   struct oa_weight_files **out);
/* The same of a GGUF file, all of whose tensors are read and dequantised. */
struct oa_gguf;
enum oa_error oa_weight_files_read_gguf(oa_context *c, const struct oa_gguf *g,
                                        const struct oa_imported *i, struct oa_weight_files **out);
void oa_weight_files_close(struct oa_weight_files *f);
/* Whether there is a tensor for a parameter of that name. */
bool oa_family_has(const struct oa_weight_files *f, const char *parameter);
/* Whether there is an output layer that is no copy of the embedding. */
bool oa_family_has_own_output(const struct oa_weight_files *f);
/* Whether every parameter has its tensor, in the shape it needs, and every tensor is one of the
 * family. heads: of a layer. */
enum oa_error oa_family_check(struct oa_weight_files *f, const struct oa_model *m);
/* Copies the values of all parameters that have a tensor; m is allocated. */
enum oa_error oa_family_copy(struct oa_weight_files *f, struct oa_model *m);
/* Marks parameters that files have as given. */
void oa_family_mark_given(const struct oa_weight_files *f, struct oa_model *m);

/* The name of a pattern of the table for a layer. */
enum { OA_TENSOR_NAME = 200 };
void oa_family_layer_name(const char *pattern, long layer, char out[OA_TENSOR_NAME]);
/* Where element (row, column) of a parameter is in its tensor. */
size_t oa_family_place(const struct oa_family_tensor *t, const struct oa_parameter *p,
                       long head_width, long row, long column);

/* export_model.c: the folder of a Hugging Face model, which must not have one. run: its name. */
enum oa_error oa_export_model(const struct oa_model *m, const struct oa_tokenizer *tok,
                              const char *run, const char *out, struct oa_exported *x);

/* The class of transformers that loads models of this form. */
const char *oa_hf_automatic_class(const struct oa_model_form *f);
/* The value as a file of the folder; takes it. */
enum oa_error oa_hf_json_write(oa_context *c, const char *out, const char *name, json_t *root);
/* hidden_size, num_attention_heads, num_hidden_layers, intermediate_size and
 * max_position_embeddings. */
void oa_hf_sizes_write(oa_context *c, const struct oa_options *o, json_t *config);
/* Ids around a target, which encoder-decoders have in config.json and generation_config.json. */
void oa_hf_target_ids_write(oa_context *c, const struct oa_exported *x, json_t *config);

/* modeling_export.c: models with attentions that no family has, with their own modelling file
 * (modeling_orthant.py). It is in no list of families, since such folders have the tensors of a run
 * under their own names. */
extern const struct oa_model_family oa_family_orthant;
/* Refuses what the modelling file has not, by its name. */
enum oa_error oa_check_modeling(const struct oa_model *m);
#define OA_EXPORTED_RUN "orthant.json" /* the config.json of the run, by which it is imported */
/* config.json, generation_config.json, OA_EXPORTED_RUN, README.md and the Python files. */
enum oa_error oa_modeling_write(const struct oa_model *m, const struct oa_exported *x,
                                const char *run, const char *out);
/* import_model.c: a Hugging Face folder, or a GGUF file (*.gguf), as a run in `out`. precision:
 * what train.precision of the run is; NULL: f32. */
enum oa_error oa_import_model(oa_context *c, const char *source, const char *out,
                              const char *precision, struct oa_imported *imported);

#endif
