# SPDX-License-Identifier: Apache-2.0
"""Corpora, plans and distilled models: as the program makes them."""
import json
import os
import unittest

import orthant

from support import QUIET, SMALL, TEXT, InFolder, read_bytes, run_program, small_arguments


class Models(InFolder):
    def test_a_corpus_is_that_of_the_program(self):
        with open("text.txt", "wb") as file:
            file.write(read_bytes(TEXT)[:50000])
        orthant.make_tokenizer("bpe:300", "text.txt", "t.json", **QUIET)
        made = orthant.pack("text.txt", "t.json", "a", documents="lines", **QUIET)
        printed = json.loads(run_program("data", "pack", "--data", "text.txt", "--tokenizer",
                                         "t.json", "--documents", "lines", "--out", "b", "--json"))
        self.assertEqual(made["tokens"], printed["tokens"])
        names = sorted(os.listdir("a"))
        self.assertEqual(names, sorted(os.listdir("b")))
        self.assertGreaterEqual(len(names), 2)
        for name in names:
            self.assertEqual(read_bytes("a", name), read_bytes("b", name), name)
        run = orthant.train("a", out="run", **SMALL, **QUIET)
        self.assertGreater(run.scores["loss"], 1)

    def test_a_plan_counts_what_a_run_has(self):
        plan = orthant.plan(["softmax", "random"], data__train=TEXT, **SMALL, **QUIET)
        run = orthant.train(TEXT, out="run", **SMALL, **QUIET)
        planned = plan["attentions"]
        self.assertEqual([p["attention"] for p in planned], ["softmax", "random"])
        with open("run/model.safetensors", "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        elements = 0
        for name, tensor in header.items():
            size = 1
            for d in tensor.get("shape", [0]):
                size *= d
            elements += size
        self.assertEqual(planned[0]["trainable"] + planned[0]["frozen"], elements)
        self.assertEqual(planned[0]["memory_parameters"] // (4 * planned[0]["trainable"]), 4)
        self.assertEqual(run.attention, "softmax")

    def test_a_distilled_run_is_that_of_the_program(self):
        orthant.train(TEXT, out="teacher", **SMALL, **QUIET)
        run = orthant.distil("teacher", "linear", "a", distil__attention_steps=5,
                             data=TEXT, **SMALL, **QUIET)
        run_program("distil", "--teacher", "teacher", "--student", "linear", "--out", "b",
                    "--distil.attention_steps", "5", "--data.train", TEXT, "--threads", "1",
                    *small_arguments())
        self.assertEqual(run.attention, "linear")
        self.assertEqual(read_bytes("a/model.safetensors"), read_bytes("b/model.safetensors"))
        self.assertNotEqual(read_bytes("a/model.safetensors"),
                            read_bytes("teacher/model.safetensors"))


if __name__ == "__main__":
    unittest.main()
