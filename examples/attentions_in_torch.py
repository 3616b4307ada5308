# SPDX-License-Identifier: Apache-2.0
import torch, orthant.torch

text = torch.tensor(list(open("data/tinyshakespeare.txt", "rb").read()))
def train(attention, seed):
    torch.manual_seed(seed)
    embed, out = torch.nn.Embedding(128, 32), torch.nn.Linear(32, 128)
    attend = orthant.torch.Attention(attention, width=32, heads=4, context=32, causal=True)
    optimizer = torch.optim.AdamW([p for m in (embed, attend, out) for p in m.parameters()], 0.01)
    for step in range(200):
        rows = text[torch.randint(len(text) - 33, (32, 1)) + torch.arange(33)]
        x = embed(rows[:, :-1])
        loss = torch.nn.functional.cross_entropy(out(x + attend(x)).mT, rows[:, 1:])
        optimizer.zero_grad(), loss.backward(), optimizer.step()
    return loss.item()
print(orthant.judge([{"system": a, "seed": seed, "loss": train(a, seed)} for seed in range(5)
                     for a in ("softmax", "pattern(previous)", "linear")], baseline="softmax"))
