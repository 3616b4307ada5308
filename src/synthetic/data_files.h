/* SPDX-License-Identifier: Apache-2.0
 * Private to synthetic: writing the files of one part of a data set, and checking the folder. */
#ifndef ORTHANT_DATA_FILES_H
#define ORTHANT_DATA_FILES_H

#include "base/new_file.h"
#include "synthetic/synthetic.h"

#define OA_DATA_RECORD "data.json"
enum { OA_FILES_OF_PART = 2 };

/* One file. */
struct oa_data_file {
    char name[16];    /* "train.tsv"; "": no file */
    const char *line; /* template of a line: i is the input, o the output, the rest literal */
    struct oa_text path;
    struct oa_text pending;
    struct oa_new_file file;
    bool open;
    struct oa_running_digest *digest;
};
struct oa_data_files {
    struct oa_data_file file[OA_FILES_OF_PART];
};

/* Opens the files under temporary names. Call oa_data_files_end also after an error. */
enum oa_error oa_data_files_begin(oa_context *c, const char *folder, enum oa_synthetic_form form,
                                  enum oa_synthetic_part part, struct oa_data_files *out);
enum oa_error oa_data_files_add(struct oa_data_files *f, const struct oa_example *e);
enum oa_error oa_data_files_flush(struct oa_data_files *f);
/* Renames the files to their names, or removes them if so_far is not OA_OK; sets name → digest in
 * `files`. Frees all. */
enum oa_error oa_data_files_end(struct oa_data_files *f, enum oa_error so_far, json_t *files);

bool oa_data_name_known(const char *name); /* a file name of data sets */

/* The file names in the data.json of a folder, as an object; {} for an empty folder. OA_ARGUMENT:
 * the folder contains other files. */
enum oa_error oa_data_folder_names(oa_context *c, const char *folder, json_t **names);

#endif
