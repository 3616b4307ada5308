# SPDX-License-Identifier: Apache-2.0
# make            builds build/orthant and the library
# make demo       installs what that needs (it prints what, and asks on a terminal), builds, and runs two comparisons: on recall, on the text in data/
# make demo-translate  the same for translation: two attentions on sentences in data/tatoeba, and some translations
# make headline   builds, runs the comparison of the README (data/headline.yaml), and writes its table into the README
# make test       installs what it needs (as above), and runs every test; the last line is the result
# make test-quick the release build alone, short forms of the slow tests, and no test that only calculates
# make check      T=NAME: the tests whose names contain NAME; L=LABEL: unit, script, browser or slow; T=NAME F=PATTERN: the
#                 functions of one unit test
# make install    PREFIX=/usr/local, DESTDIR=
BUILD  ?= build
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
MAKEFLAGS += --no-print-directory

all: $(BUILD)/Makefile
	@cmake --build $(BUILD) -j$(JOBS)

# The cache of a failed configuration is removed: the next one, with more installed, starts from scratch.
$(BUILD)/Makefile: CMakeLists.txt
	@cmake -S . -B $(BUILD) $(CMAKE_FLAGS) || \
	    { rm -rf $(BUILD)/CMakeCache.txt $(BUILD)/CMakeFiles $(BUILD)/Makefile; \
	      echo "make: configuration failed; \"tools/packages.sh build\" lists and installs what is missing" >&2; exit 1; }

demo:
	@tools/packages.sh build
	@$(MAKE) all
	@tools/demo.sh $(BUILD)/orthant build/demo

demo-translate:
	@tools/packages.sh build
	@$(MAKE) all
	@tools/demo-translate.sh $(BUILD)/orthant build/demo-translate

headline: all
	@tools/headline.sh $(BUILD)/orthant .

test:
	@tools/packages.sh test
	@tools/test.sh

test-quick:
	@tools/packages.sh quick
	@tools/test.sh layers quick

check:
	@cmake -S . -B $(BUILD) -DORTHANT_TESTS=ON $(CMAKE_FLAGS) >/dev/null
	@cmake --build $(BUILD) -j$(JOBS) --target $(if $(wildcard tests/$(T).c),$(T),all) >/dev/null
ifdef F
	@cd $(BUILD)/folders/$(T) && ORTHANT_FUNCTION='$(F)' ../../tests/$(T)
else
	@ctest --test-dir $(BUILD) -j$(JOBS) --output-on-failure --no-tests=error $(if $(T),-R '$(T)') $(if $(L),-L '$(L)')
endif

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

format:
	@find . -path './build*' -prune -o -name '*.[ch]' -print0 | xargs -0 clang-format -i

clean:
	@rm -rf build build-*

.PHONY: all demo demo-translate headline test test-quick check install format clean
