"""Branches for systems that the tests do not run on: what Windows and macOS lack is taken away here.

Nothing in the core depends on the instructions of a processor for its results: every function with its own
instructions is compiled for one architecture, chosen at run time, and has a portable twin.
"""

import io
import re
import sys
from pathlib import Path

import processes
import pytest
from examples import ROOT
from merganser import cli

#: Works with files as a user would, in an interpreter without what a system lacks.
SCRIPT = """
import builtins, os, pathlib, sys
system = sys.argv[1]
missing = ("/proc", "/sys")
read_text = pathlib.Path.read_text

def without_proc(self, *arguments, **named):
    if str(self).startswith(missing):
        raise FileNotFoundError(2, "No such file or directory", str(self))
    return read_text(self, *arguments, **named)

pathlib.Path.read_text = without_proc
for name in ("sched_getaffinity", "sched_setaffinity"):
    delattr(os, name)
if system == "windows":
    for name in ("fcntl", "resource", "termios", "pwd", "grp"):
        sys.modules[name] = None
    for name in ("fchmod", "sysconf", "fork", "getuid", "geteuid"):
        delattr(os, name)
    open_file = os.open

    def without_folders(path, *arguments, **named):
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied", path)
        return open_file(path, *arguments, **named)

    os.open = without_folders

import merganser
from merganser.cli import main
from merganser.engines import memory

assert memory.free() > 0
assert (memory.peak() > 0) == (system == "macos"), memory.peak()
if system == "windows":
    assert memory._available() == 4 * 10**9
else:
    assert memory._available() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2

text = "the cat sat on the mat " * 50
open("a.txt", "w").write(text)
for _ in range(2):  # the second time, files are replaced
    assert main(["train", "a.txt", "--vocab-size", "265", "--force"]) == 0
    assert main(["count", "a.txt", "--out", "a.counts", "--force"]) == 0
    assert main(["encode", "merganser-out", "a.txt", "--out", "ids", "--overwrite"]) == 0
    assert main(["export", "merganser-out", "--to", "huggingface", "--out", "hf"]) == 0
assert main(["bench", "merganser-out", "--on", "a.txt", "--peer", "tiktoken", "--rounds", "1"]) == 0
tokenizer = merganser.load("hf")
assert tokenizer == merganser.load("merganser-out")
[ids] = merganser.Tokens.open("ids").documents()
assert tokenizer.decode(ids) == text
assert not [name for name in os.listdir(".") if name.endswith(".tmp")]
"""


@pytest.mark.parametrize("system", ["windows", "macos"])
def test_the_package_works_without_what_other_systems_lack(system: str, tmp_path: Path) -> None:
    done = processes.run([sys.executable, "-c", SCRIPT, system], cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_windows_writes_utf8_to_files_and_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    for platform, expected in (("win32", "utf-8"), ("linux", "cp1252")):
        stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setattr(sys, "stdout", stream)
        cli._write_utf8()
        assert stream.encoding == expected


def test_files_are_read_and_written_in_utf8() -> None:
    """Python's default encoding is not UTF-8 on Windows before Python 3.15."""
    unnamed = re.compile(r"\.read_text\(\)|\.write_text\([^,()]*\)|\.open\((\"[rwax]\")?\)")
    #: Files of the kernel, in ASCII; and methods that open something else.
    allowed = {"engines/memory.py": 4, "engines/pieces.py": 3, "engines/shards.py": 2}
    package = ROOT / "python" / "merganser"
    for file in package.rglob("*.py"):
        lines = [line for line in file.read_text("utf-8").splitlines() if "..." not in line]
        found = [line for line in lines if unnamed.search(line)]
        name = file.relative_to(package).as_posix()
        assert len(found) == allowed.get(name, 0), f"{name}: {found}"


def test_instructions_of_a_processor_are_never_required() -> None:
    """Code with `std::arch` is compiled only for its architecture, and is beside code without it."""
    for file in (ROOT / "crates").rglob("*.rs"):
        text = file.read_text("utf-8")
        if re.search(r"\bstd::arch::|target_feature\(enable|is_x86_feature_detected!", text):
            assert "cfg(target_arch" in text or "cfg(all(target_arch" in text, file
            for match in re.finditer(r"^( *)#\[target_feature\(enable.*\n", text, re.MULTILINE):
                before = text[: match.start()].splitlines()
                # On the function itself, or on the module around it.
                is_on_it = "target_arch" in before[-1]
                module = [line for line in before if re.match(r"(pub )?mod \w+ \{|#\[cfg", line)]
                assert is_on_it or any("target_arch" in line for line in module), f"{file}: {match[0]}"


def test_a_free_threaded_interpreter_turns_the_gil_on() -> None:
    assert "#[pymodule(gil_used = true)]" in (ROOT / "crates/python/src/lib.rs").read_text("utf-8")
