// List page: one page of a list that is in memory. Its cursor is a position.

/** One page of any list. */
export interface PageRequest {
  /** `next` of the previous page; null for the first. */
  readonly cursor: string | null;
  readonly limit: number;
}

/** The items of a page, and where the next one starts; null on the last page. */
export function pageByPosition<T>(all: readonly T[], { cursor, limit }: PageRequest) {
  const from = cursor !== null && /^\d{1,9}$/.test(cursor) ? Number(cursor) : 0;
  const items = all.slice(from, from + limit);
  return { items, next: from + limit < all.length ? String(from + limit) : null };
}

/** The page of a list that is ordered by name, after the name in the cursor. */
export function pageByName<T extends { readonly name: string }>(
  all: readonly T[],
  { cursor, limit }: PageRequest,
) {
  const ordered = all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const rest = ordered.filter(({ name }) => cursor === null || name > cursor);
  const items = rest.slice(0, limit);
  return { items, next: rest.length > limit ? (items.at(-1)?.name ?? null) : null };
}
