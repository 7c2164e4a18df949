// Embeddings: a map of all tokens with search, zoom, nearest neighbors, colors and a lasso.
import { announce, button, choice, download, fill, labeled, make, number } from "../dom.js";
import { Field } from "../field.js";
import { FilePicker } from "../files.js";
import { visible } from "../glyphs.js";
import { Cancelled, follow, waitingFor } from "../job.js";
import { COLORINGS, classified, grouped } from "../mapped.js";

export const title = "Embeddings";

const LISTED = 500; // rows of the list that a lasso gives; the file has all

export async function mount(element, state, api) {
  const available = await api.get("embeddings/about");
  if (!available.maps.length) {
    fill(element, make("div", { class: "stack" }, instructions(), training(state, api, [])));
    return undefined;
  }
  const named = available.maps.map((map) => map.tokenizer);
  const tokenizer = state.tokenizer(named);
  const about = available.maps.find((map) => map.tokenizer === tokenizer);
  const frequent = Math.min(about.tokens, available.most_for_tsne);
  const methods = [["pca", `PCA, all ${number(about.tokens)} tokens`], ["tsne", `t-SNE, ${number(frequent)} tokens`],
    ...(about.tokens > frequent ? [["tsne-all", `t-SNE, all ${number(about.tokens)} tokens`]] : [])];
  const wantedMethod = methods.some(([name]) => name === state.get("method")) ? state.get("method") : "pca";
  let coloring = Object.hasOwn(COLORINGS, state.get("color") ?? "") ? state.get("color") : "kind";
  let method = "pca";
  let whole; // all points, with the coordinates of PCA
  let points; // those of the map that is shown: the first ones of `whole`
  let rows = new Map();
  let requests = 0;
  let listed = [];
  let running;

  const canvas = make("canvas", { tabindex: "0", role: "application", "aria-label":
    "Map of the tokens. Arrow keys pan, plus and minus zoom, 0 shows all, Enter selects the token in the center, L lists the tokens in view, Escape clears the selection." });
  const tip = make("div", { class: "tip", "aria-hidden": "true", hidden: true });
  const bar = make("progress", { max: 1, value: 0, "aria-label": "Progress of t-SNE" });
  const doing = make("span", {});
  const cancel = button("Cancel", () => running && api.post("embeddings/cancel", { job: running.job }).catch(fail));
  const computing = make("div", { class: "computing", role: "status", hidden: true }, doing, bar, cancel);
  const lasso = button("Lasso", () => draw(!field.lassoing), { "aria-pressed": "false", title: "Circle points to list them (or Shift and drag)" });
  const stage = make("div", { class: "stage" }, canvas, tip,
    make("div", { class: "tools" }, lasso, button("List view", () => list(field.inView()), { title: "List the tokens in view (L)" }), button("PNG", picture, { "aria-label": "Save the map as PNG" })),
    make("div", { class: "zooms" },
      button("+", () => field.magnify(1.6), { "aria-label": "Zoom in" }),
      button("−", () => field.magnify(1 / 1.6), { "aria-label": "Zoom out" }),
      button("⤢", () => field.home(), { "aria-label": "Show all", title: "Show all" })),
    computing);
  const legend = make("ul", { class: "legend", "aria-label": "Colors" });
  const search = make("input", { type: "search", placeholder: "Search tokens", "aria-label": "Search tokens", spellcheck: "false", autocomplete: "off" });
  const found = make("div", { class: "found" });
  const chosen = make("div", { class: "chosen-token" });
  const circled = make("div", { class: "circled" });
  const status = make("p", { class: "quiet", role: "status" }, "Loading…");
  const which = choice(methods, wantedMethod, change);
  const colors = choice(Object.entries(COLORINGS).map(([key, { title: text }]) => [key, text]), coloring, (value) => {
    coloring = value;
    state.set({ color: value === "kind" ? undefined : value });
    recolor();
  });
  fill(element, make("div", { class: "map" },
    stage,
    make("aside", { class: "stack", "aria-label": "Search and neighbors" },
      available.maps.length > 1 && labeled("Embeddings", choice(available.maps.map((map) => [map.tokenizer, visible(map.name, false)]), tokenizer, (name) => state.go("embeddings", { tokenizer: name }))),
      make("div", { class: "row" }, labeled("Map", which), labeled("Color", colors)),
      legend, search, found, chosen, circled, status, training(state, api, named))));

  const field = new Field(canvas, {
    onpoint(row, x, y) {
      canvas.classList.toggle("over", row >= 0);
      tip.hidden = row < 0;
      if (row < 0) return;
      tip.textContent = `${points.labels[row]}  ·  id ${points.ids[row]}  ·  count ${number(points.counts[row])}`;
      tip.style.left = `${Math.min(x + 14, stage.clientWidth - tip.offsetWidth - 6)}px`;
      tip.style.top = `${Math.max(y - 36, 4)}px`;
    },
    onselect: (row) => { if (row < 0) list([]); select(row, false); },
    onlasso: list,
  });

  function fail(problem) {
    status.textContent = problem.message;
  }

  function draw(on) {
    field.lassoing = on;
    lasso.setAttribute("aria-pressed", String(on));
    canvas.classList.toggle("lassoing", on);
  }

  /** Shows another map. Points, selection and lines stay; a t-SNE that is not known is computed, and can be watched. */
  async function change(wanted) {
    running?.close();
    which.disabled = true;
    try {
      if (!about.computed.includes(wanted)) await compute(wanted);
      await move(wanted, 1100);
      method = wanted;
      state.set({ method: method === "pca" ? undefined : method });
    } catch (problem) {
      if (!(problem instanceof Cancelled)) fail(problem);
      else announce("Cancelled.");
      if (method === "pca") field.morph(whole.x, whole.y, 600);
      else await move(method, 600);
      which.value = method;
    }
    which.disabled = false;
    computing.hidden = true;
    describe();
    element.dataset.ready = method;
  }

  async function compute(wanted) {
    computing.hidden = false;
    doing.textContent = "Computing t-SNE…";
    bar.removeAttribute("value");
    const { job } = await api.post("embeddings/tsne", { tokenizer, method: wanted });
    let moving = false;
    running = follow(api, "embeddings", job, {
      async progress(progress) {
        doing.textContent = waitingFor(progress) ?? `Computing t-SNE: ${number((progress.done ?? 0) * 100)}%`;
        if (progress.done === undefined) return;
        bar.value = progress.done;
        if (moving || progress.done <= 0.1) return;
        moving = true;
        await move(wanted, 220).catch(() => {}); // it may be done in the meantime
        moving = false;
      },
    });
    running.job = job;
    await running.result;
    about.computed.push(wanted);
  }

  /** Moves the points to the coordinates of a map, which may have fewer of them. */
  async function move(wanted, duration) {
    const { arrays: [x, y] } = await api.get("embeddings/plane", { tokenizer, method: wanted });
    const same = x.length === points.x.length;
    const from = field.points;
    points = same ? points : first(whole, x.length);
    if (!same) field.points = { ...points, x: Float32Array.from(points.x, (value, row) => from.x[row] ?? value), y: Float32Array.from(points.y, (value, row) => from.y[row] ?? value) };
    points = { ...points, ...scaled(x, y) };
    field.morph(points.x, points.y, duration);
    if (!same) {
      seek();
      if (field.selected >= points.x.length) { // its card stays, but it is not on this map
        field.selected = -1;
        field.near = [];
      }
    }
  }

  async function load() {
    const answer = await api.get("embeddings/points", { tokenizer, method: "pca" });
    const [ids, counts, lengths, clusters, x, y] = answer.arrays;
    whole = classified({ ids, counts, lengths, clusters, labels: answer.labels, names: answer.clusters, ...scaled(x, y) });
    points = whole;
    rows = new Map(Array.from(ids, (id, row) => [id, row]));
    field.show(points);
    recolor();
    describe();
  }

  function describe() {
    status.textContent = `${number(points.x.length)} tokens of ${about.name}, ${number(about.dimension)} dimensions. `
      + (method === "pca" ? "The axes are the first two principal components." : "Only short distances are meaningful.");
  }

  /** Colors the points, with a legend that hides and shows groups. */
  function recolor() {
    const { group, groups, colors: classes } = grouped(whole, coloring);
    whole = { ...whole, group };
    points = { ...points, group };
    field.points = { ...field.points, group };
    field.classes = classes;
    field.hidden = new Set();
    fill(legend, ...groups.map((text, nth) => {
      const box = make("input", { type: "checkbox", onchange: () => {
        if (box.checked) field.hidden.delete(nth);
        else field.hidden.add(nth);
        field.draw();
      } });
      box.checked = true;
      return make("li", {}, make("label", { class: "toggle" }, box, make("span", { class: `swatch ${classes[nth]}` }), make("bdi", {}, text)));
    }));
    field.recolor();
  }

  function seek() {
    const wanted = search.value.trim().toLowerCase().replaceAll(" ", "·");
    if (!wanted) {
      field.marked = listed.length ? new Set(listed.filter((row) => row < points.x.length)) : null;
      fill(found);
    } else {
      const matches = [];
      for (let row = 0; row < points.x.length; row++) if (points.labels[row].toLowerCase().includes(wanted)) matches.push(row);
      const exact = (row) => points.labels[row].toLowerCase().replace(/^·/, "") === wanted.replace(/^·/, "") ? 0 : 1;
      matches.sort((one, other) => exact(one) - exact(other) || one - other);
      field.marked = new Set(matches);
      fill(found, make("p", { class: "quiet", role: "status" }, `${number(matches.length)} found`),
        make("ul", { class: "tokens" }, ...matches.slice(0, 12).map((row) => make("li", {}, name(row)))));
    }
    field.draw();
  }

  const name = (row) => button(whole.labels[row], () => select(row, true), { class: "token" });

  /** Lists circled tokens, the most frequent first. */
  function list(circledRows) {
    draw(false);
    listed = circledRows;
    seek();
    if (!circledRows.length) { fill(circled); return; }
    fill(circled,
      make("div", { class: "row end" }, make("h2", {}, `${number(circledRows.length)} tokens`),
        make("div", { class: "buttons" }, button("CSV", () => download("tokens.csv", "text/csv", csv(circledRows)), { "aria-label": "Save the list as CSV" }),
          button("Clear", () => list([]), { class: "plain", "aria-label": "Clear the list" }))),
      make("ul", { class: "tokens listed" }, ...circledRows.slice(0, LISTED).map((row) => make("li", {}, name(row)))),
      circledRows.length > LISTED && make("p", { class: "quiet" }, `The first ${number(LISTED)}; the file has all.`));
    announce(`${number(circledRows.length)} tokens listed`);
  }

  function csv(chosenRows) {
    const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
    const lines = chosenRows.map((row) => [whole.ids[row], quoted(whole.labels[row]), whole.counts[row], whole.lengths[row], whole.clusters[row] + 1, points.x[row].toFixed(5), points.y[row].toFixed(5)].join(","));
    return ["id,token,count,bytes,cluster,x,y", ...lines, ""].join("\n");
  }

  /** Saves the map as it is shown, on the color of the page. */
  function picture() {
    field.paint();
    const copy = make("canvas", {});
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const pen = copy.getContext("2d");
    pen.fillStyle = field.colors.page;
    pen.fillRect(0, 0, copy.width, copy.height);
    pen.drawImage(canvas, 0, 0);
    copy.toBlob((blob) => download(`map-${method}.png`, "image/png", blob), "image/png");
  }

  async function select(row, visit) {
    const mine = ++requests;
    field.selected = row < points.x.length ? row : -1;
    field.near = [];
    field.draw();
    state.set({ id: row < 0 ? undefined : String(whole.ids[row]) });
    if (row < 0) {
      fill(chosen);
      return;
    }
    if (visit && field.selected >= 0) field.visit(row);
    try {
      const { neighbors } = await api.get("embeddings/neighbors", { tokenizer, id: whole.ids[row] });
      if (mine !== requests) return;
      field.near = neighbors.map((near) => rows.get(near.id)).filter((other) => other !== undefined && other < points.x.length);
      field.draw();
      fill(chosen,
        make("div", { class: "row end" }, make("h2", {}, make("bdi", {}, whole.labels[row])), button("Clear", () => select(-1, false), { class: "plain" })),
        make("p", { class: "quiet" }, `id ${whole.ids[row]}, count ${number(whole.counts[row])}. Nearest neighbors by cosine similarity:`),
        make("ol", { class: "near" }, ...neighbors.map((near) => {
          const part = make("span", { class: "cosine" });
          part.style.width = `${Math.max(0, near.similarity) * 100}%`;
          const other = rows.get(near.id);
          return make("li", {}, other === undefined ? make("span", { class: "token" }, near.label) : name(other),
            make("span", { class: "track", "aria-hidden": "true" }, part), make("span", { class: "number" }, number(near.similarity, 2)));
        })));
      announce(`${whole.labels[row]}: nearest neighbors are ${neighbors.slice(0, 5).map((near) => near.label).join(", ")}`);
    } catch (problem) {
      if (mine === requests) fill(chosen, make("p", { class: "error" }, problem.message));
    }
  }

  search.addEventListener("input", seek);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && field.marked && field.marked.size) select(field.marked.values().next().value, true);
  });
  const themed = () => field.recolor();
  document.addEventListener("theme", themed);
  const wanted = Number(state.get("id"));
  const hasWanted = state.get("id") !== undefined;
  await load();
  if (hasWanted && rows.has(wanted)) select(rows.get(wanted), wantedMethod === "pca");
  if (wantedMethod === "pca") element.dataset.ready = "pca";
  else change(wantedMethod); // a link to t-SNE computes it
  return () => {
    running?.close();
    document.removeEventListener("theme", themed);
    field.leave();
  };
}

const scaled = (x, y) => ({ x: Float32Array.from(x, (value) => value / 0xffffffff), y: Float32Array.from(y, (value) => 1 - value / 0xffffffff) });

/** The first points of a map. */
function first(points, count) {
  return { ...points, x: points.x.subarray(0, count), y: points.y.subarray(0, count) };
}

/** A form that trains embeddings for a tokenizer of the studio. */
function training(state, api, named) {
  const tokenizers = state.about.tokenizers.map(({ name }) => name);
  const which = choice(tokenizers.map((name) => [name, `${visible(name, false)}${named.includes(name) ? " · has embeddings" : ""}`]),
    tokenizers.find((name) => !named.includes(name)) ?? tokenizers[0], () => {});
  const epochs = make("input", { type: "number", min: "1", max: "100", value: "10" });
  const text = make("textarea", { rows: "4", "aria-label": "Text to train embeddings on", spellcheck: "false", placeholder: "A text, or choose files below" });
  const bar = make("progress", { max: 1, value: 0, "aria-label": "Progress of training", hidden: true });
  const said = make("p", { class: "quiet", role: "status" }, "Every token gets a vector from the tokens around it. A megabyte of text is a good start.");
  const start = make("button", { type: "submit" }, "Train embeddings");
  let job;
  const stop = button("Cancel", () => job && api.post("embeddings/cancel", { job }).catch(() => {}), { hidden: true });
  let picker;
  const files = make("div", {});
  const form = make("form", { class: "stack" }, make("div", { class: "row" }, labeled("Tokenizer", which), labeled("Epochs", epochs)), text, files,
    make("div", { class: "buttons" }, start, stop), bar, said);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    start.disabled = true;
    stop.hidden = bar.hidden = false;
    said.className = "quiet";
    try {
      const corpus = picker?.value.length ? { paths: picker.value } : { text: text.value };
      ({ job } = await api.post("embeddings/train", { tokenizer: which.value, epochs: Math.round(Number(epochs.value)), ...corpus }));
      const { result } = follow(api, "embeddings", job, { progress(now) {
        said.textContent = waitingFor(now) ?? (now.stage === "embed" ? "Training" : "Reading");
        if (now.total) bar.value = now.done / now.total;
      } });
      const { tokenizer } = await result;
      if (form.isConnected) state.go("embeddings", { tokenizer, trained: job });
    } catch (problem) {
      said.className = problem instanceof Cancelled ? "quiet" : "error";
      said.textContent = problem.message;
    }
    start.disabled = false;
    stop.hidden = bar.hidden = true;
  });
  const details = make("details", { class: "card train-here" }, make("summary", {}, "Train embeddings here"), form);
  details.open = !named.length;
  const open = async () => {
    if (picker || !details.open) return;
    const options = await api.get("train/about");
    picker = new FilePicker(options.files, state.about.folders, [], () => {});
    fill(files, picker.element);
  };
  details.addEventListener("toggle", open);
  return details;
}

function instructions() {
  return make("section", { class: "card instructions" },
    make("h2", {}, "No embeddings loaded"),
    make("p", {}, "Train some below, or with the command, and start the studio with them:"),
    make("pre", { tabindex: "0", role: "region", "aria-label": "Commands" }, "merganser embed CORPUS --tokenizer merganser-out\nmerganser studio merganser-out --embeddings merganser-out/embeddings"),
    make("p", { class: "quiet" }, "The map then shows every token as a point, with search and nearest neighbors."));
}
