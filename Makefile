# SPDX-License-Identifier: Apache-2.0
# make            builds build/orthant and the library
# make demo       installs what that needs (and says what), builds, and holds a contest on the text in data/
# make test       installs what that needs, and runs every test; the last line is the result
# make install    PREFIX=/usr/local, DESTDIR=
BUILD  ?= build
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
MAKEFLAGS += --no-print-directory

all: $(BUILD)/Makefile
	@cmake --build $(BUILD) -j$(JOBS)

$(BUILD)/Makefile: CMakeLists.txt
	@cmake -S . -B $(BUILD) -DORTHANT_TESTS=OFF $(CMAKE_FLAGS)

demo:
	@tools/packages.sh build
	@$(MAKE) all
	@tools/demo.sh $(BUILD)/orthant

test:
	@tools/packages.sh test
	@tools/test.sh

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

format:
	@find . -path './build*' -prune -o -name '*.[ch]' -print0 | xargs -0 clang-format -i

clean:
	@rm -rf build build-*

.PHONY: all demo test install format clean
