"""Formats: one file each, read and write side by side."""
