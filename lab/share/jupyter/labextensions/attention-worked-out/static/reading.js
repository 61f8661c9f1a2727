// An extension of JupyterLab, in the form that needs no build: links land on headings, a chapter that was only opened
// is not unsaved, numbers that the book folds stay so when all cells are run, tables read as in the book, solutions look as
// if they open and set their formulas, and no formula is cut. guesses.js asks.

{
  const LOOKS = `
    .jp-RenderedHTMLCommon details > summary { list-style: revert; cursor: pointer; }
    .jp-RenderedHTMLCommon table.attn-numbers :is(th:first-child, th[scope="row"]) { text-align: left; }
    .jp-RenderedHTMLCommon table.attn-numbers tbody th { font-weight: inherit; }
    .myst .overflow-y-hidden:has(> .katex-display) { padding-block: 3px; }`;
  const OF_THE_KERNEL = ["kernelspec", "language_info"]; // what JupyterLab writes into a notebook that it opens
  const RUNS_ALL = ["notebook:run-all-cells", "notebook:restart-run-all"];
  const FOLDED = ["hide-cell", "hide-output"];
  const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

  // The name of a heading in an address, as in the book and on GitHub.
  const slug = (text) => text.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
  const namesIn = (source) => [...source.matchAll(/^#{1,6} (.*)$/gm)].map(([, text]) => slug(text));

  // The cells above a heading grow while they are drawn: aim again for some seconds, or until the reader moves.
  async function land(widget, name) {
    await widget.context.ready;
    const cells = widget.content.widgets ?? [];
    const number = cells.findIndex(({ model }) => model.type === "markdown" && namesIn(model.sharedModel.getSource()).includes(name));
    const moved = new AbortController();
    for (const kind of ["wheel", "pointerdown", "keydown"]) {
      window.addEventListener(kind, () => moved.abort(), { capture: true, once: true, signal: moved.signal });
    }
    for (let patience = 200, rest = 50; patience && rest && widget.isVisible && !moved.signal.aborted; patience--) {
      const headings = [...widget.node.querySelectorAll("h1, h2, h3, h4, h5, h6")];
      const heading = headings.find(({ id, textContent }) => id === name || slug(textContent.replace("¶", "")) === name);
      if (heading) {
        heading.scrollIntoView();
        rest--;
      } else if (number >= 0) widget.content.scrollToItem(number, "start").catch(() => {});
      await pause(160);
    }
    moved.abort();
  }

  function keepClean({ context: { model } }) {
    model.metadataChanged.connect((_, { key }) => {
      if (OF_THE_KERNEL.includes(key) && !model.dirty) queueMicrotask(() => (model.dirty = false));
    });
  }

  // JupyterLab unfolds what it runs, which is right where the reader ran that cell.
  function foldNumbers({ content: { widgets } }) {
    for (const cell of widgets) {
      if (cell.model.getMetadata("tags")?.some((tag) => FOLDED.includes(tag))) cell.outputHidden = true;
    }
  }

  // What jupyterlab-myst leaves of a formula inside a fold is its LaTeX.
  function typeset(fold, typesetter) {
    for (const formula of fold.querySelectorAll(".math-inline")) {
      formula.className = "";
      formula.textContent = `$${formula.textContent}$`;
    }
    typesetter.typeset(fold);
  }

  function activate({ commands, shell }, notebooks, typesetter) {
    document.head.append(Object.assign(document.createElement("style"), { textContent: LOOKS }));
    notebooks.widgetAdded.connect((_, notebook) => keepClean(notebook));
    document.addEventListener("click", ({ target }) => {
      const link = target.closest(".jp-Notebook a[href^='#'], .jp-MarkdownViewer a[href^='#']");
      if (link && shell.currentWidget?.context) land(shell.currentWidget, decodeURIComponent(link.hash.slice(1)));
    });
    document.addEventListener("toggle", ({ target }) => target.matches?.(".myst details") && typeset(target, typesetter), true);
    commands.commandExecuted.connect(async (_, { id, args, result }) => {
      const notebook = notebooks.currentWidget;
      if (RUNS_ALL.includes(id)) result.then(() => notebook.isDisposed || foldNumbers(notebook));
      if (id !== "rendermime:handle-local-link" || !args.id?.startsWith("#")) return;
      await result;
      const widget = [...shell.widgets("main")].find(({ context }) => context?.path === args.path);
      if (widget) land(widget, decodeURIComponent(args.id.slice(1)));
    });
  }

  const here = document.currentScript.src;
  let shared;
  (window._JUPYTERLAB ??= {})["attention-worked-out"] = {
    init: (scope) => (shared = scope),
    get: async () => {
      const given = async (name) => (await Object.values(shared[name])[0].get())();
      const { INotebookTracker } = await given("@jupyterlab/notebook");
      const { ILatexTypesetter } = await given("@jupyterlab/rendermime");
      const guesses = await import(new URL("guesses.js", here));
      const requires = [INotebookTracker, ILatexTypesetter];
      const plugin = (name, activate) => ({ id: `attention-worked-out:${name}`, autoStart: true, requires, activate });
      return () => ({ __esModule: true, default: [plugin("reading", activate), plugin("guesses", guesses.activate)] });
    },
  };
}
