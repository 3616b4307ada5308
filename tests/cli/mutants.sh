# SPDX-License-Identifier: Apache-2.0
# tools/mutants.sh on a project of three lines: it tells mistakes that are noticed from those that survive and from patches that no longer apply.
. "$2/tests/cli/common"
[ -z "$quick" ] || { echo "nothing here depends on how the program was built"; exit 77; }
command -v patch >/dev/null || { echo "patch is not installed"; exit 77; }
mkdir -p tools src/cli src/base tests/faults tests/bugs tests/cli include
cp "$source/tools/mutants.sh" "$source/tools/mutator.c" tools/
unset BUILD
printf '#define STEP 1\n' >src/base/step.h
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

mistake() { # NAME FILE OLD NEW [LINE]: a patch of tests/faults
    sed "s/$3/$4/" "$2" >altered
    printf 'It is a mistake.\n\ntests: test_add\n%s\n' "${5-}" >"tests/faults/$1.patch"
    diff -u --label "a/$2" --label "b/$2" "$2" altered >>"tests/faults/$1.patch" || :
}
# tried CODE WORD...: runs the tool, whose output is in the file out.
tried() {
    code=$1
    shift
    status=0
    sh tools/mutants.sh "$@" >out 2>&1 || status=$?
    [ $status -eq "$code" ] || fail "mutants.sh $* ended with $status instead of $code: $(cat out)"
}

mistake minus src/base/add.c 'return a + b' 'return a - b'
mistake step src/base/step.h 'STEP 1' 'STEP 2'
tried 0 tests/faults/minus.patch tests/faults/step.patch
says out '^minus  *noticed by test_add$'
says out '^step  *noticed by test_add$'
says out '2 noticed, 0 survived'
grep -q 'return a + b' src/base/add.c || fail "the checkout was altered"

mistake turned src/base/add.c 'return a + b' 'return b + a' 'same: Sums commute.'
tried 0 check
says out '^minus  *applies$'
tried 0 patches
says out '^turned  *survived: Sums commute.$'
says out '2 noticed, 0 survived, 1 make no difference, 0 skipped, 0 stale'
mistake harmless src/base/add.c 'return a + b' 'return b + a + 0'
tried 1 patches
says out '^harmless  *survived: It is a mistake.$'
rm tests/faults/harmless.patch

# What no longer applies or does not compile is stale.
mistake broken src/base/add.c 'return a + b' 'return ('
tried 1 check
says out '^broken  *stale: does not compile'
says out '^minus  *applies$'
sed -i 's/^-int add.*/-int other(void);/' tests/faults/broken.patch
tried 1 check
says out '^broken  *stale: does not apply'
rm tests/faults/broken.patch

# A test that fails anyway notices nothing.
sed -i 's/test_add/test_add test_wrong/' tests/CMakeLists.txt
sed -i 's/^tests: .*/tests: test_wrong/' tests/faults/minus.patch
rm -rf build
tried 1 tests/faults/minus.patch
says out 'test_wrong fails without any mistake'
sed -i 's/ test_wrong//' tests/CMakeLists.txt
rm -rf build tests/test_wrong.c

# Mistakes made by operators: a fixed list, which a seed draws from.
cc -std=c11 -D_POSIX_C_SOURCE=200809L -o mutator tools/mutator.c
./mutator list 100 seed src/base/add.c | sed 's/^[^ ]* [0-9]* //' | sort >made
cat >wanted <<'END'
4:  +  ->  - 
5:  +  ->  - 
END
same made wanted
cat >every.c <<'END'
/* a < b and "a == b" are not code. */
#if A < 1
#endif
static int every(struct s *p, int n)
{
    if (p->left <= p->right && !p->done)
        call(p, n);
    total += n * 2;
    const char *text = "a == b";
    return oa_min(n, 7) > 0 ? true : n / 3;
}
END
./mutator list 100 seed every.c | sed 's/^[^ ]* [0-9]* //' | sort >made
cat >wanted <<'END'
10:  /  ->  * 
10:  >  ->  >= 
10: 0 -> 1
10: 3 -> 4
10: 7 -> 8
10: n, 7 -> 7, n
10: oa_min -> oa_max
10: true -> false
6:  &&  ->  || 
6:  <=  ->  < 
6: ! -> 
6: p->left <= p->right && !p->done -> !(p->left <= p->right && !p->done)
7: call(p, n); -> ;
7: p, n -> n, p
8:  *  ->  / 
8:  +=  ->  -= 
8: 2 -> 3
8: total += n * 2; -> ;
END
sort wanted >sorted
same made sorted
./mutator list 100 seed every.c:7-7 | grep -c . | grep -qx 2 || fail "a line is not told from the others"
index=$(./mutator list 100 seed every.c | sed -n 's/^every.c \([0-9]*\) 8: 2 -> 3$/\1/p')
./mutator apply every.c "$index" | diff every.c - | grep -qx '>     total += n \* 3;' || fail "another mutant is applied"
rm -f tests/faults/*.patch
tried 0 random 10 seed
says out '3 mistakes: 3 noticed'
