// Engine ports: what the engine gets from outside.

import type { StoreClockOptions } from "../../core/store-clock.ts";
import type { BrokerStore } from "../../ports/broker/broker-store.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ReplySpace } from "../../ports/http/reply-space.ts";
import type { Random } from "../../ports/random.ts";
import type { Turn } from "../../ports/turn.ts";

export interface EnginePorts {
  readonly store: BrokerStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly turn: Turn;
  /** Receives failures that belong to no request, such as those of a move task. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Default: there is always space. */
  readonly replySpace?: ReplySpace | undefined;
}

export interface EngineOptions extends StoreClockOptions {
  readonly cacheBytesMax: number;
}
