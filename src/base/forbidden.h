/* SPDX-License-Identifier: Apache-2.0
 * Memory that is there and that nobody may touch: what an arena has not given out, and what stands
 * behind the bytes that were asked for. With the address sanitizer a use of it ends the program;
 * otherwise nothing is done. */
#ifndef ORTHANT_BASE_FORBIDDEN_H
#define ORTHANT_BASE_FORBIDDEN_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OA_FORBIDS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define OA_FORBIDS 1
#endif

#ifdef OA_FORBIDS
#include <sanitizer/asan_interface.h>
#define oa_forbid(memory, bytes) ASAN_POISON_MEMORY_REGION(memory, bytes)
#define oa_permit(memory, bytes) ASAN_UNPOISON_MEMORY_REGION(memory, bytes)
#else
#define OA_FORBIDS 0
#define oa_forbid(memory, bytes) ((void)(memory), (void)(bytes))
#define oa_permit(memory, bytes) ((void)(memory), (void)(bytes))
#endif

#endif
