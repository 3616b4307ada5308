# SPDX-License-Identifier: Apache-2.0
"""Attention layers in models of PyTorch, on the processor."""
import threading

import numpy as np
import torch
from torch import nn

from . import _binding as binding
from ._library import Error
from .layer import Layer

_DTYPES = {torch.float32: np.float32, torch.float64: np.float64}


class _Saved:
    """A pass of a forward call. When autograd drops it, with or without a backward call, the layer
    gets its memory back. A second backward call (retain_graph) computes it again."""

    def __init__(self, layer, p, lengths):
        self.layer, self.p, self.lengths, self.used = layer, p, lengths, False

    def __del__(self):
        self.layer.release(self.p)


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, memory, lengths, module, *parameters):
        with module._lock:
            layer = module._layer_of(parameters)
            y, p = layer.forward(x.detach().numpy(),
                                 None if memory is None else memory.detach().numpy(), lengths)
        ctx.module, ctx.saved = module, _Saved(layer, p, lengths)
        ctx.save_for_backward(x, memory, *parameters)  # autograd then notices changes in place
        return torch.from_numpy(y)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        x, memory, *parameters = ctx.saved_tensors
        saved, module = ctx.saved, ctx.module
        layer = saved.layer
        with module._lock:
            module._load(layer, parameters)
            if saved.used:
                layer.forward(x.detach().numpy(), None if memory is None else
                              memory.detach().numpy(), saved.lengths, into=saved.p)
            saved.used = True
            layer.zero_gradients()
            dx, dmemory = layer.backward(saved.p, dy.detach().numpy())
            gradients = [torch.from_numpy(g.copy()) for g in layer.gradients.values()]
        return (torch.from_numpy(dx), None if memory is None else torch.from_numpy(dmemory),
                None, None, *gradients)


class Attention(nn.Module):
    """Any attention of the language, with its projections, as a layer of PyTorch.

    forward(x [batch, tokens, width], memory=None [batch, memory_tokens, width], lengths=None
    [batch]) gives y like x. lengths: without padding, of the memory in cross-attention, else of x;
    padding is not read and its rows of y are 0. spec, width, heads, context …: as orthant.Layer.

    Parameters and buffers (what is frozen) have the names of the attention language, which are
    those of model.safetensors too; their memory is that of the library as long as nobody moves it.
    float32 and float64 on the processor; not differentiable twice.
    """

    def __init__(self, spec, width, heads, context, causal=False, cross=False, bias=False,
                 memory_context=0, dtype=None, seed=None, threads=0):
        super().__init__()
        dtype = dtype or torch.get_default_dtype()
        seed = torch.initial_seed() % 2**53 if seed is None else seed
        self.arguments = dict(spec=spec, width=width, heads=heads, context=context, causal=causal,
                              cross=cross, bias=bias, memory_context=memory_context, seed=seed,
                              threads=threads)
        self._reset()
        layer = self._home = self._open(dtype)
        for name, array in layer.parameters.items():
            self._register(name, nn.Parameter(torch.from_numpy(array)))
        for name, array in layer.frozen.items():
            self._register(name, torch.from_numpy(array))
        self._trained = [name.split(".") for name in layer.parameters]
        self._frozen = [name.split(".") for name in layer.frozen]

    def _reset(self):
        # _home: the layer with whose memory the parameters were made; _guests: by dtype, layers
        # for values elsewhere, which are copied: of a functional call, a copied or a moved module.
        self._home, self._guests, self._lock = None, {}, threading.RLock()

    def _register(self, name, value):
        """Under a name with dots, as a member of modules of those names."""
        *folders, last = name.split(".")
        module = self
        for folder in folders:
            if folder not in module._modules:
                module.add_module(folder, nn.Module())
            module = module._modules[folder]
        if isinstance(value, nn.Parameter):
            module.register_parameter(last, value)
        else:
            module.register_buffer(last, value)

    def _tensors(self, paths):
        """What the modules have under these names now."""
        found = []
        for *folders, last in paths:
            module = self
            for folder in folders:
                module = module._modules[folder]
            found.append(getattr(module, last))
        return found

    def _open(self, dtype):
        if dtype not in _DTYPES:
            raise Error("the dtype of an attention is %s; choose torch.float32 or torch.float64"
                        % dtype, binding.OA_UNSUPPORTED)
        return Layer(dtype=_DTYPES[dtype], **self.arguments)

    def _layer_of(self, parameters):
        """The layer of the library that has the parameters, or a guest with their values."""
        home, dtype = self._home, parameters[0].dtype if parameters else self._buffer_dtype()
        if home and home.is_of_this_process() and all(
                tensor.data_ptr() == address for address, tensor in
                zip(home.addresses, [*parameters, *self._tensors(self._frozen)])):
            layer = home
        else:
            guest = self._guests.get(dtype)
            if not guest or not guest.is_of_this_process():
                guest = self._guests[dtype] = self._open(dtype)
            layer = guest
        self._load(layer, parameters)
        return layer

    def _buffer_dtype(self):
        return next((b.dtype for b in self.buffers()), torch.get_default_dtype())

    def _load(self, layer, parameters):
        if layer is not self._home:
            for array, tensor in zip([*layer.parameters.values(), *layer.frozen.values()],
                                     [*parameters, *self._tensors(self._frozen)]):
                np.copyto(array, tensor.detach().numpy())
        layer.changed()

    def _check(self, tensor, name, parameter):
        if tensor.device.type != "cpu" or parameter.device.type != "cpu":
            raise Error("%s is on %s and the parameters are on %s: this layer computes on the "
                        "processor; move both to \"cpu\"" % (name, tensor.device, parameter.device),
                        binding.OA_UNSUPPORTED)
        if tensor.dtype != parameter.dtype:
            raise Error("%s is %s and the parameters are %s: convert one of them"
                        % (name, tensor.dtype, parameter.dtype))

    @torch.compiler.disable
    def forward(self, x, memory=None, lengths=None):
        parameters = self._tensors(self._trained)
        some = parameters[0] if parameters else next(self.buffers(), x)
        self._check(x, "x", some)
        if memory is not None:
            self._check(memory, "memory", some)
        if isinstance(lengths, torch.Tensor):
            lengths = lengths.detach().cpu().numpy()
        return _Attend.apply(x, memory, lengths, self, *parameters)

    def decode(self):
        """A function of the next tokens [1, n, width] of one sequence that gives their rows of y,
        without gradients, with the parameters of this moment."""
        layer = self._layer_of(self._tensors(self._trained))
        state = layer.decode()
        return lambda x, memory=None: torch.from_numpy(
            state.step(x.detach().numpy(), None if memory is None else memory.detach().numpy()))

    def extra_repr(self):
        return ", ".join("%s=%r" % item for item in self.arguments.items())

    def __getstate__(self):
        state = self.__dict__.copy()
        del state["_home"], state["_guests"], state["_lock"]
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        self._reset()
