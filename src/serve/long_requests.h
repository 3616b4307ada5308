/* SPDX-License-Identifier: Apache-2.0
 * Private to src/serve: requests whose answer is one long computation, such as attention maps. A
 * job has a thread of its own, which takes turns with the loop: only one of them computes at a
 * time, so a job may use all that the loop may use. Its turn ends at the next oa_pause, between two
 * layers or maps, and in a step of the loop every running job has one turn. A job waits while its
 * path has its number of running jobs, of short and of long ones.
 *
 * Between its turns other requests use the same models: a job has a tape of its own, and none of
 * its results are in scratch memory of a model. */
#ifndef ORTHANT_SERVE_LONG_REQUESTS_H
#define ORTHANT_SERVE_LONG_REQUESTS_H

#include "serve/http_server.h"

#include <jansson.h>
#include <pthread.h>

struct oa_server;
struct oa_job;
typedef void oa_job_answer(struct oa_server *s, struct oa_exchange *x, json_t *request);

struct oa_jobs {
    struct oa_server *server;
    struct oa_job *first;   /* oldest first */
    struct oa_job *current; /* whose turn it is; NULL: that of the loop */
    pthread_mutex_t lock;
    pthread_cond_t turned;
};

void oa_jobs_open(struct oa_server *s, struct oa_jobs *out);
void oa_jobs_close(struct oa_jobs *k); /* when none are left */
void oa_jobs_add(struct oa_jobs *k, struct oa_exchange *x, json_t *request, oa_job_answer *answer);
bool oa_jobs_step(struct oa_jobs *k); /* false: there are none */

#endif
