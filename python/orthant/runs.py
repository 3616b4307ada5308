# SPDX-License-Identifier: Apache-2.0
"""Trained models: train, distil, and the methods of a run."""
import builtins
import ctypes
import json
import os
from typing import Any, Dict, Iterable, List, Optional, Sequence, Union

import numpy as np

from . import _binding as binding
from ._library import (Data, Error, Path, content_bytes, library, optional_bytes, read_json,
                       rename_short, text_array, text_bytes)
from .commands import open_command
from .display import Inspection, Page, table, temporary_folder

GENERATE = {name: "generate." + name for name in ("tokens", "samples", "seed", "temperature",
                                                  "top_k", "top_p")}
DECODE = {"beam": "decode.beam"}
Lines = Union[str, bytes, Iterable[Union[str, bytes]]]


def data_options(data):
    """The options data.* of what a caller names: files, a folder, or a dict of them."""
    if data is None:
        return {}
    return {"data": dict(data) if isinstance(data, dict) else {"train": data}}


def train(data: Data = None, out: Path = "run", attention: Optional[str] = None,
          resume: bool = False, overwrite: bool = False, config: Optional[Path] = None,
          **options: Any) -> "Run":
    """Trains a model into the folder `out`; returns the Run.

    data: text files, or {"train": …, "valid": …, "test": …}. Other keywords are options of the
    library, nested (train={"steps": 300}) or with two underscores (train__steps=300); task, preset,
    init and metric as 'orthant train' has them; threads, isa, device, progress.
    resume=True continues the run in the folder, with its options as the defaults.
    """
    if resume and overwrite:
        raise Error("give resume or overwrite, not both")
    options.update(data_options(data), attention=attention)
    settings = {k: options.pop(k) for k in ("threads", "isa", "device", "progress")
                if k in options}
    with open_command(settings) as context:
        folder = text_bytes(out, "out")
        if resume and os.path.exists(os.path.join(out, "config.json")):
            context.check(library.oa_config_read_run(context.config, folder))
        if config is not None:
            context.check(library.oa_config_read(context.config, text_bytes(config, "config")))
        short = {"attention": "model.attention", "task": "data.task", "preset": "model.preset",
                 "init": "train.init", "metric": "compare.metric"}
        context.set(rename_short(options, short))
        library.oa_config_overwrite(context.config, int(overwrite))
        scores = context.json_of("oa_train", context.config, folder, int(resume), None)
    return Run(out, scores)


def distil(teacher: Path, student: str, out: Path, config: Optional[Path] = None,
           data: Data = None, **options: Any) -> "Run":
    """Distils the run `teacher` into a run with the attention `student`.
    data: as train; None: the teacher's."""
    options.update(data_options(data), attention=student)
    with open_command(options, config) as context:
        context.json_of("oa_distil", context.config, text_bytes(teacher, "teacher"),
                        text_bytes(out, "out"))
    return Run(out)


class LineReader:
    """Lines for the `next` of a request; ended by the end of the iterable."""

    def __init__(self, context, lines, type_):
        self.lines, self.line, self.context = iter(lines), None, context
        self.next = type_(self.read)

    def read(self, argument, line, length):
        found = self.context.guard(self.take)
        if found is None:
            return -1 if self.context.failure else 0
        line[0] = ctypes.cast(ctypes.c_char_p(found), ctypes.c_void_p).value
        length[0] = len(found)
        return 1

    def take(self):
        line = next(self.lines, None)
        if line is None:
            return None
        line = line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line
        if b"\n" in line:
            raise Error("a line has a line end inside: give one line for each text")
        self.line = line  # borrowed by the library until the next call
        return line


class Run(os.PathLike):
    """A trained model in a folder. scores: what training printed, of a run trained here; config:
    its config.json, with all options in config["options"]."""

    def __init__(self, folder: Path, scores: Optional[Dict[str, Any]] = None) -> None:
        self.folder, self.scores = os.fspath(folder), scores
        path = os.path.join(self.folder, "config.json")
        if not os.path.exists(path):
            raise Error("%s has no config.json: it is not the folder of a run" % self.folder,
                        binding.OA_IO)
        self.config = read_json(path)

    def __fspath__(self) -> str:
        return self.folder

    def __repr__(self):
        loss = (self.scores or {}).get("loss")
        return "orthant.Run(%r%s)" % (self.folder, "" if loss is None else ", loss=%.4f" % loss)

    @property
    def attention(self) -> str:
        return self.config["options"]["model"]["attention"]

    @property
    def log(self) -> Any:
        """The lines of log.jsonl as a DataFrame, without pandas as a list of dicts."""
        path = os.path.join(self.folder, "log.jsonl")
        with open(path, encoding="utf-8") as file:
            return table([json.loads(line) for line in file if line.strip()])

    def generate(self, prompt: Union[str, bytes, None] = None, stop: Union[str, Iterable[str]] = (),
                 **options: Any) -> Union[str, List[str]]:
        """A continuation of the prompt; a list of texts if samples > 1. Keywords: tokens,
        samples, seed, temperature, top_k, top_p."""
        stop = [stop] if isinstance(stop, str) else stop
        with open_command(rename_short(options, GENERATE), progress=False) as context:
            array, count = text_array(stop)
            data = None if prompt is None else content_bytes(prompt, "prompt")
            request = binding.oa_generate_request(prompt=data, length=len(data or b""), stop=array,
                                                  stops=count)
            found = context.json_of("oa_generate", context.config, text_bytes(self.folder),
                                    ctypes.byref(request))
        texts = [sample["text"] for sample in found["samples"]]
        return texts[0] if len(texts) == 1 else texts

    def eval(self, data: Union[Path, Sequence[Path], None] = None, columns: Optional[str] = None,
             unknown_labels: Optional[str] = None, **settings: Any) -> Dict[str, Any]:
        """The metrics of the task on files, by default on the test data of the run, else on its
        validation data; a dict."""
        data = ",".join(map(os.fspath, data)) if isinstance(data, (list, tuple)) else data
        request = binding.oa_eval_request(files=optional_bytes(data, "data"),
                                          columns=optional_bytes(columns, "columns"),
                                          unknown_labels=optional_bytes(unknown_labels,
                                                                        "unknown_labels"))
        with open_command(settings) as context:
            return context.json_of("oa_eval", context.handle, text_bytes(self.folder),
                                   ctypes.byref(request), None)

    def score(self, text: Union[str, bytes], **settings: Any) -> np.ndarray:
        """Negative log-likelihoods in nats, float64 [tokens - 1], of all tokens of a text but the
        first; of a language model."""
        with open_command(settings, progress=False) as context:
            model = library.oa_language_model_open(context.handle, text_bytes(self.folder))
            if not model:
                context.check(library.oa_last_error(context.handle, None))
            try:
                ids = encode_text(context, model, text)
                nats = np.empty(max(len(ids) - 1, 0), np.float64)
                if len(nats):
                    context.call("oa_language_model_score", model,
                                 ids.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)), len(ids),
                                 nats.ctypes.data_as(ctypes.POINTER(ctypes.c_double)))
            finally:
                library.oa_language_model_close(model)
        return nats

    def translate(self, lines: Lines, best: int = 0, scores: bool = False, alignment: bool = False,
                  **options: Any) -> Union[str, List[str]]:
        """Translates or summarizes one line or an iterable of them; as 'orthant translate' prints
        them. Keywords: beam, decode__…"""
        one = isinstance(lines, (str, bytes))
        with open_command({k: options.pop(k) for k in builtins.list(options)
                           if k in ("threads", "isa", "device", "progress")}) as context:
            folder = text_bytes(self.folder)
            context.check(library.oa_config_read_run(context.config, folder))
            context.set(rename_short(options, DECODE))
            reader = LineReader(context, [lines] if one else lines,
                                dict(binding.oa_translate_request._fields_)["next"])
            request = binding.oa_translate_request(next=reader.next, best=best, scores=int(scores),
                                                   alignment=int(alignment))
            text = context.text_of("oa_translate", context.config, folder, ctypes.byref(request),
                                   as_json=False)
        answers = text.split("\n")[:-1]
        return answers[0] if one and len(answers) == 1 else answers

    def classify(self, lines: Optional[Lines] = None, data: Optional[Path] = None,
                 columns: Optional[str] = None, scores: bool = False, **settings: Any) -> Any:
        """The label (and scores), or the number, of each line: dicts {"line", "label", "scores"} or
        {"line", "number"}. data: files instead of lines."""
        one = isinstance(lines, (str, bytes))
        with open_command(settings) as context:
            reader = LineReader(context, [lines] if one else lines or (),
                                dict(binding.oa_classify_request._fields_)["next"])
            request = binding.oa_classify_request(
                next=reader.next, files=optional_bytes(data, "data"),
                columns=optional_bytes(columns, "columns"), scores=int(scores))
            text = context.text_of("oa_classify", context.handle, text_bytes(self.folder),
                                   ctypes.byref(request))
        answers = [json.loads(line) for line in text.splitlines()]
        return answers[0] if one else answers

    def inspect(self, text: Union[str, bytes], target: Union[str, bytes, None] = None,
                page: Optional[Path] = None, **settings: Any) -> Inspection:
        """Attention maps of every layer and head on a text, with entropy, distance and the nearest
        fixed attention: the dict of 'orthant inspect --json', which a notebook shows as the page.
        page: where the HTML is written too."""
        data = content_bytes(text)
        other = None if target is None else content_bytes(target, "target")
        page = page or os.path.join(temporary_folder(), "inspect.html")
        request = binding.oa_inspect_request(text=data, length=len(data), target=other,
                                             target_length=len(other or b""),
                                             page=text_bytes(page, "page"))
        with open_command(settings, progress=False) as context:
            found = context.json_of("oa_inspect", context.handle, text_bytes(self.folder),
                                    ctypes.byref(request))
        return Inspection(found, Page(page))


def encode_text(context, model, text):
    """Token ids int32 [n]."""
    data = content_bytes(text)
    ids, count = np.empty(len(data) + 8, np.int32), ctypes.c_size_t()
    code = library.oa_language_model_encode(
        model, data, len(data), ids.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)), len(ids),
        ctypes.byref(count))
    context.check(code)
    return ids[:count.value]
