/* SPDX-License-Identifier: Apache-2.0
 * vector_template.h with activations in f32. Included after the layer for an instruction set. */
#define ACT float
#define REAL float
#define LOAD(a) (a)
#define STORE(r) (r)
#define act_load v_load
#define act_store v_store

#include "kernels/vector_template.h"
