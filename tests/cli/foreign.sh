# SPDX-License-Identifier: Apache-2.0
# verify --foreign: this program's own layers as the foreign command, right and with mistakes; results that are missing,
# of another shape or type, not finite; commands that fail, hang, or cannot be run; Ctrl-C.
. "$2/tests/cli/common"

# attention: what docs/foreign.md has as its shell example. $words: further words of attend; $spoil: run on OUT.
cat >attention <<'END'
#!/bin/sh
while [ $# -gt 0 ]; do
    case $(head -c 400 "$1") in *'"F64"'*) precision=f64 ;; *) precision=f32 ;; esac
    case $(head -c 400 "$1") in *'"steps"'*) steps=--steps ;; *) steps= ;; esac
    "$orthant" attend "$spec" --heads 2 --precision $precision $steps $words --threads 1 --quiet --in "$1" --out "$2" || exit
    eval "$spoil"
    shift 2
done
END
spec=softmax words=--causal spoil=
export orthant spec words spoil
few="--tokens 2,3 --threads 1 --quiet"
mkdir temporary # of this test alone: others verify at the same time
TMPDIR=$PWD/temporary
export TMPDIR

expect 0 verify --foreign "sh attention" $few --claims deterministic,dtype,batch,gradient,causal,padding,decoding
for claim in deterministic dtype batch gradient causal padding decoding; do
    says out "^$claim  .* pass "
done
# 2 precisions of 2 lengths, and for each 3 calls, 4 of a batch, 10 with padding, 2 decoded; 1 more for each token of
# causal and, twice, of the gradient.
says out '7 claims, 108 calls: 7 passed, 0 failed'
[ "$(awk '/ pass /{ n += $2 } END { print n }' out)" = 108 ] || fail "the calls do not add up to their total"
says out '^batch  *16  *[0-9.e-]*  *1e-09  pass  a sequence'
[ -z "$(ls temporary)" ] || fail "files were left"

# Each number of the JSON: calls are 2 precisions of 1 + 1 + 2 lengths; the files are those of the calls.
expect 0 verify --foreign "sh attention" --tokens 2 --threads 1 --quiet --json --keep files
json out
says out '"claim": "deterministic"'
[ "$(grep -c '"calls": 6,' out)" = 1 ] || fail "deterministic has not 2 × 3 calls"
[ "$(grep -c '"calls": 8,' out)" = 1 ] || fail "batch has not 2 × 4 calls"
[ "$(grep -c '"calls": 2,' out)" = 1 ] || fail "dtype has not 2 calls"
says out '"foreign": "sh attention"'
says out '"passed": 3,'
says out '"failed": 0,'
says out '"bound": 1e-0*9,'
[ "$(ls files | grep -c 'in.safetensors')" = 16 ] && [ "$(ls files | grep -c 'out.safetensors')" = 16 ] ||
    fail "--keep has not the 16 calls"
for pair in '"claim":"dtype"' '"mode":"whole"' '"causal":"false"' '"precision":"f32"' '"dtype":"F32"'; do
    grep -aq "$pair" files/dtype-0007.in.safetensors || fail "the request has no $pair"
done
for pair in '"precision":"f64"' '"dtype":"F64"'; do
    grep -aq "$pair" files/dtype-0008.in.safetensors || fail "the request has no $pair"
done

# What a command does not write is missing, whatever an earlier verification left there.
expect 5 verify --foreign true --tokens 2 --threads 1 --quiet --keep files
says out '^deterministic: the command did not write deterministic-0001.out.safetensors$'
says out '^dtype: the command did not write dtype-0007.out.safetensors$'
says out '^batch: the command did not write batch-0009.out.safetensors$'
says out '3 claims, 16 calls: 0 passed, 3 failed'
expect 5 verify --foreign true --tokens 2 --threads 1 --quiet --claims batch
says out 'did not write batch-0001.out.safetensors; --keep FOLDER keeps the files and what it printed'

# Lengths: 16, not 17. The heads are those that are given.
sixteen=1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1
expect 0 verify --foreign "sh attention" --tokens $sixteen --threads 1 --quiet --claims dtype
says out '1 claims, 32 calls: 1 passed'
expect 2 verify --foreign "sh attention" --tokens $sixteen,1 --threads 1 --quiet --claims dtype
says err 'give up to 16 lengths'
expect 5 verify --foreign true --inputs qkv --width 12 --heads 3 --tokens 2 --quiet --claims dtype --keep heads
grep -aqF '"q":{"dtype":"F32","shape":[3,3,2,4]' heads/dtype-0001.in.safetensors || fail "q has not 3 heads of 4 columns"

# Mistakes, each found by its claim alone.
found() { # CLAIM PATTERN
    expect 5 verify --foreign "sh attention" $few --claims "$1" --json
    says out '"failed": 1,'
    says out "\"where\": \"$2"
    says err '1 of 1 claims failed'
}
words= && found causal 'row . changes with the tokens from . on'
words= && expect 5 verify --foreign "sh attention" $few --claims batch,causal
says out '^batch .* pass '
says out '^causal .* FAIL  see below'
says out '^Failures$'
says out '^causal: row . changes with the tokens from . on'
says out '2 claims, 32 calls: 1 passed, 1 failed'
words= && expect 0 verify --foreign "sh attention" $few --claims permutation
words=--causal && found permutation 'row . does not move with its token'
spoil='cp "$1" "$2"' && found batch 'batch-0001.out.safetensors: tensor y is missing'
spoil='rm "$2"' && found batch 'the command did not write batch-0001.out.safetensors; --keep'
spoil='printf nothing >"$2"' && found batch '.*batch-0001.out.safetensors'
spoil='echo "KeyError: y"; echo; exit 3' && found dtype 'sh attention ended with exit status 3; its last line: KeyError: y"'
spoil='kill -9 $$' && found dtype 'sh attention was ended by signal 9'
# The result of the first call under the name of every call: of another shape, and the same for other tokens.
spoil='[ -f first ] || cp "$2" first; cp first "$2"'
found dtype 'dtype-0003.out.safetensors: tensor y is \[3, 2, 16\]; give \[3, 3, 16\]'
rm -f first
spoil='cat "$2" | tr "\\000" "\\377" >"$2.x"; true'
spoil='case $precision in f64) "$orthant" attend softmax --heads 2 --causal --precision f32 --quiet --in "$1" --out "$2" ;; esac'
found dtype 'float64 gives a result of float32'
spoil=

# What ends the verification at once.
expect 1 verify --foreign ./no-such-command $few
says err 'no-such-command ended with exit status 127: .*not found'
expect 1 verify --foreign "sleep 1000$$; true" $few --timeout 1
says err 'did not end within 1 seconds and was stopped; allow more with --timeout'
pgrep -f "^sleep 1000$$\$" >/dev/null 2>&1 && fail "the process group was left running" || true
expect 2 verify --foreign "sh attention" --claims leak
says err "there is no claim 'leak'; choose from"
expect 2 verify --foreign "sh attention" --claims batch,batch
says err 'named twice'
expect 2 verify --foreign "sh attention" --tokens 2,x
says err "give up to 16 lengths"
expect 2 verify --foreign "sh attention" --inputs kqv
says err 'give x or qkv'
expect 2 verify --foreign "sh attention" softmax
expect 2 verify --foreign "sh attention" --quick
expect 2 verify --claims batch
says err 'it needs --foreign'
expect 2 verify --foreign "sh attention" --claims pure
says err "there is no claim 'pure'; choose from deterministic, dtype, .* decoding"
expect 2 verify --foreign "sh attention" --claims ""
says err 'name at least one of deterministic, dtype, .* decoding'
expect 2 verify --foreign "sh attention" $few --claims average
says err 'average is about inputs qkv'
for tokens in 0 257 1,-1; do
    expect 2 verify --foreign "sh attention" --tokens $tokens
    says err 'tokens; give 1 to 256'
done
expect 2 verify --foreign "sh attention" --inputs qkv --width 13
says err 'a multiple of heads'
expect 2 verify --foreign "sh attention" --width 4097

# What a command leaves running ends with it.
expect 0 verify --foreign "sleep 1002$$ & sh attention" $few --claims batch
pgrep -f "^sleep 1002$$\$" >/dev/null 2>&1 && fail "a process was left running" || true

# Ctrl-C ends the command too.
"$orthant" verify --foreign "sleep 1001$$; true" $few >out 2>err &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10; do pgrep -f "^sleep 1001$$\$" >/dev/null 2>&1 && break || sleep 0.2; done
kill -INT $pid
status=0
wait $pid || status=$?
[ $status = 130 ] || fail "Ctrl-C ended with $status"
pgrep -f "^sleep 1001$$\$" >/dev/null 2>&1 && fail "Ctrl-C left the command running" || true
