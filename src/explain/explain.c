/* SPDX-License-Identifier: Apache-2.0
 * Explanations and the list of mechanisms as text, from the tables of the mechanisms and from
 * layers that are opened on the plan device. */
#include "explain/explain.h"
#include "attention/language/language.h"

#include <math.h>
#include <string.h>

#define COLUMNS 100
#define MARGIN 14 /* columns of a label */

/* ---- layers ---- */

const char *oa_mode_name(enum oa_mode m)
{
    static const char *const names[OA_MODES] = { "bidirectional", "causal", "cross" };
    return names[m];
}

static bool explained_heads_fit(struct oa_explanation *s, long heads)
{
    bool fit = true;
    for (int l = 0; fit && l < s->single.spec.layers; l++) {
        int *count = oa_alloc(s->context, (size_t)s->single.spec.layer[l].groups * sizeof *count);
        fit = count &&
              oa_spec_heads(s->context, &s->single.spec.layer[l], (int)heads, count) == OA_OK;
        oa_free(count);
    }
    if (oa_status(s->context) == OA_ARGUMENT)
        oa_clear_error(s->context);
    return fit;
}

/* The model's shape, with the fewest heads that every layer accepts if the model's do not fit. */
static void choose_explained_shape(struct oa_explanation *s, const struct oa_options *o)
{
    long heads = o->model_heads, width = o->model_width;
    if (!explained_heads_fit(s, heads)) {
        heads = 1;
        for (int l = 0; l < s->single.spec.layers; l++) {
            const struct oa_layer_spec *layer = &s->single.spec.layer[l];
            long sum = 0;
            for (int g = 0; g < layer->groups; g++)
                sum += oa_max(layer->group[g].heads, 1);
            heads = oa_max(heads, sum);
        }
        width = (width + heads - 1) / heads * heads;
        s->more_heads = true;
    }
    s->shape = oa_equal_heads_shape(width, heads, o->model_context);
    if (o->model_head_width)
        s->shape.head_width = s->shape.value_width = o->model_head_width;
    s->shape.bias = o->model_bias != OA_BIASES_NONE;
    s->shape.plain_output = o->model_bias == OA_BIASES_QKV;
}

enum oa_error oa_explanation_open(oa_context *c, const char *spec, const struct oa_options *o,
                                  struct oa_explanation *out)
{
    *out = (struct oa_explanation){ .context = c };
    OA_TRY(oa_single_layer_open(c, spec, OA_PRECISION_F32, true, &out->single));
    choose_explained_shape(out, o);
    return oa_status(c);
}

enum oa_error oa_explanation_open_stack(const struct oa_stack_specs *stacks,
                                        enum oa_stack_role role, const struct oa_options *o,
                                        oa_context *c, struct oa_explanation *out)
{
    static const enum oa_mode modes[OA_STACK_ROLES] = { OA_MODE_BOTH, OA_MODE_CAUSAL,
                                                        OA_MODE_CROSS };
    struct oa_text text;
    oa_text_init(&text, c);
    oa_spec_print(&stacks->spec[role], &text);
    enum oa_error e = oa_explanation_open(c, text.s ? text.s : "", o, out);
    oa_text_free(&text);
    out->one_mode = true;
    out->mode = modes[role];
    return e;
}

enum oa_error oa_explanation_parse_stacks(oa_context *c, const char *text,
                                          struct oa_stack_specs *out)
{
    *out = (struct oa_stack_specs){ 0 };
    if (!oa_begins_with_label(&(struct oa_language_reader){ .context = c, .text = text }))
        return OA_OK;
    return oa_stacks_parse(c, text, (1u << OA_STACK_ROLES) - 1, out) == OA_OK
               ? OA_OK
               : oa_fail_as_argument(c);
}

void oa_explanation_close(struct oa_explanation *s)
{
    oa_single_layer_close(&s->single);
}

enum oa_error oa_explanation_open_mode(struct oa_explanation *s, enum oa_mode mode)
{
    struct oa_layer_shape shape = s->shape;
    shape.causal = mode == OA_MODE_CAUSAL;
    shape.cross = mode == OA_MODE_CROSS;
    return oa_single_layer_layer(&s->single, s->index, &shape);
}

/* An unsupported mode is part of the explanation, not an error. */
enum oa_error oa_explanation_open_layer(struct oa_explanation *s, int index)
{
    static const enum oa_mode order[] = { OA_MODE_CROSS, OA_MODE_BOTH, OA_MODE_CAUSAL };
    s->index = index;
    for (int i = 0; i < OA_MODES; i++) {
        const char *sentence;
        enum oa_mode mode = order[i];
        enum oa_error e = oa_explanation_open_mode(s, mode);
        s->can[mode] = e == OA_OK;
        if (e == OA_OK)
            continue;
        if (e != OA_UNSUPPORTED || (mode == OA_MODE_CAUSAL && !s->can[OA_MODE_BOTH]))
            return e;
        oa_last_error(s->context, &sentence);
        snprintf(s->why_not[mode], sizeof s->why_not[mode], "%s", sentence);
        oa_clear_error(s->context);
    }
    if (!s->one_mode)
        s->mode = s->can[OA_MODE_CAUSAL] ? OA_MODE_CAUSAL : OA_MODE_BOTH;
    return oa_explanation_open_mode(s, s->mode);
}

/* Whether it is a parameter of the group with this prefix, which the output projection is not. */
static bool is_parameter_of_group(const struct oa_parameter *p, const char *prefix)
{
    return strncmp(p->name, prefix, strlen(prefix)) == 0 && strcmp(p->name, "output.weight") != 0 &&
           strcmp(p->name, "output.bias") != 0;
}

void oa_explanation_count_parameters(const struct oa_explanation *s, const char *prefix,
                                     long *trainable, long *frozen)
{
    *trainable = *frozen = 0;
    for (int i = 0; i < s->single.store.count; i++) {
        const struct oa_parameter *p = s->single.store.parameter[i];
        if (!prefix || is_parameter_of_group(p, prefix))
            *(p->trainable ? trainable : frozen) += p->count;
    }
}

bool oa_explanation_print_option(const struct oa_atom *a, int i, struct oa_text *out,
                                 bool *is_default)
{
    const struct oa_argument *row = &a->mechanism->arguments[i];
    const struct oa_value *v = &a->value[i];
    char word[64] = "";
    *is_default = !v->given && !(row->kind == OA_VALUE_FLAG && v->number > 0);
    if (*is_default && (row->kind == OA_VALUE_TEXT || row->kind == OA_VALUE_REALS))
        return false;
    oa_text_printf(out, "%s%s", row->key, row->key[0] ? "=" : "");
    if (*is_default && !row->fallback && row->kind != OA_VALUE_CHOICE)
        oa_text_printf(out, "auto");
    else if (row->kind == OA_VALUE_FLAG)
        oa_text_printf(out, "%s", v->number > 0 ? "yes" : "no");
    else if (row->kind == OA_VALUE_CHOICE &&
             oa_choice_at(row->choices, (int)v->number, word, sizeof word))
        oa_text_printf(out, "%s", word);
    else if (row->kind == OA_VALUE_INT || row->kind == OA_VALUE_REAL)
        oa_text_real(out, v->number);
    else
        oa_text_printf(out, "%s", v->text);
    return true;
}

/* ---- text ---- */

/* "  label       text", wrapped with a hanging indent. */
static void explain_line(struct oa_text *out, int indent, const char *label, const char *text)
{
    int margin = indent + MARGIN, column = margin;
    oa_text_printf(out, "%*s%-*s", indent, "", MARGIN, label);
    if (strlen(label) >= MARGIN) {
        oa_text_printf(out, " ");
        column++;
    }
    for (bool first = true; *text; first = false) {
        size_t n = strcspn(text, " ");
        int wide = 0; /* code points */
        for (size_t i = 0; i < n; i++)
            wide += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (!first && column + 1 + wide > COLUMNS) {
            oa_text_printf(out, "\n%*s", margin, "");
            column = margin;
        } else if (!first) {
            oa_text_printf(out, " ");
            column++;
        }
        oa_text_add(out, text, n);
        column += wide;
        text += n + strspn(text + n, " ");
    }
    oa_text_printf(out, "\n");
}

/* The given options, or the others. */
static void explain_options(struct oa_text *out, int indent, const struct oa_atom *a, bool given)
{
    struct oa_text all;
    bool is_default;
    oa_text_init(&all, out->context);
    for (int i = 0; a->mechanism->arguments[i].key; i++) {
        size_t before = all.length;
        oa_text_printf(&all, "%s", before ? ", " : "");
        if (!oa_explanation_print_option(a, i, &all, &is_default) || is_default == given)
            oa_text_cut(&all, before);
    }
    if (all.length)
        explain_line(out, indent, given ? "options" : "defaults", all.s);
    oa_text_free(&all);
}

static void explain_parameters(struct oa_text *out, int indent, const struct oa_explanation *s,
                               const char *prefix)
{
    char text[160];
    long trainable, frozen;
    oa_explanation_count_parameters(s, prefix, &trainable, &frozen);
    snprintf(text, sizeof text, "%ld trainable, %ld frozen (regenerated from the seed)", trainable,
             frozen);
    if (frozen == 0)
        snprintf(text, sizeof text, "%ld trainable, none frozen", trainable);
    explain_line(out, indent, "parameters", text);
}

/* "query.weight [128, 128], …": names without the prefix, as in a file. Those of a component,
 * "mix.0.random.logits", are listed with the component. */
static void explain_tensors(struct oa_text *out, int indent, const struct oa_explanation *s,
                            const struct oa_group *g)
{
    struct oa_text all;
    size_t prefix = strlen(g->prefix);
    oa_text_init(&all, out->context);
    for (int i = 0; i < s->single.store.count; i++) {
        const struct oa_parameter *p = s->single.store.parameter[i];
        const char *name = p->name + prefix;
        if (!is_parameter_of_group(p, g->prefix) ||
            (strncmp(name, "mix.", 4) == 0 && name[4] >= '0' && name[4] <= '9'))
            continue;
        oa_text_printf(&all, "%s%s [", all.length ? ", " : "", name);
        for (int k = 0; k < p->dims; k++)
            oa_text_printf(&all, "%s%ld", k ? ", " : "", p->dim[k]);
        oa_text_printf(&all, "]%s", p->trainable ? "" : " frozen");
    }
    if (all.length)
        explain_line(out, indent, "tensors", all.s);
    oa_text_free(&all);
}

static void explain_mechanism(struct oa_text *out, int indent, const struct oa_mechanism *m)
{
    explain_line(out, indent, "cost", m->cost);
    explain_line(out, indent, "decoding", m->state);
    if (m->caveats)
        explain_line(out, indent, "caveats", m->caveats);
    if (m->mistakes)
        oa_text_printf(out, "%*sknown mistakes in other implementations\n", indent, "");
    for (const char *s = m->mistakes; s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL) {
        struct oa_text one;
        oa_text_init(&one, out->context);
        oa_text_add(&one, s, strcspn(s, "\n"));
        explain_line(out, indent, "", one.s ? one.s : "");
        oa_text_free(&one);
    }
    explain_line(out, indent, "paper", m->citation);
}

static bool was_described(struct oa_explanation *s, const struct oa_mechanism *m)
{
    for (int i = 0; i < s->descriptions; i++) {
        if (s->described[i] == m)
            return true;
    }
    if (s->descriptions < (int)(sizeof s->described / sizeof *s->described))
        s->described[s->descriptions++] = m;
    return false;
}

static void explain_option(struct oa_text *out, int indent, const struct oa_option_description *o)
{
    explain_line(out, indent, o->name, o->formula);
    explain_line(out, indent, "", o->cost);
    explain_line(out, indent, "", o->citation);
}

static void explain_group(struct oa_text *out, int indent, struct oa_explanation *s,
                          const struct oa_group *g)
{
    const struct oa_mechanism *m = g->mechanism;
    const struct oa_option_description *relative = oa_relative_text(g->atom);
    bool again = was_described(s, m);
    explain_line(out, indent, "title", m->title);
    if (!again)
        explain_line(out, indent, "formula", m->formula);
    if (relative)
        explain_option(out, indent, relative);
    for (int i = 0; oa_head_text_at(i); i++) {
        if (oa_head_text_applies(g->atom, i))
            explain_option(out, indent, oa_head_text_at(i));
    }
    explain_options(out, indent, g->atom, true);
    explain_options(out, indent, g->atom, false);
    explain_parameters(out, indent, s, g->prefix);
    explain_tensors(out, indent, s, g);
    if (!(oa_atom_capabilities(g->atom) & OA_DROPS))
        explain_line(out, indent, "dropout",
                     "no softmax weights to drop: model.attention_dropout has no effect");
    if (oa_atom_divides_signed(g->atom))
        explain_line(out, indent, "bf16",
                     "ill-conditioned: weights have both signs and are divided by their sum, which "
                     "can be near 0; rounding errors can be as large as the result; train in f32");
    if (oa_atom_raises_rounding(g->atom))
        explain_line(
            out, indent, "bf16",
            "ill-conditioned: sums are rounded and then raised to a power; rounding errors "
            "can be as large as the result; train in f32");
    if (!again)
        explain_mechanism(out, indent, m);
    for (int c = 0; c < g->components; c++) {
        oa_text_printf(out, "%*scomponent %d: ", indent + 2, "", c);
        oa_atom_print(g->component[c].atom, out);
        oa_text_printf(out, "\n");
        explain_group(out, indent + 4, s, &g->component[c]);
    }
}

/* x in the largest unit of which there is at least one. */
static const char *scaled_unit(char *out, size_t size, double x, double step,
                               const char *const *units, int count)
{
    int u = 0;
    for (; u + 1 < count && x >= step; u++)
        x /= step;
    snprintf(out, size, "%.4g %s", x, units[u]);
    return out;
}

static const char *flops_text(char *out, size_t size, double x)
{
    static const char *const units[] = { "FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP" };
    return scaled_unit(out, size, x, 1000, units, 6);
}

static const char *bytes_text(char *out, size_t size, double x)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    return scaled_unit(out, size, x, 1024, units, 5);
}

static void explain_cost(struct oa_text *out, const struct oa_explanation *s,
                         const struct oa_explained_cost *cost)
{
    static const char *const endings[OA_MODES] = { "", "; causal", "; as many keys as queries" };
    char text[240], a[40], b[40], c[40];
    long n = s->shape.length;
    snprintf(text, sizeof text, "%s forward (%s per token), %s with the backward pass%s",
             flops_text(a, sizeof a, cost->forward),
             flops_text(b, sizeof b, cost->forward / (double)n),
             flops_text(c, sizeof c, cost->training), endings[s->mode]);
    explain_line(out, 2, "work", text);
    double ratio = cost->computed / cost->softmax; /* whole tiles decide the time */
    if (fabs(ratio - 1) < 0.005)
        snprintf(text, sizeof text, "as many FLOPs as softmax at %ld tokens", n);
    else
        snprintf(text, sizeof text,
                 "%.3g times the FLOPs of softmax at %ld tokens, counting masked entries of tiles",
                 ratio, n);
    explain_line(out, 2, "speed", text);
    snprintf(
        text, sizeof text, "%s of activations and gradients in training (%s per token), in f32",
        bytes_text(a, sizeof a, cost->memory), bytes_text(b, sizeof b, cost->memory / (double)n));
    explain_line(out, 2, "memory", text);
    if (!isfinite(cost->state))
        return;
    snprintf(text, sizeof text,
             "state of %.0f numbers after %ld tokens (%s in f32), %.0f after %ld", cost->state, n,
             bytes_text(a, sizeof a, 4 * cost->state), cost->state_half, n / 2);
    explain_line(out, 2, "decoding", text);
}

static enum oa_error explain_layer(struct oa_text *out, struct oa_explanation *s)
{
    struct oa_explained_cost cost;
    OA_TRY(oa_explanation_cost(s, &cost));
    if (s->single.spec.layers > 1)
        oa_text_printf(out, "\nlayers %d, %d, … (entry %d of %d)\n", s->index,
                       s->index + s->single.spec.layers, s->index + 1, s->single.spec.layers);
    else
        oa_text_printf(out, "\nall layers\n");
    explain_parameters(out, 2, s, NULL);
    explain_cost(out, s, &cost);
    for (int m = 0; m < OA_MODES && !s->one_mode; m++)
        explain_line(out, 2, oa_mode_name((enum oa_mode)m), s->can[m] ? "yes" : s->why_not[m]);
    for (int g = 0; g < s->single.layer.groups; g++) {
        const struct oa_group *group = &s->single.layer.group[g];
        int first = group->first_head, last = first + (int)group->shape.heads - 1;
        if (last == first)
            oa_text_printf(out, "\n  head %d: ", last);
        else
            oa_text_printf(out, "\n  heads %d to %d: ", first, last);
        oa_atom_print(group->atom, out);
        oa_text_printf(out, "\n");
        explain_group(out, 4, s, group);
    }
    return oa_status(s->context);
}

static enum oa_error explain_attention(struct oa_text *out, struct oa_explanation *s,
                                       const struct oa_options *o)
{
    const struct oa_layer_shape *shape = &s->shape;
    oa_spec_print(&s->single.spec, out);
    oa_text_printf(out,
                   "\nwidth D = %ld, H = %ld heads of K = V = %ld, one sequence of N = n = %ld "
                   "tokens, %s biases\n",
                   shape->width, shape->heads, shape->head_width, shape->length,
                   shape->bias ? "with" : "no");
    if (s->more_heads)
        oa_text_printf(out,
                       "(model.heads = %ld does not fit this attention; shown with %ld heads)\n",
                       o->model_heads, shape->heads);
    for (int l = 0; l < s->single.spec.layers; l++) {
        OA_TRY(oa_explanation_open_layer(s, l));
        OA_TRY(explain_layer(out, s));
    }
    return oa_status(s->context);
}

static enum oa_error explain_stacks(const struct oa_stack_specs *stacks, const struct oa_options *o,
                                    oa_context *c, struct oa_text *out)
{
    static const char *const what[OA_STACK_ROLES] = {
        "the self-attention of the encoder, bidirectional",
        "the self-attention of the decoder, causal",
        "the cross-attention: queries of the decoder, keys of the encoder"
    };
    enum oa_error e = OA_OK;
    oa_stacks_print(stacks, out);
    oa_text_printf(out, "\n");
    for (int i = 0; i < OA_STACK_ROLES && e == OA_OK; i++) {
        enum oa_stack_role role = (enum oa_stack_role)i;
        struct oa_explanation s;
        if (!(stacks->named & OA_STACK(role)))
            continue;
        oa_text_printf(out, "\n%s: %s\n\n", oa_stack_name(role), what[role]);
        e = oa_explanation_open_stack(stacks, role, o, c, &s);
        if (e == OA_OK)
            e = explain_attention(out, &s, o);
        oa_explanation_close(&s);
    }
    return e;
}

enum oa_error oa_attention_explain(oa_context *c, const char *text, const struct oa_options *o,
                                   struct oa_text *out)
{
    struct oa_stack_specs stacks;
    enum oa_error e = oa_explanation_parse_stacks(c, text, &stacks);
    if (e == OA_OK && stacks.named) {
        e = explain_stacks(&stacks, o, c, out);
    } else if (e == OA_OK) {
        struct oa_explanation s;
        e = oa_explanation_open(c, text, o, &s);
        if (e == OA_OK)
            e = explain_attention(out, &s, o);
        oa_explanation_close(&s);
    }
    oa_stacks_free(&stacks);
    return e;
}

/* ---- the list ---- */

static const char *capability_mark(const struct oa_mechanism *m, unsigned flag)
{
    return m->can & flag ? "yes" : "-";
}

enum oa_error oa_attention_list(oa_context *c, struct oa_text *out)
{
    const struct oa_mechanism *m;
    const char *name;
    char meaning[256];
    oa_text_printf(out, "%-18s %-7s %-6s %-6s %-7s %-8s %s\n", "name", "causal", "cross", "mixes",
                   "linear", "bound to N", "title");
    for (int i = 0; (m = oa_mechanism_at(i)); i++)
        oa_text_printf(out, "%-18s %-7s %-6s %-6s %-7s %-10s %s\n", m->name,
                       capability_mark(m, OA_CAN_CAUSAL), capability_mark(m, OA_CAN_CROSS),
                       capability_mark(m, OA_CAN_MIX), capability_mark(m, OA_LINEAR_TIME),
                       capability_mark(m, OA_BOUND_LENGTH), m->title);
    oa_text_printf(out, "\naliases:\n");
    for (int i = 0; oa_alias_at(i, &name, meaning, sizeof meaning); i++)
        explain_line(out, 2, name, meaning);
    oa_text_printf(out, "\n"
                        "causal: usable in a language model\n"
                        "cross: usable as cross-attention\n"
                        "mixes: usable as a component of A + B\n"
                        "linear: time linear in the sequence length\n"
                        "bound to N: parameters for at most N tokens (model.context)\n");
    return oa_status(c);
}
