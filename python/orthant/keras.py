# SPDX-License-Identifier: Apache-2.0
"""Any attention of the language as a layer of Keras 3, on its backends jax and torch."""
from typing import Any

import keras
import numpy as np
from keras import ops

from . import _binding as binding
from ._library import Error
from .layer import Layer

if keras.backend.backend() == "jax":
    from .jax import Attention as _Function

    def _open(form):
        return _Function(**form)
elif keras.backend.backend() == "torch":
    import torch

    from .torch import Attention as _Module

    def _open(form):
        module = _Module(**{**form, "dtype": getattr(torch, form["dtype"])})

        def call(weights, x, lengths):
            if any(w.is_meta for w in weights.values()):  # Keras asks for the shape
                return torch.empty_like(x)
            return torch.func.functional_call(module, weights, (x, None, lengths))
        return call
else:
    raise ImportError("orthant.keras computes on the backends jax and torch, and this is %s: set "
                      "KERAS_BACKEND before keras is imported" % keras.backend.backend())


@keras.saving.register_keras_serializable("orthant")
class Attention(keras.layers.Layer):
    """Self-attention with its projections: y [batch, tokens, width] of x.

    spec, heads, context, causal, bias, seed, threads: as orthant.Layer; the width is that of x.
    dtype float32 or float64. mask [batch, tokens], as Embedding(mask_zero=True) gives it: true
    where there is a token, padding at the end; another mask is refused as a length of -1.
    """

    def __init__(self, spec: str, heads: int, context: int, causal: bool = False,
                 bias: bool = False, seed: int = 1, threads: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.arguments = dict(spec=spec, heads=heads, context=context, causal=causal, bias=bias,
                              seed=seed, threads=threads)
        if self.compute_dtype not in ("float32", "float64") or \
                self.compute_dtype != self.variable_dtype:
            raise Error("the dtype of an attention is %s; choose float32 or float64"
                        % self.dtype_policy.name, binding.OA_UNSUPPORTED)

    def build(self, input_shape: Any) -> None:
        form = dict(self.arguments, width=int(input_shape[-1]), dtype=self.compute_dtype)
        first = Layer(**form)
        self._names, self._function = [*first.parameters], _open(form)
        self._own = [self.add_weight(name=name.replace(".", "_"), shape=array.shape)
                     for name, array in first.parameters.items()]
        for variable, array in zip(self._own, first.parameters.values()):
            variable.assign(np.array(array))

    def call(self, x: Any, mask: Any = None) -> Any:
        lengths = None if mask is None else self._lengths(ops.cast(mask, "int32"))
        weights = dict(zip(self._names, (v.value for v in self._own)))
        return self._function(weights, x, lengths=lengths)

    def _lengths(self, mask):
        """[batch]; −1, which the library refuses, where padding is not at the end."""
        tokens = ops.sum(mask, -1)
        whole = ops.all(mask[:, 1:] <= mask[:, :-1], -1)
        return ops.where(whole, tokens, -1)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict:
        return {**super().get_config(), **self.arguments}
