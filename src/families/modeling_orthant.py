# SPDX-License-Identifier: Apache-2.0
"""A model that Orthant exported, in plain PyTorch, written as the definitions of its attentions and not for speed.

Every attention is a map of m x n weights or a loop over tokens. Generation keeps keys and values of the tokens that
were read, or where an attention of the model has another state reads the whole text again for each token. Rows of a
batch may be padded on either side: a token's position is its place among the tokens of its row. Dropout is not applied.
Letters: B rows, m tokens that are read, n tokens that have been read with them, D model width, H heads of a group, N of
them with keys and values of their own, K and V widths of a head, r features."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from transformers import PreTrainedModel
from transformers.generation import GenerationMixin
from transformers.modeling_outputs import (
    BaseModelOutput,
    CausalLMOutputWithPast,
    MaskedLMOutput,
    Seq2SeqLMOutput,
    SequenceClassifierOutput,
)

from .configuration_orthant import OrthantConfig

CACHE = "cache" if hasattr(CausalLMOutputWithPast, "cache") else "past_key_values"  # its name in transformers


def add_tensor(module, name, shape, trained):
    """A parameter, or where it is frozen a buffer, under its dotted name, in modules that are made for it."""
    first, _, rest = name.partition(".")
    if not rest and trained:
        module.register_parameter(first, nn.Parameter(torch.empty(shape)))
        return
    if not rest:
        module.register_buffer(first, torch.empty(shape))
        return
    if first not in module._modules:
        module.add_module(first, Tensors())
    add_tensor(module._modules[first], rest, shape, trained)


def module_at(module, path):
    for part in path.split("."):
        module = module._modules.get(part, NOTHING)
    return module


def tensor_at(module, name):
    path, _, last = name.rpartition(".")
    module = module_at(module, path) if path else module
    return module._parameters.get(last, module._buffers.get(last))


class Tensors(nn.Module):
    """Tensors under the names of the file: tensors("query.weight"), or None where there is none."""

    main_input_name = "input_ids"  # generate reads it from what is named encoder

    def forward(self, name):
        return tensor_at(self, name)


NOTHING = Tensors()


def activation(name):
    return {
        "gelu": lambda x: F.gelu(x, approximate="tanh"),
        "gelu-exact": F.gelu,
        "relu": F.relu,
        "relu2": lambda x: F.relu(x).square(),
        "silu": F.silu,
        "tanh": torch.tanh,
    }[name]


def norm(x, kind, epsilon, weight, bias):
    """Over the last axis; weight and bias may be None."""
    if kind == "layer":
        x = x - x.mean(-1, keepdim=True)
    x = x / torch.sqrt(x.square().mean(-1, keepdim=True) + epsilon)
    x = x * weight if weight is not None else x
    return x + bias if bias is not None else x


def rotate(x, rotary, place):
    """x [B, H, m, K] at place [B or 1, m]; rotary: tables [N, turned / 2] of cosines and sines, and whether pairs are
    neighbours."""
    cosine, sine, neighbours = rotary
    half = cosine.shape[1]
    cosine, sine = cosine[place].unsqueeze(1), sine[place].unsqueeze(1)
    turned, rest = x[..., : 2 * half], x[..., 2 * half :]
    a, b = (turned[..., 0::2], turned[..., 1::2]) if neighbours else (turned[..., :half], turned[..., half:])
    a, b = a * cosine - b * sine, a * sine + b * cosine
    turned = torch.stack((a, b), -1).flatten(-2) if neighbours else torch.cat((a, b), -1)
    return torch.cat((turned, rest), -1)


def causal_convolution(x, taps):
    """x [B, n, C], taps [C, W]: sum over u of taps[:, u] x[t - W + 1 + u], then z sigmoid(z)."""
    width = taps.shape[1]
    z = F.conv1d(F.pad(x.transpose(1, 2), (width - 1, 0)), taps.unsqueeze(1), groups=taps.shape[0])
    return F.silu(z.transpose(1, 2))


class Cache:
    """What the next tokens need of those that were read: `rows`, of each name a tensor [B, heads, n, width], and which of
    the columns of input_ids are tokens (real [B, columns])."""

    is_compileable = is_croppable = False

    def __init__(self):
        self.rows, self.real = {}, None

    def get_seq_length(self, *ignored):
        return 0 if self.real is None else self.real.shape[1]

    def reorder_cache(self, beams):
        self.real = self.real.index_select(0, beams)
        self.rows = {name: rows.index_select(0, beams) for name, rows in self.rows.items()}


class Batch:
    """What all mechanisms of a stack read: tokens x [B, m, D] of a layer at `place` [B or 1, m] of their rows, 0 where
    `real` [B, m] is false. With them rows have `count` [B, 1] tokens, at most n."""

    def __init__(self, place, real, count, causal, cache, memory=None):
        """memory [B, n, D]: rows of another stack, of count tokens, to take keys and values from."""
        self.place, self.real, self.cache, self.memory = place, real, cache, memory
        self.n = max(int(count.max()), 1) if memory is None else memory.shape[1]
        self.x = self.rotary = None
        self.i, self.j = place[:, None, :, None], torch.arange(self.n, device=place.device).view(1, 1, 1, -1)
        self.real_keys = self.j[0, 0] < count  # [B, n]
        self.visible = real[:, None, :, None] & self.real_keys[:, None, None]  # [B, 1, m, n]
        if causal:
            self.visible = self.visible & (self.j <= self.i)

    def kept(self, name, make):
        """make(): rows [B, heads, m, width] of the tokens, put after those of the tokens before them; or of a memory,
        once. [B, heads, n, width]."""
        old = None if self.cache is None else self.cache.rows.get(name)
        if self.memory is not None and old is not None:
            return old
        rows = make()
        if self.cache is None:
            return rows
        if old is not None:  # rows of padding go to n, which is cut off
            at = torch.where(self.real, self.place, self.n)[:, None, :, None].expand_as(rows)
            room = rows.new_zeros(*rows.shape[:2], self.n + 1 - old.shape[2], rows.shape[3])
            rows = torch.cat((old, room), 2).scatter(2, at, rows)[:, :, : self.n]
        self.cache.rows[name] = rows
        return rows

    def rows_of(self, table, block=1):
        """Rows of a table [H, N, ...] for the blocks of queries: [B or 1, H, m, ...]."""
        return table[:, self.place // block].transpose(0, 1)


def tokens_first(real):
    """Of rows with padding on either side the columns of the tokens, in order [B, m], which of these are tokens [B, m], and
    how many [B, 1]."""
    count, first = real.sum(1, keepdim=True), real.int().argmax(1, keepdim=True)
    column = torch.arange(max(int(count.max()), 1), device=real.device)[None, :]
    return (column + first).clamp(max=real.shape[1] - 1), column < count, count


class Mechanism:
    """A group of heads. `heads(b)` is its output [B, H, m, V]; `t` has its tensors."""

    def __init__(self, t, group, stack, model):
        self.t, self.options, self.stack, self.path = t, group["options"], stack, group["tensors"]
        self.blocks = model.config.blocks
        self.named = lambda key: model.tensor(group[key])  # tensors that layers share
        self.H, self.N, self.first = group["heads"], group["key_heads"], group["first_head"]
        self.causal = stack.causal

    def option(self, key):
        return self.options.get(key)

    def is_cached(self):
        """Keys and values (Batch.kept) are all that later tokens need of earlier ones."""
        return True

    def kept(self, b, name, make):
        return b.kept(f"{self.path}.{name}", make)

    def read(self, b, name):
        """Rows that keys and values are made of, projected."""
        return F.linear(b.x if b.memory is None else b.memory, self.t(name + ".weight"), self.t(name + ".bias"))

    def split(self, rows, heads):
        """[B, n, heads * width] to [B, heads, n, width]."""
        return rows.unflatten(-1, (heads, -1)).transpose(1, 2)

    def shared(self, rows):
        """Rows of N heads for the H heads that read them."""
        return rows.repeat_interleave(self.H // rows.shape[1], 1)

    def values(self, b):
        def make():
            rows = self.read(b, "value")
            if self.t("value.conv") is not None:
                rows = causal_convolution(rows, self.t("value.conv"))
            return self.split(rows, self.N)

        return self.shared(self.kept(b, "value", make))

    def head_norm(self, rows, gain):
        """qknorm of rows [B, heads, n, K]."""
        kind, epsilon = self.option("qknorm") or "none", self.blocks["qknorm_epsilon"]
        if kind == "none":
            return rows
        if kind == "joint":
            size = rows.square().mean((1, 3), keepdim=True)
            return rows / torch.sqrt(size + epsilon) * gain.view(1, rows.shape[1], 1, -1)
        if kind == "unit":
            return rows / torch.sqrt(rows.square().sum(-1, keepdim=True) + epsilon)
        return norm(rows, kind, epsilon, gain, None)

    def project(self, b, part="", turn=True):
        """Queries [B, H, m, K] and keys [B, H, n, K]; part: "global." of longformer."""
        t = self.t
        scale = math.sqrt(b.x.shape[-1] / (t(part + "query.weight").shape[0] // self.H))
        turn = turn and b.rotary is not None

        def finished(rows):
            rows = rows * scale if self.option("scale") == "jl" else rows
            return rotate(rows, b.rotary, b.place) if turn else rows

        def keys():
            k = self.read(b, part + ("query" if self.option("tie") else "key"))
            k = causal_convolution(k, t("key.conv")) if t("key.conv") is not None else k
            return finished(self.head_norm(self.split(k, self.N), t("key.norm.weight")))

        q = F.linear(b.x, t(part + "query.weight"), t(part + "query.bias"))
        q = causal_convolution(q, t("query.conv")) if t("query.conv") is not None else q
        q = self.head_norm(self.split(q, self.H), t("query.norm.weight"))
        if t("query.temperature") is not None:
            q = q * t("query.temperature")[:, None, None]
        if t("query.diagonal") is not None:
            q = q * t("query.diagonal")[:, None, :]
        return finished(q), self.shared(self.kept(b, part + "key", keys))

    def gated(self, b, o):
        """o [B, H, m, V] times the gates of the tokens."""
        weight = self.t("gate.weight")
        if weight is None:
            return o
        z = self.split(F.linear(b.x, weight, self.t("gate.bias")), self.H)
        return o * (F.silu(z) if self.option("gate") == "swish" else torch.sigmoid(z))

    def __call__(self, b):
        return self.gated(b, self.heads(b)).transpose(1, 2).flatten(2)


# ---- weights that are made of logits ----


class Logits(Mechanism):
    """Logits [B or 1, H, m, n] become weights of the visible keys; `support`: which keys a mechanism leaves."""

    def support(self, b):
        return None

    def heads(self, b):
        return self.weights(b, self.scores(b), self.seen(b)) @ self.values(b)

    def seen(self, b):
        support = self.support(b)
        return b.visible if support is None else b.visible & support

    def weights(self, b, s, seen):
        kind = self.option("normalise") or "softmax"
        s, seen = torch.broadcast_tensors(self.changed(b, s), seen)
        if kind == "sigmoid":
            count = seen.sum(-1, keepdim=True).clamp(min=1).to(s.dtype)
            return torch.where(seen, torch.sigmoid(s - torch.log(count)), torch.zeros_like(s))
        if kind in ("sparsemax", "entmax"):
            return self.thresholded(s, seen, kind == "entmax")
        lowest = torch.full_like(s, -math.inf)
        masked = torch.where(seen, s, lowest)
        top = masked.amax(-1, keepdim=True)
        sink = self.t("sink.logit")
        if sink is not None:
            top = torch.maximum(top, sink[:, None, None].expand_as(top))
        top = torch.where(torch.isfinite(top), top, torch.zeros_like(top))
        e = torch.where(seen, torch.exp(s - top), torch.zeros_like(s))
        total = e.sum(-1, keepdim=True)
        if sink is not None:
            total = total + torch.exp(sink[:, None, None] - top)
        return e / torch.where(total > 0, total, torch.ones_like(total))

    def changed(self, b, s):
        """Forget gates, relative positions and the cap."""
        if self.t("forget.weight") is not None:
            gates = F.logsigmoid(self.read(b, "forget")).transpose(1, 2)[..., None]
            total = self.kept(b, "forget", lambda: gates).cumsum(2)  # [B, H, n, 1]
            at = b.place[:, None, :, None].expand(len(total), self.H, -1, -1)
            s = s + (total.gather(2, at) - total.transpose(2, 3))
        s = s + self.relative(b, s)
        cap = self.blocks["logit_cap"]
        return cap * torch.tanh(s / cap) if cap else s

    def relative(self, b, s):
        kind, H = self.option("relative") or "none", self.H
        if kind == "none":
            return 0
        if kind == "alibi":
            power = 2 ** math.floor(math.log2(H))
            slopes = [2 ** (-8 * h / power) for h in range(1, power + 1)]
            slopes += [2 ** (-8 * h / (2 * power)) for h in range(1, 2 * power + 1, 2)]
            slopes = torch.tensor(slopes[:H], dtype=torch.float64, device=s.device)
            return (-slopes[:, None, None] * (b.i - b.j).abs()).to(s.dtype)
        return F.embedding(self.buckets(b.j - b.i)[:, 0], self.named("relative_bias").T).permute(0, 3, 1, 2)

    def buckets(self, distance):
        """Raffel et al. 2020."""
        count, first = self.option("buckets"), torch.zeros_like(distance)
        if not self.causal:
            count //= 2
            first = torch.where(distance > 0, count, 0)
            distance = distance.abs()
        else:
            distance = (-distance).clamp(min=0)
        exact = count // 2
        steps = torch.log(distance.clamp(min=1).double() / exact) / math.log(self.option("distance") / exact)
        far = (exact + (steps * (count - exact) + 1e-9).long()).clamp(max=count - 1)
        return first + torch.where(distance < exact, distance, far)

    def thresholded(self, s, seen, entmax):
        """max(0, s - tau) of sparsemax, max(0, s / 2 - tau)^2 of entmax (alpha = 1.5); tau >= the largest less 1."""
        x = s / 2 if entmax else s
        top = torch.where(seen, x, torch.full_like(x, -math.inf)).amax(-1, keepdim=True)
        top = torch.where(torch.isfinite(top), top, torch.zeros_like(top))
        x = torch.where(seen, x - top, torch.full_like(x, -2)).clamp(min=-2)
        order = x.sort(-1, descending=True).values
        k = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype, device=x.device)
        mean = order.cumsum(-1) / k
        if entmax:
            spread = k * (order.square().cumsum(-1) / k - mean.square())
            tau = mean - torch.sqrt(((1 - spread) / k).clamp(min=0))
        else:
            tau = mean - 1 / k
        size = ((order > tau) if not entmax else (order >= tau)).sum(-1, keepdim=True).clamp(min=1)
        weights = (x - tau.gather(-1, size - 1)).clamp(min=0)
        return torch.where(seen, weights.square() if entmax else weights, torch.zeros_like(weights))


class Softmax(Logits):
    def scores(self, b, part=""):
        q, k = self.project(b, part)
        return q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])


class Orthogonal(Softmax):
    """Softmax with frozen projections, which are in the file."""


class Local(Softmax):
    def support(self, b):
        w, dilation = self.option("window"), self.option("dilation")
        offset = b.i - b.j
        steps = torch.div(offset, dilation, rounding_mode="trunc")
        return (offset % dilation == 0) & (steps <= (w - 1 if self.causal else w)) & (steps >= -w)


class BlockLocal(Softmax):
    def support(self, b):
        return b.i // self.option("size") == b.j // self.option("size")


def key_sets(i, j, kind, stride, summary):
    """Sparse Transformer: the near and the far keys of each query, symmetric."""
    late, early = torch.maximum(i, j), torch.minimum(i, j)
    if kind == "strided":
        return late - early < stride, (late - early) % stride == 0
    return late // stride == early // stride, early % stride >= stride - min(summary, stride)


class Sparse(Softmax):
    def support(self, b):
        stride = self.option("stride") or math.isqrt(self.stack.length - 1) + 1
        near, far = key_sets(b.i, b.j, self.option("kind"), stride, self.option("summary"))
        if self.option("heads") == "merged":
            return near | far
        return torch.cat([far if h % 2 else near for h in range(self.H)], 1)


class BlockSparse(Softmax):
    """Blocks are on by block.layout [H, blocks, blocks], or where any pair of tokens in them is in the sets of `sparse`
    or in a window of a block."""

    def support(self, b):
        block, layout = self.option("block"), self.t("block.layout")
        if layout is None:
            layout = self.pooled(b.x.device, block)[None]
        return b.rows_of(layout, block)[..., b.j.flatten() // block] != 0

    def pooled(self, device, block):
        length, kind = self.stack.length, self.option("from")
        place = torch.arange(length, device=device)
        i, j = place[:, None], place[None, :]
        if kind == "local":
            on = (i - j).abs() < (block if self.causal else block + 1)
        else:
            near, far = key_sets(i, j, kind, math.isqrt(length - 1) + 1, 1)
            on = near | far
        return F.max_pool2d(on[None].float(), block, ceil_mode=True)[0]


class BigBird(BlockSparse):
    """Window, random and global blocks are in block.layout."""


class Longformer(Softmax):
    """The first tokens are global, with projections of their own unless `shared`."""

    def support(self, b):
        w, g, offset = self.option("window"), self.option("global"), b.i - b.j
        near = (offset <= (w - 1 if self.causal else w)) & (offset >= -w)
        return near | (b.j < g) | (b.i < g)

    def heads(self, b):
        o = super().heads(b)
        if self.option("shared") or self.option("global") == 0:
            return o
        own = self.weights(b, self.scores(b, "global."), b.visible)
        v = self.kept(b, "global.value", lambda: self.split(self.read(b, "global.value"), self.H))
        return torch.where(b.i < self.option("global"), own @ v, o)


class Dense(Logits):
    def inputs(self, b, width):
        """[B, H, m, in]: all of x, or the channels at the head's number in the layer."""
        if self.option("input") == "full":
            return b.x.unsqueeze(1)
        first = self.first * width
        return self.split(b.x[..., first : first + self.H * width], self.H)

    def scores(self, b):
        w, bias = self.t("dense.hidden.weight"), self.t("dense.hidden.bias")
        h = self.inputs(b, w.shape[-1]) @ w.transpose(-1, -2)
        h = F.relu(h + bias[:, None, :] if bias is not None else h)
        w, bias = self.t("dense.logits.weight"), self.t("dense.logits.bias")
        s = h @ w[..., : b.n, :].transpose(-1, -2)
        return s + bias[..., None, : b.n] if bias is not None else s


class FactorizedDense(Dense):
    def scores(self, b):
        wa, wb = self.t("dense.a.weight"), self.t("dense.b.weight")
        x, j = self.inputs(b, wa.shape[-1]), b.j.flatten()
        left, right = x @ wa.transpose(-1, -2), x @ wb.transpose(-1, -2)
        return left[..., j % wa.shape[1]] * right[..., j // wa.shape[1]]


class Random(Logits):
    def scores(self, b):
        return b.rows_of(self.t("random.logits"))[..., : b.n]


class FactorizedRandom(Logits):
    def scores(self, b):
        return b.rows_of(self.t("random.left")) @ self.t("random.right")[:, : b.n].transpose(-1, -2)


class Mix(Logits):
    """Logits of the components, weighted, before one softmax."""

    def __init__(self, t, group, stack, model):
        super().__init__(t, group, stack, model)
        self.components = [
            MECHANISMS[c["mechanism"]](module_at(t, f"mix.{i}"), c, stack, model)
            for i, c in enumerate(group["components"])
        ]

    def is_cached(self):
        return all(c.is_cached() for c in self.components)

    def scores(self, b):
        theta, kind = self.t("mix.theta"), self.option("alpha")
        if kind == "softmax":
            alpha = theta.softmax(-1).T[:, :, None, None]  # [C, H, 1, 1]
        elif kind == "sigmoid":
            alpha = (1 - torch.sigmoid(theta[0]), torch.sigmoid(theta[0]))
        else:
            alpha = self.option("weights") if kind == "fixed" else [1] * len(self.components)
        return sum(a * c.scores(b) for a, c in zip(alpha, self.components))


class Linformer(Softmax):
    def heads(self, b):
        q, k = self.project(b)
        e = self.t("length.key")
        f = self.t("length.value") if self.t("length.value") is not None else e
        real = b.real_keys[:, None, :, None]
        k, v = torch.where(real, k, torch.zeros_like(k)), self.values(b)
        v = torch.where(real, v, torch.zeros_like(v))
        k, v = e[..., : b.n, :].transpose(-1, -2) @ k, f[..., : b.n, :].transpose(-1, -2) @ v
        return (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1) @ v


# ---- weights that are divided by their sum ----


class Kernel(Mechanism):
    """`kernel(b)`: the weights [B, H, m, n] before they are divided by guard(their sum over visible keys)."""

    def guard(self, den):
        return den

    def heads(self, b):
        w = self.kernel(b)
        w = torch.where(b.visible, w, torch.zeros_like(w))
        den = self.guard(w.sum(-1, keepdim=True))
        zero = den == 0
        w = torch.where(zero, torch.zeros_like(w), w / torch.where(zero, torch.ones_like(den), den))
        return w @ self.values(b)


def away_from_zero(den, least):
    return torch.where(den < 0, den.clamp(max=-least), den.clamp(min=least))


class Cosformer(Kernel):
    def guard(self, den):
        return den.clamp(min=1e-6)

    def kernel(self, b):
        q, k = self.project(b)
        limit = self.option("length") or self.stack.length
        if b.n > limit:
            raise ValueError(f"cosformer was made for at most {limit} tokens; there are {b.n}")
        angle = torch.cos(math.pi * (b.i - b.j).double() / (2 * limit)).to(q.dtype)
        return F.relu(q) @ F.relu(k).transpose(-1, -2) * angle


class Polynomial(Kernel):
    def guard(self, den):
        return den + self.option("bias")

    def kernel(self, b):
        q, k = self.project(b)
        return (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])) ** self.option("degree")


class Taylor(Kernel):
    """Queries and keys do not turn with positions."""

    def kernel(self, b):
        q, k = self.project(b, turn=False)
        s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        return 1 + s + s.square() / 2


class Polysketch(Kernel):
    def kernel(self, b):
        one, two = self.t("features.sketch")
        q, k = (norm(x, "layer", 1e-5, None, None) for x in self.project(b))
        q, k = ((x @ one) * (x @ two) / math.sqrt(one.shape[1]) for x in (q, k))
        return (q @ k.transpose(-1, -2)).square()


def symmetric(matrix, function):
    """Q f(l) Q^T of a symmetric matrix Q diag(l) Q^T."""
    values, q = torch.linalg.eigh(matrix)
    return (q * function(values).unsqueeze(-2)) @ q.transpose(-1, -2)


def best_a(phi):
    """The minimiser of the mean logarithm of the variance (Likhosherstov et al. 2022, 2023)."""
    phi = phi.clamp(min=0)
    return (1 - 2 * phi - torch.sqrt(4 * phi.square() + 12 * phi + 1)) / 16


def best_factor(phi):
    return torch.sqrt(1 - 4 * best_a(phi))


def fit_features(kind, mean, square):
    """A, B_1, B_2, P_1, P_2 [.., K, K] of log f(w, x) = w A w + w B x - x P x / 2 by the moments of queries and keys:
    mean two [.., K], square two [.., K, K]."""
    (m1, m2), (one, two) = mean, square
    width, identity = m1.shape[-1], torch.eye(m1.shape[-1], dtype=m1.dtype, device=m1.device)

    def trace(x):
        return x.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]

    dot = (m1 * m2).sum(-1)[..., None, None]
    if kind == "sderf":
        cross = m1.unsqueeze(-1) * m2.unsqueeze(-2)
        total = one + two + cross + cross.transpose(-1, -2)
        b = symmetric(total, best_factor)
        return symmetric(total, best_a), b, b, identity, identity
    if kind == "aderf":
        one, two = (x + 1e-6 * trace(x) / width * identity for x in (one, two))
        root = symmetric(one, lambda x: x.clamp(min=0).sqrt())
        inverse = symmetric(one, lambda x: x.clamp(min=1e-300).rsqrt())
        r = symmetric(root @ two @ root, lambda x: x.clamp(min=0).sqrt())
        g, phi = inverse @ r @ inverse, 2 * (trace(r) + dot) / width
        powers = [symmetric(g, lambda x, p=p: x.clamp(min=1e-300) ** p) for p in (0.5, -0.5, 1, -1)]
        b, p = [best_factor(phi) * x for x in powers[:2]], powers[2:]
    elif kind == "saderf":
        one, two = one.diagonal(dim1=-2, dim2=-1), two.diagonal(dim1=-2, dim2=-1)
        phi = 2 * (torch.sqrt(one * two).sum(-1)[..., None, None] + dot) / width
        ratio = torch.where(one > 0, two / one, 1e12)
        psi = (ratio**0.25).clamp(1e-3, 1e3).diag_embed()
        back = torch.where(identity > 0, 1 / psi, 0)
        b, p = (best_factor(phi) * psi, best_factor(phi) * back), (psi.square(), back.square())
    else:
        phi = (trace(one) + trace(two) + 2 * dot) / width
        b, p = [best_factor(phi) * identity] * 2, [identity] * 2
    return best_a(phi) * identity, *b, *p


class Performer(Kernel):
    """Random features; exponents are relative to the largest of the row of queries, and of the visible keys. favor++,
    sderf, aderf and saderf are fitted to the moments in the file, or without such to those of the tokens."""

    def moments(self, b, rows):
        """Of queries and keys, stacked: mean [2, B or 1, H, K] and square [2, B or 1, H, K, K]."""
        mean, square = self.t("features.mean"), self.t("features.square")
        if mean is not None:
            return mean.double()[:, None], square.double()[:, None]
        real = b.real[:, None, :, None].double()
        count = real.sum(2).clamp(min=1)
        rows = torch.stack(rows).detach().double() * real
        return rows.sum(3) / count, rows.transpose(-1, -2) @ rows / count.unsqueeze(-1)

    def fitted(self, b, q, k, omega):
        """Exponents of queries and keys, and x P x / 2 of keys."""
        mean, square = self.moments(b, (q, k))
        fits = zip(fit_features("favor++", mean, square), fit_features(self.option("kernel"), mean, square))
        real = (square.diagonal(dim1=-2, dim2=-1).sum(-1) > 0).all(0)[..., None, None]
        a, *others = (torch.where(real, own, plain) for plain, own in fits)
        bias = ((omega.double() @ a) * omega.double()).sum(-1).to(q.dtype)
        (turn_q, turn_k), metric = ((omega.double() @ m).to(q.dtype) for m in others[:2]), others[3].to(q.dtype)
        u, w = (x @ turn.transpose(-1, -2) + bias.unsqueeze(-2) for x, turn in ((q, turn_q), (k, turn_k)))
        return u, w, ((k @ metric) * k).sum(-1, keepdim=True) / 2

    def guard(self, den):
        return away_from_zero(den, 1e-6) if self.option("kernel") == "trig" else den.clamp(min=1e-30)

    def kernel(self, b):
        q, k = self.project(b)
        omega, kind = self.t("features.omega"), self.option("kernel")
        q, k = q / q.shape[-1] ** 0.25, k / k.shape[-1] ** 0.25
        u, w, count = q @ omega.T, k @ omega.T, omega.shape[0]
        half_q, half_k = q.square().sum(-1, keepdim=True) / 2, k.square().sum(-1, keepdim=True) / 2
        if kind in ("favor++", "sderf", "aderf", "saderf"):
            u, w, half_k = self.fitted(b, q, k, omega)
        if kind == "relu":
            u, w = (F.relu(x) / math.sqrt(count) + 1e-3 for x in (u, w))
            return u @ w.transpose(-1, -2)
        if kind == "trig":
            u, w = (torch.cat((x.cos(), x.sin()), -1) * torch.exp(h) for x, h in ((u, half_q), (w, half_k)))
            return u @ w.transpose(-1, -2) / count
        if kind == "hyperbolic":
            u, w = torch.cat((u, -u), -1), torch.cat((w, -w), -1)
        top_k = w.amax(-1, keepdim=True)
        products = torch.exp(u - u.amax(-1, keepdim=True)) @ torch.exp(w - top_k).transpose(-1, -2)
        scale = (top_k - half_k).transpose(-1, -2).expand(-1, -1, u.shape[2], -1)
        scale = torch.where(b.visible, scale, torch.full_like(scale, -math.inf))
        top = scale.amax(-1, keepdim=True)
        return products * torch.exp(scale - torch.where(torch.isfinite(top), top, torch.zeros_like(top)))


# ---- sums over keys as a state ----


class Linear(Kernel):
    def is_cached(self):
        return not self.option("conv") and not self.is_recurrent()

    def is_recurrent(self):
        return self.normalises() and (self.option("decay") != "none" or self.option("update") != "sum")

    def normalises(self):
        """Without a denominator, and with a norm of the output."""
        return self.t("output.norm.weight") is not None

    def guard(self, den):
        if self.option("map") in ("cos", "power"):
            return away_from_zero(den, 1e-6)
        return den + 1e-6

    def features(self, x, weights):
        kind = self.option("map")
        if kind == "elu":
            return F.elu(x) + 1
        if kind == "relu":
            return F.relu(x)
        if kind == "cos":
            return x.cos()
        if kind == "power":
            return torch.cat([x**p for p in range(1, self.option("degree") + 1)], -1)
        if kind == "unit":
            x = x if self.option("conv") else F.silu(x)
            return x / torch.sqrt(x.square().sum(-1, keepdim=True) + 1e-6)
        if kind == "hedgehog":
            y = x @ self.shared(weights.unsqueeze(0)).transpose(-1, -2)
            return torch.cat((y.softmax(-1), (-y).softmax(-1)), -1)
        return x

    def mapped(self, b):
        q, k = self.project(b)
        return self.features(q, self.t("query.map")), self.features(k, self.t("key.map")), q.shape[-1]

    def kernel(self, b):
        q, k, _ = self.mapped(b)
        return q @ k.transpose(-1, -2)

    def decay(self, b, width):
        """Logarithms [B, n, H, width or 1] of what the state is multiplied by before each token."""
        t, kind = self.t, self.option("decay")
        if kind == "fixed":
            h = torch.arange(self.H, dtype=torch.float64, device=b.x.device)
            return torch.log1p(-(2 ** (-5 - h))).to(b.x.dtype)[None, None, :, None].expand(*b.x.shape[:2], -1, 1)
        if kind == "head":
            z = F.linear(b.x, t("decay.weight"), t("decay.bias"))
            return (-torch.exp(t("decay.rate")) * F.softplus(z)).unsqueeze(-1)
        if kind == "channel":
            z = F.linear(F.linear(b.x, t("decay.in.weight")), t("decay.out.weight"), t("decay.bias"))
            return (F.logsigmoid(z) / 16).unflatten(-1, (self.H, width))
        return None

    def recurrent(self, b):
        """Token by token: S [B, H, r, V]."""
        q, k, width = self.mapped(b)
        v, decay, o = self.values(b), self.decay(b, width), []
        beta = self.t("beta.weight")
        if beta is not None:
            beta = torch.sigmoid(F.linear(b.x, beta, self.t("beta.bias")))
        state = q.new_zeros(*k.shape[:2], k.shape[3], v.shape[3])
        for i in range(b.n):
            if decay is not None:
                state = state * torch.exp(decay[:, i])[..., None]
            new = v[:, :, i]
            if beta is not None:
                new = beta[:, i, :, None] * (new - (k[:, :, i, None] @ state).squeeze(2))
            state = state + k[:, :, i, :, None] * new[:, :, None, :]
            o.append((q[:, :, i, None] @ state).squeeze(2))
        return torch.stack(o, 2) / math.sqrt(width)

    def heads(self, b):
        if not self.normalises():
            return super().heads(b)
        if self.is_recurrent():
            o = self.recurrent(b)
        else:
            q, k, width = self.mapped(b)
            w = q @ k.transpose(-1, -2)
            o = torch.where(b.visible, w, torch.zeros_like(w)) @ self.values(b) / math.sqrt(width)
        return norm(o, "rms", 1e-5, self.t("output.norm.weight"), None)


# ---- weights that are given ----


class Pattern(Mechanism):
    def heads(self, b):
        kind, edge = self.option("kind"), self.option("edge")
        i, j = b.i.double(), b.j.double()
        n = i + 1 if self.causal else b.real.sum(1).view(-1, 1, 1, 1).double()  # [B or 1, 1, m or 1, 1]
        term = {
            "current": j == i,
            "previous": j == i - 1,
            "next": j == i + 1,
            "last": j == n - 1,
            "left": (j + 1) ** 3 * (j <= i - 2),
            "right": (n - j) ** 3 * (j >= i + 2),
            "end": (j + 1) ** 3 + 0 * n,
            "start": (n - j) ** 3,
        }[kind]
        term = torch.where(j < n, term.double(), 0.0)
        total = term.sum(-1, keepdim=True)
        target = i if edge == "self" else torch.full_like(i, -1)
        if edge == "clamp":
            target = torch.zeros_like(i) if kind in ("previous", "left") else n - 1
        w = torch.where(total > 0, term / total.clamp(min=1), (j == target).double())
        w = torch.where(b.visible, w, 0.0)
        return w.to(b.x.dtype) @ self.values(b)


class Gaussian(Mechanism):
    def heads(self, b):
        sigma = self.option("sigma")
        s = -((b.j - b.i).double() - self.option("offset")).square() / (2 * sigma**2)
        if self.option("renormalise"):
            s = torch.where(b.visible, s, -math.inf)
            w = torch.where(b.visible, s.softmax(-1), 0.0)
        else:
            w = torch.where(b.visible, torch.exp(s) / (sigma * math.sqrt(2 * math.pi)), 0.0)
        return w.to(b.x.dtype) @ self.values(b)


class LightConv(Mechanism):
    def filters(self, u):
        """Logits [B or 1, H, m or 1, W]."""
        return self.t("conv.kernel")[None, :, None, :]

    def heads(self, b):
        u = F.linear(b.x, self.t("conv.input.weight"))
        if self.option("glu"):
            u, gate = u.chunk(2, -1)
            u = u * torch.sigmoid(gate)
        logits, width = self.filters(u), self.option("width")
        u = self.kept(b, "value", lambda: self.split(u, self.H))
        tap = b.j - b.i + (width - 1 if self.causal else width // 2)  # of key j for query i
        inside = b.visible & (tap >= 0) & (tap < width)
        logits = logits.expand(len(b.x), -1, b.x.shape[1], -1)
        index = tap.clamp(0, width - 1).expand(*logits.shape[:2], -1, -1)
        e = torch.exp(logits - logits.amax(-1, keepdim=True))
        w = torch.where(inside, e.gather(-1, index), torch.zeros_like(index, dtype=e.dtype))
        total = w.sum(-1, keepdim=True) if self.option("renormalise") else e.sum(-1, keepdim=True)
        return w / torch.where(total > 0, total, torch.ones_like(total)) @ u


class DynamicConv(LightConv):
    def filters(self, u):
        return self.split(F.linear(u, self.t("conv.filter.weight")), self.H)


class Mixer(Mechanism):
    def is_cached(self):
        return False

    def heads(self, b):
        t, hidden = self.t, self.t("mixer.in.weight").shape[0]
        if t("value.weight") is not None:
            x = self.values(b)
        else:
            width = b.x.shape[-1] // self.stack.heads
            x = self.split(b.x[..., self.first * width : (self.first + self.H) * width], self.H)
        x = torch.where(b.real[:, None, :, None], x, torch.zeros_like(x))
        into, out = t("mixer.in.weight")[:, : b.n], t("mixer.out.weight")[: b.n]
        if self.causal:
            length = self.stack.length
            time = torch.arange(hidden, device=x.device) * length // hidden
            into = torch.where(b.j <= time[:, None], into, torch.zeros_like(into))
            out = torch.where(time[None, :] <= b.i, out, torch.zeros_like(out))
        h = F.gelu(into @ x + t("mixer.in.bias")[:, None])
        return out @ h + t("mixer.out.bias")[: b.n, None]


MECHANISMS = {
    "softmax": Softmax,
    "orthogonal": Orthogonal,
    "dense": Dense,
    "random": Random,
    "factorized-dense": FactorizedDense,
    "factorized-random": FactorizedRandom,
    "mix": Mix,
    "pattern": Pattern,
    "gaussian": Gaussian,
    "lightconv": LightConv,
    "dynamicconv": DynamicConv,
    "linear": Linear,
    "cosformer": Cosformer,
    "polynomial": Polynomial,
    "taylor": Taylor,
    "polysketch": Polysketch,
    "performer": Performer,
    "local": Local,
    "block-local": BlockLocal,
    "sparse": Sparse,
    "block-sparse": BlockSparse,
    "longformer": Longformer,
    "bigbird": BigBird,
    "linformer": Linformer,
    "mixer": Mixer,
}


# ---- models ----


class Stack:
    """An encoder or a decoder: layers of which each has groups of heads for "attention" and maybe "cross_attention"."""

    def __init__(self, role, causal, length, heads):
        self.role, self.causal, self.length, self.heads, self.layers = role, causal, length, heads, []
        self.prefix = ""  # of the names of its positions


class OrthantModel(PreTrainedModel):
    """Embeddings, blocks and the last norm. Its tensors have the names that they have in Orthant."""

    config_class = OrthantConfig
    base_model_prefix = "orthant"
    _keep_in_fp32_modules = None

    def __init__(self, config):
        super().__init__(config)
        frozen = set(config.frozen)
        for name, shape in config.tensors.items():
            add_tensor(self, name, shape, name not in frozen)
        self.stack = Stack(
            "decoder" if config.causal else "encoder",
            config.causal,
            config.max_position_embeddings,
            config.num_attention_heads,
        )
        self.add_layers(self.stack, "attention", config.layers)
        self.post_init()

    def add_layers(self, stack, name, layers):
        whole = stack if name == "attention" else Stack(stack.role, False, stack.length, stack.heads)
        stack.layers = stack.layers or [{} for _ in layers]
        for layer, groups in zip(stack.layers, layers):
            layer[name] = [MECHANISMS[g["mechanism"]](module_at(self, g["tensors"]), g, whole, self) for g in groups]
        stack.is_cached = all(g.is_cached() for layer in stack.layers for g in layer["attention"])

    def _init_weights(self, module):
        pass  # every tensor is in the file

    def get_input_embeddings(self):
        return None

    def tensor(self, name):
        return tensor_at(self, name)

    def norm(self, x, path):
        """A norm of the model; where the model has no gain there is no tensor."""
        blocks = self.config.blocks
        weight, bias = self.tensor(path + ".weight"), self.tensor(path + ".bias")
        return norm(x, blocks["norm_kind"], blocks["norm_epsilon"], weight, bias)

    def linear(self, x, name):
        return F.linear(x, self.tensor(name + ".weight"), self.tensor(name + ".bias"))

    def angles(self, stack, layer):
        local = all(isinstance(g, Local) for g in stack.layers[layer]["attention"])
        name = stack.prefix + "rotary"
        name += ".local" if local and self.tensor(name + ".local.cosine") is not None else ""
        cosine = self.tensor(name + ".cosine")
        if cosine is None:
            return None
        return cosine, self.tensor(name + ".sine"), self.config.blocks["rotary_pairing"] == "interleaved"

    def attend(self, x, stack, layer, name, b):
        b.x = torch.where(b.real[..., None], x, torch.zeros_like(x))
        b.rotary = self.angles(stack, layer) if name == "attention" else None
        heads = torch.cat([group(b) for group in stack.layers[layer][name]], -1)
        y = self.linear(heads, f"{stack.role}.layers.{layer}.{name}.output")
        return torch.where(b.real[..., None], y, torch.zeros_like(y))

    def feed_forward(self, x, path):
        at, f = path + ".ffn.", activation(self.config.blocks["activation"])
        h = self.linear(x, at + "in")
        h = f(self.linear(x, at + "gate")) * h if self.config.blocks["ffn_gate"] else f(h)
        return self.linear(h, at + "out")

    def block(self, x, stack, layer, b, across):
        blocks, path = self.config.blocks, f"{stack.role}.layers.{layer}"
        place, scale = blocks["norm"], blocks["residual_scale"]

        def read(x, name):
            first = name == "attention_norm" and layer == 0 and not blocks["first_norm"]
            return x if first or place not in ("pre", "both") else self.norm(x, f"{path}.{name}")

        def add(x, branch, name):
            if place == "post":
                return self.norm(x + scale * branch, f"{path}.{name}")
            if place in ("both", "branch"):
                branch = self.norm(branch, f"{path}.{name}" + (".out" if place == "both" else ""))
            return x + scale * branch

        y = add(x, self.attend(read(x, "attention_norm"), stack, layer, "attention", b), "attention_norm")
        z = read(x, "ffn_norm") if blocks["parallel"] else None
        if across is not None:
            y = add(y, self.attend(read(y, "cross_norm"), stack, layer, "cross_attention", across), "cross_norm")
        z = read(y, "ffn_norm") if z is None else z
        return add(y, self.feed_forward(z, path), "ffn_norm")

    def which_are_real(self, input_ids, attention_mask, stack, cache):
        """Which columns are tokens [B, columns], those of the cache before those of input_ids."""
        past, real = (0 if cache is None else cache.get_seq_length()), attention_mask
        if real is None:
            real = torch.ones_like(input_ids, dtype=torch.bool)
            real = torch.cat((cache.real, real), 1) if past else real
        real, columns = real.bool(), past + input_ids.shape[1]
        if real.shape != (len(input_ids), columns):
            raise ValueError(f"attention_mask is {list(real.shape)} for {columns} columns of {len(input_ids)} rows")
        count, first = real.sum(1, keepdim=True), real.int().argmax(1, keepdim=True)
        place = torch.arange(columns, device=input_ids.device)[None, :]
        if not torch.equal(real, (place >= first) & (place < first + count)):
            raise ValueError("attention_mask has a gap in a row: padding is at the beginning or the end of a row only")
        if count.max() > stack.length:
            raise ValueError(f"the model reads at most {stack.length} tokens; a row has {int(count.max())}")
        return real

    def hidden(self, input_ids, attention_mask=None, token_type_ids=None, cache=None, stack=None, memory=None):
        """Hidden states [B, columns of input_ids, D], 0 at padding, and which of the columns are tokens. memory: hidden
        states [B, columns, D] of the source and which are tokens."""
        stack = stack or self.stack
        real = self.which_are_real(input_ids, attention_mask, stack, cache)
        past = real.shape[1] - input_ids.shape[1]
        start, new = real[:, :past].sum(1, keepdim=True), real[:, past:]
        at, inside, count = tokens_first(new)
        place = torch.arange(at.shape[1], device=at.device)[None, :]
        if past:
            place = (start + place).clamp(max=max(int((start + count).max()), 1) - 1)
        b, across = Batch(place, inside, start + count, stack.causal, cache), None
        if memory is not None:
            rows, _, sources = tokens_first(memory[1])
            rows = memory[0].gather(1, rows[..., None].expand(-1, -1, memory[0].shape[-1]))
            across = Batch(place, inside, sources, False, cache, rows)
        segments = None if token_type_ids is None else token_type_ids.gather(1, at)
        x = self.embed(input_ids.gather(1, at), place, segments, stack)
        for layer in range(len(stack.layers)):
            x = self.block(x, stack, layer, b, across)
        if self.config.blocks["norm"] != "post":
            x = self.norm(x, stack.role + ".norm")
        if cache is not None:
            cache.real = real
        column = torch.arange(input_ids.shape[1], device=at.device)[None, :]
        back = (column - at[:, :1]).clamp(0, at.shape[1] - 1)[..., None].expand(-1, -1, x.shape[-1])
        return torch.where(new[..., None], x.gather(1, back), 0.0), new

    def embed(self, ids, place, segments, stack):
        blocks, table, position = self.config.blocks, None, self.tensor(stack.prefix + "position.weight")
        if stack is not self.stack:
            table = self.tensor("source_embedding.weight")
        x = F.embedding(ids, self.tensor("embedding.weight") if table is None else table) * blocks["embedding_factor"]
        if position is not None:
            x = x + position[place]
        if self.tensor("segment.weight") is not None:
            x = x + F.embedding(torch.zeros_like(ids) if segments is None else segments, self.tensor("segment.weight"))
        return self.norm(x, stack.role + ".embedding_norm") if blocks["embedding_norm"] else x

    def before_output(self, x):
        """model.head and its norm, of tokens or of the pooled row."""
        blocks = self.config.blocks
        if self.tensor("head.weight") is None:
            return x
        x = activation(blocks["head"])(self.linear(x, "head"))
        if not blocks["head_norm"]:
            return x
        weight, bias = self.tensor("head.norm.weight"), self.tensor("head.norm.bias")
        return norm(x, blocks["norm_kind"], blocks["norm_epsilon"], weight, bias)

    def logits(self, x):
        weight, cap = self.tensor("output.weight"), self.config.blocks["output_cap"]
        weight = self.tensor("embedding.weight") if weight is None else weight
        x = F.linear(self.before_output(x), weight, self.tensor("output.bias"))
        return cap * torch.tanh(x / cap) if cap else x


class Writer(OrthantModel, GenerationMixin):
    """A model that generates."""

    @classmethod
    def _supports_default_dynamic_cache(cls):
        return False  # a Cache of this file

    @property
    def is_cached(self):
        return self.stack.is_cached

    def cache_of(self, given, use_cache):
        """The cache to read and to add to, or None."""
        if given is not None and not isinstance(given, Cache):
            raise ValueError("the cache must be one that this model has returned")
        return given if given is not None else Cache() if use_cache is not False and self.is_cached else None


class OrthantForCausalLM(Writer):
    def forward(self, input_ids=None, attention_mask=None, labels=None, use_cache=None, logits_to_keep=0, **others):
        cache = self.cache_of(others.get(CACHE), use_cache if labels is None else False)
        x, _ = self.hidden(input_ids, attention_mask, cache=cache)
        logits = self.logits(x[:, -logits_to_keep:] if logits_to_keep else x)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)
        return CausalLMOutputWithPast(loss=loss, logits=logits, **{CACHE: cache})

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, use_cache=None, **others):
        if attention_mask is not None and not bool(attention_mask[:, -1].all()):
            raise ValueError("a row ends with padding and cannot be continued: pad on the left (padding_side='left')")
        cache = others.get(CACHE)
        past = 0 if cache is None else cache.get_seq_length()
        return {
            "input_ids": input_ids[:, past:],
            "attention_mask": attention_mask,
            "use_cache": use_cache,
            CACHE: cache,
        }


class SourceEncoder:
    """What generate calls for the source."""

    def __init__(self, model):
        self.model = model

    def forward(self, input_ids=None, attention_mask=None):
        return BaseModelOutput(self.model.hidden(input_ids, attention_mask, stack=self.model.source)[0])

    def __call__(self, input_ids=None, attention_mask=None, **ignored):
        return self.forward(input_ids, attention_mask)


class OrthantForConditionalGeneration(Writer):
    """An encoder-decoder."""

    def __init__(self, config):
        super().__init__(config)
        self.source = Stack("encoder", False, config.max_source_positions, config.encoder_attention_heads)
        self.add_layers(self.source, "attention", config.encoder_layers)
        self.add_layers(self.stack, "cross_attention", config.cross_layers)
        self.source.prefix, self.stack.prefix = "encoder.", "decoder."

    def get_encoder(self, *ignored, **others):
        return SourceEncoder(self)

    def forward(
        self, input_ids=None, attention_mask=None, decoder_input_ids=None, decoder_attention_mask=None,
        encoder_outputs=None, labels=None, use_cache=None, **others
    ):  # fmt: skip
        cache = self.cache_of(others.get(CACHE), use_cache if labels is None else False)
        states = (encoder_outputs or self.get_encoder()(input_ids, attention_mask))[0]
        real = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
        real = real if attention_mask is None else attention_mask.bool()
        if decoder_input_ids is None:
            if labels is None:
                raise ValueError("decoder_input_ids or labels are needed besides input_ids")
            start = torch.full_like(labels[:, :1], self.config.decoder_start_token_id)
            decoder_input_ids = torch.cat((start, labels[:, :-1]), 1)
            decoder_input_ids = torch.where(decoder_input_ids < 0, start, decoder_input_ids)
        x, _ = self.hidden(decoder_input_ids, decoder_attention_mask, cache=cache, memory=(states, real))
        logits, loss = self.logits(x), None
        if labels is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        return Seq2SeqLMOutput(loss=loss, logits=logits, encoder_last_hidden_state=states, **{CACHE: cache})

    def prepare_inputs_for_generation(
        self, input_ids, attention_mask=None, encoder_outputs=None, decoder_attention_mask=None, use_cache=None, **others
    ):
        cache = others.get(CACHE)
        past = 0 if cache is None else cache.get_seq_length()
        return {
            "attention_mask": attention_mask,
            "encoder_outputs": encoder_outputs,
            "decoder_input_ids": input_ids[:, past:],
            "decoder_attention_mask": decoder_attention_mask,
            "use_cache": use_cache,
            CACHE: cache,
        }


class OrthantForMaskedLM(OrthantModel):
    def forward(self, input_ids=None, attention_mask=None, token_type_ids=None, labels=None, **ignored):
        logits = self.logits(self.hidden(input_ids, attention_mask, token_type_ids)[0])
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        return MaskedLMOutput(loss=loss, logits=logits)


class OrthantForSequenceClassification(OrthantModel):
    """Classes, or with one label a number."""

    def pool(self, x, real):
        kind, count = self.config.blocks["pool"], real.sum(1, keepdim=True)
        first = real.int().argmax(1)
        rows = torch.arange(x.shape[0], device=x.device)
        if kind == "cls":
            return x[rows, first]
        if kind == "last":
            return x[rows, first + count[:, 0].clamp(min=1) - 1]
        return x.sum(1) / count.clamp(min=1).to(x.dtype)

    def forward(self, input_ids=None, attention_mask=None, token_type_ids=None, labels=None, **ignored):
        x, real = self.hidden(input_ids, attention_mask, token_type_ids)
        logits = self.linear(self.before_output(self.pool(x, real)), "classifier")
        loss = None
        if labels is not None:
            one = logits.shape[-1] == 1
            loss = F.mse_loss(logits[:, 0], labels.to(logits.dtype)) if one else F.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)
