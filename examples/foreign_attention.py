# SPDX-License-Identifier: Apache-2.0
"""A foreign attention for 'orthant verify --foreign' (docs/foreign.md), with NumPy alone."""
import json
import sys

import numpy as np

TYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32}


def read(path):
    data = open(path, "rb").read()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    metadata = header.pop("__metadata__")
    return metadata, {name: np.frombuffer(data[begin:][slice(*t["data_offsets"])],
                                          TYPES[t["dtype"]]).reshape(t["shape"])
                      for name, t in header.items()}


def write(path, y):
    header = json.dumps({"y": {"dtype": "F64" if y.dtype == np.float64 else "F32",
                               "shape": y.shape, "data_offsets": [0, y.nbytes]}}).encode()
    open(path, "wb").write(len(header).to_bytes(8, "little") + header + y.tobytes())


for request, answer in zip(sys.argv[1::2], sys.argv[2::2]):
    metadata, t = read(request)
    s = t["q"] @ t["k"].swapaxes(-1, -2) / np.sqrt(t["q"].shape[-1]).astype(t["q"].dtype)
    n = np.arange(s.shape[-1])
    visible = n[:, None] >= n if metadata["causal"] == "true" else True
    if "lengths" in t:
        visible = visible & (n < t["lengths"][:, None, None, None])
    s = np.where(visible, s, -np.inf)
    weights = np.exp(s - s.max(-1, keepdims=True))
    write(answer, weights / weights.sum(-1, keepdims=True) @ t["v"])
