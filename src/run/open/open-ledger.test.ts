import { describe, expect, test } from "vitest";
import { parseLedgerUrl } from "./open-ledger.ts";

describe("a ledger's URL", () => {
  test("names the store and where it is", () => {
    expect(parseLedgerUrl("memory:")).toEqual({ store: "memory" });
    expect(parseLedgerUrl("sqlite:./a b.db")).toEqual({ store: "sqlite", path: "./a b.db" });
    expect(parseLedgerUrl("sqlite:/var/x.db")).toEqual({ store: "sqlite", path: "/var/x.db" });
    const url = "postgres://u:p@h:5432/d?sslmode=require";
    expect(parseLedgerUrl(url)).toEqual({ store: "postgres", url });
    expect(
      parseLedgerUrl("dynamodb://my-table?region=eu-west-1&endpoint=http://127.0.0.1:8000"),
    ).toEqual({
      store: "dynamodb",
      table: "my-table",
      region: "eu-west-1",
      endpoint: "http://127.0.0.1:8000",
    });
    expect(parseLedgerUrl("dynamodb://my-table")).toEqual({ store: "dynamodb", table: "my-table" });
  });

  test.each([
    ["", "is of no known store"],
    ["mysql://h/d", "is of no known store"],
    ["memory", "is of no known store"],
    ["sqlite:", "names no file"],
    ["sqlite://x.db", "names no file"],
    ["postgres://h:5432", "names no database"],
    ["postgres://h:port/d", "is no URL"],
    ["dynamodb://", "names no table"],
    ["dynamodb://a b", "names no table"],
    ["dynamodb://table?regoin=x", "has the unknown parameter regoin"],
    ["dynamodb://table?endpoint=127.0.0.1", "has no http(s) endpoint"],
  ])("%j is refused with what is accepted", (url, why) => {
    expect(() => parseLedgerUrl(url)).toThrow(
      expect.objectContaining({
        code: "TG_CONFIG_INVALID",
        message: expect.stringMatching(/accepted are sqlite:path, postgres:.*, or memory:$/),
      }),
    );
    expect(() => parseLedgerUrl(url)).toThrow(why);
  });

  test("does not spill its password when refused", () => {
    expect(() => parseLedgerUrl("mysql://me:secret@h/d")).toThrow(/me:\*\*\*@h/);
  });
});
