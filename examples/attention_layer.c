/* SPDX-License-Identifier: Apache-2.0
 * An attention layer in a C program: it learns to look at the token before, by plain gradient
 * descent.
 *
 *     cc attention_layer.c $(pkg-config --cflags --libs orthant) -o attention_layer &&
 * ./attention_layer dense
 */
#include <orthant/orthant.h>

#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 8, TOKENS = 16, WIDTH = 32, HEADS = 4, COUNT = BATCH * TOKENS * WIDTH, STEPS = 200 };

/* Target: the row of the token before; 0 for the first. Returns half the mean squared error and its
 * gradient. */
static double loss(const float *x, const float *y, float *dy)
{
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        int first = i / WIDTH % TOKENS == 0;
        float error = y[i] - (first ? 0 : x[i - WIDTH]);
        sum += 0.5 * error * error;
        dy[i] = error / (BATCH * TOKENS);
    }
    return sum / COUNT;
}

static void descend(oa_attention *layer, float rate)
{
    struct oa_weights w;
    for (int i = 0; oa_attention_weights(layer, i, &w); i++) {
        float *value = w.value, *gradient = w.gradient;
        for (long j = 0; gradient && j < w.count; j++)
            value[j] -= rate * gradient[j];
    }
    oa_attention_changed(layer);
    oa_attention_zero_gradients(layer);
}

static int complain(const oa_context *c)
{
    const char *sentence;
    oa_last_error(c, &sentence);
    fprintf(stderr, "layer: %s\n", sentence);
    return 1;
}

int main(int argc, char **argv)
{
    static float x[COUNT], y[COUNT], dy[COUNT], dx[COUNT];
    const struct oa_attention_input in = { .batch = BATCH, .tokens = TOKENS, .x = x };
    struct oa_attention_form form = {
        .width = WIDTH, .heads = HEADS, .length = TOKENS, .causal = 1, .seed = 1
    };
    oa_context *c = oa_open(NULL);
    if (!c)
        return 1;
    oa_attention *layer = oa_attention_open(c, argc > 1 ? argv[1] : "random", &form);
    double first = 0, last = 0;
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    for (int step = 0; layer && step < STEPS; step++) {
        if (oa_attention_forward(layer, &in, y) != OA_OK)
            break;
        last = loss(x, y, dy);
        first = step ? first : last;
        if (oa_attention_backward(layer, dy, dx, NULL) != OA_OK)
            break;
        descend(layer, 1);
    }
    int failed = oa_last_error(c, NULL) != OA_OK ? complain(c) : 0;
    if (!failed)
        printf("loss %.5f before, %.5f after %d steps\n", first, last, STEPS);
    oa_attention_close(layer);
    oa_close(c);
    return failed || !(last < first);
}
