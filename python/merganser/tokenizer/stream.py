"""StreamDecoder: ids to text as a model yields them."""

from merganser import _core


class StreamDecoder(_core.StreamDecoder):
    """Decodes ids as they come, in whole characters.

    A token may end inside a character; such bytes wait until the rest comes. All that `push` and at last
    `finish` return, joined, is what `tokenizer.decode` makes of all ids at once.

    errors: where the bytes are not UTF-8, "strict" raises DecodeError and "replace" puts U+FFFD. A `push`
        that raises has changed nothing.
    skip_special: leave special tokens out instead of giving their text.

    >>> import merganser
    >>> tokenizer = merganser.train(["naïve"], 256)
    >>> stream = merganser.StreamDecoder(tokenizer)
    >>> [stream.push(id) for id in tokenizer.encode("naïve")]
    ['n', 'a', '', 'ï', 'v', 'e']
    >>> stream.finish()
    ''
    """

    __slots__ = ()
