"""Studio: a local web app to explore, compare and train tokenizers. Needs the extra `[studio]`.

| file | contents |
|---|---|
| `app.py` | the application, which mounts the routes of every view |
| `security.py` | request checks, response headers, and the folders that may be read |
| `server.py` | uvicorn with limits on connections, on their time and on the log |
| `state.py` | state shared by the views: tokenizers, folders, thread pools, jobs |
| `pool.py` | threads for work that must not run on the event loop |
| `messages.py` | JSON requests; JSON or binary responses |
| `jobs.py` | a queue for long work, with progress as server-sent events, and cancellation |
| `tokenizers.py`, `known.py` | tokenizers added in the page; patterns and special tokens of published ones |
| `merges.py` | merge trees and merge steps, used by several views |
| `NAME.py`, `static/views/NAME.js` | a view: its routes and its page |
| `static/` | hand-written ES modules without a build step |
"""

from merganser.studio.app import create

__all__ = ["create"]
