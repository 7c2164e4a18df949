"""Messages of the library in the words of the command line: options instead of Python arguments.

The library says `vocab_size must be …`, `on_error='skip'`, `resume=False` or `choose another out=`; here it
becomes `--vocab-size must be …`, `--on-error skip`, `--no-resume` and `choose another --out`. Only names that
are options of the command that runs are translated. A word that is also plain English (memory, pattern,
prepend) counts as an argument only with `=` after it, or at the beginning of a message.
"""

import re

import click

#: Arguments whose options have other names.
_RENAMED = {"allowed_special": "allow_special", "special_tokens": "special", "disallowed_special": "ordinary"}
_VALUE = r"'[^']*'|\"[^\"]*\"|\(\)|[\w.+-]*[\w+-]"


def translated(message: str, command: click.Command) -> str:
    """The message with the options of a command.

    >>> command = click.Command("x", params=[click.Option(["--min-frequency"]), click.Option(["--memory"])])
    >>> translated("min_frequency=2 is too little memory", command)
    '--min-frequency 2 is too little memory'
    """
    options = {option.name: option for option in command.params if isinstance(option, click.Option)}
    options |= {python: options[name] for python, name in _RENAMED.items() if name in options}
    for name, option in options.items():
        if name:
            message = _with_option(message, name, option)
    message = re.sub(r", or None for [\w ]+", "", message)
    # Some messages name both.
    return re.sub(r"(--[\w-]+(?: \w+)?) \(\1\)", r"\1", message)


def _with_option(message: str, name: str, option: click.Option) -> str:
    written = max(option.opts, key=len)

    def assigned(match: re.Match[str]) -> str:
        value = match[1].strip("'\"")
        if option.is_flag:
            return next(iter(option.secondary_opts), written) if value == "False" else written
        return f"{written} {value}".rstrip()

    whole = rf"(?<![\w./\\'\"-]){re.escape(name)}"
    message = re.sub(rf"{whole}=({_VALUE}|)", assigned, message)
    if "_" in name:
        return re.sub(rf"`?{whole}(?![\w/\\'\"-]|\.\w)`?", written, message)
    message = re.sub(rf"`{whole}`", written, message)
    return re.sub(rf"^{re.escape(name)}(?= (?:and|are|is|must|names)\b)", written, message)
