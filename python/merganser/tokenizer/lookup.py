"""Single tokens and the range of ids, under the names that tiktoken gives them."""

from merganser import _core
from merganser.errors import EncodeError

#: The special token that tiktoken calls the end of text.
_END_OF_TEXT = "<|endoftext|>"


class Lookup(_core.Tokenizer):
    """The part of `Tokenizer` that looks up single tokens and ids."""

    __slots__ = ()

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of a text or bytes that are exactly one token: another name of `token_id`.

        Parameters
        ----------
        text_or_bytes : str or bytes
            The token. A special token is given by its name.

        Returns
        -------
        int

        Raises
        ------
        EncodeError
            If it is not exactly one token.

        Examples
        --------
        >>> import merganser
        >>> tokenizer = merganser.train(["low lower lowest"], 258)
        >>> tokenizer.encode_single_token("lo"), tokenizer.encode_single_token(b"\\xff")
        (256, 255)
        """
        return self.token_id(text_or_bytes)

    def decode_single_token_bytes(self, id: int) -> bytes:
        """Return the bytes of one id: another name of `token_bytes`.

        Parameters
        ----------
        id : int
            The id of a token, special or not.

        Returns
        -------
        bytes

        Raises
        ------
        DecodeError
            If the id is unknown.

        Examples
        --------
        >>> import merganser
        >>> merganser.train(["low lower lowest"], 258).decode_single_token_bytes(256)
        b'lo'
        """
        return self.token_bytes(id)

    @property
    def n_vocab(self) -> int:
        """The highest id plus one: the number of rows that an embedding needs.

        It exceeds `vocab_size` if some ids below the highest are not used.
        """
        return self.next_id

    @property
    def max_token_value(self) -> int:
        """The highest id."""
        return self.next_id - 1

    @property
    def eot_token(self) -> int:
        """The id of the special token `<|endoftext|>`; an `EncodeError` if there is none.

        Examples
        --------
        >>> import merganser
        >>> merganser.train(["low lower"], 258, special_tokens=["<|endoftext|>"]).eot_token
        257
        """
        specials = self.special_tokens
        if (id := specials.get(_END_OF_TEXT)) is not None:
            return id
        known = f"it has {', '.join(list(specials)[:20])}" if specials else "it has no special tokens"
        raise EncodeError(
            f"this tokenizer has no special token {_END_OF_TEXT}; {known}; look the end of a text up by its "
            "name in special_tokens"
        )
