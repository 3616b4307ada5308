#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the norms of the gradients of the runs of a comparison, before clipping, a line for each attention.

    python3 tools/gradient_norms.py runs/depth-16/rate-0.01

Read are the logs in FOLDER/runs; medians over all steps that were logged and all seeds, the largest norm, and how many of
these steps were clipped (above a norm of 1).
"""
import glob
import json
import statistics
import sys

for attention in sorted(glob.glob(f"{sys.argv[1]}/runs/attention-*")):
    norms, name = [], attention
    for log in sorted(glob.glob(f"{attention}/seed-*/log.jsonl")):
        name = json.load(open(log.replace("log.jsonl", "run.json")))["fingerprint"]["model.attention"]
        norms += [row["gradient_norm"] for row in map(json.loads, open(log)) if row.get("gradient_norm") is not None]
    if norms:
        print(f"{name}: median {statistics.median(norms):.4g}, largest {max(norms):.4g}, "
              f"clipped {100 * sum(x > 1 for x in norms) / len(norms):.0f} % of {len(norms)} steps")
