"""Calls every kind of binding once, so that valgrind can watch: `make sanitize`."""

import gzip
import pickle
import tempfile
from pathlib import Path

import merganser

TEXTS = ["The merganser dives, 12 ducks dive.\n", "naïve café 潜水", "", "x" * 3000]


def main() -> None:
    tokenizer = merganser.train(TEXTS * 3, 300, special_tokens=["<|end|>"])
    ids = [tokenizer.encode(text) for text in TEXTS]
    assert tokenizer.encode_batch(TEXTS) == ids
    flat, offsets = tokenizer.encode_flat(TEXTS)
    assert len(flat) == offsets[-1] == sum(tokenizer.count_tokens(TEXTS))
    assert [tokenizer.decode(each) for each in ids] == TEXTS == tokenizer.decode_batch(ids)
    tokenizer.encode_with_offsets(TEXTS[1])
    assert pickle.loads(pickle.dumps(tokenizer)) == tokenizer
    for wrong in ("\ud800", "<|end|>"):
        try:
            tokenizer.encode(wrong)
        except merganser.EncodeError:
            continue
        raise AssertionError(wrong)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "text.jsonl.gz")
        file.write_bytes(gzip.compress(b'{"text": "the duck dives"}\n' * 50))
        counts = merganser.count(file)
        counts.save(Path(folder, "all.counts"))
        assert merganser.Counts.load(Path(folder, "all.counts")) == counts
        tokenizer.save(Path(folder, "a.merganser"))
        assert merganser.load(Path(folder, "a.merganser")) == tokenizer
        tokens = tokenizer.encode_corpus([file], out=Path(folder, "tokens"))
        assert tokens.token_count > 0
    characters = merganser.train(TEXTS * 3, 120, unit="characters")
    assert characters.decode(characters.encode("duck dives")) == "duck dives"


if __name__ == "__main__":
    main()
