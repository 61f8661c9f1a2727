// MathJax without a browser: https://docs.mathjax.org/en/v3.2/server/direct.html
const { adaptors, handlers, a11y, input, output, mathjax } = MathJax._;
const adaptor = adaptors.liteAdaptor.liteAdaptor();
a11y["assistive-mml"].AssistiveMmlHandler(handlers.html_ts.RegisterHTMLHandler(adaptor));
const OutputJax = new output.chtml_ts.CHTML({ font: new output.chtml.fonts.tex_ts.TeXFont({ fontURL: "." }) });
const page = mathjax.mathjax.document("", {
  InputJax: new input.tex_ts.TeX({ packages: ["base", "ams", "html"] }),
  OutputJax,
});

// The letter x is 8.5 of 16 pixels high in the fonts of most systems; formulas are made as large as the text around them.
function typeset(latex, display) {
  return adaptor.outerHTML(page.convert(latex, { display, em: 16, ex: 8.5, containerWidth: 720 }));
}

// The styles of all that was set so far.
function styles() {
  return adaptor.textContent(OutputJax.styleSheet(page));
}

export { styles, typeset };
