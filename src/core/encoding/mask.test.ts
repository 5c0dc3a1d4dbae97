import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonValue } from "./canonical-json.ts";
import { createMask } from "./mask.ts";
import { MASKED } from "./secrets.ts";

const person = {
  payload: { person: { name: "Ada Lovelace", born: 1815, address: { city: "London" } }, id: 7 },
  rows: [
    { email: "ada@example.org", n: 1 },
    { email: "bob@example.org", n: 2 },
  ],
};

describe("paths", () => {
  test.each<[string, JsonValue]>([
    [
      "payload.person.*",
      { ...person, payload: { person: { name: "***", born: "***", address: "***" }, id: 7 } },
    ],
    ["payload.person", { ...person, payload: { person: "***", id: 7 } }],
    [
      "rows.*.email",
      {
        ...person,
        rows: [
          { email: "***", n: 1 },
          { email: "***", n: 2 },
        ],
      },
    ],
    ["rows.1.email", { ...person, rows: [person.rows[0] ?? null, { email: "***", n: 2 }] }],
    ["rows.1", { ...person, rows: [person.rows[0] ?? null, "***"] }],
    ["payload.**", { ...person, payload: { person: "***", id: "***" } }],
    ["nothing.of.that", person],
    ["payload", { ...person, payload: "***" }],
  ])("%s hides the matching values and nothing else", (path, expected) => {
    expect(createMask([path]).value(person)).toEqual(expected);
  });

  test("two asterisks match any depth, including none", () => {
    const json = { email: "a", a: { email: "b", c: [{ email: "c", d: 1 }] } };
    const hidden = { email: "***", a: { email: "***", c: [{ email: "***", d: 1 }] } };
    expect(createMask(["**.email"]).value(json)).toEqual(hidden);
    expect(createMask(["a.**.email"]).value(json)).toEqual({ ...hidden, email: "a" });
  });

  test("dots, asterisks and backslashes in names are escaped with a backslash", () => {
    const json = { "a.b": "x", "*": "x", "c\\": { d: "x" }, a: { b: "kept" } };
    expect(createMask(["a\\.b", "\\*", "c\\\\.d"]).value(json)).toEqual({
      "a.b": "***",
      "*": "***",
      "c\\": { d: "***" },
      a: { b: "kept" },
    });
  });

  test.each(["", ".", "a.", ".a", "a..b", "na*me", "***", "a\\", "a\\b", "a.\\x"])(
    "%j is invalid and is rejected in one sentence",
    (path) => {
      expect(() => createMask([path])).toThrow(
        expect.objectContaining({
          code: "TG_CONFIG_INVALID",
          message: expect.stringMatching(/^cannot mask [^\n]+$/),
        }),
      );
    },
  );

  test("a path that is not a string is rejected, not converted", () => {
    for (const path of [undefined, null, 7, {}]) {
      expect(() => createMask([path as unknown as string])).toThrow("a path must be a string");
    }
  });
});

describe("values", () => {
  test("the original is unchanged", () => {
    const before = structuredClone(person);
    createMask(["**"]).value(person);
    expect(person).toEqual(before);
  });

  test("a member called __proto__ is a member like any other", () => {
    const json = JSON.parse('{"a":{"__proto__":{"x":"secret"},"y":1}}');
    expect(JSON.stringify(createMask(["a.__proto__.x"]).value(json))).toBe(
      '{"a":{"__proto__":{"x":"***"},"y":1}}',
    );
  });

  test("a value nested too deep is hidden, not followed", () => {
    let json: JsonValue = "the secret";
    for (let depth = 0; depth < 50_000; depth++) json = [json];
    const mask = createMask(["**.email"]);
    expect(JSON.stringify(mask.value(json))).not.toContain("secret");
    expect(mask.secretsOf(json)).toEqual(["the secret"]);
  });

  test("no leaf that a path matches survives, wherever it is", () => {
    fc.assert(
      fc.property(anyTree(), fc.infiniteStream(fc.nat()), (json, choices) => {
        const { path, leaves } = choosePath(json, choices);
        const shown = JSON.stringify(createMask([path]).value(json));
        for (const leaf of leaves) expect(shown).not.toContain(leaf);
      }),
    );
  });

  test("no leaf below a name survives if `**` matches the name", () => {
    fc.assert(
      fc.property(anyTree(), fc.constantFrom("a", "b", "0"), (json, name) => {
        const shown = JSON.stringify(createMask([`**.${name}`]).value(json));
        const secrets = createMask([`**.${name}`]).secretsOf(json);
        expect(secrets.toSorted()).toEqual(leavesBelow(json, name).toSorted());
        for (const leaf of secrets) expect(shown).not.toContain(leaf);
      }),
    );
  });

  test("everything that no path matches is still there", () => {
    fc.assert(
      fc.property(anyTree(), fc.infiniteStream(fc.nat()), (json, choices) => {
        const { path, leaves } = choosePath(json, choices);
        const shown = JSON.stringify(createMask([path]).value(json));
        const hidden = new Set(leaves);
        for (const leaf of leavesOf(json)) {
          if (!hidden.has(leaf)) expect(shown).toContain(leaf);
        }
      }),
    );
  });
});

describe("text", () => {
  const mask = createMask(["payload.person.*"]);

  test("hidden values are removed from an error that quotes them, however they are escaped", () => {
    const secrets = mask.secretsOf({ payload: { person: { name: 'Ada "A" Lovelace' }, id: 7 } });
    const spelled = 'Ada "A" Lovelace, "Ada \\"A\\" Lovelace", Ada%20%22A%22%20Lovelace';
    expect(mask.text(`bad: ${spelled}; Ada+%22A%22+Lovelace`, secrets)).toBe(
      `bad: ${MASKED}, "${MASKED}", ${MASKED}; ${MASKED}`,
    );
  });

  test("values in SQL and JavaScript quotes are removed as well", () => {
    const said = mask.text("'O''Brien' and 'O\\'Brien' and (O'Brien)", ["O'Brien"]);
    expect(said).toBe("'***' and '***' and (***)");
  });

  test("secrets are the hidden leaves as text, without null, booleans and very short values", () => {
    const secrets = mask.secretsOf({
      payload: { person: { a: "ada", b: 1815, c: true, d: null, e: "xy", f: [["deep"]] }, g: "no" },
    });
    expect(secrets.toSorted()).toEqual(["1815", "ada", "deep"]);
  });

  test("nothing remains of overlapping secrets", () => {
    expect(mask.text("<abcd>", ["abc", "bcd"])).toBe("<***>");
    expect(mask.text("<abcabcd>", ["abc", "abcd"])).toBe("<******>");
    expect(mask.text("<aaaaa>", ["aaa"])).toBe("<***>");
  });

  test("half a character in a secret does not break masking", () => {
    expect(mask.text("x\ud800yz!", ["x\ud800yz"])).toBe("***!");
  });

  test("no secret survives in any message that quotes it", () => {
    const secret = fc.string({ unit: "grapheme", minLength: 3 }).filter((s) => !s.includes("*"));
    fc.assert(
      fc.property(
        fc.array(secret, { minLength: 1 }),
        fc.array(fc.oneof(fc.string(), fc.nat()), { minLength: 1 }),
        (secrets, pieces) => {
          const message = pieces
            .map((piece) => (typeof piece === "number" ? secrets[piece % secrets.length] : piece))
            .join("");
          const shown = mask.text(`${message} ${JSON.stringify(message)}`, secrets);
          for (const each of secrets) expect(shown).not.toContain(each);
        },
      ),
    );
  });
});

/** Trees whose leaves are unique texts, so that every leak is detected. */
function anyTree(): fc.Arbitrary<JsonValue> {
  const name = fc.oneof(
    fc.constantFrom("a", "b", "a.b", "*", "\\", "**", "__proto__", "0"),
    fc.string({ minLength: 1, maxLength: 3 }),
  );
  const { tree } = fc.letrec<{ tree: JsonValue }>((tie) => ({
    tree: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constant("leaf"),
      fc.array(tie("tree"), { maxLength: 4 }),
      fc
        .array(fc.tuple(name, tie("tree")), { maxLength: 4 })
        .map((entries) => Object.fromEntries(entries) as JsonValue),
    ),
  }));
  return tree.map((json) => {
    let count = 0;
    const number = (value: JsonValue): JsonValue => {
      if (typeof value === "string") return `<leaf ${count++}>`;
      if (Array.isArray(value)) return value.map(number);
      const entries = Object.entries(value as Record<string, JsonValue>);
      return Object.fromEntries(entries.map(([key, each]) => [key, number(each)]));
    };
    return number(json);
  });
}

function leavesOf(json: JsonValue): string[] {
  if (typeof json === "string") return [json];
  return Object.values(json as Record<string, JsonValue>).flatMap(leavesOf);
}

function leavesBelow(json: JsonValue, wanted: string): string[] {
  if (typeof json === "string") return [];
  return Object.entries(json as Record<string, JsonValue>).flatMap(([name, value]) =>
    name === wanted ? leavesOf(value) : leavesBelow(value, wanted),
  );
}

/** A walk down the tree as a path, each name literal or as an asterisk, and what it hides. */
function choosePath(
  json: JsonValue,
  choices: Iterator<number>,
): { path: string; leaves: string[] } {
  const next = () => choices.next().value as number;
  const segments: string[] = [];
  let reached: JsonValue[] = [json];
  do {
    const members = reached.flatMap((value) =>
      typeof value === "string" ? [] : Object.entries(value as Record<string, JsonValue>),
    );
    const chosen = members[next() % Math.max(1, members.length)];
    if (chosen === undefined) break;
    const wild = next() % 3 === 0;
    segments.push(wild ? "*" : chosen[0].replace(/[\\.*]/g, "\\$&"));
    reached = members.filter(([name]) => wild || name === chosen[0]).map(([, value]) => value);
  } while (next() % 4 !== 0);
  if (segments.length === 0) return { path: "nothing", leaves: [] };
  return { path: segments.join("."), leaves: reached.flatMap(leavesOf) };
}
