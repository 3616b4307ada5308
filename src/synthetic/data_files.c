/* SPDX-License-Identifier: Apache-2.0 */
#include "synthetic/data_files.h"

#include "base/json_write.h"

#include <string.h>

enum { PIECE = 1 << 20 }; /* bytes that are written at a time */

static const struct {
    const char *suffix, *head, *line;
} layouts[OA_FORMS][OA_FILES_OF_PART] = {
    [OA_LABELLED] = { { "tsv", "label\ttext\n", "o\ti\n" } },
    [OA_ANSWERED] = { { "tsv", "label\ttext\n", "o\ti\n" }, { "txt", "", "i o\n" } },
    [OA_TARGETED] = { { "tsv", "tokens\ttargets\n", "i\to\n" } },
    [OA_PAIRED] = { { "source", "", "i\n" }, { "target", "", "o\n" } },
};

static void name_file(char name[16], enum oa_synthetic_form form, int part, int i)
{
    snprintf(name, 16, "%s.%s", oa_set_names[part], layouts[form][i].suffix);
}

bool oa_data_name_known(const char *name)
{
    char known[16];
    for (int n = 0; n < OA_FORMS * OA_DATA_SETS * OA_FILES_OF_PART; n++) {
        enum oa_synthetic_form form = (enum oa_synthetic_form)(n % OA_FORMS);
        int part = n / OA_FORMS % OA_DATA_SETS, i = n / OA_FORMS / OA_DATA_SETS;
        if (!layouts[form][i].suffix)
            continue;
        name_file(known, form, part, i);
        if (strcmp(name, known) == 0)
            return true;
    }
    return false;
}

enum oa_error oa_data_files_begin(oa_context *c, const char *folder, enum oa_synthetic_form form,
                                  enum oa_synthetic_part part, struct oa_data_files *out)
{
    for (int i = 0; i < OA_FILES_OF_PART; i++) {
        struct oa_data_file *f = &out->file[i];
        *f = (struct oa_data_file){ .line = layouts[form][i].line };
        oa_text_init(&f->path, c);
        oa_text_init(&f->pending, c);
        if (!f->line)
            continue;
        name_file(f->name, form, (int)part, i);
        oa_text_add(&f->pending, layouts[form][i].head, strlen(layouts[form][i].head));
    }
    for (int i = 0; i < OA_FILES_OF_PART; i++) {
        struct oa_data_file *f = &out->file[i];
        if (!f->line)
            continue;
        f->digest = oa_digest_begin(c);
        oa_text_printf(&f->path, "%s/%s", folder, f->name);
        OA_TRY(oa_status(c));
        f->open = true; /* also after a failure: ending it then frees what it has */
        OA_TRY(oa_new_file_open(&f->file, c, f->path.s));
    }
    return OA_OK;
}

static enum oa_error flush(struct oa_data_file *f)
{
    size_t length = f->pending.length;
    OA_TRY(oa_status(f->pending.context));
    if (!length)
        return OA_OK;
    oa_digest_add(f->digest, f->pending.s, length);
    OA_TRY(oa_new_file_add(&f->file, f->pending.s, length));
    oa_text_cut(&f->pending, 0);
    return OA_OK;
}

enum oa_error oa_data_files_flush(struct oa_data_files *f)
{
    for (int i = 0; i < OA_FILES_OF_PART; i++)
        OA_TRY(flush(&f->file[i]));
    return OA_OK;
}

static void add_data_line(struct oa_data_file *f, const struct oa_example *e)
{
    for (const char *s = f->line; *s; s++) {
        if (*s == 'i')
            oa_text_add(&f->pending, e->input.s, e->input.length);
        else if (*s == 'o')
            oa_text_add(&f->pending, e->output.s, e->output.length);
        else
            oa_text_add(&f->pending, s, 1);
    }
}

enum oa_error oa_data_files_add(struct oa_data_files *f, const struct oa_example *e)
{
    for (int i = 0; i < OA_FILES_OF_PART; i++) {
        if (f->file[i].line)
            add_data_line(&f->file[i], e);
        if (f->file[i].pending.length >= PIECE)
            OA_TRY(flush(&f->file[i]));
    }
    return OA_OK;
}

enum oa_error oa_data_files_end(struct oa_data_files *f, enum oa_error so_far, json_t *files)
{
    enum oa_error e = so_far;
    for (int i = 0; i < OA_FILES_OF_PART; i++) {
        struct oa_data_file *file = &f->file[i];
        if (file->open)
            e = oa_new_file_finish(&file->file, e);
        if (file->open && e == OA_OK)
            oa_json_set(file->path.context, files, file->name,
                        json_string(oa_digest_end(file->digest).hex));
        oa_free(file->digest);
        oa_text_free(&file->path);
        oa_text_free(&file->pending);
        *file = (struct oa_data_file){ .open = false };
    }
    return e;
}
