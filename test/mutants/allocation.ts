import type { Mutant } from './mutant.ts';

const engineProcess = 'src/duckdb/engine-process.ts';
const ofProcess = 'test/duckdb/engine-process.test.ts';
const pool = 'src/duckdb/engine-pool.ts';
const ofPool = 'test/duckdb/engine-pool.test.ts';
const engine = 'src/duckdb/duckdb-engine.ts';
const ofEngine = 'test/duckdb/duckdb-engine.test.ts';
const statements = 'src/duckdb/statements.ts';
const ofStatements = 'test/duckdb/statements.test.ts';
const keptMemory = 'src/duckdb/kept-memory.ts';
const ofKeptMemory = 'test/duckdb/kept-memory.test.ts';
const engineChild = 'src/duckdb/engine-child.ts';

/** The end of a run: its statement is destroyed, and with it all that DuckDB has for it. */
const endOfRun = `    return body.end({ isTruncated: false });
  } finally {
    prepared.destroySync();
  }`;
const keptAfterSuccess = `    return body.end({ isTruncated: false });
  } catch (error) {
    prepared.destroySync();
    throw error;
  }`;
const keptAfterFailure = `    const end = body.end({ isTruncated: false });
    prepared.destroySync();
    return end;
  } catch (error) {
    throw error;
  }`;

export const allocation: readonly Mutant[] = [
  {
    promise: 'a statement that has finished leaves nothing in the memory of its process',
    file: engineProcess,
    find: endOfRun,
    replace: keptAfterSuccess,
    test: [ofProcess, 'contract 11.5: after a statement that'],
  },
  {
    promise: 'a statement that has failed leaves nothing in the memory of its process',
    file: engineProcess,
    find: endOfRun,
    replace: keptAfterFailure,
    test: [ofProcess, 'contract 11.5: after a statement that'],
  },
  {
    promise: 'a statement that was interrupted leaves nothing in the memory of its process',
    file: engineProcess,
    find: endOfRun,
    replace: keptAfterFailure,
    test: [ofProcess, 'after a statement that was interrupted, memory is what it was'],
  },
  {
    promise: 'a prepared statement runs once',
    file: statements,
    find: 'next = undefined;\n    return taken;',
    replace: 'return taken;',
    test: [
      ofStatements,
      'a statement that has come twice is prepared before it comes again, once for each run',
    ],
  },
  {
    promise: 'a statement that was prepared in vain is destroyed',
    file: statements,
    find: 'ready?.destroySync();',
    replace: '',
    test: [ofStatements, 'where another statement comes, what is prepared already is destroyed'],
  },
  {
    promise: 'a statement that was prepared for another state of the database is destroyed',
    file: statements,
    find: '(await takeNext())?.destroySync();',
    replace: 'await takeNext();',
    test: [ofStatements, 'what is dropped is prepared when it comes'],
  },
  {
    promise: 'results that were too large are freed without a new process',
    file: engineProcess,
    find: 'globalThis.gc?.();',
    replace: '',
    test: [ofPool, 'a process whose results were too large frees them, and stays'],
  },
  {
    promise: 'what a run leaves to the allocator is given back without a new process',
    file: engineProcess,
    find: 'await connection.run(`SET threads = ',
    replace: 'await connection.run(`SELECT ',
    test: [
      ofProcess,
      'what statements leave to the allocator wears no process out, and an idle one gives it back',
    ],
  },
  {
    promise: 'an idle process gives back what its runs have left to the allocator',
    file: engineProcess,
    find: '.then(prepareNext).then(restLater)',
    replace: '.then(prepareNext)',
    test: [
      ofProcess,
      'what statements leave to the allocator wears no process out, and an idle one gives it back',
    ],
  },
  {
    promise: 'an idle process releases what is free if it has grown by 32 MB',
    file: keptMemory,
    find: 'Math.max(restingBytes, restedBytes + noticedBytes)',
    replace: 'maxBytes',
    test: [ofKeptMemory, 'a process that rests releases what is free, once'],
  },
  {
    promise: 'memory that is merely free is released before it counts as kept',
    file: keptMemory,
    find: 'if (grownBytes > limitBytes) await release();',
    replace: '',
    test: [ofKeptMemory, 'what is free is released before it counts as much'],
  },
  {
    promise: 'a process that keeps much after its runs is known to be worn',
    file: keptMemory,
    find: 'if (leftBytes > limitBytes) return true;',
    replace: '',
    test: [ofKeptMemory, 'what runs leave behind is much from 128 MB on'],
  },
  {
    promise: 'the memory of a process is looked at after each failed run',
    file: keptMemory,
    find: '!hasFailed && ',
    replace: '',
    test: [ofKeptMemory, 'asks after each failed run: what it has left may be in the place of blocks'],
  },
  {
    promise: 'a process too short of memory to say what it keeps counts as worn',
    file: keptMemory,
    find: `        // A late interrupt, or not enough memory even for this.
        return true;`,
    replace: '        return false;',
    test: [ofKeptMemory, 'asks after each failed run: what it has left may be in the place of blocks'],
  },
  {
    promise: 'a process that keeps half as much when it has rested is known to be worn',
    file: keptMemory,
    find: 'return leftBytes > maxBytes / 2 && leftBytes > maxBytes / 2 + (await blockBytes());',
    replace: 'return leftBytes > maxBytes && leftBytes > maxBytes + (await blockBytes());',
    test: [ofKeptMemory, 'a process that still keeps half as much when it has rested is to be replaced'],
  },
  {
    promise: 'a worn process is replaced after its run',
    file: pool,
    find: 'child.isWorn || outdated.has(child)',
    replace: 'outdated.has(child)',
    test: [ofPool, 'a process whose run left much memory behind is replaced'],
  },
  {
    promise: 'a process that is worn when it has rested is replaced',
    file: pool,
    find: 'onWorn: () => replaceIdle(child)',
    replace: 'onWorn: () => undefined',
    test: [
      ofPool,
      'a process that has rested and still keeps much memory is replaced once another one is ready',
    ],
  },
  {
    promise: 'a process that no query needs any more ends',
    file: pool,
    find: 'if (living.size > 1) end(child);',
    replace: '',
    test: [ofPool, 'a process that is not needed any more is ended, but the last one is kept'],
  },
  {
    promise: 'each query has a process of its own',
    file: pool,
    find: 'isNew ? undefined : idle.pop()',
    replace: 'isNew ? undefined : idle.at(-1)',
    test: [ofPool, 'queries that come together run in a process each, with one more ready, up to the limit'],
  },
  {
    promise: 'statements that need more memory than there is fail alone',
    file: pool,
    find: 'isNew ? undefined : idle.pop()',
    replace: 'isNew ? undefined : idle.at(-1)',
    test: ['test/http/heavy-neighbours.test.ts', 'queries that fail for memory leave plain ones alone'],
  },
  {
    promise: 'a process that uses too much memory is killed, with its query alone',
    file: engineProcess,
    find: "if (residentBytes() > settings.residentLimitMb * 1024 * 1024) report({ type: 'out of memory' });",
    replace: '',
    test: [ofProcess, 'a statement that outgrows the memory ends the process, not the gateway'],
  },
  {
    promise: 'a query whose process is lost runs again',
    file: engine,
    find: "error.why === 'crash' && !limit.aborted",
    replace: "error.why === 'no start' && !limit.aborted",
    test: [ofEngine, 'after kill -9 of its process a query is run again, and answered'],
  },
  {
    promise: 'a query whose process is lost while it starts runs again',
    file: engineChild,
    find: "if (signal && !child.killed && why === 'no start') why = 'crash';",
    replace: '',
    test: [ofEngine, 'contract 11.5: a query whose process is killed while it starts is run in another one'],
  },
  {
    promise: 'a query whose process is frozen runs again',
    file: engineChild,
    find: "() => why === 'crash' && child.kill('SIGKILL')",
    replace: '() => undefined',
    test: [ofEngine, 'a query whose process is frozen is run again in another one'],
  },
  {
    promise: 'a query runs again in a new process, not in one that was killed with its own',
    file: engine,
    find: 'isNew: runs > 1',
    replace: 'isNew: false',
    test: [
      ofEngine,
      'a query is run again in a new process, for idle ones may have been killed together with its own',
    ],
  },
  {
    promise: 'a query that runs again has what is left of its own deadline',
    file: engine,
    find: 'againIfOutdated(limit, () => runIn(child, statement, options))',
    replace:
      'againIfOutdated(limit, () => runIn(child, statement, runs > 1 ? { ...options, signal: new AbortController().signal } : options))',
    test: [
      ofEngine,
      'contract 11.6: a query that was run again keeps its own deadline, and frees its place then',
    ],
  },
  {
    promise: 'the folder to which a process spills ends with it',
    file: engineChild,
    find: 'return rm(folder, { recursive: true, force: true }).catch(() => undefined);',
    replace: 'return Promise.resolve(rm).then(() => undefined, () => folder as never);',
    test: [ofPool, 'what does not fit into memory goes to a folder of the process, which ends with it'],
  },
  {
    promise: 'a start removes the folders of processes that were killed with their gateway',
    file: 'src/duckdb/spill-directory.ts',
    find: 'if (pid === process.pid) return false;',
    replace: 'if (pid === process.pid) return true;',
    test: [
      'test/duckdb/spill-directory.test.ts',
      'removes the folders of processes that have ended, and no others',
    ],
  },
  {
    promise: 'a refused text that is kept holds nothing of what the front-end made of it',
    file: 'src/engine/compiler.ts',
    find: 'void refusal.stack;',
    replace: '',
    test: [ofEngine, 'a refused text that is kept holds nothing of what the front-end made of it'],
  },
  {
    promise: 'a request body leaves none of its parts behind',
    file: 'src/http-messages/read-body.ts',
    find: 'for (const chunk of chunks.splice(0)) if (chunk !== result) releaseBytes(chunk);',
    replace: 'chunks.splice(0);',
    test: ['test/http-messages/read-body.test.ts', 'contract 11.5: a body leaves none of its parts behind'],
  },
  {
    promise: 'the rest of a body that is too long leaves nothing behind',
    file: 'src/http-messages/read-body.ts',
    find: "on('data', releaseBytes).resume()",
    replace: 'resume()',
    test: ['test/http-messages/read-body.test.ts', 'contract 11.5: neither does one that is too long'],
  },
  {
    promise: 'what the parser has copied from the socket is freed at once',
    file: 'src/http/hits/repeated-bytes.ts',
    find: 'if (length > size) releaseBytes(bytes);',
    replace: '',
    test: [
      'test/http/repeated-bytes.test.ts',
      'a long body is whole, and what was read of it from the socket is freed at once',
    ],
  },
  {
    promise: 'the redaction of rows ends when the last caller who waits for it leaves',
    file: 'src/pipeline/representation.ts',
    find: '{ caller, joined, signal: inner }',
    replace: '{ caller, joined, signal: new AbortController().signal ?? inner }',
    test: [
      'test/pipeline/representation.test.ts',
      'contract 11.5: the work ends when the last caller leaves, and begins again for the next one',
    ],
  },
  {
    promise: 'a caller who leaves cancels the redaction of the rows',
    file: 'src/redaction/redactor.ts',
    find: 'post({ job, isCancelled: true });',
    replace: '',
    test: [
      'test/redaction/redactor.test.ts',
      'contract 11.5, 11.6: a caller leaves at once, and its work ends; others get theirs',
    ],
  },
  {
    promise: 'the thread of redaction drops a cancelled job',
    file: 'src/redaction/redaction-worker.ts',
    find: '  drop(job);\n  parentPort!',
    replace: '  parentPort!',
    test: ['test/redaction/redactor.test.ts', 'contract 11.5: the thread stops work that was cancelled'],
  },
  {
    promise: 'a run that is over holds on to none of the signals of its callers',
    file: 'src/batch/batch-queries.ts',
    find: '.finally(letGo)',
    replace: '.finally(() => void letGo)',
    test: [
      'test/batch/batch-queries.test.ts',
      'contract 11.5: a run that is over holds on to none of the signals of its callers',
    ],
  },
  {
    promise: 'what a flood has left is collected when it is over',
    file: 'src/composition/collect-when-calm.ts',
    find: '    collect();\n',
    replace: '',
    test: [
      'test/composition/collect-when-calm.test.ts',
      'contract 11.5: what a flood has left is collected once, when it is over',
    ],
  },
];
