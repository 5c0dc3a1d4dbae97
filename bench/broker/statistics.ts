// Statistics of a few samples that tolerate a noisy machine.

/** The median of the samples, or NaN if the list is empty. */
export const median = (samples: readonly number[]): number => percentile(samples, 50);

/** The smallest sample that at least `percent` of all samples do not exceed. */
export function percentile(samples: readonly number[], percent: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const index = Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1);
  return sorted[index] ?? Number.NaN;
}
