/* SPDX-License-Identifier: Apache-2.0
 * One section of a YAML file as a tree, for sections without options. */
#include "base/yaml_section.h"

#include "base/json_write.h"
#include "base/yaml_file.h"

#include <string.h>

enum { DEEPEST = 16, MOST_VALUES = 100000 };

struct yaml_tree {
    oa_context *context;
    const char *path, *section;
    yaml_document_t document;
    json_t *found; /* the section, NULL: not yet */
    long values;   /* in it so far; an alias counts as many as its anchor */
};

static enum oa_error yaml_refuse(struct yaml_tree *t, const yaml_node_t *at, const char *sentence)
{
    return oa_fail(t->context, OA_FORMAT, "%s:%zu:%zu: %s", t->path, at->start_mark.line + 1,
                   at->start_mark.column + 1, sentence);
}

static json_t *yaml_scalar(struct yaml_tree *t, const yaml_node_t *n)
{
    const char *text = (const char *)n->data.scalar.value;
    if (strlen(text) == n->data.scalar.length)
        return json_pack("{s:s, s:i}", OA_YAML_TEXT, text, OA_YAML_LINE,
                         (int)n->start_mark.line + 1);
    yaml_refuse(t, n, "a text contains a zero byte");
    return NULL;
}

static json_t *yaml_node_tree(struct yaml_tree *t, const yaml_node_t *n, int depth);

static json_t *yaml_list(struct yaml_tree *t, const yaml_node_t *n, int depth)
{
    json_t *out = json_array();
    const yaml_node_item_t *item = n->data.sequence.items.start;
    for (; item < n->data.sequence.items.top && t->values <= MOST_VALUES; item++)
        oa_json_append(t->context, out,
                       yaml_node_tree(t, yaml_document_get_node(&t->document, *item), depth + 1));
    return out;
}

static void add_pair(struct yaml_tree *t, const yaml_node_t *key, json_t *value, json_t *out)
{
    const char *name = key->type == YAML_SCALAR_NODE ? (const char *)key->data.scalar.value : NULL;
    if (!name || !*name)
        yaml_refuse(t, key, "a name was expected here");
    else if (json_object_get(out, name))
        yaml_refuse(t, key, "this name is given a second time");
    else
        oa_json_set(t->context, out, name, json_incref(value));
    json_decref(value);
}

static json_t *yaml_map(struct yaml_tree *t, const yaml_node_t *n, int depth)
{
    json_t *out = json_object();
    const yaml_node_pair_t *pair = n->data.mapping.pairs.start;
    for (; pair < n->data.mapping.pairs.top && t->values <= MOST_VALUES; pair++)
        add_pair(t, yaml_document_get_node(&t->document, pair->key),
                 yaml_node_tree(t, yaml_document_get_node(&t->document, pair->value), depth + 1),
                 out);
    return out;
}

/* An alias makes a node the child of several others, possibly of itself: the depth is limited. */
static json_t *yaml_node_tree(struct yaml_tree *t, const yaml_node_t *n, int depth)
{
    if (depth > DEEPEST) {
        yaml_refuse(t, n, "lists and maps are nested too deeply here");
        return NULL;
    }
    if (t->values++ >= MOST_VALUES) {
        if (t->values == MOST_VALUES + 1)
            yaml_refuse(t, n, "with its aliases the section has more than 100000 values");
        return NULL;
    }
    return n->type == YAML_SCALAR_NODE     ? yaml_scalar(t, n)
           : n->type == YAML_SEQUENCE_NODE ? yaml_list(t, n, depth)
                                           : yaml_map(t, n, depth);
}

static const yaml_node_t *yaml_find_section(struct yaml_tree *t, const char *section)
{
    const yaml_node_t *root = yaml_document_get_root_node(&t->document);
    if (!root || root->type != YAML_MAPPING_NODE)
        return NULL;
    const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
    for (; pair < root->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&t->document, pair->key);
        if (key->type == YAML_SCALAR_NODE &&
            strcmp((const char *)key->data.scalar.value, section) == 0)
            return yaml_document_get_node(&t->document, pair->value);
    }
    return NULL;
}

static enum oa_error read_section(void *argument, yaml_parser_t *p)
{
    struct yaml_tree *t = argument;
    if (!yaml_parser_load(p, &t->document))
        return oa_yaml_failed(t->context, t->path, p);
    const yaml_node_t *found = yaml_find_section(t, t->section);
    if (found)
        t->found = yaml_node_tree(t, found, 0);
    yaml_document_delete(&t->document);
    return oa_status(t->context);
}

enum oa_error oa_yaml_section(oa_context *c, const char *path, const char *section, json_t **out)
{
    struct yaml_tree t = { .context = c, .path = path, .section = section };
    enum oa_error e = oa_yaml_read(c, path, read_section, &t);
    *out = t.found;
    return e;
}
