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
    r"pattern\(previous\):1", r"(orthogonal|softmax|random|X):3", r"95 %", r"99 %( or more)?", r"### \d\.\d", r"and not 4\.1", r"recall \(4\.1\)", r"WikiText-2",
    r"seed \d", r"of section \d", r"\(20\d\d\)", r"bf16", r"float32", r"(map-map|headline)\.svg", r"\d\. "]


def shown(value, decimals, sign=False):
    return f"{value:{'+' if sign else ''}.{decimals}f}".replace("-", "−")


def share(r):
    if not r or r["value"] is None:
        return "–"
    if r["low"] == r["high"]:
        return shown(r["value"], 2)
    return f"{shown(r['value'], 2)} [{shown(r['low'], 2)}, {shown(r['high'], 2)}]"


def accuracy_of(entry):
    score = entry["statistics"]["scores"]["accuracy"]
    return f"{shown(score['mean'], 2)} ±{shown(score['high'] - score['mean'], 2)}"


def accuracy(record, attention):
    return accuracy_of(next(e for e in record["entries"] if (UNIFORM if e["floor"] else e["attention"]) == attention))


def rows(record, with_share):
    """The lines of the table of a record."""
    facts = []
    for e in record["entries"]:
        best = sum(r["scores"]["accuracy"] >= 99 for r in e["runs"])
        name = UNIFORM if e["floor"] else e["attention"].replace("|", r"\|")
        kept = f" {'0.00' if e['floor'] else share(e['retained'])} |" if with_share else ""
        facts.append(f"| {name} | {accuracy_of(e)} | {best} of {len(e['runs'])} |{kept}")
    return facts


def data_options(experiment):
    get = json.load(open(f"{records}/{experiment}/declared.json"))["claim"]["data"]["get"].split(";")[0]
    return {key: int(value) for key, value in re.findall(r"--([a-z-]+) (\d+)", get)}


def recall_facts():
    record = json.load(open(f"{records}/map/recall.json"))
    declared = json.load(open(f"{records}/map/declared.json"))["variants"]["recall"]
    m, t, data = record["options"]["model"], record["options"]["train"], data_options("map")
    return rows(record, True) + [
        f"softmax attention alone reaches {accuracy(record, 'softmax')} %",
        f"three frozen ones again {accuracy(record, 'pattern(previous):1 | orthogonal:3')} %",
        f"{m['layers']} layers, width {m['width']}, {m['heads']} heads", f"{t['steps']:,} steps of {t['batch']} texts",
        f"{record['seeds']} seeds", declared["compare.tune"].replace("train.lr=", "from ").replace(",", " and "),
        f"up to {record['options']['compare']['tune_extend']} values beyond",
        f"{data['min-length']} to {data['max-length']} pairs", f"{data['alphabet']} keys", f"{data['values']} values",
        f"{data['train']:,} training texts, none", f"the {data['valid']:,} of"]


def scattered_facts():
    record, data = json.load(open(f"{records}/scattered/comparison.json")), data_options("scattered")
    steps = f"{record['options']['train']['steps']:,} steps"
    return rows(record, False) + [
        f"with every seed ({accuracy(record, 'pattern(previous):1 | orthogonal:3')} %)",
        f"({accuracy(record, 'pattern(previous):1 | random:3')} % and {accuracy(record, UNIFORM)} %)",
        f"{data['min-length']} to {data['max-length']} words with {data['pairs']} pairs",
        f"{data['train']:,} training texts, {steps}", f"the task in {steps}"]


def prediction_facts(experiment, comparison):
    page = json.load(open(f"{source}/docs/evidence.json"))
    predictions = next(e for e in page["experiments"] if e["name"] == experiment)["predictions"]
    facts = [f"family of {sum(len(p['findings']) for p in predictions)}"]
    for p in predictions:
        f = next((f for f in p["findings"] if f["left"] == comparison), None)
        if not f or f["verdict"] == "not run":
            continue
        if f["interval"]:
            half = f["interval"]["high"] - f["difference"]["mean"]
            facts.append(f"{shown(f['difference']['mean'], 2, True)} ±{shown(half, 2)} % points")
        else:
            r, least = f["retained"], p["prediction"].split()[-1]
            facts += [f"keeps at least {least} of", f"{shown(r['value'], 2)} ({shown(r['low'], 2)} to {shown(r['high'], 2)})"]
        if f["verdict"] != "holds here":
            facts.append(f"{p['prediction']}: {f['verdict']}")
    return facts


def map_facts():
    """The table of retained shares: tasks that were run, in the order of the declaration."""
    page = json.load(open(f"{source}/docs/evidence.json"))
    run = [c["name"] for c in next(e for e in page["experiments"] if e["name"] == "map")["comparisons"]]
    tasks = [json.load(open(f"{records}/map/{name}.json"))["entries"] for name in run]
    declared, facts = json.load(open(f"{records}/map/declared.json"))["variants"], []
    for e in tasks[0]:
        if not e["floor"]:
            cells = (next(x for x in task if x["attention"] == e["attention"])["retained"] for task in tasks)
            name = e["attention"].replace("|", r"\|")
            facts.append(f"| {name} | {' | '.join(map(share, cells))} |")
    for e in json.load(open(f"{records}/map/masked.json"))["entries"]:
        loss = e["statistics"]["loss"]
        facts += [f"{shown(loss['mean'], 2)} ±{shown(loss['high'] - loss['mean'], 2)}"] * (
            e["floor"] or e["attention"] in ("softmax", *(f"pattern(previous):1 | {x}:3" for x in ("softmax", "orthogonal", "random"))))
    return facts + [f"{len(run)} of the {len(declared)} declared tasks"]


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
    facts = [f for f in recall_facts() + scattered_facts() + prediction_facts("map", "recall") +
             prediction_facts("scattered", "comparison") + map_facts() + headline_facts() + replica_facts() if f]
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
