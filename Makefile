# Everything happens in .venv; a fresh machine needs only python3, pip and cargo.
# `make` remembers what is built: .venv/core is the package with its charts, .venv/dev adds the tools of the tests.

PYTHON ?= python3
BIN := .venv/bin
RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name 'Cargo.toml')

export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-long lint format bench clean

demo: .venv/core
	@$(BIN)/merganser demo

test: .venv/dev
	cargo test --quiet
	$(BIN)/python -W error -m pytest

# The property tests with many more examples; then every shared corpus, 32,000 tokens, against the peers.
test-long: .venv/dev
	$(BIN)/python -W error -m pytest --hypothesis-profile=thorough
	$(BIN)/python -W error -m pytest tests/long

lint: .venv/dev
	$(BIN)/ruff format --check python tests benchmarks
	$(BIN)/ruff check python tests benchmarks
	$(BIN)/mypy
	cd python && ../$(BIN)/stubtest merganser._core --mypy-config-file ../pyproject.toml
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings

format: .venv/dev
	$(BIN)/ruff format python tests benchmarks
	$(BIN)/ruff check --fix python tests benchmarks
	cargo fmt --all

# In an environment of its own, with the peers: benchmarks/README.md.
bench:
	$(PYTHON) benchmarks/run.py

clean:
	rm -rf .venv target python/merganser/_core*.so merganser-out

.venv/maturin:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install 'maturin>=1.9,<2'
	@touch $@

.venv/core: .venv/maturin pyproject.toml $(RUST)
	$(BIN)/maturin develop --release --quiet --extras plot
	@touch $@

.venv/dev: .venv/core
	$(BIN)/maturin develop --release --quiet --extras dev
	@touch $@
