# Everything a developer runs. `make help` lists it.

CARGO ?= cargo
FAIRWIRE = target/release/fairwire
# The command for the demo, without sweeps, which takes less time to build.
QUICK = $(CARGO) build --profile quick --locked -p fairwire-cli --no-default-features
# Sockets on a simulated network are for tests of applications, and for ours.
FEATURES = --features fairwire/emulated
# Properties draw the same cases in every `make test`; `cargo test` draws new ones each time.
export PROPTEST_RNG_SEED ?= 4340
# With FAIRWIRE_NO_SKIP=1 in the environment a missing tool is an error instead of a skipped test.

.PHONY: help build setup test test-all lint py package own-app own-ccid realtime link-errors race bench fuzz torture torture-plants memcheck soak worlds demo digests fmt deny conformance-mutants interop interop-dtls hostile

help: ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build target/release/fairwire
	$(CARGO) build --release --locked

py: ## Build the wheel of the Python package into target/wheels (four to nine minutes)
	@scripts/setup python
	target/python/bin/maturin build --release --locked --out target/wheels

setup: ## Install what the tests need (tshark, Chromium, valgrind, target/python), where we may
	@scripts/setup

test: ## All checks and tests
	$(CARGO) fmt --all --check
	@# What the tests need is installed while they are built.
	@scripts/setup & setup=$$!; scripts/test --no-run; built=$$?; wait $$setup && exit $$built
	scripts/test

test-all: test py ## Also every notebook and the tests on clusters, with the wheel in a fresh environment (ten minutes more)
	scripts/test-wheel

lint: ## Formatting and clippy alone, warnings as errors (`make test` has both)
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets $(FEATURES) --locked -- -D warnings

package: ## Pack each published crate and build it from its package, and check other platforms (six minutes; not part of `make test`)
	scripts/package

deny: ## Licences, registries and known vulnerabilities of the dependencies (needs cargo-deny; not part of `make test`)
	scripts/deny

own-app: ## An application from outside, tested on an emulated network (builds its dependencies once; not part of `make test`)
	cd examples/own-app && CARGO_TARGET_DIR=../../target/own-app $(CARGO) test --locked

own-ccid: ## A congestion control from outside, tested on an emulated network and in a scenario (not part of `make test`)
	cd examples/own-ccid && CARGO_TARGET_DIR=../../target/own-ccid $(CARGO) test --locked

realtime: ## Thin flows, live video, outages and connecting, beside quinn over emulated links; ARGS="--help" (three minutes to build, ten for all)
	cd examples/realtime && CARGO_TARGET_DIR=../../target/realtime $(CARGO) run --release --locked --quiet -- $(ARGS)

link-errors: build ## How far `fairwire link` is from what it says, seen by plain UDP programs (a minute)
	scripts/link-errors

race: ## Fairwire beside kernel UDP, QUIC, ENet and other simulators on the same work; ARGS="bulk --runs 3" (ten minutes to build, 35 for the whole table; Linux)
	race/setup
	cd race && CARGO_TARGET_DIR=../target/race $(CARGO) run --release --locked --quiet -- $(ARGS)

bench: ## Every benchmark, with its figures
	$(CARGO) bench --workspace --locked

fuzz: ## Search for inputs that break a promise, for MINUTES=10 in all; JOBS=2 targets side by side (fuzz/README.md)
	@MINUTES="$(MINUTES)" JOBS="$(JOBS)" scripts/fuzz

torture: ## Random endpoints, applications and faults in the simulator: 10,000 seeds, each step held to invariants
	$(CARGO) build --release --locked -p fairwire-torture
	target/release/fairwire-torture --seeds 10000

torture-plants: ## Put 34 known bugs back, one at a time: does the torture test find each within 500 seeds? (four minutes)
	scripts/torture-plants

worlds: ## All that loss, copies and timers can do to two endpoints and four packets, with larger budgets (four minutes on two cores; not part of `make test`; FAIRWIRE_WORLD=<name> for one)
	$(CARGO) test --locked -p fairwire-proto --lib worlds::deep -- --ignored --nocapture

interop: ## Talk to the last Linux kernel with DCCP, booted under qemu (six minutes; not part of `make test`)
	interop/linux/run

interop-dtls: ## Encrypted, with a peer on BoringSSL, in both directions (five minutes to build; not part of `make test`)
	interop/dtls/run

hostile: build ## Attack a server on loopback while it serves an honest client, in clear text and with DTLS (15 minutes; not part of `make test`)
	interop/hostile/run --selftest
	interop/hostile/run --both $(FAIRWIRE)

memcheck: ## The tests of the sockets under valgrind: no invalid access, nothing lost (two minutes; not part of `make test`)
	scripts/memcheck

soak: ## Thousands of connections come and go for MINUTES (5), then nothing is left (not part of `make test`)
	$(CARGO) run --release --locked -p fairwire --example soak -- $(or $(MINUTES),5)

demo: ## The main job: a paper reproduced, then real data through DCCP on loopback, in less than a screen
	@$(QUICK)
	@scripts/demo target/quick/fairwire target/demo

digests: build ## Run the papers and write down their new digests (then say in docs/results-that-move.md which moved and why)
	$(FAIRWIRE) paper all --update-digests
	for file in $(filter-out %/digests.toml,$(wildcard scenarios/*.toml)); do $(FAIRWIRE) run $$file --update-digests; done

conformance-mutants: ## Break 30 cited branches, one at a time: do the tests of their rows notice? (20 minutes)
	scripts/conformance-mutants

fmt: ## Format the code
	$(CARGO) fmt --all
