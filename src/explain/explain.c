/* SPDX-License-Identifier: Apache-2.0
 *
 * `orthant explain` and `orthant list`: what an attention is, in words and numbers, at the shape of
 * a model. Everything comes from the tables of the mechanisms and from layers that are opened on
 * the counting device.
 */
#include "explain/explain.h"
#include "attention/language/language.h"

#include <math.h>
#include <string.h>

#define COLUMNS 100
#define MARGIN 14 /* where the text of a labelled line begins */

/* ---- facts
 * -----------------------------------------------------------------------------------------------------
 */

const char *oa_mode_name(enum oa_mode m)
{
    static const char *const names[OA_MODES] = { "bidirectional", "causal", "cross" };
    return names[m];
}

/* The fewest heads that every layer accepts, when the model's do not fit. */
static long fewest_heads(const struct oa_spec *spec)
{
    long most = 1;
    for (int l = 0; l < spec->layers; l++) {
        long sum = 0;
        for (int g = 0; g < spec->layer[l].groups; g++)
            sum += spec->layer[l].group[g].heads ? spec->layer[l].group[g].heads : 1;
        most = sum > most ? sum : most;
    }
    return most;
}

static bool heads_fit(struct oa_shown *s, long heads)
{
    bool fit = true;
    for (int l = 0; fit && l < s->rig.spec.layers; l++) {
        int *count = oa_alloc(s->context, (size_t)s->rig.spec.layer[l].groups * sizeof *count);
        fit = count && oa_spec_heads(s->context, &s->rig.spec.layer[l], (int)heads, count) == OA_OK;
        oa_free(count);
    }
    if (oa_status(s->context) == OA_ARGUMENT)
        oa_clear_error(s->context);
    return fit;
}

static void choose_shape(struct oa_shown *s, const struct oa_options *o)
{
    long heads = o->model_heads, width = o->model_width;
    if (!heads_fit(s, heads)) {
        heads = fewest_heads(&s->rig.spec);
        width = (width + heads - 1) / heads * heads;
        s->more_heads = true;
    }
    s->shape = oa_equal_heads_shape(width, heads, o->model_context);
    s->shape.bias = o->model_bias;
}

enum oa_error oa_show_open(oa_context *c, const char *spec, const struct oa_options *o,
                           struct oa_shown *out)
{
    *out = (struct oa_shown){ .context = c };
    OA_TRY(oa_single_layer_open(c, spec, OA_PRECISION_F32, true, &out->rig));
    choose_shape(out, o);
    return oa_status(c);
}

enum oa_error oa_show_stack(const struct oa_stack_specs *stacks, enum oa_stack_role role,
                            const struct oa_options *o, oa_context *c, struct oa_shown *out)
{
    static const enum oa_mode modes[OA_STACK_ROLES] = { OA_MODE_BOTH, OA_MODE_CAUSAL,
                                                        OA_MODE_CROSS };
    struct oa_text text;
    oa_text_init(&text, c);
    oa_spec_print(&stacks->spec[role], &text);
    enum oa_error e = oa_show_open(c, text.s ? text.s : "", o, out);
    oa_text_free(&text);
    out->one_mode = true;
    out->mode = modes[role];
    return e;
}

enum oa_error oa_show_stacks(oa_context *c, const char *text, struct oa_stack_specs *out)
{
    *out = (struct oa_stack_specs){ 0 };
    if (!oa_begins_with_label(&(struct oa_language_reader){ .context = c, .text = text }))
        return OA_OK;
    return oa_stacks_parse(c, text, (1u << OA_STACK_ROLES) - 1, out) == OA_OK
               ? OA_OK
               : oa_fail_as_argument(c);
}

void oa_show_close(struct oa_shown *s)
{
    oa_single_layer_close(&s->rig);
}

enum oa_error oa_show_mode(struct oa_shown *s, enum oa_mode mode)
{
    struct oa_layer_shape shape = s->shape;
    shape.causal = mode == OA_MODE_CAUSAL;
    shape.cross = mode == OA_MODE_CROSS;
    return oa_single_layer_layer(&s->rig, s->index, &shape);
}

/* What a mode is refused for is part of the explanation, not an error of it. */
enum oa_error oa_show_layer(struct oa_shown *s, int index)
{
    static const enum oa_mode order[] = { OA_MODE_CROSS, OA_MODE_BOTH, OA_MODE_CAUSAL };
    s->index = index;
    for (int i = 0; i < OA_MODES; i++) {
        const char *sentence;
        enum oa_mode mode = order[i];
        enum oa_error e = oa_show_mode(s, mode);
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
    return oa_show_mode(s, s->mode);
}

/* Is it a parameter of the group with this prefix? The output projection is of no group. */
static bool show_belongs(const struct oa_parameter *p, const char *prefix)
{
    return strncmp(p->name, prefix, strlen(prefix)) == 0 && strncmp(p->name, "output.", 7) != 0;
}

void oa_show_parameters(const struct oa_shown *s, const char *prefix, long *trainable, long *frozen)
{
    *trainable = *frozen = 0;
    for (int i = 0; i < s->rig.store.count; i++) {
        const struct oa_parameter *p = s->rig.store.parameter[i];
        if (!prefix || show_belongs(p, prefix))
            *(p->trainable ? trainable : frozen) += p->count;
    }
}

bool oa_show_option(const struct oa_atom *a, int i, struct oa_text *out, bool *is_default)
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
             oa_choice_word(row->choices, (int)v->number, word, sizeof word))
        oa_text_printf(out, "%s", word);
    else if (row->kind == OA_VALUE_INT || row->kind == OA_VALUE_REAL)
        oa_text_real(out, v->number);
    else
        oa_text_printf(out, "%s", v->text);
    return true;
}

/* ---- text
 * ------------------------------------------------------------------------------------------------------
 */

static int columns_of(const char *word, size_t n)
{
    int columns = 0;
    for (size_t i = 0; i < n; i++)
        columns += ((unsigned char)word[i] & 0xc0) != 0x80;
    return columns;
}

/* "  label       text", wrapped with a hanging indent. */
static void line(struct oa_text *out, int indent, const char *label, const char *text)
{
    int margin = indent + MARGIN, column = margin;
    oa_text_printf(out, "%*s%-*s", indent, "", MARGIN, label);
    for (bool first = true; *text; first = false) {
        size_t n = strcspn(text, " ");
        int wide = columns_of(text, n);
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

/* The options that were given, or those that were left alone. */
static void write_options(struct oa_text *out, int indent, const struct oa_atom *a, bool given)
{
    struct oa_text all;
    bool is_default;
    oa_text_init(&all, out->context);
    for (int i = 0; a->mechanism->arguments[i].key; i++) {
        size_t before = all.length;
        oa_text_printf(&all, "%s", before ? ", " : "");
        if (!oa_show_option(a, i, &all, &is_default) || is_default == given)
            oa_text_cut(&all, before);
    }
    if (all.length)
        line(out, indent, given ? "options" : "defaults", all.s);
    oa_text_free(&all);
}

static void write_parameters(struct oa_text *out, int indent, const struct oa_shown *s,
                             const char *prefix)
{
    char text[160];
    long trainable, frozen;
    oa_show_parameters(s, prefix, &trainable, &frozen);
    snprintf(text, sizeof text, "%ld trainable, %ld frozen (made again from the seed)", trainable,
             frozen);
    if (frozen == 0)
        snprintf(text, sizeof text, "%ld trainable, none frozen", trainable);
    line(out, indent, "parameters", text);
}

/* "mix.0.random.logits": told with the component. */
static bool is_of_component(const char *name)
{
    return strncmp(name, "mix.", 4) == 0 && name[4] >= '0' && name[4] <= '9';
}

/* "query.weight [128, 128], …": names without the prefix, as a file has them. */
static void write_tensors(struct oa_text *out, int indent, const struct oa_shown *s,
                          const struct oa_group *g)
{
    struct oa_text all;
    size_t prefix = strlen(g->prefix);
    oa_text_init(&all, out->context);
    for (int i = 0; i < s->rig.store.count; i++) {
        const struct oa_parameter *p = s->rig.store.parameter[i];
        if (!show_belongs(p, g->prefix) || is_of_component(p->name + prefix))
            continue;
        oa_text_printf(&all, "%s%s [", all.length ? ", " : "", p->name + prefix);
        for (int k = 0; k < p->dims; k++)
            oa_text_printf(&all, "%s%ld", k ? ", " : "", p->dim[k]);
        oa_text_printf(&all, "]%s", p->trainable ? "" : " frozen");
    }
    if (all.length)
        line(out, indent, "tensors", all.s);
    oa_text_free(&all);
}

/* What the options dropout and precision meet in this attention. */
static void write_claims(struct oa_text *out, int indent, const struct oa_atom *a)
{
    if (!(oa_atom_capabilities(a) & OA_DROPS))
        line(out, indent, "dropout",
             "no attention weights to drop: model.attention_dropout does nothing here");
    if (oa_atom_divides_signed(a))
        line(out, indent, "bf16",
             "weights of both signs are divided by their sum, which can come near 0: rounding "
             "alone can then give an "
             "error as large as the result; train it in f32");
}

static void write_words(struct oa_text *out, int indent, const struct oa_mechanism *m)
{
    line(out, indent, "cost", m->cost);
    line(out, indent, "decoding", m->state);
    if (m->caveats)
        line(out, indent, "mind", m->caveats);
    for (const char *s = m->mistakes; s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL) {
        struct oa_text one;
        oa_text_init(&one, out->context);
        oa_text_add(&one, s, strcspn(s, "\n"));
        line(out, indent, s == m->mistakes ? "elsewhere" : "", one.s ? one.s : "");
        oa_text_free(&one);
    }
    line(out, indent, "paper", m->citation);
}

static void write_relative(struct oa_text *out, int indent, const struct oa_atom *a)
{
    const struct oa_relative_description *r = oa_relative_text(a);
    if (!r)
        return;
    line(out, indent, r->name, r->formula);
    line(out, indent, "", r->cost);
    line(out, indent, "", r->citation);
}

static bool is_described(struct oa_shown *s, const struct oa_mechanism *m)
{
    for (int i = 0; i < s->descriptions; i++) {
        if (s->described[i] == m)
            return true;
    }
    if (s->descriptions < (int)(sizeof s->described / sizeof *s->described))
        s->described[s->descriptions++] = m;
    return false;
}

static void write_group(struct oa_text *out, int indent, struct oa_shown *s,
                        const struct oa_group *g)
{
    const struct oa_mechanism *m = g->mechanism;
    bool again = is_described(s, m);
    line(out, indent, "what", m->title);
    if (!again)
        line(out, indent, "formula", m->formula);
    write_relative(out, indent, g->atom);
    write_options(out, indent, g->atom, true);
    write_options(out, indent, g->atom, false);
    write_parameters(out, indent, s, g->prefix);
    write_tensors(out, indent, s, g);
    write_claims(out, indent, g->atom);
    if (!again)
        write_words(out, indent, m);
    for (int c = 0; c < g->components; c++) {
        oa_text_printf(out, "%*scomponent %d: ", indent + 2, "", c);
        oa_atom_print(g->component[c].atom, out);
        oa_text_printf(out, "\n");
        write_group(out, indent + 4, s, &g->component[c]);
    }
}

static void write_modes(struct oa_text *out, const struct oa_shown *s)
{
    for (int m = 0; m < OA_MODES; m++)
        line(out, 2, oa_mode_name((enum oa_mode)m), s->can[m] ? "yes" : s->why_not[m]);
}

static void write_heads(struct oa_text *out, const struct oa_group *g)
{
    int last = g->first_head + (int)g->shape.heads - 1;
    if (last == g->first_head)
        oa_text_printf(out, "  head %d: ", last);
    else
        oa_text_printf(out, "  heads %d to %d: ", g->first_head, last);
    oa_atom_print(g->atom, out);
    oa_text_printf(out, "\n");
}

/* x in the largest unit of which there is at least one. */
static const char *scaled(char *out, size_t size, double x, double step, const char *const *units,
                          int count)
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
    return scaled(out, size, x, 1000, units, 6);
}

static const char *bytes_text(char *out, size_t size, double x)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    return scaled(out, size, x, 1024, units, 5);
}

/* What decides about the time: the pairs of whole tiles, masked or not. */
static void write_speed(struct oa_text *out, const struct oa_show_cost *cost, long n)
{
    char text[160];
    double ratio = cost->computed / cost->softmax;
    if (fabs(ratio - 1) < 0.005)
        snprintf(text, sizeof text, "computes as much as softmax at %ld tokens", n);
    else
        snprintf(text, sizeof text,
                 "computes %.3g times as much as softmax at %ld tokens, masked pairs of tiles "
                 "included%s",
                 ratio, n, ratio > 1 ? ": it will be slower there" : "");
    line(out, 2, "speed", text);
}

static void write_cost(struct oa_text *out, const struct oa_shown *s,
                       const struct oa_show_cost *cost)
{
    static const char *const endings[OA_MODES] = { "", "; causal", "; as many keys as queries" };
    char text[240], a[40], b[40], c[40];
    long n = s->shape.length;
    snprintf(text, sizeof text, "%s forward (%s a token), %s with the backward pass%s",
             flops_text(a, sizeof a, cost->forward),
             flops_text(b, sizeof b, cost->forward / (double)n),
             flops_text(c, sizeof c, cost->training), endings[s->mode]);
    line(out, 2, "work", text);
    write_speed(out, cost, n);
    snprintf(text, sizeof text, "%s of activations and gradients in training (%s a token), in f32",
             bytes_text(a, sizeof a, cost->memory),
             bytes_text(b, sizeof b, cost->memory / (double)n));
    line(out, 2, "memory", text);
    if (!isfinite(cost->state))
        return;
    snprintf(text, sizeof text, "keeps %.0f numbers after %ld tokens (%s in f32), %.0f after %ld",
             cost->state, n, bytes_text(a, sizeof a, 4 * cost->state), cost->state_half, n / 2);
    line(out, 2, "decoding", text);
}

static enum oa_error write_layer(struct oa_text *out, struct oa_shown *s)
{
    struct oa_show_cost cost;
    OA_TRY(oa_show_cost(s, &cost));
    if (s->rig.spec.layers > 1)
        oa_text_printf(out, "\nlayers %d, %d, … (entry %d of %d)\n", s->index,
                       s->index + s->rig.spec.layers, s->index + 1, s->rig.spec.layers);
    else
        oa_text_printf(out, "\nevery layer\n");
    write_parameters(out, 2, s, NULL);
    write_cost(out, s, &cost);
    if (!s->one_mode)
        write_modes(out, s);
    for (int g = 0; g < s->rig.layer.groups; g++) {
        oa_text_printf(out, "\n");
        write_heads(out, &s->rig.layer.group[g]);
        write_group(out, 4, s, &s->rig.layer.group[g]);
    }
    return oa_status(s->context);
}

static enum oa_error write_attention(struct oa_text *out, struct oa_shown *s,
                                     const struct oa_options *o)
{
    const struct oa_layer_shape *shape = &s->shape;
    oa_spec_print(&s->rig.spec, out);
    oa_text_printf(out,
                   "\nwidth D = %ld, H = %ld heads of K = V = %ld, one sequence of N = n = %ld "
                   "tokens, %s biases\n",
                   shape->width, shape->heads, shape->head_width, shape->length,
                   shape->bias ? "with" : "no");
    if (s->more_heads)
        oa_text_printf(out, "(the model's %ld heads do not fit this attention: shown with %ld)\n",
                       o->model_heads, shape->heads);
    for (int l = 0; l < s->rig.spec.layers; l++) {
        OA_TRY(oa_show_layer(s, l));
        OA_TRY(write_layer(out, s));
    }
    return oa_status(s->context);
}

/* What follows is about one stack: its label, and what it is. */
static void write_label(enum oa_stack_role role, struct oa_text *out)
{
    static const char *const what[OA_STACK_ROLES] = {
        "the self-attention of the encoder, bidirectional",
        "the self-attention of the decoder, causal",
        "the cross-attention: queries of the decoder, keys of the encoder"
    };
    oa_text_printf(out, "\n%s: %s\n\n", oa_stack_name(role), what[role]);
}

static enum oa_error write_stacks(const struct oa_stack_specs *stacks, const struct oa_options *o,
                                  oa_context *c, struct oa_text *out)
{
    enum oa_error e = OA_OK;
    oa_stacks_print(stacks, out);
    oa_text_printf(out, "\n");
    for (int role = 0; role < OA_STACK_ROLES && e == OA_OK; role++) {
        if (!(stacks->named & OA_STACK(role)))
            continue;
        struct oa_shown s;
        write_label((enum oa_stack_role)role, out);
        e = oa_show_stack(stacks, (enum oa_stack_role)role, o, c, &s);
        if (e == OA_OK)
            e = write_attention(out, &s, o);
        oa_show_close(&s);
    }
    return e;
}

static enum oa_error write_one(oa_context *c, const char *spec, const struct oa_options *o,
                               struct oa_text *out)
{
    struct oa_shown s;
    enum oa_error e = oa_show_open(c, spec, o, &s);
    if (e == OA_OK)
        e = write_attention(out, &s, o);
    oa_show_close(&s);
    return e;
}

enum oa_error oa_attention_explain(oa_context *c, const char *text, const struct oa_options *o,
                                   struct oa_text *out)
{
    struct oa_stack_specs stacks;
    enum oa_error e = oa_show_stacks(c, text, &stacks);
    if (e == OA_OK)
        e = stacks.named ? write_stacks(&stacks, o, c, out) : write_one(c, text, o, out);
    oa_stacks_free(&stacks);
    return e;
}

/* ---- the list
 * --------------------------------------------------------------------------------------------------
 */

static const char *mark(unsigned can, unsigned flag)
{
    return can & flag ? "yes" : "-";
}

static void list_aliases(struct oa_text *out)
{
    const char *name;
    char meaning[256];
    oa_text_printf(out, "\nalso spelt:\n");
    for (int i = 0; oa_alias_at(i, &name, meaning, sizeof meaning); i++)
        line(out, 2, name, meaning);
}

enum oa_error oa_attention_list(oa_context *c, struct oa_text *out)
{
    const struct oa_mechanism *m;
    oa_text_printf(out, "%-18s %-7s %-6s %-6s %-7s %-8s %s\n", "name", "causal", "cross", "mixes",
                   "linear", "bound to N", "what");
    for (int i = 0; (m = oa_mechanism_at(i)); i++)
        oa_text_printf(out, "%-18s %-7s %-6s %-6s %-7s %-10s %s\n", m->name,
                       mark(m->can, OA_CAN_CAUSAL), mark(m->can, OA_CAN_CROSS),
                       mark(m->can, OA_CAN_MIX), mark(m->can, OA_LINEAR_TIME),
                       mark(m->can, OA_BOUND_LENGTH), m->title);
    list_aliases(out);
    oa_text_printf(out, "\ncausal: can stand in a language model. cross: can read another "
                        "sequence. mixes: can be part of "
                        "A + B.\nlinear: time grows with the length, not its square. bound to N: "
                        "has tables as long as "
                        "the longest text.\n");
    return oa_status(c);
}
