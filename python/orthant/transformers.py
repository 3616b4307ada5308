# SPDX-License-Identifier: Apache-2.0
"""Attentions of the language in models of transformers, on the CPU."""
import functools
import itertools
from typing import Optional

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from . import _binding as binding
from ._library import Error
from ._state_cache import StateCache
from ._torch_core import attend, core_of, load_weights, register_tensor, scale_queries
from .commands import explain
from .core import Core

__all__ = ["StateCache", "attach", "register"]


def register(spec: str, context: int = 0, seed: int = 1, threads: int = 0) -> str:
    """Registers an attention of the language, with its mask function, and returns the name for
    `attn_implementation`: "orthant:", the spec, and a context or seed of its own, so that models
    with other ones stay as they are.

    context: size of tables, 0 = max_position_embeddings of the model; seed of frozen parameters.
    The attention replaces the function of queries, keys and values: projections, rotary positions
    and caches stay those of the model. Attentions with trained parameters are refused at the first
    call, unless attach() gave them to the model.
    """
    explain(spec)  # refuses what is no attention here, not at the first call
    name = "orthant:" + spec
    name += " context=%d" % context if context else ""
    name += " seed=%d" % seed if seed != 1 else ""
    AttentionInterface.register(name, functools.partial(_forward, spec, context, seed, threads))
    AttentionMaskInterface.register(name, _mask)
    return name


class _Weights(torch.nn.Module):
    """The trained parameters of an attention: the member `orthant` of an attention module."""

    def __init__(self, spec, parameters, dtype):
        super().__init__()
        self.spec = spec
        for name, array in parameters.items():
            value = torch.from_numpy(array.copy()).to(dtype)
            register_tensor(self, name, torch.nn.Parameter(value))


def attach(model: torch.nn.Module, spec: str, context: int = 0, seed: int = 1,
           threads: int = 0) -> str:
    """register(), for attentions with trained parameters: the model is set to the attention, and
    its attention modules get a member `orthant` with the parameters, which are then among those of
    the model, for optimisers, state_dict and save_pretrained. Initial values are those of the seed.
    The modules are found by a call with model.dummy_inputs. A saved model is attached again before
    load_state_dict.
    """
    name = register(spec, context, seed, threads)
    training, number = model.training, itertools.count()
    for module in list(model.modules()):
        module._modules.pop("orthant", None)

    def make(module, query, key, value, *arguments, **keywords):
        core = Core(spec, query.shape[1], query.shape[3], context or _longest(module, key),
                    key_heads=key.shape[1], value_width=value.shape[3],
                    causal=getattr(module, "is_causal", False), seed=seed + next(number),
                    threads=threads)
        if core.parameters and "orthant" not in module._modules:
            module.add_module("orthant", _Weights(spec, core.parameters, query.dtype))
        return _forward(spec, context, seed, threads, module, query, key, value, *arguments,
                        **keywords)
    AttentionInterface.register(name + " attach", make)
    AttentionMaskInterface.register(name + " attach", _mask)
    model.set_attn_implementation(name + " attach")
    try:
        with torch.no_grad():
            model.eval()(**model.dummy_inputs)
    finally:
        model.train(training)
        model.set_attn_implementation(name)
    return name


def _weights(module, spec):
    own = module._modules.get("orthant")
    return dict(own.named_parameters()) if own is not None and own.spec == spec else None


def _mask(*arguments, **keywords):
    """The mask [batch, 1, queries, keys] in full: without one, a layer could not know whether it was
    left out on purpose or forgotten."""
    keywords.update(allow_is_causal_skip=False, allow_is_bidirectional_skip=False)
    return sdpa_mask(*arguments, **keywords)


class _Visible:
    """What a mask [batch, 1, queries, keys] says: of sequence b the keys starts[b] … ends[b] − 1 are
    real; with `causal` a query sees those up to itself, the last query being at keys − 1."""

    def __init__(self, mask, causal):
        if mask.dtype != torch.bool or mask.dim() != 4 or mask.shape[1] != 1:
            raise Error("the attention mask is %s %s; give [batch, tokens] of 0 and 1 to the model"
                        % (mask.dtype, list(mask.shape)), binding.OA_UNSUPPORTED)
        seen = mask[:, 0].any(1)
        places = torch.arange(mask.shape[3])
        self.starts = torch.where(seen, places, mask.shape[3]).amin(1)
        self.ends = torch.where(seen, places + 1, 0).amax(1)
        self.starts = torch.minimum(self.starts, self.ends)
        for self.keys in (int(self.ends.max()), mask.shape[3]):  # a static cache has room behind
            for self.causal in (causal, not causal):
                if self._is(mask[:, 0]):
                    return
        raise Error("the attention mask is neither causal nor that of all tokens, with padding at "
                    "the begin or end: sliding windows of the model, packed sequences and prefixes "
                    "are not supported; a window is an attention here, \"orthant:local(window=N)\"",
                    binding.OA_UNSUPPORTED)

    def _is(self, mask):
        keys = torch.arange(mask.shape[2])
        real = (keys >= self.starts[:, None]) & (keys < self.ends[:, None])
        if not self.causal:
            return bool((mask == real[:, None]).all())
        queries = self.keys - mask.shape[1] + torch.arange(mask.shape[1])
        past = keys <= queries[:, None]
        is_real = queries < self.ends[:, None]  # a query that is padding may see anything
        if not bool(is_real.any(1).all()):
            return False
        wrong = (mask != (real[:, None] & past)) & is_real[:, :, None]
        return mask.shape[1] <= self.keys and not bool(wrong.any())


def _visible(mask, causal):
    """_Visible of a mask, made once for all layers."""
    known = getattr(mask, "_orthant_visible", None)
    if known is None or known[0] != causal:
        known = mask._orthant_visible = causal, _Visible(mask, causal)
    return known[1]


def _check(spec, module, dropout, keywords):
    if dropout:
        raise Error("%s has no dropout of weights: set attention_dropout (of BERT: "
                    "attention_probs_dropout_prob) of the model from %g to 0, or call model.eval()"
                    % (spec, dropout), binding.OA_UNSUPPORTED)
    for name in ("s_aux", "position_bias", "head_mask"):
        if keywords.get(name) is not None:
            raise Error("%s gives its attention %s, which orthant does not know"
                        % (type(module).__name__, name), binding.OA_UNSUPPORTED)


def _forward(spec, context, seed, threads, module, query, key, value, attention_mask,
             dropout: float = 0.0, scaling: Optional[float] = None,
             is_causal: Optional[bool] = None, **keywords):
    _check(spec, module, dropout, keywords)
    causal = getattr(module, "is_causal", False) if is_causal is None else is_causal
    if attention_mask is None and causal:
        raise Error("%s is causal, but its model made no mask for \"orthant:%s\": the future would "
                    "be seen. Choose the attention by attn_implementation when the model is made, or "
                    "by model.set_attn_implementation" % (type(module).__name__, spec),
                    binding.OA_UNSUPPORTED)
    run = functools.partial(attend, spec, scale=scaling, seed=seed, threads=threads,
                            logit_cap=keywords.get("softcap") or 0.0,
                            context=context or _longest(module, key),
                            weights=_weights(module, spec))
    states = getattr(key, "orthant_states", None)
    if states is not None:
        return _step(states, run, query, key, value, attention_mask).transpose(1, 2), None
    if attention_mask is None:
        return run(query, key, value).transpose(1, 2), None
    visible = _visible(attention_mask, causal)
    key, value = key[:, :, :visible.keys], value[:, :, :visible.keys]
    if not visible.causal:
        run = functools.partial(run, cross=_is_cross(module, query, key))
    return _run_padded(run, query, key, value, visible).transpose(1, 2), None


def _is_cross(module, query, key):
    """Whether keys are of another sequence, which as many keys as queries do not tell."""
    of_decoder = getattr(module, "is_decoder", False) and not getattr(module, "is_causal", False)
    return query.shape[2] != key.shape[2] or of_decoder or "Cross" in type(module).__name__


def _step(states, run, query, key, value, mask):
    """o of the new tokens, with a StateCache. run: attend with its arguments."""
    arguments, weights = run.keywords, run.keywords["weights"] or {}
    visible = _visible(mask, True) if mask is not None else None
    if visible is None or not visible.causal or bool((visible.ends < states.tokens).any()):
        raise Error("a StateCache is for causal layers, without padding at the end: put the "
                    "padding to the begin, or give no past_key_values", binding.OA_UNSUPPORTED)
    if torch.is_grad_enabled() and (query.requires_grad or key.requires_grad):
        raise Error("a StateCache has no gradients: call the model under torch.no_grad()",
                    binding.OA_UNSUPPORTED)
    core = core_of(query, key, value, run.args[0], True, arguments["context"], False,
                   arguments["seed"], arguments["threads"], arguments["logit_cap"])
    with core.context.lock:
        load_weights(core, [*weights], [*weights.values()])
        return states.step(core, scale_queries(query, arguments["scale"]), key, value,
                           visible.starts.expand(query.shape[0]).tolist())


def _longest(module, key):
    config = getattr(module, "config", None)
    return max(getattr(config, "max_position_embeddings", 0) or 0, key.shape[2])


def _run_padded(run, query, key, value, visible):
    """Padding at the end goes to the core as lengths; sequences with padding at the begin run
    without it, those of one begin together."""
    batch = query.shape[0]
    starts, ends = visible.starts.expand(batch), visible.ends.expand(batch)
    run = functools.partial(run, causal=visible.causal)
    padded = bool((ends < visible.keys).any())
    if not bool(starts.any()):
        return run(query, key, value, lengths=ends if padded else None)
    out = query.new_zeros(*query.shape[:3], value.shape[3])
    for start in starts.unique().tolist():
        rows = (starts == start).nonzero()[:, 0]
        queries = min(query.shape[2], key.shape[2] - start)
        if queries == 0:
            continue
        o = run(query[rows][:, :, -queries:], key[rows][:, :, start:], value[rows][:, :, start:],
                lengths=ends[rows] - start if padded else None)
        out = out.index_put((rows,), torch.nn.functional.pad(
            o, (0, 0, query.shape[2] - queries, 0)))
    return out
