// Embeddings: a map of all tokens with search, zoom and nearest neighbors.
import { announce, button, choice, fill, labeled, make, number } from "../dom.js";
import { Field } from "../field.js";
import { sheet } from "../sheet.js";

export const title = "Embeddings";

const KINDS = ["words", "word parts", "numbers", "punctuation", "other"];
const METHODS = { pca: "PCA, all tokens", tsne: "t-SNE" };

/** Classifies a token by its label; returns an index into KINDS. */
function kindOf(label) {
  if (/^·\p{L}+$/u.test(label)) return 0;
  if (/^\p{L}[\p{L}\p{M}]*$/u.test(label)) return 1;
  if (/^·?\p{N}+$/u.test(label)) return 2;
  if (/^[·⏎⇥]*[\p{P}\p{S}·⏎⇥]+$/u.test(label)) return 3;
  return 4;
}

export async function mount(element, state, api) {
  const [available] = await Promise.all([api.get("embeddings/about"), sheet("embeddings")]);
  if (!available.maps.length) {
    fill(element, instructions());
    return undefined;
  }
  const tokenizer = available.maps.some((map) => map.tokenizer === state.get("tokenizer")) ? state.get("tokenizer") : available.maps[0].tokenizer;
  const about = available.maps.find((map) => map.tokenizer === tokenizer);
  let method = about.computed.includes(state.get("method")) ? state.get("method") : "pca";
  let rows = new Map();
  let points;
  let requests = 0;
  let stream;

  const canvas = make("canvas", { tabindex: "0", role: "application", "aria-label":
    "Map of the tokens. Arrow keys pan, plus and minus zoom, 0 shows all, Enter selects the token in the center, Escape clears the selection." });
  const tip = make("div", { class: "tip", "aria-hidden": "true", hidden: true });
  const stage = make("div", { class: "stage" }, canvas, tip,
    make("div", { class: "zooms" },
      button("+", () => field.magnify(1.6), { "aria-label": "Zoom in" }),
      button("−", () => field.magnify(1 / 1.6), { "aria-label": "Zoom out" }),
      button("⤢", () => field.home(), { "aria-label": "Show all", title: "Show all" })));
  const legend = make("ul", { class: "legend", "aria-label": "Kinds of tokens" }, ...KINDS.map((name, kind) => {
    const box = make("input", { type: "checkbox", onchange: () => {
      if (box.checked) field.hidden.delete(kind);
      else field.hidden.add(kind);
      field.draw();
    } });
    box.checked = true;
    return make("li", {}, make("label", { class: "toggle" }, box, make("span", { class: `swatch kind${kind}` }), name));
  }));
  const search = make("input", { type: "search", placeholder: "Search tokens", "aria-label": "Search tokens", spellcheck: "false", autocomplete: "off" });
  const found = make("div", { class: "found" });
  const chosen = make("div", { class: "chosen-token" });
  const status = make("p", { class: "quiet", role: "status" }, "Loading…");
  const methods = [["pca", METHODS.pca], ...(available.tsne || about.computed.includes("tsne")
    ? [["tsne", `${METHODS.tsne}, ${number(Math.min(about.tokens, available.most_for_tsne))} tokens`]] : [])];
  const which = choice(methods, method, change);
  fill(element, make("div", { class: "map" },
    stage,
    make("aside", { class: "stack", "aria-label": "Search and neighbors" },
      available.maps.length > 1 && labeled("Embeddings", choice(available.maps.map((map) => [map.tokenizer, map.name]), tokenizer, (name) => state.go("embeddings", { tokenizer: name }))),
      methods.length > 1 && labeled("Map", which),
      search, found, chosen, legend, status)));

  const field = new Field(canvas, {
    onpoint(row, x, y) {
      canvas.classList.toggle("over", row >= 0);
      tip.hidden = row < 0;
      if (row < 0) return;
      tip.textContent = `${points.labels[row]}  ·  id ${points.ids[row]}  ·  count ${number(points.counts[row])}`;
      tip.style.left = `${Math.min(x + 14, stage.clientWidth - tip.offsetWidth - 6)}px`;
      tip.style.top = `${Math.max(y - 36, 4)}px`;
    },
    onselect: (row) => select(row, false),
  });

  async function change(wanted) {
    if (wanted === "tsne" && !about.computed.includes("tsne")) {
      which.disabled = true;
      status.textContent = "Computing t-SNE; this may take a minute…";
      try {
        const { job } = await api.post("embeddings/tsne", { tokenizer });
        await new Promise((resolve, reject) => {
          stream = api.events(`embeddings/events?job=${encodeURIComponent(job)}`);
          stream.addEventListener("done", resolve);
          stream.addEventListener("failed", (event) => reject(new Error(JSON.parse(event.data).error)));
          stream.addEventListener("cancelled", () => reject(new Error("Cancelled.")));
        });
        about.computed.push("tsne");
      } catch (problem) {
        status.textContent = problem.message;
        which.value = method;
        which.disabled = false;
        return;
      } finally {
        if (stream) stream.close();
      }
      which.disabled = false;
    }
    method = wanted;
    state.set({ method: method === "pca" ? undefined : method });
    await load();
  }

  async function load() {
    const answer = await api.get("embeddings/points", { tokenizer, method });
    const [ids, counts, x, y] = answer.arrays;
    const largest = Math.log(Math.max(counts[0], 2));
    points = {
      ids, counts, labels: answer.labels,
      x: Float32Array.from(x, (value) => value / 0xffffffff),
      y: Float32Array.from(y, (value) => 1 - value / 0xffffffff),
      kind: Uint8Array.from(answer.labels, kindOf),
      size: Uint8Array.from(counts, (count) => Math.log(count + 1) / largest > 0.75 ? 2 : Math.log(count + 1) / largest > 0.45 ? 1 : 0),
    };
    rows = new Map(Array.from(ids, (id, row) => [id, row]));
    field.selected = -1;
    field.near = [];
    field.show(points);
    seek();
    status.textContent = `${number(ids.length)} tokens of ${about.name}, ${number(about.dimension)} dimensions. `
      + (method === "pca" ? "The axes are the first two principal components." : "Only short distances are meaningful.");
    element.dataset.ready = method;
  }

  function seek() {
    const wanted = search.value.trim().toLowerCase().replaceAll(" ", "·");
    if (!wanted) {
      field.marked = null;
      fill(found);
    } else {
      const matches = [];
      points.labels.forEach((text, row) => { if (text.toLowerCase().includes(wanted)) matches.push(row); });
      const exact = (row) => points.labels[row].toLowerCase().replace(/^·/, "") === wanted.replace(/^·/, "") ? 0 : 1;
      matches.sort((one, other) => exact(one) - exact(other) || one - other);
      field.marked = new Set(matches);
      fill(found, make("p", { class: "quiet", role: "status" }, `${number(matches.length)} found`),
        make("ul", { class: "tokens" }, ...matches.slice(0, 12).map((row) => make("li", {}, name(row)))));
    }
    field.draw();
  }

  const name = (row) => button(points.labels[row], () => select(row, true), { class: "token" });

  async function select(row, visit) {
    const mine = ++requests;
    field.selected = row;
    field.near = [];
    field.draw();
    state.set({ id: row < 0 ? undefined : String(points.ids[row]) });
    if (row < 0) {
      fill(chosen);
      return;
    }
    if (visit) field.visit(row);
    try {
      const { neighbors } = await api.get("embeddings/neighbors", { tokenizer, id: points.ids[row] });
      if (mine !== requests) return;
      field.near = neighbors.map((near) => rows.get(near.id)).filter((other) => other !== undefined);
      field.draw();
      fill(chosen,
        make("div", { class: "row end" }, make("h2", {}, make("bdi", {}, points.labels[row])), button("Clear", () => select(-1, false), { class: "plain" })),
        make("p", { class: "quiet" }, `id ${points.ids[row]}, count ${number(points.counts[row])}. Nearest neighbors by cosine similarity:`),
        make("ol", { class: "near" }, ...neighbors.map((near) => {
          const bar = make("span", { class: "cosine" });
          bar.style.width = `${Math.max(0, near.similarity) * 100}%`;
          const other = rows.get(near.id);
          return make("li", {}, other === undefined ? make("span", { class: "token" }, near.label) : name(other),
            make("span", { class: "track", "aria-hidden": "true" }, bar), make("span", { class: "number" }, number(near.similarity, 2)));
        })));
      announce(`${points.labels[row]}: nearest neighbors are ${neighbors.slice(0, 5).map((near) => near.label).join(", ")}`);
    } catch (problem) {
      if (mine === requests) fill(chosen, make("p", { class: "error" }, problem.message));
    }
  }

  search.addEventListener("input", seek);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && field.marked && field.marked.size) select(field.marked.values().next().value, true);
  });
  const recolor = () => field.recolor();
  document.addEventListener("theme", recolor);
  const wanted = Number(state.get("id"));
  const hasWanted = state.get("id") !== undefined;
  await load();
  if (hasWanted && rows.has(wanted)) select(rows.get(wanted), true);
  return () => {
    if (stream) stream.close();
    document.removeEventListener("theme", recolor);
    field.leave();
  };
}

function instructions() {
  return make("section", { class: "card instructions" },
    make("h2", {}, "No embeddings loaded"),
    make("p", {}, "Train embeddings for a tokenizer, then start the studio with them:"),
    make("pre", { tabindex: "0", role: "region", "aria-label": "Commands" }, "merganser embed CORPUS --tokenizer merganser-out\nmerganser studio merganser-out --embeddings merganser-out/embeddings"),
    make("p", { class: "quiet" }, "The map then shows every token as a point, with search and nearest neighbors."));
}
