// Layout: the pieces that every view is made of: a heading, panels, facts and figures.

import type { ComponentChildren } from "preact";

interface HeadingProps {
  readonly title: ComponentChildren;
  readonly crumbs?: readonly { readonly text: string; readonly href: string }[];
  readonly lead?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** The title of a view, with the way to it above and its actions on the right. */
export function Heading({ title, crumbs = [], lead, children }: HeadingProps) {
  return (
    <div class="heading">
      {crumbs.length > 0 && (
        <nav class="crumbs" aria-label="Path">
          {crumbs.map(({ text, href }) => (
            <span key={href}>
              <a href={href}>{text}</a> /
            </span>
          ))}
        </nav>
      )}
      <h1>{title}</h1>
      {children !== undefined && <div class="actions">{children}</div>}
      {lead !== undefined && <p class="lead">{lead}</p>}
    </div>
  );
}

interface PanelProps {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** Without padding, for tables. */
  readonly flush?: boolean;
  readonly children: ComponentChildren;
}

export function Panel({ title, note, actions, flush = false, children }: PanelProps) {
  return (
    <section class="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {note !== undefined && <span class="muted">{note}</span>}
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {flush ? children : <div class="body">{children}</div>}
    </section>
  );
}

export type FactRow = readonly [label: string, value: ComponentChildren];

/** Names and values; rows whose value is null are left out. */
export function Facts({ rows }: { readonly rows: readonly (FactRow | null)[] }) {
  return (
    <dl class="facts">
      {rows.map((row) =>
        row === null || row[1] === null ? null : (
          <>
            <dt>{row[0]}</dt>
            <dd>{row[1]}</dd>
          </>
        ),
      )}
    </dl>
  );
}

export interface Figure {
  readonly label: string;
  readonly value: string;
  /** The records behind the number. */
  readonly href?: string | undefined;
  readonly note?: ComponentChildren;
  readonly tone?: "bad" | "warn" | undefined;
  /** A time or a name instead of a number. */
  readonly isText?: boolean;
}

/** Large numbers in a row, each with a link to what it counts. */
export function Figures({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <dl class="figures" data-count={figures.length}>
      {figures.map(({ label, value, href, note, tone, isText = false }) => (
        <div key={label} class={isText ? "text" : ""}>
          <dt>{label}</dt>
          <dd class={tone ?? ""}>
            {href === undefined ? value : <a href={href}>{value}</a>}
            {note !== undefined && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export type Tone = "good" | "bad" | "warn" | "accent" | "none";

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class="badge" data-tone={tone}>
      {children}
    </span>
  );
}
