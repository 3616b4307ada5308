/* SPDX-License-Identifier: Apache-2.0
 * The attention module as other modules see it: parsed attentions, mechanisms, the layer.
 *
 * A mechanism is a const table in its own file of mechanisms/ and one line of registry.def. Its
 * options, modes, formula and citation are in that table; parser, help, documentation, tests and
 * reports loop over the registry. */
#ifndef ORTHANT_ATTENTION_H
#define ORTHANT_ATTENTION_H

#include "attention/mechanism.h"
#include "attention/random_projection.h"

#endif
