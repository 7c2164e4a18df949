// Charts: the sections of a tokenizer report, drawn by Vega from specifications that the server sends.
import { button, fill, labeled, make, table } from "../dom.js";
import { sheet } from "../sheet.js";

export const title = "Charts";

const MOST = 4;
let loaded;

/** Loads Vega from the server. Expressions are interpreted (`ast`), because the page does not allow `eval`. */
function vega() {
  loaded ||= import(new URL("api/charts/vega.js", document.baseURI.split("#")[0])).then(() => globalThis.vegaEmbed);
  return loaded;
}

const OPTIONS = {
  mode: "vega", ast: true, actions: false, renderer: "svg", defaultStyle: false,
  tooltip: { disableDefaultStyle: true },
};

export async function mount(element, state, api) {
  await sheet("charts");
  const names = state.about.tokenizers.map((known) => known.name);
  const wanted = (state.get("tokenizers") || "").split("\n").filter((name) => names.includes(name)).slice(0, MOST);
  let chosen = wanted.length ? wanted : names.slice(0, 1);
  let drawn = [];
  let newest = 0;
  const status = make("p", { class: "quiet", role: "status" });
  const contents = make("nav", { class: "contents", "aria-label": "Sections" });
  const sections = make("div", { class: "sections stack" });
  const boxes = names.map((name) => {
    const box = make("input", { type: "checkbox", onchange: () => choose(name, box) });
    box.checked = chosen.includes(name);
    return make("label", { class: "toggle" }, box, make("bdi", {}, name));
  });
  const path = make("input", { type: "text", placeholder: "built-in samples", value: state.get("path") || "", spellcheck: "false" });
  const form = make("form", { class: "row card chosen" },
    make("fieldset", { class: "row" }, make("legend", { class: "unseen" }, "Tokenizers"), ...boxes),
    labeled("Measure on", path), make("button", { type: "submit" }, "Measure"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    show();
  });

  function choose(name, box) {
    chosen = names.filter((other) => (other === name ? box.checked : chosen.includes(other)));
    if (!chosen.length || chosen.length > MOST) {
      box.checked = !box.checked;
      chosen = names.filter((other) => (other === name ? box.checked : chosen.includes(other)));
      status.textContent = `Choose 1 to ${MOST} tokenizers.`;
      return;
    }
    show();
  }

  async function show() {
    const mine = ++newest;
    state.set({ tokenizers: chosen.join("\n"), path: path.value || undefined });
    status.className = "quiet";
    status.textContent = "Measuring and drawing…";
    try {
      const [report, embed] = await Promise.all([api.post("charts/report", { tokenizers: chosen, path: path.value }), vega()]);
      if (mine !== newest) return;
      drop();
      drawn = report.sections.map((part, index) => section(part, index + 1));
      fill(sections, ...drawn.map((one) => one.element));
      fill(contents, make("ol", {}, ...report.sections.map((part, index) => make("li", {},
        button(part.title, () => go(drawn[index].element), { class: "plain" })))));
      await draw(embed, mine);
      if (mine === newest) status.textContent = report.about;
    } catch (problem) {
      if (mine !== newest) return;
      status.className = "error";
      status.textContent = problem.message;
    }
  }

  function go(target) {
    target.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    target.querySelector("h2").focus({ preventScroll: true });
  }

  async function draw(embed, mine) {
    const scheme = dark() ? "dark" : "light";
    for (const one of drawn) {
      for (const panel of one.panels) {
        if (mine !== newest || !panel.canvas.isConnected) return;
        if (panel.view) panel.view.finalize();
        panel.view = await embed(panel.canvas, panel.specs[scheme], OPTIONS);
      }
    }
    element.dataset.drawn = scheme;
  }

  function drop() {
    for (const { panels } of drawn) for (const { view } of panels) if (view) view.finalize();
    document.querySelectorAll("#vg-tooltip-element").forEach((left) => left.remove());
    drawn = [];
    delete element.dataset.drawn;
  }

  const redraw = async () => { if (drawn.length) await draw(await vega(), newest); };
  document.addEventListener("theme", redraw);
  fill(element, form, status, make("div", { class: "report" }, contents, sections));
  show();
  return () => {
    newest += 1;
    document.removeEventListener("theme", redraw);
    drop();
  };
}

function dark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function section(part, nth) {
  const panels = part.charts.map((specs) => {
    const canvas = make("div", { class: "chart", role: "img", "aria-label": part.title });
    return { specs, canvas };
  });
  const hint = part.charts.length && hints(part.charts[0].light);
  const details = make("details", {}, make("summary", {}, "Figures"),
    table(part.table.columns.map((name, column) => [name, part.table.numeric[column]]), part.table.rows, part.title));
  details.open = part.open;
  const element = make("section", { class: "card", "aria-label": part.title },
    make("h2", { tabindex: "-1" }, `${nth}. ${part.title}`), make("p", {}, part.text),
    part.subtitle && make("p", { class: "quiet" }, part.subtitle),
    ...panels.map(({ canvas }) => canvas), save(part), hint && make("p", { class: "quiet hint" }, hint),
    ...part.cuts.flatMap(({ title: text, by }) => [make("h3", {}, make("bdi", {}, text)),
      ...by.flatMap((cut) => [by.length > 1 && make("div", { class: "quiet" }, make("bdi", {}, cut.name)), tokens(cut)])]),
    details);
  return { element, panels };
}

/** Buttons that save the chart, with its title, and the table. */
function save(part) {
  const kinds = part.picture ? ["PNG", "SVG", "CSV"] : ["CSV"];
  return make("p", { class: "row quiet save" }, "Save", ...kinds.map((kind) =>
    button(kind, () => download(part, kind), { "aria-label": `Save ${part.title} as ${kind}` })));
}

async function download(part, kind) {
  const drawn = kind === "CSV" ? null : await (await vega())(document.createElement("div"), part.picture, OPTIONS);
  const address = URL.createObjectURL(await blobOf(part, kind, drawn && drawn.view));
  make("a", { href: address, download: `${part.name}.${kind.toLowerCase()}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  if (drawn) drawn.finalize();
}

async function blobOf(part, kind, view) {
  if (kind === "CSV") return new Blob([part.csv], { type: "text/csv" });
  if (kind === "SVG") return new Blob([await view.toSVG()], { type: "image/svg+xml" });
  const canvas = await view.toCanvas(2);
  return new Promise((done) => { canvas.toBlob(done, "image/png"); });
}

/** Describes the interactions that a chart supports, by its signals. */
function hints(spec) {
  const names = JSON.stringify(spec.signals || []);
  const parts = [];
  if (names.includes("moved_")) parts.push("Drag to pan, Shift + wheel to zoom, double-click to reset.");
  if (names.includes("chosen_")) parts.push("Click a legend entry to highlight it.");
  return parts.join(" ");
}

/** Segments in reading order: runs of one direction inside the direction of the text. */
function tokens({ direction, runs, summary }) {
  let nth = 0;
  const line = make("div", { class: "cuts", dir: direction }, ...runs.map(([runDirection, segments]) =>
    make("span", { dir: runDirection }, ...segments.flatMap(({ text, ids, cut, ends }) => [
      make("span", { class: `cut tint${nth++ % 5}${cut ? " within" : ""}`, title: cut ? "characters that several tokens share" : undefined },
        make("bdi", {}, text), make("small", { dir: "ltr" }, ids)),
      ends && make("br")]).filter(Boolean))));
  return make("div", {}, line, make("p", { class: "quiet" }, summary));
}
