/* SPDX-License-Identifier: Apache-2.0
 * What a command prints, caught: as JSON to look numbers up in, or as text. */
#ifndef ORTHANT_PRINTED_H
#define ORTHANT_PRINTED_H

#include "testing.h"

#include "api/api.h"
#include "orthant/orthant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char text[400000];
    size_t length;
} caught;

static void catch_text(void *argument, const char *text, size_t length)
{
    (void)argument;
    assert_true(caught.length + length < sizeof caught.text);
    memcpy(caught.text + caught.length, text, length);
    caught.length += length;
    caught.text[caught.length] = 0;
}

static const struct oa_output as_json = { .sink = catch_text, .json = 1 };

/* The text since the last call. */
static const char *printed(void)
{
    caught.length = 0;
    return caught.text;
}

static json_t *printed_json(void)
{
    json_t *root = json_loads(printed(), 0, NULL);
    assert_non_null(root);
    return root;
}

/* The number at a path of keys with dots between. */
static double number_at(json_t *root, const char *path)
{
    char copy[128];
    json_t *at = root;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *rest = copy, *key; (key = strtok_r(rest, ".", &rest));)
        at = json_object_get(at, key);
    if (!json_is_number(at))
        fail_msg("there is no number %s", path);
    return json_number_value(at);
}

static void close_to(const char *what, double found, double expected, double relative)
{
    if (!(fabs(found - expected) <= relative * fabs(expected)))
        fail_msg("%s: found %.17g, expected %.17g", what, found, expected);
}

/* One thread: models this small gain nothing from more. */
static oa_context *open_context(void)
{
    return oa_open(&(struct oa_settings){ .threads = 1 });
}

/* Sets options: KEY, VALUE, KEY, VALUE, …, NULL. */
static void set_options(oa_config *config, const char *const *pairs)
{
    for (int i = 0; pairs[i]; i += 2)
        assert_int_equal(oa_config_set(config, pairs[i], pairs[i + 1]), OA_OK);
}

static void remove_folder(const char *folder)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

#endif
