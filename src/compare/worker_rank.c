/* SPDX-License-Identifier: Apache-2.0
 * A rank that trains the runs it is handed (dispatch.h). A run has a context of its own; its
 * progress callback checks for a stop and reports that the rank is alive. */
#include "compare/dispatch.h"
#include "compare/initial_runs.h"

#include "base/concurrent.h"

#include <signal.h>
#include <string.h>
#include <time.h>

static const double heartbeat_seconds = 0.5;

struct worker_rank {
    struct oa_cluster *cluster;
    oa_context *c;                /* of the runs */
    const struct oa_options *own; /* that this rank was given */
    struct oa_rank_command *command, *received;
    struct oa_workload workload, held_out;
    struct oa_options opened; /* that the workload was opened with */
    bool open;
    double reported; /* clock */
    double done;     /* share of the run */
    bool leaving;
    int stopped_by; /* the signal that stopped the comparison; 0: none did */
    bool stopped;   /* the first rank knows that this one was asked to stop while it had no run */
    bool
        early; /* *received is the next run: the group's first rank finished the last run earlier */
};

static bool leads_group(const struct worker_rank *s)
{
    return oa_rank_of(s->cluster->part) == 0;
}

static void report_status(struct worker_rank *s, struct oa_rank_status *status)
{
    if (!leads_group(s) && status->kind != OA_STATUS_STOPPED)
        return;
    status->done = s->done;
    snprintf(status->host, sizeof status->host, "%s", s->cluster->host);
    s->reported = oa_clock();
    oa_dispatch_send_status(s->cluster, status);
}

static void note_dismissed(struct worker_rank *s, const struct oa_rank_command *command)
{
    s->leaving = true;
    s->stopped_by = command->signal;
}

/* ---- while a run is trained ---- */

static void poll_commands(struct worker_rank *s)
{
    int signal = oa_stop_requested(s->cluster->context);
    while (!s->early && oa_dispatch_receive_command(s->cluster, s->received)) {
        s->early = s->received->kind == OA_COMMAND_TRAIN;
        if (s->received->kind == OA_COMMAND_LEAVE)
            note_dismissed(s, s->received);
        if (!s->early)
            oa_stop_ask(s->c, s->received->signal ? s->received->signal : SIGTERM);
    }
    if (signal)
        oa_stop_ask(s->c, signal);
    if (oa_clock() - s->reported >= heartbeat_seconds)
        report_status(s, &(struct oa_rank_status){ .kind = OA_STATUS_WORKING });
}

static void report_notice(void *argument, int level, const char *line)
{
    struct worker_rank *s = argument;
    struct oa_rank_status status = { .kind = OA_STATUS_NOTICE, .level = level };
    snprintf(status.line, sizeof status.line, "%s", line);
    if (level != 1)
        report_status(s, &status);
    poll_commands(s);
}

static void report_progress(void *argument, double done)
{
    struct worker_rank *s = argument;
    s->done = done;
    poll_commands(s);
}

/* ---- its texts ---- */

static bool same_option_text(oa_context *c, const char *key, const struct oa_options *a,
                             const struct oa_options *b)
{
    struct oa_option_pair value;
    oa_option_pair_open(c, a, b, key, &value);
    oa_option_pair_close(&value);
    return !value.differ;
}

/* Options that decide which data are read. train.init is none of them: all runs of a comparison
 * that it names have one tokenizer. */
static bool same_data(oa_context *c, const struct oa_options *a, const struct oa_options *b)
{
    const struct oa_option_row *row;
    bool same = same_option_text(c, "model.context", a, b) &&
                same_option_text(c, "model.source_context", a, b);
    for (int i = 0; same && (row = oa_option_at(i)); i++)
        same = strcmp(row->section, "data") != 0 || same_option_text(c, row->key, a, b);
    return same;
}

static void close_rank_workload(struct worker_rank *s)
{
    oa_workload_close(&s->held_out);
    oa_workload_close(&s->workload);
    s->open = false;
}

static enum oa_error open_rank_workload(struct worker_rank *s)
{
    const struct oa_rank_command *o = s->command;
    if (s->open && same_data(s->c, &s->opened, &o->options)) {
        oa_workload_close(&s->held_out);
        OA_TRY(oa_workload_start(s->c, &o->options, &s->workload));
    } else {
        close_rank_workload(s);
        OA_TRY(oa_workload_open(s->c, &o->options, &s->workload));
        s->opened = o->options;
        s->open = true;
    }
    return o->held_out > 0 ? s->workload.task->hold_out(&s->workload, o->held_out, &s->held_out)
                           : OA_OK;
}

static const struct oa_workload *rank_workload(const struct worker_rank *s)
{
    return s->command->held_out > 0 ? &s->held_out : &s->workload;
}

static enum oa_error check_same_texts(struct worker_rank *s)
{
    struct oa_origin here;
    const struct oa_origin *there = &s->command->origin;
    OA_TRY(oa_origin_of(s->c, rank_workload(s), &here));
    const struct oa_digest *const pairs[][2] = { { &here.training_text, &there->training_text },
                                                 { &here.validation_text, &there->validation_text },
                                                 { &here.tokenizer, &there->tokenizer },
                                                 { &here.start, &there->start } };
    static const char *const what[] = { "training text", "validation text", "tokenizer",
                                        "model of train.init" };
    for (size_t i = 0; i < sizeof what / sizeof *what; i++)
        if (strcmp(pairs[i][0]->hex, pairs[i][1]->hex) != 0)
            return oa_fail(s->c, OA_ARGUMENT,
                           "the %s has the SHA-256 %.12s… here and %.12s… on rank 0: copy the "
                           "same file to every host",
                           what[i], pairs[i][0]->hex, pairs[i][1]->hex);
    return OA_OK;
}

/* ---- a run ---- */

/* The paths of texts are this rank's own. */
static enum oa_error prepare_run(struct worker_rank *s)
{
    struct oa_options *o = &s->command->options;
    memcpy(o->data_train, s->own->data_train, sizeof o->data_train);
    memcpy(o->data_valid, s->own->data_valid, sizeof o->data_valid);
    memcpy(o->data_test, s->own->data_test, sizeof o->data_test);
    memcpy(o->data_tokenizer, s->own->data_tokenizer, sizeof o->data_tokenizer);
    if (leads_group(s) && !oa_file_exists(s->command->folder))
        return oa_fail(s->c, OA_IO,
                       "%s does not exist here: a comparison on several hosts needs a folder that "
                       "all of them see",
                       s->command->folder);
    OA_TRY(open_rank_workload(s));
    return check_same_texts(s);
}

static enum oa_error train_command(struct worker_rank *s)
{
    const struct oa_rank_command *o = s->command;
    struct oa_cluster *part = s->cluster->part;
    struct oa_run run = { 0 };
    struct oa_workplace place = { .threads = oa_thread_count(s->c) };
    enum oa_error e = prepare_run(s);
    if (part) { /* a group begins when all its ranks are ready and agree */
        part->context = s->c;
        e = oa_same_everywhere(part, &s->command->options, rank_workload(s), e);
    }
    OA_TRY(e);
    struct oa_run_spec spec = { .options = o->options,
                                .workload = rank_workload(s),
                                .title = o->title,
                                .group = part,
                                .trainable = o->trainable,
                                .frozen = o->frozen,
                                .itemised = o->itemised,
                                .number = o->number,
                                .count = o->count,
                                .on_progress = report_progress,
                                .progress_argument = s };
    snprintf(spec.folder, sizeof spec.folder, "%s", o->folder);
    e = leads_group(s) ? oa_run_spec_train(s->c, &spec, &place, &run)
                       : oa_run_spec_follow(s->c, &spec, &run);
    oa_run_free(&run);
    return e;
}

/* One rank of a group failed, and the others wait for it: it ends, and all with it. */
static bool failed_alone(struct worker_rank *s)
{
    const char *sentence;
    if (!s->cluster->part || oa_cluster_all_failed(s->cluster->part))
        return false;
    enum oa_error e = oa_last_error(s->c, &sentence);
    oa_fail(s->cluster->context, e, "%s", sentence);
    return true;
}

static void train_and_report(struct worker_rank *s)
{
    const char *message;
    struct oa_rank_status status = { .kind = OA_STATUS_ENDED };
    s->done = 0;
    oa_stop(s->c, 0);
    oa_stop_ask(s->c, 0);
    enum oa_error e = train_command(s);
    if (e != OA_OK && failed_alone(s)) {
        s->leaving = true;
        return;
    }
    if (e != OA_OK) {
        oa_last_error(s->c, &message);
        status.kind = OA_STATUS_FAILED;
        status.code = (int)e;
        status.signal = oa_stop_requested(s->c);
        snprintf(status.line, sizeof status.line, "%s", message);
        oa_clear_error(s->c);
    }
    report_status(s, &status);
}

/* Ranks without a run, and those that lead no group, are asked to stop as well. */
static void report_stop(struct worker_rank *s)
{
    struct oa_rank_status status = { .kind = OA_STATUS_STOPPED,
                                     .signal = oa_stop_requested(s->cluster->context) };
    if (!status.signal || s->stopped)
        return;
    snprintf(status.line, sizeof status.line,
             "stopped by signal %d; run the same command again to continue", status.signal);
    report_status(s, &status);
    s->stopped = true;
}

static void wait_for_command(struct worker_rank *s)
{
    const struct timespec moment = { .tv_nsec = 5000000 };
    if (s->early) {
        *s->command = *s->received;
        s->early = false;
        return;
    }
    for (bool begins = true; !s->leaving && !oa_dispatch_receive_command(s->cluster, s->command);
         begins = false) {
        s->leaving = oa_cluster_check_first(s->cluster, begins) != OA_OK;
        report_stop(s);
        nanosleep(&moment, NULL);
    }
}

/* When the first rank has opened its folder, all compare their options and texts. */
static enum oa_error check_same_work(struct worker_rank *s)
{
    struct oa_cluster *cl = s->cluster;
    OA_TRY(oa_cluster_agree(cl, s->c ? OA_OK : oa_status(cl->context)));
    s->opened = *s->own;
    enum oa_error e = OA_OK;
    if (oa_is_comparison_folder(s->opened.train_init))
        e = oa_initial_runs_first(s->c, &s->opened);
    s->open = e == OA_OK;
    if (e == OA_OK)
        e = oa_workload_open(s->c, &s->opened, &s->workload);
    return oa_same_everywhere(cl, s->own, &s->workload,
                              e == OA_OK ? e : oa_fail_as(cl->context, s->c));
}

enum oa_error oa_worker_rank_run(struct oa_cluster *cl, const struct oa_options *own)
{
    struct worker_rank s = { .cluster = cl, .own = own };
    s.command = oa_alloc(cl->context, 2 * sizeof *s.command);
    if (!s.command)
        return OA_NO_MEMORY;
    s.received = s.command + 1;
    s.c = oa_context_clone(cl->context, oa_thread_count(cl->context), report_notice, &s);
    s.leaving = check_same_work(&s) != OA_OK;
    while (!s.leaving) {
        s.command->kind = OA_COMMAND_STOP;
        wait_for_command(&s);
        if (s.command->kind == OA_COMMAND_LEAVE)
            note_dismissed(&s, s.command);
        if (s.command->kind == OA_COMMAND_TRAIN)
            train_and_report(&s);
    }
    close_rank_workload(&s);
    oa_close(s.c);
    oa_free(s.command);
    if (oa_status(cl->context) != OA_OK || !s.stopped_by)
        return oa_status(cl->context);
    oa_stop(cl->context, s.stopped_by);
    return OA_INTERRUPTED;
}
