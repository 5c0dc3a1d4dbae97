// `tidegate/lambda`: a pipeline as a function for AWS Lambda.

export type {
  LambdaContext,
  LambdaHandler,
  LambdaResponse,
  PartialFailures,
} from "../adapters/lambda/lambda-handler.ts";
export {
  type LambdaLogger,
  type LambdaSettings,
  lambdaHandler,
} from "../adapters/lambda/open-lambda.ts";
export { TidegateError } from "../core/errors.ts";
