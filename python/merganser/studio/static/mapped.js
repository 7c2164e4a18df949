// What the colors of the map mean: kinds of tokens, frequency, length and clusters. Categories have the colors kind0 …,
// amounts shade0 to shade6.
import { number } from "./dom.js";

const KINDS = ["words", "word parts", "numbers", "punctuation", "other"];
const LENGTHS = [1, 2, 3, 4, 6, 9]; // the longest of each group, in bytes

/** Classifies a token by its label; returns an index into KINDS. */
function kindOf(label) {
  if (/^·\p{L}+$/u.test(label)) return 0;
  if (/^\p{L}[\p{L}\p{M}]*$/u.test(label)) return 1;
  if (/^·?\p{N}+$/u.test(label)) return 2;
  if (/^[·⏎⇥]*[\p{P}\p{S}·⏎⇥]+$/u.test(label)) return 3;
  return 4;
}

export const COLORINGS = {
  kind: { title: "kind" }, frequency: { title: "frequency" }, length: { title: "length" }, cluster: { title: "cluster" },
};

/** Adds what does not change with the map: kinds, and sizes by frequency. */
export function classified(points) {
  const largest = Math.log(Math.max(points.counts[0] ?? 2, 2));
  const share = (count) => Math.log(count + 1) / largest;
  const kind = Uint8Array.from(points.labels, kindOf);
  return { ...points, kind, group: kind, isWord: Array.from(kind, (each) => each === 0),
    size: Uint8Array.from(points.counts, (count) => (share(count) > 0.75 ? 2 : share(count) > 0.45 ? 1 : 0)) };
}

const categories = (groups) => groups.map((_, nth) => `kind${nth}`);
const shades = (groups) => groups.map((_, nth) => `shade${Math.round((6 * nth) / Math.max(1, groups.length - 1))}`);

/** The group of each point, and the names and colors of the groups. */
export function grouped(points, coloring) {
  if (coloring === "cluster") return { group: Uint8Array.from(points.clusters), groups: points.names, colors: categories(points.names) };
  if (coloring === "length") {
    const bounded = LENGTHS.map((most, nth) => (most === (LENGTHS[nth - 1] ?? 0) + 1 ? number(most) : `${LENGTHS[nth - 1] + 1}–${most}`));
    const groups = [...bounded, `${LENGTHS[LENGTHS.length - 1] + 1}+ bytes`];
    const of = (length) => { const nth = LENGTHS.findIndex((most) => length <= most); return nth < 0 ? LENGTHS.length : nth; };
    return { group: Uint8Array.from(points.lengths, of), groups, colors: shades(groups) };
  }
  if (coloring === "frequency") {
    const power = (count) => Math.floor(Math.log10(Math.max(count, 1)));
    const high = Math.max(...points.counts.slice(0, 100).map(power), 0);
    const steps = Math.min(6, high);
    const of = (count) => Math.max(0, Math.min(steps, power(count) - high + steps));
    const groups = Array.from({ length: steps + 1 }, (_, nth) => `${nth === 0 && high > steps ? "<" : "≥"} ${number(10 ** (high - steps + nth + (nth === 0 && high > steps ? 1 : 0)))}`);
    return { group: Uint8Array.from(points.counts, of), groups, colors: shades(groups) };
  }
  return { group: points.kind, groups: KINDS, colors: categories(KINDS) };
}
