// Types of audits in `tidegate/run`. The compiler checks them (`npm run types`).

import { pipeline } from "tidegate";
import {
  type AuditCall,
  type AuditLine,
  type AuditStatus,
  audit,
  type Statement,
  signStatement,
} from "tidegate/run";
import { expectTypeOf, test } from "vitest";

const files = pipeline({ name: "files", source: { bucket: "files" }, handler: () => {} });

test("an audit takes a pipeline, settings and a window, and returns a statement", () => {
  expectTypeOf(audit).parameter(0).toEqualTypeOf(files);
  expectTypeOf(audit).returns.resolves.toEqualTypeOf<Statement>();
  const call: AuditCall = { from: 0, prefix: "in/", suffix: ".csv", onLine: () => {} };
  expectTypeOf(call.onLine).toEqualTypeOf<((line: AuditLine) => void) | undefined>();
  expectTypeOf<Statement["verdict"]>().toEqualTypeOf<"complete" | "incomplete" | "undecided">();
  expectTypeOf<Statement["counts"]>().toExtend<Readonly<Record<AuditStatus, number>>>();
  expectTypeOf(signStatement).returns.toEqualTypeOf<Statement>();
});

test("an unknown option of an audit is a type error", () => {
  // @ts-expect-error The option is called graceMs.
  const call: AuditCall = { grace: 5 };
  void call;
});
