# SPDX-License-Identifier: Apache-2.0
"""The losses of distilling `marian` by transformers in float64: python distil_marian.py PAIRS [WINDOW] > marian/distil.txt

PAIRS has lines "source<TAB>target" of ids. The student has `local` in the encoder, elu(x) + 1 features in the decoder and
towards the encoder, and the teacher's weights. Prints the loss of the first stage, and of the second at its first step,
whose parts are the cross-entropy of the targets and the divergence from the teacher. Every row is computed alone."""

import os
import sys
import types

import torch
from transformers import MarianMTModel

HARD, SOFT = 0.1, 1.0


def heads(model, x):
    return x.view(1, -1, model.num_heads, model.head_dim).transpose(1, 2)


def weights_of(module, q, k, window, causal):
    """Attention weights [1, heads, queries, keys] of the student."""
    n, m = q.shape[2], k.shape[2]
    row, column = torch.arange(n)[:, None], torch.arange(m)[None]
    if window:
        logits = q @ k.transpose(2, 3) * module.scaling
        return logits.masked_fill((row - column).abs() > window, -torch.inf).softmax(-1)
    weights = (torch.nn.functional.elu(q) + 1) @ (torch.nn.functional.elu(k) + 1).transpose(2, 3)
    weights = weights * (column <= row) if causal else weights
    return weights / (weights.sum(-1, keepdim=True) + 1e-6)


def replaced(module, window, causal):
    def forward(self, hidden_states, key_value_states=None, **kwargs):
        memory = hidden_states if key_value_states is None else key_value_states
        q, k, v = heads(self, self.q_proj(hidden_states)), heads(self, self.k_proj(memory)), heads(self, self.v_proj(memory))
        y = (weights_of(self, q, k, window, causal) @ v).transpose(1, 2).reshape(1, -1, self.embed_dim)
        return self.out_proj(y), None

    module.forward = types.MethodType(forward, module)


def opened(folder):
    """The model with sinusoids in double, which transformers rounds to single precision."""
    model = MarianMTModel.from_pretrained(folder, dtype=torch.float64).eval()
    for stack in (model.model.encoder, model.model.decoder):
        table = stack.embed_positions.weight
        half = table.shape[1] // 2
        rate = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
        angle = torch.arange(len(table), dtype=torch.float64)[:, None] * rate
        table.data = torch.cat([angle.sin(), angle.cos()], 1)
    return model


def student_of(folder, window):
    model = opened(folder)
    for layer in model.model.encoder.layers:
        replaced(layer.self_attn, window, False)
    for layer in model.model.decoder.layers:
        replaced(layer.self_attn, 0, True)
        replaced(layer.encoder_attn, 0, False)
    return model


def attentions(model):
    for stack in (model.model.encoder, model.model.decoder):
        for layer in stack.layers:
            yield layer.self_attn
            if stack is model.model.decoder:
                yield layer.encoder_attn


def main():
    pairs, window = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "marian")
    teacher, student = opened(folder), student_of(folder, window)
    apart, size, both = {}, {}, list(zip(attentions(teacher), attentions(student)))

    def watch(number, other):
        def hook(module, inputs, named, output):
            x = inputs[0] if inputs else named["hidden_states"]
            mine = other(x, named.get("key_value_states", inputs[1] if len(inputs) > 1 else None))[0]
            apart[number] = apart.get(number, 0) + (mine - output[0]).square().sum().item()
            size[number] = size.get(number, 0) + output[0].square().sum().item()

        return hook

    for number, (theirs, other) in enumerate(both):
        theirs.register_forward_hook(watch(number, other), with_kwargs=True)
    begin, end = teacher.config.decoder_start_token_id, teacher.config.eos_token_id
    cross, divergence, count = 0, 0, 0
    with torch.no_grad(), open(pairs, encoding="utf-8") as file:
        for line in file:
            source, target = ([int(i) for i in side.split()] for side in line.rstrip("\n").split("\t"))
            given = {"input_ids": torch.tensor([[*source, end]]), "decoder_input_ids": torch.tensor([[begin, *target]])}
            p, q = (model(**given, use_cache=False).logits[0].log_softmax(-1) for model in (teacher, student))
            labels = torch.tensor([*target, end])
            cross -= q[torch.arange(len(labels)), labels].sum().item()
            divergence += (p.exp() * (p - q)).sum().item()
            count += len(labels)
    print(f"attention {sum(apart[i] / size[i] for i in apart) / len(apart):.17g}")
    print(f"output {(HARD * cross + SOFT * divergence) / count:.17g}")
    print(f"text {cross / count:.17g}")


if __name__ == "__main__":
    main()
