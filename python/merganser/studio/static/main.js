// The frame: which view is shown, what is in its address, light or dark.
//
// A view is a module views/NAME.js that exports `title` and `mount(element, state, api)`. `mount` may give back
// a function that is called when the view is left. `state` has
//   about       what the server knows: {views, tokenizers: [{name, vocab_size, pattern, special_tokens, …}], folders}
//   get(key)    a value of the address, or undefined
//   set({…})    changes the address without a new entry in the history; undefined takes a key out
//   go(view, {…})  opens another view
//   refresh()   asks the server for `about` again, after a tokenizer was added
// The address is #/NAME?key=value&…: a link to it shows the same again.
import * as api from "./api.js";
import { button, fill, make } from "./dom.js";

const views = {};
const place = document.getElementById("view");
const menu = document.getElementById("menu");
let about = null;
let leave = null;
let shown = "";
let visits = 0; // how many views were shown: one that was left has another number

function read() {
  const [, name = "", query = ""] = /^#\/([a-z]*)\??(.*)$/s.exec(location.hash) || [];
  return { name: name in views ? name : about.views[0], parameters: new URLSearchParams(query) };
}

function address(name, parameters) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) if (value !== undefined && value !== "") query.set(key, value);
  return `#/${name}${query.size ? `?${query}` : ""}`;
}

function stateOf(parameters) {
  const mine = visits;
  return {
    get about() { return about; },
    get: (key) => parameters.get(key) ?? undefined,
    set(changes) {
      if (mine !== visits) return; // the address is that of another view
      for (const [key, value] of Object.entries(changes)) {
        if (value === undefined || value === "") parameters.delete(key);
        else parameters.set(key, value);
      }
      shown = address(read().name, Object.fromEntries(parameters));
      history.replaceState(null, "", shown);
    },
    go(name, values = {}) { location.hash = address(name, values); },
    async refresh() { about = await api.get("about"); },
  };
}

async function show() {
  if (!about.views.length) return;
  if (location.hash === "#view") { place.focus(); return; }
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
      menu.scrollLeft = link.offsetLeft - menu.offsetLeft - (menu.clientWidth - link.clientWidth) / 2; // on a phone not all have room
    } else link.removeAttribute("aria-current");
  }
  const element = make("div", { class: `view view-${name}` });
  fill(place, make("h1", { class: "unseen" }, view.title), element);
  document.documentElement.dataset.view = name;
  const left = await view.mount(element, stateOf(parameters), api);
  if (typeof left !== "function") return;
  if (mine === visits) leave = left;
  else left(); // it was left before all of it was there
}

const SCHEMES = { auto: "light dark", light: "light", dark: "dark" };
const NEXT = { auto: "light", light: "dark", dark: "auto" };
const SIGNS = { auto: "◐", light: "☀", dark: "☾" };

/** What was chosen, else what the system says; a change is an event "theme" of the document. */
function theme(chosen) {
  const root = document.documentElement;
  if (chosen === "auto") delete root.dataset.theme;
  else root.dataset.theme = chosen;
  document.querySelector("meta[name=color-scheme]").content = SCHEMES[chosen];
  try { localStorage.setItem("theme", chosen); } catch { /* then it is forgotten */ }
  const control = document.getElementById("theme");
  control.textContent = SIGNS[chosen];
  control.setAttribute("aria-label", `Colours: ${chosen}. Change to ${NEXT[chosen]}`);
  control.title = `Colours: ${chosen}`;
  control.onclick = () => theme(NEXT[chosen]);
  document.dispatchEvent(new CustomEvent("theme", { detail: isDark() ? "dark" : "light" }));
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

async function start() {
  let chosen = "auto";
  try { chosen = localStorage.getItem("theme") || "auto"; } catch { /* none */ }
  theme(chosen in SCHEMES ? chosen : "auto");
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
  fill(place, make("p", { class: "error", role: "alert" }, error.message), button("Try again", () => location.reload()));
});
