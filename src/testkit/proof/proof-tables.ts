// Proof tables: the sink of a proof. It does what tables() and sinks of one's own do, in memory,
// and can say in one text what everything has come to.
//   T1. Rows of an object take the place of those that came of its former state, as in tables().
//   T2. What was emitted is kept per record; a record that is told again replaces its own.

import { canonicalJson, type JsonValue } from "../../core/encoding/canonical-json.ts";
import type { SinkWrite } from "../../core/sink-write.ts";
import type { TableSinkSpec } from "../../core/table-spec.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { Effect, EffectOrigin, IdempotentSink, TransactionalSink } from "../../ports/sink.ts";

interface KeptRow {
  readonly owner: string;
  readonly row: JsonValue;
}

export class ProofTables {
  readonly #spec: TableSinkSpec | null;
  readonly #rows = new Map<string, Map<string, KeptRow>>();
  readonly #emitted = new Map<string, JsonValue[]>();
  readonly #fences = new Map<string, number>();

  constructor(sink: Pipeline["sink"]) {
    this.#spec = typeof sink === "object" ? sink : null;
  }

  /** The sink that the ledger's own transaction carries. */
  transactional(): TransactionalSink {
    return {
      mode: "transactional",
      dialect: "sqlite",
      prepare: async () => {},
      plan: (effects, origin) => [writeOf(effects, origin)],
      close: async () => {},
    };
  }

  /** Carries out what `transactional` planned. */
  run(writes: readonly SinkWrite[]): void {
    for (const { statement } of writes) {
      const { effects, origin } = JSON.parse(statement) as Planned;
      this.#apply(effects, origin);
    }
  }

  /** A sink outside the ledger: it may be told again, and the later one wins. */
  idempotent(): IdempotentSink {
    return {
      mode: "idempotent",
      prepare: async () => {},
      apply: async (effects, origin) => {
        if (origin.fence < (this.#fences.get(origin.key) ?? 0)) return;
        this.#fences.set(origin.key, origin.fence);
        this.#apply(plainEffects(effects), origin);
      },
      close: async () => {},
    };
  }

  /** Everything, in one order, to be compared. */
  snapshot(): string {
    const tables = [...this.#rows].map(([name, rows]): [string, JsonValue] => {
      const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { row }]) => row);
      return [name, sorted];
    });
    const emitted = [...this.#emitted].sort(([a], [b]) => (a < b ? -1 : 1));
    return canonicalJson({
      tables: Object.fromEntries(tables),
      emitted: emitted.map(([key, values]) => ({ key, values })),
    });
  }

  #apply(effects: readonly Effect[], { key, object }: EffectOrigin): void {
    const owner = object === null ? key : JSON.stringify([object.bucket, object.key]);
    if (object !== null && this.#spec !== null && this.#spec.onReplaced === "delete") {
      for (const rows of this.#rows.values()) {
        for (const [at, kept] of rows) if (kept.owner === owner) rows.delete(at); // T1
      }
    }
    const values: JsonValue[] = [];
    for (const effect of effects) {
      if (effect.kind === "custom") values.push(effect.value as JsonValue);
      else if (effect.kind === "delete") this.#tableOf(effect.table).delete(this.#keyOf(effect));
      else this.#tableOf(effect.table).set(this.#keyOf(effect), { owner, row: { ...effect.row } });
    }
    if (values.length > 0) this.#emitted.set(key, values); // T2
  }

  #tableOf(name: string): Map<string, KeptRow> {
    const rows = this.#rows.get(name) ?? new Map<string, KeptRow>();
    this.#rows.set(name, rows);
    return rows;
  }

  #keyOf(effect: Exclude<Effect, { kind: "custom" }>): string {
    const values = effect.kind === "upsert" ? effect.row : effect.key;
    const columns = this.#spec?.tables[effect.table]?.key ?? Object.keys(values);
    return JSON.stringify(columns.map((column) => values[column] ?? null));
  }
}

interface Planned {
  readonly effects: readonly Effect[];
  readonly origin: EffectOrigin;
}

function writeOf(effects: readonly Effect[], origin: EffectOrigin): SinkWrite {
  return { statement: JSON.stringify({ effects: plainEffects(effects), origin }), params: [] };
}

/** As JSON, which is all that can be compared; what is none is compared by its text. */
function plainEffects(effects: readonly Effect[]): Effect[] {
  return effects.map((effect) => {
    try {
      return JSON.parse(JSON.stringify(effect)) as Effect;
    } catch {
      return { kind: "custom", value: String((effect as { value?: unknown }).value) };
    }
  });
}
