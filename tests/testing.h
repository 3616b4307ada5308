/* SPDX-License-Identifier: Apache-2.0
 * What every test includes: cmocka with the headers it needs before it. */
#ifndef ORTHANT_TESTING_H
#define ORTHANT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
