"""Chat templates in Jinja: those that come with the models of others.

A template renders a conversation to a text. `JinjaTemplate.render` gives that text with the origin of each
character (`provenance.py`), from which `Chat` makes ids in which no text of a message is a special token.

What a template sees is plain data: strings, numbers, lists and mappings. It has no access to files, modules
or attributes of Python (`sandbox.py`), and a limited time.
"""

import dataclasses
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from merganser.chat.provenance import CONTINUED, MESSAGE, TEMPLATE, LimitError, Text, labels_of, limited
from merganser.errors import ChatError, FormatError, shortened
from merganser.extras import imported
from merganser.files import open_to_read
from merganser.formats import BadFile, gguf, gguf_metadata

FILE = "chat_template.jinja"
CONFIG = "tokenizer_config.json"
#: Other files that a folder may have, in the order in which they are read; the first template counts.
_FOLDER = "additional_chat_templates"
_PROCESSOR = "chat_template.json"
_TOKENS = "special_tokens_map.json"
_MAX_FILE = 1 << 26
#: The special tokens that a template may name.
_ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")

#: Roles are chosen by the program, not by the author of a text; templates build markers of them.
ROLES = frozenset(
    {"assistant", "developer", "function", "ipython", "model", "system", "tool", "tool_results", "user"}
)
#: What transformers calls the reasoning of a message; a template reads one of them.
_REASONING = ("reasoning_content", "thinking", "reasoning")
_GENERATION = re.compile(r"\{%[-+]?\s*generation\s*[-+]?%\}")
#: Appended to a message that is to be continued. Its white space shows whether the template trims.
_END = Text("1 ", MESSAGE | CONTINUED)
_MAX_DEPTH = 100


@dataclass(frozen=True)
class JinjaTemplate:
    """A chat template in Jinja, as Hugging Face folders and GGUF files have it.

    It is rendered in a sandbox, as transformers does it: with `tools`, `documents`, `add_generation_prompt`
    and variables of your own, `raise_exception`, `strftime_now`, `tojson`, `break` and `continue`, and
    `{% generation %}`. Needs jinja2: `pip install 'merganser[hf]'`.

    Parameters
    ----------
    source
        The template.
    special_tokens
        Special tokens by the names that the template has for them, such as "bos_token".
    tool_use
        The template to use instead if tools are passed; most models have one for both.
    allowed_special
        Added tokens that are special in messages too, such as `<think>` in training data that contains it.
        None by default.
    seconds
        How long rendering may take.
    characters
        How many characters the result, and every text on the way to it, may have.

    Raises
    ------
    ChatError
        If the template is not valid Jinja.
    ImportError
        If jinja2 is missing, or older than 3.1.6, whose sandbox had known holes.

    Examples
    --------
    >>> template = JinjaTemplate("{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}{% endfor %}")
    >>> print(template.render([{"role": "user", "content": " hi "}]))
    <|user|>hi
    """

    source: str
    special_tokens: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    tool_use: str | None = None
    allowed_special: Sequence[str] = ()
    seconds: float = 10.0
    characters: int = 1 << 24

    def __post_init__(self) -> None:
        if not isinstance(self.source, str):
            raise ChatError(f"a chat template must be a string, got {type(self.source).__name__}")
        self._compiled(self.source)
        if self.tool_use is not None:
            self._compiled(self.tool_use)

    @classmethod
    def load(cls, path: str | os.PathLike[str], name: str | None = None, **settings: Any) -> "JinjaTemplate":
        """Read the chat template of a transformers folder, a `.jinja` file or a GGUF file.

        Parameters
        ----------
        path
            The folder or file. Of a folder, `chat_template.jinja` is read, or else `tokenizer_config.json`.
        name
            Which template to use, if there are several; by default "default", and "tool_use" for tools.
        settings
            Other parameters of `JinjaTemplate`.

        Raises
        ------
        ChatError
            If there is no chat template, or none of that name.
        FormatError
            If a file cannot be read or is corrupt.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "chat_template.jinja").write_text("{{ messages[0].content }}")
        ...     JinjaTemplate.load(folder).source
        '{{ messages[0].content }}'
        """
        templates, tokens = _read(Path(path))
        if name is not None and name not in templates:
            known = ", ".join(sorted(templates)) or "none"
            raise ChatError(f"{path} has no chat template {name!r}; it has {known}")
        if not templates:
            raise ChatError(
                f"{path} has no chat template: no {FILE}, and no chat_template in {CONFIG} or in the "
                "metadata of a GGUF file; pass one as JinjaTemplate(source)"
            )
        source = templates.get(name or "default")
        if source is None:
            raise ChatError(
                f"{path} has several chat templates and none is the default; pass name=, one of "
                f"{', '.join(sorted(templates))}"
            )
        tool_use = templates.get("tool_use") if name is None else None
        return cls(source, MappingProxyType(tokens), tool_use, **settings)

    @cached_property
    def has_generation(self) -> bool:
        """Whether the template marks what the assistant must learn, with `{% generation %}`."""
        return bool(_GENERATION.search(self.source))

    @cached_property
    def literals(self) -> str:
        """All strings and text that the template itself has, with "\\0" between them."""
        sandbox = _sandbox()
        written = [sandbox.literals(source) for source in (self.source, self.tool_use) if source is not None]
        return "\0".join([*written, *self.special_tokens.values()])

    def render(
        self,
        conversation: Any,
        *,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        **variables: Any,
    ) -> str:
        """Return the text of a conversation. `Chat` encodes it; do not pass it to `encode` as it is.

        Parameters
        ----------
        conversation
            A list of messages, or a mapping with such a list as "messages".
        tools
            JSON schemas of functions, or functions, for which transformers derives the schema.
        documents
            Documents to retrieve from, each with a "title" and a "text".
        add_generation_prompt
            Whether to end with the beginning of an answer.
        continue_final_message
            Whether to end inside the last message, so that a model continues it: True for its "content", or
            the name of another field.
        variables
            Other variables of the template, such as `enable_thinking`.

        Returns
        -------
        str
            A `Text`, which has the origin of each character.

        Raises
        ------
        ChatError
            If the template refuses the conversation, fails, or exceeds a limit.
        """
        messages = _messages(conversation)
        if continue_final_message:
            if add_generation_prompt:
                raise ChatError("pass either continue_final_message or add_generation_prompt, not both")
            name = "content" if continue_final_message is True else continue_final_message
            _mark_end(messages[-1], name)
        values = {
            **{name: Text(token, TEMPLATE) for name, token in self.special_tokens.items()},
            **{name: _plain(value) for name, value in variables.items()},
            "messages": messages,
            "tools": None if tools is None else [_plain(_schema(tool)) for tool in tools],
            "documents": None if documents is None else [_plain(document) for document in documents],
            "add_generation_prompt": add_generation_prompt,
        }
        source = self.tool_use if tools is not None and self.tool_use is not None else self.source
        text = self._run(lambda: self._compiled(source).render(values))
        return _until_end(text) if continue_final_message else text

    def _run(self, render: Callable[[], Any]) -> Any:
        """Call a function with the limits of this template, and report its errors as a `ChatError`."""
        sandbox = _sandbox()
        try:
            with limited(self.seconds, self.characters):
                return render()
        except sandbox.Refused as refused:
            raise ChatError(f"the chat template refuses this conversation: {shortened(refused)}") from None
        except LimitError as error:
            raise ChatError(
                f"the chat template was stopped: {error}; check it, or raise the limits of JinjaTemplate"
            ) from None
        except RecursionError:
            raise ChatError("the chat template was stopped: it calls itself without end; check it") from None
        except ChatError:
            raise
        except sandbox.jinja2.TemplateSyntaxError as error:
            raise ChatError(
                f"the chat template is not valid Jinja: line {error.lineno}: {shortened(error.message)}"
            ) from None
        except Exception as error:  # whatever an expression of the template raises
            raise ChatError(
                f"the chat template failed: {type(error).__name__}: {shortened(error)}; check that the "
                "messages have what it reads"
            ) from error

    def _compiled(self, source: str) -> Any:
        sandbox = _sandbox()
        return self._run(lambda: sandbox.compiled(source))


def _sandbox() -> ModuleType:
    jinja2 = imported("jinja2", "hf", "a chat template in Jinja")
    version = tuple(int(part) for part in re.findall(r"\d+", jinja2.__version__)[:3])
    if version < (3, 1, 6):
        raise ImportError(
            f"a chat template needs jinja2 3.1.6 or newer, whose sandbox has no known holes, not "
            f"{jinja2.__version__}: pip install --upgrade 'merganser[hf]'"
        )
    from merganser.chat import sandbox

    return sandbox


# ── the conversation ──────────────────────────────────────────────────────────


def _messages(conversation: Any) -> list[dict[Any, Any]]:
    messages = conversation.get("messages") if isinstance(conversation, Mapping) else conversation
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise ChatError(
            "a conversation must be a list of messages, or an object with such a list as 'messages', "
            f"got {type(conversation).__name__}"
        )
    if not messages:
        raise ChatError("the conversation has no messages; add one")
    return [_message(message, nth) for nth, message in enumerate(messages, 1)]


def _message(message: Any, nth: int) -> dict[Any, Any]:
    plain = _plain(message)
    if not isinstance(plain, dict):
        raise ChatError(
            f"message {nth} must be an object with 'role' and 'content', not {type(message).__name__}"
        )
    if plain.get("role") in ROLES:
        plain["role"] = Text(plain["role"], TEMPLATE)
    reasoning = next((plain[name] for name in _REASONING if plain.get(name) is not None), None)
    if reasoning is not None:
        plain = {"thinking": reasoning, **plain, "reasoning_content": reasoning}
    return plain


def _plain(value: Any, depth: int = 0) -> Any:
    """Return plain data with all strings labeled as those of a message.

    Objects of other types, such as images, become a text that names the type, as in transformers: they may
    have methods that a template must not call.
    """
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        value = value.item()
    if depth > _MAX_DEPTH:
        raise ChatError(f"a message has more than {_MAX_DEPTH} levels of lists and objects; flatten it")
    match value:
        case str():
            return Text(str.__str__(value), MESSAGE)
        case None | bool():
            return value
        case int() | float():  # without what a subclass adds
            return int(value) if isinstance(value, int) else float(value)
        case list() | tuple():
            items = [_plain(item, depth + 1) for item in value]
            return items if isinstance(value, list) else tuple(items)
    entries = _entries(value)
    if entries is None:
        return Text(f"<{type(value).__name__}>", MESSAGE)
    return {_plain(key, depth + 1): _plain(item, depth + 1) for key, item in entries.items()}


def _entries(value: Any) -> Mapping[Any, Any] | None:
    """Return the fields of a mapping, a dataclass or a pydantic model; None for other objects."""
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {entry.name: getattr(value, entry.name) for entry in dataclasses.fields(value)}
    dump = getattr(value, "model_dump", None)
    fields = dump() if callable(dump) else None
    return fields if isinstance(fields, Mapping) else None


def _schema(tool: Any) -> Any:
    """Return the JSON schema of a tool."""
    if isinstance(tool, Mapping):
        return tool
    if callable(tool):
        utilities = imported("transformers.utils.chat_template_utils", "hf", "a function as a tool")
        try:
            return utilities.get_json_schema(tool)
        except Exception as error:  # of docstrings and annotations
            raise ChatError(f"cannot derive the JSON schema of a tool: {shortened(error)}") from error
    raise ChatError(f"a tool must be a JSON schema or a function, not {type(tool).__name__}")


def _mark_end(message: dict[Any, Any], name: str) -> None:
    """Append a mark to the text of the last message that is to be continued."""
    value = message.get(name)
    if isinstance(value, str):
        fields = [other for other in _REASONING if message.get(other) == value] if name in _REASONING else []
        for other in fields or [name]:
            message[other] = message[other] + _END
        return
    if isinstance(value, list | tuple):
        for part in reversed(value):
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                part["text"] = part["text"] + _END
                return
    raise ChatError(
        f"the last message has no text as {name!r} to be continued; leave out continue_final_message"
    )


def _until_end(text: Text) -> Text:
    """Return the text up to the mark, without white space if the template has trimmed the message."""
    labels = labels_of(text)
    marks = [at for at, label in enumerate(labels) if label & CONTINUED and str.__getitem__(text, at) == "1"]
    if not marks:
        raise ChatError(
            "the chat template does not show the end of the last message, so it cannot be continued; check "
            "that it uses this field"
        )
    at = marks[-1]
    kept = at + 1 < len(text) and labels[at + 1] & CONTINUED
    return text[:at] if kept else text[:at].rstrip()


# ── files ─────────────────────────────────────────────────────────────────────


def _read(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the templates by name, and the special tokens by their names."""
    if not path.is_dir():
        data = _bytes(path)
        if data.startswith(gguf.MAGIC):
            return _from_gguf(path, data)
        if path.suffix == ".jinja":
            return {"default": _decoded(path, data)}, _tokens_beside(path.parent)
        path = path.parent
    templates = _from_folder(path)
    if not templates and len(files := sorted(path.glob("*.gguf"))) == 1:
        return _from_gguf(files[0], _bytes(files[0]))
    return templates, _tokens_beside(path)


def _from_folder(folder: Path) -> dict[str, str]:
    templates: dict[str, str] = {}
    for file in sorted((folder / _FOLDER).glob("*.jinja")):
        templates[file.stem] = _decoded(file, _bytes(file))
    if (file := folder / FILE).is_file():
        return templates | {"default": _decoded(file, _bytes(file))}
    for name in (CONFIG, _PROCESSOR):
        listed = _json(folder / name).get("chat_template")
        if isinstance(listed, str):
            return templates | {"default": listed}
        if isinstance(listed, list):
            named = {
                entry["name"]: entry["template"]
                for entry in listed
                if isinstance(entry, dict)
                and isinstance(entry.get("name"), str)
                and isinstance(entry.get("template"), str)
            }
            if len(named) != len(listed):
                raise FormatError(
                    f"{folder / name} is corrupt: a chat template has no name; get a fresh copy"
                )
            return templates | named
        if listed is not None:
            raise FormatError(f"{folder / name} is corrupt: its chat_template is no string; get a fresh copy")
    return templates


def _tokens_beside(folder: Path) -> dict[str, str]:
    """Return the special tokens that `tokenizer_config.json` names, or else `special_tokens_map.json`."""
    entries = _json(folder / _TOKENS) | _json(folder / CONFIG)
    tokens = {}
    for role in _ROLES:
        token = entries.get(f"{role}_token")
        content = token.get("content") if isinstance(token, dict) else token
        if isinstance(content, str):
            tokens[f"{role}_token"] = content
    return tokens


def _from_gguf(path: Path, data: bytes) -> tuple[dict[str, str], dict[str, str]]:
    tokens_key = "tokenizer.ggml.tokens"
    try:
        metadata = gguf_metadata.parse(data, (tokens_key,))
    except BadFile as bad:
        raise FormatError(f"{path} {bad}") from None
    templates = {}
    prefix = "tokenizer.chat_template"
    for key, value in metadata.items():
        if isinstance(value, str) and (key == prefix or key.startswith(f"{prefix}.")):
            templates[key.removeprefix(prefix).removeprefix(".") or "default"] = value
    spelled = metadata.get(tokens_key) or []
    tokens = {}
    for role in _ROLES:
        id = metadata.get(f"tokenizer.ggml.{'unknown' if role == 'unk' else role}_token_id")
        if isinstance(id, int) and id < len(spelled):
            tokens[f"{role}_token"] = spelled[id]
    return templates, tokens


def _json(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        value = json.loads(_bytes(file))
    except (ValueError, RecursionError):
        raise FormatError(f"{file} is corrupt: it is not JSON; get a fresh copy") from None
    if not isinstance(value, dict):
        raise FormatError(f"{file} is corrupt: it is not a JSON object; get a fresh copy")
    return value


def _decoded(file: Path, data: bytes) -> str:
    try:
        # As Python opens a file: all line ends become \n.
        return data.decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise FormatError(f"{file} is corrupt: it is not UTF-8; get a fresh copy") from None


def _bytes(file: Path) -> bytes:
    try:
        with open_to_read(file) as opened:
            data: bytes = opened.read(len(gguf.MAGIC))
            limit = gguf.MAX_HEADER_BYTES if data == gguf.MAGIC else _MAX_FILE
            data += opened.read(limit)
    except OSError as error:
        raise FormatError(f"cannot read {file}: {error.strerror}; check the path") from error
    return data
