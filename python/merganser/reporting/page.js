// The page of a report: renders the embedded data. Text is inserted as text, never as markup.
"use strict";

const report = JSON.parse(document.getElementById("data").textContent);
const OPTIONS = { mode: "vega", ast: true, actions: false, renderer: "svg" };
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function make(name, parent, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  parent.append(element);
  return element;
}

function link(parent, text, address) {
  const element = make("a", parent, text);
  element.href = address;
  return element;
}

function table(parent, { columns, numeric, rows }) {
  const box = make("div", parent, undefined, "scroll");
  box.tabIndex = 0;
  const element = make("table", box);
  const head = make("tr", make("thead", element));
  columns.forEach((column, nth) => {
    make("th", head, column, numeric[nth] ? "number" : "").scope = "col";
  });
  const body = make("tbody", element);
  for (const row of rows) {
    const line = make("tr", body);
    row.forEach((cell, nth) => make("bdi", make("td", line, undefined, numeric[nth] ? "number" : ""), cell));
  }
}

// Segments in reading order: runs of one direction inside a line of another.
function tokens(parent, { direction, runs, summary }) {
  const line = make("div", parent, undefined, "tokens");
  line.dir = direction;
  let nth = 0;
  for (const [runDirection, segments] of runs) {
    const run = make("span", line);
    run.dir = runDirection;
    for (const { text, ids, cut, ends } of segments) {
      const cell = make("span", run, undefined, cut ? "cell cut" : "cell");
      cell.style.background = `var(--tint${nth++ % 5})`;
      if (cut) cell.title = "a character that is split between several tokens";
      make("bdi", cell, text);
      make("small", cell, ids).dir = "ltr";
      if (ends) make("br", run);
    }
  }
  make("div", parent, summary, "figures");
}

// Saves a chart with its title, and the table. The page needs no other file for that.
function menu(parent, part) {
  const element = make("p", parent, "Save ", "save quiet");
  if (part.picture) {
    choice(element, "PNG", part, async (view) => {
      const canvas = await view.toCanvas(2);
      return new Promise((done) => { canvas.toBlob(done, "image/png"); });
    });
    choice(element, "SVG", part, async (view) => new Blob([await view.toSVG()], { type: "image/svg+xml" }));
  }
  choice(element, "CSV", part, () => new Blob([part.csv], { type: "text/csv" }));
}

function choice(parent, kind, part, render) {
  const button = make("button", parent, kind);
  button.type = "button";
  button.setAttribute("aria-label", `Save ${part.title} as ${kind}`);
  button.addEventListener("click", async () => {
    const drawn = kind === "CSV" ? null : await vegaEmbed(document.createElement("div"), part.picture, OPTIONS);
    const address = URL.createObjectURL(await render(drawn && drawn.view));
    const target = link(document.body, "", address);
    target.download = `${part.name}.${kind.toLowerCase()}`;
    target.click();
    target.remove();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
    if (drawn) drawn.finalize();
  });
}

function section(parent, nth, part) {
  const element = make("section", parent);
  element.id = part.name;
  make("h2", element, `${nth}. ${part.title}`);
  make("p", element, part.text);
  if (part.subtitle) make("p", element, part.subtitle, "quiet subtitle");
  for (const specs of part.charts) {
    const box = make("div", element, undefined, "scroll");
    const chart = make("div", box, undefined, "chart");
    chart.setAttribute("role", "img");
    chart.setAttribute("aria-label", part.title);
    const { minWidth } = specs.light.usermeta || {};
    if (minWidth) {
      chart.style.minWidth = `${minWidth}px`;
      box.tabIndex = 0;
    }
    charts.push([chart, specs]);
  }
  menu(element, part);
  for (const { title, by } of part.cuts) {
    make("bdi", make("h3", element), title);
    for (const { name, ...cut } of by) {
      if (by.length > 1) make("div", element, name, "quiet");
      tokens(element, cut);
    }
  }
  const details = make("details", element);
  details.open = part.open;
  make("summary", details, "Figures and files");
  table(details, part.table);
  const files = make("p", details, undefined, "quiet");
  part.files.forEach((file, place) => {
    if (place) files.append(" · ");
    link(files, file, encodeURI(file));
  });
}

async function draw() {
  const scheme = dark.matches ? "dark" : "light";
  for (const [element, specs] of charts) {
    await vegaEmbed(element, specs[scheme], OPTIONS);
  }
  document.documentElement.dataset.drawn = scheme;
}

const charts = [];
const header = document.getElementById("header");
make("h1", header, report.title);
for (const line of report.about) make("p", header, line);
const list = make("ol", document.getElementById("contents"));
const main = document.getElementById("sections");
report.sections.forEach((part, nth) => {
  link(make("li", list), part.title, `#${part.name}`);
  section(main, nth + 1, part);
});
draw();
dark.addEventListener("change", draw);
