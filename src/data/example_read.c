/* SPDX-License-Identifier: Apache-2.0
 * A list of files → rows. The suffix of a name determines table, JSON or pictures; other files are
 * dialogues or pairs of parallel files where the answer is a text, and else tables with tabs. */
#include "data/example_parts.h"

#include <string.h>

static const struct {
    const char *end;
    oa_rows_reader *read;
} forms[] = {
    { ".tsv", oa_read_tsv },      { ".csv", oa_read_csv },    { ".jsonl", oa_read_jsonl },
    { ".ndjson", oa_read_jsonl }, { ".json", oa_read_jsonl }, { ".bin", oa_read_pictures },
};

oa_rows_reader *oa_rows_reader_of(const char *file)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (oa_name_ends(file, forms[i].end))
            return forms[i].read;
    return NULL;
}

bool oa_holds_pictures(const char *files)
{
    return oa_rows_reader_of(files) == oa_read_pictures;
}

static enum oa_error refuse_single(const struct oa_rows *rows, const char *file)
{
    return oa_fail(rows->context, OA_ARGUMENT,
                   "%s lacks its parallel file: give source,target, e.g. train.de,train.en; tables "
                   "are *.tsv, *.csv or *.jsonl",
                   file);
}

static enum oa_error read_file_list(struct oa_rows *rows, char *list, const char *columns)
{
    for (char *name, *partner; list;) {
        list = oa_cut_name(list, &name);
        oa_rows_reader *read = oa_rows_reader_of(name);
        if (!*name)
            return oa_fail(rows->context, OA_ARGUMENT,
                           "the list of %s files has an empty name (a comma too many)", rows->name);
        if (!read && rows->dialogues)
            read = oa_read_dialogues;
        if (!read && rows->answer != OA_ANSWER_TEXT)
            read = oa_read_tsv;
        if (read) {
            OA_TRY(read(rows, name, columns));
            continue;
        }
        if (!list)
            return refuse_single(rows, name);
        list = oa_cut_name(list, &partner);
        if (!*partner || oa_rows_reader_of(partner))
            return refuse_single(rows, name);
        OA_TRY(oa_read_parallel(rows, name, partner));
    }
    return OA_OK;
}

static enum oa_error check_row_cells(const struct oa_rows *rows, const char *files)
{
    if (rows->count == 0)
        return oa_fail(rows->context, OA_FORMAT, "%s: no %s example with a text%s", files,
                       rows->name, rows->dialogues ? "; a dialogue needs at least two turns" : "");
    bool labels = rows->answer == OA_ANSWER_CLASS || rows->answer == OA_ANSWER_NUMBER;
    for (size_t i = 1; i < rows->count && labels; i++)
        if (oa_rows_cells(rows, i) != oa_rows_cells(rows, 0))
            return oa_fail(rows->context, OA_FORMAT,
                           "%s: some files have pairs of texts, others single texts", files);
    return OA_OK;
}

enum oa_error oa_rows_read(struct oa_rows *rows, const char *files, const char *columns)
{
    char *list = oa_copy_text(rows->context, files);
    if (!list)
        return OA_NO_MEMORY;
    enum oa_error error = read_file_list(rows, list, columns);
    if (error == OA_OK)
        error = check_row_cells(rows, files);
    oa_free(list);
    return error;
}
