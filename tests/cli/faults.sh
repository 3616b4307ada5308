# SPDX-License-Identifier: Apache-2.0
# tools/faults.sh on a project of three lines: what it calls killed, survived and stale is so, and a bad list fails.
. "$2/tests/cli/common"
[ -z "$quick" ] || { echo "nothing here depends on how the program was built"; exit 77; }
mkdir -p tools src/cli src/base tests/faults tests/cli include
cp "$source/tools/faults.sh" tools/
unset BUILD
echo '#define STEP 1' >src/base/step.h
cat >src/base/add.c <<'END'
#include "base/step.h"
int add(int a, int b);
int next(int a);
int add(int a, int b) { return a + b; }
int next(int a) { return a + STEP; }
END
cat >src/cli/main.c <<'END'
int main(void) { return 0; }
END
cat >tests/test_add.c <<'END'
int add(int a, int b);
int next(int a);
int main(void) { return add(0, 3) == 3 && next(4) == 5 ? 0 : 1; }
END
cat >tests/test_wrong.c <<'END'
int main(void) { return 1; }
END
cat >tests/CMakeLists.txt <<'END'
foreach(name test_add)
  add_executable(${name} ${name}.c)
  target_link_libraries(${name} orthant)
endforeach()
END
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.18)
project(add C)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_library(orthant STATIC src/base/add.c)
target_include_directories(orthant PRIVATE src)
add_executable(orthant-cli src/cli/main.c)
set_target_properties(orthant-cli PROPERTIES OUTPUT_NAME orthant RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
add_subdirectory(tests)
END

fault() { # NAME FILE OLD NEW [LINE]
    printf 'fault  %s\nfile   %s\nold    %s\nnew    %s\ntests  test_add\nwhy    It is a fault.\n%s\n' "$@" ${5+''} \
        >>tests/faults/list.txt
}
# tried CODE WORD...: runs the tool; what it says is in the file out.
tried() {
    code=$1
    shift
    status=0
    sh tools/faults.sh "$@" >out 2>&1 || status=$?
    [ $status -eq "$code" ] || fail "faults.sh $* ended with $status instead of $code"
}

fault minus src/base/add.c 'return a + b' 'return a - b' ''
fault step src/base/step.h 'STEP 1' 'STEP 2' ''
tried 0 minus step
says out '^minus  *killed test_add$'
says out '^step  *killed test_add$'
says out '2 killed, 0 survived'
grep -q 'return a + b' src/base/add.c || fail "the checkout was altered"

fault turned src/base/add.c 'return a + b' 'return b + a' 'same   Sums commute.'
tried 0 --check
says out '^minus  *can be put in$'
tried 0 --all
says out '^turned  *survived: Sums commute.$'
says out '2 killed, 0 survived, 1 make no difference, 0 stale'
fault harmless src/base/add.c 'return a + b' 'return b + a + 0' ''
tried 1 --all
says out '^harmless  *survived: It is a fault.$'
tried 1 --sample 4 seed
tried 1 --hinted

cp tests/faults/list.txt good
for bad in "twice:return a:return" "nowhere:return c:return" "broken:return a + b:return (" ; do
    cp good tests/faults/list.txt
    name=${bad%%:*} rest=${bad#*:}
    fault "$name" src/base/add.c "${rest%:*}" "${rest##*:}" ''
    tried 1 --check
    says out "^$name  *stale"
    says out '^minus  *can be put in$'
done
cp good tests/faults/list.txt
fault minus src/base/add.c 'return a + b' 'return a - b' ''
tried 1 --check
says out 'two faults'

# A test that fails anyway kills nothing.
cp good tests/faults/list.txt
sed -i 's/test_add/test_add test_wrong/' tests/CMakeLists.txt
sed -i 's/^tests  test_add/tests  test_wrong/' tests/faults/list.txt
rm -rf build
tried 1 minus
says out 'test_wrong fails without any fault'
