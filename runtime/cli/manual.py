"""Print the manual page of all commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from runtime.cli import options
from runtime.cli.manual_source import EXIT_CODES, FILES, VARIABLES, Page, pages
from runtime.cli.streams import write

ABOUT = (
    "Farthing runs agent flows in which every token and every farthing is accounted for. A flow is a graph "
    "of Agent, Memory, Budget and helper nodes in a JSON file. Results go to stdout, all else to stderr."
)


@click.command(
    epilog=options.examples(
        "farthing manual > farthing.1", "farthing manual | man -l -", "farthing manual --markdown"
    )
)
@click.option("--markdown", is_flag=True, help="As docs/commands.md has it.")
def command(markdown: bool) -> None:
    """Print the manual of all commands as a man page. It is made from the commands themselves."""
    found = pages()
    for line in as_markdown(found) if markdown else as_roff(found):
        write(line)


def as_markdown(found: Sequence[Page]) -> Iterator[str]:
    """docs/commands.md, line by line."""
    yield from ("# Commands", "", ABOUT, "")
    yield from ("Made from the commands by `farthing manual --markdown > docs/commands.md`.", "")
    for page in found:
        yield from (f"{'#' * (page.depth + 1)} {page.name}", "", f"`{page.usage}`", "")
        for paragraph in page.paragraphs:
            yield from (_inline(paragraph), "")
        if page.options:
            yield from ("| Option | Does |", "|---|---|")
            yield from (f"| `{_cell(forms)}` | {_cell(_inline(text))} |" for forms, text in page.options)
            yield ""
        if page.examples:
            yield from ("```sh", *page.examples, "```", "")
    yield from ("## Exit codes", "")
    yield ", ".join(f"{code} {words}" for code, words in EXIT_CODES) + "."


def _inline(text: str) -> str:
    """A sentence whose angle brackets are not taken for tags."""
    return text.replace("<", "&lt;")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def as_roff(found: Sequence[Page]) -> Iterator[str]:
    """A man page for section 1, line by line."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("farthing")
    except PackageNotFoundError:
        number = ""
    yield f'.TH FARTHING 1 "" "farthing {_roff(number)}" "Farthing"'
    yield from (".SH NAME", "farthing \\- run agent flows with budgets and memory")
    yield from (".SH SYNOPSIS", ".B farthing", ".I COMMAND", "[OPTIONS] [ARGUMENTS]")
    yield from (".SH DESCRIPTION", _roff(ABOUT), ".SH COMMANDS")
    for page in found:
        yield from (f".SS {_roff(page.name)}", ".B " + _roff(page.usage))
        for paragraph in page.paragraphs:
            yield from (".PP", _roff(paragraph))
        for forms, text in page.options:
            yield from (".TP", ".B " + _roff(forms), _roff(text))
        if page.examples:
            yield from (".PP", "Examples:", ".RS", ".nf", *map(_roff, page.examples), ".fi", ".RE")
    yield ".SH EXIT STATUS"
    for code, words in EXIT_CODES:
        yield from (".TP", f".B {code}", words)
    for title, rows in (("ENVIRONMENT", VARIABLES), ("FILES", FILES)):
        yield f".SH {title}"
        for name, words in rows:
            yield from (".TP", ".B " + _roff(name), _roff(words))


def _roff(text: str) -> str:
    """A text that roff takes for nothing but words."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + escaped if escaped[:1] in (".", "'") else escaped
