/* SPDX-License-Identifier: Apache-2.0
 * ASan-poisoned memory: unused memory of arenas, and the padding after allocations. With the
 * address sanitizer an access aborts the program; in other builds these do nothing. */
#ifndef ORTHANT_BASE_ASAN_POISON_H
#define ORTHANT_BASE_ASAN_POISON_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OA_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define OA_ASAN 1
#endif

#ifdef OA_ASAN
#include <sanitizer/asan_interface.h>
#define oa_asan_poison(memory, bytes) ASAN_POISON_MEMORY_REGION(memory, bytes)
#define oa_asan_unpoison(memory, bytes) ASAN_UNPOISON_MEMORY_REGION(memory, bytes)
#else
#define OA_ASAN 0
#define oa_asan_poison(memory, bytes) ((void)(memory), (void)(bytes))
#define oa_asan_unpoison(memory, bytes) ((void)(memory), (void)(bytes))
#endif

#endif
