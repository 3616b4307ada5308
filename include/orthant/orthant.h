/* SPDX-License-Identifier: Apache-2.0
 *
 * Orthant trains and compares Transformers with any attention. The only public header, and the
 * manual of the library: contexts, options, training, comparisons, trained models, data, scores,
 * layers.
 *
 * Conventions. Handles are opaque; whoever opens one closes it, and NULL may be closed. Functions
 * that can fail return enum oa_error; the context keeps the message of the first failure
 * (oa_last_error) until oa_clear_error, and until then further calls return it and do nothing. The
 * library never prints, never exits and has no global state: text goes to a sink, progress to the
 * log callback. A context is used by one thread at a time; several contexts are independent.
 *
 * Strings are UTF-8 with a zero at the end unless a length goes with them, and belong to the
 * caller. Arrays are row-major; [a, b] is a shape. In structs, 0 and NULL are the defaults: set a
 * struct to zero and fill in what you need. `reserved` must be 0.
 */
#ifndef ORTHANT_H
#define ORTHANT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORTHANT_VERSION "0.1.0"

#if defined(__GNUC__)
#define OA_API __attribute__((visibility("default")))
#else
#define OA_API
#endif

/* name, text */
#define OA_ERRORS(X)                                                                               \
    X(OK, "success")                                                                               \
    X(NO_MEMORY, "out of memory")                                                                  \
    X(ARGUMENT, "invalid option or argument")                                                      \
    X(SHAPE, "shapes do not fit")                                                                  \
    X(IO, "cannot read or write")                                                                  \
    X(FORMAT, "malformed file or text")                                                            \
    X(UNSUPPORTED, "this cannot be done")                                                          \
    X(DIVERGED, "a number is not finite")                                                          \
    X(INTERRUPTED, "stopped by a signal")                                                          \
    X(INTERNAL, "internal error")                                                                  \
    X(DISPROVED, "a check failed")

enum oa_error {
#define OA_ERROR_NAME(name, text) OA_##name,
    OA_ERRORS(OA_ERROR_NAME)
#undef OA_ERROR_NAME
};

/* ---- context ---- */

typedef struct oa_context oa_context;

struct oa_settings {
    int threads;     /* 0 = all cores */
    const char *isa; /* highest instruction set: "ref" (plain C), "avx2", "avx512", "amx"; NULL or
                        "auto" = the highest that the processor has */
    /* Called with each message; level 0: notice, 1: progress, 2: information. NULL = no messages */
    void (*log)(void *argument, int level, const char *line);
    void *log_argument;
    volatile int *stop; /* set to a signal number, it makes long work save and return
                           OA_INTERRUPTED; NULL = none */
    const char *device; /* what computes: "cpu", "opencl" or "opencl:N", "cuda" or "cuda:N" (card N,
                           from 0), "auto": a card if there is one; NULL = "cpu". A device that is
                           not there is reported when it is first needed */
    long reserved[3];
};

/* settings NULL = defaults. NULL when out of memory; a wrong setting is in oa_last_error. */
OA_API oa_context *oa_open(const struct oa_settings *settings);
OA_API void oa_close(oa_context *c);
/* The first failure since oa_clear_error, with its message (borrowed until then); OA_OK: none. */
OA_API enum oa_error oa_last_error(const oa_context *c, const char **message);
OA_API void oa_clear_error(oa_context *c);
OA_API const char *oa_version(void);

/* ---- several processes (MPI) ---- */

/* Processes started by mpirun or srun share the work of oa_train and oa_compare after each has
 * called oa_join; a single process is unaffected. Join times out after `timeout_seconds` (0 = 600,
 * at least 10); the process then exits with a message on standard error, since MPI cannot be left.
 * OA_UNSUPPORTED if the library was built without MPI. Only rank 0 logs and writes to sinks. */
OA_API enum oa_error oa_join(oa_context *c, double timeout_seconds);
OA_API int oa_rank(const oa_context *c); /* 0 … ranks - 1 */
/* Before oa_part: 1 if this rank should report a failure (oa_last_error). Waits for the other
 * ranks: a few seconds after a failure, until they have finished otherwise. */
OA_API int oa_speaks(oa_context *c);
/* After OA_INTERRUPTED: the number of the signal that this or another rank received; 0: none. */
OA_API int oa_stopped_by(const oa_context *c);
/* Leaves MPI after the last work and before oa_close; ranks that hang are ended with `exit_code`.
 */
OA_API void oa_part(oa_context *c, int exit_code);

/* ---- output ---- */

/* Called with pieces of text, in order; the text is valid during the call. */
typedef void oa_sink(void *argument, const char *text, size_t length);

/* Where results go, and in which form. NULL, or a NULL sink: results are not printed. */
struct oa_output {
    oa_sink *sink;
    void *argument;
    int json;  /* 1: one JSON object; 0: text */
    int width; /* of text, in columns; 0 = unlimited */
    long reserved[2];
};

/* ---- options ---- */

enum oa_kind { OA_KIND_INT, OA_KIND_REAL, OA_KIND_BOOL, OA_KIND_TEXT, OA_KIND_CHOICE };
struct oa_option {
    const char *section, *name; /* the key is "section.name" */
    enum oa_kind kind;
    const char *fallback; /* the default, as text */
    const char *choices;  /* CHOICE: "adamw|sgd|adafactor", else NULL */
    double low, high;     /* INT, REAL: the range, both ends included */
    const char *help;
    const char *former; /* key of earlier versions, still accepted; NULL: none */
    long reserved[1];
};
/* Describes option i = 0, 1, …; 0 past the end. */
OA_API int oa_option_describe(int i, struct oa_option *out);

/* A value for every option. Close it before its context. */
typedef struct oa_config oa_config;
OA_API oa_config *oa_config_new(oa_context *c); /* defaults; NULL after a failure */
OA_API void oa_config_free(oa_config *config);
/* Sets an option ("model.layers") from text. OA_ARGUMENT for an unknown key, with the nearest one,
 * and for a value out of range, with the range. */
OA_API enum oa_error oa_config_set(oa_config *config, const char *key, const char *value);
/* The value as text, to a sink. */
OA_API enum oa_error oa_config_get(const oa_config *config, const char *key,
                                   const struct oa_output *out);
/* The value of an option of kind INT, REAL or BOOL (0 or 1); of kind TEXT (borrowed until the
 * option is set again). OA_ARGUMENT for another kind. */
OA_API enum oa_error oa_config_get_number(const oa_config *config, const char *key, double *value);
OA_API enum oa_error oa_config_get_text(const oa_config *config, const char *key,
                                        const char **value);
/* Sets the options that a YAML file has. */
OA_API enum oa_error oa_config_read(oa_config *config, const char *path);
/* Writes all options, as YAML or JSON. */
OA_API enum oa_error oa_config_write(const oa_config *config, const struct oa_output *out);
/* Sets all options to those of the run in a folder (its config.json). */
OA_API enum oa_error oa_config_read_run(oa_config *config, const char *folder);
/* on = 1: oa_train and oa_compare replace another run or comparison in their folder, once nothing
 * is left that could refuse the new one. A folder with anything else is refused. */
OA_API void oa_config_overwrite(oa_config *config, int on);

/* ---- training ---- */

/* A metric of a task; the names live as long as the library. */
struct oa_task_score {
    const char *name, *unit;
    double value; /* NaN: not measured */
};
enum { OA_TASK_SCORES = 8 };

/* Validation or test scores of a model; NaN for what its task does not have. */
struct oa_scores {
    double loss;       /* in nats per token or example, or squared error: unit of measured[0] */
    double perplexity; /* exp(loss), per token of the tokenizer */
    double bits_per_character, bits_per_byte;
    double tokens; /* number of targets: tokens, classes or numbers */
    int measures;
    struct oa_task_score measured[OA_TASK_SCORES]; /* [measures], the loss first */
    double reserved[4];
};

/* Trains a model with the options model.*, data.* and train.* and saves it in a folder:
 * model.safetensors, config.json, tokenizer.json, log.jsonl and checkpoints. resume = 1: continues
 * the run in the folder from its newest good checkpoint, with the options that define it unchanged;
 * 0: a folder with a run is refused. scores may be NULL. OA_INTERRUPTED after saving, when stopped;
 * OA_IO when another process or context uses the folder. */
OA_API enum oa_error oa_train(const oa_config *config, const char *folder, int resume,
                              struct oa_scores *scores, const struct oa_output *out);
struct oa_eval_request {
    const char
        *files; /* separated by commas; NULL = the run's test data, else its validation data */
    const char *columns; /* of files that are tables, as data.columns; NULL = those of the run */
    const char *unknown_labels; /* as data.unknown_labels; NULL = that of the run */
    long stride;  /* language models: windows of the context that begin this many tokens apart, of
                     which only tokens that no earlier one has are scored; 0 = windows that do not
                     overlap. scores->loss is then averaged as the guide "Perplexity of
                     fixed-length models" of Hugging Face does (docs/evaluation.md). */
    long context; /* language models: tokens of a window, at most those of the model; 0 = those */
    long reserved[2];
};
/* Evaluates the run in a folder; request may be NULL. */
OA_API enum oa_error oa_eval(oa_context *c, const char *folder,
                             const struct oa_eval_request *request, struct oa_scores *scores,
                             const struct oa_output *out);

struct oa_eval_choices_request {
    const char *pairs;   /* JSON Lines with sentence_good and sentence_bad, or … */
    const char *choices; /* … with context or question, choices, label; files between commas */
    const char *prefix;  /* text before each sentence or context, such as "<|endoftext|>"; NULL: the
                            first token of a text without context is not scored */
    const char *details; /* file to write, with a JSON object for each pair or question; or NULL */
    long reserved[4];
};
/* How often the language model in a folder gives the right one of several texts the highest
 * log-probability. */
OA_API enum oa_error oa_eval_choices(oa_context *c, const char *folder,
                                     const struct oa_eval_choices_request *request,
                                     const struct oa_output *out);

/* ---- comparisons ---- */

/* Trains each of `count` attentions compare.seeds times under the budget compare.equal and tests
 * the differences. The text is the table; the folder gets results.json, report.html and the runs.
 * count = 0: the attentions of compare.attentions. An interrupted comparison continues, and with
 * more seeds or attentions the existing runs are reused; a folder of another comparison is refused.
 * OA_DIVERGED, after the report, if every attention had runs that diverged. OA_IO as oa_train. */
OA_API enum oa_error oa_compare(const oa_config *config, const char *const *attentions, int count,
                                const char *folder, const struct oa_output *out);
/* Mechanism i = 0, 1, …: its name in the attention language and a title, which live as long as the
 * library; 0 past the end. */
OA_API int oa_mechanism_describe(int i, const char **name, const char **title);

/* ---- trained models: text in, text out ---- */

struct oa_generate_request {
    const char *prompt; /* [length], any bytes; NULL = generate.prompt */
    size_t length;
    const char *const *stop; /* [stops] texts; a continuation ends before the first of them */
    int stops;
    /* If not NULL, called for one prompt after another (borrowed until the next call): 1; 0 at the
     * end; -1 on a read error, which makes the call return OA_IO. A byte order mark and carriage
     * returns at line ends are removed. */
    int (*next)(void *argument, const char **prompt, size_t *length);
    void *argument;
    const char *precision; /* "f32", "bf16", "f64"; NULL = that of the run */
    long reserved[3];
};
/* Continues prompts with the language model in a folder, with the options generate.*; request may
 * be NULL. Text goes to the sink token by token, the prompt first, as UTF-8, with only such tokens
 * as the training text can have. JSON is one object per prompt, one per line with `next`; it tells
 * whether a signal cut a sample short (then OA_INTERRUPTED). Continuation n of a call, counted from
 * 0 over all prompts, has the seed generate.seed + n and equals that of a call with this seed
 * alone. A prompt of `next` that cannot be encoded is logged and gives an empty line or no samples.
 * OA_ARGUMENT for runs of other tasks. */
OA_API enum oa_error oa_generate(const oa_config *config, const char *folder,
                                 const struct oa_generate_request *request,
                                 const struct oa_output *out);

struct oa_translate_request {
    /* Called for one line after another (borrowed until the next call): 1; 0 at the end; -1 on a
     * read error, which makes the call return OA_IO after the lines before it were answered. */
    int (*next)(void *argument, const char **line, size_t *length);
    void *argument;
    int best;      /* hypotheses per line, as n-best lists of Moses; 0 = only the best */
    int scores;    /* 1: log p, in nats, and a tab before each line */
    int at_once;   /* 1: answer a line before asking for the next; 0: in batches */
    size_t bytes;  /* of all lines, for progress; 0 = unknown */
    int alignment; /* 1: append word alignments as "0-0 2-1": words separated by blanks, counted
                      from 0, source first; each output word with the source word it attended to
                      most, averaged over the heads of the cross-attention of the last decoder
                      layer but one */
    long reserved[4];
};
/* Translates or summarizes every line with the encoder-decoder model in a folder, with the options
 * decode.*. A line that cannot be encoded is logged and gives an empty line. */
OA_API enum oa_error oa_translate(const oa_config *config, const char *folder,
                                  const struct oa_translate_request *request,
                                  const struct oa_output *out);

struct oa_classify_request {
    /* As that of oa_translate_request. */
    int (*next)(void *argument, const char **line, size_t *length);
    void *argument;
    size_t bytes;      /* of all lines, for progress; 0 = unknown */
    const char *files; /* instead of next: text files, also gzip, or images (*.bin, as data.train),
                          separated by commas; CSV and JSON are refused, and tables (*.tsv) where
                          the model reads single texts and `columns` is NULL; NULL = use next */
    const char *columns; /* tab-separated columns that the model reads: numbers from 1, or names in
                            line 1; NULL = the whole line, or both columns of a pair */
    int batch;           /* texts per batch, which changes no result; 0 = 32 */
    int scores;          /* 1: append the probability of each class, separated by tabs; the first
                            line has the labels */
    int at_once;         /* 1: answer a line before asking for the next */
    long reserved[4];
};
/* Predicts the label or the number of each line, in order, with the model in a folder. A line that
 * cannot be encoded is logged and gives an empty line; one longer than the context is truncated and
 * counted. JSON: an object per line, {"line", "label", "scores": {label: p}} or
 * {"line", "number"}, null where there is no answer. OA_ARGUMENT for runs of other tasks, and
 * for runs that do not know their labels. The training data are not needed. */
OA_API enum oa_error oa_classify(oa_context *c, const char *folder,
                                 const struct oa_classify_request *request,
                                 const struct oa_output *out);

/* ---- a trained language model: token ids and logits ---- */

/* The language model in the folder of a run, with its tokenizer (examples/score_text.c). NULL after
 * a failure. */
typedef struct oa_language_model oa_language_model;
OA_API oa_language_model *oa_language_model_open(oa_context *c, const char *folder);
OA_API void oa_language_model_close(oa_language_model *m);

struct oa_language_model_shape {
    long vocabulary; /* number of logits; at least the tokenizer's size */
    long context;    /* longest sequence, in tokens */
    long width, layers, heads;
    const char *attention; /* canonical form; lives as long as the model */
    long reserved[4];
};
OA_API void oa_language_model_describe(const oa_language_model *m,
                                       struct oa_language_model_shape *out);

/* Encodes text into ids [room]; *count is the number of tokens, also when that exceeds room (then
 * OA_SHAPE). */
OA_API enum oa_error oa_language_model_encode(oa_language_model *m, const char *text, size_t length,
                                              int32_t *ids, size_t room, size_t *count);
/* The bytes [*length] of a token, which live as long as the model; NULL for an id without token. */
OA_API const char *oa_language_model_token(const oa_language_model *m, int32_t id, size_t *length);
/* Negative log-likelihoods nats [count - 1] of all tokens but the first: -log p(ids[i + 1] |
 * ids[0 … i]). A text longer than the context is split into windows, as in oa_eval; a token then
 * sees only the tokens of its window before it. */
OA_API enum oa_error oa_language_model_score(oa_language_model *m, const int32_t *ids, size_t count,
                                             double *nats);

/* Decoding state: one text, read token by token. Close it before its model. NULL after a failure.
 */
typedef struct oa_language_model_state oa_language_model_state;
OA_API oa_language_model_state *oa_language_model_state_open(oa_language_model *m);
OA_API void oa_language_model_state_close(oa_language_model_state *s);
OA_API void oa_language_model_state_reset(oa_language_model_state *s); /* back to an empty text */
/* Copies a state of the same model; the two are independent afterwards, as in a beam search. */
OA_API enum oa_error oa_language_model_state_copy(const oa_language_model_state *from,
                                                  oa_language_model_state *to);
/* Reads the next tokens; logits [vocabulary] of the token after them, may be NULL. OA_SHAPE, with
 * the state unchanged, if the text becomes longer than the context. */
OA_API enum oa_error oa_language_model_step(oa_language_model_state *s, const int32_t *ids,
                                            size_t count, float *logits);

/* ---- data ---- */

/* Trains a tokenizer on text files (separated by commas) and writes it as tokenizer.json. spec:
 * "char", "byte", "bpe:N" or "word:N". */
OA_API enum oa_error oa_tokenizer_make(oa_context *c, const char *spec, const char *files,
                                       const char *path, const struct oa_output *out);
/* Encodes text as token ids of a tokenizer.json, separated by blanks; decodes ids, byte for byte.
 */
OA_API enum oa_error oa_encode(oa_context *c, const char *tokenizer, const char *text,
                               size_t length, const struct oa_output *out);
OA_API enum oa_error oa_decode(oa_context *c, const char *tokenizer, const int32_t *ids,
                               size_t count, const struct oa_output *out);

/* A synthetic data set (docs/data.md). The same request gives the same bytes on any machine. */
struct oa_data_request {
    const char *task;        /* "listops", "copy" …, as 'orthant data list' prints them */
    long train, valid, test; /* numbers of examples, all different */
    uint64_t seed;
    /* Sizes that the task has; 0 = its default. */
    long min_length, max_length, alphabet, values, depth, arguments;
    long pairs, copies, motif, noise, noise_words;
    long reserved[4];
};
/* Writes the data set and data.json into a folder, which is created; another data set there is
 * replaced, a folder with anything else refused. */
OA_API enum oa_error oa_data(oa_context *c, const struct oa_data_request *r, const char *folder,
                             const struct oa_output *out);

/* Text files to be packed into a corpus (docs/corpora.md). */
struct oa_pack_files {
    const char *files;     /* separated by commas; patterns; "@LIST", a file of names */
    const char *tokenizer; /* as data.tokenizer */
    const char *documents; /* "files", "lines", "json"; NULL = "auto": by the names */
    const char *column;    /* member of a JSON object that has the text; NULL = "text" */
    const char *end; /* special token after each document; NULL = "<|endoftext|>", "" = none */
    uint64_t shard_tokens; /* a shard ends with the first document that reaches it; 0 = 64 Mi */
    long reserved[4];
};
/* Packs them into a folder for data.train. An interrupted packing (OA_INTERRUPTED) is continued by
 * the same call; a finished corpus is not overwritten. */
OA_API enum oa_error oa_pack(oa_context *c, const struct oa_pack_files *r, const char *folder,
                             const struct oa_output *out);

/* Text files whose duplicate documents are to be found (docs/corpora.md). */
struct oa_dedup_files {
    const char *files, *documents, *column; /* as in struct oa_pack_files */
    double near; /* least estimated Jaccard similarity of near duplicates; 0 = exact ones only */
    int shingle; /* words of a shingle, 1 to 32; 0 = 5 */
    uint64_t memory; /* most bytes of the search; 0 = 1 GiB. The result does not depend on it. */
    long reserved[4];
};
/* Reports exact and near duplicates. folder: NULL, or where the first of each and a list of the
 * others are written. */
OA_API enum oa_error oa_dedup(oa_context *c, const struct oa_dedup_files *r, const char *folder,
                              const struct oa_output *out);

/* ---- scores ---- */

/* Scores of texts, labels or numbers against references: BLEU, chrF and TER equal to those of
 * sacreBLEU, ROUGE to rouge-score, the rest to scikit-learn and SciPy (docs/metrics.md). Defaults
 * are those of these packages. Fields that no requested metric uses must be 0. */
struct oa_score_request {
    /* bleu, chrf, ter, rouge (1, 2, L, and Lsum with rouge_newline), rouge1, rouge2, rougeL,
     * rougeLsum; accuracy, f1, mcc, confusion; pearson, spearman. */
    const char *const *metric;
    int metrics;
    /* Text files, plain or gzip, with corresponding lines. Several references: BLEU, chrF, TER and
     * ROUGE. Several hypotheses: systems on one test set, the baseline first. */
    const char *const *reference;
    int references;
    const char *const *hypothesis;
    int hypotheses;
    int decimals;              /* printed, 1 … 12; 0 = 1 for BLEU, chrF and TER, 4 for others */
    int sentence_level;        /* 1: a score per line */
    int lowercase;             /* BLEU, chrF */
    const char *bleu_tokenize; /* "13a", "intl", "char", "none"; NULL = char for text without
                                  spaces, else 13a */
    const char *bleu_smooth;   /* "exp", "floor", "add-k", "none"; NULL = exp */
    double bleu_smooth_value;  /* of floor and add-k; 0 = 0.1 and 1 */
    int bleu_order;            /* longest n-gram; 0 = 4 */
    int bleu_effective_order;  /* 1: omit orders that a text is too short for; implied by
                                  sentence_level */
    int bleu_force;            /* 1: no notice about text that looks tokenised */
    int chrf_characters, chrf_words, chrf_beta; /* 0 = 6, 0, 2 */
    int chrf_whitespace, chrf_eps_smoothing;
    int ter_normalized, ter_no_punctuation, ter_asian, ter_case_sensitive;
    int rouge_stemmer;
    const char *rouge_newline; /* separator of sentences, such as "<n>"; NULL = none */
    const char *f1_average;    /* "binary", "macro", "micro", "weighted"; NULL = binary */
    const char *f1_positive;   /* positive label of the binary F1; NULL = "1" */
    /* Resampling: "confidence" (bootstrap interval of one system), "paired-bs" (paired bootstrap)
     * or "paired-ar" (paired approximate randomisation) of several; NULL = none. */
    const char *resample;
    long samples;  /* 0 = 1000, paired-ar 10000 */
    uint64_t seed; /* of NumPy's default_rng; the default of sacreBLEU is 12345 */
    long reserved[4];
};
OA_API enum oa_error oa_score(oa_context *c, const struct oa_score_request *r,
                              const struct oa_output *out);

/* ---- an attention layer on arrays ---- */

/* Any attention of the language with its projections, forward and backward
 * (examples/attention_layer.c). Elements of all arrays, parameters and gradients are float, double
 * in the precision f64. Only gradients are computed: redrawn features and running averages of
 * statistics stay as they are. */
typedef struct oa_attention oa_attention;
struct oa_attention_form {
    long width, heads;
    long length;        /* longest sequence, which is the size of tables */
    long memory_length; /* cross-attention: longest memory; 0 = length */
    int causal;         /* 1: no token sees a later one */
    int cross;          /* 1: cross-attention: keys and values come from a memory; never causal */
    int bias;           /* 1: biases in the projections */
    const char *precision; /* "f32", "bf16" or "f64"; NULL = f32 */
    uint64_t seed;         /* of the initial values */
    long reserved[4];
};
/* spec: one layer of the attention language. NULL after a failure. */
OA_API oa_attention *oa_attention_open(oa_context *c, const char *spec,
                                       const struct oa_attention_form *form);
OA_API void oa_attention_close(oa_attention *a);

/* Arrays belong to the caller and are read during the call. */
struct oa_attention_input {
    long batch, tokens;
    const void *x;      /* [batch, tokens, width] */
    const void *memory; /* cross-attention: [batch, memory_tokens, width] */
    long memory_tokens;
    /* [batch]: lengths without padding, of the memory in cross-attention, else of x. Padding is
     * never read, and its rows of y are 0. NULL = no padding. */
    const int32_t *lengths;
    long reserved[4];
};
/* y [batch, tokens, width] */
OA_API enum oa_error oa_attention_forward(oa_attention *a, const struct oa_attention_input *in,
                                          void *y);
/* Gradients of the last forward call: dx and dmemory, in the shapes of x and memory, from dy, in
 * the shape of y; dx and dmemory may be NULL. Gradients of parameters are accumulated. */
OA_API enum oa_error oa_attention_backward(oa_attention *a, const void *dy, void *dx,
                                           void *dmemory);

/* A forward call that is kept for its backward call. Passes of a layer are independent, of each
 * other and of the two functions above, and their backward calls may come in any order, with the
 * parameters of their forward call. Close them before their layer. NULL after a failure. */
typedef struct oa_attention_pass oa_attention_pass;
OA_API oa_attention_pass *oa_attention_pass_open(oa_attention *a);
OA_API void oa_attention_pass_close(oa_attention_pass *p);
/* As oa_attention_forward; replaces what the pass kept before. */
OA_API enum oa_error oa_attention_pass_forward(oa_attention_pass *p,
                                               const struct oa_attention_input *in, void *y);
/* As oa_attention_backward; once after each forward call. */
OA_API enum oa_error oa_attention_pass_backward(oa_attention_pass *p, const void *dy, void *dx,
                                                void *dmemory);

/* Decoding state of a causal layer, or of cross-attention: one sequence, token by token. Forward
 * and backward calls do not affect it. Close it before its layer. NULL after a failure. */
typedef struct oa_attention_state oa_attention_state;
OA_API oa_attention_state *oa_attention_state_open(oa_attention *a);
OA_API void oa_attention_state_close(oa_attention_state *s);
OA_API void oa_attention_state_reset(oa_attention_state *s); /* back to an empty sequence */
/* Copies a state of the same layer; the two are independent afterwards. */
OA_API enum oa_error oa_attention_state_copy(const oa_attention_state *from,
                                             oa_attention_state *to);
/* The next tokens of the sequence (batch 1; one token or more): their rows of y. A memory, with its
 * length if padded, is passed at every step and read at the first. */
OA_API enum oa_error oa_attention_step(oa_attention_state *s, const struct oa_attention_input *in,
                                       void *y);

struct oa_weights { /* a parameter; the arrays belong to the layer */
    const char *name;
    int dims;
    long dim[4], count;
    void *value;    /* [count], may be written; call oa_attention_changed afterwards */
    void *gradient; /* [count]; NULL: frozen */
    long reserved[2];
};
/* Parameter i = 0, 1, …; 0 past the end. */
OA_API int oa_attention_weights(oa_attention *a, int i, struct oa_weights *out);
OA_API void oa_attention_changed(oa_attention *a);
OA_API void oa_attention_zero_gradients(oa_attention *a);

/* ---- attention on given queries, keys and values ---- */

/* The core of a layer, without its projections, for programs that have their own (examples:
 * docs/core.md). Arrays are [batch, tokens, heads, width of a head]; their elements are float,
 * double in the precision f64. Attentions that read the input of the tokens besides queries, keys
 * and values are refused (OA_UNSUPPORTED, with the reason): mixtures, convolutions, gates, frozen
 * projections. Where the attention scales logits it does so by 1/√head_width. Positions, such as
 * rotary ones, are the caller's. */
typedef struct oa_core oa_core;
struct oa_core_form {
    long heads;
    long key_heads;   /* heads of keys and values, each read by equally many heads; 0 = heads */
    long head_width;  /* of queries and keys */
    long value_width; /* 0 = head_width */
    long length;      /* longest sequence, which is the size of tables */
    long key_length;  /* cross: the most keys; 0 = length */
    int causal;       /* 1: a query sees no later key */
    int cross;        /* 1: keys and values come from another sequence; never causal */
    const char *precision; /* "f32", "bf16" or "f64"; NULL = f32 */
    uint64_t seed;         /* of the attention's own parameters */
    double logit_cap;      /* logits s become cap·tanh(s/cap), softmax only; 0 = none */
    int bf16_arrays; /* 1, with the precision bf16: elements of q, k, v, o and of their gradients
                        are bfloat16; parameters stay float */
    long reserved[3];
};
/* spec: one layer of the attention language. NULL after a failure. */
OA_API oa_core *oa_core_open(oa_context *c, const char *spec, const struct oa_core_form *form);
OA_API void oa_core_close(oa_core *core);

/* Arrays belong to the caller and are read during the call. */
struct oa_core_input {
    long batch, queries;
    long keys; /* 0 = queries. Causal: at least `queries`, which are the last of them, the others
                  are a past. Otherwise equal, unless the form is cross */
    /* [batch, queries, heads, head_width], [batch, keys, key_heads, head_width] and
     * [batch, keys, key_heads, value_width]. Attentions without queries ignore q and k. */
    const void *q, *k, *v;
    /* Elements from one sequence, token and head to the next; the row of a head is contiguous. All
     * three 0: the array is contiguous. */
    long q_stride[3], k_stride[3], v_stride[3];
    /* [batch]: keys without padding, which is at the end. Padding is never read, and rows of o of
     * padded queries are 0 unless the form is cross. NULL = no padding. */
    const int32_t *lengths;
    int no_backward; /* 1: no backward call follows, which is cheaper with a past */
    long reserved[4];
};

/* A forward call that is kept for its backward call; as many as needed, in any order. Close it
 * before its core. NULL after a failure. */
typedef struct oa_core_pass oa_core_pass;
OA_API oa_core_pass *oa_core_pass_open(oa_core *core);
OA_API void oa_core_pass_close(oa_core_pass *p);
/* o [batch, queries, heads, value_width], contiguous. Replaces what the pass kept before. */
OA_API enum oa_error oa_core_forward(oa_core_pass *p, const struct oa_core_input *in, void *o);
/* Gradients from d_o, in the shape of o, to dq, dk and dv, contiguous in the shapes of q, k and v;
 * any may be NULL. Gradients of parameters are accumulated. Once after each forward call. */
OA_API enum oa_error oa_core_backward(oa_core_pass *p, const void *d_o, void *dq, void *dk,
                                      void *dv);

/* Decoding state of a causal core: `batch` sequences of one length, token by token. Forward and
 * backward calls do not affect it. Close it before its core. NULL after a failure; OA_UNSUPPORTED,
 * with the reason, where the attention needs all tokens at once. */
typedef struct oa_core_state oa_core_state;
OA_API oa_core_state *oa_core_state_open(oa_core *core, long batch);
OA_API void oa_core_state_close(oa_core_state *s);
OA_API void oa_core_state_reset(oa_core_state *s); /* back to empty sequences */
/* Sequence b of `to` becomes sequence from_row[b] of `from`, another state of the same core. */
OA_API enum oa_error oa_core_state_copy(const oa_core_state *from, const long *from_row,
                                        oa_core_state *to);
/* The next tokens of all sequences (batch as opened; queries = keys; no lengths): their rows of
 * o. */
OA_API enum oa_error oa_core_step(oa_core_state *s, const struct oa_core_input *in, void *o);

/* The same of a core: most have none, some frozen ones (random features), some trained ones. */
OA_API int oa_core_weights(oa_core *core, int i, struct oa_weights *out);
OA_API void oa_core_changed(oa_core *core);
OA_API void oa_core_zero_gradients(oa_core *core);

/* ---- an attention layer on tensors from a file ---- */

/* `in` (safetensors) contains x [B, n, d]; optionally memory [B, m, d] (cross-attention), lengths
 * [B] (I32, keys without padding), word_ids [B, n] (I32), dy [B, n, d] (then the backward pass
 * runs) and parameters by name; missing ones are initialised from the seed. `out` gets y [B, n, d],
 * grad.x, grad.memory, grad.<parameter>, and weights [B, H, n, m]. */
struct oa_attend_options {
    const char *spec;      /* one layer of the attention language */
    const char *in, *out;  /* paths */
    int heads;             /* 0 = the metadata key "heads" of `in` */
    int causal;            /* 1: no token sees a later one */
    const char *precision; /* "f32", "bf16", "f64"; NULL = f32 */
    uint64_t seed;         /* of parameters that `in` lacks */
    int weights;           /* 1: write the attention weights, by plain C in double precision */
    int steps;             /* 1: y by decoding, one token at a time (needs `causal` or a memory) */
    long reserved[4];
};
OA_API enum oa_error oa_attend(oa_context *c, const struct oa_attend_options *o);

/* ---- a whole model on tensors from a file ---- */

/* `in` (safetensors) contains input_ids [B, T] (I32 or I64) and, where the model reads them,
 * lengths [B], token_type_ids [B, T], decoder_input_ids [B, U], decoder_lengths [B]; names that
 * begin with "expect." and attention masks are passed over. `out` gets logits [B, T or U,
 * vocabulary] or [B, classes], last_hidden_state, the input of the output layer, and
 * encoder_last_hidden_state of an encoder-decoder; rows beyond a length are 0. */
struct oa_forward_request {
    const char *in, *out;  /* paths */
    const char *precision; /* "f32", "bf16", "f64"; NULL = f32 */
    long reserved[4];
};
/* run: the folder of one. OA_FORMAT, OA_SHAPE, OA_ARGUMENT name file and tensor. */
OA_API enum oa_error oa_forward(oa_context *c, const char *run, const struct oa_forward_request *r);

#ifdef __cplusplus
}
#endif
#endif
