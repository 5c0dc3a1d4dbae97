// Session: what every view needs to know: what the server may do, the chosen pipeline, and the
// server's time.
//   S1. Ages are computed with the server's time. The clock of the browser may be wrong.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { ApiSchema } from "../../api/api-schema.ts";
import { type QueryValues, queryText, type Route } from "./route.ts";

export interface ConsoleSession {
  readonly session: ApiSchema["Session"];
  readonly flow: ApiSchema["Flow"] | null;
  readonly route: Route;
  /** Parameters that choose the pipeline; empty for the server's default. */
  readonly scope: QueryValues;
  /** The server's time (S1). */
  readonly now: number;
}

export const SessionContext = createContext<ConsoleSession | null>(null);

/** The session, in any component below the shell. */
export function useSession(): ConsoleSession {
  const view = useContext(SessionContext);
  if (view === null) throw new Error("a view is rendered outside of the shell");
  return view;
}

/** A path of the API for the chosen pipeline. */
export function useScopedPath(path: string, query: QueryValues = {}): string {
  const { scope } = useSession();
  return `${path}${queryText({ ...scope, ...query })}`;
}

/** Why actions are not possible, or null if they are. */
export function useRefusal(): string | null {
  const { session } = useSession();
  return session.readOnly ? "The console is read-only. Start it with --allow-actions." : null;
}
