"""Plays of the theatre: the merges are those of the trainer, the tiles those of the encoder."""

import json
from typing import Any

import merganser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from merganser.studio import create
from merganser.studio.merges import pretoken_boundaries
from merganser.studio.state import TokenizerEntry
from merganser.studio.theatre import MOST_MERGES, Tiles, ordered
from oracle import count_pairs, merge_pair
from starlette.testclient import TestClient

TEXT = "the cat sat on the mat, and the rat sat on the cat; aaaaaaa naïve café 中文 " * 4
SMALL = merganser.train([TEXT], 290)


@pytest.fixture
def client() -> TestClient:
    app = create({"small": SMALL}, [], "token")
    return TestClient(app, base_url="http://127.0.0.1/token/api/", raise_server_exceptions=False)


def played(client: TestClient, view: str = "theatre", **what: Any) -> Any:
    answer = client.post(f"{view}/start", json=what)
    assert answer.status_code == 202, answer.text
    events = client.get(f"{view}/events", params={"job": answer.json()["job"]}).text
    kind, data = events.strip().split("\n\n")[-1].split("\n")[-2:]
    assert kind == "event: done", events
    return json.loads(data.removeprefix("data: "))


def final_tokens(play: dict[str, Any]) -> list[bytes]:
    """Return the tiles after the last merge, from what the page receives."""
    data = bytes.fromhex(play["bytes"])
    joined = {middle for step in play["steps"] for _, middle, _ in step["at"]}
    starts = [offset for offset in range(len(data)) if offset not in joined]
    return [data[start:end] for start, end in zip(starts, [*starts[1:], len(data)], strict=True)]


def test_learning_from_a_text_is_the_training_of_the_oracle(client: TestClient) -> None:
    play = played(client, text=TEXT, merges=30, pattern="gpt2")
    expected = merganser.train([TEXT], 286, pattern="gpt2", min_frequency=2)
    pairs = [tuple(bytes.fromhex(side) for side in step["pair"]) for step in play["steps"]]
    assert pairs == expected.merges
    assert [step["count"] for step in play["steps"]] == list(expected.merge_counts.values())
    for step in play["steps"]:
        left, right, most = step["leaders"][0]
        assert [left, right] == step["pair"] and most == step["count"], "the winner leads the race"
        counts = [count for _, _, count in step["leaders"]]
        assert counts == sorted(counts, reverse=True) and len(counts) == 5
    text = bytes.fromhex(play["bytes"]).decode()
    assert final_tokens(play) == [expected.token_bytes(id) for id in expected.encode(text)]


def test_the_oracle_counts_the_same_pairs() -> None:
    counts = merganser.count([TEXT])
    learned = merganser.train(counts, 290)
    by_id = {id: pair for pair, id in learned.merges_as_ids.items()}
    history = merganser._core.leading_pairs(counts._native, [by_id[id] for id in sorted(by_id)], 5)
    words = [([bytes([byte]) for byte in word], count) for word, count in counts.to_dict().items()]
    assert len(history) == 34
    for merge, leaders in zip(learned.merges, history, strict=True):
        pairs = count_pairs(words)
        named = {tuple(map(learned.token_bytes, pair)): count for pair, count in leaders}
        assert next(iter(named)) == merge
        assert list(named.values()) == sorted(pairs.values(), reverse=True)[:5]
        assert all(pairs[pair] == count for pair, count in named.items())
        words = [(merge_pair(tokens, merge), count) for tokens, count in words]


def test_a_tokenizer_of_the_page_is_replayed_with_the_counts_of_its_corpus(client: TestClient) -> None:
    done = played(client, "train", text=TEXT * 5, vocab_size=290, name="mine", special_tokens=["<|x|>"])
    assert done["name"] == "mine"
    assert client.get("theatre/about").json()["trained"] == ["mine"]
    play = played(client, tokenizer="mine")
    expected = merganser.train([TEXT * 5], 290, special_tokens=["<|x|>"])
    assert play["kind"] == "training" and play["merges"] == 33
    assert [step["count"] for step in play["steps"]] == list(expected.merge_counts.values())
    assert TEXT.encode().startswith(bytes.fromhex(play["bytes"])[:200]), "its training text is shown"
    other = played(client, tokenizer="mine", text="the cat sat on a hat")
    assert final_tokens(other) == [expected.token_bytes(id) for id in expected.encode("the cat sat on a hat")]
    assert [step["count"] for step in other["steps"]] == [step["count"] for step in play["steps"]]


@settings(max_examples=60)
@given(st.text(alphabet="the cat sat on mat,é中\n ", min_size=1, max_size=80))
def test_the_merges_of_any_tokenizer_lead_to_its_tokens(text: str) -> None:
    entry = TokenizerEntry(SMALL)
    data = text.encode()
    boundaries = pretoken_boundaries(entry, text, data)
    tiles = Tiles(data, boundaries)
    for pair, times, leaders in ordered(entry, data, boundaries):
        assert leaders[0] == (pair, times)
        tiles.join(pair)
    starts = [start for word in tiles.starts for start in word]
    shown = [data[a:b] for a, b in zip(starts, [*starts[1:], len(data)], strict=True)]
    assert shown == [SMALL.token_bytes(id) for id in SMALL.encode(text)]


def test_the_play_of_another_tokenizer_is_in_the_order_of_its_merges(client: TestClient) -> None:
    play = played(client, tokenizer="small", text="the cat sat on the mat")
    assert play["kind"] == "order"
    ranks = [SMALL.mergeable_ranks[bytes.fromhex("".join(step["pair"]))] for step in play["steps"]]
    assert ranks == sorted(ranks) and len(ranks) > 3
    assert final_tokens(play) == [SMALL.token_bytes(id) for id in SMALL.encode("the cat sat on the mat")]


@pytest.mark.parametrize(
    ("what", "status", "message"),
    [
        ({"text": ""}, 400, "the text is empty; write something to merge"),
        ({"text": "a", "merges": 0}, 400, f"merges must be 1 to {MOST_MERGES:,}, got 0"),
        ({"text": "a" * 1_000_001}, 400, "text must have up to 1,000,000 characters here"),
        ({"tokenizer": "none", "text": "a"}, 404, "unknown tokenizer 'none'"),
    ],
)
def test_invalid_plays_are_refused(client: TestClient, what: Any, status: int, message: str) -> None:
    answer = client.post("theatre/start", json=what)
    assert answer.status_code == status and message in answer.json()["error"]


def test_the_largest_trainings_are_not_kept(monkeypatch: pytest.MonkeyPatch, client: TestClient) -> None:
    from merganser.studio import state

    monkeypatch.setattr(state, "MOST_PRETOKENS", 3)
    played(client, "train", text=TEXT, vocab_size=260)
    assert client.get("theatre/about").json()["trained"] == []
    monkeypatch.setattr(state, "MOST_PRETOKENS", 10**6)
    monkeypatch.setattr(state, "MOST_RECORDS", 1)
    for name in ("one", "two"):
        played(client, "train", text=TEXT, vocab_size=260, name=name)
    assert client.get("theatre/about").json()["trained"] == ["two"]
