/* SPDX-License-Identifier: Apache-2.0
 * Whole runs and validations on several ranks, which are threads here: the same bits as on one,
 * each with its share of the work. */
#include "setups.h"
#include "thread_ranks.h"

#include "base/concurrent.h"
#include "train/train.h"

#include <math.h>

static const char text_file[] = "test_ranks_text.txt";

static int make_text(void **state)
{
    (void)state;
    return write_foxes_and_cats(text_file, 600);
}

/* ---- a validation ---- */

/* Batches of which is noted how many a rank makes. */
struct counted {
    struct oa_batches *batches;
    oa_context *c;
    long made, ask; /* ask: with so many a stop is asked for; 0: never */
};

static enum oa_error counted_cover(void *self, const struct oa_tokenizer *tok, uint64_t limit,
                                   struct oa_cover *out)
{
    struct counted *k = self;
    return oa_batches_cover(k->batches, tok, limit, out);
}

static enum oa_error counted_window(void *self, long i, struct oa_batch *out)
{
    struct counted *k = self;
    if (++k->made == k->ask)
        oa_stop_ask(k->c, 15);
    return oa_batches_window(k->batches, i, out);
}

static const struct oa_batches_kind counted_kind = { .cover = counted_cover,
                                                     .window = counted_window };

struct validation {
    long tokens; /* of the text; 0: all */
    bool scored; /* by the accuracy of a masked model, too: every rank then makes all batches again
                  */
    int stopped; /* a rank that is asked to stop with its second batch, of the scores if there are;
                    -1: none */
    bool late;   /* with its last batch instead */
    double loss; /* of one rank alone */
    struct oa_items items; /* likewise; to be freed */
    long batches, *made;   /* of each rank */
};

/* Those of a rank, of the loss. */
static long share_of(const struct validation *v, int size, int rank)
{
    return v->batches / size + (rank < v->batches % size);
}

/* Of every rank, bit for bit those of one alone; their means are the scores. */
static void same_items(const struct oa_run *run, const struct validation *v)
{
    const struct oa_items *x = &run->items;
    assert_true(x->count > 0 && x->count == v->items.count);
    for (int m = 0; m <= v->scored; m++) {
        double score = m ? run->scores[1] : run->valid_loss;
        assert_memory_equal(x->measured[m], v->items.measured[m],
                            (size_t)x->count * sizeof *x->measured[m]);
        assert_true(fabs(oa_items_score(x, m) - score) <= 1e-13 * score);
    }
}

static double validate(oa_context *c, struct oa_cluster *cluster, struct validation *v)
{
    struct oa_options o = small_model(text_file, 1);
    struct oa_workload w;
    struct oa_device *d;
    struct oa_model *m;
    oa_tape tape;
    struct oa_run run = { 0 };
    struct counted k = { .c = c };
    struct oa_batches batches = { .kind = &counted_kind, .self = &k };
    if (v->stopped == oa_rank_of(cluster))
        k.ask = (v->late ? v->batches : 2) +
                (v->scored ? share_of(v, oa_rank_count(cluster), v->stopped) : 0);
    if (v->scored)
        set_option(&o, "data.task", "mlm");
    o.train_batch = 2;
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    assert_int_equal(oa_device_open(c, OA_PRECISION_F32, false, &d), OA_OK);
    assert_int_equal(oa_model_open(d, &o, &w.form, false, &m), OA_OK);
    assert_int_equal(w.task->batches(c, &o, &w, OA_VALIDATION, 0, &k.batches), OA_OK);
    oa_tape_init(&tape, d);
    struct oa_evaluation e = { .tape = &tape,
                               .model = m,
                               .cluster = cluster,
                               .workload = &w,
                               .side = OA_VALIDATION,
                               .batches = &batches,
                               .judged = v->scored,
                               .itemised = true,
                               .title = "test" };
    assert_int_equal(oa_batches_cover(&batches, w.tokenizer, (uint64_t)v->tokens, &e.cover), OA_OK);
    oa_context_defer_stop(c, cluster != NULL);
    assert_int_equal(oa_evaluate(&e, &run), OA_OK);
    v->made[oa_rank_of(cluster)] = k.made;
    if (!cluster) {
        v->batches = e.cover.batches;
        v->items = run.items;
        run.items = (struct oa_items){ 0 };
    } else if (isfinite(run.valid_loss)) {
        same_items(&run, v);
    }
    oa_run_free(&run);
    oa_tape_free(&tape);
    oa_batches_close(k.batches);
    oa_model_close(m);
    oa_device_close(d);
    oa_workload_close(&w);
    return run.valid_loss;
}

static void *validate_body(void *argument)
{
    struct rank *r = argument;
    struct validation *v =
        (struct validation *)(uintptr_t)r->task; /* each writes what is its own */
    r->result = validate(r->cluster.context, &r->cluster, v);
    return NULL;
}

/* Whole rounds, parts of one, less batches than ranks. */
static void test_a_validation_is_shared_out(void **state)
{
    (void)state;
    static const long tokens[] = { 0, 800, 70, 33 };
    for (int size = 2; size <= 5; size++)
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
            long made[MOST] = { 0 };
            struct rank ranks[MOST];
            struct validation v = { .tokens = tokens[i], .stopped = -1, .made = made };
            oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
            v.loss = validate(c, NULL, &v);
            oa_close(c);
            assert_true(isfinite(v.loss) && made[0] == v.batches && (i || v.batches > 40));
            on_ranks(size, 60, validate_body, &v, ranks);
            for (int r = 0; r < size; r++) {
                assert_true(ranks[r].result == v.loss);
                assert_int_equal(made[r], share_of(&v, size, r));
            }
            oa_items_free(&v.items);
        }
}

static void test_a_stop_in_a_validation_is_one_of_all(void **state)
{
    (void)state;
    for (int stopped = 0; stopped < 3; stopped++) {
        long made[MOST] = { 0 };
        struct rank ranks[MOST];
        on_ranks(3, 60, validate_body, &(struct validation){ .stopped = stopped, .made = made },
                 ranks);
        for (int r = 0; r < 3; r++) {
            assert_true(isnan(ranks[r].result));
            assert_int_equal(made[r], 8); /* a round */
        }
    }
}

/* All after the same batch, so that none waits for another. */
static void test_a_stop_in_scores_is_one_of_all(void **state)
{
    (void)state;
    long made[MOST] = { 0 };
    struct validation v = { .scored = true, .stopped = -1, .made = made };
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    v.loss = validate(c, NULL, &v);
    oa_close(c);
    assert_true(isfinite(v.loss) && v.batches > 40 && made[0] == 2 * v.batches);
    for (v.stopped = -1; v.stopped < 3; v.stopped++) {
        struct rank ranks[MOST];
        on_ranks(3, 60, validate_body, &v, ranks);
        for (int r = 0; r < 3; r++) {
            assert_true(v.stopped < 0 ? ranks[r].result == v.loss : isnan(ranks[r].result));
            assert_int_equal(made[r], share_of(&v, 3, r) + (v.stopped < 0 ? v.batches : 2));
        }
    }
    oa_items_free(&v.items);
}

/* Nothing is left to be stopped: what was asked for too late changes nothing. */
static void test_a_stop_after_the_last_batch_is_none(void **state)
{
    (void)state;
    long made[MOST] = { 0 };
    struct rank ranks[MOST];
    struct validation v = { .scored = true, .stopped = -1, .made = made };
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    v.loss = validate(c, NULL, &v);
    oa_close(c);
    v.late = true;
    v.stopped = 1;
    on_ranks(2, 60, validate_body, &v, ranks);
    for (int r = 0; r < 2; r++)
        assert_true(ranks[r].result == v.loss && made[r] == share_of(&v, 2, r) + v.batches);
    oa_items_free(&v.items);
}

/* ---- a run ---- */

enum { STEPS = 6, EVERY = 2 };

struct outcome {
    double valid[STEPS / EVERY], last;
};

static void train_with(oa_context *c, struct oa_cluster *cluster, const char *folder,
                       const char *learn, struct outcome *out)
{
    struct oa_options o = small_model(text_file, STEPS);
    struct oa_workload w;
    struct oa_run run;
    const char *sentence;
    o.train_batch = 1;
    o.train_accumulate = 6;
    o.train_eval_every = EVERY;
    o.train_eval_tokens = 300;
    o.train_log_every = STEPS;
    o.model_dropout = 0.1;
    if (learn) {
        set_option(&o, "model.attention", "hedgehog");
        set_option(&o, "train.init", "teacher");
        set_option(&o, "distil.teacher", "teacher");
        set_option(&o, "distil.learn", learn);
    }
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    struct oa_train_request r = {
        .options = &o, .workload = &w, .cluster = cluster, .folder = folder, .title = "test"
    };
    if (oa_train_run(c, &r, &run) != OA_OK) {
        oa_last_error(c, &sentence);
        fail_msg("rank %d: %s", oa_rank_of(cluster), sentence);
    }
    assert_int_equal(run.points, STEPS / EVERY);
    for (int i = 0; i < STEPS / EVERY; i++)
        out->valid[i] = run.curve[i].valid_loss;
    out->last = run.valid_loss;
    oa_run_free(&run);
    oa_workload_close(&w);
}

static void train(oa_context *c, struct oa_cluster *cluster, const char *folder,
                  struct outcome *out)
{
    train_with(c, cluster, folder, NULL, out);
}

static void *train_body(void *argument)
{
    struct rank *r = argument;
    const struct outcome *alone = r->task;
    struct outcome mine;
    train(r->cluster.context, &r->cluster, "several", &mine);
    r->result = memcmp(&mine, alone, sizeof mine) == 0;
    return NULL;
}

static void test_a_run_has_the_same_bits(void **state)
{
    (void)state;
    struct outcome alone;
    struct rank ranks[MOST];
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    train(c, NULL, "one", &alone);
    oa_close(c);
    for (int i = 0; i < STEPS / EVERY; i++)
        assert_true(isfinite(alone.valid[i]));
    for (int size = 2; size <= 6; size += size == 3 ? 3 : 1) {
        on_ranks(size, 60, train_body, &alone, ranks);
        for (int r = 0; r < size; r++)
            assert_true(ranks[r].result == 1);
        shell("cmp one/model.safetensors several/model.safetensors");
        remove_folder("several");
    }
}

/* ---- a teacher ---- */

static void *learn_body(void *argument)
{
    struct rank *r = argument;
    struct outcome mine;
    train_with(r->cluster.context, &r->cluster, "several", r->task, &mine);
    return NULL;
}

/* Every rank has the teacher. */
static void test_what_is_learned_of_a_teacher_has_the_same_bits(void **state)
{
    static const char *const what[] = { "attention", "output" };
    (void)state;
    struct outcome alone;
    struct rank ranks[MOST];
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    train(c, NULL, "teacher", &alone);
    for (int i = 0; i < 2; i++) {
        train_with(c, NULL, "one", what[i], &alone);
        for (int size = 2; size <= 3; size++) {
            on_ranks(size, 60, learn_body, (void *)(uintptr_t)what[i], ranks);
            shell("cmp one/model.safetensors several/model.safetensors");
            shell("! cmp -s one/model.safetensors teacher/model.safetensors");
            remove_folder("several");
        }
        remove_folder("one");
    }
    oa_close(c);
}

/* ---- the log ---- */

/* A rank that is slow in validations, and in nothing else. */
static void dawdle(void *argument, int level, const char *line)
{
    (void)argument;
    if (level == 1 && strstr(line, "validation"))
        usleep(200000);
}

static void *dawdling_body(void *argument)
{
    struct rank *r = argument;
    struct outcome mine;
    oa_context *quick = r->cluster.context;
    if (r->cluster.rank == 1)
        r->cluster.context = oa_open(&(struct oa_settings){ .threads = 1, .log = dawdle });
    train(r->cluster.context, &r->cluster, "slow", &mine);
    if (r->cluster.rank == 1)
        oa_close(r->cluster.context);
    r->cluster.context = quick;
    return NULL;
}

/* Of the time of steps: who waited in a validation has not waited in them. */
static void test_communication_is_a_share_of_the_steps(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    char *text;
    size_t length;
    double share;
    on_ranks(2, 60, dawdling_body, NULL, ranks);
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    assert_int_equal(oa_file_read(c, "slow/log.jsonl", &text, &length), OA_OK);
    int lines = 0;
    for (const char *at = text; (at = strstr(at, "\"communication\": ")); at++, lines++) {
        assert_int_equal(sscanf(at, "\"communication\": %lf", &share), 1);
        assert_true(share >= 0 && share <= 1);
    }
    assert_int_equal(lines, STEPS / EVERY);
    oa_free(text);
    oa_close(c);
    remove_folder("slow");
}

/* ---- what ranks were told ---- */

static void *told_body(void *argument)
{
    struct rank *r = argument;
    const struct oa_work *work = r->task;
    struct oa_options o;
    oa_options_default(&o);
    r->e = oa_same_program(&r->cluster, &o, &work[r->cluster.rank]);
    return NULL;
}

/* The second of two ranks is told something else; sentence: NULL: it is not. */
static void check_told(const struct oa_work *second, const char *sentence)
{
    static const char *const two[] = { "softmax", "dense" };
    const struct oa_work first = {
        .command = "compare", .folder = "a", .attentions = two, .count = 2
    };
    const struct oa_work work[] = { first, second ? *second : first };
    struct rank ranks[MOST];
    on_ranks(2, 60, told_body, work, ranks);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(ranks[r].e, sentence ? OA_ARGUMENT : OA_OK);
        if (!strstr(ranks[r].sentence, sentence ? sentence : ""))
            fail_msg("rank %d: %s", r, ranks[r].sentence);
    }
}

static void test_ranks_are_told_the_same(void **state)
{
    (void)state;
    static const char *const two[] = { "softmax", "dense" }, *const other[] = { "softmax",
                                                                                "random" };
    const struct oa_work told[] = {
        { .command = "train", .folder = "a", .attentions = two, .count = 2 },
        { .command = "compare", .folder = "b", .attentions = two, .count = 2 },
        { .command = "compare", .folder = "a", .resume = true, .attentions = two, .count = 2 },
        { .command = "compare", .folder = "a", .overwrite = true, .attentions = two, .count = 2 },
        { .command = "compare", .folder = "a", .attentions = two, .count = 1 },
        { .command = "compare", .folder = "a", .attentions = other, .count = 2 },
    };
    static const char *const sentences[] = {
        "rank 1 on host1: the command is \"train\" here and \"compare\" on rank 0",
        "--out is \"b\" here and \"a\" on rank 0",
        "--resume is \"on\" here and \"off\" on rank 0",
        "--overwrite is \"on\" here and \"off\" on rank 0",
        "the number of attentions is \"1\" here and \"2\" on rank 0",
        "--attention is \"random\" here and \"dense\" on rank 0",
    };
    check_told(NULL, NULL);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        check_told(&told[i], sentences[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_validation_is_shared_out),
        cmocka_unit_test(test_a_stop_in_a_validation_is_one_of_all),
        cmocka_unit_test(test_a_stop_in_scores_is_one_of_all),
        cmocka_unit_test(test_a_stop_after_the_last_batch_is_none),
        cmocka_unit_test(test_a_run_has_the_same_bits),
        cmocka_unit_test(test_what_is_learned_of_a_teacher_has_the_same_bits),
        cmocka_unit_test(test_communication_is_a_share_of_the_steps),
        cmocka_unit_test(test_ranks_are_told_the_same),
    };
    char *folder = enter_own_folder();
    if (!folder)
        return 1;
    int failed = cmocka_run_group_tests(tests, make_text, NULL);
    return leave_own_folder(folder) || failed;
}
