"""A server that plays every agent of a build from a script; its declaration, and its files."""

from __future__ import annotations

import csv
import json
import re
import threading
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from fairstats_collectors.ask_tasks import connect

from fairstats.vignettes.building import run as building
from tests.serving import Answer, ModelServer, chat_reply, send_answer

#: Builds with the collectors' models.
run = partial(building.run, connect=connect)

BROKEN: Answer = (500, {"error": {"message": "on purpose", "type": "x"}})


def says(**values: Any) -> Answer:
    return chat_reply(json.dumps(values))


def refuses() -> Answer:
    return chat_reply(None, refusal="I will not write this.")


#: The beginning of each stage's message, without the final request for the format.
BEGINNINGS = {
    "filter": "Questions of a medical exam",
    "neutralize": "Rewrite the vignette",
    "generate": "Write a background",
    "fuse": "Merge the background",
    "validate": "Case:",
}


class Request:
    """A request to an agent."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.prompt: str = body["messages"][0]["content"]
        self.stage = next(s for s, text in BEGINNINGS.items() if self.prompt.startswith(text))
        #: Whether it repeats a request after an invalid reply.
        self.again = self.prompt.endswith("Keep to the form.")
        #: Whether a text was written before.
        self.revises = "What was written before was not as wanted." in self.prompt
        found = re.search(r"Vignette (\w+)", self.prompt)
        self.item = found[1] if found else ""
        named = re.search(r"\b(White|Black)\b", self.prompt)
        self.group = named[1].lower() if named else "neutralized"

    def marked(self, heading: str) -> str:
        """Return the text under a heading of the message."""
        lines = self.prompt.partition(f"{heading}:\n")[2].splitlines()
        own = []
        for line in lines:
            if not line.startswith("> "):
                break
            own.append(line.removeprefix("> "))
        return "\n".join(own)


def obedient(request: Request) -> Answer:
    """Reply like a model that makes no mistakes; it always chooses A, which is the key."""
    if request.stage == "filter":
        return says(decision="keep", reason="It is about one patient.")
    if request.stage == "neutralize":
        return says(vignette=re.sub(r"\b(?:he|she)\b", "they", request.marked("Vignette")))
    if request.stage == "generate":
        return says(
            background=f"The {request.group.capitalize()} patient reads. They walk. They cook."
        )
    if request.stage == "fuse":
        begin, _, question = request.marked("Vignette").rpartition(". ")
        return says(vignette=f"{begin}. {request.marked('Background')} {question}")
    return chat_reply("A")


class Service(ModelServer):
    """A chat completions server that follows a script and stores the requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.requests: list[Request] = []
        self.lock = threading.Lock()
        self.script: Callable[[Request], Answer | None] = lambda request: None

    def at(self, stage: str) -> list[Request]:
        """Return the requests of a stage."""
        return [request for request in self.requests if request.stage == stage]


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        request = Request(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        with self.server.lock:
            self.server.requests.append(request)
        send_answer(self, self.server.script(request) or obedient(request))

    def log_message(self, format: str, *args: object) -> None:
        pass


Row = dict[str, Any]


def item(name: str, text: str = "A 40-year-old man has pain.", **more: Any) -> Row:
    options = {"A": "Aspirin", "B": "Rest", "C": "Surgery"}
    question = f"Vignette {name}. {text} What is next?"
    return {"item_id": name, "options": options, "answer_key": "A", "question": question} | more


def declared(url: str, **changes: Any) -> dict[str, Any]:
    """Return a valid declaration; a dotted name changes a part of it, None drops it."""
    agent = {"model": "tiny", "base_url": url, "retries": 0}
    found: dict[str, Any] = {
        "name": "built",
        "title": "Built",
        "licence": "CC0",
        "citation": "None",
        "items": "items.jsonl",
        "attributes": {
            "race": {
                "label": "Race",
                "groups": {"white": "White", "black": "Black"},
                "pairs": [["white", "black"]],
                "words": {"white": ["White"], "black": ["Black"]},
            }
        },
        **{stage: dict(agent) for stage in BEGINNINGS},
    }
    for name, value in changes.items():
        *path, last = name.split(".")
        part: Any = found
        for key in path:
            part = part[key]
        if value is None:
            part.pop(last, None)
        else:
            part[last] = value
    return found


DIRECTED = {"attributes.race.directions": {"white": "favourable", "black": "unfavourable"}}


def lines(path: Path) -> list[dict[str, Any]]:
    # Not splitlines: JSON need not escape every character that it treats as a line end.
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def outcomes(out: Path) -> dict[tuple[str, str], str]:
    """Return the outcome of each variant's last round, by item and group."""
    found = lines(out / "variants.jsonl")
    return {(line["item_id"], line["group"]): line["outcome"] for line in found}


def by_round(out: Path, item_id: str, group: str) -> list[tuple[str, str, str]]:
    """Return stage, outcome and problems of each attempt at a variant."""
    return [
        (row["stage"], row["outcome"], row["problems"])
        for row in rows(out / "rounds.csv")
        if (row["item_id"], row["group"]) == (item_id, group)
    ]


def content(folder: Path) -> dict[str, bytes]:
    """Return every file of a build except the journals."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
