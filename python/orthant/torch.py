# SPDX-License-Identifier: Apache-2.0
"""Attention layers for PyTorch, on the CPU."""
import functools
import json
import os
import weakref
from typing import Any, Callable, List, Optional, Tuple

import numpy as np
import torch
from torch import Tensor, library, nn

from . import _binding as binding
from . import _torch_passes
from ._library import Error
from ._torch_core import Weights, attend, differentiate_once, register_tensor
from .layer import Layer

__all__ = ["Attention", "attend"]

_DTYPES = {torch.float32: np.float32, torch.float64: np.float64}

# Layers with whose memory the parameters of a module were made, by their form and first address.
_homes = weakref.WeakValueDictionary()


def _open(form, dtype):
    if dtype not in _DTYPES:
        raise Error("the dtype of an attention is %s; choose torch.float32 or torch.float64"
                    % dtype, binding.OA_UNSUPPORTED)
    return Layer(dtype=_DTYPES[dtype], **json.loads(form))


@functools.lru_cache(maxsize=64)
def _guest(form, dtype, process):
    """A layer for weights elsewhere, which are copied at each call: of a functional call, a copied
    or a moved module."""
    return _open(form, dtype)


def _is_home(layer, weights):
    return ([*map(Tensor.data_ptr, weights)] == layer.addresses
            and [*map(Tensor.size, weights)] == layer.shapes
            and all(map(Tensor.is_contiguous, weights)) and layer.is_of_this_process())


def _layer_of(form, dtype, weights):
    """The layer of the library that has these weights, or a guest, and whether it has them."""
    home = _homes.get((form, weights[0].data_ptr())) if weights else None
    if home and _is_home(home, weights):
        return home, True
    return _guest(form, dtype, os.getpid()), False


def _array(tensor):
    return None if tensor is None else tensor.detach().resolve_neg().numpy()


def _load(layer, weights, at_home):
    if not at_home:
        for (name, array), tensor in zip(layer.named_weights(), weights):
            if tensor.shape != array.shape:
                raise Error("%s has the shape %s; give %s"
                            % (name, list(tensor.shape), list(array.shape)), binding.OA_SHAPE)
            np.copyto(array, _array(tensor))
    layer.changed()


class _Saved:
    """A pass of a forward call. When autograd drops it, with or without a backward call, the layer
    gets its memory back. A second backward call (retain_graph) computes it again."""

    def __init__(self, layer, p, lengths):
        self.layer, self.p, self.lengths, self.used = layer, p, lengths, False

    def __del__(self):
        self.layer.release(self.p)


def _forward(x, memory, lengths, weights, form):
    """y, and what _backward needs. weights: parameters, then what is frozen."""
    layer, at_home = _layer_of(form, x.dtype, weights)
    with layer.context.lock:
        _load(layer, weights, at_home)
        if (memory is None and lengths is None and x.dim() == 3 and x.shape[2] == layer.width
                and x.is_contiguous() and not x.is_neg()):
            y, p = torch.empty_like(x), layer.take_pass()
            layer.forward_at(p, x.shape, x.data_ptr(), y.data_ptr())
        else:
            y, p = layer.forward(_array(x), _array(memory), lengths)
            y = torch.from_numpy(y)
    return y, _Saved(layer, p, lengths)


def _backward(dy, x, memory, weights, saved):
    """Gradients of x, of the memory or None, and of the parameters."""
    layer = saved.layer
    with layer.context.lock:
        _load(layer, weights, _is_home(layer, weights))
        if saved.used:
            layer.forward(_array(x), _array(memory), saved.lengths, into=saved.p)
        saved.used = True
        layer.zero_gradients()
        dx, dmemory = layer.backward(saved.p, _array(dy))
        gradients = [torch.from_numpy(g.copy()) for g in layer.gradients.values()]
    return [torch.from_numpy(dx), None if memory is None else torch.from_numpy(dmemory), *gradients]


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, memory, lengths, form, *weights):
        y, ctx.saved = _forward(x, memory, lengths, weights, form)
        ctx.save_for_backward(x, memory, *weights)  # autograd then notices changes in place
        return y

    @staticmethod
    def backward(ctx, dy):
        x, memory, *weights = ctx.saved_tensors
        dx, dmemory, *gradients = differentiate_once(
            lambda: _backward(dy, x, memory, weights, ctx.saved), dy, x, memory, *weights)
        return (dx, dmemory, None, None, *gradients, *[None] * (len(weights) - len(gradients)))


# ---- the same as an operation of torch.compile and torch.export

@library.custom_op("orthant::attention", mutates_args=(), device_types="cpu")
def _attention(x: Tensor, memory: Optional[Tensor], lengths: Optional[Tensor],
               weights: List[Tensor], trained: int, form: str) -> Tuple[Tensor, Tensor]:
    y, saved = _forward(x, memory, _array(lengths), weights, form)
    return y, _torch_passes.number_of(saved)


@_attention.register_fake
def _(x, memory, lengths, weights, trained, form):
    return (torch.empty_like(x, memory_format=torch.contiguous_format),
            x.new_empty(1, dtype=torch.int64))


@library.custom_op("orthant::attention_backward", mutates_args=(), device_types="cpu")
def _attention_backward(dy: Tensor, x: Tensor, memory: Optional[Tensor], lengths: Optional[Tensor],
                        weights: List[Tensor], trained: int, form: str,
                        number: Tensor) -> List[Tensor]:
    saved = _torch_passes.find(number)
    if saved is None:
        saved = _forward(x, memory, _array(lengths), weights, form)[1]
    return [g for g in _backward(dy, x, memory, weights, saved) if g is not None]


@_attention_backward.register_fake
def _(dy, x, memory, lengths, weights, trained, form, number):
    return [torch.empty_like(t, memory_format=torch.contiguous_format)
            for t in (x, *([] if memory is None else [memory]), *weights[:trained])]


def _save(ctx, inputs, output):
    x, memory, lengths, weights, ctx.trained, ctx.form = inputs
    ctx.save_for_backward(x, memory, lengths, output[1], *weights)


def _differentiate(ctx, dy, dnumber):
    x, memory, lengths, number, *weights = ctx.saved_tensors
    gradients = _attention_backward(dy, x, memory, lengths, weights, ctx.trained, ctx.form, number)
    first = 1 if memory is None else 2
    return (gradients[0], None if memory is None else gradients[1], None,
            [*gradients[first:], *[None] * (len(weights) - ctx.trained)], None, None)


_attention.register_autograd(_differentiate, setup_context=_save)


class Attention(nn.Module):
    """Any attention of the language, with its projections, as a PyTorch module.

    forward(x [batch, tokens, width], memory=None [batch, memory_tokens, width], lengths=None
    [batch]) gives y like x. lengths: without padding, of the memory in cross-attention, else of x;
    padding is not read and its rows of y are 0. spec, width, heads, context …: as orthant.Layer.

    Parameters and buffers (what is frozen) have the names of the attention language, which are
    those of model.safetensors too; their memory is that of the library as long as nobody moves it.
    float32 and float64 on the processor; not differentiable twice. seed: of the initial values,
    None: from the generator of PyTorch. One operation for torch.compile and torch.export.
    """

    def __init__(self, spec: str, width: int, heads: int, context: int, causal: bool = False,
                 cross: bool = False, bias: bool = False, memory_context: int = 0,
                 dtype: Optional[torch.dtype] = None, seed: Optional[int] = None,
                 threads: int = 0) -> None:
        super().__init__()
        dtype = dtype or torch.get_default_dtype()
        seed = int(torch.randint(2**53, (), device="cpu")) if seed is None else seed
        self.arguments = dict(spec=spec, width=width, heads=heads, context=context, causal=causal,
                              cross=cross, bias=bias, memory_context=memory_context, seed=seed,
                              threads=threads)
        self._form = json.dumps(self.arguments)
        layer = self._home = _open(self._form, dtype)
        _homes[self._form, layer.addresses[0]] = layer
        for name, array in layer.parameters.items():
            register_tensor(self, name, nn.Parameter(torch.from_numpy(array)))
        for name, array in layer.frozen.items():
            register_tensor(self, name, torch.from_numpy(array))
        self._trained = len(layer.parameters)
        self._paths = [(tuple(folders), last) for *folders, last in
                       (name.split(".") for name, _ in layer.named_weights())]

    def _weights(self):
        """What the modules have under the names of the layer now."""
        found = []
        for folders, last in self._paths:
            module = self
            for folder in folders:
                module = module._modules[folder]
                if not isinstance(module, Weights):
                    raise Error("%s is a %s: the members of an attention hold its weights and are not "
                                "called; keep them, and change weights by torch.nn.utils.parametrize"
                                % (folder, type(module).__name__), binding.OA_UNSUPPORTED)
            plain = module._parameters.get(last)  # faster than the way of getattr
            found.append(self._made(module, folders, last) if plain is None else plain)
        return found

    def _made(self, module, folders, name):
        """A buffer, or what is made of parameters: by a parametrization, or by the hooks of prune and
        of the earlier weight_norm, which a call of the module would run."""
        if name in module.__dict__:
            for hook in module._forward_pre_hooks.values():
                hook(module, ())
        value = getattr(module, name, None)
        if not isinstance(value, Tensor):
            raise Error("%s is %s; give a tensor"
                        % (".".join((*folders, name)), type(value).__name__))
        return value

    def _check(self, tensor, name, parameter):
        if not isinstance(tensor, Tensor):
            raise TypeError("%s is of the type %s; give a torch.Tensor"
                            % (name, type(tensor).__name__))
        if tensor.layout != torch.strided:
            raise Error("%s has the layout %s; give a dense tensor" % (name, tensor.layout))
        if not tensor.is_cpu or not parameter.is_cpu:
            raise Error("%s is on %s and the parameters are on %s: this layer computes on the "
                        "processor; move both to \"cpu\"" % (name, tensor.device, parameter.device),
                        binding.OA_UNSUPPORTED)
        if tensor.dtype != parameter.dtype:
            raise Error("%s is %s and the parameters are %s: convert one of them"
                        % (name, tensor.dtype, parameter.dtype))

    def forward(self, x: Tensor, memory: Optional[Tensor] = None, lengths: Any = None) -> Tensor:
        weights = self._weights()
        some = weights[0]
        if torch.is_autocast_enabled("cpu"):  # computed in the precision of the parameters
            x, memory = (t.to(some.dtype) if isinstance(t, Tensor) and t.is_floating_point() else t
                         for t in (x, memory))
        if not (type(x) is Tensor and x.dtype is some.dtype and x.is_cpu and some.is_cpu
                and x.layout is torch.strided):
            self._check(x, "x", some)
        if memory is not None:
            self._check(memory, "memory", some)
        if torch.compiler.is_compiling() or torch.jit.is_tracing():
            if lengths is not None:
                lengths = torch.as_tensor(lengths)
            return _attention(x, memory, lengths, weights, self._trained, self._form)[0]
        if isinstance(lengths, Tensor):
            lengths = lengths.detach().cpu().numpy()
        if x.numel() == 0 and x.dim() == 3 and x.shape[0] == 0:
            return x + 0 * sum(w.sum() for w in weights)
        if not torch.is_grad_enabled():
            return _forward(x, memory, lengths, weights, self._form)[0]
        return _Attend.apply(x, memory, lengths, self._form, *weights)

    def decode(self) -> Callable[..., Tensor]:
        """A function of the next tokens [1, n, width] of one sequence that gives their rows of y,
        without gradients, with the parameters of this moment."""
        layer, weights = _open(self._form, self._weights()[0].dtype), self._weights()
        _load(layer, weights, False)
        state = layer.decode()
        return lambda x, memory=None: torch.from_numpy(state.step(_array(x), _array(memory)))

    def extra_repr(self):
        return ", ".join("%s=%r" % item for item in self.arguments.items())

    def __getstate__(self):
        state = self.__dict__.copy()
        del state["_home"]
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        self._home = None
