// Result: the return value of everything that can be refused. Both sides have the same
// discriminator, so a caller narrows with `if (!result.ok) return result`.
//   A check that computes nothing returns `Refusal<F> | null`. A hot path may return a bare string
//   or a refusal, to save the wrapper.

export interface Success<T> {
  readonly ok: true;
  readonly value: T;
}

export interface Refusal<F> {
  readonly ok: false;
  readonly fault: F;
}

export type Result<T, F> = Success<T> | Refusal<F>;

export function succeed<T>(value: T): Success<T> {
  return { ok: true, value };
}

export function refuseWith<F>(fault: F): Refusal<F> {
  return { ok: false, fault };
}
