"""The way back: from a page or a claim to the form in which a reader says what is wrong, and the version that was read.

The forms are those of .github/ISSUE_TEMPLATE. Where the repository is not known, nothing leads there.
"""

import functools
import tomllib
from urllib.parse import urlencode, urlsplit

from docutils import nodes
from sphinx.transforms import SphinxTransform

from . import ROOT, number_of
from .repository import origin

INSTALL = "chapters/install_and_run"
IN_PLACE = ", with the address of the repository in the place of ADDRESS"
WRONG = "This is wrong, because …"


def version():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


@functools.cache
def repository():
    """Return the address of the repository, or nothing."""
    return origin(ROOT)[0]


def report(form, title, **fields):
    """Return the address of a new issue with these fields of a form filled in."""
    asked = {"template": f"{form}.yml", "title": title, **fields, "version": version()}
    return f"{repository()}/issues/new?{urlencode(asked)}"


def addressed(text, address):
    """Return a page with the repository's address in the place of what stands for it.

    >>> addressed("Clone, with the address of the repository in the place of ADDRESS: ADDRESS", "https://github.com/a/b")
    'Clone: https://github.com/a/b'
    >>> addressed("gh/OWNER/NAME/HEAD", "https://github.com/ada/course")
    'gh/ada/course/HEAD'
    """
    name = urlsplit(address).path.removeprefix("/")
    return text.replace(IN_PLACE, "").replace("ADDRESS", address).replace("OWNER/NAME", name)


class WrongBecause(SphinxTransform):
    """Let each entry of the ledger end with a link to its form."""

    default_priority = 501  # the ledger has marked its entries

    def apply(self, **kwargs):
        for section in self.document.findall(nodes.section) if repository() else []:
            if "attn-claim" in section["classes"]:
                claim = section[0].astext()
                form = report("claim", f"Ledger {claim}: ", claim=claim)
                link = nodes.reference("", WRONG, refuri=form, reftitle=f"Report on {claim}", classes=["attn-wrong"])
                section[-1] += [nodes.Text(" "), link]


def configure(app, config):
    """Let each page tell the version, and have a button for what is wrong on it."""
    address = repository()
    changes = f'. <a href="{address}/blob/HEAD/CHANGELOG.md">What has changed</a>' if address else ""
    config.html_theme_options |= {"extra_footer": f"Version {version()}{changes}", "use_issues_button": bool(address)}


def fill_in(app, docname, source):
    if docname == INSTALL and repository():
        source[0] = addressed(source[0], repository())


def lead_on(app, pagename, templatename, context, doctree):
    """Let the button fill in its page, and Binder open chapter 1 from the title page, which is no notebook."""
    for button in [one for group in context.get("header_buttons", []) for one in [group, *group.get("buttons", [])]]:
        if button.get("label") == "source-issues-button":
            form = report("page", f"{pagename}: ", page=pagename)
            button |= {"url": form, "text": "Something is wrong here", "tooltip": "Say what is wrong on this page"}
        elif "urlpath" in button.get("url", ""):
            first = min(filter(number_of, app.env.found_docs))
            button["url"] = button["url"].replace(f"{app.config.root_doc}.md", f"{first}.ipynb")


def setup(app):
    app.add_transform(WrongBecause)
    app.connect("config-inited", configure)
    app.connect("source-read", fill_in)
    app.connect("html-page-context", lead_on, priority=900)  # when the theme has made its buttons
    return {"parallel_read_safe": True, "parallel_write_safe": True}
