# SPDX-License-Identifier: Apache-2.0
# serve: what curl gets. Texts are those of generate, probabilities those of the library's evaluation, errors OpenAI's.
. "$2/tests/cli/common"
command -v curl >/dev/null || { echo "there is no curl"; exit 77; }
command -v python3 >/dev/null || { echo "there is no python3, which reads the answers"; exit 77; }
text 30000
expect 0 train --config tiny.yaml --out run
expect 0 train --config tiny.yaml --model.attention linear --data.tokenizer bpe:300 --out other
expect 0 train --config tiny.yaml --data.tokenizer byte --train.steps 2 --out bytes
for i in 1 2 3 4 5 6 7 8 9; do for k in 1 2 3 4 5 6 7 8 9; do printf 'ab\000cd\000\000e\n'; done; done >zeros.txt
expect 0 train --config tiny.yaml --data.train zeros.txt --data.tokenizer byte --train.lr 0.01 --quiet --out zeros
expect 0 train --config tiny.yaml --model.attention "pattern(previous):1 | softmax:2 | mixer:1" --data.tokenizer byte --train.steps 2 --out mixed
expect 0 train --config tiny.yaml --model.attention mixer --data.tokenizer byte --train.steps 1 --out mapless
expect 0 train --config tiny.yaml --model.context 512 --train.batch 1 --train.steps 1 --out long
expect 2 serve
expect 1 serve nowhere --port 0
expect 2 serve run run --port 0
expect 2 serve run --port 0 --host 0.0.0.0
if grep -q libmicrohttpd err; then
    echo "this program was built without libmicrohttpd"
    exit 77
fi
says err 'give --api-key-file'

# post PATH JSON: the answer in the file answer; the status in $status
post() {
    status=$(curl -s -o answer -w '%{http_code}' "$at$1" -d "$2") || fail "curl $1: $?"
}

# field EXPRESSION: of the answer a
field() {
    python3 -S -c "import json, sys; a = json.load(open('answer')); print(($1))"
}

is() { # EXPRESSION VALUE
    found=$(field "$1") || fail "no $1"
    [ "$found" = "$2" ] || fail "$1 is $found, not $2: $(cat answer)"
}

serve first run other bytes zeros mixed mapless long
[ "$(curl -s -o /dev/null -w '%{http_code}' "$at/health")" = 200 ] || fail "it is not well"
curl -s "$at/v1/models" >answer
is "[m['id'] for m in a['data']]" "['run', 'other', 'bytes', 'zeros', 'mixed', 'mapless', 'long']"
is "a['data'][1]['attention'], a['data'][1]['precision']" "('linear', 'f32')"

# The text of generate: sampled, greedy, with stop texts, several at once, of a prompt of ids.
for model in run other; do
    expect 0 generate $model --prompt "To be" --tokens 20 --seed 5 --samples 2 --temperature 0.8 --json
    cp out generated.json
    post /v1/completions "{\"model\": \"$model\", \"prompt\": \"To be\", \"max_tokens\": 20, \"seed\": 5, \"n\": 2, \"temperature\": 0.8}"
    is "[c['text'] for c in a['choices']] == [s['text'] for s in json.load(open('generated.json'))['samples']]" True
    is "[c['finish_reason'] for c in a['choices']], a['usage']['completion_tokens']" "(['length', 'length'], 40)"
done
expect 0 generate run --prompt "To be" --tokens 20 --temperature 0 --json
cp out generated.json
post /tokenize '{"model": "run", "prompt": "To be", "add_special_tokens": false}'
ids=$(field "a['tokens']")
for prompt in '"To be"' "$ids"; do
    post /v1/completions "{\"model\": \"run\", \"prompt\": $prompt, \"max_tokens\": 20, \"temperature\": 0, \"echo\": true}"
    is "a['choices'][0]['text'] == 'To be' + json.load(open('generated.json'))['samples'][0]['text']" True
done
post /v1/completions '{"model": "run", "prompt": "To be", "max_tokens": 20, "temperature": 1, "top_k": 1}' # the most likely token only
is "a['choices'][0]['text'] == json.load(open('generated.json'))['samples'][0]['text']" True
post /v1/completions "{\"model\": \"run\", \"prompt\": [\"To be\", $ids, \"or\"], \"max_tokens\": 5}" || true
[ "$status" = 200 ] || fail "a list of texts and ids: $(cat answer)"
is "len(a['choices']), a['choices'][0]['text'] == a['choices'][1]['text']" "(3, True)"
post /detokenize "{\"model\": \"run\", \"tokens\": $ids}"
is "a['prompt']" "To be"
stop=$(python3 -c "import json; print(json.dumps(json.load(open('generated.json'))['samples'][0]['text'][4:6]))")
post /v1/completions "{\"model\": \"run\", \"prompt\": \"To be\", \"max_tokens\": 20, \"temperature\": 0, \"stop\": $stop, \"logprobs\": 0}"
is "a['choices'][0]['finish_reason'], json.load(open('generated.json'))['samples'][0]['text'].startswith(a['choices'][0]['text'] + $stop)" "('stop', True)"
is "''.join(a['choices'][0]['logprobs']['tokens']) == a['choices'][0]['text']" True

# Zero bytes are text like others, in prompts too.
expect 0 generate zeros --prompt ab --tokens 16 --temperature 0
cp out plain
[ "$(tr -d -c '\000' <plain | wc -c)" -gt 2 ] || fail "no zero bytes were written"
expect 0 generate zeros --prompt ab --tokens 16 --temperature 0 --json
python3 -c "import json; t = json.load(open('out'))['samples'][0]['text']; assert ('ab' + t + '\n').encode() == open('plain', 'rb').read(), t" ||
    fail "JSON has another text"
cp out generated.json
post /v1/completions '{"model": "zeros", "prompt": ["ab", "a\u0000b"], "max_tokens": 16, "temperature": 0, "echo": true, "logprobs": 0}'
is "a['choices'][0]['text'] == 'ab' + json.load(open('generated.json'))['samples'][0]['text']" True
is "a['choices'][1]['text'][:3] == 'a\0b', [len(c['text']) for c in a['choices']]" "(True, [18, 19])"
is "[''.join(c['logprobs']['tokens']) == c['text'] for c in a['choices']]" "[True, True]"

# Log-probabilities: the mean over windows is what eval prints; the most likely token is the largest number.
head -c 31 text.txt >piece
printf '%s' "$(cat piece)" >piece.txt
expect 0 eval run --data piece.txt --json
cp out evaluated.json
python3 -c "import json; print(json.dumps({'model': 'run', 'prompt': open('piece.txt').read(), 'max_tokens': 1, 'echo': True, 'logprobs': 1, 'temperature': 0}))" >request
post /v1/completions @request
is "abs(sum(a['choices'][0]['logprobs']['token_logprobs'][1:-1]) / -(len(open('piece.txt').read()) - 1) / json.load(open('evaluated.json'))['loss'] - 1) < 1e-6" True
is "a['choices'][0]['logprobs']['token_logprobs'][0], a['choices'][0]['logprobs']['top_logprobs'][0]" "(None, None)"
is "a['choices'][0]['logprobs']['text_offset'] == list(range(len(open('piece.txt').read()) + 1))" True
is "max(a['choices'][0]['logprobs']['top_logprobs'][-1].values()) == a['choices'][0]['logprobs']['token_logprobs'][-1]" True
cp answer echoed
python3 -c "import json; print(json.dumps({'model': 'run', 'input': [open('piece.txt').read()]}))" >request
post /v1/score @request
is "a['data'][0]['token_logprobs'] == json.load(open('echoed'))['choices'][0]['logprobs']['token_logprobs'][:-1]" True
# Several texts: their numbers in order, each scored as alone, and counted.
prompt_tokens() { curl -s "$at/metrics" | sed -n 's/^orthant_prompt_tokens_total //p'; }
post /v1/score '{"model": "run", "input": "or not"}'
cp answer alone
counted=$(prompt_tokens)
post /v1/score '{"model": "run", "input": ["To", "or not", "be"]}'
is "[d['index'] for d in a['data']]" "[0, 1, 2]"
is "a['data'][1]['log_p'] == json.load(open('alone'))['data'][0]['log_p'] and a['data'][0]['log_p'] != a['data'][2]['log_p']" True
is "$(prompt_tokens) - $counted" 10
post /v1/completions '{"model": "run", "prompt": "To be", "max_tokens": 0, "echo": true, "logprobs": 2}'
is "a['choices'][0]['text'], len(a['choices'][0]['logprobs']['tokens'])" "('To be', 5)"
is "[len(t) for t in a['choices'][0]['logprobs']['top_logprobs'][1:]] >= [2, 2, 2, 2]" True

# Generated tokens have the numbers that /v1/score gives them, also where a vocabulary of bytes forbids some for UTF-8's
# sake; a token that ends within a character is a token of the answer.
post /v1/completions '{"model": "bytes", "prompt": "To be", "max_tokens": 9, "temperature": 1.5, "n": 12, "seed": 3, "logprobs": 0}'
cp answer bytes.json
is "sum(len(c['logprobs']['tokens']) for c in a['choices']) == a['usage']['completion_tokens']" True
is "sum('\ufffd' in c['text'] or any(ord(x) > 127 for x in c['text']) for c in a['choices']) > 2" True
python3 - <<'END' >request
import json
texts = [c["text"] for c in json.load(open("bytes.json"))["choices"]]
print(json.dumps({"model": "bytes", "input": [list(b"To be" + t.rstrip("\ufffd").encode()) for t in texts]}))
END
post /v1/score @request
python3 - <<'END' || fail "tokens have other numbers than those of /v1/score"
import json
compared = 0
for choice, scored in zip(json.load(open("bytes.json"))["choices"], json.load(open("answer"))["data"]):
    for own, whole in zip(choice["logprobs"]["token_logprobs"], scored["token_logprobs"][5:]):
        assert abs(own - whole) < 1e-4, (own, whole)
        compared += 1
assert compared > 60, compared
END

# A stream has the pieces of the same answer.
request='{"model": "other", "prompt": "To be", "max_tokens": 12, "seed": 5, "logprobs": 1, "echo": true'
post /v1/completions "$request}"
cp answer whole
curl -sN "$at/v1/completions" -d "$request, \"stream\": true, \"stream_options\": {\"include_usage\": true}}" >stream
says stream '^data: \[DONE\]$'
sed -n 's/^data: {/{/p' stream >pieces
python3 - <<'END' || fail "a stream has other pieces: $(cat stream)"
import json
whole = json.load(open("whole"))
pieces = [json.loads(line) for line in open("pieces")]
choices = [p["choices"][0] for p in pieces if p["choices"]]
assert len(choices) > 3
assert "".join(c["text"] for c in choices) == whole["choices"][0]["text"]
for key, value in whole["choices"][0]["logprobs"].items():
    assert sum((c["logprobs"][key] for c in choices), []) == value, key
assert pieces[-1]["usage"] == whole["usage"] and choices[-1]["finish_reason"] == "length"
END

# Attention maps are those of inspect; in rows of softmax are probabilities of tokens up to the query.
for model in run other mixed; do
    expect 0 inspect $model --text "To be, or" --json
    cp out inspected.json
    post /v1/attention "{\"model\": \"$model\", \"prompt\": \"To be, or\"}"
    is "a['model'], a['object'], ''.join(a['tokens'])" "('$model', 'attention', 'To be, or')"
    is "a['layers'] == json.load(open('inspected.json'))['layers']" True
done
is "[[h['map'] is None for h in l['heads']] for l in a['layers']]" "[[False, False, False, True], [False, False, False, True]]"
is "[h['map'][i].index(1) for h in [a['layers'][1]['heads'][0]] for i in range(1, 9)]" "[0, 1, 2, 3, 4, 5, 6, 7]"
is "max(abs(sum(row) - 1) for h in a['layers'][0]['heads'][1:3] for row in h['map']) < 1e-3" True
is "[w for h in a['layers'][0]['heads'][:3] for i, row in enumerate(h['map']) for w in row[i + 1:] if w != 0]" "[]"
post /v1/attention "{\"model\": \"run\", \"prompt\": $ids}"
is "a['tokens']" "['T', 'o', ' ', 'b', 'e']"
python3 -c "import json; print(json.dumps({'model': 'long', 'prompt': open('text.txt').read()[:362]}))" >request # 8 · 362² < 2^20
post /v1/attention @request
is "[len(h['map']) for l in a['layers'] for h in l['heads']]" "[362, 362, 362, 362, 362, 362, 362, 362]"
python3 -c "import json; print(json.dumps({'model': 'long', 'prompt': open('text.txt').read()[:363]}))" >request
post /v1/attention @request
is "a['error']['message'].startswith('the prompt has 363 tokens; 8 maps of an answer have room for 362: shorten it')" True

# Errors.
while read -r path expected pattern body; do
    post "$path" "$body"
    [ "$status" = "$expected" ] || fail "$path $body: $status instead of $expected"
    is "a['error']['type'].endswith('_error')" True
    grep -q "$(echo "$pattern" | tr _ ' ')" answer || fail "$path $body: no \"$pattern\" in $(cat answer)"
done <<'END'
/v1/completions 400 not_JSON {"prompt"
/v1/completions 400 not_a_JSON_object [1]
/v1/completions 400 there_is_no_model {"model": "nothing", "prompt": "a"}
/v1/completions 400 model_must_be {"prompt": "a"}
/v1/completions 400 unexpected_member {"model": "run", "prompt": "a", "temprature": 1}
/v1/completions 400 prompt_must_be {"model": "run", "prompt": 7}
/v1/completions 400 prompt_0:_element_1,_100000,_is_no_token {"model": "run", "prompt": [1, 100000]}
/v1/completions 400 prompt_2:_element_0,_-1,_is_no_token {"model": "run", "prompt": [[1], "a", [-1]]}
/v1/completions 400 prompt_0:_element_0,_1.5,_is_no_token;_ids_are_0_to_255 {"model": "bytes", "prompt": [1.5]}
/v1/completions 400 prompt_0:1_(byte_0):_.*03B1.*_of_the_vocabulary {"model": "run", "prompt": "\u03b1"}
/v1/completions 400 prompt_1:2_(byte_3):_.*03B1.*_of_the_vocabulary {"model": "run", "prompt": ["a", "or\n\u03b1"]}
/v1/score 400 input_1:1_(byte_2):_.*03B1.*_of_the_vocabulary {"model": "run", "input": ["a", "or\u03b1"]}
/v1/score 400 input_1:_element_0,_..b..,_is_no_token {"model": "run", "input": [[1], ["b"]]}
/v1/embeddings 400 input_1:_element_2,_999,_is_no_token {"model": "run", "input": [[1], [1, 2, 999]]}
/v1/embeddings 400 input_1_has_33_tokens {"model": "bytes", "input": ["a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]}
/detokenize 400 tokens:_element_0,_256,_is_no_token {"model": "bytes", "tokens": [256]}
/v1/attention 400 mixer_has_no_attention_map {"model": "mapless", "prompt": "a"}
/v1/attention 400 unexpected_member {"model": "run", "input": "a"}
/v1/attention 400 prompt_0_must_be {"model": "run"}
/v1/attention 400 prompt_0_has_33_tokens {"model": "bytes", "prompt": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}
/tokenize 400 different_tokenizers {"prompt": "a"}
/v1/completions 400 context_of_the_model {"model": "run", "prompt": "a", "max_tokens": 1000}
/v1/completions 400 temperature_must_be {"model": "run", "prompt": "a", "temperature": -1}
/v1/completions 400 not_supported {"model": "run", "prompt": "a", "frequency_penalty": 1}
/v1/classify 400 needs_a_run {"model": "run", "input": "a"}
/v1/translate 400 needs_a_run {"model": "run", "input": "a"}
/v2/completions 404 no_such_path {}
/v1/models 405 another_method {}
END
curl -s "$at/metrics" >metrics
says metrics '^orthant_completion_tokens_total [1-9]'
says metrics '^orthant_sequences_running 0$'
curl -s "$at/tokenizer_info" >answer
is "'different tokenizers: name a model' in a['error']['message']" True
curl -s "$at/tokenizer_info?model=other" >answer
is "a['model'], a['tokenizer_class'], a['vocab_size']" "('other', 'bpe', 300)"
curl -sG "$at/tokenizer_info" --data-urlencode model=bytes >answer
is "a['model'], a['tokenizer_class'], a['vocab_size'], a['model_max_length']" "('bytes', 'byte', 256, 32)"
curl -s "$at/tokenizer_info?model=%62ites" >answer
is "a['error']['message'][:30]" 'there is no model "bites"; /v1'
curl -s "$at/tokenizer_info?modell=bytes" >answer
is "a['error']['message'][:26]" 'unexpected member "modell"'
curl -s -H 'Host: evil.example' "$at/v1/models" >answer
is "'Host' in a['error']['message']" True

# A signal: requests that were accepted are answered.
curl -s "$at/v1/completions" -d '{"model": "run", "prompt": ["a", "b", "c"], "n": 300, "max_tokens": 31, "logprobs": 5}' >late &
client=$!
busy() { curl -s "$at/metrics" >metrics && grep -q '^orthant_sequences_running [1-9]' metrics; }
await $server busy
awk '{ at[$1] = $2 } END { exit !(at["orthant_sequences_running"] <= 16 && at["orthant_sequences_waiting"] > 100) }' metrics ||
    fail "of 900 sequences 16 run and the others wait: $(grep '^orthant_sequences' metrics)"
kill -TERM $server
ended 0 $client "the client"
ended 143 $server "the server"
python3 -c "import json; assert len(json.load(open('late'))['choices']) == 900" || fail "an accepted request was lost"
says first.err 'all answered'

# Another precision than that of the runs: texts of generate in it, and probabilities near those of f32, not the same.
for precision in bf16 f64; do
    expect 0 generate other --prompt "To be" --tokens 20 --seed 5 --samples 20 --precision $precision --json
    cp out generated.json
    serve $precision run other --precision $precision
    curl -s "$at/v1/models" >answer
    is "[m['precision'] for m in a['data']]" "['$precision', '$precision']"
    post /v1/completions '{"model": "other", "prompt": "To be", "max_tokens": 20, "seed": 5, "n": 20}'
    is "[c['text'] for c in a['choices']] == [s['text'] for s in json.load(open('generated.json'))['samples']]" True
    python3 -c "import json; print(json.dumps({'model': 'run', 'input': [open('piece.txt').read()]}))" >request
    post /v1/score @request
    is "0 < max(abs(x - y) for x, y in zip(a['data'][0]['token_logprobs'][1:], json.load(open('echoed'))['choices'][0]['logprobs']['token_logprobs'][1:])) < {'bf16': 0.1, 'f64': 1e-4}['$precision']" True
    stop
done
expect 2 serve run --precision f16
says err 'f16'

# Keys.
printf 'secret-1\nsecret-2\n' >keys
serve second run --api-key-file keys
[ "$(curl -s -o answer -w '%{http_code}' "$at/v1/models")" = 401 ] || fail "no key is needed"
is "a['error']['code']" invalid_api_key
[ "$(curl -s -o answer -w '%{http_code}' -H 'Authorization: Bearer secret-' "$at/v1/models")" = 401 ] || fail "half a key"
[ "$(curl -s -o answer -w '%{http_code}' -H 'Authorization: Bearer secret-2' "$at/v1/models")" = 200 ] || fail "the key"
curl -s -H 'Authorization: Bearer secret-1' "$at/tokenizer_info" >answer
is "(a['eos_token'], a['vocab_size'] > 50, a['model_max_length'])" "('\\n', True, 32)"
kill -INT $server 2>/dev/null
status=0
wait $server || status=$?
[ $status -eq 130 ] || [ $status -eq 143 ] || fail "SIGINT ended it with $status"
