"""Bindery: how vision encoders bind parts into wholes, as an executable paper."""

__version__ = "0.1.0"
