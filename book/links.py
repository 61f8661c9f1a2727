"""Links from the chapters to the glossary, and what search knows of it."""

import functools
import re

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from . import number_of

GLOSSARY = "chapters/glossary"
ASIDE = re.compile(r" \([^)]*\)")
NOT_PROSE = (nodes.title, nodes.reference, nodes.literal, nodes.FixedTextElement, nodes.raw, addnodes.pending_xref)


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


def as_latex(symbol):
    """Return a symbol as a formula has it.

    >>> as_latex("d_model"), as_latex("W_Q"), as_latex("ΔE")
    ('d_\\\\text{model}', 'W_Q', '\\\\Delta E')
    """
    return re.sub(r"_(\w{2,})", r"_\\text{\1}", symbol).replace("Δ", r"\Delta ")


def spellings(word):
    """Return how a word is typed: in the singular and in the plural, and with blanks or hyphens between its parts.

    >>> sorted(spellings("key–value cache"))[::2]
    ['key value cache', 'key-value cache', 'key-value-cache', 'key–value cache']
    """
    loose = re.sub("[-–]", " ", word)
    ways = word, word.replace("–", "-"), loose, loose.replace(" ", "-")
    return {form for way in ways for form in forms(way)}


@functools.cache
def glossary(env):
    """Return of each entry of the glossary its address and its first sentence."""
    entries = {}
    for section in env.get_doctree(GLOSSARY).findall(nodes.section) if GLOSSARY in env.found_docs else []:
        if isinstance(section.parent.parent, nodes.section):  # a term, below a part, below the title
            first = next(section.findall(nodes.paragraph)).astext().replace("\n", " ").split(". ")[0]
            entries[section[0].astext()] = section["ids"][0], first.removesuffix(".")
    return entries


def elsewhere(env):
    """Yield each word that others use, by the glossary's tables, and the page and the place that its row leads to."""
    for row in env.get_doctree(GLOSSARY).findall(nodes.row) if GLOSSARY in env.found_docs else []:
        here, words = row.children
        for link in here.findall(lambda node: isinstance(node, (nodes.reference, addnodes.pending_xref))):
            page, slug = link.get("reftarget", GLOSSARY), link.get("reftargetid")
            target = env.metadata[page]["myst_slugs"][slug][1] if slug else link.get("refid", "")
            for word in re.split(", | or ", ASIDE.sub("", words.astext())):
                yield word, page, target


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


class Symbols(SphinxTransform):
    """Set the symbols that the glossary explains as formulas, where they are its headings; search has them as typed."""

    default_priority = 400

    def apply(self, **kwargs):
        for title in self.document.findall(nodes.title) if self.env.docname == GLOSSARY else []:
            if is_symbol(symbol := title.astext()):
                title[:] = [nodes.math("", symbol, latex=as_latex(symbol))]


class Elsewhere(SphinxTransform):
    """Let an entry of the glossary say what others call it: search leads there from their words."""

    default_priority = 900  # when links know where they lead

    def apply(self, **kwargs):
        if self.env.docname != GLOSSARY:
            return
        entries = {section["ids"][0]: section for section in self.document.findall(nodes.section)}
        for row in self.document.findall(nodes.row):
            here, words = row.children
            for link in here.findall(lambda node: isinstance(node, nodes.reference) and "refid" in node):
                entries[link["refid"]] += nodes.paragraph("", "Elsewhere: ", *words[0].deepcopy().children)


def index_terms(app, env):
    """Lead from the index, which search reads, to each term of the glossary, and from the words of others."""
    index = env.get_domain("index").entries
    index[GLOSSARY] = [("single", term, target, "main", None) for term, (target, _) in glossary(env).items()]
    for word, docname, target in elsewhere(env):
        index.setdefault(docname, []).append(("single", word, target, "main", None))


class FindTerms(SphinxPostTransform):
    """Let search find what the index leads to, however it is typed: it reads the page, and not the index."""

    default_priority = 5

    def run(self, **kwargs):
        known = self.env.get_domain("index").entries.get(self.env.docname, [])
        main = [entry for entry in known if entry[3] == "main"]
        typed = [(kind, one, *place) for kind, word, *place in main for one in spellings(word)]
        self.document += addnodes.index(entries=typed)


def setup(app):
    app.add_transform(Symbols)
    app.add_transform(Elsewhere)
    app.add_post_transform(LinkTerms)
    app.add_post_transform(FindTerms)
    app.connect("env-updated", index_terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
