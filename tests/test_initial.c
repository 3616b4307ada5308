/* SPDX-License-Identifier: Apache-2.0
 * First values from a trained run (train.init), tensor by tensor and bit by bit: what is taken is
 * what is in the other run's model.safetensors, what is not taken is what a run without it
 * begins with. And that runs go on, that threads make no difference, what is refused, and that it
 * helps. */
#include "base/safetensors.h"
#include "setups.h"

#include "train/train.h"

#include <math.h>
#include <string.h>

static char *own;

static void write_pairs(const char *path, int count, int kind)
{
    static const char *const things[] = { "fox", "dog", "cat" }, *const how[] = { "quick", "slow",
                                                                                  "lazy", "tired" };
    FILE *f = fopen(path, "w");
    for (int i = 0; i < count; i++) {
        int k = i * 7919 + 13, a = (k >> 2) % 3, b = (k >> 4) % 4;
        if (kind == 0)
            fprintf(f, "%s\tthe %s %s over the dog\n", b < 2 ? "fast" : "late", how[b], things[a]);
        else
            fprintf(f, kind == 1 ? "the %s %s\n" : "the %s of %s\n", kind == 1 ? how[b] : things[a],
                    kind == 1 ? things[a] : how[b]);
    }
    assert_int_equal(fclose(f), 0);
}

static int make_files(void **state)
{
    (void)state;
    own = enter_own_folder();
    if (!own || write_foxes_and_cats("text.txt", 150) != 0)
        return -1;
    write_pairs("class.tsv", 200, 0);
    write_pairs("pairs.source", 100, 1);
    write_pairs("pairs.target", 100, 2);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    return leave_own_folder(own);
}

static struct oa_options options(const char *task, long steps)
{
    struct oa_options o = small_model("text.txt", steps);
    snprintf(o.data_task, sizeof o.data_task, "%s", task);
    if (strcmp(task, "classify") == 0)
        set_option(&o, "data.train", "class.tsv");
    if (strcmp(task, "translate") == 0)
        set_option(&o, "data.train", "pairs.source,pairs.target");
    o.model_layers = 2;
    o.model_context = 24;
    o.model_dropout = 0.1;
    o.train_batch = 4;
    o.train_lr = 1e-2;
    o.train_eval_every = 0;
    return o;
}

/* ---- runs ---- */

static volatile int stop;
struct watching {
    int lines, stop_at;
    char notices[8192], error[1024];
};
static struct watching seen;

static void watch(void *argument, int level, const char *line)
{
    struct watching *s = argument;
    size_t n = strlen(s->notices);
    if (level == 0)
        snprintf(s->notices + n, sizeof s->notices - n, "%s\n", line);
    if (level == 1 && strstr(line, ": step ") && ++s->lines == s->stop_at)
        stop = 2;
}

/* stop_at: progress line at which a stop is asked for; 0: never. */
static enum oa_error try_train(const struct oa_options *o, const char *folder, int threads,
                               bool resume, int stop_at, struct oa_run *run)
{
    struct oa_workload w = { 0 };
    seen = (struct watching){ .stop_at = stop_at };
    stop = 0;
    *run = (struct oa_run){ 0 };
    oa_context *c = oa_open(&(struct oa_settings){
        .threads = threads, .log = watch, .log_argument = &seen, .stop = &stop });
    struct oa_train_request r = { .options = o,
                                  .workload = &w,
                                  .folder = folder,
                                  .resume = resume,
                                  .keep = true,
                                  .title = "test" };
    enum oa_error e = oa_workload_open(c, o, &w);
    if (e == OA_OK)
        e = oa_train_run(c, &r, run);
    const char *why;
    if (oa_last_error(c, &why) != OA_OK)
        snprintf(seen.error, sizeof seen.error, "%s", why);
    oa_workload_close(&w);
    oa_close(c);
    return e;
}

static double train(const struct oa_options *o, const char *folder)
{
    struct oa_run run;
    if (try_train(o, folder, 2, false, 0, &run) != OA_OK)
        fail_msg("%s: %s", folder, seen.error);
    double loss = run.valid_loss;
    oa_run_free(&run);
    return loss;
}

static void expect_refusal(const struct oa_options *o, const char *folder, bool resume,
                           const char *part)
{
    struct oa_run run;
    assert_int_not_equal(try_train(o, folder, 1, resume, 0, &run), OA_OK);
    oa_run_free(&run);
    if (!strstr(seen.error, part))
        fail_msg("\"%s\" does not say \"%s\"", seen.error, part);
}

/* ---- models, tensor by tensor ---- */

struct models {
    oa_context *c;
    struct oa_tensors *from, *fresh, *now; /* the run that is started from; without it; with it */
};

static struct oa_tensors *open_model(oa_context *c, const char *folder)
{
    char path[256];
    struct oa_tensors *f;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (oa_tensors_open(c, path, &f) != OA_OK)
        fail_msg("no model in %s", folder);
    return f;
}

static struct models open_models(const char *from, const char *fresh, const char *now)
{
    oa_context *c = oa_open(NULL);
    return (struct models){ c, open_model(c, from), open_model(c, fresh), open_model(c, now) };
}

static void close_models(struct models *m)
{
    oa_tensors_close(m->from);
    oa_tensors_close(m->fresh);
    oa_tensors_close(m->now);
    oa_close(m->c);
}

/* Rows first … last − 1 of the tensor of the run, from row `at` of `other` on. */
static void same_rows(const struct oa_array *a, long first, long last, const struct oa_array *other,
                      long at)
{
    size_t row = a->bytes / (size_t)a->dim[0];
    assert_true(other->bytes / (size_t)other->dim[0] == row);
    assert_true(last <= a->dim[0] && at + last - first <= other->dim[0]);
    if (memcmp((const char *)a->data + (size_t)first * row,
               (const char *)other->data + (size_t)at * row, (size_t)(last - first) * row) != 0)
        fail_msg("%s: rows %ld to %ld differ", a->name, first, last - 1);
}

static bool same_shape(const struct oa_array *a, const struct oa_array *b)
{
    return a->dims == b->dims && memcmp(a->dim, b->dim, (size_t)a->dims * sizeof *a->dim) == 0;
}

/* Names that begin with one of `new` (ended by NULL) are as in a fresh run, all others as where it
 * started. */
static int all_taken_but(const struct models *m, const char *const *new)
{
    int fresh = 0;
    for (int i = 0; i < oa_tensors_count(m->now); i++) {
        const struct oa_array *a = oa_tensors_at(m->now, i);
        bool is_new = false;
        for (int k = 0; new[k]; k++)
            is_new = is_new || strncmp(a->name, new[k], strlen(new[k])) == 0;
        const struct oa_array *b = oa_tensors_find(is_new ? m->fresh : m->from, a->name);
        assert_non_null(b);
        assert_true(same_shape(a, b));
        if (memcmp(a->data, b->data, a->bytes) != 0)
            fail_msg("%s is not that of the %s", a->name,
                     is_new ? "fresh run" : "run it started from");
        fresh += is_new;
    }
    return fresh;
}

static bool equal_to(const struct oa_array *a, const struct oa_tensors *f)
{
    const struct oa_array *b = oa_tensors_find(f, a->name);
    return b && a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
}

/* A run of no steps that starts from `from`, and one that does not; both read text alike. */
static void begin_both(struct oa_options *o, const char *from)
{
    set_option(o, "train.init", "");
    snprintf(o->data_tokenizer, sizeof o->data_tokenizer, "%s/tokenizer.json", from);
    train(o, "fresh");
    set_option(o, "data.tokenizer", "char");
    set_option(o, "train.init", from);
    train(o, "now");
}

static void again(void)
{
    shell("rm -rf fresh now");
}

/* Does init.json have this, white space apart? */
static void in_list(const char *part)
{
    shell("tr -d ' \\n' < now/init.json | grep -qF '%s'", part);
}

/* ---- what is taken ---- */

static void a_masked_model_becomes_a_classifier(void **state)
{
    (void)state;
    static const char *const new[] = { "classifier.", NULL };
    struct oa_options o = options("mlm", 12);
    set_option(&o, "data.tokenizer", "bpe:270");
    train(&o, "masked");
    o = options("classify", 0);
    begin_both(&o, "masked");
    struct models m = open_models("masked", "fresh", "now");
    assert_int_equal(all_taken_but(&m, new), 2);
    assert_int_equal(oa_tensors_count(m.now), oa_tensors_count(m.from) + 2);
    close_models(&m);
    shell("cmp masked/tokenizer.json now/tokenizer.json");
    in_list("{\"tensor\":\"classifier.weight\",\"because\":\"notthere\"},{\"tensor\":\"classifier."
            "bias\","
            "\"because\":\"notthere\"}]");
    in_list("{\"tensor\":\"embedding.weight\"},{\"tensor\":\"position.weight\"},");
    in_list("\"from\":\"masked\",\"model\":\"sha256:");
    shell("grep -q $(sha256sum < masked/model.safetensors | cut -d ' ' -f 1) now/init.json");
    again();
    set_option(&o, "train.init", "masked/model.safetensors"); /* by its file */
    train(&o, "now");
    m = open_models("masked", "now", "now");
    all_taken_but(&m, new);
    close_models(&m);
    again();
}

/* Its classifier goes with it where there are as many classes, whatever they are called, and by its
 * file too; without classes all else does. */
static void a_classifier_becomes_another(void **state)
{
    (void)state;
    static const char *const nothing[] = { NULL }, *const tokens[] = { "embedding.",
                                                                       NULL }; /* <mask> is new */
    struct oa_options o = options("classify", 12);
    set_option(&o, "data.tokenizer", "byte");
    train(&o, "classes");
    shell("sed 's/^fast/slow/;s/^late/early/' class.tsv > renamed.tsv");
    o = options("classify", 0);
    set_option(&o, "data.train", "renamed.tsv");
    begin_both(&o, "classes");
    struct models m = open_models("classes", "fresh", "now");
    assert_int_equal(all_taken_but(&m, nothing), 0);
    assert_false(equal_to(oa_tensors_find(m.fresh, "classifier.weight"), m.from));
    close_models(&m);
    shell("grep -q '\"labels\": ..early., .slow.' now/config.json");
    again();
    o = options("mlm", 0);
    set_option(&o, "train.init", "classes/model.safetensors");
    train(&o, "now");
    m = open_models("classes", "now", "now");
    assert_int_equal(all_taken_but(&m, tokens), 1);
    close_models(&m);
    again();
}

/* Of a decoder an encoder has no use but for the tables; two special tokens are new. */
static void tables_alone_for_another_stack(void **state)
{
    (void)state;
    struct oa_options o = options("lm", 12);
    train(&o, "language");
    o = options("classify", 0);
    o.model_context = 30;
    begin_both(&o, "language");
    struct models m = open_models("language", "fresh", "now");
    const struct oa_array *there = oa_tensors_find(m.from, "embedding.weight"),
                          *here = oa_tensors_find(m.now, "embedding.weight");
    long tokens = there->dim[0];
    assert_int_equal(here->dim[0], tokens + 2);
    same_rows(here, 0, tokens, there, 0);
    same_rows(here, tokens, tokens + 2, oa_tensors_find(m.fresh, "embedding.weight"), tokens);
    here = oa_tensors_find(m.now, "position.weight");
    same_rows(here, 0, 24, oa_tensors_find(m.from, "position.weight"), 0);
    same_rows(here, 24, 30, oa_tensors_find(m.fresh, "position.weight"), 24);
    for (int i = 0; i < oa_tensors_count(m.now); i++) {
        const struct oa_array *a = oa_tensors_at(m.now, i);
        if (strncmp(a->name, "encoder.", 8) == 0)
            assert_memory_equal(a->data, oa_tensors_find(m.fresh, a->name)->data, a->bytes);
    }
    close_models(&m);
    in_list("{\"tensor\":\"position.weight\",\"rows\":24,\"of\":30}");
    in_list("{\"tensor\":\"encoder.norm.weight\",\"because\":\"thereinanotherstack\"}");
    again();
}

static void spans_become_a_translation(void **state)
{
    (void)state;
    static const char *const nothing[] = { NULL };
    struct oa_options o = options("span", 12);
    train(&o, "spans");
    o = options("translate", 0);
    begin_both(&o, "spans");
    struct models m = open_models("spans", "fresh", "now");
    assert_int_equal(all_taken_but(&m, nothing), 0);
    close_models(&m);
    again();
}

/* An encoder from a masked model, with its positions under their longer name, and for the embedding
 * of the source. */
static void a_masked_model_becomes_half_of_a_translation(void **state)
{
    (void)state;
    struct oa_options o = options("translate", 0);
    o.model_share_embeddings = false;
    begin_both(&o, "masked");
    struct models m = open_models("masked", "fresh", "now");
    const struct oa_array *embedding = oa_tensors_find(m.from, "embedding.weight");
    same_rows(oa_tensors_find(m.now, "source_embedding.weight"), 0, embedding->dim[0], embedding,
              0);
    same_rows(oa_tensors_find(m.now, "embedding.weight"), 0, embedding->dim[0], embedding, 0);
    same_rows(oa_tensors_find(m.now, "encoder.position.weight"), 0, 24,
              oa_tensors_find(m.from, "position.weight"), 0);
    for (int i = 0; i < oa_tensors_count(m.now); i++) {
        const struct oa_array *a = oa_tensors_at(m.now, i);
        bool encoder = strncmp(a->name, "encoder.layers", 14) == 0,
             decoder = strncmp(a->name, "decoder.", 8) == 0;
        if (encoder || decoder)
            assert_memory_equal(a->data, oa_tensors_find(encoder ? m.from : m.fresh, a->name)->data,
                                a->bytes);
    }
    close_models(&m);
    in_list("{\"tensor\":\"encoder.position.weight\",\"from\":\"position.weight\"}");
    again();
    set_option(&o, "train.init", "spans"); /* and back: from two stacks to one */
    struct oa_options p = options("classify", 0);
    begin_both(&p, "spans");
    m = open_models("spans", "fresh", "now");
    same_rows(oa_tensors_find(m.now, "position.weight"), 0, 24,
              oa_tensors_find(m.from, "encoder.position.weight"), 0);
    assert_memory_equal(oa_tensors_find(m.now, "encoder.norm.weight")->data,
                        oa_tensors_find(m.from, "encoder.norm.weight")->data, 64);
    close_models(&m);
    again();
}

/* Special tokens that another tokenizer, with the same pieces, has at other places: rows follow
 * their token. */
static void rows_follow_their_tokens(void **state)
{
    (void)state;
    struct oa_options o =
        options("translate", 0); /* adds </s> before <s>, spans the other way round */
    set_option(&o, "data.tokenizer", "char.json");
    shell("mkdir -p plain");
    struct oa_options l = options("lm", 0);
    train(&l, "plain/run");
    shell("cp plain/run/tokenizer.json char.json");
    train(&o, "fresh");
    set_option(&o, "train.init", "spans");
    train(&o, "now");
    struct models m = open_models("spans", "fresh", "now");
    const struct oa_array *there = oa_tensors_find(m.from, "embedding.weight"),
                          *here = oa_tensors_find(m.now, "embedding.weight");
    oa_context *c = oa_open(NULL);
    struct oa_tokenizer *a, *b;
    assert_int_equal(oa_tokenizer_load(c, "spans/tokenizer.json", &a), OA_OK);
    assert_int_equal(oa_tokenizer_load(c, "now/tokenizer.json", &b), OA_OK);
    int32_t start = oa_tokenizer_find(a, "<s>"), end = oa_tokenizer_find(a, "</s>");
    assert_int_not_equal(start, oa_tokenizer_find(b, "<s>"));
    same_rows(here, oa_tokenizer_find(b, "<s>"), oa_tokenizer_find(b, "<s>") + 1, there, start);
    same_rows(here, oa_tokenizer_find(b, "</s>"), oa_tokenizer_find(b, "</s>") + 1, there, end);
    same_rows(here, 0, oa_tokenizer_find(b, "</s>"), there, 0);
    oa_tokenizer_close(a);
    oa_tokenizer_close(b);
    close_models(&m);
    again();

    assert_int_equal(oa_tokenizer_load(c, "char.json", &a),
                     OA_OK); /* as many tokens, two of them exchanged */
    assert_int_equal(oa_tokenizer_add_special(a, "<s>", &start), OA_OK);
    assert_int_equal(oa_tokenizer_add_special(a, "</s>", &end), OA_OK);
    assert_int_equal(oa_tokenizer_save(c, a, "exchanged.json"), OA_OK);
    oa_tokenizer_close(a);
    set_option(&o, "train.init", "");
    train(&o, "fresh");
    set_option(&o, "train.init", "fresh");
    set_option(&o, "data.tokenizer", "exchanged.json");
    train(&o, "now");
    m = open_models("fresh", "fresh", "now");
    there = oa_tensors_find(m.from, "embedding.weight");
    here = oa_tensors_find(m.now, "embedding.weight");
    assert_true(same_shape(here, there));
    same_rows(here, start, start + 1, there, end);
    same_rows(here, end, end + 1, there, start);
    close_models(&m);
    oa_close(c);
    shell("rm -rf plain char.json exchanged.json");
    again();
}

/* ---- what is frozen ---- */

static const char chains[] = "softmax(qk=permutation) ; softmax(qk=haar)";

/* Matrices that another seed would draw otherwise, one of them kept as a transform, are those of
 * the run it starts from; they are read back, and can be started from again. */
static void frozen_projections_are_taken(void **state)
{
    (void)state;
    static const char *const nothing[] = { NULL };
    struct oa_options o = options("lm", 6);
    set_option(&o, "model.attention", chains);
    train(&o, "frozen");
    o.train_seed = 7;
    o.train_steps = 0;
    begin_both(&o, "frozen");
    struct models m = open_models("frozen", "fresh", "now");
    assert_int_equal(all_taken_but(&m, nothing), 0);
    for (int layer = 0; layer < 2; layer++) {
        char name[128];
        snprintf(name, sizeof name, "decoder.layers.%d.attention.query.weight", layer);
        assert_false(equal_to(oa_tensors_find(m.fresh, name), m.from)); /* another seed's */
    }
    close_models(&m);
    o.train_seed = 8; /* the third is the first's again, and so is its loss */
    o.train_save_frozen = false;
    set_option(&o, "train.init", "now");
    struct oa_run run;
    assert_int_equal(try_train(&o, "third", 1, false, 0, &run), OA_OK);
    m = open_models("frozen", "fresh", "third");
    assert_int_equal(all_taken_but(&m, nothing), 0);
    assert_int_equal(oa_tensors_count(m.now),
                     oa_tensors_count(m.from)); /* whatever train.save_frozen says */
    close_models(&m);
    oa_context *c = oa_open(NULL);
    struct oa_device *d;
    struct oa_tokenizer *tok;
    struct oa_model *model;
    assert_int_equal(oa_device_open(c, OA_PRECISION_F32, false, &d), OA_OK);
    assert_int_equal(oa_tokenizer_load(c, "third/tokenizer.json", &tok), OA_OK);
    struct oa_model_form form = oa_language_model_form(oa_tokenizer_size(tok));
    assert_int_equal(oa_model_open_saved(d, "third/model.safetensors", &o, &form, tok, &model),
                     OA_OK);
    struct oa_parameter *p =
        oa_store_find(&model->store, "decoder.layers.0.attention.query.transform");
    assert_non_null(p);
    assert_true(p->seed == 1);
    oa_model_close(model);
    oa_tokenizer_close(tok);
    oa_device_close(d);
    oa_close(c);
    double loss = run.valid_loss;
    oa_run_free(&run);
    o = options("lm", 6);
    set_option(&o, "model.attention", chains);
    assert_int_equal(try_train(&o, "frozen", 1, true, 0, &run), OA_OK);
    assert_true(run.valid_loss == loss);
    oa_run_free(&run);
    shell("rm -rf third");
    again();
}

/* A learned matrix of the same name and shape is no random orthonormal one, nor one of another
 * rule. */
static void frozen_ones_are_not_learned_ones(void **state)
{
    (void)state;
    struct oa_options o = options("lm", 0);
    o.train_seed = 7;
    set_option(&o, "model.attention", "softmax(qk=haar)");
    begin_both(&o, "language");
    struct models m = open_models("language", "fresh", "now");
    const char *name = "decoder.layers.0.attention.query.weight";
    assert_true(equal_to(oa_tensors_find(m.now, name), m.fresh));
    assert_true(equal_to(oa_tensors_find(m.now, "decoder.layers.0.ffn.in.weight"), m.from));
    in_list("query.weight\",\"because\":\"frozenhereandlearntthere\"");
    close_models(&m);
    again();
    set_option(&o, "model.attention", "softmax(qk=gaussian)");
    begin_both(&o, "frozen");
    m = open_models("frozen", "fresh", "now");
    name = "decoder.layers.1.attention.query.weight";
    assert_true(equal_to(oa_tensors_find(m.now, name), m.fresh));
    in_list("layers.1.attention.query.weight\",\"because\":\"frozen,anddrawnbyanotherrulethere\"");
    close_models(&m);
    again();
    set_option(&o, "model.attention", "softmax"); /* what is learnt may begin with a frozen one */
    begin_both(&o, "frozen");
    m = open_models("frozen", "fresh", "now");
    assert_true(equal_to(oa_tensors_find(m.now, name), m.from));
    close_models(&m);
    again();
}

/* In another precision: f64 has the numbers of f32, f32 has those of f64 rounded. */
static void precisions(void **state)
{
    (void)state;
    struct oa_options o = options("lm", 0);
    o.train_precision = OA_PRECISION_F64;
    set_option(&o, "train.init", "language");
    train(&o, "wide");
    o.train_precision = OA_PRECISION_BF16;
    set_option(&o, "train.init", "wide");
    train(&o, "now");
    struct models m = open_models("language", "wide", "now");
    for (int i = 0; i < oa_tensors_count(m.now); i++) {
        const struct oa_array *a = oa_tensors_at(m.now, i),
                              *wide = oa_tensors_find(m.fresh, a->name),
                              *b = oa_tensors_find(m.from, a->name);
        assert_int_equal(wide->type, OA_F64);
        assert_memory_equal(a->data, b->data, a->bytes);
        for (size_t k = 0; k < b->bytes / 4; k++)
            assert_true(oa_array_value(wide, k) == oa_array_value(b, k));
    }
    close_models(&m);
    shell("rm -rf wide");
    again();
}

/* ---- going on ---- */

/* With frozen matrices of another seed, dropout and features that are drawn again: stopped at many
 * places, with another number of threads each time. */
static void goes_on_with_the_same_bits(void **state)
{
    (void)state;
    static const char *const specs[] = { chains, "performer(kernel=sderf, features=6, redraw=4)" };
    for (int i = 0; i < 2; i++) {
        struct oa_run run;
        struct oa_options o = options("lm", 10);
        set_option(&o, "model.attention", specs[i]);
        train(&o, "before");
        o.train_seed = 5;
        o.train_steps = 30;
        o.train_checkpoint_every = 4;
        set_option(&o, "train.init", "before");
        train(&o, "whole");
        enum oa_error e = OA_INTERRUPTED;
        int sittings = 0;
        for (; e == OA_INTERRUPTED && sittings < 60; sittings++) {
            e = try_train(&o, "parts", 1 + sittings % 3, sittings > 0, 1, &run);
            oa_run_free(&run);
        }
        if (e != OA_OK)
            fail_msg("%s", seen.error);
        assert_true(sittings > 1);
        shell("cmp whole/model.safetensors parts/model.safetensors");
        shell(
            "rm -f parts/model.safetensors parts/checkpoint-000000030.safetensors"); /* a kill after
                                                                                        step 28 */
        assert_int_equal(try_train(&o, "parts", 2, true, 0, &run), OA_OK);
        oa_run_free(&run);
        shell("cmp whole/model.safetensors parts/model.safetensors");
        shell("mv before elsewhere"); /* the same run at another place */
        set_option(&o, "train.init", "elsewhere");
        o.train_steps = 31;
        assert_int_equal(try_train(&o, "parts", 2, true, 0, &run), OA_OK);
        oa_run_free(&run);
        shell("rm -rf elsewhere whole parts");
    }
}

static void another_start_is_another_run(void **state)
{
    (void)state;
    struct oa_options o = options("lm", 4);
    set_option(&o, "train.init", "language");
    train(&o, "now");
    set_option(&o, "train.init", "frozen");
    o.train_steps = 8;
    expect_refusal(&o, "now", true,
                   "now was begun with another model to start from (train.init) (SHA-256 ");
    set_option(&o, "train.init", "");
    expect_refusal(&o, "now", true,
                   "now was begun with train.init, but now none is given: give it again");
    set_option(&o, "train.init", "gone");
    expect_refusal(&o, "now", true, "train.init = gone: no such run");
    struct oa_options plain = options("lm", 4);
    train(&plain, "fresh");
    set_option(&plain, "train.init", "language");
    plain.train_steps = 8;
    expect_refusal(&plain, "fresh", true,
                   "fresh was begun without train.init, but now one is given");
    again();
}

/* ---- refusals ---- */

static void refusals(void **state)
{
    (void)state;
    struct oa_options o = options("classify", 4);
    set_option(&o, "train.init", "nowhere");
    expect_refusal(&o, "now", false, "train.init = nowhere: no such run");
    set_option(&o, "train.init", "text.txt");
    expect_refusal(&o, "now", false, "text.txt is not a run: ./config.json is missing");
    shell("cp -r masked half && rm half/model.safetensors");
    set_option(&o, "train.init", "half");
    expect_refusal(&o, "now", false, "the run has not ended (half/model.safetensors is missing)");
    shell("cp masked/model.safetensors half/ && printf X | dd of=half/model.safetensors bs=1 "
          "seek=9000 conv=notrunc "
          "status=none");
    expect_refusal(&o, "now", false, "half/model.safetensors");
    shell("cp masked/model.safetensors half/ && cp language/tokenizer.json half/");
    expect_refusal(&o, "now", false, "another tokenizer");
    set_option(&o, "train.init", "masked");
    set_option(&o, "data.tokenizer", "bpe:260");
    expect_refusal(&o, "now", false,
                   "train.init = masked: its tokenizer differs from data.tokenizer = bpe:260, so "
                   "its embeddings");
    set_option(&o, "data.tokenizer", "byte");
    expect_refusal(&o, "now", false, "leave out data.tokenizer");
    set_option(&o, "data.tokenizer", "char");
    o.model_width = 32;
    expect_refusal(&o, "now", false,
                   "none of its tensors fits this model: model.width, model.layers and model.heads "
                   "are 16, 2, 2 there and 32, 2, 2 here; give the options model.* of that run");
    assert_int_not_equal(access("now", F_OK), 0);
    shell("rm -rf half");
}

/* The same tokenizer made anew, and a file of it, are the run's. */
static void the_same_tokenizer_may_be_named(void **state)
{
    (void)state;
    struct oa_options o = options("mlm", 0);
    set_option(&o, "train.init", "masked");
    set_option(&o, "data.tokenizer", "bpe:270");
    train(&o, "now");
    set_option(&o, "data.tokenizer", "masked/tokenizer.json");
    train(&o, "fresh");
    shell("cmp now/tokenizer.json fresh/tokenizer.json && cmp now/tokenizer.json "
          "masked/tokenizer.json");
    again();
}

/* ---- that it helps ---- */

/* The loss of the first step, and that after few steps, from what a longer training learnt. */
static void a_start_is_a_head_start(void **state)
{
    (void)state;
    struct oa_options o = options("lm", 150);
    o.model_dropout = 0;
    train(&o, "long");
    o.train_steps = 5;
    o.train_seed = 3;
    double fresh = train(&o, "fresh");
    set_option(&o, "train.init", "long");
    double now = train(&o, "now");
    if (!(now < 0.6 * fresh))
        fail_msg("%g after a start, %g without", now, fresh);
    o = options("mlm", 300);
    o.model_dropout = 0;
    train(&o, "learnt");
    o.train_steps = 5;
    o.train_seed = 3;
    again();
    fresh = train(&o, "fresh");
    set_option(&o, "train.init", "learnt");
    now = train(&o, "now");
    if (!(now < fresh - 0.15))
        fail_msg("masked: %g after a start, %g without", now, fresh);
    again();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_masked_model_becomes_a_classifier),
        cmocka_unit_test(a_classifier_becomes_another),
        cmocka_unit_test(tables_alone_for_another_stack),
        cmocka_unit_test(spans_become_a_translation),
        cmocka_unit_test(a_masked_model_becomes_half_of_a_translation),
        cmocka_unit_test(rows_follow_their_tokens),
        cmocka_unit_test(frozen_projections_are_taken),
        cmocka_unit_test(frozen_ones_are_not_learned_ones),
        cmocka_unit_test(precisions),
        cmocka_unit_test(goes_on_with_the_same_bits),
        cmocka_unit_test(another_start_is_another_run),
        cmocka_unit_test(refusals),
        cmocka_unit_test(the_same_tokenizer_may_be_named),
        cmocka_unit_test(a_start_is_a_head_start),
    };
    threads_only("goes_on_*");
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
