# SPDX-License-Identifier: Apache-2.0
# Progress: a bar that is rewritten on a terminal and wiped before results; lines elsewhere; nothing with --quiet.
. "$2/tests/cli/common"
command -v script >/dev/null || { echo "there is no script(1) to make a terminal with"; exit 77; }
text 30000

on_terminal() { # WORD...: what a terminal is sent, one piece a line
    script -qec "$orthant $*" /dev/null </dev/null >sent || fail "$*"
    tr '\r' '\n' <sent >shown
}
on_terminal train --config tiny.yaml --train.steps 6 --train.eval_every 3 --out run
says shown 'softmax: validation \[\.*\] 0 %'
says shown 'softmax: step 6/6'
says shown '^.\[Krun  *run'
on_terminal eval run
says shown 'evaluating \[\.*\] 0 %'
says shown '^.\[Krun  *run'
on_terminal eval run --quiet
! grep -q evaluating shown || fail "a quiet eval shows a bar"
expect 0 eval run
says err '^evaluating'
! grep -q evaluating out || fail "progress is among the results"

# A comparison counts all its runs, those of the tuning and varied ones too, one at a time and side by side; runs that were
# there already are counted as well.
compare="--config tiny.yaml --attention softmax --seeds 2 --compare.uniform_baseline off --compare.tune train.lr=1e-3,1e-2 --compare.tune_per once --compare.tune_extend 0 --compare.vary init --compare.vary_seeds 2"
on_terminal compare $compare --compare.jobs 1 --out one
says shown '^.*0 of 5 runs.*\[1/2\] tuning softmax, train.lr=0.001: step'
says shown '2 of 5 runs.*\[1/2\] softmax: step'
says shown '4 of 5 runs.*\[1/1\] softmax: step'
rm -r one/vary
on_terminal compare $compare --compare.jobs 1 --out one
says shown '4 of 5 runs.*\[1/1\] softmax: step'
on_terminal compare $compare --train.steps 300 --threads 2 --compare.jobs 2 --out two # a line every 0.2 s
says shown '[0-9] of 5 runs.*; \[[12]/2\] softmax [0-9]* %'
! grep -q '[6-9] of 5' shown || fail "more runs ended than there are"
