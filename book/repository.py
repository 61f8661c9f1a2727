"""Where the book comes from and where it is published: what its pages say of both follows from the git remote."""

import os
import re
import subprocess
import tomllib
from urllib.parse import urlsplit

from . import ROOT, chapters

REMOTE = re.compile(r"(?:https://(?:[^@/\s]+@)?|ssh://git@|git@)github\.com[:/]([\w-]+)/([\w.-]+?)(?:\.git)?/?")
INSTALL = "chapters/install_and_run"
IN_PLACE = ", with the address of the repository in the place of ADDRESS"


def version():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def git_remote(folder):
    """Return the address of the remote "origin" of a folder; nothing where it has none, or where there is no git."""
    question = ["git", "--git-dir", folder / ".git", "remote", "get-url", "origin"]
    try:
        return subprocess.run(question, capture_output=True, encoding="utf-8").stdout.strip()
    except OSError:
        return ""


def public_addresses(remote):
    """Return where a repository on GitHub is, without credentials, and its Pages; nothing for any other remote.

    >>> public_addresses("https://ada:secret@github.com/ada/course.git")
    ('https://github.com/ada/course', 'https://ada.github.io/course/')
    >>> public_addresses("https://git.example.org/ada/course")
    ('', '')
    """
    found = REMOTE.fullmatch(remote)
    if not found:
        return "", ""
    owner, name = found.groups()
    return f"https://github.com/{owner}/{name}", f"https://{owner}.github.io/{name}/"


def origin(folder):
    """Return the address of the repository and of the published book; an empty text for what is not known.

    The environment variable BOOK_URL goes before the address that GitHub Pages gives the repository. Raises
    ValueError, without repeating it, if it is no such address.
    """
    repository, pages = public_addresses(git_remote(folder))
    published = os.environ.get("BOOK_URL", pages)
    if published and not re.fullmatch(r"https?://[^@\s]+", published):
        raise ValueError("BOOK_URL must be an address such as https://owner.github.io/name/, which it is not.")
    return repository, published and published.rstrip("/") + "/"


def addressed(text, repository):
    """Return a page with the repository's address in the place of what stands for it.

    >>> addressed("Clone, with the address of the repository in the place of ADDRESS: ADDRESS", "https://github.com/a/b")
    'Clone: https://github.com/a/b'
    """
    name = urlsplit(repository).path.removeprefix("/")
    return text.replace(IN_PLACE, "").replace("ADDRESS", repository).replace("OWNER/NAME", name)


def open_chapter_1(app, pagename, templatename, context, doctree):
    """Let the launch button of the title page, which is no notebook, open chapter 1."""
    for group in context.get("header_buttons", []):
        for button in group["buttons"] if group.get("label") == "launch-buttons" else []:
            button["url"] = button["url"].replace(f"{app.config.root_doc}.md", f"chapters/{chapters()[0].name}")


def setup(app):
    repository, published = origin(ROOT)

    def configure(app, config):
        options = config.html_theme_options
        options["extra_footer"] = f"Version {version()}"
        if repository:
            options["extra_footer"] += f'. <a href="{repository}/blob/HEAD/CHANGELOG.md">What has changed</a>'
            options |= {"repository_url": repository, "repository_branch": "HEAD"}
            options |= {"use_repository_button": True, "use_issues_button": True}
            options["launch_buttons"]["binderhub_url"] = "https://mybinder.org"
        if published:
            config.html_baseurl = config.ogp_site_url = published
            config.ogp_social_cards = {"enable": True, "line_color": "#00796b"}

    def fill_in(app, docname, source):
        if docname == INSTALL and repository:
            source[0] = addressed(source[0], repository)

    app.connect("config-inited", configure)
    app.connect("source-read", fill_in)
    app.connect("html-page-context", open_chapter_1, priority=900)  # when the theme has made its buttons
    if published:
        app.setup_extension("sphinx_sitemap")
        app.config.sitemap_url_scheme = "{link}"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
