// Vocabulary: all tokens with search and sorting, and the merge tree of the selected token.
import { button, choice, fill, labeled, make, number } from "../dom.js";
import { fromHex, hex, shownBytes, visible } from "../glyphs.js";
import { Inspector } from "../inspector.js";

export const title = "Vocabulary";

const PAGE = 100;
const HINTS = { text: "ing", bytes: "20 74 68", regex: "^ [A-Z]", id: "1000 or 256-300" };

export async function mount(element, state, api) {
  const { tokenizers } = state.about;
  const first = state.tokenizer();
  const hasCounts = tokenizers.find(({ name }) => name === first).has_counts;
  const query = {
    tokenizer: first,
    by: Object.hasOwn(HINTS, state.get("by") ?? "") ? state.get("by") : "text",
    query: state.get("query") ?? "",
    sort: state.get("sort") ?? (hasCounts ? "count" : "rank"),
    descending: state.get("sort") ? state.get("descending") === "1" : hasCounts,
    start: Number(state.get("start")) || 0,
    size: PAGE,
  };
  let chosen = state.get("id");
  const input = make("input", { type: "search", id: "query", placeholder: HINTS[query.by], autocomplete: "off", spellcheck: "false" });
  const total = make("p", { class: "quiet", role: "status" });
  const problem = make("p", { class: "error", role: "alert" });
  const body = make("tbody");
  const inspector = new Inspector(api, "Click a token to see how it was built.", {
    tab: (tab) => state.keep({ tab }),
    open: (tokenizer, bytes) => state.go("playground", { tokenizer, text: new TextDecoder().decode(bytes), at: "0" }),
  }, state.get("tab"));
  const request = api.latest((wanted) => api.post("vocabulary/search", wanted));
  const heads = {};

  async function search(start = 0) {
    query.start = start;
    let answer;
    try {
      answer = await request({ ...query });
      problem.textContent = answer?.problem ?? "";
    } catch (error) {
      problem.textContent = error.message;
      return [];
    }
    if (!answer || answer.problem) return [];
    fill(body, ...answer.rows.map(row));
    const last = Math.min(query.start + PAGE, answer.total);
    total.textContent = answer.total ? `${number(query.start + 1)}–${number(last)} of ${number(answer.total)} tokens` : "No tokens match";
    previous.disabled = query.start === 0;
    next.disabled = last >= answer.total;
    for (const [name, head] of Object.entries(heads)) {
      if (name === query.sort) head.setAttribute("aria-sort", query.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    updateUrl();
    return answer.rows;
  }

  function updateUrl() {
    state.set({ tokenizer: query.tokenizer, by: query.by, query: query.query, sort: query.sort, descending: query.descending ? "1" : undefined,
      start: query.start ? String(query.start) : undefined, id: chosen });
  }

  function row(facts) {
    const bytes = fromHex(facts.bytes);
    const name = button(shownBytes(bytes), () => choose(facts.id), { class: "token" });
    const line = make("tr", { data: { id: String(facts.id) } },
      make("td", { class: "number" }, String(facts.id)), make("td", {}, make("bdi", {}, name)),
      make("td", {}, make("code", { class: "quiet" }, hex(bytes.subarray(0, 8)) + (bytes.length > 8 ? " …" : ""))),
      make("td", { class: "number" }, number(bytes.length)), make("td", { class: "number" }, facts.rank === null ? facts.kind : number(facts.rank)),
      make("td", { class: "number" }, number(facts.count)));
    line.classList.toggle("chosen", String(facts.id) === chosen);
    return line;
  }

  function choose(id) {
    chosen = String(id);
    for (const line of body.children) line.classList.toggle("chosen", line.dataset.id === chosen);
    updateUrl();
    return inspector.show({ tokenizer: query.tokenizer, ids: [id] });
  }

  /** Shows the first token while none is chosen; on a phone, the sheet waits for a tap. */
  function preview(rows) {
    if (chosen !== undefined || !rows.length) return;
    inspector.show({ tokenizer: query.tokenizer, ids: [rows[0].id] });
    inspector.fold();
  }

  const sortable = (name, label) => {
    const head = make("th", { scope: "col", class: "number" }, button(label, () => {
      query.descending = query.sort === name ? !query.descending : name !== "rank";
      query.sort = name;
      search();
    }, { class: "plain sort" }));
    heads[name] = head;
    return head;
  };
  const previous = button("‹ Previous", () => search(Math.max(0, query.start - PAGE)));
  const next = button("Next ›", () => search(query.start + PAGE));
  input.value = query.query;
  input.addEventListener("input", () => { query.query = input.value; search(); });

  fill(element,
    make("div", { class: "row bar" },
      labeled("Tokenizer", choice(tokenizers.map(({ name, vocab_size: size }) => [name, `${visible(name, false)} · ${number(size)}`]), query.tokenizer,
        async (name) => { query.tokenizer = name; chosen = undefined; inspector.clear(); preview(await search()); })),
      labeled("Search by", choice([["text", "text"], ["bytes", "bytes"], ["regex", "regular expression"], ["id", "id"]], query.by,
        (by) => { query.by = by; input.placeholder = HINTS[by]; search(); })),
      make("label", { class: "unseen", for: "query" }, "Search"), input),
    problem,
    make("div", { class: "columns" },
      make("div", { class: "stack" },
        make("div", { class: "row end" }, total, make("div", { class: "buttons" }, previous, next)),
        make("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Tokens" },
          make("table", { class: "wide" }, make("thead", {}, make("tr", {},
            make("th", { scope: "col", class: "number" }, "Id"), make("th", { scope: "col" }, "Token"), make("th", { scope: "col" }, "Bytes"),
            sortable("length", "Length"), sortable("rank", "Rank"), sortable("count", "Count"))), body))),
      inspector.element));
  const rows = await search(query.start);
  if (chosen !== undefined) await choose(Number(chosen));
  else preview(rows);
}
