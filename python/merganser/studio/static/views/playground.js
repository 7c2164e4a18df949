// Playground: tokens, ids and bytes of a text as it is typed, and one token in the inspector.
import { button, choice, fill, labeled, make, number, toggle } from "../dom.js";
import { Editor } from "../editor.js";
import { exportMenu } from "../export.js";
import { hex, visible } from "../glyphs.js";
import { Inspector, position } from "../inspector.js";
import { Linked } from "../linked.js";
import { Encoder } from "../tokens.js";

export const title = "Playground";

const START = "The merganser dives for tokens: naïve café, 東京タワー, 12345.678 and 👍🏽!\n\n"
  + "def quack(times: int = 3) -> str:\n    return \"quack \" * times\n";
const STORY = [4, 14]; // bytes of a token whose merge tree is worth a look and fits

export async function mount(element, state, api) {
  let tokenizer = state.tokenizer();
  let specials = state.get("specials") === "1";
  let hasGlyphs = state.get("spaces") !== "0";
  let shownRequest = null; // the request whose tokens are shown
  let encoded = null;
  let figures = null;
  let urlTimer = 0;
  const about = () => state.about.tokenizers.find(({ name }) => name === tokenizer);

  const linked = new Linked({ point, choose });
  const editor = new Editor({ rows: 6, id: "text", placeholder: "Type or paste a text" }, encode);
  const count = make("p", { class: "count", role: "status" });
  const shown = make("dl", { class: "figures", "aria-label": "Figures" });
  const pointed = make("p", { class: "pointed quiet" });
  const inspector = new Inspector(api, "Click a token to see how it was built. Keyboard: Tab to a pane, then use the arrow keys.",
    { tab: (tab) => state.keep({ tab }) }, state.get("tab"));
  const problem = make("p", { class: "error", role: "alert" });

  const encoder = new Encoder(api);
  let running = null;
  let isOutdated = false;

  /** Runs one request at a time; while it runs, only the newest text waits. */
  function encode() {
    isOutdated = true;
    running ||= (async () => {
      while (isOutdated) {
        isOutdated = false;
        await encodeOnce();
      }
      running = null;
    })();
    return running;
  }

  async function encodeOnce() {
    const wanted = { tokenizer, text: editor.text, specials };
    if (Object.keys(wanted).every((key) => wanted[key] === shownRequest?.[key])) return; // inserting a line fires several events
    const before = { encoded, chosen: linked.chosen, tokenizer: shownRequest?.tokenizer };
    try {
      const answer = await encoder.encode(tokenizer, wanted.text, specials);
      problem.textContent = "";
      ({ encoded, figures } = answer);
    } catch (error) {
      problem.textContent = error.message;
      return;
    }
    shownRequest = wanted;
    encoded.specials = new Set(Object.values(about().special_tokens));
    linked.show(encoded);
    showFigures();
    point();
    if (before.chosen) follow(before);
    editor.field.dataset.shown = String(wanted.text.length);
    state.keep({ text: wanted.text, tokenizer: wanted.tokenizer, specials: wanted.specials ? "1" : undefined });
    clearTimeout(urlTimer);
    urlTimer = setTimeout(updateUrl, 250);
  }

  /** Keeps the chosen token through an edit if it is still there, and through a change of the tokenizer the token at its place. */
  function follow({ encoded: old, chosen: [from, to], tokenizer: by }) {
    const [start, total] = [old.byteStart(from), (all) => (all.count ? all.ends[all.count - 1] : 0)];
    const isSame = (k) => {
      for (let n = from; n < to; n += 1) if (encoded.ids[k + n - from] !== old.ids[n]) return false;
      return true;
    };
    for (const byte of [start, start + total(encoded) - total(old)]) {
      const k = byte >= 0 && encoded.count ? encoded.at(byte) : -1;
      if (k < 0 || encoded.byteStart(k) !== byte && by === tokenizer) continue;
      if (by === tokenizer && isSame(k)) {
        linked.mark(k, k + to - from);
        inspector.shown = described(k, k + to - from);
        return;
      }
      if (by !== tokenizer) {
        linked.choose(encoded.segmentStart(k), encoded.segmentEnd(k));
        return;
      }
    }
    inspector.clear();
    state.set({ at: undefined });
    state.keep({ id: undefined });
  }

  function updateUrl() {
    state.set({ tokenizer, specials: specials ? "1" : undefined, spaces: hasGlyphs ? undefined : "0", text: editor.text,
      at: linked.chosen ? String(linked.chosen[0]) : undefined });
  }

  function showFigures() {
    const { tokens, characters, bytes, id_bytes: idBytes, different } = figures;
    const rows = [
      ["characters", number(characters)], ["bytes", number(bytes)], ["bytes per token", number(tokens ? bytes / tokens : 0, 2)],
      ["compression", `${number(tokens ? bytes / tokens / idBytes : 0, 2)}×`], ["unique tokens", number(different)],
    ];
    if (!shown.children.length) {
      fill(shown, ...rows.map(([name]) => make("div", {}, make("dt", {}, name), make("dd", {}))));
      fill(count, make("strong", {}), make("span", {}));
    }
    count.firstChild.textContent = number(tokens);
    count.lastChild.textContent = tokens === 1 ? " token" : " tokens";
    rows.forEach(([, value], n) => { shown.children[n].lastChild.textContent = value; });
  }

  /** Shows facts about the tokens under the pointer, in one line. */
  function point(from, to) {
    if (from === undefined || !encoded || to > encoded.count) {
      pointed.textContent = encoded?.count ? "Point at a token to find it in all panes; click it to inspect it." : "Type or paste a text, or choose an example.";
      return;
    }
    const ids = encoded.ids.subarray(from, to);
    fill(pointed, make("bdi", { class: "token-text" }, visible(encoded.text.slice(encoded.start(from), encoded.end(to - 1)))),
      ` token ${number(from + 1)}${to - from > 1 ? `–${number(to)}` : ""} of ${number(encoded.count)} · id ${ids.join(", ")} · bytes ${hex(encoded.bytes(from).subarray(0, 16))}`);
  }

  function described(from, to) {
    const [all, by, withSpecials] = [encoded, tokenizer, specials];
    return {
      tokenizer, ids: [...all.ids.subarray(from, to)], rows: position(all, from),
      where: `token ${number(from + 1)}${to - from > 1 ? `–${number(to)}` : ""} of ${number(all.count)}`,
      steps: () => api.post("merges/steps", { tokenizer: by, text: all.text, specials: withSpecials, token: from, tokens: to - from }),
    };
  }

  function choose(from, to) {
    remember(from);
    inspector.show(described(from, to));
    inspector.uncover(element.querySelector(".text-pane .cell.chosen"));
  }

  function remember(from) {
    state.set({ at: String(from) });
    state.keep({ id: String(encoded.ids[from]) });
  }

  /** Chooses tokens for the user; on a phone, the sheet waits for a tap. */
  function select(from, to) {
    linked.mark(from, to);
    linked.reveal(from);
    remember(from);
    point(from, to);
    inspector.show(described(from, to));
    inspector.fold();
  }

  /** Chooses a token with a merge tree worth a look: the longest of moderate length. */
  function chooseStory() {
    let best = -1;
    for (let k = 0; k < Math.min(encoded.count, 2000); k += 1) {
      const length = encoded.ends[k] - encoded.byteStart(k);
      if (length < STORY[0] || length > STORY[1] || encoded.specials.has(encoded.ids[k]) || !encoded.endsAtBoundary(k)
        || !/^\s?\p{L}+$/u.test(encoded.text.slice(encoded.end(k - 1), encoded.end(k)))) continue;
      if (best < 0 || length > encoded.ends[best] - encoded.byteStart(best)) best = k;
    }
    if (best >= 0) select(best, best + 1);
  }

  editor.set(state.get("text") ?? START);

  const chips = make("div", { class: "chips", role: "group", "aria-label": "Examples" });
  api.get("playground/examples").then((examples) => {
    fill(chips, ...Object.entries(examples).map(([name, text]) => button(name, async () => {
      editor.set(text);
      await encode();
      if (shownRequest.text === text) chooseStory();
    }, { class: "chip" })));
  }).catch((error) => { problem.textContent = error.message; });

  const kinds = (all, k, part, tint) => `t${tint}${all.specials.has(all.ids[k]) ? " special" : ""}${part?.endsWith("\n") ? " line-end" : ""}`;
  const cells = {
    text: (all, from, to) => {
      const list = [];
      const tints = all.tints(from, to);
      for (let k = from; k < to;) {
        const end = all.segmentEnd(k);
        const part = all.text.slice(all.end(k - 1), all.end(end - 1));
        list.push({ text: visible(part, hasGlyphs), from: k, to: end, class: `${kinds(all, k, part, tints[k - from])}${end - k > 1 ? " cut" : ""}` });
        k = end;
      }
      return list;
    },
    ids: (all, from, to) => Array.from(all.tints(from, to), (tint, n) => ({ text: String(all.ids[from + n]), from: from + n, to: from + n + 1, class: `t${tint}` })),
    bytes: (all, from, to) => Array.from(all.tints(from, to), (tint, n) => ({ text: hex(all.bytes(from + n)), from: from + n, to: from + n + 1, class: `t${tint}` })),
  };

  const specialToggle = toggle("Special tokens", specials, (on) => { specials = on; encode(); });
  const specialNote = make("span", { class: "quiet", id: "special-note" });
  specialToggle.firstChild.setAttribute("aria-describedby", specialNote.id);
  /** A tokenizer without special tokens has nothing to switch; says so. */
  function explainSpecials() {
    const names = Object.keys(about().special_tokens);
    specialToggle.firstChild.disabled = names.length === 0;
    specialToggle.title = names.slice(0, 12).join(" ");
    specialNote.textContent = names.length ? "" : "(this tokenizer has none)";
  }
  explainSpecials();
  const which = choice(state.about.tokenizers.map(({ name, vocab_size: size }) => [name, `${visible(name, false)} · ${number(size)}`]), tokenizer,
    (name) => { tokenizer = name; state.keep({ tokenizer }); explainSpecials(); encode(); });

  fill(element,
    make("div", { class: "row bar" },
      labeled("Tokenizer", which), state.adding(),
      specialToggle, specialNote,
      toggle("Show spaces", hasGlyphs, (on) => { hasGlyphs = on; linked.redraw(); updateUrl(); }),
      make("div", { class: "buttons" }, exportMenu(api, () => ({ tokenizer: about(), encoded, specials, figures })))),
    make("div", { class: "row start" }, make("p", {}, "Type or paste a text and see its tokens. Or start with"), chips),
    make("div", { class: "columns" },
      make("div", { class: "stack" },
        make("label", { class: "unseen", for: "text" }, "Text"), editor.element, problem,
        make("div", { class: "row verdict" }, count, shown),
        make("section", { class: "pane text-pane" }, make("h2", {}, "Tokens"), linked.pane("Tokens", cells.text), pointed),
        make("div", { class: "pair" },
          make("section", { class: "pane" }, make("h2", {}, "Ids"), linked.pane("Ids", cells.ids, false)),
          make("section", { class: "pane" }, make("h2", {}, "Bytes"), linked.pane("Bytes", cells.bytes, false)))),
      inspector.element));

  await encode();
  if (encoded?.count) {
    const at = Number(state.get("at") ?? -1);
    const isInside = state.get("at") !== undefined && at >= 0 && at < encoded.count;
    if (isInside) select(encoded.segmentStart(at), encoded.segmentEnd(at));
    else chooseStory();
  }
  return () => { clearTimeout(urlTimer); linked.close(); document.body.style.paddingBottom = ""; };
}
