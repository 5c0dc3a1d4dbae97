// Relation: a table or view as a database describes it.

export interface ExistingColumn {
  readonly name: string;
  /** As the database spells it. */
  readonly type: string;
  /** Position in the primary key from 1, or 0. */
  readonly keyPosition: number;
  /** Whether the database fills it in: a default, an identity or a generated value. */
  readonly filled: boolean;
  /** Whether it cannot be written. */
  readonly generated: boolean;
}

/** A table, view or other relation of a database. */
export interface Relation {
  readonly kind: "table" | "view" | "other";
  readonly columns: readonly ExistingColumn[];
  /** The columns of each unique index, without partial ones and expressions. */
  readonly unique: readonly (readonly string[])[];
}

export type Describe = (name: string) => Relation | null;
