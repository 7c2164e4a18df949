"""Template: which special tokens stand around what in a conversation. It is data; `Chat` does the work.

    bos (user_start text user_end assistant_start answer assistant_end)…

    answer = text, or parts: text | python_start call python_end | output_start result output_end

The layout is nanochat's, and so are the names of the nine tokens. Each marker is one special token: text
never flows into a marker, so that a rendering made of strings (Jinja) has the same ids as one made of ids.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields

from merganser.errors import ChatError


@dataclass(frozen=True)
class Template:
    """The special tokens of a conversation; those not named are the default ones.

    system_joint: what stands between a leading system message and the user's first, which it becomes a part
        of.

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
                raise ChatError(f"{field.name} of a template is a special token, not {value!r}")

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """Each special token once, in the order of the fields: what to train a tokenizer with."""
        return tuple(dict.fromkeys(astuple(self)[:-1]))

    def to_jinja(self, special_tokens: Iterable[str] = ()) -> str:
        """The same as a chat template of Hugging Face, where `{% generation %}` marks what is learnt.

        special_tokens: all that the tokenizer has, if it has more than the template.

        It takes what `Chat.render` takes, and refuses the same. Its result is a string in which special
        tokens are special, so it also refuses text that holds one, which `Chat` renders as text. Special
        tokens that text beside a marker could make up with it ("<a>" and "<a>b") are a `ChatError`.

        >>> "<|user_start|>" in Template().to_jinja()
        True
        """
        specials = tuple(dict.fromkeys([*self.special_tokens, *special_tokens]))
        self._check_markers_stay_whole(specials)
        values = {**vars(self), "specials": specials}
        # Jinja's strings are Python's, and JSON's are among them as long as nothing needs a surrogate pair.
        return re.sub(r"\$(\w+)\$", lambda name: json.dumps(values[name[1]], ensure_ascii=False), _JINJA)

    def _check_markers_stay_whole(self, specials: tuple[str, ...]) -> None:
        """Whether, in a string, text before or behind a marker could make up a special token with it."""
        for special in specials:
            for marker in self.special_tokens:
                within = marker != special and marker in special
                if within or any(marker.startswith(special[cut:]) for cut in range(1, len(special))):
                    raise ChatError(
                        f"in a Jinja template, text beside {marker!r} could make up {special!r}; "
                        "choose special tokens that do not overlap"
                    )


NANOCHAT = Template()
SPECIAL_TOKENS = NANOCHAT.special_tokens

#: White space is cut around every tag, so that none gets into the text whatever the settings of Jinja are.
#: What is learnt is gathered until something comes that is not: transformers finds the tokens of a stretch by
#: its first and last character, and forgets the rest of a last character that has several.
_JINJA = """\
{%- macro checked(text) -%}
    {%- if text is not string -%}
        {{- raise_exception("the text of a message or a part must be a string") -}}
    {%- endif -%}
    {%- for special in $specials$ -%}
        {%- if special in text -%}
            {{- raise_exception("the text holds the special token " ~ special) -}}
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
        {{- raise_exception("expected a message of the " ~ expected ~ ", not of " ~ message.role) -}}
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
        {%- set learnt = namespace(text="", said="") -%}
        {%- for part in message.content -%}
            {%- if part.type == "text" -%}
                {%- set learnt.text = learnt.text ~ checked(part.text) -%}
                {%- set learnt.said = learnt.said ~ part.text -%}
                {%- set nothing = checked(learnt.said) -%}
            {%- elif part.type == "python" -%}
                {%- set learnt.text = learnt.text ~ $python_start$ ~ checked(part.text) ~ $python_end$ -%}
            {%- elif part.type == "python_output" -%}
                {%- if learnt.text -%}
                    {%- generation -%}
                        {{- learnt.text -}}
                    {%- endgeneration -%}
                {%- endif -%}
                {%- set learnt.text = "" -%}
                {{- $output_start$ ~ checked(part.text) ~ $output_end$ -}}
            {%- else -%}
                {{- raise_exception("unknown kind of part: " ~ part.type) -}}
            {%- endif -%}
            {%- if part.type != "text" -%}
                {%- set learnt.said = "" -%}
            {%- endif -%}
        {%- endfor -%}
        {%- generation -%}
            {{- learnt.text ~ $assistant_end$ -}}
        {%- endgeneration -%}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {%- if turns | length % 2 == 0 -%}
        {{- raise_exception("a prompt ends with a user message") -}}
    {%- endif -%}
    {{- $assistant_start$ -}}
{%- endif -%}
"""
