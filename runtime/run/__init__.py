"""One execution of a plan: readiness, order, cancel, result. State lives in a private Run only."""
