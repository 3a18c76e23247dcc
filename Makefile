# Two doors: `make demo` shows Lathe at work, `make test` builds everything and runs every test.
# Both set the machine up first. HACKING.md says what lies behind them.

JOBS ?= $(shell nproc)
WERROR ?= OFF

build := build/release
lathe := $(build)/lathe
configure := cmake --log-level=WARNING -DLATHE_WERROR=$(WERROR) --preset

.PHONY: demo test setup asan bench tidy format

demo: setup
	@$(configure) release > /dev/null
	@cmake --build $(build) --target lathe
	$(lathe) compile tiny -o build/tiny.lathe
	$(lathe) run build/tiny.lathe --prompt "It was a fine morning in May, and Emma" \
	    -n 120 --temperature 0.7 --top-p 0.9 --seed 1

test: setup
	@scripts/get-smollm2
	@scripts/get-ort || echo "make test: without ONNX Runtime, the tests that need it are skipped" >&2
	@scripts/get-tokenizers || echo "make test: without npm's tokenizers, the tests that need them are skipped" >&2
	@scripts/get-onnx-checker || echo "make test: without Python's onnx, the tests that need it are skipped" >&2
	@$(configure) release
	@cmake --build $(build)
	@ctest --preset release --parallel $(JOBS)

setup:
	@scripts/setup

# The whole suite under the address and undefined-behaviour sanitizers.
asan: setup
	@scripts/get-smollm2
	@$(configure) asan
	@cmake --build build/asan
	@ctest --preset asan --parallel $(JOBS)

# Speed beside other programs, measured in the same run.
bench: setup
	@scripts/get-smollm2
	@$(configure) release > /dev/null
	@cmake --build $(build)
	@bench/peers --quick

sources = $(shell git ls-files '*.cc' '*.h')

# Both need clang 19: apt-get install clang-tidy-19 clang-format-19
tidy:
	@$(configure) release > /dev/null
	@printf '%s\n' $(filter src/%.cc,$(sources)) | \
	    xargs -P $(JOBS) -n 1 clang-tidy-19 --quiet -p $(build)

format:
	@clang-format-19 -i $(sources)
