"""What is said of a command line that cannot be: what is wrong, what it is most like, and what to type instead."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote

import click

from mesh.cli.grammar import ARGV, EMPTY_HOME, Command, named, path_of
from mesh.core.errors import UsageError


def worded(problem: click.UsageError) -> tuple[UsageError, str]:
    """What is wrong with a command line, with the next step; and which command says so."""
    context = problem.ctx
    path = path_of(context) if context is not None else ""
    who = f"mesh {path}".rstrip()
    step = getattr(problem, "step", "") or f"{who} --help"
    sentence = problem.message
    if isinstance(problem, click.NoSuchOption) and context is not None:
        sentence, text = _no_such_option(problem.option_name, context)
        if text:
            step += f"; if it is meant as text: {who} -- {quote(text)}"
    elif isinstance(problem, click.BadOptionUsage) and context is not None:
        sentence = _bad_option(problem.option_name, context)
    elif isinstance(problem, click.MissingParameter) and isinstance(context, click.Context):
        usage = f"{who} {context.command.words() if isinstance(context.command, Command) else ''}".rstrip()
        missing = named(problem.param) if isinstance(problem.param, click.Option) else "something"
        sentence = f"{missing} is missing: {usage}"
    elif isinstance(problem, click.BadParameter) and problem.param is not None:
        sentence = f"{named(problem.param)}: {problem.message.rstrip('.')}"
    if sentence == EMPTY_HOME and not path:
        step = "mesh --home DIR status"
    return UsageError(sentence, step), who


def _no_such_option(name: str, context: click.Context) -> tuple[str, str]:
    """What is said of an option that is not there; and the word, if it is like none and may be a text."""
    known = [name for param in context.command.params if isinstance(param, click.Option) for name in param.opts]
    near = nearest_option(name, known)
    sentence = f"there is no option {name}" + (f"; did you mean {near}?" if near else "")
    if isinstance(context.command, click.Group):
        return f"{sentence}; options of a command stand behind it", ""
    takes_words = any(isinstance(param, click.Argument) for param in context.command.params)
    typed = context.meta.get(ARGV, [])
    word = next((word for word in typed if word.partition("=")[0] == name), name)
    return sentence, "" if near or not takes_words else word


def _bad_option(name: str, context: click.Context) -> str:
    """An option without its value, or a switch with one."""
    for param in context.command.params:
        if isinstance(param, click.Option) and name in param.opts:
            if param.is_flag:
                return f"{name} takes no value"
            return EMPTY_HOME if name == "--home" else f"{name} needs a value: {name} {param.metavar}"
    return f"{name} cannot be used like this"


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like it; empty if none is."""
    from difflib import get_close_matches  # only where something is wrong

    found = get_close_matches(word, list(known), 1)
    return found[0] if found else ""


def nearest_option(name: str, known: Iterable[str]) -> str:
    """The same among options; that all begin with hyphens makes none of them more like it."""
    bare = {option.lstrip("-"): option for option in known}
    return bare.get(nearest(name.lstrip("-"), bare), "")
