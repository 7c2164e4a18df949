"""Ladder: run the fourteen trainers of `merganser.learn.ladder` on a small text, and show how they differ.

Each step runs in its own process. A run takes a few seconds, most of them in the first steps, and shares the
job queue with training.
"""

import ast
import re
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
from merganser.studio.jobs import Job
from merganser.studio.messages import Body
from merganser.studio.state import state_of
from merganser.studio.train import cancel, events

#: Limits of one run: bytes of text, merges, and seconds per step.
LARGEST_TEXT, MOST_MERGES, SECONDS = 200_000, 1000, 20.0

#: Paragraphs of a docstring are separated by an empty line, or start with a label such as "Cost:".
_PARAGRAPH = re.compile(r"\n\n|\n(?=[A-Z][a-z ]{2,30}: )")

#: "same", "new" or "gone" compared with the previous step, and the line of code.
Line = tuple[str, str]


def diff(before: list[str], after: list[str]) -> list[Line]:
    """Return the lines of `after`, with the removed lines of `before` in their original position.

    >>> diff(["a", "b", "c"], ["a", "B", "c"])
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
    """Describe every step: number, name, docstring and code."""
    sources = {0: ""} | {number: _source(number) for number in ladder.STEPS}
    steps = []
    for before, number in pairwise(sources):
        title, _, about = (ast.get_docstring(ast.parse(sources[number])) or "").partition("\n")
        code, earlier = _code(sources[number]), _code(sources[before])
        lines = diff(earlier, code) if earlier else [("same", line) for line in code]
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
    """Return the lines after the module docstring, which is shown as text."""
    body = ast.parse(source).body if source else []
    return source.splitlines()[body[1].lineno - 1 :] if len(body) > 1 else []


@cache
def sample() -> str:
    """Return a text that is always available: the code of the ladder."""
    return "".join(map(_source, ladder.STEPS))


def climb(job: Job, text: str, settings: LadderSettings) -> dict[str, Any]:
    """Run the core, then each step, as a job."""
    runs: list[running.StepRun] = []

    def report(run: running.StepRun) -> None:
        runs.append(run)
        job.emit("run", run.as_dict())
        job.check()
        job.progress = {"done": len(runs), "total": len(ladder.STEPS) + 1}

    with running.text_file([text.encode()], None) as path:
        running.run_steps(map(str, ladder.STEPS), path, settings, SECONDS, report)
    return {"differ": [run.name for run in runs if run.differs_at is not None]}


async def steps(request: Request) -> Response:
    all_steps = await state_of(request).quick.run(described)
    return JSONResponse({"steps": all_steps, "sample": len(sample()), "largest": LARGEST_TEXT})


async def run(request: Request) -> Response:
    """Start a run. Request: {text, or bytes of the sample; merges}; response: {job}."""
    body = await Body.of(request)
    text = body.text() if body.fields.get("text") else sample()[: body.get("bytes", int, 20_000)]
    merges = body.get("merges", int, 100)
    size = len(text.encode())
    if not 0 < size <= LARGEST_TEXT:
        raise SettingsError(f"text must have 1 to {LARGEST_TEXT:,} bytes, got {size:,}")
    if not 1 <= merges <= MOST_MERGES:
        raise SettingsError(f"merges must be 1 to {MOST_MERGES:,}, got {merges:,}")
    job = state_of(request).jobs.start(lambda job: climb(job, text, LadderSettings(vocab_size=256 + merges)))
    return JSONResponse({"job": job.id}, 202)


routes = [
    Route("/steps", steps),
    Route("/run", run, methods=["POST"]),
    Route("/events", events),
    Route("/cancel", cancel, methods=["POST"]),
]
