# SPDX-License-Identifier: Apache-2.0
"""Comparisons of attentions, and of the runs of other programs."""
import csv
import ctypes
import os
from typing import Any, Dict, Iterable, List, Optional, Union

from . import _binding as binding
from ._library import (Data, Error, Path, library, optional_bytes, read_json, rename_short,
                       text_array, text_bytes)
from .commands import open_command
from .display import Page, Picture, table, temporary_folder
from .runs import Run, data_options

COMPARED = {name: "compare." + name for name in
            ("seeds", "equal", "baseline", "margin", "family", "test", "threshold", "sequential",
             "until_resolved", "budget", "tune")}
# Of compare without attentions, as the program has them.
USUAL = ["softmax", "orthogonal", "random", "fixed-random", "dense", "random + softmax"]


def compare(data: Data = None, attentions: Union[str, Iterable[str], None] = None,
            out: Path = "comparison", overwrite: bool = False, config: Optional[Path] = None,
            **options: Any) -> "Comparison":
    """Trains each attention with each seed under one budget and tests the differences; returns the
    Comparison. The folder `out` of an interrupted comparison, or with fewer seeds or attentions, is
    continued.

    data, other keywords: as train; seeds, baseline, margin, equal, until_resolved and the other
    options compare.* by their names.
    """
    options.update(data_options(data))
    attentions = [attentions] if isinstance(attentions, str) else attentions
    with open_command(rename_short(options, COMPARED), config) as context:
        chosen = ctypes.c_char_p()
        context.check(library.oa_config_get_text(context.config, b"compare.attentions",
                                                 ctypes.byref(chosen)))
        array, count = text_array(attentions or ([] if chosen.value else USUAL),
                                  "an attention")
        library.oa_config_overwrite(context.config, int(overwrite))
        text = context.text_of("oa_compare", context.config, array, count, text_bytes(out, "out"),
                               as_json=False)
    return Comparison(out, text)


def judge(runs: Any, system: Optional[str] = None, seed: Optional[str] = None,
          step: Optional[str] = None, metric: Optional[str] = None,
          at: Union[str, int, None] = None, better: Optional[str] = None, level: float = 0.05,
          unpaired: bool = False, out: Optional[Path] = None, **options: Any) -> "Comparison":
    """Applies the statistics of compare to runs of other programs; returns the Comparison.

    runs: a DataFrame, a list of dicts, a file of CSV, TSV or JSON, a folder of TensorBoard event
    files, or a list of files. system, seed, step, metric: columns, None: found by their usual names.
    at: "last", "best" or a step; better: "lower", "higher" or None: by the metric's name;
    baseline, margin, family, test, threshold, sequential: as in compare. out: folder of the report,
    None: a temporary one.
    """
    directions = {None: 0, "lower": -1, "higher": 1}
    if better not in directions:
        raise Error('better is %r; give "lower", "higher" or None' % (better,))
    folder = out if out is not None else temporary_folder()
    array, count = text_array(run_files(runs), "a file of runs")
    request = binding.oa_judge_request(
        path=array, paths=count, system=optional_bytes(system, "system"),
        seed=optional_bytes(seed, "seed"), step=optional_bytes(step, "step"),
        at=None if at is None else str(at).encode(),
        better=directions[better], level=level, unpaired=int(unpaired))
    options["metric"] = metric
    with open_command(rename_short(options, COMPARED)) as context:
        text = context.text_of("oa_judge_runs", context.config, ctypes.byref(request),
                               text_bytes(folder, "out"), as_json=False)
    return Comparison(folder, text)


def run_files(runs):
    """Paths of what a caller gives to judge; tables in memory are written to a file."""
    if isinstance(runs, (str, os.PathLike)):
        return [runs]
    if hasattr(runs, "to_dict") and hasattr(runs, "columns"):
        runs = runs.to_dict("records")
    if isinstance(runs, dict):
        raise Error("runs is a dict; give a list of dicts, one for each run")
    runs = list(runs)
    if not runs:
        raise Error("runs is empty: give a dict or a file for each run")
    rows = sum(isinstance(row, dict) for row in runs)
    if not rows:
        return runs
    if rows < len(runs):
        raise Error("runs has %d dicts and %d other values: give dicts alone or files alone"
                    % (rows, len(runs) - rows))
    path = os.path.join(temporary_folder(), "runs.csv")
    names = list(dict.fromkeys(name for row in runs for name in row))
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows({k: v.item() if hasattr(v, "item") else v for k, v in row.items()}
                         for row in runs)  # item: of arrays and tensors of one number
    return [path]


class Comparison(os.PathLike):
    """A finished comparison in a folder. results: its results.json (docs/results.md)."""

    def __init__(self, folder: Path, text: str = "") -> None:
        self.folder, self.text = os.fspath(folder), text
        path = os.path.join(self.folder, "results.json")
        if not os.path.exists(path):
            raise Error("%s has no results.json: it is not a finished comparison" % self.folder,
                        binding.OA_IO)
        self.results = read_json(path)

    def __fspath__(self) -> str:
        return self.folder

    def __repr__(self):
        return self.text or "orthant.Comparison(%r)" % self.folder

    @property
    def entries(self) -> List[Dict[str, Any]]:
        """The attentions as results.json has them, the best first."""
        return [self.results["entries"][i] for i in self.results["order"]]

    @property
    def rows(self) -> List[Dict[str, Any]]:
        """A dict for each attention, the best first, with loss and interval."""
        family = (self.results.get("family") or {}).get("kind")
        against = {"baseline": "baseline", "uniform": "floor"}.get(family)
        return [row_of(entry, against) for entry in self.entries]

    @property
    def table(self) -> Any:
        """rows as a DataFrame, without pandas as a list of dicts."""
        return table(self.rows)

    @property
    def verdicts(self) -> Dict[str, str]:
        """The verdict of each attention by its name."""
        return {name_of(e): e["statistics"]["verdict_text"] for e in self.entries}

    @property
    def conclusion(self) -> str:
        return self.results["conclusion"]

    @property
    def recommendation(self) -> Optional[str]:
        """The recommendation as a sentence, or None."""
        return (self.results.get("recommendation") or {}).get("text")

    @property
    def runs(self) -> List[Run]:
        """The folders of the runs that are there, as Run."""
        found = []
        for folder, names, files in os.walk(self.folder):
            names.sort()
            if "model.safetensors" in files:
                found.append(Run(folder))
        return found

    def report(self) -> Page:
        """The HTML page of the report, which a notebook displays."""
        return Page(os.path.join(self.folder, "report.html"))

    def plot(self, axes: Any = None) -> Any:
        """The chart of the report; with matplotlib axes, draws the differences and their
        intervals there and returns the axes."""
        if axes is None:
            return Picture(os.path.join(self.folder, "report.svg"))
        for place, row in enumerate(reversed(self.rows)):
            if row["difference"] is not None:
                low = row["low"] if row["low"] is not None else row["difference"]
                high = row["high"] if row["high"] is not None else row["difference"]
                axes.plot([low, high], [place, place], color="black")
                axes.plot(row["difference"], place, "o", color="black")
        axes.set_yticks(range(len(self.rows)), [row["attention"] for row in reversed(self.rows)])
        axes.axvline(0, linewidth=0.5)
        axes.set_xlabel("difference")
        return axes

    def _repr_html_(self):
        return self.report()._repr_html_()


def name_of(entry):
    return "uniform baseline" if entry["floor"] else entry["attention"]


def row_of(entry, against):
    """against: the member of the statistics with what the verdict is about, None: the reference."""
    s = entry["statistics"]
    judged = (s.get(against) if against else
              {"difference": s.get("adjusted_difference"), "interval": s.get("interval"),
               "p_adjusted": s.get("p_adjusted")}) or {}
    difference, interval = judged.get("difference"), judged.get("interval") or {}
    if isinstance(difference, dict):
        difference = difference["mean"]
    return {"attention": name_of(entry), "runs": len(entry["runs"]),
            "loss": s["loss"]["mean"], "difference": difference,
            "low": interval.get("low"), "high": interval.get("high"),
            "p": judged.get("p_adjusted"), "verdict": s["verdict_text"],
            "trainable": entry["trainable"]}


def load(folder: Path) -> Union[Run, Comparison]:
    """The Run or the Comparison in a folder."""
    return (Comparison if os.path.exists(os.path.join(folder, "results.json")) else Run)(folder)
