# SPDX-License-Identifier: Apache-2.0
# Folders that cannot be written to and disks that are full: a sentence and exit code 1, and going on when there is room.
. "$2/tests/cli/common"
text 30000
: >file
expect 1 train --config tiny.yaml --out file/run
says err 'file'
if [ "$(id -u)" -ne 0 ]; then
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

mkdir small
[ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=400k tmpfs small 2>/dev/null || {
    echo "no small file system could be mounted: the full disk was not tried"
    exit 0
}
trap 'cd /; umount "$work/small"; rm -rf "$work"' EXIT
options="--config tiny.yaml --train.checkpoint_every 5 --quiet"
expect 1 train $options --out small/run
says err 'o space left'
expect 0 train $options --out whole
mount -o remount,size=16m small
expect 0 train $options --resume --out small/run
same small/run/model.safetensors whole/model.safetensors
