# Each target sets up the environment that it needs.
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -q -c constraints.txt

.PHONY: demo test test-slow test-fuzz test-bounds lint benchmark benchmark-simulator benchmark-studies benchmark-interop benchmark-small-computers benchmark-continuous benchmark-control benchmark-atari clean docs docs-serve pages notebooks stranger ship-policy

demo: $(VENV)/.core  ## a policy that jitters, the same made smooth, and one that learned it: tables, pictures, a film
	rm -rf runs/demo && mkdir -p runs/demo
	$(BIN)/policy-inertia smooth two-way-dqn policy_inertia/TwoWay-v0 --env-kwargs config.scenario=simple \
		--budget 0.3 --hysteresis-only --quiet --out runs/demo/smooth
	$(BIN)/policy-inertia evaluate two-way --budget 0.2 --episodes 200
	$(BIN)/policy-inertia dial two-way --out runs/demo/dial.png >runs/demo/dial.txt && tail -n 1 runs/demo/dial.txt
	$(BIN)/policy-inertia record two-way --budget 0.2 --beside two-way-dqn --greedy --episodes 2 \
		--out runs/demo/before-and-after.gif

test: $(VENV)/.test lint  ## lint, types and the quick tests (those of the report need Chromium)
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-slow: $(VENV)/.test  ## hours of training: do the methods learn their tasks?
	$(BIN)/python -m pytest -s -m slow

test-fuzz: $(VENV)/.test  ## an hour of damaged files: each is read, or refused in one sentence
	$(BIN)/python -m pytest -n 2 -m slow tests/test_fuzz.py tests/test_fuzz_foreign.py tests/envs/test_fuzz_configs.py

test-bounds: $(VENV)/.test  ## the Highway simulator with every index checked (it has its own cache)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=.pytest_cache/numba-bounds \
		$(BIN)/python -m pytest tests/envs/highway/test_env.py tests/envs/highway/tasks \
		tests/envs/highway/simulator

lint: $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.test  ## the documentation site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

docs-serve: $(VENV)/.test  ## the same while you write, at http://127.0.0.1:8000
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

pages: $(VENV)/.test  ## everything in docs/ that is made from records; tables to paste are in runs/pages
	mkdir -p runs/pages
	$(BIN)/policy-inertia verdict >runs/pages/results.md
	$(BIN)/policy-inertia verdict minatar >runs/pages/minatar.md
	$(BIN)/policy-inertia at-budget results/control --page docs/control-study.md
	$(BIN)/policy-inertia at-budget results/limit/records.csv --picture docs/images/limits.png --show DQN \
		"twin critics" "dial by price" "dial by price, tuned in a bucket" "limit, tuned in a bucket" \
		"one action" >runs/pages/limits.md
	$(BIN)/policy-inertia at-budget results/limit/records.csv --ours "limit, tuned in a bucket" \
		>>runs/pages/limits.md
	for round in limit-lander limit-lander-double; do \
		$(BIN)/policy-inertia at-budget results/$$round/records.csv && \
		$(BIN)/policy-inertia at-budget results/$$round/records.csv --ours "limit, tuned in a bucket" \
		|| exit 1; \
	done >runs/pages/limits-lander.md
	$(BIN)/policy-inertia at-budget results/limit-two-way/records.csv >runs/pages/limits-two-way.md
	$(BIN)/policy-inertia at-budget results/frontier-third/records.csv >runs/pages/frontier.md
	$(BIN)/policy-inertia study filters --quiet >runs/pages/filters.md
	cp runs/filters/filters.png docs/images/filters.png
	$(BIN)/policy-inertia study transfer --quiet --only $(notdir $(wildcard results/transfer/*)) \
		>runs/pages/transfer.md

notebooks: $(VENV)/.test  ## run the notebooks and store their outputs
	cd notebooks && ../$(BIN)/jupyter execute --inplace *.ipynb && rm -f *.safetensors

stranger: $(VENV)/.test  ## build wheel and sdist, and follow the docs from an empty environment
	$(BIN)/python .ci/stranger

ship-policy: $(VENV)/.core  ## RUN=runs/x NAME=merge-nsac: add a trained policy to the package
	$(BIN)/python .ci/ship-policy "$(RUN)" "$(NAME)"

benchmark: $(VENV)/.core .venv-peers/.done  ## our learner beside other libraries
	$(BIN)/python benchmarks/learner.py --peers .venv-peers/bin/python

benchmark-studies: $(VENV)/.core  ## the overhead of the study runner
	$(BIN)/python benchmarks/studies.py

benchmark-interop: $(VENV)/.test  ## latency of exported policies and of SmoothActions
	$(BIN)/python benchmarks/interop.py

benchmark-small-computers: $(VENV)/.test  ## latency of policies in C and in the NumPy runtime
	$(BIN)/python benchmarks/small_computers.py

benchmark-continuous: $(VENV)/.test  ## latency of filters around continuous policies, beside SB3
	$(BIN)/python benchmarks/continuous.py

benchmark-control: $(VENV)/.test .venv-peers/.done  ## SAC and the dial on continuous actions, beside SB3 and SBX
	$(BIN)/python benchmarks/control.py --peers .venv-peers/bin/python

benchmark-atari: $(VENV)/.test  ## learning from pixels beside PyTorch
	$(BIN)/python benchmarks/atari.py

benchmark-simulator: $(VENV)/.test  ## our Highway tasks beside highway-env
	$(BIN)/python benchmarks/simulator.py

$(BIN)/python:
	python3 -m venv $(VENV)

$(VENV)/.core: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e .[highway]
	touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e .[test]
	$(PIP) --no-deps moviepy  # SB3's VecVideoRecorder needs it; it asks for an old Pillow
	$(PIP) --no-deps rliable  # it asks for an arch that does not import beside current pandas
	touch $@ $(VENV)/.core

.venv-peers/.done: pyproject.toml constraints.txt
	python3 -m venv .venv-peers
	.venv-peers/bin/python -m pip --disable-pip-version-check install -q -c constraints.txt -e .[peers]
	touch $@

clean:
	rm -rf $(VENV) .venv-peers site dist .mypy_cache .pytest_cache .ruff_cache
