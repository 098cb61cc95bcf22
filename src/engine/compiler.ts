import { LRUCache } from 'lru-cache';
import { GatewayError } from '../base/errors.ts';
import { type CompileOptions, createCompileTurns } from './compile-turns.ts';
import type { Statement } from './engine.ts';

/**
 * Returns what a text was compiled to, by its key. Equal texts are compiled once, including refused ones; callers take turns.
 * @throws GatewayError as `CompileTurns`, and the refusal of the text
 */
export type Compiler<Compiled> = (
  key: string,
  compile: () => Compiled,
  options: CompileOptions,
) => Promise<Compiled>;

/** Maximum compiled statements that are kept. */
const maxCompiled = 500;
/** Maximum characters of their keys, and of what takes similar memory: compiled texts, columns with their shapes, and errors. */
const maxCompiledCharacters = 16_000_000;
const refusalLength = 2000;

type Compilation<Compiled> = { readonly compiled: Compiled } | { readonly refusal: GatewayError };

/** Makes the compiler of one engine. `lengthOf` counts the characters that a compiled statement takes. */
export function createCompiler<Compiled>(lengthOf: (compiled: Compiled) => number): Compiler<Compiled> {
  const inTurn = createCompileTurns();
  const known = new LRUCache<string, Compilation<Compiled>>({
    max: maxCompiled,
    maxSize: maxCompiledCharacters,
    sizeCalculation: (found, key) =>
      key.length +
      ('refusal' in found ? refusalLength + found.refusal.message.length : lengthOf(found.compiled)),
  });
  function compileNow(key: string, compile: () => Compiled): Compilation<Compiled> {
    const found = attempt(compile);
    known.set(key, found);
    return found;
  }
  return async (key, compile, options) => {
    const found = known.get(key) ?? (await inTurn(() => known.get(key) ?? compileNow(key, compile), options));
    if ('refusal' in found) throw found.refusal;
    return found.compiled;
  };
}

/** Identifies what a front-end makes of a statement: not the values of its parameters. Equal texts may belong to different headers. */
export function statementKey(statement: Pick<Statement, 'sql' | 'callerSql' | 'parameters'>): string {
  const { sql, callerSql, parameters } = statement;
  const declared = parameters.map(({ name, type, value }) => [name, type, Array.isArray(value)]);
  return JSON.stringify([sql, callerSql, declared]);
}

function attempt<Compiled>(compile: () => Compiled): Compilation<Compiled> {
  try {
    return { compiled: compile() };
  } catch (refusal) {
    if (!(refusal instanceof GatewayError)) throw refusal;
    // Until its stack is read, V8 keeps everything the functions on it refer to: five megabytes for a text of 64 KiB.
    void refusal.stack;
    return { refusal };
  }
}
