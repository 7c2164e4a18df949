"""The supply chain: dependencies are documented, pinned and licensed, and no loading path executes code."""

import ast
import importlib.metadata
import json
import re
import sys
from pathlib import Path

import merganser
import processes
import pytest
from examples import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(merganser.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CRATES = ("core", "fuzz", "python")
SHIPPED = ("core", "python")

#: Modules that execute data, and calls that execute text.
FORBIDDEN_MODULES = {
    "pickle",
    "cPickle",
    "marshal",
    "shelve",
    "dill",
    "joblib",
    "runpy",
    "code",
    "pty",
    "imp",
}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "system", "popen", "getoutput", "execv", "execvp"}
#: The only places that may: a pickle for nanochat is written on request, and never read.
EXCEPTIONS = {("chat/nanochat.py", "pickle")}
#: Where a name that is not a literal is imported, none of them from a file: the names of commands, views,
#: steps and lazy names are tables in the source, and the libraries of `tiktoken:NAME` are two.
DYNAMIC_IMPORTS = {
    "__init__.py",
    "analyse/__init__.py",
    "cli/__init__.py",
    "cli/learn.py",
    "cli/naming.py",
    "extras.py",
    "learn/ladder/__init__.py",
    "studio/app.py",
}
#: Where processes are started: a library to measure, a step of the ladder, the search by regular expression.
SUBPROCESSES = {"benchmark/running.py", "learn/ladder/running.py", "studio/vocabulary.py"}


def direct_dependencies() -> set[str]:
    """Return the names of all direct dependencies, of both languages."""
    names = {Requirement(line).name for line in PROJECT["project"]["dependencies"]}
    for extra, lines in PROJECT["project"]["optional-dependencies"].items():
        names |= {Requirement(line).name for line in lines} if extra != "all" else set()
    for lines in PROJECT["dependency-groups"].values():
        names |= {Requirement(line).name for line in lines}
    names |= {Requirement(line).name for line in PROJECT["build-system"]["requires"]}
    for crate in CRATES:
        manifest = tomllib.loads((ROOT / f"crates/{crate}/Cargo.toml").read_text("utf-8"))
        names |= {*manifest["dependencies"], *manifest.get("dev-dependencies", {})}
    return names - {"merganser-core"}


def test_every_direct_dependency_has_a_reason() -> None:
    page = (ROOT / "docs/dependencies.md").read_text("utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", page, re.MULTILINE)
    assert {name for name, _ in rows} == direct_dependencies()
    assert all(len(reason) > 10 for _, reason in rows)


def locked(name: str) -> dict[str, list[str]]:
    """Return the versions of every package in a lock file; every one must have hashes."""
    found: dict[str, list[str]] = {}
    for entry in re.split(r"\n(?=\w)", (ROOT / "requirements" / name).read_text("utf-8"))[1:]:
        package, _, version = entry.split(" ", 1)[0].strip().partition("==")
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), f"{package} has no hash; run `make lock`"
        found.setdefault(canonicalize_name(package), []).append(version)
    return found


def test_the_lock_files_satisfy_the_project() -> None:
    groups = PROJECT["dependency-groups"]
    tools = [line for name, lines in groups.items() if name != "docs" for line in lines]
    extras = PROJECT["project"]["optional-dependencies"]
    [everything] = extras["all"]
    wanted = [line for extra in Requirement(everything).extras for line in extras[extra]]
    for name, lines in {
        "dev.lock": [*PROJECT["project"]["dependencies"], *wanted, *tools],
        "build.lock": PROJECT["build-system"]["requires"],
        "docs.lock": groups["docs"],
    }.items():
        versions = locked(name)
        for requirement in map(Requirement, lines):
            found = versions.get(canonicalize_name(requirement.name), [])
            assert any(requirement.specifier.contains(version) for version in found), (
                f"{requirement} is not in requirements/{name}; run `make lock`"
            )
    build = (ROOT / "requirements/build.in").read_text("utf-8").splitlines()[-1]
    assert [build] == PROJECT["build-system"]["requires"]


def test_the_crates_satisfy_deny_toml() -> None:
    done = processes.run([sys.executable, ROOT / "tools/audit.py"])
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_installed_package_has_an_sbom_of_its_crates() -> None:
    files = importlib.metadata.files("merganser") or []
    [sbom] = [json.loads(file.read_text()) for file in files if "sboms" in file.parts]
    assert sbom["bomFormat"] == "CycloneDX"
    listed = {(part["name"], part["version"]): part for part in sbom["components"]}
    versions = tomllib.loads((ROOT / "Cargo.lock").read_text("utf-8"))["package"]
    for crate in SHIPPED:
        manifest = tomllib.loads((ROOT / f"crates/{crate}/Cargo.toml").read_text("utf-8"))
        for name in manifest["dependencies"].keys() - {"merganser-core"}:
            [package] = [package for package in versions if package["name"] == name]
            key = name, package["version"]
            assert key in listed, (
                f"{name} is missing in the SBOM of the installed package; rebuild it with `make`"
            )
            part = listed[key]
            assert part["hashes"][0]["content"] == package["checksum"]
            assert part["licenses"]


def test_no_source_file_executes_data() -> None:
    for file in PACKAGE.rglob("*.py"):
        name = str(file.relative_to(PACKAGE))
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            found: set[str] = set()
            if isinstance(node, ast.Import):
                found = {alias.name.partition(".")[0] for alias in node.names} & FORBIDDEN_MODULES
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found = {(node.module or "").partition(".")[0]} & FORBIDDEN_MODULES
            elif isinstance(node, ast.Call):
                found = _forbidden_calls(node, name)
            assert {(name, one) for one in found} <= EXCEPTIONS, (
                f"{file}:{getattr(node, 'lineno', 0)}: {found}"
            )


def _forbidden_calls(node: ast.Call, file: str) -> set[str]:
    keywords = {word.arg: word.value for word in node.keywords}
    assert "shell" not in keywords, file
    if "allow_pickle" in keywords:
        assert ast.unparse(keywords["allow_pickle"]) == "False", file
    called = node.func
    name = (
        called.id
        if isinstance(called, ast.Name)
        else called.attr
        if isinstance(called, ast.Attribute)
        else ""
    )
    owner = ast.unparse(called.value) if isinstance(called, ast.Attribute) else ""
    if owner in ("np", "numpy") and name == "load":
        assert "allow_pickle" in keywords, f"{file}: np.load without allow_pickle=False"
    if owner == "subprocess":
        assert file in SUBPROCESSES, f"{file} starts a process"
    if name == "import_module" and not isinstance(node.args[0], ast.Constant):
        assert file in DYNAMIC_IMPORTS, f"{file} imports a name that is not a literal"
    if name == "load" and owner in ("torch", "yaml", "pickle"):
        return {f"{owner}.load"}
    is_builtin = isinstance(called, ast.Name) or owner in ("os", "builtins", "subprocess")
    return {name} & FORBIDDEN_CALLS if is_builtin else set()


def test_the_search_for_forbidden_calls_finds_them() -> None:
    for code in ("eval(x)", "os.system(x)", "torch.load(x)", "pickle.load(x)", "exec(x)", "__import__(x)"):
        [call] = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
        assert _forbidden_calls(call, "any.py"), code
    for code in ("f(shell=True)", "np.load(x)", "np.load(x, allow_pickle=True)", "import_module(x)"):
        [call] = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
        with pytest.raises(AssertionError):
            _forbidden_calls(call, "any.py")
    with pytest.raises(AssertionError):
        _forbidden_calls(ast.parse("subprocess.run(x)").body[0].value, "any.py")  # type: ignore[attr-defined]


#: Loads everything twice: the first time, modules are imported; the second time, Python reports every event.
LOADING = """
import pickle, sys, warnings
from pathlib import Path
import merganser
from merganser import Counts, Tokens, embed

folder = Path(sys.argv[1])
seen = []
# Not "compile": numpy parses the headers of .npy files as literals, and parsing executes nothing.
FORBIDDEN = ("pickle.", "exec", "import", "marshal.", "os.exec", "os.fork", "os.posix_spawn",
    "os.spawn", "os.system", "subprocess.", "ctypes.", "socket.", "urllib.", "code.__new__")
watching = False

def hook(event, arguments):
    if watching and event.startswith(FORBIDDEN):
        seen.append((event, repr(arguments)[:200]))

sys.addaudithook(hook)

def load_all():
    for path in sorted(folder.iterdir()):
        for how in (merganser.load, Counts.load, Counts.from_tsv, Tokens.open, embed.load, merganser.count):
            try:
                loaded = how(path)
            except (merganser.MerganserError, UnicodeDecodeError, OSError):
                continue
            if isinstance(loaded, Tokens):
                [list(document) for shard in loaded.shards for document in shard.each_document()]
            loads.append((path.name, how.__qualname__))

warnings.simplefilter("ignore")
loads = []
load_all()
watching = True
load_all()
watching = False
assert not seen, seen
watching = True
pickle.loads(pickle.dumps(len))
eval("1")
watching = False
assert {event for event, _ in seen} >= {"pickle.find_class", "exec"}, "the hook works"
print(len(loads) // 2)
"""


def test_no_loading_path_executes_code_imports_or_connects(tmp_path: Path) -> None:
    """Python's audit events prove it, for files of every format and for files that try."""
    from generated import drawn

    texts = ["the cat sat on the mat " * 9]
    tokenizer = merganser.train(texts, 268, pattern="gpt2", special_tokens=["<|endoftext|>"])
    tokenizer.save(tmp_path / "native.merganser")
    for format in ("tiktoken", "huggingface", "gpt2", "minbpe", "gguf"):
        out = tmp_path / (f"{format}.{format}" if format in ("tiktoken", "minbpe", "gguf") else format)
        tokenizer.export(out, format=format)
    counts = merganser.count(texts)
    counts.save(tmp_path / "a.counts")
    counts.to_tsv(tmp_path / "a.counts.tsv")
    drawn(tokenizer, 260).save(tmp_path / "embeddings")
    tokenizer.encode_corpus(texts, out=tmp_path / "tokens")
    tokenizer.encode_corpus(texts, out=tmp_path / "tokens.npy", format="npy")
    # A pickle that would start a program, alone and where other formats are expected.
    owned = tmp_path / "owned"
    evil = f"cos\nsystem\n(S'touch {owned}'\ntR.".encode()
    for name in ("tokenizer.pkl", "evil.merganser", "evil.counts", "evil.npy", "evil.gguf", "merges.txt"):
        (tmp_path / name).write_bytes(evil)
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"auto_map": {"AutoTokenizer": ["evil.Evil", None]}, "tokenizer_class": "os.system"})
    )
    done = processes.run([sys.executable, "-c", LOADING, tmp_path])
    assert done.returncode == 0, done.stderr[-2000:]
    assert not owned.exists()
    assert int(done.stdout) >= 12, "every format was loaded"
