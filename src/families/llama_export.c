/* SPDX-License-Identifier: Apache-2.0
 * What relatives of Llama have in common when they are exported. */
#include "base/json_write.h"
#include "families/llama_tensors.h"

const char *oa_llama_refuses(const struct oa_exported *x)
{
    const struct oa_options *o = x->options;
    return o->model_position != OA_POSITION_ROTARY ? "model.position"
           : o->model_norm_kind != OA_NORM_RMS     ? "model.norm_kind"
           : !o->model_ffn_gate                    ? "model.ffn_gate"
           : o->model_parallel                     ? "model.parallel"
           : o->model_rotary_share < 1             ? "model.rotary_share"
                                                   : NULL;
}

void oa_llama_write(oa_context *c, const struct oa_exported *x, json_t *config)
{
    const struct oa_options *o = x->options;
    oa_json_set(c, config, "hidden_size", json_integer(o->model_width));
    oa_json_set(c, config, "head_dim", json_integer(oa_head_width(o)));
    oa_json_set(c, config, "num_attention_heads", json_integer(o->model_heads));
    oa_json_set(c, config, "num_key_value_heads", json_integer(x->keys));
    oa_json_set(c, config, "num_hidden_layers", json_integer(o->model_layers));
    oa_json_set(c, config, "intermediate_size", json_integer(oa_ffn_width(o)));
    oa_json_set(c, config, "max_position_embeddings", json_integer(o->model_context));
    oa_json_set(c, config, "rms_norm_eps", json_real(o->model_norm_epsilon));
    oa_json_set(c, config, "hidden_act", json_string(oa_hf_activation((int)o->model_activation)));
    oa_json_set(c, config, "rope_theta", json_real(o->model_rotary_base));
}
