"""What the tests of figures share: a page of nothing but figures, recorded looks, JavaScript without a page."""

import json
from pathlib import Path

import pytest
import quickjs
from hands import bring
from looks import written

from attn_course import novels
from attn_course.figures import figure_scripts, read_source, scripts_on_request, shared_script, without_comments
from attn_course.figures.press_train import TRAINER
from attn_course.figures.smollm2_reader import smollm2_scripts

LOOKS = Path(__file__).parent / "looks"


def pytest_addoption(parser):
    parser.addoption("--update-looks", action="store_true", help="record anew what the figures show: tests/looks/")


@pytest.fixture
def recorded(request):
    """Return what was recorded under a name; with --update-looks, record what is found instead."""

    def read(name, found):
        path = LOOKS / f"{name}.json"
        if request.config.getoption("update_looks"):
            path.write_text(written(found), encoding="utf-8")
        return json.loads(path.read_text(encoding="utf-8"))

    return read


def book_script():
    """Return all explorables as one script."""
    return "".join(figure_scripts().values()) + shared_script()


@pytest.fixture(scope="session")
def beside(tmp_path_factory):
    """A folder with the scripts of the book."""
    folder = tmp_path_factory.mktemp("figures")
    scripts = {"explorables.js": without_comments(book_script()), "trainer.js": without_comments(TRAINER)}
    for name, text in [*scripts.items(), *scripts_on_request()]:
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def with_model(beside, smollm2):
    """The folder of the book's scripts, with those that hold the model."""
    (beside / "smollm2").mkdir()
    for name, text in smollm2_scripts(without_comments):
        (beside / name).write_text(text, encoding="utf-8")
    return beside


@pytest.fixture
def unloaded(visit, beside, tmp_path):
    """Open a page of nothing but these figures, or HTML, as a page of the book holds them; nothing glides there."""

    def open_page(*figures, **options):
        head = f"<meta charset=utf-8><title>Figures</title><style>{read_source('figures.css')}</style>"
        bodies = [one if isinstance(one, str) else one._repr_mimebundle_()[0]["text/html"] for one in figures]
        page = beside / f"{tmp_path.name}.html"
        page.write_text(
            f"<!doctype html><html lang=en>{head}<main><h1>Figures</h1>{''.join(bodies)}</main>"
            "<script defer src=explorables.js></script>",
            encoding="utf-8",
        )
        return visit(page.as_uri(), offline=True, until="load", **{"reduced_motion": "reduce", **options})

    return open_page


@pytest.fixture
def blank(unloaded):
    """Open such a page, with all that its figures ask for."""

    def open_page(*figures, **options):
        page = unloaded(*figures, **options)
        bring(page)
        return page

    return open_page


@pytest.fixture(scope="session")
def js():
    """Call a function of the figures' JavaScript in an engine that has no page."""
    context = quickjs.Context()
    context.eval("var window = globalThis, document = { currentScript: {}, querySelectorAll: () => [] };")
    context.eval(book_script())

    def call(function, *values):
        given = json.dumps(values, default=lambda array: array.tolist())
        return json.loads(context.eval(f"JSON.stringify(((attn) => {function})(attnExplorables)(...{given}))"))

    return call


@pytest.fixture(scope="session")
def tokenizer():
    return novels.read_tokenizer()


@pytest.fixture(scope="session")
def held(tokenizer):
    """The held-out text of the novels, in rows."""
    return novels.held_out(tokenizer)


@pytest.fixture
def saved(torch, transformers, tmp_path):
    """Make a model all of whose numbers are random and matter, and save it; return it and its folder."""

    def make(name, sizes, dtype="float32"):
        torch.manual_seed(0)
        kind = getattr(transformers, name)
        model = kind(kind.config_class(**sizes)).eval()
        with torch.no_grad():
            for path, numbers in model.named_parameters():
                gain = path.endswith("weight") and numbers.ndim == 1
                numbers.normal_(gain, 0.3)
        model = model.to(getattr(torch, dtype))
        model.save_pretrained(tmp_path)
        return model.to(torch.float32), tmp_path

    return make
