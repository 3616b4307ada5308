/* SPDX-License-Identifier: Apache-2.0
 * See device_list.h. Devices are opened, in a context of their own, to see whether they can be. */
#include "base/concurrent.h"
#include "device/device_list.h"
#include "device/gpu/gpu_driver.h"

#include <stdio.h>

enum { MOST_CARDS = 16 };

static void no_message(void *argument, int level, const char *line)
{
    (void)argument, (void)level, (void)line;
}

/* false: there is no such device. problem: why it cannot be opened. */
static bool probe_device(oa_context *c, const struct oa_gpu_driver *driver, int index,
                         struct oa_listed_device *out)
{
    oa_context *trial = oa_context_clone(c, 1, no_message, NULL);
    struct oa_gpu_facts facts = { .memory = 0 };
    const char *sentence = "";
    *out = (struct oa_listed_device){ .memory = 0 };
    if (!trial)
        return false;
    void *state = driver->open(trial, index, &facts);
    oa_last_error(trial, &sentence);
    *out = (struct oa_listed_device){ .memory = facts.memory, .processor = facts.processor };
    snprintf(out->name, sizeof out->name, "%s:%d", driver->name, index);
    snprintf(out->card, sizeof out->card, "%s", facts.name);
    snprintf(out->driver, sizeof out->driver, "%s", facts.driver);
    if (state)
        driver->close(state);
    else
        snprintf(out->problem, sizeof out->problem, "%s", sentence);
    oa_close(trial);
    return state || facts.name[0];
}

int oa_device_list(oa_context *c, struct oa_listed_device *out, int most)
{
    static const struct oa_gpu_driver *const drivers[] = { &oa_gpu_cuda, &oa_gpu_opencl };
    int n = 0;
    for (int k = 0; k < 2; k++) {
        int i = 0;
        while (n < most && i < MOST_CARDS && probe_device(c, drivers[k], i, out + n))
            n++, i++;
        if (i == 0 && n < most)
            snprintf(out[n++].name, sizeof out->name, "%s", drivers[k]->name);
    }
    return n;
}

void oa_device_auto(oa_context *c, enum oa_device_kind *kind, int *number)
{
    struct oa_listed_device found;
    *kind = OA_DEVICE_CPU;
    *number = 0;
    if (probe_device(c, &oa_gpu_cuda, 0, &found) && !found.problem[0]) {
        *kind = OA_DEVICE_CUDA;
        return;
    }
    for (int i = 0; i < MOST_CARDS && probe_device(c, &oa_gpu_opencl, i, &found); i++)
        if (!found.problem[0] && !found.processor) {
            *kind = OA_DEVICE_OPENCL;
            *number = i;
            return;
        }
}

bool oa_device_chosen(oa_context *c, struct oa_listed_device *out)
{
    enum oa_device_kind kind = oa_context_device_kind(c);
    int number = oa_context_device_number(c);
    if (kind == OA_DEVICE_AUTO)
        oa_device_auto(c, &kind, &number);
    if (kind == OA_DEVICE_CPU)
        return false;
    probe_device(c, kind == OA_DEVICE_CUDA ? &oa_gpu_cuda : &oa_gpu_opencl, number, out);
    return true;
}

void oa_device_label(oa_context *c, char out[OA_DEVICE_LABEL])
{
    struct oa_listed_device chosen;
    out[0] = 0;
    if (oa_device_chosen(c, &chosen))
        snprintf(out, OA_DEVICE_LABEL, "%s, %.120s", chosen.name, chosen.card);
}
