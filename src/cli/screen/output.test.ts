import { expect, test } from "vitest";
import { createOutput, describeFailure } from "./output.ts";

function setUp() {
  const printed = { out: "", err: "" };
  const streamOf = (name: keyof typeof printed) => ({
    write(text: string) {
      printed[name] += text;
    },
  });
  return { out: createOutput(streamOf("out"), streamOf("err")), printed };
}

test("results and notes reach the terminal without codes that it obeys (O1)", () => {
  const { out, printed } = setUp();
  out.line("s3://b/\u001b]0;title\u0007.csv");
  out.note(describeFailure(new Error("no \u202esv.exe\nhint")).split("\n    at")[0] ?? "");
  expect(printed).toEqual({
    out: "s3://b/\\u001b]0;title\\u0007.csv\n",
    err: "Error: no \\u202esv.exe\nhint\n",
  });
});

test("a result is one line, and JSON stays JSON (O2)", () => {
  const { out, printed } = setUp();
  const value = { key: "a\nb\u009b\u2066" };
  out.line(JSON.stringify(value));
  expect(JSON.parse(printed.out)).toEqual(value);
  printed.out = "";
  out.line("a\nforged line");
  expect(printed.out).toBe("a\\u000aforged line\n");
});
