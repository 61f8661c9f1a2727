"""What the kernel of each chapter has used in the last build, as rows of the table on the page for teachers."""

from . import build, number_of
from .execute import read


def main():
    for path in build.chapters():
        used = read(build.EXECUTED / path.name).metadata["used"]
        print(f"| [{number_of(path)}]({path.name}) | {used['megabytes']} MB | {used['seconds']:.0f} s |")


if __name__ == "__main__":
    main()
