// Unread: what a check did not read. A report without findings says little about it, so every
// summary counts it.
//   N1. Whatever a collector leaves out, because it cannot or may not read it, is one entry here.

/** Why it was not read, with the words of the summary for one and for several. */
const REASONS = {
  unparsed: ["file that does not parse", "files that do not parse"],
  unreadable: ["file that cannot be read", "files that cannot be read"],
  large: ["file over the size limit", "files over the size limit"],
  limit: ["file or folder beyond a limit", "files or folders beyond a limit"],
  module: ["module outside of the project", "modules outside of the project"],
  format: ["file of a format that is not read", "files of a format that is not read"],
  unnamed: ["Terraform folder that was not named", "Terraform folders that were not named"],
  refused: ["resource that did not answer", "resources that did not answer"],
} as const;

export interface Unread {
  readonly reason: keyof typeof REASONS;
  /** One clause: what it is, and why it was not read. */
  readonly text: string;
  /** How many are meant. Default: 1. */
  readonly count?: number;
}

/** `not read: 2 files that do not parse, 1 module outside of the project`; null if all was read. */
export function unreadSummary(unread: readonly Unread[]): string | null {
  const parts = Object.entries(REASONS).flatMap(([reason, [one, several]]) => {
    const own = unread.filter((each) => each.reason === reason);
    const count = own.reduce((sum, each) => sum + (each.count ?? 1), 0);
    return count === 0 ? [] : [`${count} ${count === 1 ? one : several}`];
  });
  return parts.length === 0 ? null : `not read: ${parts.join(", ")}`;
}
