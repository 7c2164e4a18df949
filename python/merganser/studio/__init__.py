"""Studio: a page on this machine where tokenizers can be tried, compared and trained: extra `[studio]`.

| file | what it is |
|---|---|
| `app.py` | the application: mounts the routes of the views |
| `security.py` | who may ask, what may be sent, which files may be read |
| `desk.py` | what the views share: the tokenizers, the folders, and the limits of work under way |
| `messages.py` | JSON in, JSON or packed numbers out |
| `jobs.py` | work that takes long: a queue, progress as server-sent events, cancelling |
| `NAME.py`, `static/views/NAME.js` | a view |
| `static/` | hand-written ES modules, no build step |
"""

from merganser.studio.app import create

__all__ = ["create"]
