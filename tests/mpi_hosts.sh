#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mpi_hosts.sh ORTHANT SOURCE [--measure]: ranks in network namespaces that a bridge joins, as hosts would be: the same
# bits as one rank. --measure: three rates on 2 and 4 ranks against what `orthant plan --ranks` says.
# Exits 0 (passed), 77 (cannot be run here, the last line says why) or otherwise.
measure=${3:-}
command -v mpirun >/dev/null || { echo "mpirun is not installed (openmpi-bin)"; exit 77; }
for tool in ip tc unshare; do
    command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
. "$2/tests/cli/common"
"$orthant" doctor | grep -q 'ranks *Open MPI' || { echo "$orthant was built without Open MPI"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
net=oa$$ # names of interfaces have 15 bytes
sub=10.$((64 + $$ % 64)).$(($$ / 64 % 256))

remove() {
    for i in 1 2 3 4; do
        ip netns del $net-$i 2>/dev/null || true
    done
    ip link del $net-br 2>/dev/null || true
}
trap 'remove; leave' EXIT
ip netns add $net-1 2>err || { echo "network namespaces are not allowed here: $(tail -n 1 err)"; exit 77; }
ip link add $net-br type bridge 2>err || { echo "bridges are not allowed here: $(tail -n 1 err)"; exit 77; }
ip addr add $sub.254/24 dev $net-br
ip link set $net-br up

host() { # I: a namespace with an address
    ip netns add $net-$1 2>/dev/null || true
    ip link add $net-v$1 type veth peer name eth0 netns $net-$1
    ip link set $net-v$1 master $net-br up
    ip netns exec $net-$1 ip link set lo up
    ip netns exec $net-$1 ip addr add "$sub.$1/24" dev eth0
    ip netns exec $net-$1 ip link set eth0 up
}
for i in 1 2 3 4; do
    host $i
done

# shape MBIT: of what leaves a host. With a delay of 200 us where the system has netem.
shape() {
    for i in 1 2 3 4; do
        latency=200
        ip netns exec $net-$i tc qdisc replace dev eth0 root netem rate "$1"mbit delay 200us limit 100000 2>err && continue
        latency=30
        ip netns exec $net-$i tc qdisc replace dev eth0 root tbf rate "$1"mbit burst 256kb latency 400ms 2>err || return 1
    done
}

# What mpirun calls to start its part on another host, as it would call ssh: ADDRESS COMMAND...
cat >agent <<END
#!/bin/sh
[ "\$1" != -x ] || shift
i=\${1##*.}
shift
exec ip netns exec $net-\$i unshare --uts sh -c "hostname $net-\$i; \$*"
END
chmod +x agent

ranks() { # N WORD...: one rank on each of N hosts
    n=$1 hosts=$sub.1:1
    shift
    for i in 2 3 4; do
        [ $i -gt "$n" ] || hosts=$hosts,$sub.$i:1
    done
    timeout 300 mpirun --mca plm rsh --mca plm_rsh_agent "$work/agent" --mca btl tcp,self --mca btl_tcp_if_include $sub.0/24 \
        --mca oob_tcp_if_include $sub.0/24 --bind-to none --host $hosts -n "$n" --wdir "$work" \
        "$orthant" "$@" >out 2>err </dev/null || fail "$n hosts: orthant $* ended with $?"
}

text 20000
shape 1000 || echo "without delay and rate: $(tail -n 1 err)"
[ "$latency" -eq 200 ] || echo "with a rate, without a delay: this system has no netem"
options="--config tiny.yaml --train.accumulate 4 --train.steps 10 --threads 1 --quiet"
expect 0 train $options --out one
for n in 2 4; do
    ranks $n train $options --out hosts-$n
    same one/model.safetensors hosts-$n/model.safetensors
done
echo "2 and 4 hosts: same bits"
[ "$measure" = --measure ] || exit 0

# Seconds a step of the newest lines of a log (the first has begun everything), and the share of communication in them.
steps() { # FOLDER
    sed -n 's/.*"step": \([0-9]*\),.*"seconds": \([0-9.]*\),.*/\1 \2/p' "$1/log.jsonl" |
        awk 'NR == 1 { s = $1; t = $2 } { a = $1; b = $2 } END { printf "%.4f", (b - t) / (a - s) }'
}
big="--config tiny.yaml --model.layers 4 --model.width 256 --model.context 64 --train.batch 4 --train.accumulate 4 --threads 1 \
    --train.steps 13 --train.log_every 3 --quiet --train.final_tokens 100"
expect 0 train $big --out alone
echo "one rank: $(steps alone) s a step"
for rate in 100 1000 10000; do
    shape $rate || { echo "no rates here: $(tail -n 1 err)"; exit 77; }
    for n in 2 4; do
        ranks $n train $big --out measured
        expect 0 plan $(echo "$big" | sed 's/--threads 1//; s/--quiet//') --ranks 4 --cluster.latency $latency --json \
            --cluster.bandwidth $(awk "BEGIN { print $rate / 1000 }")
        echo "$rate Mbit/s, $n ranks: $(steps measured) s a step," \
            "waiting $(sed -n 's/.*"seconds": \([0-9.]*\),.*"communication": \([0-9.]*\).*/\1 \2/p' measured/log.jsonl |
                awk 'NR > 1 { w += ($1 - t) * $2; n += 3 } { t = $1 } END { printf "%.4f", w / n }') s;" \
            "the plan says waiting $(tr -d ' \n' <out | tr '{}' '\n\n' |
                sed -n "s/^\"ranks\":$n,.*\"seconds_waiting\":\([^,]*\),.*/\1/p") s"
        rm -r measured
    done
done
