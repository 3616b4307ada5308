/* SPDX-License-Identifier: Apache-2.0
 * Private to src/serve: the member "input" of requests about texts: one of them, or a list. A list
 * of numbers is the ids of one. */
#ifndef ORTHANT_SERVE_REQUEST_INPUTS_H
#define ORTHANT_SERVE_REQUEST_INPUTS_H

#include "serve/server.h"

enum oa_error oa_inputs_check(oa_context *c, const json_t *request);
size_t oa_inputs_count(const json_t *request);
const json_t *oa_inputs_at(const json_t *request, size_t i);
/* {"object": "list", "model": …, "data": data}, with the usage where tokens are counted (0: not),
 * or the failure; data is decref'd. */
void oa_inputs_reply(struct oa_server *s, struct oa_exchange *x, enum oa_error e,
                     const struct oa_served_model *m, json_t *data, long tokens);

#endif
