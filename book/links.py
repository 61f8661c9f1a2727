"""Links from the chapters to the glossary, and the index."""

import functools
import re
from collections import Counter
from operator import itemgetter

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from . import number_of

GLOSSARY = "chapters/glossary"
NOT_PROSE = (nodes.title, nodes.reference, nodes.literal, nodes.FixedTextElement, nodes.raw, addnodes.pending_xref)
NOT_INDEXED = {"Questions", "Exercises", "Summary", "References"}


def ancestors(node):
    while node.parent is not None:
        node = node.parent
        yield node


def is_symbol(term):
    return "_" in term or len(term.removeprefix("Δ")) == 1


def forms(term):
    """Return a term in the singular and in the plural.

    >>> forms("query"), forms("head")
    (('query', 'queries'), ('head', 'heads'))
    """
    return term, f"{term[:-1]}ies" if term.endswith("y") else f"{term}s"


def plain(latex):
    """Return a symbol of a formula as code has it.

    >>> plain(r"d_\\text{model}"), plain(r"\\Delta E")
    ('d_model', 'ΔE')
    """
    return re.sub(r"\\text|[{} ]", "", latex.replace("\\Delta", "Δ"))


@functools.cache
def glossary(env):
    """Return of each entry of the glossary its address and its first sentence."""
    entries = {}
    for section in env.get_doctree(GLOSSARY).findall(nodes.section) if GLOSSARY in env.found_docs else []:
        if isinstance(section.parent.parent, nodes.section):  # a term, below a part, below the title
            first = next(section.findall(nodes.paragraph)).astext().replace("\n", " ").split(". ")[0]
            entries[section[0].astext()] = section["ids"][0], first.removesuffix(".")
    return entries


@functools.cache
def names(env):
    """Return a pattern that finds the terms of the glossary in prose, and the term of each form."""
    known = {form.lower(): term for term in glossary(env) if not is_symbol(term) for form in forms(term)}
    longest_first = sorted(known, key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(map(re.escape, longest_first))})\b" if known else r"(?!)", re.IGNORECASE), known


class LinkTerms(SphinxPostTransform):
    """Lead from the first place where a chapter uses a term or a symbol to its entry in the glossary."""

    default_priority = 5

    def run(self, **kwargs):
        if not number_of(self.env.docname):
            return
        self.linked = set()
        for node in list(self.document.findall(lambda node: isinstance(node, (nodes.Text, nodes.math, nodes.literal)))):
            parents = [*ancestors(node)]
            if any(isinstance(parent, NOT_PROSE) for parent in parents) or not any(
                isinstance(parent, nodes.paragraph) for parent in parents
            ):
                continue
            if isinstance(node, nodes.Text):
                if not isinstance(node.parent, nodes.math):
                    node.parent.replace(node, self.split(node.astext()))
            elif self.is_new(symbol := plain(node.astext())):
                node.parent.replace(node, self.link(symbol, node.deepcopy()))

    def is_new(self, term):
        return term in glossary(self.env) and term not in self.linked

    def split(self, text):
        """Return the text as nodes, with terms that are new to the chapter as links."""
        pattern, known = names(self.env)
        parts, at = [], 0
        for match in pattern.finditer(text):
            if self.is_new(term := known[match[0].lower()]):
                parts += [nodes.Text(text[at : match.start()]), self.link(term, nodes.Text(match[0]))]
                at = match.end()
        return [*parts, nodes.Text(text[at:])]

    def link(self, term, content):
        self.linked.add(term)
        target, first = glossary(self.env)[term]
        reference = make_refnode(self.app.builder, self.env.docname, GLOSSARY, target, content, first)
        reference["classes"].append("attn-term")
        return reference


def index_terms(app, env):
    """Lead from the index to each term of the glossary, and to the section of each chapter that says most of it.

    A bold term is being explained there.
    """
    pattern, known = names(env)
    terms = [("single", term, target, "main", None) for term, (target, _) in glossary(env).items()]
    env.get_domain("index").entries[GLOSSARY] = terms
    for docname in filter(number_of, sorted(env.found_docs)):
        uses = {}  # term: (how often, section)
        for section in env.get_doctree(docname).findall(
            lambda node: isinstance(node, nodes.section) and isinstance(node.parent, nodes.section)
        ):
            if section[0].astext() in NOT_INDEXED:
                continue
            text = " ".join(paragraph.astext() for paragraph in section.findall(nodes.paragraph))
            bold = 10 * [strong.astext() for strong in section.findall(nodes.strong)]
            for term, count in Counter(
                known[word.lower()] for word in pattern.findall(" . ".join([text, *bold]))
            ).items():
                uses.setdefault(term, []).append((count, section))
        entries = env.get_domain("index").entries.setdefault(docname, [])
        for term, found in uses.items():
            count, section = max(found, key=itemgetter(0))
            if count > 2:
                place = f"chapter {number_of(docname)}: {section[0].astext()}"
                entries.append(("single", f"{term}; {place}", section["ids"][0], "", None))


def setup(app):
    app.add_post_transform(LinkTerms)
    app.connect("env-updated", index_terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
