// Train: trains a tokenizer on a text or on files, and shows what every merge gains.
import { announce, button, choice, fill, labeled, make, number, uniqueId, wellFormed } from "../dom.js";
import { Editor } from "../editor.js";
import { FilePicker } from "../files.js";
import { fromHex, shownBytes, visible } from "../glyphs.js";
import { Cancelled, follow, waitingFor } from "../job.js";
import { curve } from "../plot.js";

export const title = "Train";

const ROWS = 10;
const PREVIEW = 600; // characters whose split is shown
const STAGES = { count: "Counting", combine: "Combining", merge: "Merging", certify: "Certifying", pretokens: "Measuring" };
const SAMPLE = [
  "How much wood would a woodchuck chuck if a woodchuck could chuck wood?",
  "A woodchuck would chuck as much wood as a woodchuck could chuck if a woodchuck could chuck wood.",
  "Peter Piper picked a peck of pickled peppers. A peck of pickled peppers Peter Piper picked.",
  "She sells sea shells by the sea shore. The shells she sells are surely sea shells.",
].join("\n");
const DEFAULTS = { from: "text", size: "320", pattern: "gpt4", custom: "", special: "", name: "my tokenizer", reference: "" };
const CUSTOM = "custom";

export async function mount(element, state, api) {
  const options = await api.get("train/about");
  const form = settingsForm(state, api, options);
  const shown = result(state, api);
  const error = make("p", { class: "error", role: "alert" });
  const start = make("button", { type: "submit", class: "primary" }, "Train");
  const stop = button("Cancel", () => api.post("train/cancel", { job: state.get("job") }).catch(fail), { disabled: true });
  let running;

  function fail(problem) {
    error.textContent = problem.message;
  }

  function busy(is) {
    start.disabled = is;
    stop.disabled = !is;
  }

  async function watch(job) {
    state.keep({ job });
    shown.begin(form.merges());
    busy(true);
    running = follow(api, "train", job, { progress: shown.progress, counted: shown.counted, reference: shown.reference, merges: shown.learned });
    try {
      const data = await running.result;
      await state.refresh();
      shown.done(data);
    } catch (problem) {
      if (problem.isLost) state.keep({ job: undefined });
      shown.over(problem instanceof Cancelled ? "Cancelled. Nothing was saved." : problem.isLost ? "This training no longer exists." : "Training failed.");
      if (!(problem instanceof Cancelled) && !problem.isLost) fail(problem);
    }
    busy(false);
    stop.blur();
  }

  form.element.append(make("div", { class: "buttons" }, start, stop), error);
  form.element.addEventListener("submit", async (event) => {
    event.preventDefault();
    error.textContent = "";
    busy(true);
    try {
      watch((await api.post("train/start", form.values())).job);
      if (shown.element.getBoundingClientRect().top > innerHeight / 2) shown.element.scrollIntoView(); // on a phone, it is below the form
    } catch (problem) {
      busy(false);
      fail(problem);
    }
  });
  fill(element, make("div", { class: "training" }, form.element, shown.element));
  shown.redraw();
  const job = state.get("job");
  if (job) watch(job);
  return () => {
    running?.close();
    shown.leave();
  };
}

/** The form with the training text and settings. Its values are in the address, the text in the session. */
function settingsForm(state, api, options) {
  const value = (key) => state.get(key) ?? DEFAULTS[key];
  const remember = (key, now) => state.set({ [key]: String(now) === DEFAULTS[key] ? undefined : String(now) });
  const editor = new Editor({ rows: "7", id: uniqueId("text"), placeholder: "Paste a text to train on" }, () => {
    state.keep({ corpus: editor.text === SAMPLE ? undefined : editor.text });
    preview();
  });
  editor.set(state.get("corpus") ?? SAMPLE);
  const paths = (state.get("paths") ?? "").split("\n").filter(Boolean);
  const picker = new FilePicker(options.files, state.about.folders, paths, (chosen) => { state.set({ paths: chosen.join("\n") || undefined }); preview(); });
  const size = make("input", { type: "number", min: "256", max: String(options.largest), step: "1", value: value("size"), oninput: () => resized(size.value) });
  // The slider is logarithmic in the number of merges: the first ones matter most.
  const most = Math.log2(options.largest - 256);
  const slider = make("input", { type: "range", min: "0", max: String(most), step: "0.05", "aria-label": "Vocabulary size, slider", oninput: () => {
    const merges = 2 ** Number(slider.value);
    resized(256 + Math.round(merges < 100 ? merges : Number(merges.toPrecision(2))), true);
  } });
  function resized(now, bySlider = false) {
    if (bySlider) size.value = String(now);
    else slider.value = String(Math.log2(Math.max(1, Number(now) - 256)));
    slider.setAttribute("aria-valuetext", `${number(Number(size.value))} tokens`);
    remember("size", size.value);
  }
  resized(size.value);
  const presets = options.patterns.includes(value("pattern")) || value("pattern") === CUSTOM ? value("pattern") : DEFAULTS.pattern;
  const pattern = choice([...options.patterns.map((name) => [name, name]), [CUSTOM, "custom…"]], presets, () => { remember("pattern", pattern.value); choose(); preview(); });
  const custom = make("input", { type: "text", placeholder: "\\p{L}+|\\p{N}{1,3}|\\s+|.", spellcheck: "false", value: value("custom"), oninput: () => { remember("custom", custom.value); preview(); } });
  const customField = labeled("Regular expression", custom);
  const pieces = make("div", { class: "split-preview", tabindex: "0", role: "group", "aria-label": "Pre-tokens" });
  const count = make("p", { class: "quiet", role: "status" });
  const specials = make("input", { type: "text", placeholder: "<|endoftext|>", spellcheck: "false", value: value("special"), oninput: () => remember("special", specials.value) });
  const name = make("input", { type: "text", maxlength: "60", value: value("name"), oninput: () => remember("name", name.value) });
  const known = state.about.tokenizers.map((each) => each.name);
  const preset = known.includes(value("reference")) ? value("reference") : state.get("reference") === "-" ? "" : known[0];
  const reference = choice([["", "none"], ...known.map((each) => [each, visible(each, false)])], preset, () => remember("reference", reference.value || "-"));
  const fromText = make("div", { class: "source" }, make("label", { for: editor.field.id, class: "unseen" }, "Training text"), editor.element);
  const fromPath = make("div", { class: "source" }, picker.element);
  const group = uniqueId("from");
  let kind = value("from") === "files" ? "files" : "text";
  const kinds = [["text", "Text"], ["files", "Files"]].map(([each, label]) => {
    const radio = make("input", { type: "radio", name: group, value: each, onchange: () => { kind = each; remember("from", each); choose(); preview(); } });
    radio.checked = each === kind;
    return make("label", { class: "segment" }, radio, label);
  });
  const chosenPattern = () => (pattern.value === CUSTOM ? custom.value || "." : pattern.value);
  function choose() {
    fromText.hidden = kind !== "text";
    fromPath.hidden = kind !== "files";
    customField.hidden = pattern.value !== CUSTOM;
  }
  const split = api.latest((what, wanted) => api.post("train/preview", { ...what, pattern: wanted }));
  /** Shows how the pattern splits the beginning of the text. */
  async function preview() {
    const text = wellFormed(editor.text.slice(0, PREVIEW).replace(/[\uD800-\uDBFF]$/, "")) || SAMPLE;
    try {
      const answer = await split(kind === "files" && picker.chosen.size ? { paths: [[...picker.chosen][0]] } : { text }, chosenPattern());
      if (!answer) return;
      count.className = answer.problem ? "error" : "quiet";
      if (answer.problem) { count.textContent = answer.problem; return; }
      fill(pieces, ...answer.pretokens.map((piece) => make("bdi", {}, visible(piece))));
      count.textContent = `${number(answer.pretokens.length)} pre-tokens in the first ${number(answer.characters)} characters. Merges never cross their edges.`;
    } catch (problem) {
      count.className = "error";
      count.textContent = problem.message;
    }
  }
  choose();
  preview();
  const element = make("form", { class: "card stack settings-form" },
    make("fieldset", { class: "segments" }, make("legend", { class: "unseen" }, "Train on"), ...kinds),
    fromText, fromPath,
    make("div", { class: "sizes" }, labeled("Vocabulary size", size), slider),
    make("div", { class: "settings" }, labeled("Pattern", pattern), labeled("Reference", reference), customField),
    make("div", { class: "previewed" }, pieces, count),
    make("div", { class: "settings" }, labeled("Special tokens", specials), labeled("Name", name)));
  return {
    element,
    merges: () => Math.max(1, Number(size.value) - 256),
    values: () => ({
      ...(kind === "text" ? { text: editor.text } : { paths: picker.value.length ? picker.value : [state.about.folders[0] ?? "."] }),
      vocab_size: Math.round(Number(size.value)),
      pattern: chosenPattern(),
      special_tokens: specials.value.split(/[\s,]+/).filter(Boolean),
      name: name.value,
      reference: reference.value,
    }),
  };
}

/** The progress of a training: status, figures, the curve and the merges. */
function result(state, api) {
  const status = make("p", { class: "state", role: "status" }, "No training yet.");
  const bar = make("progress", { "aria-label": "Progress", max: 1, value: 0 });
  const figures = make("dl", { class: "figures" });
  const canvas = make("canvas", { class: "curve", role: "img" });
  const told = make("p", { class: "takeaway" });
  const slider = make("input", { type: "range", min: "1", max: "1", value: "1", "aria-label": "Which merges to show", disabled: true,
    oninput: () => { selected = Number(slider.value) < merges.length ? Number(slider.value) : undefined; redraw(); } });
  const rows = make("tbody");
  const notes = make("p", { class: "quiet notes" });
  const opened = make("div", { class: "buttons opened" });
  const saving = make("div", { class: "saving" });
  const merges = [];
  let saved = [0]; // tokens saved by the merges so far; an estimate until the training is done
  let facts = {};
  let exact; // [vocabulary size, bytes per token] of the finished training
  let reference;
  let expected = 64;
  let selected; // the merge number that the slider points at; undefined follows the newest
  let frame = 0;

  function redraw() {
    if (!frame) frame = requestAnimationFrame(draw);
  }

  /** Bytes per token by vocabulary size. */
  function points() {
    if (exact) return exact;
    if (!facts.bytes) return [];
    const step = Math.max(1, Math.floor(saved.length / 400));
    return saved.map((tokens, nth) => [256 + nth, facts.bytes / Math.max(1, facts.bytes - tokens)]).filter((_, nth) => nth % step === 0 || nth === saved.length - 1);
  }

  function draw() {
    frame = 0;
    if (!canvas.isConnected) return;
    const newest = selected === undefined ? merges.length : selected;
    const drawn = points();
    const best = drawn.length ? drawn[drawn.length - 1][1] : undefined;
    const entries = [["bytes per token", best, 2], ["merges", merges.length || undefined, 0], ["unique pre-tokens", facts.different, 0], ["pre-tokens", facts.pretokens, 0],
      ["seconds", facts.seconds, facts.seconds < 100 ? 2 : 0]];
    fill(figures, ...entries.map(([name, value, digits]) => make("div", {}, make("dt", {}, name), make("dd", {}, number(value, digits)))));
    slider.max = String(Math.max(1, merges.length));
    slider.value = String(newest);
    slider.disabled = merges.length < 2;
    slider.setAttribute("aria-valuetext", `merge ${number(newest)} of ${number(merges.length)}`);
    const high = Math.max(2, best ?? 0, reference?.bytes_per_token ?? 0) * 1.12;
    const at = selected === undefined || !drawn.length ? undefined : drawn.reduce((near, point) => (Math.abs(point[0] - 256 - selected) < Math.abs(near[0] - 256 - selected) ? point : near));
    const last = 256 + Math.max(expected, merges.length, 16);
    curve(canvas, drawn, { x: { low: 256, high: last, title: "vocabulary size", isLog: last > 1500 }, y: { low: 1, high, isLog: false } },
      { marked: at, reference: reference?.bytes_per_token && { y: reference.bytes_per_token, text: `${visible(reference.name, false)}, ${number(reference.vocab_size)} tokens: ${number(reference.bytes_per_token, 2)}` } });
    told.textContent = takeaway(best);
    canvas.setAttribute("aria-label", `Bytes per token by vocabulary size. ${told.textContent}`);
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

  function takeaway(best) {
    if (!best) return "A longer token is fewer tokens: the curve shows what every merge gains on this text.";
    const now = `${number(256 + merges.length)} tokens: ${number(best, 2)} bytes per token`;
    if (reference?.problem) return `${now}. ${visible(reference.name, false)} cannot be measured: ${reference.problem}`;
    if (!reference) return `${now}.`;
    const gap = best / reference.bytes_per_token - 1;
    return `${now}, ${number(Math.abs(gap) * 100)}% ${gap < 0 ? "less" : "more"} than ${visible(reference.name, false)} on the same text.`;
  }

  function over(text) {
    status.textContent = text;
    bar.value = 0;
    announce(text);
  }

  /** Saves the tokenizer in a folder of the studio; existing files are never replaced. */
  function saver(name) {
    const [folder] = state.about.folders;
    if (!folder) return make("p", { class: "quiet" }, "Restart the studio with --folder FOLDER to save on disk; Download works always.");
    const path = make("input", { type: "text", spellcheck: "false", value: `${folder}/${name.replace(/[^\p{L}\p{N}._-]+/gu, "-")}.merganser` });
    const said = make("p", { class: "quiet", role: "status" });
    const form = make("form", { class: "row" }, labeled("Save as", path), make("button", { type: "submit" }, "Save to disk"));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        const answer = await api.post("train/save", { tokenizer: name, path: path.value });
        said.className = "quiet";
        said.textContent = `Saved. Load it with merganser.load(${JSON.stringify(answer.path)}).`;
        await state.refresh();
      } catch (problem) {
        said.className = "error";
        said.textContent = problem.message;
      }
    });
    return make("div", {}, form, said);
  }

  const observer = new ResizeObserver(redraw);
  observer.observe(canvas);
  document.addEventListener("theme", redraw);
  const head = ["", "pair", "token", "count"].map((name, column) =>
    make("th", { scope: "col", class: column === 0 || column === 3 ? "number" : "" }, name || make("span", { class: "unseen" }, "merge")));
  return {
    element: make("section", { class: "stack watched", "aria-label": "Training progress" },
      make("div", { class: "card stack" }, make("div", { class: "row end" }, status, opened), bar, figures, notes, saving),
      make("div", { class: "card stack" }, make("h2", {}, "Bytes per token by vocabulary size"), told, canvas),
      make("div", { class: "card stack" }, make("h2", {}, "Merges as they are learned"), slider,
        make("div", { class: "scroll merges", tabindex: "0", role: "region", "aria-label": "Merges" },
          make("table", {}, make("thead", {}, make("tr", {}, ...head)), rows)))),
    redraw,
    over,
    leave() {
      observer.disconnect();
      document.removeEventListener("theme", redraw);
    },
    begin(wanted) {
      merges.length = 0;
      saved = [0];
      facts = {};
      exact = reference = undefined;
      expected = wanted;
      selected = undefined;
      status.textContent = "Starting…";
      bar.removeAttribute("value");
      fill(opened);
      fill(notes);
      fill(saving);
      redraw();
    },
    progress(now) {
      const { stage, done, total, seconds } = now;
      if (waitingFor(now)) status.textContent = waitingFor(now);
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
    reference(data) {
      reference = data;
      redraw();
    },
    learned(batch) {
      for (const merge of batch) {
        merges.push(merge);
        saved.push(saved[saved.length - 1] + merge[2]);
      }
      redraw();
    },
    done(data) {
      facts.seconds = data.seconds;
      exact = data.curve;
      bar.value = 1;
      expected = data.merges;
      status.textContent = `${data.name} is ready: ${number(data.vocab_size)} tokens in ${number(data.seconds, data.seconds < 10 ? 2 : 0)} s.`;
      fill(notes, ...data.warnings.map((text) => make("span", {}, `${text[0].toUpperCase()}${text.slice(1)}.`)));
      const file = new URL("api/train/file", document.baseURI.split("#")[0]);
      file.searchParams.set("tokenizer", data.name);
      fill(opened,
        button("Open in playground", () => state.go("playground", { tokenizer: data.name }), { class: "primary" }),
        button("Watch the merges", () => state.go("theatre", { mode: "replay", tokenizer: data.name })),
        button("Charts", () => state.go("charts", { tokenizers: data.name })),
        make("a", { class: "button", href: file.href, download: "" }, "Download"));
      fill(saving, saver(data.name));
      redraw();
    },
  };
}

const tokenText = (hex, tint) => make("bdi", { class: `merge-token tint${tint}` }, shownBytes(fromHex(hex)));
