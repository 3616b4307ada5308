/* SPDX-License-Identifier: Apache-2.0
 * A rank that carries out orders. The run has a context of its own, whose progress is the moment to
 * look for a stop and to give a sign of life. */
#include "compare/farm.h"
#include "compare/parents.h"

#include "base/concurrent.h"

#include <signal.h>
#include <string.h>
#include <time.h>

static const double between = 0.5; /* seconds between two signs of life */

struct server {
    struct oa_cluster *cluster;
    oa_context *c;                /* of the runs */
    const struct oa_options *own; /* that this rank was given */
    struct oa_farm_order *order, *heard;
    struct oa_workload workload, held;
    struct oa_options opened; /* that the workload was opened with */
    bool open;
    double told;  /* clock */
    double share; /* of the run that is done */
    bool leaving;
    int stopped_by; /* the signal that stopped the comparison; 0: none did */
    bool stopped;   /* the first rank knows that this one was asked to stop while it had no run */
    bool early;     /* *heard is the next order: the first of the group was done with the run before
                       this rank was */
};

/* The first of its group, or alone. */
static bool leads(const struct server *s)
{
    return oa_rank_of(s->cluster->part) == 0;
}

static void tell(struct server *s, struct oa_farm_news *news)
{
    if (!leads(s) && news->what != OA_FARM_STOPPED)
        return;
    news->share = s->share;
    snprintf(news->host, sizeof news->host, "%s", s->cluster->host);
    s->told = oa_clock();
    oa_farm_tell(s->cluster, news);
}

static void leave(struct server *s, const struct oa_farm_order *order)
{
    s->leaving = true;
    s->stopped_by = order->signal;
}

/* ---- while a run is trained ---- */

static void look(struct server *s)
{
    oa_context *own = s->cluster->context;
    while (!s->early && oa_farm_hear_order(s->cluster, s->heard)) {
        s->early = s->heard->what == OA_FARM_TRAIN;
        if (s->heard->what == OA_FARM_LEAVE)
            leave(s, s->heard);
        if (!s->early)
            oa_stop_ask(s->c, s->heard->signal ? s->heard->signal : SIGTERM);
    }
    if (oa_stop_requested(own))
        oa_stop_ask(s->c, oa_stop_requested(own));
    if (oa_clock() - s->told >= between)
        tell(s, &(struct oa_farm_news){ .what = OA_FARM_WORKING });
}

static void say(void *argument, int level, const char *line)
{
    struct server *s = argument;
    struct oa_farm_news news = { .what = OA_FARM_NOTICE, .level = level };
    snprintf(news.line, sizeof news.line, "%s", line);
    if (level != 1)
        tell(s, &news);
    look(s);
}

static void note_share(void *argument, double done)
{
    struct server *s = argument;
    s->share = done;
    look(s);
}

/* ---- its texts ---- */

static bool same_option(oa_context *c, const char *key, const struct oa_options *a,
                        const struct oa_options *b)
{
    struct oa_text x, y;
    oa_text_init(&x, c);
    oa_text_init(&y, c);
    oa_options_get(c, a, key, &x);
    oa_options_get(c, b, key, &y);
    bool same = strcmp(x.s ? x.s : "", y.s ? y.s : "") == 0;
    oa_text_free(&x);
    oa_text_free(&y);
    return same;
}

/* Everything that decides what is read, and more; not the run that train.init names, of which all
 * in a comparison have the same tokenizer. */
static bool same_data(oa_context *c, const struct oa_options *a, const struct oa_options *b)
{
    const struct oa_option_row *row;
    bool same =
        same_option(c, "model.context", a, b) && same_option(c, "model.source_context", a, b);
    for (int i = 0; same && (row = oa_option_at(i)); i++) {
        char key[64];
        snprintf(key, sizeof key, "%s.%s", row->section, row->name);
        same = strcmp(row->section, "data") != 0 || same_option(c, key, a, b);
    }
    return same;
}

static void close_workload(struct server *s)
{
    oa_workload_close(&s->held);
    oa_workload_close(&s->workload);
    s->open = false;
}

static enum oa_error open_workload(struct server *s)
{
    const struct oa_farm_order *o = s->order;
    if (s->open && same_data(s->c, &s->opened, &o->options)) {
        oa_workload_close(&s->held);
        OA_TRY(oa_workload_start(s->c, &o->options, &s->workload));
    } else {
        close_workload(s);
        OA_TRY(oa_workload_open(s->c, &o->options, &s->workload));
        s->opened = o->options;
        s->open = true;
    }
    return o->held > 0 ? s->workload.task->hold_out(&s->workload, o->held, &s->held) : OA_OK;
}

static const struct oa_workload *workload_of(const struct server *s)
{
    return s->order->held > 0 ? &s->held : &s->workload;
}

static enum oa_error check_texts(struct server *s)
{
    struct oa_origin here;
    const struct oa_origin *there = &s->order->origin;
    OA_TRY(oa_origin_of(s->c, workload_of(s), &here));
    const struct oa_digest *const pairs[][2] = { { &here.training_text, &there->training_text },
                                                 { &here.validation_text, &there->validation_text },
                                                 { &here.tokenizer, &there->tokenizer },
                                                 { &here.start, &there->start } };
    static const char *const what[] = { "training text", "validation text", "tokenizer",
                                        "model of train.init" };
    for (size_t i = 0; i < sizeof what / sizeof *what; i++)
        if (strcmp(pairs[i][0]->hex, pairs[i][1]->hex) != 0)
            return oa_fail(s->c, OA_ARGUMENT,
                           "the %s has the SHA-256 %.12s… here, and on rank 0 it has %.12s…; copy "
                           "the same file to every "
                           "host",
                           what[i], pairs[i][0]->hex, pairs[i][1]->hex);
    return OA_OK;
}

/* ---- an order ---- */

static enum oa_error check_folder(struct server *s)
{
    if (!leads(s) || oa_file_exists(s->order->folder))
        return OA_OK;
    return oa_fail(
        s->c, OA_IO,
        "%s is not there: a comparison on several hosts needs a folder that all of them see",
        s->order->folder);
}

/* A text may lie elsewhere on each host. */
static void take_own_paths(struct server *s)
{
    struct oa_options *o = &s->order->options;
    memcpy(o->data_train, s->own->data_train, sizeof o->data_train);
    memcpy(o->data_valid, s->own->data_valid, sizeof o->data_valid);
    memcpy(o->data_test, s->own->data_test, sizeof o->data_test);
    memcpy(o->data_tokenizer, s->own->data_tokenizer, sizeof o->data_tokenizer);
}

static enum oa_error prepare(struct server *s)
{
    take_own_paths(s);
    OA_TRY(check_folder(s));
    OA_TRY(open_workload(s));
    return check_texts(s);
}

/* Nobody of a group begins before all are ready and alike. */
static enum oa_error prepare_together(struct server *s)
{
    struct oa_cluster *part = s->cluster->part;
    enum oa_error e = prepare(s);
    if (!part)
        return e;
    part->context = s->c;
    return oa_same_everywhere(part, &s->order->options, workload_of(s), e);
}

static enum oa_error train(struct server *s)
{
    const struct oa_farm_order *o = s->order;
    struct oa_run run = { 0 };
    struct oa_workplace place = { .threads = oa_thread_count(s->c) };
    OA_TRY(prepare_together(s));
    struct oa_run_order order = { .options = o->options,
                                  .workload = workload_of(s),
                                  .title = o->title,
                                  .group = s->cluster->part,
                                  .trainable = o->trainable,
                                  .frozen = o->frozen,
                                  .number = o->number,
                                  .count = o->count,
                                  .share = note_share,
                                  .share_argument = s };
    snprintf(order.folder, sizeof order.folder, "%s", o->folder);
    enum oa_error e = leads(s) ? oa_run_order_train(s->c, &order, &place, &run)
                               : oa_run_order_help(s->c, &order, &run);
    oa_run_free(&run);
    return e;
}

/* One rank of a group failed, and the others wait for it: it ends, and all with it. */
static bool failed_alone(struct server *s)
{
    const char *sentence;
    if (!s->cluster->part || oa_cluster_all_failed(s->cluster->part))
        return false;
    enum oa_error e = oa_last_error(s->c, &sentence);
    oa_fail(s->cluster->context, e, "%s", sentence);
    return true;
}

static void carry_out(struct server *s)
{
    const char *sentence;
    struct oa_farm_news news = { .what = OA_FARM_ENDED };
    s->share = 0;
    oa_stop(s->c, 0);
    oa_stop_ask(s->c, 0);
    enum oa_error e = train(s);
    if (e != OA_OK && failed_alone(s)) {
        s->leaving = true;
        return;
    }
    if (e != OA_OK) {
        oa_last_error(s->c, &sentence);
        news.what = OA_FARM_FAILED;
        news.code = (int)e;
        news.signal = oa_stop_requested(s->c);
        snprintf(news.line, sizeof news.line, "%s", sentence);
        oa_clear_error(s->c);
    }
    tell(s, &news);
}

/* Whoever has no run, or is no first of a group, is asked as well. */
static void tell_of_a_stop(struct server *s)
{
    struct oa_farm_news news = { .what = OA_FARM_STOPPED,
                                 .signal = oa_stop_requested(s->cluster->context) };
    if (!news.signal || s->stopped)
        return;
    snprintf(news.line, sizeof news.line,
             "stopped by signal %d; the same command goes on from here", news.signal);
    tell(s, &news);
    s->stopped = true;
}

static void wait_for_order(struct server *s)
{
    if (s->early) {
        *s->order = *s->heard;
        s->early = false;
        return;
    }
    const struct timespec moment = { .tv_nsec = 5000000 };
    for (bool begins = true; !s->leaving && !oa_farm_hear_order(s->cluster, s->order);
         begins = false) {
        s->leaving = oa_cluster_check_first(s->cluster, begins) != OA_OK;
        tell_of_a_stop(s);
        nanosleep(&moment, NULL);
    }
}

/* Where a comparison is started from, all its runs have the tokenizer of the first one there. */
static enum oa_error open_own(struct server *s)
{
    s->opened = *s->own;
    if (oa_parents_comparison(s->opened.train_init))
        OA_TRY(oa_parents_first(s->c, &s->opened));
    s->open = true;
    return oa_workload_open(s->c, &s->opened, &s->workload);
}

/* The first rank has its folder, and then all compare what they were given. */
static enum oa_error begin(struct server *s)
{
    struct oa_cluster *cl = s->cluster;
    OA_TRY(oa_cluster_agree(cl, s->c ? OA_OK : oa_status(cl->context)));
    enum oa_error e = open_own(s);
    return oa_same_everywhere(cl, s->own, &s->workload,
                              e == OA_OK ? e : oa_fail_as(cl->context, s->c));
}

static void serve(struct server *s)
{
    while (!s->leaving) {
        s->order->what = OA_FARM_STOP;
        wait_for_order(s);
        if (s->order->what == OA_FARM_LEAVE)
            leave(s, s->order);
        if (s->order->what == OA_FARM_TRAIN)
            carry_out(s);
    }
}

enum oa_error oa_farm_serve(struct oa_cluster *cl, const struct oa_options *own)
{
    struct server s = { .cluster = cl, .own = own };
    s.order = oa_alloc(cl->context, 2 * sizeof *s.order);
    if (!s.order)
        return OA_NO_MEMORY;
    s.heard = s.order + 1;
    s.c = oa_context_clone(cl->context, oa_thread_count(cl->context), say, &s);
    if (begin(&s) == OA_OK)
        serve(&s);
    close_workload(&s);
    oa_close(s.c);
    oa_free(s.order);
    if (oa_status(cl->context) != OA_OK || !s.stopped_by)
        return oa_status(cl->context);
    oa_stop(cl->context, s.stopped_by);
    return OA_INTERRUPTED;
}
