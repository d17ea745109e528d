"""Farthing's runtime: flows, runs, budgets, memory and timelines, with nothing of the studio in it."""
