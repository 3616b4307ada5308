#!/usr/bin/env python3
"""Writes src/tokenizers/character_tables.h: the classes of characters that the package tokenizers has, which are of several
versions of Unicode, by trying every code point.

    python3 character_tables.py >../../src/tokenizers/character_tables.h        needs tokenizers
"""
import sys
import tokenizers
from tokenizers import normalizers, pre_tokenizers

CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
BERT = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)


def dropped(normalizer):
    return [c for c in CODES if normalizer.normalize_str("a" + chr(c)) == "a"]


def ranges(codes):
    out = []
    for c in codes:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def table(name, sentence, codes):
    print("\n/* %s */\nstatic const uint32_t %s[][2] = {" % (sentence, name))
    line = "   "
    for a, b in ranges(codes):
        item = " { 0x%x, 0x%x }," % (a, b)
        if len(line + item) > 100:
            print(line)
            line = "   "
        line += item
    print(line + "\n};")


def main():
    punctuation = pre_tokenizers.Punctuation()
    print("""/* SPDX-License-Identifier: Apache-2.0
 * Classes of characters as the package tokenizers %s has them, made by
 * tests/tokenizers/character_tables.py. Included by character_steps.c only. */
#ifndef ORTHANT_CHARACTER_TABLES_H
#define ORTHANT_CHARACTER_TABLES_H

#include <stdint.h>

/* clang-format off */""" % tokenizers.__version__)
    table("punctuation", "BertPreTokenizer and Punctuation",
          [c for c in CODES if len(punctuation.pre_tokenize_str("a" + chr(c) + "b")) == 3])
    table("combining_marks", "StripAccents", dropped(normalizers.StripAccents()))
    # what decomposes to nothing but marks is among them, and no harm: it is decomposed before
    table("nonspacing_marks", "BertNormalizer", dropped(normalizers.BertNormalizer(**dict(BERT, strip_accents=True))))
    table("unclean", "clean_text of BertNormalizer", dropped(normalizers.BertNormalizer(**dict(BERT, clean_text=True))))
    print("/* clang-format on */\n\n#endif")


main()
