"""The built-in tool `calculator`: exact arithmetic over a parsed expression, bounded, without eval."""

from __future__ import annotations

import ast
import decimal
import math
import re
from collections.abc import Callable
from decimal import Decimal

from runtime.errors import InputError
from runtime.tools.function import tool

LONGEST = 1_000
"""Characters of an expression."""
DIGITS = 40
"""Significant digits that fractions are computed with; 28 of them are told."""
SHOWN_DIGITS = 28
LARGEST = 10**300
"""Neither whole numbers nor fractions may be larger."""
NUMBER = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?(?![\w.])")
TOKENS = re.compile(rf"(?:\s+|{NUMBER.pattern}|[a-z]+(?!\w)|\*\*|//|[-+*/%(),])*")
"""What an expression may be made of."""
SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "^": "\0"})
Number = int | Decimal


class _Wrong(Exception):
    """What is wrong with an expression, in words."""


@tool(effect="none", timeout_s=5)
def calculator(expression: str) -> str:
    """Compute an arithmetic expression exactly.

    Args:
        expression: Numbers, + - * / // % **, parentheses, abs, ceil, floor, max, min, round, sqrt, pi and e,
            such as (12.5 + 3) * 2.
    """
    text = expression.strip().translate(SIGNS).replace("\0", "**").replace("_", "")
    try:
        if len(text) > LONGEST:
            raise _Wrong(f"it is longer than {LONGEST:,} characters")
        if not text or not TOKENS.fullmatch(text):
            raise _Wrong("write numbers without separators, operators, parentheses and the known functions")
        with decimal.localcontext(decimal.Context(prec=DIGITS, Emax=400, Emin=-400, traps=TRAPS)):
            return _told(_computed(text))
    except _Wrong as error:
        raise InputError(f"This cannot be computed: {error}.", code="tool.bad_arguments") from None
    except decimal.DivisionByZero:
        raise InputError("This cannot be computed: it divides by zero.", code="tool.bad_arguments") from None
    except (decimal.DecimalException, RecursionError):
        raise InputError(
            "This cannot be computed: a number in it is too large or not defined.", code="tool.bad_arguments"
        ) from None


TRAPS = [decimal.DivisionByZero, decimal.InvalidOperation, decimal.Overflow]


def _computed(text: str) -> Number:
    """The value of an expression. Its numbers are kept as they are written: a parser would make of 0.1 what
    a machine's number holds."""
    numbers: list[Number] = []

    def keep(found: re.Match[str]) -> str:
        written = found[0]
        numbers.append(_bounded(int(written) if written.isdigit() else Decimal(written)))
        return f"n{len(numbers) - 1}"

    named = NUMBER.sub(keep, text)
    try:
        tree = ast.parse(named, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _Wrong("it is no complete expression") from None
    return _value(tree, numbers)


def _value(node: ast.expr, numbers: list[Number]) -> Number:
    match node:
        case ast.Name(id=name) if name[1:].isdigit():
            return numbers[int(name[1:])]
        case ast.Name(id=name) if name in CONSTANTS:
            return CONSTANTS[name]
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, numbers)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, numbers)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
            return _bounded(OPERATORS[type(operator)](_value(left, numbers), _value(right, numbers)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return _applied(name, [_value(arg, numbers) for arg in args])
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)) if not name[1:].isdigit():
            raise _Wrong(f"there is no {name!r}; there are {', '.join([*FUNCTIONS, *CONSTANTS])}")
    raise _Wrong("it has something in it that is no arithmetic")


def _bounded(number: Number) -> Number:
    if not -LARGEST <= number <= LARGEST:
        raise _Wrong("a number in it is too large")
    return number


def _divided(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int) and right and left % right == 0:
        return left // right
    return Decimal(left) / Decimal(right)


def _floored(left: Number, right: Number) -> Number:
    """Rounded down, as with whole numbers; Decimal's own `//` rounds towards zero."""
    if isinstance(left, int) and isinstance(right, int) and right:
        return left // right
    return _whole((Decimal(left) / Decimal(right)).to_integral_value(decimal.ROUND_FLOOR))


def _remainder(left: Number, right: Number) -> Number:
    """With the sign of the divisor, so that it fits to the division that rounds down."""
    if isinstance(left, int) and isinstance(right, int) and right:
        return left % right
    return Decimal(left) - Decimal(right) * Decimal(_floored(left, right))


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
        if abs(base) > 1 and exponent * (abs(base).bit_length() - 1) > LARGEST.bit_length():
            raise _Wrong("a number in it is too large")
        return int(base**exponent)
    return Decimal(base) ** Decimal(exponent)


def _plus(left: Number, right: Number) -> Number:
    return left + right if type(left) is type(right) else Decimal(left) + Decimal(right)


def _times(left: Number, right: Number) -> Number:
    return left * right if type(left) is type(right) else Decimal(left) * Decimal(right)


def _round(number: Number, digits: Number = 0) -> Number:
    """Half away from zero, as people round."""
    if not isinstance(digits, int) or abs(digits) > SHOWN_DIGITS:
        raise _Wrong("round takes a whole number of digits")
    rounded = Decimal(number).quantize(Decimal(1).scaleb(-digits), decimal.ROUND_HALF_UP)
    return _whole(rounded) if digits <= 0 else rounded


def _root(number: Number) -> Number:
    exact = math.isqrt(number) if isinstance(number, int) and number >= 0 else -1
    return exact if exact >= 0 and exact * exact == number else Decimal(number).sqrt()


def _whole(number: Decimal) -> int:
    return int(number)


OPERATORS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: _plus,
    ast.Sub: lambda left, right: _plus(left, -right),
    ast.Mult: _times,
    ast.Div: _divided,
    ast.FloorDiv: _floored,
    ast.Mod: _remainder,
    ast.Pow: _power,
}
FUNCTIONS: dict[str, Callable[..., Number]] = {
    "abs": abs,
    "ceil": lambda number: _whole(Decimal(number).to_integral_value(decimal.ROUND_CEILING)),
    "floor": lambda number: _whole(Decimal(number).to_integral_value(decimal.ROUND_FLOOR)),
    "max": max,
    "min": min,
    "round": _round,
    "sqrt": _root,
}
CONSTANTS: dict[str, Number] = {
    "pi": Decimal("3.141592653589793238462643383279502884197"),
    "e": Decimal("2.718281828459045235360287471352662497757"),
}


def _applied(name: str, args: list[Number]) -> Number:
    least, most = {"max": (1, 100), "min": (1, 100), "round": (1, 2)}.get(name, (1, 1))
    if not least <= len(args) <= most:
        raise _Wrong(f"{name} does not take {len(args)} numbers")
    if name in ("max", "min"):
        return max(args) if name == "max" else min(args)
    return _bounded(FUNCTIONS[name](*args))


def _told(number: Number) -> str:
    """Whole numbers in full; fractions with at most 28 significant digits and no needless zeros."""
    if isinstance(number, int):
        return str(number)
    short = decimal.Context(prec=SHOWN_DIGITS).plus(number)
    if short == 0:
        return "0"
    short = short.normalize(decimal.Context(prec=SHOWN_DIGITS))
    return f"{short:f}" if -12 <= short.adjusted() <= SHOWN_DIGITS else f"{short:E}"
