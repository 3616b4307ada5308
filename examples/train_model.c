/* SPDX-License-Identifier: Apache-2.0
 * Trains a small model on a text, measures it, and lets it write.
 *
 *     cc train_model.c $(pkg-config --cflags --libs orthant) -o train_model && ./train_model
 * text.txt folder
 */
#include <orthant/orthant.h>

#include <stdio.h>

static void print(void *argument, const char *text, size_t length)
{
    (void)argument;
    fwrite(text, 1, length, stdout);
}

static void progress(void *argument, int level, const char *line)
{
    (void)argument, (void)level;
    fprintf(stderr, "\r%s", line);
}

static enum oa_error configure(oa_config *config, const char *text)
{
    static const char *const settings[][2] = { { "model.attention", "random + softmax" },
                                               { "model.layers", "2" },
                                               { "model.width", "32" },
                                               { "model.context", "32" },
                                               { "train.steps", "100" },
                                               { "generate.prompt", "the " },
                                               { "generate.tokens", "80" } };
    enum oa_error e = oa_config_set(config, "data.train", text);
    for (size_t i = 0; e == OA_OK && i < sizeof settings / sizeof *settings; i++)
        e = oa_config_set(config, settings[i][0], settings[i][1]);
    return e;
}

int main(int argc, char **argv)
{
    struct oa_settings settings = { .log = progress };
    struct oa_output output = { .sink = print };
    struct oa_scores scores;
    if (argc != 3) {
        fprintf(stderr, "usage: train TEXT FOLDER\n");
        return 2;
    }
    oa_context *c = oa_open(&settings);
    oa_config *config = c ? oa_config_new(c) : NULL;
    if (!config)
        return 1;
    enum oa_error e = configure(config, argv[1]);
    if (e == OA_OK)
        e = oa_train(config, argv[2], 0, &scores, NULL);
    if (e == OA_OK) {
        printf("\n%.3f bits a character\n", scores.bits_per_character);
        e = oa_generate(config, argv[2], NULL, &output);
    }
    const char *sentence;
    if (oa_last_error(c, &sentence) != OA_OK)
        fprintf(stderr, "\ntrain: %s\n", sentence);
    oa_config_free(config);
    oa_close(c);
    return e != OA_OK;
}
