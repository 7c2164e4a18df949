"""Ladder: the fourteen trainers of `merganser.learn.ladder`, run small, each in a process of its own; and
what each changes in the one before.

A run takes some seconds, most of them in the first steps; it waits in the queue of the trainings.
"""

import ast
import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from merganser.errors import SettingsError
from merganser.learn import ladder
from merganser.learn.ladder import running
from merganser.learn.ladder.settings import LadderSettings
from merganser.studio.desk import desk
from merganser.studio.jobs import Job
from merganser.studio.messages import Body
from merganser.studio.train import cancel, events

#: What one run may take: bytes of text, merges, and seconds for each step.
LARGEST_TEXT, MOST_MERGES, SECONDS = 200_000, 1000, 20.0

#: Where a docstring goes on with something else: after an empty line, or where a line begins with "Cost:".
_PARAGRAPH = re.compile(r"\n\n|\n(?=[A-Z][a-z ]{2,30}: )")

#: A line of a step, and what it is to the step before: "same", "new", or "gone" if it is only there.
Line = tuple[str, str]


def marked(before: list[str], after: list[str]) -> list[Line]:
    """The lines of `after`, with those of `before` that are gone where they were.

    >>> marked(["a", "b", "c"], ["a", "B", "c"])
    [('same', 'a'), ('gone', 'b'), ('new', 'B'), ('same', 'c')]
    """
    lines: list[Line] = []
    for kind, start, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            lines += [("same", line) for line in after[first:last]]
        else:
            lines += [("gone", line) for line in before[start:end]]
            lines += [("new", line) for line in after[first:last]]
    return lines


@cache
def described() -> list[dict[str, Any]]:
    """Every step: its number, its name, what it says of itself, and its code."""
    sources = {0: ""} | {number: _source(number) for number in ladder.STEPS}
    steps = []
    for before, number in pairwise(sources):
        title, _, about = (ast.get_docstring(ast.parse(sources[number])) or "").partition("\n")
        code, earlier = _code(sources[number]), _code(sources[before])
        lines = marked(earlier, code) if earlier else [("same", line) for line in code]
        steps.append(
            {
                "step": number,
                "name": running.name_of(str(number)).partition(" ")[2],
                "title": title.partition(": ")[2],
                "about": [" ".join(part.split()) for part in _PARAGRAPH.split(about.strip())],
                "lines": lines,
            }
        )
    return steps


def _source(number: int) -> str:
    module = Path(ladder.__file__).with_name(f"{ladder.STEPS[number]}.py")
    return module.read_text("utf-8")


def _code(source: str) -> list[str]:
    """Without the docstring of the module, which is shown as text."""
    body = ast.parse(source).body if source else []
    return source.splitlines()[body[1].lineno - 1 :] if len(body) > 1 else []


@cache
def sample() -> str:
    """A text that is always there: the ladder's own code."""
    return "".join(map(_source, ladder.STEPS))


def climb(job: Job, text: str, settings: LadderSettings) -> dict[str, Any]:
    """The work of a job: runs the core, then each step."""
    told: list[running.StepRun] = []

    def report(run: running.StepRun) -> None:
        told.append(run)
        job.tell("run", run.as_dict())
        job.check()
        job.progress = {"done": len(told), "total": len(ladder.STEPS) + 1}

    with running.text_file([text.encode()], None) as path:
        running.run_steps(map(str, ladder.STEPS), path, settings, SECONDS, report)
    return {"differ": _names(run for run in told if run.differs_at is not None)}


def _names(runs: Iterable[running.StepRun]) -> list[str]:
    return [run.name for run in runs]


async def steps(request: Request) -> Response:
    found = await desk(request).work.run(described)
    return JSONResponse({"steps": found, "sample": len(sample()), "largest": LARGEST_TEXT})


async def run(request: Request) -> Response:
    """{text, or bytes of the sample, and merges}; the answer names the job."""
    body = await Body.of(request)
    text = body.text() if body.fields.get("text") else sample()[: body.get("bytes", int, 20_000)]
    merges = body.get("merges", int, 100)
    if not 0 < len(text.encode()) <= LARGEST_TEXT:
        raise SettingsError(f"the ladder takes 1 to {LARGEST_TEXT:,} bytes of text here")
    if not 1 <= merges <= MOST_MERGES:
        raise SettingsError(f"the ladder learns 1 to {MOST_MERGES:,} merges here, not {merges:,}")
    job = desk(request).jobs.start(lambda job: climb(job, text, LadderSettings(vocab_size=256 + merges)))
    return JSONResponse({"job": job.id}, 202)


routes = [
    Route("/steps", steps),
    Route("/run", run, methods=["POST"]),
    Route("/events", events),
    Route("/cancel", cancel, methods=["POST"]),
]
