"""Learn: small programs that are there to be read, each proven equal to what it explains.

Pure Python and the standard library. Nothing of merganser imports them but the command `merganser learn`.
"""
