# SPDX-License-Identifier: Apache-2.0
"""Runs and comparisons: the same bytes as the program, errors, stops."""
import json
import os
import signal
import threading
import unittest

import numpy as np
import orthant

from support import (QUIET, SMALL, TEXT, InFolder, read_bytes, run_program, small_arguments)


class Runs(InFolder):
    def test_a_run_is_that_of_the_program(self):
        lines = []
        run = orthant.train(TEXT, out="a", attention="local(window=4)", threads=1,
                            progress=lambda line, share: lines.append((line, share)), **SMALL)
        printed = json.loads(run_program(
            "train", "--data.train", TEXT, "--attention", "local(window=4)", "--out", "b",
            "--json", *small_arguments()))
        self.assertEqual(read_bytes("a/model.safetensors"), read_bytes("b/model.safetensors"))
        self.assertEqual(run.scores["loss"], printed["loss"])
        self.assertEqual(lines[-1][1], 1.0)
        self.assertEqual(run.attention, "local(window=4)")
        self.assertEqual(run.log["step"][len(run.log) - 1] if hasattr(run.log, "columns")
                         else run.log[-1]["step"], 20)
        text = json.loads(run_program("generate", "a", "--prompt", "To be", "--tokens", "12",
                                      "--samples", "2", "--json"))
        self.assertEqual(run.generate("To be", tokens=12, samples=2),
                         [sample["text"] for sample in text["samples"]])
        self.assertEqual(orthant.load("a").eval(data=TEXT)["loss"],
                         json.loads(run_program("eval", "a", "--data", TEXT, "--json"))["loss"])
        self.assertEqual(dict(run.inspect("To be")), json.loads(
            run_program("inspect", "a", "--text", "To be", "--json")))
        self.assertIn("<iframe", run.inspect("To be")._repr_html_())

    def test_score_adds_up_to_the_evaluation(self):
        run = orthant.train(TEXT, out="a", **SMALL, **QUIET)
        text = read_bytes(TEXT)[:1000].decode()
        with open("t.txt", "w", encoding="utf-8") as file:
            file.write(text)
        self.assertAlmostEqual(float(np.mean(run.score(text))), run.eval("t.txt")["loss"], 5)
        self.assertEqual(run.score("T").shape, (0,))

    def test_a_stop_saves_and_resume_ends_with_the_same_weights(self):
        long = {**SMALL, "train": {**SMALL["train"], "steps": 3000}}
        orthant.train(TEXT, out="whole", **long, **QUIET)
        seen = threading.Event()

        def stop(line, share):
            if share and not seen.is_set():
                seen.set()
                os.kill(os.getpid(), signal.SIGINT)  # as the terminal does

        with self.assertRaises(orthant.Interrupted) as caught:
            orthant.train(TEXT, out="stopped", progress=stop, threads=1, **long)
        self.assertIn("step", str(caught.exception))
        self.assertFalse(os.path.exists("stopped/model.safetensors"))
        orthant.train(TEXT, out="stopped", resume=True, **QUIET)
        self.assertEqual(read_bytes("stopped/model.safetensors"),
                         read_bytes("whole/model.safetensors"))

    def test_an_exception_of_a_callback_stops_and_is_raised(self):
        def fail(line, share):
            raise ZeroDivisionError("mine")

        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            orthant.train(TEXT, out="a", progress=fail, **SMALL)

    def test_refusals_have_the_sentence_of_the_library(self):
        for kind, sentence, options in (
                ("ARGUMENT", 'did you mean "train.steps"', {"train__stepz": 3}),
                ("ARGUMENT", 'unknown option "foo"', {"foo": 3}),
                ("ARGUMENT", "train.steps", {"train": {"steps": -1}}),
                ("ARGUMENT", "did you mean softmax", {"attention": "softmx"})):
            with self.assertRaises(orthant.Error) as caught:
                orthant.train(TEXT, out="a", progress=False, **options)
            self.assertEqual(caught.exception.kind, kind)
            self.assertIn(sentence, str(caught.exception))
        with self.assertRaisesRegex(orthant.Error, "zero byte"):
            orthant.explain("soft\0max")
        with self.assertRaisesRegex(orthant.Error, "config.json"):
            orthant.load(".")

    def test_a_comparison_is_that_of_the_program(self):
        found = orthant.compare(TEXT, attentions=["softmax", "random"], baseline="softmax",
                                seeds=3, out="a", **SMALL, **QUIET)
        run_program("compare", "--data.train", TEXT, "--attention", "softmax", "--attention",
                    "random", "--baseline", "softmax", "--seeds", "3", "--out", "b", "--threads",
                    "1", *small_arguments())
        with open("b/results.json", encoding="utf-8") as file:
            expected = json.load(file)
        for a, b in zip(found.results["entries"], expected["entries"]):
            self.assertEqual([r["weights"] for r in a["runs"]], [r["weights"] for r in b["runs"]])
            for name in ("verdict", "loss", "baseline", "floor", "interval"):
                self.assertEqual(a["statistics"][name], b["statistics"][name])
        rows = {row["attention"]: row for row in found.rows}
        means = [np.mean([run["valid_loss"] for run in e["runs"]]) for e in expected["entries"]]
        self.assertAlmostEqual(rows["random"]["loss"], means[1], 12)
        self.assertAlmostEqual(rows["random"]["difference"], means[1] - means[0], 12)
        self.assertLess(rows["random"]["low"], rows["random"]["difference"])
        self.assertEqual(found.verdicts["softmax"], "baseline")
        self.assertIn("uniform baseline", found.verdicts)
        self.assertIn("<iframe", found._repr_html_())
        self.assertTrue(found.plot()._repr_svg_().startswith("<svg"))
        self.assertEqual(len(found.runs), 9)
        self.assertEqual(orthant.load("a").verdicts, found.verdicts)

    def test_judge_of_a_table_is_that_of_its_file(self):
        random = np.random.default_rng(1)
        rows = [{"model": m, "seed": s, "val_loss": float(at + random.normal(0, 0.1))}
                for m, at in (("a", 1.0), ("b", 2.0)) for s in range(6)]
        found = orthant.judge(rows, baseline="a", metric="val_loss")
        with open("runs.csv", "w", encoding="utf-8") as file:
            file.write("model,seed,val_loss\n")
            file.writelines("%(model)s,%(seed)d,%(val_loss)r\n" % row for row in rows)
        run_program("judge", "runs.csv", "--baseline", "a", "--out", "b")
        with open("b/results.json", encoding="utf-8") as file:
            expected = json.load(file)
        self.assertEqual([e["statistics"] for e in found.results["entries"]],
                         [e["statistics"] for e in expected["entries"]])
        self.assertEqual(found.verdicts, {"a": "baseline", "b": "worse"})

    def test_classes_of_lines(self):
        with open("t.tsv", "w", encoding="utf-8") as file:
            file.writelines("%s\t%s\n" % (("yes", "a b c %d" % i) if i % 2 else
                                          ("no", "x y z %d" % i)) for i in range(60))
        run = orthant.train("t.tsv", out="a", task="classify", model=SMALL["model"],
                            train={"batch": 8, "steps": 30, "warmup": 0, "lr": 0.01}, **QUIET)
        found = run.classify(["a b c 2", "x y z 2"], scores=True, progress=False)
        self.assertEqual([answer["label"] for answer in found], ["yes", "no"])
        self.assertAlmostEqual(sum(found[0]["scores"].values()), 1, 5)
        self.assertEqual(run.classify("a b c 9", progress=False)["label"], "yes")

        def broken():
            yield "a b c"
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            run.classify(broken(), progress=False)

    def test_labels_that_training_lacks(self):
        with open("t.tsv", "w", encoding="utf-8") as file:
            file.write("label\ttext\n" + "good\ta fine word\nbad\ta dull word\n" * 20)
        with open("other.tsv", "w", encoding="utf-8") as file:
            file.write("label\ttext\ngood\ta fine word\nugly\ta strange word\n")
        run = orthant.train("t.tsv", task="classify", out="a", **SMALL, **QUIET)
        counted = run.eval("other.tsv", unknown_labels="wrong")
        printed = json.loads(run_program("eval", "a", "--data", "other.tsv",
                                         "--unknown-labels", "wrong", "--json"))
        self.assertEqual(counted["accuracy"], printed["accuracy"])
        with self.assertRaisesRegex(orthant.Error, "ugly"):
            run.eval("other.tsv", unknown_labels="refuse")

    def test_lists_and_explanations(self):
        names = [m["name"] for m in orthant.list()]
        self.assertIn("softmax", names)
        self.assertIn("lm", [t["name"] for t in orthant.list("tasks")])
        self.assertIn("copy", [t["task"] for t in orthant.list("data")])
        self.assertIn("train.steps", [o["key"] for o in orthant.list("options")])
        self.assertEqual(orthant.explain("dense", as_json=True),
                         json.loads(run_program("explain", "dense", "--json")))
        self.assertEqual(orthant.explain("dense"), run_program("explain", "dense"))
        self.assertEqual(orthant.verify("softmax", progress=False)["failed"], 0)
        with self.assertRaisesRegex(orthant.Error, "no list"):
            orthant.list("nothing")


if __name__ == "__main__":
    unittest.main()
