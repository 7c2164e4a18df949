"""merganser export"""

import json
import shlex
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from merganser.cli import drawing, naming, options, progress
from merganser.corpus.addresses import Address

if TYPE_CHECKING:
    from merganser import CountsFile, Tokenizer
    from merganser.chat import Template
    from merganser.exporting import ExportFormat

#: As in `merganser.exporting`, which is not imported for --help.
_FOR_TOKENIZERS = ["tiktoken", "huggingface", "gpt2", "minbpe", "gguf", "token-lengths"]
_FOR_COUNTS = ["tsv", "parquet"]

#: How many pre-tokens make a row group of Parquet.
_BATCH = 1 << 17


@click.command(epilog=naming.HELP)
@click.argument("named", type=naming.TOKENIZER, metavar="TOKENIZER|COUNTS")
@click.option(
    "--to",
    "form",
    type=click.Choice([*_FOR_TOKENIZERS, *_FOR_COUNTS]),
    required=True,
    help="The format to write: tsv and parquet for counts, the others for tokenizers.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="The file to write, or the folder."
)
@click.option(
    "--on",
    multiple=True,
    type=Address,
    metavar="CORPUS",
    help="What the tokenizer was trained on, text or .counts, to verify the export on. If not given, counts "
    "of the training that lie beside the tokenizer.",
)
@click.option(
    "--chat",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help='For huggingface: the special tokens of a chat, as JSON, such as {"bos": "<s>", "user_start": '
    "\"<user>\"}; those not named are nanochat's. If not given, a tokenizer with nanochat's nine has those.",
)
@click.option(
    "--role",
    "roles",
    multiple=True,
    metavar="ROLE=TOKEN",
    help="For huggingface: the special token to use as bos, eos, unk, sep, pad, cls or mask, such as "
    "pad=<|endoftext|>. If not given, a token with a well-known name, such as <|pad|>. Repeatable.",
)
@options.as_json
def command(
    named: naming.Named,
    form: str,
    out: Path,
    on: tuple[Address, ...],
    chat: Path | None,
    roles: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write a tokenizer or counts for other programs.

    A tokenizer becomes a plug-in for tiktoken, or its file of ranks if --out ends in .tiktoken; a folder for
    AutoTokenizer (huggingface), or one with vocab.json and merges.txt (gpt2); minbpe's .model and .vocab; a
    vocabulary for llama.cpp (gguf); or the bytes of every token, as .npy or .pt (token-lengths).

    A .counts file becomes pre-token<TAB>count lines (tsv) or Parquet: pre-tokens come in the order of their
    bytes, and are never in memory as a whole.

    Before a tokenizer is written, it is verified that tiktoken or Hugging Face, or for other formats our own
    reader, gives the same ids: on adversarial texts, on its tokens and on the most frequent pre-tokens of the
    training.

    Example: merganser export tokenizer.merganser --to huggingface --out for-transformers
    """
    from merganser import CountsFile, SettingsError
    from merganser.counts import parquet, tsv
    from merganser.files import check_file

    if form in _FOR_TOKENIZERS:
        tokenizer = named.load()
        pretokens = on or (named.path and _training_beside(named.path, tokenizer))
        format = cast("ExportFormat", form)
        template = None if chat is None else _template(chat)
        with progress.drawn() as draw:
            written = tokenizer.export(
                out, format=format, on=pretokens, chat=template, roles=_roles(roles), progress=draw
            )
        files = [str(file) for file in written]
        facts: dict[str, Any] = {"out": str(out), "format": form, "files": files}
        if form == "huggingface":
            facts |= {
                "load": f"AutoTokenizer.from_pretrained({json.dumps(str(out))})",
                "roles": _written(out),
            }
        if as_json:
            drawing.as_json(facts)
            return
        for file in files:
            click.echo(drawing.with_path("wrote ", file))
        if form == "huggingface":
            click.echo(facts["load"])
            if "pad" not in facts["roles"]:
                click.echo(_hint(tokenizer, facts["roles"]))
        return
    if on or chat or roles:
        raise click.UsageError("--on, --chat and --role are for tokenizers")
    if named.path is None or named.path.suffix != ".counts":
        raise SettingsError(f"{named.written} is not a .counts file, and only counts are written as {form}")
    counts = CountsFile.open(named.path)
    check_file(out, "choose another --out")
    if form == "tsv":
        tsv.write(chain.from_iterable(counts.batches()), out)
    else:
        facts = {
            "pattern": counts.pattern,
            "special_tokens": counts.special_tokens,
            "separator": counts.separator,
            "documents": counts.documents,
            "invalid_bytes": counts.invalid_bytes,
        }
        parquet.write(counts.batches(_BATCH), facts, out)
    if as_json:
        drawing.as_json(
            {"out": str(out), "format": form, "unique_pretokens": len(counts), "pretokens": counts.total}
        )
        return
    click.echo(drawing.with_path(f"{len(counts):,} unique pre-tokens, {counts.total:,} in all, in ", out))


def _roles(given: tuple[str, ...]) -> dict[str, str]:
    roles = {}
    for each in given:
        role, equals, token = each.partition("=")
        if not equals or not token:
            raise click.UsageError(f"--role takes ROLE=TOKEN, such as 'pad=<|endoftext|>', not {each!r}")
        if role in roles:
            raise click.UsageError(f"--role names the {role} token twice; name it once")
        roles[role] = token
    return roles


def _written(folder: Path) -> dict[str, str]:
    """The roles of special tokens in an export for Hugging Face."""
    from merganser.formats.huggingface import CONFIG
    from merganser.formats.roles import NAMES

    config = json.loads((folder / CONFIG).read_bytes())
    return {role: config[f"{role}_token"] for role in NAMES if f"{role}_token" in config}


def _hint(tokenizer: "Tokenizer", roles: dict[str, str]) -> str:
    """How to have a pad token."""
    specials = list(tokenizer.special_tokens)
    if not specials:
        return "no pad token, so padding=True will not work: train with --special '<|pad|>' to have one"
    token = roles.get("eos", specials[-1])
    return f"no pad token, so padding=True will not work: set one with --role {shlex.quote(f'pad={token}')}"


def _template(file: Path) -> "Template":
    """The template that a file of JSON declares."""
    from merganser.chat import ChatError, Template

    try:
        declared = json.loads(file.read_bytes())
    except OSError as error:
        raise ChatError(f"cannot read the template {file}: {error.strerror}; check the path") from error
    except ValueError as error:
        raise ChatError(f"the template {file} is not JSON: {error}") from error
    known = [field.name for field in fields(Template)]
    if not isinstance(declared, dict) or not declared.keys() <= set(known):
        raise ChatError(f"the template {file} must be an object with no other names than {', '.join(known)}")
    return Template(**declared)


def _training_beside(path: Path, tokenizer: "Tokenizer") -> "CountsFile | None":
    """The counts that the tokenizer was trained on, where they lie beside it."""
    from merganser import CountsError, CountsFile

    for file in sorted((path if path.is_dir() else path.parent).glob("*.counts")):
        try:
            counts = CountsFile.open(file)
        except (CountsError, OSError):  # nobody asked for it
            continue
        if counts.pattern == tokenizer.pattern and counts.total == tokenizer.training.get("pretokens"):
            return counts
    return None
