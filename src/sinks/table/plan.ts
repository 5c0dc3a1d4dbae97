// Plan: turns the effects of one record into statements (core/sink-write.ts).
//   P1. An object's event begins with its registration, and all else depends on it.
//   P2. Rows that an object no longer has are swept before its new rows are claimed.
//   P3. Rows that are added to a version have its rank, and nothing is swept.
//   P4. Statements of the handler run last, so that they see its rows.

import { sequencerOrder } from "../../core/events/sequencer.ts";
import { SINK_FENCE, type SinkWrite } from "../../core/sink-write.ts";
import { sqlWrite } from "../../core/sql-statement.ts";
import type { TableSinkSpec } from "../../core/table-spec.ts";
import type { Effect, EffectOrigin } from "../../ports/sink.ts";
import type { Dialect } from "./databases/dialect.ts";
import { rankTie } from "./rank-tie.ts";
import { columnMarks, RowDigest, type RowTexts, rowTextsOf, storedDigest } from "./row-digest.ts";
import { gatherRows, type PlannedRow, sortedRows } from "./rows.ts";
import type { TableShape } from "./shape.ts";
import { listBindings, listSource, oneBindings, oneSource } from "./sources.ts";
import {
  claimTemplate,
  combinedTemplate,
  electTemplates,
  eraseTemplate,
  joinTemplate,
  openTemplate,
  ownedTemplate,
  putTemplate,
  type RowSource,
  registerTemplate,
  settledTemplate,
  sweepTemplates,
  type WriterKind,
} from "./statements.ts";
import { type Bindings, bind, compile, type Template } from "./template.ts";

export type Plan = (effects: readonly Effect[], origin: EffectOrigin) => readonly SinkWrite[];

export interface TablePlans {
  readonly shapes: ReadonlyMap<string, TableShape>;
  readonly plan: Plan;
  /** How the rows of each table are digested; null if they are not. */
  readonly digests: ReadonlyMap<string, RowTexts | null>;
  /** The statements of one table, with rows from any source. */
  readonly writesOf: (
    table: string,
    statements: TableStatements,
    rows: RowFacts,
    origin: EffectOrigin,
  ) => readonly SinkWrite[];
}

/** What a plan must know about the rows of a source. */
export interface RowFacts {
  readonly any: boolean;
  readonly deletes: boolean;
  /** Null if they are not known (D4 of row-digest.ts). */
  readonly digest: { readonly rows: number; readonly hex: string } | null;
  readonly bindings: Bindings;
}

interface Step {
  readonly template: Template;
  /** Steps that run if it returns a row. */
  readonly ifRows: readonly Step[];
  /** A faster statement to try first. */
  readonly plain?: Template;
}

/** The compiled statements of a table for one kind of writer and one kind of source. */
export interface TableStatements {
  readonly sweep: readonly Template[];
  /** Claim, put and erase; the last one returns a row if keys are open. */
  readonly write: readonly Step[];
  readonly writeWithDeletes: readonly Step[];
  readonly open: Template;
  readonly elect: readonly Template[];
}

export function compileStatements(
  dialect: Dialect,
  shape: TableShape,
  source: RowSource,
  writer: WriterKind,
  size: "small" | "large",
): TableStatements {
  const parts = { dialect, shape, source, writer };
  const all = (texts: readonly string[]) => texts.map((text) => compile(dialect, text));
  const step = (text: string, ...ifRows: Step[]): Step => {
    return { template: compile(dialect, text), ifRows };
  };
  const open = openTemplate(shape, dialect);
  const combined = size === "small" && dialect.name === "postgres";
  const triesPlain = size === "large" && dialect.name === "postgres";
  const orPlain = (normal: Step, plain: string): Step =>
    triesPlain ? { ...normal, plain: compile(dialect, plain) } : normal;
  // A large record looks once whether keys are open, instead of once per row.
  const puts =
    size === "large" && writer === "object"
      ? [
          step(
            settledTemplate(shape, dialect),
            orPlain(step(putTemplate(parts, "all")), putTemplate(parts, "plain")),
          ),
          step(open, step(putTemplate(parts, "settled"))),
        ]
      : [step(putTemplate(parts, "settled"))];
  const claim = orPlain(step(claimTemplate(parts)), claimTemplate(parts, { plain: true }));
  const erase = step(eraseTemplate(parts));
  const write = combined ? [step(combinedTemplate(parts))] : [claim, ...puts, step(open)];
  return {
    sweep: writer === "object" ? all(sweepTemplates(parts)) : [],
    write,
    writeWithDeletes: combined ? write : [claim, ...puts, erase, step(open)],
    open: compile(dialect, open),
    elect: all(electTemplates(parts)),
  };
}

export function createPlans(
  sink: TableSinkSpec,
  dialect: Dialect,
  shapes: ReadonlyMap<string, TableShape>,
): TablePlans {
  const writesOf = createTableWrites(sink, dialect, shapes);
  const digests = new Map(
    [...shapes].map(([table, shape]) => [table, rowTextsOf(dialect, shape)] as const),
  );
  const cached = new Map<string, TableStatements>();
  const statementsOf = (shape: TableShape, writer: WriterKind, source: "one" | "list") => {
    const name = `${writer} ${source} ${shape.name}`;
    const existing = cached.get(name);
    if (existing !== undefined) return existing;
    const from = source === "one" ? oneSource(shape) : listSource(dialect, shape);
    const statements = compileStatements(dialect, shape, from, writer, "small");
    cached.set(name, statements);
    return statements;
  };
  const plan: Plan = (effects, origin) => {
    const rows = gatherRows(shapes, effects);
    const writer = origin.object === null ? "message" : "object";
    const statements = effects.flatMap((effect) =>
      effect.kind === "sql" ? [sqlWrite(effect, dialect.name)] : [],
    );
    const tableWrites = [...shapes].flatMap(([table, shape]) => {
      const list = sortedRows(rows.get(table));
      const kind = dialect.name === "sqlite" && list.length === 1 ? "one" : "list";
      const compiled = statementsOf(shape, writer, kind);
      const texts = digests.get(table) ?? null;
      const digest = origin.object === null ? null : digestOfRows(texts, list);
      return writesOf(table, compiled, { ...factsOf(dialect, kind, list), digest }, origin);
    });
    return [...tableWrites, ...statements]; // P4
  };
  return { shapes, plan, writesOf, digests };
}

function digestOfRows(texts: RowTexts | null, rows: readonly PlannedRow[]): RowDigest | null {
  if (texts === null) return null;
  const digest = new RowDigest();
  for (const row of rows) digest.add(texts.planned(row));
  return digest;
}

function factsOf(
  dialect: Dialect,
  kind: "one" | "list",
  rows: readonly PlannedRow[],
): Omit<RowFacts, "digest"> {
  const [first] = rows;
  const bindings =
    kind === "one" && first !== undefined ? oneBindings(first) : listBindings(dialect, rows);
  return { any: rows.length > 0, deletes: rows.some(({ deleted }) => deleted), bindings };
}

/** The statements of the register. */
interface Registers {
  readonly replace: Template;
  readonly mix: Template;
  readonly join: Template;
  readonly owned: Template;
  /** The marks of the table's columns, for digests. */
  readonly columns: readonly string[];
}

function createTableWrites(
  sink: TableSinkSpec,
  dialect: Dialect,
  shapes: ReadonlyMap<string, TableShape>,
): TablePlans["writesOf"] {
  const registers = new Map<string, Registers>();
  for (const [table, shape] of shapes) {
    registers.set(table, {
      replace: compile(dialect, registerTemplate(table, true)),
      mix: compile(dialect, registerTemplate(table, false)),
      join: compile(dialect, joinTemplate(table)),
      owned: compile(dialect, ownedTemplate(shape)),
      columns: columnMarks(shape),
    });
  }
  return (table, statements, rows, origin) => {
    const { object, eventTime } = origin;
    const key = object?.addsTo ?? origin.key; // P3
    const stamp: Bindings = { time: eventTime, tie: rankTie(key), fence: SINK_FENCE };
    const bindings: Bindings = { ...rows.bindings, ...stamp, key };
    if (object === null) return rows.any ? rowWrites(statements, rows, bindings) : [];
    const common = registers.get(table);
    if (common === undefined) return [];
    const name = `s3://${object.bucket}/${object.key}`;
    const sequencer = sequencerOrder(object.sequencer ?? "");
    const { digest } = rows;
    const digested = {
      row_count: digest?.rows ?? null,
      row_digest: digest && storedDigest(digest.hex, common.columns, key),
    };
    const all: Bindings = { ...bindings, ...digested, object: name, sequencer };
    if (object.addsTo !== undefined) {
      return rows.any ? [bind(common.join, all, { ifRows: rowWrites(statements, rows, all) })] : [];
    }
    const sweeps = object.removed || sink.onReplaced === "delete";
    const sweep = statements.sweep.map((template) => bind(template, all));
    const ifRows = [
      ...(sweeps ? [bind(common.owned, all, { ifRows: sweep })] : []), // P2
      ...(rows.any ? rowWrites(statements, rows, all) : []),
      ...(sweeps && !rows.any
        ? [bind(statements.open, all, { ifRows: electWrites(statements, all) })]
        : []),
    ];
    return [bind(sweeps ? common.replace : common.mix, all, { ifRows })]; // P1
  };
}

function electWrites(statements: TableStatements, bindings: Bindings): SinkWrite[] {
  return statements.elect.map((template) => bind(template, bindings));
}

function rowWrites(statements: TableStatements, rows: RowFacts, bindings: Bindings): SinkWrite[] {
  const steps = rows.deletes ? statements.writeWithDeletes : statements.write;
  const last = steps.length - 1;
  const bindStep = ({ template, ifRows, plain }: Step): SinkWrite => {
    if (plain !== undefined) {
      return bind(plain, bindings, { ifConflict: [bind(template, bindings)] });
    }
    return ifRows.length === 0
      ? bind(template, bindings)
      : bind(template, bindings, { ifRows: ifRows.map(bindStep) });
  };
  return steps.map((step, at) =>
    at < last
      ? bindStep(step)
      : bind(step.template, bindings, { ifRows: electWrites(statements, bindings) }),
  );
}
