/* SPDX-License-Identifier: Apache-2.0
 * The head options of every mechanism that lists them (docs/attention.md, Head options): checks,
 * parameters and descriptions; also descriptions of the options of state updates.
 *
 *     kv         query head h reads key and value head ⌊h·N/H⌋
 *     qknorm     rows of queries and keys of each head are normalised, before rotary positions
 *     normalise  how a row of logits becomes weights
 *     forget     S_ij + Σ_{l=j+1…i} ln σ(x_l·w_h + c_h)
 *     gate       O_h ⊙ σ(x W_gᵀ), head by head or channel by channel
 *
 * Shapes: query.norm.weight, key.norm.weight [K]; sink.logit, forget.bias [H]; forget.weight
 * [H, D]; gate.weight [H, D] or [H·V, D]; gate.bias [H] or [H·V]. */
#include "attention/mechanism.h"

#include <math.h>
#include <string.h>

/* ---- descriptions ---- */

static const struct head_option_text {
    const char *key, *word; /* word NULL: whenever the option is given */
    const char *option;     /* as it is written in an attention */
    struct oa_option_description text;
} head_option_texts[] = {
    { "kv",
      NULL,
      "kv=N",
      { "kv",
        "keys and values have N heads, and query head h reads number ⌊h·N/H⌋ of them;  N = 1: "
        "multi-query attention",
        "key.weight, value.weight and the decoding cache are N/H as large",
        "Ainslie et al. 2023, arXiv 2305.13245; N = 1: Shazeer 2019, arXiv 1911.02150" } },
    { "qknorm",
      "rms",
      "qknorm=rms",
      { "qknorm",
        "row / √(mean(row²) + 10⁻⁶) ⊙ g, for the rows of queries and of keys of each "
        "head, before rotary positions;  g trained, one for all heads, from 1",
        "2K parameters, O(n·K) time a head",
        "Henry et al. 2020, arXiv 2010.04245; Zhang, Sennrich 2019, arXiv 1910.07467" } },
    { "qknorm",
      "layer",
      "qknorm=layer",
      { "qknorm",
        "(row − mean) / √(var + 10⁻⁶) ⊙ g, for the rows of queries and of keys of each "
        "head, before rotary positions;  g trained, one for all heads, from 1",
        "2K parameters, O(n·K) time a head", "Dehghani et al. 2023, arXiv 2302.05442" } },
    { "qknorm",
      "unit",
      "qknorm=unit",
      { "qknorm",
        "row / √(Σ row² + 10⁻⁶), for the rows of queries and of keys of each head, "
        "before rotary positions",
        "no parameters, O(n·K) time a head", "Henry et al. 2020, arXiv 2010.04245" } },
    { "qknorm",
      "joint",
      "qknorm=joint",
      { "qknorm",
        "row / √(mean(row²) + 10⁻⁶) ⊙ g, for the rows of queries and of keys of all heads of the "
        "group together, before rotary positions;  g trained, from 1",
        "2K parameters and O(n·K) time a head", "OLMo et al. 2024, arXiv 2501.00656" } },
    { "normalise",
      "sink",
      "normalise=sink",
      { "sink",
        "A_ij = e^{S_ij} / (e^{b_h} + Σ_l e^{S_il});  b = sink.logit trained, one a head, "
        "from 0",
        "H parameters",
        "OpenAI 2025 (gpt-oss), arXiv 2508.10925; Xiao et al. 2023, arXiv "
        "2309.17453" } },
    { "normalise",
      "sigmoid",
      "normalise=sigmoid",
      { "sigmoid", "A_ij = σ(S_ij − ln |V_i|), |V_i| the number of visible keys of the row",
        "no parameters", "Ramapuram et al. 2024, arXiv 2409.04431" } },
    { "normalise",
      "sparsemax",
      "normalise=sparsemax",
      { "sparsemax", "A_ij = max(0, S_ij − τ_i), with τ_i such that the row sums to 1",
        "whole rows of logits are made", "Martins, Astudillo 2016 (ICML), arXiv 1602.02068" } },
    { "normalise",
      "entmax",
      "normalise=entmax",
      { "entmax", "A_ij = max(0, S_ij/2 − τ_i)², with τ_i such that the row sums to 1",
        "whole rows of logits are made", "Peters et al. 2019 (ACL), arXiv 1905.05702" } },
    { "forget",
      NULL,
      "forget",
      { "forget",
        "Σ_{l=j+1…i} ln σ(x_l·w_h + c_h) is added to the logits;  w = forget.weight, "
        "c = forget.bias trained, c from 0",
        "H(D + 1) parameters, one addition a pair", "Lin et al. 2025, arXiv 2503.02130" } },
    { "gate",
      "head",
      "gate=head",
      { "gate", "O_h σ(x·w_h), one number a head;  w = gate.weight [H, D]", "H·D parameters",
        "Qiu et al. 2025, arXiv 2505.06708" } },
    { "gate",
      "channel",
      "gate=channel",
      { "gate", "O_h ⊙ σ(W_h x), one number a channel;  W = gate.weight [H·V, D]",
        "H·V·D parameters", "Qiu et al. 2025, arXiv 2505.06708" } },
    { "gate",
      "swish",
      "gate=swish",
      { "gate", "O_h ⊙ z σ(z), z = W_h x;  W = gate.weight [H·V, D]", "H·V·D parameters",
        "Sun et al. 2023 (RetNet), arXiv 2307.08621" } },
    { "conv",
      NULL,
      "conv=W",
      { "conv",
        "z_t = Σ_{u<W} c_u ⊙ row_{t−W+1+u}, then z σ(z), for projected queries, keys and values, "
        "channel by channel, before qknorm;  rows before the first are 0",
        "W numbers a channel, W − 1 rows in decoding",
        "Fu et al. 2022, arXiv 2212.14052; Yang et al. 2024, arXiv 2412.06464" } },
    { "decay",
      "fixed",
      "decay=fixed",
      { "decay", "γ_h = 1 − 2^(−5−h), h = 0 … H − 1 counted in the group", "no parameters",
        "Sun et al. 2023, arXiv 2307.08621" } },
    { "decay",
      "head",
      "decay=head",
      { "decay",
        "ln γ_{t,h} = −e^{a_h}·ln(1 + e^{x_t·w_h + b_h});  w = decay.weight, b = decay.bias, "
        "a = decay.rate trained",
        "H(D + 2) parameters", "Dao and Gu 2024, arXiv 2405.21060" } },
    { "decay",
      "channel",
      "decay=channel",
      { "decay",
        "ln γ_t = ln σ(U (L x_t) + b)/16 for each of the K channels of a key;  L = "
        "decay.in.weight [16, D], U = decay.out.weight [H·K, 16], b = decay.bias trained",
        "16(D + H·K) + H·K parameters", "Yang et al. 2024, arXiv 2312.06635" } },
    { "update",
      "delta",
      "update=delta",
      { "update",
        "S ← γ_t ⊙ S, S ← S + β_t k (v_t − Sᵀ k)ᵀ, k = φ(k_t), β_t = σ(x_t·w_h);  w = beta.weight "
        "trained",
        "H·D parameters, in chunks by the WY form",
        "Schlag et al. 2021, arXiv 2102.11174; Yang et "
        "al. 2024, arXiv 2406.06484" } },
};
enum { HEAD_OPTION_TEXTS = sizeof head_option_texts / sizeof *head_option_texts };

const struct oa_option_description *oa_head_text_at(int i)
{
    return i >= 0 && i < HEAD_OPTION_TEXTS ? &head_option_texts[i].text : NULL;
}

const char *oa_head_text_option(int i)
{
    return head_option_texts[i].option;
}

bool oa_head_text_applies(const struct oa_atom *a, int i)
{
    const struct head_option_text *t = &head_option_texts[i];
    const struct oa_value *v = oa_atom_value(a, t->key);
    return t->word ? oa_atom_is(a, t->key, t->word) : v->given && v->number > 0;
}

/* ---- checks ---- */

bool oa_head_clash(const struct oa_atom *a, char *sentence, size_t size)
{
    if (!oa_atom_value(a, "kv")->given || !oa_atom_flag(a, "tie"))
        return false;
    snprintf(sentence, size,
             "kv and tie exclude each other: keys with the projection of the queries have as many "
             "heads; remove one of them.");
    return true;
}

bool oa_head_component_clash(const struct oa_atom *a, char *sentence, size_t size)
{
    static const char *const whole[] = { "kv", "normalise", "forget", "gate" };
    for (int c = 0; c < a->children; c++) {
        for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
            const struct oa_value *v = oa_atom_value(&a->child[c], whole[i]);
            bool mixes = oa_atom_value_exists(a, whole[i]);
            if (!v->given || v->number <= 0)
                continue;
            snprintf(sentence, size,
                     mixes ? "%s belongs to the mixture as a whole: write mix(…, %s=…), once."
                           : "%s is not possible in a mixture, whose components share one map and "
                             "one value projection: remove %s.",
                     whole[i], whole[i]);
            return true;
        }
    }
    return false;
}

bool oa_head_mode_clash(const struct oa_atom *a, bool causal, bool cross, char *sentence,
                        size_t size)
{
    if (!oa_atom_flag(a, "forget") || (causal && !cross))
        return false;
    snprintf(sentence, size,
             "%s: forget is for causal self-attention only: its gates are those of the tokens "
             "between a key and a later query; remove forget",
             a->mechanism->name);
    return true;
}

enum oa_error oa_head_check(oa_context *c, const struct oa_group *g)
{
    long N = g->key_heads, H = g->shape.heads;
    if (N >= 1 && H % N == 0)
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT,
                   "%s: kv=%ld: the %ld heads of the group cannot share %ld key and value heads "
                   "equally; use a number that divides %ld",
                   g->mechanism->name, N, H, N, H);
}

/* ---- parameters ---- */

double oa_qknorm_epsilon(const struct oa_group *g)
{
    return g->shape.qknorm_epsilon > 0 ? g->shape.qknorm_epsilon : OA_QKNORM_EPSILON;
}

static struct oa_parameter *head_gain(struct oa_group *g, const char *name, long heads)
{
    struct oa_parameter p = {
        .dims = 1, .dim = { heads * g->shape.head_width }, .trainable = true, .init = OA_INIT_ONE
    };
    return oa_group_parameter(g, name, &p);
}

enum oa_error oa_head_parameters(struct oa_group *g)
{
    const struct oa_atom *a = g->atom;
    struct oa_parameter sink = { .dims = 1, .dim = { g->shape.heads }, .trainable = true };
    enum oa_head_gate_kind gate = oa_group_gate(g);
    bool joint = oa_atom_is(a, "qknorm", "joint");
    if (joint || oa_atom_is(a, "qknorm", "rms") || oa_atom_is(a, "qknorm", "layer")) {
        g->query_norm = head_gain(g, "query.norm.weight", joint ? g->shape.heads : 1);
        g->key_norm = head_gain(g, "key.norm.weight", joint ? g->key_heads : 1);
    }
    if (oa_atom_is(a, "normalise", "sink"))
        g->sink = oa_group_parameter(g, "sink.logit", &sink);
    if (oa_atom_flag(a, "forget"))
        oa_group_map(g, "forget", g->shape.heads, true, &g->forget, &g->forget_bias);
    if (gate != OA_HEAD_GATE_NONE)
        oa_group_map(g, "gate",
                     g->shape.heads * (gate == OA_HEAD_GATE_HEAD ? 1 : g->shape.value_width),
                     g->shape.bias, &g->gate, &g->gate_bias);
    return oa_status(g->context);
}

/* ---- logits ---- */

struct oa_logits_rule oa_group_rule(oa_tape *t, const struct oa_group *g,
                                    const struct oa_layer_input *in)
{
    struct oa_logits_rule rule = {
        .relative = oa_group_relative(g),
        .normaliser = (enum oa_normaliser)oa_atom_value(g->atom, "normalise")->number,
        .sink = g->sink,
    };
    if (g->forget)
        rule.forgetting = oa_forget_gates_op(t, oa_linear(t, in->x, g->forget, g->forget_bias),
                                             in->batch, in->queries);
    return rule;
}

double oa_forget_flops(const struct oa_group *g, long queries)
{
    return g->forget ? (double)queries * (2 * (double)g->forget->count + 3 * (double)g->shape.heads)
                     : 0;
}

/* Two reals a head: of the last token, and of each cached key. */
double oa_forget_state(const struct oa_group *g, long t)
{
    const struct oa_device *d = g->store->device;
    double acts = (double)(d->numbers.real_size / d->numbers.act_size);
    double rows = (double)oa_cache_live_rows(&g->support.horizon, t);
    return g->forget ? 2 * (double)g->shape.heads * (1 + acts * rows) : 0;
}

double oa_oracle_forget(const struct oa_group *g, const double *x, long head)
{
    double z = oa_oracle_value(g, g->forget, g->forget_bias, x, head);
    return z < 0 ? z - log1p(exp(z)) : -log1p(exp(-z));
}

/* ---- gates ---- */

enum oa_head_gate_kind oa_group_gate(const struct oa_group *g)
{
    return (enum oa_head_gate_kind)oa_atom_value(g->atom, "gate")->number;
}

void oa_gate_heads(oa_tape *t, const struct oa_group *g, oa_tensor *x, oa_tensor *ungated,
                   oa_tensor *o)
{
    oa_tensor *z = oa_linear(t, x, g->gate, g->gate_bias);
    oa_head_gate_op(t, oa_group_gate(g), g->shape.heads, ungated, z, o);
}

double oa_gate_flops(const struct oa_group *g, long queries)
{
    if (!g->gate)
        return 0;
    return (double)queries *
           (2 * (double)g->gate->count + (double)(g->shape.heads * g->shape.value_width));
}

double oa_oracle_gate(const struct oa_group *g, const double *x, long column)
{
    enum oa_head_gate_kind kind = oa_group_gate(g);
    if (kind == OA_HEAD_GATE_NONE)
        return 1;
    long row = kind == OA_HEAD_GATE_HEAD ? column / g->shape.value_width : column;
    double z = oa_oracle_value(g, g->gate, g->gate_bias, x, row);
    return (kind == OA_HEAD_GATE_SWISH ? z : 1) / (1 + exp(-z));
}
