# SPDX-License-Identifier: Apache-2.0
"""Attention on given queries, keys and values. orthant.torch.attend has the one for PyTorch."""
import ctypes
import os
from types import MappingProxyType
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from . import _binding as binding
from ._library import Error, as_array, fill_request, int32_array, library, text_bytes
from .layer import Handle, shared_context

_Strides = ctypes.c_long * 9  # of q, k and v, which follow each other in the struct
_Lengths = ctypes.POINTER(ctypes.c_int32)


class CorePass:
    """What backward needs of a forward call; several of a core may be alive."""

    def __init__(self, handle):
        self.handle = handle.open(library.oa_core_pass_open, library.oa_core_pass_close, self)
        self.core = handle
        self.shapes = None
        self.given = binding.oa_core_input()
        self.reference = ctypes.byref(self.given)
        self.strides = _Strides.from_buffer(self.given, binding.oa_core_input.q_stride.offset)


class Core:
    """An attention without its projections, on queries, keys and values.

    spec: one layer of the attention language, which must not read the tokens' input; heads,
    head_width; context: longest sequence; key_heads: heads of keys and values, 0 = heads;
    value_width, 0 = head_width; causal; cross, with key_context: the most keys, 0 = context; dtype:
    numpy.float32 or float64, None: that of the first arrays (float32 where there are trained
    parameters); arrays that it would round are refused. seed of the attention's own parameters;
    logit_cap, 0 = none. bfloat16: computes in it, on arrays of float32. parameters, frozen,
    gradients: as orthant.Layer; most attentions have none.
    """

    def __init__(self, spec: str, heads: int, head_width: int, context: int, key_heads: int = 0,
                 value_width: int = 0, key_context: int = 0, causal: bool = False,
                 cross: bool = False, dtype: Any = None, seed: int = 1,
                 logit_cap: float = 0.0, bfloat16: bool = False, threads: int = 0,
                 isa: Optional[str] = None, device: Optional[str] = None) -> None:
        self._follows = dtype is None and not bfloat16
        dtype = np.dtype(np.float32 if dtype is None else dtype)
        if dtype not in (np.float32, np.float64) or (bfloat16 and dtype != np.float32):
            raise Error("the dtype of a core is %s; choose float32, with or without bfloat16, or "
                        "float64" % dtype)
        self.spec, self.heads, self.head_width, self.bfloat16 = spec, heads, head_width, bfloat16
        self.key_heads, self.value_width = key_heads or heads, value_width or head_width
        self.context = shared_context(threads, isa, device)
        self._form = fill_request(binding.oa_core_form, dict(
            heads=heads, key_heads=key_heads, head_width=head_width, value_width=value_width,
            length=context, key_length=key_context, causal=int(causal), cross=int(cross),
            seed=seed, logit_cap=logit_cap))
        self._open(dtype)

    def _open(self, dtype):
        self.dtype, self._spare = dtype, []
        self._form.precision = (b"bf16" if self.bfloat16 else
                                b"f64" if dtype == np.float64 else b"f32")
        self.handle = Handle(self.context, text_bytes(self.spec, "attention"), self._form, "core")
        self.parameters, self.frozen, self.gradients = {}, {}, {}
        self._describe()
        for name in ("parameters", "frozen", "gradients"):
            setattr(self, name, MappingProxyType(getattr(self, name)))

    def _describe(self):
        weights, i = binding.oa_weights(), 0
        while library.oa_core_weights(self.handle.value, i, ctypes.byref(weights)):
            name, shape = weights.name.decode(), tuple(weights.dim[:weights.dims])
            trained = bool(weights.gradient)
            view = self.handle.view(weights.value, shape, self.dtype)
            (self.parameters if trained else self.frozen)[name] = view
            if trained:
                self.gradients[name] = self.handle.view(weights.gradient, shape, self.dtype)
            i += 1

    def changed(self) -> None:
        """To be called after parameters were written."""
        with self.context.lock:
            library.oa_core_changed(self.handle.value)

    def zero_gradients(self) -> None:
        with self.context.lock:
            library.oa_core_zero_gradients(self.handle.value)

    # ---- arrays

    def _checked(self, x, name):
        x = as_array(x, name)
        if x.dtype.kind not in "fiub":
            raise Error("%s is an array of %s; give one of real numbers" % (name, x.dtype))
        if not np.can_cast(x.dtype, self.dtype):
            raise Error("%s is %s, which the core would round to %s: convert it, or open the core "
                        "with another dtype than %s" % (name, x.dtype, self.dtype, self.dtype))
        return x

    def _follow(self, *arrays):
        """The first arrays give the core its dtype. Parameters may have been read already."""
        if not self._follows:
            return
        with self.context.lock:
            self._follows = False
            if not self.parameters and not all(np.can_cast(x.dtype, np.float32) for x in arrays):
                self._open(np.dtype(np.float64))

    def _array(self, x, name, heads, width):
        x = np.asarray(self._checked(x, name), self.dtype)
        if x.ndim != 4 or x.shape[2:] != (heads, width):
            raise Error("%s has the shape %s; give [batch, tokens, %d, %d]"
                        % (name, list(x.shape), heads, width), binding.OA_SHAPE)
        whole = ((x.strides[3] == x.itemsize or width == 1)
                 and all(s % x.itemsize == 0 for s in x.strides))
        return x if whole and any(x.strides[:3]) else np.ascontiguousarray(x)

    def _input(self, q, k, v, lengths):
        q, k, v = as_array(q, "q"), as_array(k, "k"), as_array(v, "v")
        self._follow(q, k, v)
        q = self._array(q, "q", self.heads, self.head_width)
        k = self._array(k, "k", self.key_heads, self.head_width)
        v = self._array(v, "v", self.key_heads, self.value_width)
        if not q.shape[0] == k.shape[0] == v.shape[0] or k.shape[1] != v.shape[1]:
            raise Error("q, k and v have the shapes %s, %s and %s: give one batch, and as many keys "
                        "as values" % (list(q.shape), list(k.shape), list(v.shape)),
                        binding.OA_SHAPE)
        if lengths is not None:
            lengths = int32_array(lengths, "lengths")
            if lengths.shape != q.shape[:1]:
                raise Error("lengths has the shape %s; give [%d]"
                            % (list(lengths.shape), q.shape[0]), binding.OA_SHAPE)
        return q, k, v, lengths

    def forward(self, q: Any, k: Any, v: Any, lengths: Any = None, backward: bool = True,
                into: Optional[CorePass] = None) -> Tuple[np.ndarray, CorePass]:
        """o [batch, queries, heads, value_width] of q [batch, queries, heads, head_width], k and v
        [batch, keys, key_heads, …], and the CorePass for backward. lengths [batch]: keys without
        padding. With causal, fewer queries than keys are the last ones. backward=False: none
        follows. Arrays with other strides are not copied, if the rows of heads are contiguous."""
        if self.context.process != os.getpid():
            raise Error("this core was opened before a fork, whose threads are not in this "
                        "process: open it here", binding.OA_UNSUPPORTED)
        q, k, v, lengths = self._input(q, k, v, lengths)
        o = np.empty((*q.shape[:3], self.value_width), self.dtype)
        with self.context.lock:
            p = into or self.take_pass()
            self.forward_at(p, (q.shape, k.shape, v.shape, o.shape),
                            [x.ctypes.data for x in (q, k, v, o)],
                            [s // x.itemsize for x in (q, k, v) for s in x.strides[:3]],
                            lengths, backward)
        return o, p

    def take_pass(self) -> "CorePass":
        """One that release() gave back, or a new one."""
        return self._spare.pop() if self._spare else CorePass(self.handle)

    def forward_at(self, p: CorePass, shapes: Sequence[Sequence[int]], addresses: Sequence[int],
                   strides: Sequence[int], lengths: Any, backward: bool) -> None:
        """forward on arrays at addresses: of q, k, v and o, with nine strides in elements, and
        lengths an array of int32 or None; without a check. Under the lock of the context."""
        given, (q, k, _, _) = p.given, shapes
        p.shapes = shapes
        given.batch, given.queries, given.keys, given.no_backward = q[0], q[1], k[1], not backward
        given.q, given.k, given.v, o = addresses
        p.strides[:] = strides
        given.lengths = None if lengths is None else lengths.ctypes.data_as(_Lengths)
        self.context.check(library.oa_core_forward(p.handle, p.reference, o))

    def __call__(self, q: Any, k: Any, v: Any, lengths: Any = None) -> np.ndarray:
        o, p = self.forward(q, k, v, lengths, backward=False)
        self.release(p)
        return o

    def backward(self, p: CorePass, do: Any) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(dq, dk, dv) of a CorePass from do; gradients of parameters are added to `gradients`. A
        pass has one backward call."""
        if p.core is not self.handle:
            raise Error("the pass is that of another core")
        do = np.ascontiguousarray(self._checked(do, "do"), self.dtype)
        if do.shape != p.shapes[3]:
            raise Error("do has the shape %s; give %s" % (list(do.shape), list(p.shapes[3])),
                        binding.OA_SHAPE)
        gradients = tuple(np.empty(shape, self.dtype) for shape in p.shapes[:3])
        with self.context.lock:
            self.context.check(library.oa_core_backward(
                p.handle, do.ctypes.data, *[g.ctypes.data for g in gradients]))
        return gradients

    def release(self, p: CorePass) -> None:
        """A pass that is not needed any more; the next forward call uses its memory."""
        self._spare.append(p)

