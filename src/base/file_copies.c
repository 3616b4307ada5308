/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file_copies.h"

#include "base/context.h"

#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

void oa_copies_use(oa_context *c, const char *folder, bool only)
{
    c->copies = folder;
    c->copies_only = only;
}

/* Files of one name in different folders have different copies. */
static void add_copy_path(struct oa_text *out, const char *folder, const char *file)
{
    oa_text_printf(out, "%s/layout-%lu.txt", folder,
                   crc32(0, (const unsigned char *)file, (unsigned)strlen(file)));
}

enum oa_error oa_copies_find(oa_context *c, const char *file, struct oa_text *path)
{
    struct stat about;
    if (c->copies && (c->copies_only || !oa_file_exists(file))) {
        add_copy_path(path, c->copies, file);
        if (path->s && lstat(path->s, &about) == 0 && !S_ISREG(about.st_mode))
            return oa_fail(c, OA_IO, "cannot read %s: not a regular file", path->s);
    } else {
        oa_text_printf(path, "%s", file);
    }
    return oa_status(c);
}

enum oa_error oa_copies_save(oa_context *c, const char *folder, const char *file)
{
    struct oa_text path;
    char *text = NULL;
    size_t length;
    oa_text_init(&path, c);
    add_copy_path(&path, folder, file);
    if (path.s && oa_file_exists(file) && oa_file_read(c, file, &text, &length) == OA_OK)
        oa_file_write(c, path.s, text, length);
    oa_free(text);
    oa_text_free(&path);
    return oa_status(c);
}
