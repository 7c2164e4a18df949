"""Render a conversation as ids with a loss mask, which is 1 for the tokens that the assistant must learn.

These are the assistant's text, its Python calls with their markers, and the end of its turn. The mask is 0
for user messages, for the output of Python, and for `assistant_start`, which the prompt provides. Messages
and tool output are always encoded as ordinary text: "<|bos|>" in a message is seven characters, never a
special token.

With the Jinja template of a model (`jinja.py`), the mask is 1 in its generation blocks, and the ids are those
of transformers, except that text never becomes a special token there either (`guarding.py`).

Every text is encoded once, so the cost is that of encoding the text.
"""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from merganser.chat.guarding import Guard
from merganser.chat.jinja import JinjaTemplate
from merganser.chat.masked_tokens import MaskedTokens
from merganser.chat.template import NANOCHAT, Template
from merganser.errors import ArgumentError, ChatError, MerganserWarning, SettingsError
from merganser.formats.loading import load
from merganser.tokenizer import Tokenizer

#: A list of messages, or a mapping with such a list as "messages". A message has a "role" (system, user,
#: assistant) and a "content": a string or, for the assistant, a list of parts {"type": …, "text": …} with a
#: type of PART_TYPES.
Conversation = Sequence[Mapping[str, Any]] | Mapping[str, Any]

PART_TYPES = ("text", "python", "python_output")


@dataclass(frozen=True)
class Chat:
    """Renders conversations with a tokenizer and a template.

    Parameters
    ----------
    tokenizer
        The tokenizer to encode with.
    template
        The special tokens that mark the parts of a conversation, or a chat template in Jinja.
    join_text_parts
        Whether consecutive text parts of a message are joined and encoded as one text, as a text template
        does; nanochat encodes each by itself.

    Raises
    ------
    ChatError
        If the tokenizer lacks a special token of a `Template`, or one that a `JinjaTemplate` allows.

    Examples
    --------
    >>> import merganser
    >>> chat = Chat(merganser.train(["hi"], 265, special_tokens=NANOCHAT.special_tokens))
    >>> chat.render_prompt([{"role": "user", "content": "hi"}])
    [256, 257, 104, 105, 258, 259]
    """

    tokenizer: Tokenizer
    template: Template | JinjaTemplate = NANOCHAT
    join_text_parts: bool = True
    _markers: dict[str, int] = field(init=False, repr=False, compare=False)
    _guard: Guard | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        guard = None
        if isinstance(self.template, JinjaTemplate):
            guard = Guard(self.tokenizer, self.template.literals, self.template.allowed_special)
        object.__setattr__(self, "_guard", guard)
        object.__setattr__(self, "_markers", {} if guard else self._checked_markers())

    @classmethod
    def load(cls, path: str | os.PathLike[str], name: str | None = None, **settings: Any) -> "Chat":
        """Load a tokenizer together with its chat template: a transformers folder or a GGUF file.

        Parameters
        ----------
        path
            The folder or file.
        name
            Which chat template to use, if there are several; see `JinjaTemplate.load`.
        settings
            Other parameters of `JinjaTemplate`.

        Raises
        ------
        ChatError
            If there is no chat template.
        FormatError
            If the tokenizer or the template cannot be read.
        ImportError
            If jinja2 is missing.

        Examples
        --------
        >>> import merganser, tempfile
        >>> tokenizer = merganser.train(["hi"], 265, special_tokens=NANOCHAT.special_tokens)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = tokenizer.export(folder, format="huggingface")
        ...     chat = Chat.load(folder)
        >>> chat.render_prompt([{"role": "user", "content": "hi"}])
        [256, 257, 104, 105, 258, 259]
        """
        return cls(load(path), JinjaTemplate.load(path, name, **settings))

    def _checked_markers(self) -> dict[str, int]:
        """Return the id of each marker of a `Template`."""
        assert isinstance(self.template, Template)
        known = self.tokenizer.special_tokens
        missing = [token for token in self.template.special_tokens if token not in known]
        if missing:
            raise ChatError(
                f"the tokenizer lacks the special tokens {', '.join(missing)}; train it with "
                "special_tokens=template.special_tokens, or pass a Template with the special tokens it has"
            )
        return {name: known[token] for name, token in vars(self.template).items() if name != "system_joint"}

    def render(
        self, conversation: Conversation, max_tokens: int | None = 2048, **variables: Any
    ) -> tuple[list[int], list[int]]:
        """Return the ids of a conversation and its loss mask.

        With a `Template`, a leading system message becomes part of the first user message. After that, user
        and assistant alternate, beginning with the user. A `JinjaTemplate` decides for itself.

        Parameters
        ----------
        conversation
            The messages.
        max_tokens
            Truncate to this number of tokens; None for no limit.
        variables
            With a `JinjaTemplate`: `tools`, `documents` and other arguments of `JinjaTemplate.render`.

        Returns
        -------
        tuple[list[int], list[int]]
            The ids, and a mask of the same length: 1 for tokens that the assistant must learn, else 0.

        Raises
        ------
        ChatError
            If the conversation is invalid, or a `JinjaTemplate` fails on it.
        SettingsError
            If `max_tokens` is less than 1.

        Warns
        -----
        MerganserWarning
            If a `JinjaTemplate` has no generation blocks, so that the mask is 0 everywhere.

        Examples
        --------
        >>> import merganser
        >>> chat = Chat(merganser.train(["hi"], 265, special_tokens=NANOCHAT.special_tokens))
        >>> chat.render([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
        ([256, 257, 97, 258, 259, 98, 260], [0, 0, 0, 0, 0, 1, 1])
        """
        if max_tokens is not None and max_tokens < 1:
            raise SettingsError(f"max_tokens must be at least 1, or None for no limit, got {max_tokens}")
        if isinstance(self.template, JinjaTemplate):
            if not self.template.has_generation:
                warnings.warn(
                    "this chat template has no {% generation %} blocks, so the mask is 0 everywhere; add "
                    "them around what the assistant must learn",
                    MerganserWarning,
                    stacklevel=2,
                )
            ids, mask = self._encoded(conversation, variables)
            return ids[:max_tokens], mask[:max_tokens]
        self._refuse(variables)
        ids = [self._markers["bos"]]
        mask = [0]
        for name, text, learned in self._segments(self._turns(conversation)):
            new = [self._markers[name]] if text is None else self.tokenizer.encode_ordinary(text)
            ids += new
            mask += [learned] * len(new)
            if max_tokens is not None and len(ids) >= max_tokens:
                break
        return ids[:max_tokens], mask[:max_tokens]

    def render_prompt(self, conversation: Conversation, **variables: Any) -> list[int]:
        """Return the ids of a conversation that a model can continue, ending with `assistant_start`.

        The prompt is never truncated.

        Parameters
        ----------
        conversation
            The messages; the last must be the user's, unless a `JinjaTemplate` accepts others.
        variables
            With a `JinjaTemplate`: `tools`, `documents` and other arguments of `JinjaTemplate.render`. With
            `continue_final_message=True`, the prompt ends inside the last message.

        Raises
        ------
        ChatError
            If the conversation is invalid, or does not end with a user message.

        Examples
        --------
        >>> import merganser
        >>> chat = Chat(merganser.train(["hi"], 265, special_tokens=NANOCHAT.special_tokens))
        >>> chat.render_prompt([{"role": "user", "content": "a"}])
        [256, 257, 97, 258, 259]
        """
        if isinstance(self.template, JinjaTemplate):
            variables.setdefault("add_generation_prompt", not variables.get("continue_final_message"))
            return self._encoded(conversation, variables)[0]
        self._refuse(variables)
        turns = self._turns(conversation)
        if len(turns) % 2 == 0:
            raise ChatError("a prompt must end with a user message; remove the last assistant message")
        ids, _ = self.render(conversation, max_tokens=None)
        return [*ids, self._markers["assistant_start"]]

    def show(self, ids: Sequence[int], mask: Sequence[int], with_ids: bool = False) -> MaskedTokens:
        """Return the tokens for display: green if learned, red if not.

        `print` the result in a terminal; notebooks display its `html`.

        Parameters
        ----------
        ids, mask
            The ids and the mask, as returned by `render`.
        with_ids
            Whether to display the ids too.

        Raises
        ------
        ChatError
            If `ids` and `mask` differ in length.
        """
        return MaskedTokens.of(self.tokenizer, ids, mask, with_ids)

    def _encoded(self, conversation: Conversation, variables: dict[str, Any]) -> tuple[list[int], list[int]]:
        assert isinstance(self.template, JinjaTemplate) and self._guard is not None
        return self._guard.encode(self.template.render(conversation, **variables))

    def _refuse(self, variables: dict[str, Any]) -> None:
        if variables:
            raise ArgumentError(
                f"{min(variables)!r} is for chat templates in Jinja; leave it out, or pass a JinjaTemplate"
            )

    def _turns(self, conversation: Conversation) -> "list[Turn]":
        assert isinstance(self.template, Template)
        return _turns(conversation, self.template.system_joint, self.join_text_parts)

    def _segments(self, turns: "list[Turn]") -> Iterator[tuple[str, str | None, int]]:
        """Yield the name of a marker and None, or "text" and the text; and whether it is learned."""
        for role, parts in turns:
            learned = int(role == "assistant")
            yield f"{role}_start", None, 0
            for kind, text in parts:
                if kind == "text":
                    yield "text", text, learned
                else:
                    name = "python" if kind == "python" else "output"
                    learned_part = int(kind == "python")
                    yield f"{name}_start", None, learned_part
                    yield "text", text, learned_part
                    yield f"{name}_end", None, learned_part
            yield f"{role}_end", None, learned


#: A role, and the type and text of every part.
Turn = tuple[str, list[tuple[str, str]]]


def _turns(conversation: Conversation, system_joint: str, join_text: bool) -> list[Turn]:
    """Return the validated turns, with the system message joined to the first user message."""
    messages = conversation.get("messages") if isinstance(conversation, Mapping) else conversation
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise ChatError(
            "a conversation must be a list of messages, or an object with such a list as 'messages', "
            f"got {type(conversation).__name__}"
        )
    turns: list[Turn] = []
    system: str | None = None
    for nth, message in enumerate(messages, 1):
        if not isinstance(message, Mapping) or not {"role", "content"} <= message.keys():
            raise ChatError(f"message {nth} must be an object with 'role' and 'content'")
        role, content = message["role"], message["content"]
        if role == "system" and nth == 1:
            system = _string(content, "message 1, the system's,")
            continue
        expected = "assistant" if len(turns) % 2 else "user"
        if role != expected:
            raise ChatError(
                f"message {nth} must be from {expected!r}, not from {role!r}: after an optional 'system', "
                "'user' and 'assistant' alternate"
            )
        if role == "user":
            text = _string(content, f"message {nth}, the user's,")
            if system is not None:
                text, system = system + system_joint + text, None
            turns.append((role, [("text", text)]))
        else:
            turns.append((role, _parts(content, nth, join_text)))
    if not turns:
        raise ChatError("the conversation has no user message; add one")
    return turns


def _string(content: object, whose: str) -> str:
    if not isinstance(content, str):
        raise ChatError(f"{whose} must be a string, not {type(content).__name__}")
    return content


def _parts(content: object, nth: int, join_text: bool) -> list[tuple[str, str]]:
    """Return the parts of an assistant message, with consecutive text parts joined if requested."""
    if isinstance(content, str):
        return [("text", content)]
    if not isinstance(content, Sequence) or isinstance(content, bytes):
        raise ChatError(
            f"message {nth}, the assistant's, must be a string or a list of parts, "
            f"not {type(content).__name__}"
        )
    parts: list[tuple[str, str]] = []
    for index, part in enumerate(content, 1):
        if not isinstance(part, Mapping) or not {"type", "text"} <= part.keys():
            raise ChatError(f"part {index} of message {nth} must be an object with 'type' and 'text'")
        kind = part["type"]
        if kind not in PART_TYPES:
            raise ChatError(
                f"part {index} of message {nth} is of type {kind!r}; "
                f"it must be one of {', '.join(PART_TYPES)}"
            )
        text = _string(part["text"], f"the text of part {index} of message {nth}")
        if join_text and kind == "text" and parts and parts[-1][0] == "text":
            text = parts.pop()[1] + text
        parts.append((kind, text))
    return parts
