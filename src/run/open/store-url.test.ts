import { describe, expect, test } from "vitest";
import { parseStoreUrl } from "./store-url.ts";

const parse = (url: string) => parseStoreUrl(url, "ledger");

describe("the URL of a ledger", () => {
  test("names the store and its location", () => {
    expect(parse("memory:")).toEqual({ store: "memory" });
    expect(parse("sqlite:./a b.db")).toEqual({ store: "sqlite", path: "./a b.db" });
    expect(parse("sqlite:/var/x.db")).toEqual({ store: "sqlite", path: "/var/x.db" });
    const url = "postgres://u:p@h:5432/d?sslmode=require";
    expect(parse(url)).toEqual({ store: "postgres", url });
    expect(parse("dynamodb://my-table?region=eu-west-1&endpoint=http://127.0.0.1:8000")).toEqual({
      store: "dynamodb",
      table: "my-table",
      region: "eu-west-1",
      endpoint: "http://127.0.0.1:8000",
    });
    expect(parse("dynamodb://my-table")).toEqual({ store: "dynamodb", table: "my-table" });
  });

  test.each([
    ["", "has no scheme"],
    ["mysql://h/d", 'unknown ledger URL scheme "mysql:"'],
    ["memory", "has no scheme"],
    ["sqlite:", "names no file"],
    ["sqlite://x.db", "names no file"],
    ["postgres://h:5432", "names no database"],
    ["postgres://h:port/d", "is not a URL"],
    ["dynamodb://", "names no table"],
    ["dynamodb://a b", "names no table"],
    ["dynamodb://table?regoin=x", "has the unknown parameter regoin"],
    ["dynamodb://table?endpoint=127.0.0.1", "has no http(s) endpoint"],
  ])("%j is rejected with the accepted forms", (url, reason) => {
    expect(() => parse(url)).toThrow(
      expect.objectContaining({
        code: "TG_CONFIG_INVALID",
        message: expect.stringMatching(/; use sqlite:path, postgres:.*, or memory:$/),
      }),
    );
    expect(() => parse(url)).toThrow(reason);
  });

  test("never shows its password in an error", () => {
    expect(() => parse("postgres://me:secret@h")).toThrow(/me:\*\*\*@h/);
    expect(() => parse("mysql://me:secret@h/d")).not.toThrow(/secret/);
  });

  test("an outbox has the same URLs, and errors name it", () => {
    expect(parseStoreUrl("sqlite:o.db", "outbox")).toEqual({ store: "sqlite", path: "o.db" });
    expect(() => parseStoreUrl("x:", "outbox")).toThrow('unknown outbox URL scheme "x:"; use');
  });
});
