"""Where the book comes from and where it is published; launch button, canonical links and cards follow from it."""

import os
import re
import subprocess
from pathlib import Path

from . import ROOT

REMOTE = re.compile(
    r"(?:https://(?:[^@/\s]+@)?|ssh://git@|git@)github\.com[:/](?P<owner>[\w-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?"
)


def public_address(remote):
    """Return owner and name of a repository on GitHub, whatever the form of its address, or None for any other address.

    >>> public_address("git@github.com:ada/attention.git"), public_address("https://ada:secret@github.com/ada/attention")
    (('ada', 'attention'), ('ada', 'attention'))
    >>> public_address("/home/ada/attention"), public_address("https://git.example.org/ada/attention")
    (None, None)
    """
    match = REMOTE.fullmatch(remote.strip())
    return (match["owner"], match["name"]) if match else None


def ask_git(folder, *question):
    """Return the answer, nothing where there is no git or no repository."""
    try:
        run = subprocess.run(["git", *question], cwd=folder, capture_output=True, encoding="utf-8")
    except OSError:
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""


def git_remote(folder):
    """Return the address of the repository whose root the folder is; what is only unpacked inside of one has none."""
    root = ask_git(folder, "rev-parse", "--show-toplevel")
    return ask_git(folder, "remote", "get-url", "origin") if root and Path(root).samefile(folder) else ""


def origin(folder):
    """Return the address of the repository and of the published book; an empty text for what is not known.

    The environment variable BOOK_REPOSITORY goes before the git remote "origin", BOOK_URL before the address
    that GitHub Pages gives the repository. Raises ValueError, without repeating it, if one of them is no such address.
    """
    named = os.environ.get("BOOK_REPOSITORY")
    found = public_address(named if named is not None else git_remote(folder))
    if named and not found:
        raise ValueError("BOOK_REPOSITORY must be an address such as https://github.com/owner/name, which it is not.")
    repository = "https://github.com/{}/{}".format(*found) if found else ""
    published = os.environ.get("BOOK_URL", "https://{}.github.io/{}/".format(*found) if found else "")
    if published and not re.fullmatch(r"https?://[^@\s]+", published):
        raise ValueError("BOOK_URL must be an address such as https://owner.github.io/name/, which it is not.")
    return repository, published and published.rstrip("/") + "/"


def configure(config, repository, published):
    if repository:
        config.html_theme_options.update(
            repository_url=repository, repository_branch="HEAD", use_repository_button=True
        )
        config.html_theme_options["launch_buttons"] = {
            "binderhub_url": "https://mybinder.org",
            "notebook_interface": "jupyterlab",
        }
    if published:
        config.html_baseurl = config.ogp_site_url = published
        config.ogp_social_cards = {"enable": True, "line_color": "#00796b"}


def setup(app):
    repository, published = origin(ROOT)
    app.connect("config-inited", lambda app, config: configure(config, repository, published))
    if published:
        app.setup_extension("sphinx_sitemap")
        app.config.sitemap_url_scheme = "{link}"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
