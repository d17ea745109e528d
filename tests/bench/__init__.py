"""The benchmark: CPU ratios against a floor in one run, never a timed test: `python -m tests.bench`."""
