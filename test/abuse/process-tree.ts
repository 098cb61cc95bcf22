import { readdir, readFile, writeFile } from 'node:fs/promises';

/** What a gateway and the processes that it started hold (Linux). */
export type Holdings = {
  /** Megabytes (2^20) of the gateway's resident memory. */
  readonly gatewayMb: number;
  /** Processes of the engine. */
  readonly engines: number;
  /** Megabytes of them all that no other process shares: each maps the same 85 MB of program. */
  readonly enginesMb: number;
  /** Open files and sockets of the gateway. */
  readonly files: number;
};

/** Reads what a gateway holds now. */
export async function readHoldings(pid: number): Promise<Holdings> {
  const engines = await childrenOf(pid);
  const own = await Promise.all(engines.map(privateMb));
  const files = await readdir(`/proc/${pid}/fd`);
  return {
    gatewayMb: await statusMb(pid, 'VmRSS'),
    engines: engines.length,
    enginesMb: own.reduce((sum, mb) => sum + mb, 0),
    files: files.length,
  };
}

/** Has the kernel forget a process's highest resident memory, so that `peakMb` is that of what comes. */
export async function forgetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5');
}

/** Megabytes of a process's highest resident memory since its start, or since `forgetPeak`. */
export const peakMb = (pid: number): Promise<number> => statusMb(pid, 'VmHWM');

/** The ids of the processes that a process started and that have not ended. */
export async function childrenOf(pid: number): Promise<number[]> {
  const tasks = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(
    tasks.map(task => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
  );
  return lists.flatMap(list => list.split(' ').filter(Boolean).map(Number));
}

async function statusMb(pid: number, field: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const [, kilobytes = '0'] = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status) ?? [];
  return Number(kilobytes) / 1024;
}

/** Resident pages that are backed by no file; 0 for a process that has ended meanwhile. */
async function privateMb(pid: number): Promise<number> {
  const statm = await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '0 0 0');
  const [, resident = 0, shared = 0] = statm.split(' ').map(Number);
  return ((resident - shared) * 4096) / 2 ** 20;
}
