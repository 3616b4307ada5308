/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to synthetic: the files of one part of a data set while they are written, and the folder
 * they go to.
 */
#ifndef ORTHANT_DATA_FILES_H
#define ORTHANT_DATA_FILES_H

#include "base/new_file.h"
#include "synthetic/synthetic.h"

#define OA_DATA_RECORD "data.json"
enum { OA_FILES_OF_PART = 2 };

/* One file. */
struct oa_data_file {
    char name[16];       /* "train.tsv"; "" = there is none */
    const char *line;    /* what a line is: i the input, o the output, the rest as it is */
    struct oa_text path; /* of it */
    struct oa_text pending;
    struct oa_new_file file;
    bool open;
    struct oa_running_digest *digest;
};
struct oa_data_files {
    struct oa_data_file file[OA_FILES_OF_PART];
};

/* Opens the files beside their final names. They are to be ended after a failure as well. */
enum oa_error oa_data_files_begin(oa_context *c, const char *folder, enum oa_synthetic_form form,
                                  enum oa_synthetic_part part, struct oa_data_files *out);
enum oa_error oa_data_files_add(struct oa_data_files *f, const struct oa_example *e);
enum oa_error oa_data_files_flush(struct oa_data_files *f);
/* Puts them in their places, or removes them unless so_far is OA_OK, and frees all; sets name →
 * digest in `files`. */
enum oa_error oa_data_files_end(struct oa_data_files *f, enum oa_error so_far, json_t *files);

bool oa_data_name_known(const char *name); /* a file that some data set has */

/* The names that the data.json of a folder lists, as an object; {} for an empty folder. A folder
 * that holds anything else is refused. */
enum oa_error oa_data_folder_names(oa_context *c, const char *folder, json_t **names);

#endif
