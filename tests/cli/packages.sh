# SPDX-License-Identifier: Apache-2.0
# tools/packages.sh prints what it would install and how, does not use sudo unasked, and does not wait for an answer that
# nobody can give. The programs of the system are replaced by ones that only record their names.
. "$2/tests/cli/common"
mkdir stub
for name in sudo apt-get apt-cache dpkg-query id; do
    cat >stub/$name <<END
#!/bin/sh
case $name in
id) echo \${OWN_ID:-1000}; exit ;;
sudo | apt-get) echo "$name \$*" >>"$work/called" ;;
esac
END
    chmod +x stub/$name
done
run() { # CODE GOAL
    : >called
    status=0
    PATH=$work/stub:$PATH "$source/tools/packages.sh" "$2" >out 2>err </dev/null || status=$?
    [ $status -eq "$1" ] || fail "packages.sh $2 ended with $status instead of $1"
}

run 1 build
[ ! -s called ] || fail "packages.sh ran unasked: $(cat called)"
says err '^packages: cmake is missing: '
says err '^packages: this installs them: sudo apt-get install .*libjansson-dev'
says err '^packages: nothing was installed; '

ORTHANT_INSTALL=yes
export ORTHANT_INSTALL
run 0 build
says called '^sudo env DEBIAN_FRONTEND=noninteractive apt-get install .* cmake'
unset ORTHANT_INSTALL

OWN_ID=0
export OWN_ID
run 0 quick
says out '^packages: installing .*libcmocka-dev'
says called '^apt-get install '
! grep -q sudo called err || fail "root needs no sudo"
run 2 everything
says err 'unknown goal "everything"'

# The line by hand in the README has all that building needs.
run 0 build
for package in $(sed -n 's/^packages: \([^ ]*\) is missing: .*/\1/p' err); do
    grep -q "^sudo apt-get install.* $package\( \|$\)" "$source/README.md" || fail "README.md does not install $package"
done
