# SPDX-License-Identifier: Apache-2.0
"""models.py: gpt2.gguf and gemma2.gguf, the models of tests/golden-hf as convert_hf_to_gguf.py of llama.cpp writes them, by the
package gguf; gemma2.safetensors, the logits of transformers in float64 where those of the folder are of another scale."""
import json
import pathlib

import gguf
import numpy
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

here = pathlib.Path(__file__).parent
# transformers has norms and the softmax in float32, whatever the model is.
torch.Tensor.float = torch.Tensor.double
softmax = torch.nn.functional.softmax
torch.nn.functional.softmax = lambda x, dim, dtype=None: softmax(x, dim=dim)


def begin(name):
    config = json.load(open(here.parent / name / "config.json"))
    writer = gguf.GGUFWriter(here / f"{name}.gguf", name)
    writer.add_vocab_size(config["vocab_size"])
    names = gguf.get_tensor_name_map(getattr(gguf.MODEL_ARCH, name.upper()), 2)
    tensors = load_file(here.parent / name / "model.safetensors")
    return config, writer, names, tensors


def end(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add(writer, names, name, array):
    writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), numpy.ascontiguousarray(array))


def gpt2():
    config, writer, names, tensors = begin("gpt2")
    writer.add_block_count(config["n_layer"])
    writer.add_context_length(config["n_positions"])
    writer.add_embedding_length(config["n_embd"])
    writer.add_feed_forward_length(4 * config["n_embd"])
    writer.add_head_count(config["n_head"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])
    for name, tensor in tensors.items():
        if name.endswith((".c_attn.weight", ".c_proj.weight", ".c_fc.weight")):
            tensor = tensor.T
        add(writer, names, name, tensor.numpy())
    end(writer)


class DoubleRotary(torch.nn.Module):
    """That of transformers has its frequencies in float32."""

    def __init__(self, base, width):
        super().__init__()
        self.frequency = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)

    def forward(self, x, position_ids):
        angle = position_ids[..., None].double() * self.frequency
        angle = torch.cat((angle, angle), dim=-1)
        return angle.cos(), angle.sin()


def gemma2():
    config, writer, names, tensors = begin("gemma2")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
    writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    writer.add_sliding_window(config["sliding_window"])
    # llama.cpp divides by the root of the width of a head, whatever query_pre_attn_scalar is.
    model = AutoModelForCausalLM.from_pretrained(here.parent / "gemma2", query_pre_attn_scalar=config["head_dim"],
                                                 attn_implementation="eager").double().eval()
    model.model.rotary_emb = DoubleRotary(config["rope_parameters"]["rope_theta"], config["head_dim"])
    parameters = dict(model.named_parameters())
    for name, tensor in tensors.items():
        if name.endswith("norm.weight"):
            tensor = tensor + 1
            parameters[name].data = tensor.double() - 1
        add(writer, names, name, tensor.numpy())
    end(writer)
    given = load_file(here.parent / "gemma2" / "expect.safetensors")
    with torch.no_grad():
        logits = model(given["input_ids"], attention_mask=given["attention_mask"]).logits
    save_file({"input_ids": given["input_ids"], "lengths": given["lengths"], "expect.logits": logits.contiguous()},
              here / "gemma2.safetensors")


gpt2()
gemma2()
