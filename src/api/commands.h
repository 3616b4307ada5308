/* SPDX-License-Identifier: Apache-2.0
 * Functions of the program's commands that only print: not part of the public header. The shared
 * library exports those marked OA_API for the Python package, which belongs to the same version
 * (python/orthant/_binding.py is made of this file and orthant.h); programs have no header for
 * them. src/cli includes this file and orthant.h, and nothing else of the library. */
#ifndef ORTHANT_COMMANDS_H
#define ORTHANT_COMMANDS_H

#include "orthant/orthant.h"
#include "verify/callable.h"

/* The candidate nearest to `word` by edit distance; NULL if none is near (for "did you mean"). */
const char *oa_nearest(const char *word, const char *const *candidates, int count);

/* Text in lines of at most `width` columns as far as its words allow, from column `at` on; further
 * lines begin at column `indent`. Bytes go to `add`. */
void oa_wrap(void (*add)(void *argument, const char *text, size_t length), void *argument,
             const char *text, int at, int indent, int width);
/* Terminal columns of a text. */
int oa_text_width(const char *utf8);

/* ---- attentions and tasks ---- */

/* All mechanisms, as a table; the language and all mechanisms as Markdown (docs/attention.md). */
OA_API enum oa_error oa_list(oa_context *c, const struct oa_output *out);
OA_API enum oa_error oa_list_markdown(oa_context *c, const struct oa_output *out);
/* The values of data.task: input and output, metrics, references. */
OA_API enum oa_error oa_list_tasks(oa_context *c, const struct oa_output *out);
/* The synthetic data sets: rules, sizes with defaults and ranges, files, papers. */
OA_API enum oa_error oa_data_list(oa_context *c, const struct oa_output *out);
/* Formulas, parameters, FLOPs, modes and caveats of an attention in the shape of model.*. */
OA_API enum oa_error oa_explain(const oa_config *config, const char *spec,
                                const struct oa_output *out);
/* Published claims about frozen orthogonal projections at model.width and model.heads: closed form,
 * measurement, verdict. page: HTML file to write, with charts; NULL = none. Takes seconds. */
OA_API enum oa_error oa_theory(const oa_config *config, const char *page,
                               const struct oa_output *out);
/* Checks that attentions are computed correctly: spec, or every mechanism if NULL. quick = 1: fewer
 * variants and draws. OA_DISPROVED, after the text was written, if a check failed. */
OA_API enum oa_error oa_verify(oa_context *c, const char *spec, int quick,
                               const struct oa_output *out);

/* Claims about an attention that a command computes (docs/foreign.md; the callback that
 * oa_callable_verify takes is in verify/callable.h). */
struct oa_foreign_request {
    const char *command;    /* for sh; the names of files are appended */
    const char *claims;     /* separated by commas; NULL = deterministic,dtype,batch */
    const char *inputs;     /* "x" or "qkv"; NULL = "x" */
    const char *tokens;     /* lengths of sequences, separated by commas; NULL = "1,2,7,12" */
    const char *folder;     /* where the files of the calls stay; NULL = nowhere */
    long width, heads;      /* 0 = 16 and 2 */
    double timeout_seconds; /* of one process; 0 = 60 */
    uint64_t seed;          /* of the tensors */
};
/* OA_DISPROVED, after the text, if a claim does not hold; OA_IO if the command cannot be run or
 * does not end in time. */
enum oa_error oa_verify_foreign(oa_context *c, const struct oa_foreign_request *r,
                                const struct oa_output *out);

/* As oa_encode, with the special tokens that the file puts around a text, or two (pair not NULL);
 * as JSON with the type of each id. */
enum oa_error oa_encode_with_specials(oa_context *c, const char *tokenizer, const char *text,
                                      size_t length, const char *pair, const struct oa_output *out);

/* ---- a trained model ---- */

struct oa_inspect_request {
    const char *text; /* [length]; of an encoder-decoder model, the source */
    size_t length;
    const char *target; /* [target_length]: of an encoder-decoder model, the target; or the second
                           text of a pair; NULL = none */
    size_t target_length;
    const char *page; /* HTML file to write, with the maps; NULL = none */
    long reserved[4];
};
/* The attention map of every layer and head on a text, with entropy, distance and the nearest fixed
 * attention; the text is a table of the heads, JSON has the maps. Computed in float32, in float64
 * if the run was. A text longer than the context is refused. */
OA_API enum oa_error oa_inspect(oa_context *c, const char *folder,
                                const struct oa_inspect_request *request,
                                const struct oa_output *out);

struct oa_serve_request {
    const char *const *folder; /* [folders] runs; their names are those of the models */
    int folders;
    const char *host;      /* NULL = 127.0.0.1 */
    int port;              /* 0 = any free one */
    const char *key_file;  /* a key on each line; NULL = none is needed */
    int sequences;         /* most that are decoded at the same time; 0 = 16 */
    long connections;      /* most at a time; 0 = 512 */
    long body;             /* most KiB of a request; 0 = 8192 */
    double timeout;        /* seconds for sending a request, for taking an answer; 0 = 30 */
    const char *precision; /* "f32", "bf16", "f64", of all models; NULL = that of each run */
    long reserved[3];
};
/* Serves trained models over HTTP (docs/serve.md) until a stop is requested; then answers what was
 * accepted and returns OA_INTERRUPTED. Text and JSON: the address, when clients can connect. */
enum oa_error oa_serve(oa_context *c, const struct oa_serve_request *r,
                       const struct oa_output *out);

/* ---- before and beyond a comparison ---- */

/* Sets all options to those of a run, its tokenizer included, for oa_plan_training and oa_bench_*:
 * what is counted and timed then is a model of its shape, with initial values, that starts from
 * nothing and has no teacher. `folder` is borrowed by the context: files that the attention names
 * are read in it. */
enum oa_error oa_config_like_run(oa_config *config, const char *folder);

/* Parameters, FLOPs, memory and estimated time of a training, without doing it: a row for each of
 * `count` attentions; 0: model.attention. */
OA_API enum oa_error oa_plan_training(const oa_config *config, const char *const *attentions,
                                      int count, const struct oa_output *out);

/* Experiments (*.yaml, docs/evidence-experiments.md) that test published claims. */
struct oa_evidence_request {
    const char *const *name; /* [names] experiments to run, without .yaml; none = all */
    int names;
    const char *experiments; /* their folder; NULL = "experiments" */
    const char *data;        /* folder of their data files; NULL = "data" */
    const char *folder;      /* of runs and records; NULL = "evidence" */
    const char *page; /* Markdown; a .json file and a folder of charts get the same name; NULL =
                         "docs/evidence.md" */
    int list;         /* 1: run and write nothing */
    int no_run;       /* 1: run nothing, write the page */
    long reserved[4];
};
/* Runs the experiments that are not complete, judges all, writes the page; the text is a table of
 * verdicts. OA_INTERRUPTED when stopped; the next call continues. Missing data: OA_IO if the
 * experiment was named, else a notice. */
OA_API enum oa_error oa_evidence(oa_context *c, const struct oa_evidence_request *r,
                                 const struct oa_output *out);

/* The folder of a Hugging Face model (config.json, *.safetensors, tokenizer.json) as a run in
 * `out`, which must not have one. OA_UNSUPPORTED names what the model has and Orthant has not,
 * before a tensor is read. precision: train.precision of the run, NULL: f32. The text is what was
 * made. */
OA_API enum oa_error oa_import(oa_context *c, const char *folder, const char *out,
                               const char *precision, const struct oa_output *output);

/* A run as the folder of a Hugging Face model in `out`, which must not have one. OA_UNSUPPORTED
 * names the option that no family has. */
OA_API enum oa_error oa_export(oa_context *c, const char *run, const char *out,
                               const struct oa_output *output);

/* A run with the weights of `run` and another attention, in `out`, which must not have one; what
 * does not fit is initialised. The text has the weights of each layer that were kept. */
OA_API enum oa_error oa_swap(oa_context *c, const char *run, const char *attention, const char *out,
                             const struct oa_output *output);

/* A run with another attention (model.attention) that learns from the run `teacher`: first the
 * outputs of attention layers, then that of the model. Continues one that was stopped. */
OA_API enum oa_error oa_distil(const oa_config *config, const char *teacher, const char *folder,
                               const struct oa_output *out);

/* Runs of other programs: files of CSV, TSV or JSON, "-" (standard input), folders of TensorBoard's
 * event files. Of config: compare.metric (a column or tag), baseline (a system), margin,
 * family, test, threshold (a number of the metric), sequential. */
struct oa_judge_request {
    const char *const *path; /* [paths] */
    int paths;
    const char *system, *seed, *step; /* columns; NULL = recognised by their names */
    const char *at; /* value of a run with steps: "last", "best" or a step; NULL = last */
    int better;     /* -1: lower values are better, 1: higher ones, 0: told by the metric's name */
    double level;   /* that any of the judged intervals misses; 0 = 0.05 */
    int unpaired;   /* 1: runs with the same seed have nothing in common */
    long reserved[4];
};
/* Judges them as oa_compare judges its runs. The text is the table; the folder (NULL = none) gets
 * results.json, report.html, report.md and report.svg. OA_DIVERGED as oa_compare. */
OA_API enum oa_error oa_judge_runs(const oa_config *config, const struct oa_judge_request *r,
                                   const char *folder, const struct oa_output *out);

/* ---- the machine ---- */

/* Processor, kernels in use and why others are not, libraries, threads, memory. */
OA_API enum oa_error oa_doctor(oa_context *c, const struct oa_output *out);
/* Peak matrix arithmetic and memory bandwidth of one core and of all threads. About a second. */
OA_API enum oa_error oa_bench_peak(oa_context *c, const struct oa_output *out);
/* Every version of every kernel on one core, relative to plain C. Takes seconds. */
OA_API enum oa_error oa_bench_kernels(oa_context *c, const struct oa_output *out);

struct oa_bench_request {
    const char *const *attentions; /* [count] */
    int count;
    const long *length; /* [lengths] sequence lengths, in tokens */
    int lengths;
    long tokens; /* per pass: as many sequences as fit, at least one */
    long width, heads;
    int causal;
    const char *precision; /* "f32", "bf16", "f64"; NULL = f32 */
    int processor_time;    /* 1: processor time of all threads, relative to the peak of one core */
    long reserved[4];
};
/* Attention layers, forward and backward: time, FLOPs, share of the peak, memory, ratios to softmax
 * (measured too if not listed), and the exponents of time and memory in the length. An attention
 * that is refused at a length is shown with the reason. OA_INTERRUPTED when stopped, after the
 * measured rows were written. */
OA_API enum oa_error oa_bench_attention(oa_context *c, const struct oa_bench_request *r,
                                        const struct oa_output *out);

/* Time of training steps of the configured run by part of the model and by operation, with the
 * lower bound given by arithmetic and memory traffic. processor_time = 1: processor time of all
 * threads, relative to the peaks of one core; -1: wall time; 0: wall time, but processor time, with
 * a notice, if other programs use more than 15 % of the processor. OA_INTERRUPTED as above. */
OA_API enum oa_error oa_bench_step(const oa_config *config, int processor_time,
                                   const struct oa_output *out);

struct oa_decode_bench_request {
    const char *const *attentions; /* [count], each in turn; 0: model.attention */
    int count;
    const long *sequences; /* [sizes] numbers of sequences decoded in parallel, 1 … 4096 */
    int sizes;
    long after;         /* tokens of context before the timed ones */
    int processor_time; /* 1: of all threads */
    long reserved[4];
};
/* Decoding speed of the configured model, untrained: tokens per second of one sequence and of
 * several in parallel, which read the weights once for all; the bytes of a step and the time that
 * this machine takes to read them. OA_ARGUMENT unless the model is a decoder alone; OA_INTERRUPTED
 * as above. */
OA_API enum oa_error oa_bench_decode(const oa_config *config,
                                     const struct oa_decode_bench_request *request,
                                     const struct oa_output *out);

#endif
