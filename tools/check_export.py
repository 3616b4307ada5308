#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains tiny models with every attention, exports them, opens them in transformers and compares logits, also of padded
rows, and greedy text with Orthant's, also with the cache of keys and values (docs/export.md).

    tools/check_export.py PROGRAM [--quick] [--only TEXT]

Needs torch, transformers and safetensors. Attentions: every mechanism of `orthant list`, and those below with options;
with --quick a few of them. Training is in float64, where logits must agree within 1e-9. Ends with 1 where something
differs, or a mechanism is neither exported nor refused; with 77 where the packages are missing."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
CODE = tempfile.TemporaryDirectory()  # where transformers copies modelling files
os.environ["HF_MODULES_CACHE"] = CODE.name
try:
    import safetensors.torch
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

BOUND = 1e-9
CACHE = "cache" if hasattr(transformers.modeling_outputs.CausalLMOutputWithPast, "cache") else "past_key_values"
CAUSAL = [
    "softmax(kv=2)", "softmax(qk=haar, tie)", "softmax(qk=srht)", "softmax(temperature, diagonal, scale=jl)",
    "orthogonal(qk=slice, share=layers)", "orthogonal(qk=hd3)", "softmax(qknorm=rms)",
    "softmax(qknorm=layer, kv=1)", "softmax(qknorm=unit)", "softmax(qknorm=joint, kv=2)",
    "softmax(normalise=sink)", "softmax(normalise=sigmoid)", "softmax(normalise=sparsemax)",
    "softmax(normalise=entmax)", "softmax(forget)", "softmax(gate=head)", "softmax(gate=channel)",
    "softmax(gate=swish)", "softmax(relative=alibi)", "softmax(relative=t5, buckets=8, distance=12)",
    "softmax(relative=t5, share=layers)", "local(window=3)", "local(window=3, dilation=2)",
    "local(window=4, normalise=sigmoid)", "block-local(size=4)", "sparse(fixed, stride=4)",
    "sparse(strided, stride=3, heads=split)", "sparse(fixed, stride=4, summary=2, heads=split)",
    "block-sparse(block=2)", "block-sparse(block=2, from=fixed)", "block-sparse(block=2, from=local)",
    "longformer(window=3, global=2)", "longformer(window=3, shared)",
    "bigbird(block=2, random=1, window=1, global=2)", "dense(input=full, bias)", "dense(shared, hidden=5)",
    "fixed-random", "random(init=normal)", "factorized-dense(a=2, b=16)", "factorized-random(rank=3)",
    "random + softmax", "mix(dense, softmax, alpha=sigmoid)",
    "mix(random, orthogonal, alpha=sum, relative=alibi)",
    "mix(random, dense, softmax(qknorm=rms), alpha=fixed, weights=0.2/0.3/0.5, gate=head)", "linear(map=relu)",
    "linear(map=cos)", "linear(map=power, degree=3)", "linear(map=identity)", "linear(map=unit)", "hedgehog",
    "linear(kv=2)", "linear(conv=3)", "retention", "gla", "deltanet", "gated-deltanet", "kda",
    "linear(map=unit, update=delta, kv=1)", "cosformer(length=40)", "polynomial(degree=4, bias=1)",
    "taylor(width=4)", "polysketch(sketch=8)", "performer(kernel=trig)", "performer(kernel=hyperbolic)",
    *(f"performer(kernel={kernel})" for kernel in ("favor++", "sderf", "aderf", "saderf")),
    "performer(kernel=aderf, kv=2, features=5)", "performer(kernel=smreg)", "performer(kernel=relu, qk=srht)", "performer(draw=iid, kv=2)",
    "pattern(previous, edge=self)", "pattern(left)", "pattern(start)", "pattern(left, edge=clamp)",
    "gaussian(offset=-1, sigma=2)", "gaussian(renormalise)", "lightconv(width=4, glu)",
    "lightconv(renormalise)", "dynamicconv(width=3, glu, renormalise)", "mixer(hidden=9, value)", "mixer",
    "pattern(previous):1 | local(window=4):1 | softmax:2", "softmax ; linear ; random", "dense:2 | mixer:2",
    "lightconv:1 | random + softmax:3 ; gla",
]
WHOLE = [
    "linformer(rank=5)", "linformer(rank=5, share=kv)", "linformer(share=heads, rank=3)", "raganato",
    "pattern(next)", "performer(kernel=favor++)", "performer(kernel=sderf)",
    "performer(kernel=aderf, kv=2)", "performer(kernel=saderf)", "pattern(right, edge=clamp)", "pattern(last)", "pattern(end)",
    "local(window=2)", "sparse(strided, stride=3)", "sparse(fixed, stride=4, heads=split)",
    "longformer(window=2, global=2)", "bigbird(block=4, random=1)", "mixer", "lightconv",
    "dynamicconv(renormalise)", "gaussian(renormalise)", "performer", "linear", "linear(map=unit)",
    "polynomial", "random + dense", "softmax(relative=t5)", "block-sparse(block=2, from=local)",
    "linear(conv=3)",
]
TRANSLATE = [
    "linear", "encoder: linformer(rank=5) & decoder: local(window=3) & cross: softmax(kv=2)",
    "encoder: softmax:1 | bigbird(block=4, random=1):3 & decoder: gla ; softmax & cross: softmax(gate=head)",
    "encoder: pattern(next):1 | mixer:3 & decoder: random + softmax & cross: orthogonal:2 | softmax(qk=srht, tie):2",
    "encoder: performer(kernel=sderf) & decoder: performer(kernel=aderf) & cross: softmax(qknorm=rms, normalise=sink)",
    "encoder: softmax(relative=t5) & decoder: softmax(relative=alibi) & cross: softmax",
]
MODELS = [[], ["--preset", "llama"], ["--preset", "nanochat"], ["--model.norm", "post", "--model.bias", "true"],
          ["--model.norm", "post", "--model.residual_scale", "0.7"]]
QUICK = ("encoder: linformer(rank=5) & decoder: local(window=3) & cross: softmax(kv=2)", "softmax(kv=2)", "random + softmax", "local(window=3)", "performer", "performer(kernel=sderf)",
         "gated-deltanet", "linformer(rank=5)")


def padded(ids, lengths, left):
    """Rows with padding of ones on one side, and the mask of their tokens."""
    rows, mask, n = torch.ones_like(ids), torch.zeros_like(ids), ids.shape[1]
    for b, length in enumerate(int(k) for k in lengths):
        first = n - length if left else 0
        rows[b, first : first + length], mask[b, first : first + length] = ids[b, :length], 1
    return rows, mask


class Checker:
    def __init__(self, program):
        self.program, self.wrong, self.worst = program, [], 0.0

    def orthant(self, *words, check=True):
        done = subprocess.run([self.program, *words], capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise RuntimeError(f"orthant {' '.join(words)}: {done.stderr.strip()}")
        return done

    def train(self, attention, out, task, number):
        heads = "8" if attention == "raganato" else "4"
        options = ["--model.layers", "3", "--model.width", "32", "--model.heads", heads, "--model.context", "32"]
        options += ["--train.steps", "3", "--train.batch", "2", "--train.precision", "f64", "--quiet"]
        data = "text.txt"
        if task == "mlm":
            words = ["--task", "mlm", *MODELS[(0, 3, 4)[number % 3]]]
        elif task == "translate":
            data = "translate.tsv"
            words = ["--task", task, "--data.tokenizer", "byte", "--model.encoder_layers", "2"]
            words += ["--model.source_context", "40", *MODELS[(0, 1, 3, 4)[number % 4]]]
            words += [["--model.share_embeddings", "false"], []][number % 2]
        elif task != "lm":
            data = task + ".tsv"
            words = ["--task", task, "--model.pool", ("cls", "mean", "last")[number % 3], "--model.head", "tanh"]
        else:
            words = MODELS[number % len(MODELS)]
        self.orthant("train", "--data.train", data, "--model.attention", attention, *options, *words, "--out", out)

    def logits(self, run, ids, lengths):
        safetensors.torch.save_file({"input_ids": ids.int(), "lengths": lengths.int()}, "in.safetensors")
        self.orthant("forward", run, "--in", "in.safetensors", "--out", "out.safetensors", "--precision", "f64")
        return safetensors.torch.load_file("out.safetensors")["logits"]

    def differ(self, model, ids, lengths, expected, left):
        """Largest difference of the logits of real tokens, with padding on one side."""
        shift = [(ids.shape[1] - int(length)) if left else 0 for length in lengths]
        rows, mask = padded(ids, lengths, left)
        with torch.no_grad():
            got = model(input_ids=rows, attention_mask=mask).logits
        if got.dim() == 2:
            return float((got - expected.view(got.shape)).abs().max())
        return max(
            float((got[b, first : first + length] - expected[b, :length]).abs().max())
            for b, (first, length) in enumerate(zip(shift, lengths))
        )

    def check(self, attention, task, number):
        run, out = f"run-{number}", f"hf-{number}"
        try:
            self.train(attention, run, task, number)
        except RuntimeError as error:
            return self.say(attention, task, f"WRONG does not train: {error}")
        exported = self.orthant("export", run, "--out", out, check=False)
        if exported.returncode:
            refused = "is not in the modelling file" in exported.stderr or "has no class" in exported.stderr
            return self.say(attention, task, ("refused " if refused else "WRONG ") + exported.stderr.strip())
        automatic = {"lm": "AutoModelForCausalLM", "mlm": "AutoModelForMaskedLM", "translate": "AutoModelForSeq2SeqLM"}
        auto = getattr(transformers, automatic.get(task, "AutoModelForSequenceClassification"))
        try:
            model = auto.from_pretrained(out, trust_remote_code=True, dtype=torch.float64).eval()
            compare = self.compare_translation if task == "translate" else self.compare
            compare(attention, task, number, model)
        except Exception as error:  # of the modelling file: the next attention is checked all the same
            self.say(attention, task, f"WRONG {type(error).__name__}: {error}")

    def compare(self, attention, task, number, model):
        run, out = f"run-{number}", f"hf-{number}"
        trained = {name for name, p in model.named_parameters() if p.requires_grad}
        if model.config.model_type == "orthant" and trained != set(model.config.tensors) - set(model.config.frozen):
            self.say(attention, task, "WRONG other parameters are trained")
        generator = torch.Generator().manual_seed(number)
        ids = torch.randint(0, model.config.vocab_size, (3, 21), generator=generator)
        lengths = torch.tensor([21, 8, 13])
        expected = self.logits(run, ids, lengths)
        own = model.config.model_type == "orthant"  # classes of transformers take position_ids for padding on the left
        off = max(self.differ(model, ids, lengths, expected, left) for left in ((False, True) if own else (False,)))
        self.worst = max(self.worst, off) if own else self.worst
        if own:
            off = max(off, self.loss_differs(model, task, ids, expected))
        text = ""
        if task == "lm":
            text = self.greedy(run, out, model)
        if task == "lm" and own:
            off = max(off, self.stepped(model, ids, lengths, expected))
            text += self.continued(model, ids[:, :8])
        good = off < (BOUND if own else 1e-6) and not text.startswith("WRONG")
        self.say(attention, task, f"{'ok   ' if good else 'WRONG'} {model.config.model_type} {off:.1e} {text}")

    def compare_translation(self, attention, task, number, model):
        """Logits and loss of an encoder-decoder, and its generated tokens, which must be the likeliest of our logits."""
        generator = torch.Generator().manual_seed(number)
        source = torch.randint(4, model.config.vocab_size, (3, 21), generator=generator)
        target = torch.randint(4, model.config.vocab_size, (3, 17), generator=generator)
        lengths, target_lengths = torch.tensor([21, 8, 13]), torch.tensor([9, 17, 12])
        expected = self.translation_logits(f"run-{number}", source, lengths, target, target_lengths)
        off = 0.0
        for left in (False, True):
            ids, mask = padded(source, lengths, left)
            targets, target_mask = padded(target, target_lengths, left)
            with torch.no_grad():
                got = model(input_ids=ids, attention_mask=mask, decoder_input_ids=targets, use_cache=False,
                            decoder_attention_mask=target_mask).logits
            first = [17 - int(k) if left else 0 for k in target_lengths]
            off = max(off, *(float((got[b, first[b] : first[b] + k] - expected[b, :k]).abs().max())
                             for b, k in enumerate(target_lengths)))
            made = [
                model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=10, min_new_tokens=10, num_beams=beams,
                               use_cache=cached)
                for beams in (1, 3) for cached in (False, True)
            ]
            if not (torch.equal(*made[:2]) and torch.equal(*made[2:])):
                return self.say(attention, task, f"WRONG with a cache {made}")
            ours = self.translation_logits(f"run-{number}", source, lengths, made[0][:, :-1], torch.tensor([10] * 3))
            ours[..., model.config.eos_token_id] = -torch.inf  # by min_new_tokens
            if not torch.equal(ours.argmax(-1), made[0][:, 1:]):
                return self.say(attention, task, f"WRONG other tokens {made[0].tolist()}")
        with torch.no_grad():
            loss = model(input_ids=source[:1], labels=target[:1, 1:].masked_fill(target[:1, 1:] == target[0, 3], -100),
                         decoder_input_ids=target[:1, :-1]).loss
            shifted = model(input_ids=source[:1], labels=target[:1]).loss
        begin = torch.full_like(target[:1, :1], model.config.decoder_start_token_id)
        one = torch.tensor([21]), torch.tensor([17])
        wanted = [self.translation_logits(f"run-{number}", source[:1], one[0], ids, one[1] - (17 - ids.shape[1]))[0]
                  for ids in (target[:1, :-1], torch.cat((begin, target[:1, :-1]), 1))]
        kept = target[0, 1:] != target[0, 3]
        wanted = (torch.nn.functional.cross_entropy(wanted[0][kept], target[0, 1:][kept]),
                  torch.nn.functional.cross_entropy(wanted[1], target[0]))
        off = max(off, float((loss - wanted[0]).abs()), float((shifted - wanted[1]).abs()))
        self.worst = max(self.worst, off)
        text = "the likeliest tokens, " + ("the same with a cache" if model.is_cached else "without a cache")
        self.say(attention, task, f"{'ok   ' if off < BOUND else 'WRONG'} {model.config.model_type} {off:.1e} {text}")

    def translation_logits(self, run, source, lengths, target, target_lengths):
        safetensors.torch.save_file(
            {"input_ids": source.int(), "lengths": lengths.int(), "decoder_input_ids": target.int().contiguous(),
             "decoder_lengths": target_lengths.int()}, "in.safetensors")
        self.orthant("forward", run, "--in", "in.safetensors", "--out", "out.safetensors", "--precision", "f64")
        return safetensors.torch.load_file("out.safetensors")["logits"]

    def loss_differs(self, model, task, ids, expected):
        """The loss for labels, of the first row, against that of the expected logits."""
        row, logits = ids[:1], expected[:1]
        if task == "lm":
            labels, wanted = row, torch.nn.functional.cross_entropy(logits[0, :-1], row[0, 1:])
        elif task == "mlm":
            labels, wanted = row, torch.nn.functional.cross_entropy(logits[0], row[0])
        elif task == "classify":
            labels = torch.tensor([1])
            wanted = torch.nn.functional.cross_entropy(logits.view(1, -1), labels)
        else:
            labels = torch.tensor([0.25], dtype=torch.float64)
            wanted = (logits.flatten()[0] - 0.25) ** 2
        with torch.no_grad():
            return float((model(input_ids=row, labels=labels).loss - wanted).abs())

    def greedy(self, run, out, model):
        tokenizer, prompt = transformers.AutoTokenizer.from_pretrained(out, trust_remote_code=True), "First Citizen"
        begin = tokenizer(prompt, return_tensors="pt", add_special_tokens=False, return_token_type_ids=False)
        with torch.no_grad():
            made = model.generate(**begin, max_new_tokens=12, do_sample=False)
        ours = self.orthant("generate", run, "--prompt", prompt, "--tokens", "12", "--temperature", "0").stdout
        theirs = tokenizer.decode(made[0])
        return "same greedy text" if ours.rstrip("\n") == theirs.rstrip("\n") else f"WRONG {ours!r} {theirs!r}"

    def stepped(self, model, ids, lengths, expected):
        """Largest difference of logits that are read in parts with a cache, rows padded on the left."""
        n, (rows, mask) = ids.shape[1], padded(ids, lengths, left=True)
        cache, got = None, []
        for first, last in ((0, 10), (10, 14), (14, 15), *((i, i + 1) for i in range(15, n))):
            known = {} if cache is None else {CACHE: cache}
            with torch.no_grad():
                made = model(input_ids=rows[:, first:last], attention_mask=mask[:, :last], use_cache=True, **known)
            cache = made.get(CACHE)
            if (cache is None) == model.is_cached:
                raise RuntimeError(f"is_cached is {model.is_cached}, and the cache is {cache}")
            if cache is None:
                return 0.0
            got.append(made.logits)
        got = torch.cat(got, 1)
        return max(float((got[b, n - k :] - expected[b, :k]).abs().max()) for b, k in enumerate(lengths))

    def continued(self, model, ids):
        """Greedy tokens and beams, with and without a cache, of rows of different lengths."""
        mask = torch.ones_like(ids)
        mask[1, :3], mask[2, :6] = 0, 0
        for beams in (1, 3):
            made = [
                model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=8, num_beams=beams, use_cache=cached)
                for cached in (False, True)
            ]
            if not torch.equal(*made):
                return f" WRONG with a cache {made[1].tolist()}, without {made[0].tolist()}"
        return ", the same with a cache" if model.is_cached else ", without a cache"

    def say(self, attention, task, what):
        print(f"{task:8} {attention:60} {what}", flush=True)
        if "WRONG" in what:
            self.wrong.append(attention)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("program")
    words.add_argument("--quick", action="store_true")
    words.add_argument("--only", default="")
    given = words.parse_args()
    checker = Checker(os.path.abspath(given.program))
    transformers.logging.set_verbosity_error()
    print(f"torch {torch.__version__}, transformers {transformers.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("text.txt", "w", encoding="utf-8") as f:
            for i in range(60):
                f.write(f"First Citizen: Before we proceed any further, hear me speak, {i} times.\n\n")
        for task, targets in (("classify", ("good", "bad", "ugly")), ("regress", ("0.5", "1.5", "2"))):
            with open(task + ".tsv", "w", encoding="utf-8") as f:
                f.writelines(f"{targets[i % 3]}\tthe word {i} of {i % 5}\n" for i in range(60))
        with open("translate.tsv", "w", encoding="utf-8") as f:
            f.writelines(f"the word {i} is here\tdas Wort {i} ist da\n" for i in range(60))
        listed = json.loads(checker.orthant("list", "--json").stdout)
        names = [m["name"] for m in listed]
        cases = [(a, "lm") for a in names if a not in ("linformer", "mix")] + [(a, "lm") for a in CAUSAL]
        cases += [("pattern(current)", "mlm")] + [(a, "mlm") for a in WHOLE]
        cases += [(a, task) for a in ("linear", "random", "linformer(rank=5)") for task in ("classify", "regress")]
        cases += [(a, "translate") for a in TRANSLATE]
        if given.quick:
            cases = [case for case in cases if case[0] in QUICK]
        for number, (attention, task) in enumerate(cases):
            if given.only in attention:
                checker.check(attention, task, number)
        os.chdir("/")
    print(f"largest difference of logits: {checker.worst:.1e}; {len(checker.wrong)} of {len(cases)} wrong")
    return 1 if checker.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
