/* SPDX-License-Identifier: Apache-2.0
 * Ranks that are threads, and their messages copies in a list: the same sums, agreements and waits
 * as over MPI, which tests/mpi.sh looks at. */
#ifndef ORTHANT_THREAD_RANKS_H
#define ORTHANT_THREAD_RANKS_H

#include "cluster/cluster.h"
#include "testing.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 12, GATHER = -1, BROADCAST = -2 };

struct mail {
    struct mail *next;
    int from, to, tag;
    size_t bytes;
    char data[];
};

struct hub {
    pthread_mutex_t lock;
    struct mail *first;
};

struct oa_messages {
    struct oa_cluster *cluster;
    struct wanted {
        int from, tag;
        void *data;
        size_t bytes;
    } wanted[1024];
    int count;
    bool looked; /* before: by the first look nothing has come, however ranks are scheduled */
};

static struct oa_messages *mail_open(struct oa_cluster *cl)
{
    struct oa_messages *m = oa_alloc(cl->context, sizeof *m);
    m->cluster = cl;
    return m;
}

static void mail_close(struct oa_messages *m)
{
    oa_free(m);
}

static void mail_send(struct oa_messages *m, int to, int tag, const void *data, size_t bytes)
{
    struct hub *h = m->cluster->own;
    struct mail *mail = malloc(sizeof *mail + bytes), **last = &h->first;
    *mail = (struct mail){ NULL, m->cluster->rank, to, tag, bytes };
    memcpy(mail->data, data, bytes);
    pthread_mutex_lock(&h->lock);
    while (*last)
        last = &(*last)->next;
    *last = mail;
    pthread_mutex_unlock(&h->lock);
}

static void mail_receive(struct oa_messages *m, int from, int tag, void *data, size_t bytes)
{
    assert_true(m->count < 1024);
    m->wanted[m->count++] = (struct wanted){ from, tag, data, bytes };
}

static void mail_gather(struct oa_messages *m, const void *mine, size_t bytes, void *all)
{
    for (int r = 0; r < m->cluster->size; r++) {
        mail_send(m, r, GATHER, mine, bytes);
        mail_receive(m, r, GATHER, (char *)all + (size_t)r * bytes, bytes);
    }
}

static void mail_broadcast(struct oa_messages *m, void *data, size_t bytes)
{
    for (int r = 0; m->cluster->rank == 0 && r < m->cluster->size; r++)
        mail_send(m, r, BROADCAST, data, bytes);
    mail_receive(m, 0, BROADCAST, data, bytes);
}

static struct mail *mail_take(struct hub *h, int to, const struct wanted *w)
{
    pthread_mutex_lock(&h->lock);
    struct mail **at = &h->first, *found;
    while (*at && !((*at)->to == to && (*at)->from == w->from && (*at)->tag == w->tag))
        at = &(*at)->next;
    found = *at;
    if (found)
        *at = found->next;
    pthread_mutex_unlock(&h->lock);
    return found;
}

static bool mail_arrived(struct oa_messages *m)
{
    struct mail *mail;
    int taken = 0;
    if (!m->looked) {
        m->looked = true;
        return m->count == 0;
    }
    while (taken < m->count &&
           (mail = mail_take(m->cluster->own, m->cluster->rank, &m->wanted[taken]))) {
        assert_int_equal(mail->bytes, m->wanted[taken].bytes);
        memcpy(m->wanted[taken].data, mail->data, mail->bytes);
        free(mail);
        taken++;
    }
    m->count -= taken;
    memmove(m->wanted, m->wanted + taken, (size_t)m->count * sizeof *m->wanted);
    m->looked = m->count > 0;
    return m->count == 0;
}

static bool mail_missing(const struct oa_messages *m, int rank)
{
    for (int i = 0; i < m->count; i++)
        if (m->wanted[i].tag >= 0 && m->wanted[i].from == rank)
            return true;
    return false;
}

static bool mail_hear(struct oa_cluster *cl, int tag, int *from, void *data, size_t room,
                      size_t *bytes)
{
    struct mail *mail = NULL;
    for (*from = 0; !mail && *from < cl->size; ++*from)
        mail = mail_take(cl->own, cl->rank, &(struct wanted){ .from = *from, .tag = tag });
    if (!mail)
        return false;
    --*from;
    *bytes = mail->bytes;
    assert_true(mail->bytes <= room);
    memcpy(data, mail->data, mail->bytes);
    free(mail);
    return true;
}

/* As if the first rank had said nothing for five seconds. */
static double mail_silence(struct oa_cluster *cl, bool begins)
{
    (void)cl;
    return begins ? 0 : 5;
}

static const struct oa_cluster_ops thread_ranks = { .open = mail_open,
                                                    .close = mail_close,
                                                    .send = mail_send,
                                                    .receive = mail_receive,
                                                    .gather = mail_gather,
                                                    .broadcast = mail_broadcast,
                                                    .arrived = mail_arrived,
                                                    .missing = mail_missing,
                                                    .hear = mail_hear,
                                                    .silence = mail_silence };

struct rank {
    struct oa_cluster cluster;
    pthread_t thread;
    const void *task;
    double result;
    enum oa_error e;
    char sentence[512];
};

/* Runs `body` on each of `size` ranks, with a context of its own. */
static void on_ranks(int size, double timeout, void *(*body)(void *rank), const void *task,
                     struct rank ranks[MOST])
{
    struct hub hub = { .first = NULL };
    pthread_mutex_init(&hub.lock, NULL);
    for (int r = 0; r < size; r++) {
        struct oa_settings settings = { .threads = 1 };
        ranks[r] = (struct rank){ .task = task };
        ranks[r].cluster = (struct oa_cluster){ .context = oa_open(&settings),
                                                .rank = r,
                                                .size = size,
                                                .timeout = timeout,
                                                .ops = &thread_ranks,
                                                .own = &hub };
        snprintf(ranks[r].cluster.host, OA_HOST, "host%d", r);
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, body, &ranks[r]), 0);
    }
    for (int r = 0; r < size; r++) {
        const char *sentence;
        pthread_join(ranks[r].thread, NULL);
        oa_last_error(ranks[r].cluster.context, &sentence);
        snprintf(ranks[r].sentence, sizeof ranks[r].sentence, "%s", sentence);
        oa_cluster_free_late(&ranks[r].cluster);
        oa_free(ranks[r].cluster.word);
        oa_close(ranks[r].cluster.context);
    }
    for (struct mail *next, *m = hub.first; m; m = next) {
        next = m->next;
        free(m);
    }
    pthread_mutex_destroy(&hub.lock);
}

#endif
