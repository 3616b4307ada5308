/* SPDX-License-Identifier: Apache-2.0
 * Numbers as text against Python's repr (less ".0") and decimal.Decimal:
 * tests/decimal/make_vectors.py made the vectors. */
#include "base/base.h"
#include "print/print.h"
#include "testing.h"

#include <locale.h>

/* The two columns of each line. */
static long each_line(const char *name, void (*check)(const char *, const char *))
{
    char path[512], line[256];
    snprintf(path, sizeof path, SOURCE_DIR "/tests/decimal/%s", name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    long lines = 0;
    for (; fgets(line, sizeof line, f); lines++) {
        char *tab = strchr(line, '\t');
        assert_non_null(tab);
        *tab = 0;
        tab[strcspn(tab + 1, "\n") + 1] = 0;
        check(line, tab + 1);
    }
    fclose(f);
    return lines;
}

static void check_real(const char *hexadecimal, const char *right)
{
    assert_string_equal(oa_real_text(strtod(hexadecimal, NULL)).s, right);
}

static void reals_print_like_python(void **state)
{
    (void)state;
    assert_int_equal(each_line("reals.tsv", check_real), 434);
    (void)setlocale(LC_ALL, "de_DE.UTF-8"); /* where it exists, its decimal comma must not matter */
    assert_string_equal(oa_real_text(0.25).s, "0.25");
    (void)setlocale(LC_ALL, "C");
}

static void check_label(const char *label, const char *right)
{
    struct oa_number_text whole;
    bool is = oa_whole_number(label, strlen(label), &whole);
    if (is != (*right != 0) || (is && strcmp(whole.s, right) != 0))
        fail_msg("\"%s\": %s, right is \"%s\"", label, is ? whole.s : "no whole number", right);
}

static void integers_print_like_python(void **state)
{
    (void)state;
    assert_int_equal(each_line("labels.tsv", check_label), 346);
    struct oa_number_text whole;
    assert_false(oa_whole_number("1e25", 4, &whole));
    assert_false(oa_whole_number("1e99999999999999999999", 22, &whole));
    assert_true(oa_whole_number("10junk", 2, &whole));
    assert_string_equal(whole.s, "10");
}

static void rounded_numbers_use_plain_notation(void **state)
{
    (void)state;
    assert_string_equal(oa_real_rounded(1234567, 3).s, "1230000");
    assert_string_equal(oa_real_rounded(0.00099996, 3).s, "0.001");
    assert_string_equal(oa_real_rounded(99.96, 3).s, "100");
    assert_string_equal(oa_real_rounded(-2.5e-9, 3).s, "-2.5e-09");
    char cell[OA_NUMBER];
    assert_string_equal(oa_number_fixed(cell, 1234567890.5, 2), "1234567890");
    assert_string_equal(oa_number_fixed(cell, 1.25e-12, 13), "0.0000000000012");
    assert_string_equal(oa_number_fixed(cell, 1.234e-12, 14), "1.23e-12");
    assert_string_equal(oa_number_fixed(cell, -1.234e-12, 14), "-1.23e-12");
    assert_string_equal(oa_number_fixed(cell, 4e-15, 14), "0");
    assert_string_equal(oa_number_fixed(cell, -999999999, 1), "-999999999.0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reals_print_like_python),
        cmocka_unit_test(integers_print_like_python),
        cmocka_unit_test(rounded_numbers_use_plain_notation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
