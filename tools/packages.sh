#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packages.sh build|quick|test: installs what building Orthant needs from the distribution and is not there yet; also what
# `make test-quick` needs; also what `make test` needs. It prints what is missing and why, and the command that installs
# it. On a terminal it asks before it installs. Without one it installs as root, and never uses sudo unless
# ORTHANT_INSTALL=yes is in the environment. It changes nothing that is installed.
set -eu
goal=${1:-build}

# goal, package or equivalents (the first is installed), reason
list() {
    cat <<'END'
build gcc           compiles the library and the program
build libc6-dev     headers and start-up files of the C library
build cmake         finds libraries and writes the makefiles
build pkg-config    tells cmake where libraries are
build libdnnl-dev   oneDNN: matrix products
build libjansson-dev JSON: results, configuration of models, tokenizer.json
build libyaml-dev   YAML: configuration files
build libpcre2-dev  regular expressions of tokenizers
build libutf8proc-dev Unicode: characters and their classes
build zlib1g-dev    reads gzip text, checks checkpoints
build libzstd-dev   reads zstd text
build libmd-dev     SHA-256: tells texts and edited files apart
build libmicrohttpd-dev HTTP: orthant serve
quick libcmocka-dev unit tests
quick binutils      objdump: no instruction newer than a file's name says
quick chromium-headless-shell|chromium|google-chrome-stable a browser: what reports are to one
test  pocl-opencl-icd OpenCL on the processor: the GPU device without a card
test  g++           the kernels of the GPU device, compiled for the host with every access checked
test  clang         the second compiler, and fuzzing
test  libclang-rt-dev sanitizers and the fuzzer of clang
test  clang-format  the layout of the source
test  patch         puts the mistakes into copies of the source that tests must notice
test  gcc-aarch64-linux-gnu compiles the portable code for another processor
test  libc6-dev-arm64-cross its headers
test  mmdebstrap    a minimal Debian, in which `make demo` and `make test-quick` are tried
test  libopenmpi-dev MPI: several machines (cmake -DORTHANT_MPI=ON)
test  openmpi-bin   starts ranks
test  git           clones the commit into it
test  python3-numpy the Python package
test  python3-setuptools makes its wheel
test  python3-wheel the same
END
}

if ! command -v dpkg-query >/dev/null; then
    echo "packages: this system has no dpkg; these packages are needed, by their Debian names:"
    list | sed 's/^[a-z]* */  /'
    exit 0
fi

case $goal in
build) goals=build ;;
quick) goals="build quick" ;;
test) goals="build quick test" ;;
*) echo "packages: unknown goal \"$goal\"; use build, quick or test" >&2; exit 2 ;;
esac

installed() { # NAME|NAME...
    for name in $(echo "$1" | tr '|' ' '); do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" != installed ] || return 0
    done
    return 1
}

missing=$(list | while read -r when packages reason; do
    case " $goals " in *" $when "*) ;; *) continue ;; esac
    installed "$packages" && continue
    echo "packages: ${packages%%|*} is missing: $reason" >&2
    echo "${packages%%|*}"
done)
[ -n "$missing" ] || exit 0

as_root=
[ "$(id -u)" -eq 0 ] || as_root=sudo
echo "packages: this installs them: ${as_root:+sudo }apt-get install" $missing >&2
refuse() {
    echo "packages: nothing was installed; $*" >&2
    exit 1
}
if [ -n "$as_root" ] && ! command -v sudo >/dev/null; then
    refuse "without sudo, ask someone to run the command above"
fi
if [ "${ORTHANT_INSTALL:-}" != yes ]; then
    if [ -t 0 ] && [ -t 2 ]; then
        printf 'packages: run it now? [y/N] ' >&2
        read -r answer || answer=
        case $answer in y | Y | yes) ;; *) refuse "run the command above, then make again" ;; esac
    elif [ -n "$as_root" ]; then
        refuse "run the command above, or set ORTHANT_INSTALL=yes to let this use sudo"
    fi
fi

install() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
}

# The lists of packages are fetched only if the present ones lack a package.
known() {
    for package in $missing; do
        apt-cache show --no-all-versions "$package" >/dev/null 2>&1 || return 1
    done
}
echo "packages: installing" $missing
if known && install; then
    exit 0
fi
echo "packages: fetching the lists of packages first"
$as_root apt-get update -q
install
