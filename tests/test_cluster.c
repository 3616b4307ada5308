/* SPDX-License-Identifier: Apache-2.0
 * What ranks agree on, how long they wait, and who says what failed. */
#include "thread_ranks.h"

/* ---- agreements and waits ---- */

static void *silent_body(void *argument)
{
    struct rank *r = argument;
    int all[MOST];
    r->e = r->cluster.rank == 1
               ? OA_OK
               : oa_cluster_gather(&r->cluster, "an answer", &r->cluster.rank, sizeof(int), all);
    return NULL;
}

/* A process that was stopped for an hour has not waited for an hour. */
static void test_what_counts_of_a_wait(void **state)
{
    (void)state;
    struct oa_wait w;
    oa_wait_begin(&w);
    assert_true(oa_wait_poll(&w) < 1);
    w.polled -= 0.25;
    double before = w.seconds, after = oa_wait_poll(&w);
    assert_true(after >= before + 0.25 && after < before + 1);
    w.polled -= 3600;
    assert_true(oa_wait_poll(&w) == after + 1);
    oa_wait_begin(&w);
    assert_true(oa_wait_poll(&w) < 1);
}

static void test_a_wait_has_an_end(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    double began = oa_clock();
    on_ranks(3, 0.2, silent_body, NULL, ranks);
    assert_true(oa_clock() - began < 5);
    assert_int_equal(ranks[1].e, OA_OK);
    assert_int_equal(ranks[2].e, OA_IO);
    assert_non_null(strstr(ranks[2].sentence,
                           "rank 2 on host2 timed out after 0 s waiting for an answer from rank "));
    assert_true(ranks[0].cluster.waited >= 0.2);
}

/* A group that begins with rank 4. */
static void *group_body(void *argument)
{
    struct rank *r = argument;
    r->cluster.first = 4;
    return silent_body(argument);
}

static void test_ranks_of_a_group_have_their_own_numbers(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    on_ranks(2, 0.2, group_body, NULL, ranks);
    assert_int_equal(ranks[0].e, OA_IO);
    assert_non_null(
        strstr(ranks[0].sentence,
               "rank 4 on host0 timed out after 0 s waiting for an answer from rank 5:"));
}

/* The last of three is late for a gathering, until the others have told that they wait. To the next
 * one the second does not come. */
static void *late_body(void *argument)
{
    struct rank *r = argument;
    struct oa_cluster *cl = &r->cluster;
    int all[MOST], from, heard = 0;
    bool waits;
    size_t bytes;
    while (cl->rank == 2 && heard < 2)
        heard += cl->ops->hear(cl, 32766, &from, &waits, sizeof waits, &bytes);
    r->e = oa_cluster_gather(cl, "an answer", &cl->rank, sizeof(int), all);
    if (r->e == OA_OK && cl->rank != 1)
        r->e = oa_cluster_gather(cl, "another answer", &cl->rank, sizeof(int), all);
    return NULL;
}

static void test_who_stands_still_is_named(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    on_ranks(3, 1.5, late_body, NULL, ranks);
    assert_int_equal(ranks[1].e, OA_OK);
    for (int r = 0; r < 3; r += 2)
        if (ranks[r].e != OA_IO || !strstr(ranks[r].sentence, "for another answer from rank 1:"))
            fail_msg("rank %d: %s", r, ranks[r].sentence);
}

/* Each waits for a message of the one before it, and so all for the first, which hangs. */
static void *chain_body(void *argument)
{
    struct rank *r = argument;
    struct oa_cluster *cl = &r->cluster;
    struct oa_messages *m = cl->ops->open(cl);
    int word;
    if (cl->rank > 0) {
        cl->ops->receive(m, cl->rank - 1, 5, &word, sizeof word);
        r->e = oa_messages_wait(cl, m, "a word");
    }
    cl->ops->close(m);
    return NULL;
}

static void test_who_is_waited_for_through_others_is_named(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    on_ranks(4, 1.5, chain_body, NULL, ranks);
    for (int r = 1; r < 4; r++)
        if (ranks[r].e != OA_IO || !strstr(ranks[r].sentence, "for a word from rank 0:"))
            fail_msg("rank %d: %s", r, ranks[r].sentence);
}

/* task: for each rank what it says; NULL: nothing failed. */
static void *agree_body(void *argument)
{
    struct rank *r = argument;
    const char *const *says = r->task, *mine = says[r->cluster.rank];
    r->e = oa_cluster_agree(&r->cluster,
                            mine ? oa_fail(r->cluster.context, OA_FORMAT, "%s", mine) : OA_OK);
    return NULL;
}

static void check_agreement(const char *const says[3], enum oa_error e, const char *sentence)
{
    struct rank ranks[MOST];
    on_ranks(3, 60, agree_body, says, ranks);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(ranks[r].e, e);
        assert_string_equal(ranks[r].sentence, sentence);
    }
}

static void test_all_know_of_a_failure(void **state)
{
    (void)state;
    check_agreement((const char *const[]){ NULL, NULL, NULL }, OA_OK, "");
    check_agreement((const char *const[]){ NULL, "no", "never" }, OA_FORMAT, "rank 1 on host1: no");
    check_agreement((const char *const[]){ "no", "no", "no" }, OA_FORMAT, "no");
    check_agreement((const char *const[]){ "no", NULL, "no" }, OA_FORMAT, "rank 0 on host0: no");
    check_agreement((const char *const[]){ "no", "never", "no" }, OA_FORMAT, "rank 0 on host0: no");
    check_agreement((const char *const[]){ NULL, "rank 1 on host1 waited", NULL }, OA_FORMAT,
                    "rank 1 on host1 waited");
    check_agreement((const char *const[]){ NULL, "rank 1 on host", NULL }, OA_FORMAT,
                    "rank 1 on host1: rank 1 on host");
}

static void *first_body(void *argument)
{
    struct rank *r = argument;
    r->e = oa_cluster_check_first(&r->cluster, true);
    if (r->e == OA_OK)
        r->e = oa_cluster_check_first(&r->cluster, false);
    return NULL;
}

static void test_the_first_rank_may_be_gone(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    on_ranks(2, 6, first_body, NULL, ranks);
    assert_int_equal(ranks[1].e, OA_OK);
    on_ranks(2, 4, first_body, NULL, ranks);
    assert_int_equal(ranks[1].e, OA_IO);
    assert_non_null(strstr(ranks[1].sentence, "no sign of life from rank 0 for 5 s"));
}

/* task: for each rank what it failed with; NULL: it works on. */
static void *failed_body(void *argument)
{
    struct rank *r = argument;
    const char *const *says = r->task, *mine = says[r->cluster.rank];
    if (!mine)
        return NULL;
    r->e = oa_fail(r->cluster.context, OA_FORMAT, "%s", mine);
    r->result = oa_cluster_all_failed(&r->cluster);
    return NULL;
}

static void test_who_fails_alone_knows_it(void **state)
{
    (void)state;
    struct rank ranks[MOST];
    for (int all = 0; all < 2; all++) {
        on_ranks(3, 0.3, failed_body, (const char *const[]){ "a", all ? "b" : NULL, "c" }, ranks);
        assert_true(ranks[0].result == all && ranks[2].result == all);
        assert_string_equal(ranks[0].sentence, "a");
        assert_string_equal(ranks[2].sentence, "c");
    }
}

static void test_alone_there_is_nothing_to_do(void **state)
{
    (void)state;
    int mine = 5, all = 0;
    assert_int_equal(oa_rank_of(NULL), 0);
    assert_int_equal(oa_rank_count(NULL), 1);
    assert_int_equal(oa_cluster_gather(NULL, "", &mine, sizeof mine, &all), OA_OK);
    assert_int_equal(all, 5);
    assert_int_equal(oa_cluster_broadcast(NULL, "", &mine, sizeof mine), OA_OK);
    assert_int_equal(oa_cluster_agree(NULL, OA_FORMAT), OA_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_counts_of_a_wait),
        cmocka_unit_test(test_a_wait_has_an_end),
        cmocka_unit_test(test_ranks_of_a_group_have_their_own_numbers),
        cmocka_unit_test(test_who_stands_still_is_named),
        cmocka_unit_test(test_who_is_waited_for_through_others_is_named),
        cmocka_unit_test(test_all_know_of_a_failure),
        cmocka_unit_test(test_the_first_rank_may_be_gone),
        cmocka_unit_test(test_who_fails_alone_knows_it),
        cmocka_unit_test(test_alone_there_is_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
