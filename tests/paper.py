#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""paper.py SOURCE: compares the numbers of docs/paper/paper.md with the records that they come from.

Each fact is a piece of the text made from the records; it must be in the paper. When all facts are taken out of the
abstract, of the methods, of the results and of the replication, no number may be left there that is not in ALLOWED:
so a number without a record is found, too.
"""
import json
import re
import sys

source = sys.argv[1]
records = f"{source}/experiments/records"
UNIFORM = "uniform baseline"
ALLOWED = [  # names, definitions, chosen levels
    r"pattern\(previous\):1", r"(orthogonal|softmax|random|X):3", r"95 %", r"99 %( or more)?", r"### \d\.\d", r"4\.1 alone",
    r"seed \d", r"of section \d", r"\(20\d\d\)", r"bf16", r"float32", r"(map-map|headline)\.svg", r"\d\. "]


def shown(value, decimals, sign=False):
    return f"{value:{'+' if sign else ''}.{decimals}f}".replace("-", "−")


def share(r):
    if r["low"] == r["high"]:
        return shown(r["value"], 2)
    return f"{shown(r['value'], 2)} [{shown(r['low'], 2)}, {shown(r['high'], 2)}]"


def recall_facts():
    record = json.load(open(f"{records}/map/recall.json"))
    declared = json.load(open(f"{records}/map/declared.json"))["variants"]["recall"]
    options, facts = record["options"], []
    for e in record["entries"]:
        score = e["statistics"]["scores"]["accuracy"]
        accuracy = f"{shown(score['mean'], 2)} ±{shown(score['high'] - score['mean'], 2)}"
        best = sum(r["scores"]["accuracy"] >= 99 for r in e["runs"])
        name = UNIFORM if e["floor"] else e["attention"].replace("|", r"\|")
        kept = "0.00" if e["floor"] else share(e["retained"])
        facts.append(f"| {name} | {accuracy} | {best} of {len(e['runs'])} | {kept} |")
        facts.append(accuracy if name in ("softmax", UNIFORM) or "pattern(previous):1" in name else "")
    m, t = options["model"], options["train"]
    facts += [f"{m['layers']} layers, width {m['width']}, {m['heads']} heads", f"{t['steps']:,} steps of {t['batch']} texts",
              f"{record['seeds']} seeds", f"over {record['seeds']} seeds",
              declared["compare.tune"].replace("train.lr=", "from ").replace(",", " and ")]
    facts.append(f"up to {options['compare']['tune_extend']} values beyond")
    options = dict(re.findall(r"--([a-z-]+) (\d+)", json.load(open(f"{records}/map/declared.json"))["claim"]["data"]["get"]
                              .split(";")[0]))
    return facts + [f"{options['min-length']} to {options['max-length']} pairs", f"{options['alphabet']} keys",
                    f"{options['values']} values", f"{int(options['train']):,} training texts",
                    f"the {int(options['valid']):,} of"]


def scattered_facts():
    get = json.load(open(f"{records}/scattered/declared.json"))["claim"]["data"]["get"]
    options = dict(re.findall(r"--([a-z-]+) (\d+)", get))
    return [f"{options['min-length']} to {options['max-length']} words with {options['pairs']} pairs"]


def prediction_facts():
    page = json.load(open(f"{source}/docs/evidence-map.json"))
    predictions = next(e for e in page["experiments"] if e["name"] == "map")["predictions"]
    findings, facts = sum(len(p["findings"]) for p in predictions), []
    for p in predictions:
        f = next((f for f in p["findings"] if f["left"] == "recall"), None)
        if f and f["interval"]:
            half = f["interval"]["high"] - f["difference"]["mean"]
            facts.append(f"{shown(f['difference']['mean'], 2, True)} ±{shown(half, 2)} % points; {f['verdict'].split()[0]}.")
        elif f and f.get("retained"):
            r, least = f["retained"], p["prediction"].split()[-1]
            facts.append(f"keeps at least {least} of softmax attention's gain: {shown(r['value'], 2)} ({shown(r['low'], 2)} to "
                         f"{shown(r['high'], 2)}); {f['verdict'].split()[0]}.")
    return facts + [f"in a family of {findings}"]


def headline_facts():
    facts, config = [], open(f"{source}/data/headline.yaml").read()
    rows = [line.split(" | ") for line in open(f"{source}/docs/headline.md") if line.startswith("| ")]
    head = [cell.strip("| \n") for cell in rows[0]]

    def of(row, name):
        cell = row[next(i for i, h in enumerate(head) if h.startswith(name))]
        return cell.strip("| \n").replace("\\[", "[").replace("\\]", "]")

    for row in rows[1:]:
        if not row[0].startswith("| :") and len(row) == len(head):
            facts.append(f"{row[0]} | {of(row, 'loss')} | {of(row, 'difference to the baseline')} | {of(row, 'retained')} |")
            if "orthogonal" in row[0]:
                facts.append(of(row, "retained"))
    number = lambda key: int(re.search(rf"\b{key}: (\d+)", config).group(1))
    return facts + [f"{number('layers')} layers, width {number('width')}, {number('steps'):,} steps of {number('batch')} × "
                    f"{number('context')} characters", f"{number('seeds')} (characters)"]


def replica_facts():
    scores, script = {}, open(f"{source}/tools/replicate_recall.py").read()
    for line in open(f"{records}/replica/scattered.jsonl"):
        r = json.loads(line)
        scores.setdefault(r["attention"], {})[r["seed"]] = shown(r["accuracy"], 1)
    steps, rate = (re.search(rf'"--{key}".*default=([\d.e-]+)', script).group(1) for key in ("steps", "rate"))
    return [f"| {name} | {' | '.join(s[i] for i in sorted(s))} |" for name, s in scores.items()] + [
        f"one rate of {rate}", f"{int(steps):,} steps. Scattered"]


def main():
    text = " ".join(open(f"{source}/docs/paper/paper.md").read().split("\n"))
    parts = {p.split("  ")[0].strip(): p for p in re.split(r" ## ", text)}
    checked = " ".join(p for name, p in parts.items() if re.match(r"Abstract|[345]\.", name))
    facts = [f for f in recall_facts() + scattered_facts() + prediction_facts() + headline_facts() + replica_facts() if f]
    wrong = [f"not in the paper: {f}" for f in facts if f not in checked]
    for piece in sorted(set(facts), key=len, reverse=True):
        checked = checked.replace(piece, " ")
    for pattern in ALLOWED:
        checked = re.sub(pattern, " ", checked)
    wrong += [f"in the paper, and in no record: …{checked[max(0, m.start() - 40):m.end() + 30]}…"
              for m in re.finditer(r"\d+(\.\d+)?", checked)]
    print("\n".join(wrong) or f"{len(facts)} facts")
    sys.exit(bool(wrong))


main()
