"""Write counts as a Parquet table with the columns `pretoken` (binary) and `count` (uint64).

Needs pyarrow, the extra `[data]`. The rows are sorted by pre-token and written in batches, never held in
memory as a whole. The settings are stored as JSON in the schema metadata, under the key `merganser`.
"""

import json
import os
from collections.abc import Iterable
from typing import Any

from merganser.errors import SettingsError
from merganser.files import written_whole


def write(
    batches: Iterable[list[tuple[bytes, int]]], facts: dict[str, Any], path: str | os.PathLike[str]
) -> None:
    """Write the file atomically."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise SettingsError("writing Parquet needs pyarrow: pip install 'merganser[data]'") from error
    columns = [
        pyarrow.field("pretoken", pyarrow.binary(), False),
        pyarrow.field("count", pyarrow.uint64(), False),
    ]
    schema = pyarrow.schema(columns, metadata={"merganser": json.dumps(facts, ensure_ascii=False)})
    with written_whole(path) as file, parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in batches:
            pretokens, counts = zip(*batch, strict=True)
            arrays = [pyarrow.array(pretokens, pyarrow.binary()), pyarrow.array(counts, pyarrow.uint64())]
            writer.write_batch(pyarrow.record_batch(arrays, schema=schema))
