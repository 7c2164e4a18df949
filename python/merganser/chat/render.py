"""Render a conversation as ids with a loss mask, which is 1 for the tokens that the assistant must learn.

These are the assistant's text, its Python calls with their markers, and the end of its turn. The mask is 0
for user messages, for the output of Python, and for `assistant_start`, which the prompt provides. Messages
and tool output are always encoded as ordinary text: "<|bos|>" in a message is seven characters, never a
special token.

Every text is encoded once, so the cost is that of encoding the text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from merganser.chat.masked_tokens import MaskedTokens
from merganser.chat.template import NANOCHAT, Template
from merganser.errors import ChatError, SettingsError
from merganser.tokenizer import Tokenizer

#: A list of messages, or a mapping with such a list as "messages". A message has a "role" (system, user,
#: assistant) and a "content": a string or, for the assistant, a list of parts {"type": …, "text": …} with a
#: type of PART_TYPES.
Conversation = Sequence[Mapping[str, Any]] | Mapping[str, Any]

PART_TYPES = ("text", "python", "python_output")


@dataclass(frozen=True)
class Chat:
    """Renders conversations with a tokenizer that has the special tokens of a template.

    Parameters
    ----------
    tokenizer
        The tokenizer to encode with.
    template
        The special tokens that mark the parts of a conversation.

    Raises
    ------
    ChatError
        If the tokenizer lacks a special token of the template.

    Examples
    --------
    >>> import merganser
    >>> chat = Chat(merganser.train(["hi"], 265, special_tokens=NANOCHAT.special_tokens))
    >>> chat.render_prompt([{"role": "user", "content": "hi"}])
    [256, 257, 104, 105, 258, 259]
    """

    tokenizer: Tokenizer
    template: Template = NANOCHAT
    _markers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        known = self.tokenizer.special_tokens
        missing = [token for token in self.template.special_tokens if token not in known]
        if missing:
            raise ChatError(
                f"the tokenizer lacks the special tokens {', '.join(missing)}; train it with "
                "special_tokens=template.special_tokens, or pass a Template with the special tokens it has"
            )
        markers = {
            name: known[token] for name, token in vars(self.template).items() if name != "system_joint"
        }
        object.__setattr__(self, "_markers", markers)

    def render(
        self, conversation: Conversation, max_tokens: int | None = 2048
    ) -> tuple[list[int], list[int]]:
        """Return the ids of a conversation and its loss mask.

        A leading system message becomes part of the first user message. After that, user and assistant
        alternate, beginning with the user. Consecutive text parts are joined.

        Parameters
        ----------
        conversation
            The messages.
        max_tokens
            Truncate to this number of tokens; None for no limit.

        Returns
        -------
        tuple[list[int], list[int]]
            The ids, and a mask of the same length: 1 for tokens that the assistant must learn, else 0.

        Raises
        ------
        ChatError
            If the conversation is invalid.
        SettingsError
            If `max_tokens` is less than 1.

        Examples
        --------
        >>> import merganser
        >>> chat = Chat(merganser.train(["hi"], 265, special_tokens=NANOCHAT.special_tokens))
        >>> chat.render([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
        ([256, 257, 97, 258, 259, 98, 260], [0, 0, 0, 0, 0, 1, 1])
        """
        if max_tokens is not None and max_tokens < 1:
            raise SettingsError(f"max_tokens must be at least 1, or None for no limit, got {max_tokens}")
        ids = [self._markers["bos"]]
        mask = [0]
        for name, text, learned in self._segments(_turns(conversation, self.template.system_joint)):
            new = [self._markers[name]] if text is None else self.tokenizer.encode_ordinary(text)
            ids += new
            mask += [learned] * len(new)
            if max_tokens is not None and len(ids) >= max_tokens:
                break
        return ids[:max_tokens], mask[:max_tokens]

    def render_prompt(self, conversation: Conversation) -> list[int]:
        """Return the ids of a conversation that a model can continue, ending with `assistant_start`.

        The prompt is never truncated.

        Parameters
        ----------
        conversation
            The messages; the last must be the user's.

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
        turns = _turns(conversation, self.template.system_joint)
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


def _turns(conversation: Conversation, system_joint: str) -> list[Turn]:
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
            turns.append((role, _parts(content, nth)))
    if not turns:
        raise ChatError("the conversation has no user message; add one")
    return turns


def _string(content: object, whose: str) -> str:
    if not isinstance(content, str):
        raise ChatError(f"{whose} must be a string, not {type(content).__name__}")
    return content


def _parts(content: object, nth: int) -> list[tuple[str, str]]:
    """Return the parts of an assistant message, with consecutive text parts joined."""
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
        if kind == "text" and parts and parts[-1][0] == "text":
            text = parts.pop()[1] + text
        parts.append((kind, text))
    return parts
