// The index that finds notes by scope and kind, in the order of their names. Only notes have its
// two attributes, so records and objects are not in it and cost nothing. It contains keys only, so
// a note pays for it when it is created and not when it changes.

import type {
  AttributeDefinition,
  GlobalSecondaryIndex,
  UpdateTableCommandInput,
} from "@aws-sdk/client-dynamodb";

export const NOTE_INDEX = "notes";

export const noteAttributes: AttributeDefinition[] = [
  { AttributeName: "np", AttributeType: "S" },
  { AttributeName: "nm", AttributeType: "S" },
];

export const noteIndex: GlobalSecondaryIndex = {
  IndexName: NOTE_INDEX,
  KeySchema: [
    { AttributeName: "np", KeyType: "HASH" },
    { AttributeName: "nm", KeyType: "RANGE" },
  ],
  Projection: { ProjectionType: "KEYS_ONLY" },
};

export function dynamoLedger0002(table: string): UpdateTableCommandInput {
  return {
    TableName: table,
    AttributeDefinitions: noteAttributes,
    GlobalSecondaryIndexUpdates: [{ Create: noteIndex }],
  };
}
