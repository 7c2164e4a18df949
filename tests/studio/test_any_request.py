"""Any request to any endpoint is answered, with an error below 500 if it makes no sense."""

import json
from collections.abc import Iterator
from typing import Any

import merganser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from merganser.chat import SPECIAL_TOKENS
from merganser.studio import create
from starlette.testclient import TestClient

#: Everything that a request can ask for without starting a job.
POSTED = (
    "playground/encode",
    "compare/encode",
    "vocabulary/search",
    "merges/steps",
    "chat/render",
    "tokenizers/name",
    "tokenizers/nearby",
    "train/cancel",
    "ladder/cancel",
    "embeddings/cancel",
    "embeddings/tsne",
)
READ = (
    "about",
    "playground/examples",
    "vocabulary/neighbors",
    "merges/token",
    "merges/tree",
    "merges/uses",
    "tokenizers/known",
    "tokenizers/file",
    "embeddings/about",
    "embeddings/points",
    "embeddings/neighbors",
    "train/about",
    "train/file",
    "ladder/steps",
)
NAMES = ("a", "b", "none", "", "../a", "\0", "<script>", "constructor", "__proto__")

numbers = st.one_of(
    st.integers(-3, 400), st.sampled_from([2**31, 2**53, 2**63, 2**64, 10**30, -(2**63)]), st.floats(width=32)
)
texts = st.one_of(
    st.sampled_from(NAMES),
    st.text(max_size=20),
    st.sampled_from(["\ud800", "\ud83d\ude00", "(", "[a", "(a*)*b"]),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["role", "content", "start", "end"]), inner),
    ),
    max_leaves=6,
)
#: The names of all fields, each with values of the right kind most of the time.
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "tokenizer": st.sampled_from(["a", "a", "b", "none"]),
    "tokenizers": st.lists(st.sampled_from(["a", "b", "none"]), max_size=3),
    "text": texts,
    "specials": st.booleans(),
    "token": numbers,
    "tokens": numbers,
    "by": st.sampled_from(["text", "regex", "bytes", "none"]),
    "query": texts,
    "sort": st.sampled_from(["rank", "length", "text", "count", "none"]),
    "descending": st.booleans(),
    "start": numbers,
    "size": numbers,
    "messages": st.lists(
        st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "x"]), "content": values}),
        max_size=3,
    ),
    "prompt": st.booleans(),
    "page": texts,
    "version": numbers,
    "edit": st.fixed_dictionaries({"base": numbers, "start": numbers, "end": numbers, "insert": texts}),
    "job": texts,
    "id": numbers,
    "method": texts,
}
bodies = st.fixed_dictionaries(
    {"tokenizer": st.one_of(FIELDS["tokenizer"], values)},
    optional={
        name: st.one_of(strategy, strategy, values)
        for name, strategy in FIELDS.items()
        if name != "tokenizer"
    },
)


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    tokenizer = merganser.train(["the cat sat on the mat"] * 3, 270, special_tokens=SPECIAL_TOKENS)
    app = create({"a": tokenizer, "b": tokenizer.truncated(266)}, [], "token")
    # One event loop for all requests. It raises what the server does not handle.
    with TestClient(app, base_url="http://127.0.0.1:80/token/api/") as client:
        yield client


@pytest.mark.parametrize("path", POSTED)
@settings(max_examples=20, deadline=None)
@given(body=bodies)
def test_any_body_is_answered(client: TestClient, path: str, body: dict[str, Any]) -> None:
    answer = client.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert len(answer.text) < 2000


@pytest.mark.parametrize("path", POSTED)
@settings(max_examples=20, deadline=None)
@given(
    body=st.one_of(
        st.binary(max_size=40), st.sampled_from([b"[]", b"null", b'{"a":' * 500, b"\xff", b"1e999"])
    )
)
def test_any_bytes_are_answered(client: TestClient, path: str, body: bytes) -> None:
    answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code < 500, answer.text


@pytest.mark.parametrize("path", READ)
@settings(max_examples=10, deadline=None)
@given(
    query=st.dictionaries(
        st.sampled_from(["tokenizer", "id", "method", "job", "file"]), st.one_of(texts, numbers)
    )
)
def test_any_query_is_answered(client: TestClient, path: str, query: dict[str, Any]) -> None:
    parameters = {name: str(value).encode("utf-8", "replace").decode() for name, value in query.items()}
    answer = client.get(path, params=parameters)
    assert answer.status_code < 500, answer.text
