/* SPDX-License-Identifier: Apache-2.0
 * MPI: the only file that uses it. Errors inside MPI end all ranks (its default); waits are ours,
 * since MPI's own have no timeout. A cluster and its part may be used from two threads: calls come
 * one after another. */
#include "cluster/cluster.h"
#include "cluster/deadline.h"

#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

struct mpi_state {
    MPI_Comm all, leaving; /* separate from other uses of MPI in the program */
    bool started;          /* MPI was, by us */
    int level;             /* of threads, that MPI gave */
    pthread_t answering;   /* of the first rank */
    bool answers;
    atomic_bool over;
    struct oa_wait silent; /* since the first rank was last known to live */
    bool asked;            /* whether it does, and there is no answer yet */
};

static pthread_mutex_t mpi_lock = PTHREAD_MUTEX_INITIALIZER;
/* Messages were given up while they were under way, and their memory is gone: MPI, which might
 * still write there, is not called again but to end. */
static bool dead;
#define MPI(call)                                                                                  \
    (pthread_mutex_lock(&mpi_lock), dead ? (void)0 : (void)(call),                                 \
     (void)pthread_mutex_unlock(&mpi_lock)) /* a function of MPI */

struct oa_messages {
    struct oa_cluster *cluster;
    MPI_Request *request;
    int *peer; /* -1: everybody */
    int count, capacity;
};

static const int most_bytes = 1 << 30; /* of a message: MPI counts in int */

static MPI_Comm mpi_comm(const struct oa_cluster *cl)
{
    return ((const struct mpi_state *)cl->own)->all;
}

/* ---- messages ---- */

static struct oa_messages *mpi_open(struct oa_cluster *cl)
{
    struct oa_messages *m = oa_alloc(cl->context, sizeof *m);
    if (m)
        m->cluster = cl;
    return m;
}

static void mpi_close(struct oa_messages *m)
{
    int done = 0;
    if (m->count)
        MPI(MPI_Testall(m->count, m->request, &done, MPI_STATUSES_IGNORE));
    if (m->count && !done) {
        pthread_mutex_lock(&mpi_lock);
        dead = true;
        pthread_mutex_unlock(&mpi_lock);
    }
    oa_free(m->request);
    oa_free(m->peer);
    oa_free(m);
}

/* Room for one more; NULL after a recorded failure: then the others time out on this rank. */
static MPI_Request *add_request(struct oa_messages *m, int peer)
{
    oa_context *c = m->cluster->context;
    if (m->count == m->capacity) {
        size_t old = (size_t)m->capacity, new = 2 * old + 16;
        MPI_Request *request = oa_grow(c, m->request, old * sizeof *request, new * sizeof *request);
        if (request)
            m->request = request;
        int *peers = request ? oa_grow(c, m->peer, old * sizeof *peers, new * sizeof *peers) : NULL;
        if (!peers)
            return NULL;
        m->peer = peers;
        m->capacity = (int)new;
    }
    m->peer[m->count] = peer;
    return &m->request[m->count++];
}

static void mpi_send(struct oa_messages *m, int to, int tag, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes; done += (size_t)most_bytes) {
        MPI_Request *r = add_request(m, to);
        int n = (int)oa_min((long)(bytes - done), most_bytes);
        if (r)
            MPI(MPI_Isend((const char *)data + done, n, MPI_BYTE, to, tag, mpi_comm(m->cluster),
                          r));
    }
}

static void mpi_receive(struct oa_messages *m, int from, int tag, void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes; done += (size_t)most_bytes) {
        MPI_Request *r = add_request(m, from);
        int n = (int)oa_min((long)(bytes - done), most_bytes);
        if (r)
            MPI(MPI_Irecv((char *)data + done, n, MPI_BYTE, from, tag, mpi_comm(m->cluster), r));
    }
}

static void mpi_gather(struct oa_messages *m, const void *mine, size_t bytes, void *all)
{
    MPI_Request *r = add_request(m, -1);
    if (r)
        MPI(MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                           mpi_comm(m->cluster), r));
}

static void mpi_broadcast(struct oa_messages *m, void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes; done += (size_t)most_bytes) {
        MPI_Request *r = add_request(m, -1);
        int n = (int)oa_min((long)(bytes - done), most_bytes);
        if (r)
            MPI(MPI_Ibcast((char *)data + done, n, MPI_BYTE, 0, mpi_comm(m->cluster), r));
    }
}

static bool mpi_arrived(struct oa_messages *m)
{
    int done = m->count == 0;
    if (m->count)
        MPI(MPI_Testall(m->count, m->request, &done, MPI_STATUSES_IGNORE));
    if (done)
        m->count = 0;
    return done != 0;
}

static bool mpi_missing(const struct oa_messages *m, int rank)
{
    for (int i = 0; i < m->count; i++) {
        int done = 1;
        if (m->peer[i] == rank)
            MPI(MPI_Request_get_status(m->request[i], &done, MPI_STATUS_IGNORE));
        if (!done)
            return true;
    }
    return false;
}

static bool mpi_hear(struct oa_cluster *cl, int tag, int *from, void *data, size_t room,
                     size_t *bytes)
{
    MPI_Status status;
    int there = 0, count = 0;
    MPI(MPI_Iprobe(MPI_ANY_SOURCE, tag, mpi_comm(cl), &there, &status));
    if (!there)
        return false;
    MPI_Get_count(&status, MPI_BYTE, &count);
    *from = status.MPI_SOURCE;
    *bytes = (size_t)count;
    MPI(MPI_Recv(data, (int)room, MPI_BYTE, status.MPI_SOURCE, tag, mpi_comm(cl),
                 MPI_STATUS_IGNORE));
    return true;
}

/* ---- groups ---- */

static struct oa_cluster *mpi_split(struct oa_cluster *cl, int size)
{
    const struct mpi_state *whole = cl->own;
    struct oa_cluster *part = oa_alloc(cl->context, sizeof *part);
    struct mpi_state *own = oa_alloc(cl->context, sizeof *own);
    if (whole->level < MPI_THREAD_SERIALIZED)
        oa_fail(cl->context, OA_UNSUPPORTED,
                "compare.ranks needs an MPI with thread level %d, but this one has level %d: leave "
                "compare.ranks out",
                MPI_THREAD_SERIALIZED, whole->level);
    if (oa_status(cl->context) != OA_OK)
        return NULL;
    struct oa_deadline d;
    oa_deadline_begin(&d, cl->timeout, "MPI_Comm_split");
    MPI_Comm_split(whole->all, cl->rank / size, cl->rank, &own->all);
    oa_deadline_end(&d);
    *part = *cl;
    part->own = own;
    part->rank = cl->rank % size;
    part->first = cl->rank - part->rank;
    part->size = size;
    part->waited = 0;
    part->word = NULL;
    return part;
}

/* ---- signs of life of the first rank ---- */

enum { TAG_QUESTION = 1, TAG_ANSWER = 2 };
static const double question_interval = 1; /* seconds from an answer to the next question */

static bool probe_life_tag(const struct mpi_state *own, int tag, int *from)
{
    MPI_Status status;
    int there = 0;
    if (!dead)
        MPI_Iprobe(MPI_ANY_SOURCE, tag, own->leaving, &there, &status);
    if (there)
        MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, tag, own->leaving, MPI_STATUS_IGNORE);
    *from = there ? status.MPI_SOURCE : -1;
    return there != 0;
}

static void send_life_tag(const struct mpi_state *own, int to, int tag)
{
    MPI_Request r;
    MPI_Isend(NULL, 0, MPI_BYTE, to, tag, own->leaving, &r);
    MPI_Request_free(&r);
}

/* A thread of the first rank: a process that was stopped, or whose host is gone, gives no answer.
 */
static void *answer_life_questions(void *argument)
{
    const struct timespec moment = { .tv_nsec = 50000000 };
    struct mpi_state *own = argument;
    while (!atomic_load(&own->over)) {
        int from;
        pthread_mutex_lock(&mpi_lock);
        while (probe_life_tag(own, TAG_QUESTION, &from))
            send_life_tag(own, from, TAG_ANSWER);
        pthread_mutex_unlock(&mpi_lock);
        nanosleep(&moment, NULL);
    }
    return NULL;
}

/* Without such a thread nobody can ask. */
static double mpi_silence(struct oa_cluster *cl, bool begins)
{
    struct mpi_state *own = cl->own;
    int from;
    if (begins || own->level < MPI_THREAD_SERIALIZED)
        oa_wait_begin(&own->silent);
    pthread_mutex_lock(&mpi_lock);
    if (probe_life_tag(own, TAG_ANSWER, &from)) {
        oa_wait_begin(&own->silent);
        own->asked = false;
    }
    double silence = oa_wait_poll(&own->silent);
    if (!dead && !own->asked && silence > question_interval && cl->rank > 0) {
        send_life_tag(own, 0, TAG_QUESTION);
        own->asked = true;
    }
    pthread_mutex_unlock(&mpi_lock);
    return silence;
}

/* ---- the end ---- */

/* Sleeps between polls, so that ranks that still work have the processor. */
static bool mpi_leave(struct oa_cluster *cl, int code, double seconds, int *codes)
{
    const struct timespec moment = { .tv_nsec = 2000000 };
    const struct mpi_state *own = cl->own;
    MPI_Request r;
    int done = 0;
    struct oa_wait w;
    oa_wait_begin(&w);
    mpi_silence(cl, true);
    MPI(MPI_Iallgather(&code, 1, MPI_INT, codes, 1, MPI_INT, own->leaving, &r));
    for (;;) {
        MPI(MPI_Test(&r, &done, MPI_STATUS_IGNORE));
        bool lives =
            seconds > 0 ? oa_wait_poll(&w) < seconds : mpi_silence(cl, false) < cl->timeout;
        if (done || !lives || dead)
            break;
        nanosleep(&moment, NULL);
    }
    return done != 0;
}

static void mpi_finish(struct oa_cluster *cl)
{
    struct mpi_state *own = cl->own, *part = cl->part ? cl->part->own : NULL;
    struct oa_deadline d;
    atomic_store(&own->over, true);
    if (own->answers)
        pthread_join(own->answering, NULL);
    oa_deadline_begin(&d, cl->timeout, "MPI_Finalize");
    if (part)
        MPI_Comm_free(&part->all);
    oa_free(part);
    MPI_Comm_free(&own->all);
    MPI_Comm_free(&own->leaving);
    if (own->started)
        MPI_Finalize();
    oa_deadline_end(&d);
    oa_free(own);
}

static void mpi_abandon(struct oa_cluster *cl, int code)
{
    MPI_Abort(((const struct mpi_state *)cl->own)->all, code);
}

/* ---- the beginning ---- */

static const struct oa_cluster_ops mpi_ops = { .open = mpi_open,
                                               .close = mpi_close,
                                               .send = mpi_send,
                                               .receive = mpi_receive,
                                               .gather = mpi_gather,
                                               .broadcast = mpi_broadcast,
                                               .arrived = mpi_arrived,
                                               .missing = mpi_missing,
                                               .hear = mpi_hear,
                                               .silence = mpi_silence,
                                               .leave = mpi_leave,
                                               .split = mpi_split,
                                               .finish = mpi_finish,
                                               .abandon = mpi_abandon };

void oa_cluster_engine(char out[OA_ENGINE])
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = 0; /* "Open MPI v4.1.4, package: …" */
    snprintf(out, OA_ENGINE, "%.60s", text);
}

static enum oa_error start_mpi(oa_context *c, struct mpi_state *own)
{
    int running, over;
    MPI_Initialized(&running);
    MPI_Finalized(&over);
    if (over)
        return oa_fail(c, OA_ARGUMENT,
                       "MPI has been finalized in this process: join once, before the first work");
    own->started = !running;
    if (!running)
        MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &own->level);
    else
        MPI_Query_thread(&own->level);
    MPI_Comm_dup(MPI_COMM_WORLD, &own->all);
    MPI_Comm_dup(MPI_COMM_WORLD, &own->leaving);
    return OA_OK;
}

enum oa_error oa_cluster_open(oa_context *c, double timeout, struct oa_cluster **out)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    struct oa_deadline d;
    int length;
    *out = NULL;
    if (oa_launched_ranks() == 1)
        return OA_OK;
    struct oa_cluster *cl = oa_alloc(c, sizeof *cl);
    struct mpi_state *own = oa_alloc(c, sizeof *own);
    if (!cl || !own)
        return OA_NO_MEMORY;
    *cl = (struct oa_cluster){ .context = c,
                               .timeout = timeout > 0 ? fmax(timeout, OA_LEAST_TIMEOUT) : 600,
                               .ops = &mpi_ops,
                               .own = own };
    oa_deadline_begin(&d, cl->timeout, "MPI_Init");
    enum oa_error e = start_mpi(c, own);
    oa_deadline_end(&d);
    OA_TRY(e);
    MPI_Comm_rank(own->all, &cl->rank);
    MPI_Comm_size(own->all, &cl->size);
    MPI_Get_processor_name(name, &length);
    snprintf(cl->host, sizeof cl->host, "%.*s", OA_HOST - 1, name);
    own->answers = cl->rank == 0 && own->level >= MPI_THREAD_SERIALIZED &&
                   oa_thread_start(&own->answering, answer_life_questions, own) == 0;
    *out = cl;
    if (cl->size == oa_launched_ranks())
        return OA_OK;
    return oa_fail(
        c, OA_UNSUPPORTED,
        "%ld ranks were started, but MPI joins %d of them: the mpirun or srun is not that "
        "of the MPI library of this program; srun may need --mpi=pmix",
        oa_launched_ranks(), cl->size);
}
