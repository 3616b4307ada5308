# SPDX-License-Identifier: Apache-2.0
# The installed package: what is where, what the shared library shows, and the examples compiled against it with
# pkg-config and with CMake.
. "$2/tests/cli/common"
build=$(dirname "$orthant")
[ -f "$build/liborthant.so" ] || { echo "this build has no shared library"; exit 77; }
compiler=${CC:-cc}
cmake --install "$build" --prefix "$work/p" >out 2>err || fail "installing"
library=$(dirname "$(find p -name liborthant.so)")

# A private prefix: what is said of the loader is true, and not said of files that are elsewhere for now.
cat out err >installed
grep -q "^  export PKG_CONFIG_PATH=$work/$library/pkgconfig\$" installed || fail "installing says nothing of pkg-config"
grep -q "^  export LD_LIBRARY_PATH=$work/$library\$" installed || fail "installing says nothing of the loader"
DESTDIR="$work/staged" cmake --install "$build" --prefix /opt/orthant >out 2>&1 || fail "installing with DESTDIR"
! grep -q LD_LIBRARY_PATH out || fail "a staged installation says where its library is"
rm -r staged
for file in bin/orthant include/orthant/orthant.h share/man/man1/orthant.1 share/man/man1/orthant-train.1 \
    share/bash-completion/completions/orthant share/zsh/site-functions/_orthant \
    share/fish/vendor_completions.d/orthant.fish; do
    [ -s "p/$file" ] || fail "$file is not installed"
done
[ -s "$library/liborthant.a" ] || fail "the static library is not installed"
[ "$(p/bin/orthant --version)" = "$("$orthant" --version)" ] || fail "the installed program"

# Only what orthant.h declares can be seen, and what commands.h and callable.h export for Python, and all of it.
nm -D --defined-only "$library/liborthant.so" | awk '$2 ~ /[TDRB]/ { print $3 }' | sort >shown
sed -n 's/^OA_API .*[ *]\(oa_[a-z_]*\)(.*/\1/p' p/include/orthant/orthant.h "$2/src/api/commands.h" "$2/src/verify/callable.h" | sort >declared
[ -s declared ] || fail "the header declares nothing"
diff shown declared || fail "the symbols of the shared library are not those of the header"
readelf -d "$library/liborthant.so" | grep -q 'SONAME.*liborthant.so.[0-9]*\]' || fail "no SONAME"

# The sample text is found without the checkout, and when it is gone the sentence says what to give.
small="--data.train data/tinyshakespeare.txt --model.layers 1 --model.width 16 --train.steps 1 --train.warmup 0 --train.eval_tokens 500 --quiet"
moved=$(pwd)/moved
mv p "$moved"
"$moved/bin/orthant" train $small --out sample >out 2>err || fail "training on the installed sample text"
says out '^steps  *1,'
mv "$moved" p
rm p/share/orthant/tinyshakespeare.txt
status=0
p/bin/orthant train $small --out none >out 2>err || status=$?
if [ $status -ne 0 ]; then # where this very prefix was installed for good there is another one
    [ $status -eq 1 ] || fail "ended with $status"
    says err 'tinyshakespeare.txt.*data.train'
fi

text 30000
tried() { # FOLDER
    "$1/attention_layer" "random + softmax" >out 2>err || fail "$1/attention_layer"
    rm -rf folder
    "$1/train_model" text.txt folder >out 2>err || fail "$1/train_model"
    says out 'bits a character'
    "$1/score_text" folder 'the cat' 'tac eht' >out 2>err || fail "$1/score_text"
    says out 'nats a token: tac eht'
}
export PKG_CONFIG_PATH="$work/$library/pkgconfig"
# Flags for programs are the folder of the header alone, whatever the library itself is made of.
for word in $(pkg-config --cflags orthant); do
    case $word in
    -I*) [ "$(cd "${word#-I}" && pwd -P)" = "$(cd p/include && pwd -P)" ] || fail "pkg-config --cflags has $word" ;;
    *) fail "pkg-config --cflags has $word" ;;
    esac
done
for word in $(pkg-config --libs orthant); do
    case $word in -L* | -lorthant) ;; *) fail "pkg-config --libs has $word" ;; esac
done

mkdir shared static
# By the lines that were printed, word for word.
(unset PKG_CONFIG_PATH LD_LIBRARY_PATH
    cp "$source/examples/attention_layer.c" program.c
    sed -n '/^  export PKG/,/-rpath/p' installed | sed "s/^  cc /$compiler /" >lines
    . ./lines
    ./a.out softmax >out 2>err
    "$compiler" program.c $(pkg-config --cflags --libs orthant) -o without
    eval "$(sed -n '/^  export LD_/p' installed)"
    ./without softmax >out 2>err) || fail "the lines that installing prints"
for name in attention_layer train_model score_text; do
    "$compiler" -std=c11 -Wall -Wextra -Werror "$source/examples/$name.c" $(pkg-config --cflags --libs orthant) \
        "-Wl,-rpath,$work/$library" -o shared/$name || fail "compiling $name with pkg-config"
    "$compiler" "$source/examples/$name.c" $(pkg-config --cflags orthant) "$library/liborthant.a" \
        $(pkg-config --static --libs orthant | sed 's/-lorthant//') -o static/$name || fail "linking $name statically"
done
tried shared
tried static

mkdir project
cat >project/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.18)
project(user C)
find_package(orthant 0.1 REQUIRED)
add_executable(attention_layer $source/examples/attention_layer.c)
target_link_libraries(attention_layer PRIVATE orthant::orthant)
add_executable(train_model $source/examples/train_model.c)
target_link_libraries(train_model PRIVATE orthant::static)
add_executable(score_text $source/examples/score_text.c)
target_link_libraries(score_text PRIVATE orthant::orthant)
END
cmake -S project -B made -DCMAKE_PREFIX_PATH="$work/p" >out 2>err || fail "finding the package"
cmake --build made >out 2>err || fail "building with the package"
tried made
