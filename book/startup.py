"""What each kernel of a build runs first (PYTHONSTARTUP): no name stays that a cell could meet, no path is needed."""

__import__("runpy").run_path(__file__.replace("startup.py", "draw.py"))["load"]()
