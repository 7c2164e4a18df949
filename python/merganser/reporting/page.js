// The page of a report: renders the embedded data. Text is inserted as text, never as markup.
"use strict";

const report = JSON.parse(document.getElementById("data").textContent);
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

function section(parent, nth, part) {
  const element = make("section", parent);
  element.id = part.name;
  make("h2", element, `${nth}. ${part.title}`);
  make("p", element, part.text);
  for (const specs of part.charts) {
    const chart = make("div", element, undefined, "chart");
    chart.setAttribute("role", "img");
    chart.setAttribute("aria-label", part.title);
    charts.push([chart, specs]);
  }
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
    await vegaEmbed(element, specs[scheme], { mode: "vega", actions: false, renderer: "svg" });
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
