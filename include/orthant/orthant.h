/* SPDX-License-Identifier: Apache-2.0
 *
 * Orthant: a measuring instrument for attention. The only public header, and the manual of the
 * library.
 *
 * Conventions. Handles are opaque; whoever makes one frees it, and NULL may be freed. Functions
 * that can fail return enum oa_error; the sentence that goes with it is in the context
 * (oa_last_error) and stays until oa_clear_error. The library never prints, never exits and has no
 * globals: text goes to a sink, progress to the log callback. One context is used from one thread
 * at a time; several contexts are independent.
 *
 * Structs are set to zero and then filled: `reserved` is room for what later versions add, whose
 * zero will mean what happens today. A value there that is not 0 is refused, since it asks for what
 * this version does not have.
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

struct oa_settings { /* all zero = defaults */
    int threads;     /* 0 = all cores */
    const char *isa; /* "ref", "avx2", "avx512", "amx"; NULL or "auto" = best */
    void (*log)(void *argument, int level,
                const char *line); /* level 0 notice, 1 progress, 2 information; or NULL */
    void *log_argument;
    volatile int *stop; /* set it to a signal number: long work saves and returns */
    long reserved[4];   /* 0 */
};

OA_API oa_context *
oa_open(const struct oa_settings *settings); /* NULL settings = defaults; NULL when out of memory */
OA_API void oa_close(oa_context *c);
/* Several processes that mpirun or srun started do one piece of work together (oa_train,
 * oa_compare) once each of them has joined; alone, nothing happens. One that does not come is
 * waited for `patience` seconds, at least ten, and 600 where patience is 0; then the process ends,
 * since MPI cannot be left, with a sentence on standard error. Refused where the library was built
 * without MPI. Of those that have joined only the first, rank 0, says and prints anything. oa_part
 * comes after the last work, whatever became of it, and before oa_close: oa_speaks, before it, says
 * whether this rank is the one to tell of a failure (oa_last_error), and waits for the others a few
 * seconds, or where nothing failed until they have come as well; oa_part then leaves, or ends ranks
 * that did not come, with this exit code. Of work that ended with OA_INTERRUPTED oa_stopped_by is
 * the number of the signal that this rank or another one was asked to stop with; 0: none was. */
OA_API enum oa_error oa_join(oa_context *c, double patience);
OA_API int oa_rank(const oa_context *c);
OA_API int oa_speaks(oa_context *c);
OA_API int oa_stopped_by(const oa_context *c);
OA_API void oa_part(oa_context *c, int code);
OA_API enum oa_error oa_last_error(const oa_context *c,
                                   const char **sentence); /* OA_OK when nothing failed */
OA_API void oa_clear_error(oa_context *c);
OA_API const char *oa_version(void);

/* ---- where results go ---- */

/* Called with pieces of text in order. */
typedef void oa_sink(void *argument, const char *text, size_t length);

/* What every command is given: a sink, and the form of the text. NULL, or a sink that is NULL: no
 * text is made. */
struct oa_output {
    oa_sink *sink;
    void *argument;
    int json;         /* 1: one JSON object instead of text for people */
    int width;        /* columns that text for people may take; 0 = as many as it needs */
    long reserved[2]; /* 0 */
};

/* ---- options: one table gives command line, configuration files, manual pages and reports ---- */

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
OA_API int
oa_option_describe(int i,
                   struct oa_option *out); /* row i in the order of the table; 0 past the end */

/* A set of all options, each with a value; it belongs to the caller and must go before its context.
 */
typedef struct oa_config oa_config;
OA_API oa_config *oa_config_new(oa_context *c); /* defaults; NULL after a failure */
OA_API void oa_config_free(oa_config *config);
/* key "model.layers", value as text: refused with the nearest spelling, or with the range. */
OA_API enum oa_error oa_config_set(oa_config *config, const char *key, const char *value);
/* The value as text, to a sink. */
OA_API enum oa_error oa_config_get(const oa_config *config, const char *key,
                                   const struct oa_output *out);
/* The value of an option of kind INT, REAL or BOOL (0 or 1); of kind TEXT (borrowed until the
 * option is set again). OA_ARGUMENT for another kind. */
OA_API enum oa_error oa_config_get_number(const oa_config *config, const char *key, double *value);
OA_API enum oa_error oa_config_get_text(const oa_config *config, const char *key,
                                        const char **value);
OA_API enum oa_error oa_config_read(oa_config *config,
                                    const char *path); /* YAML: the options that are there */
OA_API enum oa_error oa_config_write(const oa_config *config,
                                     const struct oa_output *out); /* all, as YAML or JSON */

/* The options of the run in a folder (its config.json). */
OA_API enum oa_error oa_config_read_run(oa_config *config, const char *folder);

/* on: oa_train and oa_compare with this configuration begin anew in a folder that holds another run
 * or comparison, which is removed when nothing is left that could refuse the new one. A folder that
 * holds anything else is refused. */
OA_API void oa_config_overwrite(oa_config *config, int on);

/* The candidate nearest to `word` by edit distance, or NULL when none is near (for "did you mean").
 */
OA_API const char *oa_nearest(const char *word, const char *const *candidates, int count);

/* ---- commands: each writes what `orthant COMMAND` prints ---- */

/* A run's folder holds model.safetensors, config.json, tokenizer.json, log.jsonl, and checkpoints.
 * Training and comparisons lock their folder: another process or context that is in it is named,
 * with OA_IO. */

/* A measure of a task: its name and unit as oa_list_tasks has them; they live as long as the
 * library. */
struct oa_task_score {
    const char *name, *unit;
    double value; /* NaN: not measured */
};
enum { OA_TASK_SCORES = 8 };

/* How well a model does what it was trained for. What a task does not have is NaN. */
struct oa_scores {
    double loss;       /* nats a token or an example, squared error: the unit of measured[0] */
    double perplexity; /* exp(loss); its unit is the tokenizer's token */
    double bits_per_character, bits_per_byte;
    double tokens; /* targets: tokens, classes or numbers that were predicted */
    int measures;
    struct oa_task_score measured[OA_TASK_SCORES]; /* [measures] of the task, the loss first */
    double reserved[4];
};

/* Trains a model with the options model.*, data.*, train.* and keeps it in the folder. resume: go
 * on with the run that the folder holds, from its newest good checkpoint; what defines the run must
 * not differ then. Without it a folder that holds a run is refused. Returns OA_INTERRUPTED after
 * saving when a stop was asked for. scores may be NULL. */
OA_API enum oa_error oa_train(const oa_config *config, const char *folder, int resume,
                              struct oa_scores *scores, const struct oa_output *out);
/* Evaluates the run in a folder on files (commas between), or on its test or validation data when
 * files is NULL. columns: of files that are tables, as data.columns; NULL = those of the run. */
OA_API enum oa_error oa_eval(oa_context *c, const char *folder, const char *files,
                             const char *columns, struct oa_scores *scores,
                             const struct oa_output *out);
/* What is to be continued, beside the options generate.*; all zero: generate.prompt, once. */
struct oa_generate_request {
    const char *prompt; /* any bytes; NULL = generate.prompt */
    size_t length;
    const char *const
        *stop; /* a continuation ends before the first of these texts, which is not written */
    int stops;
    /* Not NULL: asked for one prompt after the other (the text is borrowed until the next call)
     * until it returns 0; -1: it could not be read, and the call ends with OA_IO. A byte order mark
     * and CRs at the ends are left away. */
    int (*next)(void *argument, const char **prompt, size_t *length);
    void *argument;
    long reserved[4]; /* 0 */
};
/* Goes on from prompts with the language model in a folder (runs of other tasks are refused); of
 * the options, generate.* count. Text goes to the sink token by token, the prompt first; JSON is
 * one object a prompt, on a line of its own where `next` asks for prompts, and says whether a
 * signal ended it (then OA_INTERRUPTED comes back) and cut a sample short. What is written is
 * UTF-8, of tokens that the training text can have had. Of the prompts that `next` gives one that
 * cannot be read is said in a notice, and gives an empty line or no samples. Continuation number n
 * of a call, counted from 0 over all prompts, has the seed generate.seed + n and is what a call
 * with that seed alone makes. request may be NULL. */
OA_API enum oa_error oa_generate(const oa_config *config, const char *folder,
                                 const struct oa_generate_request *request,
                                 const struct oa_output *out);

/* Lines that a run of the task translate or summarize is to write for. */
struct oa_translate_request {
    /* Asked for one line after the other (borrowed until the next call) until it returns 0; -1: it
     * could not be read, and the call ends with OA_IO when the lines before it are answered. */
    int (*next)(void *argument, const char **line, size_t *length);
    void *argument;
    int best;      /* hypotheses a line, in lines as those of Moses; 0: the best one alone */
    int scores;    /* 1: log p and a tab before it */
    int at_once;   /* 1: a line is answered before the next is asked for; 0: some side by side */
    size_t bytes;  /* of all lines, for progress; 0: not known */
    int alignment; /* 1: which word of the line each word that is written looked at most, behind it,
                    * as "0-0 2-1": words are what blanks part, counted from 0, that of the line
                    * first. It is the mean over the heads of the cross-attention of the last
                    * decoder layer but one. */
    long reserved[4]; /* 0 */
};
/* Writes for every line with the model in a folder; of the options, decode.* count. A line that
 * cannot be read is said in a notice and gives an empty one. */
OA_API enum oa_error oa_translate(const oa_config *config, const char *folder,
                                  const struct oa_translate_request *request,
                                  const struct oa_output *out);

/* Texts that a run of the task classify or regress is to say a class or a number of. */
struct oa_classify_request {
    /* Asked for one line after the other (borrowed until the next call) until it returns 0; -1: it
     * could not be read, and the call ends with OA_IO when the lines before it are answered. */
    int (*next)(void *argument, const char **line, size_t *length);
    void *argument;
    size_t bytes; /* of all lines, for progress; 0: not known */
    const char
        *files; /* instead of next: files of lines, gzip unpacked, or of pictures (*.bin, as those
                 * of data.train), with commas between; CSV and JSON are refused, and tables (*.tsv)
                 * where single texts are read and no columns named; NULL: next is asked */
    const char *columns; /* which of the columns of a line, between tabs, a model reads: numbers, or
                          * names that line 1 has; NULL: the whole line, or where the model reads
                          * pairs the two that there are */
    int batch;           /* texts computed side by side; 0: 32. It changes no result. */
    int scores;  /* 1: the probability of each class behind it, between tabs; the first line has the
                    labels */
    int at_once; /* 1: a line is answered before the next is asked for */
    long reserved[4]; /* 0 */
};
/* A line each, in their order: the label, or the number. A text that cannot be read is said in a
 * notice and gives an empty line, as an empty one does; one that is longer than the model reads is
 * cut and counted. JSON: an object a line,
 * {"line", "label", "scores": {label: p}} or {"line", "number"}, null where there is no answer. A
 * run of another task is refused, and so is one that does not know its labels. The training data
 * are not needed. */
OA_API enum oa_error oa_classify(oa_context *c, const char *folder,
                                 const struct oa_classify_request *request,
                                 const struct oa_output *out);

/* What is to be inspected. */
struct oa_inspect_request {
    const char
        *text; /* what the model reads; with an encoder and a decoder, what the encoder reads */
    size_t length;
    const char *target; /* what the decoder beside an encoder reads, or the second text of a pair;
                           NULL: nothing */
    size_t target_length;
    const char *page; /* also write a page with the maps (HTML); NULL: do not */
    long reserved[4]; /* 0 */
};
/* The attention map of every layer and head of a trained model on a text, and what each says:
 * entropy, distance, the fixed attention nearest to it. The text is a table of the heads; JSON has
 * the maps. Computed in float32, or float64 where the run was. Refused: a text that is longer than
 * the model's context. */
OA_API enum oa_error oa_inspect(oa_context *c, const char *folder,
                                const struct oa_inspect_request *request,
                                const struct oa_output *out);

/* A comparison: every attention trained compare.seeds times under the budget compare.equal. The
 * folder gets results.json, report.html and the runs; a comparison that was interrupted goes on
 * where it was, and one that is given more seeds or attentions uses the runs that it has. A folder
 * of another comparison is refused. Returns OA_DIVERGED, after the report, when every attention had
 * runs that diverged, so that nothing can be judged. The text is the table. count 0: the attentions
 * of compare.attentions. */
OA_API enum oa_error oa_compare(const oa_config *config, const char *const *attentions, int count,
                                const char *folder, const struct oa_output *out);
/* What training would take, without doing it: parameters, FLOPs, memory, and the time of steps that
 * are made here, or scaled from smaller ones; one row an attention. count 0: model.attention. */
OA_API enum oa_error oa_plan(const oa_config *config, const char *const *attentions, int count,
                             const struct oa_output *out);

/* Published claims, held against comparisons: experiments are files *.yaml
 * (docs/evidence-experiments.md). */
struct oa_evidence_request {
    const char *const *name; /* experiments to run, by file name without .yaml; none: all */
    int names;
    const char *experiments; /* their folder; NULL = "experiments" */
    const char *data;        /* the folder in which they name their files; NULL = "data" */
    const char *folder;      /* of the runs and records; NULL = "evidence" */
    const char
        *page;  /* Markdown; .json and a folder of charts go beside it; NULL = "docs/evidence.md" */
    int list;   /* 1: run and write nothing */
    int no_run; /* 1: run nothing, write the page */
    long reserved[4]; /* 0 */
};
/* Runs what has not come to its end, judges all, writes the page. The text is a table of verdicts.
 * When a stop was asked for, OA_INTERRUPTED; the next call goes on. Data that are not there: OA_IO
 * where the experiment was named, otherwise a notice. */
OA_API enum oa_error oa_evidence(oa_context *c, const struct oa_evidence_request *r,
                                 const struct oa_output *out);

/* All mechanisms; one attention at the shape model.* of the config: formulas, parameters, FLOPs,
 * modes, caveats. */
OA_API enum oa_error oa_list(oa_context *c, const struct oa_output *out);
/* The language and the mechanisms as Markdown: docs/attention.md. */
OA_API enum oa_error oa_list_markdown(oa_context *c, const struct oa_output *out);
/* What models can learn: the values of data.task, with what is read and predicted, measures and
 * citation. */
OA_API enum oa_error oa_list_tasks(oa_context *c, const struct oa_output *out);
OA_API enum oa_error oa_explain(const oa_config *config, const char *spec,
                                const struct oa_output *out);
OA_API int oa_mechanism_describe(int i, const char **name, const char **title); /* 0 past the end */

/* What has been claimed of frozen random orthogonal projections, claim by claim, at model.width and
 * model.heads: the closed form, what is measured, the verdict. page: also write it as HTML with
 * charts; NULL = do not. Some seconds. */
OA_API enum oa_error oa_theory(const oa_config *config, const char *page,
                               const struct oa_output *out);

/* Makes a tokenizer from text files (commas between) and writes it as tokenizer.json. spec: "char",
 * "byte", "bpe:N", "word:N". */
OA_API enum oa_error oa_tokenizer_make(oa_context *c, const char *spec, const char *files,
                                       const char *path, const struct oa_output *out);
/* Text to the ids of a tokenizer.json, with blanks between, and back, byte for byte. */
OA_API enum oa_error oa_encode(oa_context *c, const char *tokenizer, const char *text,
                               size_t length, const struct oa_output *out);
OA_API enum oa_error oa_decode(oa_context *c, const char *tokenizer, const int32_t *ids,
                               size_t count, const struct oa_output *out);

/* A data set made by a rule (`orthant data list` has the tasks): its files and data.json,
 * docs/data.md. Sizes that are 0 are the task's own. Asking for the same gives the same bytes on
 * any machine. */
struct oa_data_request {
    const char *task;        /* "listops", "copy" … */
    long train, valid, test; /* examples, all different */
    uint64_t seed;
    long min_length, max_length, alphabet, values, depth, arguments; /* those that the task has */
    long reserved[4];                                                /* 0 */
};
/* Writes it into a folder, which is made; one that holds other things is refused, and another data
 * set replaced. */
OA_API enum oa_error oa_data(oa_context *c, const struct oa_data_request *r, const char *folder,
                             const struct oa_output *out);
/* The tasks: rules, sizes with defaults and ranges, files, papers. */
OA_API enum oa_error oa_data_list(oa_context *c, const struct oa_output *out);
/* How good texts, labels or numbers are beside those that were expected: BLEU, chrF and TER equal
 * to sacreBLEU's, ROUGE to rouge-score's, the rest to scikit-learn's and SciPy's (docs/metrics.md).
 * All zero but for names and files: what these packages do by themselves. A field that no metric of
 * the request reads must be 0. */
struct oa_score_request {
    /* bleu, chrf, ter, rouge (1, 2, L, and Lsum with rouge_newline), rouge1, rouge2, rougeL,
     * rougeLsum; accuracy, f1, mcc, confusion; pearson, spearman. */
    const char *const *metric;
    int metrics;
    /* Files of lines, gzip or plain; line i of each belongs together. Several references: BLEU,
     * chrF, TER and ROUGE. Several hypotheses: systems on one test set, the first of which is the
     * baseline. */
    const char *const *reference;
    int references;
    const char *const *hypothesis;
    int hypotheses;
    int decimals;       /* of what is printed, 1 … 12; 0 = 1 for BLEU, chrF, TER, 4 for others */
    int sentence_level; /* 1: a score for each line */
    int lowercase;      /* BLEU, chrF */
    const char *bleu_tokenize; /* "13a", "intl", "char", "none"; NULL = char for text without
                                  spaces, else 13a */
    const char *bleu_smooth;   /* "exp", "floor", "add-k", "none"; NULL = exp */
    double bleu_smooth_value;  /* of floor and add-k; 0 = 0.1 and 1 */
    int bleu_order;            /* the longest n-gram; 0 = 4 */
    int bleu_effective_order;  /* 1: only orders that there are; sentence_level has it always */
    int bleu_force;            /* 1: no notice of text that looks tokenised */
    int chrf_characters, chrf_words, chrf_beta; /* 0 = 6, 0, 2 */
    int chrf_whitespace, chrf_eps_smoothing;
    int ter_normalized, ter_no_punctuation, ter_asian, ter_case_sensitive;
    int rouge_stemmer;
    const char *rouge_newline; /* what stands for a line end between sentences, "<n>"; NULL =
                                  nothing does */
    const char *f1_average;    /* "binary", "macro", "micro", "weighted"; NULL = binary */
    const char *f1_positive;   /* the label of the binary F1; NULL = "1" */
    /* "confidence" (one system), "paired-bs", "paired-ar" (several; bootstrap, approximate
     * randomisation); NULL = none
     */
    const char *resample;
    long samples;     /* 0 = 1000, paired-ar 10000 */
    uint64_t seed;    /* of NumPy's default_rng; sacreBLEU's own is 12345 */
    long reserved[4]; /* 0 */
};
OA_API enum oa_error oa_score(oa_context *c, const struct oa_score_request *r,
                              const struct oa_output *out);

/* The machine: matrix arithmetic and memory bandwidth, of one core and of all threads. About a
 * second. */
OA_API enum oa_error oa_bench_peak(oa_context *c, const struct oa_output *out);
/* Every version of every kernel on one core, beside the plain C one. Some seconds. */
OA_API enum oa_error oa_bench_kernels(oa_context *c, const struct oa_output *out);
/* Attention layers, forward and backward, over lengths: time, FLOPs, share of the peak, memory,
 * ratios to softmax (which is measured as well when it is not among them), and the exponents of
 * time and memory in the length. An attention that is refused at a length is shown with the reason.
 * Returns OA_INTERRUPTED, after what was measured until then was written, when a stop was asked
 * for. */
struct oa_bench_request {
    const char *const *attentions;
    int count;
    const long *length;
    int lengths;
    long tokens; /* of a pass: as many sequences as fit, at least one */
    long width, heads;
    int causal;
    const char *precision; /* "f32", "bf16", "f64"; NULL = f32 */
    int processor_time;    /* 1: of all threads, against one core's peak; for machines that do other
                              work */
    long reserved[4];      /* 0 */
};
OA_API enum oa_error oa_bench_attention(oa_context *c, const struct oa_bench_request *r,
                                        const struct oa_output *out);

/* Where the time of a training step goes: real steps of the configured run, by part of the model
 * and by operation, each with the least time that its arithmetic or its memory traffic would take
 * on this machine. processor_time: 1: of all threads, against one core's peaks; 0: by the wall,
 * unless other programs had the processor for more than 15 % of the time, which is reported, and
 * times are then of the processor; -1: by the wall always. Returns OA_INTERRUPTED, after what was
 * measured until then was written, when a stop was asked for. */
OA_API enum oa_error oa_bench_step(const oa_config *config, int processor_time,
                                   const struct oa_output *out);

/* How fast the configured model, with its first values, writes: tokens a second of one sequence and
 * of several side by side, which read the weights once for all; beside them the bytes of a step and
 * the time in which this machine reads as many. OA_ARGUMENT for models that are not a decoder
 * alone; OA_INTERRUPTED as oa_bench_attention. */
struct oa_decode_bench_request {
    const char *const *attentions; /* instead of model.attention, each in turn */
    int count;                     /* 0: model.attention */
    const long *sequences;         /* side by side, 1 … 4096, each in turn */
    int sizes;
    long after;         /* tokens of each sequence before those that are timed */
    int processor_time; /* 1: of all threads */
    long reserved[4];   /* 0 */
};
OA_API enum oa_error oa_bench_decode(const oa_config *config,
                                     const struct oa_decode_bench_request *request,
                                     const struct oa_output *out);

/* The proof that attentions do what they claim, on this machine: spec, or every mechanism when it
 * is NULL. quick: fewer variants and draws. Returns OA_DISPROVED, after the text was written, when
 * a check failed. */
OA_API enum oa_error oa_verify(oa_context *c, const char *spec, int quick,
                               const struct oa_output *out);

/* Processor, kernels chosen and why not the others, libraries, threads, memory. */
OA_API enum oa_error oa_doctor(oa_context *c, const struct oa_output *out);

/* ---- an attention layer for programs ---- */

/* Any attention of the language, with projections, forward and backward, on arrays of the caller: y
 * [batch, tokens, width] from x [batch, tokens, width], row-major. Their numbers, and those of
 * parameters and gradients, are float, in the precision f64 double. What a training run changes
 * otherwise than by gradients (redrawn features, running averages of statistics) stays as it was.
 * examples/attention_layer.c uses it. */
typedef struct oa_attention oa_attention;
struct oa_attention_form {
    long width, heads;
    long length;        /* the longest sequence; tables have this size */
    long memory_length; /* cross-attention: the longest memory; 0 = length */
    int causal;         /* 1: no token sees a later one */
    int cross;          /* 1: keys and values come from a memory, another sequence; never causal */
    int bias;           /* 1: biases in the projections */
    const char *precision; /* "f32", "bf16" or "f64"; NULL = f32 */
    uint64_t seed;         /* of the first values */
    long reserved[4];      /* 0 */
};
/* spec: one layer of the attention language. NULL after a failure. */
OA_API oa_attention *oa_attention_open(oa_context *c, const char *spec,
                                       const struct oa_attention_form *form);
OA_API void oa_attention_close(oa_attention *a);

/* What a call reads; the arrays are the caller's. */
struct oa_attention_input {
    long batch, tokens;
    const void *x;      /* [batch, tokens, width] */
    const void *memory; /* cross-attention: [batch, memory_tokens, width] */
    long memory_tokens;
    /* [batch]: true lengths, of the memory in cross-attention and else of x: what lies beyond is
     * padding, which is never read, and 0 in y where it is of x. NULL = none. */
    const int32_t *lengths;
    long reserved[4]; /* 0 */
};
OA_API enum oa_error oa_attention_forward(oa_attention *a, const struct oa_attention_input *in,
                                          void *y);
/* Of the last forward call: dx and dmemory (shaped as x and memory; each may be NULL) from dy;
 * gradients of parameters are added up. */
OA_API enum oa_error oa_attention_backward(oa_attention *a, const void *dy, void *dx,
                                           void *dmemory);

/* Decoding with a causal layer, or one of cross-attention: what it keeps of one sequence that comes
 * token by token. It does not outlive the layer, and its forward and backward calls do not meddle
 * with it. NULL after a failure. */
typedef struct oa_attention_state oa_attention_state;
OA_API oa_attention_state *oa_attention_state_open(oa_attention *a);
OA_API void oa_attention_state_close(oa_attention_state *s);
OA_API void oa_attention_state_reset(oa_attention_state *s); /* another sequence */
/* Both then go on independently: branches. Both are states of one layer. */
OA_API enum oa_error oa_attention_state_copy(const oa_attention_state *from,
                                             oa_attention_state *to);
/* The next tokens of one sequence (batch 1; one token, or a chunk): their rows y of the whole
 * sequence. A memory is given at every step, with its length where it has padding, and read at the
 * first. */
OA_API enum oa_error oa_attention_step(oa_attention_state *s, const struct oa_attention_input *in,
                                       void *y);

struct oa_weights { /* one parameter of a layer; the arrays belong to the layer */
    const char *name;
    int dims;
    long dim[4], count;
    void *value;    /* float, or double in f64; may be written; oa_attention_changed says so */
    void *gradient; /* NULL: frozen */
    long reserved[2];
};
OA_API int oa_attention_weights(oa_attention *a, int i,
                                struct oa_weights *out); /* 0 past the end */
OA_API void oa_attention_changed(oa_attention *a);
OA_API void oa_attention_zero_gradients(oa_attention *a);

/* ---- a trained model for programs ---- */

/* The language model in a run's folder, with its tokenizer. examples/score_text.c uses it. */
typedef struct oa_language_model oa_language_model;
OA_API oa_language_model *oa_language_model_open(oa_context *c,
                                                 const char *folder); /* NULL after a failure */
OA_API void oa_language_model_close(oa_language_model *m);

struct oa_language_model_shape {
    long vocabulary; /* of logits; at least the tokenizer's */
    long context;    /* tokens that the model sees at most */
    long width, layers, heads;
    const char *attention; /* canonical form; lives as long as the model */
    long reserved[4];
};
OA_API void oa_language_model_describe(const oa_language_model *m,
                                       struct oa_language_model_shape *out);

/* Ids of a text into ids [room]; *count is how many there are, also when that is more than `room`
 * (then OA_SHAPE). */
OA_API enum oa_error oa_language_model_encode(oa_language_model *m, const char *text, size_t length,
                                              int32_t *ids, size_t room, size_t *count);
/* The bytes of a token, `*length` of them; NULL for an id that stands for none. They live as long
 * as the model. */
OA_API const char *oa_language_model_token(const oa_language_model *m, int32_t id, size_t *length);
/* nats [count - 1]: of every token but the first, -log p(ids[i + 1] | ids[0 … i]). A text longer
 * than the context is scored in windows end to end, as oa_eval does: the tokens before that one
 * sees are those of its window. */
OA_API enum oa_error oa_language_model_score(oa_language_model *m, const int32_t *ids, size_t count,
                                             double *nats);

/* A text that the model reads token by token. It does not outlive the model. NULL after a failure.
 */
typedef struct oa_language_model_state oa_language_model_state;
OA_API oa_language_model_state *oa_language_model_state_open(oa_language_model *m);
OA_API void oa_language_model_state_close(oa_language_model_state *s);
OA_API void oa_language_model_state_reset(oa_language_model_state *s); /* another text */
/* Both then go on independently: branches, as in a beam search. Both are states of one model. */
OA_API enum oa_error oa_language_model_state_copy(const oa_language_model_state *from,
                                                  oa_language_model_state *to);
/* The next tokens of the text; logits [vocabulary], log-odds of the one after them, may be NULL.
 * All tokens since the last reset must fit in the context: more are refused with OA_SHAPE, and the
 * state stays as it was. */
OA_API enum oa_error oa_language_model_step(oa_language_model_state *s, const int32_t *ids,
                                            size_t count, float *logits);

/* ---- one attention layer on tensors from a file ---- */

/* `in` (safetensors) holds x [B, n, d]; if wanted memory [B, m, d] (cross-attention), lengths [B]
 * (I32, true key lengths), word_ids [B, n] (I32), dy [B, n, d] (then the backward pass runs) and
 * parameters by name; what is missing is initialised from the seed. `out` gets y [B, n, d], grad.x,
 * grad.memory, grad.<parameter>, and weights [B, H, n, m]. */
struct oa_attend_options {
    const char *spec;      /* the attention language: one layer */
    const char *in, *out;  /* safetensors files */
    int heads;             /* 0 = the metadata key "heads" of `in` */
    int causal;            /* 1: no token sees a later one */
    const char *precision; /* "f32", "bf16", "f64"; NULL = f32 */
    uint64_t seed;         /* of parameters that `in` does not hold */
    int weights;           /* 1: write the attention map, by the oracle in double */
    int steps;             /* 1: y by decoding, one token at a time (with `causal`, or a memory) */
    long reserved[4];      /* 0 */
};
OA_API enum oa_error oa_attend(oa_context *c, const struct oa_attend_options *o);

#ifdef __cplusplus
}
#endif
#endif
