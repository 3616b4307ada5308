/* SPDX-License-Identifier: Apache-2.0
 * The devices of this machine besides the processor, and which of them `auto` means. */
#ifndef ORTHANT_DEVICE_DEVICE_LIST_H
#define ORTHANT_DEVICE_DEVICE_LIST_H

#include "base/base.h"

struct oa_listed_device {
    char name[16]; /* as oa_settings.device has it: "cuda:0"; "opencl" where there is none */
    char card[128], driver[128];
    size_t memory;     /* bytes */
    bool processor;    /* OpenCL on the host's processor: not what `auto` takes */
    char problem[512]; /* why it cannot be used; "": it can */
};

/* At most `most` of them; how many. Of an interface without a usable device there is one entry,
 * with the problem. */
int oa_device_list(oa_context *c, struct oa_listed_device *out, int most);
/* The first card that can be used, of CUDA before OpenCL; otherwise the processor. */
void oa_device_auto(oa_context *c, enum oa_device_kind *kind, int *number);
/* The context's device; false: it is the processor. */
bool oa_device_chosen(oa_context *c, struct oa_listed_device *out);
/* What computes, where it is not the processor: "cuda:0, NVIDIA H200"; "" where it is. */
enum { OA_DEVICE_LABEL = 160 };
void oa_device_label(oa_context *c, char out[OA_DEVICE_LABEL]);

#endif
