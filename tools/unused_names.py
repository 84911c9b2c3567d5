"""Names that the finder of dead code (``make dead``) would report, each group with who uses them.

vulture reads this file as code: a name that stands here counts as used. Remove a line when its name goes.
"""

_ = object()

# pytest collects marks and hooks by name
_.pytestmark
_.pytest_terminal_summary
_.anyio_backend

# Python itself calls these
_.__getattr__
_.__dir__
_.__spec__
_.__path__
_.__exit__
_.exc  # its second argument
_.writelines  # a stream has it, whoever writes to it

# http.server and socketserver, in servers that tests and users run
_.do_GET
_.do_POST
_.log_message
_.protocol_version
_.wbufsize
_.disable_nagle_algorithm
_.daemon_threads
_.close_connection

# html.parser and tarfile, in tests
_.handle_starttag
_.handle_endtag
_.linkname

# pydantic: configuration and validators of models; fields of answers that clients read
_.model_config
_._k_by_any_name
_._together
_.error_type

# FastAPI and MCP: functions that a decorator registers as routes and tools
_.any_dialect
_.dashscope
_.health
_.infinity
_.nim
_.select_evidence
_.upload
_.openapi

# uvicorn's server, which is subclassed
_.handle_exit
_.sig
_.force_exit
_.should_exit

# options of onnxruntime, onnx, tokenizers and xllamacpp, set on their objects
_.log_severity_level
_.enable_mem_pattern
_.intra_op_num_threads
_.enable_mem_pattern
_.inter_op_num_threads
_.ir_version
_.encode_special_tokens
_.n_ctx
_.n_parallel
_.n_threads
_.verbosity
_.hostnames
_.api_keys

# psycopg calls adapters by these names
_.oid
_.dump

# torch calls forward, and so does DSPy
_.forward

# LangChain, LlamaIndex, Haystack and FlashRAG call what they define
_._aget_relevant_documents
_._aget_query_embedding
_._postprocess_nodes
_._apostprocess_nodes
_.class_name
_.callbacks
_.stream_complete
_.input_prompt_flag
_.batch_size
_.retriever_constructor
_.retriever_constructor_params
_.retriever_query_example
_.generate
_.user_prompt
_.enable_chat
_.is_chat
_.is_openai
_.max_input_len
_.reference_template
_.use_reranker

# fakes of GraphRAG, HippoRAG and GFM-RAG in tests have what the adapters may look for
_._build_text_unit_context
_.entity_mapper
_.entity_text_embeddings
_.text_embedder
_.text_units
_.max_context_tokens
_.selected_entities
_.retrieve_dpr
_.rag_qa
_.show_progress_bar
_.Embedder

# mkdocstrings loads the extension
_.Doctests
_.on_object

# jinja2: the laboratory's report reads these in its templates
_.whisker
_.thickness
_.opacity
_.filters

# members of an IntFlag, taken together by map(int, ...)
_.PRONOUN
_.YEAR
_.NUMBER
_.CASELESS
_.LAST
_.ALONE
