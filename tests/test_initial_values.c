/* SPDX-License-Identifier: Apache-2.0
 * What a model starts from: the documented deviation of every random tensor, the limits of uniform
 * ones, ones and zeros where they belong, tables of positions in closed form; and that no two
 * random tensors of a model, nor of two seeds, have anything to do with each other. */
#include "setups.h"

#include "model/model.h"

#include <math.h>
#include <string.h>

enum { LAYERS = 3, WIDTH = 48, HEADS = 2, LENGTH = 20, FFN = 64, VOCABULARY = 300 };
enum { HEAD = WIDTH / HEADS };

static oa_context *context;
static struct oa_device *device;

static const char *norm_place = "pre";

static struct oa_model *open_model(const char *attention, const char *position, long seed)
{
    struct oa_options o;
    struct oa_model *m;
    oa_options_default(&o);
    snprintf(o.model_attention, sizeof o.model_attention, "%s", attention);
    set_option(&o, "model.position", position);
    set_option(&o, "model.norm", norm_place);
    o.model_layers = LAYERS;
    o.model_width = WIDTH;
    o.model_heads = HEADS;
    o.model_context = LENGTH;
    o.model_ffn = FFN;
    o.model_bias = true;
    o.train_seed = seed;
    if (oa_model_open(device, &o, (struct oa_model_form[]){ oa_language_model_form(VOCABULARY) },
                      false, &m) != OA_OK) {
        const char *sentence;
        oa_last_error(context, &sentence);
        fail_msg("%s: %s", attention, sentence);
    }
    return m;
}

static const double *values(const struct oa_model *m, const char *name, long *count)
{
    const struct oa_parameter *p = oa_store_find(&m->store, name);
    if (!p)
        fail_msg("%s is missing", name);
    *count = p->count;
    return p->value;
}

/* ---- spread ---- */

/* Of all layers: `limit` > 0: uniform in ±limit, else normal. The deviation of n values is known to
 * 1/√(2n). */
struct law {
    const char *attention, *name; /* %d: the layer */
    double deviation, limit;
};

static double glorot(double in, double out)
{
    return sqrt(6 / (in + out));
}

static void assert_law(const struct law *law, double limit, double deviation)
{
    struct oa_model *m = open_model(law->attention, "learned", 1);
    double squares = 0, sum = 0, most = 0;
    long n = 0, count;
    for (int layer = 0; layer < (strchr(law->name, '%') ? LAYERS : 1); layer++) {
        char name[160];
        const char *mark = strchr(law->name, '%');
        snprintf(name, sizeof name, "%.*s%d%s", mark ? (int)(mark - law->name) : 0, law->name,
                 layer, mark ? mark + 2 : "");
        const double *x = values(m, mark ? name : law->name, &count);
        for (long i = 0; i < count; i++, n++) {
            sum += x[i];
            squares += x[i] * x[i];
            most = fmax(most, fabs(x[i]));
        }
    }
    double got = sqrt(squares / (double)n), mean = sum / (double)n / deviation * sqrt((double)n);
    if (!(fabs(got / deviation - 1) < 5 / sqrt(2 * (double)n)) || !(fabs(mean) < 5))
        fail_msg("%s of %s: deviation %.5g, expected %.5g (%ld values, mean %.2g deviations off)",
                 law->name, law->attention, got, deviation, n, mean);
    bool uniform = most <= limit && most > limit * (1 - 20 / (double)n),
         normal = most > 2 * deviation;
    if (limit > 0 ? !uniform : !normal)
        fail_msg("%s of %s: the largest is %.5g, %.5g is the limit", law->name, law->attention,
                 most, limit);
    oa_model_close(m);
}

#define LAYER "decoder.layers.%d."
#define ATTENTION LAYER "attention."

static void test_normal_tensors(void **state)
{
    (void)state;
    double residual = 1 / sqrt(2 * LAYERS), width = 1 / sqrt(WIDTH);
    const struct law laws[] = {
        { "softmax", "embedding.weight", .deviation = 0.02 },
        { "softmax", "position.weight", .deviation = 0.02 },
        { "softmax", ATTENTION "query.weight", .deviation = width },
        { "softmax", ATTENTION "key.weight", .deviation = width },
        { "softmax", ATTENTION "value.weight", .deviation = width },
        { "softmax", ATTENTION "output.weight", .deviation = residual * width },
        { "softmax", LAYER "ffn.in.weight", .deviation = width },
        { "softmax", LAYER "ffn.out.weight", .deviation = residual / sqrt(FFN) },
        { "random(init=normal, sigma=0.3)", ATTENTION "random.logits", .deviation = 0.3 },
        { "lightconv", ATTENTION "conv.input.weight", .deviation = width },
        { "taylor(width=7)", ATTENTION "query.weight", .deviation = width },
        { "orthogonal(qk=gaussian)", ATTENTION "query.weight", .deviation = width },
        { "orthogonal", ATTENTION "query.weight", .deviation = width },
        { "orthogonal", ATTENTION "key.weight", .deviation = width },
        { "performer(features=24, draw=iid)", ATTENTION "features.omega", .deviation = 1 },
        { "performer(features=24)", ATTENTION "features.omega", .deviation = 1 },
        { "polysketch", ATTENTION "features.sketch", .deviation = 1 },
    };
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        assert_law(&laws[i], 0, laws[i].deviation);
}

/* Branches that end with a norm have the size of that norm, whatever their matrices: these are not
 * scaled by the number of branches. */
static void test_branches_with_norms(void **state)
{
    static const char *const places[] = { "post", "both", "branch" };
    const struct law laws[] = {
        { "softmax", ATTENTION "output.weight", .deviation = 1 / sqrt(WIDTH) },
        { "softmax", LAYER "ffn.out.weight", .deviation = 1 / sqrt(FFN) },
    };
    (void)state;
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        norm_place = places[p];
        for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
            assert_law(&laws[i], 0, laws[i].deviation);
    }
    norm_place = "pre";
}

/* Mamba-2 (Dao and Gu 2024, and its authors' code: A_init_range 1 to 16, dt_min 0.001, dt_max 0.1):
 * e^a is uniform between 1 and 16, the logarithm of the step ln(1 + e^b) between those of 1/1000
 * and 1/10. Shares of the ranges, of all layers: the mean of n uniform numbers is 1/2 ± 1/√(12n),
 * the least and the largest are within 20/n of the ends. */
static void test_rates_and_steps_of_decays(void **state)
{
    (void)state;
    for (int rate = 0; rate < 2; rate++) {
        double sum = 0, least = 1, most = 0;
        long n = 0, count;
        for (long seed = 1; seed <= 40; seed++) {
            struct oa_model *m = open_model("linear(decay=head)", "none", seed);
            for (int layer = 0; layer < LAYERS; layer++) {
                char name[160];
                snprintf(name, sizeof name, "decoder.layers.%d.attention.decay.%s", layer,
                         rate ? "rate" : "bias");
                const double *x = values(m, name, &count);
                assert_int_equal(count, HEADS);
                for (long i = 0; i < count; i++, n++) {
                    double share = rate ? (exp(x[i]) - 1) / 15 : log10(log1p(exp(x[i]))) / 2 + 1.5;
                    sum += share;
                    least = fmin(least, share);
                    most = fmax(most, share);
                }
            }
            oa_model_close(m);
        }
        assert_true(least > -1e-9 && most < 1 + 1e-9);
        assert_true(least < 20 / (double)n && most > 1 - 20 / (double)n);
        assert_true(fabs(sum / (double)n - 0.5) < 5 / sqrt(12 * (double)n));
    }
}

/* Glorot's limits (of a uniform law the deviation is limit/√3). Fans: of the Random Synthesizer,
 * [length, heads, length]; of light convolutions, filters [heads, 1, width] as a convolution counts
 * them. */
static void test_uniform_tensors(void **state)
{
    (void)state;
    const struct law laws[] = {
        { "random", ATTENTION "random.logits",
          .limit = sqrt(6.0 / (HEADS * LENGTH + LENGTH * LENGTH)) },
        { "random(init=uniform, sigma=0.3)", ATTENTION "random.logits", .limit = 0.3 },
        { "fixed-random", ATTENTION "random.logits",
          .limit = sqrt(6.0 / (HEADS * LENGTH + LENGTH * LENGTH)) },
        { "factorized-random", ATTENTION "random.left", .limit = glorot(LENGTH, 8) },
        { "factorized-random", ATTENTION "random.right", .limit = glorot(LENGTH, 8) },
        { "dense", ATTENTION "dense.hidden.weight", .limit = glorot(HEAD, HEAD) },
        { "dense(input=full)", ATTENTION "dense.hidden.weight", .limit = glorot(WIDTH, HEAD) },
        { "dense", ATTENTION "dense.logits.weight", .limit = glorot(HEAD, LENGTH) },
        { "factorized-dense(a=4)", ATTENTION "dense.a.weight", .limit = glorot(HEAD, 4) },
        { "factorized-dense(a=4)", ATTENTION "dense.b.weight", .limit = glorot(HEAD, 5) },
        { "mixer", ATTENTION "mixer.in.weight", .limit = glorot(WIDTH / 2, LENGTH) },
        { "mixer", ATTENTION "mixer.out.weight", .limit = glorot(WIDTH / 2, LENGTH) },
        { "lightconv(width=19)", ATTENTION "conv.kernel", .limit = glorot(19, HEADS * 19) },
        { "dynamicconv(width=19)", ATTENTION "conv.filter.weight",
          .limit = glorot(WIDTH, HEADS * 19) },
    };
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        assert_law(&laws[i], laws[i].limit, laws[i].limit / sqrt(3));
}

/* ---- what is not random ---- */

static void test_norms_and_biases(void **state)
{
    (void)state;
    struct oa_model *m =
        open_model("mix(softmax, random) ; softmax(temperature, diagonal)", "learned", 1);
    int ones = 0, zeros = 0;
    for (int k = 0; k < m->store.count; k++) {
        const struct oa_parameter *p = m->store.parameter[k];
        bool one = strstr(p->name, "norm.weight") || strstr(p->name, "temperature") ||
                   strstr(p->name, "diagonal");
        bool zero = strstr(p->name, "bias") || strstr(p->name, "theta");
        for (long i = 0; i < p->count && (one || zero); i++)
            assert_true(((const double *)p->value)[i] == (one ? 1 : 0));
        ones += one;
        zeros += zero;
    }
    assert_int_equal(ones, 2 * LAYERS + 1 + 2);
    assert_int_equal(zeros, 2 * LAYERS + 1 + LAYERS * 4 + 2 * 2 + 2 + 2);
    oa_model_close(m);
}

/* Vaswani et al. 2017, section 3.5, times 0.02·√2, which makes the mean square that of an
 * embedding. */
static void test_sinusoids(void **state)
{
    (void)state;
    long n;
    struct oa_model *m = open_model("softmax", "sinusoidal", 1);
    const double *x = values(m, "position.weight", &n);
    assert_int_equal(n, LENGTH * WIDTH);
    for (long t = 0; t < LENGTH; t++)
        for (long i = 0; i < WIDTH / 2; i++) {
            double angle = (double)t * exp(-log(10000) * 2 * (double)i / WIDTH);
            assert_true(fabs(x[t * WIDTH + 2 * i] - 0.02 * sqrt(2) * sin(angle)) < 1e-14);
            assert_true(fabs(x[t * WIDTH + 2 * i + 1] - 0.02 * sqrt(2) * cos(angle)) < 1e-14);
        }
    oa_model_close(m);
}

/* Su et al. 2021, equation 15: pair i of a head turns by t·10000^(−2i/K). */
static void test_rotary_angles(void **state)
{
    (void)state;
    long n;
    struct oa_model *m = open_model("softmax", "rotary", 1);
    const double *cosine = values(m, "rotary.cosine", &n), *sine = values(m, "rotary.sine", &n);
    assert_int_equal(n, LENGTH * HEAD / 2);
    for (long t = 0; t < LENGTH; t++)
        for (long i = 0; i < HEAD / 2; i++) {
            double angle = (double)t * exp(-log(10000) * 2 * (double)i / HEAD);
            assert_true(fabs(cosine[t * HEAD / 2 + i] - cos(angle)) < 1e-13);
            assert_true(fabs(sine[t * HEAD / 2 + i] - sin(angle)) < 1e-13);
        }
    oa_model_close(m);
}

/* ---- nothing is drawn twice ---- */

/* Correlation of the leading values, in deviations of that of unrelated ones. */
static double relation(const struct oa_parameter *a, const struct oa_parameter *b)
{
    long n = a->count < b->count ? a->count : b->count;
    const double *x = a->value, *y = b->value;
    double xx = 0, yy = 0, xy = 0;
    for (long i = 0; i < n; i++) {
        xx += x[i] * x[i];
        yy += y[i] * y[i];
        xy += x[i] * y[i];
    }
    return xy / sqrt(xx * yy) * sqrt((double)n);
}

static bool drawn(const struct oa_parameter *p)
{
    const double *x = p->value;
    double low = x[0], high = x[0];
    for (long i = 0; i < p->count; i++) {
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    return p->count >= 40 && !p->bits && !p->moving && low < 0 && high > 0;
}

/* The projections of longformer's global tokens start as copies of the local ones. */
static bool copies(const struct oa_parameter *a, const struct oa_parameter *b)
{
    const char *global = strstr(a->name, "global.");
    return global && strncmp(a->name, b->name, (size_t)(global - a->name)) == 0 &&
           strcmp(global + strlen("global."), b->name + (global - a->name)) == 0;
}

static void assert_unrelated(const char *attention, const struct oa_parameter *a,
                             const struct oa_parameter *b)
{
    if (copies(a, b) || copies(b, a))
        assert_memory_equal(a->value, b->value, (size_t)a->count * sizeof(double));
    else if (drawn(a) && drawn(b) && !(fabs(relation(a, b)) < 6))
        fail_msg("%s: %s and %s are related: %.1f deviations", attention, a->name, b->name,
                 relation(a, b));
}

static const char *attention_of(int i)
{
    static const char *const more[] = {
        "mix(softmax, random, dense)", "random:1 | softmax:1",        "softmax ; random",
        "longformer(window=4)",        "orthogonal(qk=gram-schmidt)", "orthogonal(qk=gaussian)",
        "orthogonal(qk=block)",        "performer(draw=iid)",         NULL
    };
    int mechanisms = 0;
    while (oa_mechanism_at(mechanisms))
        mechanisms++;
    if (i >= mechanisms)
        return more[i - mechanisms];
    const struct oa_mechanism *m = oa_mechanism_at(i);
    return (m->can & OA_CAN_CAUSAL) && strcmp(m->name, "mix") != 0 ? m->name : "softmax";
}

static void test_nothing_is_drawn_twice(void **state)
{
    (void)state;
    for (int i = 0; attention_of(i); i++) {
        const char *text = attention_of(i);
        struct oa_model *m = open_model(text, "learned", 1),
                        *other = open_model(text, "learned", 2);
        int count = 0;
        for (int a = 0; a < m->store.count; a++) {
            count += drawn(m->store.parameter[a]);
            for (int b = 0; b < a; b++)
                assert_unrelated(text, m->store.parameter[a], m->store.parameter[b]);
            assert_unrelated(text, m->store.parameter[a], other->store.parameter[a]);
        }
        assert_true(count >= 2 + 4 * LAYERS);
        oa_model_close(m);
        oa_model_close(other);
    }
}

static int open_context(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .threads = 2 });
    return oa_device_open(context, OA_PRECISION_F64, false, &device) == OA_OK ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    oa_device_close(device);
    oa_close(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal_tensors),
        cmocka_unit_test(test_branches_with_norms),
        cmocka_unit_test(test_rates_and_steps_of_decays),
        cmocka_unit_test(test_uniform_tensors),
        cmocka_unit_test(test_norms_and_biases),
        cmocka_unit_test(test_sinusoids),
        cmocka_unit_test(test_rotary_angles),
        cmocka_unit_test(test_nothing_is_drawn_twice),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
