"""GPT-2's way to write bytes as printable characters, read back into bytes."""


def printable_bytes() -> dict[str, int]:
    """GPT-2's way to write bytes as printable characters, inverted.

    Printable bytes stand for themselves; the other 68 become the characters from U+0100 on.
    """
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in set(shown)]
    table = {chr(byte): byte for byte in shown}
    table.update({chr(256 + i): byte for i, byte in enumerate(hidden)})
    return table


PRINTABLE = printable_bytes()


def to_bytes(token: str) -> bytes:
    """The bytes that a token written in GPT-2's printable characters stands for."""
    return bytes(PRINTABLE[character] for character in token)
