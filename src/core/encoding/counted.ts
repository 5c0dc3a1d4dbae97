// Counted: a number with its noun, for messages.

/** "1 row", "2 rows", "0 rows"; `plural` for nouns that do not just add an s. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}
