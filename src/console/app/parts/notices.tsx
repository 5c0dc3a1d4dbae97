// Notices: what the page says when there is nothing to show, or when something is wrong.
//   N1. An empty view says what to do to fill it.
//   N2. An error names the cause and the fix, and offers to try again. Old data stays below it.

import type { ComponentChildren } from "preact";
import type { ApiError } from "../data/api-client.ts";
import { timeText } from "../data/format.ts";
import type { Loaded } from "../data/use-load.ts";
import { Icon, type IconName } from "./icons.tsx";

interface NoticeProps {
  readonly tone: "bad" | "warn" | "good" | "none";
  readonly icon?: IconName;
  readonly title: ComponentChildren;
  readonly children?: ComponentChildren;
  readonly action?: ComponentChildren;
  readonly live?: boolean;
}

export function Notice({ tone, icon, title, children, action, live = false }: NoticeProps) {
  const symbol = icon ?? (tone === "good" ? "check" : tone === "none" ? "info" : "warning");
  return (
    <div class="notice" data-tone={tone} role={live ? "status" : undefined}>
      <Icon name={symbol} />
      <div>
        <p>
          <strong>{title}</strong>
        </p>
        {children !== undefined && <div class="detail">{children}</div>}
      </div>
      <div>{action}</div>
    </div>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

/** N1 */
export function Empty({ title, children }: EmptyProps) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      <p>{children}</p>
    </div>
  );
}

/** The error of a read, if there is one (N2). */
export function LoadError<T>({ loaded, what }: { loaded: Loaded<T>; what: string }) {
  const { error, data, loadedAt, reload } = loaded;
  if (error === null) return null;
  const retry = (
    <button type="button" onClick={reload}>
      Try again
    </button>
  );
  return (
    <Notice tone="bad" title={`${what}: ${titleOf(error)}`} action={retry} live>
      <p>
        {fixOf(error)}
        {data !== null && loadedAt !== null && ` The data below is from ${timeText(loadedAt)}.`}
      </p>
    </Notice>
  );
}

function titleOf({ status, message }: ApiError): string {
  if (status === 0) return "no answer from the server";
  return message;
}

function fixOf({ status, code }: ApiError): string {
  if (status === 0) return "Check that the process still runs. The page tries again by itself.";
  if (status === 401) return "Open the console with the token that the server printed.";
  if (status === 403) return "The server refused it. Its message says which setting allows it.";
  if (status === 404) return "It does not exist, or it no longer does.";
  if (status === 501) return "Only the embedded cloud can show it.";
  return `Status ${status}, code ${code}.`;
}

/** Space for data that is not there yet, as high as the data will be. */
export function Waiting({ rows = 4 }: { readonly rows?: number }) {
  return (
    <div class="waiting" role="status">
      <span class="hidden-text">Loading</span>
      {Array.from({ length: rows }, (_, index) => (
        <span key={index} class="line" />
      ))}
    </div>
  );
}
