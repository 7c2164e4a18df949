"""Render conversations as ids with a loss mask.

>>> import merganser
>>> from merganser.chat import SPECIAL_TOKENS, Chat
>>> chat = Chat(merganser.train(["4, four"], 265, special_tokens=SPECIAL_TOKENS))
>>> ids, mask = chat.render([{"role": "user", "content": "2+2"}, {"role": "assistant", "content": "4"}])
>>> print(chat.show(ids, mask))
<|bos|>|<|user_start|>|2|+|2|<|user_end|>|<|assistant_start|>|4|<|assistant_end|>
>>> mask
[0, 0, 0, 0, 0, 0, 0, 1, 1]
"""

from merganser.chat.jinja import JinjaTemplate
from merganser.chat.masked_tokens import MaskedTokens
from merganser.chat.render import Chat, Conversation
from merganser.chat.template import NANOCHAT, SPECIAL_TOKENS, Template
from merganser.errors import ChatError

__all__ = [
    "NANOCHAT",
    "SPECIAL_TOKENS",
    "Chat",
    "ChatError",
    "Conversation",
    "JinjaTemplate",
    "MaskedTokens",
    "Template",
]
