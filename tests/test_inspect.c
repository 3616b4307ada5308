/* SPDX-License-Identifier: Apache-2.0
 * inspect: numbers of maps against closed forms, and the maps of models against what their layers
 * gave. */
#include "base/safetensors.h"
#include "testing.h"

#include "api/word_links.h"
#include "inspect/alignment.h"

#include <math.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static oa_context *context;

static int open_context(void **state)
{
    (void)state;
    context = oa_open(NULL);
    return context ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(context);
    unlink("words-test.txt");
    unlink("words-test.safetensors");
    return 0;
}

static void assert_near(double x, double want, double bound)
{
    if (!(fabs(x - want) <= bound))
        fail_msg("%.17g instead of %.17g", x, want);
}

/* ---- numbers ---- */

enum { N = 7 };

static struct oa_head_facts measured(const double *map, bool causal)
{
    long visible[N];
    struct oa_head_facts f = { 0 };
    for (long i = 0; i < N; i++)
        visible[i] = causal ? i + 1 : N;
    oa_head_measure(&(struct oa_head_map){ map, N, N, visible }, &f);
    return f;
}

static void numbers_are_the_closed_forms(void **state)
{
    double uniform[N * N], identity[N * N] = { 0 }, causal[N * N] = { 0 }, nothing[N * N] = { 0 },
                                        most = 0;
    (void)state;
    for (long i = 0; i < N * N; i++) {
        uniform[i] = 1.0 / N;
        identity[i] = i / N == i % N;
        causal[i] = i % N <= i / N ? 1.0 / (double)(i / N + 1) : 0;
    }
    struct oa_head_facts f = measured(uniform, false);
    assert_near(f.entropy, log(N), 1e-14);
    assert_near(f.entropy_share, 1, 1e-14);
    assert_near(f.distance, (N * N - 1) / (3.0 * N), 1e-14); /* of two places drawn at random */
    f = measured(identity, false);
    assert_near(f.entropy, 0, 0);
    assert_near(f.distance, 0, 0);
    f = measured(causal, true);
    for (int n = 1; n <= N; n++)
        most += log(n) / N;
    assert_near(f.entropy, most, 1e-14);
    assert_near(f.entropy_share, 1, 1e-14);
    assert_near(f.distance, (N - 1) / 4.0, 1e-14); /* the mean of i/2 */
    f = measured(nothing, false);
    assert_true(isnan(f.entropy) && isnan(f.distance) && isnan(f.entropy_share));
    for (long i = 0; i < N * N; i++)
        uniform[i] *= i % 2 ? -3 : 3; /* mass is of sizes, whatever the signs and the sum */
    f = measured(uniform, false);
    assert_near(f.entropy, log(N), 1e-14);
}

/* Three queries, five keys, a query without weight: by hand. */
static void a_wide_map_with_an_empty_row(void **state)
{
    enum { T = 3, S = 5 };
    static const double map[T * S] = { 0.5, 0.5, 0,       0, 0,    /* */ 0, 0,   0,
                                       0,   0,   /* */ 0, 0, 0.25, 0,       0.75 };
    static const double other[T * S] = { 0, 0.25, 0.75,    0, 0,   /* */ 0, 0, 0,
                                         0, 0,    /* */ 0, 0, 0.5, 0.5,     0 };
    static const long visible[T] = { 5, 5, 5 };
    const struct oa_head_map m = { map, T, S, visible };
    struct oa_head_facts f = { 0 };
    double uniform[T * S];
    (void)state;
    oa_head_measure(&m, &f);
    assert_near(f.entropy, (log(2) + 0.75 * log(4.0 / 3) + 0.25 * log(4)) / 2, 1e-15);
    assert_near(f.entropy_share, 2 * f.entropy / (2 * log(5)), 1e-15);
    assert_near(f.distance, (0.5 + 0.75 * 2) / 2, 1e-15);
    for (long i = 0; i < T * S; i++)
        uniform[i] = 1.0 / S;
    assert_near(oa_head_covered(&m, uniform), (0.4 + 0 + 0.4) / 3, 1e-15);
    assert_near(oa_head_covered(&m, other), (0.25 + 1 + 0.25) / 3,
                1e-15); /* both rows are empty: 1 */
}

/* ---- alignments ---- */

static void words_are_linked_by_their_tokens(void **state)
{
    (void)state;
    double weight[] = {
        0.5, 0.3, 0, 0.2, 0, 0, 0.3, 0, 0, 0.7, 0, 0, 0, 1, 0, 0.4, 0.1, 0.1, 0.5, 0
    };
    const struct oa_alignment a = { context, 4, 5, weight };
    const int32_t targets[] = { 0, 0, -1, 2 }, sources[] = { 0, 1, 1, -1, 2 };
    int32_t link[3] = { 9, 9, 9 };
    assert_int_equal(oa_alignment_link(&a, targets, sources, 3, link), OA_OK);
    assert_int_equal(link[0], 2); /* 0.7 of one token, 0.6 of two, 0.5 of one */
    assert_int_equal(link[1], -1);
    assert_int_equal(link[2], 0); /* its most is with a special token, which is no word */
    weight[9] = 0.55;
    assert_int_equal(oa_alignment_link(&a, targets, sources, 3, link), OA_OK);
    assert_int_equal(link[0], 1);
}

/* Words of a text up to its byte n, as a reader counts them. */
static long words_before(const char *s, size_t n)
{
    long words = 0;
    for (size_t i = 0; i < n; i++)
        words += !strchr(" \t\n", s[i]) && (i == 0 || strchr(" \t\n", s[i - 1]));
    return words;
}

static void words_are_those_of_the_line(void **state)
{
    (void)state;
    static const char *const specs[] = { "char", "byte", "bpe:300", "word:30" };
    static const char odd[] =
        " over the  lazy dog, and\tthe\nend. over the lazy dog, and the end. ";
    static const char even[] =
        " over the lazy dog, and the end. over the lazy dog, and the end."; /* all words twice */
    for (size_t k = 0; k < 4; k++) {
        const char *text = k < 3 ? odd : even;
        struct oa_tokenizer *tok;
        struct oa_ids ids;
        int32_t word[sizeof odd];
        size_t at = 0, blank, length;
        assert_int_equal(oa_file_write(context, "words-test.txt", text, strlen(text)), OA_OK);
        assert_int_equal(oa_tokenizer_open(context, specs[k], "words-test.txt", NULL, &tok), OA_OK);
        oa_ids_init(&ids, context);
        assert_int_equal(oa_tokenizer_encode(tok, text, strlen(text), &ids), OA_OK);
        assert_int_equal(oa_count_words(tok, ids.id, ids.count, -1, word),
                         words_before(text, strlen(text)));
        for (size_t i = 0; i < ids.count; i++, at += length) {
            const char *bytes = oa_tokenizer_bytes(tok, ids.id[i], &length);
            assert_memory_equal(bytes, text + at, length);
            blank = strspn(bytes, " \t\n");
            assert_int_equal(word[i],
                             blank >= length ? -1 : words_before(text, at + blank + 1) - 1);
        }
        oa_ids_free(&ids);
        oa_tokenizer_close(tok);
    }
}

/* Outputs print a byte 0 as a blank. */
static void a_byte_zero_parts_words(void **state)
{
    (void)state;
    static const int32_t wanted[] = { 0, -1, 1, -1, -1, 2 };
    static const char text[] = "a\0b \0c";
    struct oa_tokenizer *tok;
    struct oa_ids ids;
    int32_t word[sizeof text];
    assert_int_equal(oa_tokenizer_open(context, "byte", "words-test.txt", NULL, &tok), OA_OK);
    oa_ids_init(&ids, context);
    assert_int_equal(oa_tokenizer_encode(tok, text, sizeof text - 1, &ids), OA_OK);
    assert_int_equal(ids.count, sizeof text - 1);
    assert_int_equal(oa_count_words(tok, ids.id, ids.count, -1, word), 3);
    assert_memory_equal(word, wanted, sizeof wanted);
    oa_ids_free(&ids);
    oa_tokenizer_close(tok);
}

/* ---- fixed maps ---- */

struct best {
    const double *map;
    char name[OA_FIXED_NAME];
    double covered;
    int tried;
};

static void keep_best(void *argument, const char *attention, const double *fixed)
{
    struct best *b = argument;
    long visible[N] = { 0 };
    double covered = oa_head_covered(&(struct oa_head_map){ b->map, N, N, visible }, fixed);
    b->tried++;
    if (covered > b->covered) {
        b->covered = covered;
        snprintf(b->name, sizeof b->name, "%s", attention);
    }
}

static struct best nearest(const double *map, bool causal, bool cross)
{
    struct best b = { .map = map };
    struct oa_fixed_shape shape = { N, N, causal, cross };
    assert_int_equal(oa_fixed_maps(context, &shape, keep_best, &b), OA_OK);
    return b;
}

static void fixed_maps_cover_themselves(void **state)
{
    double map[N * N] = { 0 };
    (void)state;
    for (long i = 1; i < N; i++)
        map[i * N + i - 1] = 1;
    struct best b = nearest(map, true, false);
    assert_string_equal(b.name, "pattern(previous)");
    assert_near(b.covered, 1, 0);
    map[0] = 1; /* a row that cannot be empty */
    b = nearest(map, true, false);
    assert_string_equal(b.name, "pattern(previous, edge=self)");
    assert_near(b.covered, 1, 0);
    for (long i = 1; i < N; i++) { /* three quarters before, one here */
        map[i * N + i] = 0.25;
        map[i * N + i - 1] = 0.75;
    }
    b = nearest(map, true, false);
    assert_near(b.covered, (1 + 0.75 * (N - 1)) / N, 1e-15);
    for (long i = 0; i < N; i++) /* (j + 1)³ of all: end */
        for (long j = 0; j < N; j++)
            map[i * N + j] = pow((double)j + 1, 3) / pow(N * (N + 1) / 2.0, 2);
    b = nearest(map, false, false);
    assert_string_equal(b.name, "pattern(end)");
    assert_near(b.covered, 1, 1e-14);
    for (long i = 0; i < N; i++) /* of what comes no later, all alike */
        for (long j = 0; j < N; j++)
            map[i * N + j] = j <= i ? 1 / (double)(i + 1) : 0;
    b = nearest(map, true, false);
    assert_string_equal(b.name, OA_UNIFORM_ATTENTION);
    assert_near(b.covered, 1, 1e-14);
    for (long i = 0; i < N * N; i++)
        map[i] = 1.0 / N;
    b = nearest(map, false, true); /* in cross-attention there is nothing else */
    assert_string_equal(b.name, OA_UNIFORM_ATTENTION);
    assert_near(b.covered, 1, 1e-14);
    assert_int_equal(b.tried, 1);
}

/* ---- models ---- */

static struct oa_options small(const char *attention)
{
    struct oa_options o;
    oa_options_default(&o);
    snprintf(o.model_attention, sizeof o.model_attention, "%s", attention);
    o.model_layers = 2;
    o.model_width = 32;
    o.model_heads = 4;
    o.model_context = 24;
    return o;
}

struct subject {
    struct oa_device *device;
    struct oa_model *model;
    oa_tape tape;
    struct oa_inspection what;
};

static void inspect_tokens(struct subject *s, const struct oa_options *o,
                           const struct oa_model_form *f, long length)
{
    static const int32_t ids[] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3 };
    struct oa_sequences in = { .rows = 1, .length = length, .ids = ids },
                        source = { .rows = 1, .length = 11, .ids = ids };
    assert_int_equal(oa_device_open(context, OA_PRECISION_F32, false, &s->device), OA_OK);
    assert_int_equal(oa_model_open(s->device, o, f, false, &s->model), OA_OK);
    oa_tape_init(&s->tape, s->device);
    assert_int_equal(
        oa_inspect_model(&s->tape, s->model, &in, f->encoder ? &source : NULL, &s->what), OA_OK);
}

static void inspect(struct subject *s, const struct oa_options *o, const struct oa_model_form *f)
{
    inspect_tokens(s, o, f, 18);
}

static void close_subject(struct subject *s)
{
    oa_inspection_close(&s->what);
    oa_tape_free(&s->tape);
    oa_model_close(s->model);
    oa_device_close(s->device);
}

static void check_rows(const struct oa_layer_view *v)
{
    long S = v->in.keys;
    for (long r = 0; r < v->layer->shape.heads * v->in.queries; r++) {
        const struct oa_mechanism *m = oa_view_group(v, r / v->in.queries)->mechanism;
        double sum = 0;
        for (long j = 0; j < S; j++)
            sum += v->map[r * S + j];
        if (m->can & OA_AVERAGES && !(sum == 0 && strcmp(m->name, "pattern") == 0))
            assert_near(sum, 1, m->scores ? 1e-12 : 1e-5); /* kernels may add an ε to the sum */
    }
}

static void maps_give_what_layers_gave(void **state)
{
    static const char *const attentions[] = { "softmax",
                                              "random + softmax",
                                              "pattern(previous):1 | softmax:2 | pattern(left):1",
                                              "linear",
                                              "performer",
                                              "sparse(stride=4)",
                                              "local(window=4)",
                                              "softmax(relative=alibi)" };
    (void)state;
    for (size_t i = 0; i < sizeof attentions / sizeof *attentions; i++) {
        struct subject s = { 0 };
        struct oa_options o = small(attentions[i]);
        struct oa_model_form f = oa_language_model_form(10);
        o.model_norm = i % 2 ? OA_NORM_POST : OA_NORM_PRE;
        inspect(&s, &o, &f);
        assert_int_equal(s.what.layers, 2);
        for (int l = 0; l < 2; l++) {
            if (!(s.what.layer[l].deviation < 2e-5))
                fail_msg("%s: off by %g", attentions[i], s.what.layer[l].deviation);
            check_rows(&s.what.layer[l]);
        }
        close_subject(&s);
    }
}

static void stacks_and_cross_attention_are_seen(void **state)
{
    struct subject s = { 0 };
    struct oa_options o = small("encoder: pattern(next):1 | softmax:3");
    struct oa_model_form f = { .encoder = true, .decoder = true, .vocabulary = 10 };
    static const long keys[] = { 11, 11, 18, 11, 18, 11 };
    (void)state;
    o.model_position = OA_POSITION_ROTARY;
    inspect(&s, &o, &f);
    assert_int_equal(s.what.layers, 6);
    for (int i = 0; i < 6; i++) {
        const struct oa_layer_view *v = &s.what.layer[i];
        assert_int_equal(v->in.keys, keys[i]);
        assert_int_equal(v->layer->shape.cross, i == 3 || i == 5);
        assert_true(v->deviation < 2e-5);
        check_rows(v);
    }
    assert_string_equal(s.what.layer[0].head[0].nearest, "pattern(next)");
    assert_near(s.what.layer[0].head[0].covered, 1, 0);
    assert_false(oa_head_replaceable(&s.what.layer[0], 0)); /* it is that already */
    close_subject(&s);
}

/* A single token: every pattern that looks at it covers all, and so does the uniform average, which
 * comes last. */
static void of_equal_ones_the_first_is_named(void **state)
{
    struct subject s = { 0 };
    struct oa_options o = small("softmax");
    struct oa_model_form f = oa_language_model_form(10);
    (void)state;
    inspect_tokens(&s, &o, &f, 1);
    assert_string_equal(s.what.layer[0].head[0].nearest, "pattern(current)");
    assert_near(s.what.layer[0].head[0].covered, 1, 0);
    close_subject(&s);
}

static void what_is_covered_is_replaced(void **state)
{
    struct subject s = { 0 };
    struct oa_options o = small("softmax");
    struct oa_model_form f = oa_language_model_form(10);
    struct oa_text text;
    (void)state;
    oa_text_init(&text, context);
    inspect(&s, &o, &f);
    for (int l = 0; l < 2; l++)
        for (long h = 0; h < 4; h++) {
            struct oa_head_facts *head = &s.what.layer[l].head[h];
            snprintf(head->nearest, sizeof head->nearest, "%s",
                     h % 2 ? "pattern(previous)" : "pattern(current)");
            head->covered = l == 0 && h > 0 ? OA_REPLACEABLE : 0.79;
        }
    assert_true(oa_inspection_suggestion(&s.what, &text));
    assert_string_equal(text.s, "softmax:1 | pattern(previous):2 | pattern(current):1 ; softmax");
    assert_int_equal(oa_spec_check(context, text.s), OA_OK);
    s.what.layer[0].head[1].covered = s.what.layer[0].head[2].covered =
        s.what.layer[0].head[3].covered = 0;
    assert_false(oa_inspection_suggestion(&s.what, &text));
    oa_text_free(&text);
    close_subject(&s);
}

/* ---- pictures ---- */

static void colours_rise_evenly(void **state)
{
    double before = -1;
    (void)state;
    for (int i = 0; i <= 254; i++) { /* relative luminance (WCAG) */
        unsigned char rgb[3];
        double Y = 0;
        static const double part[] = { 0.2126, 0.7152, 0.0722 };
        oa_heat_color(i / 254.0, rgb);
        for (int k = 0; k < 3; k++)
            Y += part[k] * pow((rgb[k] / 255.0 + 0.055) / 1.055, 2.4);
        assert_true(Y > before - 1e-4); /* to within a step of 8 bits */
        before = fmax(before, Y);
    }
}

static double made_up_share(void *argument, long i, long j)
{
    static const double shares[2][4] = { { -1, 0, 0.5, 1 }, { 2, INFINITY, 0.25, -0.1 } };
    (void)argument;
    return shares[i][j];
}

static unsigned long big_endian_at(const char *s)
{
    const unsigned char *b = (const unsigned char *)s;
    return (unsigned long)b[0] << 24 | (unsigned long)b[1] << 16 | (unsigned long)b[2] << 8 | b[3];
}

/* The contents of the next chunk, which has this type and a right checksum. */
static const char *next_chunk(const char **at, const char *type, unsigned long *length)
{
    const char *chunk = *at + 8;
    *length = big_endian_at(*at);
    assert_memory_equal(*at + 4, type, 4);
    assert_true(big_endian_at(chunk + *length) ==
                crc32(0, (const Bytef *)*at + 4, (uInt)*length + 4));
    *at = chunk + *length + 4;
    return chunk;
}

/* Levels 0 to 254 from the least to the most, and 255, the only clear one, where nothing is. */
static void pictures_have_the_levels_of_their_shares(void **state)
{
    static const unsigned char levels[2][5] = { { 0, 255, 0, 127, 254 }, { 0, 254, 254, 64, 255 } };
    static const struct oa_heat heat = { .rows = 2, .columns = 4, .share = made_up_share };
    unsigned char pixels[2][5], rgb[3];
    unsigned long length;
    uLongf unpacked = sizeof pixels;
    struct oa_text png;
    (void)state;
    oa_text_init(&png, context);
    oa_heat_png(&heat, &png);
    const char *at = png.s + 8;
    const char *head = next_chunk(&at, "IHDR", &length);
    assert_true(big_endian_at(head) == 4 && big_endian_at(head + 4) == 2);
    const char *colors = next_chunk(&at, "PLTE", &length);
    for (int i = 0; i < 255; i++) {
        oa_heat_color(i / 254.0, rgb);
        assert_memory_equal(colors + 3 * i, rgb, 3);
    }
    const char *opaque = next_chunk(&at, "tRNS", &length);
    assert_int_equal(length, 256);
    for (int i = 0; i < 256; i++)
        assert_int_equal((unsigned char)opaque[i], i == 255 ? 0 : 255);
    const char *packed = next_chunk(&at, "IDAT", &length);
    assert_int_equal(uncompress(&pixels[0][0], &unpacked, (const Bytef *)packed, length), Z_OK);
    assert_int_equal(unpacked, sizeof pixels);
    assert_memory_equal(pixels, levels, sizeof pixels);
    next_chunk(&at, "IEND", &length);
    assert_ptr_equal(at, png.s + png.length);
    oa_text_free(&png);
}

/* RFC 4648, section 10. */
static void base64_is_that_of_the_rfc(void **state)
{
    static const char *const want[] = { "",         "Zg==",     "Zm8=",    "Zm9v",
                                        "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy" };
    (void)state;
    for (size_t n = 0; n <= 6; n++) {
        struct oa_text t;
        oa_text_init(&t, context);
        oa_base64_text(&t, "foobar", n);
        assert_string_equal(t.s ? t.s : "", want[n]);
        oa_text_free(&t);
    }
}

/* ---- alignments of models ---- */

enum { SOURCE = 9, WRITTEN = 9, LENGTH = 16, HEADS = 4, WORDS = 3, SEEDS = 20 };
static const char source_text[] = "ab cd ef", written_text[] = "ff f edca";
static const int32_t source_words[SOURCE] = { 0, 0, -1, 1, 1, -1, 2, 2, -1 };
static const int32_t written_words[WRITTEN] = { 0, 0, -1, 1, -1, 2, 2, 2, 2 };

/* A model with random values, and its own tokens of both texts. */
struct translator {
    struct oa_trained t;
    struct oa_ids source, written;
    int32_t begin;
};

static void open_translator(struct translator *x, const char *attention, int seed)
{
    struct oa_options o = small(attention);
    struct oa_model_form f = { .encoder = true, .decoder = true, .vocabulary = 10 };
    int32_t end;
    *x = (struct translator){ .t = { .context = context } };
    o.model_layers = 3;
    o.model_context = LENGTH;
    o.train_seed = seed;
    oa_ids_init(&x->source, context);
    oa_ids_init(&x->written, context);
    assert_int_equal(oa_file_write(context, "words-test.txt", source_text, strlen(source_text)),
                     OA_OK);
    assert_int_equal(oa_tokenizer_open(context, "char", "words-test.txt", NULL, &x->t.tokenizer),
                     OA_OK);
    assert_int_equal(oa_tokenizer_add_special(x->t.tokenizer, "<s>", &x->begin), OA_OK);
    assert_int_equal(oa_tokenizer_add_special(x->t.tokenizer, "</s>", &end), OA_OK);
    assert_int_equal(
        oa_tokenizer_encode(x->t.tokenizer, source_text, strlen(source_text), &x->source), OA_OK);
    assert_int_equal(oa_ids_add(&x->source, end), OA_OK);
    assert_int_equal(
        oa_tokenizer_encode(x->t.tokenizer, written_text, strlen(written_text), &x->written),
        OA_OK);
    assert_int_equal(oa_device_open(context, OA_PRECISION_F32, false, &x->t.device), OA_OK);
    assert_int_equal(oa_model_open(x->t.device, &o, &f, false, &x->t.model), OA_OK);
    oa_tape_init(&x->t.tape, x->t.device);
}

static void close_translator(struct translator *x)
{
    oa_ids_free(&x->source);
    oa_ids_free(&x->written);
    oa_trained_close(&x->t);
}

static struct oa_sequences source_of(const struct translator *x)
{
    return (struct oa_sequences){ .rows = 1, .length = SOURCE, .ids = x->source.id };
}

static int32_t most_looked_at(double looked[WRITTEN][SOURCE], int32_t word)
{
    double sum[WORDS] = { 0 };
    for (long t = 0; t < WRITTEN; t++)
        for (long s = 0; s < SOURCE; s++)
            if (written_words[t] == word && source_words[s] >= 0)
                sum[source_words[s]] += looked[t][s];
    return sum[0] >= sum[1] && sum[0] >= sum[2] ? 0 : sum[1] >= sum[2] ? 1 : 2;
}

/* How many words have another link than what is looked at. */
static int other_links(struct translator *x, double looked[WRITTEN][SOURCE])
{
    const struct oa_sequences in = source_of(x);
    struct oa_links links;
    int others = 0;
    assert_int_equal(oa_links_find(&x->t, &in, x->written.id, WRITTEN, &links), OA_OK);
    assert_int_equal(links.count, WORDS);
    for (int32_t w = 0; w < WORDS; w++) {
        assert_int_equal(links.link[w].target, w);
        others += links.link[w].source != most_looked_at(looked, w);
    }
    oa_free(links.link);
    return others;
}

/* Σ_h softmax(logits_h) / H, which is what `random`, frozen, looks at whatever it reads. */
static void read_map(const struct oa_tensors *file, const char *name,
                     double looked[WRITTEN][SOURCE])
{
    const struct oa_array *logits = oa_tensors_find(file, name);
    memset(looked, 0, WRITTEN * sizeof *looked);
    for (size_t r = 0; r < HEADS * WRITTEN; r++) {
        size_t row = (r / WRITTEN * LENGTH + r % WRITTEN) * LENGTH;
        double sum = 0;
        for (size_t s = 0; s < SOURCE; s++)
            sum += exp(oa_array_value(logits, row + s));
        for (size_t s = 0; s < SOURCE; s++)
            looked[r % WRITTEN][s] += exp(oa_array_value(logits, row + s)) / sum / HEADS;
    }
}

static void links_are_those_of_a_known_map(void **state)
{
    (void)state;
    int last_differs = 0;
    for (int seed = 1; seed <= SEEDS; seed++) {
        struct translator x;
        struct oa_tensors *file;
        double looked[WRITTEN][SOURCE];
        open_translator(&x, "cross: random(frozen)", seed);
        assert_int_equal(oa_model_save(x.t.model, x.t.tokenizer, "words-test.safetensors", true),
                         OA_OK);
        assert_int_equal(oa_tensors_open(context, "words-test.safetensors", &file), OA_OK);
        read_map(file, "decoder.layers.1.cross_attention.random.logits", looked);
        assert_int_equal(other_links(&x, looked), 0);
        read_map(file, "decoder.layers.2.cross_attention.random.logits", looked);
        last_differs += other_links(&x, looked);
        oa_tensors_close(file);
        close_translator(&x);
    }
    assert_true(last_differs > 5);
}

/* The map of the second of three layers when the decoder reads these tokens. */
static void inspect_map(struct translator *x, const int32_t *read, double looked[WRITTEN][SOURCE])
{
    const struct oa_sequences in = source_of(x),
                              out = { .rows = 1, .length = WRITTEN, .ids = read };
    struct oa_inspection what;
    assert_int_equal(oa_inspect_model(&x->t.tape, x->t.model, &out, &in, &what), OA_OK);
    const struct oa_layer_view *v =
        &what.layer[6]; /* encoder 3, decoder: self, cross, self, cross */
    assert_true(v->layer->shape.cross && v->number == 1);
    memset(looked, 0, WRITTEN * sizeof *looked);
    for (long i = 0; i < HEADS * WRITTEN * SOURCE; i++)
        looked[i / SOURCE % WRITTEN][i % SOURCE] += v->map[i] / HEADS;
    oa_inspection_close(&what);
}

/* A token was made where the one before it was read. */
static void links_are_of_the_row_that_wrote(void **state)
{
    (void)state;
    int late = 0;
    for (int seed = 1; seed <= SEEDS; seed++) {
        struct translator x;
        double looked[WRITTEN][SOURCE];
        int32_t read[WRITTEN];
        open_translator(&x, "softmax", seed);
        read[0] = x.begin;
        memcpy(read + 1, x.written.id, (WRITTEN - 1) * sizeof *read);
        inspect_map(&x, read, looked);
        assert_int_equal(other_links(&x, looked), 0);
        inspect_map(&x, x.written.id, looked);
        late += other_links(&x, looked);
        close_translator(&x);
    }
    assert_true(late > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_linked_by_their_tokens),
        cmocka_unit_test(words_are_those_of_the_line),
        cmocka_unit_test(a_byte_zero_parts_words),
        cmocka_unit_test(links_are_those_of_a_known_map),
        cmocka_unit_test(links_are_of_the_row_that_wrote),
        cmocka_unit_test(numbers_are_the_closed_forms),
        cmocka_unit_test(a_wide_map_with_an_empty_row),
        cmocka_unit_test(fixed_maps_cover_themselves),
        cmocka_unit_test(maps_give_what_layers_gave),
        cmocka_unit_test(stacks_and_cross_attention_are_seen),
        cmocka_unit_test(of_equal_ones_the_first_is_named),
        cmocka_unit_test(what_is_covered_is_replaced),
        cmocka_unit_test(colours_rise_evenly),
        cmocka_unit_test(pictures_have_the_levels_of_their_shares),
        cmocka_unit_test(base64_is_that_of_the_rfc),
    };
    threads_only("maps_*");
    return cmocka_run_group_tests(tests, open_context, close_context);
}
