#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serve_harness.py ORTHANT: by hand, in an environment with `pip install lm_eval openai`.

Trains two small models, serves them, and has lm-evaluation-harness (--model local-completions, unmodified) and OpenAI's
client use them. The log-likelihoods of the harness are compared with those that NumPy makes of the logits of
`orthant forward`, is_greedy with the largest of these logits. Prints what was compared; ends with 1 if anything differs.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from openai import OpenAI
from safetensors.numpy import load_file, save_file

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONFIG = """
model: {layers: 2, width: 64, heads: 4, context: 128}
data: {train: text.txt, tokenizer: "bpe:400"}
train: {batch: 8, steps: 300, warmup: 20, eval_every: 0, log_every: 100}
"""
PAIRS = [
    {"good": "The king is dead.", "bad": "The king are dead."},
    {"good": "What say you?", "bad": "What you say to?"},
    {"good": "I would not have it so.", "bad": "I would not has it so."},
    {"good": "My lord, we will.", "bad": "My lord, will we will."},
]
CHOICES = [
    {"question": "First Citizen:\nBefore we", "options": [" proceed any further", " the of", " are"], "answer": 0},
    {"question": "We are accounted poor", "options": [" citizens", " the", " xylophones"], "answer": 0},
    {"question": "To be or not to", "options": [" be", " the", " have"], "answer": 0},
]
TASKS = {
    "pairs": ("doc_to_text: ''\ntarget_delimiter: ''\ndoc_to_target: 0\n"
              "doc_to_choice: \"{{[good, bad]}}\"\n", PAIRS),
    "choices": ("doc_to_text: '{{question}}'\ntarget_delimiter: ''\ndoc_to_target: '{{answer}}'\n"
                "doc_to_choice: '{{options}}'\n", CHOICES),
}


def write_tasks():
    os.makedirs("tasks", exist_ok=True)
    for name, (keys, rows) in TASKS.items():
        with open(f"{name}.jsonl", "w") as f:
            f.writelines(json.dumps(row) + "\n" for row in rows)
        with open(f"tasks/{name}.yaml", "w") as f:
            f.write(f"task: {name}\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {os.getcwd()}/{name}.jsonl}}}}\n"
                    f"output_type: multiple_choice\ntest_split: test\n{keys}"
                    "metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]\n")


def reference(orthant, run, context, continuation):
    """Sum of log p of the continuation's ids, and whether all are the largest logits."""
    ids = np.array([context + continuation], np.int32)
    save_file({"input_ids": ids}, "in.safetensors")
    subprocess.run([orthant, "forward", run, "--in", "in.safetensors", "--out", "out.safetensors"], check=True)
    logits = load_file("out.safetensors")["logits"][0].astype(np.float64)
    total, greedy = 0.0, True
    for i in range(len(context), ids.shape[1]):
        row = logits[i - 1]
        total += row[ids[0, i]] - row.max() - np.log(np.exp(row - row.max()).sum())
        greedy &= bool(row.argmax() == ids[0, i])
    return total, greedy


def run_harness(model, arguments, output):
    subprocess.run([sys.executable, "-m", "lm_eval", "--model", model, "--model_args", arguments, "--tasks", "pairs,choices",
                    "--include_path", "tasks", "--batch_size", "2", "--log_samples", "--output_path", output], check=True,
                   stdout=subprocess.DEVNULL,
                   env=dict(os.environ, HF_DATASETS_OFFLINE="1", HF_HUB_OFFLINE="1", HF_HOME=os.path.abspath("hf")))


def served(address, run, length):
    """Arguments of the harness' model local-completions."""
    return (f"model={run},base_url={address}/v1/completions,tokenizer_backend=remote,num_concurrent=4,max_length={length},"
            "tokenized_requests=True")


def samples(output):
    """(task, context, continuation, log-likelihood, is_greedy) of all that the harness scored."""
    for path in sorted(glob.glob(f"{output}/**/samples_*.jsonl", recursive=True)):
        task = os.path.basename(path).split("_")[1]
        for sample in map(json.loads, open(path)):
            for arguments, response in zip(sample["arguments"].values(), sample["resps"]):
                yield task, arguments["arg_0"], arguments["arg_1"], float(response[0][0]), str(response[0][1])


def check_harness(orthant, client, address, run):
    run_harness("local-completions", served(address, run, 128), "out-" + run)
    compared, worst = 0, 0.0
    tokenize = lambda text: client.post("/tokenize", body={"model": run, "prompt": text}, cast_to=object)["tokens"]
    for _, context, continuation, log_p, is_greedy in samples("out-" + run):
        whole = tokenize(context + continuation)
        before = tokenize(context) if context else tokenize("\n")
        ids = whole[len(before):] if context else whole
        total, greedy = reference(orthant, run, before, ids)
        worst = max(worst, abs(total - log_p))
        assert abs(total - log_p) < 1e-5 * (1 + abs(total)), (context, continuation, log_p, total)
        assert str(greedy) == is_greedy, (context, continuation, is_greedy, greedy)
        compared += 1
    assert compared == 2 * len(PAIRS) + 3 * len(CHOICES), compared
    print(f"{run}: {compared} log-likelihoods of lm_eval equal those of forward (largest difference {worst:.1e}), is_greedy too")


def check_client(client, run):
    one = client.completions.create(model=run, prompt="To be", max_tokens=12, temperature=0, logprobs=3, echo=True)
    assert one.choices[0].text.startswith("To be") and one.choices[0].logprobs.token_logprobs[0] is None
    stream = client.completions.create(model=run, prompt="To be", max_tokens=12, temperature=0, stream=True)
    assert "To be" + "".join(piece.choices[0].text for piece in stream) == one.choices[0].text
    vectors = client.embeddings.create(model=run, input=["To be", "or not"])
    assert len(vectors.data) == 2 and len(vectors.data[0].embedding) == 64
    plain = client.embeddings.create(model=run, input=["To be"], encoding_format="float")
    assert np.allclose(plain.data[0].embedding, vectors.data[0].embedding, rtol=1e-6)
    assert [m.id for m in client.models.list()] == ["softmax", "linear"]
    try:
        client.completions.create(model=run, prompt="a", max_tokens=100000)
    except Exception as error:
        assert error.status_code == 400 and "context of the model" in str(error)
    else:
        raise AssertionError("no error")
    print(f"{run}: openai's client: completions, streams, embeddings, models, errors")


def main():
    orthant = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open(f"{ROOT}/data/tinyshakespeare.txt") as f:
            text = f.read(200000)
        open("text.txt", "w").write(text)
        open("config.yaml", "w").write(CONFIG)
        for run in ("softmax", "linear"):
            subprocess.run([orthant, "train", "--config", "config.yaml", "--model.attention", run, "--out", run, "--quiet"],
                           check=True, stdout=subprocess.DEVNULL)
        write_tasks()
        server = subprocess.Popen([orthant, "serve", "softmax", "linear", "--port", "0"], stdout=subprocess.PIPE, text=True)
        try:
            address = server.stdout.readline().split(" at ")[1].strip()
            client = OpenAI(base_url=address + "/v1", api_key="none")
            tools = OpenAI(base_url=address, api_key="none")
            for run in ("softmax", "linear"):
                check_client(client, run)
                check_harness(orthant, tools, address, run)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
