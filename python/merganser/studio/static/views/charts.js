// Charts: a dashboard of one to four tokenizers. Its parts are those of reports (sections.js), drawn by Vega from
// specifications that the server sends.
import { button, fill, make, uniqueId } from "../dom.js";
import { Editor } from "../editor.js";
import { FilePicker } from "../files.js";

export const title = "Charts";

const MOST = 4;
const PATIENCE = 300; // milliseconds after the last change before measuring
const SOURCES = { sample: "Built-in sample", file: "File", paste: "Paste" };
const server = (path) => new URL(`api/charts/${path}`, document.baseURI.split("#")[0]).href;
let loaded;
let shared;

/** Loads Vega from the server. */
function vega() {
  loaded ||= import(server("vega.js")).then(() => globalThis.vegaEmbed);
  return loaded;
}

/** Loads the parts that reports and this view share. */
function parts() {
  shared ||= Promise.all([import(server("sections.js")), new Promise((resolve) => {
    const link = make("link", { rel: "stylesheet", href: server("sections.css"), onload: resolve, onerror: resolve });
    document.head.append(link);
  })]).then(([module]) => module);
  return shared;
}

export async function mount(element, state, api) {
  const [report, options] = await Promise.all([parts(), api.get("train/about")]);
  const names = state.about.tokenizers.map((known) => known.name);
  const wanted = (state.get("tokenizers") || "").split("\n").filter((name) => names.includes(name)).slice(0, MOST);
  let chosen = wanted.length ? wanted : [state.tokenizer(names)];
  let on = Object.hasOwn(SOURCES, state.get("on") ?? "") ? state.get("on") : state.get("path") ? "file" : "sample";
  let drawn = [];
  let newest = 0;
  let timer = 0;
  const status = make("p", { class: "quiet", role: "status" });
  const top = make("div", { class: "summary-top" });
  const contents = make("nav", { class: "contents", "aria-label": "Sections" });
  const sections = make("div", { class: "sections grid" });
  const boxes = names.map((name) => {
    const box = make("input", { type: "checkbox", onchange: () => choose(name, box) });
    box.checked = chosen.includes(name);
    return make("label", { class: "toggle" }, box, make("bdi", {}, name));
  });
  const picker = new FilePicker(options.files, state.about.folders, [state.get("path")].filter(Boolean), () => {
    if (picker.chosen.size > 1) { // one file is measured at a time
      const last = [...picker.chosen].pop();
      picker.chosen = new Set([last]);
      picker.draw();
    }
    later();
  });
  const editor = new Editor({ rows: "5", id: uniqueId("text"), placeholder: "Paste a text to measure on" }, () => {
    state.keep({ pasted: editor.text });
    later();
  });
  editor.set(state.get("pasted") ?? state.get("text") ?? "");
  const pasted = make("div", {}, make("label", { class: "unseen", for: editor.field.id }, "Text to measure on"), editor.element);
  const group = uniqueId("on");
  const sources = Object.entries(SOURCES).map(([value, label]) => {
    const radio = make("input", { type: "radio", name: group, value, onchange: () => { on = value; arrange(); show(); } });
    radio.checked = value === on;
    return make("label", { class: "segment" }, radio, label);
  });
  function arrange() {
    picker.element.hidden = on !== "file";
    pasted.hidden = on !== "paste";
  }
  arrange();
  const form = make("form", { class: "card stack chosen" },
    make("div", { class: "row" }, make("fieldset", { class: "row" }, make("legend", {}, "Tokenizers"), ...boxes),
      make("fieldset", { class: "row" }, make("legend", {}, "Measured on"), make("span", { class: "segments" }, ...sources))),
    picker.element, pasted);
  form.addEventListener("submit", (event) => { event.preventDefault(); show(); });

  function later() {
    clearTimeout(timer);
    timer = setTimeout(show, PATIENCE);
  }

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
    clearTimeout(timer);
    const [path] = picker.value;
    state.set({ tokenizers: chosen.join("\n"), on: on === "sample" ? undefined : on, path: on === "file" ? path : undefined });
    status.className = "quiet";
    if ((on === "file" && !path) || (on === "paste" && !editor.text.trim())) {
      status.textContent = on === "file" ? "Choose a file to measure on." : "Paste a text to measure on.";
      return;
    }
    status.textContent = "Measuring and drawing…";
    try {
      const source = on === "file" ? { path } : on === "paste" ? { text: editor.text } : {};
      const [answer, embed] = await Promise.all([api.post("charts/report", { tokenizers: chosen, ...source }), vega()]);
      if (mine !== newest) return;
      drop();
      drawn = answer.sections.map((part, nth) => {
        const made = report.reportSection(part, nth + 1, vega, part.charts.length ? hints(part.charts[0].light) : "");
        made.element.classList.add("card");
        return made;
      });
      fill(top, report.tileRow(answer.tiles), report.takeawayList(answer.sections, (part) => go(drawn[answer.sections.indexOf(part)].element)));
      report.fillRows(drawn.map((one) => one.element));
      fill(sections, ...drawn.map((one) => one.element));
      fill(contents, make("ol", {}, ...answer.sections.map((part, nth) => make("li", {},
        button(part.title, () => go(drawn[nth].element), { class: "plain" })))));
      await draw(embed, mine);
      if (mine === newest) status.textContent = answer.about;
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
    if (await report.drawPanels(drawn, embed, scheme, () => mine === newest)) element.dataset.drawn = scheme;
  }

  function drop() {
    for (const { panels } of drawn) for (const { view } of panels) if (view) view.finalize();
    document.querySelectorAll("#vg-tooltip-element").forEach((left) => left.remove());
    drawn = [];
    delete element.dataset.drawn;
  }

  const redraw = async () => { if (drawn.length) await draw(await vega(), newest); };
  document.addEventListener("theme", redraw);
  fill(element, form, status, top, make("div", { class: "report" }, contents, sections));
  show();
  return () => {
    newest += 1;
    clearTimeout(timer);
    document.removeEventListener("theme", redraw);
    drop();
  };
}

function dark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Describes the interactions that a chart supports, by its signals. */
function hints(spec) {
  const names = JSON.stringify(spec.signals || []);
  const found = [];
  if (names.includes("moved_")) found.push("Drag to pan, Shift + wheel to zoom, double-click to reset.");
  if (names.includes("chosen_")) found.push("Click a legend entry to highlight it.");
  return found.join(" ");
}
