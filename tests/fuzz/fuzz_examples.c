/* SPDX-License-Identifier: Apache-2.0
 * Examples: any bytes as TSV, CSV, JSONL, pictures or parallel files, with several data.columns,
 * are rows or a sentence; rows are encoded and come in batches, each row once an epoch. */
#include "data/examples.h"
#include "fuzz.h"

static void read_batches(oa_context *c, const struct oa_examples *e)
{
    struct oa_example_batches *b;
    struct oa_batch x;
    size_t rows = 0;
    if (oa_example_batches_open(c, e, &(struct oa_example_batching){ .tokens = 64, .seed = 1 },
                                &b) != OA_OK)
        abort();
    for (long i = 0; rows < e->count; i++, rows += (size_t)x.rows)
        if (oa_example_batches_kind.random(b, 1, 1 << 30, i, &x) != OA_OK || x.rows < 1 ||
            x.rows * x.length > 64)
            abort();
    if (rows != e->count || !(oa_example_batches_padding(b, 0) >= 0))
        abort();
    oa_example_batches_kind.close(b);
}

static void encode(oa_context *c, const struct oa_example_texts *t)
{
    const struct oa_example_layout layout = {
        "[CLS]",      "[SEP]", "<s>", "</s>", 32, 16, .keep_end = t->train.answer == OA_ANSWER_TEXT,
        .words = true
    };
    struct oa_tokenizer *tok;
    struct oa_examples e;
    if (oa_example_texts_tokenizer(c, t, "byte", &tok) != OA_OK ||
        oa_examples_encode(tok, t, &t->train, &layout, &e) != OA_OK)
        abort();
    read_batches(c, &e);
    oa_examples_close(&e);
    oa_tokenizer_close(tok);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const ends[] = { "tsv", "csv", "jsonl", "bin", "txt" };
    static const char *const columns[] = { "", "1,2", "label,text", "2,1+3", "source,target" };
    oa_context *c = fuzz_context();
    struct oa_example_texts t;
    char path[64], name[64], list[160];
    if (size < 2)
        return 0;
    const char *end = ends[data[0] % 5];
    enum oa_answer answer = (enum oa_answer)(data[0] / 5 % 4);
    int fd = fuzz_file(data + 2, size - 2, path);
    snprintf(name, sizeof name, "/tmp/fuzz_examples.%d.%s", (int)getpid(), end);
    unlink(name);
    if (symlink(path, name) != 0)
        abort();
    bool parallel = answer == OA_ANSWER_TEXT && data[0] % 5 == 4;
    snprintf(list, sizeof list, parallel ? "%s,%s" : "%s", name, name);
    struct oa_example_request r = {
        .train = list,
        .valid = data[1] & 1 ? list : "",
        .test = data[1] & 2 ? list : "",
        .columns = columns[data[1] / 4 % 5],
        .answer = answer,
        .valid_fraction = 0.3,
        .split_seed = data[1],
        .dialogues = data[1] & 64,
    };
    if (oa_example_texts_open(c, &r, &t) == OA_OK) {
        encode(c, &t);
        oa_example_texts_close(&t);
    } else if (oa_status(c) == OA_OK)
        abort();
    unlink(name);
    close(fd);
    return 0;
}
