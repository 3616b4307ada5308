# SPDX-License-Identifier: Apache-2.0
# The commands of the documents work, and print what the documents show. A block ```console has commands after "$ ",
# continued after "\", each followed by lines of its output; "…" is any number of lines. They are run in the order of
# the document, in a folder of its own with data/ and experiments/. Numbers, verdicts and the order of the lines of one
# output are not compared. "```console not run: REASON" is not run. Training is cut to 10 steps.
. "$2/tests/cli/common"

mkdir bin
cat >bin/orthant <<END
#!/bin/sh
steps=
for word; do
    shift
    [ -z "\$steps" ] || word=10
    case \$word in --train.steps | --distil.attention_steps) steps=1 ;; *) steps= ;; esac
    set -- "\$@" "\$word"
done
case " \$* " in
*" --task "[!lms]* | *" --config "* | *.tsv*) ;;
" train "* | " compare "*) set -- "\$@" --train.final_tokens 1000 ;;
esac
exec "$orthant" "\$@"
END
chmod +x bin/orthant
PATH=$work/bin:$PATH
export PATH

# Lines as they are compared: no numbers, no verdicts, one blank between words.
shape() {
    sed -e 's/ *\[[^]]*…[^]]*\]//g' -e 's/ ±[0-9.]*//g' -e 's/\(−\|+\|-\)\{0,1\}[0-9][0-9.,]*\([kMGT]\|e-[0-9]*\)\{0,1\}/N/g' \
        -e 's/ \(lowest loss\|best\|n\.s\.\|no significant difference\|practically worse\|practically better\|worse\|better\)\( \|$\)/ /g' \
        -e 's/ \(equivalent\|undecided\|uniform baseline\|n\.s\.\|no significant difference\|worse\|better\)\( \|$\)/ /g' \
        -e 's/ \(–\|N\)\( \|$\)/ N /g' -e 's/\(─\)\{1,\}/─/g' -e 's/  */ /g' -e 's/^ //' -e 's/ $//'
}

# cases DOCUMENT: NNN.command and NNN.expected, one pair per command.
cases() {
    awk '
        /^```console/ { inside = !/not run:/; next }
        inside && /^```/ { inside = 0 }
        inside && /^\$ / { file = sprintf("%03d", ++n); $0 = substr($0, 3); more = 1; printf "" >(file ".expected") }
        inside && more { print >(file ".command"); more = /\\$/; next }
        inside { print >(file ".expected") }' "$1"
}

count=0
for name in $(cd "$source" && echo README.md docs/*.md); do
    grep -q '^```console' "$source/$name" || continue
    folder=$work/$(echo "$name" | tr / -)
    mkdir "$folder"
    cd "$folder"
    ln -s "$source/data" "$source/experiments" .
    cases "$source/$name"
    for command in [0-9]*.command; do
        [ -e "$command" ] || continue
        case=${command%.command}
        timeout -k 20 $patience sh -e "$command" >out 2>err </dev/null ||
            fail "$name: this command failed: $(cat "$command")"
        shape <out | sort -u >printed
        sed '/^…$/d' "$case.expected" | shape | grep . | sort -u >expected || true
        comm -23 expected printed >missing
        [ ! -s missing ] || fail "$name: $(cat "$command")
does not print:
$(cat missing)"
        count=$((count + 1))
    done
done
[ $count -ge 10 ] || fail "only $count commands were found in documents"

# The program in the README compiles and runs.
cd "$work"
sed -n '/^```c$/,/^```$/p' "$source/README.md" | sed '/^```/d' >layer.c
library=$(dirname "$orthant")
if [ -e "$library/liborthant.so" ] && [ -z "$quick" ] && command -v cc >/dev/null; then
    cc -Wall -Werror -I "$source/include" layer.c -L "$library" -lorthant -Wl,-rpath,"$library" -o layer
    ./layer || fail "the program in README.md failed"
fi

# Commands of the README are run, or marked with the reason why not.
awk '/^```/ { open = !open; marked = open && (/console/ || /not run:/); next } open && !marked && /^(\$ )?(orthant|make|sudo|build\/orthant) / { print FILENAME ": " $0 }' \
    "$source/README.md" >unmarked
[ ! -s unmarked ] || fail "commands that are neither run nor marked \"not run\": $(cat unmarked)"
