/* SPDX-License-Identifier: Apache-2.0
 * Which of several texts does a trained model find the least surprising? And what does it expect to
 * follow?
 *
 *     cc score_text.c $(pkg-config --cflags --libs orthant) -o score_text && ./score_text folder "a
 * text" "another"
 */
#include <orthant/orthant.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096 };

/* Nats a token; the ids stay in `ids`, `*count` of them. Negative after a failure. */
static double score(oa_language_model *m, const char *text, int32_t *ids, size_t *count)
{
    static double nats[ROOM];
    double sum = 0;
    if (oa_language_model_encode(m, text, strlen(text), ids, ROOM, count) != OA_OK || *count < 2)
        return -1;
    if (oa_language_model_score(m, ids, *count, nats) != OA_OK)
        return -1;
    for (size_t i = 0; i + 1 < *count; i++)
        sum += nats[i];
    return sum / (double)(*count - 1);
}

static void print_next(oa_language_model *m, const int32_t *ids, size_t count)
{
    struct oa_language_model_shape shape;
    oa_language_model_describe(m, &shape);
    float *logits = malloc((size_t)shape.vocabulary * sizeof *logits);
    oa_language_model_state *state = oa_language_model_state_open(m);
    size_t keep = count < (size_t)shape.context ? count : (size_t)shape.context, length;
    if (logits && state &&
        oa_language_model_step(state, ids + count - keep, keep, logits) == OA_OK) {
        int32_t best = 0;
        for (int32_t i = 1; i < shape.vocabulary; i++)
            if (logits[i] > logits[best])
                best = i;
        const char *bytes = oa_language_model_token(m, best, &length);
        printf("  then \"%.*s\"\n", (int)length, bytes ? bytes : "");
    }
    oa_language_model_state_close(state);
    free(logits);
}

int main(int argc, char **argv)
{
    static int32_t ids[ROOM];
    if (argc < 3) {
        fprintf(stderr, "usage: score_text FOLDER TEXT...\n");
        return 2;
    }
    oa_context *c = oa_open(NULL);
    oa_language_model *m = c ? oa_language_model_open(c, argv[1]) : NULL;
    for (int i = 2; m && i < argc; i++) {
        size_t count;
        double nats = score(m, argv[i], ids, &count);
        if (nats < 0)
            break;
        printf("%.4f nats a token: %s\n", nats, argv[i]);
        print_next(m, ids, count);
    }
    const char *sentence;
    int failed = !c || oa_last_error(c, &sentence) != OA_OK;
    if (c && failed)
        fprintf(stderr, "score_text: %s\n", sentence);
    oa_language_model_close(m);
    oa_close(c);
    return failed;
}
