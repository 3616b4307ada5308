# SPDX-License-Identifier: Apache-2.0
"""An attention layer on NumPy arrays. For PyTorch: orthant.torch."""
import ctypes
import os
import threading
import weakref
from types import MappingProxyType
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from . import _binding as binding
from ._library import Context, Error, as_array, fill_request, int32_array, library, text_bytes

# Layers of a process share a context for each setting, since each has its threads. A context is
# used by one thread at a time. After a fork the child begins with none: threads do not survive it.
_contexts, _opening = {}, threading.Lock()


class SharedContext(Context):
    def __init__(self, **settings):
        super().__init__(**settings)
        self.lock, self.process = threading.RLock(), os.getpid()


def shared_context(threads=0, isa=None, device=None):
    key = (os.getpid(), threads, isa, device)
    with _opening:
        if key not in _contexts:
            _contexts[key] = SharedContext(threads=threads, isa=isa, device=device)
        return _contexts[key]


def _forget_contexts():
    global _contexts, _opening
    _forgotten.extend(_contexts.values())  # not closed: their threads are those of the parent
    _contexts, _opening = {}, threading.Lock()


_forgotten = []
os.register_at_fork(after_in_child=_forget_contexts)


def _close(context, function, handle, after=None):
    if context.process == os.getpid() and context.handle:
        with context.lock:
            function(handle)


class Handle:
    """A layer or core of the library. Closed when nobody has it any more: a Layer, its arrays,
    passes and states do; it has none of them."""

    def __init__(self, context, spec, form, kind="attention"):
        self.context = context
        with context.lock:
            self.value = getattr(library, "oa_%s_open" % kind)(context.handle, spec,
                                                              ctypes.byref(form))
            if not self.value:
                self.fail()
        weakref.finalize(self, _close, context, getattr(library, "oa_%s_close" % kind), self.value)

    def fail(self):
        self.context.check(library.oa_last_error(self.context.handle, None))
        raise Error("the layer was not opened", binding.OA_INTERNAL)

    def open(self, function, close, user):
        """Opens what belongs to the layer, for an object whose end closes it."""
        with self.context.lock:
            value = function(self.value)
            if not value:
                self.fail()
        weakref.finalize(user, _close, self.context, close, value, self)  # which keeps the layer
        return value

    def view(self, where, shape, dtype):
        """Memory of the layer as an array, which keeps the layer open."""
        memory = (ctypes.c_char * (int(np.prod(shape)) * dtype.itemsize)).from_address(where)
        memory.handle = self
        return np.frombuffer(memory, dtype).reshape(shape)


def address(array):
    return None if array is None else array.ctypes.data


class Pass:
    """What backward needs of a forward call; several of a layer may be alive."""

    def __init__(self, handle):
        self.handle = handle.open(library.oa_attention_pass_open, library.oa_attention_pass_close,
                                  self)
        self.layer = handle
        self.memory_shape = self.shape = self.lengths = None
        self.given = binding.oa_attention_input()
        self.reference = ctypes.byref(self.given)


def is_of_plain_numbers(x):
    """Whether x is made of Python's own numbers, which have no type: they become the layer's."""
    if not isinstance(x, (list, tuple)):
        return type(x) in (int, float, bool)
    return all(map(is_of_plain_numbers, x))


def is_exact(x, dtype):
    """Whether no number of the array is rounded: of whole numbers, by their size."""
    if np.can_cast(x.dtype, dtype):
        return True
    limit = 2 ** (np.finfo(dtype).nmant + 1)
    return x.dtype.kind in "iu" and (x.size == 0 or -limit <= int(x.min()) <= int(x.max()) <= limit)


class Layer:
    """A layer of the attention language with its projections.

    spec: one layer; width, heads; context: longest sequence; memory_context: longest memory of
    cross-attention, 0 = context; causal, cross, bias; dtype: numpy.float32 or float64, arrays that
    it would round are refused, lists of numbers converted; seed of the initial values; threads (0 = all cores), isa, device.
    parameters: {name: array}, frozen: the same of what has no gradient, gradients: {name: array}.
    The arrays are the memory of the layer: after writing into them call changed().
    """

    def __init__(self, spec: str, width: int, heads: int, context: int, causal: bool = False,
                 cross: bool = False, bias: bool = False, memory_context: int = 0,
                 dtype: Any = np.float32, seed: int = 1, threads: int = 0,
                 isa: Optional[str] = None, device: Optional[str] = None) -> None:
        dtype = np.dtype(dtype)
        if dtype not in (np.float32, np.float64):
            raise Error("the dtype of a layer is %s; choose float32 or float64" % dtype)
        self.spec, self.width, self.heads, self.length = spec, width, heads, context
        self.causal, self.cross, self.dtype = bool(causal), bool(cross), dtype
        self.context = shared_context(threads, isa, device)
        form = fill_request(binding.oa_attention_form, dict(
            width=width, heads=heads, length=context, memory_length=memory_context,
            causal=int(causal), cross=int(cross), bias=int(bias),
            precision=b"f64" if dtype == np.float64 else b"f32", seed=seed))
        self.handle = Handle(self.context, text_bytes(spec, "attention"), form)
        self.parameters, self.frozen, self.gradients = {}, {}, {}
        self._spare = []
        self._describe()
        for name in ("parameters", "frozen", "gradients"):  # no other arrays can be put there
            setattr(self, name, MappingProxyType(getattr(self, name)))
        self.addresses = [a.ctypes.data for _, a in self.named_weights()]
        self.shapes = [a.shape for _, a in self.named_weights()]

    def _describe(self):
        weights = binding.oa_weights()
        while library.oa_attention_weights(self.handle.value, len(self.parameters) + len(self.frozen),
                                           ctypes.byref(weights)):
            name = weights.name.decode()
            shape = tuple(weights.dim[:weights.dims])
            trained = bool(weights.gradient)
            view = self.handle.view(weights.value, shape, self.dtype)
            (self.parameters if trained else self.frozen)[name] = view
            if trained:
                self.gradients[name] = self.handle.view(weights.gradient, shape, self.dtype)

    def named_weights(self):
        """(name, array) of the parameters, then of what is frozen."""
        return [*self.parameters.items(), *self.frozen.items()]

    def is_of_this_process(self):
        return self.context.process == os.getpid()

    def check_process(self):
        if not self.is_of_this_process():
            raise Error("this layer was opened before a fork, whose threads are not in this "
                        "process: open it here", binding.OA_UNSUPPORTED)

    def changed(self) -> None:
        """Call it after writing into parameters."""
        with self.context.lock:
            library.oa_attention_changed(self.handle.value)

    def zero_gradients(self) -> None:
        with self.context.lock:
            library.oa_attention_zero_gradients(self.handle.value)

    # ---- passes

    def _checked(self, x, name):
        plain = is_of_plain_numbers(x)
        x = as_array(x, name)
        if x.dtype.kind not in "fiub":
            raise Error("%s is an array of %s; give one of real numbers" % (name, x.dtype))
        if not plain and not is_exact(x, self.dtype):
            raise Error("%s is %s, which the layer would round to %s: convert it%s"
                        % (name, x.dtype, self.dtype, "" if self.dtype == np.float64 else
                           ", or open the layer with dtype=numpy.float64"))
        return np.ascontiguousarray(x, self.dtype)

    def _array(self, x, name):
        x = self._checked(x, name)
        if x.ndim != 3 or x.shape[2] != self.width:
            raise Error("%s has the shape %s; give [batch, tokens, %d]"
                        % (name, list(x.shape), self.width), binding.OA_SHAPE)
        return x

    def _input(self, x, memory, lengths):
        """The input struct; it does not keep the arrays, which are returned too."""
        self.check_process()
        x = self._array(x, "x")
        memory = None if memory is None else self._array(memory, "memory")
        if memory is not None and memory.shape[0] != x.shape[0]:
            raise Error("memory has a batch of %d, x of %d" % (memory.shape[0], x.shape[0]),
                        binding.OA_SHAPE)
        if lengths is not None:
            lengths = int32_array(lengths, "lengths")
            if lengths.shape != x.shape[:1]:
                raise Error("lengths has the shape %s; give [%d]"
                            % (list(lengths.shape), x.shape[0]), binding.OA_SHAPE)
        given = binding.oa_attention_input(
            batch=x.shape[0], tokens=x.shape[1], x=address(x), memory=address(memory),
            memory_tokens=0 if memory is None else memory.shape[1],
            lengths=None if lengths is None else
            lengths.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)))
        return given, (x, memory, lengths)

    def forward(self, x: Any, memory: Any = None, lengths: Any = None,
                into: Optional[Pass] = None) -> Tuple[np.ndarray, Pass]:
        """y [batch, tokens, width] of x, and the Pass for backward (`into`: this one, again).
        lengths [batch]: without padding, of the memory in cross-attention, else of x."""
        given, arrays = self._input(x, memory, lengths)
        y = np.empty(arrays[0].shape, self.dtype)
        with self.context.lock:
            p = into or self.take_pass()
            p.shape, p.lengths = arrays[0].shape, arrays[2]
            p.memory_shape = None if arrays[1] is None else arrays[1].shape
            self.context.check(library.oa_attention_pass_forward(p.handle, ctypes.byref(given),
                                                                 address(y)))
        return y, p

    def take_pass(self) -> "Pass":
        """One that release() gave back, or a new one."""
        return self._spare.pop() if self._spare else Pass(self.handle)

    def forward_at(self, p: Pass, shape: Sequence[int], x: int, y: int) -> None:
        """forward of contiguous x [batch, tokens, width] of the type of the layer at an address, to
        y, without memory and lengths, and without a check: a call of a small layer is mostly
        checks. Under the lock of the context."""
        p.shape, p.memory_shape, p.lengths = shape, None, None
        given, context = p.given, self.context
        given.batch, given.tokens, given.x = shape[0], shape[1], x
        code = library.oa_attention_pass_forward(p.handle, p.reference, y)
        if code or context.failure:
            context.check(code)

    def __call__(self, x: Any, memory: Any = None, lengths: Any = None) -> np.ndarray:
        y, p = self.forward(x, memory, lengths)
        self.release(p)
        return y

    def backward(self, p: Pass, dy: Any) -> Tuple[np.ndarray, Optional[np.ndarray]]:
        """(dx, dmemory) of a Pass from dy; gradients of parameters are added to `gradients`. A pass
        has one backward call."""
        self.check_process()
        if p.layer is not self.handle:
            raise Error("the pass is that of another layer")
        dy = self._checked(dy, "dy")
        if dy.shape != p.shape:
            raise Error("dy has the shape %s; give %s" % (list(dy.shape), list(p.shape)),
                        binding.OA_SHAPE)
        dx = np.empty(p.shape, self.dtype)
        dmemory = None if p.memory_shape is None else np.empty(p.memory_shape, self.dtype)
        with self.context.lock:
            self.context.check(library.oa_attention_pass_backward(p.handle, address(dy),
                                                                  address(dx), address(dmemory)))
        return dx, dmemory

    def release(self, p: Pass) -> None:
        """A pass that is not needed any more; the next forward call uses its memory."""
        self._spare.append(p)

    def decode(self) -> "Decoding":
        """A state that reads one sequence token by token (a causal layer, or cross-attention)."""
        return Decoding(self)


class Decoding:
    """step(x): the rows of y [1, n, width] of the next n tokens."""

    def __init__(self, layer):
        layer.check_process()
        self.layer = layer
        self.handle = layer.handle.open(library.oa_attention_state_open,
                                        library.oa_attention_state_close, self)

    def step(self, x: Any, memory: Any = None, lengths: Any = None) -> np.ndarray:
        given, arrays = self.layer._input(x, memory, lengths)
        y = np.empty(arrays[0].shape, self.layer.dtype)
        with self.layer.context.lock:
            self.layer.context.check(library.oa_attention_step(self.handle, ctypes.byref(given),
                                                               address(y)))
        return y

    def reset(self) -> None:
        with self.layer.context.lock:
            library.oa_attention_state_reset(self.handle)
