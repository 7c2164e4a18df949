"""Small programs to read, each proven equal to what it explains.

Pure Python and the standard library. Only `merganser learn` and the studio import them.
"""
