# SPDX-License-Identifier: Apache-2.0
"""'orthant verify --foreign' with the examples of docs/foreign.md, and against verify_callable."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import orthant
import support

EXAMPLES = os.path.join(support.SOURCE, "examples")


def foreign(command, claims, *words, code=0):
    run = subprocess.run([support.PROGRAM, "verify", "--foreign", command, "--claims", claims,
                          "--tokens", "2,5", "--quiet", "--json", *words], capture_output=True,
                         text=True, env={**os.environ, "PATH": os.path.dirname(support.PROGRAM)
                                         + os.pathsep + os.environ["PATH"]})
    assert run.returncode == code, run
    found = json.loads(run.stdout)
    failures = [claim for claim in found["claims"] if not claim["passed"]]
    assert found["failures"] == failures, found
    assert (found["checks"], found["failed"]) == (len(found["claims"]), len(failures)), found
    assert found["passed"] == found["checks"] - found["failed"], found
    return found


class Foreign(unittest.TestCase):
    def test_the_example_in_python(self):
        command = "%s %s/foreign_attention.py" % (sys.executable, EXAMPLES)
        found = foreign(command, "deterministic,dtype,batch,causal,padding,average",
                        "--inputs", "qkv")
        self.assertEqual((found["passed"], found["failed"]), (6, 0), found)
        self.assertEqual(foreign(command, "permutation", "--inputs", "qkv")["passed"], 1)
        found = foreign(command, "permutation,causal", "--inputs", "qkv", code=5)
        self.assertEqual([f["claim"] for f in found["failures"]], ["permutation"])
        found = foreign(command, "decoding,gradient", "--inputs", "qkv", code=5)
        self.assertRegex(found["claims"][1]["where"], "tensor grad.q is missing")

    def test_the_example_of_the_shell(self):
        found = foreign("sh %s/foreign_attention.sh" % EXAMPLES, "causal,decoding,gradient")
        self.assertEqual(found["failed"], 0, found)
        for claim in ("decoding", "causal", "permutation"):  # alone: causal is asked for, or not
            self.assertEqual(foreign("sh %s/foreign_attention.sh" % EXAMPLES, claim)["passed"], 1)

    def test_the_width_and_the_timeout_are_those_given(self):
        with tempfile.TemporaryDirectory() as folder:
            foreign("sh %s/foreign_attention.sh" % EXAMPLES, "batch", "--width", "6", "--keep",
                    folder)
            x = support.read_tensors(os.path.join(folder, "batch-0001.in.safetensors"))["x"]
            other = tempfile.mkdtemp(dir=folder)
            foreign("sh %s/foreign_attention.sh" % EXAMPLES, "batch", "--width", "6", "--keep",
                    other, "--seed", "1")
            y = support.read_tensors(os.path.join(other, "batch-0001.in.safetensors"))["x"]
        self.assertEqual((x.shape, x.dtype), ((3, 2, 6), np.float64))
        self.assertFalse(np.array_equal(x, y))

    def test_python_finds_the_same_errors(self):
        """The same attention as a command and as a function: the same calls and numbers."""
        script = """
import sys, numpy as np
sys.path.insert(0, %r)
sys.argv, files = sys.argv[:1], sys.argv[1:]
import foreign_attention as f
for request, answer in zip(files[::2], files[1::2]):
    f.write(answer, np.cumsum(f.read(request)[1]["x"][..., ::-1, :], -2))
"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "f.py")
            with open(path, "w") as file:
                file.write(script % EXAMPLES)
            found = foreign("%s %s" % (sys.executable, path), "dtype,causal,permutation,batch",
                            code=5)
        proof = orthant.verify_callable(lambda x: np.cumsum(x[..., ::-1, :], -2),
                                        ["dtype", "causal", "permutation", "batch"], tokens=(2, 5))
        self.assertEqual(found["claims"], proof.checks)
        self.assertEqual([c["claim"] for c in proof.failures], ["causal", "permutation"])

    def test_more_calls_than_one_process_gets(self):
        """Sums of the tokens so far are causal; each process gets up to 400 calls."""
        script = """
import sys, numpy as np
sys.path.insert(0, %r)
files, sys.argv = sys.argv[1:], sys.argv[:1]
import foreign_attention as f
print(len(files) // 2, file=open(%r, "a"))
for request, answer in zip(files[::2], files[1::2]):
    f.write(answer, np.cumsum(f.read(request)[1]["x"], -2))
"""
        with tempfile.TemporaryDirectory() as folder:
            path, calls = os.path.join(folder, "f.py"), os.path.join(folder, "calls")
            with open(path, "w") as file:
                file.write(script % (EXAMPLES, calls))
            found = foreign("%s %s" % (sys.executable, path), "causal", "--tokens", "70,80")
            with open(calls) as file:
                processes = [int(line) for line in file]
        # Of each precision and length: the whole, and twice each place but the first.
        self.assertEqual(found["claims"][0]["calls"], 2 * (1 + 2 * 69 + 1 + 2 * 79))
        self.assertEqual(processes, [400, 196])
        self.assertEqual(found["claims"][0]["error"], 0)

    def test_a_result_that_is_not_finite_is_named(self):
        found = foreign("sh -c 'for f; do :; done; exec %s -c \"import sys; sys.argv, files = "
                        "sys.argv[:1], sys.argv[1:]; sys.path.insert(0, \\\"%s\\\"); import "
                        "foreign_attention as f; [f.write(o, f.read(i)[1][\\\"x\\\"] * float("
                        "\\\"nan\\\")) for i, o in zip(files[::2], files[1::2])]\" \"$@\"' sh"
                        % (sys.executable, EXAMPLES), "batch", code=5)
        self.assertRegex(found["claims"][0]["where"],
                         r"not finite, in row 0 of y in batch-0001.out.safetensors")


if __name__ == "__main__":
    unittest.main()
