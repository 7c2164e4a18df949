// The frame: the current view, its URL, and the color scheme.
//
// A view is a module views/NAME.js that exports `title` and `mount(element, state, api)`. `mount` may return a
// function that is called when the user leaves the view. `state` has
//   about       {views, tokenizers: [{name, vocab_size, pattern, special_tokens, …}], folders} from the server
//   get(key)    a parameter of the URL, or undefined
//   set({…})    changes parameters without adding a history entry; undefined removes a parameter
//   go(view, {…})  opens another view
//   refresh()   fetches `about` again, after a tokenizer was added
// The URL is #/NAME?key=value&…: opening a copy of it restores the view.
import * as api from "./api.js";
import { button, fill, make } from "./dom.js";

const views = {};
const main = document.getElementById("view");
const menu = document.getElementById("menu");
let about = null;
let leave = null;
let shown = "";
let visits = 0; // incremented for each view, so that a view that was left can be recognized

function read() {
  const [, name = "", query = ""] = /^#\/([a-z]*)\??(.*)$/s.exec(location.hash) || [];
  return { name: Object.hasOwn(views, name) ? name : about.views[0], parameters: new URLSearchParams(query) };
}

function address(name, parameters) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) if (value !== undefined && value !== "") query.set(key, value);
  return `#/${name}${query.size ? `?${query}` : ""}`;
}

function stateOf(name, parameters) {
  const mine = visits;
  // The address changes before the event that tells of it, and a view may finish its work in between.
  const isLeft = () => mine !== visits || location.hash !== shown;
  return {
    get about() { return about; },
    get: (key) => parameters.get(key) ?? undefined,
    set(changes) {
      if (isLeft()) return;
      for (const [key, value] of Object.entries(changes)) {
        if (value === undefined || value === "") parameters.delete(key);
        else parameters.set(key, value);
      }
      shown = address(name, Object.fromEntries(parameters));
      history.replaceState(null, "", shown);
    },
    go(view, values = {}) { location.hash = address(view, values); },
    async refresh() { about = await api.get("about"); },
  };
}

async function show() {
  if (!about.views.length) return;
  if (location.hash === shown && leave) return;
  const { name, parameters } = read();
  const view = views[name];
  if (leave) leave();
  leave = () => {};
  visits += 1;
  const mine = visits;
  shown = location.hash;
  document.title = `${view.title} · merganser studio`;
  for (const link of menu.querySelectorAll("a")) {
    if (link.dataset.view === name) {
      link.setAttribute("aria-current", "page");
      menu.scrollLeft = link.offsetLeft - menu.offsetLeft - (menu.clientWidth - link.clientWidth) / 2; // a phone is too narrow for all links
    } else link.removeAttribute("aria-current");
  }
  const element = make("div", { class: `view view-${name}` });
  fill(main, make("h1", { class: "unseen" }, view.title), element);
  document.documentElement.dataset.view = name;
  const unmount = await view.mount(element, stateOf(name, parameters), api);
  if (typeof unmount !== "function") return;
  if (mine === visits) leave = unmount;
  else unmount(); // the user left while the view was loading
}

// Not by the address: a view that sets its own before the event is handled would undo it.
document.querySelector(".skip").onclick = (event) => {
  event.preventDefault();
  main.focus();
};

const SCHEMES = { auto: "light dark", light: "light", dark: "dark" };
const NEXT = { auto: "light", light: "dark", dark: "auto" };
const SIGNS = { auto: "◐", light: "☀", dark: "☾" };

/** Applies a color scheme; "auto" follows the system. Dispatches "theme" on the document. */
function setTheme(chosen) {
  const root = document.documentElement;
  if (chosen === "auto") delete root.dataset.theme;
  else root.dataset.theme = chosen;
  document.querySelector("meta[name=color-scheme]").content = SCHEMES[chosen];
  try { localStorage.setItem("theme", chosen); } catch { /* storage is blocked */ }
  const control = document.getElementById("theme");
  control.textContent = SIGNS[chosen];
  control.setAttribute("aria-label", `Color scheme: ${chosen}. Switch to ${NEXT[chosen]}`);
  control.title = `Color scheme: ${chosen}`;
  control.onclick = () => setTheme(NEXT[chosen]);
  document.dispatchEvent(new CustomEvent("theme", { detail: isDark() ? "dark" : "light" }));
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

async function start() {
  let chosen = "auto";
  try { chosen = localStorage.getItem("theme") || "auto"; } catch { /* storage is blocked */ }
  setTheme(Object.hasOwn(SCHEMES, chosen) ? chosen : "auto");
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    document.dispatchEvent(new CustomEvent("theme", { detail: isDark() ? "dark" : "light" })));
  about = await api.get("about");
  const modules = await Promise.all(about.views.map((name) => import(`./views/${name}.js`)));
  about.views.forEach((name, nth) => { views[name] = modules[nth]; });
  fill(menu, ...about.views.map((name) => make("a", { href: `#/${name}`, data: { view: name } }, views[name].title)));
  addEventListener("hashchange", show);
  await show();
  document.documentElement.dataset.ready = "true";
}

start().catch((error) => {
  fill(main, make("p", { class: "error", role: "alert" }, error.message), button("Try again", () => location.reload()));
});
