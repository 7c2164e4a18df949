// Train: trains a tokenizer on a text or on files, and shows the merges as they are learned.
import { announce, button, choice, fill, labeled, make, number, uniqueId } from "../dom.js";
import { Editor } from "../editor.js";
import { fromHex, shownBytes } from "../glyphs.js";
import { curve } from "../plot.js";
import { sheet } from "../sheet.js";

export const title = "Train";

const ROWS = 14;
const STAGES = { count: "Counting", combine: "Combining", merge: "Merging", certify: "Certifying" };
const SAMPLE = [
  "How much wood would a woodchuck chuck if a woodchuck could chuck wood?",
  "A woodchuck would chuck as much wood as a woodchuck could chuck if a woodchuck could chuck wood.",
  "Peter Piper picked a peck of pickled peppers. A peck of pickled peppers Peter Piper picked.",
  "She sells sea shells by the sea shore. The shells she sells are surely sea shells.",
].join("\n");

/** The last job, shown again when the user returns to the view. */
let remembered;

export async function mount(element, state, api) {
  const [options] = await Promise.all([api.get("train/about"), sheet("train")]);
  const form = settingsForm(state, options);
  const shown = result(state);
  const error = make("p", { class: "error", role: "alert" });
  const start = make("button", { type: "submit", class: "primary" }, "Train");
  const stop = button("Cancel", () => api.post("train/cancel", { job: remembered }).catch(fail), { disabled: true });
  let stream;

  function fail(problem) {
    error.textContent = problem.message;
  }

  function busy(is) {
    start.disabled = is;
    stop.disabled = !is;
  }

  function follow(job) {
    remembered = job;
    state.set({ job });
    shown.begin(form.merges());
    busy(true);
    stream = api.events(`train/events?job=${encodeURIComponent(job)}`);
    const on = (kind, act) => stream.addEventListener(kind, (event) => act(JSON.parse(event.data)));
    const end = (act) => async (data) => {
      stream.close();
      busy(false);
      await act(data);
      stop.blur();
    };
    on("progress", shown.progress);
    on("counted", shown.counted);
    on("merges", shown.learned);
    on("done", end(async (data) => {
      await state.refresh();
      shown.done(data);
    }));
    on("cancelled", end(() => shown.over("Cancelled. Nothing was saved.")));
    on("failed", end((data) => {
      shown.over("Training failed.");
      fail(new Error(data.error));
    }));
    stream.onerror = () => {
      if (stream.readyState !== EventSource.CLOSED) return; // the browser reconnects
      busy(false);
      state.set({ job: undefined });
      shown.over("This training no longer exists.");
    };
  }

  form.element.append(make("div", { class: "buttons" }, start, stop), error);
  form.element.addEventListener("submit", async (event) => {
    event.preventDefault();
    error.textContent = "";
    busy(true);
    try {
      follow((await api.post("train/start", form.values())).job);
    } catch (problem) {
      busy(false);
      fail(problem);
    }
  });
  fill(element, make("div", { class: "training" }, form.element, shown.element));
  shown.redraw();
  const job = state.get("job") || remembered;
  if (job) follow(job);
  return () => {
    if (stream) stream.close();
    shown.leave();
  };
}

/** The form with the training text and settings. */
function settingsForm(state, options) {
  const editor = new Editor({ rows: "9", id: uniqueId("text"), placeholder: "Paste a text to train on" }, () => {});
  editor.set(SAMPLE);
  const list = make("datalist", { id: uniqueId("files") },
    ...options.files.map((file) => make("option", { value: file.path }, `${number(file.bytes)} bytes`)));
  const path = make("input", { type: "text", id: uniqueId("path"), list: list.id, placeholder: "Path of a file or folder", spellcheck: "false", autocomplete: "off" });
  const size = make("input", { type: "number", min: "256", max: String(options.largest), step: "1", value: "320" });
  const pattern = choice(options.patterns.map((name) => [name, name]), "gpt4", () => {});
  const specials = make("input", { type: "text", placeholder: "<|endoftext|>", spellcheck: "false" });
  const name = make("input", { type: "text", maxlength: "60", value: "my tokenizer" });
  const folders = state.about.folders;
  const fromText = make("div", { class: "source" }, make("label", { for: editor.field.id, class: "unseen" }, "Training text"), editor.element);
  const fromPath = make("div", { class: "source" }, make("label", { for: path.id }, "File or folder"), path, list,
    make("p", { class: "quiet" }, folders.length
      ? `The studio may read ${folders.join(", ")}.`
      : "The studio may not read any folder. Restart it with --folder FOLDER to train on files."));
  const group = uniqueId("from");
  const kinds = [["text", "Text"], ["path", "Files"]].map(([value, label]) => {
    const radio = make("input", { type: "radio", name: group, value, onchange: () => choose(value) });
    radio.checked = value === "text";
    return make("label", { class: "segment" }, radio, label);
  });
  let kind = "text";
  function choose(value) {
    kind = value;
    fromText.hidden = value !== "text";
    fromPath.hidden = value !== "path";
  }
  choose("text");
  const element = make("form", { class: "card stack settings-form" },
    make("fieldset", { class: "segments" }, make("legend", { class: "unseen" }, "Train on"), ...kinds),
    fromText, fromPath,
    make("div", { class: "settings" },
      labeled("Vocabulary size", size), labeled("Pattern", pattern), labeled("Special tokens", specials), labeled("Name", name)));
  return {
    element,
    merges: () => Math.max(1, Number(size.value) - 256),
    values: () => ({
      ...(kind === "text" ? { text: editor.text } : { path: path.value || folders[0] || "." }),
      vocab_size: Math.round(Number(size.value)),
      pattern: pattern.value,
      special_tokens: specials.value.split(/[\s,]+/).filter(Boolean),
      name: name.value,
    }),
  };
}

/** The progress of a training: status, chart and merges. */
function result(state) {
  const status = make("p", { class: "state", role: "status" }, "No training yet.");
  const bar = make("progress", { "aria-label": "Progress", max: 1, value: 0 });
  const figures = make("dl", { class: "figures" });
  const canvas = make("canvas", { class: "curve", role: "img", "aria-label": "Count of each merge by merge number; both axes are logarithmic" });
  const slider = make("input", { type: "range", min: "1", max: "1", value: "1", "aria-label": "Which merges to show", disabled: true,
    oninput: () => { selected = Number(slider.value) < merges.length ? Number(slider.value) : undefined; redraw(); } });
  const rows = make("tbody");
  const notes = make("p", { class: "quiet notes" });
  const opened = make("div", { class: "buttons opened" });
  const merges = [];
  const counts = [];
  let facts = {};
  let expected = 64;
  let selected; // the merge number that the slider points at; undefined follows the newest
  let frame = 0;

  function redraw() {
    if (!frame) frame = requestAnimationFrame(draw);
  }

  function draw() {
    frame = 0;
    if (!canvas.isConnected) return;
    const newest = selected === undefined ? merges.length : selected;
    const entries = [["merges", merges.length || undefined], ["unique pre-tokens", facts.different], ["pre-tokens", facts.pretokens], ["seconds", facts.seconds]];
    fill(figures, ...entries.map(([name, value]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, number(value, name === "seconds" && value < 100 ? 2 : 0)))));
    slider.max = String(Math.max(1, merges.length));
    slider.value = String(newest);
    slider.disabled = merges.length < 2;
    slider.setAttribute("aria-valuetext", `merge ${number(newest)} of ${number(merges.length)}`);
    curve(canvas, counts, expected, newest ? newest - 1 : undefined);
    const lines = [];
    for (let nth = newest; nth > Math.max(0, newest - ROWS); nth--) {
      const [left, right, seen] = merges[nth - 1];
      lines.push(make("tr", {},
        make("td", { class: "number quiet" }, number(nth)),
        make("td", {}, tokenText(left, 0), make("span", { class: "plus" }, " + "), tokenText(right, 1)),
        make("td", {}, tokenText(left + right, 2)),
        make("td", { class: "number" }, number(seen))));
    }
    fill(rows, ...lines);
  }

  function over(text) {
    status.textContent = text;
    bar.value = 0;
    announce(text);
  }

  const observer = new ResizeObserver(redraw);
  observer.observe(canvas);
  document.addEventListener("theme", redraw);
  const head = ["", "pair", "token", "count"].map((name, column) =>
    make("th", { scope: "col", class: column === 0 || column === 3 ? "number" : "" }, name || make("span", { class: "unseen" }, "merge")));
  return {
    element: make("section", { class: "stack watched", "aria-label": "Training progress" },
      make("div", { class: "card stack" }, make("div", { class: "row end" }, status, opened), bar, figures, notes),
      make("div", { class: "card stack" },
        make("div", { class: "row end" }, make("h2", {}, "Merges as they are learned"), make("span", { class: "quiet" }, "count by merge number")),
        canvas, slider,
        make("div", { class: "scroll merges", tabindex: "0", role: "region", "aria-label": "Merges" },
          make("table", {}, make("thead", {}, make("tr", {}, ...head)), rows)))),
    redraw,
    over,
    leave() {
      observer.disconnect();
      document.removeEventListener("theme", redraw);
    },
    begin(wanted) {
      merges.length = counts.length = 0;
      facts = {};
      expected = wanted;
      selected = undefined;
      status.textContent = "Starting…";
      bar.removeAttribute("value");
      fill(opened);
      fill(notes);
      redraw();
    },
    progress({ waiting, stage, done, total, seconds }) {
      if (waiting !== undefined) {
        status.textContent = `Waiting for ${number(waiting)} ${waiting === 1 ? "job" : "jobs"}.`;
        return;
      }
      if (!stage) return;
      facts.seconds = seconds;
      if (stage === "merge") expected = total;
      const counted = stage === "merge" || stage === "combine";
      const amount = counted ? `${number(done)} of ${number(total)}` : `${number(done / 1e6, 1)} MB`;
      status.textContent = `${STAGES[stage] || stage}: ${amount}`;
      if (total) bar.value = done / total;
      else bar.removeAttribute("value");
      redraw();
    },
    counted(data) {
      Object.assign(facts, data);
      redraw();
    },
    learned(batch) {
      for (const merge of batch) {
        merges.push(merge);
        counts.push(merge[2]);
      }
      redraw();
    },
    done(data) {
      facts.seconds = data.seconds;
      bar.value = 1;
      expected = data.merges;
      status.textContent = `${data.name} is ready: ${number(data.vocab_size)} tokens in ${number(data.seconds, data.seconds < 10 ? 2 : 0)} s.`;
      fill(notes, ...data.warnings.map((text) => make("span", {}, `${text[0].toUpperCase()}${text.slice(1)}.`)));
      const file = new URL("api/train/file", document.baseURI.split("#")[0]);
      file.searchParams.set("tokenizer", data.name);
      fill(opened,
        state.about.views.includes("playground") && button("Open in playground", () => state.go("playground", { tokenizer: data.name }), { class: "primary" }),
        state.about.views.includes("charts") && button("Charts", () => state.go("charts", { tokenizers: data.name })),
        make("a", { class: "button", href: file.href, download: "" }, "Download"));
      redraw();
    },
  };
}

const tokenText = (hex, tint) => make("bdi", { class: `merge-token tint${tint}` }, shownBytes(fromHex(hex)));
