# SPDX-License-Identifier: Apache-2.0
"""Attention on given queries, keys and values. For PyTorch: orthant.torch.attend."""
import ctypes
import os
from types import MappingProxyType
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from . import _binding as binding
from ._library import Error, as_array, fill_request, int32_array, library, text_bytes
from .layer import Handle, is_exact, shared_context

_Strides = ctypes.c_long * 9  # of q, k and v, which follow each other in the struct
_Lengths = ctypes.POINTER(ctypes.c_int32)


class CorePass:
    """What backward needs of a forward call; several of a core may be alive."""

    def __init__(self, handle):
        self.handle = handle.open(library.oa_core_pass_open, library.oa_core_pass_close, self)
        self.core = handle
        self.shapes, self.pending = None, False  # pending: a backward call may follow
        self.given = binding.oa_core_input()
        self.reference = ctypes.byref(self.given)
        self.strides = _Strides.from_buffer(self.given, binding.oa_core_input.q_stride.offset)


def _dtype(dtype):
    """The dtype of the arrays of a core; of bfloat16, which NumPy does not have, that of ml_dtypes
    or that of its bits."""
    if isinstance(dtype, str) and dtype == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            return np.dtype(np.uint16)
        return np.dtype(ml_dtypes.bfloat16)
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64) and dtype.name != "bfloat16":
        raise Error("dtype is %s; choose numpy.float32, numpy.float64 or \"bfloat16\"" % dtype)
    return dtype


def _check_number(name, value, least):
    if not isinstance(value, (int, np.integer)):
        raise TypeError("%s is %r; give a whole number" % (name, value))
    if value < least:
        raise Error("%s is %d; give a number of at least %d" % (name, value, least),
                    binding.OA_SHAPE)


def check_padding(cross, causal, queries, keys):
    """Where lengths are given: of self-attention they are those of the queries too, whose rows of
    padding are 0."""
    if cross is None and not causal and queries == keys:
        raise Error("lengths is given with as many queries as keys: add cross=False where they are of "
                    "one sequence, so that queries of padding give 0, or cross=True",
                    binding.OA_ARGUMENT)


class Core:
    """An attention without its projections, on queries, keys and values.

    spec: one layer of the attention language, which must not read the tokens' input; heads,
    head_width; context: longest sequence; key_heads: heads of keys and values, 0 = heads;
    value_width, 0 = head_width; causal; cross, with key_context: the most keys, 0 = context; dtype:
    numpy.float32, float64 or "bfloat16", None: that of the first arrays (float32 where there are
    trained parameters); arrays that it would round are refused. Arrays of bfloat16 are those of
    ml_dtypes, or their bits as numpy.uint16. seed of the attention's own parameters; logit_cap, 0 =
    none. bfloat16: computes in it, on arrays of float32. parameters, frozen, gradients: as
    orthant.Layer; most attentions have none.
    """

    def __init__(self, spec: str, heads: int, head_width: int, context: int, key_heads: int = 0,
                 value_width: int = 0, key_context: int = 0, causal: bool = False,
                 cross: bool = False, dtype: Any = None, seed: int = 1,
                 logit_cap: float = 0.0, bfloat16: bool = False, threads: int = 0,
                 isa: Optional[str] = None, device: Optional[str] = None) -> None:
        self._follows = dtype is None and not bfloat16
        dtype = np.dtype(np.float32) if dtype is None else _dtype(dtype)
        if bfloat16 and dtype != np.float32:
            raise Error("bfloat16 is True and dtype is %s; give float32: it computes on arrays of "
                        "float32" % dtype)
        for name, value, least in (("heads", heads, 1), ("head_width", head_width, 1),
                                   ("context", context, 1), ("key_heads", key_heads, 0),
                                   ("value_width", value_width, 0),
                                   ("key_context", key_context, 0)):
            _check_number(name, value, least)
        if causal and cross:
            raise Error("causal and cross are both True: give one of them; keys of another "
                        "sequence have no order with the queries", binding.OA_ARGUMENT)
        if key_context and not cross:
            raise Error("key_context is %d and cross is False: give 0, or cross=True" % key_context,
                        binding.OA_SHAPE)
        self.causal, self.cross, self.length = bool(causal), bool(cross), context
        self.key_length = key_context or context
        self.spec, self.heads, self.head_width, self.bfloat16 = spec, heads, head_width, bfloat16
        self.key_heads, self.value_width = key_heads or heads, value_width or head_width
        self.context = shared_context(threads, isa, device)
        self._form = fill_request(binding.oa_core_form, dict(
            heads=heads, key_heads=key_heads, head_width=head_width, value_width=value_width,
            length=context, key_length=key_context, causal=int(causal), cross=int(cross),
            seed=seed, logit_cap=logit_cap))
        self._open(dtype)

    def _open(self, dtype):
        self.dtype, self._spare, bits = dtype, [], dtype.itemsize == 2
        self._form.precision = (b"bf16" if bits or self.bfloat16 else
                                b"f64" if dtype == np.float64 else b"f32")
        self._form.bf16_arrays = bits
        self.handle = Handle(self.context, text_bytes(self.spec, "spec"), self._form, "core")
        self.parameters, self.frozen, self.gradients = {}, {}, {}
        self._describe()
        for name in ("parameters", "frozen", "gradients"):
            setattr(self, name, MappingProxyType(getattr(self, name)))

    def _describe(self):
        weights, i = binding.oa_weights(), 0
        real = np.dtype(np.float32 if self.dtype.itemsize == 2 else self.dtype)
        while library.oa_core_weights(self.handle.value, i, ctypes.byref(weights)):
            name, shape = weights.name.decode(), tuple(weights.dim[:weights.dims])
            trained = bool(weights.gradient)
            view = self.handle.view(weights.value, shape, real)
            (self.parameters if trained else self.frozen)[name] = view
            if trained:
                self.gradients[name] = self.handle.view(weights.gradient, shape, real)
            i += 1

    def check_process(self):
        if self.context.process != os.getpid():
            raise Error("this core was opened before a fork, whose threads are not in this "
                        "process: open it here", binding.OA_UNSUPPORTED)

    def changed(self) -> None:
        """Call it after writing into parameters."""
        with self.context.lock:
            library.oa_core_changed(self.handle.value)

    def zero_gradients(self) -> None:
        with self.context.lock:
            library.oa_core_zero_gradients(self.handle.value)

    # ---- arrays

    def _checked(self, x, name):
        x = as_array(x, name)
        if self.dtype.itemsize == 2:
            if x.dtype.name != "bfloat16" and x.dtype != np.uint16:
                raise Error("%s is %s and the core has the dtype bfloat16: give an array of "
                            "ml_dtypes.bfloat16 or its bits as numpy.uint16, of a tensor "
                            "%s.view(torch.uint16)" % (name, x.dtype, name))
            return x.view(self.dtype)
        if x.dtype.kind not in "fiub":
            raise Error("%s is an array of %s and the core has the dtype %s; give one of real "
                        "numbers" % (name, x.dtype, self.dtype))
        if not is_exact(x, self.dtype):
            raise Error("%s is %s, which the core would round to %s: convert it, or open the core "
                        "with another dtype than %s" % (name, x.dtype, self.dtype, self.dtype))
        return x

    def _follow(self, *arrays):
        """The first arrays give the core its dtype. Parameters may have been read already."""
        if not self._follows:
            return
        with self.context.lock:
            self._follows = False
            if self.parameters:
                return
            if all(x.dtype.name == "bfloat16" for x in arrays):
                self._open(arrays[0].dtype)
            elif not all(np.can_cast(x.dtype, np.float32) for x in arrays):
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
        self.check_process()
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
        p.pending = backward
        code = library.oa_core_forward(p.handle, p.reference, o)
        if code or self.context.failure:
            p.pending = False
            self._fail(code, q[1], k[1])

    def _fail(self, code, queries, keys):
        """Raises the error of a call; of numbers of tokens by the names of the arguments here."""
        wrong = self._wrong_tokens(queries, keys) if code == binding.OA_SHAPE else None
        if wrong:
            library.oa_clear_error(self.context.handle)
            raise Error(wrong, code)
        self.context.check(code)

    def _wrong_tokens(self, queries, keys):
        if queries < 1 or keys < 1:
            return "q has %d tokens and k has %d: give at least one" % (queries, keys)
        if queries > self.length:
            return ("q has %d tokens and context is %d: give fewer, or a larger context"
                    % (queries, self.length))
        if keys > self.key_length:
            name = "key_context" if self.cross else "context"
            return ("k has %d tokens and %s is %d: give fewer, or a larger %s"
                    % (keys, name, self.key_length, name))
        if self.causal and keys < queries:
            return ("q has %d tokens and k has %d: with causal=True give at least as many keys, q "
                    "are the last of them" % (queries, keys))
        if not self.causal and not self.cross and keys != queries:
            return ("q has %d tokens and k has %d: give as many, or causal=True, where q are the "
                    "last tokens, or cross=True" % (queries, keys))
        return None

    def __call__(self, q: Any, k: Any, v: Any, lengths: Any = None) -> np.ndarray:
        o, p = self.forward(q, k, v, lengths, backward=False)
        self.release(p)
        return o

    def backward(self, p: CorePass, do: Any) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(dq, dk, dv) of a CorePass from do; gradients of parameters are added to `gradients`. A
        pass has one backward call."""
        if p.core is not self.handle:
            raise Error("the pass is that of another core: give it to the core that made it")
        if not p.pending:
            raise Error("the pass has no backward call left: call forward again, with "
                        "backward=True")
        do = np.ascontiguousarray(self._checked(do, "do"), self.dtype)
        if do.shape != p.shapes[3]:
            raise Error("do has the shape %s; give %s" % (list(do.shape), list(p.shapes[3])),
                        binding.OA_SHAPE)
        gradients, p.pending = tuple(np.empty(n, self.dtype) for n in p.shapes[:3]), False
        with self.context.lock:
            self.context.check(library.oa_core_backward(
                p.handle, do.ctypes.data, *[g.ctypes.data for g in gradients]))
        return gradients

    def decode(self, batch: int = 1) -> "CoreDecoding":
        """A state that reads `batch` sequences token by token (a causal core)."""
        return CoreDecoding(self, batch)

    def release(self, p: CorePass) -> None:
        """A pass that is not needed any more; the next forward call uses its memory."""
        self._spare.append(p)


class CoreDecoding:
    """step(q, k, v): the rows of o [batch, n, heads, value_width] of the next n tokens, the arrays
    having these tokens alone. The cost of a step is that of the state, which a linear attention has
    independent of the earlier tokens; a softmax keeps keys and values."""

    def __init__(self, core, batch):
        core.check_process()
        _check_number("batch", batch, 1)
        self.core, self.batch, self.opened = core, batch, None

    def _open(self):
        """At the first step, whose arrays may give the core its dtype."""
        if self.opened is not self.core.handle:
            if self.opened:
                raise Error("the core was opened again with another dtype: call decode() again")
            self.opened = self.core.handle
            self.handle = self.opened.open(
                lambda core: library.oa_core_state_open(core, self.batch),
                library.oa_core_state_close, self)

    def step(self, q: Any, k: Any, v: Any) -> np.ndarray:
        core = self.core
        core.check_process()
        q, k, v, _ = core._input(q, k, v, None)
        if q.shape[0] != self.batch or q.shape[1] != k.shape[1]:
            raise Error("q has %d sequences of %d tokens and k has %d tokens: give %d sequences, "
                        "and as many keys, those of these tokens"
                        % (q.shape[0], q.shape[1], k.shape[1], self.batch), binding.OA_SHAPE)
        o = np.empty((*q.shape[:3], core.value_width), core.dtype)
        given = binding.oa_core_input(batch=q.shape[0], queries=q.shape[1], q=q.ctypes.data,
                                      k=k.ctypes.data, v=v.ctypes.data)
        strides = _Strides.from_buffer(given, binding.oa_core_input.q_stride.offset)
        strides[:] = [s // x.itemsize for x in (q, k, v) for s in x.strides[:3]]
        with core.context.lock:
            self._open()
            core.context.check(library.oa_core_step(self.handle, ctypes.byref(given),
                                                    o.ctypes.data))
        return o

    def reorder(self, rows: Sequence[int]) -> "CoreDecoding":
        """A state whose sequence b is a copy of sequence rows[b] of this one, as a beam search
        needs it. As many sequences as rows."""
        new = CoreDecoding(self.core, len(rows))
        with self.core.context.lock:
            if self.opened:
                new._open()
                self.core.context.check(library.oa_core_state_copy(
                    self.handle, (ctypes.c_long * len(rows))(*rows), new.handle))
        return new
