# SPDX-License-Identifier: Apache-2.0
# generation_config.json: outputs and sums of log p by its rules are those of transformers (tests/golden-hf/beams_rules.py); what
# changes outputs and is not followed is reported.
. "$2/tests/cli/common"
golden=$source/tests/golden-hf
copy() { # FOLDER OF A CASE
    rm -rf model run
    cp -r "$golden/$1" model
    chmod -R u+w model
}
rules() { # RUN: its options decode.*
    grep -o '"decode": {[^}]*}' "$1/config.json" | sed 's/"max_tokens": 0,/"max_tokens": 48,/' # as long as the context
}
expect_in() { # INPUT WORD...
    input=$1
    shift
    "$orthant" "$@" <"$input" >out 2>err || fail "$*"
}

for one in marian t5; do
    copy $one
    end=$(sed -n 's/.*"eos_token_id": \([0-9]*\).*/\1/p' model/config.json)
    rm -f model/tokenizer.json
    last=
    while IFS='|' read -r rule ids wanted sum; do
        [ "$rule" = "$last" ] || {
            echo "$rule" | sed "s/^{/{\"eos_token_id\": $end, /" >model/generation_config.json
            rm -rf run
            expect 0 import model --out run
            ! grep -q 'not followed' err || fail "$rule is not followed"
            rules run >imported
            rm -rf hf again
            expect 0 export run --out hf
            expect 0 import hf --out again
            rules again >exported
            same imported exported
            last=$rule
        }
        echo "$ids" >ids.txt
        expect_in ids.txt translate run --scores
        ! grep -q ' $' out || fail 'a blank ends the ids'
        [ "$(cut -f 2 out | xargs)" = "$(echo $wanted)" ] || fail "$one, $rule: $(cat out) and not $wanted"
        cut -f 1 out | awk -v sum="$sum" '{ exit !(($1 - sum) ^ 2 < 1e-8) }' || fail "$one, $rule: $(cat out) and not $sum"
    done <"$golden/$one/beams-rules.txt"
    [ "$(wc -l <"$golden/$one/beams-rules.txt")" -eq 18 ] || fail 'not all outputs were compared'
done

# Without the file those keys of config.json count, which what is given goes before; exported, the forced end is there again.
copy marian
expect 0 import model --out run
says out '^decoding    force_end=true$'
echo '66 92 70' >ids.txt
expect_in ids.txt translate run --beam 1 --max-tokens 2
[ "$(wc -w <out)" = 1 ] || fail 'the end was not forced'
expect_in ids.txt translate run --beam 1 --max-tokens 2 --decode.force_end false
[ "$(wc -w <out)" = 2 ] || fail 'the end was forced'
expect 0 export run --out back
says back/config.json '"forced_eos_token_id": 0'

imports() { # FILE: with that generation_config.json
    echo "$1" >model/generation_config.json
    rm -rf run
    expect 0 import model --out run
}
follows() { # FILE PATTERN
    imports "$1"
    says_wrapped err "$2"
}
follows '{"repetition_penalty": 1.2, "min_length": 3, "no_repeat_ngram_size": 2, "top_k": 50, "begin_suppress_tokens": [4]}' \
    "not followed: eos_token_id (none), begin_suppress_tokens, min_length, no_repeat_ngram_size, repetition_penalty; 'orthant translate' has"
follows '{"num_beams": 4, "bad_words_ids": [[3, 4]], "length_penalty": -1, "do_sample": true, "forced_eos_token_id": 7}' \
    'not followed: length_penalty, early_stopping (false by default), forced_eos_token_id, bad_words_ids, eos_token_id (none), do_sample;'
follows '{"max_length": "x", "forced_bos_token_id": 4000, "num_beams": true, "suppress_tokens": 3}' \
    'not followed: num_beams, max_length, forced_bos_token_id, suppress_tokens, eos_token_id (none);'
follows '{"eos_token_id": [0, 5], "decoder_start_token_id": 7, "num_beams": 2.5, "early_stopping": 1, "num_return_sequences": 2, "forced_decoder_ids": [[1, 4]]}' \
    'not followed: num_beams, decoder_start_token_id, eos_token_id, num_return_sequences, forced_decoder_ids;'
follows '{"eos_token_id": 0, "bad_words_ids": [[3, 4], [5]], "suppress_tokens": [0, 6, 140, -1]}' \
    'not followed: bad_words_ids (but those of one token are);'
says_wrapped err 'suppress_tokens": ids outside the vocabulary of 140 are ignored'
says out '^decoding    suppress=0,6,5$'
says_wrapped err 'has no "num_beams" and "max_length": generate() of transformers then writes greedily, at most 20 new tokens; for that give .orthant translate. --decode.beam 1 --decode.max_tokens 20'
follows '{"eos_token_id": 0, "num_beams": 2, "early_stopping": true}' 'has no "max_length": generate() of transformers then writes at most 20 new tokens'
follows '{"eos_token_id": 0, "max_length": 9}' 'has no "num_beams": generate() of transformers then writes greedily; for that'

echo '{"eos_token_id": 0, "repetition_penalty": 1.0, "min_length": 0, "no_repeat_ngram_size": 0, "num_beam_groups": 1, "bad_words_ids": null, "early_stopping": false, "num_beams": 1, "diversity_penalty": 0.0}' >model/generation_config.json
rm -rf run
expect 0 import model --out run
! grep -q 'not followed' err || fail 'values that change nothing were reported'
echo '[]' >model/generation_config.json
expect 1 import model --out x
says err 'generation_config.json is no JSON object'
echo '{"num_beams": 4' >model/generation_config.json
expect 1 import model --out x
says err 'generation_config.json'
[ ! -e x ] || fail 'a refused import left a folder'
# Of both lengths that of new tokens counts.
imports '{"max_length": 20, "max_new_tokens": 4}'
says out '^decoding    .*max_tokens=4$'
rm model/generation_config.json
expect 0 import model --out x
# The end is forced where the context of 48 ends before the limit.
for limit in 0 48 1000; do
    expect_in ids.txt translate x --beam 1 --decode.suppress 0 --max-tokens $limit
    [ "$(wc -w <out)" = 47 ] && ! grep -q 'did not end' err || fail "with --max-tokens $limit the end was not forced after 47 tokens"
done
for wrong in 140 -1 3x; do
    status=0
    "$orthant" translate x --decode.suppress "$wrong" <ids.txt >out 2>err || status=$?
    [ $status -eq 2 ] || fail "decode.suppress $wrong ended with $status"
    says err 'expected ids from 0 to 139, separated by commas'
done
status=0
"$orthant" translate x --decode.first_token nothing <ids.txt >out 2>err || status=$?
[ $status -eq 2 ] || fail "decode.first_token nothing ended with $status"
says err 'decode.first_token = nothing is no token of the tokenizer'

# Decoders: what changes outputs is reported, and the token at which transformers ends.
copy smollm2
follows '{"eos_token_id": 2, "do_sample": true, "temperature": 0.6, "top_p": 0.9, "repetition_penalty": 1.0}' \
    "not followed: do_sample, temperature, top_p; 'orthant generate' has"
says_wrapped err "\"eos_token_id\": 'orthant generate' writes on after it; end there with --stop '<|im_end|>'"
follows '{"eos_token_id": [2, 0]}' "end there with --stop '<|im_end|>' --stop '<|endoftext|>'"
! grep -q 'not followed' err || fail 'an end was reported as not followed'
follows '{"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "typical_p": 1.0, "epsilon_cutoff": 0.0, "eta_cutoff": 0.0, "num_beams": 1,
    "encoder_repetition_penalty": 1.0, "encoder_no_repeat_ngram_size": 0, "min_new_tokens": 0, "guidance_scale": 1.0, "bad_words_ids": [], "do_sample": true}' \
    "not followed: do_sample; 'orthant generate' has"
follows '{"max_length": 9, "max_new_tokens": 8, "num_beams": 2, "length_penalty": 2.0, "temperature": 0.6, "top_k": 5}' \
    'not followed: num_beams, length_penalty, max_length, max_new_tokens;'
imports '{"eos_token_id": 2, "num_beams": 1, "length_penalty": 2.0}' # without beams a length has no penalty
! grep -q 'not followed' err || fail 'a penalty without effect was reported'
# Ends as texts for a shell: "Ċ", "Ġs", "'", "\"".
imports '{"eos_token_id": [201, 263, 9, 4, 999999]}'
cat >wanted <<'END'
--stop $'\n' --stop ' s' --stop ''\''' --stop '"'
END
tr '\n' ' ' <err | grep -qF -e "$(cat wanted)" || fail 'the ends are other texts'
says_wrapped err '"eos_token_id": the tokenizer has no token 999999'
