// Theatre: how a vocabulary comes about, merge by merge: tiles, the race of the leading pairs, and a timeline.
import { announce, button, choice, fill, labeled, make, number, toggle, uniqueId } from "../dom.js";
import { fromHex, shownBytes, visible } from "../glyphs.js";
import { Cancelled, follow, waitingFor } from "../job.js";
import { Race } from "../race.js";
import { Tiles } from "../tiles.js";

export const title = "Theatre";

const INTERVAL = 1100; // milliseconds between two merges at speed 1
const SPEEDS = ["0.5", "1", "2", "5", "20"];
const MERGES = 60; // to learn from a text
const LATEST = 24; // tokens in the list of the newest
const SAMPLE = "How much wood would a woodchuck chuck if a woodchuck could chuck wood? "
  + "A woodchuck would chuck as much wood as a woodchuck could chuck if a woodchuck could chuck wood.";
const KINDS = {
  text: ["Most frequent pairs", "counted in this text"],
  training: ["Most frequent pairs", "counted in the whole training corpus"],
  order: ["Next merges", "in the order of the vocabulary, counted in this text"],
};

export async function mount(element, state, api) {
  const about = await api.get("theatre/about");
  const names = state.about.tokenizers.map(({ name }) => name);
  const form = sourceForm(state, about, names);
  const show = stage(state);
  let running;

  async function prepare(values, step) {
    running?.close();
    show.wait("Preparing the merges…");
    try {
      const { job } = await api.post("theatre/start", values);
      running = follow(api, "theatre", job, {
        progress: (progress) => show.wait(waitingFor(progress)
          ?? (progress.total ? `Replaying the training: ${number(progress.done)} of ${number(progress.total)} merges` : "Preparing the merges…")),
      });
      show.load(await running.result, step);
      element.dataset.ready = values.tokenizer ? "replay" : "learn";
    } catch (problem) {
      if (!(problem instanceof Cancelled)) show.fail(problem);
    }
  }

  form.onplay = (values) => prepare(values, 0);
  fill(element, form.element, show.element);
  const key = (event) => show.key(event);
  document.addEventListener("keydown", key);
  await prepare(form.values(), Number(state.get("step")) || 0);
  return () => {
    document.removeEventListener("keydown", key);
    running?.close();
    show.pause();
  };
}

/** What to play: a text to learn from, or a tokenizer to replay. */
function sourceForm(state, about, names) {
  let mode = state.get("mode") === "replay" ? "replay" : "learn";
  const text = make("textarea", { rows: "3", id: uniqueId("text"), spellcheck: "false" });
  text.value = state.get("text") || SAMPLE;
  const isTrained = (name) => about.trained.includes(name);
  const merges = make("input", { type: "number", min: "1", max: String(about.most_merges), value: state.get("merges") ?? String(MERGES), onchange: submit });
  const pattern = choice(about.patterns.map((name) => [name, name]), about.patterns.includes(state.get("pattern")) ? state.get("pattern") : "gpt4", submit);
  const tokenizer = choice(names.map((name) => [name, `${visible(name, false)}${isTrained(name) ? " · trained here" : ""}`]), state.tokenizer(names), submit);
  let ofCorpus = state.get("corpus") !== "0"; // show the beginning of the training corpus instead of the text
  const corpus = toggle("Show its training text", ofCorpus, (on) => { ofCorpus = on; submit(); });
  const learning = make("div", { class: "row" }, labeled("Pattern", pattern), labeled("Merges", merges));
  const replaying = make("div", { class: "row" }, labeled("Tokenizer", tokenizer), corpus);
  const group = uniqueId("mode");
  const modes = [["learn", "Learn from a text"], ["replay", "Replay a tokenizer"]].map(([value, label]) => {
    const radio = make("input", { type: "radio", name: group, value, onchange: () => { mode = value; submit(); } });
    radio.checked = value === mode;
    return make("label", { class: "segment" }, radio, label);
  });
  const hint = make("p", { class: "quiet" });
  const use = make("button", { type: "submit" }, "Use this text");
  const given = make("div", { class: "stack" }, make("label", { class: "unseen", for: text.id }, "Text"), text);
  const isOfCorpus = () => mode === "replay" && isTrained(tokenizer.value) && ofCorpus;
  const form = {
    onplay: () => {},
    values() {
      if (mode === "replay") return { text: isOfCorpus() ? "" : text.value, tokenizer: tokenizer.value };
      return { text: text.value, pattern: pattern.value, merges: Math.round(Number(merges.value)) || MERGES };
    },
  };
  function choose() {
    learning.hidden = mode !== "learn";
    replaying.hidden = mode !== "replay";
    corpus.hidden = !isTrained(tokenizer.value);
    given.hidden = use.hidden = isOfCorpus();
    hint.textContent = mode === "learn" ? "BPE starts with bytes and joins the most frequent pair, again and again."
      : isTrained(tokenizer.value) ? "The training of this vocabulary, with the counts of its corpus."
        : "The merges of this vocabulary that apply to the text, in the order they were learned.";
  }
  function submit() {
    choose();
    const own = text.value === SAMPLE ? {} : { text: text.value };
    state.set({ ...own, ...(mode === "replay" ? { tokenizer: tokenizer.value } : {}), mode: mode === "learn" ? undefined : mode, merges: Number(merges.value) === MERGES ? undefined : merges.value,
      pattern: pattern.value === "gpt4" ? undefined : pattern.value, corpus: ofCorpus ? undefined : "0", step: undefined });
    form.onplay(form.values());
  }
  choose();
  form.element = make("form", { class: "card stack source-form" },
    make("div", { class: "row" }, make("fieldset", { class: "segments" }, make("legend", { class: "unseen" }, "What to play"), ...modes), learning, replaying),
    given, make("div", { class: "row end" }, hint, use));
  form.element.addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  return form;
}

/** The stage: figures, tiles, race, newest tokens and the timeline. */
function stage(state) {
  const tiles = new Tiles();
  const race = new Race();
  const raceTitle = make("h2", {});
  const raceNote = make("p", { class: "quiet" });
  const caption = make("p", { class: "merge-caption" });
  const figures = make("dl", { class: "figures" });
  const newest = make("ol", { class: "newest" });
  const status = make("p", { class: "quiet", role: "status" });
  const error = make("p", { class: "error", role: "alert" });
  const slider = make("input", { type: "range", min: "0", max: "0", value: "0", "aria-label": "Merges so far", oninput: () => { pause(); go(Number(slider.value)); } });
  const play = button("Play", () => toggleplay(), { class: "primary play", "aria-keyshortcuts": "Space" });
  const first = button("«", () => { pause(); go(0); }, { "aria-label": "First", title: "First (Home)" });
  const previous = button("‹", () => { pause(); back(); }, { "aria-label": "Previous merge", title: "Previous merge (←)" });
  const next = button("›", () => { pause(); forward(); }, { "aria-label": "Next merge", title: "Next merge (→)" });
  const last = button("»", () => { pause(); go(total()); }, { "aria-label": "Last", title: "Last (End)" });
  const speed = choice(SPEEDS.map((value) => [value, `${value}×`]), SPEEDS.includes(state.get("speed")) ? state.get("speed") : "1",
    (value) => { state.set({ speed: value === "1" ? undefined : value }); if (timer) { pause(); toggleplay(); } });
  let shownOnly = true;
  const skip = toggle("Skip merges that are not in this text", true, (on) => { shownOnly = on; });
  let data;
  let at = 0;
  let timer = 0;

  const total = () => data?.steps.length ?? 0;
  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  const joins = (step) => data.steps[step - 1].at.length > 0;

  function forward() {
    if (!data || at >= total()) return false;
    let step = at + 1;
    if (shownOnly) while (step < total() && !joins(step)) step += 1;
    const pace = timer ? INTERVAL / Number(speed.value) : INTERVAL;
    go(step, step === at + 1 || shownOnly ? Math.min(450, pace * 0.55) : 0);
    return true;
  }

  function back() {
    if (!data || at <= 0) return;
    let step = at - 1;
    if (shownOnly) while (step > 0 && !joins(step)) step -= 1;
    go(step);
  }

  function pause() {
    clearTimeout(timer);
    timer = 0;
    play.textContent = "Play";
  }

  function toggleplay() {
    if (timer) { pause(); return; }
    if (at >= total()) go(0);
    play.textContent = "Pause";
    const tick = () => {
      timer = setTimeout(tick, INTERVAL / Number(speed.value));
      if (!forward() || at >= total()) pause();
    };
    timer = setTimeout(tick, 200);
  }

  /** Shows the state after `step` merges. */
  function go(step, duration = 0) {
    if (!data) return;
    at = Math.max(0, Math.min(total(), step));
    tiles.show(at, duration >= 60 && !calm() && at > 0 ? duration : 0);
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", `${number(at)} of ${number(total())} merges`);
    const coming = data.steps[at];
    race.show(coming ? coming.leaders : [], coming && coming.pair.join(" "));
    const count = tiles.count(at);
    fill(figures, ...[["tokens in this text", number(count)], ["bytes per token", number(tiles.bytes.length / Math.max(count, 1), 2)],
      ...(data.kind === "order" ? [["merges used", number(at)]] : [["vocabulary", number(256 + at)]])].map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
    fill(caption, ...describe());
    tiles.element.setAttribute("aria-label", `The text after ${number(at)} merges: ${number(count)} tokens. ${caption.textContent}`);
    fill(newest);
    for (let nth = at; nth > Math.max(0, at - LATEST); nth -= 1) {
      const token = shownBytes(fromHex(data.steps[nth - 1].pair.join("")));
      newest.append(make("li", {}, button(token, () => { pause(); go(nth); }, { class: "tile joined", title: `Merge ${number(nth)}` })));
    }
    for (const [control, off] of [[first, at === 0], [previous, at === 0], [next, at === total()], [last, at === total()]]) control.disabled = off;
    state.set({ step: at ? String(at) : undefined });
    if (!timer) announce(caption.textContent);
  }

  function describe() {
    const coming = data.steps[at];
    if (!coming) {
      const more = data.merges - total();
      return [at ? `All ${number(at)} merges. ` : "No pair occurs twice. ", more > 0 ? `The vocabulary has ${number(more)} more, which are not shown.` : "Nothing is left to merge."];
    }
    const [left, right] = coming.pair;
    return [`Merge ${number(at + 1)} of ${number(data.merges)}: `, name(left), " + ", name(right), " → ", name(left + right),
      `, ${number(coming.count)}×`, coming.at.length ? "" : " (not in this text)"];
  }

  const content = make("div", { class: "show" },
    make("section", { class: "card stack main-stage", "aria-label": "Stage" }, figures, caption, tiles.element),
    make("section", { class: "stack side", "aria-label": "Race" },
      make("div", { class: "card stack" }, make("div", {}, raceTitle, raceNote), race.element),
      make("div", { class: "card stack" }, make("h2", {}, "Newest tokens"), newest)));
  const controls = make("div", { class: "card transport", role: "group", "aria-label": "Timeline" },
    make("div", { class: "row buttons-row" }, first, previous, play, next, last),
    slider, make("div", { class: "row" }, labeled("Speed", speed), skip));
  const keys = make("p", { class: "quiet keys" }, make("kbd", {}, "Space"), " plays and pauses, ", make("kbd", {}, "←"), " ", make("kbd", {}, "→"), " step, ", make("kbd", {}, "Home"), " ", make("kbd", {}, "End"), " jump.");
  const whole = make("div", { class: "stack theatre" }, status, error, controls, content, keys);
  content.hidden = true;
  return {
    element: whole,
    pause,
    wait(text) { pause(); error.textContent = ""; status.textContent = text; },
    fail(problem) { status.textContent = ""; error.textContent = problem.message; },
    load(loaded, step) {
      data = { ...loaded, bytes: fromHex(loaded.bytes) };
      status.textContent = "";
      error.textContent = "";
      content.hidden = false;
      tiles.load(data);
      slider.max = String(total());
      skip.hidden = data.steps.every((each) => each.at.length > 0);
      slider.disabled = play.disabled = total() === 0;
      [raceTitle.textContent, raceNote.textContent] = KINDS[data.kind];
      go(step);
    },
    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || !data) return;
      const { target } = event;
      const isRange = target.type === "range";
      if (target.closest?.("textarea, select, input") && !isRange) return;
      if (event.key === " " && (target.closest?.("button, a, summary") || !total())) return; // the control itself
      const acts = { " ": toggleplay, ArrowRight: () => { pause(); forward(); }, ArrowLeft: () => { pause(); back(); }, Home: () => { pause(); go(0); }, End: () => { pause(); go(total()); } };
      if (!Object.hasOwn(acts, event.key)) return;
      event.preventDefault();
      acts[event.key]();
    },
  };
}

const name = (digits) => make("bdi", { class: "tile" }, shownBytes(fromHex(digits)));
