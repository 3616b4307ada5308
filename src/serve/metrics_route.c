/* SPDX-License-Identifier: Apache-2.0
 * /metrics, in the text format of Prometheus. */
#include "serve/server.h"

static void add_prometheus(struct oa_text *t, const char *name, const char *type, const char *help,
                           double value)
{
    oa_text_printf(t, "# HELP orthant_%s %s\n# TYPE orthant_%s %s\northant_%s ", name, help, name,
                   type, name);
    oa_text_real(t, value);
    oa_text_printf(t, "\n");
}

static void add_durations(struct oa_text *t, const struct oa_serve_counts *k)
{
    static const char name[] = "orthant_completion_seconds";
    double limit = 0.01;
    oa_text_printf(t, "# HELP %s time from a complete request to its answer\n# TYPE %s histogram\n",
                   name, name);
    for (int i = 0; i < OA_SERVE_BUCKETS; i++, limit *= 2)
        oa_text_printf(t, "%s_bucket{le=\"%.2f\"} %.0f\n", name, limit, k->bucket[i]);
    oa_text_printf(t, "%s_bucket{le=\"+Inf\"} %.0f\n%s_sum %.6f\n%s_count %.0f\n", name,
                   k->requests, name, k->seconds, name, k->requests);
}

void oa_answer_metrics(struct oa_server *s, struct oa_exchange *x, json_t *request)
{
    struct oa_text t;
    struct oa_http_counts http = oa_http_count(s->http);
    const struct oa_serve_counts *k = &s->counts;
    int running, waiting;
    (void)request;
    oa_slots_load(&s->slots, &running, &waiting);
    oa_text_init(&t, s->context);
    add_prometheus(&t, "http_connections", "gauge", "connections that are open", (double)http.open);
    add_prometheus(&t, "http_connections_total", "counter", "connections accepted", http.accepted);
    add_prometheus(&t, "http_connections_cut_total", "counter",
                   "connections closed because the client was too slow or there were too many",
                   http.cut);
    add_prometheus(&t, "http_requests_total", "counter", "requests begun", http.requests);
    add_prometheus(&t, "http_requests_refused_total", "counter",
                   "requests refused by path, method, key, host or length", http.refused);
    add_prometheus(&t, "failures_total", "counter", "other requests answered with an error",
                   k->failures);
    add_prometheus(&t, "prompt_tokens_total", "counter",
                   "tokens of prompts, and of texts to score or to embed", k->prompt_tokens);
    add_prometheus(&t, "prompt_tokens_reused_total", "counter",
                   "tokens of prompts that were not read, as an earlier prompt began with them",
                   s->slots.prefixes.reused);
    add_prometheus(&t, "prefix_bytes", "gauge", "memory of stored beginnings of prompts",
                   (double)s->slots.prefixes.bytes);
    add_prometheus(&t, "completion_tokens_total", "counter", "tokens sampled",
                   k->completion_tokens);
    add_prometheus(&t, "sequences_running", "gauge", "sequences that have a slot", running);
    add_prometheus(&t, "sequences_waiting", "gauge", "sequences that wait for a slot", waiting);
    add_prometheus(&t, "decoding_steps_total", "counter", "passes over all sequences of a model",
                   s->slots.steps);
    add_prometheus(&t, "decoding_rows_total", "counter", "sequences of these passes, added up",
                   s->slots.rows);
    add_durations(&t, k);
    oa_exchange_answer(x, 200, "text/plain; version=0.0.4; charset=utf-8", t.s ? t.s : "",
                       t.length);
    oa_text_free(&t);
}
