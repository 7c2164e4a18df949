"""Translation of library messages for the command line: options in place of Python arguments.

`vocab_size must be …`, `on_error='skip'`, `resume=False` and `choose another out=` become
`--vocab-size must be …`, `--on-error skip`, `--no-resume` and `choose another --out`. Only options of the
running command are translated. A word that is also plain English (memory, pattern, prepend) is an argument
only if `=` follows it, or at the start of a message.
"""

import re

import click

#: Arguments whose options are named differently.
_RENAMED = {"allowed_special": "allow_special", "special_tokens": "special", "disallowed_special": "ordinary"}
_VALUE = r"'[^']*'|\"[^\"]*\"|\(\)|[\w.+-]*[\w+-]"


def translate(message: str, command: click.Command) -> str:
    """Replace the arguments in a message by the options of `command`.

    >>> command = click.Command("x", params=[click.Option(["--min-frequency"]), click.Option(["--memory"])])
    >>> translate("min_frequency=2 is too little memory", command)
    '--min-frequency 2 is too little memory'
    """
    options = {option.name: option for option in command.params if isinstance(option, click.Option)}
    options |= {python: options[name] for python, name in _RENAMED.items() if name in options}
    for name, option in options.items():
        if name:
            message = _with_option(message, name, option)
    message = re.sub(r", or None for [\w ]+", "", message)
    # Some messages name both the argument and the option.
    return re.sub(r"(--[\w-]+(?: \w+)?) \(\1\)", r"\1", message)


def _with_option(message: str, name: str, option: click.Option) -> str:
    flag = max(option.opts, key=len)

    def assigned(match: re.Match[str]) -> str:
        value = match[1].strip("'\"")
        if option.is_flag:
            return next(iter(option.secondary_opts), flag) if value == "False" else flag
        return f"{flag} {value}".rstrip()

    whole = rf"(?<![\w./\\'\"-]){re.escape(name)}"
    message = re.sub(rf"{whole}=({_VALUE}|)", assigned, message)
    if "_" in name:
        return re.sub(rf"`?{whole}(?![\w/\\'\"-]|\.\w)`?", flag, message)
    message = re.sub(rf"`{whole}`", flag, message)
    return re.sub(rf"^{re.escape(name)}(?= (?:and|are|is|must|names)\b)", flag, message)
