# SPDX-License-Identifier: Apache-2.0
"""Attention on given queries, keys and values in PyTorch, on the CPU."""
import functools
import os
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import torch
from torch import Tensor, library, nn

from . import _binding as binding
from . import _torch_passes
from ._library import Error
from .core import Core, check_padding

_DTYPES = {torch.float32: np.float32, torch.float64: np.float64, torch.bfloat16: "bfloat16"}


@functools.lru_cache(maxsize=64)
def _core(process, spec, heads, key_heads, head_width, value_width, context, causal, cross, dtype,
          seed, threads, logit_cap):
    return Core(spec, heads, head_width, context, key_heads, value_width, causal=causal,
                cross=cross, dtype=_DTYPES[dtype], seed=seed, threads=threads, logit_cap=logit_cap)


def _check_shapes(q, k, v):
    if (k[:3] != v[:3] or k[0] != q[0] or k[3] != q[3] or k[1] == 0 or q[1] % k[1]):
        raise Error("q, k and v have the shapes %s, %s and %s: give [batch, heads, queries, width], "
                    "[batch, key heads, keys, width] and [batch, key heads, keys, value width], heads "
                    "being a multiple of the key heads" % (list(q), list(k), list(v)),
                    binding.OA_SHAPE)


@functools.lru_cache(maxsize=64)
def _core_of(process, q, k, v, dtype, spec, causal, context, cross, seed, threads, logit_cap):
    _check_shapes(q, k, v)
    (_, heads, queries, width), (_, key_heads, keys, _) = q, k
    return _core(process, spec, heads, key_heads, width, v[3],
                 context or 1 << (max(queries, keys) - 1).bit_length(), causal,
                 not causal and queries != keys if cross is None else cross, dtype, seed, threads,
                 logit_cap)


def core_of(q, k, v, *form):
    """The core for tensors of these shapes. form: as the parameters of _core_of after dtype."""
    return _core_of(os.getpid(), q.shape, k.shape, v.shape, q.dtype, *form)


def array_of(tensor):
    """[batch, tokens, heads, width] of a tensor [batch, heads, tokens, width], without a copy; of
    bfloat16, which NumPy does not have, its bits."""
    tensor = tensor.detach().resolve_neg().transpose(1, 2)
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def tensor_of(array, dtype):
    if dtype == torch.bfloat16:
        return torch.from_numpy(array.view(np.uint16)).view(dtype).transpose(1, 2)
    return torch.from_numpy(array).transpose(1, 2)


class Weights(nn.Module):
    """Holds tensors of an attention under their names; it is not called."""


def register_tensor(module, name, value):
    """Under a name with dots, as a member of modules of those names."""
    *folders, last = name.split(".")
    for folder in folders:
        if folder not in module._modules:
            module.add_module(folder, Weights())
        module = module._modules[folder]
    if isinstance(value, nn.Parameter):
        module.register_parameter(last, value)
    else:
        module.register_buffer(last, value)


def load_weights(core, names, weights):
    """Writes trained parameters: those of several modules share a core."""
    if sorted(names) != sorted(core.parameters):
        raise Error("%s has the trained parameters %s and weights has %s: give all of them; in "
                    "models of transformers use orthant.transformers.attach"
                    % (core.spec, sorted(core.parameters), sorted(names)), binding.OA_UNSUPPORTED)
    for name, tensor in zip(names, weights):
        array = core.parameters[name]
        if tensor.shape != array.shape:
            raise Error("weights[%r] has the shape %s; give %s"
                        % (name, list(tensor.shape), list(array.shape)), binding.OA_SHAPE)
        np.copyto(array, tensor.detach().to(torch.from_numpy(array).dtype).numpy())
    core.changed()


class _Saved:
    """A pass of a forward call, which the core gets back when autograd drops it."""

    def __init__(self, core, p, names):
        self.core, self.p, self.names, self.used = core, p, names, False

    def __del__(self):
        self.core.release(self.p)


@functools.lru_cache(maxsize=256)
def _layout(shapes, strides):
    """The shapes of q, k, v and o and the strides of the first three as Core.forward_at has them,
    or None where these tensors are to be checked or copied."""
    q, k, v = shapes
    if not (k[:3] == v[:3] and q[::3] == k[::3] and strides[0][3] == strides[1][3] == strides[2][3]
            == 1 and all(b or h or t for b, h, t, _ in strides)):
        return None
    turned = [(b, t, h, n) for b, h, t, n in (*shapes, (*q[:3], v[3]))]
    return turned, [n for b, h, t, _ in strides for n in (b, t, h)]


def _forward(q, k, v, lengths, names, weights, core, backward):
    """o, and the pass for _backward. weights: trained parameters of these names."""
    layout = _layout((q.shape, k.shape, v.shape), (q.stride(), k.stride(), v.stride()))
    direct = layout and lengths is None and not (q.is_neg() or k.is_neg() or v.is_neg())
    with core.context.lock:
        if names or core.parameters:
            load_weights(core, names, weights)
        if not direct:
            o, p = core.forward(array_of(q), array_of(k), array_of(v), lengths, backward)
            return tensor_of(o, q.dtype), _Saved(core, p, names)
        shapes, strides = layout
        o, p = torch.empty(shapes[3], dtype=q.dtype), core.take_pass()
        core.forward_at(p, shapes, (q.data_ptr(), k.data_ptr(), v.data_ptr(), o.data_ptr()),
                        strides, None, backward)
    return o.transpose(1, 2), _Saved(core, p, names)


def _backward(do, q, k, v, lengths, weights, saved):
    """Gradients of q, k and v, then of the weights."""
    core, own = saved.core, []
    with core.context.lock:
        if weights:
            load_weights(core, saved.names, weights)
            core.zero_gradients()
        if saved.used:  # a second backward call of a retained graph
            core.forward(array_of(q), array_of(k), array_of(v), lengths, into=saved.p)
        saved.used = True
        gradients = core.backward(saved.p, array_of(do))
        for name, weight in zip(saved.names, weights):
            own.append(torch.from_numpy(core.gradients[name].copy()).to(weight.dtype))
    return [*[tensor_of(g, do.dtype) for g in gradients], *own]


class _Once(torch.autograd.Function):
    """Gradients of a backward call with create_graph, as functions of its inputs without a
    derivative. (once_differentiable lets them be constants where dy is one.)"""

    @staticmethod
    def forward(ctx, count, *tensors):
        return tensors[-count:]

    @staticmethod
    def backward(ctx, *_):
        raise Error("an attention of orthant is differentiable once: a second derivative was asked "
                    "for, by create_graph=True, a Hessian or a penalty on gradients",
                    binding.OA_UNSUPPORTED)


def differentiate_once(run, *inputs):
    """The gradients run() gives, some None, as functions of the inputs, some None."""
    if not torch.is_grad_enabled():
        return run()
    with torch.no_grad():
        gradients = run()
    given = [i for i, g in enumerate(gradients) if g is not None]
    made = _Once.apply(len(given), *inputs, *[gradients[i] for i in given])
    for i, g in zip(given, made):
        gradients[i] = g
    return gradients


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, lengths, core, backward, names, *weights):
        o, ctx.saved = _forward(q, k, v, lengths, names, weights, core, backward)
        ctx.lengths = lengths
        ctx.save_for_backward(q, k, v, *weights)
        return o

    @staticmethod
    def backward(ctx, do):
        q, k, v, *weights = ctx.saved_tensors
        dq, dk, dv, *own = differentiate_once(
            lambda: _backward(do, q, k, v, ctx.lengths, weights, ctx.saved), do, q, k, v, *weights)
        return dq, dk, dv, None, None, None, None, *own


# ---- the same as an operation of torch.compile and torch.export


@library.custom_op("orthant::attend", mutates_args=(), device_types="cpu")
def _attend(q: Tensor, k: Tensor, v: Tensor, lengths: Optional[Tensor], weights: List[Tensor],
            names: str, spec: str, causal: bool, context: int, cross: Optional[bool], seed: int,
            threads: int, logit_cap: float, backward: bool) -> Tuple[Tensor, Tensor]:
    core = core_of(q, k, v, spec, causal, context, cross, seed, threads, logit_cap)
    o, saved = _forward(q, k, v, _lengths(lengths), names.split(), weights, core, backward)
    return o, _torch_passes.number_of(saved) if backward else torch.zeros(1, dtype=torch.int64)


def _like(t, width=None):
    """An empty tensor as _forward and _backward make them."""
    batch, heads, tokens = t.shape[:3]
    return t.new_empty(batch, tokens, heads, width or t.shape[3]).transpose(1, 2)


@_attend.register_fake
def _(q, k, v, *_):
    return _like(q, v.shape[3]), q.new_empty(1, dtype=torch.int64)


@library.custom_op("orthant::attend_backward", mutates_args=(), device_types="cpu")
def _attend_backward(do: Tensor, q: Tensor, k: Tensor, v: Tensor, lengths: Optional[Tensor],
                     number: Tensor, weights: List[Tensor], names: str, spec: str, causal: bool,
                     context: int, cross: Optional[bool], seed: int, threads: int,
                     logit_cap: float) -> List[Tensor]:
    saved = _torch_passes.find(number)
    if saved is None:
        core = core_of(q, k, v, spec, causal, context, cross, seed, threads, logit_cap)
        saved = _forward(q, k, v, _lengths(lengths), names.split(), weights, core, True)[1]
    return _backward(do, q, k, v, _lengths(lengths), weights, saved)


@_attend_backward.register_fake
def _(do, q, k, v, lengths, number, weights, *_):
    return [_like(q), _like(k), _like(v), *[w.new_empty(w.shape) for w in weights]]


def _save(ctx, inputs, output):
    q, k, v, lengths, weights, *form, _ = inputs
    ctx.form = form
    ctx.save_for_backward(q, k, v, lengths, output[1], *weights)


def _differentiate(ctx, do, _):
    q, k, v, lengths, number, *weights = ctx.saved_tensors
    dq, dk, dv, *own = _attend_backward(do, q, k, v, lengths, number, weights, *ctx.form)
    return (dq, dk, dv, None, own, *[None] * 9)


_attend.register_autograd(_differentiate, setup_context=_save)


def _lengths(lengths):
    return lengths.detach().cpu().numpy() if isinstance(lengths, Tensor) else lengths


def _check(tensor, name, q):
    if not isinstance(tensor, Tensor):
        raise TypeError("%s is of the type %s; give a torch.Tensor" % (name, type(tensor).__name__))
    if not tensor.is_cpu or tensor.layout != torch.strided:
        raise Error("%s is on %s with the layout %s: attend computes on the processor, on dense "
                    "tensors" % (name, tensor.device, tensor.layout), binding.OA_UNSUPPORTED)
    if tensor.dtype not in _DTYPES:
        raise Error("%s is %s; give torch.float32, float64 or bfloat16" % (name, tensor.dtype),
                    binding.OA_UNSUPPORTED)
    if tensor.dtype != q.dtype:
        raise Error("%s is %s and q is %s: convert one of them" % (name, tensor.dtype, q.dtype),
                    binding.OA_UNSUPPORTED)
    if tensor.dim() != 4:
        raise Error("%s has the shape %s; give [batch, heads, tokens, width]"
                    % (name, list(tensor.shape)), binding.OA_SHAPE)


def scale_queries(q, scale):
    """Cores scale logits by 1/√width."""
    if scale is None:
        return q
    factor = scale * q.shape[3] ** 0.5
    return q if abs(factor - 1) <= 1e-12 else q * factor


def attend(spec: str, q: Tensor, k: Tensor, v: Tensor, causal: bool = False,
           lengths: Any = None, scale: Optional[float] = None, context: int = 0,
           cross: Optional[bool] = None, seed: int = 1, threads: int = 0,
           logit_cap: float = 0.0, weights: Optional[Dict[str, Tensor]] = None) -> Tensor:
    """o [batch, heads, queries, value width] of q [batch, heads, queries, width] and k, v [batch,
    key heads, keys, …], as torch's scaled_dot_product_attention takes them.

    causal: fewer queries than keys are the last ones. lengths [batch]: keys without padding, which
    is at the end. scale: of q·k, None = 1/√width. context: size of tables, 0 = the number of keys;
    several numbers of keys need one. cross: keys of another sequence, None: where their number is
    another one and causal is False; to be given with lengths where it is not. weights: trained parameters of the attention itself by their
    names, as orthant.Core has them in `parameters`; most attentions have none. float32, float64;
    bfloat16 computes in it. Differentiable once. One operation for torch.compile and torch.export.
    """
    if not (type(q) is type(k) is type(v) is Tensor and q.dtype is k.dtype is v.dtype in _DTYPES
            and q.is_cpu and k.is_cpu and v.is_cpu and q.dim() == k.dim() == v.dim() == 4
            and q.layout is k.layout is v.layout is torch.strided):
        for tensor, name in ((q, "q"), (k, "k"), (v, "v")):
            _check(tensor, name, q)
    if lengths is not None:
        check_padding(cross, causal, q.shape[2], k.shape[2])
    q = scale_queries(q, scale)
    form = spec, bool(causal), context, cross, seed, threads, logit_cap
    names, weights = ([], []) if not weights else ([*weights], [*weights.values()])
    backward = torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad
                                            or any(w.requires_grad for w in weights))
    if torch.compiler.is_compiling() or torch.jit.is_tracing():
        lengths = None if lengths is None else torch.as_tensor(lengths)
        return _attend(q, k, v, lengths, weights, " ".join(names), *form, backward)[0]
    if q.numel() == 0 and q.shape[0] == 0:
        return q.new_zeros(*q.shape[:3], v.shape[3]) + 0 * sum(t.sum() for t in (q, k, v, *weights))
    lengths, core = _lengths(lengths), core_of(q, k, v, *form)
    if not backward:
        return _forward(q, k, v, lengths, names, weights, core, False)[0]
    return _Attend.apply(q, k, v, lengths, core, backward, names, *weights)
