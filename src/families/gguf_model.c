/* SPDX-License-Identifier: Apache-2.0 */
#include "families/gguf_model.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "tokenizers/sentencepiece.h"

#include <math.h>
#include <string.h>

enum { NAME = 200 };

/* ---- config.json ---- */

/* Architectures whose tensors are named as Llama's. */
static const struct gguf_architecture {
    const char *name;
    bool neighbours; /* rotary positions turn neighbouring rows, which Hugging Face has apart */
} architectures[] = { { "llama", true }, { "qwen2", false }, { "qwen3", false } };

/* NULL: it is not read. */
static const struct gguf_architecture *architecture_of(const struct oa_gguf *g)
{
    const char *name = oa_gguf_string(g, "general.architecture");
    for (size_t i = 0; name && i < sizeof architectures / sizeof *architectures; i++)
        if (strcmp(architectures[i].name, name) == 0)
            return &architectures[i];
    return NULL;
}

/* A key of the architecture, which begins with its name. */
static double gguf_number_of(const struct oa_gguf *g, const char *key, double fallback)
{
    char whole[NAME];
    snprintf(whole, sizeof whole, "%s.%s", architecture_of(g)->name, key);
    return oa_gguf_number(g, whole, fallback);
}

static void set_count(oa_context *c, const struct oa_gguf *g, json_t *config, const char *theirs,
                      const char *key)
{
    double n = gguf_number_of(g, key, 0);
    if (n >= 1 && floor(n) == n && n < 1e9)
        oa_json_set(c, config, theirs, json_integer((json_int_t)n));
}

/* A GGUF file of Llama's architecture has an output layer of its own, or it is tied. */
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

enum oa_error oa_gguf_config(oa_context *c, const struct oa_gguf *g, json_t **out)
{
    const char *architecture = oa_gguf_string(g, "general.architecture");
    *out = NULL;
    if (!architecture_of(g))
        return oa_fail(c, OA_UNSUPPORTED,
                       "%s: the architecture %s is not read from GGUF, llama, qwen2 and qwen3 are; "
                       "import the model's folder with config.json and *.safetensors",
                       oa_gguf_path(g), architecture ? architecture : "(none)");
    OA_TRY(refuse_scaling(c, g));
    json_t *config = *out = json_object();
    oa_json_set(c, config, "model_type", json_string(architecture));
    set_count(c, g, config, "hidden_size", "embedding_length");
    set_count(c, g, config, "num_hidden_layers", "block_count");
    set_count(c, g, config, "intermediate_size", "feed_forward_length");
    set_count(c, g, config, "num_attention_heads", "attention.head_count");
    set_count(c, g, config, "num_key_value_heads", "attention.head_count_kv");
    set_count(c, g, config, "max_position_embeddings", "context_length");
    set_count(c, g, config, "head_dim", "attention.key_length");
    set_count(c, g, config, "vocab_size", "vocab_size");
    if (!json_object_get(config, "vocab_size"))
        oa_json_set(c, config, "vocab_size",
                    json_integer(oa_gguf_count(g, "tokenizer.ggml.tokens")));
    oa_json_set(c, config, "rms_norm_eps",
                oa_json_number(gguf_number_of(g, "attention.layer_norm_rms_epsilon", 1e-5)));
    oa_json_set(c, config, "rope_theta",
                oa_json_number(gguf_number_of(g, "rope.freq_base", 10000)));
    oa_json_set(c, config, "tie_word_embeddings", json_boolean(!has_tensor(g, "output.weight")));
    return oa_status(c);
}

/* ---- tensors ---- */

static const struct {
    const char *theirs, *ours; /* of a layer behind "blk.N." and "model.layers.N." */
} layer_names[] = {
    { "attn_norm.", "input_layernorm." },
    { "attn_q.", "self_attn.q_proj." },
    { "attn_k.", "self_attn.k_proj." },
    { "attn_v.", "self_attn.v_proj." },
    { "attn_q_norm.", "self_attn.q_norm." },
    { "attn_k_norm.", "self_attn.k_norm." },
    { "attn_output.", "self_attn.o_proj." },
    { "ffn_norm.", "post_attention_layernorm." },
    { "ffn_gate.", "mlp.gate_proj." },
    { "ffn_up.", "mlp.up_proj." },
    { "ffn_down.", "mlp.down_proj." },
}, names[] = { { "token_embd.", "model.embed_tokens." },
               { "output_norm.", "model.norm." },
               { "output.", "lm_head." } };

/* Unknown names stay as they are, so that they are refused by them. */
static void name_in_folder(const char *gguf, char out[NAME])
{
    int layer, digits = 0; /* stays 0 where there is no point behind the number */
    bool block = sscanf(gguf, "blk.%d.%n", &layer, &digits) == 1 && digits && layer >= 0;
    snprintf(out, NAME, "%s", gguf);
    for (size_t i = 0; block && i < sizeof layer_names / sizeof *layer_names; i++) {
        size_t n = strlen(layer_names[i].theirs);
        if (strncmp(gguf + digits, layer_names[i].theirs, n) == 0)
            snprintf(out, NAME, "model.layers.%d.%s%s", layer, layer_names[i].ours,
                     gguf + digits + n);
    }
    for (size_t i = 0; !block && i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i].theirs);
        if (strncmp(gguf, names[i].theirs, n) == 0)
            snprintf(out, NAME, "%s%s", names[i].ours, gguf + n);
    }
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

static enum oa_error read_array_of(oa_context *c, const struct oa_gguf *g,
                                   const struct oa_gguf_tensor *t, struct oa_array *a)
{
    char name[NAME];
    size_t count = 1;
    name_in_folder(t->name, name);
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
    bool query = strstr(name, "q_proj.weight") != NULL, key = strstr(name, "k_proj.weight") != NULL;
    double heads = gguf_number_of(g, "attention.head_count", 0);
    if (key)
        heads = gguf_number_of(g, "attention.head_count_kv", heads);
    if ((!query && !key) || t->dims != 2 || !architecture_of(g)->neighbours)
        return OA_OK;
    if (!(heads >= 1 && heads <= (double)t->dim[0]) || t->dim[0] % (2 * (long)heads))
        return oa_fail(c, OA_FORMAT, "%s: %.0f heads do not fit the %ld rows of tensor %s",
                       oa_gguf_path(g), heads, t->dim[0], t->name);
    return order_halves(c, values, t->dim[0], t->dim[1], (long)heads);
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

/* How llama.cpp's pre-tokenizers are called, and what they are in tokenizer.json. */
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

static json_t *merges_json(oa_context *c, const struct oa_gguf *g)
{
    json_t *merges = json_array();
    long count = oa_gguf_count(g, "tokenizer.ggml.merges");
    for (long i = 0; i < count && oa_status(c) == OA_OK; i++)
        oa_json_append(c, merges, gguf_string_json(c, g, "tokenizer.ggml.merges", i));
    return merges;
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
               "numbers of tokens",
               oa_gguf_path(g), model ? model : "none", split ? split : "no split");
        return OA_OK;
    }
    json_t *vocabulary = json_object(), *added = json_array();
    add_vocabulary(c, g, vocabulary, added);
    json_t *root = json_pack(
        "{s:s, s:n, s:n, s:o, s:n, s:o, s:n, s:o, s:{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, s:o, "
        "s:o}}",
        "version", "1.0", "truncation", "padding", "added_tokens", added, "normalizer",
        "pre_tokenizer", split_json(i), "post_processor", "decoder", byte_level(true), "model",
        "type", "BPE", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
        "fuse_unk", 0, "byte_fallback", 0, "ignore_merges", (int)splits[i].whole_words, "vocab",
        vocabulary, "merges", merges_json(c, g));
    if (!root)
        oa_fail(c, OA_FORMAT, "%s: its tokenizer is damaged", oa_gguf_path(g));
    if (oa_status(c) == OA_OK)
        *out = oa_json_dump(c, root, JSON_COMPACT);
    json_decref(root);
    return oa_status(c);
}
