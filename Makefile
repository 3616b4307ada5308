# SPDX-License-Identifier: Apache-2.0
# make            builds build/orthant and the library
# make demo       installs what that needs (and says what), builds, and holds a comparison on the text in data/
# make demo-translate  the same for translation: two attentions on sentences in data/tatoeba, and some translated
# make headline   builds, holds the comparison of README's table (a quarter of an hour), and puts its results into README
# make test       installs what it needs (and says what), and runs every test; the last line is the result
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

# What a failed configuration has found so far is forgotten: the next one, with more installed, begins anew.
$(BUILD)/Makefile: CMakeLists.txt
	@cmake -S . -B $(BUILD) -DORTHANT_TESTS=OFF $(CMAKE_FLAGS) || \
	    { rm -rf $(BUILD)/CMakeCache.txt $(BUILD)/CMakeFiles $(BUILD)/Makefile; \
	      echo "make: not configured; tools/packages.sh build installs what is needed" >&2; exit 1; }

demo:
	@tools/packages.sh build
	@$(MAKE) all
	@tools/demo.sh $(BUILD)/orthant

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
	@cmake --build $(BUILD) -j$(JOBS) >/dev/null
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
