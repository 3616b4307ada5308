# SPDX-License-Identifier: Apache-2.0
# Folders that cannot be written to and disks that are full: a sentence and exit code 1, and going on when there is room.
. "$2/tests/cli/common"
text 30000
: >file
expect 1 train --config tiny.yaml --out file/run
says err 'file'
for words in "compare --config tiny.yaml" "train --config tiny.yaml"; do
    expect 1 $words --data.train nowhere.txt --out file/run
    says err 'cannot write file/run'
done
for words in "tokenizer train --data nowhere.txt" "attend softmax --in nowhere"; do
    expect 1 $words --out no/such/place
    says err 'cannot write no/such/place'
done
if [ "$(id -u)" -ne 0 ]; then # root may write anywhere
    mkdir closed
    chmod 555 closed
    expect 1 train --config tiny.yaml --out closed/run
    says err 'ermission denied'
fi
if [ -w /dev/full ]; then
    status=0
    "$orthant" doctor >/dev/full 2>err || status=$?
    [ $status -eq 1 ] || fail "a full standard output ended with $status"
    says err 'standard output'
fi

# The rest needs a small file system, and for that mounts of its own: nothing is left mounted.
if [ -z "${mounts:-}" ]; then
    as_root=--map-root-user
    [ "$(id -u)" -ne 0 ] || as_root=
    if ! unshare $as_root --mount sh -c 'mkdir small && mount -t tmpfs -o size=400k tmpfs small' 2>/dev/null; then
        echo "no small file system can be mounted: a full disk was not tried"
        exit 77
    fi
    mounts=own unshare $as_root --mount sh "$source/tests/cli/disk.sh" "$orthant" "$source"
    exit
fi
mkdir small
mount -t tmpfs -o size=400k tmpfs small
trap 'cd /; umount "$work/small"; leave' EXIT
options="--config tiny.yaml --train.checkpoint_every 5 --quiet"
expect 1 train $options --out small/run
says err 'o space left'
expect 0 train $options --out whole
i=0
while [ $i -lt 30 ]; do
    cat text.txt
    i=$((i + 1))
done >long.txt
pack="data pack --data long.txt --documents lines --tokenizer byte --shard-tokens 50000 --quiet"
expect 1 $pack --out small/corpus
says err 'o space left'
expect 1 data dedup --data long.txt --documents lines --out small/once
says err 'o space left'
[ ! -e small/once ] || fail "a folder is left on the full disk"
export ORTHANT_TEXT_IN_MEMORY=0 ORTHANT_CACHE=small/cache
expect 1 train $options --data.train long.txt --out cached
says err 'o space left'
unset ORTHANT_TEXT_IN_MEMORY ORTHANT_CACHE
expect 0 $pack --out packed
mount -o remount,size=16m small
expect 0 train $options --resume --out small/run
same small/run/model.safetensors whole/model.safetensors
expect 0 $pack --out small/corpus
for file in packed/*; do
    same "small/corpus/${file#packed/}" "$file"
done
