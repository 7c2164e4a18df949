"""The API of the views: its results equal the tokenizer's, whatever the text."""

import json
import random
import struct
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any

import merganser
import numpy as np
import pytest
from generated import drawn
from hostile import HOSTILE
from hypothesis import given
from hypothesis import strategies as st
from merganser.analyse import examples
from merganser.chat import Chat
from merganser.studio import create
from merganser.studio.merges import nodes_of, steps_around
from merganser.studio.playground import WITHIN, changes, edited, encoded, located
from merganser.studio.state import TokenizerEntry
from starlette.applications import Starlette
from starlette.testclient import TestClient

TEXTS = [*HOSTILE, *examples.HARD.values(), "", "\n\n a", "<|bos|>hi<|user_start|>", "é" * 50]

Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def ask(small: merganser.Tokenizer) -> Ask:
    return asking(create({"small": small, "tiny": small.truncated(300)}, [], "token"))


def asking(app: Starlette) -> Ask:
    client = TestClient(app, base_url="http://127.0.0.1:80/token/api/")

    def ask(path: str, status: int = 200, **body: Any) -> Any:
        answer = client.post(path, json=body) if body else client.get(path)
        assert answer.status_code == status, answer.text
        if answer.headers["content-type"].startswith("application/json"):
            return answer.json()
        if answer.headers["content-type"].startswith("text/"):
            return answer.text
        (size,) = struct.unpack_from("<I", answer.content)
        header = json.loads(answer.content[4 : 4 + size])
        numbers = np.frombuffer(answer.content, "<u4", offset=4 + size)
        header["arrays"] = np.split(numbers, list(accumulate(header["lengths"]))[:-1])
        return header

    return ask


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize("specials", [False, True])
def test_ids_and_offsets_equal_those_of_the_tokenizer(small: merganser.Tokenizer, specials: bool) -> None:
    entry = TokenizerEntry(small)
    for text in [*TEXTS, "".join(TEXTS)]:
        spans = small.encode_with_offsets(
            text, allowed_special="all" if specials else (), disallowed_special=()
        )
        encoding = encoded(entry, text, text.encode(), specials)
        figures = encoding.figures
        ids, ends, cuts = located(entry, text.encode(), encoding)
        assert ids.tolist() == spans.ids
        assert ends.tolist() == [end for _, end in spans.bytes]
        for cut, (_, chars), (_, end) in zip(cuts.tolist(), spans.chars, spans.bytes, strict=True):
            assert cut & ~WITHIN == utf16(text[:chars])
            assert bool(cut & WITHIN) == (len(text[:chars].encode()) != end)
        assert figures["tokens"] == len(spans.ids)
        assert figures["bytes"] == len(text.encode())
        assert figures["different"] == len(set(spans.ids))
        for front, back in ((0, len(ids) // 2), (len(ids) // 3, len(ids) // 2), (len(ids), 0)):
            parts = located(entry, text.encode(), encoding, front, back)
            for part, whole in zip(parts, (ids, ends, cuts), strict=True):
                assert part.tolist() == whole[front : len(ids) - back].tolist()


@given(st.lists(st.integers(0, 3), max_size=30), st.lists(st.integers(0, 3), max_size=30))
def test_changes_keep_every_id(before: list[int], after: list[int]) -> None:
    front, back = changes(np.array(before, np.uint32), np.array(after, np.uint32))
    assert front + back <= min(len(before), len(after))
    middle = after[front : len(after) - back]
    assert before[:front] + middle + before[len(before) - back :] == after


def test_edits_yield_the_same_text_as_slicing() -> None:
    generator = random.Random(1)
    text = "a👍b\n" * 10
    for _ in range(200):
        start = generator.randrange(len(text) + 1)
        end = min(len(text), start + generator.randrange(4))
        insert = generator.choice(["", "x", "é", "👍", "\n"])
        after = text[:start] + insert + text[end:]
        units = edited(text.encode("utf-16-le"), utf16(text[:start]), utf16(text[:end]), insert)
        assert units.decode("utf-16-le") == after
        text = after or "a👍b\n"


def test_an_edit_of_an_unknown_version_is_a_conflict(ask: Ask) -> None:
    body = {"tokenizer": "small", "page": "p", "version": 2}
    edit = {"base": 1, "start": 0, "end": 0, "insert": "x"}
    ask("playground/encode", 409, **body, edit=edit)
    ask("playground/encode", tokenizer="small", page="p", version=1, text="the cat " * 4000)
    answer = ask("playground/encode", **body, edit=edit)
    assert answer["characters"] == 32001
    assert answer["front"] + answer["back"] + len(answer["arrays"][0]) == answer["tokens"]
    ask("playground/encode", 409, **body, edit=edit)
    late = {"base": 2, "start": 40_000, "end": 40_000, "insert": ""}
    ask("playground/encode", 400, **body, edit=late)


@pytest.mark.parametrize("specials", [False, True])
def test_the_steps_end_with_the_tokens(small: merganser.Tokenizer, specials: bool) -> None:
    entry = TokenizerEntry(small)
    for text in TEXTS:
        if len(text.encode()) > 200:
            continue
        answer = steps_around(entry, text, specials, 0)
        assert answer["whole"]
        starts = set(range(len(text.encode())))
        for start, end, id in answer["steps"]:
            assert text.encode()[start:end] == entry.tokens[id]
            starts -= set(range(start + 1, end))
        spans = small.encode_with_offsets(
            text, allowed_special="all" if specials else (), disallowed_special=()
        )
        assert sorted(starts) == [start for start, _ in spans.bytes]


def test_steps_are_in_training_order(small: merganser.Tokenizer) -> None:
    entry = TokenizerEntry(small)
    answer = steps_around(entry, "the cat sat on the mat, playing with tokens", False, 0)
    ranks = [entry.rank[id] for _, _, id in answer["steps"]]
    assert len(answer["pretokens"]) > 5
    assert ranks == sorted(ranks)


def test_only_the_steps_around_a_token_of_a_long_text_are_returned(small: merganser.Tokenizer) -> None:
    text = "the cat sat on the mat " * 1000
    answer = steps_around(TokenizerEntry(small), text, False, 3000, 2)
    start, end = (
        small.encode_with_offsets(text).bytes[3000][0],
        small.encode_with_offsets(text).bytes[3001][1],
    )
    first, last = answer["pretokens"][0][0], answer["pretokens"][-1][1]
    assert answer["chosen"] == [start, end]
    assert first <= start < end <= last and last - first <= 240
    assert not answer["whole"]
    assert bytes.fromhex(answer["bytes"]) == text.encode()[first:last]


def test_a_merge_tree_holds_the_token_and_all_tokens_below_it(small: merganser.Tokenizer) -> None:
    entry = TokenizerEntry(small)
    for id, token in entry.tokens.items():
        nodes = nodes_of(entry, id)
        assert nodes[-1]["id"] == id and nodes[-1]["end"] == len(token)
        for node in nodes:
            assert entry.tokens[node["id"]] == token[node["start"] : node["end"]]
        if id not in entry.specials:
            assert sorted(node["start"] for node in nodes if node["level"] == 0) == list(range(len(token)))


def test_the_facts_of_a_token_are_returned(ask: Ask, small: merganser.Tokenizer) -> None:
    (left, right), id = next(iter(small.merges_as_ids.items()))
    assert ask(f"merges/token?tokenizer=small&id={id}") == {
        "id": id,
        "bytes": small.token_bytes(id).hex(),
        "kind": "merge",
        "rank": 1,
        "count": small.merge_counts[id],
        "pair": [left, right],
    }
    special = ask(f"merges/token?tokenizer=small&id={small.special_tokens['<|bos|>']}")
    assert (special["kind"], special["rank"], special["count"]) == ("special", None, None)
    assert ask("merges/token?tokenizer=small&id=99999", 404)["error"] == "unknown token id 99999"
    assert ask("merges/token?tokenizer=small&id=x", 400)["error"] == "id must be an integer"
    unknown = ask("merges/token?tokenizer=missing&id=1", 404)["error"]
    assert unknown == "unknown tokenizer 'missing'; reload the page and choose another"


def test_compare_marks_tokens_that_differ(ask: Ask, small: merganser.Tokenizer) -> None:
    text = "the cat sat on the mat, naïve café 👍"
    answer = ask("compare/encode", tokenizers=["small", "tiny"], text=text)
    spans = []
    for n, tokenizer in enumerate((small, small.truncated(300))):
        ids, ends, _, _ = answer["arrays"][4 * n : 4 * n + 4]
        assert ids.tolist() == tokenizer.encode(text)
        spans.append(list(pairwise([0, *ends.tolist()])))
    for n in (0, 1):
        differs = answer["arrays"][4 * n + 3].tolist()
        assert differs == [int(span not in spans[1 - n]) for span in spans[n]]
        assert answer["figures"][n]["differing"] == sum(differs) > 0
    same = ask("compare/encode", tokenizers=["small", "small"], text=text)
    assert [figures["differing"] for figures in same["figures"]] == [0, 0]
    assert ask("compare/encode", tokenizers=["small", "tiny"], text="")["arrays"][0].tolist() == []
    ask("compare/encode", 400, tokenizers=["small"] * 5, text="")


def test_the_vocabulary_is_searched_and_sorted(ask: Ask, small: merganser.Tokenizer) -> None:
    def found(**query: Any) -> list[int]:
        answer = ask("vocabulary/search", tokenizer="small", size=500, **query)
        assert answer["total"] == len(answer["rows"])
        return [row["id"] for row in answer["rows"]]

    vocab = small.vocab
    assert found(query="") == list(vocab.values())
    assert found(by="text", query="at") == [id for token, id in vocab.items() if b"at" in token]
    assert found(by="bytes", query="20 74") == [id for token, id in vocab.items() if b" t" in token]
    assert found(by="id", query="300") == [300]
    assert found(by="id", query="10-12") == [10, 11, 12]
    starts = [id for token, id in vocab.items() if token.startswith(b" ")]
    assert found(by="regex", query="^ ") == starts
    lengths = [len(small.token_bytes(id)) for id in found(sort="length", descending=True)]
    assert lengths == sorted(lengths, reverse=True)
    counts = [small.merge_counts.get(id, -1) for id in found(sort="count", descending=True)]
    assert counts == sorted(counts, reverse=True)
    page = ask("vocabulary/search", tokenizer="small", start=100, size=5)
    assert [row["id"] for row in page["rows"]] == list(vocab.values())[100:105]


def test_invalid_queries_are_explained(ask: Ask) -> None:
    for by, query, explanation in (
        ("regex", "(", "invalid regular expression"),
        ("regex", "(.?.?)*" * 20 + "~~~~$", "took more than 2 s; simplify it"),
        ("bytes", "xyz", "must be pairs of hexadecimal digits, such as 20 74 68"),
        ("id", "x", "must be a number or a range, such as 1000 or 256-300"),
    ):
        assert explanation in ask("vocabulary/search", tokenizer="small", by=by, query=query)["problem"]
    ask("vocabulary/search", 400, tokenizer="small", by="name", query="x")
    ask("vocabulary/search", 400, tokenizer="small", sort="color")


def test_neighbors_come_from_the_embeddings(ask: Ask, small: merganser.Tokenizer) -> None:
    assert ask("vocabulary/neighbors?tokenizer=small&id=300") == {"neighbors": None}
    vectors = drawn(small, 360)
    ask = asking(create({"small": small}, [], "token", embeddings={"clouds": vectors}))
    near = ask("vocabulary/neighbors?tokenizer=small&id=300")["neighbors"]
    found = vectors.most_similar(vectors.vectors[300], 13, only_words=False)
    assert [(token["id"], token["similarity"]) for token in near] == [
        (token.id, token.similarity) for token in found if token.id != 300
    ]
    on_the_map = ask("embeddings/neighbors?tokenizer=small&id=300")["neighbors"]
    assert [token["id"] for token in on_the_map][:12] == [token["id"] for token in near]
    for none in ("", "x", "360", "9" * 5000):
        assert "has no vector" in ask(f"embeddings/neighbors?tokenizer=small&id={none}", 404)["error"]


def test_a_tsne_map_keeps_clusters_together(small: merganser.Tokenizer) -> None:
    app = create({"small": small}, [], "token", embeddings={"clouds": drawn(small, 360)})
    ask = asking(app)
    assert ask("embeddings/about")["maps"][0]["computed"] == ["pca"]
    assert (
        "choose it under Map to compute it"
        in ask("embeddings/points?tokenizer=small&method=tsne", 404)["error"]
    )
    job = ask("embeddings/tsne", 202, tokenizer="small")["job"]
    assert 'data: {"method": "tsne"}' in ask(f"embeddings/events?job={job}")
    app.state.studio.jobs.close()
    assert ask("embeddings/about")["maps"][0]["computed"] == ["pca", "tsne"]
    answer = ask("embeddings/points?tokenizer=small&method=tsne")
    ids, counts, lengths, clusters, x, y = answer["arrays"]
    assert lengths.tolist() == [len(small.token_bytes(id)) for id in range(360)]
    assert len(answer["clusters"]) == 8 and set(clusters.tolist()) == set(range(8))
    assert counts.tolist() == sorted(counts.tolist(), reverse=True)
    assert ids.tolist() == list(range(360)) and len(answer["labels"]) == 360
    points = np.column_stack([x, y]).astype(float)
    assert points.min() == 0 and points.max() == 2**32 - 1
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(distances, np.inf)
    assert np.mean(distances.argmin(axis=1) % 12 == ids % 12) > 0.9, "neighbors are in the same cluster"


def test_the_chat_view_renders_as_chat_does(ask: Ask, small: merganser.Tokenizer) -> None:
    messages = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "hi <|bos|>"},
        {
            "role": "assistant",
            "content": [{"type": "python", "text": "1+1"}, {"type": "python_output", "text": "2"}],
        },
    ]
    answer = ask("chat/render", tokenizer="small", messages=messages)
    assert (answer["ids"], answer["mask"]) == Chat(small).render(messages)
    assert answer["added"] == []
    prompt = ask("chat/render", tokenizer="small", messages=messages[:2], prompt=True)
    assert prompt["ids"] == Chat(small).render_prompt(messages[:2])
    assert set(prompt["mask"]) == {0}
    assert "alternate" in ask("chat/render", tokenizer="small", messages=messages[2:])["problem"]


def test_a_tokenizer_without_chat_tokens_gets_them_for_the_view() -> None:
    plain = merganser.train(["the cat sat"], 260)
    client = TestClient(create({"plain": plain}, [], "token"), base_url="http://127.0.0.1:80/token/api/")
    body = {"tokenizer": "plain", "messages": [{"role": "user", "content": "the"}]}
    answer = client.post("chat/render", json=body).json()
    assert answer["ids"][0] == plain.next_id
    assert len(answer["added"]) == 9
    assert answer["ids"][2:-1] == plain.encode("the")


def test_about_lists_the_views_and_tokenizers(ask: Ask) -> None:
    about = ask("about")
    assert [view for view in about["views"] if view in ("playground", "compare", "vocabulary", "chat")] == [
        "playground",
        "compare",
        "vocabulary",
        "chat",
    ]
    assert [tokenizer["name"] for tokenizer in about["tokenizers"]] == ["small", "tiny"]
