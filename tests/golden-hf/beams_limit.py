# SPDX-License-Identifier: Apache-2.0
"""beams_limit.py FAMILY: what 4 beams of transformers write of each source of a golden model within max_new_tokens, and the
sum of their log-probabilities, in float64: python3 tests/golden-hf/beams_limit.py marian >tests/golden-hf/marian/beams-limit.txt"""
import pathlib
import sys

import torch
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM

folder = pathlib.Path(__file__).parent / sys.argv[1]
model = AutoModelForSeq2SeqLM.from_pretrained(folder).double().eval()
given = load_file(folder / "expect.safetensors")
begin, end = model.config.decoder_start_token_id, model.config.eos_token_id
for early, word in ((True, "false"), ("never", "true")):
    for penalty in (0.0, 0.6, 1.0):
        for limit in (1, 3, 7):
            for row, count in zip(given["input_ids"].tolist(), given["lengths"].tolist()):
                source = [i for i in row[:count] if i != end]
                made = model.generate(torch.tensor([source + [end]]), num_beams=4, max_new_tokens=limit, early_stopping=early,
                                      length_penalty=penalty, do_sample=False, forced_eos_token_id=None, bad_words_ids=[[begin]],
                                      return_dict_in_generate=True, output_scores=True)
                written = made.sequences[0, 1:].tolist()
                score = made.sequences_scores[0].item() * len(written) ** penalty
                print(word, penalty, limit, "|", *source, "|", *(i for i in written if i != end), "|", f"{score:.6f}")
