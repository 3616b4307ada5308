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
