# SPDX-License-Identifier: Apache-2.0
"""Files for and of models: data sets, corpora, tokenizers, scores of outputs."""
import ctypes
from typing import Any, Dict, List, Sequence, Union

from . import _binding as binding
from ._library import (Files, Path, content_bytes, fill_request, int32_array, split_settings,
                       text_array, text_bytes)
from .commands import open_command


def joined(files):
    """Files separated by commas, from one or several paths."""
    if isinstance(files, (list, tuple)):
        return b",".join(text_bytes(f, "a file") for f in files)
    return text_bytes(files, "files")


def score(reference: Files, hypothesis: Files, metric: Union[str, Sequence[str]] = "bleu",
          **arguments: Any) -> Any:
    """Scores of files against references, of each line, as 'orthant score --json' prints them.

    reference, hypothesis: a file or several; metric: one or several of bleu, chrf, ter, rouge,
    rouge1, rouge2, rougeL, rougeLsum, accuracy, f1, mcc, confusion, pearson, spearman. Other
    keywords: fields of struct oa_score_request in orthant.h, such as lowercase=True, resample=
    "paired-bs", seed=12345.
    """
    settings = split_settings(arguments)
    request = fill_request(binding.oa_score_request, arguments)
    for name, count, value in (("metric", "metrics", metric),
                               ("reference", "references", reference),
                               ("hypothesis", "hypotheses", hypothesis)):
        array, n = text_array(value if isinstance(value, (list, tuple)) else [value])
        setattr(request, name, array)
        setattr(request, count, n)
    with open_command(settings) as context:
        return context.json_of("oa_score", context.handle, ctypes.byref(request))


def make_data(task: str, out: Path, **arguments: Any) -> Dict[str, Any]:
    """Writes a synthetic data set (orthant.list("data")) into the folder `out`; returns its
    data.json. Keywords: fields of struct oa_data_request, such as train=10000, seed=1."""
    settings = split_settings(arguments)
    request = fill_request(binding.oa_data_request, {"task": task, **arguments})
    with open_command(settings) as context:
        return context.json_of("oa_data", context.handle, ctypes.byref(request),
                               text_bytes(out, "out"))


def pack(files: Files, tokenizer: Path, out: Path, **arguments: Any) -> Dict[str, Any]:
    """Packs text files into a corpus in the folder `out`, for train. Keywords: documents, column,
    end, shard_tokens, as struct oa_pack_files has them."""
    settings = split_settings(arguments)
    request = fill_request(binding.oa_pack_files, {"tokenizer": tokenizer, **arguments})
    request.files = joined(files)
    with open_command(settings) as context:
        return context.json_of("oa_pack", context.handle, ctypes.byref(request),
                               text_bytes(out, "out"))


def make_tokenizer(kind: str, files: Files, out: Path, **settings: Any) -> Dict[str, Any]:
    """Trains a tokenizer ("char", "byte", "bpe:N", "word:N") and writes it as tokenizer.json."""
    with open_command(settings) as context:
        return context.json_of("oa_tokenizer_make", context.handle, text_bytes(kind, "kind"),
                               joined(files), text_bytes(out, "out"))


def encode(tokenizer: Path, text: Union[str, bytes]) -> List[int]:
    """Token ids of a text by a tokenizer.json."""
    data = content_bytes(text)
    with open_command({}) as context:
        ids = context.text_of("oa_encode", context.handle, text_bytes(tokenizer, "tokenizer"), data,
                              len(data), as_json=False)
    return [int(number) for number in ids.split()]


def decode(tokenizer: Path, ids: Any) -> str:
    """The text of token ids."""
    ids = int32_array(ids, "ids")
    array = (ctypes.c_int32 * max(len(ids), 1))(*ids)
    with open_command({}) as context:
        return context.text_of("oa_decode", context.handle, text_bytes(tokenizer, "tokenizer"),
                               array, len(ids), as_json=False)
