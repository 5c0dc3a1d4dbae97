// `tidegate/dead-letters`: dead letters listed, redriven and dropped by a program.

export { TidegateError } from "../core/errors.ts";
export type {
  DeadLetterEntry as DeadLetter,
  DeadLetterSelection as DeadLetterFilter,
  DropRequest as DropOptions,
  DropSummary,
  RedriveRequest as RedriveOptions,
} from "../ingest/dead-letters/dead-letter-access.ts";
export type { Dossier } from "../ingest/dead-letters/dossier.ts";
export type { DropEvent } from "../ingest/dead-letters/drop-dead-letters.ts";
export type { RedriveEvent, RedriveSummary } from "../ingest/dead-letters/redrive-events.ts";
export {
  type OpenDeadLettersOptions,
  type OpenedDeadLetters as DeadLetters,
  openDeadLetters,
} from "../run/dead-letters/open-dead-letters.ts";
