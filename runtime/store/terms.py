"""On what a call was admitted, as it is kept with the call."""

from __future__ import annotations

import msgspec

from runtime.ledger import Rule


class Terms(msgspec.Struct, frozen=True):
    """On what a call was admitted: `input` tokens counted in what is sent, `times` calls that its hold is
    for, and the rules that govern it, in the order of its counters."""

    input: int = 0
    times: int = 1
    rules: tuple[Rule, ...] = ()
