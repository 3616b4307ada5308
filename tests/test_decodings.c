/* SPDX-License-Identifier: Apache-2.0
 * Decoders that read a source, token by token against the whole; and several side by side: a row
 * has the bits that it has alone, whatever rows there are next to it, and rows that are chosen go
 * on as what they were. */
#include "testing.h"

#include "model/model.h"

#include <math.h>
#include <stdio.h>

enum { ROWS = 8, STEPS = 7, SOURCE = 9, VOCABULARY = 1601 };

struct rig {
    oa_context *c;
    struct oa_device *device;
    struct oa_model *model;
    int32_t source[ROWS * SOURCE], words[ROWS * SOURCE], lengths[ROWS], tokens[ROWS][STEPS];
};

static void assert_ok(oa_context *c, const char *what)
{
    const char *sentence;
    if (oa_last_error(c, &sentence) != OA_OK)
        fail_msg("%s: %s", what, sentence);
}

static void fill_texts(struct rig *r)
{
    struct oa_stream s = oa_stream_named(3, "test_decodings");
    for (int i = 0; i < ROWS * SOURCE; i++)
        r->source[i] = (int32_t)(oa_random_uniform(s, (uint64_t)i) * VOCABULARY);
    for (int i = 0; i < ROWS * SOURCE;
         i++) /* two tokens a word, and three; a first word of one, or two */
        r->words[i] = (i % SOURCE + i / SOURCE % 2) / (2 + i / SOURCE % 3 / 2);
    for (int i = 0; i < ROWS; i++) {
        r->lengths[i] = 1 + (i * 5 + 3) % SOURCE;
        for (int t = 0; t < STEPS; t++)
            r->tokens[i][t] =
                (int32_t)(oa_random_uniform(s, (uint64_t)(1000 + i * STEPS + t)) * VOCABULARY);
    }
}

static void open_rig_of(struct rig *r, const char *attention, const char *norm, bool encoder,
                        long context, enum oa_precision p, int threads)
{
    struct oa_options o;
    struct oa_model_form form = oa_language_model_form(VOCABULARY);
    form.encoder = encoder;
    memset(r, 0, sizeof *r);
    r->c = oa_open(&(struct oa_settings){ .threads = threads });
    oa_options_default(&o);
    snprintf(o.model_attention, sizeof o.model_attention, "%s", attention);
    o.model_norm = (enum oa_norm_place)oa_option_choice("model.norm", norm);
    o.model_layers = 2;
    if (o.model_norm == OA_NORM_POST)
        o.model_position = (enum oa_position)oa_option_choice("model.position", "rotary");
    o.model_width = 64;
    o.model_heads = 4;
    o.model_context = context;
    o.model_source_context = encoder ? SOURCE : 0;
    o.model_bias = true;
    o.model_scale_embedding = true;
    oa_device_open(r->c, p, false, &r->device);
    oa_model_open(r->device, &o, &form, false, &r->model);
    assert_ok(r->c, attention);
    fill_texts(r);
}

static void open_rig(struct rig *r, const char *attention, const char *norm, bool encoder,
                     enum oa_precision p, int threads)
{
    open_rig_of(r, attention, norm, encoder, STEPS, p, threads);
}

static void close_rig(struct rig *r)
{
    oa_model_close(r->model);
    oa_device_close(r->device);
    oa_close(r->c);
}

/* ---- one after the other, against the whole ---- */

static void whole_logits(struct rig *r, int row, float *logits)
{
    oa_tape t;
    struct oa_sequences source = { .rows = 1,
                                   .length = r->lengths[row],
                                   .ids = r->source + row * SOURCE,
                                   .words = r->words + row * SOURCE };
    struct oa_sequences in = { .rows = 1, .length = STEPS, .ids = r->tokens[row] };
    oa_tape_init(&t, r->device);
    oa_tape_reset(&t, false, false, (struct oa_stream){ 0 });
    struct oa_memory m = { .x = oa_model_encode(&t, r->model, &source), .length = source.length };
    oa_tensor *hidden = oa_model_hidden(&t, r->model, &in, &m, NULL);
    oa_decoding_logits(&t, r->model, hidden, 0, STEPS, logits, NULL);
    assert_ok(r->c, "the whole");
    oa_tape_free(&t);
}

static void assert_near(const char *what, const float *a, const float *b, long n)
{
    for (long i = 0; i < n; i++)
        if (!(fabsf(a[i] - b[i]) <= 1e-5f * (1 + fabsf(b[i]))))
            fail_msg("%s: %.9g where the whole has %.9g", what, (double)a[i], (double)b[i]);
}

/* A copy goes its own way; sources are read once. */
static void check_steps(const char *attention, const char *norm)
{
    static struct rig r;
    static float whole[STEPS * VOCABULARY], logits[VOCABULARY], other[VOCABULARY];
    struct oa_decoding a, b;
    open_rig(&r, attention, norm, true, OA_PRECISION_F64, 1);
    assert_int_equal(oa_decoding_open(r.model, &a), OA_OK);
    assert_int_equal(oa_decoding_open(r.model, &b), OA_OK);
    for (int row = 0; row < 2; row++) {
        whole_logits(&r, row, whole);
        assert_int_equal(
            oa_decoding_source(&a, r.source + row * SOURCE, r.words + row * SOURCE, r.lengths[row]),
            OA_OK);
        for (int t = 0; t < STEPS; t++) {
            oa_decoding_read(&a, &r.tokens[row][t], 1, logits);
            assert_ok(r.c, attention);
            assert_near(attention, logits, whole + t * VOCABULARY, VOCABULARY);
            if (t == 3) {
                assert_int_equal(oa_decoding_copy(&a, &b), OA_OK);
                oa_decoding_read(&b, &r.tokens[row][0], 1, other);
            }
        }
        oa_decoding_reset(&b); /* the source stays */
        oa_decoding_read(&b, r.tokens[row], STEPS, other);
        assert_near(attention, other, whole + (STEPS - 1) * VOCABULARY, VOCABULARY);
    }
    oa_decoding_close(&a);
    oa_decoding_close(&b);
    close_rig(&r);
}

static const char *const attentions[] = {
    "softmax",
    "decoder: linear & cross: linear",
    "decoder: local(window=3) & cross: performer",
    "encoder: pattern(previous) & decoder: random + softmax & cross: cosformer",
    "encoder: pattern(left, unit=word):1 | softmax:3",
    "decoder: softmax:2 | dense:2 & cross: random",
    "decoder: orthogonal(qk=srht, tie) & cross: softmax(tie)",
    "decoder: longformer(window=2, global=2) & cross: mix(softmax, random)"
};
enum { ATTENTIONS = sizeof attentions / sizeof *attentions };

static void steps_equal_the_whole(void **state)
{
    (void)state;
    for (int i = 0; i < ATTENTIONS; i++)
        check_steps(attentions[i], i % 2 ? "post" : "pre");
}

/* ---- side by side ---- */

static void begin(struct rig *r, struct oa_decoding_batch *d, int first, int rows)
{
    struct oa_sequences source = { .rows = rows,
                                   .length = SOURCE,
                                   .ids = r->source + first * SOURCE,
                                   .words = r->words + first * SOURCE,
                                   .lengths = r->lengths + first };
    oa_decoding_batch_begin(d, rows, r->model->form.encoder ? &source : NULL);
    assert_ok(r->c, "begin");
}

static void assert_sums(const float *logits, const double *sums, int rows)
{
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (long id = 0; id < VOCABULARY; id++)
            sum += exp((double)logits[i * VOCABULARY + id]);
        if (!(fabs(sums[i] - log(sum)) < 1e-5))
            fail_msg("row %d: log-sum %.9g instead of %.9g", i, sums[i], log(sum));
    }
}

static void read_step(struct rig *r, struct oa_decoding_batch *d, int first, int step,
                      float *logits)
{
    int32_t ids[ROWS];
    double sums[ROWS];
    for (int i = 0; i < d->rows; i++)
        ids[i] = r->tokens[first + i][step];
    oa_decoding_batch_read(d, ids, logits, sums);
    assert_ok(r->c, "a step");
    assert_sums(logits, sums, d->rows);
}

static void check_rows(struct rig *r, const char *name)
{
    static float all[STEPS][ROWS * VOCABULARY], some[ROWS * VOCABULARY];
    static const int sizes[] = { 1, 3 };
    struct oa_decoding_batch d;
    assert_int_equal(oa_decoding_batch_open(r->model, ROWS, &d), OA_OK);
    begin(r, &d, 0, ROWS);
    for (int t = 0; t < STEPS; t++)
        read_step(r, &d, 0, t, all[t]);
    for (int s = 0; s < 2; s++)
        for (int first = 0; first + sizes[s] <= ROWS; first += sizes[s]) {
            begin(r, &d, first, sizes[s]);
            for (int t = 0; t < STEPS; t++) {
                read_step(r, &d, first, t, some);
                if (memcmp(some, all[t] + first * VOCABULARY,
                           (size_t)(sizes[s] * VOCABULARY) * sizeof *some) != 0)
                    fail_msg("%s: row %d, token %d: %d rows give other bits than %d", name, first,
                             t, sizes[s], ROWS);
            }
        }
    oa_decoding_batch_close(&d);
}

static void rows_have_the_bits_of_one_alone(void **state)
{
    static struct rig r;
    static const enum oa_precision precisions[] = { OA_PRECISION_F32, OA_PRECISION_BF16,
                                                    OA_PRECISION_F64 };
    (void)state;
    for (int i = 0; i < ATTENTIONS * 3; i++) {
        open_rig(&r, attentions[i / 3], i % 2 ? "post" : "pre", true, precisions[i % 3], 1 + i % 2);
        check_rows(&r, attentions[i / 3]);
        close_rig(&r);
    }
    open_rig(&r, "softmax ; linear", "pre", false, OA_PRECISION_F32, 2);
    check_rows(&r, "a language model");
    close_rig(&r);
}

/* The bits of a decoding alone, too. */
static void check_one_decoding(enum oa_precision p)
{
    static struct rig r;
    static float all[STEPS][ROWS * VOCABULARY], one[VOCABULARY];
    struct oa_decoding_batch d;
    struct oa_decoding a;
    open_rig(&r, "softmax", "pre", true, p, 2);
    assert_int_equal(oa_decoding_batch_open(r.model, ROWS, &d), OA_OK);
    assert_int_equal(oa_decoding_open(r.model, &a), OA_OK);
    begin(&r, &d, 0, ROWS);
    for (int t = 0; t < STEPS; t++)
        read_step(&r, &d, 0, t, all[t]);
    for (int row = 0; row < ROWS; row++) {
        assert_int_equal(
            oa_decoding_source(&a, r.source + row * SOURCE, r.words + row * SOURCE, r.lengths[row]),
            OA_OK);
        for (int t = 0; t < STEPS; t++) {
            assert_int_equal(oa_decoding_read(&a, &r.tokens[row][t], 1, one), OA_OK);
            assert_memory_equal(one, all[t] + row * VOCABULARY, sizeof one);
        }
    }
    oa_decoding_close(&a);
    oa_decoding_batch_close(&d);
    close_rig(&r);
}

static void rows_equal_one_decoding(void **state)
{
    (void)state;
    check_one_decoding(OA_PRECISION_F32);
    check_one_decoding(OA_PRECISION_BF16);
}

/* ---- weights that change ---- */

/* |a − b| as a share of |b|. */
static double distance(const float *a, const float *b, long n)
{
    double difference = 0, size = 0;
    for (long i = 0; i < n; i++) {
        difference += pow((double)a[i] - (double)b[i], 2);
        size += pow((double)b[i], 2);
    }
    return sqrt(difference / size);
}

static void decode(struct rig *r, struct oa_decoding *a, int row, float *logits)
{
    oa_decoding_source(a, r->source + row * SOURCE, r->words + row * SOURCE, r->lengths[row]);
    for (int t = 0; t < STEPS; t++)
        oa_decoding_read(a, &r->tokens[row][t], 1, logits);
    assert_ok(r->c, "decoding");
}

/* What a device packed is of no use once the weights have changed, to a decoding that stays open or
 * to another. */
static void new_weights_are_read(void **state)
{
    struct oa_decoding open, next;
    static struct rig r;
    static float whole[STEPS * VOCABULARY], logits[VOCABULARY], before[VOCABULARY];
    const float *last = whole + (STEPS - 1) * VOCABULARY;
    (void)state;
    open_rig(&r, "softmax ; softmax", "pre", true, OA_PRECISION_BF16, 2);
    assert_int_equal(oa_decoding_open(r.model, &open), OA_OK);
    decode(&r, &open, 1, before);
    whole_logits(&r, 1, whole);
    assert_true(distance(before, last, VOCABULARY) < 0.03);
    for (int i = 0; i < r.model->store.count; i++)
        oa_store_draw_from(&r.model->store, r.model->store.parameter[i], 77);
    oa_store_refresh_all(&r.model->store);
    whole_logits(&r, 1, whole);
    assert_true(distance(before, last, VOCABULARY) > 0.5);
    decode(&r, &open, 1, logits);
    assert_true(distance(logits, last, VOCABULARY) < 0.03);
    assert_int_equal(oa_decoding_open(r.model, &next), OA_OK);
    decode(&r, &next, 1, logits);
    assert_true(distance(logits, last, VOCABULARY) < 0.03);
    oa_decoding_close(&open);
    oa_decoding_close(&next);
    close_rig(&r);
}

/* What lies on the device, on the host. */
/* ---- calls of the device for all sequences ---- */

static const struct oa_device_ops *real_ops;
static long calls_for_one, calls_for_all;

static void count_for_one(struct oa_device *d, const struct oa_logits *a)
{
    calls_for_one++;
    real_ops->logits(d, a);
}

static void count_for_all(struct oa_device *d, long n, const struct oa_logits *const *a)
{
    calls_for_all++;
    assert_int_equal(n, ROWS);
    real_ops->logits_of_rows(d, n, a);
}

/* A device without the calls for all sequences makes those for one. */
static void together_and_one_by_one_have_the_same_bits(void **state)
{
    static struct rig r;
    static float together[STEPS][ROWS * VOCABULARY], apart[ROWS * VOCABULARY];
    (void)state;
    for (int i = 0; i < ATTENTIONS; i++) {
        struct oa_decoding_batch d;
        open_rig(&r, attentions[i], "post", true, i % 2 ? OA_PRECISION_BF16 : OA_PRECISION_F32, 2);
        struct oa_device_ops plain = *r.device->ops;
        plain.put_heads = NULL;
        plain.logits_of_rows = NULL;
        assert_int_equal(oa_decoding_batch_open(r.model, ROWS, &d), OA_OK);
        begin(&r, &d, 0, ROWS);
        for (int t = 0; t < STEPS; t++)
            read_step(&r, &d, 0, t, together[t]);
        r.device->ops = &plain;
        begin(&r, &d, 0, ROWS);
        for (int t = 0; t < STEPS; t++) {
            read_step(&r, &d, 0, t, apart);
            if (memcmp(apart, together[t], sizeof apart) != 0)
                fail_msg("%s, token %d: other bits one by one", attentions[i], t);
        }
        oa_decoding_batch_close(&d);
        close_rig(&r);
    }
}

static void sequences_share_a_call_in_each_layer(void **state)
{
    static struct rig r;
    static float logits[ROWS * VOCABULARY];
    static const char *const one_call[] = { "softmax", "local(window=3)", "mix(softmax, random)",
                                            "softmax(kv=2)" };
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct oa_decoding_batch d;
        open_rig(&r, one_call[i], "post", false, OA_PRECISION_F32, 2);
        struct oa_device_ops counting = *(real_ops = r.device->ops);
        counting.logits = count_for_one;
        counting.logits_of_rows = count_for_all;
        r.device->ops = &counting;
        calls_for_one = calls_for_all = 0;
        assert_int_equal(oa_decoding_batch_open(r.model, ROWS, &d), OA_OK);
        begin(&r, &d, 0, ROWS);
        for (int t = 0; t < STEPS; t++)
            read_step(&r, &d, 0, t, logits);
        assert_int_equal(calls_for_one, 0);
        assert_int_equal(calls_for_all, 2 * STEPS); /* layers */
        oa_decoding_batch_close(&d);
        close_rig(&r);
    }
}

static void *copied(struct oa_device *d, const void *on_device, size_t bytes)
{
    struct oa_view v;
    void *copy = oa_alloc(d->context, bytes);
    assert_non_null(copy);
    memcpy(copy, oa_view_open(&v, d, on_device, bytes, OA_VIEW_READ), bytes);
    oa_view_close(&v);
    return copy;
}

/* The same where a mechanism draws a matrix again (oa_store_redraw), which no decoding does while
 * it is open. */
static void redrawn_weights_are_packed_again(void **state)
{
    enum { SIZE = 64 };
    struct oa_parameter w = {
        .name = "w", .dims = 2, .dim = { SIZE, SIZE }, .moving = true, .redrawn = true
    };
    struct oa_gemm g = {
        .m = 1, .n = SIZE, .k = SIZE, .lda = SIZE, .ldb = SIZE, .ldc = SIZE, .tb = true
    };
    struct oa_device *d;
    struct oa_store store;
    oa_tape tape;
    (void)state;
    oa_context *c = oa_open(NULL);
    w.init = OA_INIT_NORMAL;
    w.scale = 1;
    w.matrix = true;
    assert_int_equal(oa_device_open(c, OA_PRECISION_BF16, false, &d), OA_OK);
    oa_store_init(&store, d);
    struct oa_parameter *p = oa_store_add(&store, &w);
    assert_int_equal(oa_store_allocate(&store, 1, false), OA_OK);
    oa_tape_init(&tape, d);
    tape.packs = &store;
    size_t bytes = d->ops->weights_bytes(d, &g);
    if (bytes) { /* else products here read weights as they are */
        void *room = oa_tape_take(&tape, bytes);
        char *before = copied(d, oa_weight_operand(&tape, p, &g), bytes);
        assert_int_equal(oa_store_redraw(&store, p, 1), OA_OK);
        d->ops->pack_weights(d, &g, p->act, room);
        char *after = copied(d, oa_weight_operand(&tape, p, &g), bytes),
             *expected = copied(d, room, bytes);
        assert_memory_equal(after, expected, bytes);
        assert_memory_not_equal(before, expected, bytes);
        d->ops->zero(d, bytes, p->packed); /* no value has changed: it is not made again */
        char *kept = copied(d, oa_weight_operand(&tape, p, &g), bytes);
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(kept[i], 0);
        oa_free(before);
        oa_free(after);
        oa_free(expected);
        oa_free(kept);
    }
    assert_ok(c, "drawing again");
    oa_tape_free(&tape);
    oa_store_free(&store);
    oa_device_close(d);
    oa_close(c);
}

/* ---- chosen rows ---- */

/* A beam over two sources: rows part, swap and end; each must be what it is when it is read from
 * the start. */
static void check_choice(const char *attention)
{
    static struct rig r;
    static float beam[ROWS * VOCABULARY], alone[VOCABULARY];
    static const int choices[][ROWS] = { { 0, 0, 1, 1, 0, 1, 1, 1 },
                                         { 5, 2, 2, 7, 0, 1, 5, 4 },
                                         { 7, 6, 5, 4, 3, 2, 1, 0 },
                                         { 3, 3, 3, 3, 6, 6, 6, 6 },
                                         { 0, 7, 1 } };
    static const int rows[] = { 8, 8, 8, 8, 3 };
    enum { CHOICES = sizeof rows / sizeof *rows };
    struct oa_decoding_batch d, single;
    int source[ROWS] = { 0, 1 };
    int32_t text[ROWS][STEPS], before[ROWS][STEPS];
    open_rig(&r, attention, "pre", true, OA_PRECISION_F32, 2);
    assert_int_equal(oa_decoding_batch_open(r.model, ROWS, &d), OA_OK);
    assert_int_equal(oa_decoding_batch_open(r.model, 1, &single), OA_OK);
    begin(&r, &d, 0, 2);
    read_step(&r, &d, 0, 0, beam);
    memcpy(text[0], r.tokens[0], sizeof *text);
    memcpy(text[1], r.tokens[1], sizeof *text);
    for (int step = 1; step <= CHOICES; step++) {
        int old[ROWS];
        const int *from = choices[step - 1];
        memcpy(before, text, sizeof text);
        memcpy(old, source, sizeof old);
        assert_int_equal(oa_decoding_batch_choose(&d, from, rows[step - 1]), OA_OK);
        int32_t ids[ROWS];
        for (int i = 0; i < d.rows; i++) {
            memcpy(text[i], before[from[i]], sizeof *text);
            source[i] = old[from[i]];
            ids[i] = text[i][step] = r.tokens[i][step];
        }
        oa_decoding_batch_read(&d, ids, beam, NULL);
        for (int i = 0; i < d.rows; i++) {
            begin(&r, &single, source[i], 1);
            for (int t = 0; t <= step; t++)
                oa_decoding_batch_read(&single, &text[i][t], alone, NULL);
            assert_ok(r.c, attention);
            if (memcmp(alone, beam + i * VOCABULARY, sizeof alone) != 0)
                fail_msg("%s: row %d of choice %d is not what it was", attention, i, step);
        }
    }
    oa_decoding_batch_close(&single);
    oa_decoding_batch_close(&d);
    close_rig(&r);
}

static void selected_rows_continue(void **state)
{
    (void)state;
    for (int i = 0; i < ATTENTIONS; i++)
        check_choice(attentions[i]);
}

/* ---- refusals ---- */

static void assert_refusal(struct rig *r, enum oa_error e, const char *part)
{
    const char *sentence;
    assert_int_not_equal(e, OA_OK);
    oa_last_error(r->c, &sentence);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" does not say \"%s\"", sentence, part);
    oa_clear_error(r->c);
}

static void models_that_cannot_decode_are_refused(void **state)
{
    static struct rig r;
    struct oa_decoding a;
    struct oa_decoding_batch d;
    const int32_t ids[SOURCE + 1] = { 0 };
    float logits[VOCABULARY];
    (void)state;
    open_rig(&r, "softmax", "pre", true, OA_PRECISION_F32, 1);
    oa_decoding_open(r.model, &a);
    assert_refusal(&r, oa_decoding_read(&a, ids, 1, logits), "source");
    assert_refusal(&r, oa_decoding_source(&a, ids, NULL, SOURCE + 1), "1 to 9");
    assert_int_equal(oa_decoding_source(&a, ids, NULL, SOURCE), OA_OK);
    assert_refusal(&r, oa_decoding_continue(&a, ids, STEPS + 1, logits),
                   "context of the model, 7 tokens");
    oa_decoding_batch_open(r.model, 2, &d);
    assert_refusal(&r, oa_decoding_batch_begin(&d, 3, NULL), "1 to 2");
    assert_refusal(&r, oa_decoding_batch_begin(&d, 2, NULL), "sources are missing");
    oa_decoding_batch_close(&d);
    oa_decoding_close(&a);
    close_rig(&r);
}

/* ---- sequences of any length ---- */

enum { MORE = 3, TEXT = OA_DECODING_TOGETHER + MORE };
static const long prompts[ROWS] = { 1, 2, 5, 8, 13, 21, 31, OA_DECODING_TOGETHER };

/* Of a text: the logits after each of its tokens; those that nothing gave are 0. */
struct text_logits {
    float row[TEXT][VOCABULARY];
};

static void keep_row(void *argument, long position, const double *logits)
{
    struct text_logits *x = argument;
    for (long i = 0; i < VOCABULARY; i++)
        x->row[position][i] = (float)logits[i];
}

/* The next piece of a text: its prompt, all of whose tokens have a reader in three of four, then a
 * token. Of the last two prompts together more logits are wanted than are made at a time. */
static struct oa_decoding_piece next_piece(struct oa_decoding *d, int row, const int32_t *ids,
                                           struct text_logits *out,
                                           const struct oa_logits_visitor *visitor)
{
    long first = d->tokens, count = first ? 1 : prompts[row];
    return (struct oa_decoding_piece){ d, ids + first, count, out->row[first + count - 1],
                                       row % 4 && !first ? visitor : NULL };
}

static void read_alone(struct rig *r, int row, const int32_t *ids, struct text_logits *out)
{
    struct oa_decoding a;
    const struct oa_logits_visitor visitor = { keep_row, out, 1 };
    assert_int_equal(oa_decoding_open(r->model, &a), OA_OK);
    while (a.tokens < prompts[row] + MORE) {
        const struct oa_decoding_piece p = next_piece(&a, row, ids, out, &visitor);
        oa_decoding_read_chunk(&a, p.ids, p.count, p.logits, p.visitor);
        assert_ok(r->c, "alone");
    }
    oa_decoding_close(&a);
}

/* Text i comes at step i / 2, with its prompt, while others have tokens read. */
static void check_pieces(struct rig *r, const char *name)
{
    static struct text_logits alone[ROWS], together[ROWS];
    static int32_t ids[ROWS][TEXT];
    struct oa_logits_visitor visitor[ROWS];
    struct oa_decoding d[ROWS];
    oa_tape t;
    oa_tape_init(&t, r->device);
    memset(alone, 0, sizeof alone);
    memset(together, 0, sizeof together);
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < TEXT; k++)
            ids[i][k] = (int32_t)((i * 7919 + k * 104729 + 5) % VOCABULARY);
        read_alone(r, i, ids[i], &alone[i]);
        visitor[i] = (struct oa_logits_visitor){ keep_row, &together[i], 1 };
        assert_int_equal(oa_decoding_open(r->model, &d[i]), OA_OK);
    }
    for (int step = 0; step < 1 + MORE + ROWS / 2; step++) {
        struct oa_decoding_piece piece[ROWS];
        int pieces = 0;
        for (int i = 0; i < ROWS; i++)
            if (step >= i / 2 && d[i].tokens < prompts[i] + MORE)
                piece[pieces++] = next_piece(&d[i], i, ids[i], &together[i], &visitor[i]);
        if (pieces)
            oa_decodings_read(&t, piece, pieces);
        assert_ok(r->c, name);
    }
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(d[i].tokens, prompts[i] + MORE);
        for (long k = 0; k < prompts[i] + MORE; k++)
            if (memcmp(alone[i].row[k], together[i].row[k], sizeof alone[i].row[k]) != 0)
                fail_msg("%s: text %d has other bits after token %ld than alone", name, i, k);
        oa_decoding_close(&d[i]);
    }
    oa_tape_free(&t);
}

static void sequences_of_any_length_have_the_bits_of_one_alone(void **state)
{
    static struct rig r;
    static const char *const texts[] = { "softmax",
                                         "linear",
                                         "local(window=3)",
                                         "softmax(qk=srht, tie)",
                                         "cosformer",
                                         "random + softmax",
                                         "softmax:2 | dense:2",
                                         "softmax(forget)",
                                         "deltanet",
                                         "gla ; softmax(kv=2)",
                                         "kda",
                                         "longformer(window=4) ; bigbird",
                                         "lightconv",
                                         "mixer",
                                         "softmax(relative=alibi)" };
    (void)state;
    for (size_t i = 0; i < 3 * sizeof texts / sizeof *texts; i++) {
        open_rig_of(&r, texts[i / 3], i / 3 % 2 ? "post" : "pre", false, TEXT,
                    i % 3 ? OA_PRECISION_F32 : OA_PRECISION_BF16, 1 + (int)(i % 2));
        check_pieces(&r, texts[i / 3]);
        close_rig(&r);
    }
}

/* A piece has more than a token: all of them need room. */
static void pieces_beyond_the_room_are_refused(void **state)
{
    static struct rig r;
    static const int32_t ids[TEXT] = { 0 };
    static float logits[VOCABULARY];
    struct oa_decoding d;
    oa_tape t;
    (void)state;
    open_rig_of(&r, "softmax", "post", false, TEXT, OA_PRECISION_F32, 1);
    oa_tape_init(&t, r.device);
    assert_int_equal(oa_decoding_open(r.model, &d), OA_OK);
    const struct oa_decoding_piece most = { &d, ids, OA_DECODING_TOGETHER, logits, NULL },
                                   more = { &d, ids, MORE + 1, logits, NULL };
    assert_int_equal(oa_decodings_read(&t, &most, 1), OA_OK);
    assert_refusal(&r, oa_decodings_read(&t, &more, 1), "room for 35 tokens, not 36");
    oa_tape_free(&t);
    oa_decoding_close(&d);
    close_rig(&r);
}

/* ---- texts that begin alike ---- */

enum { SHARED = 2 * OA_DECODING_CHUNK, LONG = SHARED + 37 };

struct read_rows {
    long first;
    float *logits; /* [LONG - SHARED, VOCABULARY] */
    double *whole; /* the same, or NULL */
};

static void take_row(void *argument, long position, const double *logits)
{
    const struct read_rows *r = argument;
    for (long i = 0; position >= r->first && i < VOCABULARY; i++) {
        if (r->whole)
            r->whole[(position - r->first) * VOCABULARY + i] = logits[i];
        else
            r->logits[(position - r->first) * VOCABULARY + i] = (float)logits[i];
    }
}

/* Reads ids[d->tokens … LONG - 1]; logits of those from SHARED on. */
static void read_chunks(struct oa_decoding *d, const int32_t *ids, float *logits)
{
    struct read_rows rows = { SHARED, logits, NULL };
    const struct oa_logits_visitor visitor = { take_row, &rows, 0 };
    while (d->tokens < LONG) {
        long n = oa_min(OA_DECODING_CHUNK, LONG - d->tokens);
        assert_int_equal(oa_decoding_read_chunk(d, ids + d->tokens, n, NULL, &visitor), OA_OK);
    }
}

/* A text that goes on from a copy of the states that another one had after the chunks they share,
 * in memory that is new and in memory that a longer text had used; against the text alone, to the
 * bit, and against a pass over all of it. */
static void check_shared_beginning(struct oa_model *m, const char *name, double tolerance)
{
    static float alone[(LONG - SHARED) * VOCABULARY], reused[(LONG - SHARED) * VOCABULARY];
    static double whole[(LONG - SHARED) * VOCABULARY];
    static int32_t one[LONG], other[LONG];
    struct oa_decoding d[3];
    oa_tape t;
    for (int i = 0; i < LONG; i++) {
        other[i] = (int32_t)(i * 7919L % VOCABULARY);
        one[i] = i < SHARED ? other[i] : (int32_t)(i * 104729L % VOCABULARY);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(oa_decoding_open(m, &d[i]), OA_OK);
    read_chunks(&d[0], one, alone);
    oa_decoding_reset(&d[0]);
    read_chunks(&d[1], other, reused);
    oa_decoding_reset(&d[1]);
    assert_int_equal(oa_decoding_read(&d[0], other, SHARED, NULL), OA_OK);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(oa_decoding_copy(&d[0], &d[i]), OA_OK);
        read_chunks(&d[i], one, reused);
        if (memcmp(alone, reused, sizeof alone) != 0)
            fail_msg("%s: a text has other bits after a copy of its beginning", name);
    }
    struct read_rows rows = { SHARED, NULL, whole };
    oa_tape_init(&t, m->device);
    assert_int_equal(oa_model_visit_logits(&t, m, one, LONG,
                                           &(struct oa_logits_visitor){ take_row, &rows, SHARED }),
                     OA_OK);
    for (int i = 0; i < (LONG - SHARED) * VOCABULARY; i++)
        if (!(fabs((double)alone[i] - whole[i]) <= tolerance * (1 + fabs(whole[i]))))
            fail_msg("%s: %.9g where the whole has %.9g", name, (double)alone[i], whole[i]);
    oa_tape_free(&t);
    for (int i = 0; i < 3; i++)
        oa_decoding_close(&d[i]);
}

static void texts_go_on_from_a_shared_beginning(void **state)
{
    static const char *const texts[] = { "softmax",
                                         "linear",
                                         "local(window=40)",
                                         "pattern(previous):1 | orthogonal:3",
                                         "longformer(window=16) ; bigbird",
                                         "deltanet ; softmax(kv=2)" };
    static const char *const positions[] = { "learned", "rotary" };
    static const struct {
        enum oa_precision precision;
        double tolerance;
    } how[] = { { OA_PRECISION_F64, 1e-6 },
                { OA_PRECISION_F32, 1e-4 },
                { OA_PRECISION_BF16, 0.1 } };
    (void)state;
    for (size_t i = 0; i < 6 * sizeof texts / sizeof *texts; i++) {
        struct oa_options o;
        struct oa_device *device;
        struct oa_model *m;
        oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 + (int)(i % 2) });
        const struct oa_model_form form = oa_language_model_form(VOCABULARY);
        oa_options_default(&o);
        snprintf(o.model_attention, sizeof o.model_attention, "%s", texts[i / 6]);
        o.model_position = (enum oa_position)oa_option_choice("model.position", positions[i % 2]);
        o.model_layers = 2;
        o.model_width = 64;
        o.model_heads = 4;
        o.model_context = LONG + 5;
        oa_device_open(c, how[i % 3].precision, false, &device);
        oa_model_open(device, &o, &form, false, &m);
        assert_ok(c, texts[i / 6]);
        check_shared_beginning(m, texts[i / 6], how[i % 3].tolerance);
        oa_model_close(m);
        oa_device_close(device);
        oa_close(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_equal_the_whole),
        cmocka_unit_test(rows_have_the_bits_of_one_alone),
        cmocka_unit_test(rows_equal_one_decoding),
        cmocka_unit_test(together_and_one_by_one_have_the_same_bits),
        cmocka_unit_test(sequences_share_a_call_in_each_layer),
        cmocka_unit_test(sequences_of_any_length_have_the_bits_of_one_alone),
        cmocka_unit_test(pieces_beyond_the_room_are_refused),
        cmocka_unit_test(texts_go_on_from_a_shared_beginning),
        cmocka_unit_test(new_weights_are_read),
        cmocka_unit_test(redrawn_weights_are_packed_again),
        cmocka_unit_test(selected_rows_continue),
        cmocka_unit_test(models_that_cannot_decode_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
