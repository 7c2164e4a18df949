"""merganser export"""

import json
import shlex
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from merganser.cli import formatting, naming, options, progress
from merganser.cli.suggestions import Choice
from merganser.cli.verbosity import add_verbosity
from merganser.corpus.addresses import Address

if TYPE_CHECKING:
    from merganser import CountsFile, Tokenizer
    from merganser.chat import Template
    from merganser.exporting import ExportFormat

#: As in `merganser.exporting`, which --help does not import.
_FOR_TOKENIZERS = ["tiktoken", "huggingface", "gpt2", "minbpe", "gguf", "sentencepiece", "token-lengths"]
_FOR_COUNTS = ["tsv", "parquet"]

#: The number of pre-tokens in a Parquet row group.
_BATCH = 1 << 17


@click.command(epilog=naming.HELP)
@click.argument("name", type=naming.TOKENIZER, metavar="TOKENIZER|COUNTS")
@click.option(
    "--to",
    "format",
    type=Choice([*_FOR_TOKENIZERS, *_FOR_COUNTS]),
    metavar="FORMAT",
    required=True,
    help="Output format: tsv or parquet for counts, the others for tokenizers.",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File or folder to write.")
@click.option(
    "--on",
    multiple=True,
    type=Address,
    metavar="CORPUS",
    help="Training corpus, text or .counts, to verify the export on. Default: the training counts next to "
    "the tokenizer, if any.",
)
@click.option(
    "--chat",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help='For huggingface: JSON with the special tokens of the chat template, such as {"bos": "<s>"}. '
    "Missing keys default to nanochat's tokens.",
)
@click.option(
    "--role",
    "roles",
    multiple=True,
    metavar="ROLE=TOKEN",
    help="For huggingface: special token to use as bos, eos, unk, sep, pad, cls or mask. Default: tokens "
    "with well-known names, such as <|pad|>. Repeatable.",
)
@add_verbosity
@options.as_json
@naming.revision
def command(
    name: naming.TokenizerName,
    format: str,
    out: Path,
    on: tuple[Address, ...],
    chat: Path | None,
    roles: tuple[str, ...],
    as_json: bool,
) -> None:
    """Export a tokenizer or counts for use with other libraries.

    \b
    tiktoken       a tiktoken plug-in, or a rank file if --out ends in .tiktoken
    huggingface    a folder for AutoTokenizer
    gpt2           a folder with vocab.json and merges.txt
    minbpe         .model and .vocab
    gguf           a vocabulary for llama.cpp
    sentencepiece  tokenizer.model, for tokenizers of SentencePiece's kind
    token-lengths  the length of every token in bytes, as .npy or .pt
    tsv, parquet   the pre-tokens of a .counts file, sorted by bytes

    Before a tokenizer is written, its ids are verified against tiktoken or Hugging Face, or against our own
    reader for other formats: on adversarial texts, its tokens, and the most frequent pre-tokens of its
    training.

    Example: merganser export merganser-out --to huggingface --out hf-out
    """
    from merganser import CountsFile, SettingsError
    from merganser.counts import parquet, tsv
    from merganser.files import check_file

    if format in _FOR_TOKENIZERS:
        tokenizer = name.load()
        pretokens = on or (name.path and _training_counts(name.path, tokenizer))
        template = None if chat is None else _template(chat)
        with progress.bars() as draw:
            written = tokenizer.export(
                out,
                format=cast("ExportFormat", format),
                on=pretokens,
                chat=template,
                roles=_roles(roles),
                progress=draw,
            )
        files = [str(file) for file in written]
        facts: dict[str, Any] = {"out": str(out), "format": format, "files": files}
        facts |= _how_to_load(format, out, files)
        if as_json:
            formatting.print_json(facts)
            return
        for file in files:
            click.echo(formatting.with_path("wrote ", file))
        if format == "huggingface":
            click.echo(facts["load"])
            if "pad" not in facts["roles"]:
                click.echo(_pad_hint(tokenizer, facts["roles"]))
        elif format == "minbpe":
            model = json.dumps(next(file.name for file in written if file.suffix == ".model"))
            click.echo("minbpe's load() ignores line 2 of the file, the pattern; pass it yourself:")
            click.echo(f"tokenizer = RegexTokenizer(open({model}).readlines()[1].strip())")
            click.echo(f"tokenizer.load({model})")
        return
    if on or chat or roles:
        raise click.UsageError("--on, --chat and --role apply to tokenizers, not to counts")
    if name.path is None or name.path.suffix != ".counts":
        raise SettingsError(f"{format} is a format for counts; pass a .counts file, not {name.written}")
    counts = CountsFile.open(name.path)
    check_file(out, "choose another --out")
    if format == "tsv":
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
        formatting.print_json(
            {"out": str(out), "format": format, "unique_pretokens": len(counts), "pretokens": counts.total}
        )
        return
    click.echo(formatting.with_path(f"{len(counts):,} unique pre-tokens, {counts.total:,} in total: ", out))


def _how_to_load(format: str, out: Path, files: list[str]) -> dict[str, Any]:
    if format == "huggingface":
        load = f"AutoTokenizer.from_pretrained({json.dumps(str(out))})"
        return {"load": load, "roles": _exported_roles(out)}
    if format == "minbpe":
        model = json.dumps(next(file for file in files if file.endswith(".model")))
        pattern = f"open({model}).readlines()[1].strip()"
        return {"load": f"tokenizer = RegexTokenizer({pattern}); tokenizer.load({model})"}
    return {}


def _roles(given: tuple[str, ...]) -> dict[str, str]:
    roles = {}
    for argument in given:
        role, equals, token = argument.partition("=")
        if not equals or not token:
            raise click.UsageError(f"--role takes ROLE=TOKEN, such as 'pad=<|endoftext|>', got {argument!r}")
        if role in roles:
            raise click.UsageError(f"--role sets the {role} token twice; set it once")
        roles[role] = token
    return roles


def _exported_roles(folder: Path) -> dict[str, str]:
    """Read the roles of special tokens from a Hugging Face export."""
    from merganser.formats.huggingface import CONFIG
    from merganser.formats.roles import NAMES

    config = json.loads((folder / CONFIG).read_bytes())
    return {role: config[f"{role}_token"] for role in NAMES if f"{role}_token" in config}


def _pad_hint(tokenizer: "Tokenizer", roles: dict[str, str]) -> str:
    """Say how to add a pad token."""
    specials = list(tokenizer.special_tokens)
    if not specials:
        return "no pad token, so padding=True will not work; train with --special '<|pad|>' to add one"
    token = roles.get("eos", specials[-1])
    return f"no pad token, so padding=True will not work; set one with --role {shlex.quote(f'pad={token}')}"


def _template(file: Path) -> "Template":
    """Read a chat template from a JSON file."""
    from merganser.chat import ChatError, Template

    try:
        declared = json.loads(file.read_bytes())
    except OSError as error:
        raise ChatError(f"cannot read the chat template {file}: {error.strerror}; check the path") from error
    except ValueError as error:
        raise ChatError(f"the chat template {file} is not valid JSON: {error}") from error
    known = [field.name for field in fields(Template)]
    if not isinstance(declared, dict) or not declared.keys() <= set(known):
        raise ChatError(f"the chat template {file} must be a JSON object with keys among {', '.join(known)}")
    return Template(**declared)


def _training_counts(path: Path, tokenizer: "Tokenizer") -> "CountsFile | None":
    """Find the counts that the tokenizer was trained on, next to it."""
    from merganser import CountsError, CountsFile

    for file in sorted((path if path.is_dir() else path.parent).glob("*.counts")):
        try:
            counts = CountsFile.open(file)
        except (CountsError, OSError):  # the user did not name it
            continue
        if counts.pattern == tokenizer.pattern and counts.total == tokenizer.training.get("pretokens"):
            return counts
    return None
