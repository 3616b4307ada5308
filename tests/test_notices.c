/* SPDX-License-Identifier: Apache-2.0
 * What is logged next to results: options without effect, feed-forward layers of other widths, data
 * that no correlation is defined on, progress. */
#include "setups.h"

#include "compare/comparison_session.h"
#include "train/train.h"

#include <string.h>
#include <unistd.h>

static struct {
    int notices;
    char notice[512], progress[512];
} logged;

static void take_line(void *argument, int level, const char *line)
{
    (void)argument;
    logged.notices += level == 0;
    snprintf(level == 0 ? logged.notice : logged.progress, sizeof logged.notice, "%.500s", line);
}

static oa_context *listening(void)
{
    memset(&logged, 0, sizeof logged);
    return oa_open(&(struct oa_settings){ .threads = 1, .log = take_line });
}

static void notices_are(int count, const char *last)
{
    if (logged.notices != count || strcmp(logged.notice, last) != 0)
        fail_msg("%d notices, the last \"%s\"; not %d, \"%s\"", logged.notices, logged.notice,
                 count, last);
}

/* Options as "KEY=VALUE KEY=VALUE". */
static void set_all(struct oa_options *o, const char *words)
{
    char copy[256], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(w, '=');
        *value++ = 0;
        set_option(o, w, value);
    }
}

/* ---- options without effect ---- */

/* A notice where the option has no use for lack of what the settings before it do not have; none
 * with any of the settings that give it one, nor where it has its default. */
struct use {
    const char *option, *without, *with[4], *because;
};
static const struct use uses[] = {
    { "data.valid_fraction=0.2", "data.valid=a", { "" }, "data.valid names the validation text" },
    { "train.final_tokens=9",
      "data.valid_fraction=0",
      { "", "data.valid=a data.valid_fraction=0.1" },
      "there is no validation text" },
    { "train.eval_tokens=9",
      "train.eval_every=0",
      { "", "train.eval_every=1" },
      "train.eval_every is 0: the only validation is at the end" },
    { "train.clock=wall",
      "",
      { "train.seconds=3", "compare.equal=time" },
      "there is no time budget" },
    { "train.seed_dropout=5",
      "",
      { "model.dropout=0.1", "model.attention_dropout=0.1" },
      "there is no dropout" },
    { "train.min_lr=0.5",
      "train.schedule=constant",
      { "train.schedule=cosine", "train.schedule=linear", "train.schedule=trapezoid" },
      "only the schedules cosine, linear and trapezoid decay to it" },
    { "train.min_lr=0.5",
      "train.schedule=inverse-sqrt",
      { "" },
      "only the schedules cosine, linear and trapezoid decay to it" },
    { "train.cooldown=0.5",
      "",
      { "train.schedule=trapezoid" },
      "only the schedule trapezoid has a cool-down" },
    { "train.beta1=0.5",
      "train.optimizer=adafactor",
      { "train.optimizer=adamw", "train.optimizer=sgd", "train.optimizer=lion",
        "train.optimizer=muon" },
      "adafactor has no first moment" },
    { "train.beta2=0.5",
      "train.optimizer=sgd",
      { "train.optimizer=adamw", "train.optimizer=lion", "train.optimizer=muon" },
      "only adamw, muon and lion use it" },
    { "train.beta2=0.5", "train.optimizer=adafactor", { "" }, "only adamw, muon and lion use it" },
    { "train.epsilon=0.5",
      "train.optimizer=lion",
      { "train.optimizer=adamw", "train.optimizer=muon" },
      "only adamw and muon use it" },
    { "train.muon_lr=0.5", "", { "train.optimizer=muon" }, "only muon uses it" },
    { "data.order=epoch",
      "data.task=classify",
      { "", "data.task=mlm" },
      "the task reads examples" },
    { "model.rotary_base=5000", "", { "model.position=rotary" }, "model.position is not rotary" },
    { "model.rotary_factor=2",
      "model.position=rotary",
      { "model.position=rotary model.rotary_scaling=ntk" },
      "model.rotary_scaling is none" },
    { "distil.soft=2", "", { "distil.teacher=a" }, "there is no distil.teacher" },
};

static void remark_on(const char *settings, const char *option)
{
    struct oa_options o;
    oa_context *c = listening();
    oa_options_default(&o);
    set_all(&o, settings);
    set_all(&o, option);
    oa_remarks(c, &o);
    oa_close(c);
}

static void options_without_effect_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        const struct use *u = &uses[i];
        char sentence[256];
        snprintf(sentence, sizeof sentence, "%.*s has no effect: %s", (int)strcspn(u->option, "="),
                 u->option, u->because);
        remark_on(u->without, u->option);
        notices_are(1, sentence);
        remark_on(u->without, "");
        notices_are(0, "");
        for (int k = 0; k < 4 && u->with[k]; k++) {
            remark_on(u->with[k], u->option);
            notices_are(0, "");
        }
    }
}

static void a_warmup_that_does_not_end_is_named(void **state)
{
    (void)state;
    remark_on("train.steps=10 train.lr=0.001", "train.warmup=20");
    notices_are(1, "train.warmup = 20 exceeds train.steps = 10: the learning rate ends at 0.0005 "
                   "and never reaches train.lr = 0.001");
    remark_on("train.steps=10", "train.warmup=10");
    notices_are(0, "");
    remark_on("train.steps=10 train.seconds=3", "train.warmup=20");
    notices_are(0, "");
}

/* ---- widths ---- */

/* Budgets of parameters are met by feed-forward layers, of which a quarter more or less is much. */
static void widths_that_are_far_apart_are_named(void **state)
{
    long ffn[] = { 100, 125, 75, 126, 74 };
    struct oa_entry entries[5];
    struct oa_comparison k = { .entries = entries };
    oa_context *c = listening();
    struct comparison_session t = { .c = c, .out = &k, .ffn = ffn };
    (void)state;
    for (int i = 0; i < 5; i++)
        entries[i] = (struct oa_entry){ .attention = (char *)(uintptr_t)(i ? "other" : "first") };
    for (k.count = 1; k.count <= 3; k.count++) {
        oa_comparison_log_widths(&t);
        notices_are(0, "");
    }
    oa_comparison_log_widths(&t);
    notices_are(1, "--equal params: the feed-forward layers of \"other\" are 126 wide, those of "
                   "\"first\" 100 (+26 %): what is compared is attention and feed-forward layer "
                   "together");
    k.count = 5;
    oa_comparison_log_widths(&t);
    notices_are(3, "--equal params: the feed-forward layers of \"other\" are 74 wide, those of "
                   "\"first\" 100 (-26 %): what is compared is attention and feed-forward layer "
                   "together");
    oa_close(c);
}

/* ---- data ---- */

static void write_numbers(const char *path, bool constant)
{
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 4; i++)
        fprintf(f, "%d.5\ttext %d of %s\n", constant ? 2 : i, i, path);
    assert_int_equal(fclose(f), 0);
}

/* Of the validation and the test data; what a run learns from may be constant. */
static void constant_values_are_named(void **state)
{
    static const char *const keys[] = { "data.train", "data.valid", "data.test" };
    static const char *const files[] = { "test_notices_train.tsv", "test_notices_valid.tsv",
                                         "test_notices_test.tsv" };
    (void)state;
    for (int constant = 0; constant < 3; constant++) {
        struct oa_options o;
        struct oa_workload w;
        char sentence[256] = "";
        oa_options_default(&o);
        set_all(&o, "data.task=regress data.tokenizer=char");
        for (int i = 0; i < 3; i++) {
            write_numbers(files[i], i == constant);
            set_option(&o, keys[i], files[i]);
        }
        oa_context *c = listening();
        assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
        if (constant)
            snprintf(sentence, sizeof sentence,
                     "%s: all 4 examples have the value 2.5, so correlations are undefined and "
                     "count as 0; compare the loss instead (compare.metric)",
                     files[constant]);
        notices_are(constant > 0, sentence);
        oa_workload_close(&w);
        oa_close(c);
    }
    for (int i = 0; i < 3; i++)
        unlink(files[i]);
}

/* ---- progress ---- */

static void bar_is(struct oa_bar *b, long done, long all, const char *line)
{
    b->logged = 0;
    oa_bar_log(b, done, all);
    assert_string_equal(logged.progress, line);
}

/* Of a clock that is 30 s ahead: what is left takes as long a share as what is done. */
static void bars_show_the_share_and_the_time_left(void **state)
{
    oa_context *c = listening();
    struct oa_bar b;
    (void)state;
    oa_bar_open(&b, c, "working");
    b.began -= 30.1;
    bar_is(&b, 0, 4, "working [....................] 0 %");
    bar_is(&b, 1, 4, "working [#####...............] 25 %, 1:30 left");
    bar_is(&b, 3, 4, "working [###############.....] 75 %, 0:10 left");
    bar_is(&b, 4, 4, "working [####################] 100 %, 0:00 left");
    bar_is(&b, 0, 0, "working [####################] 100 %");
    oa_bar_log(&b, 1, 4); /* right after another line */
    assert_string_equal(logged.progress, "working [####################] 100 %");
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_without_effect_are_named),
        cmocka_unit_test(a_warmup_that_does_not_end_is_named),
        cmocka_unit_test(widths_that_are_far_apart_are_named),
        cmocka_unit_test(constant_values_are_named),
        cmocka_unit_test(bars_show_the_share_and_the_time_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
