// Linked text: a clause of the API in which record keys and objects are links to their records.

import { linkTo } from "../data/route.ts";

/** An object key may have spaces and commas: it ends with the clause or at its event time. */
const NAMES = /(k\d+:[0-9a-f]{16,}|s3:\/\/.+?(?=, event time \d|\.?$))/s;

export function LinkedText({ text }: { readonly text: string }) {
  return (
    <>
      {text.split(NAMES).map((part, index) => {
        if (index % 2 === 0) return part;
        const isKey = part.startsWith("k");
        const href = isKey ? linkTo(["records", part]) : linkTo(["records"], { search: part });
        return (
          <a key={part} href={href}>
            {isKey ? `${part.slice(0, KEY_CHARS_SHOWN)}…` : part}
          </a>
        );
      })}
    </>
  );
}

const KEY_CHARS_SHOWN = 15;
