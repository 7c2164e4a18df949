# Everything happens in .venv; a fresh machine needs only python3, pip and cargo.
# `make` remembers what is built: .venv/core is the package with its charts and studio, .venv/dev adds the tools of the tests.

PYTHON ?= python3
BIN := .venv/bin
RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name 'Cargo.toml')

export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: browser demo test test-long lint format bench clean

demo: .venv/core
	@$(BIN)/merganser demo

test: .venv/dev browser
	cargo test --quiet
	$(BIN)/python -W error -m pytest -n auto --dist loadfile --no-loadscope-reorder

# The page of a report is opened in Debian's Chromium. Only CI installs it; where there is none, its tests are
# skipped and say how to get it.
browser:
	@if [ -n "$$CI" ] && ! command -v chromium >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		export DEBIAN_FRONTEND=noninteractive; \
		{ apt-get update && timeout 900 apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1 \
			|| echo "Chromium could not be installed: the tests in a browser are skipped"; \
	fi

# The property tests with many more examples; then every shared corpus, 32,000 tokens, against the peers.
test-long: .venv/dev
	$(BIN)/python -W error -m pytest --hypothesis-profile=thorough --timeout 7200
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
	rm -rf .venv target python/merganser/_core*.so merganser-out merganser-demo

.venv/maturin:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install 'maturin>=1.9,<2'
	@touch $@

.venv/core: .venv/maturin pyproject.toml $(RUST)
	$(BIN)/maturin develop --release --quiet --extras plot,studio
	@touch $@

.venv/dev: .venv/core
	$(BIN)/maturin develop --release --quiet --extras dev
	@touch $@
