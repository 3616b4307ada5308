#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bare.sh [SUITE]: what the README promises, on a machine that has nothing. Makes a minimal Debian in a folder, with make
# and no other tool of ours in it, clones the commit into it, and runs `make demo` and `make test-quick` there. The folder
# is removed at the end. Exit status: 0 passed, 77 cannot be tried here (the last line says why), else failed.
set -eu
cd "$(dirname "$0")/.."

skip() {
    echo "$*"
    exit 77
}

release() { # FIELD: of this system
    sed -n "s/^$1=\"*\([a-z]*\)\"*$/\1/p" /etc/os-release
}

suite=${1:-}
[ -n "$suite" ] || [ "$(release ID)" != debian ] || suite=$(release VERSION_CODENAME)
suite=${suite:-bookworm}

# A name space of mounts and processes: nothing of it is left, however the script ends.
apart="unshare --mount --pid --fork --kill-child --mount-proc"

command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"
command -v git >/dev/null && git rev-parse -q --verify HEAD >/dev/null 2>&1 || skip "there is no commit to clone"
[ "$(id -u)" -eq 0 ] || skip "only root can make a Debian in a folder"
$apart true 2>/dev/null || skip "file systems cannot be mounted here"

# ---- where packages come from: the sources and the proxy of this system

sources() {
    lines=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' \
        'Origin: Debian' | grep -E " $suite(-updates|-security)? main\$") || lines="deb http://deb.debian.org/debian $suite main"
    echo "$lines"
}

proxies() { # settings of apt, one to a line
    apt-config dump | grep -E '^Acquire::(https?|ftp)(::[^:]+)*::Proxy(-Auto-Detect)? ' || true
}

variables() { # NAME=VALUE that programs look for
    env | grep -E '^(http|https|no|HTTP|HTTPS|NO)_(proxy|PROXY)=' || true
}

reachable() { # SOURCE: deb URI SUITE COMPONENT
    /usr/lib/apt/apt-helper download-file "${2%/}/dists/$3/InRelease" "$work/InRelease" >"$work/log" 2>&1
}

room() { # the first place with room for the folder: compilers and a browser are large
    for place in /var/tmp /tmp "$PWD"; do
        [ "$(df -Pk "$place" | awk 'NR == 2 { print $4 }')" -lt 4000000 ] || { echo "$place"; return; }
    done
}

place=$(room)
[ -n "$place" ] || skip "no file system has 4 GB of room"
work=$(mktemp -d "$place/build-bare.XXXXXX")
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM HUP
reachable $(sources | head -n 1) || skip "no packages can be fetched: $(grep -m 1 '^[WE]:' "$work/log" || echo "no network")"

# ---- steps

step() { # WHAT COMMAND...: its output goes to a file, shown if it fails
    what=$1 start=$(date +%s)
    shift
    echo "  $what"
    "$@" >"$work/log" 2>&1 || {
        tail -n 60 "$work/log"
        echo "  failed: $what, in a minimal Debian $suite"
        exit 1
    }
    echo "    $(($(date +%s) - start)) s"
}

says() { # PATTERN: the last step printed it
    grep -E "$1" "$work/log" | sed 's/^/    /' | grep . || {
        tail -n 60 "$work/log"
        echo "  failed: $what does not print \"$1\""
        exit 1
    }
}

minimal() {
    packages=make
    ! sources | grep -q ' https:' || packages=make,ca-certificates
    proxies >"$work/apt.conf"
    echo 'Acquire::Retries "3";' >>"$work/apt.conf"
    sources | $apart mmdebstrap --variant=minbase --include=$packages --aptopt="$work/apt.conf" "$suite" "$root" - &&
        cp /etc/resolv.conf /etc/hosts "$root/etc/"
}

inside() { # COMMAND...: in the root, in the clone, with nothing of our environment
    $apart sh -euc '
        root=$1
        shift
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount --rbind /dev "$root/dev"
        exec chroot "$root" env -i -C /orthant "$@"' sh \
        "$root" HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin $(variables) "$@" </dev/null
}

# Before anything is installed `make` cannot build; it must say what to do, and must not be in the way afterwards.
refused() {
    ! inside make
}

step "a minimal Debian $suite with make" minimal
step "clone $(git rev-parse --short HEAD)" git clone -q --no-local . "$root/orthant"
step "make" refused
says 'tools/packages.sh build. lists and installs what is missing'
step "make demo" inside make demo
says 'packages: installing '
for file in recall/results.json characters/results.json characters/report.html; do
    [ -s "$root/orthant/build/demo/$file" ] || { echo "  failed: make demo made no $file"; exit 1; }
done
says '^pattern\(previous\):1 \| orthogonal:3 *5 of 5 '
says '^pattern\(previous\):1 \| random:3 *0 of 5 '
step "make test-quick" inside make test-quick
says 'packages: installing '
grep '^skipped: ' "$work/log" | sed 's|^|    |' || true
says '^[1-9][0-9]* passed, 0 failed, [0-9]* skipped$'
