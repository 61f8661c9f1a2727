"""Print what was measured beside what is to be reached."""

import pytest

LINES = pytest.StashKey()


def pytest_configure(config):
    config.stash[LINES] = []


@pytest.fixture
def report(request):
    """Keep a line for the end."""
    return request.config.stash[LINES].append


def pytest_terminal_summary(terminalreporter, config):
    rows = {}
    for bench in config._benchmarksession.benchmarks:
        row = rows.setdefault(bench.group, {"bar": bench.extra_info["bar"]})
        row[bench.extra_info["who"]] = bench.stats.min
        row["note"] = row.get("note") or bench.extra_info.get("note", "")
    terminalreporter.write_line(f"\n{'':<40}{'course':>12}{'beside':>12}{'ratio':>9}{'to reach':>10}")
    for name, row in rows.items():
        ours, theirs = row["course"], row["beside"]
        reached = (
            f"{ours / theirs:>9.3f}{row['bar']:>10}"
            if isinstance(row["bar"], str)
            else f"{ours / theirs:>9.2f}{row['bar']:>10.1f}"
        )
        terminalreporter.write_line(f"{name:<40}{1000 * ours:>9.2f} ms{1000 * theirs:>9.2f} ms{reached}  {row['note']}")
    terminalreporter.write_line(
        "\n" + "\n".join(config.stash[LINES]) + "\nPages as by http with the processor slowed four times."
    )
