"""Use an installed merganser as a new user would, without the clone: python tools/smoke.py"""

import subprocess
import sys
import tempfile
from pathlib import Path

import merganser


def main() -> None:
    package = Path(merganser.__file__).parent
    if package.is_relative_to(Path(__file__).parents[1] / "python"):
        raise SystemExit(f"{package} is the clone; install the package and run this outside of it")
    text = "the cat sat on the mat, naïvely 👍\n" * 100
    with tempfile.TemporaryDirectory() as folder:
        corpus, file, out = (Path(folder, name) for name in ("a.txt", "a.merganser", "out"))
        corpus.write_bytes(text.encode())
        tokenizer = merganser.train(corpus, 275, special_tokens=["<|endoftext|>"])
        assert tokenizer.decode(tokenizer.encode(text)) == text
        tokenizer.save(file)
        assert merganser.load(file) == tokenizer
        run("train", str(corpus), "--vocab-size", "275", "--special", "<|endoftext|>", "--out", str(out))
        assert merganser.load(out) == tokenizer
        assert run("encode", str(out), "the cat").split() == list(map(str, tokenizer.encode("the cat")))
        run("bench", str(out), "--on", str(corpus), "--rounds", "1")
    print(f"merganser {merganser.__version__} works in {package}")


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "merganser", *arguments], capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise SystemExit(f"merganser {' '.join(arguments)}: {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
