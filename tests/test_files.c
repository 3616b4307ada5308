/* SPDX-License-Identifier: Apache-2.0
 * Files and safetensors: what is written comes back; what fails leaves the old file; what is
 * damaged is refused. */
#include "setups.h"

#include "base/base.h"
#include "base/concurrent.h"
#include "base/json_read.h"
#include "base/safetensors.h"
#include "device/gpu/program_cache.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static oa_context *context;

/* Every test runs in an empty folder of its own. */
static int enter_folder(void **state)
{
    *state = enter_own_folder();
    context = oa_open(&(struct oa_settings){ .threads = 1 });
    return *state && context ? 0 : -1;
}

static int leave_folder(void **state)
{
    oa_close(context);
    return leave_own_folder(*state);
}

static void expect_error(enum oa_error code, const char *part)
{
    expect_failure(context, code, part);
}

static void expect_content(const char *path, const char *content)
{
    char *data;
    size_t length;
    assert_int_equal(oa_file_read(context, path, &data, &length), OA_OK);
    assert_int_equal(length, strlen(content));
    assert_string_equal(data, content);
    oa_free(data);
}

static void put(const char *path, const void *data, size_t length)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, length, f), length);
    fclose(f);
}

/* ---- files
 * ---------------------------------------------------------------------------------------------------
 */

static void written_files_read_back_identical(void **state)
{
    (void)state;
    assert_int_equal(oa_file_write(context, "a", "first", 5), OA_OK);
    expect_content("a", "first");
    assert_int_equal(oa_file_write(context, "a", "", 0), OA_OK);
    expect_content("a", "");
    assert_int_equal(oa_file_append(context, "a", "one\n", 4), OA_OK);
    assert_int_equal(oa_file_append(context, "a", "two\n", 4), OA_OK);
    expect_content("a", "one\ntwo\n");
    assert_false(oa_file_exists("a.tmp"));
    assert_true(oa_file_exists("a"));
}

static void missing_files_are_named(void **state)
{
    (void)state;
    char *data;
    size_t length;
    assert_int_equal(oa_file_read(context, "none.txt", &data, &length), OA_IO);
    expect_error(OA_IO, "cannot read none.txt: No such file or directory; check");
    assert_int_equal(oa_file_read(context, ".", &data, &length), OA_IO);
    expect_error(OA_IO, "Is a directory");
    assert_int_equal(oa_file_write(context, "none/x", "1", 1), OA_IO);
    expect_error(OA_IO, "cannot write none/x: No such file");
    assert_int_equal(oa_file_append(context, "none/x", "1", 1), OA_IO);
    expect_error(OA_IO, "cannot write none/x");
}

static void gzip_is_unpacked(void **state)
{
    (void)state;
    char *text = malloc(300001), *data;
    size_t length;
    for (int i = 0; i < 300000; i++)
        text[i] = (char)('a' + i % 1000 * (i % 1000) % 23);
    text[300000] = 0;
    for (int part = 0; part < 2; part++) { /* two members, as `cat a.gz b.gz` gives */
        gzFile f = gzopen("t.gz", "ab");
        gzwrite(f, text + part * 150000, 150000);
        gzclose(f);
    }
    expect_content("t.gz", text);
    struct stat about;
    assert_int_equal(stat("t.gz", &about), 0);
    for (off_t cut = 1; cut < 200; cut += 20) {
        assert_int_equal(truncate("t.gz", about.st_size - cut), 0);
        assert_int_equal(oa_file_read(context, "t.gz", &data, &length), OA_FORMAT);
        expect_error(OA_FORMAT, "t.gz: gzip data damaged or truncated after");
    }
    free(text);
}

static void folders_are_made(void **state)
{
    (void)state;
    assert_int_equal(oa_directory_make(context, "x/y//z/"), OA_OK);
    assert_int_equal(oa_directory_make(context, "x/y/z"), OA_OK);
    assert_int_equal(oa_file_write(context, "x/y/z/f", "1", 1), OA_OK);
    assert_int_equal(oa_directory_make(context, "x/y/z/f"), OA_IO);
    expect_error(OA_IO, "cannot create the folder x/y/z/f: Not a directory");
    assert_int_equal(oa_directory_make(context, "x/y/z/f/g"), OA_IO);
    expect_error(OA_IO, "x/y/z/f: Not a directory");
    assert_int_equal(oa_directory_make(context, ""), OA_IO);
    expect_error(OA_IO, "cannot create the folder");
}

/* ---- writing that fails
 * -------------------------------------------------------------------------------------- */

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(oa_file_write(context, "/dev/full", "12345", 5), OA_IO);
    expect_error(
        OA_IO,
        "cannot write /dev/full: No space left on device after 0 bytes, with at least 5 left");
    assert_int_equal(oa_file_append(context, "/dev/full", "12345", 5), OA_IO);
    expect_error(OA_IO, "free some space");
}

/* A limit of the file size stands for a disk that fills up half way through. */
static void a_failed_write_leaves_the_old_file(void **state)
{
    (void)state;
    struct rlimit before, small = { 4096, RLIM_INFINITY };
    static char large[20000];
    assert_int_equal(oa_file_write(context, "a", "old", 3), OA_OK);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    enum oa_error e = oa_file_write(context, "a", large, sizeof large);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(e, OA_IO);
    expect_error(OA_IO,
                 "cannot write a: File too large after 4096 bytes, with at least 15904 left");
    expect_content("a", "old");
    assert_false(oa_file_exists("a.tmp"));
}

static void a_read_only_folder_is_reported(void **state)
{
    (void)state;
    assert_int_equal(oa_directory_make(context, "locked"), OA_OK);
    chmod("locked", 0500);
    if (access("locked", W_OK) == 0)
        skip(); /* root may write anywhere */
    assert_int_equal(oa_file_write(context, "locked/f", "1", 1), OA_IO);
    expect_error(OA_IO, "cannot write locked/f: Permission denied; change its permissions");
}

static void devices_are_not_replaced(void **state)
{
    (void)state;
    assert_int_equal(oa_file_write(context, "/dev/null", "1", 1), OA_OK);
    struct stat about;
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
}

/* ---- safetensors
 * --------------------------------------------------------------------------------------------- */

static float matrix[6] = { 1, -2, 3.5f, 4, 5, -6 };
static const uint16_t halves[3] = { 0x3f80, 0xc000, 0x4040 };
static const int64_t counts[2] = { -5, (int64_t)1 << 40 };
static const uint8_t bytes[3] = { 0, 128, 255 };
static const double fine[1] = { 0.1 };
static const int32_t ids[2] = { -7, 7 };

static const struct oa_array arrays[] = {
    { "bytes", OA_U8, 1, { 3 }, bytes, 3, NULL, NULL },
    { "w \"2\" ü", OA_F32, 2, { 2, 3 }, matrix, 24, NULL, NULL },
    { "halves", OA_BF16, 1, { 3 }, halves, 6, NULL, NULL },
    { "counts", OA_I64, 2, { 1, 2 }, counts, 16, NULL, NULL },
    { "scalar", OA_F64, 0, { 0 }, fine, 8, NULL, NULL },
    { "empty", OA_F32, 3, { 4, 0, 2 }, NULL, 0, NULL, NULL },
    { "ids", OA_I32, 1, { 2 }, ids, 8, NULL, NULL },
};
#define ARRAYS ((int)(sizeof arrays / sizeof arrays[0]))
static const char *const metadata[] = { "format", "pt", "note", "ünicode \"quoted\"", NULL };

static struct oa_tensors *write_and_open(void)
{
    struct oa_tensors *f;
    assert_int_equal(oa_tensors_write(context, "t.safetensors", arrays, ARRAYS, metadata), OA_OK);
    assert_int_equal(oa_tensors_open(context, "t.safetensors", &f), OA_OK);
    return f;
}

static void tensors_read_back_identical(void **state)
{
    (void)state;
    struct oa_tensors *f = write_and_open();
    assert_int_equal(oa_tensors_count(f), ARRAYS);
    for (int i = 0; i < ARRAYS; i++) {
        const struct oa_array *a = oa_tensors_find(f, arrays[i].name);
        assert_non_null(a);
        assert_int_equal(a->type, arrays[i].type);
        assert_int_equal(a->dims, arrays[i].dims);
        assert_memory_equal(a->dim, arrays[i].dim, (size_t)a->dims * sizeof a->dim[0]);
        assert_int_equal(a->bytes, arrays[i].bytes);
        if (a->bytes)
            assert_memory_equal(a->data, arrays[i].data, a->bytes);
        assert_int_equal((uintptr_t)a->data % oa_type_size(a->type), 0);
    }
    assert_null(oa_tensors_find(f, "absent"));
    assert_null(oa_tensors_at(f, ARRAYS));
    assert_string_equal(oa_tensors_at(f, 0)->name, "counts");
    assert_string_equal(oa_tensors_at(f, ARRAYS - 1)->name, "bytes");
    oa_tensors_close(f);
    oa_tensors_close(NULL);
}

/* Another program may cut a file while it is in use. */
static void open_tensors_survive_truncation_of_the_file(void **state)
{
    (void)state;
    struct oa_tensors *f = write_and_open();
    assert_int_equal(truncate("t.safetensors", 0), 0);
    for (int i = 0; i < ARRAYS; i++)
        if (arrays[i].bytes)
            assert_memory_equal(oa_tensors_find(f, arrays[i].name)->data, arrays[i].data,
                                arrays[i].bytes);
    oa_tensors_close(f);
}

/* What is long is not read to its end when a stop is asked for; what is short is. */
static void reading_ends_at_a_stop(void **state)
{
    (void)state;
    size_t long_enough = (size_t)40 << 20, length;
    char *text = malloc(long_enough), *read;
    json_t *root;
    assert_non_null(text);
    memset(text, ' ', long_enough);
    assert_int_equal(oa_file_write(context, "long", text, long_enough), OA_OK);
    assert_int_equal(oa_file_write(context, "short", "{}", 2), OA_OK);
    oa_stop(context, SIGTERM);
    assert_int_equal(oa_file_read(context, "long", &read, &length), OA_INTERRUPTED);
    expect_error(OA_INTERRUPTED, "stopped by signal 15 while reading long");
    assert_int_equal(oa_json_parse(context, "long", text, long_enough, NULL, &root),
                     OA_INTERRUPTED);
    expect_error(OA_INTERRUPTED, "stopped by signal 15 while reading long");
    assert_int_equal(oa_json_read(context, "short", NULL, &root), OA_OK);
    json_decref(root);
    oa_stop(context, 0);
    free(text);
}

/* What is wrong is said, and not what is there: a link may lead anywhere. */
static void errors_do_not_show_the_text_of_broken_json(void **state)
{
    (void)state;
    json_t *root;
    const char *why;
    assert_int_equal(oa_file_write(context, "j", "root:x:0:0", 10), OA_OK);
    assert_int_equal(oa_json_read(context, "j", "a remedy", &root), OA_FORMAT);
    oa_last_error(context, &why);
    assert_null(strstr(why, "root"));
    expect_error(OA_FORMAT, "j:1:4: not valid JSON");
    char deep[5000];
    memset(deep, '[', sizeof deep);
    assert_int_equal(oa_json_parse(context, "deep", deep, sizeof deep, NULL, &root), OA_FORMAT);
    expect_error(OA_FORMAT, "maximum parsing depth reached");
}

/* The header as the reference writer (safetensors 0.8 for Python) gives it for these tensors. */
static void headers_are_those_of_the_reference(void **state)
{
    (void)state;
    static const char expected[] =
        "{\"__metadata__\":{\"format\":\"pt\"},\"b.l\":{\"dtype\":\"I64\",\"shape\":[],\"data_"
        "offsets\":[0,8]},"
        "\"a.d\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[8,16]},"
        "\"a.w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[16,40]},"
        "\"u\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[40,43]}}";
    const struct oa_array given[] = {
        { "u", OA_U8, 1, { 3 }, bytes, 3, NULL, NULL },
        { "a.w", OA_F32, 2, { 3, 2 }, matrix, 24, NULL, NULL },
        { "a.d", OA_F64, 1, { 1 }, fine, 8, NULL, NULL },
        { "b.l", OA_I64, 0, { 0 }, counts, 8, NULL, NULL },
    };
    char *file;
    size_t length;
    assert_int_equal(
        oa_tensors_write(context, "t", given, 4, (const char *const[]){ "format", "pt", NULL }),
        OA_OK);
    assert_int_equal(oa_file_read(context, "t", &file, &length), OA_OK);
    assert_memory_equal(file + 8, expected, strlen(expected));
    assert_int_equal(length % 8, 43 % 8);
    assert_memory_equal(file + length - 3, bytes, 3);
    oa_free(file);
}

static void values_are_read_as_doubles(void **state)
{
    (void)state;
    struct oa_tensors *f = write_and_open();
    assert_true(oa_array_value(oa_tensors_find(f, "bytes"), 2) == 255);
    assert_true(oa_array_value(oa_tensors_find(f, "halves"), 1) == -2);
    assert_true(oa_array_value(oa_tensors_find(f, "counts"), 1) == 1099511627776.0);
    assert_true(oa_array_value(oa_tensors_find(f, "scalar"), 0) == 0.1);
    assert_true(oa_array_value(oa_tensors_find(f, "ids"), 0) == -7);
    assert_true(oa_array_value(oa_tensors_find(f, "w \"2\" ü"), 5) == -6);
    oa_tensors_close(f);
}

static void metadata_reads_back_identical(void **state)
{
    (void)state;
    struct oa_tensors *f = write_and_open();
    assert_string_equal(oa_tensors_metadata(f, "format"), "pt");
    assert_null(oa_tensors_metadata(f, "absent"));
    assert_string_equal(oa_tensors_metadata(f, "note"), "ünicode \"quoted\"");
    oa_tensors_close(f);
    assert_int_equal(oa_tensors_write(context, "none.safetensors", NULL, 0, NULL), OA_OK);
    assert_int_equal(oa_tensors_open(context, "none.safetensors", &f), OA_OK);
    assert_int_equal(oa_tensors_count(f), 0);
    assert_null(oa_tensors_metadata(f, "format"));
    oa_tensors_close(f);
}

static void wrong_tensors_are_not_written(void **state)
{
    (void)state;
    struct oa_array two[2] = { { "a", OA_F32, 1, { 3 }, matrix, 12, NULL, NULL },
                               { "a", OA_F32, 1, { 2 }, matrix, 8, NULL, NULL } };
    assert_int_equal(oa_tensors_write(context, "t", two, 2, NULL), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "t: two tensors have the name a");
    two[1].name = "b";
    two[1].dim[0] = 5;
    assert_int_equal(oa_tensors_write(context, "t", two, 2, NULL), OA_SHAPE);
    expect_error(OA_SHAPE, "tensor b has 8 bytes, but its type and shape need 20");
    two[1] = (struct oa_array){ "bad\xff", OA_F32, 1, { 2 }, matrix, 8, NULL, NULL };
    assert_int_equal(oa_tensors_write(context, "t", two, 2, NULL), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "not UTF-8");
    assert_false(oa_file_exists("t") || oa_file_exists("t.tmp"));
}

/* Opens a file that is the given header and `data` zero bytes. */
static enum oa_error open_header(const char *json, size_t data)
{
    char file[1024] = { 0 };
    uint64_t n = strlen(json);
    assert_true(8 + n + data <= sizeof file);
    memcpy(file, &n, 8);
    memcpy(file + 8, json, n);
    put("t", file, 8 + n + data);
    struct oa_tensors *f = NULL;
    enum oa_error e = oa_tensors_open(context, "t", &f);
    oa_tensors_close(f);
    return e;
}

#define TENSOR(name, shape, begin, end)                                                            \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

static void broken_headers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        size_t data;
        enum oa_error code;
        const char *part;
    } cases[] = {
        { "{" TENSOR("a", "[2]", 0, 8) "}", 8, OA_OK, "" },
        { "{" TENSOR("b", "[1]", 4, 8) "," TENSOR("a", "[1]", 0, 4) "}  ", 8, OA_OK, "" },
        { "{" TENSOR("a", "[2]", 0, 8) "}", 7, OA_FORMAT,
          "t: tensor a has data_offsets 0 to 8 of 7 bytes of data" },
        { "{" TENSOR("a", "[2]", 0, 8) "}", 9, OA_FORMAT,
          "t: the tensors end at byte 8 of 9 bytes of data" },
        { "{" TENSOR("a", "[2]", 4, 12) "}", 12, OA_FORMAT,
          "a begins at byte 4, with a gap after byte 0" },
        { "{" TENSOR("a", "[2]", 0, 8) "," TENSOR("b", "[2]", 4, 12) "}", 12, OA_FORMAT,
          "inside the one that ends at byte 8" },
        { "{" TENSOR("a", "[1]", 0, 4) "," TENSOR("a", "[1]", 4, 8) "}", 8, OA_FORMAT,
          "duplicate" },
        { "{" TENSOR("a", "[3]", 0, 8) "}", 8, OA_FORMAT,
          "a has 8 bytes, but its type and shape need 12" },
        { "{" TENSOR("a", "[-2]", 0, 8) "}", 8, OA_FORMAT, "dimension 0 of tensor a" },
        { "{" TENSOR("a", "[2.0]", 0, 8) "}", 8, OA_FORMAT, "dimension 0 of tensor a" },
        { "{" TENSOR("a", "[4611686018427387904,4]", 0, 0) "}", 0, OA_FORMAT, "overflows" },
        { "{" TENSOR("a", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4, OA_UNSUPPORTED, "9 dimensions" },
        { "{" TENSOR("a", "[2]", -8, 0) "}", 8, OA_FORMAT, "data_offsets -8 to 0" },
        { "{" TENSOR("a", "[2]", 8, 0) "}", 8, OA_FORMAT, "data_offsets 8 to 0" },
        { "{\"a\":{\"dtype\":\"F8\",\"shape\":[4],\"data_offsets\":[0,8]}}", 8, OA_UNSUPPORTED,
          "tensor a has the unsupported type F8" },
        { "{\"a\":{\"shape\":[4],\"data_offsets\":[0,8]}}", 8, OA_FORMAT, "tensor a has no dtype" },
        { "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, OA_FORMAT,
          "tensor a has no shape" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", 8, OA_FORMAT,
          "lacks data_offsets" },
        { "{\"a\":3}", 0, OA_FORMAT, "the entry of tensor a is not a JSON object" },
        { "{\"__metadata__\":{\"a\":1}}", 0, OA_FORMAT, "metadata \"a\" is not a string" },
        { "{\"__metadata__\":[]}", 0, OA_FORMAT, "__metadata__ is not a JSON object" },
        { " {}", 0, OA_FORMAT, "must begin with '{'" },
        { "", 5, OA_FORMAT, "must begin with '{'" },
        { "{} x", 0, OA_FORMAT, "not valid JSON" },
        { "{\"a\xff\":1}", 0, OA_FORMAT, "not valid JSON" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(open_header(cases[i].json, cases[i].data), cases[i].code);
        expect_error(cases[i].code, cases[i].part);
    }
}

/* Opens what may be damaged; what opens must be safe to read to the last element. */
static enum oa_error open_and_touch(const char *path)
{
    struct oa_tensors *f;
    double sum = 0;
    enum oa_error e = oa_tensors_open(context, path, &f);
    if (e != OA_OK) {
        const char *sentence;
        assert_int_equal(oa_last_error(context, &sentence), e);
        assert_non_null(strstr(sentence, path));
        oa_clear_error(context);
        return e;
    }
    for (int i = 0; i < oa_tensors_count(f); i++) {
        const struct oa_array *a = oa_tensors_at(f, i);
        for (size_t j = 0; j < a->bytes / oa_type_size(a->type); j++)
            sum += oa_array_value(a, j);
    }
    oa_tensors_close(f);
    return sum == 12345.678 ? OA_INTERNAL : OA_OK; /* so that the reading is not optimised away */
}

static void truncated_files_are_refused(void **state)
{
    (void)state;
    char *file;
    size_t length;
    oa_tensors_close(write_and_open());
    assert_int_equal(oa_file_read(context, "t.safetensors", &file, &length), OA_OK);
    for (size_t cut = 0; cut < length; cut++) {
        put("cut", file, cut);
        assert_int_not_equal(open_and_touch("cut"), OA_OK);
    }
    oa_free(file);
}

static void altered_headers_never_crash(void **state)
{
    (void)state;
    char *file;
    size_t length;
    uint64_t header;
    oa_tensors_close(write_and_open());
    assert_int_equal(oa_file_read(context, "t.safetensors", &file, &length), OA_OK);
    memcpy(&header, file, 8);
    static const unsigned char flips[] = { 0x01, 0x02, 0x10, 0x80, 0xff };
    for (size_t at = 0; at < 8 + header; at++) {
        for (int k = 0; k < 5; k++) {
            file[at] = (char)(file[at] ^ flips[k]);
            put("altered", file, length);
            open_and_touch("altered");
            file[at] = (char)(file[at] ^ flips[k]);
        }
    }
    oa_free(file);
}

/* A pipe cannot be mapped; it is read instead. */
static void pipes_are_read(void **state)
{
    (void)state;
    oa_tensors_close(write_and_open());
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(system("cat t.safetensors > pipe &"), 0);
    struct oa_tensors *f;
    assert_int_equal(oa_tensors_open(context, "pipe", &f), OA_OK);
    assert_true(oa_array_value(oa_tensors_find(f, "ids"), 1) == 7);
    oa_tensors_close(f);
    assert_int_equal(oa_tensors_open(context, "absent", &f), OA_IO);
    expect_error(OA_IO, "cannot read absent");
}

/* The examples of FIPS 180-4 ("abc", and nothing), which `sha256sum` prints too. */
static void digests_are_sha256(void **state)
{
    (void)state;
    assert_string_equal(oa_digest_of("abc", 3).hex,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_string_equal(oa_digest_of("", 0).hex,
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    struct oa_array parts[] = { { .data = "a", .bytes = 1 }, { .data = "bc", .bytes = 2 } };
    assert_string_equal(oa_digest_of_arrays(parts, 2).hex, oa_digest_of("abc", 3).hex);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

static void expect_program(const char *name, const char *key, const char *code)
{
    char *found = oa_program_cached(context, name, key);
    if (!code && !found)
        return;
    assert_non_null(found);
    assert_non_null(code);
    assert_memory_equal(found, code, strlen(code));
    oa_free(found);
}

/* Of the GPU device: for the card, the compiler and the text that they were made of, and whole. */
static void programs_are_read_for_what_they_were_made_of(void **state)
{
    static const char code[] = "some machine code";
    char folder[1024], keys[5][OA_PROGRAM_KEY];
    (void)state;
    setenv("XDG_CACHE_HOME", getcwd(folder, sizeof folder), 1);
    oa_program_key(keys[0], "sm_90", 12, "text");
    oa_program_key(keys[1], "sm_80", 12, "text");
    oa_program_key(keys[2], "sm_90", 13, "text");
    oa_program_key(keys[3], "sm_90", 12, "texts");
    oa_program_key(keys[4], "sm_90", 12, "text");
    assert_string_equal(keys[4], keys[0]);
    expect_program("loss", keys[0], NULL);
    oa_program_cache(context, "loss", keys[0], code, strlen(code));
    expect_program("loss", keys[4], code);
    expect_program("norm", keys[0], NULL);
    for (int i = 1; i < 4; i++)
        expect_program("loss", keys[i], NULL);
    shell("truncate -s -1 orthant/loss-*.cubin");
    expect_program("loss", keys[0], NULL);
    oa_program_cache(context, "loss", keys[0], code, strlen(code));
    expect_program("loss", keys[0], code);
    shell("sed -i s/machine/masking/ orthant/loss-*.cubin");
    expect_program("loss", keys[0], NULL);
    shell("[ $(ls orthant | wc -l) -eq 1 ]"); /* no temporary file is left */
    unsetenv("XDG_CACHE_HOME");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_sha256),
        IN_FOLDER(written_files_read_back_identical),
        IN_FOLDER(missing_files_are_named),
        IN_FOLDER(gzip_is_unpacked),
        IN_FOLDER(folders_are_made),
        IN_FOLDER(a_full_disk_is_reported),
        IN_FOLDER(a_failed_write_leaves_the_old_file),
        IN_FOLDER(a_read_only_folder_is_reported),
        IN_FOLDER(devices_are_not_replaced),
        IN_FOLDER(tensors_read_back_identical),
        IN_FOLDER(open_tensors_survive_truncation_of_the_file),
        IN_FOLDER(reading_ends_at_a_stop),
        IN_FOLDER(errors_do_not_show_the_text_of_broken_json),
        IN_FOLDER(headers_are_those_of_the_reference),
        IN_FOLDER(values_are_read_as_doubles),
        IN_FOLDER(metadata_reads_back_identical),
        IN_FOLDER(wrong_tensors_are_not_written),
        IN_FOLDER(broken_headers_are_refused),
        IN_FOLDER(truncated_files_are_refused),
        IN_FOLDER(altered_headers_never_crash),
        IN_FOLDER(pipes_are_read),
        IN_FOLDER(programs_are_read_for_what_they_were_made_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
