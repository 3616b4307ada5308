/* SPDX-License-Identifier: Apache-2.0
 * Positions: a table added to the embeddings, or rotary angles of queries and keys. */
#include "model/model.h"

#include <math.h>
#include <string.h>

enum { WHOLE_SIZE, HALVES }; /* fill_argument of sinusoids */

/* Vaswani et al. 2017, eq. in §3.5; unless WHOLE_SIZE scaled to the standard deviation of the
 * embeddings. HALVES: the sines of all frequencies before their cosines, as in Marian; an odd width
 * has one sine more. */
static enum oa_error fill_sinusoids(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                                    double *out)
{
    (void)c, (void)seed;
    double size = p->fill_argument[WHOLE_SIZE] ? 1 : OA_EMBEDDING_DEVIATION * sqrt(2);
    long sines = (p->dim[1] + 1) / 2;
    for (long t = 0; t < p->dim[0]; t++)
        for (long i = 0; i < p->dim[1]; i++) {
            bool halves = p->fill_argument[HALVES], cosine = halves ? i >= sines : i % 2;
            long pair = halves ? i % sines : i / 2;
            double angle = (double)t / pow(10000, (double)(2 * pair) / (double)p->dim[1]);
            out[t * p->dim[1] + i] = size * (cosine ? cos(angle) : sin(angle));
        }
    return OA_OK;
}

/* ---- rotary angles ---- */

enum { SINE, SCALING, CONTEXT };              /* fill_argument */
enum { BASE, FACTOR, SLOW, FAST, AMPLITUDE }; /* fill_number */

/* YaRN (Peng et al. 2023, arXiv 2309.00071): the share of pair i that keeps its frequency falls
 * from 1 to 0 between the pairs that turn FAST and SLOW times in the original context, in whole
 * pairs, as in the authors' code and transformers. */
static double yarn_share(const struct oa_parameter *p, long i)
{
    const double *n = p->fill_number, width = 2 * (double)p->dim[1],
                 context = (double)p->fill_argument[CONTEXT];
    double fast = floor(width * log(context / (2 * M_PI * n[FAST])) / (2 * log(n[BASE]))),
           slow = ceil(width * log(context / (2 * M_PI * n[SLOW])) / (2 * log(n[BASE])));
    double low = fmax(fast, 0), high = fmin(slow, width - 1);
    if (low == high)
        high += 0.001;
    return 1 - fmin(1, fmax(0, ((double)i - low) / (high - low)));
}

/* Llama 3.1: by the number of turns in the original context, linear in it between SLOW and FAST. */
static double llama3_share(const struct oa_parameter *p, double frequency)
{
    const double *n = p->fill_number;
    double turns = (double)p->fill_argument[CONTEXT] * frequency / (2 * M_PI);
    return fmin(1, fmax(0, (turns - n[SLOW]) / (n[FAST] - n[SLOW])));
}

/* Radians a token of pair i: base^(−2i/width), scaled. */
static double rotary_frequency(const struct oa_parameter *p, long i)
{
    const double *n = p->fill_number, pairs = (double)p->dim[1];
    double plain = pow(n[BASE], -(double)i / pairs), share = 0;
    switch ((enum oa_rotary_scaling)p->fill_argument[SCALING]) {
    case OA_SCALING_NONE:
        return plain;
    case OA_SCALING_LINEAR:
        break;
    case OA_SCALING_NTK: /* base·factor^(width/(width − 2)): the last pair gets the factor */
        return plain * (pairs > 1 ? pow(n[FACTOR], -(double)i / (pairs - 1)) : 1);
    case OA_SCALING_YARN:
        share = yarn_share(p, i);
        break;
    case OA_SCALING_LLAMA3:
        share = llama3_share(p, plain);
        break;
    }
    return plain * share + plain / n[FACTOR] * (1 - share);
}

/* cos or sin of t·frequency: RoPE, Su et al. 2021. */
static enum oa_error fill_rotary(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                                 double *out)
{
    (void)c, (void)seed;
    double amplitude = p->fill_number[AMPLITUDE];
    for (long i = 0; i < p->dim[1]; i++) {
        double frequency = rotary_frequency(p, i);
        for (long t = 0; t < p->dim[0]; t++) {
            double angle = (double)t * frequency;
            out[t * p->dim[1] + i] = amplitude * (p->fill_argument[SINE] ? sin(angle) : cos(angle));
        }
    }
    return OA_OK;
}

struct positions_builder {
    const struct oa_options *options;
    struct oa_store *store;
    const char *prefix;
    long length;
    bool local; /* tables of local layers */
};

static void positions_scale_rotary(const struct positions_builder *b, struct oa_parameter *p)
{
    const struct oa_options *o = b->options;
    bool encoder = strcmp(b->prefix, "encoder.") == 0 && o->model_encoder_rotary_base > 0,
         yarn = o->model_rotary_scaling == OA_SCALING_YARN;
    double *n = p->fill_number, context = (double)o->model_context / o->model_rotary_factor;
    p->fill_argument[SCALING] = (long)o->model_rotary_scaling;
    p->fill_argument[CONTEXT] = o->model_rotary_context ? o->model_rotary_context : (long)context;
    n[BASE] = b->local  ? o->model_local_rotary_base
              : encoder ? o->model_encoder_rotary_base
                        : o->model_rotary_base;
    n[FACTOR] = o->model_rotary_factor;
    n[SLOW] = o->model_rotary_slow;
    n[FAST] = o->model_rotary_fast > 0 ? o->model_rotary_fast : yarn ? 32 : 4;
    n[AMPLITUDE] = o->model_rotary_amplitude > 0 ? o->model_rotary_amplitude
                   : yarn                        ? 0.1 * log(n[FACTOR]) + 1
                                                 : 1;
}

static struct oa_parameter *positions_add_frozen(
    const struct positions_builder *b, const char *name, long cols, long argument,
    enum oa_error (*fill)(oa_context *, const struct oa_parameter *, uint64_t, double *))
{
    struct oa_parameter p = { .dims = 2,
                              .dim = { b->length, cols },
                              .init = OA_INIT_CUSTOM,
                              .fill = fill,
                              .fill_argument = { argument } };
    if (fill == fill_rotary)
        positions_scale_rotary(b, &p);
    snprintf(p.name, sizeof p.name, "%s%s", b->prefix, name);
    return oa_store_add(b->store, &p);
}

static enum oa_error positions_add_rotary(oa_context *c, struct positions_builder *b,
                                          struct oa_positions *out)
{
    const struct oa_options *o = b->options;
    long head = oa_head_width(o), width = (long)((double)head * o->model_rotary_share + 1e-9);
    if (o->model_rotary_share == 1 && head % 2)
        return oa_fail(
            c, OA_SHAPE,
            "rotary positions need an even head width, not %ld: choose model.head_width, or "
            "model.width and model.heads, accordingly",
            head);
    if (o->model_rotary_scaling == OA_SCALING_LLAMA3 && o->model_rotary_fast > 0 &&
        o->model_rotary_fast <= o->model_rotary_slow)
        return oa_fail(c, OA_ARGUMENT,
                       "model.rotary_fast = %g must be greater than model.rotary_slow = %g",
                       o->model_rotary_fast, o->model_rotary_slow);
    if (width < 2 || width % 2)
        return oa_fail(c, OA_SHAPE,
                       "model.rotary_share = %g of heads of width %ld is %ld columns: rotary "
                       "positions need an even number of at least 2",
                       o->model_rotary_share, head, width);
    out->cosine = positions_add_frozen(b, "rotary.cosine", width / 2, 0, fill_rotary);
    out->sine = positions_add_frozen(b, "rotary.sine", width / 2, 1, fill_rotary);
    if (o->model_local_rotary_base > 0) {
        b->local = true;
        out->local_cosine =
            positions_add_frozen(b, "rotary.local.cosine", width / 2, 0, fill_rotary);
        out->local_sine = positions_add_frozen(b, "rotary.local.sine", width / 2, 1, fill_rotary);
    }
    out->interleaved = o->model_rotary_pairing == OA_PAIRS_INTERLEAVED;
    return oa_status(c);
}

struct oa_rotary oa_positions_rotary(const struct oa_positions *p, bool local)
{
    bool own = local && p->local_cosine;
    const struct oa_parameter *cosine = own ? p->local_cosine : p->cosine,
                              *sine = own ? p->local_sine : p->sine;
    if (!cosine)
        return (struct oa_rotary){ 0 };
    return (struct oa_rotary){ cosine->value, sine->value, 2 * cosine->dim[1], p->interleaved };
}

enum oa_error oa_positions_open(oa_context *c, const struct oa_options *o, long length,
                                const char *prefix, struct oa_store *s, struct oa_positions *out)
{
    struct positions_builder b = { o, s, prefix, length, false };
    char name[64];
    *out = (struct oa_positions){ 0 };
    switch (o->model_position) {
    case OA_POSITION_LEARNED:
        snprintf(name, sizeof name, "%sposition.weight", prefix);
        out->table = oa_add_matrix(s, name, length, o->model_width, oa_embedding_deviation(o));
        break;
    case OA_POSITION_SINUSOIDAL:
    case OA_POSITION_SINUSOIDAL_HALVES:
        out->table = positions_add_frozen(&b, "position.weight", o->model_width,
                                          o->model_scale_embedding, fill_sinusoids);
        if (out->table)
            out->table->fill_argument[HALVES] = o->model_position == OA_POSITION_SINUSOIDAL_HALVES;
        break;
    case OA_POSITION_ROTARY:
        return positions_add_rotary(c, &b, out);
    case OA_POSITION_NONE:
        break;
    }
    return oa_status(c);
}
