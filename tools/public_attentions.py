#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""public_attentions.py FOLDER: what orthant.verify_callable finds in published versions of packages.

Installs performer-pytorch 0.11.1, 0.11.2 and 1.1.4 into FOLDER by pip (without their CUDA parts),
where they are not, and runs their causal attention and that of the PyTorch in use. The table is in
docs/foreign.md. Needs torch, einops, local-attention and axial-positional-embedding.
"""
import os
import subprocess
import sys

import numpy as np
import orthant
import torch

torch.qr = lambda a, some=True: torch.linalg.qr(a)  # which old versions call
VERSIONS = ("0.11.1", "0.11.2", "1.1.4")
CLAIMS = ["deterministic", "batch", "causal", "average"]


def performer(folder, version):
    """Its FastAttention as a function of q, k, v; modules of other versions are forgotten."""
    place = os.path.join(folder, "performer-pytorch-" + version)
    if not os.path.isdir(place):
        subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target",
                               place, "performer-pytorch==" + version])
    for name in [n for n in sys.modules if n.startswith("performer_pytorch")]:
        del sys.modules[name]
    sys.path.insert(0, place)
    try:
        from performer_pytorch import performer_pytorch as module
    finally:
        sys.path.remove(place)
    torch.manual_seed(0)
    attention = module.FastAttention(dim_heads=8, nb_features=24, causal=True)
    attention.causal_linear_fn = module.causal_linear_attention_noncuda
    return attention


def torch_step(q, k, v, state):
    """The next token with a cache, and is_causal=True left as it is for whole sequences."""
    k, v = (torch.cat(pair, -2) for pair in zip(state, (k, v))) if state else (k, v)
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return y, (k, v)


def whole(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    np.seterr(all="ignore")
    for version in VERSIONS:
        proof = orthant.verify_callable(performer(sys.argv[1], version), CLAIMS, inputs="qkv",
                                        framework="torch")
        print("performer-pytorch %s, FastAttention(causal=True)\n%s\n" % (version, proof))
    proof = orthant.verify_callable(whole, ["dtype", "gradient", "causal", "average", "decoding"],
                                    inputs="qkv", framework="torch", step=torch_step)
    print("PyTorch %s, scaled_dot_product_attention(is_causal=True)\n%s" % (torch.__version__,
                                                                            proof))


if __name__ == "__main__":
    main()
