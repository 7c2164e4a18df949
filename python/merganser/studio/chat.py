"""Chat: a conversation as ids, with the loss mask.

A tokenizer that lacks some of the nine chat special tokens gets them after its last id, for this view only.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from merganser.chat import NANOCHAT, Chat
from merganser.errors import ChatError
from merganser.studio.messages import Body
from merganser.studio.state import TokenizerEntry, state_of
from merganser.tokenizer import Tokenizer


@lru_cache(maxsize=8)
def chat_of(entry: TokenizerEntry) -> tuple[Chat, tuple[str, ...]]:
    """Return the chat of a tokenizer, and the special tokens that were added for it."""
    tokenizer = entry.tokenizer
    missing = tuple(token for token in NANOCHAT.special_tokens if token not in tokenizer.special_tokens)
    if missing:
        added = {token: tokenizer.next_id + n for n, token in enumerate(missing)}
        tokenizer = Tokenizer(
            entry.ranks, pattern=tokenizer.pattern, special_tokens=tokenizer.special_tokens | added
        )
    return Chat(tokenizer), missing


def rendered(entry: TokenizerEntry, messages: Sequence[Any], prompt: bool) -> Response:
    if entry.has_stages and not set(NANOCHAT.special_tokens) <= set(entry.tokenizer.special_tokens):
        # It cannot be built again with more tokens: its ids would be others.
        reason = "this tokenizer lacks chat special tokens, which cannot be added to it; choose another"
        return JSONResponse({"problem": reason})
    chat, added = chat_of(entry)
    try:
        if prompt:
            ids = chat.render_prompt(messages)
            mask = [0] * len(ids)
        else:
            ids, mask = chat.render(messages, max_tokens=None)
    except ChatError as error:  # the user is still typing, so this is not an error of the request
        return JSONResponse({"problem": str(error)})
    specials = set(chat.tokenizer.special_tokens.values())
    return JSONResponse(
        {
            "ids": ids,
            "mask": mask,
            "tokens": [chat.tokenizer.token_bytes(id).hex() for id in ids],
            "special": [id in specials for id in ids],
            "added": added,
        }
    )


async def render(request: Request) -> Response:
    body = await Body.of(request)
    state = state_of(request)
    entry = state.find(body.get("tokenizer", str))
    return await state.pool_of(entry).run(
        rendered, entry, body.get("messages", list), body.get("prompt", bool, False)
    )


routes = [Route("/render", render, methods=["POST"])]
