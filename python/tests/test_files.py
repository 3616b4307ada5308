# SPDX-License-Identifier: Apache-2.0
"""Data sets, tokenizers, scores, models of other programs: as the program makes them."""
import json
import os
import subprocess
import unittest

import orthant

from support import PROGRAM, QUIET, SOURCE, TEXT, InFolder, read_bytes, run_program


class Files(InFolder):
    def test_a_data_set_and_a_translation(self):
        made = orthant.make_data("reverse", "data", train=64, valid=8, test=8, seed=1, min_length=2,
                                 max_length=4)
        run_program("data", "reverse", "--out", "b", "--train", "64", "--valid", "8", "--test", "8",
                    "--seed", "1", "--min-length", "2", "--max-length", "4")
        self.assertEqual(made["task"], "reverse")
        for name in sorted(os.listdir("b")):
            self.assertEqual(read_bytes("data", name), read_bytes("b", name))
        run = orthant.train({"train": "data/train.source,data/train.target"}, out="run",
                            task="translate", data__tokenizer="word:50",
                            model={"layers": 1, "width": 16, "heads": 2, "context": 16},
                            train={"batch": 8, "steps": 20, "warmup": 0}, **QUIET)
        lines = read_bytes("data/test.source").decode().splitlines()
        printed = subprocess.run([PROGRAM, "translate", "run", "--beam", "2", "--quiet"],
                                 input=read_bytes("data/test.source"), stdout=subprocess.PIPE,
                                 check=True).stdout.decode().splitlines()
        self.assertEqual(run.translate(lines, beam=2, progress=False), printed)
        self.assertEqual(run.translate(lines[0], beam=2, progress=False), printed[0])
        with self.assertRaisesRegex(orthant.Error, "min_length"):
            orthant.make_data("reverse", "c", least=3)

    def test_a_tokenizer(self):
        orthant.make_tokenizer("bpe:300", TEXT, "a.json", **QUIET)
        run_program("tokenizer", "train", "--kind", "bpe:300", "--data", TEXT, "--out", "b.json")
        self.assertEqual(read_bytes("a.json"), read_bytes("b.json"))
        ids = orthant.encode("a.json", "To be, or not")
        self.assertEqual(ids, [int(i) for i in run_program("tokenizer", "encode", "a.json",
                                                           "--text", "To be, or not").split()])
        self.assertEqual(orthant.decode("a.json", ids), "To be, or not")

    def test_scores(self):
        for name, text in (("ref", "a b c d e\nf g h i j\n"), ("hyp", "a b c d f\nf g h i j\n")):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        self.assertEqual(orthant.score("ref", "hyp", ["bleu", "chrf"], lowercase=True),
                         json.loads(run_program("score", "bleu", "chrf", "--ref", "ref", "--hyp",
                                                "hyp", "--lowercase", "--json")))

    def test_a_model_of_another_program(self):
        model = os.path.join(SOURCE, "tests/golden-hf/gpt2")
        run = orthant.import_hf(model, "a", progress=False)
        run_program("import", model, "--out", "b")
        self.assertEqual(read_bytes("a/model.safetensors"), read_bytes("b/model.safetensors"))
        self.assertEqual(run.attention, "softmax")
        orthant.export_hf(run, "hf", progress=False)
        run_program("export", "b", "--out", "hf2")
        self.assertEqual(read_bytes("hf/model.safetensors"), read_bytes("hf2/model.safetensors"))
        self.assertEqual(orthant.swap(run, "linear", "c", progress=False).attention, "linear")


if __name__ == "__main__":
    unittest.main()
