/* SPDX-License-Identifier: Apache-2.0
 * Runs of other programs: what is read of each form of file, what is refused with which sentence,
 * and which runs, pairs and failures a comparison of them has. */
#include "testing.h"

#include "base/crc32c.h"
#include "import/observations.h"
#include "import_events.h"
#include "train/train.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "test_import"

static oa_context *context;
static struct oa_comparison comparison;

static void put_bytes(const char *name, const void *data, size_t length)
{
    char path[256];
    snprintf(path, sizeof path, FOLDER "/%s", name);
    for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

static void put_text(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

/* Reads one file of the folder, or with " " between several. */
static enum oa_error read_runs(const char *names, struct oa_import_request r)
{
    static char room[8][256];
    static const char *paths[8];
    char list[512];
    snprintf(list, sizeof list, "%s", names);
    r.count = 0;
    for (char *rest = NULL, *name = strtok_r(list, " ", &rest); name;
         name = strtok_r(NULL, " ", &rest)) {
        snprintf(room[r.count], sizeof room[0], FOLDER "/%.200s", name);
        paths[r.count] = room[r.count];
        r.count++;
    }
    r.paths = paths;
    oa_comparison_free(&comparison);
    oa_clear_error(context);
    return oa_import_runs(context, &r, &comparison);
}

static void reads(const char *names, struct oa_import_request r)
{
    const char *message = "";
    if (read_runs(names, r) != OA_OK) {
        oa_last_error(context, &message);
        fail_msg("%s: %s", names, message);
    }
}

static void refuses(const char *names, struct oa_import_request r, const char *part)
{
    const char *message = "";
    assert_int_not_equal(read_runs(names, r), OA_OK);
    oa_last_error(context, &message);
    if (!strstr(message, part))
        fail_msg("%s: \"%s\" is not in \"%s\"", names, part, message);
    oa_clear_error(context);
}

static const struct oa_import_request plain = { 0 };

static const struct oa_run *run_of(const char *system, uint64_t seed)
{
    for (int i = 0; i < comparison.count; i++)
        for (int s = 0;
             strcmp(comparison.entries[i].attention, system) == 0 && s < comparison.seeds; s++)
            if (comparison.entries[i].runs[s].seed == seed && !comparison.entries[i].runs[s].absent)
                return &comparison.entries[i].runs[s];
    fail_msg("no run of %s with the seed %d", system, (int)seed);
    return NULL;
}

static void has_value(const char *system, uint64_t seed, double value)
{
    double found = run_of(system, seed)->valid_loss;
    if (found != value)
        fail_msg("%s, seed %d: %.17g, not %.17g", system, (int)seed, found, value);
}

static void has_remark(const char *part)
{
    if (!comparison.remarks || !strstr(comparison.remarks, part))
        fail_msg("\"%s\" is not in \"%s\"", part, comparison.remarks ? comparison.remarks : "");
}

/* ---- tables ---- */

static void a_row_for_each_run(void **state)
{
    (void)state;
    put_text("long.csv",
             "\xef\xbb\xbfsystem,seed,val_loss\r\n\"a, \"\"b\"\"\",1,2.5\r\nc,1,2.25\r\n"
             "\"a, \"\"b\"\"\",2,2.75\r\n c , 2 , 1e-3 \r\n\r\n");
    reads("long.csv", plain);
    assert_int_equal(comparison.count, 2);
    assert_int_equal(comparison.seeds, 2);
    has_value("a, \"b\"", 1, 2.5);
    has_value("a, \"b\"", 2, 2.75);
    has_value("c", 1, 2.25);
    has_value("c", 2, 1e-3);
    assert_false(comparison.unpaired);
    assert_string_equal(comparison.measures[0].name, "val_loss");
    assert_false(comparison.measures[0].higher);
}

static void separators_and_endings(void **state)
{
    (void)state;
    put_text("t.TSV", "Model\tSeed\tAccuracy\na\t1\t0.5\nb\t1\t0.75");
    reads("t.TSV", plain);
    has_value("b", 1, 0.75);
    assert_true(comparison.measures[0].higher);
    put_text("semicolons.csv", "method;rep;bleu\na,b;1;30\nc;1;31\n");
    reads("semicolons.csv", plain);
    has_value("a,b", 1, 30);
    put_text("index.csv", ",system,seed,loss\n0,a,1,1.5\n1,b,1,2.5\n"); /* pandas */
    reads("index.csv", plain);
    has_value("a", 1, 1.5);
}

static void quoted_cells_may_have_line_ends(void **state)
{
    (void)state;
    put_text("lines.csv", "system,seed,loss\n\"a\nb\",1,1.5\nc,1,x\n");
    refuses("lines.csv", plain, "lines.csv:4: no column is left that has only numbers");
    refuses("lines.csv", (struct oa_import_request){ .metric = "loss" },
            "lines.csv:4: 'x' in the column loss is not a number");
    put_text("lines.csv", "system,seed,loss\n\"a\nb\",1,1.5\nc,1,2\n");
    reads("lines.csv", plain);
    has_value("a b", 1, 1.5);
}

static void a_column_for_each_system(void **state)
{
    (void)state;
    put_text("wide.csv", "adam,muon\n3.25,3.5\n3,\n2.75,4\n");
    refuses("wide.csv", plain, "--lower or --higher");
    reads("wide.csv", (struct oa_import_request){ .direction = OA_IMPORT_LOWER });
    assert_true(comparison.unpaired);
    assert_int_equal(comparison.seeds, 3);
    assert_int_equal(oa_runs_made(&comparison.entries[1], 3), 2);
    has_value("adam", 3, 2.75);
    has_value("muon", 2, 4);
    put_text("wide_seeds.csv", "seed,adam,muon\n7,3.25,3.5\n8,3,2\n");
    reads("wide_seeds.csv", (struct oa_import_request){ .metric = "val_bpb" });
    assert_false(comparison.unpaired);
    has_value("muon", 8, 2);
    put_text("metrics.csv", "seed,loss,accuracy\n1,2,3\n");
    refuses("metrics.csv", plain, "no column tells which system");
}

static void a_file_for_each_system(void **state)
{
    (void)state;
    put_text("adam.csv", "seed,loss\n1,2.5\n2,2.75\n");
    put_text("muon.csv", "seed,loss\n1,2\n2,2.25\n");
    reads("adam.csv muon.csv", plain);
    has_value("adam", 2, 2.75);
    has_value("muon", 1, 2);
    put_text("other.csv", "seed,error\n1,2\n2,2.25\n");
    refuses("adam.csv other.csv", plain, "different metrics, loss and error");
}

/* The form of the charts' export: a column for each run, and the range of each point. */
static void charts_of_wandb(void **state)
{
    (void)state;
    put_text(
        "wandb.csv",
        "\"Step\",\"adam-seed1 - val/loss\",\"adam-seed1 - val/loss__MIN\",\"adam-seed1 - "
        "val/loss__MAX\",\"adam-seed1 - _step\",\"adam-seed2 - val/loss\",\"muon-seed1 - "
        "val/loss\",\"muon-seed2 - val/loss\"\n\"0\",\"4\",\"4\",\"4\",\"0\",\"4.5\",\"5\",\"\"\n"
        "\"100\",\"3\",\"3\",\"3\",\"100\",\"3.5\",\"\",\"2.5\"\n");
    reads("wandb.csv", plain);
    assert_int_equal(comparison.count, 2);
    has_value("adam", 1, 3);
    has_value("adam", 2, 3.5);
    has_value("muon", 1, 5);
    has_value("muon", 2, 2.5);
    assert_int_equal(run_of("adam", 1)->points, 2);
    assert_int_equal(run_of("adam", 1)->curve[1].step, 100);
    has_remark("adam-seed1 is adam, seed 1.");
    has_remark(
        "The runs end at different steps, 0 to 100: remove those that did not finish, or give "
        "--at STEP. Shorter: muon, seed 1 (step 0).");
    assert_string_equal(comparison.measures[0].name, "val/loss");
}

static void json_lines_and_lists(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "{\"_step\": 0, \"run\": \"a-1\", \"val\": {\"acc\": 0.5}}\n{\"_step\": 1, \"run\": "
        "\"a-1\", "
        "\"train\": 3}\n\n{\"_step\": 2, \"run\": \"a-1\", \"val\": {\"acc\": 0.75, \"l\": "
        "[1]}}\r\n"
        "{\"_step\": 2, \"run\": \"b\\u002d1\", \"val\": {\"acc\": NaN}}\n",
        "[{\"_step\": 0, \"run\": \"a-1\", \"val\": {\"acc\": 0.5}}, {\"_step\": 1, \"run\": "
        "\"a-1\"},\n{\"_step\": 2, \"run\": \"a-1\", \"val\": {\"acc\": 0.75}},\n{\"_step\": 2, "
        "\"run\": \"b-1\", \"val\": {\"acc\": null}}, {\"_step\": 3, \"run\": \"b-1\", \"val\": "
        "{\"acc\": \"NaN\"}}]"
    };
    for (int i = 0; i < 2; i++) {
        put_text(i ? "list.json" : "lines.jsonl", forms[i]);
        reads(i ? "list.json" : "lines.jsonl", (struct oa_import_request){ .metric = "val.acc" });
        has_value("a", 1, 0.75);
        assert_true(run_of("b", 1)->failed);
        assert_int_equal(run_of("a", 1)->points, 2);
    }
    put_text("broken.jsonl", "{\"system\": \"a\", \"loss\": 1}\n{\"system\": \"b\", loss: 2}\n");
    refuses("broken.jsonl", plain, "broken.jsonl:2: not a JSON object");
}

/* ---- event files ---- */

static void scalars_of_tensorboard(void **state)
{
    (void)state;
    for (int s = 1; s <= 2; s++) {
        char name[64];
        snprintf(name, sizeof name, "events/a/seed-%d/events.out.tfevents.1.host", s);
        put_bytes(name, tensor_events, sizeof tensor_events);
        snprintf(name, sizeof name, "events/b/seed-%d/events.out.tfevents.1.host", s);
        put_bytes(name, scalar_events, sizeof scalar_events);
    }
    refuses("events", plain, "several scalars may be the metric: 'acc', 'lr'");
    reads("events", (struct oa_import_request){ .metric = "acc" });
    has_value("a", 1, 0.875);
    has_value("b", 2, 0.5);
    assert_int_equal(run_of("a", 2)->points, 2);
    assert_int_equal(run_of("a", 2)->curve[0].step, 5);
    assert_float_equal(run_of("a", 2)->curve[0].valid_loss, 0.625, 0);
    refuses("events", (struct oa_import_request){ .metric = "loss" }, "no scalar is called 'loss'");
    reads("events", (struct oa_import_request){ .metric = "acc", .at = "5" });
    has_value("a", 1, 0.625);
}

/* Lightning puts a folder version_N into that of a run. */
static void versions_are_no_seeds(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        char name[80];
        snprintf(name, sizeof name, "lightning/%s-seed%d/version_0/events.out.tfevents.1",
                 i < 2 ? "adam" : "sgd", 1 + i % 2);
        put_bytes(name, i ? scalar_events : tensor_events,
                  i ? sizeof scalar_events : sizeof tensor_events);
        snprintf(name, sizeof name, "versions/resnet-%d/version_%d/events.out.tfevents.1",
                 i < 2 ? 50 : 101, i % 2);
        put_bytes(name, tensor_events, sizeof tensor_events);
    }
    reads("lightning", (struct oa_import_request){ .metric = "acc" });
    has_value("adam", 1, 0.875);
    has_value("sgd", 2, 0.5);
    has_remark("Versions are left out of names: adam-seed1/version_0 is adam-seed1.");
    reads("versions", (struct oa_import_request){ .metric = "acc" });
    has_value("resnet-101", 1, 0.875);
    for (int i = 0; i < 2; i++) {
        char name[80];
        snprintf(name, sizeof name, "restarted/adam-seed1/version_%d/events.out.tfevents.1", i);
        put_bytes(name, tensor_events, sizeof tensor_events);
    }
    refuses("restarted", (struct oa_import_request){ .metric = "acc" },
            "adam-seed1 has several versions");
}

/* What follows a damaged record cannot be found; what is before it counts. */
static void damaged_events_end_a_run(void **state)
{
    (void)state;
    uint8_t bytes[sizeof tensor_events];
    memcpy(bytes, tensor_events, sizeof bytes);
    bytes[sizeof bytes - 6] ^= 1;
    put_bytes("damaged/a-1/events.out.tfevents.1", bytes, sizeof bytes);
    put_bytes("damaged/b-1/events.out.tfevents.1", tensor_events, sizeof tensor_events - 9);
    reads("damaged", (struct oa_import_request){ .metric = "acc" });
    has_value("a", 1, 0.625);
    has_value("b", 1, 0.625);
    has_remark("2 event files had damaged or unfinished records");
    put_text("empty/a-1/notes.txt", "no events");
    refuses("empty", plain, "no event files");
}

/* A record: its size, the event, and a checksum of each. */
static size_t put_record(const uint8_t *event, size_t size, uint8_t *out)
{
    uint8_t head[8] = { (uint8_t)size };
    uint32_t of_head = oa_masked_crc32c(head, 8), of_event = oa_masked_crc32c(event, size);
    memcpy(out, head, 8);
    memcpy(out + 12, event, size);
    for (int b = 0; b < 4; b++) {
        out[8 + b] = (uint8_t)(of_head >> 8 * b);
        out[12 + size + (size_t)b] = (uint8_t)(of_event >> 8 * b);
    }
    return size + 16;
}

/* Tensors of the scalar "acc" by hand: tensor_content of DT_INT32 and DT_INT64, int_val, which has
 * negative numbers in ten bytes, and double_val, packed. */
static void whole_numbers_in_tensors(void **state)
{
    static const struct {
        uint8_t size, tensor[16];
        double value;
    } cases[] = {
        { 8, { 0x08, 3, 0x22, 4, 0xf9, 0xff, 0xff, 0xff }, -7 },
        { 12, { 0x08, 9, 0x22, 8, 0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, -8 },
        { 13, { 0x08, 3, 0x38, 0xf7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 }, -9 },
        { 12, { 0x08, 2, 0x32, 8, 0, 0, 0, 0, 0, 0, 0x24, 0xc0 }, -10 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t n = cases[i].size, event[64], record[96], at = 0;
        const uint8_t front[] = {
            0x10, 4, 0x2a, (uint8_t)(n + 9), 0x0a, (uint8_t)(n + 7), 0x0a, 3, 'a', 'c', 'c', 0x42, n
        };
        memcpy(event, front, sizeof front);
        at = sizeof front;
        memcpy(event + at, cases[i].tensor, n);
        size_t size = put_record(event, (size_t)at + n, record);
        put_bytes("whole/a-1/events.out.tfevents.1", record, size);
        put_bytes("whole/b-1/events.out.tfevents.1", record, size);
        reads("whole", (struct oa_import_request){ .metric = "acc" });
        has_value("a", 1, cases[i].value);
        assert_int_equal(run_of("a", 1)->steps, 4);
    }
}

/* The event files that training writes (train/event_file.c). */
static void own_event_files(void **state)
{
    (void)state;
    for (int s = 1; s <= 4; s++) {
        char folder[128], name[128];
        snprintf(name, sizeof name, "own/%s/seed-%d/x", s > 2 ? "b" : "a", s % 2);
        snprintf(folder, sizeof folder, FOLDER "/own/%s/seed-%d", s > 2 ? "b" : "a", s % 2);
        put_text(name, "");
        for (long step = 0; step < 3; step++) {
            struct oa_log_line line = { .step = step,
                                        .loss = 2,
                                        .valid_loss = s + 0.25 * (double)step,
                                        .lr = 0.5,
                                        .gradient_norm = 1,
                                        .seconds = 1,
                                        .tokens = 10 };
            assert_int_equal(oa_events_add(context, folder, &line), OA_OK);
        }
    }
    reads("own", (struct oa_import_request){ .metric = "loss/valid" });
    has_value("a", 1, 1.5);
    has_value("b", 0, 4.5);
    assert_false(comparison.unpaired);
}

/* ---- runs, seeds, failures ---- */

static void values_that_are_missing_or_not_finite_are_failures(void **state)
{
    (void)state;
    put_text("failed.csv", "system,seed,loss\na,1,NaN\na,2,\na,3,-inf\na,4,2\nb,1,1\nb,2,1\nb,3,1\n"
                           "b,4,1\n");
    reads("failed.csv", plain);
    for (uint64_t s = 1; s <= 3; s++) {
        assert_true(run_of("a", s)->failed);
        assert_false(oa_run_finished(&comparison, run_of("a", s)));
    }
    assert_true(oa_run_finished(&comparison, run_of("a", 4)));
    assert_non_null(strstr(run_of("a", 2)->failure, "failed.csv:3"));
}

static void duplicates_are_refused_with_their_lines(void **state)
{
    (void)state;
    put_text("twice.csv", "system,seed,loss\na,1,1\nb,1,2\na,1,3\n");
    refuses("twice.csv", plain,
            "twice.csv:4: a second value of a, seed 1; the first is in " FOLDER "/twice.csv:2");
    put_text("steps.csv", "system,seed,step,loss\na,1,0,1\na,1,5,2\na,1,5,3\n");
    refuses("steps.csv", plain, "steps.csv:4: a second value of a, seed 1 at step 5");
    put_text("partly.csv", "system,seed,loss\na,1,1\nb,,2\n");
    refuses("partly.csv", plain, "partly.csv:3: the seed is missing");
}

static void the_value_that_counts(void **state)
{
    (void)state;
    put_text("at.csv", "system,seed,step,loss\na,1,10,2\na,1,0,5\na,1,20,3\nb,1,0,4\nb,1,10,1\n");
    reads("at.csv", plain);
    has_value("a", 1, 3);
    has_value("b", 1, 1);
    reads("at.csv", (struct oa_import_request){ .at = "best" });
    has_value("a", 1, 2);
    has_remark("which is optimistic");
    reads("at.csv", (struct oa_import_request){ .at = "10" });
    has_value("a", 1, 2);
    reads("at.csv", (struct oa_import_request){ .at = "20" });
    assert_true(run_of("b", 1)->failed);
    refuses("at.csv", (struct oa_import_request){ .at = "5" }, "no value at step 5");
    put_text("first.csv", "system,seed,step,loss\na,1,0,nan\na,1,10,2\na,1,20,3\nb,1,0,4\n");
    reads("first.csv", (struct oa_import_request){ .at = "best" });
    assert_false(run_of("a", 1)->failed); /* it has values after the first */
    has_value("a", 1, 2);
    put_text("no_steps.csv", "system,seed,loss\na,1,1\nb,1,2\n");
    refuses("no_steps.csv", (struct oa_import_request){ .at = "best" }, "without steps");
}

static void seeds_pair_where_systems_share_them(void **state)
{
    (void)state;
    put_text("some.csv", "system,seed,loss\na,3,1\na,5,2\na,9,2.5\nb,9,3\nb,5,4\n");
    reads("some.csv", plain);
    assert_false(comparison.unpaired);
    assert_int_equal(comparison.seeds, 3);
    assert_int_equal(comparison.entries[0].runs[0].seed, 5);
    assert_int_equal(comparison.entries[1].runs[1].seed, 9);
    assert_true(comparison.entries[1].runs[2].absent);
    has_value("b", 5, 4);
    put_text("none.csv", "system,seed,loss\na,1,1\na,2,2\na,3,2\nb,4,3\nb,5,4\nb,3,4\n");
    reads("none.csv", plain);
    assert_true(comparison.unpaired);
    has_value("b", 5, 4);
    has_remark("share too few seeds");
    reads("some.csv", (struct oa_import_request){ .unpaired = true });
    assert_true(comparison.unpaired);
    put_text("words.csv", "system,trial,loss\na,x,1\nb,x,2\na,y,1\nb,y,2\n");
    reads("words.csv", plain);
    assert_false(comparison.unpaired);
    has_value("b", 1, 2);
}

static void columns_that_are_ambiguous_are_listed(void **state)
{
    (void)state;
    put_text("many.csv", "name,group,seed,lr,loss\nx,a,1,0.1,1\ny,b,1,0.2,2\n");
    refuses("many.csv", plain, "several columns may be the system: 'name', 'group'");
    refuses("many.csv", (struct oa_import_request){ .system = "group" },
            "several columns may be the metric: 'lr', 'loss'");
    reads("many.csv", (struct oa_import_request){ .system = "Group", .metric = "loss" });
    has_value("b", 1, 2);
    refuses("many.csv", (struct oa_import_request){ .system = "nobody" },
            "no column is named 'nobody' (--system)");
}

static void names_of_runs(void **state)
{
    (void)state;
    static const struct {
        const char *name, *system, *seed; /* system NULL: none */
    } names[] = { { "adam-seed1", "adam", "1" },     { "adam/seed_12", "adam", "12" },
                  { "adam_3", "adam", "3" },         { "adam (run 3)", "adam", "3" },
                  { "lr=0.1-s2", "lr=0.1", "2" },    { "gpt2", NULL, NULL },
                  { "seed1", NULL, NULL },           { "lr=0.1", NULL, NULL },
                  { "adam seed=4", "adam", "4" },    { "classes2", NULL, NULL },
                  { "logs/version_7", "logs", "7" }, { "adam", NULL, NULL },
                  { "a-Seed-0005", "a", "0005" },    { "", NULL, NULL } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length, digits;
        const char *seed;
        bool split = oa_split_run_name(names[i].name, &length, &seed, &digits);
        if (split != (names[i].system != NULL))
            fail_msg("%s", names[i].name);
        if (!split)
            continue;
        assert_int_equal(length, strlen(names[i].system));
        assert_memory_equal(names[i].name, names[i].system, length);
        assert_int_equal(digits, strlen(names[i].seed));
        assert_memory_equal(seed, names[i].seed, digits);
    }
    put_text("half.csv", "Step,adam-1 - loss,muon - loss\n1,2,3\n");
    refuses("half.csv", plain, "'muon' does not end in a seed");
}

static void directions_by_name(void **state)
{
    (void)state;
    static const char *const lower[] = { "loss",    "val_loss", "valLoss",   "eval/perplexity",
                                         "val_bpb", "WER",      "test error" },
                             *const higher[] = { "accuracy", "val/acc", "BLEU", "f1",
                                                 "episode_return" },
                             *const unknown[] = { "value",    "top1_error",   "glossary",
                                                  "",         "accuracy_gap", "scoreVariance",
                                                  "bleu std", "loss_scale" };
    for (size_t i = 0; i < sizeof lower / sizeof *lower; i++)
        assert_int_equal(oa_metric_direction(lower[i]), -1);
    for (size_t i = 0; i < sizeof higher / sizeof *higher; i++)
        assert_int_equal(oa_metric_direction(higher[i]), 1);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_int_equal(oa_metric_direction(unknown[i]), 0);
}

static void what_is_no_table_is_refused(void **state)
{
    (void)state;
    put_text("empty.csv", "\n\n");
    refuses("empty.csv", plain, "is empty");
    put_text("header.csv", "system,seed,loss\n");
    refuses("header.csv", plain, "has no rows");
    put_text("cells.csv", "system,seed,loss\na,1\n");
    refuses("cells.csv", plain, "cells.csv:2: 2 cells, but the header has 3");
    put_text("open.csv", "system,seed,loss\na,1,1\n\"b,1,2\n");
    refuses("open.csv", plain, "open.csv:3: a quoted cell begins here");
    put_text("same.csv", "system,loss,loss\na,1,2\n");
    refuses("same.csv", plain, "two columns are named loss");
    put_bytes("zip.csv", "PK\3\4xxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 34);
    refuses("zip.csv", plain, "ZIP");
    put_bytes("wide16.csv", "\xff\xfes\0y\0", 6);
    refuses("wide16.csv", plain, "UTF-16");
    put_text("baseline.csv", "system,seed,loss\nadam,1,1\nmuon,1,2\n");
    refuses("baseline.csv", (struct oa_import_request){ .baseline = "Adam" },
            "did you mean 'adam'?");
    refuses("baseline.csv", (struct oa_import_request){ .unpaired = true, .sequential = true },
            "--sequential needs runs that are paired");
}

/* 10^5 rows, in an order that sorting has to mend. */
static void many_rows(void **state)
{
    (void)state;
    int rows = tries(100000);
    char *text = malloc((size_t)rows * 40 + 64), *at = text;
    at += sprintf(at, "system,seed,step,loss\n");
    for (int i = 0; i < rows; i++) {
        int k = (int)((long)i * 7919 % rows);
        at += sprintf(at, "s%d,%d,%d,%d.5\n", k % 4, k / 4 % 5, k / 20, k);
    }
    put_bytes("many_rows.csv", text, (size_t)(at - text));
    free(text);
    reads("many_rows.csv", plain);
    assert_int_equal(comparison.count, 4);
    assert_int_equal(comparison.seeds, 5);
    has_value("s3", 4, rows - 0.5);
    assert_int_equal(run_of("s3", 4)->points, rows / 20);
}

static int open_context(void **state)
{
    (void)state;
    mkdir(FOLDER, 0777);
    context = oa_open(NULL);
    return context ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    oa_comparison_free(&comparison);
    oa_close(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_for_each_run),
        cmocka_unit_test(separators_and_endings),
        cmocka_unit_test(quoted_cells_may_have_line_ends),
        cmocka_unit_test(a_column_for_each_system),
        cmocka_unit_test(a_file_for_each_system),
        cmocka_unit_test(charts_of_wandb),
        cmocka_unit_test(json_lines_and_lists),
        cmocka_unit_test(scalars_of_tensorboard),
        cmocka_unit_test(versions_are_no_seeds),
        cmocka_unit_test(damaged_events_end_a_run),
        cmocka_unit_test(whole_numbers_in_tensors),
        cmocka_unit_test(own_event_files),
        cmocka_unit_test(values_that_are_missing_or_not_finite_are_failures),
        cmocka_unit_test(duplicates_are_refused_with_their_lines),
        cmocka_unit_test(the_value_that_counts),
        cmocka_unit_test(seeds_pair_where_systems_share_them),
        cmocka_unit_test(columns_that_are_ambiguous_are_listed),
        cmocka_unit_test(names_of_runs),
        cmocka_unit_test(directions_by_name),
        cmocka_unit_test(what_is_no_table_is_refused),
        cmocka_unit_test(many_rows),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
