"""The help of every command: its words, and the length of its sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
import typer
from typer.testing import CliRunner

from fairstats.cli import app
from tests.wrong_words import wrong_words

#: The maximum number of words in a sentence.
LONGEST = 25


def commands(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command and subcommand, with the words that call it."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


def sentences(command: click.Command) -> Iterator[str]:
    """Yield the sentences of a command's help and of its options' help."""
    texts = [command.help or "", *(getattr(one, "help", None) or "" for one in command.params)]
    for text in texts:
        for paragraph in text.split("\n\n"):
            yield from re.split(r"(?<=[.!?])\s+(?=[A-Z-])", " ".join(paragraph.split()))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_has_no_wrong_words(path):
    # Wide enough to keep every phrase on one line.
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "1000"})
    assert shown.exit_code == 0
    assert "Show this message and exit." in shown.output
    assert wrong_words(shown.output) == []


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_sentences_are_short(path):
    found = [text for text in sentences(COMMANDS[path]) if len(text.split()) > LONGEST]
    assert found == []


def test_every_command_and_option_has_help():
    lacking = [
        (*path, one.name)
        for path, command in COMMANDS.items()
        for one in command.params
        if not getattr(one, "help", None)
    ]
    assert lacking == []
    assert [path for path, command in COMMANDS.items() if path and not command.help] == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("The privileged telling leads.", "telling"),
        ("Two models are not told apart.", "told"),
        ("The figure stands beside the other.", "stands"),
        ("The figure is shown beside the other.", "beside"),
        ("Use the answers at hand.", "at hand"),
        ("Accuracy for one group less that for the other.", "less that"),
        ("Verdict: Disparity shown.", "Disparity shown"),
        ("Mend the file.", "Mend"),
        ("a 95 % interval", "5 %"),
        ("a 95\N{NO-BREAK SPACE}% interval", "5 %"),
        ("--replicates is no number of raters", "is no"),
        ("Answers\n  of   another model.", "of another"),
    ],
)
def test_wrong_word_is_found(text, wrong):
    assert next(found.split(":")[0] for found in wrong_words(text)) == wrong


@pytest.mark.parametrize(
    "text",
    [
        "There is no standard error, so the interval is no longer 95%.",
        "Besides, the model is no better than a guess; the outstanding answers are missing.",
        "A stand-alone file.",
    ],
)
def test_right_words_are_not_found(text):
    assert wrong_words(text) == []
