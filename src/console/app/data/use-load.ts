// Use load: reads a path of the API for a component, and reads it again in an interval.
//   L1. While a path is read again, its previous data stays on the page: nothing flickers or moves.
//   L2. A failed read keeps the previous data and adds the error. The next interval tries again.
//   L3. Data of another path is never shown: a changed path starts empty.
//   L4. A hidden page sends no requests. It reads at once when it becomes visible.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, callApi } from "./api-client.ts";

export interface Loaded<T> {
  readonly data: T | null;
  readonly error: ApiError | null;
  /** When `data` arrived, by the browser's clock. */
  readonly loadedAt: number | null;
  reload(): void;
}

interface Snapshot<T> {
  readonly path: string | null;
  readonly data: T | null;
  readonly error: ApiError | null;
  readonly loadedAt: number | null;
}

/** How often live views read their data. */
export const LIVE_MS = 2_000;

const nothing = (path: string | null) => ({ path, data: null, error: null, loadedAt: null });

/** Reads `path` now and every `everyMs`; null reads nothing. */
export function useLoad<T>(path: string | null, everyMs?: number): Loaded<T> {
  const [snapshot, setSnapshot] = useState<Snapshot<T>>(() => nothing(path));
  const readNow = useRef<() => void>(() => {});
  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async () => {
      clearTimeout(timer);
      const next = await readOnce<T>(path, stop.signal);
      if (stop.signal.aborted) return;
      setSnapshot((previous) => {
        const data = next.data ?? (previous.path === path ? previous.data : null); // L2, L3
        const loadedAt = next.loadedAt ?? (previous.path === path ? previous.loadedAt : null);
        return { path, data, error: next.error, loadedAt };
      });
      if (everyMs !== undefined && !document.hidden) timer = setTimeout(read, everyMs); // L4
    };
    const onVisible = () => {
      if (!document.hidden && everyMs !== undefined) void read();
    };
    readNow.current = () => void read();
    document.addEventListener("visibilitychange", onVisible);
    void read();
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [path, everyMs]);
  const reload = useCallback(() => readNow.current(), []);
  const { data, error, loadedAt } = snapshot.path === path ? snapshot : nothing(path);
  return { data, error, loadedAt, reload };
}

async function readOnce<T>(path: string, signal: AbortSignal): Promise<Omit<Snapshot<T>, "path">> {
  try {
    return { data: await callApi<T>(path, { signal }), error: null, loadedAt: Date.now() };
  } catch (cause) {
    const error =
      cause instanceof ApiError
        ? cause
        : new ApiError(0, "unknown", String((cause as Error).message));
    return { data: null, error, loadedAt: null };
  }
}
