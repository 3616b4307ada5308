/* SPDX-License-Identifier: Apache-2.0
 * `normalizer` of a tokenizer.json → steps (normalise.c). */
#include "tokenizers/tokenizer_load.h"

static enum oa_error add_normal_step(struct oa_tokenizer_file *l, enum oa_normal kind,
                                     struct oa_text_normaliser **out)
{
    struct oa_tokenizer *tok = l->tok;
    if (tok->normals == OA_MOST_NORMAL_STEPS)
        return oa_fail(l->context, OA_UNSUPPORTED, "%s: normalizer has more than %d steps", l->name,
                       OA_MOST_NORMAL_STEPS);
    struct oa_text_normaliser *n = &tok->normal[tok->normals++];
    oa_normaliser_init(n, l->context, kind);
    if (out)
        *out = n;
    return OA_OK;
}

static enum oa_error read_bert(struct oa_tokenizer_file *l, const json_t *bert)
{
    bool clean = true, ideographs = true, lower = true;
    OA_TRY(oa_read_flag(l, bert, "clean_text", &clean));
    OA_TRY(oa_read_flag(l, bert, "handle_chinese_chars", &ideographs));
    OA_TRY(oa_read_flag(l, bert, "lowercase", &lower));
    bool accents = lower;
    OA_TRY(oa_read_flag(l, bert, "strip_accents", &accents));
    if (clean)
        OA_TRY(add_normal_step(l, OA_NORMAL_CLEAN, NULL));
    if (ideographs)
        OA_TRY(add_normal_step(l, OA_NORMAL_IDEOGRAPHS, NULL));
    if (accents) {
        OA_TRY(add_normal_step(l, OA_NORMAL_NFD, NULL));
        OA_TRY(add_normal_step(l, OA_NORMAL_NONSPACING, NULL));
    }
    return lower ? add_normal_step(l, OA_NORMAL_LOWERCASE, NULL) : OA_OK;
}

enum oa_error oa_read_replace(const struct oa_tokenizer_file *l, const json_t *replace,
                              const char *part, struct oa_text_normaliser *out)
{
    const json_t *pattern = oa_part_member(replace, "pattern");
    const char *regex = oa_text_member(pattern, "Regex"),
               *literal = oa_text_member(pattern, "String");
    if ((!literal || !*literal) && !regex)
        return oa_tokenizer_malformed(l, "pattern of Replace",
                                      "{\"Regex\": …} or {\"String\": …} with a text");
    OA_TRY(oa_read_string(l, replace, part, "content", &out->content));
    if (regex)
        return oa_splitter_add(&out->pattern, l->name, regex);
    oa_text_add(&out->literal, literal, strlen(literal));
    return oa_status(l->context);
}

static enum oa_error read_one_normaliser(struct oa_tokenizer_file *l, const json_t *normalizer,
                                         const char *type, bool *known)
{
    struct oa_text_normaliser *n = NULL;
    *known = true;
    for (int i = 0; i < OA_NORMALS; i++)
        if (strcmp(type, oa_normal_names[i]) == 0)
            return add_normal_step(l, (enum oa_normal)i, NULL);
    if (strcmp(type, "Nmt") == 0)
        return add_normal_step(l, OA_NORMAL_NMT, NULL);
    if (strcmp(type, "StripAccents") == 0)
        return add_normal_step(l, OA_NORMAL_MARKS, NULL);
    if (strcmp(type, "BertNormalizer") == 0)
        return read_bert(l, normalizer);
    if (strcmp(type, "Precompiled") == 0) {
        const char *base64 = oa_text_member(normalizer, "precompiled_charsmap");
        if (!base64)
            return oa_tokenizer_malformed(l, "precompiled_charsmap of Precompiled", "base64");
        OA_TRY(add_normal_step(l, OA_NORMAL_PRECOMPILED, &n));
        return oa_charsmap_read(l->context, l->name, base64, &n->map);
    }
    if (strcmp(type, "Strip") == 0) {
        OA_TRY(add_normal_step(l, OA_NORMAL_STRIP, &n));
        n->left = n->right = true;
        OA_TRY(oa_read_flag(l, normalizer, "strip_left", &n->left));
        return oa_read_flag(l, normalizer, "strip_right", &n->right);
    }
    if (strcmp(type, "Replace") == 0) {
        OA_TRY(add_normal_step(l, OA_NORMAL_REPLACE, &n));
        return oa_read_replace(l, normalizer, "Replace", n);
    }
    if (strcmp(type, "Prepend") == 0) {
        OA_TRY(add_normal_step(l, OA_NORMAL_PREPEND, &n));
        return oa_read_string(l, normalizer, "Prepend", "prepend", &n->content);
    }
    *known = false;
    return OA_OK;
}

static enum oa_error read_normaliser_parts(struct oa_tokenizer_file *l, const json_t *normalizer,
                                           int depth, int *count)
{
    const char *type;
    bool known;
    OA_TRY(oa_read_part_type(l, normalizer, "normalizer", &type));
    const json_t *parts = oa_part_member(normalizer, "normalizers");
    if (strcmp(type, "Sequence") != 0) {
        if (++*count > OA_MOST_NORMALISERS)
            return oa_fail(l->context, OA_UNSUPPORTED, "%s: a sequence of more than %d normalizers",
                           l->name, OA_MOST_NORMALISERS);
        OA_TRY(read_one_normaliser(l, normalizer, type, &known));
        if (known)
            return OA_OK;
    }
    if (strcmp(type, "Sequence") != 0 || depth == OA_MOST_NESTED)
        return oa_tokenizer_unsupported(
            l, "normalizer", type,
            "supported are null, NFC, NFD, NFKC, NFKD, Lowercase, BertNormalizer, Nmt, "
            "Precompiled, Prepend, Replace, Strip, StripAccents, and a Sequence of at most 8");
    if (!json_is_array(parts))
        return oa_tokenizer_malformed(l, "normalizer.normalizers", "an array");
    for (size_t i = 0; i < json_array_size(parts); i++)
        OA_TRY(read_normaliser_parts(l, json_array_get(parts, i), depth + 1, count));
    return OA_OK;
}

enum oa_error oa_read_normaliser(struct oa_tokenizer_file *l, const json_t *normalizer)
{
    int count = 0;
    return normalizer ? read_normaliser_parts(l, normalizer, 0, &count) : OA_OK;
}
