# SPDX-License-Identifier: Apache-2.0
# serve for seconds as tools/serve_load.py has it by hand for minutes: 32 clients that keep their connections, answers those
# of the request alone, more silent connections than are allowed, and SIGTERM while all of them go on asking.
. "$2/tests/cli/common"
command -v python3 >/dev/null || { echo "there is no python3, which is the clients"; exit 77; }
text 30000
expect 0 train --config tiny.yaml --model.context 128 --out run
status=0
timeout 300 python3 "$source/tools/serve_load.py" "$orthant" run --seconds 3 --clients 32 --kinds 24 --tokens 8 --crowd 200 \
    --connections 96 --decode-seconds 0 ${quick:+--sanitizer} >out 2>err || status=$?
[ $status -ne 77 ] || { cat out; exit 77; }
[ $status -eq 0 ] || fail "serve_load.py ended with $status"
says out "32 clients .* all answers are those of the request alone"
says out "SIGTERM: .* requests answered"
