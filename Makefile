# Everything is installed into .venv; a fresh machine needs only python3 (3.10 or newer), pip and cargo.
# Build tool, test and lint tools are pinned with their hashes in requirements/.
# Stamp files record what is installed: .venv/core is the package with charts and studio, .venv/dev adds all other
# extras and the dependency groups `test` and `lint`, .venv/docs the group `docs`.

PYTHON ?= python3
BIN := .venv/bin
RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name 'Cargo.toml')
RUST_VERSION := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
COMMA := ,
LOCK := --universal --generate-hashes --python-version 3.10 --no-annotate --quiet --custom-compile-command 'make lock'
EXTRAS := $(shell sed -n 's/^all = \["merganser\[\(.*\)\]"\]/\1/p' pyproject.toml)

export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: audit bench browser clean demo docs docs-figures docs-notebooks format fuzz lint load lock package sanitize sbom \
	test test-long toolchain

demo: .venv/core
	@$(BIN)/merganser demo

test: .venv/dev browser
	cargo test --quiet
	$(BIN)/python -W error -m pytest -n auto --dist loadfile --no-loadscope-reorder

# Browser tests use Debian's Chromium. Only CI installs it; without it, they are skipped and say how to install it.
browser:
	@if [ -n "$$CI" ] && ! command -v chromium >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		export DEBIAN_FRONTEND=noninteractive; \
		{ apt-get update && timeout 900 apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1 \
			|| echo "Chromium could not be installed; the browser tests will be skipped"; \
	fi

# Property tests with many more examples; then all shared corpora, 32,000 tokens, compared with the peers.
# The core's tests without AVX2 come first: the source that other processors run.
test-long: .venv/dev
	RUSTFLAGS="--cfg portable" cargo test --quiet --target-dir target/portable
	$(BIN)/python -W error -m pytest --hypothesis-profile=thorough --timeout 7200
	$(BIN)/python -W error -m pytest tests/long

lint: .venv/dev
	$(BIN)/ruff format --check python tests benchmarks tools
	$(BIN)/ruff check python tests benchmarks tools
	$(BIN)/mypy
	cd python && ../$(BIN)/lint-imports --config ../pyproject.toml --no-logo --no-cache
	cd python && ../$(BIN)/stubtest merganser._core --mypy-config-file ../pyproject.toml
	$(BIN)/python tools/check_phrases.py
	$(BIN)/oxlint --deny-warnings python
	$(BIN)/zizmor --offline --quiet --no-progress .github
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings

# Licenses and sources of the crates, then known vulnerabilities as far as the network allows.
audit: .venv/dev
	$(BIN)/python tools/audit.py
	@if cargo deny --version >/dev/null 2>&1; then cargo deny check; \
	else echo "skipped: cargo deny check (cargo install cargo-deny)"; fi
	@if command -v pip-audit >/dev/null; then pip-audit --disable-pip --require-hashes -r requirements/dev.lock; \
	else echo "skipped: pip-audit (pipx install pip-audit)"; fi

# The SBOM of a release: maturin writes it into the wheel, and this copies it beside the wheel in dist/.
sbom: .venv/core
	$(BIN)/maturin build --release --quiet --out dist
	$(BIN)/python tools/extract_sbom.py dist

# The packages of a release in dist/: what they contain, and, if the tools are installed, whether the metadata renders
# and the core keeps to the stable ABI.
package: .venv/core
	rm -rf dist
	$(BIN)/maturin build --release --locked --sdist --quiet --out dist
	$(BIN)/python tools/check_packages.py dist
	@if command -v twine >/dev/null; then twine check --strict dist/*; \
	else echo "skipped: twine check (pipx install twine)"; fi
	@if command -v abi3audit >/dev/null; then abi3audit --strict --report dist/*.whl >/dev/null; \
	else echo "skipped: abi3audit (pipx install abi3audit)"; fi

# Pins the versions and hashes of the build tool, of all extras and of the tools for tests and lint.
lock: .venv/maturin
	@$(BIN)/pip install 'uv>=0.9'
	$(BIN)/uv pip compile requirements/build.in $(LOCK) -o requirements/build.lock
	$(BIN)/uv pip compile pyproject.toml --group test --group lint $(addprefix --extra ,$(subst $(COMMA), ,$(EXTRAS))) \
		$(LOCK) -o requirements/dev.lock
	$(BIN)/uv pip compile pyproject.toml --group docs -c requirements/dev.lock $(LOCK) -o requirements/docs.lock

# Mixed work from 16 threads, with forks: results must be right, and memory flat after the warm-up.
MINUTES ?= 60
load: .venv/dev
	$(BIN)/python tests/support/load.py --minutes $(MINUTES)

# libFuzzer on every target of crates/fuzz, or those in TARGETS, for MINUTES each. An input that fails is kept in
# crates/fuzz/corpus, so that `make test` tries it from then on.
TARGETS ?= split pattern encode ranks records counts_file merges_log stages charsmap
HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
COVERAGE := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions=on
fuzz: | toolchain
	RUSTFLAGS="$(COVERAGE)" cargo build --quiet --release -p merganser-fuzz --features libfuzzer \
		--target $(HOST) --target-dir target/fuzz
	@for target in $(TARGETS); do \
		echo "$$target: $(MINUTES) minutes"; \
		mkdir -p target/fuzz/corpus/$$target; \
		FUZZ_TARGET=$$target target/fuzz/$(HOST)/release/fuzz target/fuzz/corpus/$$target crates/fuzz/corpus/$$target \
			-max_total_time=$$(($(MINUTES) * 60)) -timeout=20 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 \
			-artifact_prefix=crates/fuzz/corpus/$$target/ > target/fuzz/$$target.log 2>&1 \
			|| { tail -n 40 target/fuzz/$$target.log; exit 1; }; \
		grep -E 'number_of_executed_units|peak_rss' target/fuzz/$$target.log; \
	done

# The core's tests and kept fuzz inputs under AddressSanitizer with leak checks, its threads under ThreadSanitizer
# where the standard library can be instrumented (otherwise every channel looks like a race), and the bindings under
# valgrind; then the `unsafe` blocks that no test reaches. RUSTC_BOOTSTRAP lets a stable compiler take -Z flags.
SANITIZE := RUSTC_BOOTSTRAP=1 RUSTDOCFLAGS= cargo test --quiet --lib --tests --target $(HOST)
STD_SOURCES = $(shell rustc --print sysroot)/lib/rustlib/src/rust/library
sanitize: .venv/dev
	RUSTFLAGS="-Zsanitizer=address" ASAN_OPTIONS=allocator_may_return_null=1 $(SANITIZE) --target-dir target/asan
	@if [ -d "$(STD_SOURCES)" ]; then \
		RUSTFLAGS="-Zsanitizer=thread --cfg plain_atomics" TSAN_OPTIONS="suppressions=$(CURDIR)/tools/tsan.supp" \
			$(SANITIZE) -Zbuild-std -p merganser-core --target-dir target/tsan -- team count:: encode:: threads embed; \
	else echo "skipped: ThreadSanitizer (rustup component add rust-src)"; fi
	PYTHONMALLOC=malloc valgrind --quiet --error-exitcode=1 --errors-for-leak-kinds=none --suppressions=tools/valgrind.supp \
		$(BIN)/python -X faulthandler tests/support/bindings.py
	$(BIN)/python tools/unsafe_reached.py

format: .venv/dev
	$(BIN)/ruff format python tests benchmarks tools
	$(BIN)/ruff check --fix python tests benchmarks tools
	cargo fmt --all

# Every picture of docs: from the records in benchmarks if it shows times, otherwise computed.
docs-figures: .venv/dev
	$(BIN)/python tools/draw_figures.py

# The documentation site, in site/. Needs no network; every warning is an error, and so is a page that loads something
# from another host or a reference that lacks a name. The variable turns off an announcement of the theme: it has a
# successor, Zensical, which cannot build this site yet (docs/log.md).
docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python tools/check_site.py

# Executes the notebooks of docs and stores their output.
docs-notebooks: .venv/dev
	$(BIN)/python tools/run_notebooks.py

# Runs in benchmarks/.venv, with the peers; see benchmarks/README.md.
bench:
	$(PYTHON) benchmarks/run.py

clean:
	rm -rf .venv site target python/merganser/_core*.so merganser-out merganser-demo

# Checked first, because an old or missing cargo would otherwise fail in the middle of the build with a compiler error.
toolchain:
	@if ! command -v cargo >/dev/null; then \
		echo "cargo was not found; merganser needs Rust $(RUST_VERSION) or newer: install it from https://rustup.rs" >&2; \
		exit 1; \
	fi; \
	found=$$(cargo --version | cut -d ' ' -f 2); \
	if [ "$$(printf '%s\n' $(RUST_VERSION) "$$found" | sort -V | head -n 1)" != "$(RUST_VERSION)" ]; then \
		echo "cargo $$found is too old; merganser needs Rust $(RUST_VERSION) or newer: run 'rustup update'" >&2; \
		exit 1; \
	fi

.venv/maturin: | toolchain
	@echo "Creating the virtual environment in .venv…"
	@$(PYTHON) -m venv .venv
	@echo "Installing maturin, the build tool…"
	@$(BIN)/pip install --require-hashes -r requirements/build.lock
	@touch $@

.venv/core: .venv/maturin pyproject.toml $(RUST) | toolchain
	@echo "Building the Rust core (about a minute) and installing dependencies…"
	@$(BIN)/maturin develop --release --quiet --extras plot,studio
	@touch $@

.venv/dev: .venv/core requirements/dev.lock
	@echo "Installing development tools (a few minutes)…"
	@$(BIN)/pip install --require-hashes -r requirements/dev.lock
	@touch $@

.venv/docs: .venv/core requirements/docs.lock
	@echo "Installing the tools for the documentation…"
	@$(BIN)/pip install --require-hashes -r requirements/docs.lock
	@touch $@
