"""A group with a command that is meant where none is named: `farthing facts` lists."""

from __future__ import annotations

import click


class DefaultGroup(click.Group):
    """`default` is the name of the command that is meant where none is named."""

    default = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        helps = bool(args) and args[0] in ctx.help_option_names
        if not helps and (not args or args[0] not in self.commands) and not ctx.resilient_parsing:
            if args and not args[0].startswith("-"):
                raise click.UsageError(
                    f"There is no `{ctx.command_path} {args[0]}`. There are: {', '.join(self.commands)}.", ctx
                )
            args = [self.default, *args]
        return super().parse_args(ctx, args)
