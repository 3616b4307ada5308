# SPDX-License-Identifier: Apache-2.0
"""The checks of 'orthant verify' for attentions of other programs: verify_callable."""
import copy
import itertools
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

import numpy as np

from . import _binding as binding
from ._library import Error

# claim: what it says of f
CLAIMS = {
    "pure": "f leaves its arguments as they are",
    "deterministic": "the same arguments give the same bits",
    "dtype": "float32 and float64 give results of their own type that agree",
    "batch": "a sequence has the same result alone and in a batch",
    "gradient": "the gradient is that of central differences",
    "causal": "no row depends on later tokens",
    "padding": "rows are those of the sequence without its padding",
    "permutation": "permuted tokens give permuted rows",
    "decoding": "token by token gives the rows of the whole sequence",
}
# Largest difference of two results that must be equal, relative to the largest element.
BOUNDS = {np.dtype(np.float32): 2e-4, np.dtype(np.float64): 1e-9}
GRADIENT_BOUND, MIXED_BOUND = 1e-5, 1e-3
LOUD = 1e3  # the factor of tokens that must not be heard


class Proof:
    """What verify_callable found. checks: a dict for each claim, with claim, passed, error (the
    largest), bound and where (of the largest error, or why it could not be judged)."""

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
                CLAIMS[check["claim"]] if check["passed"] else check["where"]))
        return "\n".join(lines)


class Check:
    """The largest error of one claim, relative to its bound."""

    def __init__(self, claim):
        self.claim, self.error, self.bound, self.where, self.worst = claim, None, None, "", -1.0

    def compare(self, found, expected, bound, where):
        """found must equal expected; `where` with a %d gets the row of the largest difference."""
        if found.shape != expected.shape:
            return self.fail("%s: the result has the shape %s and should have %s"
                             % (where.split(";")[0] % 0 if "%d" in where else where,
                                list(found.shape), list(expected.shape)))
        if found.size == 0:
            return None
        size = max(float(np.max(np.abs(expected[np.isfinite(expected)]), initial=0)), 1e-6)
        with np.errstate(invalid="ignore"):
            apart = np.abs(found.astype(np.float64) - expected) / size
        apart[np.isnan(apart)] = np.inf
        place = np.unravel_index(int(np.argmax(apart)), apart.shape)
        if not np.isfinite(expected[place]):
            return self.note(np.inf, bound, "a result is not finite, in row %d" % place[-2])
        return self.note(float(apart[place]), bound,
                         where % place[-2] if "%d" in where else where)

    def note(self, error, bound, where):
        if error / bound > self.worst:
            self.worst, self.error, self.bound, self.where = error / bound, error, bound, where

    def fail(self, why):
        self.worst, self.error, self.bound, self.where = np.inf, None, None, why

    def result(self):
        return {"claim": self.claim, "passed": 0 <= self.worst <= 1, "error": self.error,
                "bound": self.bound, "where": self.where or "no check was made"}


class Subject:
    """f with arrays of NumPy on both sides, whatever its framework."""

    def __init__(self, f, inputs, framework, draw):
        self.f, self.count = f, {"x": 1, "qkv": 3}[inputs]
        self.framework = framework or self.find_framework(draw)
        self.copies = {}

    def find_framework(self, draw):
        torch = sys.modules.get("torch")
        if torch and isinstance(self.f, torch.nn.Module):
            return "torch"
        try:
            np.asarray(self.f(*draw(1, 3, np.float64)))
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


class Verifier:
    def __init__(self, f, inputs, framework, step, gradient, sizes, seed):
        self.random = np.random.default_rng(seed)
        self.batch, self.tokens, self.width, self.heads = sizes
        self.inputs, self.step, self.gradient = inputs, step, gradient
        self.subject = Subject(f, inputs, framework, self.draw)

    def draw(self, batch, tokens, dtype=np.float64):
        """Arguments of f: [batch, tokens, width], or three of [batch, heads, tokens, width]."""
        count, shape = 1, (batch, tokens, self.width)
        if self.inputs == "qkv":
            count, shape = 3, (batch, self.heads, tokens, self.width // self.heads)
        return [self.random.standard_normal(shape).astype(dtype) for _ in range(count)]

    def changed(self, arrays, begin, end, how):
        """Copies with other tokens begin … end - 1."""
        out = []
        for a in arrays:
            a = a.copy()
            fresh = self.random.standard_normal(a[..., begin:end, :].shape)
            a[..., begin:end, :] = fresh * (LOUD if how == "loud" else 1)
            out.append(a)
        return out

    def cases(self):
        """Arguments in both precisions and all lengths."""
        for dtype, tokens in itertools.product((np.float64, np.float32), self.tokens):
            yield self.draw(self.batch, tokens, dtype), tokens, BOUNDS[np.dtype(dtype)]

    # ---- claims

    def check_pure(self, check):
        for arrays, tokens, bound in self.cases():
            copies = [a.copy() for a in arrays]
            f = self.subject.of_dtype(arrays[0].dtype.type)
            f(*[self.subject.wrap(a) for a in copies])
            for given, left in zip(arrays, copies):
                check.note(float(not np.array_equal(given, left)), 0.5,
                           "an argument of %d tokens was changed in place" % tokens)

    def check_deterministic(self, check):
        for arrays, tokens, bound in self.cases():
            first, second = self.subject(*arrays), self.subject(*arrays)
            check.note(float(not np.array_equal(first, second, equal_nan=True)), 0.5,
                       "two calls with the same %d tokens differ" % tokens)

    def check_dtype(self, check):
        for tokens in self.tokens:
            exact = self.draw(self.batch, tokens)
            exact = [a.astype(np.float32).astype(np.float64) for a in exact]
            fine, coarse = self.subject(*exact), self.subject(*[a.astype(np.float32)
                                                                for a in exact])
            for y, dtype in ((fine, np.float64), (coarse, np.float32)):
                check.note(float(y.dtype != dtype), 0.5, "%s gives a result of %s"
                           % (np.dtype(dtype), y.dtype))
            check.note(float(not np.isfinite(fine).all()), 0.5, "a result is not finite")
            check.compare(coarse, fine, MIXED_BOUND, "row %d in float32 is not that in float64")

    def check_batch(self, check):
        for arrays, tokens, bound in self.cases():
            whole = self.subject(*arrays)
            for b in range(self.batch):
                check.compare(self.subject(*[a[b:b + 1] for a in arrays]), whole[b:b + 1], bound,
                              "row %%d of sequence %d of %d differs alone and in a batch"
                              % (b, self.batch))

    def check_causal(self, check):
        for (arrays, tokens, bound), how in itertools.product(self.cases(), ("new", "loud")):
            whole = self.subject(*arrays)
            for first in range(1, tokens):
                other = self.subject(*self.changed(arrays, first, tokens, how))
                check.compare(other[..., :first, :], whole[..., :first, :], bound,
                              "row %%d changes with the tokens from %d on%s" % (
                                  first, "" if how == "new" else ", if these are large"))

    def check_padding(self, check):
        for (arrays, tokens, bound), how in itertools.product(self.cases(), ("new", "loud")):
            lengths = self.random.integers(1, tokens + 1, self.batch).astype(np.int32)
            whole = self.subject(*arrays, lengths=lengths)
            for b, n in enumerate(map(int, lengths)):
                alone = self.subject(*[a[b:b + 1, ..., :n, :] for a in arrays],
                                     lengths=lengths[b:b + 1])
                row = "row %%d of a sequence of %d tokens padded to %d" % (n, tokens)
                check.compare(whole[b:b + 1, ..., :n, :], alone, bound,
                              row + " is not that without padding")
                other = self.subject(*self.changed([a[b:b + 1] for a in arrays], n, tokens, how),
                                     lengths=lengths[b:b + 1])
                check.compare(other[..., :n, :], alone, bound, row + " changes with the padding")

    def check_permutation(self, check):
        for arrays, tokens, bound in self.cases():
            order = self.random.permutation(tokens)
            check.compare(self.subject(*[a[..., order, :] for a in arrays]),
                          self.subject(*arrays)[..., order, :], bound,
                          "row %d does not move with its token")

    def check_decoding(self, check):
        if not self.step:
            check.fail("decoding needs step(x_t, state) → (y_t, state)")
            return
        for arrays, tokens, bound in self.cases():
            whole, state = self.subject(*arrays), None
            for t in range(tokens):
                given = [self.subject.wrap(a[..., t:t + 1, :]) for a in arrays]
                y, state = self.step(*given, state)
                check.compare(self.subject.unwrap(y), whole[..., t:t + 1, :], bound,
                              "token %d of %d decoded is not its row of the whole sequence"
                              % (t, tokens))

    def slopes(self, arrays, dy):
        """Gradients of the sum of dy·f as f's side has them."""
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

    def check_gradient(self, check):
        if self.subject.framework == "numpy" and not self.gradient:
            check.fail("a function of NumPy has no gradient: give gradient(x, dy) → dx")
            return
        for tokens in self.tokens:
            arrays = self.draw(self.batch, tokens)
            dy = self.random.standard_normal(self.subject(*arrays).shape)
            theirs = self.slopes(arrays, dy)
            for i, at in itertools.product(range(len(arrays)), range(tokens)):
                self.check_slope(check, arrays, dy, theirs[i], i, at)

    def check_slope(self, check, arrays, dy, gradient, i, at):
        """Along a random direction of the tokens `at` of argument i."""
        direction, h = np.zeros(arrays[i].shape), 1e-5
        direction[..., at, :] = self.random.standard_normal(direction[..., at, :].shape)
        values = []
        for sign in (-1, 1):
            moved = [a + sign * h * direction if k == i else a for k, a in enumerate(arrays)]
            values.append(float(np.sum(dy * self.subject(*moved))))
        numeric, theirs = (values[1] - values[0]) / (2 * h), float(np.sum(direction * gradient))
        check.note(abs(numeric - theirs) / max(1.0, abs(numeric)), GRADIENT_BOUND,
                   "the slope of argument %d at token %d is %.6g, by central differences %.6g"
                   % (i, at, theirs, numeric))


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
    claims: of CLAIMS; None: pure, deterministic, dtype, batch, with a step decoding, and where f
    is of PyTorch or a gradient is given, gradient. "causal", "padding" and "permutation" are only
    checked when named: not every attention claims them.
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
    for claim in claims or ():
        if claim not in CLAIMS:
            raise Error("there is no claim %r; choose from %s" % (claim, ", ".join(CLAIMS)))
    verifier = Verifier(f, inputs, framework, step, gradient, (batch, tuple(tokens), width, heads),
                        seed)
    if claims is None:
        claims = ["pure", "deterministic", "dtype", "batch"] + ["decoding"] * bool(step)
        claims += ["gradient"] * bool(gradient or verifier.subject.framework == "torch")
    checks = []
    for claim in claims:
        check = Check(claim)
        try:
            getattr(verifier, "check_" + claim)(check)
        except Error as error:
            check.fail(str(error))
        except Exception as exception:  # of f
            check.fail("f raised %s: %s" % (type(exception).__name__, exception))
        checks.append(check.result())
    return Proof(checks)
