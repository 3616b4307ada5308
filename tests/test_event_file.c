/* SPDX-License-Identifier: Apache-2.0
 * Event files: the bytes that TensorBoard's own writer makes of the same numbers, and going on
 * without steps twice. */
#include "testing.h"

#include "base/crc32c.h"
#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "test_event_file"
#define FILE_NAME FOLDER "/events.out.tfevents.orthant"

/* RecordWriter of tensorboard 2.21.0 on Event(wall_time=1234567890.5, step=300, summary=…) with the
 * scalars below. */
static const uint8_t reference[] = {
    0x7a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x13, 0x89, 0x86, 0x78, 0x09, 0x00, 0x00, 0xa0,
    0xb4, 0x80, 0x65, 0xd2, 0x41, 0x10, 0xac, 0x02, 0x2a, 0x6c, 0x0a, 0x11, 0x0a, 0x0a, 0x6c, 0x6f,
    0x73, 0x73, 0x2f, 0x74, 0x72, 0x61, 0x69, 0x6e, 0x15, 0x00, 0x00, 0x20, 0x40, 0x0a, 0x11, 0x0a,
    0x0a, 0x6c, 0x6f, 0x73, 0x73, 0x2f, 0x76, 0x61, 0x6c, 0x69, 0x64, 0x15, 0x9a, 0x99, 0xd9, 0x3f,
    0x0a, 0x14, 0x0a, 0x0d, 0x6c, 0x65, 0x61, 0x72, 0x6e, 0x69, 0x6e, 0x67, 0x5f, 0x72, 0x61, 0x74,
    0x65, 0x15, 0x6f, 0x12, 0x83, 0x3a, 0x0a, 0x14, 0x0a, 0x0d, 0x67, 0x72, 0x61, 0x64, 0x69, 0x65,
    0x6e, 0x74, 0x5f, 0x6e, 0x6f, 0x72, 0x6d, 0x15, 0x00, 0x00, 0x80, 0x3e, 0x0a, 0x18, 0x0a, 0x11,
    0x74, 0x6f, 0x6b, 0x65, 0x6e, 0x73, 0x5f, 0x70, 0x65, 0x72, 0x5f, 0x73, 0x65, 0x63, 0x6f, 0x6e,
    0x64, 0x15, 0x00, 0x80, 0x3b, 0x46, 0x07, 0xe9, 0xa4, 0x94
};

static void test_checksum(void **state)
{
    (void)state;
    static const uint8_t zeros[32] = { 0 };
    assert_int_equal(oa_crc32c("123456789", 9), 0xe3069283);
    assert_int_equal(oa_crc32c(zeros, 32), 0x8a9136aa); /* RFC 3720, B.4 */
}

static void test_bytes_of_tensorboard(void **state)
{
    (void)state;
    uint8_t record[OA_EVENT];
    struct oa_log_line line = { .step = 300,
                                .loss = 2.5,
                                .valid_loss = 1.7,
                                .lr = 0.001,
                                .gradient_norm = 0.25,
                                .seconds = 0.5,
                                .tokens = 6000 };
    assert_int_equal(oa_event_print(1234567890.5, &line, record), sizeof reference);
    assert_memory_equal(record, reference, sizeof reference);
}

static size_t file_size(void)
{
    FILE *f = fopen(FILE_NAME, "rb");
    if (!f)
        return 0;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    fclose(f);
    return (size_t)size;
}

/* Size of the file after each step, and after it was cut back to each. A tail that is damaged goes
 * as well. */
static void test_going_on(void **state)
{
    (void)state;
    enum { STEPS = 5 };
    size_t size[STEPS + 1];
    oa_context *c = oa_open(NULL);
    assert_int_equal(system("rm -rf " FOLDER), 0);
    assert_int_equal(oa_directory_make(c, FOLDER), OA_OK);
    assert_int_equal(oa_events_rewind(c, FOLDER, 3), OA_OK); /* there is none */
    for (long i = 1; i <= STEPS; i++) {
        struct oa_log_line line = {
            .step = 100 * i, .loss = 1, .valid_loss = (double)NAN, .seconds = 1, .tokens = 9
        };
        assert_int_equal(oa_events_add(c, FOLDER, &line), OA_OK);
        size[i] = file_size();
        assert_true(i == 1 || size[i] > size[i - 1]);
    }
    assert_int_equal(oa_file_append(c, FILE_NAME, reference, 50), OA_OK);
    assert_int_equal(oa_events_rewind(c, FOLDER, 1000), OA_OK);
    assert_int_equal(file_size(), size[5]);
    assert_int_equal(oa_events_rewind(c, FOLDER, 399), OA_OK);
    assert_int_equal(file_size(), size[3]);
    assert_int_equal(oa_events_rewind(c, FOLDER, 200), OA_OK);
    assert_int_equal(file_size(), size[2]);
    FILE *f = fopen(FILE_NAME, "r+b");
    fseek(f, (long)size[1] + 20, SEEK_SET);
    fputc(0xff, f);
    fclose(f);
    assert_int_equal(oa_events_rewind(c, FOLDER, 1000), OA_OK);
    assert_int_equal(file_size(), size[1]);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checksum),
        cmocka_unit_test(test_bytes_of_tensorboard),
        cmocka_unit_test(test_going_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
