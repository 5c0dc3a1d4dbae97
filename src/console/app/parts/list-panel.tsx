// List panel: one page of a list of the API, in every state: not there yet, failed, empty, or with
// links to other pages. Pages are links, so that each has an address.

import type { ComponentChildren } from "preact";
import { linkTo, type QueryValues } from "../data/route.ts";
import { useSession } from "../data/session.ts";
import type { Loaded } from "../data/use-load.ts";
import { Panel } from "./layout.tsx";
import { LoadError, Waiting } from "./notices.tsx";
import { Rows, type RowsProps } from "./rows.tsx";

interface ListPanelProps<Answer, Item> extends Omit<RowsProps<Item>, "items"> {
  /** Default: the label of the list. */
  readonly title?: string;
  readonly note?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly loaded: Loaded<Answer>;
  readonly items: (answer: Answer) => readonly Item[];
  /** The view with the list, and its filters. */
  readonly link: readonly [path: readonly string[], query?: QueryValues];
  /** How high an answer probably is. */
  readonly waiting?: number;
  /** What the links to other pages say beside them. */
  readonly pagerNote?: string;
  /** Shown if the list is empty. */
  readonly children: ComponentChildren;
}

export function ListPanel<Answer extends { readonly next: string | null }, Item>({
  label,
  title = label,
  note,
  actions,
  loaded,
  items,
  link: [path, query],
  waiting = 6,
  pagerNote = "",
  children,
  ...table
}: ListPanelProps<Answer, Item>) {
  const cursor = useCursor();
  const { data, error } = loaded;
  const shown = data === null ? [] : items(data);
  const next = data?.next ?? null;
  return (
    <>
      <LoadError loaded={loaded} what={label} />
      <Panel title={title} note={note} actions={actions} flush>
        {data === null && error === null && <Waiting rows={waiting} />}
        {shown.length > 0 && <Rows label={label} items={shown} {...table} />}
        {data !== null && shown.length === 0 && children}
        {data !== null && (next !== null || cursor !== null) && (
          <div class="more">
            <span>{pagerNote}</span>
            <span class="actions">
              {cursor !== null && <PageLink href={linkTo(path, query)}>First page</PageLink>}
              {next !== null && (
                <PageLink href={linkTo(path, { ...query, cursor: next })}>Next page</PageLink>
              )}
            </span>
          </div>
        )}
      </Panel>
    </>
  );
}

function PageLink({ href, children }: { readonly href: string; readonly children: string }) {
  return (
    <a class="button" href={href}>
      {children}
    </a>
  );
}

/** The page of the list that the address names; null for the first. */
export function useCursor(): string | null {
  return useSession().route.query.get("cursor");
}
