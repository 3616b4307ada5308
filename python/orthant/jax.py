# SPDX-License-Identifier: Apache-2.0
"""Attention on given queries, keys and values in JAX, on the processor."""
import functools
import os
from typing import Any, Optional

import jax
import jax.numpy as jnp
import numpy as np

from . import _binding as binding
from ._library import Error
from .core import Core

_DTYPES = ("float32", "float64", "bfloat16")


@functools.lru_cache(maxsize=64)
def _core(process, spec, **form):
    core = Core(spec, **form)
    if core.parameters:
        raise Error("%s has trained parameters (%s), which this function has no place for: choose "
                    "another attention" % (spec, ", ".join(core.parameters)),
                    binding.OA_UNSUPPORTED)
    return core


def _open(q, k, v, form):
    spec, causal, context, cross, seed, threads, logit_cap = form
    context = context or 1 << (max(q.shape[1], k.shape[1]) - 1).bit_length()
    return _core(os.getpid(), spec, heads=q.shape[2], key_heads=k.shape[2], head_width=q.shape[3],
                 value_width=v.shape[3], context=context, causal=causal, cross=cross,
                 dtype=q.dtype.name, seed=seed, threads=threads, logit_cap=logit_cap)


def _forward(form, q, k, v, lengths):
    q, k, v, lengths = (None if x is None else np.asarray(x) for x in (q, k, v, lengths))
    core = _open(q, k, v, form)
    return core(q, k, v, lengths)


def _backward(form, q, k, v, lengths, do):
    """Gradients of q, k and v. The forward pass runs again: JAX has no place for one."""
    q, k, v, lengths, do = (None if x is None else np.asarray(x) for x in (q, k, v, lengths, do))
    core = _open(q, k, v, form)
    _, p = core.forward(q, k, v, lengths)
    gradients = core.backward(p, do)
    core.release(p)
    return gradients


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attend(form, q, k, v, lengths):
    out = jax.ShapeDtypeStruct((*q.shape[:3], v.shape[3]), q.dtype)
    return jax.pure_callback(functools.partial(_forward, form), out, q, k, v, lengths,
                             vmap_method="sequential")


def _save(form, q, k, v, lengths):
    return _attend(form, q, k, v, lengths), (q, k, v, lengths)


def _differentiate(form, saved, do):
    out = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in saved[:3]]
    gradients = jax.pure_callback(functools.partial(_backward, form), tuple(out), *saved, do,
                                  vmap_method="sequential")
    return (*gradients, None)


_attend.defvjp(_save, _differentiate)


def attend(spec: str, q: Any, k: Any, v: Any, causal: bool = False, lengths: Any = None,
           scale: Optional[float] = None, context: int = 0, cross: Optional[bool] = None,
           seed: int = 1, threads: int = 0, logit_cap: float = 0.0) -> jax.Array:
    """o [batch, queries, heads, value width] of q [batch, queries, heads, width] and k, v [batch,
    keys, key heads, …], as jax.nn.dot_product_attention takes them. A callback of the host, which
    jit, grad and vmap (one after the other) take; differentiable once. Arguments: as
    orthant.torch.attend.
    """
    for x, name in ((q, "q"), (k, "k"), (v, "v")):
        if not hasattr(x, "dtype") or x.dtype != q.dtype or x.dtype.name not in _DTYPES:
            raise TypeError("%s is %s; give three arrays of one of %s"
                            % (name, getattr(x, "dtype", type(x).__name__), ", ".join(_DTYPES)))
        if x.ndim != 4:
            raise Error("%s has the shape %s; give [batch, tokens, heads, width]"
                        % (name, list(x.shape)), binding.OA_SHAPE)
    if scale is not None:
        q = (q * (scale * q.shape[3] ** 0.5)).astype(k.dtype)
    cross = not causal and q.shape[1] != k.shape[1] if cross is None else cross
    lengths = None if lengths is None else jnp.asarray(lengths, jnp.int32)
    form = spec, bool(causal), context, bool(cross), seed, threads, logit_cap
    _open(q, k, v, form)  # refuses here what the callback would
    return _attend(form, q, k, v, lengths)
