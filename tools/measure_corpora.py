#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure_corpora.py ORTHANT FOLDER [ids|text|bytes|pack|dedup ...]: the tables of docs/corpora.md.

ids:  files of 16-bit ids of 0.1, 1, 10 and 50 GB, sparse, so that no disk is read: a training of one step.
text: text of 0.1 and 1 GB with a vocabulary of 4,000, from memory and from the cache: a training of one step.
bytes: the same with the tokenizer "byte".
pack: 'data pack' and the Python package tokenizers on the same text with the same vocabulary, in interleaved pairs.
dedup: 'data dedup' of a text by lines.

Without a name it measures all but those whose package is missing. FOLDER is made, and needs 4 GB; GB are 10^9 bytes.
Memory is the peak resident size of the process (ru_maxrss), without the page cache. Only python3 is needed, and for
"pack" the package tokenizers.
"""
import json
import os
import random
import subprocess
import sys
import time

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "tinyshakespeare.txt")
MODEL = ("--model.layers 1 --model.width 32 --model.heads 2 --model.context 128 --train.batch 8 --train.steps 1 "
         "--train.final_tokens 1000 --train.eval_every 0 --quiet").split()
PAIRS = 5


def run(command, **environment):
    """Wall and processor seconds and the peak memory in bytes of a command that must succeed."""
    began = time.time()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               env={**os.environ, **environment})
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit("%s\n%s" % (" ".join(command), errors.decode(errors="replace")))
    return time.time() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def fresh(name):
    subprocess.run(["rm", "-rf", name], check=True)
    return name


def make_text(name, size):
    """Lines of Shakespeare in a random order, again and again; returns its bytes."""
    if not os.path.exists(name) or os.path.getsize(name) < size:
        lines = [line for line in open(SOURCE, "rb") if line.strip()]
        chance = random.Random(1)
        with open(name, "wb") as out:
            while out.tell() < size:
                out.write(b"".join(chance.choices(lines, k=10000)))
    return os.path.getsize(name)


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def table(*names):
    print()
    row(*names)
    print("|" + "---|" * len(names))


def ids(orthant):
    table("ids", "a training of one step, s", "processor time, s", "memory, MB")
    for size in (0.1, 1, 10, 50):
        name = "ids.bin"
        with open(name, "wb") as out:
            out.truncate(int(size * 1e9))
        wall, processor, memory = run([orthant, "train", *MODEL, "--data.train", name, "--data.tokenizer", "byte",
                                       "--out", fresh("run")])
        row("%g GB" % size, "%.2f" % wall, "%.2f" % processor, "%.0f" % (memory / 1e6))
        os.remove(name)


def tokenizer(orthant):
    make_text("vocabulary.txt", 5000000)
    if not os.path.exists("t.json"):
        run([orthant, "tokenizer", "train", "--kind", "bpe:4000", "--data", "vocabulary.txt", "--out", "t.json", "--quiet"])
    return "t.json"


def text(orthant, tokens=None):
    tokens = tokens or tokenizer(orthant)
    table("text, " + ("bytes" if tokens == "byte" else "bpe:4000"), "", "a training of one step, s", "processor time, s", "memory, MB")
    for size in (0.1, 1):
        make_text("text.txt", size * 1e9)
        fresh("cache")
        command = [orthant, "train", *MODEL, "--data.train", "text.txt", "--data.tokenizer", tokens, "--out"]
        for what, limit in (("from memory", "100000"), ("the first time, into the cache", "0"), ("from the cache", "0")):
            wall, processor, memory = run(command + [fresh("run")], ORTHANT_TEXT_IN_MEMORY=limit, ORTHANT_CACHE="cache")
            row("%g GB" % size, what, "%.2f" % wall, "%.2f" % processor, "%.0f" % (memory / 1e6))
        os.remove("text.txt")
    fresh("cache")


def text_of_bytes(orthant):
    text(orthant, "byte")


REFERENCE = """
import array, sys, tokenizers
t = tokenizers.Tokenizer.from_file(sys.argv[1])
with open(sys.argv[2], encoding="utf-8", newline="\\n") as f, open(sys.argv[3], "wb") as out:
    while lines := f.readlines(1 << 20):
        for one in t.encode_batch_fast([line[:-1] for line in lines]):
            array.array("H", one.ids + [4000]).tofile(out)
"""


def pack(orthant):
    try:
        import tokenizers
    except ImportError:
        print("\npack: the Python package tokenizers is missing")
        return
    tokens = tokenizer(orthant)
    size = make_text("pack.txt", 32000000)
    table("threads", "program", "MB/s", "MB/s of processor time", "memory, MB")
    for threads in ("1", "2"):
        measured = {"orthant data pack": [], "tokenizers " + tokenizers.__version__: []}
        for _ in range(PAIRS):
            commands = ([orthant, "data", "pack", "--data", "pack.txt", "--documents", "lines", "--tokenizer", tokens,
                         "--threads", threads, "--quiet", "--out", fresh("corpus")],
                        [sys.executable, "-c", REFERENCE, tokens, "pack.txt", "reference.bin"])
            for name, command in zip(measured, commands):
                measured[name].append(run(command, RAYON_NUM_THREADS=threads, TOKENIZERS_PARALLELISM="true"))
        if open("corpus/shard-00000.bin", "rb").read() != open("reference.bin", "rb").read():
            sys.exit("the ids differ")
        for name, values in measured.items():
            wall, processor, memory = (sorted(column)[PAIRS // 2] for column in zip(*values))
            row(threads, name, "%.1f" % (size / wall / 1e6), "%.1f" % (size / processor / 1e6), "%.0f" % (memory / 1e6))
    os.remove("reference.bin")


def dedup(orthant):
    size = make_text("pack.txt", 32000000)
    table("duplicates", "threads", "MB/s", "MB/s of processor time", "memory, MB")
    for near in ("0", "0.8"):
        for threads in ("1", "2"):
            wall, processor, memory = run([orthant, "data", "dedup", "--data", "pack.txt", "--documents", "lines", "--near", near,
                                           "--threads", threads, "--quiet"], TMPDIR=".")
            row("exact" if near == "0" else "exact and near", threads, "%.1f" % (size / wall / 1e6),
                "%.1f" % (size / processor / 1e6), "%.0f" % (memory / 1e6))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    orthant = os.path.abspath(sys.argv[1])
    os.makedirs(sys.argv[2], exist_ok=True)
    os.chdir(sys.argv[2])
    print("%s, %d processors, load %.1f" % (time.strftime("%Y-%m-%d"), os.cpu_count(), os.getloadavg()[0]))
    measures = {"ids": ids, "text": text, "bytes": text_of_bytes, "pack": pack, "dedup": dedup}
    for name in sys.argv[3:] or measures:
        measures[name](orthant)
    print("\nload %.1f" % os.getloadavg()[0])


if __name__ == "__main__":
    main()
