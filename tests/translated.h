/* SPDX-License-Identifier: Apache-2.0
 * Arguments of operations with other addresses: of_NAME(d, a) is a copy of the struct oa_NAME in
 * which every address of the device's memory is at(d, address), a function of the including file.
 * AT and OF of operations.def. */
#ifndef ORTHANT_TESTS_TRANSLATED_H
#define ORTHANT_TESTS_TRANSLATED_H

#define FIX(field) s.field = at(d, s.field)

static struct oa_attention_shape of_shape(const struct oa_device *d, struct oa_attention_shape s)
{
    FIX(key_lengths), FIX(query_lengths);
    return s;
}

static struct oa_logits_part of_part(const struct oa_device *d, struct oa_logits_part s)
{
    FIX(q), FIX(dq), FIX(k), FIX(dk), FIX(bias), FIX(dbias), FIX(table), FIX(dtable);
    return s;
}

static struct oa_logits of_logits(const struct oa_device *d, const struct oa_logits *a)
{
    struct oa_logits s = *a;
    s.shape = of_shape(d, s.shape);
    FIX(support.layout);
    for (int c = 0; c < s.parts; c++)
        s.part[c] = of_part(d, s.part[c]);
    FIX(alpha), FIX(dalpha), FIX(v), FIX(dv), FIX(o), FIX(d_o), FIX(lse);
    FIX(distances.table), FIX(distances.query), FIX(distances.key), FIX(distances.bucket),
        FIX(distances.dbias);
    FIX(sink), FIX(dsink), FIX(forgetting.query), FIX(forgetting.key), FIX(forgetting.dquery),
        FIX(forgetting.dkey);
    return s;
}

static struct oa_relative of_relative(const struct oa_device *d, const struct oa_relative *a)
{
    struct oa_relative s = *a;
    FIX(bias), FIX(table), FIX(bucket);
    return s;
}

static struct oa_mixture_weights of_mixture_weights(const struct oa_device *d,
                                                    const struct oa_mixture_weights *a)
{
    struct oa_mixture_weights s = *a;
    FIX(theta), FIX(alpha), FIX(dalpha), FIX(dtheta);
    return s;
}

static struct oa_linear_attention of_linear_attention(const struct oa_device *d,
                                                      const struct oa_linear_attention *a)
{
    struct oa_linear_attention s = *a;
    s.shape = of_shape(d, s.shape);
    FIX(key_scale), FIX(query_scale), FIX(fq), FIX(fk), FIX(dfq), FIX(dfk);
    FIX(v), FIX(dv), FIX(o), FIX(d_o), FIX(den), FIX(state);
    return s;
}

static struct oa_head_gate of_head_gate(const struct oa_device *d, const struct oa_head_gate *a)
{
    struct oa_head_gate s = *a;
    FIX(x), FIX(z), FIX(y), FIX(dy), FIX(dx), FIX(dz);
    return s;
}

static inline struct oa_head_put of_head_put(const struct oa_device *d, const struct oa_head_put *a)
{
    struct oa_head_put s = *a;
    FIX(x), FIX(y);
    return s;
}

static struct oa_head_repeat of_head_repeat(const struct oa_device *d,
                                            const struct oa_head_repeat *a)
{
    struct oa_head_repeat s = *a;
    FIX(x), FIX(y), FIX(dy), FIX(dx);
    return s;
}

static struct oa_recurrence of_recurrence(const struct oa_device *d, const struct oa_recurrence *a)
{
    struct oa_recurrence s = *a;
    s.shape = of_shape(d, s.shape);
    FIX(q), FIX(k), FIX(v), FIX(decay_logits), FIX(rate), FIX(beta_logits), FIX(o), FIX(d_o);
    FIX(dq), FIX(dk), FIX(dv), FIX(d_decay_logits), FIX(d_beta_logits), FIX(d_rate), FIX(state);
    return s;
}

static struct oa_row_map of_row_map(const struct oa_device *d, const struct oa_row_map *a)
{
    struct oa_row_map s = *a;
    FIX(gain), FIX(x), FIX(y), FIX(dy), FIX(dx), FIX(dgain);
    return s;
}

static struct oa_causal_conv of_causal_conv(const struct oa_device *d,
                                            const struct oa_causal_conv *a)
{
    struct oa_causal_conv s = *a;
    FIX(w), FIX(x), FIX(z), FIX(y), FIX(dy), FIX(dx), FIX(dw), FIX(state);
    return s;
}

static struct oa_polynomial of_polynomial(const struct oa_device *d, const struct oa_polynomial *a)
{
    struct oa_polynomial s = *a;
    s.shape = of_shape(d, s.shape);
    FIX(q), FIX(k), FIX(v), FIX(dq), FIX(dk), FIX(dv), FIX(o), FIX(d_o), FIX(den);
    return s;
}

static struct oa_pattern_attention of_pattern_attention(const struct oa_device *d,
                                                        const struct oa_pattern_attention *a)
{
    struct oa_pattern_attention s = *a;
    s.shape = of_shape(d, s.shape);
    FIX(words), FIX(v), FIX(dv), FIX(o), FIX(d_o), FIX(state);
    return s;
}

static struct oa_band of_band(const struct oa_device *d, const struct oa_band *a)
{
    struct oa_band s = *a;
    s.shape = of_shape(d, s.shape);
    FIX(logits), FIX(dlogits), FIX(v), FIX(dv), FIX(o), FIX(d_o);
    return s;
}

static struct oa_random_statistics of_random_statistics(const struct oa_device *d,
                                                        const struct oa_random_statistics *a)
{
    struct oa_random_statistics s = *a;
    FIX(query_lengths), FIX(key_lengths), FIX(q), FIX(k), FIX(omega), FIX(mean), FIX(square),
        FIX(bias);
    FIX(turned[0]), FIX(turned[1]), FIX(metric[0]), FIX(metric[1]);
    return s;
}

static struct oa_moments_change of_moments_change(const struct oa_device *d,
                                                  const struct oa_moments_change *a)
{
    struct oa_moments_change s = *a;
    FIX(lengths[0]), FIX(lengths[1]), FIX(x[0]), FIX(x[1]), FIX(mean), FIX(square);
    FIX(mean_change), FIX(square_change), FIX(batches);
    return s;
}

static struct oa_moments_move of_moments_move(const struct oa_device *d,
                                              const struct oa_moments_move *a)
{
    struct oa_moments_move s = *a;
    FIX(mean), FIX(square), FIX(seen), FIX(mean_change), FIX(square_change), FIX(batches);
    return s;
}

static struct oa_random_features of_random_features(const struct oa_device *d,
                                                    const struct oa_random_features *a)
{
    struct oa_random_features s = *a;
    FIX(lengths), FIX(omega), FIX(bias), FIX(metric), FIX(x), FIX(y), FIX(top), FIX(dy), FIX(dx);
    return s;
}

static struct oa_length_projection of_length_projection(const struct oa_device *d,
                                                        const struct oa_length_projection *a)
{
    struct oa_length_projection s = *a;
    FIX(lengths), FIX(x), FIX(dx), FIX(w), FIX(dw), FIX(y), FIX(dy);
    return s;
}

static struct oa_transform of_transform(const struct oa_device *d, const struct oa_transform *a)
{
    struct oa_transform s = *a;
    FIX(numbers), FIX(x), FIX(dx), FIX(y), FIX(dy);
    return s;
}

static struct oa_mixer_steps of_mixer_steps(const struct oa_device *d,
                                            const struct oa_mixer_steps *a)
{
    struct oa_mixer_steps s = *a;
    FIX(in_weight), FIX(in_bias), FIX(out_weight), FIX(out_bias), FIX(x), FIX(y), FIX(state);
    return s;
}

static struct oa_head_factors of_head_factors(const struct oa_device *d,
                                              const struct oa_head_factors *a)
{
    struct oa_head_factors s = *a;
    FIX(temperature), FIX(diagonal), FIX(factor), FIX(dfactor), FIX(dtemperature), FIX(ddiagonal);
    return s;
}

static struct oa_forget_sums of_forget_sums(const struct oa_device *d,
                                            const struct oa_forget_sums *a)
{
    struct oa_forget_sums s = *a;
    FIX(z), FIX(total), FIX(sums), FIX(dsums), FIX(dz);
    return s;
}

static struct oa_rotated_rows of_rotated_rows(const struct oa_device *d,
                                              const struct oa_rotated_rows *a)
{
    struct oa_rotated_rows s = *a;
    FIX(rotation.cosine), FIX(rotation.sine), FIX(x);
    return s;
}

static struct oa_residual_norm of_residual_norm(const struct oa_device *d,
                                                const struct oa_residual_norm *a)
{
    struct oa_residual_norm s = *a;
    FIX(x), FIX(branch), FIX(sum), FIX(gain), FIX(bias), FIX(y), FIX(mean), FIX(rstd);
    FIX(dy), FIX(dsum), FIX(dx), FIX(dbranch), FIX(dgain), FIX(dbias);
    return s;
}

static struct oa_embedding of_embedding(const struct oa_device *d, const struct oa_embedding *a)
{
    struct oa_embedding s = *a;
    FIX(ids), FIX(segments), FIX(table), FIX(position), FIX(segment), FIX(rest), FIX(y), FIX(dy);
    FIX(dtable), FIX(dposition), FIX(dsegment), FIX(drest);
    return s;
}

static struct oa_patch_rows of_patch_rows(const struct oa_device *d, const struct oa_patch_rows *a)
{
    struct oa_patch_rows s = *a;
    FIX(pixels), FIX(ids), FIX(y);
    return s;
}

static struct oa_row_choice of_row_choice(const struct oa_device *d, const struct oa_row_choice *a)
{
    struct oa_row_choice s = *a;
    FIX(index), FIX(x), FIX(y), FIX(dy), FIX(dx);
    return s;
}

static struct oa_row_means of_row_means(const struct oa_device *d, const struct oa_row_means *a)
{
    struct oa_row_means s = *a;
    FIX(lengths), FIX(x), FIX(y), FIX(dy), FIX(dx);
    return s;
}

static struct oa_linear_loss of_linear_loss(const struct oa_device *d,
                                            const struct oa_linear_loss *a)
{
    struct oa_linear_loss s = *a;
    FIX(x), FIX(w), FIX(bias), FIX(target), FIX(value), FIX(dx), FIX(dw), FIX(dbias), FIX(soft_x),
        FIX(soft_w), FIX(soft_bias);
    return s;
}

static struct oa_adafactor of_adafactor(const struct oa_device *d, const struct oa_adafactor *a)
{
    struct oa_adafactor s = *a;
    FIX(w), FIX(v), FIX(update), FIX(g);
    return s;
}

/* n pointers to copies, until the next call. */
#define ALL_OF(type)                                                                               \
    static inline const struct oa_##type *const *all_##type(const struct oa_device *d, long n,     \
                                                            const struct oa_##type *const *a)      \
    {                                                                                              \
        static struct oa_##type room[512];                                                         \
        static const struct oa_##type *all[512];                                                   \
        for (long i = 0; i < n; i++) {                                                             \
            room[i] = of_##type(d, a[i]);                                                          \
            all[i] = room + i;                                                                     \
        }                                                                                          \
        return all;                                                                                \
    }
ALL_OF(head_put)
ALL_OF(logits)

#define AT(x) at(d, x)
#define ALL(type, n, a) all_##type(d, n, a)
#define OF(type, a)                                                                                \
    (struct oa_##type[])                                                                           \
    {                                                                                              \
        of_##type(d, a)                                                                            \
    }

#endif
