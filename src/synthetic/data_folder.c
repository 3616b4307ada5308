/* SPDX-License-Identifier: Apache-2.0
 * Checks that a folder is that of a data set. */
#include "base/checksum.h"
#include "synthetic/data_files.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

static bool is_ours(const char *name, const json_t *names)
{
    static const char *const always[] = { ".", "..", ".lock" };
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (strcmp(name, always[i]) == 0)
            return true;
    return json_object_get(names, name) ||
           (json_object_size(names) && strcmp(name, OA_DATA_RECORD) == 0);
}

static enum oa_error check_folder_names(oa_context *c, const char *folder, const json_t *names)
{
    enum oa_error e = OA_OK;
    DIR *d = opendir(folder);
    if (!d)
        return oa_fail_folder(c, folder);
    for (struct dirent *entry; e == OA_OK && (errno = 0, entry = readdir(d));)
        if (!is_ours(entry->d_name, names))
            e = oa_fail(c, OA_ARGUMENT,
                        "%s contains \"%s\", which is not a file of a data set made by this "
                        "program; choose another folder",
                        folder, entry->d_name);
    if (e == OA_OK && errno)
        e = oa_fail_folder(c, folder);
    closedir(d);
    return e;
}

/* The files that a data.json lists. Its checksum is not a signature, and files that it lists may
 * be removed, so that other names are refused. */
static enum oa_error recorded_files(oa_context *c, const char *path, const json_t *record,
                                    json_t **names)
{
    const char *name;
    json_t *value, *files = json_object_get(record, "files");
    if (!json_is_object(files))
        return oa_fail(c, OA_FORMAT, "%s does not describe a data set; choose another folder",
                       path);
    json_object_foreach(files, name, value)
    {
        if (!oa_data_name_known(name))
            return oa_fail(
                c, OA_FORMAT,
                "%s lists \"%s\", which is not a file of a data set; choose another folder", path,
                name);
    }
    *names = json_incref(files);
    return OA_OK;
}

static enum oa_error read_folder_files(oa_context *c, const char *folder, json_t **names)
{
    struct oa_text path;
    json_t *record = NULL;
    *names = NULL;
    oa_text_init(&path, c);
    oa_text_printf(&path, "%s/%s", folder, OA_DATA_RECORD);
    enum oa_error e = oa_status(c);
    if (e == OA_OK && oa_file_exists(path.s))
        e = oa_checksummed_read(c, path.s, "choose another folder", &record);
    else if (e == OA_OK)
        *names = json_object();
    if (e == OA_OK && record)
        e = recorded_files(c, path.s, record, names);
    json_decref(record);
    oa_text_free(&path);
    return e;
}

enum oa_error oa_data_folder_names(oa_context *c, const char *folder, json_t **names)
{
    OA_TRY(read_folder_files(c, folder, names));
    enum oa_error e = check_folder_names(c, folder, *names);
    if (e != OA_OK) {
        json_decref(*names);
        *names = NULL;
    }
    return e;
}
