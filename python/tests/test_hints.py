# SPDX-License-Identifier: Apache-2.0
"""The types of public functions: complete, of names that exist, and marked by py.typed."""
import inspect
import os
import subprocess
import sys
import typing
import unittest

import orthant

from support import SOURCE, InFolder

try:
    import mypy.version
except ImportError:
    mypy = None

USE = """import orthant
run = orthant.train("a.txt", out="run", train={"steps": 3})
loss: float = orthant.compare("a.txt", attentions=["softmax"]).rows[0]["loss"]
orthant.verify_callable(lambda x: x, ["causal"]).require()
wrong: int = orthant.decode("tokenizer.json", [1, 2])
orthant.Layer(3, 8, 2, 6)
"""


def public_functions():
    for name in orthant.__all__:
        value = getattr(orthant, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value) and name in ("Run", "Comparison", "Layer"):
            for member, function in vars(value).items():
                function = function.fget if isinstance(function, property) else function
                if inspect.isfunction(function) and (member[0] != "_" or member == "__init__"):
                    yield "%s.%s" % (name, member), function


class Hints(InFolder):
    def test_public_functions_have_types(self):
        from orthant import commands, runs
        found = dict(public_functions())
        self.assertGreater(len(found), 40)
        inside = {"Layer.named_weights", "Layer.is_of_this_process", "Layer.check_process"}
        for name, function in found.items():
            if name not in inside:
                names = set(inspect.signature(function).parameters) - {"self"} | {"return"}
                self.assertEqual(set(function.__annotations__), names, name)
                typing.get_type_hints(function, {**vars(commands), **function.__globals__,
                                                 "Run": runs.Run})

    def test_the_package_is_marked(self):
        self.assertTrue(os.path.exists(os.path.join(SOURCE, "python/orthant/py.typed")))

    @unittest.skipIf(mypy is None, "mypy is not installed")
    def test_mypy_finds_mistakes_of_a_caller_alone(self):
        with open("use.py", "w", encoding="utf-8") as file:
            file.write(USE)
        found = subprocess.run([sys.executable, "-m", "mypy", "use.py"], stdout=subprocess.PIPE,
                               check=False, env={**os.environ, "MYPYPATH": os.path.join(
                                   SOURCE, "python")}).stdout.decode()
        lines = [line.split(":")[1] for line in found.splitlines() if line.startswith("use.py")]
        self.assertEqual(lines, ["5", "6"], found)


if __name__ == "__main__":
    unittest.main()
