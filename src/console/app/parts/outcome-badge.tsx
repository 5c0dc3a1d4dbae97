// Outcome badge: what became of a record, in the same words and colours everywhere.

import type { ApiSchema } from "../../api/api-schema.ts";
import { Badge, type Tone } from "./layout.tsx";

const TONES: Readonly<Record<ApiSchema["Outcome"], Tone>> = {
  committed: "good",
  "dead-lettered": "bad",
  retrying: "warn",
  returned: "none",
  "in-progress": "accent",
};

export function OutcomeBadge({ outcome }: { readonly outcome: ApiSchema["Outcome"] }) {
  return (
    <Badge tone={TONES[outcome]}>
      {outcome.replace("-", outcome === "in-progress" ? " " : "-")}
    </Badge>
  );
}
