# SPDX-License-Identifier: Apache-2.0
"""The checks of 'orthant verify' for attentions of other programs: verify_callable."""
import copy
import ctypes
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

import numpy as np

from . import _binding as binding
from ._library import Context, Error, text_bytes

class Proof:
    """What verify_callable found. checks: a dict for each claim, with claim, sentence, passed,
    calls, error (the largest), bound and where (of the largest error, or why it could not be
    judged)."""

    def __init__(self, checks):
        self.checks = checks

    @property
    def failures(self) -> List[Dict[str, Any]]:
        return [check for check in self.checks if not check["passed"]]

    @property
    def passed(self) -> bool:
        return not self.failures

    def __bool__(self):
        return self.passed

    def require(self) -> "Proof":
        """Raises the failures as an Error of the kind DISPROVED; returns the proof otherwise."""
        if self.failures:
            raise Error("; ".join("%(claim)s: %(where)s" % check for check in self.failures),
                        binding.OA_DISPROVED)
        return self

    def __repr__(self):
        lines = []
        for check in self.checks:
            error = "" if check["error"] is None else "%.1e of %.0e" % (check["error"],
                                                                        check["bound"])
            lines.append("%-13s  %-6s  %-17s  %s" % (
                check["claim"], "holds" if check["passed"] else "FAILS", error,
                check["sentence"] if check["passed"] else check["where"]))
        return "\n".join(lines)


class Subject:
    """f with arrays of NumPy on both sides, whatever its framework."""

    def __init__(self, f, framework, example):
        self.f = f
        self.framework = framework or self.find_framework(example)
        self.copies = {}

    def find_framework(self, example):
        torch = sys.modules.get("torch")
        if torch and isinstance(self.f, torch.nn.Module):
            return "torch"
        try:
            np.asarray(self.f(*example))
            return "numpy"
        except Exception as exception:
            if not torch:
                raise Error("f cannot be called with arrays of NumPy (%s): import torch first if "
                            "it takes tensors" % exception) from exception
            return "torch"

    def of_dtype(self, dtype):
        """A module of torch in a precision; other functions follow their arguments."""
        torch = sys.modules.get("torch")
        if not (torch and isinstance(self.f, torch.nn.Module)):
            return self.f
        if dtype not in self.copies:
            self.copies[dtype] = copy.deepcopy(self.f).eval().to(
                torch.float64 if dtype == np.float64 else torch.float32)
        return self.copies[dtype]

    def wrap(self, array):
        if self.framework == "numpy" or array is None:
            return array
        return sys.modules["torch"].from_numpy(np.ascontiguousarray(array))

    def unwrap(self, value):
        value = value[0] if isinstance(value, tuple) else value
        return value.detach().numpy() if hasattr(value, "detach") else np.asarray(value)

    def __call__(self, *arrays, lengths=None):
        """y as an array of its own, which must be like the last argument."""
        dtype = np.dtype(arrays[0].dtype).type
        keywords = {} if lengths is None else {"lengths": self.wrap(lengths)}
        y = np.array(self.unwrap(self.of_dtype(dtype)(
            *[self.wrap(a.copy()) for a in arrays], **keywords)))
        if y.dtype.kind != "f":
            raise Error("the result is of the type %s; give numbers with a fraction" % y.dtype)
        if y.shape != arrays[-1].shape:
            raise Error("the result has the shape %s; give %s" % (list(y.shape),
                                                                  list(arrays[-1].shape)))
        return y


class Calls:
    """Answers the calls of the library, which draws the arguments and judges the results
    (src/verify/callable_claims.c)."""

    def __init__(self, context, subject, step, gradient):
        self.context, self.subject = context, subject
        self.step, self.gradient = step, gradient

    def run(self, argument, calls, count):
        for i in range(count):
            self.context.guard(self.answer, calls[i])
            if self.context.stop.value:
                return 1
        return 0

    def answer(self, call):
        shape = (call.batch, call.heads, call.tokens, call.width)
        shape = shape if call.arrays == 3 else shape[:1] + shape[2:]

        def view(pointer):
            return np.ctypeslib.as_array(pointer, shape)

        dtype = np.float64 if call.is_double else np.float32
        arrays = [view(call.input[i]).astype(dtype) for i in range(call.arrays)]
        try:
            if call.mode == binding.OA_CALL_GRADIENT:
                for i, slope in enumerate(self.slopes(arrays, view(call.dy).copy())):
                    view(call.slope[i])[...] = slope
            elif call.claim == b"pure":
                call.changed = self.changes(arrays)
            else:
                lengths = (np.ctypeslib.as_array(call.lengths, (call.batch,)).copy()
                           if call.lengths else None)
                y = (self.decode(arrays) if call.mode == binding.OA_CALL_STEPS
                     else self.subject(*arrays, lengths=lengths))
                view(call.y)[...] = y
                call.type = str(y.dtype).encode()[:15]
        except Error as error:
            call.why = str(error).encode()[:399]
        except Exception as exception:  # of f
            call.why = ("f raised %s: %s" % (type(exception).__name__, exception)).encode()[:399]

    def changes(self, arrays):
        copies = [a.copy() for a in arrays]
        self.subject.of_dtype(arrays[0].dtype.type)(*[self.subject.wrap(a) for a in copies])
        return int(not all(map(np.array_equal, arrays, copies)))

    def decode(self, arrays):
        if not self.step:
            raise Error("decoding needs step(x_t, state) → (y_t, state)")
        rows, state = [], None
        for t in range(arrays[0].shape[-2]):
            given = [self.subject.wrap(a[..., t:t + 1, :].copy()) for a in arrays]
            y, state = self.step(*given, state)
            rows.append(self.subject.unwrap(y))
            if rows[-1].shape != arrays[-1][..., :1, :].shape:
                raise Error("step gives the shape %s; give %s" % (
                    list(rows[-1].shape), list(arrays[-1][..., :1, :].shape)))
        return np.concatenate(rows, -2)

    def slopes(self, arrays, dy):
        """Gradients of the sum of dy·f as f's side has them."""
        if self.subject.framework == "numpy" and not self.gradient:
            raise Error("a function of NumPy has no gradient: give gradient(x, dy) → dx")
        if self.gradient:
            given = self.gradient(*arrays, dy)
            given = [np.asarray(g) for g in (given if isinstance(given, tuple) else (given,))]
            if [g.shape for g in given] != [a.shape for a in arrays]:
                raise Error("gradient gives the shapes %s; give %s" % (
                    [list(g.shape) for g in given], [list(a.shape) for a in arrays]))
            return given
        tensors = [self.subject.wrap(a).requires_grad_() for a in arrays]
        y = self.subject.of_dtype(np.float64)(*tensors)
        y = y[0] if isinstance(y, tuple) else y
        (y * self.subject.wrap(dy)).sum().backward()
        return [np.zeros(a.shape) if t.grad is None else t.grad.numpy()
                for a, t in zip(arrays, tensors)]


def verify_callable(f: Callable[..., Any], claims: Union[str, Sequence[str], None] = None,
                    inputs: str = "x", step: Optional[Callable[..., Any]] = None,
                    gradient: Optional[Callable[..., Any]] = None, framework: Optional[str] = None,
                    batch: int = 3, tokens: Sequence[int] = (1, 2, 7, 12), width: int = 16,
                    heads: int = 2, seed: int = 0) -> Proof:
    """Checks claims about an attention of NumPy or PyTorch by running it; returns a Proof.

    f(x [batch, tokens, width]) or, with inputs="qkv", f(q, k, v), each [batch, heads, tokens,
    width / heads]; its result (the first of a tuple) has the shape of x or v. For the claim
    "padding" it is called with lengths= int32 [batch]. An nn.Module is copied, set to eval() and
    run in float32 and float64.
    claims: pure, deterministic, dtype, batch, gradient, causal, padding, permutation, average,
    decoding. None: pure, deterministic, dtype, batch, with a step decoding, and where f is of
    PyTorch or a gradient is given, gradient. The others are only checked when named: not every
    attention claims them. "average" is about q, k and v.
    step(x_t, state) → (y_t, state), or (q_t, k_t, v_t, state): the next token, state None at first.
    gradient(x, dy) → dx, or (q, k, v, dy) → (dq, dk, dv): of functions of NumPy.
    """
    if inputs not in ("x", "qkv"):
        raise Error('inputs is %r; give "x" or "qkv"' % (inputs,))
    if framework not in (None, "numpy", "torch"):
        raise Error('framework is %r; give "numpy", "torch" or None' % (framework,))
    claims = [claims] if isinstance(claims, str) else claims
    if claims is not None and not claims:
        raise Error("claims is empty: name one, or give None for the usual ones")
    heads = heads if inputs == "qkv" else 1
    shape = (1, heads, 3, width // heads) if inputs == "qkv" else (1, 3, width)
    random = np.random.default_rng(seed)
    subject = Subject(f, framework, [random.standard_normal(shape)
                                     for _ in range(3 if inputs == "qkv" else 1)])
    if claims is None:
        claims = ["pure", "deterministic", "dtype", "batch"] + ["decoding"] * bool(step)
        claims += ["gradient"] * bool(gradient or subject.framework == "torch")
    lengths = list(tokens)
    with Context(threads=1) as context:
        calls = Calls(context, subject, step, gradient)
        request = binding.oa_callable(
            run=dict(binding.oa_callable._fields_)["run"](calls.run),
            claims=text_bytes(",".join(claims), "claims"), arrays=3 if inputs == "qkv" else 1,
            batch=batch, heads=heads, width=width,
            tokens=(ctypes.c_long * len(lengths))(*lengths), lengths=len(lengths), seed=seed)
        found = context.json_of("oa_callable_verify", context.handle, ctypes.byref(request),
                                accept=(binding.OA_DISPROVED,))
    return Proof(found["claims"])
