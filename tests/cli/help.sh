# SPDX-License-Identifier: Apache-2.0
# Help, manual pages, completion: every command has them, from one table.
. "$2/tests/cli/common"

expect 0 --help
for option in -h help; do
    cp out overview
    expect 0 $option
    same out overview
done
expect 0 --version
says out '^orthant [0-9]*\.[0-9]*\.[0-9]*$'
expect 2
says err '^Commands'

commands=$(sed -n '/^Commands/,/^Options/s/^  \([a-z]*\) .*/\1/p' overview)
[ "$(echo "$commands" | wc -l)" -ge 11 ] || fail "only these commands: $commands"
for command in $commands; do
    expect 0 "$command" --help
    cp out page
    for part in Usage Example 'See also' 'Exit codes' '--help'; do
        [ "$command$part" = "completionSee also" ] || says page "$part"
    done
    awk 'length($0) > 110 { exit 1 }' page || fail "a line of the help of $command is too long"
    expect 0 help "$command"
    same out page
    expect 0 man "$command"
    says out '^.TH "ORTHANT-'
    if command -v man >/dev/null; then
        LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l out >/dev/null 2>warnings || true
        [ ! -s warnings ] || { cat warnings; fail "the manual page of $command"; }
    fi
done

# Every option of the table with its default and its range is in the help of train.
expect 0 train --help
says out '--model.layers N'
says out '1 to 1024 (default 4)'
says out 'adamw|sgd|adafactor|muon|lion'
expect 0 train --dump-config
says out 'layers: 4'
cp out dumped.yaml
expect 0 train --config dumped.yaml --dump-config
same out dumped.yaml

# What help says of a number is what is taken: its default, and both ends of its range but nothing beyond them.
expect 0 train --help
awk '/^Options of the section/ { on = 1 } /^[A-Z]/ && !/^Options/ { on = 0 } !on { next }
    /^  --/ { if (all) print all; all = "" } { gsub(/^ +/, ""); all = all " " $0 } END { print all }' out |
    sed -n 's/^ --\([a-z._0-9]*\) [NX] .*; \([-0-9.e]*\) to \([0-9.e+]*\) (default \([^)]*\))$/\1 \2 \3 \4/p
        s/^ --\([a-z._0-9]*\) [NX] .*; at least \([-0-9.e]*\) (default \([^)]*\))$/\1 \2 - \3/p' >ranges
[ "$(wc -l <ranges)" -ge 35 ] || fail "help has ranges of $(wc -l <ranges) options only"
[ -z "$slow" ] || sed -i '9,$d' ranges
while read -r key low high default; do
    for value in $low ${high#-} $default; do
        expect 0 train "--$key=$value" --dump-config
    done
    for value in $(awk -v low="$low" 'BEGIN { print low - 1 }') \
        $([ "$high" = - ] || awk -v high="$high" 'BEGIN { printf "%.9g\n", high + 1 }'); do
        expect 2 train "--$key=$value" --dump-config
        says err "$key is \"$value\"; give a .*number from $low to "
    done
done <ranges

# Former names of options are read, and neither shown nor written.
expect 0 compare --compare.floor off --looks any --compare.most_seeds 9 --cluster.patience 7 --dump-config
for line in 'uniform_baseline: false' 'sequential: true' 'max_seeds: 9' 'timeout: 7'; do
    says out "^  $line "
done
cp out now.yaml
expect 0 compare --compare.uniform_baseline off --sequential --compare.max_seeds 9 --cluster.timeout 7 --dump-config
same out now.yaml
expect 0 compare --help
! grep -E -e '--looks|most_seeds|compare.floor|cluster.patience' out || fail "help shows a former name"

expect 0 completion bash
cp out completion.bash
bash -n completion.bash || fail "the completion for bash is not valid"
reply=$(bash -c '. ./completion.bash; COMP_WORDS=(orthant train --train.opt); COMP_CWORD=2; _orthant; echo "${COMPREPLY[@]}"')
[ "$reply" = --train.optimizer ] || fail "completion of --train.opt is \"$reply\""
reply=$(bash -c '. ./completion.bash; COMP_WORDS=(orthant train --train.optimizer a); COMP_CWORD=3; _orthant; echo "${COMPREPLY[@]}"')
[ "$reply" = "adamw adafactor" ] || fail "completion of --train.optimizer a is \"$reply\""
for shell in zsh fish; do
    expect 0 completion $shell
    ! command -v $shell >/dev/null || $shell -n out || fail "the completion for $shell is not valid"
    cp out completion.$shell
done

# Names of files are completed after the options that take them, and after no others.
expect 0 eval --help
says out '^  --data FILES'
for word in FILE FILES DIR; do
    grep -q ":$word:_files' " completion.zsh || fail "no option with $word in the completion for zsh"
done
grep -o "\]:[^' ]*'" completion.zsh | sort -u | grep -v -e ':value:' -e ':\(FILES*\|DIR\):_files' >others
! grep '_files\|:FILES*:\|:DIR:' others || fail "words that are no files, or files that are none, in the completion for zsh"
for option in 'eval.* -l data -r' 'train.* -l out -r' 'serve.* -l api-key-file -r' 'serve.* -l port -x' 'eval.* -l stride -x'; do
    says completion.fish "seen_subcommand_from $option -d"
done
