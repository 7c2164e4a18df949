"""merganser studio"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merganser.cli import Terminated, formatting, naming, options

if TYPE_CHECKING:
    import socket

    from merganser import Tokenizer

#: The default port if it is free, so that the address changes little between runs.
PORT = 8642

#: The maximum number of pending connections.
_BACKLOG = 128


@click.command(epilog=naming.HELP)
@click.argument("tokenizers", nargs=-1, type=naming.TOKENIZER, metavar="[TOKENIZER]...")
@click.option(
    "--port", type=click.IntRange(0, 65535), help=f"Port to listen on, 0 for any. Default: {PORT} if free."
)
@click.option(
    "--token",
    envvar="MERGANSER_STUDIO_TOKEN",
    help="Secret part of the address, for an address that stays the same. Default: a new random one.",
)
@click.option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
@click.option(
    "--folder",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder with files that the page may train on. Repeatable.",
)
@click.option(
    "--embeddings",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder written by `merganser embed`, for the map. Repeatable.",
)
@options.as_json
@naming.revision
def command(
    tokenizers: tuple[naming.TokenizerName, ...],
    port: int | None,
    token: str | None,
    no_browser: bool,
    folders: tuple[Path, ...],
    embeddings: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Start a local web app to try, compare and train tokenizers.

    Without a TOKENIZER, it opens merganser-out if it exists, else two small ones trained on the spot.
    Nothing leaves this machine. Press Ctrl-C to stop.

    Example: merganser studio merganser-out
    """
    from secrets import token_urlsafe

    if token is not None:
        _check_token(token)
    from merganser.extras import imported

    imported("uvicorn", "studio", "the studio")
    imported("starlette", "studio", "the studio")
    from merganser.studio import create
    from merganser.studio.server import Server

    loaded, sources = _load(tokenizers)
    secret = token or token_urlsafe(24)
    app = create(
        loaded,
        folders,
        secret,
        sources=sources,
        embeddings=_load_embeddings(embeddings),
        start=Path.cwd(),
    )
    with _listen(PORT if token and port is None else port) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/{secret}/"
        if as_json:
            formatting.print_json({"address": address, "tokenizers": list(loaded)})
        else:
            click.echo(f"The studio is running at\n  {address}\nPress Ctrl-C to stop it.")
        server = Server(app)
        if not no_browser:
            _open_browser_when(lambda: server.started, address)
        try:
            server.run(sockets=[listener])
        except (KeyboardInterrupt, Terminated) as stop:
            if not app.state.studio.close():  # Python would wait for native code, which cannot be interrupted
                click.echo("stopped", err=True)
                os._exit(getattr(stop, "code", 130))
            raise


def _load(names: tuple[naming.TokenizerName, ...]) -> "tuple[dict[str, Tokenizer], dict[str, str]]":
    """Return tokenizers by label, and the Python expressions that load them."""
    from merganser.studio.known import completed

    loaded: dict[str, Tokenizer] = {}
    sources: dict[str, str] = {}
    if not names and not Path(naming.DEFAULT).exists():
        trained = sample()
        return {"sample": trained, "small sample": trained.truncated(1024)}, sources
    for name in names or (naming.parse(naming.DEFAULT),):
        label = name.short_title
        while label in loaded:
            label += "'"
        tokenizer = name.load()
        loaded[label] = completed(tokenizer)
        sources[label] = name.expression
        if loaded[label] is not tokenizer:  # a known vocabulary, with its special tokens
            given = f", special_tokens={dict(loaded[label].special_tokens)!r})"
            sources[label] = name.expression.removesuffix(")") + given
    return loaded, sources


def _check_token(token: str) -> None:
    """Raise unless a token is as hard to guess as its length allows, and can be part of an address."""
    import re

    if not re.fullmatch(r"[A-Za-z0-9_-]{20,200}", token) or len(set(token)) < 8:
        raise click.UsageError(
            "--token must have 20 to 200 letters, digits, - or _, at least 8 of them different; generate one "
            "with: python -c 'import secrets; print(secrets.token_urlsafe(24))'"
        )


def _load_embeddings(folders: tuple[Path, ...]) -> dict[str, Any]:
    if not folders:
        return {}
    from merganser.embed import load

    loaded: dict[str, Any] = {}
    for folder in folders:
        name = folder.resolve().name
        while name in loaded:  # `merganser embed` gives all of them the same name
            name += "'"
        loaded[name] = load(folder)
    return loaded


def sample() -> "Tokenizer":
    """Train a small tokenizer on merganser's own source files."""
    from merganser import train
    from merganser.analyse import examples
    from merganser.chat import SPECIAL_TOKENS

    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    texts = [*examples.DOMAINS.values(), *(" ".join(lines) for lines in examples.PARALLEL.values())]
    return train(
        [*(file.read_text("utf-8") for file in sources), *texts], 4096, special_tokens=SPECIAL_TOKENS
    )


def _listen(port: int | None) -> "socket.socket":
    import socket

    for candidate in (PORT, 0) if port is None else (port,):
        # asyncio disables Nagle's algorithm only if the protocol is given; otherwise the body of a response
        # waits up to 40 ms for the browser to acknowledge its headers.
        listener = socket.socket(proto=socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", candidate))
            # Listen before the address is printed, so that early connections wait for the server.
            listener.listen(_BACKLOG)
        except OSError as error:
            listener.close()
            if port is not None:
                raise OSError(
                    f"cannot listen on port {port}: {error.strerror}; choose another --port, or leave it out"
                ) from error
        else:
            return listener
    raise OSError("no port of 127.0.0.1 is free; stop a program that listens on one, and try again")


def _open_browser_when(ready: Callable[[], bool], address: str) -> None:
    """Open the browser as soon as the server is ready."""
    import threading
    import time
    import webbrowser

    def wait() -> None:
        while not ready():
            time.sleep(0.02)
        webbrowser.open(address)

    threading.Thread(target=wait, daemon=True).start()
