// Call: what an action sees of the request it answers, and what an action is.

import type { Refusal, Result } from "../../../core/result.ts";
import type { HttpRequest } from "../../../ports/http.ts";
import type { Broker } from "../../engine/broker.ts";
import type { Fault } from "../../model/fault.ts";
import type { StructureShape } from "./shape.ts";
import { compileCheck, type ShapeCheck } from "./shape-check.ts";

/** What stays the same from request to request. */
export interface ServerContext {
  readonly broker: Broker;
  /** SenderId of every message: no credentials are known yet. */
  readonly senderId: string;
  /** Host of queue URLs for a caller whose Host header is missing or empty. */
  readonly hostFallback: string;
  /** Hears of every failure that is not the client's. */
  readonly onError: (error: unknown, requestId: string) => void;
}

export interface RequestCall {
  readonly server: ServerContext;
  readonly request: HttpRequest;
  readonly protocol: "json" | "query";
}

export type RefusedAction = Refusal<Fault>;

export type ActionAnswer<O> = Result<O, Fault> | Promise<Result<O, Fault>>;

/** One action of a service, as both protocols run it. */
export interface Action {
  readonly name: string;
  readonly input: StructureShape;
  /** Null: it answers nothing but that it was done. */
  readonly output: StructureShape | null;
  readonly check: ShapeCheck;
  run(call: RequestCall, input: object): ActionAnswer<object | null>;
  /** Writes the JSON answer, where that is worth doing by hand. */
  writeJson(output: object): string;
}

interface ActionDefinition<I, O> {
  readonly name: string;
  readonly input: StructureShape<I>;
  readonly output: StructureShape<O> | null;
  run(call: RequestCall, input: NoInfer<I>): ActionAnswer<NoInfer<O>>;
  writeJson?(output: NoInfer<O>): string;
}

/** Ties an action's code to the shapes of what it takes and gives. */
export function action<I, O = null>(definition: ActionDefinition<I, O>): Action {
  // The protocols hand `run` only what passed `check`, so the types are forgotten here, once.
  const typed = definition as unknown as Pick<Action, "run"> & Partial<Pick<Action, "writeJson">>;
  return {
    name: definition.name,
    input: definition.input,
    output: definition.output,
    check: compileCheck(definition.input),
    run: typed.run,
    writeJson: typed.writeJson ?? JSON.stringify,
  };
}
