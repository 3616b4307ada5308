# SPDX-License-Identifier: Apache-2.0
"""What the tests share: paths, a tiny model, the program, safetensors."""
import json
import os
import struct
import subprocess
import tempfile
import unittest

import numpy as np

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TEXT = os.path.join(SOURCE, "data/tinyshakespeare.txt")
PROGRAM = os.environ.get("ORTHANT_PROGRAM", os.path.join(SOURCE, "build/orthant"))
SMALL = {"model": {"layers": 1, "width": 16, "heads": 2, "context": 16},
         "train": {"batch": 4, "steps": 20, "warmup": 0, "eval_tokens": 500, "final_tokens": 500}}
QUIET = {"threads": 1, "progress": False}


def small_arguments(options=SMALL):
    """The same for the command line."""
    return [word for section, values in options.items() for name, value in values.items()
            for word in ("--%s.%s" % (section, name), str(value))]


def run_program(*arguments):
    """Standard output of the program; a failure fails the test."""
    return subprocess.run([PROGRAM, *arguments, "--quiet"], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE).stdout.decode()


def read_bytes(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


TYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32}


def write_tensors(path, arrays, metadata):
    """safetensors, as its specification has it."""
    header, at, names = {"__metadata__": metadata}, 0, {np.dtype(t): n for n, t in TYPES.items()}
    for name, a in arrays.items():
        header[name] = {"dtype": names[a.dtype], "shape": list(a.shape),
                        "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for a in arrays.values():
            file.write(np.ascontiguousarray(a).tobytes())


def read_tensors(path):
    data = read_bytes(path)
    length = struct.unpack("<Q", data[:8])[0]
    arrays = {}
    for name, about in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            arrays[name] = np.frombuffer(data[8 + length + begin:8 + length + end],
                                         TYPES[about["dtype"]]).reshape(about["shape"])
    return arrays


class InFolder(unittest.TestCase):
    """A test that runs in a folder of its own."""

    def setUp(self):
        before, folder = os.getcwd(), tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, before)
        os.chdir(folder.name)
