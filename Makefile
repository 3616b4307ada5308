# SPDX-License-Identifier: Apache-2.0
# `make` builds build/orthant; `make test` and `make demo` install what they need first (tools/packages.sh says what).
BUILD ?= build
JOBS  ?= $(shell nproc)

all: $(BUILD)/Makefile
	@cmake --build $(BUILD) -j$(JOBS)

$(BUILD)/Makefile: CMakeLists.txt
	@cmake -S . -B $(BUILD) $(CMAKE_FLAGS)

.PHONY: all
