"""Grades submissions: a student's code runs shut in another process, the checks run here on plain data.

Four processes, each trusting only what stands before it: the command (``grade``) reads files and writes the
report; a judge (``judge``) per submission runs the checks, itself bounded; a supervisor (``supervisor``) builds
the sandbox and kills; the worker (``worker``) runs the student's code and answers over a pipe (``codec``).
"""
