/* SPDX-License-Identifier: Apache-2.0
 * Tasks. What the table says is what opens; a class, a number and a reversed word are learnt by
 * models that could not know them otherwise; scores are those that the rows give when they are
 * counted one by one; a run that goes on, and with another number of threads, makes the same bits.
 */
#include "setups.h"

#include "data/example_parts.h"
#include "metrics/metrics.h"
#include "tasks/details.h"
#include "tasks/writer.h"
#include "train/train.h"

#include <math.h>
#include <string.h>

static char *own;

static const char *sentence(const oa_context *c)
{
    const char *text;
    oa_last_error(c, &text);
    return text;
}

static const char *const colours[] = { "red", "blue", "green", "black" };
static const char *const things[] = { "car", "house", "tree", "stone", "river", "cloud" };

/* Row i of a side: sentences of which one word in the middle decides. */
static void write_sentences(const char *path, int count, int seed, const char *kind)
{
    FILE *f = fopen(path, "w");
    for (int i = 0; i < count; i++) {
        const char *more = &" so so"[3 * (i % 3)]; /* lengths differ */
        int k = i * 7919 + seed * 104729, colour = (k >> 3) % 4, a = (k >> 5) % 6, b = (k >> 8) % 6;
        if (strcmp(kind, "class") == 0)
            fprintf(f, "%s\ta %s and a %s %s%s\n", colour == 1 || colour == 2 ? "cold" : "warm",
                    things[a], colours[colour], things[b], more);
        else if (strcmp(kind, "number") == 0)
            fprintf(f, "%d.5\ta %s and a %s %s%s\n", colour, things[a], colours[colour], things[b],
                    more);
        else if (strcmp(kind, "turns") == 0)
            fprintf(f, "one %s %s __eou__ %s %s one%s __eou__\n", things[a], colours[colour],
                    colours[colour], things[a], more);
        else if (strcmp(kind, "source") == 0)
            fprintf(f, "one %s %s %s%s\n", things[a], colours[colour], things[b], more);
        else
            fprintf(f, "%s %s %s one%s\n", things[b], colours[colour], things[a], more);
    }
    assert_int_equal(fclose(f), 0);
}

static int make_files(void **state)
{
    static const char *const kinds[] = { "class", "number", "source", "target", "turns" };
    (void)state;
    own = enter_own_folder();
    for (int i = 0; own && i < 5; i++) {
        char path[64];
        snprintf(path, sizeof path, "train.%s%s", kinds[i], i < 2 ? ".tsv" : "");
        write_sentences(path, 400, 1, kinds[i]);
        snprintf(path, sizeof path, "valid.%s%s", kinds[i], i < 2 ? ".tsv" : "");
        write_sentences(path, 60, 2, kinds[i]);
    }
    return own ? 0 : -1;
}

static int remove_files(void **state)
{
    (void)state;
    return leave_own_folder(own);
}

static struct oa_options options(const char *task, long steps)
{
    bool writes = strcmp(task, "translate") == 0 || strcmp(task, "summarize") == 0;
    const char *kind = strcmp(task, "regress") == 0 ? "number" : "class";
    struct oa_options o = small_model("", steps);
    snprintf(o.data_task, sizeof o.data_task, "%s", task);
    snprintf(o.data_tokenizer, sizeof o.data_tokenizer, "bpe:300");
    snprintf(o.data_train, sizeof o.data_train,
             writes ? "train.source,train.target" : "train.%s.tsv", kind);
    snprintf(o.data_valid, sizeof o.data_valid,
             writes ? "valid.source,valid.target" : "valid.%s.tsv", kind);
    if (strcmp(task, "dialogue") == 0) {
        snprintf(o.data_train, sizeof o.data_train, "train.turns");
        snprintf(o.data_valid, sizeof o.data_valid, "valid.turns");
    }
    o.model_width = 32;
    o.model_context = 40;
    o.train_batch = 32;
    o.train_lr = 1e-2;
    o.train_eval_every = 0;
    return o;
}

static void train(const struct oa_options *o, const char *folder, int threads, struct oa_run *run)
{
    oa_context *c = oa_open(&(struct oa_settings){ .threads = threads });
    struct oa_workload w;
    if (oa_workload_open(c, o, &w) != OA_OK)
        fail_msg("%s", sentence(c));
    struct oa_train_request r = {
        .options = o, .workload = &w, .folder = folder, .resume = true, .keep = true
    };
    if (oa_train_run(c, &r, run) != OA_OK)
        fail_msg("%s", sentence(c));
    oa_workload_close(&w);
    oa_close(c);
}

/* ---- the table ---- */

static void stacks_in_the_table_are_those_of_the_models(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    const struct oa_task *task;
    for (int i = 0; (task = oa_task_at(i)); i++) {
        struct oa_options o = options(task->name, 1);
        struct oa_workload w;
        int metric = task->metric == NULL;
        assert_ptr_equal(oa_task_find(task->name), task);
        assert_string_equal(task->measures[0].name, "loss");
        assert_false(task->measures[0].higher);
        for (int k = 0; task->measures[k].name; k++)
            metric += task->metric && strcmp(task->measures[k].name, task->metric) == 0;
        assert_int_equal(metric, 1);
        if (oa_workload_open(c, &o, &w) != OA_OK)
            fail_msg("%s: %s", task->name, sentence(c));
        assert_int_equal(oa_form_stacks(&w.form), task->stacks);
        assert_int_equal(oa_options_stacks(&o), task->stacks);
        assert_true(oa_workload_side(&w, OA_TRAINING).targets >
                    oa_workload_side(&w, OA_VALIDATION).targets);
        assert_true(oa_workload_side(&w, OA_TEST).targets == 0);
        oa_workload_close(&w);
    }
    struct oa_options o = options("sing", 1);
    struct oa_workload w;
    assert_int_equal(oa_workload_open(c, &o, &w), OA_ARGUMENT);
    expect_failure(c, OA_ARGUMENT, "unknown task \"sing\"; available: lm, ");
    oa_close(c);
}

/* ---- learning ---- */

static void test_a_class_is_learnt(void **state)
{
    (void)state;
    struct oa_options o = options("classify", 60);
    struct oa_run run;
    train(&o, "class", 2, &run);
    assert_true(run.scores[1] >= 98); /* half of the rows are warm */
    assert_true(run.scores[2] >= 97 && run.scores[2] <= 100);
    assert_true(run.scores[3] >= 95 && run.scores[3] <= 100);
    assert_true(run.valid_loss < 0.2);
    oa_run_free(&run);
}

static void test_a_number_is_learnt(void **state)
{
    (void)state;
    struct oa_options o = options("regress", 120);
    struct oa_run run;
    train(&o, "number", 2, &run);
    assert_true(run.scores[1] > 95 && run.scores[2] > 90);
    assert_true(run.valid_loss < 0.2); /* the numbers' variance is 1.25 */
    oa_run_free(&run);
}

static void test_words_are_reversed(void **state)
{
    (void)state;
    struct oa_options o = options("translate", 500);
    o.train_lr = 5e-3;
    struct oa_run run;
    train(&o, "words", 2, &run);
    assert_true(run.scores[1] >
                95); /* of a copy of the source it is 0: no four words stand alike */
    assert_true(run.scores[2] > 95);
    oa_run_free(&run);
}

/* ---- scores ---- */

/* The rows one by one, in batches of one without padding, counted by hand. */
static void scores_are_computed_from_all_rows(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_options o = options("classify", 4);
    struct oa_workload w;
    struct oa_device *d;
    struct oa_model *m;
    struct oa_run run = { 0 };
    oa_tape t;
    int right = 0;
    double nats = 0;
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    assert_int_equal(oa_device_open(c, OA_PRECISION_F64, false, &d), OA_OK);
    assert_int_equal(oa_model_open(d, &o, &w.form, false, &m), OA_OK);
    oa_tape_init(&t, d);
    struct oa_evaluation e = { .tape = &t,
                               .model = m,
                               .workload = &w,
                               .side = OA_VALIDATION,
                               .title = "test",
                               .judged = true };
    assert_int_equal(w.task->batches(c, &o, &w, OA_VALIDATION, 0, &e.batches), OA_OK);
    assert_int_equal(oa_batches_cover(e.batches, w.tokenizer, 0, &e.cover), OA_OK);
    assert_int_equal(oa_evaluate(&e, &run), OA_OK);
    for (size_t i = 0; i < w.valid.count; i++) {
        int32_t n = (int32_t)(w.valid.source.start[i + 1] - w.valid.source.start[i]);
        double out[2];
        struct oa_batch one = { .rows = 1,
                                .length = n,
                                .input = w.valid.source.ids + w.valid.source.start[i],
                                .lengths = &n,
                                .label = &w.valid.label[i] };
        oa_tape_reset(&t, false, false, (struct oa_stream){ 0 });
        assert_int_equal(oa_model_outputs(&t, m, &one, out), OA_OK);
        right += (out[1] > out[0]) == w.valid.label[i];
        nats += log(exp(out[0]) + exp(out[1])) - out[w.valid.label[i]];
    }
    assert_int_equal(w.valid.count, 60);
    assert_true(fabs(run.scores[1] - 100 * right / 60.0) < 1e-9);
    assert_true(fabs(run.valid_loss - nats / 60) < 1e-9);
    oa_batches_close(e.batches);
    oa_tape_free(&t);
    oa_model_close(m);
    oa_device_close(d);
    oa_workload_close(&w);
    oa_close(c);
}

/* ---- parts and examples ---- */

/* A model on its validation side, in float64, with everything that is said of it. */
struct judged {
    oa_context *c;
    struct oa_options o;
    struct oa_workload w;
    struct oa_device *d;
    struct oa_model *m;
    oa_tape t;
    struct oa_run run;
    long length[64];
    double out[64][4]; /* of each row alone */
};

static void answer_alone(struct judged *x)
{
    const struct oa_examples *v = &x->w.valid;
    for (size_t i = 0; i < v->count; i++) {
        int32_t n = (int32_t)(v->source.start[i + 1] - v->source.start[i]);
        struct oa_batch one = { .rows = 1,
                                .length = n,
                                .input = v->source.ids + v->source.start[i],
                                .lengths = &n,
                                .label = v->label };
        x->length[i] = n;
        oa_tape_reset(&x->t, false, false, (struct oa_stream){ 0 });
        assert_int_equal(oa_model_outputs(&x->t, x->m, &one, x->out[i]), OA_OK);
    }
}

static void make_judged(struct judged *x, const struct oa_options *o)
{
    *x = (struct judged){ .c = oa_open(NULL), .o = *o };
    assert_int_equal(oa_workload_open(x->c, o, &x->w), OA_OK);
    assert_int_equal(oa_device_open(x->c, OA_PRECISION_F64, false, &x->d), OA_OK);
    assert_int_equal(oa_model_open(x->d, o, &x->w.form, false, &x->m), OA_OK);
    oa_tape_init(&x->t, x->d);
    struct oa_evaluation e = {
        .tape = &x->t, .model = x->m, .workload = &x->w, .side = OA_VALIDATION, .title = "test"
    };
    e.judged = e.detailed = true;
    assert_int_equal(x->w.task->batches(x->c, o, &x->w, OA_VALIDATION, 0, &e.batches), OA_OK);
    assert_int_equal(oa_batches_cover(e.batches, x->w.tokenizer, 0, &e.cover), OA_OK);
    for (int twice = 0; twice < 2; twice++) /* what was said before is replaced */
        assert_int_equal(oa_evaluate(&e, &x->run), OA_OK);
    oa_batches_close(e.batches);
    if (!x->w.form.decoder)
        answer_alone(x);
}

static void unmake_judged(struct judged *x)
{
    oa_run_free(&x->run);
    oa_tape_free(&x->t);
    oa_model_close(x->m);
    oa_device_close(x->d);
    oa_workload_close(&x->w);
    oa_close(x->c);
}

static const struct oa_breakdown *part(const struct judged *x, const char *by, const char *name,
                                       const char *measure)
{
    for (int i = 0; i < x->run.details.part_count; i++) {
        const struct oa_breakdown *p = &x->run.details.parts[i];
        if (strcmp(p->by, by) == 0 && strcmp(p->name, name) == 0 &&
            strcmp(p->measure, measure) == 0)
            return p;
    }
    fail_msg("there is no %s of the %s \"%s\"", measure, by, name);
    return NULL;
}

static void assert_part(const struct judged *x, const char *by, const char *name,
                        const char *measure, double value, double n)
{
    const struct oa_breakdown *p = part(x, by, name, measure);
    if (!(fabs(p->value - value) < 1e-9) || p->n != n)
        fail_msg("%s of %s %s is %.12g of %g, not %.12g of %g", measure, by, name, p->value, p->n,
                 value, n);
}

/* Every row is in the parts by length once, no part has rows of another's lengths; calls `check`
 * with each. */
static void each_length(const struct judged *x, const char *measure,
                        double (*score)(const struct judged *, long, long))
{
    long rows = 0, before = 0, parts = 0;
    for (int i = 0; i < x->run.details.part_count; i++) {
        const struct oa_breakdown *p = &x->run.details.parts[i];
        long low, high, n = 0;
        if (strcmp(p->by, "length") != 0)
            continue;
        assert_string_equal(p->measure, measure);
        int read = sscanf(p->name, "%ld to %ld tokens", &low, &high);
        high = read == 1 ? low : high;
        assert_true(read >= 1 && low > before && high >= low);
        for (size_t r = 0; r < x->w.valid.count; r++)
            n += x->length[r] >= low && x->length[r] <= high;
        assert_true(p->n == (double)n && n > 0);
        double right = score(x, low, high);
        if (!(fabs(p->value - right) < 1e-9))
            fail_msg("%s is %.12g, not %.12g", p->name, p->value, right);
        before = high;
        rows += n;
        parts++;
    }
    assert_int_equal(rows, x->w.valid.count);
    assert_true(parts > 1 && parts <= OA_LENGTHS);
}

static int found(const struct judged *x, size_t row)
{
    return x->out[row][1] > x->out[row][0];
}

static double accuracy_of(const struct judged *x, long low, long high)
{
    double n = 0, right = 0;
    for (size_t r = 0; r < x->w.valid.count; r++)
        if (x->length[r] >= low && x->length[r] <= high) {
            n++;
            right += found(x, r) == x->w.valid.label[r];
        }
    return 100 * right / n;
}

/* The examples of one side are the same for every model. */
static void assert_examples(const struct judged *x, const struct judged *other)
{
    const struct oa_details *a = &x->run.details, *b = &other->run.details;
    assert_int_equal(a->example_count, OA_SPECIMENS);
    assert_int_equal(b->example_count, OA_SPECIMENS);
    for (int i = 0; i < OA_SPECIMENS; i++) {
        assert_true(a->examples[i].row == b->examples[i].row);
        assert_true(a->examples[i].row < 60 &&
                    (i == 0 || a->examples[i].row > a->examples[i - 1].row));
        assert_string_equal(a->examples[i].source, b->examples[i].source);
        assert_string_equal(a->examples[i].reference, b->examples[i].reference);
    }
}

static void assert_cell_is(const struct judged *x, long row, int cell, const char *text)
{
    size_t n;
    const char *s = oa_rows_cell(&x->w.texts.valid, (size_t)row, cell, &n);
    assert_true(n == strlen(text) && memcmp(s, text, n) == 0);
}

static void scores_by_class_and_length(void **state)
{
    (void)state;
    struct judged x, other;
    struct oa_options o = options("classify", 1);
    double both[2] = { 0, 0 }, right[2] = { 0, 0 }, said[2] = { 0, 0 };
    make_judged(&x, &o);
    o.train_seed = 77;
    make_judged(&other, &o);
    for (size_t r = 0; r < 60; r++) {
        right[x.w.valid.label[r]]++;
        said[found(&x, r)]++;
        both[found(&x, r)] += found(&x, r) == x.w.valid.label[r];
    }
    for (int k = 0; k < 2; k++) {
        const char *name = k ? "warm" : "cold";
        assert_part(&x, "class", name, "accuracy", 100 * both[k] / right[k], right[k]);
        assert_part(&x, "class", name, "f1", 200 * both[k] / (right[k] + said[k]), right[k]);
    }
    each_length(&x, "accuracy", accuracy_of);
    assert_examples(&x, &other);
    for (int i = 0; i < OA_SPECIMENS; i++) {
        const struct oa_specimen *e = &x.run.details.examples[i];
        assert_cell_is(&x, e->row, 0, e->reference);
        assert_cell_is(&x, e->row, 1, e->source);
        assert_string_equal(e->output, found(&x, (size_t)e->row) ? "warm" : "cold");
    }
    unmake_judged(&other);
    unmake_judged(&x);
}

static void answer_nothing(void *argument, long entry, struct oa_text *out)
{
    (void)argument;
    (void)entry;
    oa_text_add(out, "", 0);
}

/* Texts of characters of `bytes` bytes, after one of a byte: as many as fit the limits are shown,
 * and no part of one. */
static void cut_texts_are_whole_characters(void **state)
{
    static const char *const characters[] = { "a", "ä", "€", "𝄞" };
    oa_context *c = oa_open(NULL);
    (void)state;
    for (size_t bytes = 1; bytes <= 4; bytes++) {
        struct oa_rows rows;
        struct oa_details d = { 0 };
        struct oa_text text;
        oa_rows_init(&rows, c, "test", OA_ANSWER_CLASS);
        oa_text_init(&text, c);
        oa_text_printf(&text, "-");
        while (text.length <= OA_SHOWN_TEXT)
            oa_text_printf(&text, "%s", characters[bytes - 1]);
        assert_int_equal(oa_rows_add_cell(&rows, "label", 5), OA_OK);
        assert_int_equal(oa_rows_add_cell(&rows, text.s, text.length), OA_OK);
        assert_int_equal(oa_rows_end(&rows, 0, 1), OA_OK);
        struct oa_examples examples = { .rows = &rows, .count = 1 };
        struct oa_scored_rows scored = { &examples, NULL, 1 };
        assert_int_equal(oa_details_examples(c, &scored, answer_nothing, NULL, &d), OA_OK);
        size_t kept = 1 + (OA_SHOWN_TEXT - 1) / bytes * bytes;
        assert_int_equal(strlen(d.examples[0].source), kept + strlen(" …"));
        assert_memory_equal(d.examples[0].source, text.s, kept);
        assert_string_equal(d.examples[0].source + kept, " …");
        assert_string_equal(d.examples[0].reference, "label");
        assert_int_equal(oa_details_reserve(c, &d, 1), OA_OK);
        oa_details_add(&d, "class", text.s, "f1", 0, 1);
        kept = 1 + (sizeof d.parts->name - 2) / bytes * bytes;
        assert_int_equal(strlen(d.parts[0].name), kept);
        assert_memory_equal(d.parts[0].name, text.s, kept);
        oa_details_free(&d);
        oa_text_free(&text);
        oa_rows_free(&rows);
    }
    oa_close(c);
}

/* The definition, in two passes. */
static double pearson_of(const struct judged *x, long low, long high)
{
    double n = 0, a = 0, b = 0, ab = 0, aa = 0, bb = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = 0; r < x->w.valid.count; r++) {
            double p = x->out[r][0], q = x->w.valid.value[r];
            if (x->length[r] < low || x->length[r] > high)
                continue;
            if (pass == 0) {
                n++;
                a += p;
                b += q;
                continue;
            }
            ab += (p - a) * (q - b);
            aa += (p - a) * (p - a);
            bb += (q - b) * (q - b);
        }
        if (pass == 0) {
            a /= n;
            b /= n;
        }
    }
    return 100 * ab / sqrt(aa * bb);
}

static void scores_of_numbers_by_length(void **state)
{
    (void)state;
    struct judged x;
    struct oa_options o = options("regress", 1);
    char text[32];
    make_judged(&x, &o);
    each_length(&x, "pearson", pearson_of);
    for (int i = 0; i < OA_SPECIMENS; i++) {
        const struct oa_specimen *e = &x.run.details.examples[i];
        snprintf(text, sizeof text, "%.2f", x.out[e->row][0]);
        assert_string_equal(e->output, text);
        assert_cell_is(&x, e->row, 0, e->reference);
    }
    unmake_judged(&x);
}

/* BLEU of the written texts of those lengths, which are in the examples: the side has no more rows.
 */
static double bleu_of(const struct judged *x, long low, long high)
{
    struct oa_line written[OA_SPECIMENS], right[OA_SPECIMENS];
    const struct oa_line *references[] = { right };
    struct oa_metric_options how;
    struct oa_statistics s = { 0 };
    long n = 0;
    for (int i = 0; i < x->run.details.example_count; i++) {
        const struct oa_specimen *e = &x->run.details.examples[i];
        if (x->length[e->row] < low || x->length[e->row] > high)
            continue;
        written[n] = (struct oa_line){ e->output, strlen(e->output) };
        right[n++] = (struct oa_line){ e->reference, strlen(e->reference) };
        assert_cell_is(x, e->row, 0, e->source);
        assert_cell_is(x, e->row, 1, e->reference);
    }
    oa_metric_defaults(&how);
    assert_int_equal(oa_statistics_take(x->c, &oa_bleu, &how, written, references, 1, n, &s),
                     OA_OK);
    double score = oa_statistics_score(&s);
    oa_statistics_free(&s);
    return score;
}

/* Of a model that writes some words right. */
static void scores_of_texts_by_length(void **state)
{
    (void)state;
    struct judged x = { .c = oa_open(NULL), .o = options("translate", 120) };
    shell("head -n 40 valid.source >few.source; head -n 40 valid.target >few.target");
    snprintf(x.o.data_valid, sizeof x.o.data_valid, "few.source,few.target");
    x.o.decode_beam = 1;
    x.o.train_lr = 5e-3;
    train(&x.o, "some", 2, &x.run);
    assert_int_equal(oa_workload_open(x.c, &x.o, &x.w), OA_OK);
    assert_int_equal(x.run.details.example_count, 40);
    assert_true(x.run.scores[1] > 1 && x.run.scores[1] < 100);
    for (size_t r = 0; r < 40; r++)
        x.length[r] = (long)(x.w.valid.source.start[r + 1] - x.w.valid.source.start[r]);
    each_length(&x, "bleu", bleu_of);
    oa_run_free(&x.run);
    oa_workload_close(&x.w);
    oa_close(x.c);
}

static void test_details_are_of_the_last_validation(void **state)
{
    (void)state;
    struct oa_options o = options("classify", 4);
    struct oa_run run;
    o.train_eval_every = 2;
    train(&o, "details", 2, &run);
    assert_int_equal(run.details.example_count, OA_SPECIMENS);
    assert_true(run.details.part_count > 4);
    oa_run_free(&run);
    assert_int_equal(run.details.part_count, 0);
    remove_folder("details");
}

/* ---- rows apart ---- */

static const char *const readers[] = {
    "softmax",          "random",      "dense",
    "random + softmax", "linear",      "cosformer",
    "performer",        "linformer",   "mixer",
    "lightconv",        "dynamicconv", "gaussian",
    "orthogonal",       "raganato",    "local(window=3)",
    "polynomial",       "polysketch",  "pattern(previous):1 | softmax:3"
};

/* Six rows of five lengths side by side, and each of them alone, padded alike: the same bits. */
static void check_apart(oa_context *c, const char *attention, enum oa_precision precision)
{
    enum { ROWS = 6, LENGTH = 19, CLASSES = 3 };
    struct oa_options o = small_model(attention, 1);
    struct oa_model_form form = {
        .encoder = true, .output = OA_OUTPUT_CLASSES, .vocabulary = 30, .classes = CLASSES
    };
    struct oa_device *d;
    struct oa_model *m;
    oa_tape t;
    int32_t none[ROWS] = { 0 }, ids[ROWS][LENGTH], lengths[ROWS] = { 19, 3, 7, 19, 12, 1 };
    double all[ROWS][CLASSES], one[CLASSES];
    o.model_width = 64;
    o.model_heads = 4;
    o.model_context = 24;
    for (int i = 0; i < ROWS * LENGTH; i++)
        ids[i / LENGTH][i % LENGTH] = i % LENGTH < lengths[i / LENGTH] ? (i * 7919 >> 3) % 30 : 0;
    assert_int_equal(oa_device_open(c, precision, false, &d), OA_OK);
    if (oa_model_open(d, &o, &form, false, &m) != OA_OK)
        fail_msg("%s: %s", attention, sentence(c));
    oa_tape_init(&t, d);
    for (int r = -1; r < ROWS; r++) {
        struct oa_batch b = { .rows = r < 0 ? ROWS : 1,
                              .length = LENGTH,
                              .input = ids[r < 0 ? 0 : r],
                              .lengths = lengths + (r < 0 ? 0 : r),
                              .label = none };
        oa_tape_reset(&t, false, false, (struct oa_stream){ 0 });
        assert_int_equal(oa_model_outputs_batch_invariant(&t, m, &b, r < 0 ? all[0] : one), OA_OK);
        if (r >= 0 && memcmp(one, all[r], sizeof one) != 0)
            fail_msg("%s, %s: row %d is another one alone", attention, oa_precision_name(precision),
                     r);
    }
    oa_tape_free(&t);
    oa_model_close(m);
    oa_device_close(d);
}

static void a_row_has_the_same_bits_in_any_batch(void **state)
{
    (void)state;
    for (int threads = 1; threads < 4; threads += 2) {
        oa_context *c = oa_open(&(struct oa_settings){ .threads = threads });
        for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
            check_apart(c, readers[i], OA_PRECISION_F32);
            check_apart(c, readers[i], OA_PRECISION_BF16);
        }
        oa_close(c);
    }
}

/* ---- the same bits ---- */

static void same_weights(const char *a, const char *b)
{
    shell("cmp '%s/model.safetensors' '%s/model.safetensors'", a, b);
}

static void resumed_runs_continue_exactly(void **state)
{
    static const char *const names[] = { "classify", "translate" };
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct oa_options o = options(names[i], 20);
        struct oa_run run;
        o.model_dropout = 0.1;
        o.train_schedule = OA_SCHEDULE_CONSTANT;
        o.train_accumulate = 2;
        train(&o, "whole", 2, &run);
        oa_run_free(&run);
        o.train_steps = 7;
        train(&o, "parts", 1, &run);
        oa_run_free(&run);
        o.train_steps = 20;
        train(&o, "parts", 1, &run);
        oa_run_free(&run);
        same_weights("whole", "parts");
        remove_folder("whole");
        remove_folder("parts");
    }
}

/* ---- held out ---- */

/* Every training row is in one of the parts, and in no other; labels stay what they were. */
static void test_examples_are_held_out(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_options o = options("classify", 1);
    struct oa_workload w, held;
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    assert_int_equal(w.task->hold_out(&w, 0.25, &held), OA_OK);
    assert_int_equal(held.train.count, 300);
    assert_int_equal(held.valid.count, 100);
    long warm = 0, all = 0;
    for (size_t i = 0; i < w.train.count; i++)
        all += w.train.label[i];
    for (size_t i = 0; i < 300; i++)
        warm += held.train.label[i];
    for (size_t i = 0; i < 100; i++)
        warm += held.valid.label[i];
    assert_int_equal(warm, all);
    assert_int_equal(held.texts.classes.count, 2);
    oa_workload_close(&held);
    oa_workload_close(&w);
    oa_close(c);
}

/* ---- what can write ---- */

enum { LETTERS = 11, BEGIN = LETTERS, END, SYMBOLS, WIDTH = 2 };

static struct oa_tokenizer *letters(oa_context *c)
{
    struct oa_tokenizer *tok;
    struct oa_text text;
    int32_t id;
    oa_text_init(&text, c);
    oa_text_printf(&text, "abcdefghijk");
    assert_int_equal(oa_tokenizer_open_texts(c, "char", &text, NULL, &tok), OA_OK);
    assert_int_equal(oa_tokenizer_add_special(tok, "<s>", &id), OA_OK);
    assert_int_equal(oa_tokenizer_add_special(tok, "</s>", &id), OA_OK);
    assert_int_equal(id, END);
    oa_text_free(&text);
    return tok;
}

static enum oa_error write_one(struct oa_model *m, struct oa_tokenizer *tok)
{
    static const int32_t ids[] = { 0, 3, 1, 4, 1, END }, words[] = { 0, 0, 1, 1, 1, 2 };
    struct oa_source_ids source = { ids, words, 6 };
    struct oa_hypothesis found[WIDTH];
    struct oa_writer w;
    enum oa_error e = oa_writer_open(m, tok, &m->options, WIDTH, &w);
    if (e == OA_OK)
        e = oa_writer_write(&w, &source, 1, found);
    if (e == OA_OK)
        oa_hypotheses_free(found, WIDTH);
    oa_writer_close(&w);
    return e;
}

struct writing_tally {
    oa_context *c;
    struct oa_device *d;
    struct oa_tokenizer *tok;
    int written, refused;
};

/* A plan says beforehand what its beam would say: it refuses what cannot write, and only that. */
static void check_writing(struct writing_tally *t, const char *task, const char *role,
                          const char *spec)
{
    struct oa_options o = options(task, 1);
    struct oa_model_form form = { .encoder = true, .decoder = true, .vocabulary = SYMBOLS };
    struct oa_step_shape step = { .typical = { .rows = 2, .length = 8, .source_length = 8 },
                                  .tokens = 32 };
    struct oa_model *m;
    struct oa_plan plan;
    step.largest = step.typical;
    snprintf(o.model_attention, sizeof o.model_attention, "%s: %s", role, spec);
    o.model_layers = 1;
    o.model_context = 8;
    o.model_width = 16;
    o.decode_beam = WIDTH;
    if (oa_model_open(t->d, &o, &form, false, &m) == OA_OK) {
        enum oa_error planned = oa_plan_make(t->c, &o, &form, &step, &plan);
        if (planned != OA_OK)
            expect_failure(t->c, OA_ARGUMENT, "performer(kernel=");
        enum oa_error written = write_one(m, t->tok);
        if ((written != OA_OK) != (planned != OA_OK))
            fail_msg("%s: the plan says %d, the beam %d: %s", o.model_attention, planned, written,
                     sentence(t->c));
        t->written += written == OA_OK;
        t->refused += written != OA_OK;
        oa_model_close(m);
    }
    oa_clear_error(t->c); /* there is none of that name in that place */
}

/* The mechanism with each of the words that an option of it takes. */
static void check_choices(struct writing_tally *t, const char *role, const struct oa_mechanism *m)
{
    check_writing(t, "translate", role, strcmp(m->name, "mix") == 0 ? "softmax + random" : m->name);
    for (const struct oa_argument *a = m->arguments; a && a->key; a++) {
        const char *word = a->kind == OA_VALUE_CHOICE ? a->choices : "";
        while (*word) {
            char spec[96];
            size_t n = strcspn(word, "|");
            snprintf(spec, sizeof spec, "%s(%s%s%.*s)", m->name, a->key, a->key[0] ? "=" : "",
                     (int)n, word);
            check_writing(t, n % 2 ? "translate" : "summarize", role, spec);
            word += n + (word[n] == '|');
        }
    }
}

static void models_that_cannot_generate_are_rejected(void **state)
{
    static const char *const roles[] = { "encoder", "decoder", "cross" };
    const struct oa_mechanism *m;
    struct writing_tally t = { .c = oa_open(NULL) };
    (void)state;
    t.tok = letters(t.c);
    assert_int_equal(oa_device_open(t.c, OA_PRECISION_F32, false, &t.d), OA_OK);
    for (int i = 0; i < 3; i++) {
        t.refused = t.written = 0;
        for (int k = 0; (m = oa_mechanism_at(k)); k++)
            check_choices(&t, roles[i], m);
        check_writing(&t, "translate", roles[i], "softmax:1 | performer(kernel=sderf):1");
        if (t.written < 50)
            fail_msg("%s: %d attentions write", roles[i], t.written);
        assert_int_equal(
            t.refused,
            i < 2 ? 0
                  : 5); /* performer, fitted to all queries in four ways, and so next to others */
    }
    oa_tokenizer_close(t.tok);
    oa_device_close(t.d);
    oa_close(t.c);
}

/* ---- words ---- */

/* Running text is cut anywhere: what goes by words is told so before a step. */
static void word_indices_need_examples(void **state)
{
    static const char *const tasks[] = { "mlm",       "span",      "classify", "regress",
                                         "translate", "summarize", "dialogue" };
    oa_context *c = oa_open(NULL);
    (void)state;
    for (int i = 0; i < 7; i++) {
        struct oa_options o = options(tasks[i], 1);
        struct oa_workload w;
        struct oa_plan plan;
        snprintf(o.model_attention, sizeof o.model_attention,
                 "encoder: softmax:1 | pattern(previous, unit=word):1");
        assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
        assert_int_equal(oa_plan_workload(c, &o, &w, &plan), i < 2 ? OA_ARGUMENT : OA_OK);
        if (i < 2)
            expect_failure(c, OA_ARGUMENT,
                           i ? "which the running text of task span"
                             : "which the running text of task mlm");
        oa_workload_close(&w);
    }
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_in_the_table_are_those_of_the_models),
        cmocka_unit_test(test_a_class_is_learnt),
        cmocka_unit_test(test_a_number_is_learnt),
        cmocka_unit_test(test_words_are_reversed),
        cmocka_unit_test(scores_are_computed_from_all_rows),
        cmocka_unit_test(models_that_cannot_generate_are_rejected),
        cmocka_unit_test(word_indices_need_examples),
        cmocka_unit_test(resumed_runs_continue_exactly),
        cmocka_unit_test(test_examples_are_held_out),
        cmocka_unit_test(scores_by_class_and_length),
        cmocka_unit_test(cut_texts_are_whole_characters),
        cmocka_unit_test(scores_of_numbers_by_length),
        cmocka_unit_test(scores_of_texts_by_length),
        cmocka_unit_test(test_details_are_of_the_last_validation),
        cmocka_unit_test(a_row_has_the_same_bits_in_any_batch),
    };
    threads_only("test_runs_*");
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
