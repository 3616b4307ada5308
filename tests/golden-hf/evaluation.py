#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the expected values of tests/cli/eval_windows.sh: tests/golden-hf/evaluation.py < TEXT

Needs torch and transformers (made with 2.15.0 and 5.24.0). The loop over windows is that of the guide "Perplexity of
fixed-length models"; a log-probability is the sum over the tokens of a continuation, in float64.
"""
import os
import sys

import torch
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpt2")
model = AutoModelForCausalLM.from_pretrained(folder).double().eval()
tokenizer = PreTrainedTokenizerFast(tokenizer_file=folder + "/tokenizer.json")


def encode(text):
    return tokenizer(text, add_special_tokens=False).input_ids


def guide(ids, max_length, stride):
    seq_len = ids.size(1)
    nll_sum = n_tokens = prev_end_loc = windows = targets = 0
    for begin_loc in range(0, seq_len, stride):
        end_loc = min(begin_loc + max_length, seq_len)
        trg_len = end_loc - prev_end_loc
        input_ids = ids[:, begin_loc:end_loc]
        target_ids = input_ids.clone()
        target_ids[:, :-trg_len] = -100
        with torch.no_grad():
            loss = model(input_ids, labels=target_ids).loss.item()
        num_loss_tokens = (target_ids != -100).sum().item() - 1
        nll_sum += loss * num_loss_tokens
        n_tokens += num_loss_tokens
        targets += (target_ids[:, 1:] != -100).sum().item()
        windows += 1
        prev_end_loc = end_loc
        if end_loc == seq_len:
            break
    return nll_sum / n_tokens, windows, targets


def log_probability(prefix, context, continuation):
    before = encode(prefix) + encode(context)
    ids = encode(prefix) + encode(context + continuation)
    first = max(1, len(before))
    with torch.no_grad():
        logits = torch.log_softmax(model(torch.tensor([ids[:-1]])).logits[0], -1)
    return sum(logits[i - 1, ids[i]].item() for i in range(first, len(ids)))


text = torch.tensor([encode(sys.stdin.read())])
for context, stride in (64, 32), (64, 64), (48, 7), (16, 1):
    print(context, stride, *guide(text, context, stride))
for prefix in "", "O":
    for sentence in (
        "The king is dead and gone.", "The king are dead and gone.", "We are accounted poor citizens.",
        "We is accounted poor citizens.", "Who cries on thee?", "Who cry on thee?",
    ):
        print(repr(prefix), sentence, log_probability(prefix, "", sentence))
for context, choices in (
    ("First Citizen: speak, speak. We are all resolved rather to", (" die", " than to famish", " é, live")),
    ("You know the word", (" of command", " is")),
    ("", ("alone at last", "together")),
):
    for choice in choices:
        print(context, choice, log_probability("", context, choice))
