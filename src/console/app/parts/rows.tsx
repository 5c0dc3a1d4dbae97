// Rows: a table that becomes a list of cards on a narrow screen.

import type { ComponentChildren } from "preact";

export interface RowColumn<Item> {
  readonly label: string;
  readonly cell: (item: Item) => ComponentChildren;
  readonly kind?: "number" | "tight" | "small";
}

export interface RowsProps<Item> {
  readonly label: string;
  readonly columns: readonly RowColumn<Item>[];
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string | number;
}

export function Rows<Item>({ label, columns, items, keyOf }: RowsProps<Item>) {
  return (
    <table class="rows" aria-label={label}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.label} scope="col" class={column.kind ?? ""}>
              {column.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={keyOf(item)}>
            {columns.map((column) => (
              <td key={column.label} class={column.kind ?? ""} data-label={column.label}>
                <div>{column.cell(item)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
