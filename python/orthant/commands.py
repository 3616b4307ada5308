# SPDX-License-Identifier: Apache-2.0
"""Commands without a run: attentions, tasks, the machine, models of other programs."""
import ctypes
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Union

from . import _binding as binding
from ._library import (Context, Error, Path, library, optional_bytes, rename_short,
                       split_settings, text_array, text_bytes)

if TYPE_CHECKING:
    from .runs import Run

SHORT = {"attention": "model.attention", "task": "data.task", "preset": "model.preset",
         "init": "train.init", "metric": "compare.metric"}


class Text(str):
    """Text of the library, printed as it is in a notebook."""

    def __repr__(self):
        return str(self)


def open_command(options, config=None, progress=None):
    """A context with the options of a command; what is left of the keywords goes to the library,
    which refuses what it does not know."""
    settings = split_settings(options)
    settings.setdefault("progress", progress)
    context = Context(**settings)
    try:
        if config is not None:
            context.check(library.oa_config_read(context.config, text_bytes(config, "config")))
        context.set(rename_short(options, SHORT))
    except BaseException:
        context.close()
        raise
    return context


def list(what: str = "attentions") -> Any:
    """The mechanisms ("attentions"), the values of data.task ("tasks"), the synthetic data sets
    ("data") or the options ("options"), each a dict."""
    if what == "options":
        return options()
    names = {"attentions": "oa_list", "tasks": "oa_list_tasks", "data": "oa_data_list"}
    if what not in names:
        raise Error("there is no list of %r; choose attentions, tasks, data or options" % (what,))
    with Context() as context:
        found = context.json_of(names[what], context.handle)
    return found if isinstance(found, (tuple, type([]))) else found.get(what, found)


def options() -> List[Dict[str, Any]]:
    """Every option: key, kind, default, choices, range and help."""
    kinds = ["int", "real", "bool", "text", "choice"]
    rows, option = [], binding.oa_option()
    while library.oa_option_describe(len(rows), ctypes.byref(option)):
        row = {"key": "%s.%s" % (option.section.decode(), option.name.decode()),
               "kind": kinds[option.kind], "default": option.fallback.decode(),
               "help": option.help.decode()}
        if option.choices:
            row["choices"] = option.choices.decode().split("|")
        if row["kind"] in ("int", "real"):
            row["range"] = (option.low, option.high)
        rows.append(row)
    return rows


def explain(spec: str, as_json: bool = False, **options: Any) -> Any:
    """Formulas, parameters, FLOPs, modes, caveats and citation of an attention in the shape of the
    options model.*, as text, or as a dict with as_json=True."""
    with open_command(options, progress=False) as context:
        arguments = (context.config, text_bytes(spec, "attention"))
        if as_json:
            return context.json_of("oa_explain", *arguments)
        return Text(context.text_of("oa_explain", *arguments, as_json=False))


def verify(spec: Optional[str] = None, quick: bool = True, **settings: Any) -> Dict[str, Any]:
    """Checks on this machine that an attention (None: every mechanism) is computed correctly. The
    dict of 'orthant verify --json'; its "failures" are empty where all checks passed."""
    with open_command(settings) as context:
        return context.json_of("oa_verify", context.handle, optional_bytes(spec, "attention"),
                               int(quick), accept=(binding.OA_DISPROVED,))


def plan(attentions: Union[str, Iterable[str]] = (), **options: Any) -> Dict[str, Any]:
    """Parameters, FLOPs, memory and estimated time of a training, without doing it."""
    config = options.pop("config", None)
    attentions = [attentions] if isinstance(attentions, str) else attentions
    with open_command(options, config) as context:
        array, count = text_array(attentions, "an attention")
        return context.json_of("oa_plan_training", context.config, array, count)


def doctor(**settings: Any) -> Dict[str, Any]:
    """Processor, kernels in use and why others are not, libraries, threads, memory."""
    with open_command(settings) as context:
        return context.json_of("oa_doctor", context.handle)


def import_hf(folder: Path, out: Path, precision: Optional[str] = None,
              **settings: Any) -> "Run":
    """A Hugging Face model (its folder, or a GGUF file) as a run in `out`, which computes in
    `precision` ("f32", "bf16" or "f64"; None: f32); returns the Run."""
    from .runs import Run
    with open_command(settings) as context:
        context.json_of("oa_import", context.handle, text_bytes(folder, "folder"),
                        text_bytes(out, "out"),
                        None if precision is None else text_bytes(precision, "precision"))
    return Run(out)


def export_hf(run: Path, out: Path, **settings: Any) -> Path:
    """A run as the folder of a Hugging Face model in `out`; returns that folder."""
    with open_command(settings) as context:
        context.json_of("oa_export", context.handle, text_bytes(run, "run"),
                        text_bytes(out, "out"))
    return out


def swap(run: Path, attention: str, out: Path, **settings: Any) -> "Run":
    """A run with the weights of `run` and another attention, in `out`; returns the Run."""
    from .runs import Run
    with open_command(settings) as context:
        context.json_of("oa_swap", context.handle, text_bytes(run, "run"),
                        text_bytes(attention, "attention"), text_bytes(out, "out"))
    return Run(out)
