# Each target does its own set-up in .venv; see README.md, "Commands".
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
LESSONS ?=
DEMO ?= build/demo
# Two processes share the machine in these; in the lab a learner's kernel takes all of it.
test validate demo site browser-test colab-test: export OMP_NUM_THREADS = 1
test validate demo site browser-test colab-test: export TOKENIZERS_PARALLELISM = false

.PHONY: help setup lab test check release validate demo site browser-test colab-test pretend-cuda
.DEFAULT_GOAL := help

help:
	@echo "make setup     .venv with the pinned set (every other target calls it)"
	@echo "make lab       copy new lessons to work/ and open JupyterLab there"
	@echo "make test      the tests; of some slow kinds those of the day (ALL=1: of every day)"
	@echo "make check     format, lint, types, import direction, course/ in step with solutions/, links, English"
	@echo "make release   rebuild course/ from solutions/"
	@echo "make validate  every lesson solved, unsolved, and against its banks  (LESSONS='02 03' for some)"
	@echo "make demo      grade an embedded class and show the marks"
	@echo "make site      the pages of the course with executed lessons, in build/site/html"
	@echo "make browser-test  a student and an instructor in a real browser; pictures in build/screenshots"
	@echo "make pretend-cuda  every check on a pretended CUDA device; needs g++  (LESSONS='02 03' for some, ALL=1 in each setting)"
	@echo "make colab-test    the set-up cells and three lessons in an environment like Colab's"

setup: $(READY)
	@echo "$(VENV) is ready. Next: make lab opens the lessons, make demo grades an embedded class, make help lists all commands"

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python >= 3.11 is needed; $(PYTHON) is older. Name another: make PYTHON=python3.12 setup"; exit 1; }
	@echo "setting up $(VENV) in 3 steps: two to three minutes the first time, longer where PyPI serves torch for CUDA"
	@echo "1 of 3: an empty environment"
	@$(PYTHON) -m venv $(VENV)
	@echo "2 of 3: torch, the largest download"
	@$(INSTALL) torch
	@echo "3 of 3: the other packages"
	@$(INSTALL) --editable '.[dev]'
	@touch $@

lab: $(READY)
	@$(BIN)/python -m grader lab

test: $(READY)
	@ALL='$(ALL)' $(BIN)/python -m pytest -n 2 --dist worksteal

check: $(READY)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m grader release --check
	@$(BIN)/python tests/links.py
	@$(BIN)/python tests/phrases.py
	@$(BIN)/codespell

release: $(READY)
	@$(BIN)/python -m grader release

validate: $(READY)
	@$(BIN)/python -m grader validate $(LESSONS)

demo: $(READY)
	@$(BIN)/python -m grader demo $(DEMO)

site: $(READY)
	@DAILY='$(DAILY)' $(BIN)/python docs/site/build.py
	@$(BIN)/python docs/site/links.py build/site/html

browser-test: $(READY)
	@$(BIN)/python -m pytest tests/browser -m browser --timeout 900

colab-test: $(READY)
	@$(BIN)/python -m pytest tests/colab -m colab

pretend-cuda: $(READY)
	@ALL='$(ALL)' DAILY='$(DAILY)' LESSONS='$(LESSONS)' $(BIN)/python tests/pretend_cuda/run.py
