# SPDX-License-Identifier: Apache-2.0
"""Attention in JAX, on the CPU: layers with projections, and on given queries, keys and
values. Parameters are dicts of arrays, by the names of the attention language."""
import functools
import os
from typing import Any, Dict, Optional

import jax
import jax.numpy as jnp
import numpy as np

from . import _binding as binding
from ._library import Error
from .core import Core, check_padding
from .layer import Layer

_DTYPES = ("float32", "float64", "bfloat16")


def _arrays(*trees):
    return jax.tree.map(np.asarray, trees)


def _check_parameters(owner, given):
    """given: of the parameters of a layer or core; cast to its type of numbers."""
    if not isinstance(given, dict) or sorted(given) != sorted(owner.parameters):
        raise Error("%s has the trained parameters %s and was given %s: give all of them"
                    % (owner.spec, sorted(owner.parameters),
                       sorted(given) if isinstance(given, dict) else type(given).__name__),
                    binding.OA_UNSUPPORTED)
    for name, array in owner.parameters.items():
        if jnp.shape(given[name]) != array.shape:
            raise Error("parameter %s has the shape %s; give %s"
                        % (name, list(jnp.shape(given[name])), list(array.shape)),
                        binding.OA_SHAPE)
    return {name: jnp.asarray(given[name], array.dtype)
            for name, array in owner.parameters.items()}


def _load(owner, parameters):
    """Under the lock of its context: layers and cores are shared by all calls of a form."""
    for name, array in owner.parameters.items():
        np.copyto(array, parameters[name])
    owner.changed()


def _gradients(owner, p, dy):
    """Of the parameters, and what backward gives."""
    owner.zero_gradients()
    inputs = owner.backward(p, dy)
    owner.release(p)
    return {name: g.copy() for name, g in owner.gradients.items()}, inputs


def _shapes(tree):
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), tree)


# ---- on queries, keys and values

@functools.lru_cache(maxsize=64)
def _core(process, spec, **form):
    return Core(spec, **form)


def _open(q, k, v, form):
    spec, causal, context, cross, seed, threads, logit_cap = form
    context = context or 1 << (max(q.shape[1], k.shape[1]) - 1).bit_length()
    return _core(os.getpid(), spec, heads=q.shape[2], key_heads=k.shape[2], head_width=q.shape[3],
                 value_width=v.shape[3], context=context, causal=causal, cross=cross,
                 dtype=q.dtype.name, seed=seed, threads=threads, logit_cap=logit_cap)


def _forward(form, *inputs):
    q, k, v, lengths, weights = _arrays(*inputs)
    core = _open(q, k, v, form)
    with core.context.lock:
        _load(core, weights)
        return core(q, k, v, lengths)


def _backward(form, *inputs):
    """Gradients of q, k, v and the weights. The forward pass runs again: JAX has no place for
    one."""
    q, k, v, lengths, weights, do = _arrays(*inputs)
    core = _open(q, k, v, form)
    with core.context.lock:
        _load(core, weights)
        own, gradients = _gradients(core, core.forward(q, k, v, lengths)[1], do)
    return (*gradients, own)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attend(form, q, k, v, lengths, weights):
    out = jax.ShapeDtypeStruct((*q.shape[:3], v.shape[3]), q.dtype)
    return jax.pure_callback(functools.partial(_forward, form), out, q, k, v, lengths, weights,
                             vmap_method="sequential")


def _save(form, *inputs):
    return _attend(form, *inputs), inputs


def _differentiate(form, saved, do):
    q, k, v, _, weights = saved
    *gradients, own = jax.pure_callback(functools.partial(_backward, form),
                                        _shapes((q, k, v, weights)), *saved, do,
                                        vmap_method="sequential")
    return (*gradients, None, own)


_attend.defvjp(_save, _differentiate)


def attend(spec: str, q: Any, k: Any, v: Any, causal: bool = False, lengths: Any = None,
           scale: Optional[float] = None, context: int = 0, cross: Optional[bool] = None,
           seed: int = 1, threads: int = 0, logit_cap: float = 0.0,
           weights: Optional[Dict[str, Any]] = None) -> jax.Array:
    """o [batch, queries, heads, value width] of q [batch, queries, heads, width] and k, v [batch,
    keys, key heads, …], as jax.nn.dot_product_attention takes them. A host callback, for jit,
    grad and vmap (sequentially); differentiable once. weights: trained parameters
    of the attention itself, with the names and shapes of orthant.Core(…).parameters, which have
    gradients too. Other arguments: as orthant.torch.attend.
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
    if lengths is not None:
        check_padding(cross, causal, q.shape[1], k.shape[1])
    cross = not causal and q.shape[1] != k.shape[1] if cross is None else cross
    lengths = None if lengths is None else jnp.asarray(lengths, jnp.int32)
    form = spec, bool(causal), context, bool(cross), seed, threads, logit_cap
    core = _open(q, k, v, form)  # refuses here what the callback would
    return _attend(form, q, k, v, lengths, _check_parameters(core, weights or {}))


# ---- a layer

@functools.lru_cache(maxsize=64)
def _layer(process, form):
    return Layer(**dict(form))


def _layer_forward(form, *inputs):
    parameters, x, memory, lengths = _arrays(*inputs)
    layer = _layer(os.getpid(), form)
    with layer.context.lock:
        _load(layer, parameters)
        return layer(x, memory, lengths)


def _layer_backward(form, *inputs):
    parameters, x, memory, lengths, dy = _arrays(*inputs)
    layer = _layer(os.getpid(), form)
    with layer.context.lock:
        _load(layer, parameters)
        own, (dx, dmemory) = _gradients(layer, layer.forward(x, memory, lengths)[1], dy)
    return own, dx, dmemory


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _apply(form, parameters, x, memory, lengths):
    return jax.pure_callback(functools.partial(_layer_forward, form), _shapes(x), parameters, x,
                             memory, lengths, vmap_method="sequential")


def _save_layer(form, *inputs):
    return _apply(form, *inputs), inputs


def _differentiate_layer(form, saved, dy):
    return (*jax.pure_callback(functools.partial(_layer_backward, form), _shapes(saved[:3]), *saved,
                               dy, vmap_method="sequential"), None)


_apply.defvjp(_save_layer, _differentiate_layer)


class Attention:
    """Any attention of the language, with its projections, as a function of parameters and input.

    spec, width, heads, context …: as orthant.Layer; dtype "float32" or "float64". init() gives the
    initial parameters, a dict of arrays, of which jax.grad gives the gradients. Frozen tensors
    (random features) depend on the seed. A host callback, as attend.
    """

    def __init__(self, spec: str, width: int, heads: int, context: int, causal: bool = False,
                 cross: bool = False, bias: bool = False, memory_context: int = 0,
                 dtype: Any = "float32", seed: int = 1, threads: int = 0) -> None:
        self._form = tuple(dict(
            spec=spec, width=width, heads=heads, context=context, causal=causal, cross=cross,
            bias=bias, memory_context=memory_context, dtype=np.dtype(dtype).name, seed=seed,
            threads=threads).items())
        # of its own: those that are called have the parameters of the last call
        self._first = Layer(**dict(self._form))

    def init(self) -> Dict[str, jax.Array]:
        return {name: jnp.array(array) for name, array in self._first.parameters.items()}

    def __call__(self, parameters: Dict[str, Any], x: Any, memory: Any = None,
                 lengths: Any = None) -> jax.Array:
        """y [batch, tokens, width] of x, and of memory [batch, memory_tokens, width] in
        cross-attention; lengths [batch]: without padding, of the memory or of x."""
        first = self._first
        for array, name in ((x, "x"), (memory, "memory")):
            if array is None and name == "memory":
                continue
            if not hasattr(array, "dtype") or array.dtype != first.dtype:
                raise TypeError("%s is %s and the layer has the dtype %s: convert one of them"
                                % (name, getattr(array, "dtype", type(array).__name__),
                                   first.dtype))
            if array.ndim != 3 or array.shape[2] != first.width:
                raise Error("%s has the shape %s; give [batch, tokens, %d]"
                            % (name, list(array.shape), first.width), binding.OA_SHAPE)
        lengths = None if lengths is None else jnp.asarray(lengths, jnp.int32)
        return _apply(self._form, _check_parameters(first, parameters), x, memory, lengths)
