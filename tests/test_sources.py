"""The snippets of the documents that merganser started from run, with nothing but a few names replaced.

The documents 003 and 004 are in `../shared/sources`, or in the folder that MERGANSER_SOURCES names, and are
read from there: no snippet is copied. Replaced are the module of an import, the package runner and the path
of a script. What a snippet leaves to its reader, such as a text or a trained tokenizer, is given below; so is
what it must result in. Blocks without a language are diagrams.
"""

import hashlib
import os
import re
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import processes
import pytest
from click import Command, Option
from corpora import corpus_text
from merganser import MerganserWarning, cli
from merganser.cli.embed import command as embed_command

SOURCES = Path(os.environ.get("MERGANSER_SOURCES", Path(__file__).parents[2] / "shared" / "sources"))
DOCUMENTS = {"003": "003_365fc0a95b4d2482.txt", "004": "004_fe636e342bfffbd1.txt"}

#: Modules that snippets import from, and ours.
MODULES = {"nanochat.tokenizer": "merganser.chat.nanochat", "tests.test_rustbpe": "merganser.learn.reference"}
NAMES = {
    "merganser.chat.nanochat": ["RustBPETokenizer", "get_tokenizer"],
    "merganser.learn.reference": ["RegexTokenizer"],
}
#: Scripts that snippets run, and our commands.
RUNNER = "uv run python phase3_embeddings/"
COMMANDS = {
    "train_embeddings.py": "merganser embed",
    "benchmark_tokenizer.py": "merganser learn speed",
    "visualize_optimization.py": "merganser learn speed",
}
FEW_WORDS = "--sizes 100,1000 --plain-words 100 --compared-words 500"
#: The options of `train_embeddings.py`, with the documented defaults.
OPTIONS = {
    "embedding_dim": 100,
    "batch_size": 512,
    "num_negative_samples": 10,
    "window_size": 5,
    "epochs": 10,
    "learning_rate": 0.025,
}


@dataclass(frozen=True)
class Snippet:
    document: str
    line: int
    language: str
    code: str

    @property
    def place(self) -> tuple[str, int]:
        return self.document, self.line

    def __str__(self) -> str:
        return f"{self.document}-{self.line}-{self.language}"


@dataclass(frozen=True)
class Case:
    """What a snippet needs and results in; `needs` is a package that it cannot run without."""

    given: str = ""
    then: str = ""
    needs: str | None = None


#: Why a snippet cannot run. That it is no Python is checked.
NO_PYTHON = {
    ("003", 340): "a function without a body",
    ("003", 378): "a `continue` outside a loop",
    ("003", 521): "a class with a method without a body",
    ("003", 676): "a line of terminal output",
}
CANNOT_RUN = {("003", 386): "an attribute of the document's own class, which is called `vocabulary` here"}

CASES = {
    ("003", 55): Case(then="assert dataset['train'].num_rows == 400"),
    ("003", 350): Case(
        given="""
import re
from merganser.learn.char_bpe import split
from merganser.learn.char_bpe_fast import FastCharBPE, learn
words = split(NOVEL)
self = tokenizer = FastCharBPE(set().union(*words), [merge.pair for merge in learn(words)][:500])
""",
        then="assert self.merge_ranks == self._ranks",
    ),
    ("003", 358): Case(then="assert self._word_regex.findall(NOVEL) == split(NOVEL)"),
    ("003", 366): Case(given="word_tokens = self.merges[7]", then="assert best_pair == self.merges[7]"),
    ("003", 427): Case(
        given="""
import torch
from torch.nn import CrossEntropyLoss
target_embeds, positive_embeds = torch.randn(4, 8), torch.randn(4, 8)
all_context_embeds, context_ids = torch.randn(50, 8), torch.tensor([1, 2, 3, 4])
negative_embeds = torch.randn(4, 10, 8)
""",
        then="assert scores.shape == (4, 50) and loss > 0",
        needs="torch",
    ),
    ("003", 442): Case(then="assert negative_scores.squeeze(2).shape == (4, 10)", needs="torch"),
    ("003", 534): Case(
        then="""
from types import SimpleNamespace
model = SimpleNamespace(
    target_embeddings=torch.nn.Embedding(50, 8), context_embeddings=torch.nn.Embedding(50, 8)
)
positive_scores, negative_scores = forward(model, context_ids, context_ids, torch.zeros(4, 10, dtype=int))
assert positive_scores.shape == (4,) and negative_scores.shape == (4, 10)
""",
        needs="torch",
    ),
    ("003", 549): Case(then="assert loss > 0", needs="torch"),
    ("003", 657): Case(
        given="tokenizer.encode(NOVEL)",
        then="assert hit_rate == 100 * tokenizer.hits.rate and 50 < hit_rate < 100",
    ),
    ("004", 156): Case(
        given="text_iterator = iter(NOVEL.splitlines())",
        then="""
from pathlib import Path
assert Path("tokenizer", "tokenizer.merganser").exists()
assert {file.stem for file in Path("tokenizer").iterdir()} == {"tokenizer", "token_bytes"}
trained = tokenizer
""",
    ),
    ("004", 170): Case(
        then="""
assert tokenizer.tokenizer == trained.tokenizer
assert ids == [tokenizer.get_bos_token_id(), *tokenizer.encode("Hello world")]
assert text == "<|bos|>Hello world"
assert ids_batch == [tokenizer.encode("Hello"), tokenizer.encode("world")]
"""
    ),
    ("004", 192): Case(
        given="""
encode = tokenizer.encode
bos = tokenizer.get_bos_token_id()
user_start, user_end, assistant_start, assistant_end = range(bos + 1, bos + 5)
python_start, python_end, output_start, output_end = range(bos + 5, bos + 9)
""",
        then="""
from merganser.chat import SPECIAL_TOKENS as OURS
assert tuple(SPECIAL_TOKENS) == tuple(OURS)
assert [tokenizer.encode_special(token) for token in SPECIAL_TOKENS] == list(range(bos, bos + 9))
parts = [
    {"type": "text", "text": "Let me calculate: "},
    {"type": "python", "text": "2+2"},
    {"type": "python_output", "text": "4"},
    {"type": "text", "text": " The answer is 4."},
]
question = {"role": "user", "content": "What is 2+2?"}
conversation = {"messages": [question, {"role": "assistant", "content": parts}]}
assert tokens == tokenizer.render_conversation(conversation)[0]
""",
    ),
    ("004", 221): Case(
        given="""
huge_dataset = NOVEL.splitlines()
def huge_dataset_generator():
    yield from huge_dataset
""",
        then="assert len(text) == sum(map(len, huge_dataset))",
    ),
    ("004", 234): Case(
        given="texts = ['a dreary night', 'of November']",
        then="assert ids_batch[-1] == ids == tokenizer.encode('of November')",
    ),
    ("004", 273): Case(then="assert tokenizer.decode(ids) == text == 'Hello world!' and i == ids[-1]"),
    ("004", 288): Case(then="assert ids == tokens and len(mask) == len(ids)"),
    ("004", 296): Case(
        given="""
import merganser
text, vocab_size = NOVEL, 320
tokenizer = merganser.train([text], vocab_size)
""",
        then="assert ref.merges == tokenizer.merges_as_ids",
    ),
}


def snippets() -> list[Snippet]:
    found = []
    for document, name in DOCUMENTS.items():
        if (SOURCES / name).is_file():
            text = (SOURCES / name).read_text("utf-8")
            for block in re.finditer(r"^```(python|bash)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
                line = text.count("\n", 0, block.start()) + 1
                found.append(Snippet(document, line, block[1], block[2]))
    return found


SNIPPETS = snippets()
PYTHON = [snippet for snippet in SNIPPETS if snippet.language == "python"]
SHELL = [snippet for snippet in SNIPPETS if snippet.language == "bash"]
needs_sources = pytest.mark.skipif(
    not SNIPPETS, reason=f"{SOURCES} does not have the documents; set MERGANSER_SOURCES to their folder"
)


def replaced(snippet: Snippet) -> str:
    """The code with the replaced names; options alone are those of the training script."""
    code = snippet.code
    for theirs, ours in MODULES.items():
        code = code.replace(f"from {theirs} import", f"from {ours} import")
    for script, command in COMMANDS.items():
        code = code.replace(RUNNER + script, command)
    if snippet.language == "bash":
        code = (
            re.sub(r"^--", "merganser embed --", code, flags=re.MULTILINE)
            if RUNNER not in snippet.code
            else code
        )
    return code


def book(size: int) -> str:
    """The start of the novel as Project Gutenberg has it: a table of contents before, a license after it."""
    novel = corpus_text("frankenstein.txt", size)
    return f"Letter 1\n\n{novel}\n\n*** END OF THE PROJECT GUTENBERG EBOOK FRANKENSTEIN ***\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the data sets have local copies: a cached novel, and `wikitext` for `datasets`."""
    datasets, pa = pytest.importorskip("datasets"), pytest.importorskip("pyarrow")
    from pyarrow import parquet

    novel = book(30_000).encode()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "pg84.txt").write_bytes(novel)
    (tmp_path / "cache" / "pg84.txt.sha256").write_text(f"{hashlib.sha256(novel).hexdigest()}  pg84.txt\n")
    config = tmp_path / "wikitext" / "wikitext-2-raw-v1"
    config.mkdir(parents=True)
    rows = corpus_text("english.txt", 60_000).splitlines(keepends=True)
    rows = (rows * 400)[:400]
    parquet.write_table(pa.table({"text": rows}), config / "train-00000-of-00001.parquet")
    (tmp_path / "wikitext" / "README.md").write_text(
        "---\nconfigs:\n- config_name: wikitext-2-raw-v1\n  data_files:\n"
        "  - split: train\n    path: wikitext-2-raw-v1/train-*\n---\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NANOCHAT_BASE_DIR", raising=False)
    monkeypatch.setenv("MERGANSER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("NANOCHAT_BASE_DIR", str(tmp_path))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf" / "datasets")
    return tmp_path


@needs_sources
def test_every_python_snippet_runs_or_has_a_reason() -> None:
    assert {snippet.place for snippet in PYTHON} == {*CASES, *NO_PYTHON, *CANNOT_RUN}
    for snippet in PYTHON:
        if snippet.place in NO_PYTHON:
            with pytest.raises(SyntaxError):
                compile(snippet.code, str(snippet), "exec")


@needs_sources
@pytest.mark.parametrize(("document", "needs"), [("003", None), ("003", "torch"), ("004", None)])
def test_python_snippets_run(document: str, needs: str | None, folder: Path) -> None:
    """The snippets of a document run one after the other in one namespace, as a reader would type them."""
    chosen = [
        snippet
        for snippet in PYTHON
        if snippet.document == document and snippet.place in CASES and CASES[snippet.place].needs == needs
    ]
    assert chosen
    if needs:
        pytest.importorskip(needs)
    names: dict[str, Any] = {"NOVEL": corpus_text("frankenstein.txt", 20_000)}
    for snippet in chosen:
        case = CASES[snippet.place]
        with warnings.catch_warnings():
            # A chapter has too few pairs for 50,304 tokens, and merganser says so.
            warnings.simplefilter("ignore", MerganserWarning)
            exec(compile(case.given, f"{snippet}, given", "exec"), names)
            exec(compile(replaced(snippet), str(snippet), "exec"), names)
            exec(compile(case.then, f"{snippet}, then", "exec"), names)


@pytest.mark.parametrize("snippet", SHELL or [pytest.param(None, marks=needs_sources)], ids=str)
def test_shell_snippets_run(snippet: Snippet, folder: Path) -> None:
    code = replaced(snippet)
    assert "uv run" not in code
    if "learn speed" in code:
        # One command does the work of both scripts. With the default numbers of words it takes minutes.
        code = "\n".join(dict.fromkeys(code.splitlines())).replace("learn speed", f"learn speed {FEW_WORDS}")
        novel = book(400).encode()
        (folder / "cache" / "pg84.txt").write_bytes(novel)
        checksum = f"{hashlib.sha256(novel).hexdigest()}  pg84.txt\n"
        (folder / "cache" / "pg84.txt.sha256").write_text(checksum)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = processes.run(["bash", "-euc", code], cwd=folder, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stderr
    if "merganser embed" in code:
        corpus = "wikitext2" if "wikitext2" in code else "frankenstein"
        assert f"{corpus}: " in done.stdout
        assert "device " in done.stdout
        assert (folder / "merganser-out" / "embeddings" / "embeddings.safetensors").is_file()
    else:
        for chart in ("tokenizer_optimization_results.png", "optimization_breakdown.png"):
            assert (folder / "merganser-out" / "learn" / chart).is_file()


# ── without the documents ─────────────────────────────────────────────────────


@pytest.mark.parametrize("module", NAMES)
def test_the_imported_names_exist(module: str) -> None:
    imported = __import__(module, fromlist=NAMES[module])
    assert all(callable(getattr(imported, name)) for name in NAMES[module])


def test_every_script_is_a_command() -> None:
    for command in COMMANDS.values():
        assert cli.main([*command.split()[1:], "--help"]) == 0


def test_the_training_command_has_the_documented_options_and_defaults() -> None:
    assert isinstance(embed_command, Command)
    options = {option.name: option.default for option in embed_command.params if isinstance(option, Option)}
    assert "dataset" in options
    assert {name: options[name] for name in OPTIONS} == OPTIONS
