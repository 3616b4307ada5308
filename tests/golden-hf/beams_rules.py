# SPDX-License-Identifier: Apache-2.0
"""beams_rules.py FAMILY: what transformers writes in float64 by rules of generation_config.json, and the sum of log p of what
it chose (which leaves out forced tokens): python3 tests/golden-hf/beams_rules.py marian >tests/golden-hf/marian/beams-rules.txt

A line has the file, and for one source the ids and the sum."""
import json
import pathlib
import sys

import torch
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM, GenerationConfig

folder = pathlib.Path(__file__).parent / sys.argv[1]
model = AutoModelForSeq2SeqLM.from_pretrained(folder).double().eval()
model.generation_config = GenerationConfig()  # whose values, here forced_eos_token_id, fill up what a rule has not
given = load_file(folder / "expect.safetensors")
begin, end = model.config.decoder_start_token_id, model.config.eos_token_id
RULES = [
    {"num_beams": 4, "early_stopping": True, "max_new_tokens": 5, "forced_eos_token_id": end, "length_penalty": 0.6},
    {"num_beams": 3, "early_stopping": "never", "max_length": 5, "forced_eos_token_id": [end], "length_penalty": 1.0},
    {"num_beams": 1, "max_new_tokens": 4, "forced_eos_token_id": end, "forced_bos_token_id": 17},
    {"num_beams": 4, "early_stopping": True, "max_new_tokens": 6, "forced_bos_token_id": 23, "length_penalty": 0.0},
    {"num_beams": 4, "early_stopping": True, "max_new_tokens": 6, "suppress_tokens": list(range(2, 60)), "length_penalty": 1.0},
    {"num_beams": 4, "early_stopping": True, "max_new_tokens": 6, "renormalize_logits": True, "length_penalty": 1.0,
     "suppress_tokens": list(range(60, 135)), "forced_eos_token_id": end},
]  # fmt: skip
for rule in RULES:
    rule = {**rule, "bad_words_ids": [[begin], *([i] for i in (5, 9) if "suppress_tokens" in rule)]}
    config = GenerationConfig(do_sample=False, decoder_start_token_id=begin, eos_token_id=end, pad_token_id=begin,
                              return_dict_in_generate=True, output_scores=True, output_logits=True, **rule)  # fmt: skip
    for row, count in zip(given["input_ids"].tolist(), given["lengths"].tolist()):
        source = [i for i in row[:count] if i != end]
        made = model.generate(torch.tensor([source + [end]]), generation_config=config)
        written = made.sequences[0, 1:].tolist()
        if rule["num_beams"] > 1:
            score = made.sequences_scores[0].item() * len(written) ** rule["length_penalty"]
        else:
            forced = [row[0].isfinite().sum() == 1 for row in made.scores]
            score = sum(made.logits[i][0].log_softmax(-1)[written[i]].item() for i in range(len(written)) if not forced[i])
        print(json.dumps(rule), "|", *source, "|", *(i for i in written if i != end), "|", f"{score:.6f}")
