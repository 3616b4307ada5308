# SPDX-License-Identifier: Apache-2.0
"""Orthant: trains and compares Transformers with any attention, and checks attention layers.

    train, compare, judge, load         runs and comparisons
    explain, verify, list, plan, doctor attentions, options, this machine
    import_hf, export_hf, swap, distil  models
    score, make_data, pack, make_tokenizer, encode, decode   files
    Layer, orthant.torch.Attention      layers for NumPy and PyTorch
    Core, orthant.torch.attend          the same on queries, keys and values
    orthant.transformers.register       attentions for models of transformers
    verify_callable                     checks of an attention of your own
"""
from ._binding import VERSION as __version__
from ._library import Error, Interrupted, library_path
from .commands import doctor, explain, export_hf, import_hf, list, options, plan, swap, verify
from .comparisons import Comparison, compare, judge, load
from .core import Core
from .files import decode, encode, make_data, make_tokenizer, pack, score
from .layer import Layer
from .runs import Run, distil, train
from .verifier import verify_callable

__all__ = ["Comparison", "Core", "Error", "Interrupted", "Layer", "Run", "__version__", "compare", "decode",
           "distil", "doctor", "encode", "explain", "export_hf", "import_hf", "judge",
           "library_path", "list", "load", "make_data", "make_tokenizer", "options", "pack", "plan",
           "score", "swap", "train", "verify", "verify_callable"]
