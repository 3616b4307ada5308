/* SPDX-License-Identifier: Apache-2.0 */
#include "families/gguf_model.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "tokenizers/sentencepiece.h"

#include <math.h>
#include <string.h>

enum { NAME = 200 };

/* ---- architectures ---- */

struct gguf_name {
    const char *theirs, *ours;
};

/* A key of config.json, and that of the file after "ARCHITECTURE.". */
struct gguf_key {
    const char *ours, *theirs;
    double fallback; /* 0: a count, which config.json lacks where the file does */
};

/* Names of tensors after "blk.N.", without the second norm. */
#define LLAMA_LAYER                                                                                \
    { "attn_norm.", "input_layernorm." }, { "attn_q.", "self_attn.q_proj." },                      \
        { "attn_k.", "self_attn.k_proj." }, { "attn_v.", "self_attn.v_proj." },                    \
        { "attn_q_norm.", "self_attn.q_norm." }, { "attn_k_norm.", "self_attn.k_norm." },          \
        { "attn_output.", "self_attn.o_proj." }, { "ffn_gate.", "mlp.gate_proj." },                \
        { "ffn_up.", "mlp.up_proj." },                                                             \
    {                                                                                              \
        "ffn_down.", "mlp.down_proj."                                                              \
    }
#define LLAMA_KEYS                                                                                 \
    { "hidden_size", "embedding_length", 0 }, { "num_hidden_layers", "block_count", 0 },           \
        { "intermediate_size", "feed_forward_length", 0 },                                         \
        { "num_attention_heads", "attention.head_count", 0 },                                      \
        { "num_key_value_heads", "attention.head_count_kv", 0 },                                   \
        { "max_position_embeddings", "context_length", 0 },                                        \
        { "head_dim", "attention.key_length", 0 },                                                 \
        { "rms_norm_eps", "attention.layer_norm_rms_epsilon", 1e-5 },                              \
    {                                                                                              \
        "rope_theta", "rope.freq_base", 10000                                                      \
    }

static const struct gguf_name
    llama_layer[] = { LLAMA_LAYER, { "ffn_norm.", "post_attention_layernorm." }, { NULL, NULL } },
    gemma2_layer[] = { LLAMA_LAYER,
                       { "post_attention_norm.", "post_attention_layernorm." },
                       { "ffn_norm.", "pre_feedforward_layernorm." },
                       { "post_ffw_norm.", "post_feedforward_layernorm." },
                       { NULL, NULL } },
    llama_names[] = { { "token_embd.", "model.embed_tokens." },
                      { "output_norm.", "model.norm." },
                      { "output.", "lm_head." },
                      { NULL, NULL } },
    gpt2_layer[] = { { "attn_norm.", "ln_1." },
                     { "attn_qkv.", "attn.c_attn." },
                     { "attn_output.", "attn.c_proj." },
                     { "ffn_norm.", "ln_2." },
                     { "ffn_up.", "mlp.c_fc." },
                     { "ffn_down.", "mlp.c_proj." },
                     { NULL, NULL } },
    gpt2_names[] = { { "token_embd.", "transformer.wte." },
                     { "position_embd.", "transformer.wpe." },
                     { "output_norm.", "transformer.ln_f." },
                     { "output.", "lm_head." },
                     { NULL, NULL } };

static const struct gguf_key llama_keys[] = { LLAMA_KEYS, { NULL, NULL, 0 } },
                             gemma2_keys[] = { LLAMA_KEYS,
                                               { "sliding_window", "attention.sliding_window", 0 },
                                               { "attn_logit_softcapping", "attn_logit_softcapping",
                                                 50 },
                                               { "final_logit_softcapping",
                                                 "final_logit_softcapping", 30 },
                                               { NULL, NULL, 0 } },
                             gpt2_keys[] = { { "n_embd", "embedding_length", 0 },
                                             { "n_layer", "block_count", 0 },
                                             { "n_inner", "feed_forward_length", 0 },
                                             { "n_head", "attention.head_count", 0 },
                                             { "n_positions", "context_length", 0 },
                                             { "layer_norm_epsilon", "attention.layer_norm_epsilon",
                                               1e-5 },
                                             { NULL, NULL, 0 } };

/* Named as the families of folders. */
static const struct gguf_architecture {
    const char *name;
    const char *layers; /* what tensors of a layer begin with in a folder, before its number */
    const struct gguf_name *of_layer, *others;
    const struct gguf_key *keys;
    bool neighbours; /* rotary positions rotate neighbouring rows; in a folder, halves of a head */
    bool turned;     /* matrices of layers are [inputs, outputs] in a folder, here the reverse */
    bool whole_gain; /* gains of norms are stored less 1 in a folder, here as they are */
} architectures[] = {
    { "llama", "model.layers.", llama_layer, llama_names, llama_keys, true, false, false },
    { "qwen2", "model.layers.", llama_layer, llama_names, llama_keys, false, false, false },
    { "qwen3", "model.layers.", llama_layer, llama_names, llama_keys, false, false, false },
    { "gemma2", "model.layers.", gemma2_layer, llama_names, gemma2_keys, false, false, true },
    { "gpt2", "transformer.h.", gpt2_layer, gpt2_names, gpt2_keys, false, true, false },
};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

/* NULL: it is not read. */
static const struct gguf_architecture *architecture_of(const struct oa_gguf *g)
{
    const char *name = oa_gguf_string(g, "general.architecture");
    for (int i = 0; name && i < ARCHITECTURES; i++)
        if (strcmp(architectures[i].name, name) == 0)
            return &architectures[i];
    return NULL;
}

/* ---- config.json ---- */

/* A key of the architecture, which begins with its name. */
static double gguf_number_of(const struct oa_gguf *g, const char *key, double fallback)
{
    char whole[NAME];
    snprintf(whole, sizeof whole, "%s.%s", architecture_of(g)->name, key);
    return oa_gguf_number(g, whole, fallback);
}

static void set_count(oa_context *c, json_t *config, const char *key, double n)
{
    if (n >= 1 && floor(n) == n && n < 1e9)
        oa_json_set(c, config, key, json_integer((json_int_t)n));
}

static bool has_tensor(const struct oa_gguf *g, const char *name)
{
    for (int i = 0; i < oa_gguf_tensors(g); i++)
        if (strcmp(oa_gguf_tensor_at(g, i)->name, name) == 0)
            return true;
    return false;
}

static enum oa_error refuse_scaling(oa_context *c, const struct oa_gguf *g)
{
    char key[NAME];
    snprintf(key, sizeof key, "%s.rope.scaling.type", architecture_of(g)->name);
    const char *scaling = oa_gguf_string(g, key);
    bool factors = has_tensor(g, "rope_freqs.weight");
    if (!factors && (!scaling || strcmp(scaling, "none") == 0))
        return OA_OK;
    return oa_fail(c, OA_UNSUPPORTED,
                   "%s: scaled rotary positions (%s) are not read from GGUF; import the model's "
                   "folder with config.json and *.safetensors",
                   oa_gguf_path(g), factors ? "rope_freqs.weight" : scaling);
}

static enum oa_error refuse_architecture(oa_context *c, const struct oa_gguf *g)
{
    const char *architecture = oa_gguf_string(g, "general.architecture");
    struct oa_text known;
    oa_text_init(&known, c);
    for (int i = 0; i < ARCHITECTURES; i++)
        oa_text_printf(&known, "%s%s", i ? ", " : "", architectures[i].name);
    enum oa_error e =
        oa_fail(c, OA_UNSUPPORTED,
                "%s: the architecture %s is not read from GGUF, these are: %s; "
                "import the model's folder with config.json and *.safetensors",
                oa_gguf_path(g), architecture ? architecture : "(none)", known.s ? known.s : "");
    oa_text_free(&known);
    return e;
}

/* Logits are divided by the root of query_pre_attn_scalar, which the file does not have: llama.cpp
 * takes the width of a head and, for the model of 46 layers (27B), model width / heads. */
static void set_gemma2_scalar(oa_context *c, const struct oa_gguf *g, json_t *config)
{
    double heads = gguf_number_of(g, "attention.head_count", 1),
           share = floor(gguf_number_of(g, "embedding_length", 0) / (heads >= 1 ? heads : 1)),
           width = gguf_number_of(g, "attention.key_length", share);
    set_count(c, config, "head_dim", width);
    set_count(c, config, "query_pre_attn_scalar",
              gguf_number_of(g, "block_count", 0) == 46 ? share : width);
}

enum oa_error oa_gguf_config(oa_context *c, const struct oa_gguf *g, json_t **out)
{
    const struct gguf_architecture *a = architecture_of(g);
    *out = NULL;
    if (!a)
        return refuse_architecture(c, g);
    OA_TRY(refuse_scaling(c, g));
    json_t *config = *out = json_object();
    oa_json_set(c, config, "model_type", json_string(a->name));
    for (const struct gguf_key *k = a->keys; k->ours; k++) {
        double n = gguf_number_of(g, k->theirs, k->fallback);
        if (k->fallback == 0)
            set_count(c, config, k->ours, n);
        else
            oa_json_set(c, config, k->ours, oa_json_number(n));
    }
    set_count(c, config, "vocab_size",
              gguf_number_of(g, "vocab_size", (double)oa_gguf_count(g, "tokenizer.ggml.tokens")));
    if (a->whole_gain)
        set_gemma2_scalar(c, g, config);
    oa_json_set(c, config, "tie_word_embeddings", json_boolean(!has_tensor(g, "output.weight")));
    return oa_status(c);
}

/* ---- tensors ---- */

static bool rename_tensor(const struct gguf_name *n, const char *before, const char *name,
                          char out[NAME])
{
    for (; n->theirs; n++) {
        size_t length = strlen(n->theirs);
        if (strncmp(name, n->theirs, length) != 0)
            continue;
        snprintf(out, NAME, "%s%s%s", before, n->ours, name + length);
        return true;
    }
    return false;
}

/* Unknown names are copied, so that messages refuse them by the name in the file. */
static void name_in_folder(const struct gguf_architecture *a, const char *gguf, char out[NAME])
{
    char before[64];
    int layer, digits = 0; /* stays 0 without a point after the number */
    bool block = sscanf(gguf, "blk.%d.%n", &layer, &digits) == 1 && digits && layer >= 0;
    snprintf(before, sizeof before, "%s%d.", a->layers, block ? layer : 0);
    if (!rename_tensor(block ? a->of_layer : a->others, block ? before : "",
                       gguf + (block ? digits : 0), out))
        snprintf(out, NAME, "%s", gguf);
}

/* Rows of queries and keys are in the order of neighbouring pairs: row 2i + h of a head is row
 * h·width/2 + i of Hugging Face's. */
static enum oa_error order_halves(oa_context *c, float *x, long rows, long columns, long heads)
{
    long width = rows / heads;
    size_t bytes = (size_t)columns * sizeof *x;
    float *head = oa_alloc(c, (size_t)width * bytes);
    for (long h = 0; head && h < heads; h++) {
        float *from = x + h * width * columns;
        for (long i = 0; i < width; i++)
            memcpy(head + (i % 2 * (width / 2) + i / 2) * columns, from + i * columns, bytes);
        memcpy(from, head, (size_t)width * bytes);
    }
    oa_free(head);
    return oa_status(c);
}

static enum oa_error order_heads(oa_context *c, const struct oa_gguf *g,
                                 const struct oa_gguf_tensor *t, const char *name, float *values)
{
    bool query = strstr(name, "q_proj.weight") != NULL, key = strstr(name, "k_proj.weight") != NULL;
    double heads = gguf_number_of(g, "attention.head_count", 0);
    if (key)
        heads = gguf_number_of(g, "attention.head_count_kv", heads);
    if ((!query && !key) || t->dims != 2)
        return OA_OK;
    if (!(heads >= 1 && heads <= (double)t->dim[0]) || t->dim[0] % (2 * (long)heads))
        return oa_fail(c, OA_FORMAT, "%s: %.0f heads do not fit the %ld rows of tensor %s",
                       oa_gguf_path(g), heads, t->dim[0], t->name);
    return order_halves(c, values, t->dim[0], t->dim[1], (long)heads);
}

/* In double: the difference is exact. */
static enum oa_error take_one_off(oa_context *c, struct oa_array *a, float *values, size_t count)
{
    double *less = oa_alloc(c, (count + 1) * sizeof *less);
    for (size_t i = 0; less && i < count; i++)
        less[i] = (double)values[i] - 1;
    oa_free(values);
    a->type = OA_F64;
    a->data = less;
    a->bytes = count * sizeof *less;
    return oa_status(c);
}

static enum oa_error turn_matrix(oa_context *c, struct oa_array *a, float *values)
{
    long rows = a->dim[0], columns = a->dim[1];
    float *turned = oa_alloc(c, a->bytes + sizeof *turned);
    for (long i = 0; turned && i < rows; i++)
        for (long j = 0; j < columns; j++)
            turned[j * rows + i] = values[i * columns + j];
    oa_free(values);
    a->data = turned;
    a->dim[0] = columns;
    a->dim[1] = rows;
    return oa_status(c);
}

static enum oa_error read_array_of(oa_context *c, const struct oa_gguf *g,
                                   const struct oa_gguf_tensor *t, struct oa_array *a)
{
    const struct gguf_architecture *of = architecture_of(g);
    char name[NAME];
    size_t count = 1;
    name_in_folder(of, t->name, name);
    for (int i = 0; i < t->dims; i++)
        count *= (size_t)t->dim[i];
    float *values = oa_alloc(c, count * sizeof *values);
    *a = (struct oa_array){ .name = oa_copy_text(c, name),
                            .type = OA_F32,
                            .dims = t->dims,
                            .data = values,
                            .bytes = count * sizeof *values };
    memcpy(a->dim, t->dim, sizeof t->dim);
    if (!values || !a->name)
        return OA_NO_MEMORY;
    OA_TRY(oa_gguf_read(g, t, values));
    if (of->neighbours)
        return order_heads(c, g, t, name, values);
    if (of->whole_gain && oa_name_ends(t->name, "norm.weight"))
        return take_one_off(c, a, values, count);
    if (of->turned && t->dims == 2 && strncmp(t->name, "blk.", 4) == 0)
        return turn_matrix(c, a, values);
    return OA_OK;
}

enum oa_error oa_gguf_arrays(oa_context *c, const struct oa_gguf *g, struct oa_array **out,
                             int *count)
{
    enum oa_error e = OA_OK;
    *count = 0;
    *out = oa_alloc(c, ((size_t)oa_gguf_tensors(g) + 1) * sizeof **out);
    if (!*out)
        return OA_NO_MEMORY;
    while (*count < oa_gguf_tensors(g) && e == OA_OK) {
        const struct oa_gguf_tensor *t = oa_gguf_tensor_at(g, *count);
        e = read_array_of(c, g, t, &(*out)[(*count)++]);
    }
    return e;
}

void oa_gguf_arrays_free(struct oa_array *arrays, int count)
{
    for (int i = 0; i < count; i++) {
        oa_free(arrays[i].name);
        oa_free((void *)(uintptr_t)arrays[i].data);
    }
    oa_free(arrays);
}

/* ---- tokenizer.json ---- */

/* Pre-tokenizers by their names in llama.cpp, as what they are in tokenizer.json. */
static const struct {
    const char *name;
    bool digits; /* each digit apart */
    const char *pattern;
    bool whole_words; /* a word of the vocabulary is taken before any merge */
} splits[] = {
    { "gpt-2", false, NULL, false },
    { "default", false, NULL, false },
    { "smollm", true, NULL, false },
    { "llama-bpe", false,
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
      "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      true },
    { "qwen2", false,
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
      "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      false },
};

static json_t *byte_level(bool regex)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0,
                     "trim_offsets", 1, "use_regex", (int)regex);
}

static json_t *split_json(size_t i)
{
    if (splits[i].digits)
        return json_pack("{s:s, s:[{s:s, s:b}, o]}", "type", "Sequence", "pretokenizers", "type",
                         "Digits", "individual_digits", 1, byte_level(true));
    if (!splits[i].pattern)
        return byte_level(true);
    return json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, o]}", "type", "Sequence", "pretokenizers",
                     "type", "Split", "pattern", "Regex", splits[i].pattern, "behavior", "Isolated",
                     "invert", 0, byte_level(false));
}

/* Element i of an array of strings; NULL after a recorded failure. */
static json_t *gguf_string_json(oa_context *c, const struct oa_gguf *g, const char *key, long i)
{
    size_t length;
    const char *s = oa_gguf_string_at(g, key, i, &length);
    json_t *text = s ? json_stringn(s, length) : NULL;
    if (!text)
        oa_fail(c, OA_FORMAT, "%s: element %ld of %s is no UTF-8 text; fetch the file again",
                oa_gguf_path(g), i, key);
    return text;
}

static void add_vocabulary(oa_context *c, const struct oa_gguf *g, json_t *vocabulary,
                           json_t *added)
{
    enum { CONTROL = 3, OWN = 4 };
    long count = oa_gguf_count(g, "tokenizer.ggml.tokens");
    for (long i = 0; i < count && oa_status(c) == OA_OK; i++) {
        int type = (int)oa_gguf_number_at(g, "tokenizer.ggml.token_type", i);
        json_t *text = gguf_string_json(c, g, "tokenizer.ggml.tokens", i);
        if (text && json_object_setn_new(vocabulary, json_string_value(text),
                                         json_string_length(text), json_integer(i)) != 0)
            oa_fail(c, OA_NO_MEMORY, "no memory for the vocabulary");
        if (text && (type == CONTROL || type == OWN))
            oa_json_append(c, added,
                           json_pack("{s:I, s:O, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t)i,
                                     "content", text, "single_word", 0, "lstrip", 0, "rstrip", 0,
                                     "normalized", 0, "special", type == CONTROL));
        json_decref(text);
    }
}

/* A vocabulary of SentencePiece with merges by score, as Llama 1 and 2 have it. */
static enum oa_error sentencepiece_json(oa_context *c, const struct oa_gguf *g, char **out)
{
    long count = oa_gguf_count(g, "tokenizer.ggml.tokens");
    struct oa_sentencepiece s = {
        .name = oa_gguf_path(g),
        .piece = oa_alloc(c, ((size_t)count + 1) * sizeof *s.piece),
        .count = (size_t)count,
        .bpe = true,
        .byte_fallback = true,
        .dummy_prefix = oa_gguf_number(g, "tokenizer.ggml.add_space_prefix", 1) != 0,
    };
    enum oa_error e = s.piece ? OA_OK : OA_NO_MEMORY;
    if (e == OA_OK && (count < 1 || oa_gguf_count(g, "tokenizer.ggml.scores") != count ||
                       oa_gguf_count(g, "tokenizer.ggml.token_type") != count))
        e = oa_fail(c, OA_FORMAT,
                    "%s: its %ld tokens need as many scores and types (tokenizer.ggml.scores, "
                    "tokenizer.ggml.token_type); fetch the file again",
                    s.name, count);
    for (long i = 0; i < count && e == OA_OK; i++) {
        struct oa_scored_piece *p = &s.piece[i];
        double type = oa_gguf_number_at(g, "tokenizer.ggml.token_type", i);
        p->text = oa_gguf_string_at(g, "tokenizer.ggml.tokens", i, &p->length);
        p->score = oa_gguf_number_at(g, "tokenizer.ggml.scores", i);
        p->type = type >= 1 && type <= OA_PIECE_BYTE ? (enum oa_piece_type)type : 0;
        e = oa_sentencepiece_check(c, &s, (size_t)i);
    }
    if (e == OA_OK)
        e = oa_sentencepiece_json(c, &s, out);
    oa_free(s.piece);
    return e;
}

enum oa_error oa_gguf_tokenizer(oa_context *c, const struct oa_gguf *g, char **out)
{
    const char *model = oa_gguf_string(g, "tokenizer.ggml.model"),
               *split = oa_gguf_string(g, "tokenizer.ggml.pre");
    size_t i = 0, known = sizeof splits / sizeof *splits;
    *out = NULL;
    if (model && strcmp(model, "llama") == 0)
        return sentencepiece_json(c, g, out);
    while (split && i < known && strcmp(splits[i].name, split) != 0)
        i++;
    if (!model || strcmp(model, "gpt2") != 0 || i == known) {
        oa_log(c, 0,
               "%s: its tokenizer (%s, %s) is not supported: the model reads and writes "
               "token ids",
               oa_gguf_path(g), model ? model : "none", split ? split : "no split");
        return OA_OK;
    }
    json_t *vocabulary = json_object(), *added = json_array(), *merges = json_array();
    add_vocabulary(c, g, vocabulary, added);
    for (long n = 0; n < oa_gguf_count(g, "tokenizer.ggml.merges") && oa_status(c) == OA_OK; n++)
        oa_json_append(c, merges, gguf_string_json(c, g, "tokenizer.ggml.merges", n));
    json_t *root = json_pack(
        "{s:s, s:n, s:n, s:o, s:n, s:o, s:n, s:o, s:{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, s:o, "
        "s:o}}",
        "version", "1.0", "truncation", "padding", "added_tokens", added, "normalizer",
        "pre_tokenizer", split_json(i), "post_processor", "decoder", byte_level(true), "model",
        "type", "BPE", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
        "fuse_unk", 0, "byte_fallback", 0, "ignore_merges", (int)splits[i].whole_words, "vocab",
        vocabulary, "merges", merges);
    if (!root)
        oa_fail(c, OA_FORMAT, "%s: its tokenizer is damaged", oa_gguf_path(g));
    if (oa_status(c) == OA_OK)
        *out = oa_json_dump(c, root, JSON_COMPACT);
    json_decref(root);
    return oa_status(c);
}
