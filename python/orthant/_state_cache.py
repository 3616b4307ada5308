# SPDX-License-Identifier: Apache-2.0
"""A cache for transformers models that stores decoding states instead of keys and values."""
import torch
from transformers.cache_utils import Cache, CacheLayerMixin

from . import _binding as binding
from ._library import Error
from ._torch_core import array_of, tensor_of


class StateLayer(CacheLayerMixin):
    """Of one attention module: a decoding state for each sequence."""

    is_sliding = False

    def __init__(self, **keywords):
        super().__init__(**keywords)
        self.tokens, self.read, self.states = 0, 0, []

    def lazy_initialization(self, key_states, value_states):
        self.is_initialized = True

    def update(self, key_states, value_states, *arguments, **keywords):
        """The new keys and values alone, by which the attention finds this object."""
        if self.read != self.tokens:
            raise Error("a StateCache is for attentions of Orthant, and did not meet one: set the "
                        "model to orthant.transformers.register(…)", binding.OA_UNSUPPORTED)
        self.is_initialized = True
        self.tokens += key_states.shape[2]
        key_states.orthant_states = self
        return key_states, value_states

    def step(self, core, q, k, v, starts):
        """o of the new tokens, [batch, heads, tokens, width]; those before starts[b], counted from
        the first token of all, are padding of sequence b."""
        self.states = self.states or [core.decode() for _ in range(q.shape[0])]
        if len(self.states) != q.shape[0] or self.states[0].core is not core:
            raise Error("a StateCache of %d sequences with %r met %d with %r: make a new one"
                        % (len(self.states), self.states[0].core.spec, q.shape[0], core.spec))
        before, self.read = self.read, self.tokens
        o = q.new_zeros(*q.shape[:3], v.shape[3])
        for b, state in enumerate(self.states):
            first = max(0, starts[b] - before)
            if first < q.shape[2]:
                rows = state.step(*[array_of(t[b:b + 1, :, first:]) for t in (q, k, v)])
                o[b:b + 1, :, first:] = tensor_of(rows, q.dtype)
        return o

    def get_mask_sizes(self, query_length):
        return self.tokens + query_length, 0

    def get_seq_length(self):
        return self.tokens

    def get_max_length(self):
        return -1

    def reset(self):
        self.tokens, self.read, self.states, self.is_initialized = 0, 0, [], False

    def crop(self, tokens_to_remove):
        if tokens_to_remove:
            raise Error("a StateCache cannot forget tokens: make a new one", binding.OA_UNSUPPORTED)

    def reorder_cache(self, beam_idx):
        self.states = [self.states[i].reorder([0]) for i in beam_idx.tolist()]

    def batch_repeat_interleave(self, repeats):
        self.reorder_cache(torch.arange(len(self.states)).repeat_interleave(repeats))

    def batch_select_indices(self, indices):
        self.reorder_cache(torch.arange(len(self.states))[indices])


class StateCache(Cache):
    """`past_key_values` of a model of transformers whose attentions are Orthant's: a step costs
    what the state costs, for a linear attention independent of the earlier tokens. For one
    generation, without gradients; left padding only."""

    def __init__(self) -> None:
        super().__init__(layer_class_to_replicate=StateLayer)
