// Proof tables: the sink of a proof. It behaves like tables() and function sinks, in memory, and
// renders the final state as one text.
//   T1. Rows of an object replace those of its previous version, as in tables().
//   T2. Emitted effects are stored per record; a record that is applied again replaces its own.

import { canonicalJson, type JsonValue } from "../../core/encoding/canonical-json.ts";
import type { SinkWrite } from "../../core/sink-write.ts";
import type { TableSinkSpec } from "../../core/table-spec.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { Effect, EffectOrigin, IdempotentSink, TransactionalSink } from "../../ports/sink.ts";

interface StoredRow {
  readonly owner: string;
  readonly row: JsonValue;
}

export class ProofTables {
  readonly #spec: TableSinkSpec | null;
  readonly #rows = new Map<string, Map<string, StoredRow>>();
  readonly #emitted = new Map<string, JsonValue[]>();
  readonly #fences = new Map<string, number>();

  constructor(sink: Pipeline["sink"]) {
    this.#spec = typeof sink === "object" ? sink : null;
  }

  /** The sink whose writes are part of the ledger's transaction. */
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

  /** A sink outside the ledger: effects may be applied again, and the higher fence wins. */
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

  /** All rows and emitted effects in a fixed order, for comparison. */
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
        for (const [at, stored] of rows) if (stored.owner === owner) rows.delete(at); // T1
      }
    }
    const values: JsonValue[] = [];
    for (const effect of effects) {
      if (effect.kind === "custom") values.push(effect.value as JsonValue);
      else if (effect.kind === "sql") values.push({ ...effect } as unknown as JsonValue);
      else if (effect.kind === "delete") this.#tableOf(effect.table).delete(this.#keyOf(effect));
      else
        this.#tableOf(effect.table).set(this.#keyOf(effect), {
          owner,
          row: { ...effect.row } as JsonValue,
        });
    }
    if (values.length > 0) this.#emitted.set(key, values); // T2
  }

  #tableOf(name: string): Map<string, StoredRow> {
    const rows = this.#rows.get(name) ?? new Map<string, StoredRow>();
    this.#rows.set(name, rows);
    return rows;
  }

  #keyOf(effect: Exclude<Effect, { kind: "custom" | "sql" }>): string {
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

/** Effects as JSON, so that they can be compared; others are compared by their text. */
function plainEffects(effects: readonly Effect[]): Effect[] {
  return effects.map((effect) => {
    try {
      return JSON.parse(JSON.stringify(effect)) as Effect;
    } catch {
      return { kind: "custom", value: String((effect as { value?: unknown }).value) };
    }
  });
}
