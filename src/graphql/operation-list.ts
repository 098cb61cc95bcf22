import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GraphQLError, type GraphQLSchema, parse, validate } from 'graphql';
import { z } from 'zod';
import { sha256 } from './persisted-operations.ts';

/** Documents by the SHA-256 of their texts. */
export type OperationList = Readonly<Record<string, string>>;

/**
 * Lists the documents of all `.graphql` and `.gql` files of a folder and its folders; each file is one document, as clients send it.
 * @throws AggregateError with a line `file:line: problem` for each document that does not fit the schema
 */
export async function listOperations(directory: string, schema: GraphQLSchema): Promise<OperationList> {
  const files = await readdir(directory, { recursive: true });
  const listed: [string, string][] = [];
  const problems: string[] = [];
  for (const file of files.filter(name => /\.(?:graphql|gql)$/.test(name)).sort()) {
    const text = await readFile(join(directory, file), 'utf8');
    for (const { message, locations } of problemsOf(text, schema)) {
      problems.push(`${join(directory, file)}:${locations?.[0]?.line ?? 1}: ${message}`);
    }
    listed.push([sha256(text), text]);
  }
  if (problems.length > 0) {
    throw new AggregateError(
      problems.map(problem => new Error(problem)),
      problems.join('\n'),
    );
  }
  return Object.fromEntries(listed.sort());
}

function problemsOf(text: string, schema: GraphQLSchema): readonly GraphQLError[] {
  try {
    return validate(schema, parse(text));
  } catch (error) {
    if (error instanceof GraphQLError) return [error];
    throw error;
  }
}

/**
 * Reads a list that `listOperations` made.
 * @throws Error that names the file, if it is not such a list or a hash is not that of its document
 */
export async function readOperationList(file: string): Promise<ReadonlyMap<string, string>> {
  const fail = (reason: string): never => {
    throw new Error(`The list of operations ${file} can't be read: ${reason}`);
  };
  const text = await readFile(file, 'utf8').catch(error => fail(String(error)));
  let list: OperationList = {};
  try {
    list = z.record(z.string(), z.string()).parse(JSON.parse(text));
  } catch (error) {
    fail(error instanceof z.ZodError ? z.prettifyError(error) : String(error));
  }
  const wrong = Object.entries(list).find(([hash, document]) => sha256(document) !== hash);
  if (wrong) fail(`${wrong[0]} is not the hash of its document`);
  return new Map(Object.entries(list));
}
