"""GPT-2's encoding of bytes as printable characters, and its inverse."""


def printable_bytes() -> dict[str, int]:
    """Return the byte for each of GPT-2's printable characters.

    Printable bytes represent themselves; the other 68 become the characters from U+0100 on.
    """
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in set(shown)]
    table = {chr(byte): byte for byte in shown}
    table.update({chr(256 + i): byte for i, byte in enumerate(hidden)})
    return table


PRINTABLE = printable_bytes()


def to_bytes(token: str) -> bytes:
    """Decode a token written in GPT-2's printable characters."""
    return bytes(PRINTABLE[character] for character in token)
