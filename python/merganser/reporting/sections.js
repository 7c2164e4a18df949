// The parts of a report: tiles, takeaways and sections, in reports and in the studio.
// Text is inserted as text, never as markup.

/** How a chart is embedded. Expressions are interpreted (`ast`), because pages do not allow `eval`. */
export const EMBED = {
  mode: "vega", ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: { disableDefaultStyle: true },
};

/** Creates an element with a class, text and children. */
export function put(name, className, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== undefined && child !== null && child !== ""));
  return element;
}

/** Figures that are shown large. With several tokenizers, each has its name. */
export function tileRow(tiles) {
  return put("dl", "figure-tiles", ...tiles.map(({ title, values }) => put("div", "figure-tile", put("dt", "", title),
    ...values.map(([name, value]) => {
      const shown = put("dd", "", put("strong", "", value));
      if (values.length > 1) shown.append(put("bdi", "", name));
      return shown;
    }))));
}

/** What the sections show, one sentence each; `go(section)` follows a link to one. */
export function takeawayList(sections, go) {
  const list = put("ul", "", ...sections.filter((part) => part.takeaway).map((part) => {
    const link = put("button", "", part.title);
    link.type = "button";
    link.addEventListener("click", () => go(part));
    return put("li", "", put("bdi", "", part.takeaway), " ", link);
  }));
  const element = put("div", "takeaways", list);
  element.hidden = !list.children.length;
  return element;
}

/**
 * A section: {element, panels}; each panel has the `canvas` for a chart and its `specs` by color scheme.
 * `load` resolves to vegaEmbed; `note` is a line below the chart.
 */
export function reportSection(part, nth, load, note) {
  const heading = put("h2", "", `${nth}. ${part.title}`);
  heading.tabIndex = -1;
  const head = put("div", "section-head", heading, saveMenu(part, load));
  const panels = part.charts.map((specs) => {
    const canvas = put("div", "chart");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${part.title}: ${part.subtitle}. ${part.takeaway}`);
    const box = put("div", "scroll", canvas);
    const { minWidth } = specs.light.usermeta || {};
    if (minWidth) {
      canvas.style.minWidth = `${minWidth}px`;
      box.tabIndex = 0;
    }
    return { specs, canvas, box };
  });
  const details = put("details", "", put("summary", "", part.files ? "Figures and files" : "Figures"), figures(part));
  details.open = part.open;
  if (part.files) details.append(files(part.files));
  const element = put("section", "", head, put("p", "subject", put("bdi", "", part.subtitle)),
    part.takeaway && put("p", "takeaway", put("bdi", "", part.takeaway)),
    panels.length ? put("div", "panels", ...panels.map(({ box }) => box)) : null, note && put("p", "quiet hint", note),
    part.cuts.length ? put("div", "examples", ...part.cuts.map(({ title, by }) => put("div", "", put("h3", "", put("bdi", "", title)),
      ...by.flatMap((cut) => [by.length > 1 ? put("div", "quiet", put("bdi", "", cut.name)) : null, tokenized(cut)])))) : null,
    put("p", "explanation quiet", part.text), details);
  element.setAttribute("aria-label", part.title);
  if (part.cuts.length || part.open || part.charts.length > 1) element.classList.add("full");
  return { element, panels };
}

/** Lets a section that would be alone in its row of two take both columns. */
export function fillRows(elements) {
  let alone = null;
  for (const element of [...elements, null]) {
    if (element && !element.classList.contains("full")) {
      alone = alone ? null : element;
      continue;
    }
    alone?.classList.add("full");
    alone = null;
  }
}

/** The table of a section. */
function figures({ table: { columns, numeric, rows }, title }) {
  const head = columns.map((column, nth) => {
    const cell = put("th", numeric[nth] ? "number" : "", column);
    cell.scope = "col";
    return cell;
  });
  const body = rows.map((row) => put("tr", "", ...row.map((cell, nth) => put("td", numeric[nth] ? "number" : "", put("bdi", "", cell)))));
  const box = put("div", "scroll", put("table", "", put("thead", "", put("tr", "", ...head)), put("tbody", "", ...body)));
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", `Figures: ${title}`);
  return box;
}

function files(names) {
  return put("p", "quiet", ...names.flatMap((name, nth) => {
    const link = put("a", "", name);
    link.href = encodeURI(name);
    return nth ? [" · ", link] : [link];
  }));
}

/** Segments in reading order: runs of one direction inside the direction of the text. */
function tokenized({ direction, runs, summary }) {
  const line = put("div", "cuts");
  line.dir = direction;
  let nth = 0;
  for (const [runDirection, segments] of runs) {
    const run = put("span", "");
    run.dir = runDirection;
    for (const { text, ids, cut, ends } of segments) {
      const small = put("small", "", ids);
      small.dir = "ltr";
      const cell = put("span", `cut tint${nth++ % 5}${cut ? " within" : ""}`, put("bdi", "", text), small);
      if (cut) cell.title = "a character that is split between several tokens";
      run.append(cell);
      if (ends) run.append(put("br", ""));
    }
    line.append(run);
  }
  return put("div", "", line, put("p", "quiet", summary));
}

/** A menu that saves the chart, with its title, the table, and the definition of the chart. */
function saveMenu(part, load) {
  const kinds = part.picture ? ["PNG", "SVG", "CSV", "Vega"] : ["CSV"];
  const items = kinds.map((kind) => {
    const item = put("button", "", kind);
    item.type = "button";
    item.setAttribute("aria-label", `Save ${part.title} as ${kind}`);
    item.addEventListener("click", () => { menu.open = false; save(part, kind, load); });
    return item;
  });
  const label = put("summary", "", "Save");
  label.setAttribute("aria-label", `Save ${part.title}`);
  const menu = put("details", "save", label, put("div", "save-items", ...items));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    label.focus();
  });
  menu.addEventListener("focusout", (event) => { if (!menu.contains(event.relatedTarget)) menu.open = false; });
  return menu;
}

async function save(part, kind, load) {
  const needsView = kind === "PNG" || kind === "SVG";
  const drawn = needsView ? await (await load())(document.createElement("div"), part.picture, EMBED) : null;
  const address = URL.createObjectURL(await contents(part, kind, drawn && drawn.view));
  const link = put("a", "");
  link.href = address;
  link.download = `${part.name}.${kind === "Vega" ? "vg.json" : kind.toLowerCase()}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  if (drawn) drawn.finalize();
}

async function contents(part, kind, view) {
  if (kind === "CSV") return new Blob([part.csv], { type: "text/csv" });
  if (kind === "SVG") return new Blob([await view.toSVG()], { type: "image/svg+xml" });
  if (kind === "Vega") {
    const spec = { $schema: "https://vega.github.io/schema/vega/v5.json", ...part.picture };
    return new Blob([JSON.stringify(spec, null, 1)], { type: "application/json" });
  }
  const canvas = await view.toCanvas(2);
  return new Promise((done) => { canvas.toBlob(done, "image/png"); });
}

/** Draws the charts of sections for a color scheme, while `isCurrent()`. */
export async function drawPanels(sections, embed, scheme, isCurrent = () => true) {
  for (const { panels } of sections) {
    for (const panel of panels) {
      if (!isCurrent() || !panel.canvas.isConnected) return false;
      if (panel.view) panel.view.finalize();
      panel.view = await embed(panel.canvas, panel.specs[scheme], EMBED);
    }
  }
  return true;
}
