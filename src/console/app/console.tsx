// Console: the frame around every view: navigation, the chosen pipeline, and whether data is live.
//   C1. The frame reads the session once and the flow all the time; views read the rest.
//   C2. After a change of view, the keyboard continues at its start.

import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ApiSchema } from "../api/api-schema.ts";
import { queryText, type Route, scopeOfRoute, useRoute } from "./data/route.ts";
import { type ConsoleSession, SessionContext } from "./data/session.ts";
import { type Loaded, useLoad } from "./data/use-load.ts";
import { LoadError, Waiting } from "./parts/notices.tsx";
import { ConsoleBar } from "./shell/console-bar.tsx";
import { Navigation } from "./shell/navigation.tsx";
import { TokenForm } from "./shell/token-form.tsx";
import { ViewOf } from "./shell/view-of.tsx";

const SESSION_MS = 30_000;
const FLOW_MS_MIN = 1_000;

export function renderConsole(root: HTMLElement): void {
  render(<Console />, root);
}

function Console() {
  const route = useRoute();
  const session = useLoad<ApiSchema["Session"]>("/session", SESSION_MS);
  const scope = scopeOfRoute(route);
  const flowMs = Math.max(FLOW_MS_MIN, session.data?.pollMs ?? FLOW_MS_MIN);
  const flowPath = session.data === null ? null : `/flow${queryText(scope)}`;
  const flow = useLoad<ApiSchema["Flow"]>(flowPath, flowMs); // C1
  const view: ConsoleSession | null =
    session.data === null
      ? null
      : { session: session.data, flow: flow.data, route, scope, now: serverTime(session, flow) };
  const main = useRef<HTMLElement>(null);
  const name = route.path.join("/");
  useEffect(() => {
    if (name !== "") main.current?.focus({ preventScroll: true }); // C2
    document.title = `${titleOf(route)} · Tidegate`;
  }, [name, route]);
  return (
    <SessionContext.Provider value={view}>
      <div class="shell">
        <button type="button" class="skip" onClick={() => main.current?.focus()}>
          Skip to content
        </button>
        <ConsoleBar session={session} flow={flow} />
        <Navigation route={route} session={session.data} flow={flow.data} />
        <main class="main" id="main" ref={main} tabIndex={-1}>
          {session.error?.status === 401 ? (
            <TokenForm onToken={session.reload} />
          ) : view === null ? (
            <Start session={session} />
          ) : (
            <ViewOf route={route} flow={flow} />
          )}
        </main>
      </div>
    </SessionContext.Provider>
  );
}

function Start({ session }: { readonly session: Loaded<ApiSchema["Session"]> }) {
  return session.error === null ? (
    <Waiting rows={8} />
  ) : (
    <LoadError loaded={session} what="Console" />
  );
}

/** The server's time: that of its latest answer, plus the time since. */
function serverTime(
  session: Loaded<ApiSchema["Session"]>,
  flow: Loaded<ApiSchema["Flow"]>,
): number {
  const latest = flow.data?.at ?? session.data?.now ?? 0;
  const loadedAt = flow.data === null ? session.loadedAt : flow.loadedAt;
  return latest + Math.max(0, Date.now() - (loadedAt ?? Date.now()));
}

function titleOf({ path }: Route): string {
  const [view = "flow", ...rest] = path;
  const words = view.replaceAll("-", " ");
  return [words.charAt(0).toUpperCase() + words.slice(1), ...rest].join(" ");
}
