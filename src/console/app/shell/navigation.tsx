// Navigation: the views, with a count where something needs attention.

import type { ApiSchema } from "../../api/api-schema.ts";
import { countText } from "../data/format.ts";
import { linkTo, type Route } from "../data/route.ts";
import { Icon, type IconName } from "../parts/icons.tsx";

interface NavigationProps {
  readonly route: Route;
  readonly session: ApiSchema["Session"] | null;
  readonly flow: ApiSchema["Flow"] | null;
}

interface Item {
  readonly view: string;
  readonly text: string;
  readonly icon: IconName;
  /** Views of the embedded cloud; AWS does not show messages, topics and buckets this way. */
  readonly embedded?: true;
}

const ITEMS: readonly Item[] = [
  { view: "flow", text: "Flow", icon: "flow" },
  { view: "records", text: "Records", icon: "records" },
  { view: "dead-letters", text: "Dead letters", icon: "letters" },
  { view: "time", text: "Time", icon: "time" },
  { view: "queues", text: "Queues", icon: "queue" },
  { view: "topics", text: "Topics", icon: "topic", embedded: true },
  { view: "buckets", text: "Buckets", icon: "bucket", embedded: true },
  { view: "setup", text: "Setup check", icon: "check" },
];

export function Navigation({ route, session, flow }: NavigationProps) {
  const [current = "flow"] = route.path;
  const items = ITEMS.filter(({ embedded }) => !embedded || session?.embedded !== false);
  return (
    <nav class="nav" aria-label="Views">
      <ul>
        {items.map(({ view, text, icon }) => (
          <li key={view}>
            <a href={linkTo([view])} aria-current={isCurrent(view, current) ? "page" : undefined}>
              <Icon name={icon} />
              <span>{text}</span>
              <Count view={view} flow={flow} />
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Jobs, runs, replays and audits belong to the views that start or list them. */
function isCurrent(view: string, current: string): boolean {
  if (current === "jobs") return view === "dead-letters";
  if (["runs", "replays", "audits"].includes(current)) return view === "time";
  return view === current;
}

function Count({ view, flow }: { readonly view: string; readonly flow: NavigationProps["flow"] }) {
  const deadLetters = flow?.nodes.find(({ id }) => id === "dead-letters")?.metrics;
  const count = view === "flow" ? flow?.problems.length : deadLetters?.deadLetters;
  if ((view !== "flow" && view !== "dead-letters") || !count) return null;
  const more = view === "dead-letters" && deadLetters?.deadLettersMore ? "+" : "";
  return (
    <span class="count">
      {countText(count)}
      {more}
      <span class="hidden-text">{view === "flow" ? " problems" : " dead letters"}</span>
    </span>
  );
}
