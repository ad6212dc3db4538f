"""One file an exercise, named like it and loaded by path: a teacher's own file can stand in for any of them."""
