"""`python -m tests.local_model WEIGHTS`: serves the model on loopback and prints its address.

It ends with its stdin, so that it outlives nobody who started it, however they end.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

CONTEXT_TOKENS = 4096
LONGEST_ANSWER = 512
"""Tokens of an answer for which nobody set a limit: a model this small may never find an end."""


def serve(weights: str) -> Any:
    """Start the server: one call at a time, on one thread, which is fastest on a busy machine."""
    llama = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = weights
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT_TOKENS
    params.n_predict = LONGEST_ANSWER
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.endpoint_slots = True
    params.ui = params.warmup = False
    params.cache_ram_mib = 0
    return llama.Server(params)


def main() -> None:
    server = serve(sys.argv[1])
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)  # the server's own threads would keep the process


if __name__ == "__main__":
    main()
