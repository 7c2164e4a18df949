"""merganser studio"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merganser.cli import drawing, naming, options

if TYPE_CHECKING:
    import socket

    from merganser import Tokenizer

#: Taken if it is free and no other is asked for, so that the address stays much the same.
PORT = 8642

#: A page that listens to a training must not keep the server from ending.
_QUIETLY: dict[str, Any] = {
    "log_level": "error",
    "access_log": False,
    "lifespan": "off",
    "timeout_graceful_shutdown": 1,
}

#: How many connections may wait until the server accepts them, as in uvicorn.
_BACKLOG = 2048


@click.command(epilog=naming.HELP)
@click.argument("tokenizers", nargs=-1, type=naming.TOKENIZER, metavar="[TOKENIZER]...")
@click.option("--port", type=click.IntRange(0, 65535), help=f"{PORT} if not given and free; 0 for any.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--folder",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="A folder whose files the page may read, to train on; may be given several times.",
)
@click.option(
    "--embeddings",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="A folder that `merganser embed` wrote, for the map; may be given several times.",
)
@options.as_json
def command(
    tokenizers: tuple[naming.Named, ...],
    port: int | None,
    no_browser: bool,
    folders: tuple[Path, ...],
    embeddings: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Open a page on this machine to try tokenizers, compare them and see how they came about.

    Without a TOKENIZER, it opens merganser-out if it exists, else a small one that is trained at once.
    Nothing leaves this machine; Ctrl-C ends it.

    Example: merganser studio merganser-out
    """
    from secrets import token_urlsafe

    from merganser.extras import imported

    uvicorn = imported("uvicorn", "studio", "the studio")
    imported("starlette", "studio", "the studio")
    from merganser.studio import create

    found, sources = _found(tokenizers)
    token = token_urlsafe(24)
    app = create(found, folders, token, sources=sources, embeddings=_embeddings(embeddings))
    with _listening(port) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/{token}/"
        if as_json:
            drawing.as_json({"address": address, "tokenizers": list(found)})
        else:
            click.echo(f"The studio is open at\n  {address}\nCtrl-C ends it.")
        server = uvicorn.Server(uvicorn.Config(app, **_QUIETLY))
        if not no_browser:
            _open_when(lambda: bool(server.started), address)
        server.run(sockets=[listening])


def _found(named: tuple[naming.Named, ...]) -> "tuple[dict[str, Tokenizer], dict[str, str]]":
    """Tokenizers by their names, and the Python that loads each."""
    found: dict[str, Tokenizer] = {}
    sources: dict[str, str] = {}
    if not named and not Path("merganser-out").exists():
        return {"sample": sample()}, sources
    for tokenizer in named or (naming.named("merganser-out"),):
        label = tokenizer.short_title
        while label in found:
            label += "'"
        found[label] = tokenizer.load()
        sources[label] = tokenizer.expression
    return found, sources


def _embeddings(folders: tuple[Path, ...]) -> dict[str, Any]:
    if not folders:
        return {}
    from merganser.embed import load

    found: dict[str, Any] = {}
    for folder in folders:
        name = folder.resolve().name
        while name in found:  # `merganser embed` calls all of them the same
            name += "'"
        found[name] = load(folder)
    return found


def sample() -> "Tokenizer":
    """A small tokenizer that needs no file of yours: it is trained on our own, in a moment."""
    from merganser import train
    from merganser.analyse import examples
    from merganser.chat import SPECIAL_TOKENS

    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    texts = [*examples.DOMAINS.values(), *(" ".join(lines) for lines in examples.PARALLEL.values())]
    return train(
        [*(file.read_text("utf-8") for file in sources), *texts], 4096, special_tokens=SPECIAL_TOKENS
    )


def _listening(port: int | None) -> "socket.socket":
    import socket

    for wanted in (PORT, 0) if port is None else (port,):
        # Only if the protocol is named, asyncio sends at once: else the body of an answer waits up to
        # 40 ms for the browser to acknowledge its head.
        listening = socket.socket(proto=socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", wanted))
            # Before the address is printed: whoever connects early waits for the server to be up.
            listening.listen(_BACKLOG)
        except OSError as error:
            listening.close()
            if port is not None:
                raise OSError(
                    f"port {port} cannot be had: {error.strerror}; name another, or none"
                ) from error
        else:
            return listening
    raise OSError("no port of 127.0.0.1 is free; close something and try again")


def _open_when(ready: Callable[[], bool], address: str) -> None:
    """Opens the browser as soon as somebody is there to answer it."""
    import threading
    import time
    import webbrowser

    def wait() -> None:
        while not ready():
            time.sleep(0.02)
        webbrowser.open(address)

    threading.Thread(target=wait, daemon=True).start()
