/* SPDX-License-Identifier: Apache-2.0
 * What a file is: by the end of its name, in capitals or not, and by its first bytes. */
#include "base/base.h"

#include <string.h>
#include <strings.h>

bool oa_name_ends(const char *name, const char *end)
{
    size_t length = strlen(name), n = strlen(end);
    static const char *const packed[] = { ".gz", ".zst" };
    for (int i = 0; i < 2; i++) {
        size_t tail = strlen(packed[i]);
        if (length > tail && strcasecmp(name + length - tail, packed[i]) == 0 &&
            strcmp(end, packed[i]) != 0) {
            length -= tail;
            break;
        }
    }
    return length >= n && strncasecmp(name + length - n, end, n) == 0;
}

const char *oa_binary_format(const char *data, size_t length)
{
#define BEGINS(bytes, sentence)                                                                    \
    {                                                                                              \
        bytes, sizeof bytes - 1, sentence                                                          \
    }
    static const struct {
        const char *bytes;
        size_t length;
        const char *sentence;
    } formats[] = {
        BEGINS("\xff\xfe\0\0", "text in UTF-32; convert it (iconv -f UTF-32 -t UTF-8)"),
        BEGINS("\0\0\xfe\xff", "text in UTF-32; convert it (iconv -f UTF-32 -t UTF-8)"),
        BEGINS("\xff\xfe", "text in UTF-16; convert it (iconv -f UTF-16 -t UTF-8)"),
        BEGINS("\xfe\xff", "text in UTF-16; convert it (iconv -f UTF-16 -t UTF-8)"),
        BEGINS("\x1f\x8b\x08", "gzip data within gzip data; unpack it once (gunzip)"),
        BEGINS("PK\x03\x04",
               "a ZIP archive (*.xlsx and *.docx are too); unpack it, or save the table as CSV"),
        BEGINS("BZh91AY&SY", "bzip2 data; unpack it (bunzip2)"),
        BEGINS("\xfd"
               "7zXZ\0",
               "xz data; unpack it (unxz)"),
        BEGINS("\x28\xb5\x2f\xfd",
               "zstd data within packed data, or where only gzip is read; unpack it (unzstd)"),
        BEGINS("7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it (7z x)"),
        BEGINS("PAR1\x15", "a Parquet file; save it as JSON lines (python3 -c 'import pandas, sys; "
                           "pandas.read_parquet(sys.argv[1]).to_json(sys.argv[2], "
                           "orient=\"records\", lines=True, force_ascii=False)' "
                           "file.parquet file.jsonl)"),
        BEGINS("ARROW1\0", "an Arrow file; save it as JSON lines (datasets: to_json)"),
        BEGINS("SQLite format 3\0", "an SQLite database; save its table as CSV (sqlite3 -csv)"),
        BEGINS("\x93NUMPY", "a NumPy array; save its texts, one a line"),
        BEGINS("\x80\x04\x95", "a Python pickle; save its texts, one a line"),
        BEGINS("%PDF-", "a PDF; save its text (pdftotext)"),
        BEGINS("\x89HDF\r\n\x1a\n", "an HDF5 file; save its texts, one a line"),
        BEGINS("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
               "an old Office file (*.xls, *.doc); save it as CSV or text"),
        BEGINS("\x89PNG\r\n\x1a\n", "a PNG picture; read are pictures in CIFAR's layout (*.bin)"),
    };
#undef BEGINS
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (length >= formats[i].length && memcmp(data, formats[i].bytes, formats[i].length) == 0)
            return formats[i].sentence;
    return NULL;
}
