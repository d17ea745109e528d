"""Token estimators by length, for arithmetic that takes the estimator as a parameter.

The product counts with one token counter; these serve comparisons and places where no model is known.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

Estimator = Callable[[str], int]
"""Text in, whole tokens out; never negative."""


class LengthEstimator(msgspec.Struct, frozen=True):
    """Tokens as a fixed share of the code points of a text.

    `chars_per_token`: code points that make one token. `surcharge_pct`: percent added on top. `least`: what
    an empty text costs, in tokens. `round_up`: a started token counts whole. Whole-number arithmetic, so
    every machine gets the same answer.
    """

    chars_per_token: int = 4
    surcharge_pct: int = 0
    least: int = 1
    round_up: bool = False

    def __call__(self, text: str) -> int:
        """Estimated tokens of `text`."""
        weighted = len(text) * (100 + self.surcharge_pct)
        unit = self.chars_per_token * 100
        tokens = -(-weighted // unit) if self.round_up else weighted // unit
        return max(self.least, tokens)


by_length = LengthEstimator()
"""`max(1, characters // 4)`: the usual rule of thumb, rounded down; an empty item still costs a token."""

by_length_padded = LengthEstimator(surcharge_pct=15, least=0, round_up=True)
"""`ceil(characters / 4 × 1.15)`, empty text 0: the same rule with 15 % to spare, rounded up."""
