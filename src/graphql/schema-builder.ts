import SchemaBuilder from '@pothos/core';
import { type GraphQLResolveInfo, Kind } from 'graphql';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { RawParameters } from '../endpoints/parameters/read-parameter.ts';
import type { ListOptions } from './operation-budget.ts';
import type { Row, Rows, RowText } from './read-rows.ts';

/** What the fields of an operation need to answer. */
export type FieldContext = {
  /** The rows of one endpoint for one set of parameters. */
  readonly loadRows: LoadRows<Rows>;
  /** The same for a field whose rows are written whole. */
  readonly loadRowTexts: LoadRows<Rows<Row | RowText>>;
  /** The items of a list field, within the operation's budget; every list is resolved by it. */
  readonly list: <From, To>(
    items: readonly From[],
    info: GraphQLResolveInfo,
    options: ListOptions<From, To>,
  ) => Promise<readonly To[]>;
};

type LoadRows<Loaded> = (
  endpoint: EndpointDefinition,
  parameters: RawParameters,
  path: string,
) => Promise<Loaded>;

type Scalar<T> = { Input: T; Output: T };

type Types = {
  Context: FieldContext;
  Scalars: {
    BigInt: Scalar<unknown>;
    Date: Scalar<unknown>;
    DateTime: Scalar<unknown>;
    Float64: Scalar<unknown>;
    JSON: Scalar<unknown>;
  };
};

export type Builder = PothosSchemaTypes.SchemaBuilder<PothosSchemaTypes.ExtendDefaultTypes<Types>>;

/**
 * Makes a builder that knows the scalars of our types and nothing else. What they throw is not a GraphQLError: GraphQL wraps it in a message
 * of its own, with the type, the value and its place.
 */
export function createSchemaBuilder(): Builder {
  const builder: Builder = new SchemaBuilder<Types>({});
  builder.scalarType('BigInt', {
    description:
      'A 64-bit integer, written as a number with all its digits. As an argument also a string of digits, which variables ' +
      'beyond 2^53 must be.',
    serialize: value => value,
    parseValue: value => value,
    parseLiteral(node) {
      if (node.kind === Kind.INT || node.kind === Kind.STRING) return node.value;
      throw new TypeError('must be an integer or a string of digits');
    },
  });
  builder.scalarType('Date', {
    description: 'A day as ISO 8601 text: `2026-01-15`.',
    serialize: value => value,
    parseValue: value => {
      if (typeof value === 'string') return value;
      throw new TypeError('must be a string such as "2026-01-15"');
    },
  });
  builder.scalarType('Float64', {
    description: 'A double-precision number; "NaN", "Infinity" and "-Infinity" are strings.',
    serialize: value => value,
  });
  builder.scalarType('JSON', {
    description: 'Any JSON value. Nested records of a log row are arrays, normally of one element.',
    serialize: value => value,
  });
  builder.scalarType('DateTime', {
    description:
      'An instant as ISO 8601 text to the microsecond, in UTC: `2026-01-15T10:00:00.123456Z`. ' +
      'As an argument any zone will do, and an empty text means that there is no bound.',
    serialize: value => value,
    parseValue: value => {
      if (typeof value === 'string') return value;
      throw new TypeError('must be a string such as "2026-01-15T10:00:00Z"');
    },
  });
  return builder;
}
