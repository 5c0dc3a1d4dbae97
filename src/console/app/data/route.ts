// Route: what the page shows, in the address after "#", so that every view, filter and record has a
// link that people can send each other.
//   R1. The address is the only state of a view that survives a reload: filters, search texts and
//       selected items are in it.
//   R2. Parts of the path are encoded one by one: an object key with slashes is one part.
//   R3. The chosen pipeline stays in every link until another one is chosen.

import { useEffect, useState } from "preact/hooks";

/** `#/records/k1%3Aab?q=x` has the path ["records", "k1:ab"] and the query q=x. */
export interface Route {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export type QueryValues = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** The link of a view; empty values are left out of the query. */
export function linkTo(path: readonly string[], query: QueryValues = {}): string {
  const words = path.map((part) => encodeURIComponent(part)).join("/"); // R2
  const text = queryText({ ...scopeOfRoute(parseRoute(location.hash)), ...query }); // R3
  return `#/${words}${text}`;
}

/** The chosen pipeline, as parameters of links and of the API. */
export function scopeOfRoute({ query }: Route): QueryValues {
  return { pipeline: query.get("pipeline"), generation: query.get("generation") };
}

/** "?a=1&b=2", or nothing if all values are empty. */
export function queryText(query: QueryValues): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "" || value === false) continue;
    search.set(name, String(value));
  }
  const text = search.toString();
  return text === "" ? "" : `?${text}`;
}

export function parseRoute(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const parts = path.split("/").filter((part) => part !== "");
  return { path: parts.map(decodePart), query: new URLSearchParams(search) };
}

/** The current route; the component renders again when it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const follow = () => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}

/** Changes the address. `replace` keeps the history short while a filter is typed. */
export function goTo(link: string, replace = false): void {
  if (replace) history.replaceState(null, "", link);
  else history.pushState(null, "", link);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // A link that was cut or typed by hand.
  }
}
