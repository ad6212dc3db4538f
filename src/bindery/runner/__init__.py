"""Executes the chapters and builds the book; knows notebooks and records, not what a chapter computes.

``chapters`` and ``profiles`` read the sources, ``inputs`` hashes what each depends on, ``plan`` decides what
runs and why, ``schedule`` runs it in parallel ``worker`` processes, ``outputs`` keeps the results whole,
``pages`` and ``book`` publish them. ``build`` and ``single`` are the two ways in.
"""
