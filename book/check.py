"""Run the tests of one chapter, of its notebook and of its page: `make check CHAPTER=05`."""

import subprocess
import sys

from . import build


def find_chapter(number):
    """Return the path of a chapter by its number, 5 or 05; ValueError names those that exist."""
    paths = {path.name[:2]: path for path in build.chapters()}
    if number.zfill(2) not in paths:
        raise ValueError(f"CHAPTER must be one of {', '.join(paths)}, but is {number!r}.")
    return paths[number.zfill(2)]


def main(number):
    try:
        chapter = find_chapter(number)
    except ValueError as error:
        sys.exit(str(error))
    build.main()
    files = ["tests/test_notebooks.py", "tests/test_kernels.py", "tests/test_book.py"]
    sys.exit(subprocess.run([sys.executable, "-m", "pytest", *files, "-k", chapter.stem], cwd=build.ROOT).returncode)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
