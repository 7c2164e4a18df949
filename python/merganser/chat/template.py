"""The special tokens that mark the parts of a conversation. A template is data; `Chat` renders it.

    bos (user_start text user_end assistant_start answer assistant_end)…

    answer = text, or parts: text | python_start call python_end | output_start result output_end

The layout and the names of the nine tokens are nanochat's. Each marker is one special token: text never
merges with a marker, so a conversation rendered as a string (Jinja) has the same ids as one rendered as ids.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields

from merganser.errors import ChatError


@dataclass(frozen=True)
class Template:
    """The special tokens of a conversation; nanochat's by default.

    Parameters
    ----------
    bos
        The first token of a conversation.
    user_start, user_end, assistant_start, assistant_end
        The tokens around user and assistant messages.
    python_start, python_end, output_start, output_end
        The tokens around Python calls and their output.
    system_joint
        The text between a leading system message and the first user message, which are joined.

    Raises
    ------
    ChatError
        If a special token is empty or not a string.

    Examples
    --------
    >>> Template(bos="<s>", user_end="<end>", assistant_end="<end>").special_tokens[:3]
    ('<s>', '<|user_start|>', '<end>')
    """

    bos: str = "<|bos|>"
    user_start: str = "<|user_start|>"
    user_end: str = "<|user_end|>"
    assistant_start: str = "<|assistant_start|>"
    assistant_end: str = "<|assistant_end|>"
    python_start: str = "<|python_start|>"
    python_end: str = "<|python_end|>"
    output_start: str = "<|output_start|>"
    output_end: str = "<|output_end|>"
    system_joint: str = "\n\n"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, str) or not (value or field.name == "system_joint"):
                raise ChatError(
                    f"{field.name} of a template must be a non-empty string, the name of a special token, "
                    f"got {value!r}"
                )

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """The unique special tokens in order of the fields, to train a tokenizer with."""
        return tuple(dict.fromkeys(astuple(self)[:-1]))

    def to_jinja(self, special_tokens: Iterable[str] = ()) -> str:
        """Return the equivalent Hugging Face chat template, where `{% generation %}` marks learned text.

        It accepts and refuses the same conversations as `Chat.render`. It renders a string in which special
        tokens are special, so it also refuses text that contains one, which `Chat` renders as ordinary text.

        Parameters
        ----------
        special_tokens
            All special tokens of the tokenizer, if it has more than the template.

        Raises
        ------
        ChatError
            If text next to a marker could form a special token with it, as with "<a>" and "<a>b".

        Examples
        --------
        >>> "<|user_start|>" in Template().to_jinja()
        True
        """
        specials = tuple(dict.fromkeys([*self.special_tokens, *special_tokens]))
        self._check_markers_stay_whole(specials)
        values = {**vars(self), "specials": specials}
        # Jinja strings are Python strings, and JSON strings without surrogate escapes are valid in both.
        return re.sub(r"\$(\w+)\$", lambda name: json.dumps(values[name[1]], ensure_ascii=False), _JINJA)

    def _check_markers_stay_whole(self, specials: tuple[str, ...]) -> None:
        """Raise a `ChatError` if text next to a marker could form a special token with it."""
        for special in specials:
            for marker in self.special_tokens:
                within = marker != special and marker in special
                if within or any(marker.startswith(special[cut:]) for cut in range(1, len(special))):
                    raise ChatError(
                        f"in a Jinja template, text next to {marker!r} could form {special!r}; "
                        "choose special tokens that do not overlap"
                    )


NANOCHAT = Template()
SPECIAL_TOKENS = NANOCHAT.special_tokens

#: Whitespace is trimmed around every tag, so that none gets into the text, whatever the settings of Jinja.
#: Learned text is collected up to the next text that is not: transformers finds the tokens of a span by its
#: first and last character, and misses the remaining tokens of a last character that has several.
_JINJA = """\
{%- macro checked(text) -%}
    {%- if text is not string -%}
        {{- raise_exception("the text of a message or a part must be a string") -}}
    {%- endif -%}
    {%- for special in $specials$ -%}
        {%- if special in text -%}
            {{- raise_exception("the text contains the special token " ~ special) -}}
        {%- endif -%}
    {%- endfor -%}
    {{- text -}}
{%- endmacro -%}
{%- set turns = messages -%}
{%- set system = "" -%}
{%- if messages and messages[0].role == "system" -%}
    {%- set turns = messages[1:] -%}
    {%- if messages[0].content is not string -%}
        {{- raise_exception("the content of a system message must be a string") -}}
    {%- endif -%}
    {%- set system = messages[0].content ~ $system_joint$ -%}
{%- endif -%}
{%- if not turns -%}
    {{- raise_exception("the conversation has no user message") -}}
{%- endif -%}
{{- $bos$ -}}
{%- for message in turns -%}
    {%- set expected = "user" if loop.index0 % 2 == 0 else "assistant" -%}
    {%- if message.role != expected -%}
        {{- raise_exception("expected a message from " ~ expected ~ ", got one from " ~ message.role) -}}
    {%- endif -%}
    {%- if message.role == "user" -%}
        {%- if message.content is not string -%}
            {{- raise_exception("the content of a user message must be a string") -}}
        {%- endif -%}
        {{- $user_start$ ~ checked((system if loop.first else "") ~ message.content) ~ $user_end$ -}}
    {%- elif message.content is string -%}
        {{- $assistant_start$ -}}
        {%- generation -%}
            {{- checked(message.content) ~ $assistant_end$ -}}
        {%- endgeneration -%}
    {%- elif message.content is undefined or message.content is not sequence or message.content is mapping -%}
        {{- raise_exception("the content of an assistant message must be a string or a list of parts") -}}
    {%- else -%}
        {{- $assistant_start$ -}}
        {%- set learned = namespace(text="", said="") -%}
        {%- for part in message.content -%}
            {%- if part.type == "text" -%}
                {%- set learned.text = learned.text ~ checked(part.text) -%}
                {%- set learned.said = learned.said ~ part.text -%}
                {%- set nothing = checked(learned.said) -%}
            {%- elif part.type == "python" -%}
                {%- set learned.text = learned.text ~ $python_start$ ~ checked(part.text) ~ $python_end$ -%}
            {%- elif part.type == "python_output" -%}
                {%- if learned.text -%}
                    {%- generation -%}
                        {{- learned.text -}}
                    {%- endgeneration -%}
                {%- endif -%}
                {%- set learned.text = "" -%}
                {{- $output_start$ ~ checked(part.text) ~ $output_end$ -}}
            {%- else -%}
                {{- raise_exception("unknown type of part: " ~ part.type) -}}
            {%- endif -%}
            {%- if part.type != "text" -%}
                {%- set learned.said = "" -%}
            {%- endif -%}
        {%- endfor -%}
        {%- generation -%}
            {{- learned.text ~ $assistant_end$ -}}
        {%- endgeneration -%}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {%- if turns | length % 2 == 0 -%}
        {{- raise_exception("a prompt must end with a user message") -}}
    {%- endif -%}
    {{- $assistant_start$ -}}
{%- endif -%}
"""
