"""Decode ids to text one at a time, as a model generates them."""

from merganser import _core


class StreamDecoder(_core.StreamDecoder):
    """Decode a stream of ids into complete characters.

    A token may end in the middle of a character; its bytes are buffered until the rest arrives. The
    concatenation of what `push` and finally `finish` return equals `tokenizer.decode` of all the ids.

    `copy.copy` returns an independent decoder in the same state, to continue a text in several ways.

    Parameters
    ----------
    tokenizer : Tokenizer
        The tokenizer that produced the ids.
    errors : {"strict", "replace", "ignore"}
        For bytes that are not UTF-8, raise a `DecodeError`, insert U+FFFD, or leave them out.
    skip_special : bool
        Omit special tokens instead of inserting their text.

    Raises
    ------
    DecodeError
        By `push`, for an unknown id, and with `errors="strict"` for invalid UTF-8. A `push` that raises
        leaves the decoder unchanged.

    Examples
    --------
    >>> import merganser
    >>> tokenizer = merganser.train(["naïve"], 256)
    >>> stream = merganser.StreamDecoder(tokenizer)
    >>> [stream.push(id) for id in tokenizer.encode("naïve")]
    ['n', 'a', '', 'ï', 'v', 'e']
    >>> stream.finish()
    ''

    >>> import copy
    >>> stream.push([110, 97, 0xC3])
    'na'
    >>> fork = copy.copy(stream)
    >>> stream.push(0xAF), fork.push(0xA8)
    ('ï', 'è')
    """

    __slots__ = ()
