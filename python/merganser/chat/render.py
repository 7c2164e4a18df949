"""Chat: a conversation becomes ids, and a mask that is 1 on what the assistant must learn.

Learnt are the assistant's text, its calls of Python with their markers, and the end of its turn; not learnt
are what the user says, what Python answers, and `assistant_start`, which is given to the model. What people
and tools write is always encoded as ordinary text: "<|bos|>" in a message is seven characters, never a token.

Every text is encoded once, so that a conversation costs what its text costs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from merganser.chat.show import Shown
from merganser.chat.template import NANOCHAT, Template
from merganser.errors import ChatError, SettingsError
from merganser.tokenizer import Tokenizer

#: A list of messages, or an object with one as "messages". A message has a "role" (system, user, assistant)
#: and a "content": a string or, from the assistant, a list of parts {"type": …, "text": …} of PART_TYPES.
Conversation = Sequence[Mapping[str, Any]] | Mapping[str, Any]

PART_TYPES = ("text", "python", "python_output")


@dataclass(frozen=True)
class Chat:
    """Renders conversations for a tokenizer that has the special tokens of the template.

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
                "special_tokens=template.special_tokens, or name those that it has in a Template"
            )
        markers = {
            name: known[token] for name, token in vars(self.template).items() if name != "system_joint"
        }
        object.__setattr__(self, "_markers", markers)

    def render(
        self, conversation: Conversation, max_tokens: int | None = 2048
    ) -> tuple[list[int], list[int]]:
        """The ids of a conversation, and as long a mask: 1 on what the assistant must learn, else 0.

        max_tokens: what comes after so many tokens is cut off; None for no limit.

        A leading system message becomes part of the first user message. After that, user and assistant
        alternate, the user first. Parts of text that follow each other are one text.
        """
        if max_tokens is not None and max_tokens < 1:
            raise SettingsError(f"max_tokens must be at least 1, or None for no limit, not {max_tokens}")
        ids = [self._markers["bos"]]
        mask = [0]
        for what, text, learnt in self._stretches(_turns(conversation, self.template.system_joint)):
            new = [self._markers[what]] if text is None else self.tokenizer.encode_ordinary(text)
            ids += new
            mask += [learnt] * len(new)
            if max_tokens is not None and len(ids) >= max_tokens:
                break
        return ids[:max_tokens], mask[:max_tokens]

    def render_prompt(self, conversation: Conversation) -> list[int]:
        """The ids of a conversation for the model to go on with: it ends with the start of an answer.

        Nothing is cut off; the last message must be the user's.
        """
        turns = _turns(conversation, self.template.system_joint)
        if len(turns) % 2 == 0:
            raise ChatError(
                "a prompt ends with a message of the user, and this one with an answer; leave the answer out"
            )
        ids, _ = self.render(conversation, max_tokens=None)
        return [*ids, self._markers["assistant_start"]]

    def show(self, ids: Sequence[int], mask: Sequence[int], with_ids: bool = False) -> Shown:
        """The tokens for people to look at, green where they are learnt and red where not.

        `print` it for the terminal; a notebook shows it by itself, from its `html`.
        """
        return Shown.of(self.tokenizer, ids, mask, with_ids)

    def _stretches(self, turns: "list[Turn]") -> Iterator[tuple[str, str | None, int]]:
        """A marker's name, or "text" and the text; and whether it is learnt."""
        for role, parts in turns:
            learnt = int(role == "assistant")
            yield f"{role}_start", None, 0
            for kind, text in parts:
                if kind == "text":
                    yield "text", text, learnt
                else:
                    name = "python" if kind == "python" else "output"
                    learnt_part = int(kind == "python")
                    yield f"{name}_start", None, learnt_part
                    yield "text", text, learnt_part
                    yield f"{name}_end", None, learnt_part
            yield f"{role}_end", None, learnt


#: A role, and the kind and the text of every part.
Turn = tuple[str, list[tuple[str, str]]]


def _turns(conversation: Conversation, system_joint: str) -> list[Turn]:
    """The conversation, checked, and with the system message in its place."""
    messages = conversation.get("messages") if isinstance(conversation, Mapping) else conversation
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise ChatError("a conversation is a list of messages, or an object with such a list as 'messages'")
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
        raise ChatError("the conversation has no user message; nothing can be rendered without one")
    return turns


def _string(content: object, whose: str) -> str:
    if not isinstance(content, str):
        raise ChatError(f"{whose} must be a string, not {type(content).__name__}")
    return content


def _parts(content: object, nth: int) -> list[tuple[str, str]]:
    """What an assistant says; neighbouring texts are joined, as a reader of the whole would see them."""
    if isinstance(content, str):
        return [("text", content)]
    if not isinstance(content, Sequence) or isinstance(content, bytes):
        raise ChatError(
            f"message {nth}, the assistant's, must be a string or a list of parts, "
            f"not {type(content).__name__}"
        )
    parts: list[tuple[str, str]] = []
    for place, part in enumerate(content, 1):
        if not isinstance(part, Mapping) or not {"type", "text"} <= part.keys():
            raise ChatError(f"part {place} of message {nth} must be an object with 'type' and 'text'")
        kind = part["type"]
        if kind not in PART_TYPES:
            raise ChatError(
                f"part {place} of message {nth} is of type {kind!r}; "
                f"it must be one of {', '.join(PART_TYPES)}"
            )
        text = _string(part["text"], f"the text of part {place} of message {nth}")
        if kind == "text" and parts and parts[-1][0] == "text":
            text = parts.pop()[1] + text
        parts.append((kind, text))
    return parts
