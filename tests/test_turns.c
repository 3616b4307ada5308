/* SPDX-License-Identifier: Apache-2.0
 * Sequences of which chosen tokens are targets: prompts with answers, messages, tokens with their
 * targets; ids and targets written out by hand. */
#include "examples_setup.h"

#include "data/turns.h"

static struct oa_example_texts texts;
static struct oa_tokenizer *tokenizer;
static struct oa_examples examples;

static enum oa_error encode_turns(const char *file, const char *spec,
                                  const struct oa_example_layout *layout)
{
    tokenizer = NULL;
    examples = (struct oa_examples){ 0 };
    enum oa_error e = open_texts(OA_ANSWER_TOKENS, NULL, file, NULL, NULL, &texts);
    if (e == OA_OK)
        e = oa_example_texts_tokenizer(context, &texts, spec, &tokenizer);
    return e == OA_OK ? oa_examples_encode(tokenizer, &texts, &texts.train, layout, &examples) : e;
}

static void close_turns(void)
{
    oa_examples_close(&examples);
    oa_tokenizer_close(tokenizer);
    oa_example_texts_close(&texts);
}

/* "U" <|user|>, "A" <|assistant|>, "S" <|system|>, "T" <|tool|>, "." <|end|>, else a character; of
 * targets "_" is none. */
static void print_token(int32_t id, struct oa_text *out)
{
    static const char *const names[][2] = { { "<|user|>", "U" },
                                            { "<|assistant|>", "A" },
                                            { "<|system|>", "S" },
                                            { "<|tool|>", "T" },
                                            { "<|end|>", "." } };
    const char *piece = id == OA_IGNORED ? "_" : oa_tokenizer_piece(tokenizer, id);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(piece, names[i][0]) == 0)
            piece = names[i][1];
    oa_text_printf(out, "%s", piece);
}

static void assert_turns(size_t row, const char *tokens, const char *targets)
{
    struct oa_text read, goal;
    int32_t count = 0;
    oa_text_init(&read, context);
    oa_text_init(&goal, context);
    for (size_t i = examples.source.start[row]; i < examples.source.start[row + 1]; i++) {
        print_token(examples.source.ids[i], &read);
        print_token(examples.goal[i], &goal);
        count += examples.goal[i] != OA_IGNORED;
    }
    assert_string_equal(read.s, tokens);
    assert_string_equal(goal.s, targets);
    assert_int_equal(examples.goals[row], count);
    oa_text_free(&read);
    oa_text_free(&goal);
}

static const struct oa_example_layout whole;

static void answers_and_their_ends_are_targets(void **state)
{
    (void)state;
    write_text("turns.tsv", "prompt\tanswer\nab\txy\nc\tz\n");
    assert_int_equal(encode_turns("turns.tsv", "char", &whole), OA_OK);
    assert_turns(0, "Uab.Axy", "____xy.");
    assert_turns(1, "Uc.Az", "___z.");
    assert_int_equal(examples.source.longest, 7);
    close_turns();
    write_text("turns.jsonl", "{\"prompt\": \"ab\", \"answer\": \"xy\", \"other\": 1}\n");
    assert_int_equal(encode_turns("turns.jsonl", "char", &whole), OA_OK);
    assert_turns(0, "Uab.Axy", "____xy.");
    close_turns();
}

static void the_assistants_turns_are_targets(void **state)
{
    (void)state;
    write_text("turns.jsonl", "{\"messages\": [{\"role\": \"system\", \"content\": \"s\"}, "
                              "{\"role\": \"user\", \"content\": \"ab\"}, "
                              "{\"role\": \"assistant\", \"content\": \"x\"}, "
                              "{\"role\": \"tool\", \"content\": \"q\"}, "
                              "{\"role\": \"assistant\", \"content\": \"yz\"}, "
                              "{\"role\": \"user\", \"content\": \"never read\"}]}\n");
    assert_int_equal(encode_turns("turns.jsonl", "char", &whole), OA_OK);
    assert_turns(0, "Ss.Uab.Ax.Tq.Ayz", "_______x.____yz.");
    close_turns();
}

static void words_have_their_targets(void **state)
{
    (void)state;
    write_text("turns.tsv", "tokens\ttargets\n3 1 4 1\t- 5 - 0\n2  7\t- 6\n");
    assert_int_equal(encode_turns("turns.tsv", "ids:8", &whole), OA_OK);
    assert_turns(0, "3141", "_5_0");
    assert_turns(1, "27", "_6");
    assert_int_equal(oa_tokenizer_size(tokenizer), 8); /* no roles */
    close_turns();
}

/* The vocabulary is of the words, not of the mark for no target. */
static void the_mark_is_no_token(void **state)
{
    (void)state;
    write_text("turns.tsv", "tokens\ttargets\na b\t- c\n");
    assert_int_equal(encode_turns("turns.tsv", "char", &whole), OA_OK);
    assert_turns(0, "ab", "_c");
    assert_int_equal(oa_tokenizer_find(tokenizer, "-"), -1);
    close_turns();
}

static void a_long_sequence_loses_its_beginning(void **state)
{
    struct oa_example_layout four = { .source_limit = 4 };
    (void)state;
    write_text("turns.tsv", "prompt\tanswer\nab\txy\n");
    assert_int_equal(encode_turns("turns.tsv", "char", &four), OA_OK);
    assert_turns(0, ".Axy", "_xy.");
    expect_notice("1 of 1 sequences lost their beginning: the model reads 4 tokens");
    close_turns();
    four.refuse_long = true;
    assert_int_equal(encode_turns("turns.tsv", "char", &four), OA_SHAPE);
    expect_error(OA_SHAPE, "turns.tsv, line 2: the sequence has 7 tokens");
    close_turns();
}

/* A sequence of exactly as many tokens as the model reads is whole. */
static void a_sequence_that_just_fits_is_whole(void **state)
{
    struct oa_example_layout seven = { .source_limit = 7, .refuse_long = true };
    (void)state;
    write_text("turns.tsv", "prompt\tanswer\nab\txy\n");
    for (int refuse = 0; refuse < 2; refuse++) {
        seven.refuse_long = refuse;
        assert_int_equal(encode_turns("turns.tsv", "char", &seven), OA_OK);
        assert_turns(0, "Uab.Axy", "____xy.");
        assert_int_equal(examples.source.cut, 0);
        close_turns();
    }
    seven.source_limit = 6;
    assert_int_equal(encode_turns("turns.tsv", "char", &seven), OA_SHAPE);
    expect_error(OA_SHAPE,
                 "the sequence has 7 tokens, special ones included, but the model reads 6");
    close_turns();
}

static void refused_turns(const char *name, const char *text, const char *spec, enum oa_error code,
                          const char *words)
{
    write_text(name, text);
    assert_int_equal(encode_turns(name, spec, &whole), code);
    expect_error(code, words);
    close_turns();
}

static void wrong_turns_are_refused(void **state)
{
    (void)state;
    refused_turns("t.jsonl", "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}\n", "char",
                  OA_FORMAT, "no message of the assistant");
    refused_turns("t.jsonl", "{\"messages\": [{\"role\": \"bot\", \"content\": \"a\"}]}\n", "char",
                  OA_FORMAT, "unknown role \"bot\"");
    refused_turns("t.jsonl", "{\"messages\": [{\"role\": \"user\"}]}\n", "char", OA_FORMAT,
                  "without one role and one content");
    refused_turns("t.jsonl", "{\"messages\": {}}\n", "char", OA_FORMAT, "not a list");
    refused_turns("t.jsonl", "{\"a\": 1}\n", "char", OA_ARGUMENT, "prompt and answer");
    refused_turns("t.tsv", "tokens\ttargets\n1 2\t-\n", "ids:8", OA_FORMAT,
                  "fewer targets than words");
    refused_turns("t.tsv", "tokens\ttargets\n1\t- 2\n", "ids:8", OA_FORMAT,
                  "more targets than words");
    refused_turns("t.tsv", "tokens\ttargets\n1 2\t- -\n", "ids:8", OA_FORMAT,
                  "no token has a target");
    refused_turns("t.tsv", "tokens\ttargets\n12 2\t- 1\n", "char", OA_ARGUMENT, "is 2 tokens");
    write_text("u.tsv", "prompt\tanswer\na\tb\n");
    write_text("v.tsv", "tokens\ttargets\na\tb\n");
    assert_int_equal(encode_turns("u.tsv,v.tsv", "char", &whole), OA_FORMAT);
    expect_error(OA_FORMAT, "give files of one kind");
    close_turns();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_and_their_ends_are_targets),
        cmocka_unit_test(the_assistants_turns_are_targets),
        cmocka_unit_test(words_have_their_targets),
        cmocka_unit_test(the_mark_is_no_token),
        cmocka_unit_test(a_long_sequence_loses_its_beginning),
        cmocka_unit_test(a_sequence_that_just_fits_is_whole),
        cmocka_unit_test(wrong_turns_are_refused),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
