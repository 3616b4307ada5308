/* SPDX-License-Identifier: Apache-2.0
 * Options as YAML. Read: sections are maps, or keys are written with a point; values are scalars.
 *
 *     model: {layers: 4}
 *     train.lr: 1e-3
 *     compare:
 *       attentions: [softmax, "local(window=16)"]     (the one option that may be a list)
 *
 * Everything else in the file is refused with its line, so that a misspelled option is not ignored.
 * The section `claim`, a map with the questions of an experiment (evidence/evidence.h), is skipped.
 * Options that the file of an experiment does not give have their defaults, in every command. */
#include "base/context.h"
#include "base/yaml_file.h"

#include <string.h>

struct yaml_options {
    oa_context *context;
    struct oa_options *options;
    const char *path;
    yaml_document_t document;
    int line[OA_MOST_OPTIONS]; /* where each was given, or 0 */
    bool experiment;           /* the file has a claim */
};

/* ---- reading ---- */

static enum oa_error refuse_yaml(struct yaml_options *r, const yaml_node_t *at, enum oa_error code,
                                 const char *sentence)
{
    return oa_fail(r->context, code, "%s:%zu:%zu: %s", r->path, at->start_mark.line + 1,
                   at->start_mark.column + 1, sentence);
}

/* A scalar without zero bytes inside; NULL for any other node. */
static const char *scalar(const yaml_node_t *n)
{
    if (n->type != YAML_SCALAR_NODE)
        return NULL;
    const char *text = (const char *)n->data.scalar.value;
    return strlen(text) == n->data.scalar.length ? text : NULL;
}

static enum oa_error join_yaml_list(struct yaml_options *r, const yaml_node_t *list,
                                    struct oa_text *out)
{
    const yaml_node_item_t *item = list->data.sequence.items.start;
    if (item == list->data.sequence.items.top)
        return refuse_yaml(r, list, OA_ARGUMENT, "the list is empty");
    for (; item < list->data.sequence.items.top; item++) {
        const yaml_node_t *node = yaml_document_get_node(&r->document, *item);
        const char *text = scalar(node);
        if (!text || !*text || strchr(text, '\n'))
            return refuse_yaml(r, node, OA_FORMAT, "an item of this list is a text of one line");
        oa_text_printf(out, "%s%s", out->length ? "\n" : "", text);
        if (out->length >= OA_OPTION_TEXT)
            return refuse_yaml(r, node, OA_ARGUMENT,
                               "the list is too long: 1023 bytes are the most");
    }
    return oa_status(r->context);
}

static enum oa_error apply_text(struct yaml_options *r, const yaml_node_t *at, const char *key,
                                const yaml_node_t *value, const char *text)
{
    char why[SENTENCE];
    enum oa_error e = oa_option_apply(r->options, key, text, why);
    int row = oa_option_number(key);
    if (e != OA_OK)
        return refuse_yaml(r, row < 0 ? at : value, e, why);
    if (r->line[row]) {
        snprintf(why, sizeof why, "%s is given a second time; the first is in line %d", key,
                 r->line[row]);
        return refuse_yaml(r, at, OA_ARGUMENT, why);
    }
    r->line[row] = (int)at->start_mark.line + 1;
    return OA_OK;
}

static enum oa_error apply_yaml_value(struct yaml_options *r, const yaml_node_t *at,
                                      const char *key, const yaml_node_t *value)
{
    struct oa_text list;
    const char *text = scalar(value);
    if (text)
        return apply_text(r, at, key, value, text);
    if (value->type != YAML_SEQUENCE_NODE || strcmp(key, "compare.attentions") != 0)
        return refuse_yaml(r, value, OA_FORMAT,
                           "a value is a text, a number or a truth value, not a list or a map "
                           "(compare.attentions may be a list)");
    oa_text_init(&list, r->context);
    enum oa_error e = join_yaml_list(r, value, &list);
    if (e == OA_OK)
        e = apply_text(r, at, key, value, list.s);
    oa_text_free(&list);
    return e;
}

/* The pairs of a map. `section` is NULL at the top, where a value may be a map in turn. */
static enum oa_error apply_map(struct yaml_options *r, const yaml_node_t *map, const char *section)
{
    yaml_node_pair_t *pair = map->data.mapping.pairs.start;
    for (; pair < map->data.mapping.pairs.top; pair++) {
        char key[256];
        const yaml_node_t *name = yaml_document_get_node(&r->document, pair->key);
        const yaml_node_t *value = yaml_document_get_node(&r->document, pair->value);
        const char *text = scalar(name);
        if (!text || strlen(text) > 120)
            return refuse_yaml(r, name, OA_FORMAT,
                               "the name of an option or a section was expected here");
        snprintf(key, sizeof key, "%s%s%s", section ? section : "", section ? "." : "", text);
        if (!section && value->type == YAML_MAPPING_NODE && strcmp(text, OA_CLAIM_SECTION) == 0) {
            r->experiment = true;
            continue;
        }
        if (!section && value->type == YAML_MAPPING_NODE)
            OA_TRY(apply_map(r, value, text));
        else
            OA_TRY(apply_yaml_value(r, name, key, value));
    }
    return OA_OK;
}

static enum oa_error apply_document(struct yaml_options *r)
{
    const yaml_node_t *root = yaml_document_get_root_node(&r->document);
    if (!root) /* nothing but comments */
        return OA_OK;
    if (root->type != YAML_MAPPING_NODE)
        return refuse_yaml(r, root, OA_FORMAT,
                           "options are written as a map of sections, such as model: {layers: 4}");
    return apply_map(r, root, NULL);
}

static enum oa_error read_yaml_options(void *argument, yaml_parser_t *p)
{
    struct yaml_options *r = argument;
    if (!yaml_parser_load(p, &r->document))
        return oa_yaml_failed(r->context, r->path, p);
    enum oa_error e = apply_document(r);
    bool more = yaml_document_get_root_node(&r->document) != NULL;
    yaml_document_delete(&r->document);
    if (e != OA_OK || !more)
        return e;
    if (!yaml_parser_load(p, &r->document))
        return oa_yaml_failed(r->context, r->path, p);
    const yaml_node_t *second = yaml_document_get_root_node(&r->document);
    if (second)
        e = refuse_yaml(r, second, OA_FORMAT, "a second YAML document begins here; one is read");
    yaml_document_delete(&r->document);
    return e;
}

enum oa_error oa_options_load(oa_context *c, struct oa_options *o, const char *path,
                              struct oa_given *given)
{
    struct yaml_options r = { .context = c, .options = o, .path = path };
    OA_TRY(oa_yaml_read(c, path, read_yaml_options, &r));
    for (int i = 0; given && oa_option_at(i); i++) {
        if (r.experiment && !r.line[i] && !given->option[i])
            OA_TRY(oa_options_set(c, o, oa_option_at(i)->key, oa_option_at(i)->fallback));
        given->option[i] = given->option[i] || r.line[i] || r.experiment;
    }
    return OA_OK;
}

/* ---- writing ---- */

static void add_yaml_comment(const struct oa_option_row *r, struct oa_text *out)
{
    oa_text_printf(out, "  # %s", r->help);
    if (r->kind == OA_OPTION_CHOICE)
        oa_text_printf(out, ": %s", r->choices);
    else if (r->kind == OA_OPTION_INT)
        oa_text_printf(out, " (%.0f to %.0f)", r->low, r->high);
    else if (r->kind == OA_OPTION_REAL)
        oa_text_printf(out, " (%s to %s)", oa_real_text(r->low).s, oa_real_text(r->high).s);
    oa_text_add(out, "\n", 1);
}

void oa_options_yaml(const struct oa_options *o, struct oa_text *out)
{
    const char *section = "";
    const struct oa_option_row *r;
    for (int i = 0; (r = oa_option_at(i)); i++) {
        if (strcmp(section, r->section) != 0)
            oa_text_printf(out, "%s%s:\n", i ? "\n" : "", r->section);
        section = r->section;
        size_t begin = out->length;
        oa_text_printf(out, "  %s: ", r->name);
        oa_option_quote(o, r, out);
        size_t width = out->length - begin;
        oa_text_printf(out, "%*s", width < 32 ? (int)(32 - width) : 0, "");
        add_yaml_comment(r, out);
    }
}
