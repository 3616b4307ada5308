# SPDX-License-Identifier: Apache-2.0
"""Configuration of a model that Orthant exported; modeling_orthant.py has the model."""
from transformers import PretrainedConfig


class OrthantConfig(PretrainedConfig):
    """config.json as Orthant writes it.

    layers   of each layer the groups of heads of its attention: mechanism, heads, options; of an encoder-decoder those
             of the decoder, and in cross_layers and encoder_layers the others
    tensors  shape of every tensor by its name; frozen: those that are not trained
    blocks   what is around the attention: norms, feed-forward layers, positions
    """

    model_type = "orthant"

    def __init__(self, layers=(), tensors=None, frozen=(), blocks=None, causal=True, attention="",
                 encoder_layers=(), cross_layers=(), **rest):
        self.layers = list(layers)
        self.encoder_layers, self.cross_layers = list(encoder_layers), list(cross_layers)
        self.tensors = dict(tensors or {})
        self.frozen = list(frozen)
        self.blocks = dict(blocks or {})
        self.causal = causal
        self.attention = attention
        super().__init__(**rest)
