// Close all: the end of what an audit opened, last opened first.
//   C1. Every closer runs, also after one that fails. The first failure is thrown afterwards.

export async function closeAll(closers: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers.toReversed()) {
    try {
      await close();
    } catch (error) {
      failures.push(error); // C1
    }
  }
  if (failures.length > 0) throw failures[0];
}
