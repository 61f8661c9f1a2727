"""Print what was measured beside what is to be reached."""


def pytest_terminal_summary(terminalreporter, config):
    rows, floor = {}, {}
    for bench in config._benchmarksession.benchmarks:
        info = bench.extra_info
        if bench.group == "floor":
            floor[info["kind"]] = bench.stats.min / info["count"]  # seconds each
            continue
        row = rows.setdefault(bench.group, {**info, "note": ""})
        row[info["who"]] = min(bench.stats.min, row.get(info["who"], bench.stats.min))  # of all turns
        row["note"] = row["note"] or info["note"]
    say = terminalreporter.write_line
    if floor:
        speed, power = 1e-9 / floor["flops"], 1e9 * floor["exps"]
        say(f"\nfloor: products of this machine have {speed:.0f} GFLOPS, and a power takes {power:.2f} ns")
    say(f"\n{'':<40}{'course':>12}{'beside':>12}{'ratio':>9}{'to reach':>10}{'÷ floor':>10}")
    for name, row in rows.items():
        ours, theirs, bar = row["course"], row["beside"], row["bar"]
        ratio = f"{ours / theirs:>9.3f}{bar:>10}" if isinstance(bar, str) else f"{ours / theirs:>9.2f}{bar:>10.1f}"
        least = sum(row[kind] * floor.get(kind, 0) for kind in ("flops", "exps"))
        above = f"{ours / least:>10.2f}" if least else f"{'':>10}"
        say(f"{name:<40}{1000 * ours:>9.2f} ms{1000 * theirs:>9.2f} ms{ratio}{above}  {row['note']}")
