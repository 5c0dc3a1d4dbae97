// Markdown table: reads the tables of our pages, so that tests can hold them against the code.

/** The rows of the first table whose first heading is `heading`; cells are trimmed. */
export function rowsOf(page: string, heading: string): string[][] {
  const lines = page.split("\n");
  const start = lines.findIndex((line) => cellsOf(line)[0] === heading);
  if (start < 0) throw new Error(`the page has no table that begins with "${heading}"`);
  const rows: string[][] = [];
  for (const line of lines.slice(start + 2)) {
    if (!line.startsWith("|")) break;
    rows.push(cellsOf(line));
  }
  return rows;
}

function cellsOf(line: string): string[] {
  const cells = line.replace(/^\||\|$/g, "").split(/(?<!\\)\|/);
  return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
}
