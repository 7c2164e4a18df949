"""The names of other libraries: a program runs on merganser after one changed import. Nothing is patched."""
